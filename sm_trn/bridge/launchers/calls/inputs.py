"""What stands around a launch: sessions and clients, uploads, the environment and the command line."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from .. import methods, unsupported
from ..state import Fit, Sighting, Site, State
from ..values import (
    Arguments,
    Instance,
    Names,
    Reason,
    Ref,
    Symbol,
    Unknown,
    causes_in,
    known,
    parts_of,
    text,
    unknown,
)
from .placeholders import given_symbol

_SHARED: Final = (
    "boto3.DEFAULT_SESSION"  # kept with the environment: both are what a later session takes its region from
)


def session(last: str, given: Arguments, names: Names, state: State, node: ast.expr) -> Instance:
    """A session of either library; the region that the launcher names and an explicit default bucket are what it answers."""
    arguments: dict[str, object] = {"kind": last}
    inner = names.get("boto_session", given[0] if given else None)
    region = names.get("region_name") if last == "boto3" else _region_in(inner)
    if region is None:
        region = default_region(state, shared=last != "boto3" and inner is None)
    if region is not None:
        arguments |= {"region_name": region, "boto_region_name": region}
    if names.get("default_bucket") is not None:
        arguments["bucket"] = names["default_bucket"]
    if names.get("default_bucket_prefix") is not None:
        arguments["default_bucket_prefix"] = names["default_bucket_prefix"]
    return Instance("Session", arguments, state.place(node))


def _region_in(session: object) -> object:
    """The region of a session that is handed over; unknown as the session is, None where it names none."""
    return (
        session.arguments.get("region_name")
        if isinstance(session, Instance)
        else session
        if isinstance(session, Unknown)
        else None
    )


def default_region(state: State, *, shared: bool) -> object:
    """The region of whom names none: that of boto3's ``shared`` session, or of a variable that the launcher has set; else None."""
    own = unsupported.environment(state)
    return own.get(_SHARED if shared and _SHARED in own else "AWS_DEFAULT_REGION")


def _setup_default_session(state: State, node: ast.expr, given: Arguments, names: Names) -> None:
    made = _boto_session(state, node, given, names)
    unsupported.environment(state)[_SHARED] = _region_in(made)


def _method_of_session(
    state: State, node: ast.expr, owner: Instance, name: str, given: Arguments, names: Names
) -> object:
    if name == "default_bucket":
        return given_symbol(state, owner.arguments.get("bucket", Symbol.BUCKET))
    if name == "upload_data":
        return _uploaded(state, node, owner, given, names)
    if name in {"client", "resource"}:
        return _client(state, node, given, {"region_name": owner.arguments.get("region_name"), **names})
    if name == "account_id":
        return given_symbol(state, Symbol.ACCOUNT)
    if name == "get_caller_identity_arn":
        return given_symbol(state, Symbol.ROLE)
    if name == "get_credentials":
        return state.unknown(node, Reason.CALL)
    return state.unknown(node, Reason.CALL)


def _uploaded(state: State, node: ast.expr, owner: Instance, given: Arguments, names: Names) -> object:
    """The URI of an upload: a file's name follows the prefix, a folder's does not. What is absent is judged by its suffix."""
    values = dict(zip(("path", "bucket", "key_prefix"), given, strict=False)) | names
    bucket = values.get("bucket") or owner.arguments.get("bucket", Symbol.BUCKET)
    prefix = values.get("key_prefix", "data")
    path = values.get("path")
    cause = state.cause(node, Reason.CONSTRUCT)
    if isinstance(path, Instance) and path.cls == "path":
        path = path.arguments["path"]
    if isinstance(path, Unknown) or path is None:
        return unknown(causes_in(path)) if path is not None else Unknown((cause,))
    last = last_part(path)
    if last is None:
        return unknown(causes_in(path)) if next(causes_in(path), None) else Unknown((cause,))
    is_file = "." in last.strip(".")
    if is_file or not str(path).endswith("/"):
        state.assumed[state.place(node), f"{last!r} is a {'file' if is_file else 'folder'}, judged by its name"] = None
    pieces = [
        "s3://",
        given_symbol(state, bucket) if isinstance(bucket, Symbol) else bucket,
        "/",
        *([prefix] if prefix else []),
    ]
    if is_file:
        pieces += ["/", last] if prefix else [last]
    found: list[str | Symbol | Unknown] = []
    for piece in pieces:
        parts = (piece,) if isinstance(piece, (Symbol, Unknown)) else parts_of(piece)
        found += parts if parts is not None else (Unknown((cause,)),)
    return text(found)


def last_part(path: object) -> str | None:
    parts = parts_of(path)
    if not parts or not isinstance(parts[-1], str) or any(isinstance(part, Unknown) for part in parts):
        return None
    return parts[-1].rstrip("/").rpartition("/")[2]


def _of_client(state: State, node: ast.expr, owner: Instance, name: str, given: Arguments, names: Names) -> object:
    service = owner.arguments.get("service")
    if name == "get_caller_identity":
        return {"Account": given_symbol(state, Symbol.ACCOUNT), "Arn": given_symbol(state, Symbol.ROLE)}
    if name in {"get_role", "create_role"} and service == "iam":
        return {"Role": {"Arn": given_symbol(state, Symbol.ROLE)}}
    if name == "create_training_job":
        request: dict[str, object] = dict(names)
        if (causes := unsupported.taints(state)) != []:
            request["…"] = unknown(causes, rest=True)
        site = Site(
            state.place(node),
            "create_training_job",
            {"sagemaker_session": owner},
            0,
            tuple(state.conditions),
            Fit(state.place(node), {}),
        )
        site.request = {key: methods.STRUCTURAL["copy.deepcopy"]([value]) for key, value in request.items()}
        state.sites.append(site)
        return {}
    if isinstance(service, str) and service == "sagemaker" and name.startswith("create_"):
        state.sightings.append(Sighting(state.place(node), f"boto3 {name}(…)", "call of boto3"))
        return {}
    if name in {
        "upload_file",
        "put_object",
        "upload_fileobj",
        "download_file",
        "copy_object",
        "create_bucket",
        "head_bucket",
    }:
        return None
    if name in {"Bucket", "Object", "meta"}:
        return Instance("client", {"service": "s3 object", "name": given[0] if given else None}, state.place(node))
    return state.unknown(node, Reason.CALL)


def method_of_environment(
    state: State, node: ast.expr, owner: Instance, name: str, given: Arguments, names: Names
) -> object:
    del owner
    key = given[0] if given else names.get("key")
    if name in {"get", "getitem", "setdefault", "pop"} and isinstance(key, str):
        own = unsupported.environment(state)
        if key in own:
            return own[key]
        if key in {"AWS_REGION", "AWS_DEFAULT_REGION"}:
            return given_symbol(state, Symbol.REGION)
        if key in state.settings:
            return state.settings[key]
        if len(given) > 1 or "default" in names:
            default = given[1] if len(given) > 1 else names["default"]
            if name == "setdefault":
                own[key] = default
            state.assumed[state.place(node), f"the environment has no {key}"] = None
            return default
        return state.unknown(node, Reason.CALL, give=key, detail=f"variable {key} of the environment")
    if name == "update":
        unsupported.environment(state).update(
            {str(name): value for item in given if isinstance(item, dict) for name, value in item.items()}
        )
        unsupported.environment(state).update(names)
        return None
    return state.unknown(node, Reason.CALL)


def _of_parser(state: State, node: ast.expr, owner: Instance, name: str, given: Arguments, names: Names) -> object:
    if name == "add_argument":
        flags = [flag for flag in given if isinstance(flag, str)]
        long = next((flag for flag in flags if flag.startswith("--")), flags[0] if flags else "")
        target = names.get("dest") or long.lstrip("-").replace("-", "_")
        if isinstance(target, str) and target:
            owner.arguments[target] = _default(state, node, target, names, required=not long.startswith("-"))
        return None
    if name in {"parse_args", "parse_known_args"}:
        made = Instance("namespace", dict(owner.arguments), state.place(node))
        return (made, []) if name == "parse_known_args" else made
    return owner


def _default(state: State, node: ast.expr, target: str, names: Names, *, required: bool) -> object:
    if target in state.settings:
        return state.settings[target]
    if names.get("action") in {"store_true", "store_false"}:
        value: object = names.get("default", names["action"] == "store_false")
    elif "default" in names and not required:
        value = names["default"]
        if names.get("type") == Ref("int") and isinstance(value, str) and value.isdigit():
            value = int(value)
    elif required or names.get("required") is True:
        return state.unknown(node, Reason.CALL, give=target, detail="an argument of the command line")
    else:
        value = None
    state.assumed[
        state.place(node),
        f"--{target.replace('_', '-')} is left at its default {value!r}"
        if known(value)
        else f"--{target} is left at its default",
    ] = None
    return value


METHODS: Final[Mapping[str, Callable[[State, ast.expr, Instance, str, Arguments, Names], object]]] = MappingProxyType(
    {
        "Session": _method_of_session,
        "client": _of_client,
        "os.environ": method_of_environment,
        "parser": _of_parser,
    }
)


def s3_uploaded(state: State, node: ast.expr, given: Arguments, names: Names) -> object:
    """``S3Uploader.upload(local_path, desired_s3_uri)``: a file's name follows the URI."""
    values = dict(zip(("local_path", "desired_s3_uri"), given, strict=False)) | names
    last, target = last_part(values.get("local_path")), values.get("desired_s3_uri")
    parts = parts_of(target)
    if last is None or parts is None:
        return unknown([*causes_in(list(values.values()))] or [state.cause(node, Reason.CALL)])
    is_file = "." in last.strip(".")
    state.assumed[state.place(node), f"{last!r} is a {'file' if is_file else 'folder'}, judged by its name"] = None
    return methods.s3_joined([target, last], state.cause(node, Reason.CALL)) if is_file else target


def _boto_session(state: State, node: ast.expr, given: Arguments, names: Names) -> Instance:
    return session("boto3", [], {**names, **({"region_name": given[3]} if len(given) > 3 else {})}, state, node)


def _client(state: State, node: ast.expr, given: Arguments, names: Names) -> object:
    region = names.get("region_name", given[1] if len(given) > 1 else None)
    region = default_region(state, shared=True) if region is None else region
    service = given[0] if given else names.get("service_name")
    return Instance("client", {"service": service, "region_name": region}, state.place(node))


def _parser(state: State, node: ast.expr, given: Arguments, names: Names) -> object:
    del given, names
    return Instance("parser", {}, state.place(node))


def _environment(state: State, node: ast.expr, given: Arguments, names: Names) -> object:
    return method_of_environment(state, node, Instance("os.environ", {}, state.place(node)), "get", given, names)


FUNCTIONS: Final[Mapping[str, Callable[[State, ast.expr, Arguments, Names], object]]] = MappingProxyType(
    {
        "boto3.Session": _boto_session,
        "boto3.session.Session": _boto_session,
        "boto3.setup_default_session": _setup_default_session,
        "boto3.client": _client,
        "boto3.resource": _client,
        "argparse.ArgumentParser": _parser,
        "os.getenv": _environment,
        "os.environ.get": _environment,
    }
)

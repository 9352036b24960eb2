"""A launcher run as it is, in the sandbox, with its AWS account answered by the recorder."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from ...core.errors import SmTrnError
from ...core.preflight import secrets
from ...core.preflight.secrets import holds_secret, is_named_secret
from ...sandbox import Limits, Program, Workspace, can_copy, run, workspace
from ..cells import read_cells
from ..sites import Place
from . import answers
from .endpoint import Endpoint
from .recording import REMOVED, Failure, Recorded, RecordedCall, Swallowed, without

HOOK: Final = Path(__file__).parent / "hook"
OUTPUT: Final = 20_000  # characters of what the launcher printed
REGION: Final = "us-west-2"
_TOKENS: Final = ("AWS_SESSION_TOKEN", "AWS_SECURITY_TOKEN")


def record(  # noqa: PLR0913 - what is run, where, and how
    command: Sequence[str], *, folder: Path | None = None, timeout_s: float = 600.0, environment: Mapping[str, str] | None = None,
    python: Path | None = None, call: str = "", trusted: bool = False, account: Mapping[str, str] | None = None,
    code: Mapping[int, str] | None = None,
) -> Recorded:  # fmt: skip
    """Run a ``.py`` or ``.ipynb`` file and its arguments in a copy of ``folder``, and return what it asked of AWS.

    Nothing is started, billed or sent anywhere. The repository that the folder lies in is copied with it, if that is not too large. A
    notebook stands for its cells, run statement by statement without their magics. Data and sources that it uploads and that are not
    here are made up, and named. ``environment`` are variables of the program beside the few that it has; the secrets among them are in
    no text of the answer. ``python`` runs it instead of this Python. ``call`` is called at the end of the file, which is imported then
    and not run. ``trusted`` runs it also where no sandbox keeps it from files and network. ``account`` are the role, bucket and region
    that the account answers with, ``code`` replaces the file's code by cell (0: all of it). Raises SmTrnError where this machine has no
    sandbox, for a folder that is too large to copy, and for a file that is not there.

    >>> record(["launch.py"], environment={"EPOCHS": "3"}).jobs  # doctest: +SKIP
    """
    place, own = (folder or Path.cwd()).resolve(), dict(environment or {})
    repository = next((above for above in (place, *place.parents) if (above / ".git").exists()), place)
    top = repository if can_copy(repository) else place
    hidden = tuple(value for name, value in own.items() if is_named_secret(name, value) or holds_secret(value))
    with (
        workspace(top) as work,
        Endpoint(hidden=hidden, role=_role(account or {})) as endpoint,
    ):
        region = (account or {}).get("region") or own.get("AWS_REGION") or own.get("AWS_DEFAULT_REGION") or REGION
        inner = work.folder / place.relative_to(top)
        program = Program(
            argv=_argv(command, work, place, call, code or {}),
            folder=(inner / command[0]).parent if command[0].endswith(".ipynb") else inner,
            environment=_environment(endpoint, region, own),
            hooks=[HOOK / "recorder_hook.py"],
            settings={
                "endpoint": endpoint.url,
                "key": endpoint.key,
                "region": region,
                "bucket": (account or {}).get("bucket", ""),
            },
            python=python,
            port=endpoint.port,
            serve=endpoint.answer_on,
            limits=Limits(seconds=timeout_s),
        )
        outcome = run(program, work, trusted=trusted)

        def clean(text: str) -> str:
            return secrets.without_secrets(without(text, hidden), REMOVED)

        rows = [
            {key: clean(value) if isinstance(value, str) else value for key, value in note.items()}
            for note in outcome.notes
        ]
        return Recorded(
            calls=tuple(_placed(call, work, command) for call in endpoint.calls),
            uploads=dict(endpoint.uploads),
            exit_code=outcome.exit_code,
            output=clean(outcome.output)[-OUTPUT:],
            seconds=outcome.seconds,
            limit=outcome.limit,
            sealed=outcome.sealed,
            refused=_texts(f"{row.get('what')} {row.get('detail')}" for row in rows if row.get("kind") == "refused"),
            failures=tuple(_failures(rows)) if outcome.exit_code else (),
            stand_ins=_texts(str(row.get("name")) for row in rows if row.get("kind") == "stand-in"),
            variables=_texts(str(row.get("name")) for row in rows if row.get("kind") == "variable"),
            swallowed=tuple(
                Swallowed(
                    str(row.get("name")),
                    str(row.get("meant")),
                    str(row.get("file")),
                    _number(row, "line"),
                    _number(row, "cell"),
                )
                for row in rows
                if row.get("kind") == "swallowed"
            ),
        )


def _role(account: Mapping[str, str]) -> str:
    """Return the ARN of the role that the account answers with; a name alone is one of the made-up account, or of the given one."""
    number, role = account.get("account", answers.ACCOUNT), account.get("role", "")
    if role.startswith("arn:"):
        return role
    return f"arn:aws:iam::{number}:role/{role}" if role else answers.ROLE.replace(answers.ACCOUNT, number)


def _placed(call: RecordedCall, work: Workspace, command: Sequence[str]) -> RecordedCall:
    """Return the call with places in the user's own files; a cell's is the notebook."""
    notebook = next((word for word in command if word.endswith(".ipynb")), "")

    def own(places: Sequence[Place]) -> tuple[Place, ...]:
        return tuple(Place(notebook if each.cell else work.clean(each.file), each.line, each.cell) for each in places)

    return replace(call, places=own(call.places), made_at=own(call.made_at))


def _number(row: Mapping[str, object], name: str) -> int:
    value = row.get(name)
    return value if isinstance(value, int) else 0


def _texts(texts: Any) -> tuple[str, ...]:
    return tuple(dict.fromkeys(texts))


def _failures(rows: Sequence[Mapping[str, Any]]) -> list[Failure]:
    failures = []
    for row in rows:
        if row.get("kind") == "failed":
            with contextlib.suppress(TypeError):  # the launcher can write here too
                failures.append(Failure(**{name: value for name, value in row.items() if name != "kind"}))
    return failures


def _argv(command: Sequence[str], work: Workspace, place: Path, call: str, code: Mapping[int, str]) -> list[str]:
    name, *arguments = command
    path = _file(name, work, place)
    call = f"{call}()" if call and not call.endswith(")") else call
    if path.suffix == ".ipynb":
        rows = _notebook(path, code)
        cells = work.root / "cells.json"
        cells.write_text(json.dumps([*rows, (len(rows) + 1, call)] if call else rows), "utf-8")
        return ["python", str(HOOK / "cells.py"), str(cells), *command]
    if 0 in code:
        path.write_text(code[0], "utf-8")
    return ["python", *([str(HOOK / "called.py"), call] if call else []), name, *arguments]


def _file(name: str, work: Workspace, place: Path) -> Path:
    """Return a file of the copy. Raises SmTrnError for what is none, and for names that lead out of it."""
    path = Path(os.path.normpath(work.folder / place.relative_to(work.original) / name))
    if work.folder not in path.parents or not path.is_file():
        raise SmTrnError(f"got {name!r}, wanted a file; there is none of this name in {place}")
    return path


def _notebook(path: Path, replaced: Mapping[int, str]) -> list[tuple[int, str]]:
    """Return the cells of a notebook, each with its number. ``%%writefile`` becomes code that writes the file."""
    rows = []
    for cell in read_cells(path):
        head, _, body = cell.raw.lstrip().partition("\n")
        words = head.split()
        code = replaced.get(cell.number, cell.code)
        if words[:1] == ["%%writefile"] and len(words) > 1:
            code = f"_write_file_({words[-1]!r}, {body!r}, {'-a' in words})"
        rows.append((cell.number, code))
    return rows


def _environment(endpoint: Endpoint, region: str, own: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of the program: the user's credentials, profiles and addresses are not among them."""
    defaults = {
        "AWS_DEFAULT_REGION": region,
        "AWS_REGION": region,
        "MPLBACKEND": "Agg",
        "SAGEMAKER_VALIDATE_ROLE": "false",
        "SAGEMAKER_SUPPRESS_V2_WARNING": "1",
    }
    return {
        **{name: value for name, value in {**defaults, **own}.items() if name not in _TOKENS},
        "AWS_ACCESS_KEY_ID": endpoint.key,
        "AWS_SECRET_ACCESS_KEY": "recorded",
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_ENDPOINT_URL": endpoint.url,
        "AWS_CONFIG_FILE": "/dev/null",
        "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
    }

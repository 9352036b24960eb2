"""Start-up hook of a recorded launcher: every AWS client goes to the recorder, and what the launcher lacks is said.

It runs before the launcher in each Python process that the launcher starts, knows nothing of the package, and is told where
the recorder is by the variable SM_TRN_RECORDER. What it finds it writes down, a JSON line each. It holds nobody: what keeps the
launcher from files and the network is the isolation that it runs in. Addresses are refused here so that the refusal says which.
"""

from __future__ import annotations

import atexit
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import json
import linecache
import os
import subprocess
import sys
import time
import traceback
import types

import stand_ins  # type: ignore[import-not-found]  # it lies beside this file

_SETTINGS = json.loads(os.environ.get("SM_TRN_RECORDER", "{}"))
_HERE = os.path.dirname(os.path.abspath(__file__))
_COPY = os.path.realpath(_SETTINGS.get("copy", "/")) + os.sep
_LOOPBACK = ("127.0.0.1", "::1", "localhost", "", None)
_EXITS: list[tuple[SystemExit, list[tuple[str, int]]]] = []
_NOT_ANSWERED: dict[str, str] = {}  # members of answers that the recorder left out: of which operation
_SLEEPERS = ("sagemaker", "sagemaker_core", "botocore", "s3transfer", "boto3", "accelerate")


class RefusedError(OSError):
    """The recorder does not let this through."""


def _tell(kind: str, **row: object) -> None:
    descriptor = os.open(_SETTINGS["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.write(descriptor, (json.dumps({"kind": kind, **row}) + "\n").encode())
    os.close(descriptor)


def _watch(event: str, arguments: tuple[object, ...]) -> None:
    """An address or a name that is looked for and is none of this machine: there is no network, and this says it."""
    if event in {"socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr"}:
        host, what = arguments[0], "name"
    elif event in {"socket.connect", "socket.sendto", "socket.sendmsg"} and isinstance(arguments[1], tuple):
        host, what = arguments[1][0], "connection to"
    else:
        return
    host = host.decode("utf-8", "replace") if isinstance(host, bytes) else host
    if host not in _LOOPBACK:
        _tell("refused", what=what, detail=str(host)[:300])
        raise RefusedError(f"recorded, not launched: there is no network; {what} {host} was refused")


def _say_end() -> None:
    """When Python ends, write down which line of the launcher raised what nobody caught, or asked for another exit code than 0."""
    error = getattr(sys, "last_value", None)
    frames = [
        (frame.f_code.co_filename, line) for frame, line in traceback.walk_tb(getattr(error, "__traceback__", None))
    ]
    if isinstance(error, SyntaxError) and error.filename:
        frames.append((error.filename, error.lineno or 1))
    if error is None and _EXITS:
        error, frames = _EXITS[-1]
    own = [place for place in frames if _of_launcher(place[0])]
    if error is not None and own:
        told(own[-1][0], own[-1][1], error)


def _noted_exit(code=None, real=sys.exit):
    if code:
        frames = [(frame.f_code.co_filename, line) for frame, line in traceback.walk_stack(sys._getframe(1))]
        _EXITS.append((SystemExit(code), frames[::-1]))
    real(code)


def told(file: str, line: int, error: BaseException, cell: int = 0) -> None:
    """Write down that the launcher failed at this line of a file or a cell."""
    words = [_one_line(error)]
    if isinstance(error, KeyError) and error.args and error.args[0] in _NOT_ANSWERED:
        words.append(f"the recorder does not know what AWS answers to {_NOT_ANSWERED[error.args[0]]}")
    cause: BaseException | None = error
    while cause is not None and len(words) < 2:
        cause = cause.__cause__ or cause.__context__
        if isinstance(cause, (RefusedError, FileNotFoundError)) and _one_line(cause) not in words[0]:
            words.append(f"of {_one_line(cause)}")
    _tell(
        "failed", file="" if file.startswith("<") else file, cell=cell, line=line, code=linecache.getline(file, line).strip()[:200],
        error="; because ".join(words)[:500], stopped="RecordedNotLaunched" in words[0],
    )  # fmt: skip


def _one_line(error: BaseException) -> str:
    return " ".join(traceback.format_exception_only(type(error), error)[-1].split())


def _hooked_client(session_class: type) -> None:
    """Make every client talk to the recorder, whatever address, profile or credentials it was given."""
    original = session_class.create_client  # type: ignore[attr-defined]  # botocore's Session
    scoped = session_class.get_scoped_config  # type: ignore[attr-defined]  # as above

    def create_client(self, service_name, region_name=None, *rest, **options):
        names = ("api_version", "use_ssl", "verify", "endpoint_url", "aws_access_key_id", "aws_secret_access_key",
                 "aws_session_token", "config")  # fmt: skip
        options.update(zip(names, rest))
        options.update(
            endpoint_url=_SETTINGS["endpoint"], use_ssl=False, verify=False, aws_access_key_id=_SETTINGS["key"],
            aws_secret_access_key="recorded", aws_session_token=None,
        )  # fmt: skip
        region = region_name or self.get_config_variable("region") or _SETTINGS["region"]
        client = original(self, service_name, region_name=region, **options)
        client.meta.events.register("before-sign", _signed_place)
        client.meta.events.register("after-call", _emptied)
        return client

    def get_scoped_config(self):
        try:
            return scoped(self)
        except Exception:  # noqa: BLE001 - a profile that this machine has not
            return {}

    session_class.create_client = create_client  # type: ignore[attr-defined]  # as above
    session_class.get_scoped_config = get_scoped_config  # type: ignore[attr-defined]  # as above


def _emptied(parsed, model, **_):
    """AWS answers a search that finds nothing with empty lists; the recorder knows the operations of all services by name alone."""
    for name, shape in model.output_shape.members.items() if model.output_shape is not None else ():
        if shape.type_name == "list" and model.name.startswith(("List", "Search")):
            parsed.setdefault(name, [])
        if name not in parsed:
            _NOT_ANSWERED[name] = f"{model.service_model.service_name} {model.name}"


def _signed_place(request, **_):
    """Say in headers whose call it is, which an unsigned one would not, and which lines of the launcher made it, the innermost first."""
    places: list[str] = []
    frame: types.FrameType | None = sys._getframe()
    while frame is not None and len(places) < 6:
        name = frame.f_code.co_filename
        if _of_launcher(name):
            places.append(f"{name}\t{frame.f_lineno}")
        frame = frame.f_back
    request.headers["X-Recorded-Key"] = _SETTINGS["key"]
    request.headers["X-Recorded-Place"] = json.dumps(places)


def _of_launcher(name: str) -> bool:
    if name.startswith("<"):  # a cell, or what Python and libraries have made of text
        return name.startswith("<cell ")
    return os.path.realpath(name).startswith(_COPY) and "site-packages" not in name


def _own_place(module: str, importer: str) -> str:
    """The folder in which a module of the launcher's own lies: above its file or the working folder, or in a ``src`` there; else empty."""
    for start in (os.path.dirname(os.path.realpath(importer)), os.getcwd()):
        folder = start + os.sep
        while folder.startswith(_COPY):
            for place in (folder, os.path.join(folder, "src")):
                if os.path.isfile(os.path.join(place, f"{module}.py")) or _holds_code(os.path.join(place, module)):
                    return place
            folder = os.path.dirname(folder.rstrip(os.sep)) + os.sep
    return ""


def _holds_code(folder: str) -> bool:
    return os.path.isdir(folder) and any(name.endswith(".py") for name in os.listdir(folder))


def _stood_in(module: str, place: str) -> None:
    """Write down that something stands for a module that is not installed: nothing, or the launcher's own files at a place."""
    _tell("stand-in", name=f"{module} (from {os.path.relpath(place)})" if place else module)


def _quiet(module):
    """The SDKs' usage reports go by their own way, not through botocore."""
    for name in ("_send_telemetry_request", "_requests_helper"):
        if hasattr(module, name):
            setattr(module, name, lambda *_, **__: None)


def _accelerate(module):
    """accelerate 1.15.0 asks its SageMaker configuration for two fields that it does not have (huggingface/accelerate 3837)."""
    cls = getattr(module, "SageMakerConfig", None)
    for name, value in (("parallelism_config", {}), ("num_processes", 1)):
        if cls is not None and not hasattr(cls, name):
            setattr(cls, name, value)


def _made(path, *, folder=False):
    """Stand in for a file that is not here: a launch must not end because of its data."""
    if not path or str(path).startswith(("s3://", "http")) or os.path.exists(path):
        return
    _tell("stand-in", name=os.path.relpath(path))
    os.makedirs(path if folder else os.path.dirname(os.path.abspath(path)), exist_ok=True)
    if not folder:
        with open(path, "w", encoding="utf-8") as file:
            file.write('raise SystemExit("this stands for a file that was not there when the launcher was recorded")\n')


def _tolerant_source(module):
    validate, pack = module.validate_source_dir, module.tar_and_upload_dir

    def validate_source_dir(script, directory):
        _made(os.path.join(directory, script))
        return validate(script, directory)

    def tar_and_upload_dir(session, bucket, s3_key_prefix, script, directory=None, dependencies=None, **more):
        _made(os.path.join(directory, script) if directory and not str(directory).startswith("s3://") else script)
        for path in dependencies or ():
            _made(path, folder="." not in os.path.basename(path))
        return pack(session, bucket, s3_key_prefix, script, directory, dependencies, **more)

    module.validate_source_dir, module.tar_and_upload_dir = validate_source_dir, tar_and_upload_dir


def _tolerant_session(module):
    upload = module.Session.upload_data

    def upload_data(self, path, *rest, **more):
        name = os.path.basename(str(path).rstrip("/")).strip(".")
        _made(path, folder="." not in name)
        if "." not in name and os.path.isdir(path) and not os.listdir(path):
            _made(os.path.join(path, "stand-in.txt"))
        return upload(self, path, *rest, **more)

    module.Session.upload_data = upload_data


def _tolerant_trainer(module):
    validate = module.ModelTrainer._validate_source_code

    def _validate_source_code(self, source_code):
        if source_code is not None and source_code.source_dir and source_code.entry_script:
            _made(os.path.join(source_code.source_dir, source_code.entry_script))
        return validate(self, source_code)

    module.ModelTrainer._validate_source_code = _validate_source_code


def _without_git(module):
    clone = module.git_clone_repo

    def git_clone_repo(git_config, entry_point, source_dir=None, dependencies=None):
        """The repository, where there is a network; else files that stand for its own, which is said."""
        try:
            return clone(git_config, entry_point, source_dir, dependencies)
        except (OSError, subprocess.CalledProcessError):  # no network, or no git
            _tell("stand-in", name=str(git_config.get("repo")))
        root = os.path.join(os.environ["TMPDIR"], "cloned")
        folder = os.path.join(root, source_dir) if source_dir else None
        _made(os.path.join(folder or root, entry_point))
        return {
            "entry_point": entry_point if folder else os.path.join(root, entry_point),
            "source_dir": folder,
            "dependencies": [os.path.join(root, path) for path in dependencies or ()],
        }

    module.git_clone_repo = git_clone_repo


_PATCHES = {
    "sagemaker.git_utils": _without_git,
    "sagemaker.fw_utils": _tolerant_source,
    "sagemaker.session": _tolerant_session,
    "sagemaker.core.fw_utils": _tolerant_source,
    "sagemaker.core.helper.session_helper": _tolerant_session,
    "sagemaker.train.model_trainer": _tolerant_trainer,
    "botocore.session": lambda module: _hooked_client(module.Session),
    "sagemaker.telemetry.telemetry_logging": _quiet,
    "sagemaker.core.telemetry.telemetry_logging": _quiet,
    "accelerate.commands.config.config_args": _accelerate,
}


class _Finder(importlib.abc.MetaPathFinder):
    """Patches a module when it is first imported."""

    def find_spec(self, name, path=None, target=None):
        if name not in _PATCHES:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is None or spec.loader is None:
            return None
        execute = spec.loader.exec_module

        def exec_module(module):
            execute(module)
            _PATCHES[name](module)

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]  # of this one loader
        return spec


def _shortened(real=time.sleep):
    def sleep(seconds):
        caller = sys._getframe(1).f_globals.get("__name__", "")
        real(min(seconds, 0.01) if str(caller).partition(".")[0] in _SLEEPERS else min(seconds, 1.0))

    return sleep


def _start() -> None:
    sys.meta_path.insert(0, _Finder())
    sys.meta_path.append(stand_ins.Finder(_of_launcher, _own_place, _stood_in))
    stand_ins.keep_in_environment()
    time.sleep = _shortened()
    sys.exit = _noted_exit
    atexit.register(_say_end)
    _chained()
    sys.addaudithook(_watch)


def _chained() -> None:
    """Run the sitecustomize that this one hides."""
    for folder in sys.path:
        path = os.path.join(folder, "sitecustomize.py")
        if os.path.realpath(folder) != os.path.realpath(_HERE) and os.path.isfile(path):
            spec = importlib.util.spec_from_file_location("sitecustomize_of_the_user", path)
            if spec is not None and spec.loader is not None:
                spec.loader.exec_module(importlib.util.module_from_spec(spec))
            return


if _SETTINGS:
    _start()

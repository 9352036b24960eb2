"""Start-up hook of a recorded launcher: every AWS client goes to the recorder, nothing else leaves, nothing else is deleted.

It runs before the launcher in each Python process that the launcher starts, knows nothing of the package, and is told where
the recorder is by the variable SM_TRN_RECORDER. What it refuses it writes down, a JSON line each.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import json
import os
import sys
import time
import types

_SETTINGS = json.loads(os.environ.get("SM_TRN_RECORDER", "{}"))
_HERE = os.path.dirname(os.path.abspath(__file__))
_INSIDE = tuple(os.path.realpath(path) for path in _SETTINGS.get("writable", ()))
_PORT = int(str(_SETTINGS.get("endpoint", ":0")).rpartition(":")[2].strip("/") or 0)
_TOLD = os.environ.get("SM_TRN_RECORDER", "")
_LOOPBACK = ("127.0.0.1", "::1", "localhost")
_SLEEPERS = ("sagemaker", "sagemaker_core", "botocore", "s3transfer", "boto3", "accelerate")
# Events that change something: where in their arguments a path is, and where the folder (dir_fd) that it is relative to.
_CHANGES = {
    "os.remove": ((0, 1),), "os.rmdir": ((0, 1),), "os.mkdir": ((0, 2),), "os.rename": ((0, 2), (1, 3)), "os.link": ((0, 2), (1, 3)),
    "os.symlink": ((1, 2),), "os.truncate": ((0, 9),), "os.chmod": ((0, 2),), "os.chown": ((0, 3),), "os.utime": ((0, 3),),
    "os.setxattr": ((0, 9),), "os.removexattr": ((0, 9),), "os.chflags": ((0, 9),), "shutil.rmtree": ((0, 1),),
    "shutil.move": ((0, 9), (1, 9)), "shutil.chown": ((0, 9),), "sqlite3.connect": ((0, 9),), "sm_trn.node": ((0, 1),),
}  # fmt: skip
_LINKS = frozenset(
    {"os.remove", "os.rmdir", "os.mkdir", "os.rename", "os.link", "os.symlink"}
)  # they follow no link at a path's end
_NOT_OF_OTHERS = ("environ", "mem")  # what of /proc/PID would show the secrets of the process that records
_PYTHONS = tuple({sys.prefix + os.sep, sys.base_prefix + os.sep})


class RefusedError(OSError):
    """The recorder does not let this through."""


def _refuse(what: str, detail: object) -> None:
    line = json.dumps({"what": what, "detail": str(detail)[:300], "pid": os.getpid()})
    descriptor = _OPEN(_SETTINGS["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.write(descriptor, (line + "\n").encode())
    os.close(descriptor)
    raise RefusedError(f"recorded, not launched: {what} {detail} was refused")


def _within(path: object) -> bool:
    if isinstance(path, int):
        return True
    try:
        real = os.path.realpath(os.fsdecode(path))  # type: ignore[arg-type]  # whatever else it is raises
    except (TypeError, ValueError):
        return False
    return real == os.devnull or any(real == place or real.startswith(place + os.sep) for place in _INSIDE)


def _place(path: object, folder: object = None) -> object:
    """Where a path leads that is a descriptor, or relative to one; what no path leads to, such as a pipe, is a number."""
    if isinstance(path, int):
        real = os.readlink(f"/proc/self/fd/{path}") if os.path.isdir("/proc/self/fd") else "unknown"
        return real if real.startswith("/") or real == "unknown" else path
    if isinstance(folder, int) and folder >= 0 and isinstance(path, (str, bytes, os.PathLike)):
        return os.path.join(str(_place(folder)), os.fsdecode(path))
    return path


def _changed(event: str, arguments: tuple[object, ...]) -> None:
    for at, folder in _CHANGES[event]:
        path = _place(arguments[at], arguments[folder] if folder < len(arguments) else None)
        if event == "sqlite3.connect":
            name = os.fsdecode(path) if isinstance(path, (str, bytes, os.PathLike)) else str(path)
            path = name.removeprefix("file:").partition("?")[0] if name.startswith("file:") else name
            if path in {"", ":memory:"}:
                continue
        if event in _LINKS and isinstance(path, (str, bytes, os.PathLike)):
            parent, name = os.path.split(os.fsdecode(path).rstrip(os.sep))
            path = os.path.join(os.path.realpath(parent), name) if name not in {"", ".", ".."} else path
            inside = _within(parent or os.curdir) if name not in {"", ".", ".."} else _within(path)
        else:
            inside = path is None or _within(path)
        if not inside:
            _refuse(event.rpartition(".")[2] if event.startswith("sm_trn") else event, path)


def _watch(event: str, arguments: tuple[object, ...]) -> None:
    """One audited event: addresses, files that would change, programs that are no Python."""
    if event in {"socket.connect", "socket.sendto", "socket.sendmsg"}:
        _connected(arguments[1] if len(arguments) > 1 else None)
    elif event in {"socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr"}:
        if arguments[0] not in {*_LOOPBACK, None, ""}:
            _refuse("name", arguments[0])
    elif event == "open":
        _opened(arguments)
    elif event in _CHANGES:
        _changed(event, arguments)
    elif event == "subprocess.Popen":
        _started(arguments[0], arguments[1], arguments[3])
    elif event in {"os.exec", "os.posix_spawn"}:
        _replaced(*arguments[:3])
    elif event == "os.system":
        _refuse("program", arguments[0])
    elif event in {"os.kill", "os.killpg", "sm_trn.signal"}:
        _refuse("signal to", arguments[0])
    elif event == "resource.prlimit" and arguments[0] not in {0, os.getpid()}:
        _refuse("limit of", arguments[0])


def _connected(address: object) -> None:
    """The recorder's own port, and sockets inside the copy: databases and Docker listen on this machine too."""
    if isinstance(address, tuple) and len(address) > 1:
        if address[0] not in _LOOPBACK or address[1] != _PORT:
            _refuse("connection to", f"{address[0]}:{address[1]}")
    elif isinstance(address, (str, bytes)) and not _within(address):
        _refuse("connection to", os.fsdecode(address))


def _opened(arguments: tuple[object, ...]) -> None:
    path, mode, flags = (*arguments, None, None, None)[:3]
    writes = isinstance(mode, str) and any(letter in mode for letter in "wax+")
    if mode is None and isinstance(flags, int):
        writes = bool(flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC))
    own = {_SETTINGS["log"] + ending for ending in ("", ".made", ".failed")}
    if writes and path not in own and not _within(path):
        _refuse("file", path)
    if not writes and isinstance(path, (str, bytes, os.PathLike)) and not os.fsdecode(path).startswith(_PYTHONS):
        parts = os.path.realpath(os.fsdecode(path)).split(os.sep)
        if parts[1] == "proc" and parts[-1] in _NOT_OF_OTHERS and parts[2] != str(os.getpid()):
            _refuse("file", path)


def _started(program: object, words: object, environment: object) -> None:
    """Only this Python, and with its hook."""
    _hooked(os.environ)
    if environment is not None and not _hooked(environment):
        _refuse("program with an environment of its own form", program)
    _python(program, words)


def _replaced(program: object, words: object, environment: object) -> None:
    """The same where the environment is taken before anybody hears of it: the hook must be in it already."""
    if environment is not None and not (isinstance(environment, (dict, os._Environ)) and _has_hook(environment)):
        _refuse("program without the recorder's environment", program)
    _started(program, words, environment)


def _python(program: object, words: object) -> None:
    name = os.fsdecode(program) if isinstance(program, (str, bytes, os.PathLike)) else str(program)
    options = [os.fsdecode(word) for word in words[1:]] if isinstance(words, (list, tuple)) else []
    if os.path.realpath(name) != os.path.realpath(sys.executable) or _leaves_hook(options):
        _refuse("program", name)


def _leaves_hook(words: list[str]) -> bool:
    """Whether Python's own options, which end at a script, -c or -m, turn its environment or its site off."""
    rest = iter(words)
    for word in rest:
        if not word.startswith("-") or word == "-":
            return False
        if word == "--check-hash-based-pycs":
            next(rest, None)
        for at, letter in enumerate("" if word.startswith("--") else word[1:], 1):
            if letter in "IES":
                return True
            if letter in "cm":
                return False
            if letter in "WX":  # the rest of the word, or the next one, is theirs
                next(rest, None) if at == len(word) - 1 else None
                break
    return False


def _has_hook(environment: os._Environ[str] | dict[str, str]) -> bool:
    first = str(environment.get("PYTHONPATH", "")).partition(os.pathsep)[0]
    return first == _HERE and environment.get("SM_TRN_RECORDER") == _TOLD and "PYTHONHOME" not in environment


def _hooked(environment: object) -> bool:
    """Whether a child with this environment has this hook too, whatever the launcher made of it: it is put there, before all others."""
    if not isinstance(environment, (dict, os._Environ)) or not all(isinstance(name, str) for name in environment):
        return False
    paths = str(environment.get("PYTHONPATH", "")).split(os.pathsep)
    environment.pop("PYTHONHOME", None)
    environment["PYTHONPATH"] = os.pathsep.join([_HERE, *(path for path in paths if path not in {"", _HERE})])
    environment["SM_TRN_RECORDER"] = _TOLD
    return True


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
        return client

    def get_scoped_config(self):
        try:
            return scoped(self)
        except Exception:  # noqa: BLE001 - a profile that this machine has not
            return {}

    session_class.create_client = create_client  # type: ignore[attr-defined]  # as above
    session_class.get_scoped_config = get_scoped_config  # type: ignore[attr-defined]  # as above


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
    return (name.startswith("<cell ") or _within(name)) and "site-packages" not in name and not name.startswith(_HERE)


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
    os.makedirs(path if folder else os.path.dirname(os.path.abspath(path)), exist_ok=True)
    if not folder:
        with open(path, "w", encoding="utf-8") as file:
            file.write("# stands for a file that was not there\n")
    with open(_SETTINGS["log"] + ".made", "a", encoding="utf-8") as log:
        log.write(f"{path}\n")


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


def _tolerant_git(module):
    def git_clone_repo(git_config, entry_point, source_dir=None, dependencies=None):
        del git_config
        root = os.path.join(os.environ["TMPDIR"], "cloned")
        folder = os.path.join(root, source_dir) if source_dir else None
        _made(os.path.join(folder or root, entry_point))
        return {
            "entry_point": entry_point if folder else os.path.join(root, entry_point),
            "source_dir": folder,
            "dependencies": [os.path.join(root, path) for path in dependencies or ()],
        }

    module.git_clone_repo = git_clone_repo


_TOLERANT = {
    "sagemaker.fw_utils": _tolerant_source,
    "sagemaker.session": _tolerant_session,
    "sagemaker.core.helper.session_helper": _tolerant_session,
    "sagemaker.train.model_trainer": _tolerant_trainer,
    "sagemaker.git_utils": _tolerant_git,
}
_PATCHES = {
    **(_TOLERANT if _SETTINGS.get("tolerant") else {}),
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


def _refused_system(command):
    try:
        _refuse("program", command)
    except RefusedError as error:
        sys.stderr.write(f"{error}\n")
    return 1


_OPEN = os.open


def _unaudited() -> None:
    """Ways to make a file, and to signal, that Python tells no audit hook of, or without the folder that they are relative to."""

    def opened(path, flags, mode=0o777, *, dir_fd=None):
        if dir_fd is not None:
            _opened((_place(path, dir_fd), None, flags))
        return _OPEN(path, flags, mode, dir_fd=dir_fd)

    def told(name, real):
        def made(path, *rest, dir_fd=None, **more):
            sys.audit("sm_trn.node", path, -1 if dir_fd is None else dir_fd)
            return real(path, *rest, dir_fd=dir_fd, **more)

        made.__name__ = name
        return made

    def signalled(pidfd, *rest, **more):
        del rest, more
        sys.audit("sm_trn.signal", f"descriptor {pidfd}")

    new = {"open": opened, **{name: told(name, getattr(os, name)) for name in ("mkfifo", "mknod") if hasattr(os, name)}}
    for name, function in new.items():
        if getattr(os, name) in os.supports_dir_fd:
            os.supports_dir_fd.add(function)
        for module in (os, sys.modules.get(os.name)):
            setattr(module, name, function)
    for name in ("signal", "_signal"):
        if hasattr(sys.modules.get(name), "pidfd_send_signal"):
            setattr(sys.modules[name], "pidfd_send_signal", signalled)  # noqa: B010 - the module's stub may not have it


def _start() -> None:
    sys.meta_path.insert(0, _Finder())
    importlib.import_module("signal")
    _unaudited()
    os.system = _refused_system
    time.sleep = _shortened()
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

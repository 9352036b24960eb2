"""Hook of a recorded launcher: every AWS client goes to the recorder, and where the launcher fails is written down.

It is run by the sandbox's own hook at the start of each Python process. It knows nothing of the package; where the recorder is stands in
the sandbox's settings.
"""

from __future__ import annotations

import atexit
import difflib
import functools
import inspect
import json
import linecache
import os
import subprocess
import sys
import time
import traceback
import types

from sitecustomize import (  # type: ignore[import-not-found]  # the sandbox's own
    SETTINGS,
    RefusedError,
    of_program,
    on_import,
    tell,
)
from stand_ins import StandIn  # type: ignore[import-not-found]  # as above

_EXITS: list[tuple[SystemExit, list[tuple[str, int]]]] = []
_NOT_ANSWERED: dict[str, str] = {}  # members of answers that the recorder left out: of which operation
_BOTO = ("boto3", "botocore", "s3transfer", "recorder_hook", "functools", "threading", "concurrent")
_ABSENT: set[object] = set()  # variables that the launcher looked for and that are not set
_STARTED: list[object] = []  # the estimators whose jobs are being started
# Names of SDK v1 that SDK v2 renames, and one that it gives itself.
_FIRST_NAMES = (
    "train_instance_count", "train_instance_type", "train_max_run", "train_max_wait", "train_use_spot_instances",
    "train_volume_size", "train_volume_kms_key", "image_name", "image", "distributions", "is_nova_job",
)  # fmt: skip
_SLEEPERS = ("sagemaker", "sagemaker_core", "botocore", "s3transfer", "boto3")
# Nothing is signed with the user's keys here, and the SDKs read these by themselves.
_CREDENTIALS = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_SECURITY_TOKEN")


def tell_failure(file: str, line: int, error: BaseException, cell: int = 0) -> None:
    """Write down that the launcher failed at this line of a file or a cell."""
    words = [_one_line(error)]
    if isinstance(error, KeyError) and error.args and error.args[0] in _NOT_ANSWERED:
        words.append(f"the recorder does not know what AWS answers to {_NOT_ANSWERED[error.args[0]]}")
    cause: BaseException | None = error
    while cause is not None and len(words) < 2:
        cause = cause.__cause__ or cause.__context__
        if isinstance(cause, (RefusedError, FileNotFoundError)) and _one_line(cause) not in words[0]:
            words.append(f"of {_one_line(cause)}")
    code = linecache.getline(file, line).strip()[:200]
    name = "" if file.startswith("<") else file
    tell("failed", file=name, cell=cell, line=line, code=code, error="; because ".join(words)[:500])


def _one_line(error: BaseException) -> str:
    return " ".join(traceback.format_exception_only(type(error), error)[-1].split())


def _tell_end() -> None:
    """When Python ends, write down which line of the launcher raised what nobody caught, or asked for another exit code than 0."""
    error = getattr(sys, "last_value", None)
    frames = [
        (frame.f_code.co_filename, line) for frame, line in traceback.walk_tb(getattr(error, "__traceback__", None))
    ]
    if isinstance(error, SyntaxError) and error.filename:
        frames.append((error.filename, error.lineno or 1))
    if error is None and _EXITS:
        error, frames = _EXITS[-1]
    own = [place for place in frames if of_program(place[0])]
    if error is not None and own:
        tell_failure(own[-1][0], own[-1][1], error)


def _exit(code=None, real=sys.exit):
    if code:
        frames = [(frame.f_code.co_filename, line) for frame, line in traceback.walk_stack(sys._getframe(1))]
        _EXITS.append((SystemExit(code), frames[::-1]))
    real(code)


def _keep_in_environment() -> None:
    """Let ``os.environ`` hold stand-ins: whoever reads one gets it back, and no text in its place."""
    kind = type(os.environ)
    unknown: dict[str, StandIn] = {}
    get, put, delete = kind.__getitem__, kind.__setitem__, kind.__delitem__

    def get_item(self, key):
        if key in unknown:
            return unknown[key]
        try:
            return get(self, key)
        except KeyError:
            frame = sys._getframe(1)
            while frame.f_back and frame.f_code.co_filename.endswith(
                ("os.py", "_collections_abc.py", "<frozen os>", "<frozen _collections_abc>")
            ):
                frame = frame.f_back
            if key not in _ABSENT and of_program(frame.f_code.co_filename):
                _ABSENT.add(key)
                tell("variable", name=str(key))
            raise

    def set_item(self, key, value):
        unknown.pop(key, None)
        if not isinstance(value, StandIn):
            put(self, key, value)
        elif key not in _CREDENTIALS:
            unknown[key] = value

    def delete_item(self, key):
        if unknown.pop(key, None) is None:
            delete(self, key)

    setattr(kind, "__getitem__", get_item)  # noqa: B010 - mypy: methods
    setattr(kind, "__setitem__", set_item)  # noqa: B010
    setattr(kind, "__delitem__", delete_item)  # noqa: B010


def _hooked_client(session_class: type) -> None:
    """Make every client talk to the recorder, whatever address, profile or credentials it was given."""
    original = session_class.create_client  # type: ignore[attr-defined]  # botocore's Session
    scoped = session_class.get_scoped_config  # type: ignore[attr-defined]  # as above

    def create_client(self, service_name, region_name=None, *rest, **options):
        names = ("api_version", "use_ssl", "verify", "endpoint_url", "aws_access_key_id", "aws_secret_access_key",
                 "aws_session_token", "config")  # fmt: skip
        options.update(zip(names, rest))
        options.update(
            endpoint_url=SETTINGS["endpoint"], use_ssl=False, verify=False, aws_access_key_id=SETTINGS["key"],
            aws_secret_access_key="recorded", aws_session_token=None,
        )  # fmt: skip
        region = region_name or self.get_config_variable("region") or SETTINGS["region"]
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
    """Write into headers whose call it is, which an unsigned one would not say, and which lines of the launcher made it."""
    request.headers["X-Recorded-Key"] = SETTINGS["key"]
    request.headers["X-Recorded-Place"] = json.dumps(_own_places())
    request.headers["X-Recorded-Direct"] = "1" if _is_direct() else "0"
    request.headers["X-Recorded-Made"] = json.dumps(getattr(_STARTED[-1], "_made_at", []) if _STARTED else [])


def _is_direct() -> bool:
    """Return True where the launcher itself calls boto3, and not an SDK for it."""
    frame: types.FrameType | None = sys._getframe(2)
    while frame is not None and str(frame.f_globals.get("__name__")).partition(".")[0] in _BOTO:
        frame = frame.f_back
    return frame is not None and of_program(frame.f_code.co_filename)


def _own_places() -> list[tuple[str, int, int]]:
    """Return the launcher's lines that are being run, the innermost first: file, line, and cell of each."""
    places: list[tuple[str, int, int]] = []
    frame: types.FrameType | None = sys._getframe()
    while frame is not None and len(places) < 6:
        name = frame.f_code.co_filename
        if of_program(name):
            cell = name[len("<cell ") : -1] if name.startswith("<cell ") else "0"
            places.append(("" if cell != "0" else name, frame.f_lineno, int(cell)))
        frame = frame.f_back
    return places


def _note_maker(cls, method):
    """Let objects of a class know the lines that made them, and requests which object starts them."""
    make, start = cls.__init__, getattr(cls, method)
    parameters = inspect.signature(make).parameters
    swallows = any(each.kind is each.VAR_KEYWORD for each in parameters.values())

    def __init__(self, *args, **kwargs):  # noqa: N807 - it replaces one
        unknown = [name for name in kwargs if name not in parameters and name not in _FIRST_NAMES]
        if swallows and unknown and cls.__name__ == "EstimatorBase":
            _tell_swallowed(type(self), unknown)
        make(self, *args, **kwargs)
        object.__setattr__(self, "_made_at", _own_places())

    def started(self, *args, **kwargs):
        _STARTED.append(getattr(self, "estimator", None) or self)
        try:
            return start(self, *args, **kwargs)
        finally:
            _STARTED.pop()

    cls.__init__ = functools.wraps(make)(__init__)
    setattr(cls, method, functools.wraps(start)(started))


def _tell_swallowed(cls, unknown):
    """SDK v2 takes every argument and says nothing of those that it does not know."""
    known = {name for each in cls.__mro__ for name in inspect.signature(each.__init__).parameters}
    place = (_own_places() or [("", 0, 0)])[0]
    for name in (each for each in unknown if each not in known):
        meant = difflib.get_close_matches(name, sorted(known - {"self", "args", "kwargs"}), 1)
        tell("swallowed", name=name, meant=meant[0] if meant else "", file=place[0], line=place[1], cell=place[2])


def _quiet(module):
    """The SDKs' usage reports go by their own way, not through botocore."""
    for name in ("_send_telemetry_request", "_requests_helper"):
        if hasattr(module, name):
            setattr(module, name, lambda *_, **__: None)


def _make(path, *, folder=False):
    """Write a stand-in for a file that is not here: a launch must not end because of its data."""
    if not path or str(path).startswith(("s3://", "http")) or os.path.exists(path):
        return
    tell("stand-in", name=os.path.relpath(path))
    os.makedirs(path if folder else os.path.dirname(os.path.abspath(path)), exist_ok=True)
    if not folder:
        with open(path, "w", encoding="utf-8") as file:
            file.write('raise SystemExit("this stands for a file that was not there when the launcher was recorded")\n')


def _tolerant_source(module):
    validate, pack = module.validate_source_dir, module.tar_and_upload_dir

    def validate_source_dir(script, directory):
        _make(os.path.join(directory, script))
        return validate(script, directory)

    def tar_and_upload_dir(session, bucket, s3_key_prefix, script, directory=None, dependencies=None, **more):
        _make(os.path.join(directory, script) if directory and not str(directory).startswith("s3://") else script)
        for path in dependencies or ():
            _make(path, folder="." not in os.path.basename(path))
        return pack(session, bucket, s3_key_prefix, script, directory, dependencies, **more)

    module.validate_source_dir, module.tar_and_upload_dir = validate_source_dir, tar_and_upload_dir


def _tolerant_session(module):
    upload = module.Session.upload_data
    if SETTINGS.get("bucket"):
        module.Session.default_bucket = lambda *_: SETTINGS["bucket"]

    def upload_data(self, path, *rest, **more):
        name = os.path.basename(str(path).rstrip("/")).strip(".")
        _make(path, folder="." not in name)
        if "." not in name and os.path.isdir(path) and not os.listdir(path):
            _make(os.path.join(path, "stand-in.txt"))
        return upload(self, path, *rest, **more)

    module.Session.upload_data = upload_data


def _tolerant_trainer(module):
    validate = module.ModelTrainer._validate_source_code

    def _validate_source_code(self, source_code):
        if source_code is not None and source_code.source_dir and source_code.entry_script:
            _make(os.path.join(source_code.source_dir, source_code.entry_script))
        return validate(self, source_code)

    module.ModelTrainer._validate_source_code = _validate_source_code
    _note_maker(module.ModelTrainer, "train")


def _without_git(module):
    clone = module.git_clone_repo

    def git_clone_repo(git_config, entry_point, source_dir=None, dependencies=None):
        """The repository, where there is a network; else files that stand for its own, which is said."""
        try:
            return clone(git_config, entry_point, source_dir, dependencies)
        except (OSError, subprocess.CalledProcessError):  # no network, or no git
            tell("stand-in", name=str(git_config.get("repo")))
        root = os.path.join(os.environ["TMPDIR"], "cloned")
        folder = os.path.join(root, source_dir) if source_dir else None
        _make(os.path.join(folder or root, entry_point))
        return {
            "entry_point": entry_point if folder else os.path.join(root, entry_point),
            "source_dir": folder,
            "dependencies": [os.path.join(root, path) for path in dependencies or ()],
        }

    module.git_clone_repo = git_clone_repo


def _hub(module):
    """The Hugging Face token of the user's machine, by a visible word. HfFolder left huggingface_hub 1.0, and launchers import it."""
    token = os.environ.get("HF_TOKEN") or "YOUR-HF-TOKEN"
    module.HfFolder = type("HfFolder", (), {"get_token": staticmethod(lambda: token)})
    module.get_token = module.HfFolder.get_token
    module.login = module.notebook_login = lambda *_, **__: None


_PATCHES = {
    "huggingface_hub": _hub,
    "sagemaker.estimator": lambda module: _note_maker(module.EstimatorBase, "fit"),
    "sagemaker.tuner": lambda module: _note_maker(module.HyperparameterTuner, "fit"),
    "sagemaker.git_utils": _without_git,
    "sagemaker.fw_utils": _tolerant_source,
    "sagemaker.session": _tolerant_session,
    "sagemaker.core.fw_utils": _tolerant_source,
    "sagemaker.core.helper.session_helper": _tolerant_session,
    "sagemaker.train.model_trainer": _tolerant_trainer,
    "botocore.session": lambda module: _hooked_client(module.Session),
    "sagemaker.telemetry.telemetry_logging": _quiet,
    "sagemaker.core.telemetry.telemetry_logging": _quiet,
}


def _shortened(real=time.sleep):
    def sleep(seconds):
        caller = sys._getframe(1).f_globals.get("__name__", "")
        real(min(seconds, 0.01) if str(caller).partition(".")[0] in _SLEEPERS else min(seconds, 1.0))

    return sleep


for _name, _patch in _PATCHES.items():
    on_import(_name, _patch)
_keep_in_environment()
time.sleep = _shortened()
sys.exit = _exit
atexit.register(_tell_end)

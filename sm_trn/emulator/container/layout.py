"""The folders, programs and variables that every emulated container finds.

It writes folders and returns dictionaries; it must not start anything, nor read the caller's environment beyond an
allow-list: a job never sees the user's credentials.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ...sandbox.init import HostSpec
from ...sandbox.init import remove as remove_folder
from ...sandbox.run import TRUST, available
from ..iam.keys import Key
from ..options import DATA_FOLDER

if TYPE_CHECKING:  # it knows nearly everything, and this module is known by nearly everything
    from .context import Context

INSIDE: Final = Path(__file__).with_name("inside")
ML: Final = "/opt/ml"
_PLACES: Final = ("jobs", "tmp", "hosted")  # of a state, what a killed emulator leaves
NOTE: Final = "door"  # a file that names a folder outside the state: a socket's path may have 107 bytes only
# All of the caller's environment that a job may see: switches and paths, nothing that is ever a secret.
_ALLOWED: Final = (
    "HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "HF_DATASETS_OFFLINE", "HF_HUB_CACHE", "LD_LIBRARY_PATH", "TZ",
)  # fmt: skip
# Below a home: where people keep credentials. A job in a namespace sees them empty.
_CREDENTIALS: Final = (
    ".aws", ".ssh", ".gnupg", ".kube", ".docker", ".azure", ".config/gcloud", ".config/gh", ".netrc", ".git-credentials",
    ".pypirc", ".pgpass", ".cache/huggingface/token", ".cache/huggingface/stored_tokens",
)  # fmt: skip
# Of the emulator's folder: what no job may see.
_OWN: Final = (
    "endpoint.json", "emulator.db", "emulator.db-wal", "emulator.db-shm", "jobs", "s3", "logs", "metrics", "tmp", "hosted",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Where:
    """One host's folders, as this process sees them and as the job does."""

    name: str
    folder: Path
    ml: Path
    seen_ml: str
    seen_own: str
    seen_tmp: str

    @property
    def own(self) -> Path:
        return self.folder / "own"


def has_namespaces() -> bool:
    """Return True where a host can have a user namespace, with its own /opt/ml: it is tried, not guessed from version numbers."""
    return Path("/opt").is_dir() and available()


def isolation_of(*, namespace: bool) -> str:
    """Return how jobs are kept apart, for the status and the jobs' logs. A namespace is no sandbox: a job has the network."""
    return "user namespace, /opt/ml" if namespace else f"plain folder, SAGEMAKER_BASE_DIR. {TRUST}"


def place(root: Path, name: str, *, namespace: bool) -> Where:
    """Create the empty folders of one host: /opt/ml in a namespace, elsewhere a folder that stands for it."""
    folder = root / name
    ml = folder / "ml"
    for part in ("input/config", "input/data", "model", "output/data", "code", "checkpoints"):
        (ml / part).mkdir(parents=True)
    for part in ("own/home", "own/tmp", "own/bin", "stage"):
        (folder / part).mkdir(parents=True)
    tmp = "/opt/sm_trn/tmp" if namespace else tempfile.mkdtemp(prefix="smt-")  # sockets allow 107 bytes of path
    (folder / NOTE).write_text("" if namespace else tmp, encoding="utf-8")
    return Where(
        name=name,
        folder=folder,
        ml=ml,
        seen_ml=ML if namespace else str(ml),
        seen_own="/opt/sm_trn" if namespace else str(folder / "own"),
        seen_tmp=tmp,
    )


def remove(where: Where) -> None:
    """Leave nothing of a host behind, whatever its job did to the permissions."""
    for folder in (where.folder, Path(where.seen_tmp)):
        if folder.is_dir() and not str(folder).startswith("/opt/sm_trn"):
            remove_folder(folder)


def write_programs(where: Where, python: str, hosts: Sequence[str], neuron_cores: int = 0) -> None:
    """Write what stands first on the PATH: the interpreter under the image's name, torchrun, and Neuron's tools."""
    run = INSIDE / "torchrun_here.py"
    programs = {"torchrun": f'exec "{python}" -I -S "{run}" "$@"', "python": f'exec "{python}" "$@"'}
    programs["python3"] = programs["python"]
    if neuron_cores:
        programs["neuron-ls"] = f"""echo '[{{"neuron_device": 0, "nc_count": {neuron_cores}}}]'"""
        programs["neuron_parallel_compile"] = (
            'echo "sm_trn emulator: neuron_parallel_compile compiles nothing on a CPU; it runs the command as it is"\n'
            'exec "$@"'
        )
    for name, body in programs.items():
        file = where.own / "bin" / name
        file.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
        file.chmod(0o755)
    lines = "".join(f"127.0.0.1 {host}\n" for host in hosts)
    known = Path("/etc/hosts")
    (where.folder / "hosts").write_text(
        (known.read_text(encoding="utf-8") if known.exists() else "") + lines, encoding="utf-8"
    )


def base_environment(where: Where, context: Context, key: Key, requested: Mapping[str, str]) -> dict[str, str]:
    """Return what every emulated container finds, training or hosting, and the variables that are ``requested``."""
    python, url = context.options.job_python, context.url
    system = f"{Path(python).parent}:/usr/local/bin:/usr/bin:/bin"
    variables = {name: os.environ[name] for name in _ALLOWED if name in os.environ}
    variables |= {
        "LANG": "C.UTF-8",
        "LC_ALL": "C.UTF-8",
        "PYTHONUNBUFFERED": "1",
        "PYTHONIOENCODING": "utf-8",
        "PYTHONDONTWRITEBYTECODE": "1",
        "OMP_NUM_THREADS": "1",
        "GLOO_SOCKET_IFNAME": "lo",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "TAR_OPTIONS": "--no-same-owner",  # GNU tar gives files away as root, which the root of a namespace cannot
    }
    variables |= {name: localized(value, where) for name, value in requested.items()}
    path = variables.get("PATH")
    variables |= {
        "PATH": f"{where.seen_own}/bin:{path or system}",
        "HOME": f"{where.seen_own}/home",
        "TMPDIR": where.seen_tmp,
        "PYTHONPATH": ":".join(part for part in (str(INSIDE / "image"), variables.get("PYTHONPATH")) if part),
        "AWS_REGION": context.region,
        "AWS_DEFAULT_REGION": context.region,
        "AWS_ENDPOINT_URL": url,
        "AWS_DATA_PATH": str(context.root / DATA_FOLDER),
        "S3_ENDPOINT_URL": url,
        "AWS_ACCESS_KEY_ID": key.access,
        "AWS_SECRET_ACCESS_KEY": key.secret,
        "AWS_EC2_METADATA_DISABLED": "true",
        "SM_TRN_EMULATED": "true",
        "SM_TRN_PYTHON": python,
    }
    if where.seen_ml != ML:
        variables["SAGEMAKER_BASE_DIR"] = where.seen_ml
    return variables


def localized(text: str, where: Where) -> str:
    """Return the text with /opt/ml replaced by the folder that stands in for it, where there is no namespace."""
    if where.seen_ml == ML or ML not in text:
        return text
    return where.seen_ml if text == ML else text.replace(f"{ML}/", f"{where.seen_ml}/")


def host_spec(where: Where, state: Path, argv: tuple[str, ...], env: dict[str, str], *, toolkit: bool) -> HostSpec:
    """Describe how a process starts on the host. A job in a namespace sees the places of credentials, and of the emulator's ``state``
    all but its own, empty."""
    return HostSpec(
        namespace=where.seen_ml == ML,
        portable=sys.platform != "linux",
        hostname=where.name,
        argv=argv,
        env=env,
        cwd=f"{where.seen_own}/home",
        ml=str(where.ml),
        own=str(where.own),
        stage=str(where.folder / "stage"),
        hosts=str(where.folder / "hosts"),
        hidden=(*(str(Path.home() / name) for name in _CREDENTIALS), *(str(state / name) for name in _OWN)),
        toolkit=toolkit,
    )


def clean_up_orphans(state: Path) -> None:
    """Empty these folders, and remove those outside the state that hosts had: only ours, whatever the notes say. Call it with the
    state's lock held."""
    for pattern in (f"jobs/*/*/*/{NOTE}", f"hosted/*/{NOTE}", f"hosted/*/*/{NOTE}"):
        for note in state.glob(pattern):
            with contextlib.suppress(OSError, UnicodeDecodeError):
                folder = Path(note.read_text(encoding="utf-8"))
                if folder.name.startswith("smt-") and str(folder.parent) == tempfile.gettempdir():
                    shutil.rmtree(folder, ignore_errors=True)
    for name in _PLACES:
        shutil.rmtree(state / name, ignore_errors=True)
        (state / name).mkdir(exist_ok=True)

"""The twin of an image: its Python and its published versions as an environment of this machine, kept in the emulator's state folder.

It asks uv for everything: which Python is here, which versions have wheels, what they bring.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from typing import Final

from ..core.catalog import images
from ..core.errors import EmulatorError
from ..core.preflight import source
from ..core.session.defaults import state_folder
from ..core.specs.job import JobSpec
from ..images.contents import Contents, contents_of, imports_of, package_of, python_of
from ..images.resolve import find_uv, words_of
from .container.twins import FOLDER, NOTE, Twin, twin_at
from .options import TWIN_TAG

RECIPE: Final = 2  # a twin that was made in another way is made again
OLDEST: Final = (3, 8)
_PYTHON_S, _INSTALL_S = 300, 3600
_TOOLS: Final = frozenset(
    {"pip", "setuptools", "wheel"}
)  # every image but those of a lock file has them, from conda or Debian
_WHEELS: Final = ("--only-binary", ":all:")
_WORDS: Final = 200  # characters of the resolver's words that are kept of what could not be had


def in_twin(job: JobSpec, state: str | Path | None = None, *, tell: Callable[[str], None] = lambda _: None) -> JobSpec:
    """The job, to be rehearsed in a twin of its image: with the image's Python and versions, and its requirements.txt installed by pip.

    The twin is made once and kept in ``state``, the emulator's folder; ``tell`` hears what is being made. The job gets a tag, which
    means nothing to AWS. Raises EmulatorError where the image's contents are not published, and where uv or the Python is not to be had.
    """
    key, _ = twin_of(job, state_folder(state), tell=tell)
    return job.replace(tags={**job.tags, TWIN_TAG: key})


def twin_of(job: JobSpec, state: Path, *, tell: Callable[[str], None]) -> tuple[str, Twin]:
    """The twin of a job's image and its key, made where ``state`` has none. Raises EmulatorError where none can be made."""
    held = contents_of(job)
    wanted = python_of(held)
    if held is None or wanted is None:
        raise EmulatorError(
            f"{job.name}: got an image whose contents are not published, wanted one that `sm-trn catalog images` lists: "
            "only of such an image a twin can be made"
        )
    if (held.python_minor or OLDEST) < OLDEST:
        raise EmulatorError(
            f"{held.name} has Python {wanted}, and a twin needs 3.8 or newer, as uv and the emulator's launcher do; "
            "fix: rehearse without --environment twin, or choose a newer image (sm-trn catalog images)"
        )
    uv = find_uv()
    if uv is None:
        raise EmulatorError("--environment twin: uv makes the twin, and it is not installed; fix: pip install uv")
    interpreter = find_python(uv, wanted)
    exact, limits = _published(held)
    wanted_too = sorted((_imported(job) & limits.keys()) | (set() if held.complete else _TOOLS - exact.keys()))
    row = images.choose(job)
    until = (row.end_of_patch if row is not None else None) or ""
    recipe = [
        RECIPE,
        held.name,
        interpreter or wanted,
        exact,
        limits,
        wanted_too,
        until,
        platform.machine(),
        {name: value for name, value in sorted(os.environ.items()) if name.startswith("UV_")},  # where uv looks
    ]
    key = hashlib.sha256(json.dumps(recipe).encode()).hexdigest()[:16]
    with _alone(state / FOLDER, key):
        twin = twin_at(state, key)
        return key, twin or _Maker(uv, state / FOLDER / key, held, until, tell).make(
            interpreter or wanted, exact, limits, wanted_too
        )


def find_python(uv: str, version: str) -> str | None:
    """The interpreter of this version that the machine has: one that uv finds, else one of pyenv's. None where it has none."""
    command = [uv, "python", "find", version, "--no-python-downloads", "--no-project"]
    with contextlib.suppress(subprocess.TimeoutExpired):
        found = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_PYTHON_S, cwd="/")
        if found.returncode == 0:
            return found.stdout.strip()
    root = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    installed = sorted(root.glob(f"versions/{version}.*/bin/python"))
    return str(installed[-1]) if installed else None


def _published(held: Contents) -> tuple[dict[str, str], dict[str, str]]:
    """Packages with the one version that is published, and the others with what is published of theirs, which may be nothing."""
    exact = {name: version.public for name in held.packages if (version := held.version(name)) is not None}
    limits = {name: str(held.spec(name) or "") for name in held.packages if name not in exact}
    if held.first_numpy and "numpy" not in exact and not limits.get("numpy"):
        limits["numpy"] = "<2"
    return exact, limits


def _imported(job: JobSpec) -> set[str]:
    """The packages that the programs of a job's source import."""
    folder = source.source_folder(job)
    own = job.script is not None and bool(job.script.source_dir)
    files = folder.rglob("*.py") if folder is not None and own else ()
    texts = (source.text(file) or "" for file in files)
    return {package_of(module) for text in texts for module, _ in imports_of(text, anywhere=True)}


@contextlib.contextmanager
def _alone(folder: Path, key: str) -> Iterator[None]:
    """Hold a twin: who comes second waits, and finds it finished."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / f"{key}.lock").open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


@dataclass(slots=True)
class _Maker:
    """Makes one twin in its folder. What is there already is of a maker that did not finish, and goes.

    ``until`` is the last day on which AWS builds the image again, ISO, empty where it is not known: what its packages bring is not newer.
    """

    uv: str
    folder: Path
    held: Contents
    until: str
    tell: Callable[[str], None]

    def make(self, python: str, exact: Mapping[str, str], limits: Mapping[str, str], more: list[str]) -> Twin:
        """Make it of the exact versions, and of more packages; note what is in it. Raises EmulatorError."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self.tell(f"making the twin of {self.held.name}; it is kept for later rehearsals")
        self._environment(python)
        pins = {name: f"{name}=={version}" for name, version in exact.items()}
        pins |= {name: f"{name}{limits.get(name, '')}" for name in more}
        lacking: dict[str, str] = {}
        backend: tuple[
            str, ...
        ] = ()  # PyTorch's builds for the CPU, where the user has not chosen and they can be reached
        if "torch" in exact and "UV_TORCH_BACKEND" not in os.environ:
            option = ("--torch-backend", "cpu")
            backend = () if self._try([f"torch=={exact['torch']}"], option).returncode else option
        if backend:  # a build for the CPU needs none of CUDA's libraries
            lacking = {name: "a library of CUDA" for name in pins if name.startswith("nvidia-")}
        lacking |= self._unavailable([pins[name] for name in pins if name not in lacking], backend)
        there = {name: pin for name, pin in pins.items() if name not in lacking}
        gone = {name for name in lacking if name in exact}
        overrides = [f"{name}=={exact[name]}" for name in there if name in exact]
        self._write("overrides.txt", overrides + [f"{name} ; python_version < '3'" for name in gone])
        self._write("limits.txt", [f"{name}{limit}" for name, limit in limits.items() if limit and name not in lacking])
        self._install(list(there.values()), backend)
        listed = json.loads(self._ran([self.uv, "pip", "list", "--format", "json", "--python", str(self._python)]))
        installed = {each["name"]: each["version"] for each in listed}
        lacking |= {name: "not installed" for name in there if name not in installed}
        twin = Twin(
            image=self.held.name,
            python=self._ran([str(self._python), "-c", "import platform; print(platform.python_version())"]).strip(),
            interpreter=str(self._python),
            versions={name: installed[name] for name in there if name in installed},
            lacking=lacking,
        )
        (self.folder / NOTE).write_text(json.dumps(asdict(twin), indent=1), "utf-8")
        for line in twin.lines():
            self.tell(line)
        return twin

    @property
    def _python(self) -> Path:
        return self.folder / "bin/python"

    def _environment(self, python: str) -> None:
        """An empty environment with pip, of an interpreter or a version that uv may download."""
        made = self._uv("venv", "--no-project", "--python", python, str(self.folder))
        if made.returncode:
            wanted = python_of(self.held)
            raise EmulatorError(
                f"{self.held.name} has Python {wanted}, and neither uv nor pyenv has it here: {words_of(made.stderr)}; "
                f"fix: uv python install {wanted}"
            )
        self._ran([str(self._python), "-m", "ensurepip"])

    def _unavailable(self, pins: list[str], backend: tuple[str, ...]) -> dict[str, str]:
        """Which of them have no wheel for this machine, and why: the half that fails is halved, until single ones are left."""
        if not pins:
            return {}
        asked = self._try(pins, backend)
        if not asked.returncode:
            return {}
        if len(pins) == 1:
            return {re.split(r"[=<>!~ ]", pins[0])[0]: words_of(asked.stderr)[:_WORDS]}
        half = len(pins) // 2
        return self._unavailable(pins[:half], backend) | self._unavailable(pins[half:], backend)

    def _try(self, pins: list[str], backend: tuple[str, ...]) -> subprocess.CompletedProcess[str]:
        return self._uv(
            "pip", "install", "--dry-run", "--no-deps", *_WHEELS, "--python", str(self._python), *backend, *pins
        )

    def _write(self, name: str, lines: list[str]) -> None:
        (self.folder / name).write_text("".join(f"{line}\n" for line in lines), "utf-8")

    def _install(self, pins: list[str], backend: tuple[str, ...]) -> None:
        """Install them with what they bring; what they ask of one another gives way to the versions of the image."""
        if not pins:
            return
        common = ("pip", "install", "--compile-bytecode", *_WHEELS, "--python", str(self._python), *backend)
        exact, limits = str(self.folder / "overrides.txt"), str(self.folder / "limits.txt")
        for day, held_as in product(dict.fromkeys([self.until, ""]), ("--constraint", "--override")):
            # Not every index knows days, and what is published of a package may not be what another says that it needs.
            until = ("--exclude-newer", day) if day else ()
            done = self._uv(*common, *until, "--override", exact, held_as, limits, *pins)
            if not done.returncode:
                return
        self.tell(f"what the image's packages bring is left out, for it cannot be installed: {words_of(done.stderr)}")
        done = self._uv(*common, "--no-deps", *pins)
        if done.returncode:
            raise EmulatorError(
                f"{self.held.name}: its packages could not be installed: {words_of(done.stderr)}; "
                "fix: let uv reach a package index (UV_DEFAULT_INDEX, UV_FIND_LINKS)"
            )

    def _uv(self, *words: str) -> subprocess.CompletedProcess[str]:
        try:
            return subprocess.run(
                [self.uv, *words],
                capture_output=True,
                text=True,
                check=False,
                timeout=_INSTALL_S,
                cwd=self.folder.parent,
            )
        except subprocess.TimeoutExpired as error:
            raise EmulatorError(
                f"{self.held.name}: uv gave no answer in {_INSTALL_S} s; is the package index reachable?"
            ) from error

    def _ran(self, words: list[str]) -> str:
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=_PYTHON_S, cwd=self.folder)
        if done.returncode:
            raise EmulatorError(f"{self.held.name}: its twin could not be made: {words_of(done.stderr)}")
        return done.stdout

"""``check --resolve``: uv solves a job's requirements for its image, over the network. Nothing is built, installed or run."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from packaging.utils import canonicalize_name
from packaging.version import Version

from ..core.errors import SmTrnError
from ..core.preflight import source
from ..core.specs.job import JobSpec
from .contents import Contents, contents_of, imports_of, packages_of, python_of
from .requirements import requirements_of

# What the image builds its other libraries for. They are held where a solution leaves them alone.
HELD = ("torch", "torchvision", "torchaudio", "torch-xla", "torch-neuronx", "flash-attn", "numpy")
TIMEOUT_S = 300
LATEST_PATCH = 99  # without a patch uv takes the first of a Python, for which later releases are not meant
PLATFORM = "x86_64-manylinux_2_31"  # Ubuntu 20.04: the oldest of the images

_NO_WHEEL = re.compile(
    r"(?:all versions of )?(?P<name>[A-Za-z0-9][\w.-]*?)(?:\[[^\]]*\])?"
    r"(?P<spec>(?:[<>=!~]=?[\w.+*]+,?)*) ha(?:s|ve) no usable wheels"
)
_EDITABLE = re.compile(r"(?:-e|--editable)[ =]\s*")
_ARCHIVES = (".whl", ".tar.gz", ".zip")
_PYTHONS = ("3.8", "3.9", "3.10", "3.11", "3.12", "3.13")
_MOST_UNBUILT = 12  # packages without any wheel: with more, uv's words are the answer
_PARALLEL = 4  # uv processes at once


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolution:
    """``pins`` are versions that can be installed together into the image, as lines of a constraints file. They are empty where there
    are none, and ``conflict`` gives the resolver's reason.

    ``replaced`` are the image's packages that they replace: name, version there, new version; ``reason`` is why what the image is built
    for cannot stay. ``warnings`` are sentences on packages of the image whose metadata do not allow the pins, and the other way round.
    ``unread`` are requirements that only a build could judge: addresses, and packages without any wheel.
    """

    image: str
    pins: tuple[str, ...] = ()
    conflict: str = ""
    replaced: tuple[tuple[str, str, str], ...] = ()
    reason: str = ""
    warnings: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()


def resolve(job: JobSpec) -> Resolution:
    """Solve the requirements of a job for its image's Python and platform: its PyTorch held, or else, as pip does, replaced.

    Raises SmTrnError where the image's contents are not published, or there is no uv, or uv cannot look.
    """
    contents, text, program = contents_of(job), source.requirements(job) or "", find_uv()
    python = python_of(contents)
    if contents is None or python is None:
        raise SmTrnError(f"{job.name}: what its image holds is not published, wanted an image of sm-trn catalog images")
    if program is None:
        raise SmTrnError("--resolve asks uv, which is not installed; fix: pip install uv")
    # Packages of the AWS Neuron SDK come from the image's own index.
    neuron = re.compile(r"\s*(?:torch[-_]|lib|aws[-_])?neuronx" if contents.processor == "neuron" else r"(?!)")
    addresses = [line.strip() for line in text.splitlines() if _is_address(line) or neuron.match(line)]
    uv = _Uv(program, f"{python}.{LATEST_PATCH}", [line for line in text.splitlines() if line.strip() not in addresses])
    installed = _versions(contents)
    specs = {"numpy": "<2"} if contents.first_numpy else {}
    specs |= {name: str(spec) for name in HELD if (spec := contents.spec(name)) is not None}
    specs |= {name: f"=={version.public}" for name in HELD if (version := contents.version(name)) is not None}
    limits = [f"{name}{spec}" for name, spec in specs.items()]  # what the image is built for
    unbuilt: list[str] = []
    reason = conflict = ""
    pins: tuple[str, ...] = ()
    for held in (limits, [line for line in limits if line.startswith("numpy")], []):
        conflict, pins = uv.solve(held, installed, unbuilt)
        reason = reason or conflict
        if not conflict:
            break
    unread = (*addresses, *unbuilt)
    if conflict:
        return Resolution(image=contents.name, conflict=conflict, unread=unread)
    return Resolution(
        image=contents.name,
        pins=pins,
        replaced=tuple(_replaced(pins, installed)),
        reason=reason,
        warnings=(*_disallowed(uv, pins, text, contents), *_other_torch(uv, pins, job, installed)),
        unread=unread,
    )


@dataclass(frozen=True, slots=True)
class _Uv:
    """The resolver, with the container's Python and the job's lines, options among them."""

    program: str
    python: str
    lines: list[str]

    def solve(self, limits: list[str], installed: dict[str, str], unbuilt: list[str]) -> tuple[str, tuple[str, ...]]:
        """The conflict, or the pins. Packages that have no wheel for any Python are left out, and added to ``unbuilt``."""
        while True:
            conflict, pins = self.compile(self.lines, limits=limits, installed=installed, absent=unbuilt)
            missing = _NO_WHEEL.search(conflict)
            if missing is None or missing["name"] in unbuilt or len(unbuilt) >= _MOST_UNBUILT:
                return conflict, pins
            wanted = f"{missing['name']}{missing['spec'].rstrip(',')}"
            if any(not self.compile([wanted], "--no-deps", python=python)[0] for python in _PYTHONS):
                return conflict, pins  # it has wheels for another Python
            unbuilt.append(missing["name"])

    def conflict(self, lines: Iterable[str]) -> str:
        """Why requirements exclude one another, with the job's own indexes; empty where they do not."""
        options = [line for line in self.lines if line.lstrip().startswith("-")]
        return self.compile([*options, *lines])[0]

    def compile(
        self,
        lines: Iterable[str],
        *options: str,
        limits: Iterable[str] = (),
        installed: dict[str, str] | None = None,
        absent: Iterable[str] = (),
        python: str = "",
    ) -> tuple[str, tuple[str, ...]]:
        """The conflict, empty where there is none, and the pins. Raises SmTrnError where uv gives no answer."""
        pinned = [f"{name}=={version}" for name, version in (installed or {}).items()]
        without = [f"{name} ; python_version < '3'" for name in absent]
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            # uv keeps the versions in its output file where they fit, as pip keeps what is installed.
            for file, content in (("lines", lines), ("limits", limits), ("pinned", pinned), ("absent", without)):
                (folder / f"{file}.txt").write_text("".join(f"{line}\n" for line in content), "utf-8")
            command = [
                *(self.program, "pip", "compile", "lines.txt", "--output-file", "pinned.txt"),
                *("--constraint", "limits.txt", "--override", "absent.txt", "--only-binary", ":all:"),
                *("--python-version", python or self.python, "--python-platform", PLATFORM, "--python", sys.executable),
                *("--no-python-downloads", "--no-header", "--no-annotate", "--quiet", *options),
            ]
            try:
                answer = subprocess.run(
                    command, capture_output=True, text=True, check=False, timeout=TIMEOUT_S, cwd=folder
                )
            except subprocess.TimeoutExpired as error:
                raise SmTrnError(
                    f"--resolve: uv gave no answer in {TIMEOUT_S} s; is the package index reachable?"
                ) from error
            solution = (folder / "pinned.txt").read_text("utf-8")
        if answer.returncode > 1:  # 1 is no solution
            raise SmTrnError(f"--resolve: uv could not look for the requirements: {words_of(answer.stderr)}")
        if answer.returncode:
            return words_of(answer.stderr), ()
        pins = [line.split(";")[0].strip() for line in solution.splitlines() if "==" in line]
        return "", tuple(pins)


def _disallowed(uv: _Uv, pins: tuple[str, ...], text: str, contents: Contents) -> Iterator[str]:
    """Packages of the image whose own metadata do not allow the pins: pip does not look at what it leaves alone."""
    exact = {each.name for each in requirements_of(text, python_of(contents)) if each.exact is not None}
    # Of the other pins the image may hold a version that is not published, which pip leaves alone.
    certain = [
        pin
        for pin in pins
        if _name(pin) in exact or contents.version(_name(pin)) is not None or contents.holds(_name(pin)) is False
    ]
    names = {_name(pin) for pin in pins}
    others = [f"{name}=={version}" for name, version in _versions(contents).items() if name not in names]
    if not certain or not others or not uv.conflict([*others, *certain]):
        return

    def conflict(package: str) -> str:
        words = uv.conflict([package, *certain])
        return words if words and not uv.conflict([package]) else ""

    with ThreadPoolExecutor(_PARALLEL) as pool:
        for package, words in zip(others, pool.map(conflict, others), strict=True):
            if words:
                yield f"{package} of {contents.name} does not allow what pip installs: {words}"


def _other_torch(uv: _Uv, pins: tuple[str, ...], job: JobSpec, installed: dict[str, str]) -> Iterator[str]:
    """New libraries that the script imports and whose extra ``torch`` wants another PyTorch than the job will have."""
    versions = installed | {_name(pin): pin.partition("==")[2] for pin in pins}
    imported = {name for module, _ in imports_of(source.program(job) or "") for name in packages_of(module)}
    for name in sorted(imported & {_name(pin) for pin in pins} - {"torch"}) if "torch" in versions else ():
        words = uv.conflict([f"{name}[torch]=={versions[name]}", f"torch=={versions['torch']}"])
        if words:
            yield f"{name} {versions[name]} goes with another torch than {versions['torch']}, as its extra says: {words}"


def _is_address(line: str) -> bool:
    """Whether a line asks for what no index has: an address, a file or a folder."""
    words = _EDITABLE.sub("", line.split(" #", maxsplit=1)[0].strip())
    if words.startswith(("#", "-")):
        return False
    return "://" in words or words.startswith((".", "/")) or words.endswith(_ARCHIVES) or words != line.strip()


def _versions(contents: Contents) -> dict[str, str]:
    """The published versions of the image, by package."""
    return {name: version.public for name in contents.packages if (version := contents.version(name)) is not None}


def _replaced(pins: tuple[str, ...], installed: dict[str, str]) -> Iterator[tuple[str, str, str]]:
    for pin in pins:
        name, version = _name(pin), pin.partition("==")[2]
        if name in installed and Version(installed[name]) != Version(version):
            yield name, installed[name], version


def _name(pin: str) -> str:
    return canonicalize_name(pin.partition("==")[0])


def find_uv() -> str | None:
    """uv beside this Python, else the one on the path."""
    return shutil.which("uv", path=str(Path(sys.executable).parent)) or shutil.which("uv")


def words_of(text: str) -> str:
    """The resolver's own sentences, without its colours and marks."""
    plain = re.sub(r"\x1b\[[0-9;]*m", "", text)
    return " ".join(line.strip(" ×╰─▶│·") for line in plain.splitlines() if line.strip()).strip()

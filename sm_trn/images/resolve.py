"""Asks a real resolver whether a job's requirements can be installed into its image: ``uv``, over the network, when asked to."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from packaging.utils import canonicalize_name
from packaging.version import Version

from ..core.errors import SmTrnError
from ..core.preflight.source import REQUIREMENTS, requirements
from ..core.specs.job import JobSpec
from .contents import Contents, contents_of

# What the image builds its other libraries for: they are held, so that a set is found that leaves them alone.
HELD = ("torch", "torchvision", "torchaudio", "torch-xla", "torch-neuronx", "flash-attn", "numpy")
TIMEOUT_S = 300
PLATFORM = "x86_64-manylinux_2_28"


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolved:
    """``pins`` are versions that can be installed together into the image, as lines of a constraints file; empty where there are none,
    and ``conflict`` says why in the resolver's words. ``replaced`` are packages of the image that they replace: name, version there,
    version wanted.
    """

    image: str
    pins: tuple[str, ...] = ()
    conflict: str = ""
    replaced: tuple[tuple[str, str, str], ...] = ()


def resolve(job: JobSpec) -> Resolved:
    """Resolve the requirements of a job for its image's Python and platform, its PyTorch held. It installs and runs nothing.

    Raises SmTrnError where the image's contents are not published, there are no requirements, or there is no uv.
    """
    held, text, uv = contents_of(job), requirements(job), find_uv()
    if held is None or held.python_minor is None:
        raise SmTrnError(f"{job.name}: what its image holds is not published, wanted an image of sm-trn images")
    if not text:
        raise SmTrnError(
            f"{job.name}: got no {REQUIREMENTS} beside its script, wanted one: there is nothing to resolve"
        )
    if uv is None:
        raise SmTrnError("--resolve asks uv, which is not installed; fix: pip install uv")
    with tempfile.TemporaryDirectory() as folder:
        asked, limits, pinned = (Path(folder) / name for name in (REQUIREMENTS, "image.txt", "pinned.txt"))
        asked.write_text(text, "utf-8")
        limits.write_text("".join(f"{line}\n" for line in _held(held)), "utf-8")
        # uv keeps what stands in its output where that fits, as pip keeps what is installed.
        pinned.write_text("".join(f"{line}\n" for line in _there(held)), "utf-8")
        python = ".".join(map(str, held.python_minor))
        command = [
            *(uv, "pip", "compile", str(asked), "--constraint", str(limits), "--output-file", str(pinned)),
            *("--python-version", python, "--python-platform", PLATFORM, "--only-binary", ":all:"),
            *("--no-header", "--no-annotate", "--quiet"),
        ]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=TIMEOUT_S, cwd=folder)
        except subprocess.TimeoutExpired as error:
            raise SmTrnError(
                f"--resolve: uv gave no answer in {TIMEOUT_S} s; is the package index reachable?"
            ) from error
        made = pinned.read_text("utf-8")
    if done.returncode:
        return Resolved(image=held.name, conflict=_words(done.stderr))
    pins = tuple(line for line in made.splitlines() if "==" in line)
    return Resolved(image=held.name, pins=pins, replaced=tuple(_replaced(pins, held)))


def find_uv() -> str | None:
    """uv beside this Python, else the one on the path."""
    return shutil.which("uv", path=str(Path(sys.executable).parent)) or shutil.which("uv")


def _held(held: Contents) -> list[str]:
    found = []
    for name in HELD:
        version, spec = held.version(name), held.spec(name)
        if version is not None:
            found.append(f"{name}=={version.public}")
        elif spec is not None:
            found.append(f"{name}{spec}")
    return found


def _there(held: Contents) -> list[str]:
    """The published versions of the image."""
    return [f"{name}=={version.public}" for name in held.packages if (version := held.version(name)) is not None]


def _replaced(pins: tuple[str, ...], held: Contents) -> list[tuple[str, str, str]]:
    found = []
    for pin in pins:
        name, _, wanted = pin.split(";", maxsplit=1)[0].strip().partition("==")
        there = held.version(canonicalize_name(name))
        if there is not None and there.public != Version(wanted).public:
            found.append((name, there.public, wanted))
    return found


def _words(text: str) -> str:
    """The resolver's own sentences, without its colours and marks."""
    plain = re.sub(r"\x1b\[[0-9;]*m", "", text)
    return " ".join(line.strip(" ×╰─▶│·") for line in plain.splitlines() if line.strip()).strip()

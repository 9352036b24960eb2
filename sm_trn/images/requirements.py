"""What a job adds to its image: the lines of ``requirements.txt``, which the training toolkit installs before the script starts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from ..core.preflight import source
from ..core.specs.job import JobSpec
from ..core.specs.problems import Line
from . import REQUIREMENTS


@dataclass(frozen=True, slots=True)
class Wanted:
    """One requirement and its line. The name is canonical."""

    requirement: Requirement
    place: Line

    @property
    def name(self) -> str:
        return canonicalize_name(self.requirement.name)

    def admits(self, version: object) -> bool:
        """Whether a version satisfies it. Pre-releases do where it names one."""
        return self.requirement.specifier.contains(str(version), prereleases=True)


def text_of(job: JobSpec) -> str | None:
    """The file beside the entry script that the toolkit installs; None where there is none, or it cannot be looked at."""
    folder = source.source_folder(job)
    own = job.script is not None and job.script.source_dir is not None
    return source.text(folder / REQUIREMENTS) if folder is not None and own else None


def requirements_of(text: str, python: str | None = None) -> Iterator[Wanted]:
    """The requirements of a file. Left out are options, URLs and what is no requirement, and those whose marker does not hold for
    the container's Python, ``3.11``.
    """
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split(" #", maxsplit=1)[0].strip()
        if not words or words.startswith(("#", "-")) or "://" in words.split(";", maxsplit=1)[0]:
            continue
        try:
            requirement = Requirement(words.split(" --", maxsplit=1)[0])
        except InvalidRequirement:
            continue
        marker = requirement.marker
        here = {
            "python_version": python or "3",
            "sys_platform": "linux",
            "platform_system": "Linux",
            "platform_machine": "x86_64",
        }
        if marker is None or (python is not None and marker.evaluate(here)):
            yield Wanted(requirement, Line(REQUIREMENTS, number))

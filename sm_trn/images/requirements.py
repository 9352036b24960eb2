"""What a job adds to its image: the lines of ``requirements.txt``, which the training toolkit installs before the script starts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from ..core.preflight.source import REQUIREMENTS
from ..core.specs.problems import Line


@dataclass(frozen=True, slots=True)
class Wanted:
    """One requirement and its line. The name is canonical."""

    requirement: Requirement
    place: Line

    @property
    def name(self) -> str:
        return canonicalize_name(self.requirement.name)

    @property
    def exact(self) -> str | None:
        """The one version that it wants; None where it leaves a choice."""
        pins = [
            pin.version for pin in self.requirement.specifier if pin.operator == "==" and not pin.version.endswith("*")
        ]
        return pins[0] if pins else None

    def admits(self, version: object) -> bool:
        """Whether a version satisfies it. Pre-releases do where it names one."""
        return self.requirement.specifier.contains(str(version), prereleases=True)


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

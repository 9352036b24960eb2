"""The packages of AWS's training images, from the files that they are built from. What is not published is not known."""

from __future__ import annotations

import ast
import dataclasses
import functools
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from ..core.catalog import images
from ..core.preflight import source
from ..core.specs.job import JobSpec

# Modules whose package has another name.
_PACKAGES = {"yaml": "pyyaml", "PIL": "pillow", "sklearn": "scikit-learn", "skimage": "scikit-image", "bs4": "beautifulsoup4",
             "dotenv": "python-dotenv", "pkg_resources": "setuptools"}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """What one image holds. ``packages`` has a specifier for each published name, empty where only the name is published.

    ``complete`` says that the packages are a lock file's: there are no others; ``published`` that they are read from the operating
    system on, not from the image's name alone, nor from a file that adds to an image of which no file is read. ``source`` is
    repository, commit and path.
    """

    family: str
    pytorch: str
    processor: str
    source: str
    transformers: str | None = None
    neuron_sdk: str | None = None
    python: str | None = None
    cuda: str | None = None
    packages: Mapping[str, str] = field(default_factory=dict)
    complete: bool = False
    published: bool = True

    @property
    def name(self) -> str:
        """``huggingface-4.49.0-pytorch-2.5.1-gpu``."""
        parts = [self.family, self.transformers, "pytorch" if self.family != "pytorch" else None, self.pytorch]
        parts += [
            f"sdk{self.neuron_sdk}" if self.neuron_sdk else None,
            self.processor if self.processor != "neuron" else None,
        ]
        return "-".join(part for part in parts if part)

    def version(self, package: str) -> Version | None:
        """The version of a package, where exactly one is published."""
        spec = self.packages.get(canonicalize_name(package), "")
        try:
            return Version(spec.removeprefix("==")) if spec.startswith("==") else None
        except InvalidVersion:
            return None

    def spec(self, package: str) -> SpecifierSet | None:
        """What is published of a package's version; None where nothing is."""
        try:
            return SpecifierSet(self.packages.get(canonicalize_name(package), "")) or None
        except InvalidSpecifier:
            return None

    def holds(self, package: str) -> bool | None:
        """Whether the package is there; None where the packages that the published ones bring are not published, nor known of this one."""
        name = canonicalize_name(package)
        if name in self.packages or self.complete:
            return name in self.packages
        others = _table()["bringers"].get(name)
        asked = self.processor != "neuron"  # the index of the Neuron SDK is not asked who brings what
        if others is None or not self.published or not asked:
            return None
        return any(other in self.packages for other in others)

    @property
    def first_numpy(self) -> bool:
        """Whether its PyTorch is built for NumPy 1 and fails beside NumPy 2, which is so before 2.3, by its release notes."""
        torch = self.version("torch")
        return torch is not None and torch.release[:2] < (2, 3)

    @property
    def python_minor(self) -> tuple[int, int] | None:
        """``(3, 11)``."""
        parts = (self.python or "").split(".")
        return (int(parts[0]), int(parts[1])) if len(parts) > 1 and parts[0].isdigit() and parts[1].isdigit() else None


@functools.cache
def _table() -> dict[str, Any]:
    """``rows`` of images, and for some libraries the packages of images that bring them, ``bringers``."""
    return json.loads((files(__package__) / "contents.json").read_text("utf-8"))  # type: ignore[no-any-return]


@functools.cache
def all_contents() -> tuple[Contents, ...]:
    """Every image whose contents are published, in the order of the table of images."""
    return tuple(Contents(**row) for row in _table()["rows"])


def contents_of(job: JobSpec) -> Contents | None:
    """What the image of a job holds; None for an image of one's own. An image of AWS's own may be named by its URI.

    Where no file of an image is published, its Python and the versions in its name are known.
    """
    framework = job.framework if job.image_uri is None else images.recognise(job.image_uri)
    if framework is None or job.script is None:
        return None
    job = job.replace(framework=framework, image_uri=None)
    row = images.choose(job)
    if row is None:
        return None
    processor = images.processor(images.machine(job))
    wanted = (row.family, row.pytorch, row.transformers, row.neuron_sdk, processor)
    for each in all_contents():
        if (each.family, each.pytorch, each.transformers, each.neuron_sdk, each.processor) == wanted:
            return each if each.python is not None else dataclasses.replace(each, python=_named_python(row))
    return _of_row(row, processor)


def python_of(held: Contents | None) -> str | None:
    """``3.11``: the Python of an image, as markers of requirements name it."""
    minor = held.python_minor if held is not None else None
    return ".".join(map(str, minor)) if minor is not None else None


def _named_python(row: images.ImageRow) -> str | None:
    """``3.10``: the Python in an image's name."""
    named = re.fullmatch(r"py(\d)(\d+)", row.python or "")
    return f"{named[1]}.{named[2]}" if named else None


def _of_row(row: images.ImageRow, processor: str) -> Contents:
    packages = {"torch": f"=={row.pytorch}"} | ({"transformers": f"=={row.transformers}"} if row.transformers else {})
    return Contents(
        family=row.family,
        pytorch=row.pytorch,
        transformers=row.transformers,
        neuron_sdk=row.neuron_sdk,
        processor=processor,
        source=row.source,
        python=_named_python(row),
        packages=packages,
        published=False,
    )


def package_of(module: str) -> str:
    """The canonical name of the package that a module is of: ``yaml`` is of ``pyyaml``."""
    top = module.split(".", maxsplit=1)[0]
    return canonicalize_name(_PACKAGES.get(top, top))


def packages_of(module: str) -> tuple[str, ...]:
    """The canonical names of the packages that a module may be of: ``optimum.neuron`` is of ``optimum-neuron`` or of ``optimum``."""
    parts = module.split(".", maxsplit=2)[:2]
    return (canonicalize_name("-".join(parts)), package_of(module))


def imports_of(text: str, *, anywhere: bool = False) -> Iterator[tuple[str, int]]:
    """The modules that a text imports at its top, under no condition, or ``anywhere``, with their lines; none where it does not parse."""
    if not source.parses(text):
        return  # SCRIPT003 says it
    tree = source.tree(text)
    for node in ast.walk(tree) if anywhere else tree.body:
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module, node.lineno

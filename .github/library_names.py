"""Make sm_trn/images/library_names.json: what Hugging Face libraries export and import of one another, and the models they know.

    pip download --no-deps -d WHEELS transformers==4.49.0 peft==0.14.0 …
    python .github/library_names.py WHEELS

A release is read as text from its wheel; none of it is imported. The table holds each name once: with the release that brought it, and with
the one that took it away. From 4.52 on transformers find their names when they are imported: what those releases export is not known.
"""

from __future__ import annotations

import ast
import json
import re
import sys
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from packaging.version import Version

from sm_trn.images.following import absolute

TABLE = Path(__file__).parents[1] / "sm_trn" / "images" / "library_names.json"
LIBRARIES = ("accelerate", "datasets", "huggingface_hub", "peft", "sentence_transformers", "transformers", "trl")
# names of TensorFlow and Flax, and of modules
UNWANTED = re.compile(
    r"TF[A-Z]|Flax|FastTF|PyTorchBenchmark|load_tf_|load_pytorch_|.*_PRETRAINED_|"
    r"(configuration|modeling|tokenization|processing|image_processing|feature_extraction|convert|video_processing|modular)_"
)
PUBLIC = re.compile(r"[A-Za-z]\w{2,}")
SKIPPED = re.compile(
    r"/tests/|/commands/|^transformers/(models/(?!auto/(configuration_)?auto)|kernels|pipelines|quantizers|generation/.+/)"
)
MODEL_TYPES = ("CONFIG_MAPPING_NAMES", "_CONFIG_MAPPING_NAMES")


@dataclass
class Release:
    """One release of a library: the names of its top where it ``lists`` them, the names of each of its modules, and its model types.

    ``imports`` are the names that it takes from other libraries whenever it is imported: module and name.
    """

    library: str
    version: str
    lists: bool = True
    exports: set[str] = field(default_factory=set)
    modules: dict[str, set[str]] = field(default_factory=dict)
    imports: set[tuple[str, str]] = field(default_factory=set)
    model_types: set[str] = field(default_factory=set)

    def has(self, module: str, name: str) -> bool:
        """Whether a module, dotted, has a name, its own or a module below it; or may have it."""
        if module == self.library and not self.lists:
            return True
        if f"{module}.{name}" in self.modules or name in self.modules.get(module, set()):
            return True
        return module == self.library and name in self.exports


def main(folder: Path) -> None:
    """Write the table from the wheels in ``folder``."""
    releases = {library: list(releases_in(folder, library)) for library in LIBRARIES}
    table = {
        "about": "made by .github/library_names.py from the wheels of PyPI; each entry is what a release changed",
        "releases": {library: [each.version for each in known] for library, known in releases.items()},
        "listed": {library: [each.version for each in known if each.lists][-1] for library, known in releases.items()},
        "names": {library: list(changes(known)) for library, known in releases.items()},
        "model_types": first_releases(releases["transformers"]),
        "imports": list(imports(releases)),
    }
    text = json.dumps(table, separators=(",", ":"))
    TABLE.write_text(re.sub(r'(\{"at"|\{"library")', r"\n\1", text) + "\n", encoding="utf-8")


def releases_in(folder: Path, library: str) -> Iterator[Release]:
    """The releases of a library, oldest first."""
    wheels = folder.glob(f"{library}-*.whl")
    for wheel in sorted(wheels, key=lambda each: Version(each.name.split("-")[1])):
        yield read(wheel, library)


def read(wheel: Path, library: str) -> Release:
    """What a wheel's programs say. A name of its top is what its ``__init__.py`` binds, imports, or lists for lazy imports."""
    release = Release(library, wheel.name.split("-")[1])
    programs: dict[str, ast.Module] = {}
    with zipfile.ZipFile(wheel) as archive:
        for path in archive.namelist():
            if path.startswith(f"{library}/") and path.endswith(".py") and not SKIPPED.search(path):
                programs[dotted(path)] = ast.parse(archive.read(path))
    for module, program in programs.items():
        release.modules[module] = bound(program) | starred(module, programs)
    top = programs[library]
    words = {node.value for node in ast.walk(top) if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    release.exports = {word for word in words | release.modules[library] if PUBLIC.fullmatch(word)}
    release.lists = "define_import_structure" not in release.modules[library]
    release.imports = set(taken(library, programs))
    release.model_types = {
        word
        for name, program in programs.items()
        if name.startswith(f"{library}.models.auto.")
        for word in types(program)
    }
    return release


def dotted(path: str) -> str:
    """``transformers.models.auto`` of ``transformers/models/auto/__init__.py``."""
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def bound(program: ast.Module) -> set[str]:
    """The names that a module binds anywhere outside of its functions and classes."""
    found: set[str] = set()
    waiting: list[ast.stmt] = list(program.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            found.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            found |= {(alias.asname or alias.name).split(".")[0] for alias in node.names}
        elif isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
            found |= {
                each.id for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)
            }
        else:
            waiting += nested(node)
    return found


def starred(module: str, programs: Mapping[str, ast.Module]) -> set[str]:
    """The names that a module takes by ``from … import *``, of modules that do so in their turn too."""
    found: set[str] = set()
    waiting, seen = [module], set()
    while waiting:
        current = waiting.pop()
        seen.add(current)
        for node in programs[current].body:
            if isinstance(node, ast.ImportFrom) and any(alias.name == "*" for alias in node.names):
                origin = absolute(node, current, package=is_package(current, programs))
                if origin in programs and origin not in seen:
                    found |= bound(programs[origin])
                    waiting.append(origin)
    return found


def nested(node: ast.stmt) -> Iterator[ast.stmt]:
    """The statements of a statement's own blocks: of an ``if``, a ``try``, a ``with``."""
    for each in ast.iter_child_nodes(node):
        if isinstance(each, ast.stmt):
            yield each
        elif isinstance(each, ast.ExceptHandler):
            yield from each.body


def taken(library: str, programs: Mapping[str, ast.Module]) -> Iterator[tuple[str, str]]:
    """What a library imports of others, under no condition, whenever it is imported itself."""
    waiting, seen = [library], set()
    while waiting:
        module = waiting.pop()
        if module in seen or module not in programs:
            continue
        seen.add(module)
        for node in programs[module].body:
            if not isinstance(node, ast.ImportFrom):
                continue
            origin = absolute(node, module, package=is_package(module, programs))
            if origin.split(".")[0] == library:
                waiting += [origin, *(f"{origin}.{alias.name}" for alias in node.names)]
            elif origin.split(".")[0] in LIBRARIES and not origin.startswith("transformers.models"):
                yield from ((origin, alias.name) for alias in node.names if alias.name != "*")


def is_package(module: str, programs: Mapping[str, ast.Module]) -> bool:
    return any(name.startswith(f"{module}.") for name in programs)


def types(program: ast.Module) -> Iterator[str]:
    """The keys of a table of configurations."""
    for node in ast.walk(program):
        targets = node.targets if isinstance(node, ast.Assign) else []
        if any(isinstance(each, ast.Name) and each.id in MODEL_TYPES for each in targets):
            value = node.value  # type: ignore[attr-defined]  # an assignment's
            for each in ast.walk(value):
                first = each.elts[0] if isinstance(each, ast.Tuple) and len(each.elts) == 2 else None
                if isinstance(first, ast.Constant) and isinstance(first.value, str):
                    yield first.value


def changes(releases: list[Release]) -> Iterator[dict[str, object]]:
    """The public names that each release brought, and those that it took away."""
    before: set[str] = set()
    for release in [each for each in releases if each.lists]:
        now = {name for name in release.exports if not UNWANTED.match(name)}
        if now != before:
            yield {"at": release.version, "new": " ".join(sorted(now - before)), "gone": " ".join(sorted(before - now))}
        before = now


def first_releases(releases: list[Release]) -> dict[str, str]:
    """The first release that knows each type of model."""
    found: dict[str, str] = {}
    for release in releases:
        for each in sorted(release.model_types):
            found.setdefault(each, release.version)
    return found


def imports(releases: Mapping[str, list[Release]]) -> Iterator[dict[str, object]]:
    """What releases import of a library that not every release of it has: who, since when and until when, what, and who lacks it."""
    for library, known in releases.items():
        for module, name in sorted({each for release in known for each in release.imports}):
            origin = module.split(".")[0]
            lacking = [each.version for each in releases[origin] if not each.has(module, name)]
            users = [each.version for each in known if (module, name) in each.imports]
            if lacking and len(lacking) < len(releases[origin]):
                yield {"library": library, "by": users, "module": module, "name": name, "lacking": lacking}


if __name__ == "__main__":
    main(Path(sys.argv[1]))

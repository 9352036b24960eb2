"""What a program imports, followed through the packages that its job will have, up to a name that one of them surely lacks.

Programs are read, not run. What runs whenever a module is imported is followed; what a ``try`` or a condition guards is not.
"""

from __future__ import annotations

import ast
import re
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from packaging.requirements import Requirement

from .wheels import Release, UnreadError

MOST = 600  # modules that are followed of one job
# How a module gets names that no syntax shows.
_DYNAMIC = re.compile(
    r"\b(?:globals|locals|vars)\(\)|_LazyModule|\bexec\(|lazy_loader|\battach\w*\(|^def __getattr__|^(?: {4})?setattr\(|^ +global \w"
    r"|\bsys\.modules\[[^\]]*\]\s*(?:=[^=]|\.__class__)|\bsys\.modules\.\w+\(|setattr\(\s*sys\.modules",
    re.MULTILINE,
)
_TYPES_ALONE = re.compile(r"(?:typing\.|t\.)?TYPE_CHECKING")
_FINDS = re.compile(r"return (?:importlib\.)?(?:util\.)?find_spec\('(\w+)'\) is not None")
_NAMESPACE = re.compile(r"\bextend_path\b|\bdeclare_namespace\b")
_MAKES_MODULES = ("sys.modules", "__path__", "find_spec", "meta_path")


@dataclass(frozen=True, slots=True)
class Lacking:
    """A name – or a module, where it is empty – that an import will not find. ``importer`` is a release, or a place in the job's source."""

    importer: str
    module: str
    name: str
    release: Release

    def __str__(self) -> str:
        what = f"{self.name} from {self.module}" if self.name else self.module
        return f"{self.importer} imports {what}, which {self.release} does not have"


@dataclass(slots=True)
class _Module:
    """What the syntax of one module says: the names that it binds, and the imports of whole modules, ``from … import *``."""

    text: str
    tree: ast.Module
    bound: set[str]
    stars: list[ast.ImportFrom]

    @property
    def dynamic(self) -> bool:
        return _DYNAMIC.search(self.text) is not None


@dataclass
class Follower:
    """Follows imports. ``own`` are the job's programs; ``release_of`` gives the release that a module at the top is of, where known.

    The imports of packages in ``left_alone`` are not followed.
    """

    own: Release
    release_of: Callable[[str], Release | None]
    left_alone: frozenset[str] = frozenset()
    _modules: dict[tuple[str, str], _Module | None] = field(default_factory=dict)

    def lacking(self, entry: str) -> Iterator[Lacking]:
        """What the program of a module and what it imports lack, the nearest first: one thing for two releases."""
        waiting: deque[tuple[Release, str]] = deque([(self.own, entry)])
        seen: set[tuple[str, str]] = set()
        told: set[tuple[str, str]] = set()
        while waiting and len(seen) < MOST:
            release, module = waiting.popleft()
            if (release.name, module) in seen or release.name in self.left_alone or not self._goes_with_torch(release):
                continue
            seen.add((release.name, module))
            for origin, name, line in self._imported(release, module):
                other = self._origin(release, origin)
                if other is None:
                    continue
                lacks = other not in (release, self.own) and self._missing(other, origin, name)
                if lacks and (release.name, other.name) not in told:
                    told.add((release.name, other.name))
                    importer = f"{release.path(module)}:{line}" if release is self.own else str(release)
                    yield Lacking(importer, origin, "" if self._lacks_module(other, origin) else name, other)
                waiting += [(other, each) for each in self._entered(other, origin, name)]

    def _origin(self, release: Release, origin: str) -> Release | None:
        """The release that a module imports from: itself, the job's own, which hides others, or another."""
        top = origin.partition(".")[0]
        if self.own.path(top) is not None:
            return self.own
        return release if top in release.modules else self.release_of(top)

    def _imported(self, release: Release, module: str) -> Iterator[tuple[str, str, int]]:
        """Module, name and line of what a module imports whenever it is imported itself; the name is empty for ``import module``."""
        read = self._module(release, module)
        for node in self._executed(release, module, read.tree.body) if read is not None else ():
            if isinstance(node, ast.Import):
                yield from ((alias.name, "", node.lineno) for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                origin = absolute(node, module, package=release.is_package(module))
                yield from ((origin, alias.name, node.lineno) for alias in node.names if origin)

    def _executed(self, release: Release, module: str, body: list[ast.stmt]) -> Iterator[ast.stmt]:
        """The statements that surely run, in a module's order."""
        for node in body:
            if isinstance(node, ast.If):
                holds = self._holds(release, module, node.test)
                branch = node.body if holds else node.orelse
                yield from self._executed(release, module, branch if holds is not None else [])
            elif isinstance(node, ast.With | ast.ClassDef):
                yield from self._executed(release, module, node.body)
            elif isinstance(node, ast.Try):
                yield from self._executed(release, module, [] if node.handlers else node.body)
            elif isinstance(node, ast.Raise):
                return
            else:
                yield node

    def _holds(self, release: Release, module: str, test: ast.expr) -> bool | None:
        """Whether a condition holds; None where that is not known."""
        words = ast.unparse(test)
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            holds = self._holds(release, module, test.operand)
            return None if holds is None else not holds
        if _TYPES_ALONE.fullmatch(words):
            return False
        if release is self.own and words == "__name__ == '__main__'":
            return True
        if words == "is_torch_available()":
            return True if self._has_torch(release) else None
        if isinstance(test, ast.Call) and isinstance(test.func, ast.Name) and not test.args and not test.keywords:
            return True if self._finds(release, module, test.func.id) else None
        return None

    def _finds(self, release: Release, module: str, function: str, hops: int = 5) -> bool:
        """Whether a function asks for nothing but a package, and that one is there."""
        read = self._module(release, module)
        for node in read.tree.body if read is not None else ():
            if isinstance(node, ast.ImportFrom) and any(alias.name == function for alias in node.names):
                origin = absolute(node, module, package=release.is_package(module))
                return hops > 0 and self._finds(release, origin, function, hops - 1)
            if isinstance(node, ast.FunctionDef) and node.name == function:
                found = _FINDS.fullmatch(ast.unparse(node.body[-1])) if len(node.body) == 1 else None
                return found is not None and self.release_of(found[1]) is not None
        return False

    def _has_torch(self, release: Release) -> bool:
        """Whether a library of Hugging Face finds a PyTorch that is new enough for it: its extra says from which release on."""
        torch = self.release_of("torch")
        return torch is not None and bool(wanted_torch(release)) and takes_torch(release, torch.version)

    def _goes_with_torch(self, release: Release) -> bool:
        """Whether a library takes the PyTorch that is there. One that does not makes its modules without it: nobody knows which."""
        torch = self.release_of("torch") if wanted_torch(release) else None
        return torch is None or takes_torch(release, torch.version)

    def _missing(self, other: Release, origin: str, name: str) -> bool:
        """Whether an import from another package will surely fail."""
        return self._lacks_module(other, origin) or bool(name and name != "*" and self._lacks(other, origin, name))

    def _lacks_module(self, release: Release, module: str) -> bool:
        """Whether a package surely has no such module: the one above is there, is Python, and makes none itself."""
        parent, _, last = module.rpartition(".")
        if not parent or release.has_module(module):
            return False
        if not release.is_package(parent):
            return self._lacks_module(release, parent)
        above = [".".join(parent.split(".")[: at + 1]) for at in range(parent.count(".") + 1)]
        texts = {each: release.text(each) for each in above}
        if any(text is None or _NAMESPACE.search(text) for text in texts.values()):
            return False
        name = {each: last if each == parent else ".".join(module.split(".")[-2:]) for each in above}
        made = (
            re.search(rf"\b{re.escape(name[each])}\b", text or "")
            for each, text in texts.items()
            if any(mark in (text or "").replace("sys.modules[__name__]", "") for mark in _MAKES_MODULES)
        )
        return not any(made)

    def _lacks(self, release: Release, module: str, name: str, asked: frozenset[str] = frozenset()) -> bool:
        """Whether a module surely has no such name."""
        read = self._module(release, module)
        if read is None or module in asked or release.has_module(f"{module}.{name}") or name in read.bound:
            return False
        for star in read.stars:
            origin = absolute(star, module, package=release.is_package(module))
            other = self._origin(release, origin)
            if other is None or other.path(origin) is None or not self._lacks(other, origin, name, asked | {module}):
                return False
        if not read.dynamic:
            return True
        if "def __getattr__" in read.text and "AttributeError" not in read.text:
            return False  # it may have any name
        # A module that is made lazily looks below itself.
        below = module if "_LazyModule" in read.text else module.partition(".")[0]
        try:
            return re.search(rf"\b{re.escape(name)}\b", read.text) is None and not release.definers(name, below)
        except UnreadError:
            return False

    def _entered(self, release: Release, origin: str, name: str) -> Iterator[str]:
        """The modules that an import enters."""
        parts = origin.split(".")
        yield from (".".join(parts[: at + 1]) for at in range(len(parts)))
        read = self._module(release, origin) if name else None
        if release.path(f"{origin}.{name}") is not None:
            yield f"{origin}.{name}"
        elif read is not None and "_LazyModule" in read.text and not release.partial:
            found = release.definers(name, origin)
            yield from found if len(found) == 1 else ()  # of several nobody says which

    def _module(self, release: Release, module: str) -> _Module | None:
        key = (release.name, module)
        if key not in self._modules:
            self._modules[key] = _parsed(release.text(module))
        return self._modules[key]


def _parsed(text: str | None) -> _Module | None:
    try:
        tree = ast.parse(text) if text is not None else None
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    if text is None or tree is None:
        return None
    bound, stars = _bound(tree)
    return _Module(text, tree, bound, stars)


def _bound(tree: ast.Module) -> tuple[set[str], list[ast.ImportFrom]]:
    """The names that a module binds outside of its functions and classes, under whatever condition, and what it takes whole."""
    bound: set[str] = set()
    stars: list[ast.ImportFrom] = []
    waiting: list[ast.AST] = list(tree.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            bound.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            bound |= {(alias.asname or alias.name).split(".")[0] for alias in node.names}
            stars += [node] if isinstance(node, ast.ImportFrom) and node.names[0].name == "*" else []
        elif isinstance(node, ast.If) and _TYPES_ALONE.fullmatch(ast.unparse(node.test)):
            waiting += node.orelse
        else:
            bound |= {node.id} if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) else set()
            bound |= {node.name} if isinstance(node, ast.ExceptHandler) and node.name else set()
            waiting += ast.iter_child_nodes(node)
    return bound, stars


def wanted_torch(release: Release) -> list[Requirement]:
    """What a release says of PyTorch: as a requirement, or as its extra ``torch``."""
    return [each for each in release.needs("torch") if each.name == "torch"]


def takes_torch(release: Release, version: str) -> bool:
    """Whether a release goes with a version of PyTorch, as far as it says."""
    return all(each.specifier.contains(version, prereleases=True) for each in wanted_torch(release))


def absolute(node: ast.ImportFrom, module: str, *, package: bool) -> str:
    """The module that an import in a module names, from the top; ``package`` says that the module is a folder's."""
    if not node.level:
        return node.module or ""
    parts = module.split(".")
    parts = parts[: len(parts) - node.level + package]
    return ".".join([*parts, *([node.module] if node.module else [])])

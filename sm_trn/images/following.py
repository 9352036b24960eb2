"""What a program imports, followed through the packages that its job will have, up to a name that one of them surely lacks.

Programs are read, not run. What runs whenever a module is imported is followed; what a ``try`` or a condition guards is not.
"""

from __future__ import annotations

import ast
import functools
import re
from collections import Counter, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from packaging.requirements import Requirement
from packaging.version import Version

from .wheels import Release, UnreadError

MOST = 600  # modules that are followed of one job
# How a module gets names that no syntax shows.
_DYNAMIC = re.compile(
    r"\b(?:globals|locals|vars)\(\)|_LazyModule|\bexec\(|lazy_loader|\battach\w*\(|^(?: {4})?setattr\(|^ +global \w"
    r"|\bsys\.modules\[[^\]]*\]\s*(?:=[^=]|\.__class__)|\bsys\.modules\.\w+\(|setattr\(\s*sys\.modules",
    re.MULTILINE,
)
_TYPES_ALONE = re.compile(r"(?:typing\.|t\.)?TYPE_CHECKING")
_FINDS = re.compile(
    r"(?:importlib\.)?(?:util\.)?find_spec\('(\w+)'\) is not None|\w*_available\('(\w+)'(?:, \w+=True)?\)(?:\[0\])?"
)
_LEAST = re.compile(r"version\.parse\((\w+)\) >= version\.parse\((\w+)\)")
_IMPORTS = re.compile(r"(?:\w+\.)*(?:import_module|get_module)\('(\w+)'\)")
# What is evaluated later, or not surely.
LATER = (ast.Lambda, ast.IfExp, ast.BoolOp, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
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


@dataclass
class Syntax:
    """What the syntax of one module says: the names that it binds, the imports of whole modules, ``from … import *``, and the modules
    that a name is bound to once and for all.
    """

    text: str
    tree: ast.Module
    bound: set[str]
    stars: list[ast.ImportFrom]
    aliases: dict[str, str]

    @functools.cached_property
    def binders(self) -> dict[str, list[ast.stmt]]:
        """The statements outside of functions that bind each name."""
        found: dict[str, list[ast.stmt]] = {}
        waiting = list(self.tree.body)
        while waiting:
            node = waiting.pop(0)
            if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                found.setdefault(node.name, []).append(node)
                continue
            if isinstance(node, ast.Import | ast.ImportFrom):
                for alias in node.names:
                    found.setdefault(alias.asname or alias.name.partition(".")[0], []).append(node)
            for each in ast.iter_child_nodes(node):
                if isinstance(each, ast.stmt):
                    waiting.append(each)
                elif isinstance(each, ast.ExceptHandler):
                    waiting += each.body
                else:
                    for name in ast.walk(each):
                        if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store):
                            found.setdefault(name.id, []).append(node)
        return found

    @property
    def dynamic(self) -> bool:
        return "__getattr__" in self.bound or _DYNAMIC.search(self.text) is not None


@dataclass
class Follower:
    """Follows imports. ``own`` are the job's programs; ``release_of`` gives the release that a module is of, where known.

    The imports of packages in ``left_alone`` are not followed.
    """

    own: Release
    release_of: Callable[[str], Release | None]
    left_alone: frozenset[str] = frozenset()
    _modules: dict[tuple[str, str], Syntax | None] = field(default_factory=dict)
    _seen: set[tuple[str, str]] = field(default_factory=set)
    _told: set[tuple[str, str]] = field(default_factory=set)

    def lacking(self, entry: str) -> Iterator[Lacking]:
        """What the program of a module and what it imports lack, the nearest first: one thing for two releases. What was followed before
        is not followed again.
        """
        start = self.origin_of(self.own, entry)
        waiting: deque[tuple[Release, str]] = deque([(start, entry)] if start is not None else [])
        most = len(self._seen) + MOST
        while waiting and len(self._seen) < most:
            release, module = waiting.popleft()
            known = (release.name, module) in self._seen
            if known or release.name in self.left_alone or not self._goes_with_torch(release):
                continue
            self._seen.add((release.name, module))
            for origin, name, line in self._imported(release, module):
                other = self.origin_of(release, origin)
                if other is None:
                    continue
                lacks = other not in (release, self.own) and self.misses(other, origin, name)
                if lacks and (release.name, other.name) not in self._told:
                    self._told.add((release.name, other.name))
                    importer = f"{release.path(module)}:{line}" if release is self.own else str(release)
                    yield Lacking(importer, origin, "" if self.lacks_module(other, origin) else name, other)
                waiting += [(other, each) for each in self._entered(other, origin, name)]

    def origin_of(self, release: Release, origin: str) -> Release | None:
        """The release that a module imports from: itself, the job's own, which hides others, or another."""
        top = origin.partition(".")[0]
        if self.own.path(top) is not None:
            return self.own
        return (
            release
            if top in release.modules and release.has_module(origin)
            else self.release_of(origin) or (release if top in release.modules else None)
        )

    def _imported(self, release: Release, module: str) -> Iterator[tuple[str, str, int]]:
        """Module, name and line of what a module imports, or uses of other modules, whenever it is imported itself; the name is empty for
        ``import module``.
        """
        read = self.syntax(release, module)
        for node in self.executed(release, module, read.tree.body) if read is not None else ():
            if isinstance(node, ast.Import):
                yield from ((alias.name, "", node.lineno) for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                origin = absolute(node, module, package=release.is_package(module))
                yield from ((origin, alias.name, node.lineno) for alias in node.names if origin)
            elif read is not None:
                yield from (
                    (read.aliases[name], attribute, line)
                    for name, attribute, line in uses(node)
                    if name in read.aliases
                )

    def executed(self, release: Release, module: str, body: list[ast.stmt]) -> Iterator[ast.stmt]:
        """The statements that surely run, in a module's order."""
        for node in body:
            if isinstance(node, ast.If):
                holds = self._holds(release, module, node.test)
                branch = node.body if holds else node.orelse
                yield from self.executed(release, module, branch if holds is not None else [])
            elif isinstance(node, ast.With | ast.ClassDef):
                yield from (ast.Expr(each) for each in getattr(node, "bases", ()))
                yield from self.executed(release, module, node.body)
            elif isinstance(node, ast.Try):
                yield from self.executed(release, module, [] if node.handlers else node.body)
            elif isinstance(node, ast.Raise):
                return
            else:
                yield node

    def _holds(self, release: Release, module: str, test: ast.expr) -> bool | None:
        """Whether a condition holds; None where that is not known."""
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            holds = self._holds(release, module, test.operand)
            return None if holds is None else not holds
        if _TYPES_ALONE.fullmatch(ast.unparse(test)):
            return False
        return True if self._surely(release, module, test) else None

    def _surely(self, release: Release, module: str, test: ast.expr) -> bool:
        """Whether a condition surely holds: it asks for packages that are there."""
        if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
            return all(self._surely(release, module, each) for each in test.values)
        if isinstance(test, ast.Name):
            read = self.syntax(release, module)
            return read is not None and self.release_of(read.aliases.get(test.id, "")) is not None
        if isinstance(test, ast.Call) and isinstance(test.func, ast.Name) and not test.args and not test.keywords:
            function = test.func.id
            return (
                self._has_torch(release) if function == "is_torch_available" else self._finds(release, module, function)
            )
        return release is self.own and ast.unparse(test) == "__name__ == '__main__'"

    def _finds(self, release: Release, module: str, function: str, hops: int = 5) -> bool:
        """Whether a function asks for nothing but a package, and that one is there and new enough."""
        read = self.syntax(release, module)
        for node in read.tree.body if read is not None else ():
            if isinstance(node, ast.ImportFrom) and any(alias.name == function for alias in node.names):
                origin = absolute(node, module, package=release.is_package(module))
                return hops > 0 and self._finds(release, origin, function, hops - 1)
            if isinstance(node, ast.FunctionDef) and node.name == function and read is not None:
                return self._asks(_Values.of(read.tree, node), node.body[-1])
        return False

    def _asks(self, values: _Values, last: ast.stmt) -> bool:
        """Whether what a function returns holds: that a package is there, and that it is no older than a release."""
        if not isinstance(last, ast.Return) or last.value is None:
            return False
        first, *others = last.value.values if isinstance(last.value, ast.BoolOp) else [last.value]
        found = _FINDS.fullmatch(values.words(first))
        package = self.release_of(found[1] or found[2]) if found is not None else None
        if found is None or package is None or isinstance(getattr(last.value, "op", None), ast.Or):
            return False
        wanted = [_LEAST.fullmatch(ast.unparse(each)) for each in others]
        least = [values.words(ast.Name(each[2])) for each in wanted if each is not None]
        try:
            return len(least) == len(others) and all(
                Version(package.version) >= Version(ast.literal_eval(each)) for each in least
            )
        except (ValueError, SyntaxError):
            return False

    def _has_torch(self, release: Release) -> bool:
        """Whether a library of Hugging Face finds a PyTorch that is new enough for it: its extra says from which release on."""
        torch = self.release_of("torch")
        return torch is not None and bool(wanted_torch(release)) and takes_torch(release, torch.version)

    def _goes_with_torch(self, release: Release) -> bool:
        """Whether a library takes the PyTorch that is there. One that does not makes its modules without it: nobody knows which."""
        lazy = any("_LazyModule" in (release.text(top) or "") for top in release.modules)
        torch = self.release_of("torch") if lazy and wanted_torch(release) else None
        return torch is None or takes_torch(release, torch.version)

    def misses(self, other: Release, origin: str, name: str) -> bool:
        """Whether an import from another package will surely fail."""
        if other.source:
            return False
        return self.lacks_module(other, origin) or bool(name and name != "*" and self._lacks(other, origin, name))

    def lacks_module(self, release: Release, module: str) -> bool:
        """Whether a package surely has no such module: the one above is there, is Python, and makes none itself."""
        parent, _, last = module.rpartition(".")
        if not parent or release.has_module(module):
            return not parent and module not in release.modules
        if not release.is_package(parent):
            return self.lacks_module(release, parent)
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
        read = self.syntax(release, module)
        if read is None or module in asked or release.has_module(f"{module}.{name}") or name in read.bound:
            return False
        for star in read.stars:
            origin = absolute(star, module, package=release.is_package(module))
            other = self.origin_of(release, origin)
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
        read = self.syntax(release, origin) if name else None
        if release.path(f"{origin}.{name}") is not None:
            yield f"{origin}.{name}"
        elif read is not None and "_LazyModule" in read.text and not release.partial:
            found = release.definers(name, origin)
            yield from found if len(found) == 1 else ()  # of several nobody says which

    def own_modules(self) -> Iterator[str]:
        """The modules of the job's own."""
        yield from (path.removesuffix(".py").removesuffix("/__init__").replace("/", ".") for path in self.own.files)

    def syntax(self, release: Release, module: str) -> Syntax | None:
        """A module's own syntax; None where it has none that is read."""
        key = (release.name, module)
        if key not in self._modules:
            self._modules[key] = _parsed(release.text(module))
        return self._modules[key]


def _parsed(text: str | None) -> Syntax | None:
    try:
        tree = ast.parse(text) if text is not None else None
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    if text is None or tree is None:
        return None
    bound, stars = _bound(tree)
    return Syntax(text, tree, bound, stars, _aliases(tree))


def _aliases(tree: ast.Module) -> dict[str, str]:
    """The modules that names are bound to at the top of a module, where nothing else binds them there."""
    found: dict[str, str] = {}
    for node in tree.body:
        if isinstance(node, ast.Import):
            found |= {
                alias.asname or alias.name.split(".")[0]: alias.name if alias.asname else alias.name.split(".")[0]
                for alias in node.names
            }
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            imported = _IMPORTS.fullmatch(ast.unparse(node.value))
            found |= {node.targets[0].id: imported[1]} if imported is not None else {}
    bound = Counter[str]()
    for each in ast.walk(tree) if found else ():
        if isinstance(each, ast.Name):
            bound.update([each.id] if isinstance(each.ctx, ast.Store) else ())
        elif isinstance(each, ast.Import | ast.ImportFrom):
            bound.update((alias.asname or alias.name).split(".")[0] for alias in each.names)
    return {name: module for name, module in found.items() if bound[name] == 1}


def uses(node: ast.stmt) -> Iterator[tuple[str, str, int]]:
    """The attributes of names that a statement surely reads when it is run, with their lines."""
    waiting: list[ast.AST] = [node]
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        waiting = [
            *node.decorator_list,
            *node.args.defaults,
            *(each for each in node.args.kw_defaults if each is not None),
        ]
    elif not isinstance(node, ast.Assign | ast.Expr | ast.AugAssign):
        return
    while waiting:
        each = waiting.pop()
        if isinstance(each, LATER):
            continue
        if isinstance(each, ast.Attribute) and isinstance(each.value, ast.Name) and isinstance(each.ctx, ast.Load):
            yield each.value.id, each.attr, each.lineno
        waiting += ast.iter_child_nodes(each)


@dataclass(frozen=True, slots=True)
class _Values:
    """What names stand for in a function: its defaults, what it assigns, and what its module does."""

    by_name: dict[str, ast.expr]

    @classmethod
    def of(cls, tree: ast.Module, function: ast.FunctionDef) -> _Values:
        known: dict[str, ast.expr] = {}
        for node in (*tree.body, *function.body):
            if isinstance(node, ast.Assign):
                first = node.targets[0].elts[0] if isinstance(node.targets[0], ast.Tuple) else node.targets[0]
                known |= {first.id: node.value} if isinstance(first, ast.Name) else {}
        given = function.args.args[len(function.args.args) - len(function.args.defaults) :]
        return cls(known | {each.arg: value for each, value in zip(given, function.args.defaults, strict=True)})

    def words(self, value: ast.expr, hops: int = 5) -> str:
        """A value as text; of a name what it stands for."""
        if isinstance(value, ast.Name) and value.id in self.by_name and hops:
            return self.words(self.by_name[value.id], hops - 1)
        return ast.unparse(value)


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
    """Whether a version of PyTorch is as new as a release wants it; a newer one than it names is tried."""
    bounds = (pin for each in wanted_torch(release) for pin in each.specifier if pin.operator in {">=", ">", "=="})
    return all(bound.contains(version, prereleases=True) for bound in bounds)


def absolute(node: ast.ImportFrom, module: str, *, package: bool) -> str:
    """The module that an import in a module names, from the top; ``package`` says that the module is a folder's."""
    if not node.level:
        return node.module or ""
    parts = module.split(".")
    parts = parts[: len(parts) - node.level + package]
    return ".".join([*parts, *([node.module] if node.module else [])])

"""The calls of a program, and of what they surely run in the packages that its job will have, against the signatures of what they call.

Programs are read, not run. A call in a ``try`` with handlers, or under a condition that nobody knows, is not looked at; nor is one of what
a decorator, a metaclass or a class of an unknown package may have changed.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from .following import LATER, Follower, Lacking, absolute, uses
from .wheels import Release, UnreadError

MOST = 4_000  # functions that are followed of one job
DEEPEST = 8  # calls from the job's own programs into a library
HOPS = 12  # from a name to what it is imported from
_PLAIN_BASES = ("object", "ABC", "Generic", "Protocol")
_TOLERANT = (
    "signature",
    "hasattr",
    "version",
    "_available",
)  # in a condition: of a program that knows several releases
_EXITS = ("exit", "_exit", "quit")
_KEEP_SIGNATURES = ("staticmethod", "classmethod", "abstractmethod", "property")
_Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class Refused:
    """A call, as it is written, with what a release – or a function of the job's own, by its place – does not take."""

    caller: str
    called: str
    given: str
    taker: str

    def __str__(self) -> str:
        return f"{self.caller} calls {self.called} with {self.given}, which {self.taker} does not take"


@dataclass(frozen=True, slots=True)
class Unheld:
    """An attribute that a program reads of an object, and that the class of that does not have."""

    reader: str
    name: str
    of: str
    release: Release

    def __str__(self) -> str:
        return f"{self.reader} reads {self.name} of a {self.of}, which {self.release} does not give it"


_Told = Refused | Lacking | Unheld


@dataclass(frozen=True, eq=False)
class _Definition:
    """A class or a function, and where it stands."""

    release: Release
    module: str
    node: ast.ClassDef | _Function

    @property
    def key(self) -> tuple[str, str, int]:
        return self.release.name, self.module, self.node.lineno

    @property
    def is_dataclass(self) -> bool:
        """Whether dataclasses makes its ``__init__``."""
        return any("dataclass" in ast.unparse(each).split("(")[0] for each in self.node.decorator_list)


@dataclass(frozen=True, slots=True)
class _Signature:
    """What a call may give: names, so many values; ``None`` for any number."""

    names: frozenset[str]
    values: int | None
    open: bool

    def refuses(self, call: ast.Call) -> str:
        """What a call gives and is not taken; empty where all may be."""
        if not self.open:
            for word in call.keywords:
                if word.arg is not None and word.arg not in self.names:
                    return word.arg
        if self.values is None or any(isinstance(each, ast.Starred) for each in call.args):
            return ""
        return f"{len(call.args)} values" if len(call.args) > self.values else ""


@dataclass(frozen=True, slots=True)
class _Scope:
    """The body that is followed: where it stands, the class whose method it is, and the class of the object that it runs for."""

    release: Release
    module: str
    local: frozenset[str] = frozenset()
    method_of: _Definition | None = None
    object_of: _Definition | None = None
    depth: int = 0
    made: dict[str, _Definition] = field(default_factory=dict)


@dataclass
class Caller:
    """Follows calls through what ``follower`` knows."""

    follower: Follower
    _seen: set[tuple[object, ...]] = field(default_factory=set)

    def refused(self, entry: str) -> Iterator[_Told]:
        """What is surely refused, or lacking, once for each place and thing, when the program of a module is run."""
        own = self.follower.own
        read = self.follower.syntax(own, entry)
        if read is not None:
            yield from dict.fromkeys(self._followed(_Scope(own, entry), read.tree))

    def _followed(self, scope: _Scope, of: ast.Module | _Function) -> Iterator[_Told]:
        times = _times_bound(of)
        for node in self._run(scope, of.body):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                continue
            if scope.depth or scope.local:
                yield from self._unfound(scope, node)
            for each in _evaluated(node):
                if isinstance(each, ast.Call):
                    yield from self._called(scope, each)
                elif isinstance(each, ast.Name) and scope.release is self.follower.own:
                    yield from self._mentioned(scope, each)
                elif isinstance(each, ast.Attribute) and scope.release is self.follower.own:
                    yield from self._unheld(scope, each)
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
                made = self._definition(scope, node.value.func)
                for target in node.targets:
                    once = isinstance(target, ast.Name) and times[target.id] == 1
                    if isinstance(target, ast.Name) and once and made is not None and self._makes_itself(made):
                        scope.made[target.id] = made

    def _run(self, scope: _Scope, body: list[ast.stmt]) -> Iterator[ast.stmt]:
        """The statements that surely run, up to where the function may have ended."""
        for node in body:
            if isinstance(node, ast.For | ast.AsyncFor):
                yield ast.Expr(node.iter)
                if scope.release is self.follower.own:  # a job has something to go through
                    yield from self._run(scope, node.body)
            elif isinstance(node, ast.With | ast.AsyncWith):
                yield from (ast.Expr(each.context_expr) for each in node.items)
                yield from self._run(scope, node.body)
            elif isinstance(node, ast.If):
                known = list(self.follower.executed(scope.release, scope.module, [node]))
                yield from self._run(scope, known)
            else:
                yield from self.follower.executed(scope.release, scope.module, [node])
            if isinstance(node, ast.Return | ast.Raise) or _may_end(node):
                return

    def _unfound(self, scope: _Scope, node: ast.stmt) -> Iterator[Lacking]:
        """The names of other packages that a function imports or reads in vain when it is run."""
        read = self.follower.syntax(scope.release, scope.module)
        wanted: list[tuple[str, str]] = []
        if isinstance(node, ast.ImportFrom):
            origin = absolute(node, scope.module, package=scope.release.is_package(scope.module))
            wanted = [(origin, alias.name) for alias in node.names if origin]
        elif read is not None:
            wanted = [(read.aliases[name], name_of) for name, name_of, _ in uses(node) if name in read.aliases]
        for origin, name in wanted:
            other = self.follower.origin_of(scope.release, origin)
            known = other is not None and other not in {scope.release, self.follower.own}
            if other is not None and known and self.follower.misses(other, origin, name):
                yield Lacking(self._place(scope, node), origin, name, other)

    def _mentioned(self, scope: _Scope, name: ast.Name) -> Iterator[_Told]:
        """A function of the job's own that is called, or handed to what will call it."""
        found = None if name.id in scope.local else self._found(scope.release, scope.module, name.id)
        if found is not None and found.release is self.follower.own and not isinstance(found.node, ast.ClassDef):
            yield from self._into(found, None, None, 0)

    def _called(self, scope: _Scope, call: ast.Call) -> Iterator[_Told]:
        method_of, found = self._callee(scope, call.func)
        if found is None or found.release.name in self.follower.left_alone:
            return
        runs, object_of = found, scope.object_of if _of_self(call.func) else None
        if isinstance(found.node, ast.ClassDef):
            object_of = found
            yield from self._used(found)
            method_of, first = self._method(found, "__init__")
            signature = self._made_with(found)
            runs = first if first is not None else found
        else:
            signature = _signature(found.node, bound=method_of is not None and not _static(found.node))
            if method_of is not None and object_of is None and isinstance(call.func, ast.Attribute):
                object_of = self._object(scope, call.func.value)
        given = signature.refuses(call) if signature is not None and runs.release is not scope.release else ""
        if (
            given
            and runs.release is not self.follower.own
            and not any(map(self._sets, {found.node.name, runs.node.name}))
        ):
            yield Refused(self._place(scope, call), ast.unparse(call.func), given, str(runs.release))
        if not isinstance(runs.node, ast.ClassDef):
            yield from self._into(runs, method_of, object_of, scope.depth + (runs.release is not self.follower.own))

    def _into(
        self, found: _Definition, method_of: _Definition | None, object_of: _Definition | None, depth: int
    ) -> Iterator[_Told]:
        key = (found.key, object_of.key if object_of is not None else None)
        if key in self._seen or depth > DEEPEST or len(self._seen) >= MOST or isinstance(found.node, ast.ClassDef):
            return
        self._seen.add(key)
        scope = _Scope(found.release, found.module, _local(found.node), method_of, object_of, depth)
        yield from self._followed(scope, found.node)

    def _unheld(self, scope: _Scope, read: ast.Attribute) -> Iterator[Unheld]:
        """What is read of an object of a library's class, and that no class above it has or sets."""
        of = self._object(scope, read.value)
        if of is None or of.release is self.follower.own or not isinstance(read.ctx, ast.Load) or "__" in read.attr:
            return
        known: set[str] = set()
        for each in self._above(of):
            if each is None or (each.node.decorator_list and not each.is_dataclass):
                return
            text = ast.unparse(each.node)
            if "__getattr" in text or "__dict__" in text or ("setattr(self" in text and not each.is_dataclass):
                return
            known |= _held_by(each.node)
        if read.attr not in known and not self._sets(read.attr):
            yield Unheld(self._place(scope, read), read.attr, of.node.name, of.release)

    def _makes_itself(self, made: _Definition) -> bool:
        """Whether a call of a definition gives an object of that class and of no other."""
        if not isinstance(made.node, ast.ClassDef):
            return False
        above = [each for each in self._above(made) if each is not None]
        return not any(getattr(node, "name", "") == "__new__" for each in above for node in each.node.body)

    def _sets(self, attribute: str) -> bool:
        """Whether the job's own programs set an attribute of this name of anything but ``self``."""
        texts = (self.follower.own.text(module) or "" for module in self.follower.own_modules())
        sets = re.compile(rf"(?<!\bself)\.{attribute}\s*=[^=]|setattr\([^,]+, *['\"]{attribute}\b")
        return any(map(sets.search, texts))

    def _used(self, made: _Definition) -> Iterator[Refused]:
        """What the methods of a library's classes call in vain once there is an object of a class: its methods that are the job's own, and
        what is of another release.
        """
        known = [each for each in self._above(made) if each is not None]
        names: dict[str, tuple[_Definition, _Definition]] = {}
        for each in known:
            for node in each.node.body:
                if isinstance(node, ast.FunctionDef):
                    names.setdefault(node.name, (each, _Definition(each.release, each.module, node)))
        held = self._held(known)
        for of, method in names.values():
            if method.release is self.follower.own or (made.key, method.key) in self._seen:
                continue
            self._seen.add((made.key, method.key))
            for call in _calls(method.node):
                told, taker = self._taker(call, names, held)
                if taker is None or taker.release is method.release:
                    continue
                signature = _signature(taker.node, bound=not _static(taker.node))
                given = signature.refuses(call) if signature is not None else ""
                if given:
                    place = f"{taker.release.path(taker.module)}:{taker.node.lineno}"
                    own = taker.release is self.follower.own
                    yield Refused(str(of.release), told, given, place if own else str(taker.release))

    def _taker(
        self, call: ast.Call, names: dict[str, tuple[_Definition, _Definition]], held: dict[str, _Definition]
    ) -> tuple[str, _Definition | None]:
        """What a method calls of its object – a method of the job's own, or one of an object that it keeps – and how that is named."""
        first, *rest = ast.unparse(call.func).split(".")
        if first == "self" and len(rest) == 1 and rest[0] in names:
            owner, taker = names[rest[0]]
            return f"{owner.node.name}.{rest[0]}", taker if taker.release is self.follower.own else None
        if first == "self" and len(rest) == 2 and rest[0] in held:
            return ast.unparse(call.func), self._method(held[rest[0]], rest[1])[1]
        return "", None

    def _held(self, classes: list[_Definition]) -> dict[str, _Definition]:
        """The classes of the objects that the methods of classes keep under a name of their own."""
        found: dict[str, list[_Definition | None]] = {}
        for each in classes:
            scope = _Scope(each.release, each.module)
            for node in (node for node in ast.walk(each.node) if isinstance(node, ast.Assign)):
                made = self._definition(scope, node.value.func) if isinstance(node.value, ast.Call) else None
                for target in node.targets:
                    if isinstance(target, ast.Attribute) and _of_self(target):
                        found.setdefault(target.attr, []).append(made)
        once = {name: made[0] for name, made in found.items() if len(made) == 1}
        return {name: made for name, made in once.items() if made is not None and isinstance(made.node, ast.ClassDef)}

    def _callee(self, scope: _Scope, func: ast.expr) -> tuple[_Definition | None, _Definition | None]:
        """The class whose method is called, None for a function or a class, and what is called."""
        if isinstance(func, ast.Attribute):
            if ast.unparse(func.value) == "super()" and scope.method_of is not None:
                return self._method(scope.object_of or scope.method_of, func.attr, after=scope.method_of)
            of = self._object(scope, func.value)
            if of is not None:
                return self._method(of, func.attr)
        return None, self._definition(scope, func)

    def _object(self, scope: _Scope, value: ast.expr) -> _Definition | None:
        """The class of an object that a name stands for."""
        if not isinstance(value, ast.Name):
            return None
        return scope.object_of if value.id == "self" else scope.made.get(value.id)

    def _definition(self, scope: _Scope, func: ast.expr) -> _Definition | None:
        """The class or the function that a dotted name stands for."""
        names = ast.unparse(func).split(".")
        if not all(name.isidentifier() for name in names) or names[0] in scope.local:
            return None
        if len(names) == 1:
            return self._found(scope.release, scope.module, names[0])
        place = self._module_named(scope, names[0])
        for at, name in enumerate(names[1:], 1):
            if place is None:
                return None
            release, module = place
            if at == len(names) - 1:
                return self._found(release, module, name)
            place = (release, f"{module}.{name}") if release.path(f"{module}.{name}") is not None else None
        return None

    def _module_named(self, scope: _Scope, name: str) -> tuple[Release, str] | None:
        """The module that a name is bound to by an import."""
        binders = self._binders(scope.release, scope.module, name)
        if len(binders) != 1 or not isinstance(binders[0], ast.Import | ast.ImportFrom):
            return None
        node = binders[0]
        for alias in node.names:
            if (alias.asname or alias.name.partition(".")[0]) == name:
                below = alias.name if alias.asname else alias.name.partition(".")[0]
                if isinstance(node, ast.ImportFrom):
                    origin = absolute(node, scope.module, package=scope.release.is_package(scope.module))
                    below = f"{origin}.{alias.name}"
                other = self.follower.origin_of(scope.release, below)
                return (other, below) if other is not None and other.path(below) is not None else None
        return None

    def _found(self, release: Release, module: str, name: str, hops: int = HOPS) -> _Definition | None:
        """What a name of a module stands for, followed through imports; None where that is not certain."""
        binders = self._binders(release, module, name)
        if not binders:
            return self._lazily(release, module, name)
        node = binders[0]
        if len(binders) > 1 or not hops:
            return None
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            return _Definition(release, module, node)
        if not isinstance(node, ast.ImportFrom):
            return None
        origin = absolute(node, module, package=release.is_package(module))
        other = self.follower.origin_of(release, origin)
        real = next(alias.name for alias in node.names if (alias.asname or alias.name) == name)
        return self._found(other, origin, real, hops - 1) if other is not None and origin else None

    def _binders(self, release: Release, module: str, name: str) -> list[ast.stmt]:
        read = self.follower.syntax(release, module)
        return read.binders.get(name, []) if read is not None else []

    def _lazily(self, release: Release, module: str, name: str) -> _Definition | None:
        """What a module that is made lazily takes from the modules below it."""
        read = self.follower.syntax(release, module)
        if read is None or not read.dynamic or release.partial:
            return None
        try:
            found = release.definers(name, module)
        except UnreadError:
            return None
        return self._found(release, found[0], name, 1) if len(found) == 1 and found[0] != module else None

    def _above(self, made: _Definition, hops: int = HOPS) -> list[_Definition | None]:
        """A class and the classes above it, the nearest first; None stands for one that is not known."""
        order: list[_Definition | None] = [made]
        scope = _Scope(made.release, made.module)
        bases = made.node.bases if isinstance(made.node, ast.ClassDef) else []
        for base in bases:
            if ast.unparse(base).split("[")[0].rpartition(".")[2] in _PLAIN_BASES:
                continue
            found = self._definition(scope, base)
            known = found is not None and isinstance(found.node, ast.ClassDef) and hops
            order += self._above(found, hops - 1) if found is not None and known else [None]
        if isinstance(made.node, ast.ClassDef) and made.node.keywords:
            order.append(None)  # a metaclass
        keys = [each.key if each is not None else None for each in order]
        return [each for at, each in enumerate(order) if keys[at] not in keys[at + 1 :] or each is None]

    def _method(
        self, of: _Definition, name: str, after: _Definition | None = None
    ) -> tuple[_Definition | None, _Definition | None]:
        """The nearest class that defines a method, and the method; ``after`` a class, for ``super()``."""
        above = self._above(of)
        keys = [each.key if each is not None else None for each in above]
        if after is not None:
            above = above[keys.index(after.key) + 1 :] if after.key in keys else [None]
        for each in above:
            if each is None:
                return None, None
            found = [node for node in each.node.body if getattr(node, "name", "") == name]
            if found:
                method = found[0] if len(found) == 1 and isinstance(found[0], ast.FunctionDef) else None
                return (each, _Definition(each.release, each.module, method)) if method is not None else (None, None)
        return None, None

    def _made_with(self, made: _Definition) -> _Signature | None:
        """What makes an object of a class; None where that is not known."""
        above = self._above(made)
        for at, each in enumerate(above):
            body = each.node.body if each is not None else []
            first = [node for node in body if getattr(node, "name", "") in {"__init__", "__new__"}]
            if each is None or len(first) > 1:
                return None
            if first:
                return _signature(first[0], bound=True) if isinstance(first[0], ast.FunctionDef) else None
            if each.is_dataclass:
                fields = [name for below in above[at:] for name in _fields(below)]
                return _Signature(frozenset(fields), len(set(fields)), None in above[at:])
            if each.node.decorator_list:
                return None
        return None

    def _place(self, scope: _Scope, node: ast.stmt | ast.expr) -> str:
        if scope.release is self.follower.own:
            return f"{scope.release.path(scope.module)}:{node.lineno}"
        return str(scope.release)


def _evaluated(node: ast.stmt) -> Iterator[ast.expr]:
    """The expressions that a statement surely evaluates."""
    waiting: list[ast.AST] = [node]
    while waiting:
        each = waiting.pop()
        if isinstance(each, LATER):
            continue
        if isinstance(each, ast.expr):
            yield each
        waiting += ast.iter_child_nodes(each)


def _may_end(node: ast.stmt, *, in_loop: bool = False) -> bool:
    """Whether a statement, but no definition, may end the statements around it."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return False
    if isinstance(node, ast.Return) or (isinstance(node, ast.Break | ast.Continue) and not in_loop):
        return True
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        return ast.unparse(node.value.func).rpartition(".")[2] in _EXITS
    in_loop |= isinstance(node, ast.For | ast.AsyncFor | ast.While)
    return any(_may_end(each, in_loop=in_loop) for each in _statements(node))


def _statements(node: ast.AST) -> Iterator[ast.stmt]:
    """The statements of a statement's own blocks."""
    for each in ast.iter_child_nodes(node):
        if isinstance(each, ast.stmt):
            yield each
        elif isinstance(each, ast.ExceptHandler | ast.match_case):
            yield from each.body


def _times_bound(of: ast.AST) -> Counter[str]:
    """How often a name is bound anywhere in a module or a function, also in the functions inside."""
    found = Counter[str]()
    for node in ast.walk(of):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            found[node.id] += 1
        elif isinstance(node, ast.alias):
            found[(node.asname or node.name).partition(".")[0]] += 1
        elif isinstance(node, ast.arg):
            found[node.arg] += 1
        elif isinstance(
            node,
            ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.ExceptHandler | ast.MatchAs | ast.MatchStar,
        ):
            found[node.name or ""] += 1
    return found


def _calls(node: ast.AST) -> Iterator[ast.Call]:
    """The calls of a method that no ``try`` guards, nor a look at a signature."""
    if isinstance(node, ast.Try) and node.handlers:
        return
    if isinstance(node, ast.If) and any(word in ast.unparse(node.test) for word in _TOLERANT):
        return
    if isinstance(node, ast.Call):
        yield node
    for child in ast.iter_child_nodes(node):
        yield from _calls(child)


def _of_self(func: ast.expr) -> bool:
    return isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name) and func.value.id == "self"


def _static(node: ast.ClassDef | _Function) -> bool:
    return any(ast.unparse(each) == "staticmethod" for each in node.decorator_list)


def _signature(node: ast.ClassDef | _Function, *, bound: bool) -> _Signature | None:
    """What a function takes, without its first argument where it is ``bound``; None where a decorator may have changed it."""
    if isinstance(node, ast.ClassDef) or any(ast.unparse(each) not in _KEEP_SIGNATURES for each in node.decorator_list):
        return None
    given = [each.arg for each in (*node.args.posonlyargs, *node.args.args)][bound:]
    names = {*given, *(each.arg for each in node.args.kwonlyargs)}
    return _Signature(frozenset(names), None if node.args.vararg else len(given), node.args.kwarg is not None)


def _fields(of: _Definition | None) -> Iterator[str]:
    """The fields of a dataclass that a call may give; of another class none."""
    for each in of.node.body if of is not None and of.is_dataclass else ():
        if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name):
            said = ast.unparse(each)
            if "ClassVar" not in ast.unparse(each.annotation) and "init=False" not in said:
                yield each.target.id


def _held_by(node: ast.ClassDef | _Function) -> set[str]:
    """The attributes that a class has, and those that it sets."""
    names = {str(getattr(each, "name", "")) for each in node.body}
    for each in ast.walk(node):
        if isinstance(each, ast.Attribute) and isinstance(each.ctx, ast.Store):
            names.add(each.attr)
        elif isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store):
            names.add(each.id)
    return names


def _local(node: ast.ClassDef | _Function) -> frozenset[str]:
    """The names that a function binds itself: what they stand for is not known."""
    if isinstance(node, ast.ClassDef):
        return frozenset()
    every = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs, node.args.vararg, node.args.kwarg]
    stored = {each.id for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}
    imported = {
        (alias.asname or alias.name).partition(".")[0]
        for each in ast.walk(node)
        if isinstance(each, ast.Import | ast.ImportFrom)
        for alias in each.names
    }
    return frozenset({each.arg for each in every if each is not None} | stored | imported | {" "})

"""Functions, classes, modules, comprehensions and code in texts: what a launcher defines, and how that is used."""

from __future__ import annotations

import ast
from collections.abc import Callable, Generator, Sequence
from typing import Any, Final

from ..source import Cell, parsed
from ..values import (
    Needs,
    Node,
    OwnCode,
    Place,
    Raised,
    Reason,
    Ref,
    Unknown,
    Unresolved,
)
from . import library
from .doors import changes_arguments, reaches_names, replaced
from .expressions import Rest
from .functions import (
    Function,
    asked_outside,
    bound,
    changes_environment,
    last_name,
    local_names,
    set_outside,
    waits,
    writes_a_file,
)
from .heap import Scope
from .nodes import Nodes
from .state import expression

DEPTH: Final = 28  # calls inside calls of the launcher's own functions


class Definitions(Nodes):
    """What the launcher defines."""

    # Of the class that inherits from this one.
    block: Callable[[Sequence[ast.stmt]], Any]
    lose_changes: Callable[[ast.stmt, Sequence[Unresolved]], None]

    def prepare(self) -> None:
        """Set what a reading begins with."""
        self.functions: dict[int, tuple[object, Function]] = {}
        self.defined: dict[str, Function] = {}
        self.handling: Any = None
        self.depth = 0

    # Functions

    def function(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> Any:
        wanted = node.args
        places = [*reversed([*wanted.posonlyargs, *wanted.args])]
        pairs = [
            *zip(places, reversed(wanted.defaults), strict=False),
            *zip(wanted.kwonlyargs, wanted.kw_defaults, strict=True),
        ]
        ordered = sorted(
            ((each.arg, default) for each, default in pairs if default is not None),
            key=lambda pair: (pair[1].lineno, pair[1].col_offset),
        )
        defaults = {name: self.evaluate(default) for name, default in ordered}
        parameters = {
            each.arg for each in (*places, *wanted.kwonlyargs, wanted.vararg, wanted.kwarg) if each is not None
        }
        for each in (*places, *wanted.kwonlyargs, wanted.vararg, wanted.kwarg):
            if each is not None and each.annotation is not None:
                self.lost_in(each.annotation, [self.cause(each.annotation, Reason.CONSTRUCT)])
        name = getattr(node, "name", "<lambda>")
        made = Function(node, name, self.scope, defaults, local_names(node) | parameters, waits(node), self.scope.cell)
        made.host = self._host(made)
        made.leaves = any(map(changes_environment, ast.walk(node)))
        made.sets = set_outside(node)
        made.outside = asked_outside(node, made.local)
        made.writes = any(map(writes_a_file, ast.walk(node)))
        self.functions[id(made.host)] = (made.host, made)
        return made.host

    def _host(self, function: Function) -> Any:
        """The Python function that stands for one of the launcher, for Python's own code to call."""

        def called(*given: Any, **names: Any) -> Any:
            try:
                value = self.run(function.node, function, list(given), names)
            except Raised as raised:
                raise raised.error from None
            return value

        called.__name__ = called.__qualname__ = function.name
        called.__module__ = "__main__"
        called.__doc__ = ast.get_docstring(function.node) if not isinstance(function.node, ast.Lambda) else None
        return called

    def define(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        """A function, and what its decorators make of it."""
        decorators = [self.evaluate(each) for each in node.decorator_list]
        value = self.function(node)
        self.defined[node.name] = self.functions[id(value)][1]
        for decorator, written in zip(reversed(decorators), reversed(node.decorator_list), strict=True):
            value = self.call(written, decorator, [value], {})
        self.assign(ast.copy_location(ast.Name(id=node.name, ctx=ast.Store()), node), value)

    def run(self, node: ast.AST, function: Function, given: list[Any], names: dict[str, Any]) -> Any:
        """Raises Needs."""
        self.spend()
        rest = [each for each in (*given, names.get("**")) if isinstance(each, Rest)]
        if function.waits or rest:
            why = "its body runs later, and nobody here follows when"
            causes = rest[0].causes if rest else (self.cause(node, Reason.CONSTRUCT, detail=why),)
            self.taint(*causes)
            return Unknown(causes)
        if self.depth >= DEPTH:
            self.taint(self.cause(node, Reason.CONSTRUCT, detail="calls inside calls"))
            raise Needs((self.cause(node, Reason.CONSTRUCT, detail="calls inside calls"),))
        scope = Scope(
            "function", parent=function.scope, file=function.scope.file, cell=function.cell, local=function.local
        )
        scope.names.update(self.python(bound, function, given, names))
        handed = list(scope.names.values())
        try:
            return self._body(function, scope)
        except Needs as needs:  # nobody knows where it returns
            self.skip(function.node, needs.causes)
            self.may_run(function.host, needs.causes)
            for each in handed:
                self.lose_all(each, needs.causes)
            return Unknown(needs.causes)

    def _body(self, function: Function, scope: Scope) -> Any:
        before = len(self.scopes)
        self.scopes.append(scope)
        self.depth += 1
        try:
            if isinstance(function.node, ast.Lambda):
                return self.evaluate(function.node.body)
            flow = self.block(function.node.body)
            return flow.value if flow is not None else None
        finally:
            self.depth -= 1
            del self.scopes[before:]

    def skip(self, node: ast.AST, causes: Sequence[Unresolved]) -> None:
        """Note the calls that are not made in what is not followed to its end – in a loop those too that are made, in further turns –
        and those of the functions that they name."""
        todo = [(node, self.scope.file, self.scope.cell, isinstance(node, (ast.For, ast.While)))]
        seen = set[str]()
        while todo:
            inner, file, cell, again = todo.pop()
            for call in ast.walk(inner):
                place = Place(file, cell, getattr(call, "lineno", 1), getattr(call, "col_offset", 0))
                if not isinstance(call, ast.Call) or (place in self.called and not again):
                    continue
                self.skipped.setdefault(place, tuple(causes))
                for name in {
                    each.id for each in ast.walk(call) if isinstance(each, ast.Name)
                } & self.defined.keys() - seen:
                    seen.add(name)
                    function = self.defined[name]
                    todo.append((function.node, function.scope.file, function.cell, True))

    # Classes

    def define_class(self, node: ast.ClassDef) -> None:
        """A class is not followed: its body is read for what that changes, and what its methods do is done wherever it is mentioned."""
        around = [self.evaluate(each) for each in (*node.bases, *(each.value for each in node.keywords))]
        decorators = [self.evaluate(each) for each in node.decorator_list]
        scope = Scope("class", parent=self.scope, file=self.scope.file, cell=self.scope.cell)
        self.scopes.append(scope)
        try:
            self.block(node.body)
        finally:
            self.scopes.remove(scope)
        cause = self.cause(node, Reason.CONSTRUCT, detail="a class of the launcher's own is not followed")
        value = OwnCode((cause,), among=[*scope.names.values(), *around, *decorators])
        for decorator, written in zip(reversed(decorators), reversed(node.decorator_list), strict=True):
            self.call(written, decorator, [value], {})
        self.assign(ast.copy_location(ast.Name(id=node.name, ctx=ast.Store()), node), value)

    # Comprehensions

    def comprehended(self, node: Any) -> Any:
        first = self.evaluate(node.generators[0].iter)
        scope = Scope(
            "comprehension", parent=self.scope, file=self.scope.file, cell=self.scope.cell, local=_targets(node)
        )
        if isinstance(node, ast.GeneratorExp):
            return self._lazily(node, first, scope)
        found: list[Any] = []
        before = len(self.scopes)
        self.scopes.append(scope)
        try:
            found.extend(self._turns(node, list(node.generators), first))
        except Needs as needs:
            del self.scopes[before:]
            self.lost_in(node, needs.causes)
            raise
        finally:
            del self.scopes[before:]
        if isinstance(node, ast.DictComp):
            return self.python(dict, found)
        return self.python(set, found) if isinstance(node, ast.SetComp) else found

    def lost_in(self, node: ast.expr, causes: Sequence[Unresolved]) -> None:
        """An expression that is not followed to its end: what its calls may have changed is unknown."""
        if any(isinstance(inner, (ast.Call, ast.NamedExpr)) for inner in ast.walk(node)):
            self.lose_changes(ast.copy_location(ast.Expr(node), node), causes)

    def _lazily(self, node: Any, first: Any, scope: Scope) -> Generator[Any, Any, None]:
        """A generator expression, in its own scope at each turn."""
        turns = self._turns(node, list(node.generators), first)
        while True:
            before = len(self.scopes)
            self.scopes.append(scope)
            try:
                item = next(turns)
            except StopIteration:
                return
            except Raised as raised:
                raise raised.error from None
            finally:
                del self.scopes[before:]
            yield item

    def _turns(self, node: Any, generators: list[ast.comprehension], first: Any) -> Generator[Any, None, None]:
        head, *rest = generators
        if head.is_async:
            raise Needs((self.cause(node, Reason.CONSTRUCT),))
        for item in self.items(head.iter, first):
            self.assign(head.target, item)
            if not self._passes(node, head.ifs):
                continue
            if rest:
                yield from self._turns(node, rest, self.evaluate(rest[0].iter))
            elif isinstance(node, ast.DictComp):
                key = self.key(self.evaluate(node.key))
                yield key, self.evaluate(node.value)
            elif isinstance(node, ast.SetComp):
                yield self.key(self.evaluate(node.elt))
            else:
                yield self.evaluate(node.elt)

    def _passes(self, node: Any, tests: Sequence[ast.expr]) -> bool:
        for test in tests:
            value = self.evaluate(test)
            decided = self.truth(value)
            if decided is None:
                cause = Unresolved(Reason.BRANCH, self.place(node), expression(test))
                raise Needs(value.causes if isinstance(value, Unknown) else (cause,))
            if not decided:
                return False
        return True

    # Modules

    def import_modules(self, node: ast.Import) -> None:
        for alias in node.names:
            first = alias.name.partition(".")[0]
            value = self.module(node, alias.name)
            if alias.asname is None and "." in alias.name:
                value = self.module(node, first)
            self.assign(ast.Name(id=alias.asname or first, ctx=ast.Store()), value)

    def module(self, node: ast.AST, name: str) -> Any:
        """A module by its name: one that lies beside the launcher, or somebody else's."""
        own = self.sibling(name)
        if own is not None:
            return own
        value = library.found(self, node, name)
        known = name.partition(".")[0] in library.STANDARD or isinstance(value, Node)
        self.risks += 0 if known else 1
        return value if isinstance(value, (Ref, Node)) else Ref(name, self.place(node))

    def import_names(self, node: ast.ImportFrom) -> None:
        module = node.module or ""
        own = self.sibling(module) if module else None
        if module == "__future__":
            return
        for alias in node.names:
            target = ast.Name(id=alias.asname or alias.name, ctx=ast.Store())
            if alias.name == "*":
                self._everything(node, own)
            elif own is not None and alias.name in own.names:
                self.assign(target, own.names[alias.name])
            elif (inner := self.sibling(f"{module}.{alias.name}".lstrip("."))) is not None:
                self.assign(target, inner)
            elif own is not None:
                self.assign(target, self.unknown(node, Reason.UNDEFINED, give=alias.asname or alias.name))
            else:
                value = library.found(self, node, f"{module}.{alias.name}".lstrip("."))
                known = module.partition(".")[0] in library.STANDARD or isinstance(value, Node)
                self.risks += 0 if known else 1
                self.assign(target, value)

    def sibling(self, module: str) -> Scope | None:
        if module in self.modules:
            return self.modules[module]
        text = self.settings.modules.get(module)
        others = [name for name in self.settings.modules if name.endswith(f".{module}")] if self.repaths else []
        if text is None or any(self.settings.modules[name] != text for name in others):
            return None
        scope = self.modules[module] = Scope("module", file=f"{module.replace('.', '/')}.py")
        scope.names["__name__"] = module
        tree = parsed(Cell(None, text, text))
        if not isinstance(tree, ast.Module):
            cause = Unresolved(Reason.MODULE, Place(scope.file, None, tree.line), module, detail=module)
            scope.names["*"] = Unknown((cause,))
            return scope
        before = self.scopes
        self.scopes = [scope]
        self.scan(tree)
        try:
            self.block(tree.body)
        except Needs as needs:
            self.taint(*needs.causes)
        finally:
            self.scopes = before
        return scope

    def scan(self, tree: ast.Module) -> None:
        """What a text may change by ways that nobody follows: any name, a library, the command line, the folder."""
        for node in ast.walk(tree):
            self.repaths |= isinstance(node, ast.Attribute) and node.attr == "path" and last_name(node.value) == "sys"
            self.moves |= "chdir" in {getattr(node, "attr", ""), getattr(node, "name", "")}
            if getattr(node, "attr", "") == "environb" or getattr(node, "value", "") == "os.environ":
                self.lose(self.environment, [self.cause(node, Reason.CALL)])
        for node in reaches_names(tree):
            self.taint(self.cause(node, Reason.DYNAMIC, detail=library.ANY_NAME))
        for node in replaced(tree, library.ANSWERED):
            self.taint(self.cause(node, Reason.DYNAMIC, detail="a part of a library is replaced"))
        self.rewords |= changes_arguments(tree)

    def _everything(self, node: ast.ImportFrom, own: Scope | None) -> None:
        """``from module import *``: what it brings; of one that cannot be read nobody knows what that is."""
        if own is None or "*" in own.names:
            self.taint(self.cause(node, Reason.MODULE, detail="it may bring any name"))
        names = own.names if own is not None else {}
        listed = names.get("__all__", [name for name in names if not name.startswith("_")])
        for name in listed if isinstance(listed, (list, tuple)) else ():
            if name in names and name != "*":
                self.assign(ast.Name(id=name, ctx=ast.Store()), names[name])

    # Code in texts, and magics of notebooks

    def run_text(self, node: ast.AST, name: str) -> Any:
        """``exec`` and ``eval``: a text may do anything."""
        cause = self.cause(
            node, Reason.DYNAMIC, detail=f"{name} runs a text, which is not followed; write what it does as statements"
        )
        self.taint(cause)
        return Unknown((cause,))

    def magic(self, node: ast.AST, line: str) -> None:
        """A line magic that defines names: ``%run``, ``%store -r``, ``%env``; all others define none."""
        word, _, rest = line.partition(" ")
        names = [each for each in rest.split() if each.isidentifier()] if word == "store" else []
        for each in names if "-r" in rest else ():
            self.assign(ast.Name(id=each, ctx=ast.Store()), self.unknown(node, Reason.SHELL, detail=f"%{line}"))
        if word in {"run", "pylab"} or (word == "store" and not names):
            self.taint(self.cause(node, Reason.DYNAMIC, detail=f"%{line} may bring any name"))
        name, _, value = rest.partition("=" if "=" in rest else " ")
        self.moves |= word == "cd"
        if word in {"env", "set_env"} and value:
            self.environment.known[name.strip()] = value.strip()


def _targets(node: Any) -> frozenset[str]:
    """The names that a comprehension's own scope holds."""
    return frozenset(
        inner.id
        for generator in node.generators
        for inner in ast.walk(generator.target)
        if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store)
    )

"""What a statement does to what is known. A statement that is not followed makes unknown all that it may change."""

from __future__ import annotations

import ast
import contextlib
import io
import operator
from argparse import Namespace
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType, SimpleNamespace
from typing import Any, Final

from ..values import Environment, Needs, Node, Raised, Reason, Unknown, Unresolvable, Unresolved
from .definitions import Definitions
from .estimators import ESTIMATORS
from .functions import changes_environment, local_names, writes_a_file
from .heap import Scope, reachable
from .state import expression

# What may do anything.
_LEAVING: Final = (ast.Yield, ast.YieldFrom, ast.Await, ast.Global, ast.Nonlocal)
_EXITS: Final = frozenset({"exit", "_exit", "quit"})
_TURNS: Final = 3_000
_LONG: Final = 20_000  # steps of one loop


@dataclass(frozen=True, slots=True)
class Flow:
    """How statements end, when not at their last: ``return`` with a value, ``break``, ``continue``."""

    kind: str
    value: Any = None


BREAK: Final = Flow("break")
CONTINUE: Final = Flow("continue")


class Statements(Definitions):
    """Statements by their kind."""

    def block(self, body: Sequence[ast.stmt]) -> Flow | None:
        """Read statements in order, until one of them leaves the block. Raises Needs where nobody knows whether one does."""
        todo = list(reversed(body))
        while todo:
            statement = todo.pop()
            if isinstance(statement, ast.If):
                todo += reversed(self._arm(statement))
                continue
            flow = self.statement(statement)
            if flow is not None:
                return flow
        return None

    def statement(self, node: ast.stmt) -> Flow | None:
        """Read one statement; of one that cannot be followed, all that it may change is unknown."""
        self.spend()
        kind = _KINDS.get(type(node))
        if kind is None:
            self.havoc(node, (self.cause(node, Reason.CONSTRUCT),))
            return None
        try:
            return kind(self, node)
        except Needs as needs:
            self.havoc(node, needs.causes or (self.cause(node, Reason.CONSTRUCT),))
            return None

    def _arm(self, node: ast.If) -> list[ast.stmt]:
        """The statements of the way that is taken; of an open condition none: what both may change is unknown."""
        self.spend()
        decided = self.truth(self.evaluate(node.test))
        if decided is None:
            decided = self.undecided(node, expression(node.test))
        if decided is not None:
            return node.body if decided else node.orelse
        arms = ast.copy_location(ast.If(test=ast.Constant(value=True), body=node.body, orelse=node.orelse), node)
        cause = Unresolved(Reason.BRANCH, self.place(node), expression(node.test))
        for arm, other in ((node.body, node.orelse), (node.orelse, node.body)):
            if self.ends(arm):
                self.skip(arms, (cause,))
                return other
        self.havoc(arms, (cause,))
        return []

    def ends(self, body: Sequence[ast.stmt]) -> bool:
        """Whether the program ends with these statements, before any launch that follows them; nothing around them catches that."""
        last = body[-1] if body and not self.guards else None
        call = last.value if isinstance(last, ast.Expr) else None
        name = call.func if isinstance(call, ast.Call) else None
        exits = getattr(name, "attr", getattr(name, "id", "")) in _EXITS
        return isinstance(last, ast.Raise) or exits

    def havoc(self, node: ast.stmt, causes: Sequence[Unresolved]) -> None:
        """A statement that is not followed: what it may change is unknown. Raises Needs where it may leave those around it."""
        self.skip(node, causes)
        self.lose_changes(node, causes)
        if _leaves(node):
            raise Needs(causes)

    def lose_changes(self, node: ast.stmt, causes: Sequence[Unresolved]) -> None:
        """What a statement may change is unknown: the names that it sets, and what the objects that it names hold."""
        for inner in ast.walk(node):
            if writes_a_file(inner):
                self.written_files.add("*")
            if isinstance(inner, (ast.Attribute, ast.Subscript)) and not isinstance(inner.ctx, ast.Load):
                changed = inner.value
                while isinstance(changed, (ast.Attribute, ast.Subscript)):
                    changed = changed.value
                if isinstance(changed, ast.Name):
                    self._havoc_value(changed, causes, changed=True)
            if isinstance(inner, ast.Name):
                self._havoc_value(inner, causes)
            elif changes_environment(inner):
                self.lose(self.environment, causes)
            elif (
                isinstance(inner, _LEAVING)
                or (isinstance(inner, ast.Raise) and self.guards)
                or self._brings_code(inner)
            ):
                self.taint(*causes)
        for name in local_names(ast.Module([node], [])):
            self.assign(ast.Name(id=name, ctx=ast.Store()), Unknown(causes))

    def _brings_code(self, node: ast.AST) -> bool:
        """Whether it imports a module of the launcher's own, whose code runs then, or names that nobody knows."""
        names = [alias.name for alias in node.names] if isinstance(node, (ast.Import, ast.ImportFrom)) else []
        modules = [node.module or "."] if isinstance(node, ast.ImportFrom) else names
        return "*" in names or any(
            each.partition(".")[0] in {"", *self.modules, *self.settings.modules} for each in modules
        )

    def _havoc_value(self, inner: ast.Name, causes: Sequence[Unresolved], *, changed: bool = False) -> None:
        try:
            value = self.lookup(inner)
        except (Raised, Needs):
            return
        for each in reachable(value):
            self.may_run(each, causes)
        self.reach(value, causes)
        if not isinstance(value, Node) or (not value.is_path and (changed or value.last in ESTIMATORS)):
            self.lose_all(value, causes)

    def assign(self, target: ast.expr, value: Any) -> None:
        if isinstance(target, ast.Name):
            self.scope.set(target.id, self.settled(target.id, value))
        elif isinstance(target, (ast.Tuple, ast.List)):
            self._unpacked(target, value)
        elif isinstance(target, ast.Subscript):
            owner = self.evaluate(target.value)
            self.set_item(target, owner, self.evaluate(target.slice), value)
        elif isinstance(target, ast.Attribute):
            self.set_attribute(target, self.evaluate(target.value), target.attr, value)
        elif isinstance(target, ast.Starred):
            self.assign(target.value, value)

    def _unpacked(self, target: ast.Tuple | ast.List, value: Any) -> None:
        try:
            items = list(self.items(target, value))
        except Needs as needs:
            among = value.among if isinstance(value, Unknown) else (value,)
            for each in target.elts:
                self.risks += 1
                self.assign(each, Unknown(needs.causes, among=among))
            return
        star = next((index for index, each in enumerate(target.elts) if isinstance(each, ast.Starred)), None)
        wanted = len(target.elts)
        if (star is None and len(items) != wanted) or len(items) < wanted - 1:
            raise Raised(ValueError("values to unpack"))
        if star is not None:
            behind = wanted - star - 1
            middle = items[star : len(items) - behind]
            items = [*items[:star], middle, *items[len(items) - behind :]]
        for each, item in zip(target.elts, items, strict=True):
            self.assign(each, item)

    def set_item(self, node: ast.AST, owner: Any, key: Any, value: Any) -> None:
        """``owner[key] = value``. Raises Needs."""
        key = self.resolved(key)
        if isinstance(owner, Environment):
            if isinstance(key, str) and not self.marks.within(key):
                owner.known[key] = value
            else:
                self.lose(owner, self.missing(key) or [self.cause(node, Reason.CONSTRUCT)])
            return
        if isinstance(owner, Unresolvable):
            self.risks += 1
            self.reach(owner, owner.causes)
            if isinstance(owner, Node):
                self._lose_owner(node, owner)
            return
        if isinstance(key, Unresolvable) or (isinstance(key, str) and self.marks.causes(key)):
            told = self.missing(key)
            self.lose(owner, told)
            return
        if isinstance(key, slice):
            raise Needs((self.cause(node, Reason.CONSTRUCT),))
        self.python(operator.setitem, owner, key, value)

    def _lose_owner(self, node: ast.AST, owner: Node) -> None:
        """An item of something inside an SDK's object is set: the object is another one now."""
        cause = self.cause(node, Reason.CONSTRUCT, detail="a part of an object of the SDK is changed")
        while owner.owner is not None:
            owner = owner.owner
        self.lose(owner, [cause])

    def set_attribute(self, node: ast.AST, owner: Any, name: str, value: Any) -> None:
        """Raises Needs."""
        if isinstance(owner, Node):
            self.set_node(node, owner, name, value)
        elif isinstance(owner, Scope):
            owner.set(name, value)
        elif isinstance(owner, Unresolvable):
            self.risks += 1
            self.reach(owner, owner.causes)
        else:
            if name.startswith("__") or not isinstance(owner, (SimpleNamespace, Namespace)):
                raise Needs((self.cause(node, Reason.CONSTRUCT),))  # it is this process's own
            self.python(setattr, owner, name, value)


def _leaves(node: ast.AST, *, in_loop: bool = False) -> bool:
    """Whether a statement may end the statements around it."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
        return False
    if isinstance(node, ast.Return) or (isinstance(node, (ast.Break, ast.Continue)) and not in_loop):
        return True
    in_loop |= isinstance(node, (ast.For, ast.AsyncFor, ast.While))
    return any(_leaves(each, in_loop=in_loop) for each in ast.iter_child_nodes(node))


def _expression(state: Statements, node: ast.Expr) -> None:
    state.evaluate(node.value)


def _assigned(state: Statements, node: ast.Assign) -> Flow | None:
    value = state.evaluate(node.value)
    for target in node.targets:
        state.assign(target, value)
    return None


def _annotated(state: Statements, node: ast.AnnAssign) -> Flow | None:
    if node.value is not None:
        state.assign(node.target, state.evaluate(node.value))
    state.lost_in(node.annotation, [state.cause(node.annotation, Reason.CONSTRUCT)])
    return None


def _augmented(state: Statements, node: ast.AugAssign) -> Flow | None:
    """A text or a number that grows; what changes in its place is not followed."""
    target = node.target
    if not isinstance(target, ast.Name):
        raise Needs((state.cause(node, Reason.CONSTRUCT),))
    before = state.evaluate(ast.copy_location(ast.Name(id=target.id, ctx=ast.Load()), target))
    if not isinstance(before, (str, int, float)):
        raise Needs(before.causes if isinstance(before, Unresolvable) else (state.cause(node, Reason.CONSTRUCT),))
    state.assign(target, state.operated(node, node.op, before, state.evaluate(node.value)))
    return None


def _for(state: Statements, node: ast.For) -> Flow | None:
    through = state.items(node.iter, state.evaluate(node.iter))
    start, count = state.steps, 0
    try:
        for item in through:
            state.assign(node.target, item)
            flow = state.block(node.body)
            count += 1
            if flow is not None and flow.kind == "return":
                return flow
            if flow is BREAK:
                return None
            if count > _TURNS or start - state.steps > _LONG:
                raise Needs((state.cause(node.iter, Reason.LOOP, detail="it takes too many steps to be followed"),))
    finally:
        through.close()  # type: ignore[attr-defined]  # it is a generator
    return state.block(node.orelse)


def _while(state: Statements, node: ast.While) -> Flow | None:
    raise Needs((state.cause(node.test, Reason.LOOP, detail="its turns are not counted"),))


def _try(state: Statements, node: ast.Try) -> Flow | None:
    risks, known = state.risks, set(state.scope.names)
    try:
        flow, handled = _tried(state, node)
        if state.risks > risks and not handled:
            flow = _perhaps_handled(state, node, flow, _once(node.body) - known)
    except Raised:
        last = state.block(node.finalbody)
        if last is not None:
            return last
        raise
    last = state.block(node.finalbody)
    return last if last is not None else flow


def _tried(state: Statements, node: ast.Try) -> tuple[Flow | None, bool]:
    """How the body ends, or its handler where it raises for certain; and whether that was so."""
    try:
        with state.guarded() if node.handlers else contextlib.nullcontext():
            flow = state.block(node.body)
    except Raised as raised:
        for handler in node.handlers:
            if _catches(state, handler, raised.error):
                return _handled(state, handler, raised.error), True
        raise
    return flow if flow is not None else state.block(node.orelse), False


def _catches(state: Statements, handler: ast.ExceptHandler, error: BaseException) -> bool:
    if handler.type is None:
        return True
    kinds = state.evaluate(handler.type)
    for kind in kinds if isinstance(kinds, tuple) else (kinds,):
        if isinstance(kind, Node):
            continue  # an exception of the SDK, which the launcher itself does not raise
        if isinstance(kind, Unresolvable):
            raise Needs(kind.causes)
        if state.python(isinstance, error, kind):
            return True
    return False


def _handled(state: Statements, handler: ast.ExceptHandler, error: Any) -> Flow | None:
    if handler.name:
        state.assign(ast.Name(id=handler.name, ctx=ast.Store()), error)
    outer = state.handling
    state.handling = error
    try:
        flow = state.block(handler.body)
    finally:
        state.handling = outer
        if handler.name:
            state.scope.names.pop(handler.name, None)
    return flow


def _once(body: Sequence[ast.stmt]) -> set[str]:
    """The names that statements give a value once: it is that, or the program ends where it is asked for."""
    names = Counter(
        each.id
        for node in body
        for each in ast.walk(node)
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)
    )
    return {name for name, count in names.items() if count == 1}


def _perhaps_handled(state: Statements, node: ast.Try, flow: Flow | None, sure: set[str]) -> Flow | None:
    """The body may have raised something that nobody knows, somewhere: each handler is a way of its own. ``sure`` are names that the
    body alone defines."""
    for handler in node.handlers:
        text = f"{expression(handler.type) if handler.type is not None else 'an exception'} is raised"
        cause = Unresolved(Reason.BRANCH, state.place(handler), text)
        chosen = state.undecided(handler, text)
        if chosen is None:
            state.skip(handler, (cause,))
        if chosen is False or (chosen is None and state.ends(handler.body)):
            continue
        before = dict(state.scope.names)
        for each in (*node.body, *node.orelse):
            state.lose_changes(each, (cause,))
        for name in state.scope.names.keys() & sure:
            state.scope.set(name, before[name])
        if chosen:
            return _handled(state, handler, state.unknown(handler, Reason.CALL))
        for each in handler.body:
            state.havoc(each, (cause,))
        if flow is not None:
            raise Needs((cause,))
    return flow


def _raise(state: Statements, node: ast.Raise) -> Flow | None:
    if node.exc is None:
        if not isinstance(state.handling, BaseException):
            raise Needs((state.cause(node, Reason.CALL, detail="an exception that is not known"),))
        raise Raised(state.handling)
    error = state.evaluate(node.exc)
    if isinstance(error, type) and issubclass(error, BaseException):
        error = state.call(node, error, [], {})
    if node.cause is not None:
        state.evaluate(node.cause)
    if not isinstance(error, BaseException):
        raise Needs(error.causes if isinstance(error, Unresolvable) else ())
    raise Raised(error)


def _assert(state: Statements, node: ast.Assert) -> Flow | None:
    if state.truth(state.evaluate(node.test)) is False:
        said = state.evaluate(node.msg) if node.msg is not None else ""
        raise Raised(AssertionError(said if isinstance(said, str) else ""))
    return None


def _with(state: Statements, node: ast.With) -> Flow | None:
    return _within(state, node, list(node.items))


def _within(state: Statements, node: ast.With, items: list[ast.withitem]) -> Flow | None:
    if not items:
        return state.block(node.body)
    first, *rest = items
    manager = state.evaluate(first.context_expr)
    if isinstance(manager, Unresolvable) and not _may_swallow(state, manager):
        return _unknown_context(state, node, first, manager, rest)
    if not isinstance(manager, (io.StringIO, io.BytesIO)):
        why = "a context whose code would have to be followed"
        raise Needs((state.cause(first.context_expr, Reason.CONSTRUCT, detail=why),))
    if first.optional_vars is not None:
        state.assign(first.optional_vars, manager)
    return _within(state, node, rest)


def _may_swallow(state: Statements, manager: Unresolvable) -> bool:
    """Whether a context may keep what its block raises to itself: of contextlib, and of the launcher's own."""
    if not isinstance(manager, Unknown):
        return False
    own = any(id(each) in state.functions for each in manager.among or ())
    return own or manager.origin.partition(".")[0] == "contextlib"


def _unknown_context(
    state: Any, node: ast.With, item: ast.withitem, manager: Any, rest: list[ast.withitem]
) -> Flow | None:
    """A block in something that is not known, or in a run of an experiment of the SDK."""
    if item.optional_vars is not None:
        value = manager if isinstance(manager, Node) else Unknown(manager.causes, getattr(manager, "origin", ""))
        state.assign(item.optional_vars, value)
    if isinstance(manager, Node):
        state.contexts.append(manager)
    try:
        with state.guarded():
            return _within(state, node, rest)
    except Raised:
        if isinstance(manager, Node):
            raise
        raise Needs(manager.causes) from None  # it may be kept there
    finally:
        if isinstance(manager, Node):
            state.contexts.remove(manager)


def _return(state: Statements, node: ast.Return) -> Flow | None:
    value = state.evaluate(node.value) if node.value is not None else None
    return Flow("return", value)


_KINDS: Final[Mapping[type[ast.stmt], Callable[[Any, Any], Flow | None]]] = MappingProxyType(
    {
        ast.Expr: _expression, ast.Assign: _assigned, ast.AnnAssign: _annotated, ast.AugAssign: _augmented,
        ast.For: _for, ast.While: _while, ast.Try: _try, ast.With: _with, ast.Raise: _raise, ast.Assert: _assert,
        ast.FunctionDef: Statements.define, ast.AsyncFunctionDef: Statements.define, ast.ClassDef: Statements.define_class,
        ast.Return: _return, ast.Import: Statements.import_modules, ast.ImportFrom: Statements.import_names, ast.Pass: lambda *_: None,
        ast.Break: lambda *_: BREAK, ast.Continue: lambda *_: CONTINUE,
    }
)  # fmt: skip

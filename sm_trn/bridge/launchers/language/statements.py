"""What a statement does to what is known. A statement that is not followed makes unknown all that it may change."""

from __future__ import annotations

import ast
import contextlib
import io
import operator
from argparse import Namespace
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType, SimpleNamespace
from typing import Any, Final

from ..values import LONGEST, Cause, Environment, Needs, Node, Raised, Reason, Unknown, Unresolvable
from .definitions import Definitions
from .functions import changes_environment, local_names
from .heap import Scope, either, held
from .state import expression

# What ends statements around it, or may do anything.
_LEAVING: Final = (
    ast.Return, ast.Break, ast.Continue, ast.Raise, ast.Yield, ast.YieldFrom, ast.Import, ast.ImportFrom, ast.Await, ast.Global,
    ast.Nonlocal,
)  # fmt: skip
_TURNS: Final = 3_000
_LONG: Final = 20_000  # steps of one loop
_ROUNDS: Final = 3  # readings of a loop's body after which nothing new is found out


@dataclass(frozen=True, slots=True)
class Flow:
    """How statements end, when not at their last: ``return`` with a value, ``break``, ``continue``, or one of several of these."""

    kind: str
    value: Any = None


BREAK: Final = Flow("break")
CONTINUE: Final = Flow("continue")
SEVERAL: Final = Flow("several")  # in a loop: some of next, break and continue


class Statements(Definitions):
    """Statements by their kind."""

    def block(self, body: Sequence[ast.stmt]) -> Flow | None:
        """Read statements in order, until one of them leaves the block."""
        todo = list(reversed(body))
        while todo:
            statement = todo.pop()
            if isinstance(statement, ast.If):
                arm = self._arm(statement)
                if arm is None:
                    return self._both_ways(statement, todo)
                todo += reversed(arm)
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

    def _arm(self, node: ast.If) -> list[ast.stmt] | None:
        """The statements of the way that is taken; None where both are open."""
        self.spend()
        decided = self.truth(self.evaluate(node.test))
        if decided is None:
            decided = self.undecided(node, expression(node.test))
        return None if decided is None else (node.body if decided else node.orelse)

    def _both_ways(self, node: ast.If, after: list[ast.stmt]) -> Flow | None:
        """An open condition: both ways, with the statements after it where one of them may leave these."""
        rest = list(reversed(after))
        together = any(_leaves(each) for each in (*node.body, *node.orelse))
        tail = rest if together else []
        flow = self.joined(node, expression(node.test), [*node.body, *tail], [*node.orelse, *tail])
        if together or flow is not None:
            return flow
        return self.block(rest)

    def joined(self, node: ast.AST, text: str, one: Sequence[ast.stmt], other: Sequence[ast.stmt]) -> Flow | None:
        """Read two ways through statements, and join how they end."""
        cause = Cause(Reason.BRANCH, self.place(node), text)
        return _joined_flows(self, cause, self.both(node, text, lambda: self.block(one), lambda: self.block(other)))

    def havoc(self, node: ast.stmt, causes: Sequence[Cause]) -> None:
        """What a statement may change is unknown: the names that it sets, and what the objects that it names hold."""
        for inner in ast.walk(node):
            if isinstance(inner, ast.Name):
                self._havoc_value(inner, causes)
            elif changes_environment(inner):
                self.lose(self.environment, causes)
            elif isinstance(inner, _LEAVING):
                self.taint(*causes)
        for name in local_names(ast.Module([node], [])):
            self.assign(ast.Name(id=name, ctx=ast.Store()), Unknown(causes))

    def _havoc_value(self, inner: ast.Name, causes: Sequence[Cause]) -> None:
        try:
            value = self.lookup(inner)
        except (Raised, Needs):
            return
        self.may_run(value, causes)
        if not isinstance(value, Node) or not value.is_path:
            self.lose_all(value, causes)

    def assign(self, target: ast.expr, value: Any) -> None:
        if isinstance(target, ast.Name):
            self.touch(self.scope)
            self.scope.names[target.id] = self.settled(target.id, value)
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
                self.touch(owner)
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
        if isinstance(owner, list) and isinstance(key, slice):
            try:
                value = list(self.items(node, value))
            except Needs as needs:
                self.lose(owner, needs.causes)
                return
            if len(owner) + len(value) > LONGEST:
                raise Needs((self.cause(node, Reason.CONSTRUCT),))
        self.touch(owner)
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
            self.touch(owner)
            owner.names[name] = value
        elif isinstance(owner, Unresolvable):
            self.risks += 1
            self.reach(owner, owner.causes)
        else:
            if name.startswith("__") or not isinstance(owner, (SimpleNamespace, Namespace)):
                raise Needs((self.cause(node, Reason.CONSTRUCT),))  # it is this process's own
            self.touch(owner)
            self.python(setattr, owner, name, value)


def _leaves(node: ast.AST) -> bool:
    """Whether a statement may end the statements around it."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
        return False
    return isinstance(node, (ast.Return, ast.Break, ast.Continue)) or any(map(_leaves, ast.iter_child_nodes(node)))


def _expression(state: Statements, node: ast.Expr) -> None:
    state.evaluate(node.value)


def _assigned(state: Statements, node: ast.Assign) -> Flow | None:
    value = _one_cause(state, node, state.evaluate(node.value))
    for target in node.targets:
        state.assign(target, value)
    return None


def _one_cause(state: Statements, node: ast.Assign, value: Any) -> Any:
    """A value for which several calls of its own statement stand: one name gives it, so one cause stands for them."""
    first, last = state.place(node), node.end_lineno or node.lineno
    causes = value.causes if isinstance(value, Unknown) else ()
    fresh = [
        cause
        for cause in causes
        if not cause.give and (cause.place.file, cause.place.cell) == (first.file, first.cell)
        if cause.reason is not Reason.PIPELINE and first.line <= cause.place.line <= last
    ]
    if len(fresh) < 2:
        return value
    whole = Cause(fresh[0].reason, fresh[0].place, expression(node.value), detail=fresh[0].detail)
    return type(value)([*(cause for cause in causes if cause not in fresh), whole], value.origin, value.among)


def _annotated(state: Statements, node: ast.AnnAssign) -> Flow | None:
    if node.value is not None:
        state.assign(node.target, state.evaluate(node.value))
    return None


def _augmented(state: Statements, node: ast.AugAssign) -> Flow | None:
    target = node.target
    if not isinstance(target, ast.Name):
        raise Needs((state.cause(node, Reason.CONSTRUCT),))
    before = state.evaluate(ast.copy_location(ast.Name(id=target.id, ctx=ast.Load()), target))
    state.assign(target, _changed(state, node, before))
    return None


def _changed(state: Statements, node: ast.AugAssign, before: Any) -> Any:
    more = state.evaluate(node.value)
    try:
        if isinstance(before, list) and isinstance(node.op, ast.Add):
            items = list(state.items(node, more))
            state.affordable(node, node.op, before, items)
            state.touch(before)
            before.extend(items)
            return before
        if isinstance(before, Unknown):
            state.reach(before, before.causes)
        if isinstance(before, Environment):
            state.lose(before, [state.cause(node, Reason.CONSTRUCT)])
        return state.operated(node, node.op, before, more, in_place=True)
    except Needs as needs:
        state.lose(before, needs.causes)
        return before if id(before) in state.lost else state.lacking(*needs.causes)


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
            if flow is SEVERAL or count > _TURNS or start - state.steps > _LONG:
                why = "a condition may end the loop" if flow is SEVERAL else "it takes too many steps to be followed"
                return _any_turns(state, node, state.cause(node.iter, Reason.LOOP, detail=why))
    except Needs as needs:
        return _any_turns(state, node, needs.causes[0] if needs.causes else state.cause(node.iter, Reason.LOOP))
    finally:
        through.close()  # type: ignore[attr-defined]  # it is a generator
    return state.block(node.orelse)


def _any_turns(state: Statements, node: ast.For | ast.While, cause: Cause) -> Flow | None:
    """A loop of which nobody knows how far it goes: what any number of further turns may change is unknown."""
    body = list(node.body)
    for turn in range(_ROUNDS):
        known = len(state.lost), _snapshot(state)
        state.notes.append({})
        kept = len(state.sites)
        try:
            flow = _turn(state, node, cause, body)
        except Raised:
            flow = None
        noted = state.notes.pop()
        after = {key: (item, held(item)) for key, (item, _) in noted.items()}
        state.put_back(noted)
        state.join(after, {}, cause)
        if turn:
            del state.sites[kept:]
        if flow is not None and flow.kind == "return":
            state.taint(cause)
        if known == (len(state.lost), _snapshot(state)):
            break
    else:
        state.havoc(node, (cause,))
    if node.orelse:
        state.joined(node, expression(node), node.orelse, [])
    return None


def _turn(state: Statements, node: ast.For | ast.While, cause: Cause, body: Sequence[ast.stmt]) -> Flow | None:
    with state.guarded(), state.in_any_turn():
        if isinstance(node, ast.For):
            state.assign(node.target, Unknown((cause,), among=state.named_in(node.iter)))
        else:
            state.evaluate(node.test)
        return state.block(body)


def _snapshot(state: Any) -> int:
    """How much is not known in the scopes."""
    return sum(
        isinstance(value, Unknown)
        for scope in {id(each): each for each in state.scopes}.values()
        for value in scope.names.values()
    )


def _while(state: Statements, node: ast.While) -> Flow | None:
    return _any_turns(state, node, state.cause(node.test, Reason.LOOP, detail="its turns are not counted"))


def _try(state: Statements, node: ast.Try) -> Flow | None:
    risks = state.risks
    noted: list[dict[int, Any]] = []
    try:
        flow = _tried(state, node, noted)
        if state.risks > risks and node.handlers and len(noted) == 2:
            flow = _perhaps_handled(state, node, flow, noted)
    except Raised:
        last = state.block(node.finalbody)
        if last is not None:
            return last
        raise
    last = state.block(node.finalbody)
    return last if last is not None else flow


def _tried(state: Statements, node: ast.Try, noted: list[dict[int, Any]]) -> Flow | None:
    """The body, and its handler where it raises for certain. ``noted`` are what the body and what the else have touched, as it was."""
    try:
        with state.guarded() if node.handlers else contextlib.nullcontext():
            flow = _touching(state, node.body, noted) if node.handlers else state.block(node.body)
    except Raised as raised:
        noted.clear()
        for handler in node.handlers:
            if _catches(state, handler, raised.error):
                return _handled(state, handler, raised.error)
        raise
    if flow is not None or not noted:
        noted.append({})
        return flow if flow is not None else state.block(node.orelse)
    return _touching(state, node.orelse, noted)


def _touching(state: Statements, body: Sequence[ast.stmt], noted: list[dict[int, Any]]) -> Flow | None:
    """Read statements, and note what they touch as it was."""
    state.notes.append({})
    try:
        return state.block(body)
    finally:
        touched = state.notes.pop()
        noted.append(touched)
        for key, (item, held) in touched.items():
            if state.notes:
                state.notes[-1].setdefault(key, (item, held))


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
            state.touch(state.scope)
            state.scope.names.pop(handler.name, None)
    return flow


def _perhaps_handled(state: Statements, node: ast.Try, flow: Flow | None, noted: list[dict[int, Any]]) -> Flow | None:
    """The body may have raised something that nobody knows, somewhere: each handler is a way of its own."""
    for handler in node.handlers:
        name = expression(handler.type) if handler.type is not None else "an exception"
        text = f"{name} is raised"
        cause = Cause(Reason.BRANCH, state.place(handler), text)
        chosen = state.undecided(handler, text)

        def handle(handler: ast.ExceptHandler = handler, cause: Cause = cause) -> Flow | None:
            state.take(noted[1])
            state.join({}, noted[0], cause)
            return _handled(state, handler, state.unknown(handler, Reason.CALL))

        if chosen is False:
            continue
        if chosen:
            return handle()

        def pass_by(flow: Flow | None = flow) -> Flow | None:
            return flow

        flow = _joined_flows(state, cause, state.both(handler, text, handle, pass_by))
    return flow


def _joined_flows(state: Statements, cause: Cause, result: Any) -> Flow | None:
    """How two ways end together."""
    if not isinstance(result, tuple):
        return result if isinstance(result, Flow) else None
    first: Flow | None = result[0]
    second: Flow | None = result[1]
    kinds = {each.kind if each is not None else "next" for each in (first, second)}
    if first is not None and second is not None and kinds == {"return"}:
        return Flow("return", either(first.value, second.value, cause))
    if first == second:
        return first
    if kinds <= {"next", "break", "continue", "several"}:
        return SEVERAL
    state.taint(cause)
    return (
        second
        if (second is not None and second.kind != "return") or (first is not None and first.kind == "return")
        else first
    )


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
        raise Raised(AssertionError())
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

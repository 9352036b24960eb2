"""What a statement does to what is known: assignments, conditions read both ways, loops, the launcher's own functions."""

from __future__ import annotations

import ast
import enum
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from . import estimators, unsupported
from .calls import starting
from .expressions import evaluate, function_of, hashable, put, settled, truth, turns
from .source import Cell, parsed
from .state import Noted, State, expression
from .values import (
    LONGEST,
    Cause,
    Instance,
    Place,
    Reason,
    Ref,
    Scope,
    Text,
    Unknown,
    UserClass,
    causes_in,
    same,
    unknown,
    with_causes,
)

_LEAVES: Final = frozenset({"exit", "quit", "sys.exit", "os._exit"})
_TURNS: Final = 2_000
_ROUNDS: Final = 3  # readings of a loop's body after which nothing new is found out
_LONG: Final = 5_000  # steps of one loop


class Flow(enum.Enum):
    """How a block ends."""

    NEXT = enum.auto()
    BREAK = enum.auto()
    CONTINUE = enum.auto()
    RETURN = enum.auto()
    RAISE = enum.auto()


def block(state: State, body: Sequence[ast.stmt]) -> Flow:
    """Read statements in order, until one of them leaves the block."""
    for statement in body:
        flow = _KINDS.get(type(statement), _skipped)(state, statement)
        if flow is not Flow.NEXT:
            return flow
    return Flow.NEXT


def returned(state: State, node: ast.FunctionDef | ast.AsyncFunctionDef) -> object:
    """What a function's body returns, in the scope that holds its arguments."""
    state.pending.append([])
    state.splits.append([])
    state.exits.append([])
    left, state.left_loop = state.left_loop, False
    flow = block(state, node.body)
    state.left_loop = left
    found, splits = state.pending.pop(), state.splits.pop()
    for noted, cause in state.exits.pop():
        state.join(noted, state.note(), cause)
    if flow is Flow.NEXT:
        found.append(None)
    if not found:
        return None
    last = found[-1]
    if all(same(last, other) for other in found[:-1]):
        return last
    several = state.cause(node, Reason.BRANCH, detail="it returns one of several values")
    return unknown([*(splits or [several]), *causes_in(found)])


def _skipped(state: State, node: ast.stmt) -> Flow:
    del node
    state.spend()
    return Flow.NEXT


def _expression(state: State, node: ast.stmt) -> Flow:
    assert isinstance(node, ast.Expr)  # noqa: S101 - _KINDS chose it
    evaluate(state, node.value)
    if isinstance(node.value, ast.Call) and expression(node.value.func) in _LEAVES:
        return Flow.RAISE
    return Flow.NEXT


def _assigned(state: State, node: ast.stmt) -> Flow:
    if isinstance(node, ast.AnnAssign):
        if node.value is not None:
            assign(state, node.target, evaluate(state, node.value))
        elif isinstance(node.target, ast.Name):  # a field of a class
            state.scope.names.setdefault(node.target.id, state.unknown(node, Reason.UNDEFINED, give=node.target.id))
    elif isinstance(node, ast.Assign):
        value = _one_cause(state, node, evaluate(state, node.value))
        for target in node.targets:
            assign(state, target, value)
    return Flow.NEXT


def _one_cause(state: State, node: ast.Assign, value: object) -> object:
    """A value for which several calls of its own statement stand: one name gives it, so one cause stands for them."""
    first, last = state.place(node), node.end_lineno or node.lineno
    fresh = [
        cause
        for cause in causes_in(value if isinstance(value, (Unknown, Text)) else None)
        if not cause.give and (cause.place.file, cause.place.cell) == (first.file, first.cell)
        if cause.reason is not Reason.PIPELINE and first.line <= cause.place.line <= last
    ]
    if len({cause.key for cause in fresh}) < 2:
        return value
    whole = Cause(fresh[0].reason, fresh[0].place, expression(node.value), detail=fresh[0].detail)
    return with_causes(value, lambda cause: whole if cause in fresh else cause)


def assign(state: State, target: ast.expr, value: object) -> None:
    """Give ``target`` the value; a name that the user has set keeps what the user gave where the code cannot tell."""
    if isinstance(target, ast.Name):
        scope = state.scope.elsewhere.get(target.id, state.scope)
        scope.names[target.id] = settled(state, target.id, value)
    elif isinstance(target, (ast.Tuple, ast.List)):
        _unpacked(state, list(target.elts), value)
    elif isinstance(target, ast.Starred):
        assign(state, target.value, value)
    elif isinstance(target, ast.Subscript):
        _item(state, target, value)
    elif isinstance(target, ast.Attribute):
        owner = evaluate(state, target.value)
        if isinstance(owner, Instance):
            owner.arguments[_own_name(owner, target.attr)] = value
            starting.follow(state, owner)
        elif isinstance(owner, UserClass):
            owner.scope.names[target.attr] = value
        elif isinstance(owner, Ref) and owner.path.partition(".")[0] in {"sagemaker", "boto3"}:
            unsupported.taint(state, state.cause(target, Reason.DYNAMIC, detail="a part of the SDK is replaced"))


def _own_name(owner: Instance, name: str) -> str:
    return "hyperparameters" if name == "_hyperparameters" and owner.own is None else name


def _unpacked(state: State, targets: list[ast.expr], value: object) -> None:
    star = next((index for index, target in enumerate(targets) if isinstance(target, ast.Starred)), None)
    if isinstance(value, (list, tuple)) and star is None and len(value) == len(targets):
        for target, item in zip(targets, value, strict=True):
            assign(state, target, item)
        return
    for target in targets:
        assign(state, target, unknown([*causes_in(value)] or [state.cause(target, Reason.CONSTRUCT)]))


def _item(state: State, target: ast.Subscript, value: object) -> None:
    owner, key = evaluate(state, target.value), _key(state, target.slice)
    if isinstance(owner, dict):
        put(owner, key, value, state.unknown(target, Reason.CONSTRUCT))
        if owner is unsupported.module_scope(state.scope).names and not isinstance(key, str):
            unsupported.taint(
                state, state.cause(target, Reason.DYNAMIC, detail="a name that is not known is given a value")
            )
    elif isinstance(owner, Instance) and owner.cls == "os.environ" and isinstance(key, str):
        unsupported.environment(state)[key] = value
    elif (
        isinstance(owner, list)
        and isinstance(key, slice)
        and not (isinstance(value, (list, tuple)) and _fits(owner, key))
    ):
        owner[:] = [unknown([*causes_in(value)] or [state.cause(target, Reason.CONSTRUCT)], rest=True)]
    elif isinstance(owner, list) and _fits(owner, key):
        owner[key] = value  # type: ignore[call-overload]  # a number or a slice: _fits
    elif isinstance(owner, list):
        owner[:] = [Unknown((state.cause(target, Reason.CONSTRUCT),), rest=True)]


def _augmented(state: State, node: ast.stmt) -> Flow:
    assert isinstance(node, ast.AugAssign)  # noqa: S101 - _KINDS chose it
    whole = ast.copy_location(ast.BinOp(left=_loaded(node.target), op=node.op, right=node.value), node)
    before = evaluate(state, _loaded(node.target))
    if isinstance(before, list) and isinstance(node.op, ast.Add):
        more = evaluate(state, node.value)
        before += (
            more
            if isinstance(more, (list, tuple)) and len(before) + len(more) <= LONGEST
            else [unknown([*causes_in(more)] or [state.cause(node, Reason.CONSTRUCT)], rest=True)]
        )
        return Flow.NEXT
    after = evaluate(state, whole)
    if isinstance(before, dict) and isinstance(node.op, ast.BitOr):  # in place: other names of it see the change
        changed = after if isinstance(after, dict) else {"…": unknown(causes_in(after), rest=True)}
        before.clear()
        before.update(changed)
        return Flow.NEXT
    if isinstance(before, list) and isinstance(node.op, ast.Mult):
        before[:] = after if isinstance(after, list) else [unknown(causes_in(after), rest=True)]
        return Flow.NEXT
    if isinstance(before, set) and isinstance(after, set):
        before.clear()
        before.update(after)
        return Flow.NEXT
    assign(state, node.target, after)
    return Flow.NEXT


def _loaded(target: ast.expr) -> ast.expr:
    if isinstance(target, ast.Name):
        return ast.copy_location(ast.Name(id=target.id, ctx=ast.Load()), target)
    return target


def _deleted(state: State, node: ast.stmt) -> Flow:
    assert isinstance(node, ast.Delete)  # noqa: S101 - _KINDS chose it
    for target in node.targets:
        if isinstance(target, ast.Name):
            state.scope.names.pop(target.id, None)
        elif isinstance(target, ast.Subscript):
            owner, key = evaluate(state, target.value), _key(state, target.slice)
            if isinstance(owner, dict) and hashable(key):
                owner.pop(key, None)
            elif isinstance(owner, list) and _fits(owner, key):
                del owner[key]  # type: ignore[arg-type]  # a number or a slice: _fits
            elif isinstance(owner, (list, dict)):
                _lost(state, owner, target)
    return Flow.NEXT


def _key(state: State, node: ast.expr) -> object:
    """What stands in the brackets; a slice of unknown ends is None."""
    if not isinstance(node, ast.Slice):
        return evaluate(state, node)
    ends = [evaluate(state, part) if part is not None else None for part in (node.lower, node.upper, node.step)]
    return slice(*ends) if all(end is None or isinstance(end, int) for end in ends) else None


def _fits(owner: list[object], key: object) -> bool:
    """Whether all of the list is known by its place, and this is a place in it."""
    whole = not any(isinstance(item, Unknown) and item.rest for item in owner)
    return whole and (isinstance(key, slice) or (isinstance(key, int) and -len(owner) <= key < len(owner)))


def _lost(state: State, owner: list[object] | dict[object, object], node: ast.AST) -> None:
    if isinstance(owner, list):
        owner[:] = [Unknown((state.cause(node, Reason.CONSTRUCT),), rest=True)]
    else:
        owner["…"] = Unknown((state.cause(node, Reason.CONSTRUCT),), rest=True)


def _conditional(state: State, node: ast.stmt) -> Flow:
    assert isinstance(node, ast.If)  # noqa: S101 - _KINDS chose it
    test = evaluate(state, node.test)
    decided = truth(test)
    if decided is not None:
        return block(state, node.body if decided else node.orelse)
    chosen = state.undecided(node, node.test)
    label = expression(node.test)
    if chosen is not None:
        state.conditions.append((label, chosen))
        flow = block(state, node.body if chosen else node.orelse)
        state.conditions.pop()
        return flow
    return _both(state, node, label, node.body, node.orelse)


def _both(state: State, node: ast.AST, label: str, one: Sequence[ast.stmt], other: Sequence[ast.stmt]) -> Flow:
    """Read both ways from the same state, and join what they leave."""
    cause = Cause(Reason.BRANCH, state.place(node), label)
    if state.joins <= 0:
        _unread(state, [*one, *other], cause)
        return Flow.NEXT
    before = state.note()
    first = _arm(state, (label, True), one)
    after = state.note()
    state.put_back(before)
    second = _arm(state, (label, False), other)
    return _merged(state, cause, (first, after), second)


def _arm(state: State, condition: tuple[str, bool], body: Sequence[ast.stmt]) -> Flow:
    state.conditions.append(condition)
    flow = block(state, body)
    state.conditions.pop()
    return flow


def _merged(state: State, cause: Cause, one: tuple[Flow, Noted], second: Flow) -> Flow:
    first, after = one
    dead = {Flow.RAISE}
    if Flow.RETURN in {first, second} and state.splits and not {first, second} & dead:
        state.splits[-1].append(cause)
    if first in dead and second in dead:
        return Flow.RAISE
    if first in dead:
        return second
    if second in dead:
        state.put_back(after)
        return first
    if Flow.RETURN in {first, second} and first is not second and state.exits:
        # The other way goes on; what it leaves and returns in the end is joined with this.
        state.exits[-1].append((after if first is Flow.RETURN else state.note(), cause))
        if second is Flow.RETURN:
            state.put_back(after)
        return second if first is Flow.RETURN else first
    state.join(after, state.note(), cause)
    if first is second:
        return first
    state.left_loop = True
    return Flow.NEXT


def _unread(state: State, body: Sequence[ast.stmt], cause: Cause) -> None:
    """Too many conditions: what these statements assign is unknown, and nothing of them is read."""
    for statement in body:
        for inner in ast.walk(statement):
            if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
                state.scope.names[inner.id] = Unknown((cause,))


def _for(state: State, node: ast.stmt) -> Flow:
    assert isinstance(node, (ast.For, ast.AsyncFor))  # noqa: S101 - _KINDS chose it
    items = turns(state, evaluate(state, node.iter), node.iter)
    outer, state.left_loop = state.left_loop, False
    flow = _unknown_turns(state, node, items) if isinstance(items, Unknown) else _turns(state, node, items)
    state.left_loop = outer
    return flow


def _turns(state: State, node: ast.For | ast.AsyncFor, items: list[object]) -> Flow:
    before, start = None, state.steps
    for index, item in enumerate(items):
        assign(state, node.target, item)
        if index == 0 and state.joins > 0 and (len(items) > 5 or _may_leave(node)):
            before = state.note()
        if before is not None and (index == _TURNS or start - state.steps > _LONG):
            cause = state.cause(node.iter, Reason.LOOP, detail="it takes too many steps to be followed")
            return _ended(state, node, before, cause)
        flow = block(state, node.body)
        if flow in {Flow.RETURN, Flow.RAISE}:
            return flow
        if state.left_loop and before is not None:
            return _ended(
                state, node, before, state.cause(node.iter, Reason.LOOP, detail="a condition may end the loop")
            )
        if flow is Flow.BREAK:
            return Flow.NEXT
    return block(state, node.orelse)


def _may_leave(node: ast.AST) -> bool:
    return any(isinstance(inner, (ast.Break, ast.Continue, ast.Return)) for inner in ast.walk(node))


def _unknown_turns(state: State, node: ast.For | ast.AsyncFor | ast.While, items: Unknown) -> Flow:
    """A loop of unknown length: its body once, joined with not reading it at all."""
    before = state.note()
    if not isinstance(node, ast.While):
        assign(state, node.target, Unknown(items.causes))
    flow = block(state, node.body)
    if flow is Flow.RAISE:
        state.put_back(before)
        return Flow.NEXT
    return _ended(state, node, before, items.causes[0])


def _ended(state: State, node: ast.For | ast.AsyncFor | ast.While, before: Noted, cause: Cause) -> Flow:
    """A loop of which nobody knows how far it goes: joined with what was before it, with any further turn, and with its else."""
    state.join(before, state.note(), cause)
    sites = len(state.sites)
    for _ in range(_ROUNDS):
        start = state.note()
        if not isinstance(node, ast.While):
            assign(state, node.target, Unknown((cause,)))
        if block(state, node.body) is Flow.RAISE:
            state.put_back(start)
        after = state.note()
        if not _differ(start, after):
            break
        state.join(start, after, cause)
    del state.sites[sites:]  # they were seen in the first turn
    if node.orelse:
        without = state.note()
        block(state, node.orelse)
        state.join(without, state.note(), cause)
    return Flow.NEXT


def _while(state: State, node: ast.stmt) -> Flow:
    assert isinstance(node, ast.While)  # noqa: S101 - _KINDS chose it
    outer, state.left_loop = state.left_loop, False
    before = state.note()
    flow = _while_turns(state, node, before)
    state.left_loop = outer
    return flow


def _while_turns(state: State, node: ast.While, before: Noted) -> Flow:
    for _ in range(_TURNS):
        decided = truth(evaluate(state, node.test))
        if decided is False:
            return block(state, node.orelse)
        if decided is None or (isinstance(node.test, ast.Constant) and _may_leave(node)):
            return _unknown_turns(state, node, state.unknown(node.test, Reason.LOOP))
        flow = block(state, node.body)
        if flow in {Flow.RETURN, Flow.RAISE}:
            return flow
        if flow is Flow.BREAK and not state.left_loop:
            return Flow.NEXT
        if state.left_loop:
            return _ended(
                state, node, before, state.cause(node.test, Reason.LOOP, detail="a condition may end the loop")
            )
    return _ended(
        state, node, before, state.cause(node.test, Reason.LOOP, detail="it takes too many steps to be followed")
    )


def _try(state: State, node: ast.stmt) -> Flow:
    """The body as it stands, joined with each handler that goes on."""
    body, handlers = getattr(node, "body", []), getattr(node, "handlers", [])
    before, returns = state.note(), len(state.pending[-1]) if state.pending else 0
    flow = block(state, body)
    if flow is Flow.RAISE and handlers:
        flow = block(state, handlers[0].body)
    else:
        flow = block(state, getattr(node, "orelse", [])) if flow is Flow.NEXT else flow
        for handler in handlers:
            flow = _handled(state, handler, (before, returns), flow)
    last = block(state, getattr(node, "finalbody", []))
    return last if last is not Flow.NEXT else flow


def _handled(state: State, handler: ast.ExceptHandler, start: tuple[Noted, int], flow: Flow) -> Flow:
    """The handler as a second way, from the state at the ``start`` of the try and what had been returned until then."""
    before, returns = start
    pending = state.pending[-1] if state.pending else []
    name = expression(handler.type) if handler.type is not None else "an exception"
    place = state.place(handler)
    if state.decisions.get(place) is False or state.joins <= 0:
        return flow
    after, returned_by_body = state.note(), len(pending)
    state.put_back(before)
    if handler.name:
        state.scope.names[handler.name] = state.unknown(handler, Reason.CALL)
    other = _arm(state, (f"{name} is raised", True), handler.body)
    if other is Flow.RAISE or (other is Flow.RETURN and flow is Flow.NEXT):
        state.put_back(after)
        del pending[returned_by_body:]
        return flow
    if place in state.decisions:
        del pending[returns:returned_by_body]
        return other
    cause = Cause(Reason.BRANCH, place, f"{name} is raised")
    if other is Flow.RETURN and state.splits:
        state.splits[-1].append(cause)
    if other is Flow.RETURN or _differ(after, state.note()):
        state.wanted[place] = f"{name} is raised"
    state.join(after, state.note(), cause)
    return flow


def _differ(one: Noted, other: Noted) -> bool:
    return any(key in other and not same(contents, other[key][1]) for key, (_, contents) in one.items())


def _with(state: State, node: ast.stmt) -> Flow:
    assert isinstance(node, (ast.With, ast.AsyncWith))  # noqa: S101 - _KINDS chose it
    opened = len(state.runs)
    for item in node.items:
        value = evaluate(state, item.context_expr)
        if isinstance(value, Instance) and value.cls == "Run":
            state.runs.append(starting.experiment_of(state, item.context_expr, value))
        if item.optional_vars is not None:
            assign(state, item.optional_vars, value)
    flow = block(state, node.body)
    del state.runs[opened:]
    return flow


_DECORATORS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "property": "property", "functools.cached_property": "property", "staticmethod": "staticmethod",
        "classmethod": "classmethod",
    }
)  # fmt: skip
_WITH_FIELDS: Final = frozenset(
    {"dataclasses.dataclass", "pydantic.dataclasses.dataclass", "typing.NamedTuple", "pydantic.BaseModel"}
)


def _function(state: State, node: ast.stmt) -> Flow:
    assert isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))  # noqa: S101 - _KINDS chose it
    found = [evaluate(state, decorator) for decorator in node.decorator_list]
    kind = next((_DECORATORS[each.path] for each in found if isinstance(each, Ref) and each.path in _DECORATORS), "")
    state.scope.names[node.name] = function_of(state, node, kind)
    return Flow.NEXT


def _elsewhere(state: State, node: ast.stmt) -> Flow:
    """``global`` and ``nonlocal``: the names are another scope's."""
    for name in getattr(node, "names", ()):
        scope = unsupported.module_scope(state.scope) if isinstance(node, ast.Global) else state.scope.parent
        while scope is not None and isinstance(node, ast.Nonlocal) and name not in scope.names:
            scope = scope.parent
        if scope is not None and scope is not state.scope:
            state.scope.elsewhere[name] = scope
    return Flow.NEXT


def _match(state: State, node: ast.stmt) -> Flow:
    """The cases as conditions one after the other; a pattern that is no plain value is a condition that cannot be decided."""
    assert isinstance(node, ast.Match)  # noqa: S101 - _KINDS chose it
    chain: list[ast.stmt] = []
    for case in reversed(node.cases):
        test = _pattern(node.subject, case)
        body = [*_captured(case.pattern), *case.body]
        chain = body if test is None else [ast.copy_location(ast.If(test=test, body=body, orelse=chain), case.body[0])]
    return block(state, chain)


def _pattern(subject: ast.expr, case: ast.match_case) -> ast.expr | None:
    """The condition of a case; None for one that always holds."""
    pattern = case.pattern
    if isinstance(pattern, ast.MatchAs) and pattern.pattern is None and case.guard is None:
        return None
    values = pattern.patterns if isinstance(pattern, ast.MatchOr) else [pattern]
    plain = [value.value for value in values if isinstance(value, ast.MatchValue)]
    if case.guard is None and len(plain) == len(values):
        tests: list[ast.expr] = [ast.Compare(left=subject, ops=[ast.Eq()], comparators=[value]) for value in plain]
        made: ast.expr = tests[0] if len(tests) == 1 else ast.BoolOp(op=ast.Or(), values=tests)
    else:
        made = ast.Name(id=f"case {ast.unparse(pattern)}", ctx=ast.Load())
    for inner in ast.walk(made):
        if isinstance(inner, ast.expr) and not hasattr(inner, "lineno"):
            ast.copy_location(inner, subject)
    return made


def _captured(pattern: ast.pattern) -> list[ast.stmt]:
    """Names that a pattern binds: to nothing that is known."""
    names = [
        inner.name for inner in ast.walk(pattern) if isinstance(inner, (ast.MatchAs, ast.MatchStar)) and inner.name
    ]
    made: list[ast.stmt] = []
    for name in names:
        value = ast.Name(id=f"what the case gives {name}", ctx=ast.Load())
        made.append(ast.Assign(targets=[ast.Name(id=name, ctx=ast.Store())], value=value))
    for inner in (each for statement in made for each in ast.walk(statement)):
        if isinstance(inner, (ast.stmt, ast.expr)):
            ast.copy_location(inner, pattern)
    return made


def _class(state: State, node: ast.stmt) -> Flow:
    assert isinstance(node, ast.ClassDef)  # noqa: S101 - _KINDS chose it
    scope = Scope(parent=state.scope, file=state.scope.file)
    made_from: Ref | None = None
    fields: dict[str, None] = {}
    decorators = [evaluate(state, each.func if isinstance(each, ast.Call) else each) for each in node.decorator_list]
    typed = any(isinstance(each, Ref) and each.path in _WITH_FIELDS for each in decorators)
    for base in node.bases:
        inherited = evaluate(state, base)
        typed |= isinstance(inherited, Ref) and inherited.path in _WITH_FIELDS
        if isinstance(inherited, UserClass):
            scope.names.update(inherited.scope.names)
            made_from = inherited.base
            fields.update(dict.fromkeys(inherited.fields))
            typed |= bool(inherited.fields)
        elif (
            isinstance(inherited, Ref)
            and inherited.path.startswith("sagemaker.")
            and inherited.last in estimators.WRITTEN
        ):
            made_from = inherited
    state.scopes.append(scope)
    block(state, node.body)
    state.scopes.pop()
    own = [
        each.target.id
        for each in node.body
        if isinstance(each, ast.AnnAssign)
        and isinstance(each.target, ast.Name)
        and "ClassVar" not in expression(each.annotation)
    ]
    fields.update(dict.fromkeys(own if typed else ()))
    state.scope.names[node.name] = UserClass(node.name, scope, made_from, tuple(fields))
    return Flow.NEXT


def _return(state: State, node: ast.stmt) -> Flow:
    assert isinstance(node, ast.Return)  # noqa: S101 - _KINDS chose it
    value = evaluate(state, node.value) if node.value is not None else None
    if state.pending:
        state.pending[-1].append(value)
    return Flow.RETURN


def _import(state: State, node: ast.stmt) -> Flow:
    assert isinstance(node, ast.Import)  # noqa: S101 - _KINDS chose it
    for alias in node.names:
        own = sibling(state, alias.name)
        first = alias.name.partition(".")[0]
        if own is not None:
            state.scope.names[alias.asname or first] = UserClass(alias.name, own)
        else:
            state.scope.names[alias.asname or first] = Ref(alias.name if alias.asname else first)
    return Flow.NEXT


def _import_from(state: State, node: ast.stmt) -> Flow:
    assert isinstance(node, ast.ImportFrom)  # noqa: S101 - _KINDS chose it
    module = node.module or ""
    own = sibling(state, module)
    for alias in node.names:
        if alias.name == "*":
            unsupported.everything(state, node, module, own)
        elif own is not None and alias.name in own.names:
            state.scope.names[alias.asname or alias.name] = own.names[alias.name]
        elif (inner := sibling(state, f"{module}.{alias.name}".lstrip("."))) is not None:
            state.scope.names[alias.asname or alias.name] = UserClass(alias.name, inner)
        elif own is not None:
            missing = state.unknown(node, Reason.UNDEFINED, give=alias.asname or alias.name)
            state.scope.names[alias.asname or alias.name] = missing
        else:
            state.scope.names[alias.asname or alias.name] = Ref(f"{module}.{alias.name}")
    return Flow.NEXT


def sibling(state: State, module: str) -> Scope | None:
    """The scope of a module that lies beside the launcher, read once."""
    if module in state.loaded:
        return state.loaded[module]
    if module not in state.modules:
        return None
    scope = state.loaded[module] = Scope(file=f"{module.replace('.', '/')}.py")
    tree = parsed(Cell(None, state.modules[module], state.modules[module]))
    if isinstance(tree, ast.Module):
        state.scopes.append(scope)
        scope.names["__name__"] = module
        block(state, tree.body)
        state.scopes.pop()
    else:
        cause = Cause(Reason.MODULE, Place(scope.file, None, tree.line), module, detail=module)
        scope.names["*"] = Unknown((cause,))
    return scope


def _leaving(flow: Flow) -> Callable[[State, ast.stmt], Flow]:
    def leave(state: State, node: ast.stmt) -> Flow:
        del state, node
        return flow

    return leave


_KINDS: Final[Mapping[type[ast.stmt], Callable[[State, ast.stmt], Flow]]] = MappingProxyType(
    {
        ast.Expr: _expression, ast.Assign: _assigned, ast.AnnAssign: _assigned, ast.AugAssign: _augmented, ast.Delete: _deleted,
        ast.If: _conditional, ast.For: _for, ast.AsyncFor: _for, ast.While: _while, ast.Try: _try,
        ast.With: _with, ast.AsyncWith: _with, ast.FunctionDef: _function, ast.AsyncFunctionDef: _function, ast.ClassDef: _class,
        ast.Return: _return, ast.Import: _import, ast.ImportFrom: _import_from,
        ast.Global: _elsewhere, ast.Nonlocal: _elsewhere, ast.Match: _match,
        ast.Break: _leaving(Flow.BREAK), ast.Continue: _leaving(Flow.CONTINUE), ast.Raise: _leaving(Flow.RAISE),
    }
)  # fmt: skip

"""What an expression is, as far as the code alone says it."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

from . import methods, records, texts, unsupported
from .calls.library import attribute, called
from .calls.placeholders import given_symbol, in_region
from .calls.starting import follow
from .source import SHELL, SHELL_ACCOUNT, SHELL_REGION
from .state import DEPTH, State
from .values import (
    LONGEST,
    Bound,
    Cause,
    Function,
    Instance,
    Reason,
    Ref,
    Scope,
    Symbol,
    Text,
    Unknown,
    UserClass,
    causes_in,
    known,
    lacking,
    parts_of,
    same,
    text,
    unknown,
    with_causes,
)

_BINARY: Final[Mapping[type[ast.operator], Callable[[Any, Any], object]]] = MappingProxyType(
    {
        ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
        ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.BitOr: operator.or_, ast.BitAnd: operator.and_,
        ast.Pow: operator.pow, ast.LShift: operator.lshift, ast.RShift: operator.rshift,
    }
)  # fmt: skip
_COMPARED: Final[Mapping[type[ast.cmpop], Callable[[Any, Any], Any]]] = MappingProxyType(
    {
        ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge,
    }
)  # fmt: skip
BUILTINS: Final = frozenset({
    "len", "list", "tuple", "dict", "zip", "enumerate", "int", "float", "bool", "abs", "min", "max", "sum", "round", "range", "sorted",
    "set", "repr", "any", "all", "divmod", "reversed", "str", "print", "isinstance", "getattr", "setattr", "hasattr", "display",
    "type", "open", "input", "map", "filter", "exit", "quit", "super", "id", "callable", "vars", "locals", "globals", "eval", "exec",
    "compile", "iter", "next", "object", "Exception", "ValueError", "format", "hash", "chr", "ord", "bytes", "frozenset", "property",
    "staticmethod", "classmethod", "__import__", "get_ipython",
})  # fmt: skip
SHELL_WORDS: Final = MappingProxyType({SHELL_ACCOUNT: Symbol.ACCOUNT, SHELL_REGION: Symbol.REGION})
_WORDS: Final = MappingProxyType({"__name__": "__main__", "NotImplemented": None, "Ellipsis": None})


def settled(state: State, name: str, value: object) -> object:
    """A value that is going to be called ``name``: what the user gives under it where the code cannot tell, else named by it."""
    if name in state.settings and next(causes_in(value), None) is not None:
        return state.settings[name]
    return with_causes(value, lambda cause: _with_name(cause, name))


def _with_name(cause: Cause, name: str) -> Cause:
    if cause.give or cause.reason is Reason.PIPELINE:
        return cause
    return Cause(cause.reason, cause.place, cause.expression, name, cause.detail)


def evaluate(state: State, node: ast.expr) -> object:
    """The value of an expression. Raises ExhaustedError when the budget is spent."""
    state.spend()
    kind = _KINDS.get(type(node))
    if kind is None:
        return state.unknown(node, Reason.CONSTRUCT)
    return kind(state, node)


def truth(value: object) -> bool | None:
    """Whether a condition holds; None where it cannot be decided."""
    if isinstance(value, Unknown):
        return None
    if isinstance(value, Text):
        return True if value.symbols or any(isinstance(part, str) for part in value.parts) else None
    if isinstance(value, (list, set)) and any(isinstance(item, Unknown) and item.rest for item in value):
        return None if len(value) == 1 else True
    if isinstance(value, dict) and "…" in value:
        return None if len(value) == 1 else True
    if value is None or isinstance(value, (bool, int, float, str, bytes, list, tuple, dict, set, frozenset, range)):
        return bool(value)
    return True if isinstance(value, (Symbol, Instance, Function, UserClass, Bound)) else None


def _constant(state: State, node: ast.expr) -> object:
    del state
    return node.value if isinstance(node, ast.Constant) else None


def _name(state: State, node: ast.expr) -> object:
    name = node.id if isinstance(node, ast.Name) else ""
    scope: Scope | None = state.scope
    while scope is not None:
        if name in scope.names:
            return scope.names[name]
        scope = scope.parent
    if name in state.settings:
        return state.settings[name]
    if name == unsupported.MAGIC:
        return Ref(name)
    if name in SHELL_WORDS:
        return [given_symbol(state, SHELL_WORDS[name])]
    if name == SHELL:
        return state.unknown(node, Reason.SHELL)
    if name == "__file__" and (state.scope.file != state.file or state.cell is None):
        return state.scope.file
    if name in BUILTINS:
        return Ref(name)
    if name in _WORDS:
        return _WORDS[name]
    detail = f"perhaps of {state.stars[-1]}" if state.stars else ""
    return state.unknown(node, Reason.UNDEFINED, give=name, detail=detail)


def _attribute(state: State, node: ast.expr) -> object:
    assert isinstance(node, ast.Attribute)  # noqa: S101 - _KINDS chose it
    owner = evaluate(state, node.value)
    own = owner.own.scope.names.get(node.attr) if isinstance(owner, Instance) and owner.own is not None else None
    if isinstance(own, Function) and own.kind == "property":
        return _run(state, node, own, [owner], {})
    return attribute(state, node, owner, node.attr)


def _call(state: State, node: ast.expr) -> object:
    assert isinstance(node, ast.Call)  # noqa: S101 - _KINDS chose it
    function = evaluate(state, node.func)
    given: list[object] = []
    for argument in node.args:
        value = evaluate(state, argument.value if isinstance(argument, ast.Starred) else argument)
        if isinstance(argument, ast.Starred):
            given += (
                value
                if isinstance(value, (list, tuple))
                else [unknown([*causes_in(value)] or [state.cause(argument, Reason.CONSTRUCT)])]
            )
        else:
            given.append(value)
    names: dict[str, object] = {}
    for keyword in node.keywords:
        value = evaluate(state, keyword.value)
        if keyword.arg is not None:
            own = isinstance(function, Ref) and function.path.startswith("sagemaker")
            names[keyword.arg] = settled(state, keyword.arg, value) if own else value
        elif isinstance(value, dict):
            names |= {str(key): item for key, item in value.items()}
        elif value is not None:
            names["…"] = unknown([*causes_in(value)] or [state.cause(keyword.value, Reason.CONSTRUCT)], rest=True)
    return apply(state, node, function, given, names)


def apply(state: State, node: ast.expr, function: object, given: list[object], names: dict[str, object]) -> object:
    """The value of a call."""
    if isinstance(function, Function):
        return _run(state, node, function, given, names)
    if isinstance(function, UserClass):
        return _instance(state, node, function, given, names)
    if isinstance(function, Bound) and isinstance(function.owner, (Instance, UserClass)):
        own = function.owner if isinstance(function.owner, UserClass) else function.owner.own
        method = own.scope.names.get(function.name) if own is not None else None
        if isinstance(method, Function):
            first = {"staticmethod": [], "classmethod": [own]}.get(method.kind, [function.owner])
            return _run(state, node, method, [*first, *given], names)
        if own is not None and own.fields and function.name in records.AS_MAPPING:
            return records.fields_of(function.owner)
    if isinstance(function, Ref) and function.path in records.FUNCTIONS:
        return records.FUNCTIONS[function.path](given, names, lambda made: apply(state, node, made, [], {}))
    if isinstance(function, Ref) and function.path in _SPECIAL:
        return _SPECIAL[function.path](state, node, function.path, given)
    if isinstance(function, Ref) and function.path == "functools.partial" and given:
        return Instance("partial", {"function": given[0], "given": given[1:], "names": names}, state.place(node))
    if isinstance(function, Instance) and function.cls == "partial":
        inner, before, named = (function.arguments[word] for word in ("function", "given", "names"))
        if isinstance(before, list) and isinstance(named, dict):
            return apply(state, node, inner, [*before, *given], {**named, **names})
    found = called(state, node, function, given, names)
    if isinstance(found, Unknown):
        unsupported.escape(state, node, function, [*given, *names.values()])
    return found


def _scope_names(state: State, node: ast.expr, path: str, given: list[object]) -> object:
    if path == "vars" and given:
        owner = given[0]
        return owner.arguments if isinstance(owner, Instance) else state.unknown(node, Reason.CALL)
    return unsupported.names(state, path)


def _mapped(state: State, node: ast.expr, path: str, given: list[object]) -> object:
    if len(given) == 2 and isinstance(given[1], (list, tuple)):
        return [apply(state, node, given[0], [item], {}) for item in given[1]]
    return called(state, node, Ref(path), given, {})


def _magic(state: State, node: ast.expr, path: str, given: list[object]) -> object:
    del path
    unsupported.magic(state, node, given)
    return None


_SPECIAL: Final[Mapping[str, Callable[[State, ast.expr, str, list[object]], object]]] = MappingProxyType(
    {
        "exec": unsupported.code, "eval": unsupported.code, "globals": _scope_names, "locals": _scope_names, "vars": _scope_names,
        "map": _mapped, unsupported.MAGIC: _magic,
    }
)  # fmt: skip


def _instance(state: State, node: ast.expr, cls: UserClass, given: list[object], names: dict[str, object]) -> object:
    if cls.base is not None:
        based = called(state, node, cls.base, given, names)
        if isinstance(based, Instance):
            cause = state.cause(node, Reason.CONSTRUCT, detail=f"a class of its own, made from {cls.base.last}")
            unsupported.invalidate(state, based, cause)
            follow(state, based)
        return based
    made = Instance(cls.name, {}, state.place(node), cls)
    start = cls.scope.names.get("__init__")
    if isinstance(start, Function):
        _run(state, node, start, [made, *given], names)
        return made
    made.arguments |= records.defaults(cls)
    # Of a class whose decorator nobody here knows, what it names is taken for its fields, in order.
    named = [name for name, value in cls.scope.names.items() if not isinstance(value, (Function, UserClass))]
    made.arguments.update(zip(cls.fields or named, given, strict=False))
    made.arguments.update(names)
    after = cls.scope.names.get("__post_init__")
    if isinstance(after, Function):
        _run(state, node, after, [made], {})
    return made


def _run(state: State, node: ast.expr, function: Function, given: list[object], names: dict[str, object]) -> object:
    """Read the body of the launcher's own function with these arguments."""
    if len(state.scopes) > DEPTH:
        return state.unknown(node, Reason.CONSTRUCT, detail="calls inside calls")
    scope = Scope(parent=function.scope, file=function.scope.file)
    caller, state.cell = state.cell, function.cell
    _bind(state, function, scope, given, names)
    state.scopes.append(scope)
    try:
        if isinstance(function.node, ast.Lambda):
            return evaluate(state, function.node.body)
        return state.body(state, function.node)
    finally:
        state.scopes.pop()
        state.cell = caller


def _bind(state: State, function: Function, scope: Scope, given: list[object], names: dict[str, object]) -> None:
    wanted = function.node.args
    places = [*wanted.posonlyargs, *wanted.args]
    scope.names.update(function.defaults)
    scope.names.update((argument.arg, value) for argument, value in zip(places, given, strict=False))
    own = {argument.arg for argument in (*places, *wanted.kwonlyargs)}
    scope.names.update((name, value) for name, value in names.items() if name in own)
    if wanted.vararg:
        scope.names[wanted.vararg.arg] = tuple(given[len(places) :])
    if wanted.kwarg:
        scope.names[wanted.kwarg.arg] = {name: value for name, value in names.items() if name not in own}
    for argument in (*places, *wanted.kwonlyargs):
        if argument.arg not in scope.names:
            scope.names[argument.arg] = state.unknown(argument, Reason.UNDEFINED, give=argument.arg)


def _formatted(state: State, node: ast.expr) -> object:
    assert isinstance(node, ast.JoinedStr)  # noqa: S101 - _KINDS chose it
    parts: list[str | Symbol | Unknown] = []
    for piece in node.values:
        if isinstance(piece, ast.Constant):
            parts.append(str(piece.value))
        elif isinstance(piece, ast.FormattedValue):
            value = evaluate(state, piece.value)
            spec = evaluate(state, piece.format_spec) if piece.format_spec is not None else ""
            conversion = {-1: "", 115: "!s", 114: "!r", 97: "!a"}.get(piece.conversion, "")
            cause = state.cause(piece.value, Reason.CONSTRUCT, detail="an object in a text")
            parts += texts.specified(value, conversion, spec, cause) if isinstance(spec, str) else (Unknown((cause,)),)
    return text(parts)


def _binary(state: State, node: ast.expr) -> object:
    assert isinstance(node, ast.BinOp)  # noqa: S101 - _KINDS chose it
    left, right = evaluate(state, node.left), evaluate(state, node.right)
    cause = state.cause(node, Reason.CONSTRUCT)
    if isinstance(node.op, ast.Add):
        joined = texts.added(left, right)
        if joined is not None and (parts_of(left) is not None or parts_of(right) is not None):
            return joined
    if (made := _of_items(node.op, left, right)) is not None:
        return made
    moment = Text((Symbol.TIME,))
    if moment in (left, right) and all(item == moment or isinstance(item, (int, float)) for item in (left, right)):
        return moment
    if isinstance(node.op, ast.Mod) and isinstance(left, str):
        return texts.percent(left, right, cause)
    if isinstance(node.op, ast.Div) and isinstance(left, Instance) and left.cls == "path":
        inner = right.arguments["path"] if isinstance(right, Instance) and right.cls == "path" else right
        made = methods.pure_path(methods.joined_path([left.arguments["path"], inner], cause))
        return Instance("path", {**left.arguments, "path": made}, left.place)
    if isinstance(node.op, ast.BitOr) and isinstance(left, dict) and isinstance(right, dict):
        return {**left, **right}
    if known(left) and known(right) and _affordable(node.op, left, right):
        try:
            return _BINARY[type(node.op)](left, right)
        except (*methods.ERRORS, MemoryError):
            return Unknown((cause,))
    return unknown(lacking([left, right], cause.place) or [cause])


def _of_items(kind: ast.operator, left: object, right: object) -> object:
    """Lists and tuples put together or repeated, whatever is in them; None for what is neither."""
    for items in (list, tuple):
        if isinstance(kind, ast.Add) and isinstance(left, items) and isinstance(right, items):
            return left + right if len(left) + len(right) <= LONGEST else None  # type: ignore[operator]  # of one kind
        if isinstance(kind, ast.Mult) and isinstance(left, items) and isinstance(right, int):
            return left * right if len(left) * right <= LONGEST else None
    return None


def _affordable(kind: ast.operator, left: object, right: object) -> bool:
    """Whether the result is small, whatever the launcher wants."""
    if type(kind) not in _BINARY:
        return False
    if isinstance(kind, (ast.Pow, ast.LShift)):
        return (
            isinstance(left, (int, float))
            and isinstance(right, (int, float))
            and abs(left) < 10**9
            and abs(right) <= 64
        )
    if isinstance(kind, ast.Add) and isinstance(left, (str, list, tuple)) and isinstance(right, (str, list, tuple)):
        return len(left) + len(right) <= LONGEST
    if isinstance(kind, ast.Mult):
        for one, two in ((left, right), (right, left)):
            if isinstance(one, (str, list, tuple)) and isinstance(two, int) and len(one) * max(two, 0) > LONGEST:
                return False
    return not any(isinstance(item, int) and abs(item) > 10**30 for item in (left, right))


def _unary(state: State, node: ast.expr) -> object:
    assert isinstance(node, ast.UnaryOp)  # noqa: S101 - _KINDS chose it
    value = evaluate(state, node.operand)
    if isinstance(node.op, ast.Not):
        decided = truth(value)
        return unknown([*causes_in(value)] or [state.cause(node, Reason.CONSTRUCT)]) if decided is None else not decided
    if isinstance(value, (int, float)):
        return -value if isinstance(node.op, ast.USub) else (+value if isinstance(node.op, ast.UAdd) else ~int(value))
    return unknown([*causes_in(value)] or [state.cause(node, Reason.CONSTRUCT)])


def _boolean(state: State, node: ast.expr) -> object:
    assert isinstance(node, ast.BoolOp)  # noqa: S101 - _KINDS chose it
    stops = isinstance(node.op, ast.Or)
    value: object = None
    for index, item in enumerate(node.values):
        value = evaluate(state, item)
        decided = truth(value)
        if decided is None and index < len(node.values) - 1:
            chosen = state.undecided(item, item)
            if chosen is None:
                rest = [evaluate(state, other) for other in node.values[index + 1 :]]
                if not stops and any(truth(other) is False for other in rest):
                    return False
                if stops and any(truth(other) is True and isinstance(other, bool) for other in rest):
                    return True
                return unknown([state.cause(node, Reason.BRANCH), *causes_in(value)])
            decided = chosen
        if decided is stops and index < len(node.values) - 1:
            return value
    return value


def _compared(state: State, node: ast.expr) -> object:
    assert isinstance(node, ast.Compare)  # noqa: S101 - _KINDS chose it
    left = evaluate(state, node.left)
    for kind, item in zip(node.ops, node.comparators, strict=True):
        right = evaluate(state, item)
        decided = _holds(kind, left, right)
        if decided is None:
            causes = [*causes_in(left), *causes_in(right)]
            return unknown(causes or [state.cause(node, Reason.PLACEHOLDER)])
        if not decided:
            return False
        left = right
    return True


def _holds(kind: ast.cmpop, left: object, right: object) -> bool | None:
    if isinstance(kind, (ast.Is, ast.IsNot)):
        if isinstance(left, Unknown) or isinstance(right, Unknown):
            return None
        if left is None or right is None or isinstance(left, bool) or isinstance(right, bool):
            return (left is right) is isinstance(kind, ast.Is)
        return None
    if isinstance(kind, (ast.In, ast.NotIn)):
        decided = _within(left, right)
        return None if decided is None else decided is isinstance(kind, ast.In)
    if isinstance(kind, (ast.Eq, ast.NotEq)):
        decided = _equal(left, right)
        return None if decided is None else decided is isinstance(kind, ast.Eq)
    if known(left) and known(right):
        try:
            return bool(_COMPARED[type(kind)](left, right))
        except methods.ERRORS:
            return None
    return None


def _equal(left: object, right: object) -> bool | None:
    if known(left) and known(right):
        return bool(left == right)
    if isinstance(left, Text) and isinstance(right, Text) and left == right and not left.causes:
        return None if Symbol.TIME in left.symbols else True
    if (
        (left is None) != (right is None)
        and not isinstance(left, (Unknown, Ref))
        and not isinstance(right, (Unknown, Ref))
    ):
        return False
    return None


def _within(left: object, right: object) -> bool | None:
    if isinstance(right, dict) and known(left) and "…" not in right and known(list(right)):
        return left in right
    if known(left) and known(right):
        try:
            return left in right  # type: ignore[operator]  # a TypeError is caught
        except methods.ERRORS:
            return None
    if isinstance(left, str) and isinstance(right, Text):
        return True if any(isinstance(part, str) and left in part for part in right.parts) else None
    return None


def _choice(state: State, node: ast.expr) -> object:
    assert isinstance(node, ast.IfExp)  # noqa: S101 - _KINDS chose it
    test = evaluate(state, node.test)
    decided = truth(test)
    if decided is None:
        decided = state.undecided(node, node.test)
    if decided is not None:
        return evaluate(state, node.body if decided else node.orelse)
    one, two = evaluate(state, node.body), evaluate(state, node.orelse)
    return one if same(one, two) else unknown([state.cause(node.test, Reason.BRANCH), *causes_in(test)])


def _list(state: State, node: ast.expr) -> object:
    items: list[object] = []
    for item in getattr(node, "elts", ()):
        value = evaluate(state, item.value if isinstance(item, ast.Starred) else item)
        if isinstance(item, ast.Starred):
            items += (
                value
                if isinstance(value, (list, tuple))
                else [unknown([*causes_in(value)] or [state.cause(item, Reason.CONSTRUCT)], rest=True)]
            )
        else:
            items.append(value)
    if isinstance(node, ast.Tuple):
        return tuple(items)
    if isinstance(node, ast.Set):
        return set(items) if known(items) else unknown([*causes_in(items)] or [state.cause(node, Reason.CONSTRUCT)])
    return items


def _dict(state: State, node: ast.expr) -> object:
    assert isinstance(node, ast.Dict)  # noqa: S101 - _KINDS chose it
    made: dict[object, object] = {}
    for key, item in zip(node.keys, node.values, strict=True):
        value = evaluate(state, item)
        if key is None:
            if isinstance(value, dict):
                made |= value
            else:
                made = {"…": unknown([*causes_in(value)] or [state.cause(item, Reason.CONSTRUCT)], rest=True)}
            continue
        word = evaluate(state, key)
        value = settled(state, word, value) if isinstance(word, str) else value
        put(made, word, value, state.unknown(key, Reason.CONSTRUCT))
    return made


def put(made: dict[object, object], key: object, value: object, lost: Unknown) -> None:
    """Set a key; one that is not known makes the rest of the mapping unknown."""
    if isinstance(key, (Text, Symbol)) or hashable(key):
        made[key] = value
    else:
        made["…"] = unknown([*causes_in(key)] or lost.causes, rest=True)


def hashable(key: object) -> bool:
    """Whether a value is known and can be a key."""
    if not known(key):
        return False
    try:
        hash(key)
    except TypeError:
        return False
    return True


def _subscript(state: State, node: ast.expr) -> object:
    assert isinstance(node, ast.Subscript)  # noqa: S101 - _KINDS chose it
    owner = evaluate(state, node.value)
    if isinstance(node.slice, ast.Slice):
        return _sliced(state, node, owner, node.slice)
    key = evaluate(state, node.slice)
    if isinstance(owner, Unknown):
        return owner
    if isinstance(owner, Instance) and owner.cls == "os.environ":
        return called(state, node, Bound(owner, "getitem"), [key], {})
    if owner == Text((Symbol.TIME,)):
        return owner
    cause = state.cause(node, Reason.CONSTRUCT)
    if isinstance(owner, dict):
        key = in_region(state, node, owner, key)
    if not known(key):
        reason = (
            state.cause(node, Reason.PLACEHOLDER, give="region")
            if key is Symbol.REGION or isinstance(key, Text)
            else cause
        )
        return unknown([*causes_in(key)] or [reason])
    if isinstance(owner, dict) and hashable(key):
        if key not in owner and "…" in owner:
            return owner["…"]
        return owner[key] if key in owner else state.unknown(node, Reason.CONSTRUCT, detail=f"there is no {key!r}")
    if isinstance(owner, (list, tuple, str)) and isinstance(key, int):
        if any(isinstance(item, Unknown) and item.rest for item in owner):
            return unknown(causes_in(list(owner)))
        return owner[key] if -len(owner) <= key < len(owner) else Unknown((cause,))
    return Unknown((*causes_in(owner), cause)[:1])


def _sliced(state: State, node: ast.Subscript, owner: object, cut: ast.Slice) -> object:
    ends = [evaluate(state, part) if part is not None else None for part in (cut.lower, cut.upper, cut.step)]
    if not known(ends) or isinstance(owner, Unknown):
        return unknown([*causes_in(owner), *causes_in(ends)] or [state.cause(node, Reason.CONSTRUCT)])
    if isinstance(owner, Text):
        return (
            owner
            if owner.symbols <= {Symbol.TIME} and not ends[0]
            else unknown([*owner.causes] or [state.cause(node, Reason.PLACEHOLDER)])
        )
    try:
        return owner[slice(*ends)]  # type: ignore[index]  # a TypeError is caught
    except methods.ERRORS:
        return state.unknown(node, Reason.CONSTRUCT)


def _comprehended(state: State, node: ast.expr) -> object:
    """A comprehension over what is known; with a condition that is undecided it is unknown."""
    assert isinstance(node, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp))  # noqa: S101 - _KINDS chose it
    scope = Scope(parent=state.scope, file=state.scope.file)
    state.scopes.append(scope)
    found: list[object] = []
    try:
        lost = _turns(state, node, list(node.generators), found)
    finally:
        state.scopes.pop()
    if lost is not None:
        return Unknown(lost.causes, rest=True)
    if isinstance(node, ast.DictComp):
        made: dict[object, object] = {}
        for pair in found:
            if isinstance(pair, tuple):
                put(made, pair[0], pair[1], state.unknown(node, Reason.CONSTRUCT))
        return made
    if isinstance(node, ast.SetComp):
        return set(found) if known(found) else state.unknown(node, Reason.CONSTRUCT)
    return found


def _turns(state: State, node: ast.AST, generators: list[ast.comprehension], found: list[object]) -> Unknown | None:
    if not generators:
        if isinstance(node, ast.DictComp):
            found.append((evaluate(state, node.key), evaluate(state, node.value)))
        elif isinstance(node, (ast.ListComp, ast.SetComp, ast.GeneratorExp)):
            found.append(evaluate(state, node.elt))
        return None
    first, *rest = generators
    items = turns(state, evaluate(state, first.iter), first.iter)
    if isinstance(items, Unknown):
        return items
    for item in items:
        state.assign(state, first.target, item)
        tests = [truth(evaluate(state, test)) for test in first.ifs]
        if None in tests:
            return state.unknown(first.iter, Reason.BRANCH)
        if all(tests) and (lost := _turns(state, node, rest, found)) is not None:
            return lost
    return None


def turns(state: State, value: object, node: ast.AST) -> list[object] | Unknown:
    """What a loop goes through; unknown where that is."""
    if isinstance(value, dict) and "…" not in value:
        return list(value)
    if isinstance(value, range) and len(value) <= 2_000:
        return list(value)
    if isinstance(value, str) or (
        isinstance(value, (list, tuple, set)) and not any(isinstance(item, Unknown) and item.rest for item in value)
    ):
        return list(value)
    return unknown([*causes_in(value)] or [state.cause(node, Reason.LOOP)])


def _lambda(state: State, node: ast.expr) -> object:
    assert isinstance(node, ast.Lambda)  # noqa: S101 - _KINDS chose it
    return function_of(state, node)


def function_of(state: State, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda, kind: str = "") -> Function:
    """A function, with the defaults of its arguments as they are where it is defined."""
    wanted = node.args
    places = [*reversed([*wanted.posonlyargs, *wanted.args])]
    pairs = [
        *zip(places, reversed(wanted.defaults), strict=False),
        *zip(wanted.kwonlyargs, wanted.kw_defaults, strict=True),
    ]
    defaults = {argument.arg: evaluate(state, default) for argument, default in pairs if default is not None}
    return Function(node, state.scope, state.cell, defaults, kind)


def _walrus(state: State, node: ast.expr) -> object:
    assert isinstance(node, ast.NamedExpr)  # noqa: S101 - _KINDS chose it
    value = evaluate(state, node.value)
    state.scope.names[node.target.id] = value
    return value


def _awaited(state: State, node: ast.expr) -> object:
    return evaluate(state, node.value) if isinstance(node, (ast.Await, ast.Starred)) else None


_KINDS: Final[Mapping[type[ast.expr], Callable[[State, ast.expr], object]]] = MappingProxyType(
    {
        ast.Constant: _constant, ast.Name: _name, ast.Attribute: _attribute, ast.Call: _call, ast.JoinedStr: _formatted,
        ast.BinOp: _binary, ast.UnaryOp: _unary, ast.BoolOp: _boolean, ast.Compare: _compared, ast.IfExp: _choice,
        ast.List: _list, ast.Tuple: _list, ast.Set: _list, ast.Dict: _dict, ast.Subscript: _subscript,
        ast.ListComp: _comprehended, ast.SetComp: _comprehended, ast.DictComp: _comprehended, ast.GeneratorExp: _comprehended,
        ast.Lambda: _lambda, ast.NamedExpr: _walrus, ast.Await: _awaited,
    }
)  # fmt: skip

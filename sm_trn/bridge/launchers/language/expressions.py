"""What an expression is: Python's own operations on what is known, and the reason where something in it is not."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import BuiltinMethodType, CellType, FunctionType, GeneratorType, MappingProxyType
from typing import Any, Final

from ..source import SHELL, SHELL_ACCOUNT, SHELL_REGION
from ..values import (
    LONGEST,
    Environment,
    Moment,
    Needs,
    Node,
    OwnCode,
    Raised,
    Reason,
    Symbol,
    Unknown,
    Unresolvable,
    Unresolved,
)
from . import texts
from .allowed import BUILTINS, Stand
from .estimators import ESTIMATORS
from .functions import Function
from .heap import Scope, changes_anything, reachable
from .state import State, causes_of, expression

_BINARY: Final[Mapping[type[ast.operator], Callable[[Any, Any], Any]]] = MappingProxyType(
    {
        ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv, ast.FloorDiv: operator.floordiv,
        ast.Mod: operator.mod, ast.BitOr: operator.or_, ast.BitAnd: operator.and_, ast.BitXor: operator.xor, ast.Pow: operator.pow,
        ast.LShift: operator.lshift, ast.RShift: operator.rshift, ast.MatMult: operator.matmul,
    }
)  # fmt: skip
_UNARY: Final[Mapping[type[ast.unaryop], Callable[[Any], Any]]] = MappingProxyType(
    {ast.USub: operator.neg, ast.UAdd: operator.pos, ast.Invert: operator.invert}
)
_COMPARED: Final[Mapping[type[ast.cmpop], Callable[[Any, Any], Any]]] = MappingProxyType(
    {
        ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge, ast.Eq: operator.eq, ast.NotEq: operator.ne,
        ast.In: lambda left, right: left in right, ast.NotIn: lambda left, right: left not in right,
    }
)  # fmt: skip
SHELL_WORDS: Final = MappingProxyType({SHELL_ACCOUNT: Symbol.ACCOUNT, SHELL_REGION: Symbol.REGION})
_DYNAMIC: Final = frozenset({"exec", "eval", "globals", "locals", "vars"})  # what may set any name
_LAZY: Final = (GeneratorType, map, filter)  # what runs code when it is gone through


class Expressions(State):
    """Expressions by their kind."""

    functions: dict[int, tuple[object, Function]]
    # Of the classes that inherit from this one.
    call: Callable[..., Any]
    attribute: Callable[..., Any]
    item: Callable[..., Any]
    resolved: Callable[[Any], Any]
    items: Callable[..., Iterator[Any]]
    key: Callable[[Any], Any]
    function: Callable[..., Any]
    comprehended: Callable[..., Any]
    lost_in: Callable[[ast.expr, Sequence[Unresolved]], None]
    assign: Callable[[ast.expr, Any], None]
    skip: Callable[[ast.AST, Sequence[Unresolved]], None]

    def evaluate(self, node: ast.expr) -> Any:
        """The value of an expression. Raises Raised for what the launcher raises, and ExhaustedError when the budget is spent."""
        self.spend()
        kind = _KINDS.get(type(node))
        if kind is None:
            raise Needs((self.cause(node, Reason.CONSTRUCT),))
        try:
            value = kind(self, node)
        except Needs as needs:
            value = self.lacking(*needs.causes)
        if id(value) in self.lost:
            return self.lost[id(value)][1]
        if isinstance(value, Unknown) and value.among is None:
            value.among = tuple(self.named_in(node))
        if isinstance(value, OwnCode) or (
            isinstance(value, Unknown) and any(isinstance(each, OwnCode) for each in value.among or ())
        ):
            self.reach(value, value.causes)
        return value

    def named_in(self, node: ast.AST) -> list[Any]:
        """The objects that an expression names: what it gives is one of them, a part of one, or new."""
        found: dict[int, Any] = {}
        for inner in ast.walk(node):
            if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Load):
                try:
                    value = self.lookup(inner)
                except Raised:
                    continue
                for each in (value.among or ()) if isinstance(value, Unknown) else (value,):
                    found[id(each)] = each
        return [value for value in found.values() if changes_anything(value)]

    def reach(self, value: Any, causes: Sequence[Unresolved]) -> None:
        """Something is done with a value that is not known: whichever object it is may be another one now, and its code may run."""
        for item in (value.among or ()) if isinstance(value, Unknown) else ():
            for inner in reachable(item):
                self.may_run(inner, causes)
                if isinstance(inner, Scope):
                    self.taint(*causes)
                self.lose(inner, causes)

    def either(self, at: ast.expr, text: str, values: Sequence[ast.expr]) -> Unknown:
        """One of several values, by a condition that is open: what the calls in them may have changed is unknown."""
        cause = Unresolved(Reason.BRANCH, self.place(at), text)
        for each in values:
            self.skip(each, (cause,))
            self.lost_in(each, [cause])
        return self.lacking(cause)

    def may_run(self, item: Any, causes: Sequence[Unresolved]) -> None:
        """Code of the launcher may run, nobody knows when and with what: what it names from outside may be another one now."""
        todo, seen = [item], set[int]()
        while todo:
            each = todo.pop()
            if id(each) in seen:
                continue
            seen.add(id(each))
            if isinstance(each, Unknown):
                todo += each.among or ()
            elif (isinstance(each, Stand) and each.name in _DYNAMIC) or isinstance(each, _LAZY):
                self.taint(*causes)
            elif id(each) in self.functions:
                todo += self._outside(self.functions[id(each)][1], causes)
            elif type(each).__name__ in {"method", "staticmethod", "classmethod", "property"}:
                todo += [getattr(each, name, None) for name in ("__func__", "fget", "fset", "__self__")]
            elif isinstance(each, BuiltinMethodType):  # of a list or a mapping: it may change that
                self.lose_all(each.__self__, causes)
            elif type(each).__module__ in {"builtins", "functools"}:
                todo += _wrapped(each)

    def _outside(self, function: Function, causes: Sequence[Unresolved]) -> list[Any]:
        """Lose what a function names from outside; the functions among that."""
        found: list[Any] = [*function.defaults.values()]
        self.spend(len(function.outside))
        if function.leaves:
            self.taint(*causes)
        if function.writes:
            self.written_files.add("*")
        for name in function.sets:
            self.left_open(function.scope, name, causes)
        for name in function.outside:
            scope: Scope | None = function.scope
            while scope is not None and name not in scope.names:
                scope = scope.parent
            found.append(scope.names[name] if scope is not None else BUILTINS.get(name))
        for value in found:
            if not isinstance(value, Scope) and not (
                isinstance(value, Node) and (value.is_path or value.last not in ESTIMATORS)
            ):
                self.lose_all(value, causes)
        return [each for value in found for each in reachable(value)]

    def left_open(self, scope: Scope, name: str, causes: Sequence[Unresolved]) -> None:
        """Code that sets a name from inside a function may run at any time from here on."""
        around: Scope | None = scope
        while around is not None:
            if name in around.names or around.parent is None:
                around.open[name] = tuple(causes)
                around.set(name, around.names.get(name))
            around = around.parent

    def reach_own(self, *values: Any) -> None:
        """An operation on values of which one may be a generator, or an object of the launcher's own: its code may run."""
        for value in values:
            among = (value.among or ()) if isinstance(value, Unknown) else ()
            if any(id(item) in self.functions or isinstance(item, (GeneratorType, OwnCode)) for item in among):
                self.reach(value, value.causes)

    def truth(self, value: Any) -> bool | None:
        """Whether a condition holds; None where it cannot be decided."""
        value = self.resolved(value)
        self.reach_own(value)
        if isinstance(value, Node):
            return True if not value.is_path else None
        if isinstance(value, str) and self.marks.within(value):
            return True if any(isinstance(part, (str, Symbol)) for part in self.marks.parts(value)) else None
        if isinstance(value, Unresolvable) or id(value) in self.lost:
            return None
        try:
            return self.python(bool, value)
        except Needs:
            return None

    def lookup(self, node: ast.Name) -> Any:
        """The value of a name, as Python finds it."""
        name, scope = node.id, self.scope
        at: Scope | None = scope
        while at is not None:
            if name in at.names and (at is scope or at.kind != "class"):
                return self.settled(name, at.names[name])
            if at.kind in {"function", "comprehension"} and name in at.local:
                return self.unknown(node, Reason.UNDEFINED, give=name)
            at = at.parent
        return self._global(node)

    def _global(self, node: ast.Name) -> Any:
        name, module = node.id, self.scope.module
        if name in self.given:
            return self.given[name]
        if name in SHELL_WORDS:
            return [self.symbol(SHELL_WORDS[name])]
        if name == SHELL:
            return self.unknown(node, Reason.SHELL)
        if name == "__file__" and (module is not self.main or module.cell is None):
            return f"{self.folder}/{module.file}"  # its folder is a placeholder
        if name in BUILTINS:
            return BUILTINS[name]
        return self.unknown(node, Reason.UNDEFINED, give=name)

    def operated(self, node: ast.AST, kind: ast.operator, left: Any, right: Any) -> Any:
        """``left kind right``."""
        left, right = self.resolved(left), self.resolved(right)
        made = self._of_texts(node, kind, left, right)
        if made is not None:
            return made
        if isinstance(left, Unresolvable) or isinstance(right, Unresolvable):
            self.reach_own(left, right)
            moments = all(isinstance(each, (Moment, int, float)) for each in (left, right))
            causes = causes_of([left, right])
            return Moment(causes) if moments and causes else self.lacking(*causes)
        self.affordable(node, kind, left, right)
        return self.python(_BINARY[type(kind)], left, right)

    def _of_texts(self, node: ast.AST, kind: ast.operator, left: Any, right: Any) -> Any:
        """A text put together or filled with something that is not known."""
        if isinstance(kind, ast.Mod) and isinstance(left, str):
            raise Needs(self.missing(left, right) or (self.cause(node, Reason.CONSTRUCT),))
        if isinstance(kind, ast.Add) and isinstance(left, str) != isinstance(right, str):
            text, other = (left, right) if isinstance(left, str) else (right, left)
            if isinstance(other, Unresolvable) and not isinstance(other, Node):
                self.risks += 1
                word = self.text_of(other, self.cause(node, Reason.CONSTRUCT))
                return text + word if text is left else word + text
        return None

    def affordable(self, node: ast.AST, kind: ast.operator, left: Any, right: Any) -> None:
        """Raises Needs for what would be too large, whatever the launcher wants."""
        large = False
        if isinstance(kind, (ast.Pow, ast.LShift)):
            large = (
                not all(isinstance(each, (int, float)) for each in (left, right))
                or abs(left) > 10**9
                or abs(right) > 64
            )
        elif isinstance(kind, ast.Mult):
            sized, times = (left, right) if hasattr(left, "__len__") else (right, left)
            large = hasattr(sized, "__len__") and isinstance(times, int) and len(sized) * max(times, 0) > LONGEST
        elif isinstance(kind, ast.Add) and hasattr(left, "__len__") and hasattr(right, "__len__"):
            large = len(left) + len(right) > LONGEST
        elif isinstance(kind, ast.Mod):
            large = isinstance(left, (bytes, bytearray))
        if large or any(isinstance(each, int) and abs(each) > 10**60 for each in (left, right)):
            raise Needs((self.cause(node, Reason.CONSTRUCT, detail="a value that is too large"),))

    def compared(self, node: ast.AST, kind: ast.cmpop, left: Any, right: Any) -> Any:
        """``left kind right``; unknown where it cannot be decided."""
        if isinstance(kind, (ast.Is, ast.IsNot)):
            same = self._identical(left, right)
            return self._open(node, left, right) if same is None else same is isinstance(kind, ast.Is)
        left, right = self.resolved(left), self.resolved(right)
        if (
            isinstance(right, Environment)
            and isinstance(kind, (ast.In, ast.NotIn))
            and isinstance(left, str)
            and left in right.known
        ):
            return isinstance(kind, ast.In)
        self.reach_own(left, right)
        if self.missing(left, ordered=False) or self.missing(right, ordered=False):
            return self._open(node, left, right)
        return self.python(_COMPARED[type(kind)], left, right)

    def _open(self, node: ast.AST, left: Any, right: Any) -> Unknown:
        causes = [*self.missing(left, marked=True), *self.missing(right, marked=True)]
        self.risks += 1
        return Unknown(causes or [self.cause(node, Reason.PLACEHOLDER)])

    def _identical(self, left: Any, right: Any) -> bool | None:
        if isinstance(left, Node) and left is right:
            return True
        left, right = (each if _is_object(each) else self.resolved(each) for each in (left, right))
        if (_is_object(left) and right is None) or (left is None and _is_object(right)):
            return False
        if isinstance(left, Unresolvable) or isinstance(right, Unresolvable):
            return None
        certain = (type(None), bool, type(Ellipsis), list, dict, set, type)
        if isinstance(left, certain) or isinstance(right, certain):
            return left is right
        return None


def _is_object(value: object) -> bool:
    """Whether a node is surely an object of a class, and so not None."""
    return isinstance(value, Node) and (value.is_path or value.last[:1].isupper())


def _call(state: Expressions, node: ast.Call) -> Any:
    """The arguments in their order, then the call."""
    state.called.add(state.place(node))
    function = state.evaluate(node.func)
    given: list[Any] = []
    names: dict[str, Any] = {}
    for argument in node.args:
        value = state.evaluate(argument.value if isinstance(argument, ast.Starred) else argument)
        given += starred(state, argument, value) if isinstance(argument, ast.Starred) else [value]
    named = isinstance(function, Node)
    for keyword in node.keywords:
        value = state.resolved(state.evaluate(keyword.value)) if keyword.arg is None else state.evaluate(keyword.value)
        if keyword.arg is not None:
            names[keyword.arg] = state.settled(keyword.arg, value) if named else value
        elif isinstance(value, Unresolvable):
            names["**"] = value
        else:
            more: dict[Any, Any] = state.python(dict, value)
            if any(not isinstance(key, str) for key in more) or set(more) & set(names):
                raise Raised(TypeError("arguments by name"))
            names |= more
    return state.call(node, function, given, names)


class Rest(Unknown):
    """Further arguments of a call, of which nobody knows how many they are."""

    __slots__ = ()


def starred(state: Expressions, node: ast.AST, value: Any) -> list[Any]:
    """The items of ``*value``."""
    value = state.resolved(value)
    if isinstance(value, Unresolvable):
        return [Rest(value.causes)]
    return list(state.items(node, value))


def _formatted(state: Expressions, node: ast.JoinedStr) -> Any:
    made = ""
    for piece in node.values:
        if isinstance(piece, ast.Constant):
            made += str(piece.value)
        elif isinstance(piece, ast.FormattedValue):
            value = state.resolved(state.evaluate(piece.value))
            spec = state.evaluate(piece.format_spec) if piece.format_spec is not None else ""
            conversion = "" if piece.conversion == -1 else chr(piece.conversion)
            made += texts.specified(
                state, value, conversion, spec, state.cause(piece.value, Reason.CONSTRUCT, detail="an object in a text")
            )
        if len(made) > LONGEST:
            raise Needs((state.cause(node, Reason.CONSTRUCT, detail="a text that is too long"),))
    return made


def _binary(state: Expressions, node: ast.BinOp) -> Any:
    left = state.evaluate(node.left)
    return state.operated(node, node.op, left, state.evaluate(node.right))


def _unary(state: Expressions, node: ast.UnaryOp) -> Any:
    value = state.evaluate(node.operand)
    if isinstance(node.op, ast.Not):
        decided = state.truth(value)
        return (
            state.lacking(*state.missing(value, marked=True) or [state.cause(node, Reason.PLACEHOLDER)])
            if decided is None
            else not decided
        )
    value = state.resolved(value)
    if isinstance(value, Unresolvable):
        return state.lacking(*value.causes)
    return state.python(_UNARY[type(node.op)], value)


def _boolean(state: Expressions, node: ast.BoolOp) -> Any:
    return _either_of(state, node, list(node.values), stops=isinstance(node.op, ast.Or))


def _either_of(state: Expressions, node: ast.BoolOp, values: list[ast.expr], *, stops: bool) -> Any:
    first, *rest = values
    value = state.evaluate(first)
    if not rest:
        return value
    decided = state.truth(value)
    if decided is None:
        decided = state.undecided(first, expression(first))
        if decided is None:
            return state.either(first, expression(first), rest)
        if decided is stops and isinstance(value, Unknown):
            return value
    return value if decided is stops else _either_of(state, node, rest, stops=stops)


def _compared(state: Expressions, node: ast.Compare) -> Any:
    if len(node.ops) > 1:
        cause = state.cause(node, Reason.CONSTRUCT)
        state.lost_in(node, [cause])
        raise Needs([cause])
    left = state.evaluate(node.left)
    return state.compared(node, node.ops[0], left, state.evaluate(node.comparators[0]))


def _choice(state: Expressions, node: ast.IfExp) -> Any:
    decided = state.truth(state.evaluate(node.test))
    if decided is None:
        decided = state.undecided(node, expression(node.test))
    if decided is not None:
        return state.evaluate(node.body if decided else node.orelse)
    return state.either(node, expression(node.test), [node.body, node.orelse])


def _several(state: Expressions, node: ast.expr) -> Any:
    items: list[Any] = []
    for item in getattr(node, "elts", ()):
        value = state.evaluate(item.value if isinstance(item, ast.Starred) else item)
        more = starred(state, item, value) if isinstance(item, ast.Starred) else [value]
        if more and isinstance(more[0], Rest):
            raise Needs(more[0].causes)
        items += more
    if isinstance(node, ast.Tuple):
        return tuple(items)
    if isinstance(node, ast.Set):
        return state.python(set, list(map(state.key, items)))
    return items


def _mapping(state: Expressions, node: ast.Dict) -> Any:
    made: dict[Any, Any] = {}
    for key, item in zip(node.keys, node.values, strict=True):
        if key is None:
            value = state.resolved(state.evaluate(item))
            if isinstance(value, Unresolvable):
                raise Needs(value.causes)
            state.python(lambda value=value: made.update({**value}))
            continue
        word = state.key(state.evaluate(key))
        value = state.evaluate(item)
        state.python(operator.setitem, made, word, state.settled(word, value) if isinstance(word, str) else value)
    return made


def _subscript(state: Expressions, node: ast.Subscript) -> Any:
    owner = state.evaluate(node.value)
    return state.item(node, owner, state.evaluate(node.slice))


def _slice(state: Expressions, node: ast.Slice) -> Any:
    ends = [
        state.resolved(state.evaluate(part)) if part is not None else None
        for part in (node.lower, node.upper, node.step)
    ]
    if (causes := causes_of(ends)) != []:
        return state.lacking(*causes)
    return slice(*ends)


def _walrus(state: Expressions, node: ast.NamedExpr) -> Any:
    value = state.evaluate(node.value)
    scopes = state.scopes
    while state.scope.kind == "comprehension" and state.scope.parent is not None:
        state.scopes = [*state.scopes[:-1], state.scope.parent]
    state.assign(node.target, value)
    state.scopes = scopes
    return value


def _wrapped(item: Any) -> list[Any]:
    """What an object of Python's holds that it may call: of a decorated function the function."""
    if isinstance(item, FunctionType):
        cells = [cell.cell_contents for cell in item.__closure__ or () if cell != CellType()]
        return [value for cell in cells for value in reachable(cell)]
    return [value for name in ("__wrapped__", "func") if (value := getattr(item, name, None)) is not None]


_KINDS: Final[Mapping[type[ast.expr], Callable[[Any, Any], Any]]] = MappingProxyType(
    {
        ast.Constant: lambda _, node: node.value, ast.Name: lambda state, node: state.lookup(node),
        ast.Attribute: lambda state, node: state.attribute(node, state.evaluate(node.value), node.attr),
        ast.Lambda: lambda state, node: state.function(node), **dict.fromkeys(
            (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp), lambda state, node: state.comprehended(node)
        ),
        ast.Call: _call, ast.JoinedStr: _formatted,
        ast.BinOp: _binary, ast.UnaryOp: _unary, ast.BoolOp: _boolean, ast.Compare: _compared, ast.IfExp: _choice,
        ast.List: _several, ast.Tuple: _several, ast.Set: _several, ast.Dict: _mapping, ast.Subscript: _subscript, ast.Slice: _slice,
        ast.NamedExpr: _walrus,
    }
)  # fmt: skip

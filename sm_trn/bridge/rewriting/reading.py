"""What a program does with SDK v2: names it imports, estimators it makes and starts, values that are assigned once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import TypeAlias

import libcst as cst
from libcst.metadata import MetadataWrapper, PositionProvider, QualifiedName, QualifiedNameProvider, ScopeProvider
from libcst.metadata.scope_provider import QualifiedNameSource

from .inputs import SINGLE, TRAINING_INPUT
from .program import Program
from .sdk import Known, Sdk
from .trainers import ESTIMATORS

Import: TypeAlias = cst.Import | cst.ImportFrom
Match: TypeAlias = Callable[[cst.Call], bool]


class _Visitor(cst.CSTVisitor):
    """One walk: chains of names that an import of the SDK begins, calls, assignments, functions and what they return."""

    METADATA_DEPENDENCIES = (QualifiedNameProvider,)

    def __init__(self) -> None:
        self.chains: dict[cst.CSTNode, str] = {}
        self.calls: list[cst.Call] = []
        self.assigned: dict[str, list[cst.BaseExpression]] = {}
        self.returned: dict[str, list[cst.BaseExpression]] = {}
        self.imports: list[Import] = []
        self.classes: list[cst.ClassDef] = []
        self.alone: set[cst.CSTNode] = set()
        self.functions_of: dict[Import, str] = {}
        self._inner: set[cst.CSTNode] = set()
        self._functions: list[str] = []

    def visit_Import(self, node: cst.Import) -> bool:
        if any(dotted(alias.name).split(".")[0] == "sagemaker" for alias in node.names):
            self._import(node)
        return False

    def _import(self, node: Import) -> None:
        self.imports.append(node)
        self.functions_of[node] = ".".join(self._functions)

    def visit_ImportFrom(self, node: cst.ImportFrom) -> bool:
        module = node.module
        if module is not None and not node.relative and dotted(module).split(".")[0] == "sagemaker":
            self._import(node)
        return False

    def visit_Attribute(self, node: cst.Attribute) -> None:
        self._chain(node)

    def visit_Name(self, node: cst.Name) -> None:
        self._chain(node)

    def _chain(self, node: cst.Attribute | cst.Name) -> None:
        words, root = list[str](), node
        while isinstance(root, cst.Attribute):
            words.append(root.attr.value)
            if not isinstance(root.value, (cst.Attribute, cst.Name)):
                return
            root = root.value
            if node not in self._inner:
                self._inner.add(root)
        if node in self._inner:
            return
        said: Iterable[QualifiedName] = self.get_metadata(QualifiedNameProvider, root, ()) or ()
        names = sorted({each.name for each in said if each.source is QualifiedNameSource.IMPORT})
        if names and all(name.split(".")[0] == "sagemaker" for name in names):
            self.chains[node] = ".".join([names[0], *reversed(words)])

    def visit_Call(self, node: cst.Call) -> None:
        self.calls.append(node)

    def visit_ClassDef(self, node: cst.ClassDef) -> None:
        self.classes.append(node)

    def visit_Expr(self, node: cst.Expr) -> None:
        self.alone.add(node.value)

    def visit_Assign(self, node: cst.Assign) -> None:
        for target in node.targets:
            self._assign(target.target, node.value)

    def visit_AnnAssign(self, node: cst.AnnAssign) -> None:
        if node.value is not None:
            self._assign(node.target, node.value)

    def _assign(self, target: cst.BaseExpression, value: cst.BaseExpression) -> None:
        if isinstance(target, (cst.Name, cst.Attribute)):
            self.assigned.setdefault(dotted(target), []).append(value)

    def visit_FunctionDef(self, node: cst.FunctionDef) -> None:
        self._functions.append(node.name.value)

    def leave_FunctionDef(self, original_node: cst.FunctionDef) -> None:
        del original_node
        self._functions.pop()

    def visit_Return(self, node: cst.Return) -> None:
        if self._functions and node.value is not None:
            self.returned.setdefault(self._functions[-1], []).append(node.value)


class Reading:
    """A program with what its names mean under an SDK. ``makers`` are the classes whose objects start jobs, by a method ``start``;
    ``started`` are lines of the module where a job was seen to start."""

    def __init__(
        self, program: Program, sdk: Sdk, started: Iterable[int] = (), *,
        makers: Collection[str] = frozenset(ESTIMATORS), start: str = "fit",
    ) -> None:  # fmt: skip
        self.program = program
        self.wrapper = MetadataWrapper(program.module)
        self.module = self.wrapper.module
        self._visitor = _Visitor()
        self.wrapper.visit(self._visitor)
        self._positions = self.wrapper.resolve(PositionProvider)
        scopes = {scope for scope in self.wrapper.resolve(ScopeProvider).values() if scope is not None}
        self.bound = Counter(each.name for scope in scopes for each in scope.assignments)
        self._references = Counter[str]()
        for each in (each for scope in scopes for each in scope.assignments):
            self._references[each.name] += len(each.references)
        answers = sdk.ask(self.chains.values())
        self.known: dict[cst.CSTNode, Known] = {
            node: known for node, path in self.chains.items() if (known := answers[path]) is not None
        }
        self._makers, self._start = makers, start
        self.estimators = self._keys(self._is_made)
        self.attached = self._keys(
            lambda call: self.home(call.func) in ESTIMATORS and self._rest(call.func) == ("attach",)
        )
        self.sessions = self._keys(lambda call: self.home(call.func) == "sagemaker.session.Session")
        self.fits = set(self._fits(set(started)))
        self.channels = dict(self._channels())

    @property
    def chains(self) -> Mapping[cst.CSTNode, str]:
        """The names of SDK v2, by the outermost node of each."""
        return self._visitor.chains

    @property
    def imports(self) -> list[Import]:
        """The imports of the SDK."""
        return self._visitor.imports

    @property
    def calls(self) -> list[cst.Call]:
        """Every call."""
        return self._visitor.calls

    @property
    def classes(self) -> list[cst.ClassDef]:
        """Every class that the program makes."""
        return self._visitor.classes

    def line(self, node: cst.CSTNode) -> int:
        """The line of the module that a node begins in."""
        return int(self._positions[node].start.line)

    def last_line(self, node: cst.CSTNode) -> int:
        """The line of the module that a node ends in."""
        return int(self._positions[node].end.line)

    def once(self, name: str) -> cst.BaseExpression | None:
        """The value of a name that the program binds in one place only."""
        values = self._visitor.assigned.get(name, [])
        return values[0] if len(values) == 1 and self.bound[name] == 1 else None

    def held(self, key: str) -> cst.BaseExpression | None:
        """The value of a name or an attribute that is given one value only, None aside."""
        values = [value for value in self._visitor.assigned.get(key, ()) if dotted(value) != "None"]
        return values[0] if len(values) == 1 else None

    def keys_of(self, call: cst.Call) -> list[str]:
        """The names and attributes that hold what a call makes."""
        return [key for key in self._visitor.assigned if self.held(key) is call]

    @property
    def alone(self) -> set[cst.CSTNode]:
        """The values that stand as statements of their own."""
        return self._visitor.alone

    def uses(self, name: str) -> int:
        """How often a name's value is asked for."""
        return self._references[name]

    @property
    def anchor(self) -> Import | None:
        """The import in whose place the new ones go: the first of the file, or of the only function that imports the SDK."""
        functions = self._visitor.functions_of
        of_file = [statement for statement in self.imports if not functions[statement]]
        alone = self.imports if len(set(functions.values())) == 1 else []
        return next(iter(of_file or alone), None)

    def home(self, node: cst.CSTNode) -> str:
        """What a name stands for, by its dotted name; '' for what is none of the SDK."""
        known = self.known.get(node)
        return known.home if known is not None else ""

    def _rest(self, node: cst.CSTNode) -> tuple[str, ...]:
        known = self.known.get(node)
        return known.rest if known is not None else ()

    def _keys(self, matches: Match) -> dict[str, bool]:
        """The names and attributes that hold what such a call makes, and whether they hold nothing else."""
        makers = set[str]()
        keys: dict[str, bool] = {}
        while True:
            before = (len(makers), len(keys))
            for target, values in self._visitor.assigned.items():
                made = [self._makes(value, matches, makers, keys) for value in values if dotted(value) != "None"]
                if any(made):
                    keys[target] = all(made)
            for function, values in self._visitor.returned.items():
                if any(self._makes(value, matches, makers, keys) for value in values):
                    makers.add(function)
            if before == (len(makers), len(keys)):
                return keys

    def _makes(self, value: cst.BaseExpression, matches: Match, makers: set[str], keys: Mapping[str, bool]) -> bool:
        if isinstance(value, cst.IfExp):
            return self._makes(value.body, matches, makers, keys) or self._makes(value.orelse, matches, makers, keys)
        if isinstance(value, cst.Call):
            return matches(value) or dotted(value.func).rpartition(".")[2] in makers
        return isinstance(value, (cst.Name, cst.Attribute)) and dotted(value) in keys

    def _is_made(self, call: cst.Call) -> bool:
        known = self.known.get(call.func)
        return known is not None and known.home in self._makers and not known.rest

    def is_estimator(self, node: cst.BaseExpression) -> bool:
        """Whether an expression is an estimator: a call that makes one, or a name that holds nothing else."""
        if isinstance(node, cst.Call):
            return self._is_made(node)
        return self.estimators.get(dotted(node), False)

    def _fits(self, started: set[int]) -> Iterator[cst.Call]:
        for call in self.calls:
            if isinstance(call.func, cst.Attribute) and call.func.attr.value == self._start:
                lines = range(self.line(call), self.last_line(call) + 1)
                if self.is_estimator(call.func.value) or started & set(lines):
                    yield call

    def _channels(self) -> Iterator[tuple[cst.CSTNode, str | None]]:
        """Each TrainingInput that is given to a fit, with the source of its channel's name; None where it has several."""
        names: dict[cst.CSTNode, set[str]] = {}
        for call in self.fits:
            value = next((arg.value for at, arg in enumerate(call.args) if _is_inputs(arg, at)), None)
            for name, item in self._items(value):
                if isinstance(item, cst.Call) and self.home(item.func) == TRAINING_INPUT:
                    names.setdefault(item, set()).add(name)
        for node, found in names.items():
            yield node, next(iter(found)) if len(found) == 1 else None

    def _items(self, value: cst.BaseExpression | None) -> Iterator[tuple[str, cst.BaseExpression]]:
        if isinstance(value, cst.Dict):
            for element in value.elements:
                if isinstance(element, cst.DictElement):
                    item = self.once(element.value.value) if isinstance(element.value, cst.Name) else None
                    yield self.module.code_for_node(element.key), item if item is not None else element.value
        elif isinstance(value, cst.Name):
            held = self.once(value.value)
            if isinstance(held, cst.Call):
                yield SINGLE, held
        elif value is not None:
            yield SINGLE, value


def _is_inputs(arg: cst.Arg, position: int) -> bool:
    return arg.keyword.value == "inputs" if arg.keyword is not None else position == 0


def dotted(node: cst.CSTNode) -> str:
    """A name, or attributes of one, as text; '' for all else."""
    if isinstance(node, cst.Name):
        return node.value
    if isinstance(node, cst.Attribute):
        above = dotted(node.value)
        return f"{above}.{node.attr.value}" if above else ""
    return ""

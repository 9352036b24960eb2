"""The change of a program's syntax from SDK v2 to SDK v3: names, estimators, their uses, channels and starts.

The program's own expressions are kept, and every byte outside of what is changed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import libcst as cst

from . import importing, inputs, jobs, uses
from .names import Imports, moved
from .pieces import Arguments, Made, Piece, RefusedError, arguments_of, literal
from .reading import Import, Reading, dotted
from .results import Refusal, Started
from .sdk import Known, Sdk
from .trainers import ESTIMATORS, SESSION, TRAINER, Translation, launcher, session_of, trainer

VERSION: Final = "sagemaker.__version__"
_FIT: Final = ("inputs", "wait", "logs", "job_name", "experiment_config")
# What does the same where a program cannot be moved.
_INSTEAD: Final = {
    "sagemaker.tuner.HyperparameterTuner": " that takes the same arguments. sm-trn import FILE --to job.toml writes the search as a "
    "sweep file, and sm-trn tune starts that"
}
_ANEW: Final = frozenset({inputs.TRAINING_INPUT, inputs.FILE_SYSTEM_INPUT})
_PARTS: Final = {"sagemaker.instance_group.InstanceGroup"}  # SDK v3 takes their arguments by name alone


class Writer(cst.CSTTransformer):
    """One walk from the leaves to the root, so that what an argument holds is new before its call is."""

    def __init__(self, reading: Reading, v3: Sdk, started: Sequence[Started], *, exact: bool) -> None:
        super().__init__()
        self.reading = reading
        self.refused: list[Refusal] = []
        own = {local for statement in reading.imports for local in _locals(statement)}
        self.imports = Imports({name for name in reading.bound if name not in own})
        self._v3 = v3
        self._started = started
        self._replaced: dict[cst.CSTNode, str] = {}
        self._lines = reading.program.module.code.split("\n")
        self._indents: list[int] = []
        self._called = {call.func for call in reading.calls}
        has_mode = any(
            arg.keyword is not None and arg.keyword.value == "input_mode"
            for call in reading.calls if reading.is_estimator(call) for arg in call.args
        )  # fmt: skip
        self._form = inputs.Form.PLACE if has_mode else inputs.Form.URI
        self._names = self._named()
        self._classes()
        self._exact = dict(self._refused_by_trainer(everything=exact))
        self._keys = set(self._exact.values())
        self._launchers = dict(self._distributions())

    def _refused_by_trainer(self, *, everything: bool) -> Iterator[tuple[cst.Call, str]]:
        """The estimators that ModelTrainer cannot say, and the name that holds each. All of their starts must be statements that
        were seen to run: what SDK v2 has sent is needed."""
        reading, lines = self.reading, {self.reading.program.line(job.place) for job in self._started}
        for call in reading.calls:
            keys = reading.keys_of(call) if reading.is_estimator(call) else []
            starts = [
                fit for fit in reading.fits if isinstance(fit.func, cst.Attribute) and dotted(fit.func.value) in keys
            ]
            seen = [fit for fit in starts if lines & set(range(reading.line(fit), reading.last_line(fit) + 1))]
            if len(keys) != 1 or not starts or len(seen) != len(starts) or not set(starts) <= reading.alone:
                continue
            if everything or self._unsaid(call, starts):
                yield call, keys[0]

    def _unsaid(self, call: cst.Call, starts: Sequence[cst.Call]) -> bool:
        """Whether ModelTrainer has no word for an argument of an estimator, or of its start."""
        known = self.reading.known[call.func]
        names = Imports(set())
        how = Translation(cls=known.home, requirements=False, base="", launchers={}, name=names.name)
        try:
            given = self._arguments(call, known.parameters)
            held = given.named.get("distribution")
            value = self.reading.once(held.text) if held is not None else None
            if held is not None and value is not None:
                given.named["distribution"] = held.saying(self._source(value))
            trainer(given, how)
            return any("job_name" in self._arguments(fit, _FIT).named for fit in starts)
        except RefusedError:
            return True

    # -- names

    def _distributions(self) -> Iterator[tuple[str, str]]:
        """Names that are assigned once, for estimators' distribution alone: their value becomes a launcher where it stands."""
        names = Counter[str]()
        for call in self.reading.calls:
            if self.reading.is_estimator(call):
                for arg in call.args:
                    if (
                        arg.keyword is not None
                        and arg.keyword.value == "distribution"
                        and isinstance(arg.value, cst.Name)
                    ):
                        names[arg.value.value] += 1
        for name, count in names.items():
            value = self.reading.once(name)
            if value is not None and self.reading.uses(name) == count and dotted(value) != "None":
                try:
                    self._replaced[value] = launcher(self._source(value), self.imports.name)
                except RefusedError as error:
                    self._refuse(value, str(error))
                yield name, self._replaced.get(value, "None")

    def _named(self) -> dict[cst.CSTNode, str]:
        """The new source of each name of SDK v2."""
        homes = {node: moved(known.home) for node, known in self.reading.known.items() if known.home not in ESTIMATORS}
        answers = self._v3.ask([*homes.values(), TRAINER, jobs.TRAINING_JOB])
        names = dict[cst.CSTNode, str]()
        for node, known in self.reading.known.items():
            if known.home in ESTIMATORS:
                names[node] = TRAINER
            elif known.home in {*_ANEW, VERSION} or answers[homes[node]] is not None:
                names[node] = homes[node]
            else:
                self._refuse(node, f"SDK v3 has no {self.reading.chains[node]}{_INSTEAD.get(known.home, '')}")
        return names

    def _classes(self) -> None:
        for each in self.reading.classes:
            for base in each.bases:
                known = self.reading.known.get(base.value)
                if known is not None and known.home in ESTIMATORS:
                    self._refuse(each, f"class {each.name.value} is made of an estimator of SDK v2")

    def _refuse(self, node: cst.CSTNode, why: str) -> None:
        self.refused.append(Refusal(self.reading.program.place(self.reading.line(node)), why))

    def _source(self, node: cst.CSTNode) -> str:
        return self.reading.module.code_for_node(node)

    def _expression(self, text: str) -> cst.BaseExpression:
        module = self.reading.module
        return cst.parse_expression(
            text.replace("\r\n", "\n").replace("\n", module.default_newline), module.config_for_parsing
        )

    def _column(self, node: cst.CSTNode) -> int:
        """How far the line that a node begins in is indented below its block: the block's own indent is added when it is printed."""
        line = self._lines[self.reading.line(node) - 1]
        return max(0, len(line) - len(line.lstrip()) - sum(self._indents))

    def visit_IndentedBlock(self, node: cst.IndentedBlock) -> None:
        indent = node.indent if node.indent is not None else self.reading.module.default_indent
        self._indents.append(len(indent))

    def leave_Name(self, original_node: cst.Name, updated_node: cst.Name) -> cst.BaseExpression:
        return self._renamed(original_node, updated_node)

    def leave_Attribute(self, original_node: cst.Attribute, updated_node: cst.Attribute) -> cst.BaseExpression:
        if original_node in self.reading.chains:
            return self._renamed(original_node, updated_node)
        return self._used(original_node, updated_node)

    def _renamed(self, original: cst.Name | cst.Attribute, updated: cst.BaseExpression) -> cst.BaseExpression:
        home, known = self._names.get(original), self.reading.known.get(original)
        if home is None or known is None:
            return updated
        if known.home == VERSION:
            return self._expression(f'{self.imports.name("importlib.metadata")}.version("sagemaker")')
        if original in self._called and (home == TRAINER or known.home in _ANEW):
            return updated  # the call is written anew
        if known.home in _ANEW:
            self._refuse(original, f"{dotted(original)} is a class of another name in SDK v3")
        if home == TRAINER:
            return self._expression(self.imports.name(TRAINER))
        local = dotted(original)
        if "." not in local and not known.rest:
            self.imports.keep(local, home)
            return updated
        return self._expression(".".join([self._local(local, home, known), *known.rest]))

    def _local(self, chain: str, home: str, known: Known) -> str:
        """How a name of a module goes on being called: ``image_uris.retrieve`` keeps its module, a class stands alone."""
        words = chain.split(".")[: -len(known.rest) or None]
        module, _, last = home.rpartition(".")
        if known.kind == "function" and len(words) > 1 and words[-2] == module.rpartition(".")[2]:
            return f"{self.imports.name(module)}.{last}"
        return self.imports.name(home)

    # -- uses of an estimator

    def _used(self, original: cst.Attribute, updated: cst.Attribute) -> cst.BaseExpression:
        attribute, owner = original.attr.value, dotted(original.value)
        reading = self.reading
        if reading.attached.get(owner):
            return self._asked(original, updated, uses.ATTACHED)
        above, _, last = owner.rpartition(".")
        if last == "latest_training_job" and reading.estimators.get(above):
            return self._asked(original, updated, uses.STARTED)
        if owner in self._keys and attribute not in {"fit", "set_hyperparameters"}:
            return self._of_job(original, updated, owner)
        if reading.estimators.get(owner) and attribute not in {
            "fit",
            "set_hyperparameters",
            "hyperparameters",
            "logs",
            *uses.SAME,
        }:
            return self._asked(original, updated, uses.ESTIMATOR)
        if reading.sessions.get(owner):
            session = self._v3.ask([SESSION])[SESSION]
            if session is not None and attribute not in session.attributes:
                self._refuse(original, f"SDK v3's Session has no {attribute}")
        return updated

    def _of_job(self, original: cst.Attribute, updated: cst.Attribute, key: str) -> cst.BaseExpression:
        """What is asked of an estimator whose arguments are a dict now: it is asked of its job."""
        words = {
            "latest_training_job": "",
            "model_data": ".model_artifacts.s3_model_artifacts",
            "_current_job_name": ".training_job_name",
        }
        if original.attr.value == "logs":
            return self._expression(f"{key}_job.wait")
        if original.attr.value not in words:
            return self._asked(original, updated, {})
        return self._expression(f"{key}_job{words[original.attr.value]}")

    def _asked(self, original: cst.Attribute, updated: cst.Attribute, words: Mapping[str, str]) -> cst.BaseExpression:
        attribute = original.attr.value
        if attribute not in words and not (attribute == "logs" and words is uses.ATTACHED):
            instead = uses.INSTEAD.get(attribute)
            self._refuse(original, instead or f"what SDK v3 has for {self._source(original)} is not known here")
            return updated
        return self._expression(f"{self._source(updated.value)}.{words.get(attribute, attribute)}")

    # -- calls

    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.BaseExpression:
        try:
            return self._call(original_node, updated_node)
        except RefusedError as error:
            self._refuse(original_node, str(error))
            return updated_node

    def _call(self, original: cst.Call, updated: cst.Call) -> cst.BaseExpression:
        known = self.reading.known.get(original.func)
        if original in self.reading.fits:
            return updated if self._is_exact(original) else self._fit(original, updated)
        if known is not None:
            return self._of_sdk(original, updated, known)
        return self._method(original, updated)

    def _of_sdk(self, original: cst.Call, updated: cst.Call, known: Known) -> cst.BaseExpression:
        if known.home in ESTIMATORS and known.rest == ("attach",):
            given = self._arguments(updated, ("training_job_name", "sagemaker_session"))
            name = given.named.get("training_job_name", Piece("None"))
            return self._expression(f"{self.imports.name(jobs.TRAINING_JOB)}.get(training_job_name={name.text})")
        if known.home in ESTIMATORS and not known.rest:
            return self._estimator(original, updated, known)
        if known.home == inputs.TRAINING_INPUT:
            return self._made(
                original,
                inputs.data(
                    self._arguments(updated, known.parameters),
                    self.reading.channels.get(original),
                    whole=bool(self._exact),
                ),
            )
        if known.home == inputs.FILE_SYSTEM_INPUT:
            return self._made(original, inputs.file_system(self._arguments(updated, known.parameters)))
        if known.home in _PARTS:
            given = self._arguments(updated, known.parameters)
            return self._made(original, Made(moved(known.home), dict(given.named)))
        return updated

    def _arguments(self, call: cst.Call, parameters: Sequence[str]) -> Arguments:
        return arguments_of(call, parameters, self._source)

    def _made(self, original: cst.Call, made: Made) -> cst.BaseExpression:
        return self._expression(made.written(self.imports.name, self._column(original)))

    def _estimator(self, original: cst.Call, updated: cst.Call, known: Known) -> cst.BaseExpression:
        how = Translation(
            cls=known.home,
            requirements=any(job.requirements for job in self._jobs_of(original)),
            base=next((job.base for job in self._jobs_of(original)), ""),
            launchers=self._launchers,
            name=self.imports.name,
        )
        given = self._arguments(updated, known.parameters)
        if original in self._exact:
            said = given.named.get("distribution", Piece("None")).text
            value = self.reading.once(said)
            if literal(said) is ... and (value is None or literal(self._source(value)) is ...):
                raise RefusedError(f"distribution={said}: what it is does not stand in one place")
            self._name_whole_role(given, how)
            return self._made(original, jobs.arguments(given, how, self._jobs_of(original)[0].request))
        return self._made(original, trainer(given, how))

    def _name_whole_role(self, given: Arguments, how: Translation) -> None:
        """TrainingJob.create takes a role's ARN alone; SDK v2 a name too."""
        role = given.named.get("role")
        value = self.reading.once(role.text) if role is not None else None
        said = literal(self._source(value) if value is not None else role.text) if role is not None else ...
        if role is not None and isinstance(said, str) and not said.startswith("arn:"):
            given.named["role"] = role.saying(f"{session_of(given, how)}.expand_role({role.text})")

    def _jobs_of(self, call: cst.Call) -> list[Started]:
        """The jobs that what a call makes has started: all jobs, where that does not stand in the text."""
        lines = self._lines_of(call)
        mine = [job for job in self._started if self.reading.program.line(job.place) in lines]
        return mine or list(self._started)

    def _lines_of(self, call: cst.Call) -> set[int]:
        """The lines of the fits of what a call makes."""
        found = set[int]()
        for fit in self.reading.fits:
            held = fit.func.value if isinstance(fit.func, cst.Attribute) else None
            once = self.reading.held(dotted(held)) if held is not None else None
            if held is call or once is call:
                found |= set(range(self.reading.line(fit), self.reading.last_line(fit) + 1))
        return found

    def _method(self, original: cst.Call, updated: cst.Call) -> cst.BaseExpression:
        """Methods of estimators that change their arguments, and those that show logs."""
        function = original.func
        if not isinstance(function, cst.Attribute) or not isinstance(updated.func, cst.Attribute):
            return updated
        owner, held = dotted(function.value), self._source(updated.func.value)
        text = None
        if function.attr.value == "logs" and self.reading.attached.get(owner):
            text = f"{held}.wait(logs=True)"
        elif self.reading.estimators.get(owner):
            text = self._of_estimator(function.attr.value, owner, held, updated)
        return updated if text is None else self._expression(text)

    def _of_estimator(self, method: str, owner: str, held: str, call: cst.Call) -> str | None:
        exact = owner in self._keys
        if method == "logs":
            return f"{owner}_job.wait(logs=True)" if exact else f"{held}.{uses.JOB}.wait(logs=True)"
        if method == "hyperparameters":
            return f"{held}.hyperparameters"
        if method != "set_hyperparameters":
            return None
        given = self._arguments(call, ()).named
        encode = self._encoder(owner) if exact else ""
        words = ", ".join(
            f"{name}={encode}({piece.text})" if exact else f"{name}={piece.text}" for name, piece in given.items()
        )
        return f'{held}["hyper_parameters"].update({words})' if exact else f"{held}.hyperparameters.update({words})"

    def _encoder(self, key: str) -> str:
        call = next(call for call, each in self._exact.items() if each == key)
        known = self.reading.known[call.func]
        return jobs.encoder(self._arguments(call, known.parameters), known.home, self.imports.name)

    def _is_exact(self, fit: cst.Call) -> bool:
        return isinstance(fit.func, cst.Attribute) and dotted(fit.func.value) in self._keys

    def leave_Expr(
        self, original_node: cst.Expr, updated_node: cst.Expr
    ) -> cst.BaseSmallStatement | cst.FlattenSentinel[cst.BaseSmallStatement]:
        """A start of a job whose arguments are a dict is several statements."""
        fit, new = original_node.value, updated_node.value
        if (
            not isinstance(fit, cst.Call)
            or not isinstance(new, cst.Call)
            or fit not in self.reading.fits
            or not self._is_exact(fit)
        ):
            return updated_node
        try:
            lines = self._started_exactly(fit, new)
        except RefusedError as error:
            self._refuse(fit, str(error))
            return updated_node
        small = [statement for line in lines for statement in self._statements(line)]
        return cst.FlattenSentinel([cst.Expr(cst.Name(importing.SPLIT)), *small])

    def _statements(self, text: str) -> Sequence[cst.BaseSmallStatement]:
        module = self.reading.module
        line = cst.parse_statement(text.replace("\n", module.default_newline), module.config_for_parsing)
        return line.body if isinstance(line, cst.SimpleStatementLine) else ()

    def _started_exactly(self, fit: cst.Call, new: cst.Call) -> list[str]:
        key = dotted(fit.func.value) if isinstance(fit.func, cst.Attribute) else ""
        (call,) = (call for call, each in self._exact.items() if each == key)
        given = self._arguments(new, _FIT)
        if given.named.get("experiment_config", Piece("None")).text != "None":
            raise RefusedError("what SDK v3 has for experiment_config is not known here")
        said = given.named.get("inputs", Piece("None"))
        channels = None
        if said.text != "None":
            at = next(at for at, arg in enumerate(new.args) if _named(arg, at, _FIT) == "inputs")
            channels = self._channels(fit, fit.args[at].value, new.args[at].value)
        job = self._jobs_of(call)[0]
        hyperparameters = job.request.get("HyperParameters")
        named = isinstance(hyperparameters, Mapping) and "sagemaker_job_name" in hyperparameters
        base = self._arguments(call, self.reading.known[call.func].parameters).named.get("base_job_name")
        how = (self.imports.name, base.text if base is not None and base.text != "None" else f'"{job.base}"', key)
        return jobs.start(key, given, channels, how, named=named)

    def _fit(self, original: cst.Call, updated: cst.Call) -> cst.BaseExpression:
        given = self._arguments(updated, _FIT)
        for name in ("job_name", "experiment_config"):
            if given.named.get(name, Piece("None")).text != "None":
                raise RefusedError(f"ModelTrainer.train takes no {name}")
        parts = dict[str, Made | Piece]()
        said = given.named.get("inputs")
        if said is not None and said.text != "None":
            value = next(arg.value for at, arg in enumerate(original.args) if _named(arg, at, _FIT) == "inputs")
            new = next(arg.value for at, arg in enumerate(updated.args) if _named(arg, at, _FIT) == "inputs")
            parts["input_data_config"] = said.saying(self._channels(original, value, new))
        for name in ("wait", "logs"):
            if name in given.named:
                text = given.named[name].text
                parts[name] = given.named[name].saying(
                    "False" if text == "None" else "True" if name == "logs" and text[:1] in "\"'" else text
                )
        function = updated.func
        if not isinstance(function, cst.Attribute):
            raise RefusedError("its fit is called in a way that is not known here")
        column = self._column(original)
        plain = all(isinstance(part, Piece) and not part.before and not part.after for part in parts.values())
        text = ", ".join(f"{key}={part.text}" for key, part in parts.items() if isinstance(part, Piece))
        arguments = f"({text})" if plain and len(text) < 90 else Made("", parts).arguments(self.imports.name, column)
        return self._expression(f"{self._source(function.value)}.train{arguments}")

    def _channels(self, fit: cst.Call, value: cst.BaseExpression, new: cst.BaseExpression) -> str:
        name, mode = self.imports.name, inputs.Form.CHANNEL if self._is_exact(fit) else self._form
        if isinstance(value, cst.Dict) and isinstance(new, cst.Dict):
            items = []
            for old, element in zip(value.elements, new.elements, strict=True):
                if not isinstance(old, cst.DictElement) or not isinstance(element, cst.DictElement):
                    raise RefusedError("which channels it gives does not stand in the call")
                text = self._source(element.value)
                items.append(
                    text
                    if self._is_channel(old.value)
                    else inputs.channel(self._source(element.key), text, name, form=mode)
                )
            return inputs.listed(items, self._column(fit) + 4)
        text = self._source(new)
        if self._is_channel(value):
            return f"[{text}]"
        if self._is_mapping(fit, value):
            item = inputs.channel("channel", "source", name, form=mode)
            return f"[{item} for channel, source in {text}.items()]"
        return f"[{inputs.channel(inputs.SINGLE, text, name, form=mode)}]"

    def _is_channel(self, value: cst.BaseExpression) -> bool:
        held = self.reading.once(value.value) if isinstance(value, cst.Name) else value
        return self.reading.channels.get(held) is not None if held is not None else False

    def _is_mapping(self, fit: cst.Call, value: cst.BaseExpression) -> bool:
        """Whether a value that stands elsewhere is a mapping of channels: by what it is there, or by what the run has sent."""
        held = self.reading.once(value.value) if isinstance(value, cst.Name) else value
        if isinstance(held, cst.Dict) or (isinstance(held, cst.Call) and dotted(held.func) == "dict"):
            return True
        if isinstance(held, (cst.SimpleString, cst.FormattedString, cst.BinaryOperation)):
            return False
        lines = range(self.reading.line(fit), self.reading.last_line(fit) + 1)
        sent = [job.channels for job in self._started if self.reading.program.line(job.place) in lines]
        return any(channels != (inputs.SINGLE.strip('"'),) for channels in sent)

    # -- statements

    def on_leave(self, original_node, updated_node):  # type: ignore[no-untyped-def]  # as libcst has it
        """A value that is another thing in SDK v3 is changed where it is assigned."""
        if original_node in self._replaced:
            return self._expression(self._replaced[original_node])
        return super().on_leave(original_node, updated_node)

    def leave_IndentedBlock(
        self, original_node: cst.IndentedBlock, updated_node: cst.IndentedBlock
    ) -> cst.IndentedBlock:
        self._indents.pop()
        body, rest = importing.without_sdk(original_node.body, updated_node.body, self.reading)
        if not body:
            body = [cst.SimpleStatementLine([cst.Pass()])]
        return updated_node.with_changes(body=body, footer=[*rest, *updated_node.footer])

    def leave_Module(self, original_node: cst.Module, updated_node: cst.Module) -> cst.Module:
        body, rest = importing.without_sdk(original_node.body, updated_node.body, self.reading)
        return updated_node.with_changes(body=body, footer=[*rest, *updated_node.footer])


def _named(arg: cst.Arg, position: int, parameters: Sequence[str]) -> str:
    return arg.keyword.value if arg.keyword is not None else parameters[position]


def _locals(statement: Import) -> list[str]:
    """The names that an import binds."""
    if isinstance(statement.names, cst.ImportStar):
        return []
    return [
        dotted(alias.asname.name) if alias.asname is not None else dotted(alias.name).split(".")[0]
        for alias in statement.names
    ]

"""What a script's parser says of the hyperparameters is what Python says when the script runs."""

from __future__ import annotations

import contextlib
import io
import json
import sys
from pathlib import Path
from typing import Any

import jobs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some

import sm_trn as st
from sm_trn.core.preflight.source import command_line

HEAD = "import argparse\np = argparse.ArgumentParser()\n"


def said(folder: str, body: str, **given_: Any) -> dict[str, st.specs.Problem]:
    Path(folder, "run_clm.py").write_text(f"{HEAD}{body}\n")
    job = jobs.trainium(folder).replace(hyperparameters=given_)
    return {each.id: each for each in st.check(job) if each.id in {"SCRIPT007", "SCRIPT008", "SCRIPT014"}}


REFUSED = [
    ("p.add_argument('--data', required=True)\np.parse_args()", {"epochs": 1}, "SCRIPT014", "required: --data"),
    ("p.add_argument('data')\np.parse_known_args()", {}, "SCRIPT014", "required: data"),
    (
        "p.add_argument('--optim', choices=['adamw', 'sgd'])\np.parse_args()",
        {"optim": "adam"},
        "SCRIPT014",
        "invalid choice",
    ),
    ("p.add_argument('--size', type=int, choices=(1, 2))\np.parse_args()", {"size": 3}, "SCRIPT014", "invalid choice"),
    ("p.add_argument('--epochs', type=int)\np.parse_args()", {"epochs": 1.5}, "SCRIPT014", "invalid int value: '1.5'"),
    ("p.add_argument('--lr', type=float)\np.parse_known_args()", {"lr": "fast"}, "SCRIPT014", "invalid float value"),
    ("p.add_argument('--layers', nargs=2)\np.parse_args()", {"layers": "1"}, "SCRIPT014", "expected 2 arguments"),
    ("p.add_argument('--learning-rate')\np.parse_args()", {"learning_rate": 1}, "SCRIPT008", "does not declare"),
    ("p.add_argument('--eval_a')\np.add_argument('--eval_b')\np.parse_args()", {"eval": 1}, "SCRIPT014", "ambiguous"),
    ("p.add_argument('--fp16', action='store_true')\np.parse_args()", {"fp16": True}, "SCRIPT007", "takes no value"),
    (
        "p.add_argument('--amp', action=argparse.BooleanOptionalAction)\np.parse_args()",
        {"no-amp": "x"},
        "SCRIPT014",
        "unrecognized",
    ),
    (
        "p.add_argument('--use-fp16', action='store_true')\np.parse_args()",
        {"use-fp16": True},
        "SCRIPT007",
        "takes no value",
    ),
    (
        "p.add_argument('--fp16', action='store_const', const=16)\np.parse_args()",
        {"fp16": 16},
        "SCRIPT007",
        "takes no value",
    ),
    (
        "p.add_argument('-v', '--verbose', action='count')\np.parse_args()",
        {"verbose": 1},
        "SCRIPT007",
        "takes no value",
    ),
    (
        "p.add_argument('--fp16', action='store_true')\np.add_argument('rest', nargs=argparse.REMAINDER)\np.parse_args()",
        {"fp16": False},
        "SCRIPT007",
        "takes no value",
    ),
]
PASSED = [
    ("q = argparse.ArgumentParser(parents=[make()])\nq.add_argument('--a')\nq.parse_args()", {"b": 1}),
    ("p.add_argument('--a')\nTrainer.add_arguments_to(p)\np.parse_args()", {"b": 1}),
    ("p.add_argument('--kind', choices=['x', 'y'])\np.set_defaults(kind='x')\np.parse_args()", {"kind": "y"}),
    ("p.add_argument('--epochs', type=int)\np.parse_args()", {"epochs": "3"}),
    ("p.add_argument('-e', '--epochs', type=int)\np.parse_args()", {"e": 3}),
    ("p.add_argument('--size', type=lambda text: int(text, 0), choices=[1, 2])\np.parse_args()", {"size": "0x1"}),
    ("if debug:\n    p.add_argument('--data', required=True)\np.parse_args()", {}),
    ("p.add_argument('--data', required=DATA)\np.parse_args()", {}),
    ("for name in NAMES:\n    p.add_argument(name)\np.parse_args()", {"anything": 1}),
    ("p.add_argument('--data', required=True)\np.parse_args(['--data', 'x'])", {}),
    ("p.add_argument('--name', action=Own)\np.parse_args()", {"name": 1}),
    ("g = p.add_argument_group('g')\ng.add_argument('--data')\np.parse_args()", {"data": 1}),
    ("p.add_argument('--data', nargs='*')\np.parse_args()", {"data": "1"}),
    ("p.add_argument('--a')\np.parse_known_args()", {"b": 1}),
    ("p.add_argument('--a')", {"b": 1}),  # it is never asked
    # the positional takes the empty word that stands for no value
    (
        "p.add_argument('--fp16', action='store_true')\np.add_argument('rest', nargs=argparse.REMAINDER)\np.parse_args()",
        {"fp16": ""},
    ),
    ("p.add_argument('--fp16', action='store_true')\np.parse_known_args()", {"fp16": ""}),
]


@pytest.mark.parametrize(("body", "given_", "rule", "words"), REFUSED)
def test_what_a_parser_refuses_is_an_error_in_its_words(
    tmp_path: Path, body: str, given_: dict[str, Any], rule: str, words: str
) -> None:
    found = said(str(tmp_path), body, **given_)
    assert [rule] == list(found)
    assert words in found[rule].what
    assert found[rule].severity is st.Severity.ERROR


@pytest.mark.parametrize(("body", "given_"), PASSED)
def test_what_a_parser_takes_or_what_cannot_be_read_is_left_alone(
    tmp_path: Path, body: str, given_: dict[str, Any]
) -> None:
    assert {} == said(str(tmp_path), body, **given_)


NAMES = ["--epochs", "--epoch-size", "--lr", "--data", "-n"]
OPTIONS = [
    "", "type=int", "type=float", "required=True", "choices=['a', 'b']", "type=int, choices=[1, 2]", "nargs=2", "nargs='?'", "nargs='*'",
    "default=3",
]  # fmt: skip
VALUES: list[Any] = [1, 2, 3, 1.5, "a", "c", "fast", True, -1]


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    declared=some.dictionaries(some.sampled_from(NAMES), some.sampled_from(OPTIONS), min_size=1),
    given_=some.dictionaries(
        some.sampled_from(["epochs", "epoch", "epoch-size", "lr", "l", "data", "n", "x"]), some.sampled_from(VALUES)
    ),
    parse=some.sampled_from(["parse_args", "parse_known_args"]),
)
def test_a_job_is_refused_where_python_ends_the_script(
    tmp_path: Path, declared: dict[str, str], given_: dict[str, Any], parse: str
) -> None:
    body = "\n".join(f"p.add_argument({name!r}, {options})" for name, options in declared.items())
    text = f"{HEAD}{body}\np.{parse}()\n"
    (tmp_path / "run_clm.py").write_text(text)
    job = jobs.trainium(str(tmp_path)).replace(hyperparameters=given_, neuron=None)
    refused = any(each.id.startswith("SCRIPT") and each.severity is st.Severity.ERROR for each in st.check(job))
    assert refused == ends(text, command_line(job))


def ends(text: str, words: tuple[str, ...]) -> bool:
    """Whether Python ends the program with exit code 2."""
    before = sys.argv
    sys.argv = ["run_clm.py", *words]
    try:
        with contextlib.redirect_stderr(io.StringIO()):
            exec(compile(text, "run_clm.py", "exec"), {})  # noqa: S102 - the script of the test
    except SystemExit as error:
        return error.code == 2
    finally:
        sys.argv = before
    return False


ANY_VALUE: some.SearchStrategy[Any] = some.recursive(
    some.one_of(some.none(), some.booleans(), some.integers(-9, 9), some.sampled_from([1e-5, 0.1, "a b", "", "-1"])),
    lambda inner: some.lists(inner, max_size=2) | some.dictionaries(some.sampled_from(["a", "b"]), inner, max_size=2),
    max_leaves=4,
)


@given(sent=some.dictionaries(some.sampled_from(["x", "rate", "sagemaker_own", "batch-size"]), ANY_VALUE, max_size=3))
def test_the_command_line_is_the_toolkits_own(sent: dict[str, Any]) -> None:
    mapping = pytest.importorskip("sagemaker_training.mapping")
    job = jobs.trainium("s").replace(hyperparameters=sent, neuron=None)
    decoded = json.loads(json.dumps({name: value for name, value in sent.items() if not name.startswith("sagemaker_")}))
    assert mapping.to_cmd_args(decoded) == list(command_line(job))


def of_scripts(folder: Path, program: str, **sent: Any) -> list[st.specs.Problem]:
    (folder / "train.py").write_text(program)
    job = st.JobSpec(
        name="a",
        script=st.Script("train.py", source_dir=str(folder)),
        framework=st.PyTorch("2.10.0", python="py313"),
        compute=st.Compute("ml.g5.2xlarge"),
        hyperparameters=sent,
        max_run_s=3600,
    )
    return [each for each in st.check(job) if each.id.startswith("SCRIPT")]


def test_a_name_of_one_letter_is_told_to_be_longer(tmp_path: Path) -> None:
    (problem,) = of_scripts(tmp_path, f"{HEAD}p.add_argument('--x')\np.parse_args()\n", x=1)
    assert "SCRIPT008" == problem.id
    assert "does not declare -x" in problem.what
    assert "a longer name" in str(problem.fix)


def test_the_beginning_of_a_name_is_a_warning(tmp_path: Path) -> None:
    program = HEAD + "p.add_argument('--learning_rate', type=float)\np.parse_args()\n"
    (problem,) = of_scripts(tmp_path, program, learning_rat=0.1)
    assert ("SCRIPT008", st.Severity.WARNING) == (problem.id, problem.severity)
    assert "takes --learning_rat for --learning_rate" in problem.what
    (problem,) = of_scripts(tmp_path, program.replace("()", "(allow_abbrev=False)", 1), learning_rat=0.1)
    assert ("SCRIPT008", st.Severity.ERROR) == (problem.id, problem.severity)


LOOP = "for name in NAMES:\n    p.add_argument(f'--{name}')\np.parse_args()\n"
UNREAD = [
    (HEAD + LOOP, "the parser of train.py was not read: it is filled in a loop (line 4)"),
    (HEAD + "p.add_argument('--a', **MORE)\np.parse_args()\n", "an argument is not literal (line 3)"),
    (HEAD + "fill(p)\np.parse_args()\n", "fill(…) may fill it (line 3)"),
    (HEAD + "q = argparse.ArgumentParser(parents=[p])\nq.parse_args()\n", "it is made of several (line 3)"),
    (HEAD + "s = p.add_subparsers()\np.parse_args()\n", "it has commands (line 3)"),
    (HEAD + "g = p.add_mutually_exclusive_group()\np.parse_args()\n", "it has exclusive groups (line 3)"),
    (HEAD + "p.parse_args(WORDS)\n", "it is asked in more than one way (line 3)"),
    (HEAD + "p.add_argument('--a')\n", "nobody asks it (line 1)"),
    ("import click\n@click.command()\ndef main(): ...\nmain()\n", "click makes it (line 1)"),
    ("import sys\nprint(sys.argv)\n", "sys.argv is read by hand (line 2)"),
    ("from transformers import HfArgumentParser, TrainingArguments\nHfArgumentParser(TrainingArguments).parse_args_into_dataclasses()\n",
     "TrainingArguments is not of the script's own (line 2)"),
    (HEAD + "p.add_argument('--epochs', type=kind)\np.parse_args()\n", "--epochs of train.py was not read: type=kind (line 3)"),
    ("import os\nprint(os.environ['HOME'])\n", "none was found"),
]  # fmt: skip


@pytest.mark.parametrize(("program", "says"), UNREAD)
def test_what_was_not_read_is_a_note_with_its_line(tmp_path: Path, program: str, says: str) -> None:
    (note,) = of_scripts(tmp_path, program, epochs="x")
    assert ("SCRIPT023", st.Severity.INFO) == (note.id, note.severity)
    assert says in note.what


def test_arguments_of_a_program_that_is_not_here_are_a_note(tmp_path: Path) -> None:
    job = jobs.trainium(str(tmp_path)).replace(script=st.Script("train.py", source_dir="s3://bucket/source.tar.gz"))
    assert "SCRIPT023" in {each.id for each in st.check(job)}
    shell = jobs.trainium(str(tmp_path)).replace(script=st.Script("train.sh", source_dir=str(tmp_path)))
    (tmp_path / "train.sh").write_text('python train.py "$@"\n')
    assert "SCRIPT023" in {each.id for each in st.check(shell)}


def test_literal_arguments_beside_a_loop_are_read(tmp_path: Path) -> None:
    program = HEAD + "p.add_argument('--mode', choices=['a', 'b'], required=True)\n" + LOOP
    problem, note = of_scripts(tmp_path, program, epochs=1)
    assert "required: --mode" in problem.what
    assert "filled in a loop" in note.what
    assert ["SCRIPT023"] == [each.id for each in of_scripts(tmp_path, program, mode="a", epochs=1)]


FIELDS = """from dataclasses import dataclass, field
from typing import Optional
from transformers import HfArgumentParser
@dataclass
class Own:
    model: str
    rank: Optional[int] = field(default=8)
    packed: bool = False
HfArgumentParser(Own).parse_args_into_dataclasses()
"""


@pytest.mark.parametrize(
    ("sent", "rule", "says"),
    [
        ({"model": "m", "rank": 4, "packed": True}, "", ""),
        ({"rank": 4}, "SCRIPT014", "required: --model"),
        ({"model": "m", "rank": "four"}, "SCRIPT014", "invalid int value"),
        ({"model": "m", "packed": "perhaps"}, "SCRIPT014", "invalid choice"),
        ({"model": "m", "ranks": 4}, "SCRIPT008", "does not declare --ranks"),
    ],
)
def test_fields_of_a_dataclass_are_read(tmp_path: Path, sent: dict[str, Any], rule: str, says: str) -> None:
    found = of_scripts(tmp_path, FIELDS, **sent)
    assert [rule] * bool(rule) == [each.id for each in found]
    assert all(says in each.what for each in found)


def test_a_parser_in_a_module_of_the_script_is_unread(tmp_path: Path) -> None:
    (tmp_path / "flags.py").write_text(
        f"{HEAD}def read():\n    p.add_argument('--epochs', type=int)\n    return p.parse_args()\n"
    )
    program = "from flags import read\nread()\n"
    (note,) = of_scripts(tmp_path, program, epochs="x")
    assert "it is made in flags.py" in note.what


@pytest.mark.parametrize(
    ("program", "told"),
    [
        (f"{HEAD}p.add_argument('--epochs')\nargs, _ = p.parse_known_args()\n", True),
        (f"{HEAD}p.add_argument('--epochs')\nargs = p.parse_known_args()[0]\n", True),
        (f"{HEAD}p.add_argument('--epochs')\nargs, rest = p.parse_known_args()\nprint(rest)\n", False),
        (f"{HEAD}p.add_argument('--epochs')\nargs = p.parse_known_args()\n", False),
        ("print('trains')\n", True),
        ("import os\nprint(os.environ)\n", False),
        ("from sagemaker_training import environment\n", False),
    ],
)
def test_a_hyperparameter_that_nobody_reads_is_told(tmp_path: Path, program: str, told: bool) -> None:
    assert told == ("SCRIPT015" in {each.id for each in of_scripts(tmp_path, program, rate=1)})


@pytest.mark.parametrize(
    ("value", "severity"), [(False, st.Severity.ERROR), ("False", st.Severity.ERROR), (True, st.Severity.INFO)]
)
def test_a_false_that_would_be_read_as_true_is_an_error(tmp_path: Path, value: object, severity: st.Severity) -> None:
    (problem,) = of_scripts(tmp_path, f"{HEAD}p.add_argument('--shuffle', type=bool)\np.parse_args()\n", shuffle=value)
    assert ("SCRIPT006", "train.py:3", severity) == (problem.id, problem.where, problem.severity)


@pytest.mark.parametrize(
    ("framework", "told"), [(st.PyTorch("2.5.1", python="py311"), True), (st.PyTorch("2.10.0", python="py313"), False)]
)
def test_an_older_toolkit_lets_a_shell_split_the_words(tmp_path: Path, framework: st.PyTorch, told: bool) -> None:
    """The image's toolkit decides: sagemaker-training 5.1.2 joins the words for a shell."""
    (tmp_path / "run_clm.py").write_text(f"{HEAD}p.add_argument('--name')\np.parse_args()\n")
    job = jobs.trainium(str(tmp_path)).replace(
        framework=framework, compute=st.Compute("ml.g5.2xlarge"), hyperparameters={"name": "a b"}, neuron=None
    )
    assert told == ("SCRIPT014" in {each.id for each in st.check(job)})


def test_a_secret_is_not_shown(tmp_path: Path) -> None:
    program = f"{HEAD}p.add_argument('--api_key', type=int)\np.parse_args()\n"
    (problem,) = of_scripts(tmp_path, program, api_key="s3cret-value-of-mine")
    assert "SCRIPT014" == problem.id
    assert "s3cret" not in str(problem)


def test_what_the_neuron_options_tell_the_script_must_be_declared_too(tmp_path: Path) -> None:
    (tmp_path / "run_clm.py").write_text(f"{HEAD}p.add_argument('--zero_1')\np.parse_args()\n")
    options = st.specs.NeuronOptions(zero_1=True, tensor_parallel=8)
    found = st.check(jobs.trainium(str(tmp_path)).replace(hyperparameters={}, neuron=options))
    (problem,) = [each for each in found if each.id.startswith("SCRIPT")]
    assert ("SCRIPT008", "neuron", "'tensor_parallel_size'") == (problem.id, problem.where, problem.got)


@pytest.mark.parametrize(("name", "known"), [("adafactor", True), ("epochs", True), ("epoches", False)])
def test_names_of_a_shipped_script(tmp_path: Path, name: str, known: bool) -> None:
    job = jobs.trainium(str(tmp_path)).replace(script=st.Script("train_text_classification.py"), inputs={})
    found = {problem.id for problem in st.check(job.replace(hyperparameters={name: 1}))}
    assert known is ("SCRIPT008" not in found)


def test_the_readme_says_what_check_says_of_a_misspelt_argument(tmp_path: Path) -> None:
    readme = Path(__file__).parents[2].joinpath("README.md").read_text("utf-8")
    program = HEAD + "p.add_argument('--epochs')\np.add_argument('--learning_rate', type=float)\np.parse_args()\n"
    (problem,) = of_scripts(tmp_path, program, epochs=3, learning_rat=0.1)
    shown = " ".join(readme.split())
    assert " ".join(str(problem).split()) in shown

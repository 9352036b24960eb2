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
from sm_trn.scripts import arguments

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
    (
        "p.add_argument('--fp16', action=argparse.BooleanOptionalAction)\np.parse_args()",
        {"fp16": True},
        "SCRIPT007",
        "takes no value",
    ),
]
PASSED = [
    ("q = argparse.ArgumentParser(parents=[make()])\nq.add_argument('--a')\nq.parse_args()", {"b": 1}),
    ("p.add_argument('--a')\nTrainer.add_arguments_to(p)\np.parse_args()", {"b": 1}),
    ("p.add_argument('--kind', choices=['x', 'y'])\np.set_defaults(kind='x')\np.parse_args()", {"kind": "y"}),
    ("p.add_argument('--epochs', type=int)\np.parse_args()", {"epoch": 1}),  # argparse takes an unambiguous beginning
    ("p.add_argument('--epochs', type=int)\np.parse_args()", {"epochs": "3"}),
    ("p.add_argument('-e', '--epochs', type=int)\np.parse_args()", {"e": 3}),
    ("p.add_argument('--size', type=lambda text: int(text, 0), choices=[1, 2])\np.parse_args()", {"size": "0x1"}),
    ("if debug:\n    p.add_argument('--data', required=True)\np.parse_args()", {}),
    ("p.add_argument('--data', required=DATA)\np.parse_args()", {}),
    ("for name in NAMES:\n    p.add_argument(name)\np.parse_args()", {"anything": 1}),
    ("p.add_argument('--data', required=True)\np.parse_args(['--data', 'x'])", {}),
    ("p.add_argument('--a', action=Own)\np.parse_args()", {"a": 1, "b": 2}),
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
    refused = bool(list(arguments.refused(job)))
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


def test_a_name_of_one_letter_is_told_to_be_longer(tmp_path: Path) -> None:
    (tmp_path / "run_clm.py").write_text(
        "import argparse\np = argparse.ArgumentParser()\np.add_argument('--x')\np.parse_args()\n"
    )
    job = jobs.trainium(str(tmp_path)).replace(hyperparameters={"x": 1}, neuron=None)
    (problem,) = [each for each in st.check(job) if each.id == "SCRIPT008"]
    assert "does not declare -x" in problem.what
    assert "a longer name" in str(problem.fix)

"""Launching statements are written anew; every other byte of the file is as it was."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from sm_trn.bridge.launchers import read_text
from sm_trn.bridge.launchers.rewrite import Edit, applied, rewritten
from sm_trn.core.errors import SmTrnError

CALLSITES = Path(os.environ.get("SM_TRN_CALLSITES", "/nowhere"))
GIVEN = {"bucket": "mine", "region": "eu-west-1"}
LINES = ["%%time", "x = 1  # é, ﬁ", "", "!ls", "text = '''a", "b'''", "if x:", "    y = 2"]
LAUNCH = """# before
from sagemaker.pytorch import PyTorch
if True:
    estimator = PyTorch(entry_point="train.py", role=my_role, framework_version="2.1", py_version="py310",
                        instance_type="ml.g5.xlarge", instance_count=1)
    print("é")  # between
    estimator.fit("s3://mine/data", wait=False)
# after"""


def notebook(sources: list[str]) -> dict[str, Any]:
    cells = [
        {"cell_type": "code", "source": source.splitlines(keepends=True), "outputs": [], "metadata": {}}
        for source in sources
    ]
    return {
        "cells": [{"cell_type": "markdown", "source": ["é"], "metadata": {}}, *cells],
        "metadata": {},
        "nbformat": 4,
        "nbformat_minor": 4,
    }


def test_a_script_is_written_for_v3_and_the_rest_is_as_it_was() -> None:
    text = "my_role = 'arn:aws:iam::1:role/r'\n" + LAUNCH
    for crlf in (False, True):
        old = text.replace("\n", "\r\n") if crlf else text
        new = rewritten(read_text(old, "launch.py", given=GIVEN), old, tuple(GIVEN))
        assert () == new.left
        made = new.text.replace("\r\n", "\n") if crlf else new.text
        assert crlf == ("\r\n" in new.text)
        assert made.startswith("my_role = 'arn:aws:iam::1:role/r'\n# before\nif True:\n    from ")
        assert '    print("é")  # between\n    estimator.train(' in made
        assert made.endswith("wait=False, logs=False)\n# after")
        assert "role=my_role," in made
        compile(made, "launch.py", "exec")


def test_a_launch_that_cannot_be_said_is_left_and_named() -> None:
    text = "my_role = 'arn:aws:iam::1:role/r'\n" + LAUNCH
    new = rewritten(read_text(text, "launch.py"), text)
    assert (text, "v3 needs bucket and region: --set bucket=…") == (new.text, new.left[0][1])


MADE = """from sagemaker.pytorch import PyTorch
e = PyTorch("t.py", role="arn:aws:iam::1:role/r", framework_version="2.1", py_version="py310", instance_type="ml.g5.xlarge",
            instance_count=1, hyperparameters={"rate": rate})
"""
FIT = 'e.fit("s3://mine/data")\n'


def indented(text: str) -> str:
    return "".join(f"    {line}" for line in text.splitlines(keepends=True))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (f"def launch(rate):\n{indented(MADE + FIT)}launch(1)\nlaunch(2)\n", "it makes several jobs"),
        (f"for rate in (1, 2):\n{indented(MADE + FIT)}", "it makes several jobs"),
        (f"rate = 1\n{MADE}{FIT}{FIT}", "it makes several jobs"),
        (f"def launch(rate):\n{indented(MADE + FIT)}launch(1)\n", "it stands in a function with arguments"),
        (f"for rate in (1,):\n{indented(MADE + FIT)}", "it stands in a loop"),
        (f"rate = 1\n{MADE}print(e.role)\n{FIT}", "e.role is used before its fit, launch.py, line 5"),
        (f"rate = 1\n{MADE}e.max_run = 60\n{FIT}", "e.max_run is used before its fit, launch.py, line 5"),
        (f"rate = 1\n{MADE}if rate:\n    e.set_hyperparameters(rate=2)\n{FIT}", "e.set_hyperparameters is used before its fit"),
    ],
)  # fmt: skip
def test_a_launch_whose_values_may_be_others_is_left(text: str, why: str) -> None:
    new = rewritten(read_text(text, "launch.py", given=GIVEN), text, tuple(GIVEN))
    assert (text, 0) == (new.text, new.written)
    ((_, told),) = new.left
    assert told.startswith(why)


def test_hyperparameters_that_are_set_later_go_into_the_call_and_later_uses_are_named() -> None:
    function = "def other(e):\n    e.unseen()\n"
    text = f"rate = 1\n{MADE}e.set_hyperparameters(\n    rate=2,\n)\n{FIT}{function}e.deploy(1)\nx = [e.deploy(2), e]\ne = None\ne.gone\n"
    new = rewritten(read_text(text, "launch.py", given=GIVEN), text, tuple(GIVEN))
    assert "set_hyperparameters" not in new.text
    assert "hyperparameters={'rate': '2'}" in new.text
    assert new.text.endswith(text[text.index(function) :])
    assert (1, ()) == (new.written, new.left)
    assert [(11, "e.deploy"), (12, "e")] == [(place.line, used) for place, used in new.later]


def test_a_function_without_arguments_is_rewritten() -> None:
    text = f"rate = 1\ndef main():\n{indented(MADE + FIT)}main()\ne.elsewhere()\n"
    new = rewritten(read_text(text, "launch.py", given=GIVEN), text, tuple(GIVEN))
    assert (1, (), ()) == (new.written, new.left, new.later)
    compile(new.text, "launch.py", "exec")


@given(
    some.lists(some.lists(some.sampled_from(LINES), max_size=5).map("\n".join), max_size=4),
    some.sampled_from([1, 2]), some.booleans(), some.sampled_from(["", "\n"]), some.booleans(), some.booleans(),
)  # fmt: skip
def test_a_notebook_keeps_its_style(
    sources: list[str], indent: int, plain: bool, end: str, crlf: bool, mark: bool
) -> None:
    def written(tree: dict[str, Any]) -> str:
        body = json.dumps(tree, indent=indent, ensure_ascii=plain) + end
        return ("\ufeff" if mark else "") + (body.replace("\n", "\r\n") if crlf else body)

    place = len(sources) + 1
    before = written(notebook([*sources, "a = 1\nb = 2\nc = 3"]))
    after = written(notebook([*sources, "a = 1\nB\nC\nc = 3"]))
    assert after == applied(before, "x.ipynb", [Edit(place, 2, 2, ("B", "C"))])
    assert before == applied(before, "x.ipynb", [])


def test_a_strange_style_is_refused() -> None:
    with pytest.raises(SmTrnError, match="nothing was written"):
        applied('{ "cells":[{"cell_type":"code","source":"a"}] }', "x.ipynb", [Edit(1, 1, 1, ("b",))])


@pytest.mark.skipif(not CALLSITES.is_dir(), reason="SM_TRN_CALLSITES names no folder of public notebooks")
def test_public_notebooks_keep_every_other_byte() -> None:
    written, refused = 0, list[str]()
    for path in sorted(CALLSITES.rglob("*.ipynb")):
        old = path.read_bytes().decode("utf-8")
        new = rewritten(read_text(old, path.name, given=GIVEN), old, tuple(GIVEN))
        count = sum(cell["cell_type"] == "code" for cell in json.loads(old)["cells"])
        try:
            same = applied(old, path.name, [Edit(1, 1, 1, (json_line(old),))]) if count else old
        except SmTrnError:  # a style that no writer of notebooks has: refused, and nothing is written
            refused.append(path.name)
            continue
        assert old == same, path
        if new.edits:
            written += 1
            removed = [line for line in old.split("\n") if line not in set(new.text.split("\n"))]
            assert len(removed) <= sum(edit.last - edit.first + 1 for edit in new.edits), path
    assert written > 10
    assert len(refused) <= written // 20, refused


def json_line(text: str) -> str:
    """The first line of the first code cell, which an edit puts back."""
    cell = next(cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "code")
    return "".join(cell["source"]).split("\n")[0]


@pytest.mark.parametrize(
    ("head", "stops"),
    [
        ("import sagemaker\nmy_role = sagemaker.get_execution_role()\n", [(2, "sagemaker.get_execution_role")]),
        ("from sagemaker import Session, get_execution_role\nmy_role = get_execution_role()\n",
         [(1, "sagemaker.Session"), (1, "sagemaker.get_execution_role")]),
        ("import sagemaker.inputs as i\nx = i.TrainingInput('s3://b')\nmy_role = 'arn:aws:iam::1:role/r'\n", [(1, "sagemaker.inputs")]),
        ("from sagemaker.core.helper.session_helper import get_execution_role\nmy_role = get_execution_role()\n", []),
        ("from sagemaker.debugger import Rule\nmy_role = 'arn:aws:iam::1:role/r'\n", []),
    ],
)  # fmt: skip
def test_what_sdk_v3_does_not_have_stops_a_rewriting_and_unused_imports_go(
    head: str, stops: list[tuple[int, str]]
) -> None:
    text = head + LAUNCH
    new = rewritten(read_text(text, "launch.py", given=GIVEN), text, tuple(GIVEN))
    assert stops == [(each.place.line, each.name) for each in new.stops]
    assert all(each.instead.startswith("sagemaker.") for each in new.stops)
    assert "import PyTorch" not in new.text
    assert "import Rule" not in new.text


def test_a_rewriting_makes_up_no_role() -> None:
    text = (
        "import sagemaker\n"
        + MADE.replace('role="arn:aws:iam::1:role/r"', "**{'role': sagemaker.get_execution_role()}")
        + FIT
    ).replace('{"rate": rate}', "{}")
    new = rewritten(read_text(text, "launch.py", given=GIVEN), text, tuple(GIVEN))
    assert (text, ["v3 needs role: --set role=…"]) == (new.text, [why for _, why in new.left])


def test_a_launch_of_a_tuner_is_left_for_that_reason() -> None:
    text = f"rate = 1\n{MADE}from sagemaker.tuner import HyperparameterTuner\nHyperparameterTuner(e, 'loss', {{}}).fit('s3://mine/x')\n"
    new = rewritten(read_text(text, "launch.py", given=GIVEN), text, tuple(GIVEN))
    assert ["HyperparameterTuner starts it"] == [why for _, why in new.left]

"""The slice of a launcher holds all that its launches need, and not more than that."""

from __future__ import annotations

import textwrap

import pytest

from sm_trn.bridge.launchers.slice import sliced
from sm_trn.bridge.launchers.source import cells
from sm_trn.bridge.launchers.values import Place


def kept(text: str) -> str:
    """What is kept of a launcher whose last line is its launch."""
    text = textwrap.dedent(text).strip()
    last = Place("launch.py", None, text.count("\n") + 1)
    ((_, code),) = sliced(cells("launch.py", text), [last])
    return "\n".join(line for line in code.split("\n") if line)


def test_what_the_launch_does_not_depend_on_is_left_out() -> None:
    assert "rate = 1\nfit(rate)" == kept("rate = 1\nother = 2\nprint(other)\nfit(rate)")


def test_what_a_function_reads_may_be_made_behind_it() -> None:
    text = """
        def folder(name):
            return os.path.join(above(), name)
        def above():
            return ROOT
        def unused():
            return os.getcwd()
        import os
        ROOT = "/data"
        fit(folder("x"))
    """
    assert kept(text) == kept(text.replace("def unused():", "").replace("return os.getcwd()", ""))
    assert {"import os", 'ROOT = "/data"', "def above():"} < set(kept(text).split("\n"))


def test_a_launch_in_a_function_is_started_by_what_calls_it() -> None:
    text = """
        def launch(rate):
            fit(rate)
        def main():
            launch(RATE)
        RATE = 3
        if __name__ == "__main__":
            main()
        other = 4
    """
    text = textwrap.dedent(text).strip()
    ((_, code),) = sliced(cells("launch.py", text), [Place("launch.py", None, 2)])
    assert text.replace("\nother = 4", "") == code.rstrip()


def test_where_modules_are_looked_for_is_kept() -> None:
    text = "import sys\nimport json\nsys.path.append('./src')\nimport settings\nfit(settings.rate)"
    assert text.replace("import json\n", "") == kept(text)


@pytest.mark.parametrize(
    "change",
    [
        "rates['x'] = 2",
        "del rates['x']",
        "rates.update(x=2)",
        "old = rates.pop('x')",
        "own = rates\nown['x'] = 2",
        "all_of_them = [rates]\nall_of_them[0]['x'] = 2",
        "change = rates.update\nchange(x=2)",
        "def change(of):\n    of['x'] = 2\nchange(rates)",
        "def change(of):\n    of['x'] = 2\nold = change(rates)",
        "(lambda of: of.update(x=2))(rates)",
        "other = estimator\nother.rate = 2",
        "setattr(estimator, 'rate', 2)",
        "import os\nos.environ['AWS_REGION'] = 'eu-west-1'",
    ],
)
def test_what_changes_an_object_by_another_name_is_kept(change: str) -> None:
    text = f"rates = {{'x': 1}}\nestimator = made(rates)\n{change}\nestimator.fit()"
    assert text == kept(text)


def test_what_is_behind_the_last_launch_is_left_out() -> None:
    text = "rates = {'x': 1}\nfit(rates)\nrates['x'] = 2"
    ((_, code),) = sliced(cells("launch.py", text), [Place("launch.py", None, 2)])
    assert "rates = {'x': 1}\nfit(rates)" == code.rstrip()

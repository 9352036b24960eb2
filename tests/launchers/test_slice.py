"""The slice of a launcher holds all that its launches need, and not more than that."""

from __future__ import annotations

import textwrap

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

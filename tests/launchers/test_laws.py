"""Reading is the inverse of rendering; and no input, whatever it is, is executed or ends in a traceback."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import assume, given, settings
from strategies_of_values import sensible

import sm_trn as st
from sm_trn.bridge.launchers import LauncherJob, read_text
from sm_trn.core.errors import UnknownName
from sm_trn.core.render import problems
from sm_trn.core.specs import Destination, JobSpec, Severity

AT = Destination()


def rendered(job: JobSpec) -> str:
    """The job as a program for SDK v2, where that can say it."""
    assume(all(problem.severity is not Severity.ERROR for problem in [*problems(job, "estimator-v2"), *st.check(job)]
               if not problem.id.startswith(("SCRIPT", "DATA"))))  # fmt: skip
    try:
        return str(st.render(job, "estimator-v2", at=AT))
    except UnknownName:
        assume(False)
        raise


def read(text: str) -> LauncherJob:
    (launch,) = read_text(text, "launch.py").launches
    assert launch.complete, [str(hole) for hole in launch.holes]
    (found,) = launch.jobs
    return found


def without(request: dict[str, Any]) -> dict[str, Any]:
    """SDK v2 leaves the switch out beside image_uri, and packs one file of a repository by its name alone."""
    request["AlgorithmSpecification"] = {
        k: v for k, v in request["AlgorithmSpecification"].items() if k != "EnableSageMakerMetricsTimeSeries"
    }
    texts = request.get("HyperParameters", {})
    if "sagemaker_program" in texts:
        request["HyperParameters"] = {
            **texts,
            "sagemaker_program": texts["sagemaker_program"].rpartition("/")[2].strip('"'),
        }
    return request


@settings(max_examples=60)
@given(sensible("/nowhere/src"))
def test_what_is_rendered_for_sdk_v2_is_read_back(job: JobSpec) -> None:
    found = read(rendered(job))
    assert without(dict(st.render(job.replace(kept=()), at=found.at))) == without(dict(found.request))
    # Two specs can be one request; the one that was read is read again as itself.
    again = read(rendered(found.spec))
    assert found.spec == again.spec


BOMBS = {
    "deep parentheses": "x = " + "(" * 3000 + "1" + ")" * 3000,
    "a long sum": "x = " + "+".join(["1"] * 20_000),
    "nested lists": "x = " + "[" * 150 + "]" * 150,
    "a large power": "x = 10 ** 10 ** 10\ny = 2 ** 64 ** 2 ** 9",
    "a long text": "x = 'a' * 10 ** 12\ny = 'a'\nfor i in range(100):\n    y = y + y\nz = f'{1:>999999999}'\nw = '%0999999999d' % 3",
    "a long loop": "n = 0\nfor i in range(10 ** 12):\n    n += 1\nwhile True:\n    n += 1",
    "recursion": "def f(n):\n    return f(n + 1) + f(n + 2)\nx = f(0)",
    "two functions": "def f(n):\n    return g(n)\ndef g(n):\n    return f(n)\nx = f(1)",
    "its own item": "d = {}\nd['d'] = d\nl = []\nl.append(l)\nl.extend(l)\nx = f'{d}{l}'\nfrom sagemaker.pytorch import PyTorch\nPyTorch('t.py', hyperparameters=d, tags=l).fit(d)",  # noqa: E501 - a launcher on one line
    "many conditions": "\n".join(f"if open('{i}').read():\n    x{i} = {i}" for i in range(2_000)),
    "five thousand lines": "\n".join(f"name_{i} = f'{{name_{i - 1 if i else 0}}}-{i}'" for i in range(5_000)),
    "a wide product": "x = [(a, b, c) for a in range(1000) for b in range(1000) for c in range(1000)]",
}


@pytest.mark.parametrize("bomb", BOMBS)
def test_a_bomb_costs_a_moment(bomb: str) -> None:
    began = time.process_time()
    read_text(BOMBS[bomb], "launch.py")
    assert time.process_time() - began < 4  # two seconds on an idle machine

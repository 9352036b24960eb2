"""Every launch site of a file is listed, and only what stands there for certain is told of its arguments."""

from __future__ import annotations

from pathlib import Path

import pytest
from fakes.launchers import notebook

import sm_trn as st
from sm_trn.bridge.literal import Arguments

HEAD = "from sagemaker.pytorch import PyTorch\n"


def read(folder: Path, text: str, name: str = "launch.py") -> list[tuple[str, int, Arguments]]:
    (folder / name).write_text(text)
    imported = st.import_launcher(folder / name, run=False)
    assert imported.recorded is None
    return [(site.cls, site.place.line, arguments) for site, arguments in imported.arguments]


@pytest.mark.parametrize(
    ("text", "known"),
    [
        (
            "PyTorch(instance_type='ml.g5.xlarge', instance_count=-1)",
            {"instance_type": "ml.g5.xlarge", "instance_count": -1},
        ),
        ("KIND = 'ml.g5.xlarge'\nPyTorch(instance_type=KIND)", {"instance_type": "ml.g5.xlarge"}),
        ("KIND: str = 'a'\ndef main():\n    PyTorch(instance_type=KIND)\n", {"instance_type": "a"}),
        (
            "A = 3\nHP = {'epochs': A, 'l': [1, 2]}\nPyTorch(hyperparameters=HP)",
            {"hyperparameters": {"epochs": 3, "l": [1, 2]}},
        ),
        ("PyTorch(spot=None, debugger_hook_config=False)", {"spot": None, "debugger_hook_config": False}),
    ],
)
def test_literals_and_module_constants_are_known(tmp_path: Path, text: str, known: dict[str, object]) -> None:
    ((_, _, arguments),) = read(tmp_path, HEAD + text)
    assert (known, ()) == (arguments.known, arguments.unknown)


# Each is a value that running the file could make another one.
UNCERTAIN = [
    "x = 1\nx = 2\nPyTorch(a=x)",
    "x = 1\nif cond:\n    x = 2\nPyTorch(a=x)",
    "x = 1\ndef f(x):\n    return PyTorch(a=x)",
    "x = 1\nfor x in rows:\n    pass\nPyTorch(a=x)",
    "x = 1\ndef f():\n    global x\n    x = 2\nf()\nPyTorch(a=x)",
    "x = 1\nwith open('f') as x:\n    pass\nPyTorch(a=x)",
    "x = 1\nif (x := 2):\n    PyTorch(a=x)",
    "x = 1\nx += 1\nPyTorch(a=x)",
    "x = 1\ndel x\nPyTorch(a=x)",
    "x = 1\nimport x\nPyTorch(a=x)",
    "x = 1\ntry:\n    f()\nexcept E as x:\n    pass\nPyTorch(a=x)",
    "if cond:\n    x = 1\nPyTorch(a=x)",
    "from other import *\nx = 1\nPyTorch(a=x)",
    "x = {'a': 1}\nx['a'] = 2\nPyTorch(a=x)",
    "x = {'a': 1}\nx.update(a=2)\nPyTorch(a=x)",
    "x = [1]\nf(x)\nPyTorch(a=x)",
    "PyTorch(a=f'{x}')",
    "PyTorch(a=1 + 1)",
    "PyTorch(a={**x})",
    "PyTorch(a=[*x])",
    "PyTorch(a=x.y)",
    "PyTorch(a=f())",
    "PyTorch(a='x' if y else 'z')",
    "PyTorch(a=1, **more)",
    "e = PyTorch(a=1)\ne.a = 2",
    "e = PyTorch(a={'x': 1})\ne.a['x'] = 2",
    "e = PyTorch(a={'x': 1})\ne.a.update(x=2)",
    "e = PyTorch(a=1)\nsetattr(e, 'a', 2)",
    "class Own(PyTorch):\n    pass\nOwn(a=1)",
    "match rows:\n    case [x]:\n        pass\nx = 1\nPyTorch(a=x)",
]


@pytest.mark.parametrize("text", UNCERTAIN)
def test_what_may_be_another_value_is_unknown_with_its_line(tmp_path: Path, text: str) -> None:
    ((_, _, arguments),) = read(tmp_path, HEAD + text)
    assert {} == arguments.known
    assert "a" in {each.argument for each in arguments.unknown}
    assert all(each.line > 1 for each in arguments.unknown)


def test_hyperparameters_that_are_set_later_are_unknown(tmp_path: Path) -> None:
    ((_, _, arguments),) = read(
        tmp_path, HEAD + "e = PyTorch(hyperparameters={'a': 1}, b=2)\ne.set_hyperparameters(c=3)"
    )
    assert {"b": 2} == arguments.known
    assert ["hyperparameters: unknown, line 3 (it is changed there)"] == [str(each) for each in arguments.unknown]


EVERYWHERE = """
import sagemaker, boto3
import sagemaker.pytorch
from sagemaker.huggingface import HuggingFace as HF
from sagemaker.estimator import *
from sagemaker.train import ModelTrainer
from sagemaker.core.resources import TrainingJob
HF(a=1)
sagemaker.pytorch.PyTorch(a=1)
Estimator(a=1)
ModelTrainer(a=1)
TrainingJob.create(a=1)
boto3.client("sagemaker").create_training_job(a=1)
class Launcher(HF):
    def start(self):
        self.PyTorch(a=1)
        return [HF(a=n) for n in range(3)]
Mine = HF
Mine(a=1)
def never(): Launcher(a=1)
torch = lambda: None
torch.nn.PyTorch2(a=1)
"""


def test_every_launch_site_is_listed(tmp_path: Path) -> None:
    sites = read(tmp_path, EVERYWHERE)
    assert [
        ("HuggingFace", 8), ("PyTorch", 9), ("Estimator", 10), ("ModelTrainer", 11), ("TrainingJob.create", 12),
        ("create_training_job", 13), ("HuggingFace", 17), ("HuggingFace", 19), ("Launcher", 20),
    ] == [(cls, line) for cls, line, _ in sites]  # fmt: skip


def test_cells_that_are_no_python_cost_themselves_only(tmp_path: Path) -> None:
    text = notebook(
        "%pip install x\n!ls",
        "x = (",
        "%%bash\nPyTorch(",
        HEAD + "%time PyTorch(a=1)\nKIND = 'm'\nPyTorch(b=KIND)",
        "??PyTorch",
    )
    (tmp_path / "launch.ipynb").write_text(text)
    imported = st.import_launcher(tmp_path / "launch.ipynb", run=False)
    assert [(f"launch.ipynb, cell 4, line {line}", "PyTorch") for line in (2, 4)] == [
        (str(site.place), site.cls) for site in imported.sites
    ]
    assert [2] == [place.cell for place, _ in imported.unread]
    (_, first), (_, second) = imported.arguments
    assert ({"a": 1}, {}) == (first.known, second.known), "a cell that cannot be read may bind the name"

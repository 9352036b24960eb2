"""What works without the libraries of the extras, and the one sentence with which the rest is refused, in Python and in the shell."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from importlib.metadata import metadata
from pathlib import Path

import pytest

from sm_trn.cli.__main__ import COMMANDS

# The libraries that each extra brings, by the names under which they are imported.
LIBRARIES = {
    "report": ("pandas", "numpy", "matplotlib", "jinja2"),
    "ui": ("starlette", "uvicorn"),
    "local": ("moto", "flask", "flask_cors", "werkzeug", "sagemaker_training", "torch", "transformers", "accelerate",
              "datasets", "peft", "trl", "sklearn"),
    "sdk": ("sagemaker",),
    "tune": ("optuna",),
}  # fmt: skip
ALL = "all extras"
EACH = pytest.mark.skipif(
    os.environ.get("SM_TRN_CLIENTS") != "all", reason="SM_TRN_CLIENTS=all leaves out each extra alone"
)
BLOCKED = {**LIBRARIES, ALL: tuple(name for names in LIBRARIES.values() for name in names)}
NEEDLESS = {"all", "docs", "test", "sdk3"}  # no libraries of their own, tools of developers, and the other sagemaker
PAIR = ("published/bert-p4d", "published/bert-trn1")

PREPARED = """
import importlib, json, pkgutil, sys
for name in json.loads(sys.argv[1]):
    sys.modules[name] = None
"""
IMPORTS = """
import sm_trn, sm_trn.cli, sm_trn.core
names = ["sm_trn", "sm_trn.wiring"]
for package in (sm_trn.core, sm_trn.cli):
    names += [found.name for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")]
for name in names:
    importlib.import_module(name)
for name in sm_trn.__all__:
    getattr(sm_trn, name)
assert len(names) > 100
"""
USES = """
from types import SimpleNamespace
import sm_trn as st
from sm_trn.report.fleets.fleet import fleet

job = st.JobSpec(
    name="bert", script=st.Script("train_text_classification.py"), framework=st.HuggingFace("4.56.2", pytorch="2.8.0", python="py312"),
    compute=st.Compute("ml.g5.xlarge"), max_run_s=3600, hyperparameters={"model": "bert-base-cased", "train": "sample"},
)
facts = dict(model="bert-base-cased", batch=16, length=128, examples=3600, epochs=1)
pair = ["published/bert-p4d", "published/bert-trn1"]
idle = SimpleNamespace(emulated=True, get_trials=lambda **_: [])
uses = {
    "check": lambda: str(st.check(job)),
    "render": lambda: st.render(job)["TrainingJobName"],
    "estimate": lambda: str(st.estimate(job, **facts)),
    "plan": lambda: str(st.plan(job, limits=st.Limits(), **facts)),
    "read": lambda: str(st.import_launcher("launcher.py", run=False).sites),
    "why": lambda: str(st.why("RuntimeError: CUDA out of memory")),
    "policies": lambda: str(st.policies(job)),
    "compare": lambda: str(st.compare(pair)),
    "card": lambda: st.compare(pair)._repr_html_(),
    "fleet": lambda: str(fleet([])),
    "frame": lambda: str(st.compare(pair).frame),
    "figure": lambda: str(st.compare(pair).plot_cost()),
    "save": lambda: str(st.compare(pair).save("report")),
    "study": lambda: str(st.tune(idle, job, {}, "train_loss", session=idle, n_trials=0)),
    "emulator": lambda: st.connect("emulator").announcement,
    "estimator": lambda: str(st.estimator(job, role="arn:aws:iam::111122223333:role/r", bucket="b")),
}
answers = {}
for name in filter(None, sys.argv[2].split(",")):
    try:
        answers[name] = ["ok", uses[name]()]
    except st.errors.NotConfigured as error:
        answers[name] = ["refused", str(error)]
print(json.dumps(answers, default=str))
"""
SHELL = """
from sm_trn.cli.__main__ import run
sys.argv = ["sm-trn", *json.loads(sys.argv[2])]
run()
"""
HELP = """
import contextlib, io
from sm_trn.cli.__main__ import COMMANDS, cli
for name in COMMANDS:
    with contextlib.redirect_stdout(io.StringIO()) as said:
        cli.main([name, "--help"], standalone_mode=False)
    assert said.getvalue().startswith("Usage: "), name
print(json.dumps(len(COMMANDS)))
"""
NEEDS = {
    "study": "tune",
    "frame": "report",
    "figure": "report",
    "save": "report",
    "emulator": "local",
    "estimator": "sdk",
}
FREE = ("check", "render", "estimate", "plan", "read", "why", "policies", "compare", "card", "fleet")
JOB = """
name = "bert"
script = {entry = "train_text_classification.py"}
framework = {kind = "huggingface", transformers = "4.56.2", pytorch = "2.8.0", python = "py312"}
compute = {instance = "ml.g5.xlarge"}
max_run_s = 3600
hyperparameters = {model = "bert-base-cased", train = "sample"}
"""


def python(program: str, blocked: str, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run the program in a process that has none of the libraries of ``blocked``."""
    words = [sys.executable, "-c", PREPARED + program, json.dumps(BLOCKED[blocked]), *arguments]
    environment = {**os.environ, "SM_TRN_STATE": str(cwd / "state"), "SM_TRN_BACKEND": "", "MPLBACKEND": "Agg"}
    return subprocess.run(words, capture_output=True, text=True, cwd=cwd, env=environment, timeout=120, check=False)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "launcher.py").write_text("from sagemaker.pytorch import PyTorch\n")
    (tmp_path / "job.toml").write_text(JOB)
    return tmp_path


def test_the_extras_of_the_package_are_those_that_are_blocked_here() -> None:
    extras = {name.replace("_", "-") for name in metadata("sm_trn").get_all("Provides-Extra") or ()}
    assert set(LIBRARIES) | NEEDLESS == extras


@pytest.mark.parametrize(
    "blocked", [name if name in {"report", "local", ALL} else pytest.param(name, marks=EACH) for name in BLOCKED]
)
def test_all_is_imported_and_a_part_works_or_names_its_extra_in_one_sentence(blocked: str, folder: Path) -> None:
    wanted = {name for name, extra in NEEDS.items() if blocked in {extra, ALL}}
    free = (
        FREE if blocked in {"report", ALL} else ()
    )  # what needs no extra: with all missing, and with half of what draws
    done = python(IMPORTS + USES, blocked, ",".join([*free, *sorted(wanted)]), cwd=folder)
    assert 0 == done.returncode, done.stderr
    answers = json.loads(done.stdout.splitlines()[-1])
    assert {*free, *wanted} == set(answers)
    assert wanted == {name for name, (answer, _) in answers.items() if answer == "refused"}
    for name in wanted:
        sentence = answers[name][1]
        assert "\n" not in sentence
        assert f'pip install "sm_trn[{NEEDS[name]}]"' in sentence


def test_every_command_shows_its_help_without_any_extra(folder: Path) -> None:
    done = python(HELP, ALL, cwd=folder)
    assert 0 == done.returncode, done.stderr
    assert len(COMMANDS) == int(done.stdout)


@pytest.mark.parametrize(
    ("blocked", "words"),
    [
        ("report", ["compare", *PAIR, "--output", "report"]),
        ("ui", ["ui"]),
        ("local", ["local", "up"]),
        ("local", ["launch", "job.toml", "--backend", "emulator"]),
        ("local", ["rehearse", "job.toml"]),
        ("local", ["quickstart"]),
        ("report", ["quickstart"]),
    ],
    ids=lambda value: value if isinstance(value, str) else "-".join(value[:2]),
)
def test_a_command_names_its_extra_without_a_traceback(blocked: str, words: list[str], folder: Path) -> None:
    done = python(SHELL, blocked, json.dumps(words), cwd=folder)
    assert 2 == done.returncode, done.stdout + done.stderr
    assert re.fullmatch(rf'error: .* needs \w+; pip install "sm_trn\[[\w,]*{blocked}[\w,]*\]"\n', done.stderr), (
        done.stderr
    )
    assert "Traceback" not in done.stderr


def test_comparing_in_the_shell_needs_no_extra(folder: Path) -> None:
    done = python(SHELL, ALL, json.dumps(["compare", *PAIR]), cwd=folder)
    assert 0 == done.returncode, done.stderr
    assert "bert-trn1 cost" in done.stdout.replace("\u00a0", " ")

"""``sm-trn check --run`` and a launch on the emulator ask the script's own parser: it answers as in the container."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from command import sm_trn

import sm_trn as st
from sm_trn import sandbox

sealed = pytest.mark.skipif(not sandbox.available(), reason="needs user namespaces")

LOOP = """import argparse, absent
from typing import Union
from absent.parts import Model
Text = Union[str, Model]
DEFAULTS = {"epochs": 3, "lr": 0.1}
parser = argparse.ArgumentParser()
for key, value in DEFAULTS.items():
    parser.add_argument(f"--{key}", type=type(value), default=value)
parser.add_argument("--flag", action="store_true")
args = parser.parse_args()
raise SystemExit("it trains")
"""
LOOSE = LOOP.replace("args = parser.parse_args()", "args, _ = parser.parse_known_args()")
FIRST = "first = argparse.ArgumentParser()\nfirst.add_argument('--config')\n_, rest = first.parse_known_args()\nfor"
TWICE = LOOP.replace("for", FIRST, 1).replace("parse_args()", "parse_args(rest)")
CLICK = """import click
@click.command()
@click.option("--epochs", type=click.IntRange(min=1), required=True)
@click.option("--kind", type=click.Choice(["a", "b"]))
def main(epochs, kind):
    raise SystemExit("it trains")
main()
"""
TYPER = """import typer
def main(epochs: int = 3, learning_rate: float = 0.1):
    raise SystemExit("it trains")
typer.run(main)
"""
FIELDS = """from dataclasses import dataclass
from transformers import HfArgumentParser, TrainingArguments
@dataclass
class Own:
    rank: int = 8
HfArgumentParser((Own, TrainingArguments)).parse_args_into_dataclasses()
"""
HANDED = "import argparse, absent\np = argparse.ArgumentParser()\nabsent.fill(p)\np.parse_args()\n"
CHOICES = """import argparse
from absent import nets
p = argparse.ArgumentParser()
p.add_argument("--net", choices=[name for name in dir(nets) if name.islower()])
p.parse_args()
"""


def check(folder: Path, program: str, sent: dict[str, Any], entry: str = "train.py") -> tuple[int, str]:
    source = folder / "source"
    source.mkdir(exist_ok=True)
    (source / "train.py").write_text(program)
    job = st.JobSpec(
        name="a",
        script=st.Script(entry, source_dir=str(source)),
        framework=st.PyTorch("2.10.0", python="py313"),
        compute=st.Compute("ml.g5.2xlarge"),
        hyperparameters=sent,
        max_run_s=3600,
    )
    (folder / "job.toml").write_text(st.dump_job(job, "toml"))
    ran = sm_trn("check", "job.toml", "--run", "--format", "short", cwd=folder)
    assert "Traceback" not in ran.stderr, ran.stderr
    return ran.returncode, "\n".join(line for line in ran.stdout.splitlines() if "SCRIPT" in line)


@sealed
@pytest.mark.parametrize(
    ("program", "sent", "says"),
    [
        (LOOP, {"epochs": 2, "lr": 0.3}, ""),
        (LOOP, {"epochs": "x"}, "error[SCRIPT014] train.py refuses its arguments: argument --epochs: invalid int value: 'x'"),
        (LOOP, {"epoch_s": 1}, "error[SCRIPT008] train.py does not declare --epoch_s"),
        (LOOP, {"epoch": 1}, "warning[SCRIPT008] train.py takes --epoch for --epochs"),
        (LOOP, {"flag": True}, "error[SCRIPT007] --flag takes no value"),
        (LOOSE, {"epoch_s": 1}, "warning[SCRIPT015] train.py passes over --epoch_s"),
        (TWICE, {"epochs": 2, "config": "c"}, ""),
        (TWICE, {"epochs": "x", "config": "c"}, "invalid int value: 'x'"),
        (CLICK, {"epochs": 2, "kind": "a"}, ""),
        (CLICK, {"epochs": 0}, "error[SCRIPT014] train.py refuses its arguments: Invalid value for '--epochs'"),
        (CLICK, {"epochs": 2, "kinds": "a"}, "does not declare --kinds"),
        (TYPER, {"epochs": 2, "learning-rate": 0.3}, ""),
        (TYPER, {"epochs": 2, "learning_rate": 0.3}, "error[SCRIPT008] train.py does not declare --learning_rate"),
        (HANDED, {"more": 1}, "warning[SCRIPT008] train.py does not declare --more"),
        (CHOICES, {"net": "resnet"}, "warning[SCRIPT014] train.py may refuse its arguments"),
        ("import fire\nfire.Fire(print)\n", {"a": 1}, "note[SCRIPT023] the parser of train.py was not read: it ended before"),
        ("import sys\nsys.argv[1]\nraise KeyError('a')\n", {"a": 1}, "it ended before its parser was asked: KeyError: 'a'"),
    ],
)  # fmt: skip
def test_the_scripts_own_parser_answers(tmp_path: Path, program: str, sent: dict[str, Any], says: str) -> None:
    code, told = check(tmp_path, program, sent)
    assert says in told
    assert bool(says) is bool(told), told
    assert code == ("error[" in told)


@sealed
def test_the_parser_of_transformers_answers_for_itself(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    assert (0, "") == check(tmp_path, FIELDS, {"rank": 4, "output_dir": "o", "bf16": True})
    _, told = check(tmp_path, FIELDS, {"output_dir": "o", "num_train_epoch_s": 3})
    assert "does not declare --num_train_epoch_s" in told


@sealed
def test_a_script_reads_the_containers_variables_before_its_parser(tmp_path: Path) -> None:
    program = LOOP.replace("DEFAULTS", "import os\nos.environ['SM_MODEL_DIR'], os.environ['SM_HP_EPOCHS']\nDEFAULTS", 1)
    assert (0, "") == check(tmp_path, program, {"epochs": 2})


@sealed
def test_a_script_in_a_folder_finds_the_modules_of_its_source(tmp_path: Path) -> None:
    (tmp_path / "source" / "own").mkdir(parents=True)
    (tmp_path / "source" / "own" / "__init__.py").write_text(LOOP)
    (tmp_path / "source" / "scripts").mkdir()
    (tmp_path / "source" / "scripts" / "run.py").write_text("import own\n")
    code, told = check(tmp_path, "", {"epochs": "x"}, entry="scripts/run.py")
    assert (1, True) == (code, "invalid int value: 'x'" in told)


@sealed
def test_a_launch_on_the_emulator_asks_the_parser(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(LOOP)
    job = st.JobSpec(
        name="a",
        script=st.Script("train.py", source_dir=str(tmp_path)),
        framework=st.PyTorch("2.10.0", python="py313"),
        compute=st.Compute("ml.g5.2xlarge"),
        hyperparameters={"epochs": "x"},
        max_run_s=3600,
    )
    session = st.connect("emulator", state=tmp_path / "state")
    try:
        with pytest.raises(st.errors.InvalidJob, match="invalid int value: 'x'"):
            session.submit(job)
    finally:
        sm_trn("local", "down", "--state", str(tmp_path / "state"))

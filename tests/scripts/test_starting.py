"""What ends a script as it begins is told beforehand; what the script sees to itself is left alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import sm_trn as st

IDS = {"SCRIPT018", "SCRIPT021", "SCRIPT022"}
ARGUMENTS = "from transformers import Trainer, TrainingArguments\nargs = TrainingArguments('/opt/ml/checkpoints', {})\nTrainer(args=args)\n"
CONFIG = "import argparse\np = argparse.ArgumentParser()\np.add_argument('--config', default='base.yaml')\nargs = p.parse_args()\n"
SHARED = "from transformers import AutoModel, Trainer\nmodel = AutoModel.from_pretrained('m', device_map={})\nTrainer(model).train()\n"
STREAM = "from datasets import load_dataset\ndata = load_dataset('c4', streaming={})\n"


def found(
    folder: Path, script: str, instance: str = "ml.g5.12xlarge", *, workers: bool = True, sent: Any = None, **more: Any
) -> set[str]:
    (folder / "train.py").write_text(script)
    job = st.JobSpec(
        name="a",
        script=st.Script("train.py", source_dir=str(folder)),
        framework=st.HuggingFace("4.49.0", pytorch="2.5.1", python="py311"),
        compute=st.Compute(instance),
        distribution=st.TorchDistributed() if workers else None,
        hyperparameters=sent or {},
        max_run_s=3600,
        **more,
    )
    return {problem.id for problem in st.check(job)} & IDS


def test_a_file_that_the_source_lacks_is_told(tmp_path: Path) -> None:
    script = ARGUMENTS.format("deepspeed='ds/zero3.json'")
    assert {"SCRIPT021"} == found(tmp_path, script)
    (tmp_path / "ds").mkdir()
    (tmp_path / "ds" / "zero3.json").write_text("{}")
    assert set() == found(tmp_path, script)


def test_a_file_that_an_argument_names_is_looked_for(tmp_path: Path) -> None:
    script = f"{CONFIG}print(open(args.config).read())\n"
    assert {"SCRIPT021"} == found(tmp_path, script)
    (tmp_path / "base.yaml").write_text("a: 1\n")
    assert set() == found(tmp_path, script)
    assert {"SCRIPT021"} == found(tmp_path, script, sent={"config": "large.yaml"})
    assert set() == found(tmp_path, script, sent={"config": "/opt/ml/input/data/train/large.yaml"})


@pytest.mark.parametrize(
    "use",
    [
        "if args.config:\n    open(args.config)\n",
        "import yaml\nyaml.dump({}, open('base.yaml', 'w'))\nprint(open(args.config))\n",
        "import os\nos.chdir('/opt/ml/input/data/train')\nopen(args.config)\n",
        "open(args.config, 'w')\n",
    ],
)
def test_a_file_that_the_script_sees_to_is_not(tmp_path: Path, use: str) -> None:
    assert set() == found(tmp_path, CONFIG + use)


@pytest.mark.parametrize(
    ("precision", "file", "told"),
    [
        ("bf16=True", '{"fp16": {"enabled": true}}', True),
        ("fp16=True", '{"bf16": {"enabled": true}}', True),
        ("bf16=True", '{"fp16": {"enabled": "auto"}}', False),
        ("bf16=True", '{"bf16": {"enabled": true}}', False),
        ("bf16=True", "[1]", False),
        ("bf16=True", "{", False),
    ],
)
def test_a_deepspeed_file_of_another_precision_is_refused(
    tmp_path: Path, precision: str, file: str, told: bool
) -> None:
    (tmp_path / "ds.json").write_text(file)
    assert told == ("SCRIPT018" in found(tmp_path, ARGUMENTS.format(f"deepspeed='ds.json', {precision}")))


def test_a_model_spread_over_other_workers_gpus_is_told(tmp_path: Path) -> None:
    assert {"SCRIPT022"} == found(tmp_path, SHARED.format("'auto'"))
    assert set() == found(tmp_path, SHARED.format("'auto'"), workers=False)
    assert set() == found(tmp_path, SHARED.format("'auto'"), "ml.g5.2xlarge")
    assert set() == found(tmp_path, SHARED.format("{'': 0}"))


@pytest.mark.parametrize(
    ("words", "instance", "told"),
    [
        ("devices=8", "ml.g5.xlarge", True),
        ("devices=4", "ml.g5.12xlarge", False),
        ("devices='auto'", "ml.g5.xlarge", False),
        ("devices=-1", "ml.g5.xlarge", False),
        ("", "ml.g5.xlarge", False),
    ],
)
def test_lightning_gets_no_more_devices_than_there_are(tmp_path: Path, words: str, instance: str, told: bool) -> None:
    script = f"import lightning as L\nL.Trainer(accelerator='gpu', {words})\n"
    assert told == ("SCRIPT022" in found(tmp_path, script, instance))


def test_streamed_data_want_a_number_of_steps(tmp_path: Path) -> None:
    assert {"SCRIPT022"} == found(tmp_path, STREAM.format(True) + ARGUMENTS.format("seed=1"))
    assert set() == found(tmp_path, STREAM.format(True) + ARGUMENTS.format("max_steps=100"))
    assert set() == found(tmp_path, STREAM.format(False) + ARGUMENTS.format("seed=1"))
    assert set() == found(tmp_path, STREAM.format(True) + "data = data.take(100)\n" + ARGUMENTS.format("seed=1"))


def test_the_hub_wants_a_token(tmp_path: Path) -> None:
    script = ARGUMENTS.format("push_to_hub=True")
    assert {"SCRIPT022"} == found(tmp_path, script)
    assert set() == found(tmp_path, script, environment={"HF_TOKEN": "x"})
    assert set() == found(tmp_path, f"from huggingface_hub import login\nlogin()\n{script}")


def test_hydra_takes_no_argument_by_a_dash(tmp_path: Path) -> None:
    script = "import hydra\n\n@hydra.main(version_base=None)\ndef main(cfg):\n    print(cfg)\n\nmain()\n"
    job = st.JobSpec(
        name="a",
        script=st.Script("train.py", source_dir=str(tmp_path)),
        framework=st.PyTorch("2.5.1", python="py311"),
        compute=st.Compute("ml.g5.xlarge"),
    )
    rewrites = f"import sys\nsys.argv = [word.lstrip('-') for word in sys.argv]\n{script}"
    for text, sent, told in (
        (script, {"lr": 0.1}, True),
        (script, {"config-name": "large"}, False),
        (script, {}, False),
        (rewrites, {"lr": 0.1}, False),
    ):
        (tmp_path / "train.py").write_text(text)
        assert told == ("SCRIPT008" in {problem.id for problem in st.check(job.replace(hyperparameters=sent))})


def test_a_byte_order_mark_is_no_mistake(tmp_path: Path) -> None:
    job = st.JobSpec(
        name="a",
        script=st.Script("train.py", source_dir=str(tmp_path)),
        framework=st.PyTorch("2.5.1", python="py311"),
        compute=st.Compute("ml.g5.xlarge"),
    )
    (tmp_path / "train.py").write_bytes(b"\xef\xbb\xbfprint(1)\n")
    assert "SCRIPT003" not in {problem.id for problem in st.check(job)}

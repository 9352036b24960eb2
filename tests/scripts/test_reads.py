"""What a script reads of its surroundings is held against the job; what it asks for first, or can do without, is left alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jobs
import pytest

import sm_trn as st

READS = "import argparse, json, os, sys\nprint(sys.argv)\n"
HELD = 'p = argparse.ArgumentParser()\np.add_argument("--held", default="/opt/ml/input/data/validation")\n'
NEEDED = [
    ('os.environ["SM_CHANNEL_VALIDATION"]', "DATA007"),
    ('def main():\n    return os.environ["SM_CHANNEL_VALIDATION"]\nmain()', "DATA007"),
    ('os.path.join(os.getenv("SM_CHANNEL_VALIDATION"), "x.csv")', "DATA007"),
    ('open("/opt/ml/input/data/validation/x.csv")', "DATA007"),
    ('PLACE = "/opt/ml/input/data/validation"\nos.listdir(PLACE)', "DATA007"),
    ('Model.from_pretrained("/opt/ml/input/data/validation")', "DATA007"),
    (f"{HELD}args, _ = p.parse_known_args()\nos.listdir(args.held)", "DATA007"),
    ('wandb.login(key=os.environ["WANDB_API_KEY"])', "SCRIPT020"),
    ('rank = int(os.environ["LOCAL_RANK"])', "SCRIPT020"),
    ('dist.init_process_group("gloo")', "SCRIPT020"),
    ('sent = json.loads(os.environ["SM_HPS"])\nsent["rate"]', "SCRIPT016"),
    ('os.environ["SM_HP_RATE"]', "SCRIPT016"),
    ('sent = json.load(open("/opt/ml/input/config/hyperparameters.json"))\nsent["rate"]', "SCRIPT016"),
    (
        'with open("/opt/ml/input/config/hyperparameters.json") as f:\n    sent = json.load(f)\nsent["rate"]',
        "SCRIPT016",
    ),
]
SPARED = [
    'os.environ["SM_CHANNEL_TRAIN"]',
    'os.environ.get("SM_CHANNEL_VALIDATION")',
    'os.environ.get("SM_CHANNEL_VALIDATION", "/tmp")',
    'try:\n    os.environ["SM_CHANNEL_VALIDATION"]\nexcept KeyError:\n    pass',
    'if "SM_CHANNEL_VALIDATION" in os.environ:\n    os.environ["SM_CHANNEL_VALIDATION"]',
    'os.environ.setdefault("SM_CHANNEL_VALIDATION", "/tmp")\nos.environ["SM_CHANNEL_VALIDATION"]',
    'def old():\n    return os.environ["SM_CHANNEL_VALIDATION"]',
    'os.environ["SM_CHANNEL_GIVEN"]',
    'PLACE = "/opt/ml/input/data/validation"\nif os.path.isdir(PLACE):\n    os.listdir(PLACE)',
    f"{HELD}p.parse_known_args()",
    'os.environ["HOME"]',
    'os.environ["KEY_OF_OURS"]',
    'os.environ.get("LOCAL_RANK", 0)',
    'os.environ["LOCAL_RANK"] = "0"\nos.environ["LOCAL_RANK"]',
    'if "RANK" in os.environ:\n    dist.init_process_group("nccl")',
    'dist.init_process_group("nccl", rank=0, world_size=1)',
    'dist.init_process_group("nccl", init_method="tcp://127.0.0.1:29500")',
    'os.environ["RANK"] = "0"\ndist.init_process_group("gloo")',
    'sent = json.loads(os.environ["SM_HPS"])\nsent.get("rate")',
    'sent = json.loads(os.environ["SM_HPS"])\nsent["epochs"]',
    'os.environ["SM_HP_EPOCHS"]',
    'sent = json.load(open("/opt/ml/input/config/hyperparameters.json"))\nsent["epochs"]',
    'with open("rates.json") as f:\n    sent = json.load(f)\nsent["rate"]',
]
IDS = {"DATA007", "SCRIPT016", "SCRIPT020"}


def found(folder: Path, script: str, **sent: Any) -> set[str]:
    (folder / "run_clm.py").write_text(script)
    job = jobs.trainium(str(folder)).replace(
        hyperparameters=sent,
        neuron=None,
        inputs={"train": "s3://bucket/train"},
        environment={"SM_CHANNEL_GIVEN": "/opt/ml/code", "KEY_OF_OURS": "1"},
        distribution=None,
    )
    return {problem.id for problem in st.check(job)}


@pytest.mark.parametrize(("line", "rule"), NEEDED)
def test_what_the_script_cannot_do_without_and_the_job_does_not_give_is_told(
    tmp_path: Path, line: str, rule: str
) -> None:
    assert {rule} == found(tmp_path, f"{READS}{line}\n", epochs=1) & IDS


@pytest.mark.parametrize("line", SPARED)
def test_what_it_has_or_can_do_without_is_not(tmp_path: Path, line: str) -> None:
    assert set() == found(tmp_path, f"{READS}{line}\n", epochs=1) & IDS


def test_a_default_that_the_job_replaces_is_not_read(tmp_path: Path) -> None:
    script = f"{READS}{HELD}args, _ = p.parse_known_args()\nos.listdir(args.held)\n"
    assert "DATA007" in found(tmp_path, script)
    assert "DATA007" not in found(tmp_path, script, held="/opt/ml/input/data/train")
    assert "DATA007" in found(tmp_path, script, held="/opt/ml/input/data/valid")


def test_a_module_of_the_script_is_read_too(tmp_path: Path) -> None:
    (tmp_path / "data.py").write_text('import os\nWHERE = os.environ["SM_CHANNEL_VALIDATION"]\n')
    assert "DATA007" in found(tmp_path, f"{READS}import data\n")
    assert "DATA007" not in found(tmp_path, READS)
    (tmp_path / "data.py").write_text(
        'import os\nif __name__ == "__main__":\n    os.environ["SM_CHANNEL_VALIDATION"]\n'
    )
    assert "DATA007" not in found(tmp_path, f"{READS}import data\n")


PARSER = "import argparse\np = argparse.ArgumentParser()\np.add_argument('--epochs')\n"


@pytest.mark.parametrize(
    ("script", "told"),
    [
        (f"{PARSER}args, _ = p.parse_known_args()\n", True),
        (f"{PARSER}args = p.parse_known_args()[0]\n", True),
        (f"{PARSER}args, rest = p.parse_known_args()\nprint(rest)\n", False),
        (f"{PARSER}args = p.parse_known_args()\n", False),
        ("print('trains')\n", True),
        ("import fire\nfire.Fire(print)\n", False),
        ("import os\nprint(os.environ)\n", False),
        ("from sagemaker_training import environment\n", False),
    ],
)
def test_a_hyperparameter_that_nobody_reads_is_told(tmp_path: Path, script: str, told: bool) -> None:
    assert told == ("SCRIPT015" in found(tmp_path, script, rate=1))


@pytest.mark.parametrize(
    "makes",
    [
        "os.makedirs(args.held)",
        "cache = Path(args.held)\ncache.mkdir(parents=True)",
        "os.makedirs(os.path.join(args.held, 'x'))",
    ],
)
def test_a_folder_that_the_script_makes_itself_needs_no_channel(tmp_path: Path, makes: str) -> None:
    script = f"{READS}{HELD}args, _ = p.parse_known_args()\n"
    assert "DATA007" in found(tmp_path, f"{script}os.makedirs(args.output)\n", held="/opt/ml/input/data/cache")
    assert "DATA007" not in found(tmp_path, f"{script}{makes}\n", held="/opt/ml/input/data/cache")

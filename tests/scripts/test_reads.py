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
    ('open("/opt/ml/input/data/validation/x.csv")', "DATA007"),
    ('Model.from_pretrained("/opt/ml/input/data/validation")', "DATA007"),
    ('wandb.login(key=os.environ["WANDB_API_KEY"])', "SCRIPT020"),
    ('rank = int(os.environ["LOCAL_RANK"])', "SCRIPT020"),
    ('os.environ["SM_HP_RATE"]', "SCRIPT020"),
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
    'os.environ["SM_HP_EPOCHS"]',
]
IDS = {"DATA007", "SCRIPT020"}


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


def test_a_module_of_the_script_is_read_too(tmp_path: Path) -> None:
    (tmp_path / "data.py").write_text('import os\nWHERE = os.environ["SM_CHANNEL_VALIDATION"]\n')
    assert "DATA007" in found(tmp_path, f"{READS}import data\n")
    assert "DATA007" not in found(tmp_path, READS)
    (tmp_path / "data.py").write_text(
        'import os\nif __name__ == "__main__":\n    os.environ["SM_CHANNEL_VALIDATION"]\n'
    )
    assert "DATA007" not in found(tmp_path, f"{READS}import data\n")

"""Keywords that a release of transformers or trl does not have are told with the release that the job will have."""

from __future__ import annotations

from pathlib import Path

import pytest

import sm_trn as st

ARGUMENTS = "from transformers import Trainer, TrainingArguments\nTrainingArguments('o', {}='epoch')\n"


@pytest.mark.parametrize(
    ("program", "requirements", "says"),
    [
        (ARGUMENTS.format("evaluation_strategy"), "", "TrainingArguments of transformers 4.56.2 takes no evaluation_strategy"),
        (ARGUMENTS.format("eval_strategy"), "", ""),
        (ARGUMENTS.format("eval_strategy"), "transformers==4.36.2\n", "transformers 4.36.2 takes no eval_strategy"),
        (ARGUMENTS.format("evaluation_strategy"), "transformers==4.36.2\n", ""),
        (ARGUMENTS.format("evaluation_strategy"), "transformers<4.40\n", ""),
        ("from trl import SFTTrainer\nSFTTrainer('m', packing=True)\n", "trl==0.17.0\n", "SFTTrainer of trl 0.17.0 takes no packing"),
        ("from trl import SFTTrainer\nSFTTrainer('m', packing=True)\n", "trl==0.8.6\n", ""),
    ],
)  # fmt: skip
def test_a_keyword_that_the_release_does_not_have(tmp_path: Path, program: str, requirements: str, says: str) -> None:
    (tmp_path / "train.py").write_text(program)
    (tmp_path / "requirements.txt").write_text(requirements)
    job = st.JobSpec(
        name="a",
        script=st.Script("train.py", source_dir=str(tmp_path)),
        framework=st.HuggingFace("4.56.2", pytorch="2.8.0", python="py312"),
        compute=st.Compute("ml.g5.2xlarge"),
        max_run_s=3600,
    )
    told = " ".join(each.what for each in st.check(job) if each.id == "SCRIPT017")
    assert says in told
    assert bool(says) is bool(told)

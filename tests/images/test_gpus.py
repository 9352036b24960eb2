"""Precisions, kernels and versions are held against the chip; what a script decides when it runs is left alone."""

from __future__ import annotations

from pathlib import Path

import jobs
import pytest

import sm_trn as st

MODEL = "import sys\nfrom transformers import AutoModelForCausalLM as Model, TrainingArguments\n"
FLASH = f'{MODEL}Model.from_pretrained("gpt2", attn_implementation="flash_attention_2")\n'


def found(folder: Path, script: str, instance: str, framework: object = None) -> set[str]:
    (folder / "run_clm.py").write_text(script)
    job = jobs.trainium(str(folder)).replace(
        framework=framework or st.PyTorch("2.5", python="py311"),
        compute=st.Compute(instance),
        hyperparameters={},
        neuron=None,
    )
    return {problem.id for problem in st.check(job) if problem.id.startswith("CHIP")}


@pytest.mark.parametrize(
    ("script", "instance", "ids"),
    [
        (f"{MODEL}TrainingArguments('x', bf16=True)\n", "ml.g4dn.xlarge", {"CHIP001"}),
        (f"{MODEL}TrainingArguments('x', bf16=True)\n", "ml.p3.2xlarge", {"CHIP001"}),
        (f"{MODEL}TrainingArguments('x', bf16=True)\n", "ml.g5.xlarge", set()),
        (f"{MODEL}TrainingArguments('x', bf16=True, tf32=True)\n", "ml.p4d.24xlarge", set()),
        (f"{MODEL}TrainingArguments('x', bf16=sys.argv[1])\n", "ml.g4dn.xlarge", set()),
        (f"{MODEL}TrainingArguments('x', fp16=True)\n", "ml.m5.large", {"CHIP001"}),
        (f"{MODEL}TrainingArguments('x', fp16=True)\n", "ml.p3.2xlarge", set()),
        (FLASH, "ml.g4dn.xlarge", {"CHIP002"}),
        (FLASH, "ml.g5.xlarge", set()),
        ('import torch\ntorch.compile(lambda: 0, backend="neuron", dynamic=True)\n', "ml.trn2.48xlarge", {"CHIP004"}),
        (FLASH.replace('"flash_attention_2"', "sys.argv[1]"), "ml.g4dn.xlarge", set()),
        (f'{MODEL}Model.from_pretrained("gpt2", use_flash_attention_2=True)\n', "ml.p3.2xlarge", {"CHIP002"}),
    ],
)
def test_what_a_chip_lacks_is_told(tmp_path: Path, script: str, instance: str, ids: set[str]) -> None:
    assert ids == found(tmp_path, script, instance)


OWN = (
    "import argparse\nfrom transformers import TrainingArguments\nparser = argparse.ArgumentParser()\n"
    "parser.add_argument('--bf16')\nargs, _ = parser.parse_known_args()\nTrainingArguments('x', bf16=args.bf16)\n"
)


@pytest.mark.parametrize(
    ("given", "instance", "told"),
    [({"bf16": True}, "ml.p3.2xlarge", True), ({"bf16": True}, "ml.g5.xlarge", False), ({"bf16": False}, "ml.p3.2xlarge", False),
     ({}, "ml.p3.2xlarge", False)],
)  # fmt: skip
def test_a_setting_that_a_scripts_own_argument_gives_is_the_jobs_hyperparameter(
    given: dict[str, bool], instance: str, told: bool, tmp_path: Path
) -> None:
    (tmp_path / "run_clm.py").write_text(OWN)
    job = jobs.trainium(str(tmp_path)).replace(
        framework=st.PyTorch("2.5", python="py311"), compute=st.Compute(instance), hyperparameters=given, neuron=None
    )
    assert told == ("CHIP001" in {problem.id for problem in st.check(job)})


@pytest.mark.parametrize(
    ("version", "python", "instance", "told"),
    [
        ("1.12", "py38", "ml.p5.48xlarge", True), ("1.13", "py39", "ml.p5.48xlarge", True), ("2.1", "py310", "ml.p5.48xlarge", False),
        ("2.5", "py311", "ml.p6-b200.48xlarge", True), ("2.8", "py312", "ml.p6-b200.48xlarge", False),
        ("1.12", "py38", "ml.p4d.24xlarge", False),
    ],
)  # fmt: skip
def test_a_container_older_than_the_chip_is_refused(
    tmp_path: Path, version: str, python: str, instance: str, told: bool
) -> None:
    assert told == ("CHIP003" in found(tmp_path, "import sys\n", instance, st.PyTorch(version, python=python)))

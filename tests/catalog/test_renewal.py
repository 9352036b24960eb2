"""Images that an installed SDK knows and the table does not: taken from the SDK's own tables, and used like rows that ship."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ACCOUNTS = {"us-west-2": "763104351884", "eu-west-1": "763104351884"}
TABLES: dict[str, Any] = {
    "pytorch": {
        "training": {
            "versions": {"2.16.0": {"py_versions": ["py313"], "registries": ACCOUNTS, "repository": "pytorch-training"}}
        }
    },
    "pytorch-amzn2023": {
        "training": {
            "versions": {
                "2.15": {
                    "container_version": {"cpu": "cpu-amzn2023-sagemaker", "gpu": "cu133-amzn2023-sagemaker"},
                    "registries": ACCOUNTS,
                    "repository": "pytorch",
                }
            }
        }
    },
    "huggingface": {
        "training": {
            "versions": {
                "5.20.0": {
                    "version_aliases": {"pytorch2.15": "pytorch2.15.0"},
                    "pytorch2.15.0": {
                        "py_versions": ["py313"],
                        "registries": ACCOUNTS,
                        "repository": "huggingface-pytorch-training",
                        "container_version": {"gpu": "cu133-ubuntu24.04"},
                    },
                }
            }
        }
    },
}
PROGRAM = """
import sm_trn as st
from sm_trn.core.catalog import images
for framework, instance in (
    (st.PyTorch("2.16", python="py313"), "ml.g5.xlarge"),
    (st.PyTorch("2.15", python="py313"), "ml.m5.xlarge"),
    (st.HuggingFace("5.20.0", pytorch="2.15.0", python="py313"), "ml.p4d.24xlarge"),
):
    job = st.JobSpec(name="new", script=st.Script("train.py"), framework=framework, compute=st.Compute(instance))
    assert not [problem for problem in st.check(job) if problem.id.startswith("IMG")], st.check(job)
    uri = images.image_uri(job, "eu-west-1")
    at = st.specs.Destination(region="eu-west-1", role="arn:aws:iam::123456789012:role/r", bucket="b")
    call = str(st.render(job, "estimator-v2", at=at))
    assert uri in call, call
    print(uri)
"""


@pytest.fixture
def newer_sdk(tmp_path: Path) -> dict[str, str]:
    """An environment in which an SDK of tomorrow is installed: its tables and its metadata are all that is read."""
    tables = tmp_path / "sdk" / "sagemaker" / "core" / "image_uri_config"
    tables.mkdir(parents=True)
    (tmp_path / "sdk" / "sagemaker" / "__init__.py").write_text("raise RuntimeError('the SDK is read, not imported')")
    for name, body in TABLES.items():
        (tables / f"{name}.json").write_text(json.dumps(body))
    metadata = tmp_path / "sdk" / "sagemaker_core-9.9.9.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: sagemaker-core\nVersion: 9.9.9\n")
    (tmp_path / "train.py").write_text("print('hello')\n")
    return {**os.environ, "PYTHONPATH": str(tmp_path / "sdk"), "SM_TRN_CATALOG": str(tmp_path / "catalog.json")}


def run(where: Path, environment: dict[str, str], *words: str) -> str:
    done = subprocess.run(
        [sys.executable, *words], cwd=where, env=environment, capture_output=True, text=True, check=False
    )
    assert 0 == done.returncode, done.stderr
    return done.stdout


def test_images_of_a_newer_sdk_are_taken_and_used_by_every_command(newer_sdk: dict[str, str], tmp_path: Path) -> None:
    updated = run(tmp_path, newer_sdk, "-m", "sm_trn.cli", "catalog", "update")
    assert "images: 3 newer rows from sagemaker-core 9.9.9 image tables" in updated
    without_the_sdk = {name: value for name, value in newer_sdk.items() if name != "PYTHONPATH"}
    assert [
        "763104351884.dkr.ecr.eu-west-1.amazonaws.com/pytorch-training:2.16-gpu-py313",
        "763104351884.dkr.ecr.eu-west-1.amazonaws.com/pytorch:2.15-cpu-amzn2023-sagemaker",
        "763104351884.dkr.ecr.eu-west-1.amazonaws.com/huggingface-pytorch-training:2.15.0-transformers5.20.0-gpu-py313-cu133-ubuntu24.04",
    ] == run(tmp_path, without_the_sdk, "-c", PROGRAM).splitlines()
    again = run(tmp_path, newer_sdk, "-m", "sm_trn.cli", "catalog", "update")
    assert "nothing is newer than what is known already" in again

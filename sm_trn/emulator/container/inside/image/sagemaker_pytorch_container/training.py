"""Chooses the toolkit's runner as the PyTorch images do, and torchrun where the image's own cannot run on a CPU."""

from __future__ import annotations

import logging
import os
from pathlib import Path

from sagemaker_training import (  # type: ignore[import-untyped]  # the toolkit ships no types
    entry_point,
    environment,
    files,
    runner,
)

logger = logging.getLogger(__name__)

# The hyperparameters the SDK writes for `distribution=`; every one of them means workers started by torchrun here.
_DISTRIBUTED = (
    "sagemaker_torch_distributed_enabled",
    "sagemaker_distributed_dataparallel_enabled",
    "sagemaker_pytorch_ddp_enabled",
    "sagemaker_pytorch_xla_multi_worker_enabled",
    "sagemaker_mpi_enabled",
)
MASTER_PORT = "7777"


def train(training_environment: environment.Environment) -> None:
    """Run the user's script and wait for it; raises the toolkit's error when it fails."""
    os.environ["MASTER_ADDR"] = training_environment.master_hostname
    os.environ["MASTER_PORT"] = MASTER_PORT
    asked = training_environment.additional_framework_parameters
    launched = training_environment.current_instance_group in training_environment.distribution_instance_groups
    distributed = launched and any(asked.get(name) for name in _DISTRIBUTED)
    files.download_and_extract(training_environment.module_dir, environment.code_dir)
    if (Path(environment.code_dir) / "requirements.txt").exists():
        logger.warning("sm_trn emulator: requirements.txt is checked, not installed: this interpreter is yours")
    logger.info("Invoking user training script.")
    entry_point.run(
        uri=training_environment.module_dir,
        user_entry_point=training_environment.user_entry_point,
        args=training_environment.to_cmd_args(),
        env_vars=training_environment.to_env_vars(),
        capture_error=True,
        runner_type=runner.RunnerType.TorchDistributed if distributed else runner.RunnerType.Process,
        extra_opts={"sagemaker_mpi_num_of_processes_per_host": int(os.environ["SM_TRN_WORKERS"])},
    )


def main() -> None:
    train(environment.Environment())

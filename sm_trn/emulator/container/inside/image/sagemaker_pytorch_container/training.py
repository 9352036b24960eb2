"""The choice of the toolkit's runner as the PyTorch images do, and torchrun where their own cannot run on a CPU."""

from __future__ import annotations

import logging
import os

from sagemaker_training import (  # type: ignore[import-untyped]  # the toolkit ships no types
    entry_point,
    environment,
    files,
    runner,
)

logger = logging.getLogger(__name__)

MASTER_PORT = "7777"


def train(training_environment: environment.Environment) -> None:
    """Run the user's script and wait for it; raises the toolkit's error when it fails."""
    os.environ["MASTER_ADDR"] = training_environment.master_hostname
    os.environ["MASTER_PORT"] = MASTER_PORT
    workers = os.environ.get("SM_TRN_WORKERS")  # only where the emulator decided that torchrun starts some
    launched = training_environment.current_instance_group in training_environment.distribution_instance_groups
    distributed = launched and workers is not None
    files.download_and_extract(training_environment.module_dir, environment.code_dir)
    logger.info("Invoking user training script.")
    entry_point.run(
        uri=training_environment.module_dir,
        user_entry_point=training_environment.user_entry_point,
        args=training_environment.to_cmd_args(),
        env_vars=training_environment.to_env_vars(),
        capture_error=True,
        runner_type=runner.RunnerType.TorchDistributed if distributed else runner.RunnerType.Process,
        extra_opts={"sagemaker_mpi_num_of_processes_per_host": int(workers or 1)},
    )


def main() -> None:
    train(environment.Environment())

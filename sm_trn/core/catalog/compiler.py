"""The machines and versions that SageMaker Training Compiler and the data-parallel library support. Both are frozen by AWS.

Sources: SageMaker developer guide, training-compiler-support and distributed-data-parallel-support; the rules that SDK
v2.257.7 enforces in ``sagemaker.huggingface.training_compiler.config``.
"""

from __future__ import annotations

from typing import Final

COMPILER_FAMILIES: Final = ("p3", "p3dn", "g4dn", "p4d", "g5")
COMPILER_NOTICE: Final = "AWS makes no new releases of the Training Compiler and no longer patches its images"

SMDDP_INSTANCES: Final = ("ml.p4d.24xlarge", "ml.p4de.24xlarge")
SMDDP_LEGACY: Final = ("ml.p3dn.24xlarge", "ml.p3.16xlarge")  # no further development; gone from the current guide
SMDDP_PYTORCH: Final = (
    "1.6.0", "1.7.1", "1.8.0", "1.8.1", "1.9.0", "1.9.1", "1.10.0", "1.10.2", "1.11.0", "1.12.0",
    "1.12.1", "1.13.1", "2.0.0", "2.0.1", "2.1.0", "2.1.2", "2.2.0",
)  # fmt: skip
# What SDK v2 compares version arguments with, letter by letter: fw_utils.SM_DATAPARALLEL_SUPPORTED_FRAMEWORK_VERSIONS and
# TORCH_DISTRIBUTED_GPU_SUPPORTED_FRAMEWORK_VERSIONS of 2.257.7.
SMDDP_SPELLINGS: Final = frozenset({*SMDDP_PYTORCH, "1.6", "1.7", "1.8", "1.9", "1.10", "1.11", "1.12"})
TORCHRUN_SPELLINGS: Final = frozenset(
    {
        "1.13.1", "2.0.0", "2.0.1", "2.1.0", "2.1.2", "2.2.0", "2.3.0", "2.3.1", "2.4.1", "2.5.1", "2.6.0", "2.7.1", "2.8.0",
    }
)  # fmt: skip

SMP_V2_FAMILIES: Final = ("p5", "p5e", "p5en")  # newer than the last release of version 1 of the model-parallel library

# The GPU versions that SDK v2 accepts with torch_distributed; older containers have no such launcher.
TORCHRUN_GPU_FLOOR: Final = (1, 13)


def has_torchrun(pytorch: str) -> bool:
    """Return True if GPU containers of this PyTorch start workers with torchrun. A version that is not known has it."""
    version = tuple(int(part) for part in pytorch.split(".")[:2] if part.isdigit())
    return not version or version >= TORCHRUN_GPU_FLOOR

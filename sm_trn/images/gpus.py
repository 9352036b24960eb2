"""What NVIDIA says of its chips: their compute capability, and the first CUDA that has code for them."""

from __future__ import annotations

# Source: NVIDIA, CUDA GPUs and Legacy CUDA GPUs.
CAPABILITY = {
    "K80": 3.7, "V100": 7.0, "T4": 7.5, "A100-40GB": 8.0, "A100-80GB": 8.0, "A10G": 8.6, "L4": 8.9, "L40S": 8.9,
    "H100-80GB": 9.0, "H200": 9.0, "B200": 10.0, "GB200": 10.0, "B300": 10.3,
}  # fmt: skip
# What is compiled for a major version runs on its later minor ones. Source: release notes of CUDA 11.0, 11.8 and 12.8.
_FIRST_CUDA = ((10.0, (12, 8)), (9.0, (11, 8)), (8.0, (11, 0)))


def first_cuda(chip: str | None) -> tuple[int, int] | None:
    """The first CUDA that compiles for a chip; None where that is not known, or so old that it does not matter.

    >>> first_cuda("H100-80GB")
    (11, 8)
    """
    capability = CAPABILITY.get(chip or "", 0.0)
    return next((cuda for least, cuda in _FIRST_CUDA if capability >= least), None)

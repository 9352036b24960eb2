"""Which training toolkit AWS's images have, as far as it decides what a script is given.

Before its release 5.1.3 of 12 October 2026 the toolkit joined the words of a command with spaces, and a shell read them once more.
Source: sagemaker-training 5.1.2 and 5.1.3, process.py, run_async; the days of both on PyPI.
"""

from __future__ import annotations

from typing import Final

# The newest PyTorch whose images AWS had stopped to patch on that day: images.json, support.
LAST_WITH_SHELL: Final = (2, 8)


def shell_reads(pytorch: str) -> bool | None:
    """Whether a shell reads a script's arguments in images of a PyTorch; None where an image may have either toolkit.

    >>> shell_reads("2.5.1"), shell_reads("2.10.0")
    (True, None)
    """
    major, minor = pytorch.split(".")[:2]
    return True if (int(major), int(minor)) <= LAST_WITH_SHELL else None

"""This program stands before torchrun on an emulated host's PATH and points it at this job's own port on this machine.

The toolkit always asks for port 7777 (and torchrun itself for 29500), so two jobs at a time would meet there.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

_VALUELESS = (
    "--standalone", "--module", "-m", "--no-python", "--no_python", "--run-path", "--run_path", "--help", "-h",
)  # fmt: skip
_NAMES = ("--master-addr", "--master-port")


def rewritten(arguments: list[str], port: str) -> list[str]:
    """Return the same arguments with every master address and port of torchrun's own replaced, or added when missing."""
    options, script = _split(arguments)
    if any(option.startswith(("--rdzv", "--standalone")) for option in options):
        return arguments
    kept, skip = [], False
    for option in options:
        name = option.partition("=")[0].replace("_", "-")
        if skip:
            skip = False
        elif name in _NAMES:
            skip = "=" not in option
        else:
            kept.append(option)
    return [*kept, "--master_addr", "127.0.0.1", "--master_port", port, *script]


def _split(arguments: list[str]) -> tuple[list[str], list[str]]:
    """torchrun's own options, and the script with its arguments."""
    at = 0
    while at < len(arguments) and arguments[at].startswith("-"):
        at += 1 if "=" in arguments[at] or arguments[at] in _VALUELESS else 2
    return arguments[:at], arguments[at:]


def main() -> None:
    python = os.environ["SM_TRN_PYTHON"]
    arguments = rewritten(sys.argv[1:], os.environ["SM_TRN_MASTER_PORT"])
    real = Path(python).with_name("torchrun")
    program = [str(real)] if real.exists() else ["-m", "torch.distributed.run"]
    os.execv(python, [python, *program, *arguments])  # noqa: S606 - the job's own program, without a shell


if __name__ == "__main__":
    main()

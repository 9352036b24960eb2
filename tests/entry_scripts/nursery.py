"""A process that has torch and transformers loaded and forks one child for each run it is asked for.

A run under test is thus a process of its own, which can be killed, and yet starts in milliseconds. Reads one JSON object
a line: script, argv, folder, log, file_limit; answers with the child's pid and, when it has ended, its exit code.
"""

from __future__ import annotations

import importlib
import json
import os
import resource
import signal
import sys
from pathlib import Path
from typing import Any


def child(asked: dict[str, Any]) -> None:
    """Never returns."""
    os.chdir(asked["folder"])
    log = os.open(asked["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(log, 1)
    os.dup2(log, 2)
    if asked["file_limit"]:
        # A file that may not grow stands for a disk that is full: the write fails after some bytes.
        resource.setrlimit(resource.RLIMIT_FSIZE, (asked["file_limit"], asked["file_limit"]))
    from _console import exit_code_of

    main = importlib.import_module(asked["script"]).main
    code = 70
    try:
        code = exit_code_of(lambda: main(asked["argv"]))
    except BaseException:
        import traceback

        traceback.print_exc()
        raise
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def main() -> None:
    sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "entry_scripts"))
    importlib.import_module("_trainer")
    importlib.import_module("accelerate")  # loaded before the first child is
    import torch

    torch.set_num_threads(1)
    print("ready", flush=True)
    for line in sys.stdin:
        asked = json.loads(line)
        pid = os.fork()
        if pid == 0:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            child(asked)
        print(pid, flush=True)
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)


if __name__ == "__main__":
    main()

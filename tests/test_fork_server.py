"""The quick Python ends, prints and dies as the real one does."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from fork_server import python_with
from waiting import within

CODES = (
    "print('said'); import sys; print('heard', sys.argv[1:], file=sys.stderr)",
    "raise SystemExit(3)",
    "raise SystemExit('a reason')",
    "raise SystemExit(None)",
    "import os; os._exit(7)",
    "import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
    "import os, signal; os.kill(os.getpid(), signal.SIGTERM)",
    "import atexit; atexit.register(print, 'at the end')",
    "import threading, time; threading.Thread(target=lambda: (time.sleep(0.1), print('a thread'))).start()",
    "import os; print(os.getcwd(), os.environ['MINE'], os.environ.get('HOME'), __name__)",
    "import sys; print(sys.stdin.read())",
)


def ended(python: str, *arguments: str, folder: Path, said: str = "") -> tuple[int, str, str]:
    environment = {**os.environ, "MINE": "yes", "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": ""}
    environment.pop("HOME", None)
    done = subprocess.run(
        [python, *arguments], input=said, capture_output=True, text=True, cwd=folder, env=environment, check=False
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("code", CODES)
def test_it_ends_and_prints_as_a_new_interpreter_does(code: str, tmp_path: Path) -> None:
    quick, real = (ended(p, "-c", code, "a b", folder=tmp_path, said="typed") for p in (python_with(), sys.executable))
    assert real == quick


def test_a_file_and_a_module_are_run_as_main_beside_what_lies_with_them(tmp_path: Path) -> None:
    (tmp_path / "beside.py").write_text("WORD = 'found'\n")
    (tmp_path / "main.py").write_text("import sys, beside\nprint(__name__, beside.WORD, sys.argv[1:])\n")
    for arguments in (("main.py", "x"), ("-u", "main.py", "x"), ("-m", "main", "x")):
        quick, real = (ended(p, *arguments, folder=tmp_path) for p in (python_with(), sys.executable))
        assert real == quick
        assert "__main__ found ['x']\n" == real[1]


def test_an_exception_is_shown_and_is_exit_code_1(tmp_path: Path) -> None:
    code, _, said = ended(python_with(), "-c", "1 / 0", folder=tmp_path)
    assert 1 == code
    assert said.endswith("ZeroDivisionError: division by zero\n")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGUSR1])
def test_signals_are_passed_on(number: signal.Signals, tmp_path: Path) -> None:
    code = (
        "import os, signal, sys, time\n"  # the signal may come while "ready" is still being written: no print in the handler
        f"signal.signal({int(number)}, lambda *_: (os.write(1, b'caught\\n'), sys.exit(9)))\n"
        "print('ready', flush=True)\ntime.sleep(60)"
    )
    process = subprocess.Popen([python_with(), "-c", code], stdout=subprocess.PIPE, text=True, cwd=tmp_path)
    assert process.stdout is not None
    assert "ready\n" == process.stdout.readline()
    process.send_signal(number)
    assert ("caught\n", None) == process.communicate(timeout=30)  # type: ignore[comparison-overlap]  # stderr is not caught
    assert 9 == process.returncode


def test_a_run_that_is_killed_leaves_nothing_behind(tmp_path: Path) -> None:
    code = "import os, time; print(os.getpid(), flush=True); time.sleep(60)"
    process = subprocess.Popen([python_with(), "-c", code], stdout=subprocess.PIPE, text=True, cwd=tmp_path)
    assert process.stdout is not None
    pid = int(process.stdout.readline())
    process.kill()
    assert "" == process.communicate(timeout=30)[0]  # the pipe is closed by whoever has it last
    assert within(lambda: not Path(f"/proc/{pid}").exists(), 30)

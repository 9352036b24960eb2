"""A program in the sandbox is ended at its limits, sees nothing of its user, and tells what it lacks."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sm_trn import sandbox
from sm_trn.core.errors import SmTrnError

sealed = pytest.mark.skipif(not sandbox.available(), reason="this machine has no sandbox")


def run(folder: Path, code: str, *, limits: sandbox.Limits | None = None, **more: object) -> sandbox.Outcome:
    (folder / "program.py").write_text(code)
    with sandbox.workspace(folder) as work:
        program = sandbox.Program(
            argv=["python", "program.py"],
            folder=work.folder,
            environment={},
            limits=limits or sandbox.Limits(seconds=60),
            **more,  # type: ignore[arg-type]  # fields of it
        )
        return sandbox.run(program, work, trusted=True)


HOSTILE = {
    "it ran longer than 1 s": ("import time\ntime.sleep(100)", sandbox.Limits(seconds=1)),
    "it started more than 40 processes": ("import os\nwhile True: os.fork()", sandbox.Limits(seconds=60, processes=40)),
    "it printed more than 8 MB": (
        "import sys\nwhile True: sys.stdout.write('x' * 1_000_000)",
        sandbox.Limits(seconds=60, output_mb=8),
    ),
    "it wrote more than 100 MB to disk": (
        "n = 0\nwhile True:\n    n += 1\n    open(f'data-{n}', 'wb').write(bytes(10_000_000))",
        sandbox.Limits(seconds=60, disk_mb=100),
    ),
    "it used more than 300 MB of memory": (
        "import os, time\nos.fork(); os.fork()\nheld = bytearray(150_000_000)\ntime.sleep(60)",
        sandbox.Limits(seconds=60, memory_mb=300),
    ),
}


@sealed
@pytest.mark.parametrize("limit", HOSTILE)
def test_a_hostile_program_is_ended_and_its_limit_is_named(limit: str, tmp_path: Path) -> None:
    code, limits = HOSTILE[limit]
    outcome = run(tmp_path, code, limits=limits)
    assert (limit, 124) == (outcome.limit, outcome.exit_code)
    assert [tmp_path / "program.py"] == list(tmp_path.iterdir())


@sealed
@pytest.mark.parametrize(
    "code",
    [
        "held = bytearray(2_000_000_000)",
        "open('large', 'wb').write(bytes(1_500_000_000))",
        "open('/tmp/large', 'wb').write(bytes(1_500_000_000))",
    ],
)
def test_one_process_meets_its_limits_as_errors_of_its_own(code: str, tmp_path: Path) -> None:
    outcome = run(tmp_path, code, limits=sandbox.Limits(seconds=60, memory_mb=1600, disk_mb=200))
    assert 1 == outcome.exit_code
    assert "MemoryError" in outcome.output or "File too large" in outcome.output


@sealed
def test_long_output_keeps_its_ends(tmp_path: Path) -> None:
    outcome = run(tmp_path, "print('first')\nprint('x' * 5_000_000)\nprint('last')")
    assert outcome.output.startswith("first\n")
    assert outcome.output.endswith("\nlast\n")
    assert "[...]" in outcome.output
    assert len(outcome.output) < 3_000_000


@sealed
def test_the_home_is_empty_and_tmp_is_its_own(tmp_path: Path) -> None:
    code = (
        "import os, pwd\nhome = pwd.getpwuid(os.getuid()).pw_dir\n"
        "print([entry.name for entry in os.scandir(home) if entry.is_file()])\n"
        "open('/tmp/own', 'w').write('1'); print(open('/tmp/own').read(), os.environ['HOME'] != home)"
    )
    outcome = run(tmp_path, code)
    assert "[]\n1 True\n" == outcome.output
    assert not Path("/tmp/own").exists()


def test_no_secret_of_this_environment_is_seen(tmp_path: Path) -> None:
    program = (
        "import sys; sys.path.insert(0, sys.argv[1])\nimport os\nfrom pathlib import Path\n"
        "os.environ.update(AWS_SECRET_ACCESS_KEY='mine', HF_TOKEN='mine', MY_API_KEY='mine')\n"
        "from sm_trn import sandbox\n"
        "with sandbox.workspace(Path(sys.argv[2])) as work:\n"
        "    program = sandbox.Program(argv=['python', 'program.py'], folder=work.folder, environment={'GIVEN': 'yes'})\n"
        "    print(sandbox.run(program, work, trusted=True).output)\n"
    )
    (tmp_path / "program.py").write_text(
        "import os\nprint([value for value in os.environ.values() if value == 'mine'], os.environ['GIVEN'])"
    )
    command = [sys.executable, "-c", program, str(Path(sandbox.__file__).parents[2]), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert "[] yes" in done.stdout, done.stderr


def test_hooks_tell_what_the_sandbox_returns(tmp_path: Path) -> None:
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    (hooks / "my_hook.py").write_text(
        "from sitecustomize import SETTINGS, on_import, tell\n"
        "on_import('colorsys', lambda module: tell('seen', name=module.__name__, given=SETTINGS['given']))\n"
    )
    folder = tmp_path / "work"
    folder.mkdir()
    outcome = run(
        folder,
        "import colorsys\nimport absent_module.part\ntry:\n    import other_absent\nexcept ImportError:\n    print('tried')\n",
        hooks=[hooks / "my_hook.py"],
        settings={"given": 3},
    )
    assert "tried\n" == outcome.output
    assert (
        {"kind": "seen", "name": "colorsys", "given": 3},
        {"kind": "stand-in", "name": "absent_module"},
    ) == outcome.notes


def test_an_address_is_refused_and_named(tmp_path: Path) -> None:
    outcome = run(tmp_path, "import urllib.request\nurllib.request.urlopen('http://192.0.2.1/')")
    assert "there is no network in the sandbox; name 192.0.2.1 was refused" in outcome.output
    assert {"kind": "refused", "what": "name", "detail": "192.0.2.1"} in outcome.notes


@sealed
def test_what_leaves_its_group_ends_with_it(tmp_path: Path) -> None:
    mark = f"stays-{os.getpid()}"
    stays = "import os, time; os.setsid(); print('started', flush=True); time.sleep(1e6)"
    outcome = run(
        tmp_path,
        f"import subprocess, sys\nchild = subprocess.Popen([sys.executable, '-c', {stays!r}, {mark!r}], stdout=subprocess.PIPE)\n"
        "print('CHILD', child.stdout.readline())\n",
    )
    assert "CHILD b'started" in outcome.output
    assert [] == [path for path in Path("/proc").glob("[0-9]*/cmdline") if has(path, mark)]


def has(path: Path, mark: str) -> bool:
    try:
        return mark.encode() in path.read_bytes()
    except OSError:
        return False


def test_a_log_that_the_program_made_of_it_is_no_note(tmp_path: Path) -> None:
    code = "import json, os\nlog = json.loads(os.environ['SM_TRN_SANDBOX'])['log']\nopen(log, 'w').write('{}\\n[1]\\nx\\n' * 3_000_000)"
    outcome = run(tmp_path, code)
    assert 0 == outcome.exit_code
    assert all(note == {} for note in outcome.notes)


# A machine whose calls are filtered, as in many containers: user namespaces cannot be made there.
WITHOUT_NAMESPACES = """
import ctypes, os, struct, sys
lines = [(32, 0, 0, 0), (21, 0, 1, int(sys.argv[1])), (6, 0, 0, 0x50001), (6, 0, 0, 0x7FFF0000)]
code = b"".join(struct.pack("HBBI", *line) for line in lines)
buffer = ctypes.create_string_buffer(code, len(code))
head = ctypes.create_string_buffer(struct.pack("HxxxxxxP", 4, ctypes.addressof(buffer)), 16)
libc = ctypes.CDLL(None)
assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, ctypes.c_ulong(ctypes.addressof(head)), 0, 0) == 0
os.execv(sys.executable, [sys.executable, "-m", "sm_trn.cli", "import", *sys.argv[2:]])
"""


@sealed
@pytest.mark.parametrize("trust", [False, True])
def test_without_namespaces_only_what_is_trusted_runs(trust: bool, tmp_path: Path) -> None:
    (tmp_path / "launch.py").write_text(
        "import boto3\nprint(boto3.client('sts').get_caller_identity())\nopen('ran', 'w')\n"
    )
    unshare = {"x86_64": "272", "aarch64": "97"}[os.uname().machine]
    command = [sys.executable, "-c", WITHOUT_NAMESPACES, unshare, *(["--trust"] if trust else []), "launch.py"]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False, stdin=subprocess.DEVNULL
    )
    assert "run only code that you trust" in (done.stdout if trust else done.stderr)
    assert trust == ("1 call" in done.stdout)


def test_a_folder_that_is_too_large_is_refused(tmp_path: Path) -> None:
    with (tmp_path / "large").open("wb") as file:
        file.truncate(2_000_000_000)
    with pytest.raises(SmTrnError, match="wanted one that can be copied"), sandbox.workspace(tmp_path):
        pass

"""Blocks of megabytes that a step frees are there for the next step, unless the user has set malloc's thresholds."""

from __future__ import annotations

import os
import platform
import subprocess
import sys

import pytest
from kit.device import keep_memory

from launch import SCRIPTS

# Four blocks of 12 MB at once, written and freed, 50 times: on pages that the system has cleared, or on the same ones.
FAULTS = """
import ctypes, resource, sys
from kit.device import keep_memory
if sys.argv[1] == "kept":
    assert keep_memory({})
libc, size = ctypes.CDLL(None), 12_000_000
libc.malloc.restype = ctypes.c_void_p
def step():
    blocks = [ctypes.c_void_p(libc.malloc(ctypes.c_size_t(size))) for _ in range(4)]
    for block in blocks:
        ctypes.memset(block, 1, size)
    for block in blocks:
        libc.free(block)
for _ in range(3):
    step()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(50):
    step()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="mallopt is glibc's")
def test_what_a_step_frees_is_not_cleared_again_for_the_next() -> None:
    pages = 50 * 4 * 12_000_000 // os.sysconf("SC_PAGE_SIZE")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("MALLOC_", "GLIBC_"))}

    def faults(how: str) -> int:
        command = [sys.executable, "-c", FAULTS, how]
        found = subprocess.run(
            command, env={**environment, "PYTHONPATH": str(SCRIPTS)}, capture_output=True, text=True, check=True
        )
        return int(found.stdout)

    assert faults("kept") < pages / 50 < faults("as it comes")


@pytest.mark.parametrize(
    "setting", [{"MALLOC_TRIM_THRESHOLD_": "1000"}, {"GLIBC_TUNABLES": "glibc.malloc.mmap_threshold=4096"}]
)
def test_what_the_user_has_set_stays(setting: dict[str, str]) -> None:
    assert not keep_memory(setting)


def test_other_settings_do_not_matter() -> None:
    other = {"MALLOC_ARENA_MAX": "2", "GLIBC_TUNABLES": "glibc.cpu.x86_shstk=off"}
    assert keep_memory(other) == (platform.libc_ver()[0] == "glibc")

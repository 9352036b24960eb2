"""This program makes an environment of a job's own on top of a Python that is not its own, and becomes the program of the job.

What pip installs there comes before what that Python has, and leaves it as it is. It runs in every Python of an image, and must not
import anything beyond the standard library.
"""

from __future__ import annotations

import ctypes
import os
import sys
import sysconfig
import venv
from pathlib import Path

_PR_CAPBSET_DROP, _CAP_DAC_OVERRIDE = 24, 1  # prctl(2), capabilities(7)


def create(home: Path) -> None:
    """Make it: the other Python's packages behind its own, and the other's programs under its own Python."""
    below = Path(sys.executable).parent
    venv.EnvBuilder(with_pip=False, symlinks=True).create(home)
    packages = Path(sysconfig.get_paths(vars={"base": str(home), "platbase": str(home)})["purelib"])
    isolated = "'pip-build-env-' in os.environ.get('PYTHONPATH', '')"  # pip hides what is installed from a build
    folders = [path for path in sys.path if path.endswith(("site-packages", "dist-packages"))]
    lines = [f"import os, site; {isolated} or site.addsitedir({folder!r})\n" for folder in folders]
    (packages / "_below.pth").write_text("".join(lines), "utf-8")
    old, new = f"#!{below}/".encode(), f"#!{home}/bin/".encode()
    for program in below.iterdir():
        copy = home / "bin" / program.name
        if program.is_symlink() or not program.is_file() or copy.exists():
            continue
        with program.open("rb") as source:
            if source.read(len(old)) == old:
                copy.write_bytes(new + source.read())
                copy.chmod(0o755)


def main() -> None:
    home, program = Path(sys.argv[1]), sys.argv[2:]
    if not home.exists():
        create(home)
    if "SM_TRN_READ_ONLY" in os.environ:  # else the root of a namespace may write what nobody may
        ctypes.CDLL(None).prctl(_PR_CAPBSET_DROP, _CAP_DAC_OVERRIDE, 0, 0, 0)
    os.execv(program[0], program)  # noqa: S606 - the job's own program, without a shell


if __name__ == "__main__":
    main()

"""This program makes a job's own environment on top of its image's twin, and becomes the program of the job.

What pip installs there comes before what the twin has, and leaves the twin as it is. It runs in every Python of an image, and must not
import anything beyond the standard library.
"""

from __future__ import annotations

import os
import sys
import sysconfig
import venv
from pathlib import Path


def environment(home: Path) -> None:
    """Make it: the twin's packages behind its own, and the twin's programs under its own Python."""
    twin = Path(sys.prefix)
    venv.EnvBuilder(with_pip=False, symlinks=True).create(home)
    packages = Path(sysconfig.get_paths(vars={"base": str(home), "platbase": str(home)})["purelib"])
    behind = sysconfig.get_paths()["purelib"]
    isolated = "'pip-build-env-' in os.environ.get('PYTHONPATH', '')"  # pip hides what is installed from a build
    line = f"import os, site; {isolated} or site.addsitedir({behind!r})\n"
    (packages / "_twin.pth").write_text(line, "utf-8")
    old, new = f"#!{twin}/bin/", f"#!{home}/bin/"
    for program in (twin / "bin").iterdir():
        beside = home / "bin" / program.name
        if program.is_symlink() or not program.is_file() or beside.exists():
            continue
        text = program.read_bytes()
        if text.startswith(old.encode()):
            beside.write_bytes(new.encode() + text[len(old.encode()) :])
            beside.chmod(0o755)


def main() -> None:
    home, program = Path(sys.argv[1]), sys.argv[2:]
    if not home.exists():
        environment(home)
    os.execv(program[0], program)  # noqa: S606 - the job's own program, without a shell


if __name__ == "__main__":
    main()

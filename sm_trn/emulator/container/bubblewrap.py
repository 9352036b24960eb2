"""The same host as the warden furnishes, furnished by bubblewrap: for machines that let only it make namespaces.

It must not know what runs on the host. https://github.com/containers/bubblewrap
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .host import HostSpec

SEEN_SPEC: Final = "/opt/sm_trn/spec.json"


def available() -> bool:
    return shutil.which("bwrap") is not None


def command(spec: HostSpec, file: Path, warden: Path) -> list[str]:
    """How to start the warden of a host whose specification is in ``file``: PID 1 of a namespace, and gone with us."""
    arguments = ["--unshare-user", "--unshare-pid", "--unshare-uts", "--uid", "0", "--gid", "0"]
    arguments += [
        "--hostname",
        spec.hostname,
        "--as-pid-1",
        "--die-with-parent",
        "--dev-bind",
        "/",
        "/",
        "--tmpfs",
        "/opt",
    ]
    arguments += _opt_again()
    arguments += ["--bind", spec.ml, "/opt/ml", "--bind", spec.own, "/opt/sm_trn", "--ro-bind", str(file), SEEN_SPEC]
    arguments += ["--ro-bind", spec.hosts, "/etc/hosts"]
    for path in spec.hidden:
        if Path(path).is_dir():
            arguments += ["--tmpfs", path]
        elif Path(path).is_file():
            arguments += ["--ro-bind", os.devnull, path]
    arguments += ["--proc", "/proc", "--chdir", "/"]
    return [shutil.which("bwrap") or "bwrap", *arguments, "--", *_warden(warden)]


def _warden(warden: Path) -> Sequence[str]:
    return (sys.executable, "-I", "-S", str(warden), SEEN_SPEC)


def _opt_again() -> list[str]:
    """What else lies in /opt: a Python, often."""
    found = []
    for entry in sorted(Path("/opt").iterdir()):
        if entry.is_symlink():
            found += ["--symlink", str(entry.readlink()), str(entry)]
        elif entry.name not in {"ml", "sm_trn"}:
            found += ["--dev-bind", str(entry), str(entry)]
    return found

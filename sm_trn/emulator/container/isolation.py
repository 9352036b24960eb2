"""How far a job can be isolated here: by a namespace, by bubblewrap, or by a folder only.

A folder is all that macOS has; there ``PORTABLE`` also does without what Linux alone has: /proc, prctl, the training toolkit.

In a namespace a host has the real /opt/ml, its own host name and process table, and
no sight of the user's AWS files; it is still no sandbox: the job runs as the user.
"""

from __future__ import annotations

import enum
import os
import sys
import tempfile
from pathlib import Path

from ...core.isolation.container_init import CREDENTIALS, HostSpec, bubblewrap
from .host import Host

_PROBE_S = 10.0
_OWN = (
    "endpoint.json", "emulator.db", "emulator.db-wal", "emulator.db-shm", "jobs", "s3", "logs", "metrics", "tmp", "hosted",
    "hosted-logs", "regions",
)  # fmt: skip


class Isolation(enum.Enum):
    """``value`` is what status and the job's log say."""

    NAMESPACE = "user namespace, /opt/ml"
    BUBBLEWRAP = "bubblewrap, /opt/ml"
    FOLDER = "plain folder, SAGEMAKER_BASE_DIR"
    PORTABLE = "plain folder, SAGEMAKER_BASE_DIR, POSIX only"

    @property
    def inside(self) -> bool:
        """Whether a host has the real /opt/ml."""
        return self in {Isolation.NAMESPACE, Isolation.BUBBLEWRAP}


def hidden_paths(state: Path) -> tuple[str, ...]:
    """Return what a job in a namespace finds empty: where people keep credentials, and the emulator's own key."""
    return (*(str(Path.home() / name) for name in CREDENTIALS), *(str(state / name) for name in _OWN))


def probe(wanted: str, scratch: Path) -> Isolation:
    """Return the best that works here, or what is ``wanted`` where it does: it is tried, not guessed from version numbers."""
    if wanted == "portable" or not sys.platform.startswith("linux"):
        return Isolation.PORTABLE
    if wanted == "folder" or not Path("/opt").is_dir() or not Path("/proc/self/ns/user").exists():
        return Isolation.FOLDER
    if wanted != "bubblewrap" and _works(Isolation.NAMESPACE, scratch):
        return Isolation.NAMESPACE
    if wanted != "namespace" and bubblewrap() and _works(Isolation.BUBBLEWRAP, scratch):
        return Isolation.BUBBLEWRAP
    return Isolation.FOLDER


def _works(tier: Isolation, scratch: Path) -> bool:
    with tempfile.TemporaryDirectory(dir=scratch) as folder:
        root = Path(folder)
        for name in ("ml", "own", "stage"):
            (root / name).mkdir()
        (root / "hosts").write_text("127.0.0.1 localhost algo-1\n", encoding="ascii")
        spec = HostSpec(
            namespace=tier is Isolation.NAMESPACE,
            bubblewrap=tier is Isolation.BUBBLEWRAP,
            hostname="algo-1",
            argv=("/bin/sh", "-c", 'test -d /opt/ml && test "$(uname -n)" = algo-1'),
            env={"PATH": os.defpath},
            cwd="/",
            ml=str(root / "ml"),
            own=str(root / "own"),
            stage=str(root / "stage"),
            hosts=str(root / "hosts"),
            hidden=(),
        )
        host = Host("probe", spec, root / "spec.json", lambda _at, _line: None, lambda: None)
        if not host.join(_PROBE_S):
            host.kill()
            host.join(_PROBE_S)
        return host.code == 0

"""A Slurm cluster of two nodes on this machine: Slurm's own daemons and munge's, with a configuration in a temporary folder.

Not a fake: what a distribution's packages ``slurm-wlm`` and ``munge`` install is started on loopback, and ended with the block.
"""

from __future__ import annotations

import contextlib
import getpass
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "srun", "scontrol")
NODES = ("n1", "n2")
PATH = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
ENDED = ("COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL")
CONFIGURATION = """
ClusterName=tests
SlurmctldHost=localhost
SlurmUser={user}
SlurmdUser={user}
SlurmctldPort={ports[0]}
FirstJobId={first}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
MpiDefault=none
SchedulerParameters=sched_interval=1,bf_interval=1
KillWait=5
NodeName=n1 NodeHostname=localhost NodeAddr=127.0.0.1 Port={ports[1]} CPUs=1
NodeName=n2 NodeHostname=localhost NodeAddr=127.0.0.1 Port={ports[2]} CPUs=1
PartitionName=main Nodes=ALL Default=YES State=UP
"""


def missing() -> list[str]:
    """The programs that are not installed here."""
    return [name for name in PROGRAMS if shutil.which(name, path=PATH) is None]


@dataclass(frozen=True, slots=True)
class Cluster:
    """``environment`` makes Slurm's commands speak to this cluster."""

    environment: dict[str, str]

    def ask(self, *command: str, folder: Path | None = None) -> str:
        """What a command answers. Raises CalledProcessError, with what it said, where it fails."""
        program = shutil.which(command[0], path=PATH) or command[0]
        return subprocess.run(
            [program, *command[1:]], env=self.environment, cwd=folder, check=True, capture_output=True, text=True, timeout=60
        ).stdout.strip()  # fmt: skip

    def state_of(self, job: str) -> str:
        """The job's state in Slurm's word."""
        words = self.ask("scontrol", "--oneliner", "show", "job", job).split()
        return next(word.partition("=")[2] for word in words if word.startswith("JobState="))

    def until(self, job: str, *states: str) -> str:
        """Wait until the job is in one of the states, and say in which. Raises TimeoutError."""
        deadline = time.monotonic() + 240
        while (state := self.state_of(job)) not in states:
            if time.monotonic() > deadline:
                raise TimeoutError(f"job {job} is {state}, wanted one of {', '.join(states)}")
            time.sleep(0.2)
        return state


def _free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as open_sockets:
        probes = [open_sockets.enter_context(socket.socket()) for _ in range(count)]
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return [probe.getsockname()[1] for probe in probes]


@contextlib.contextmanager
def cluster(folder: Path, **variables: str) -> Iterator[Cluster]:
    """A cluster whose commands, and jobs, have ``variables`` besides this process's own. ``folder`` has a short path: sockets."""
    folder.chmod(0o755)  # munge refuses a socket that others could not reach
    key = folder / "munge.key"
    key.write_bytes(os.urandom(1024))
    key.chmod(0o400)
    (folder / "state").mkdir()
    configuration = folder / "slurm.conf"
    ports = _free_ports(3)
    first = 1 + int.from_bytes(os.urandom(2), "big")  # the rendezvous has a port by the job's number
    configuration.write_text(CONFIGURATION.format(user=getpass.getuser(), ports=ports, folder=folder, first=first))
    environment = {**os.environ, "PATH": PATH, "SLURM_CONF": str(configuration), **variables}
    files = (
        "key-file=munge.key",
        "socket=munge.socket",
        "pid-file=munged.pid",
        "log-file=munged.log",
        "seed-file=munge.seed",
    )
    options = [f"--{name}={folder}/{file}" for name, file in (each.split("=") for each in files)]
    daemons = [
        ["munged", "--foreground", *options],
        ["slurmctld", "-D"],
        *(["slurmd", "-D", "-N", node] for node in NODES),
    ]
    running: list[subprocess.Popen[bytes]] = []
    made = Cluster(environment)
    try:
        for daemon in daemons:
            program = shutil.which(daemon[0], path=PATH) or daemon[0]
            running.append(
                subprocess.Popen(
                    [program, *daemon[1:]], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
                )
            )
        _until_idle(made, folder)
        yield made
    finally:
        for process in reversed(running):
            process.terminate()
        for process in running:
            process.wait(20)


def _until_idle(made: Cluster, folder: Path) -> None:
    deadline = time.monotonic() + 60
    while True:
        with contextlib.suppress(subprocess.CalledProcessError):
            if made.ask("sinfo", "--noheader", "--format=%T %D") == "idle 2":
                return
        if time.monotonic() > deadline:
            logs = "\n".join(path.read_text("utf-8", "replace")[-2000:] for path in folder.glob("*.log"))
            raise TimeoutError(f"the cluster did not come up:\n{logs}")
        time.sleep(0.2)

"""These values are known to both sides of the emulator: where it is, and how it was asked to behave.

It must import nothing heavy: the public module of the package brings it in.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Final

EMULATED_ACCOUNT: Final = "000000000000"  # that of core.specs.snapshot, which takes long to load
ROLE_NAME: Final = "SageMakerExecutionRole"
EMULATED_TAG: Final = "sm_trn:emulated"
SUBSTITUTED_TAG: Final = "sm_trn:substituted"
TWIN_TAG: Final = "sm_trn:twin"  # its value is a folder of the state's twins
DEVICE: Final = "SM_TRN_DEVICE"  # of a job's environment: ``neuron`` has that device simulated, whatever the machine
DATA_FOLDER: Final = "sm_trn-aws"  # of a state: what botocore is to know of us
SDK_DEFAULTS: Final = "sagemaker.yaml"  # in it: the defaults of SageMaker's SDK
_ADMIN_DEFAULTS: Final = "SAGEMAKER_ADMIN_CONFIG_OVERRIDE"


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How an emulator behaves; fixed for the life of its process.

    ``spot_discount`` is the share of the time that spot jobs are not billed for (a setting, not a measurement);
    ``stop_grace_s`` the time between SIGTERM and SIGKILL (120 s at the service); ``max_jobs`` how many training jobs run at once, as
    many as there are cores unless said otherwise; ``strict`` refuses what it would otherwise substitute; ``job_python`` the
    interpreter that stands in for every image; ``invoke_timeout_s`` the time a hosted model may take for an answer,
    ``ping_timeout_s`` the time its container may take to start; ``parent_pid`` a process with which the emulator ends. Without
    ``namespace`` jobs run in plain folders, as on a machine that has no user namespaces: run only code that you trust.
    """

    spot_discount: float = 0.70
    stop_grace_s: float = 30.0
    start_delay_s: float = 0.0
    max_jobs: int = field(default_factory=lambda: os.cpu_count() or 1)
    port: int = 0
    strict: bool = False
    job_python: str = sys.executable
    namespace: bool = True
    invoke_timeout_s: float = 60.0
    ping_timeout_s: float = 120.0
    parent_pid: int | None = None

    def __post_init__(self) -> None:
        for name, holds, wanted in (
            ("spot_discount", 0.0 <= self.spot_discount < 1.0, "at least 0 and less than 1"),
            ("max_jobs", self.max_jobs >= 1, "at least 1"),
            ("stop_grace_s", self.stop_grace_s >= 0, "at least 0 seconds"),
            ("start_delay_s", self.start_delay_s >= 0, "at least 0 seconds"),
            ("invoke_timeout_s", self.invoke_timeout_s > 0, "more than 0 seconds"),
            ("ping_timeout_s", self.ping_timeout_s > 0, "more than 0 seconds"),
        ):
            if not holds:
                raise ValueError(f"{name}: got {getattr(self, name)!r}, wanted {wanted}")


FAULTS: Final = ("throttling", "internal", "quota", "capacity", "lost-answer", "broken-host")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A fault on demand, met by the next ``times`` operations of this name (None: all; ``*``: any of SageMaker's).

    ``throttling`` and ``internal`` refuse a request, ``quota`` a Create…; ``lost-answer`` does it and closes the connection;
    ``capacity`` fails a training job or endpoint while it starts; ``broken-host`` takes a training job's host away before its
    script starts, which is an InternalServerError.
    """

    kind: str
    operation: str = "*"
    times: int | None = 1

    def __post_init__(self) -> None:
        if self.kind not in FAULTS:
            raise ValueError(f"kind: got {self.kind!r}, wanted one of {', '.join(FAULTS)}")
        if self.times is not None and self.times < 1:
            raise ValueError(f"times: got {self.times!r}, wanted at least 1, or None for all")


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """A running emulator and the only key that opens it."""

    url: str
    access_key: str
    secret_key: str = field(repr=False)
    region: str
    account_id: str
    pid: int
    state: Path
    version: str
    bucket: str
    role_arn: str

    def environment(self) -> dict[str, str]:
        """Return what a client's environment needs; any AWS client that honours AWS_ENDPOINT_URL then talks to us.

        AWS_DATA_PATH is for SageMaker's SDK, which does not for STS; what the caller's own one names stays in it. An
        administrator's defaults for that SDK stay what they are; where there are none, ours end its usage reports.
        """
        own = self.state / DATA_FOLDER
        paths = [path for path in os.environ.get("AWS_DATA_PATH", "").split(os.pathsep) if path]
        others = [path for path in paths if Path(path).name != DATA_FOLDER]  # nor those of another emulator
        admins = os.environ.get(_ADMIN_DEFAULTS, "")
        theirs = Path(admins).parent.name != DATA_FOLDER if admins else Path("/etc/xdg/sagemaker/config.yaml").exists()
        return {
            "AWS_ENDPOINT_URL": self.url,
            "AWS_ACCESS_KEY_ID": self.access_key,
            "AWS_SECRET_ACCESS_KEY": self.secret_key,
            "AWS_DEFAULT_REGION": self.region,
            "AWS_REGION": self.region,
            "AWS_DATA_PATH": os.pathsep.join([str(own), *others]),
            **({} if theirs else {_ADMIN_DEFAULTS: str(own / SDK_DEFAULTS)}),
            "SAGEMAKER_VALIDATE_ROLE": "false",  # SDK v3 would look the role up in the emulator's account
            "SM_TRN_STATE": str(self.state),
            "SM_TRN_PID": str(self.pid),
        }


def dump(endpoint: Endpoint) -> str:
    """Return the text of endpoint.json."""
    return json.dumps(asdict(endpoint), default=str)


def load(text: str) -> Endpoint:
    """Read endpoint.json. Raises ValueError or TypeError for a text that is none, KeyError for one without a state."""
    document = json.loads(text)
    return Endpoint(**{**document, "state": Path(document["state"])})

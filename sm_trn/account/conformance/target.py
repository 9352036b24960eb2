"""Where probes are sent: an account or an emulator, its clients, and the values of it that no record may hold."""

from __future__ import annotations

import getpass
import hashlib
import socket
from dataclasses import dataclass, field
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError

from ...core.aws.backend import CONFIG, make_client
from ...core.aws.errors import as_cloud_error
from ...core.specs.snapshot import EMULATED_ACCOUNT
from .vocabulary import vocabulary

# A record is of what the service says of a request, also of one that botocore would not send.
_UNCHECKED = CONFIG.merge(Config(parameter_validation=False))


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """An account, or an emulator, with the role that jobs run under and the bucket that they write to.

    ``settle_s`` is how long after a create "not found" is no proof that nothing was made.
    """

    session: boto3.Session = field(repr=False)
    region: str
    role: str
    bucket: str
    account: str
    caller: str
    settle_s: float

    @property
    def emulated(self) -> bool:
        """Whether this is an emulator: nothing is billed."""
        return self.account == EMULATED_ACCOUNT

    @property
    def fingerprint(self) -> str:
        """What tells this account and region from others, and tells nobody which they are."""
        return hashlib.sha256(f"{self.account} {self.region} {self.bucket}".encode()).hexdigest()[:16]

    def client(self, service: str, *, unchecked: bool = False) -> Any:
        """A client of ``service``; ``unchecked`` sends requests that break the service's model."""
        if unchecked:
            return self.session.client(service, config=_UNCHECKED, region_name=self.region)
        return make_client(self.session, service)

    def secrets(self) -> dict[str, str]:
        """Values that are this account's own, or this machine's, and what stands for each in a record."""
        role, caller = self.role.partition(":role/")[2], self.caller.rpartition(":")[2]
        found = {self.account: "<account>", self.bucket: "<bucket>", self.role: "<role>", self.caller: "<caller>"}
        found |= {f"role/{role}": "role/<role>", caller: "<caller>"}
        names = dict.fromkeys(role.split("/"), "<role>") | dict.fromkeys(caller.split("/")[1:], "<caller>")
        names |= {_machine(socket.gethostname): "<machine>", _machine(getpass.getuser): "<user>"}
        names |= {str(self.session.profile_name or ""): "<profile>"}
        # A name that is a word of AWS's own is no secret where nothing says that it is a name.
        found |= {name: mark for name, mark in names.items() if name.lower() not in vocabulary()}
        try:
            keys = self.session.get_credentials()
            frozen = keys.get_frozen_credentials() if keys is not None else ()
        except BotoCoreError:
            frozen = ()
        found |= {value: "<key>" for value in frozen if isinstance(value, str)}
        return {value: mark for value, mark in found.items() if value}


def find_target(session: boto3.Session, *, region: str, role: str, bucket: str) -> Target:
    """The account behind a session. Raises CloudError where AWS does not know the login."""
    with as_cloud_error("GetCallerIdentity", "your credentials"):
        answer = make_client(session, "sts").get_caller_identity()
    account = str(answer["Account"])
    return Target(
        session=session,
        region=region,
        role=role,
        bucket=bucket,
        account=account,
        caller=str(answer["Arn"]),
        settle_s=2.0 if account == EMULATED_ACCOUNT else 60.0,
    )


def _machine(ask: Any) -> str:
    """A name of this machine; empty where it has none."""
    try:
        return str(ask())
    except (OSError, KeyError, ImportError):
        return ""

"""What SageMaker's SDKs print while they wait for a job, read back: the job's lines, the phases, the ending.

SDK v2 glues status lines, dots and log lines together and tells hosts apart by colour only; SDK v3 wraps every line into a
panel (that part is sdk_panel.py). Must not know what a line of the job means.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ..formatting.printable import plain
from ..specs.units import InstanceSeconds
from .events import LogEvent
from .marks import HEAD
from .prefixes import prefix_of
from .sdk_panel import is_panel, panel_events

_COLOUR = re.compile(r"\x1b\[3[1-6]m")
_CURRENT_HOST = "SM_CURRENT_HOST="  # the toolkit prints it once a host
_HOST = re.compile(r"algo-\d{1,5}")
# docker-compose in front of a local-mode line: "algo-1-biljy_1  | ", "7ru878yq03-algo-1-2mrdy | "
_COMPOSE = re.compile(r"(?:\x1b\[\d{1,3}m)?(?:\w{1,32}-)?(algo-\d{1,5})(?:-\w{1,32})?\s{1,8}\|(?:\x1b\[0m)?\s?")
_STATUS = re.compile(r"^(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d) (\w{1,40}) - ([^\n]{1,4000})", re.MULTILINE)
# All messages seen in 477 public jobs of 2018-2026 and those of the API reference; what follows one is glued to it.
_MESSAGES = (
    "Starting the training job",
    "Launching requested ML instances",
    "Preparing the instances for training",
    "Insufficient capacity error from EC2 while launching instances, retrying!",
    "Training job waiting for capacity",
    "Training job failed for insufficient capacity",
    "Downloading input data",
    "Downloading the training image",
    "Training image download completed. Training in progress",
    "Uploading generated training model",
    "Stopping the training job",
    "Training job completed",
    "Training job stopped",
    "Training job failed",
    "Resource retained for reuse",
    "Resource released due to keep alive period expiry",
    "Instances not retained as a result of warmpool resource limits being exceeded",
)
_SECONDS = re.compile(r"\b(Training|Billable) seconds: (\d{1,12})")
_SAVINGS = re.compile(r"Managed Spot Training savings: ([\d.]{1,8})%")
_REASON = re.compile(r"Error for Training job \S{1,128}: \w{1,20}\. Reason: ")
_EXIT = re.compile(r"\bExitCode (\d{1,4})\b")
_REASON_MAX = 1024  # FailureReason's own limit in the API


@dataclass(frozen=True, slots=True)
class StatusLine:
    """A phase as the SDK printed it. ``time`` is the poll's, in the zone of whoever waited."""

    time: str
    status: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """The SDK's last words. It prints the seconds of all instances together: BillableTimeInSeconds times instance count."""

    training: InstanceSeconds | None
    billable: InstanceSeconds | None
    savings_percent: float | None
    exit_code: int | None
    failure_reason: str


@dataclass(frozen=True, slots=True)
class SdkOutput:
    """Output of ``fit()``, ``logs()`` or ``wait()`` as it stood in a notebook or terminal; also any other plain text."""

    text: str

    def events(self) -> Iterator[LogEvent]:
        """The job's lines, times unknown."""
        if is_panel(self.text):
            yield from panel_events(self.text)
            return
        hosts, colour = host_colours(self.text), ""
        for line in self.text.split("\n"):
            found = _COLOUR.search(line) if "\x1b" in line else None
            colour = found.group() if found else colour
            rest = _without_status(line)
            if rest is not None:
                host, text = host_and_text(rest, hosts, colour)
                yield LogEvent(math.nan, host, plain(text))
            if line.endswith("\x1b[0m"):
                colour = ""

    def status_lines(self) -> tuple[StatusLine, ...]:
        return tuple(StatusLine(found[1], found[2], _message(found[3])[0]) for found in _STATUS.finditer(self.text))

    def ending(self) -> Ending:
        seconds = {found[1]: InstanceSeconds(float(found[2])) for found in _SECONDS.finditer(self.text)}
        savings = _SAVINGS.search(self.text)
        exit_code = _EXIT.search(self.text)
        reason = max(_REASON.finditer(self.text), key=re.Match.end, default=None)  # of a retried fit() the last one
        return Ending(
            training=seconds.get("Training"),
            billable=seconds.get("Billable"),
            savings_percent=float(savings[1]) if savings else None,
            exit_code=int(exit_code[1]) if exit_code else None,
            failure_reason=plain(self.text[reason.end() : reason.end() + _REASON_MAX]).strip() if reason else "",
        )


def host_colours(text: str) -> Mapping[str, str]:
    """Host by colour, where the toolkit's own line says it; without colours, the only host that is named.

    The toolkit speaks first, so the head of a long text is enough.
    """
    head = text[:HEAD]
    hosts: dict[str, str] = {}
    at = head.find(_CURRENT_HOST)
    while at >= 0:
        host = _HOST.match(head, at + len(_CURRENT_HOST))
        colour = _COLOUR.search(head, max(0, at - 5), at)
        if host:
            hosts[colour.group() if colour else ""] = host.group()
        at = head.find(_CURRENT_HOST, at + 1)
    if len(set(hosts.values())) == 1 and "algo-2" not in head:
        return dict.fromkeys(["", *hosts], next(iter(hosts.values())))
    return {colour: host for colour, host in hosts.items() if colour}


def host_and_text(line: str, hosts: Mapping[str, str], colour: str = "") -> tuple[str, str]:
    """Who said a line, as far as prefixes and colours tell, and what he said, colours and all."""
    if "algo-" in line:
        compose = _COMPOSE.match(line)
        if compose:
            return compose[1], line[compose.end() :]
        host = prefix_of(line).host
        if host:
            return host, line
    if hosts and "\x1b" in line:
        found = _COLOUR.search(line)
        colour = found.group() if found else colour
    return hosts.get(colour, ""), line


def _message(said: str) -> tuple[str, str]:
    """A status message and what is glued behind it."""
    known = max((text for text in _MESSAGES if said.startswith(text)), key=len, default="")
    if known:
        return known, said[len(known) :]
    cut = re.search(r"\.{2,}|\x1b|$", said)
    at = cut.start() if cut else len(said)
    return said[:at], said[at:]


def _without_status(line: str) -> str | None:
    """The job's part of a line; None when the SDK alone has spoken."""
    status = _STATUS.match(line)
    if status:
        line = _message(status[3])[1].lstrip(".")
    if line.startswith("."):
        rest = line.lstrip(".")
        line = rest if not rest or rest.startswith(("\x1b[3", "Training seconds: ")) else line
    if not line or _SECONDS.match(line) or _SAVINGS.match(line):
        return None
    return line

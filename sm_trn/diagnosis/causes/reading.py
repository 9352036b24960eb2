"""Reads a log once and keeps what may say why its job ended: exceptions, matches of the dictionary, watchdogs."""

from __future__ import annotations

import json
import math
import re
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from ...core.formatting.printable import plain, printable
from ...core.logs.events import LogEvent
from ...core.logs.prefixes import prefix_of
from ...core.logs.script import raised
from .cause import Evidence
from .entries import LONGEST, Match, Role, match, resembles, shape

MOST = 2_000  # findings that are kept: the first ones decide
LAST = 400  # lines of the end that are kept
SHAPES = 10_000  # of more different lines only those with a word of trouble are looked up
CAUGHT = 8  # signs of progress after an exception: the script has caught it
_WRONG = frozenset({"num", "net", "dist", "neuron"})  # families of what may be wrong though the script goes on
TRACEBACK = "Traceback (most recent call last)"
_CHAINED = ("During handling of the above exception", "The above exception was the direct cause")
_FRAME = re.compile(r'\s*File \\?"(?P<file>[^"]{1,400}?)\\?", line (?P<line>\d{1,7})')
_LIBRARY = ("site-packages", "/torch_neuronx/", "dist-packages", "/lib/python", "<frozen", "<string>")
_OTHER = re.compile(
    r"(?:[A-Za-z_]\w{0,80}\.){1,12}(?:_?[A-Z]\w{0,80}|error|timeout|gaierror)(?::|$)|[A-Z][a-z]\w{0,80}: "
)
_DOTTED = re.compile(  # the same without a traceback
    r"(?:[a-z_]\w{0,80}\.){1,12}(?:[A-Z]\w{0,80}|error|timeout|gaierror): |Exception: "
)
_CODE = re.compile(  # lines of a program that tracebacks show: Python's, of which the beginning may be cut, IPython's and rich's
    r"\s{2,40}(?:(?:return|raise|assert|yield) |self\.|(?:from [\w.]{1,80} )?import |[\w., \[\]]{1,80} = .{0,200}\()"
    r"|[-> ]{0,9}\d{1,5} {2}|[│|] {1,9}(?:❱ {1,9})?\d{1,5} │"
)
_WRAPS = re.compile(r"\S{1,200}: Caught \w{1,80} in ")  # a worker's error follows
_CLIENT = re.compile(r"[A-Z]\w{2,80} {2,200}Traceback \(most")  # a notebook's own traceback, behind the job's log
_NAME = re.compile(r"(?:[A-Za-z_]\w{0,80}\.){0,8}[A-Z]\w{0,80}")  # of an exception
_CARETS = re.compile(r"[\s^~]{1,400}")
_CALM = re.compile(  # a line of this level reports no failure
    r"(?:^|[\s\[:|])(?:INFO|DEBUG)\b|<(?:info|debug)>|^\[?I\d{3,4} \d\d:|: [ID] [\w./-]{1,120}(?::\d|\.cc|\.py)"
)
_TROUBLE = re.compile(
    r"error|exception|fatal|critical|fail|kill|timed? ?out|nan\b|signal|traceback \(most|reporting training"
)
_SPOKEN = re.compile(  # what the service and the toolkit put in front of a script's own words
    r"(?:\s*(?:Algorithm ?Error|ClientError|ExecuteUserScriptError|(?:sagemaker\.exceptions\.)?UnexpectedStatusException)\s*:"
    r'|\s*[Ff]ramework [Ee]rror\s*:|\s*ErrorMessage "'
    r"|\s*\"?(?:ValueError: )?Error (?:for Training job|training) [^:]{1,200}: \w{1,20}\.?\s*Reason:"
    r"|\s*(?:uncaught )?[Ee]xception during training:|\s*(?:ExitCode|SystemExit:) (?!1[23]\d\b)\d{1,4}(?=\s|$))+\s*"
)
_STAMP = re.compile(  # what CloudWatch, containers' logs and quotations have at the beginning of each line
    r"(?:\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?[ \t](?:std(?:out|err) [FP] )?|\d{13}[ \t]|> )"
)
_JSON = re.compile(r'\s*(?:\{.{0,400}?)?"@?(?:message|msg|log|text|body)"\s?:\s?("(?:[^"\\]|\\.)*")')
_SUCCESS = ("Reporting training SUCCESS", "Completed - Training job completed")
_CLIENTS = "Error for Training job"  # the SDK's exception: the service's reason stands behind it
_FAILURE = re.compile(r"Reporting training (?i:failure)|ExecuteUserScriptError:|Error for Training job ")
_ROOT_RANK = re.compile(r"\brank\s{0,10}: ?(\d{1,6}) \(local_rank")
_RANKS = re.compile(r"\[[Rr]ank ?(\d{1,5})\]|\brank ?[:=]? ?(\d{1,5}) \(local_rank|(?:process|on) rank (\d{1,5})\b")
_WATCHDOG = re.compile(r"\[?[Rr]ank ?(?P<rank>\d{1,5})\]?.{0,200}?SeqNum=(?P<seq>\d{1,12}),? ?OpType=(?P<op>\w{1,40})")
_TIMEOUT = re.compile(r"Timeout\(ms\)=(?P<ms>\d{1,10})")
_BEATS = ("it/s", "s/it", "samples/s", "'loss':")  # signs of progress
_OFTEN = 300  # lines of one shape that are read


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A place of the log that may be the cause. ``match`` is None for an exception that no row names.

    ``chain`` numbers the tracebacks that led to one another; ``beats`` is how many signs of progress came before it.
    """

    at: int
    evidence: Evidence
    match: Match | None
    error: str = ""
    place: str = ""
    code: str = ""
    chain: int = 0
    beats: int = 0

    @property
    def role(self) -> str:
        """The row's role; an exception without a row can be the cause."""
        return self.match.entry.role if self.match is not None else Role.ROOT


@dataclass(slots=True)
class _Worker:
    """Where one worker's output stands: in a traceback, or not."""

    chain: int = 0
    inside: bool = False  # between "Traceback" and the exception
    chained: bool = False  # the next traceback belongs to the one before
    code: bool = False  # the next line is source code that a frame shows
    indent: int = 0  # of that frame: torchrun's table moves a whole traceback to the right
    place: str = ""  # of the last frame in the user's own file
    shown: str = ""  # the code at that place
    own: bool = False  # the next line is that code
    left: int = 0  # lines after the exception that still belong to its message
    ignored: int = -9  # the line that says that Python ignores an exception: an object's end raised it
    idle: bool = False  # the exception of this traceback ends nothing
    bare: int = -1  # a finding that is an exception's name alone: its words may come in lines of their own
    colon: bool = False  # what stands between them has come


@dataclass(slots=True)
class LogReading:
    """Give it every line, in order. ``parse`` splits a raw line into epoch seconds, host and text.

    ``short``: a reason or a few lines, of which each may say why, though no traceback stands before it. ``log``: it is a job's log.
    """

    parse: Callable[[str], tuple[float, str, str]]
    short: bool = False
    log: bool = False
    findings: list[Finding] = field(default_factory=list)
    succeeded: bool = False
    failed: bool = False
    root_rank: int | None = None  # whom torchrun names as the first to fail
    lines: int = 0
    beats: int = 0
    last: deque[str] = field(default_factory=lambda: deque(maxlen=LAST))
    timeout_s: float = 0.0  # how long the collective of a watchdog had waited
    waits: dict[int, tuple[int, str]] = field(default_factory=dict)  # by rank: the collective that its watchdog names
    _workers: dict[tuple[str, int | None], _Worker] = field(default_factory=dict)
    _shapes: dict[str, int] = field(default_factory=dict)  # how often each was read; -1: it cannot matter
    _chains: int = 0
    _over: bool = False  # what follows is the notebook's, not the job's
    _root: bool = False  # torchrun's "Root Cause" is being told

    def run(self, blocks: Iterable[bytes]) -> None:
        """Read every line of the blocks that could matter."""
        for block in blocks:
            for raw in block.decode("utf-8", "replace").removesuffix("\n").split("\n"):
                self._line(raw)

    def _line(self, raw: str) -> None:
        self.lines += 1
        self.last.append(raw)
        if self.short or self._wants(raw):
            self.feed(LogEvent(*self.parse(raw[:64_000])), self.lines)
        if not self.failed and any(mark in raw for mark in _BEATS):
            self.beats += raw.count("\r") + raw.count("#015") + 1

    def _wants(self, raw: str) -> bool:
        """Return True for a line that could matter: each new shape is looked up once, and all of a traceback is read."""
        kind = shape(raw[:LONGEST])
        number = self._shapes.get(kind, 0)
        if number == 0:
            trouble = _TROUBLE.search(kind) is not None
            wanted = trouble or (len(self._shapes) < SHAPES and resembles(kind))
            number = 1 if wanted else -1
            if len(self._shapes) < 20 * SHAPES:
                self._shapes[kind] = number
        elif number > 0:
            self._shapes[kind] = number = number + 1 if number < _OFTEN else -1
        return number > 0 or any(worker.inside or worker.left for worker in self._workers.values())

    def feed(self, event: LogEvent, at: int) -> None:
        """Take the ``at``th line."""
        body = event.text[: 64 * LONGEST]
        if body.lstrip().startswith(("{", '"')):
            body = _message(body)
        # Carriage returns and line breaks, also as JSON writes them; of a long progress bar the last pieces.
        for piece in re.split(r"[\r\n]|\\n(?![a-z])", plain(body))[-400:]:
            self._take(piece, event, at)

    def candidates(self) -> list[Finding]:
        """Return the findings that can be causes, the likeliest first: roots before watchdogs, these before consequences."""
        alive = [
            each
            for each in self.findings
            if each.role not in {Role.NOISE, Role.STATE}
            and ((each.match is not None and each.match.entry.family in _WRONG) or self.beats - each.beats < CAUGHT)
        ]
        alive.sort(
            key=lambda each: (each.evidence.time_s if math.isfinite(each.evidence.time_s) else -math.inf, each.at)
        )
        roots: list[Finding] = []
        chains: dict[tuple[str, int | None, int], int] = {}
        for each in (each for each in alive if each.role == Role.ROOT):
            key = (each.evidence.stream, each.evidence.rank, each.chain)
            place = chains.get(key) if each.chain else None
            if place is None:
                chains[key] = len(roots)
                roots.append(each)
            elif each.match is not None and roots[place].match is None:
                roots[place] = each  # of exceptions that led to one another, the one that a row names stands for all
        return [*roots, *(each for role in (Role.TIMEOUT, Role.AFTER) for each in alive if each.role == role)]

    def _take(self, piece: str, event: LogEvent, at: int) -> None:
        prefix = prefix_of(piece)
        stamp = _STAMP.match(piece, prefix.length)
        text = piece[stamp.end() if stamp is not None else prefix.length :]
        words = text.strip()
        spoken = _SPOKEN.match(words[:LONGEST]) if self.short or _CLIENTS in text else None
        if spoken is not None:
            words = words[spoken.end() :].rstrip('"')
        if self._marks(text) or not words or len(self.findings) >= MOST:
            return
        self._over = self._over or (not self.short and _CLIENT.match(words[:400]) is not None)
        if self._over and spoken is None:
            return
        host = prefix.host or event.host
        worker = self._workers.setdefault((host, prefix.rank), _Worker())
        line = Evidence(text=printable(words)[:LONGEST], stream=host, rank=prefix.rank, time_s=event.time_s, line=at)
        if worker.bare >= 0 and self._goes_on(worker, words):
            return
        worker.ignored = at if words.startswith("Exception ignored in") else worker.ignored
        if TRACEBACK in words[:400]:
            self._begin(worker, at)
        elif not (worker.inside and self._frame(worker, text)) and not (self.short and _CODE.match(text[:400])):
            before = len(self.findings)
            self._weigh(worker, line, words, spoken=spoken is not None)
            if len(self.findings) > before and _NAME.fullmatch(self.findings[-1].error):
                worker.bare, worker.colon = before, spoken is not None and not text.rstrip().endswith('"')

    def _goes_on(self, worker: _Worker, words: str) -> bool:
        """Take in the words of an exception whose name came alone: the toolkit prints what it reads, and Python writes an
        exception in three pieces where its output is not buffered (sagemaker_training/process.py, watch)."""
        if words == ":":
            worker.colon = True
            return True
        named = self.findings[worker.bare]
        goes_on = worker.colon or words.startswith(": ")
        if goes_on:
            error = f"{named.error}: {words.removeprefix(': ').rstrip(chr(34))}"
            line = replace(named.evidence, text=printable(error)[:LONGEST])
            self.findings[worker.bare] = replace(
                named, evidence=line, error=error, match=match(line.text) or named.match
            )
        worker.bare, worker.colon = -1, False
        return goes_on

    def _weigh(self, worker: _Worker, line: Evidence, words: str, *, spoken: bool) -> None:
        """Keep a line that is an exception, or that a row knows."""
        announced = worker.inside or self.short or spoken or line.rank is not None  # PyTorch's hook writes the rank
        other = (worker.inside and _OTHER.match(words)) or (self.short and _DOTTED.match(words))
        exception = raised(words) or (words if other else "")
        ended = exception != "" and (
            announced or words.startswith(("SyntaxError: ", "IndentationError: ", "TabError: "))
        )
        row = None if not ended and _CALM.search(words[:160]) is not None else match(line.text)
        follows = any(words.startswith(mark) for mark in _CHAINED) or (ended and _WRAPS.match(exception) is not None)
        if ended and not worker.inside and not worker.chained:
            self._chains += 1
            worker.chain = self._chains
        within = worker.left > 0
        worker.left = 40 if ended else max(0, worker.left - 1)
        if ended or (within and follows):
            worker.inside = worker.code = False
            worker.chained = follows
        if (row is None and not ended) or (ended and (worker.idle or line.line - worker.ignored == 1)):
            worker.idle = worker.idle and not ended
            return
        timeout, waits = _TIMEOUT.search(line.text), _WATCHDOG.search(line.text)
        if timeout is not None:
            self.timeout_s = int(timeout["ms"]) / 1000
        if waits is not None:
            self.waits.setdefault(int(waits["rank"]), (int(waits["seq"]), waits["op"]))
        rank = _RANKS.search(line.text[:500]) if line.rank is None else None
        number = next((int(group) for group in rank.groups() if group), None) if rank else line.rank
        mine = ended or within
        self.findings.append(
            Finding(
                at=line.line, evidence=replace(line, rank=number), match=row, error=exception,
                place=worker.place if mine else "", code=worker.shown if mine else "", chain=worker.chain, beats=self.beats,
            )
        )  # fmt: skip

    def _begin(self, worker: _Worker, at: int) -> None:
        if not worker.chained:
            self._chains += 1
            worker.chain = self._chains
        worker.inside, worker.chained, worker.code, worker.left = True, False, False, 0
        worker.place = worker.shown = ""
        worker.idle = at - worker.ignored < 4

    @staticmethod
    def _frame(worker: _Worker, text: str) -> bool:
        """Return True if the line is a frame of a traceback, or the code that it shows."""
        frame = _FRAME.match(text)
        indent = len(text) - len(text.lstrip(" "))
        if frame is not None:
            worker.code, worker.indent = True, indent
            worker.own = not any(mark in frame["file"] for mark in _LIBRARY)
            if worker.own:
                worker.place, worker.shown = f"{frame['file'].rsplit('/', 1)[-1]}:{frame['line']}", ""
            return True
        ends = indent < worker.indent and raised(text.strip()) != ""
        if (worker.code and text[:2] == "  " and not ends) or _CARETS.fullmatch(text[:LONGEST]):
            if worker.own and not worker.shown:
                worker.shown = printable(text.strip())[:LONGEST]
            return True
        if worker.code:
            worker.code = False
            return raised(text.strip()) == "" and _OTHER.match(text) is None
        return False

    def _marks(self, text: str) -> bool:
        """Take in what says how the job ended."""
        if any(mark in text for mark in _SUCCESS):
            self.succeeded = True
            return True
        self.failed = self.failed or _FAILURE.search(text) is not None
        self._root = self._root or "first observed failure" in text
        named = _ROOT_RANK.search(text[:200]) if self._root and self.root_rank is None else None
        if named is not None:
            self.root_rank, self._root = int(named[1]), False
        return False


def _message(text: str) -> str:
    """Return the message of a line that is JSON: CloudWatch's export, a logger, a worker's error file of torch.distributed.elastic."""
    try:
        message = json.loads(text)["message"]
        return str(message["extraInfo"]["py_callstack"] or message["message"])
    except (ValueError, KeyError, TypeError, RecursionError):
        body = _JSON.match(text)
    try:
        return text if body is None else str(json.loads(body[1], strict=False))
    except ValueError:
        return text

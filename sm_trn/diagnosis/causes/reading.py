"""Reads a log once, line by line, and keeps what may say why its job ended: exceptions, matches of the dictionary, watchdogs."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field, replace

from ...core.formatting.printable import printable
from ...core.logs.events import LogEvent
from ...core.logs.prefixes import prefix_of
from ...core.logs.script import raised
from .around import TRACEBACK, pieces, without_label, without_stamp, words_of
from .cause import Evidence, FastNetwork
from .entries import ALL, LONGEST, SURE, Match, Role, match, match_class, match_file, refused, resembles
from .mentions import only_mentions
from .watchdog import Watchdog

MOST = 2_000  # findings that are kept: the first ones decide
_AHEAD = 3  # words of a line, of which one begins what it reports
WINDOW = 300  # lines of a traceback
NEXT = 4  # lines on which a traceback begins that Python ignores, after it says so
_CHAINED = ("During handling of the above exception", "The above exception was the direct cause")
_IGNORED = "Exception ignored in"  # an object's end raised it
_UNANNOUNCED = ("SyntaxError: ", "IndentationError: ", "TabError: ")  # no "Traceback" stands before them
_FRAME = re.compile(r'\s*File \\?"(?P<file>[^"]{1,400}?)\\?", line (?P<line>\d{1,7})')
_OTHER = re.compile(
    r"(?:[A-Za-z_]\w{0,80}\.){1,12}(?:_?[A-Z]\w{0,80}|error|timeout|gaierror)(?::|$)|[A-Z][a-z]\w{0,80}: "
)  # exceptions with other names
_DOTTED = re.compile(  # the same without a traceback
    r"(?:[a-z_]\w{0,80}\.){1,12}(?:[A-Z]\w{0,80}|error|timeout|gaierror): |Exception: "
)
_HEAD = re.compile(r"[^:]{0,80}(?::\d\d:\d\d[^:]{0,160})?(?:[Ee]rror|[Ee]xception|training): ")  # of a report
_MISTAKE = re.compile(  # Python's words for a mistake, without the exception's name
    r"[\w.]{0,80}\(\) (?:got an unexpected keyword argument|missing \d{1,2} required|takes \d)"
    r"|name '\w{1,80}' is not defined|local variable '\w{1,80}' referenced before"
    r"|['`][\w.]{1,80}['`] (?:object )?(?:has no attribute|is not (?:subscriptable|callable|iterable))"
    r"|(?:list|string|tuple) index out of range|index -?\d{1,20} is out of bounds for (?:axis|dimension)"
    r"|unsupported operand type|unhashable type: |(?:too many|not enough) values to unpack|division by zero|maximum recursion depth"
)
_WRAPS = re.compile(
    r"\S{1,200}: Caught \w{1,80} in |\S{0,200}(?:ProcessRaised|RemoteTraceback|RayTaskError)"
)  # what follows is the error
_QUOTES = str.maketrans("\u2018\u2019\u201c\u201d", "''\"\"")  # as pages print them
_LAST = "Last error:"  # NCCL's kind of error stands before it, behind it what happened
_NCCL = "dist.nccl_config"
_PIP = "pip.failed"
_NAME = re.compile(r"(?:[A-Za-z_]\w{0,80}\.){0,8}[A-Z]\w{0,80}")  # of an exception
_CARETS = re.compile(r"[\s^~]{1,400}")
_CODE = re.compile(  # lines of a program that tracebacks show: Python's, of which the beginning may be cut, IPython's and rich's
    r"\s{2,40}(?:(?:return|raise|assert|yield) |self\.|(?:from [\w.]{1,80} )?import |[\w., \[\]]{1,80} = .{0,200}\()"
    r"|[-> ]{0,9}\d{1,5} {2}|[│|] {1,9}(?:❱ {1,9})?\d{1,5} │"
)
_LIBRARY = ("site-packages", "dist-packages", "/lib/python", "<frozen", "<string>")
_REPORTS = re.compile(
    r"(?:\[?(?:ERROR|FATAL|CRITICAL|E\d{4})\b|[Ee]rror: |\S{1,80}: error: |An error occurred \("
    r"|.{0,120}?(?:\bERROR\b|\bFATAL\b|\bCRITICAL\b|rror: |[: ][EF] \S{1,120}:\d{1,6}\]))"
)
_LEVEL = re.compile(
    r"[^\"`]{0,120}?(?:\bERROR\b|\bFATAL\b|\bCRITICAL\b|[: ][EF] \S{1,120}:\d{1,6}\]|\bWARN\b)|[Ee]rror: |\S{1,80}: error: "
)
_COMPLAINS = re.compile(  # of few lines, in small letters: what says that something went wrong
    r"fail|error|cannot|can't|could not|couldn't|unable|not found|missing|invalid|denied|refused|timed out|timeout|exhausted"
    r"|r[au]n out|abort|mismatch|unsupported|not supported|forbidden|unauthorized|exceed|expected|does not exist|not available"
    r"|does not (?:fit|support)|can not|too (?:small|large|many|few|old)|older than|larger than|back-off"
    r"|unavailable|segfault|non-numeric|requested more|reached|need to|tried to|insufficient|disappear|non-finite|not finite"
)
_SUSPECT = re.compile(  # and what may say so, where it is all that is said
    r"warn|nan\b|\binf(?:init[ey])?\b|kill|memory|oom|lost|closed|reset|broken|corrupt|too [a-z]|returned:? -"
    r"|\bnot |n't\b|\bno |bad\b|wrong|interrupt|reclaim"
    r"|insufficient|limit|expired|undefined|malformed|different|only|must|please|required|fault|panic|terminat|hang|stuck|stopped"
    r"|disconnect|unhandled|unreachable|\bretr[iy]|unknown|throttl|restricted|gated|slow|\bsig[a-z]{3}|unhealthy|illegal|duplicate|conflict|already|xid"
)
_CALM = re.compile(  # a line of this level reports no failure
    r"(?:^|[\s\[:|])(?:INFO|DEBUG)\b|<(?:info|debug)>|^\[?I\d{3,4} \d\d:|: [ID] [\w./-]{1,120}(?::\d|\.cc|\.py)"
)
_WARNS = re.compile(  # what these are about is no failure yet
    r"(?:.{0,60}(?:\bWARNING\b|\[Warning\])|\[?W\d{3,4} \d\d:|.{0,60}: W [\w./-]{1,120}(?::\d|\.cc|\.py)"
    r"|\S{1,300}\.py:\d{1,6}: \w{1,40}Warning: )(?!.*rror)"
)
_DUMPS = re.compile(  # a configuration or what a shell runs, and no metrics that went wrong
    r"(?!.{0,400}\b(?:nan|inf)\b)(?:\+ |\S{1,60}@\S{1,120}[#$] |\$ |(?:[\w ]{0,40}[:=] ?)?(?:\{['\"]\w|Namespace\()|SM_[A-Z_]{1,80}="
    r"|\s{0,40}\"(?!\w{0,40}(?i:error|message|reason|fail|exception|status))[\w-]{1,80}\": )"
)
_PLACED = re.compile(r"\[[\w./-]{1,120}\.(?:py|cc|cpp|h):\d{1,6}:\w{1,80}\]")  # where a program wrote the line
_TROUBLE = re.compile(r"error|exception|fatal|critical|traceback \(most|reporting training")
_SUCCESS = ("Reporting training SUCCESS", "Completed - Training job completed")
# A notebook's own traceback, after the job's log: IPython writes the exception in front.
_CLIENT = re.compile(r"[A-Z]\w{2,80} {2,200}Traceback \(most recent call last\)")
LOG_MARK = re.compile(  # a line of the toolkit, or a status line of the SDK
    rb"^(?:\x1b\[\d\dm)?\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:,\d{3} \S{1,80} +[A-Z]{4,8} | [A-Z][a-z]{3,20} - )",
    re.MULTILINE,
)
_CLIENTS = "Error for Training job"  # the SDK's exception: the service's reason stands behind it
_FAILURE = (
    "Reporting training FAILURE",
    "ExecuteUserScriptError:",
    "Error for Training job ",
    "Reporting training failure",
)
_EFA = (
    "selected provider is efa", "using network aws libfabric", "via net/aws libfabric", "via net/ofi", "net/libfabric",
)  # fmt: skip
_SOCKETS = ("using network socket", "via net/socket")
_NO_EFA = ("only efa provider is supported", "find any optimal provider", "aws-ofi-nccl initialization failed")
_COMPILES = ("call compiler with cmd", "compiler status pass")  # neuronx-cc's wrapper, before and after each graph
_MARKS = (
    *_COMPILES, *_EFA, *_SOCKETS, *_NO_EFA, "watchdog", "first observed failure", "(local_rank:", "direct cause", "during handling",
)  # fmt: skip


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
    chained: bool = False
    code: bool = False  # the next line is source code that a frame shows
    indent: int = 0  # of that frame: torchrun's table moves a whole traceback to the right
    place: str = ""
    shown: str = ""  # the code at that place
    own: bool = False  # the next line is that code
    inner: Match | None = None  # the row that knows the innermost of a library's files
    left: int = 0  # lines after the exception that still belong to its message
    ignored: int = -NEXT  # the line that says that Python ignores an exception
    last: int = -NEXT  # the line that announces NCCL's last error
    idle: bool = False  # the exception of this traceback ends nothing
    bare: int = -1  # the place of a finding that is an exception's name alone: its words may come in lines of their own
    colon: bool = False  # what stands between them has come

    def announce(self, said: str, at: int) -> None:
        """Note a line that says what the next ones are."""
        if said.startswith(_IGNORED):
            self.ignored = at
        if said == _LAST:
            self.last = at


@dataclass(slots=True)
class LogReading:
    """Feed it every line that may matter, in order; ``findings`` is what it found."""

    findings: list[Finding] = field(default_factory=list)
    watchdog: Watchdog = field(default_factory=Watchdog)
    network: FastNetwork = FastNetwork.UNKNOWN
    short: bool = False  # a reason or a few lines: each may say why, though no traceback stands before it
    complained: bool = False  # of few lines, one spoke of trouble
    alone: bool = False  # one line is all that is said
    log: bool = False  # the toolkit or the SDK spoke: it is a job's log
    over: bool = False  # what follows is the notebook's, not the job's
    succeeded: bool = False
    failed: bool = False
    hosts: dict[str, float] = field(default_factory=dict)  # and when each spoke last
    compiled: set[int] = field(
        default_factory=set
    )  # the signs of progress so far, at each compilation for a Neuron device
    root_rank: int | None = None  # whom torchrun names as the first to fail
    window: int = 0  # lines to come that must be fed whatever they look like
    _workers: dict[tuple[str, int | None], _Worker] = field(default_factory=dict)
    _chains: int = 0
    _root: bool = False  # torchrun's "Root Cause" is being told

    def feed(self, event: LogEvent, at: int, beats: int = 0) -> None:
        """Take a line, the ``at``th of the log, before which there were so many ``beats``."""
        if self.window:
            self.window -= 1
        self.hosts[event.host] = event.time_s
        for piece in pieces(event.text):
            self._take(piece, event, at, beats)

    def finish(self) -> None:
        """Say that no line comes any more: a traceback that was cut before its exception counts where it names the script."""
        for (host, rank), worker in self._workers.items():
            if self.short and worker.inside and (worker.place or worker.inner) and not self.findings:
                line = Evidence(text="a traceback that ends before its exception", stream=host, rank=rank)
                inner = worker.inner if not worker.place else None
                self.findings.append(Finding(at=0, evidence=line, match=inner, place=worker.place, chain=worker.chain))

    def wants(self, lowered: str) -> bool:
        """Whether a line of this shape – small letters, no digits – could matter."""
        return (
            self.short  # few lines: each is read
            or _TROUBLE.search(lowered) is not None
            or any(mark in lowered for mark in _MARKS)
            or resembles(lowered)  # what takes long is asked last
        )

    def _take(self, piece: str, event: LogEvent, at: int, beats: int) -> None:
        if self.short:  # a page's marks of what is bold
            piece = piece.replace("**", "")
        piece = without_label(piece.translate(_QUOTES))
        prefix = prefix_of(piece)
        text = without_stamp(piece, prefix.length)
        said, spoken = words_of(text, short=self.short or _CLIENTS in text)
        self.failed = self.failed or _CLIENTS in text
        if not said or len(self.findings) >= MOST:
            return
        if self._marks(said) or self._compiles(said, beats):
            return
        host = prefix.host or event.host
        worker = self._workers.setdefault((host, prefix.rank), _Worker())
        line = Evidence(text=printable(said)[:LONGEST], stream=host, rank=prefix.rank, time_s=event.time_s, line=at)
        if not self.short and _CLIENT.match(said[:400]):
            self.over = True
        if self.over and not spoken and _CLIENTS not in said:
            return
        if worker.bare >= 0 and self._goes_on(worker, said):
            return
        worker.announce(said, at)
        if TRACEBACK in said[:400]:
            self._begin(worker, at)
            if said.startswith(TRACEBACK) or said.endswith(f": {TRACEBACK}:"):
                return
        if (worker.inside and self._frame(worker, text)) or (self.short and _CODE.match(text[:400])):
            return
        before = len(self.findings)
        self._weigh(worker, line, said, spoken=spoken, beats=beats)
        if len(self.findings) > before and _NAME.fullmatch(self.findings[-1].error):
            worker.bare, worker.colon = before, spoken and not text.rstrip().endswith('"')

    def _goes_on(self, worker: _Worker, said: str) -> bool:
        """Take in the words of an exception whose name came alone: the toolkit prints what it reads, and Python writes an
        exception in three pieces where its output is not buffered (sagemaker_training/process.py, watch).
        """
        if said == ":":
            worker.colon = True
            return True
        named = self.findings[worker.bare]
        goes_on = worker.colon or said.startswith(": ")
        if goes_on:
            error = f"{named.error}: {said.removeprefix(': ').rstrip(chr(34))}"
            line = replace(named.evidence, text=printable(error)[:LONGEST])
            found = match(line.text) or named.match
            self.findings[worker.bare] = replace(named, evidence=line, error=error, match=found)
        worker.bare, worker.colon = -1, False
        return goes_on

    def _weigh(self, worker: _Worker, line: Evidence, said: str, *, spoken: bool, beats: int) -> None:
        """Keep a line that is an exception, or that a row knows."""
        at = line.line
        other = (worker.inside and _OTHER.match(said)) or (self.short and _DOTTED.match(said))
        unnamed = self.short and _mistakes(said)
        exception = raised(said) or (said if other or unnamed else "")
        announced = worker.inside or self.short or spoken or line.rank is not None  # PyTorch's hook writes the rank
        ended = (announced or said.startswith(_UNANNOUNCED)) and exception != ""
        if (
            ended and not worker.inside and not worker.chained
        ):  # no traceback stands before it: its message is a chain of its own
            self._chains += 1
            worker.chain = self._chains
        lists = self._lists(said, complains=bool(exception) or spoken, within=worker.left > 0)
        worker.left = 40 if ended else max(0, worker.left - 1)
        found = match(_PLACED.sub("", line.text), lists)
        if found is not None and not ended and only_mentions(said):
            return
        if found is not None and self.short and not (ended or spoken) and not _announces(said):
            found = replace(found, strength=max(found.strength, SURE - 1))
        if found is None and ended and (not refused(exception) or (worker.inner and worker.inner.entry.id == _PIP)):
            found = match_class(exception) or worker.inner
        if found is not None and self._says_more(worker, found, at):
            self._refine(line.stream, at, found)
        if ended or (worker.left and any(said.startswith(mark) for mark in _CHAINED)):
            worker.inside = worker.code = False
            wraps = ended and _WRAPS.match(exception) is not None
            worker.chained = wraps or any(said.startswith(mark) for mark in _CHAINED)
        if (found is None and not ended) or (ended and (worker.idle or at - worker.ignored == 1)):
            worker.idle = worker.idle and not ended
            return
        self.watchdog.hear(line)
        self.findings.append(
            Finding(
                at=at,
                evidence=replace(line, rank=_rank(line)),
                match=found,
                error=exception,
                place=worker.place if (ended or worker.left) else "",
                code=worker.shown if (ended or worker.left) else "",
                chain=worker.chain,
                beats=beats,
            )
        )

    @staticmethod
    def _says_more(worker: _Worker, found: Match, at: int) -> bool:
        """Whether a line of an error's message, or NCCL's last error, may tell more than the error's kind."""
        last = found.sure and at - worker.last == 1
        return last or (worker.left > 0 and found.exact and found.entry.role == Role.ROOT)

    def _refine(self, stream: str, at: int, found: Match) -> None:
        """Let what NCCL's last error says stand for the kind of error that the lines before it name."""
        for place in range(max(0, len(self.findings) - NEXT), len(self.findings)):
            each = self.findings[place]
            near = each.evidence.stream == stream and at - each.at <= 2 * NEXT
            if near and each.match is not None and each.match.entry.id == _NCCL:
                self.findings[place] = replace(each, match=found)

    def _lists(self, said: str, *, complains: bool, within: bool) -> int:
        """How many of a row's lists count for a line; ``within`` says that it belongs to an exception's message."""
        if complains:
            self.complained = True
            return ALL
        text = said[:LONGEST]
        low = text.lower() if self.short else ""
        suspect = _SUSPECT.search(low) is not None
        complaint = _COMPLAINS.search(low) is not None or (self.alone and suspect)
        if _CALM.search(said[:160]) is not None:
            return SURE if complaint else 0
        self.complained = self.complained or complaint or suspect
        if _WARNS.match(text) is not None or (self.short and _DUMPS.match(text)):
            return SURE
        return ALL if complaint or within or _REPORTS.match(text) is not None else SURE

    def _compiles(self, said: str, beats: int) -> bool:
        """Take in the Neuron compiler's start and end of a graph."""
        if "ompiler" not in said[:400] or not any(mark in said[:400].lower() for mark in _COMPILES):
            return False
        self.compiled.add(beats)
        return True

    def _begin(self, worker: _Worker, at: int) -> None:
        if not worker.chained:
            self._chains += 1
            worker.chain = self._chains
        worker.inside, worker.chained, worker.code, worker.place, worker.left = True, False, False, "", 0
        worker.shown = ""
        worker.inner = None
        worker.idle = at - worker.ignored < NEXT
        self.window = WINDOW

    @staticmethod
    def _frame(worker: _Worker, text: str) -> bool:
        """Whether the line is a frame of a traceback, or the code that it shows."""
        frame = _FRAME.match(text)
        indent = len(text) - len(text.lstrip(" "))
        if frame is not None:
            worker.code, worker.indent = True, indent
            if not any(mark in frame["file"] for mark in _LIBRARY):
                worker.place, worker.inner = f"{frame['file'].rsplit('/', 1)[-1]}:{frame['line']}", None
                worker.shown, worker.own = "", True
            worker.inner = match_file(frame["file"]) or worker.inner
            return True
        if worker.code and worker.own:
            worker.shown, worker.own = printable(text.strip())[:LONGEST], False
        ends = indent < worker.indent and raised(text.strip()) != ""
        if (worker.code and text[:2] == "  " and not ends) or _CARETS.fullmatch(text[:LONGEST]):
            return True
        if worker.code:
            worker.code = False
            return raised(text.strip()) == "" and _OTHER.match(text) is None
        return False

    def _marks(self, said: str) -> bool:
        """Take in what says how the job ended, or which network it used."""
        if any(mark in said for mark in _SUCCESS):
            self.succeeded = True
            return True
        if any(mark in said for mark in _FAILURE):
            self.failed = True
        self._root = self._root or "first observed failure" in said
        named = _ROOT_RANK.search(said[:200]) if self._root and self.root_rank is None else None
        if named is not None:
            self.root_rank, self._root = int(named[1]), False
        lowered = said.lower() if "net" in said or "NET" in said or "rovider" in said else ""
        if lowered and any(mark in lowered for mark in _EFA):
            self.network = FastNetwork.EFA
        elif lowered and self.network is FastNetwork.UNKNOWN:
            marks = (
                (*_SOCKETS, *_NO_EFA) if self.short else _SOCKETS
            )  # in a whole log _NO_EFA is normal on types without EFA
            if any(mark in lowered for mark in marks):
                self.network = FastNetwork.SOCKETS
        return False


def _announces(said: str) -> bool:
    """Whether a line is a report: it has a level, or begins with what is exact of it. Anything may stand within a sentence."""
    if _LEVEL.match(said[:LONGEST]) is not None:
        return True
    rest = match(said.split(" ", _AHEAD)[-1], 1) if said.count(" ") >= _AHEAD else None
    return rest is None or not rest.exact


def _mistakes(said: str) -> bool:
    """Whether a line says in Python's own words, behind a report's head or not, that the script is mistaken."""
    head = _HEAD.match(said[:400])
    return _MISTAKE.match(said, head.end() if head is not None else 0) is not None


_ROOT_RANK = re.compile(r"\brank\s{0,10}: ?(\d{1,6}) \(local_rank")
_RANKS = re.compile(
    r"\[[Rr]ank ?(\d{1,5})\]|\brank ?[:=]? ?(\d{1,5}) \(local_rank|process rank (\d{1,5})|on rank (\d{1,5})\b"
)


def _rank(line: Evidence) -> int | None:
    """The worker of a line: the launcher's prefix, else what the line itself names."""
    if line.rank is not None:
        return line.rank
    found = _RANKS.search(line.text[:500])
    return int(next(group for group in found.groups() if group)) if found else None


def earlier(first: Finding, second: Finding) -> bool:
    """Whether one finding came before another: by time where both have one, else by place."""
    one, two = first.evidence.time_s, second.evidence.time_s
    if math.isfinite(one) and math.isfinite(two) and one != two:
        return one < two
    return first.at < second.at

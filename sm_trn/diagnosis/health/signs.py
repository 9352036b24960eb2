"""What one log line says of a job's progress: counters, announced pauses, skipped steps."""

from __future__ import annotations

import enum
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from ...core.logs.losses import LONGEST, says_not_finite


class Pause(enum.Enum):
    """A silence that a job announces: its word, and how often ``Guard.pause_s`` it may last while its usual length is unknown.

    The longest healthy ones of public logs: a compilation 682 s and, as optimum-neuron says, up to an hour; a download 498 s;
    the tokenizing of a large corpus more than an hour.
    """

    COMPILE = ("compiling", 2)
    EVALUATE = ("evaluating", 1)
    SAVE = ("saving", 1)
    PREPARE = ("preparing", 2)

    def __init__(self, word: str, share: int) -> None:
        self.word = word
        self.share = share


_PAUSES = {
    Pause.COMPILE: re.compile(
        r"neuronx?-cc|NEURON_CC_WRAPPER|NCC_WRAPPER|PARALLEL_COMPILE|Compiler status|cached neff|\b[Cc]ompil|^\.{2,}$"
        r"|torch\._dynamo|\bXLA\b"
    ),
    Pause.EVALUATE: re.compile(r"\b[Ee]valuat|['\"]eval_|\b[Vv]alidat|Running [Pp]rediction|\*{3,} Running"),
    Pause.SAVE: re.compile(r"\b[Ss]aving|\b[Cc]heckpoint|\b[Ss]aved|save_pretrained|\b[Uu]pload"),
    Pause.PREPARE: re.compile(
        r"\b[Dd]ownload|\b[Ll]oading|\b[Ff]etching|\bMap\b|Generating .{0,40}split|\b[Tt]okeniz|\b[Ii]nstall|Filter \(|Resolving"
        r"|\b[Pp]reprocess|Collecting |\b[Pp]acking"
    ),
}
# A bar of tqdm or Keras: what is done of how much, which may be bytes.
_BAR = re.compile(
    r"(?<![\w./])(?P<done>\d[\d.]{0,12}[kKMGT]?)/(?P<all>\d[\d.]{0,12}[kKMGT]?)(?= (?:\[[\d=>.]|━|\d+:\d\d))"
)
# Trainer, DeepSpeed, Lightning, Megatron, NxD, fairseq, XGBoost, and what people print themselves.
_NAMED = re.compile(
    r"(?<!\w)(?<![A-Za-z]/)(?P<name>(?:global_?)?steps?|iter(?:ation)?s?|batch(?:es)?|epochs?|num_updates"
    r"|(?:consumed[ _])?samples|examples|(?:num_)?tokens(?:[ _]seen)?|(?:total_)?timesteps|episodes?|round)"
    r"\b['\"]?[ \t]{0,8}[:=#/\]|]?[ \t]{0,12}['\"]?(?P<value>\d[\d.,]{0,20}(?:e[+-]?\d{1,3})?)"
    r"(?:[ \t]{0,4}/[ \t]{0,12}(?P<all>\d{1,12}))?|^\[?(?P<round>\d{1,7})(?:\][\t#]|:[\t ]+learn\b)"
    r"|(?<![\w./])(?P<pair>\d{1,12})/(?P<of>\d{1,12}) (?:batches|steps|iterations|epochs)\b",
    re.IGNORECASE,
)
_SCALER = re.compile(r"OVERFLOW|[Ss]kipping step|[Gg]radient overflow")
SCALE = re.compile(r"reducing (?:loss scale )?to (?P<scale>\d[\d.]{0,20}(?:e[+-]?\d{1,3})?)")
_NO_DIGITS = dict.fromkeys(map(ord, "0123456789"))


@dataclass(frozen=True, slots=True)
class Traits:
    """What the words of a line say, whatever its numbers are."""

    pause: Pause | None
    skips: bool  # a loss scaler skips a step
    lost: bool  # the loss or the gradients are no numbers


def traits(text: str) -> Traits:
    """The traits of a line. Logs say the same with other numbers again and again: each form is looked at once."""
    return _traits(text[-LONGEST:].translate(_NO_DIGITS))


@lru_cache(maxsize=4096)
def _traits(form: str) -> Traits:
    return Traits(
        pause=next((pause for pause, pattern in _PAUSES.items() if pattern.search(form)), None),
        skips=_SCALER.search(form) is not None,
        lost=says_not_finite(form),
    )


def counters(text: str) -> Iterator[tuple[str, str, str]]:
    """Name, value and total – empty where none is told – of what a line counts; the newest state of a bar that was drawn
    again and again."""
    line = text[-LONGEST:]
    bars = list(_BAR.finditer(line))
    if bars:
        yield "", bars[-1]["done"], bars[-1]["all"]
    for found in _NAMED.finditer(line):
        if found["name"] is not None:
            yield found["name"].lower().rstrip("s"), found["value"].rstrip(".,"), found["all"] or ""
        elif found["round"] is not None:
            yield "round", found["round"], ""
        else:
            yield "", found["pair"], found["of"]

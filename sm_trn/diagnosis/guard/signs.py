"""What a log line says of a job's progress: a step, a pause that has a reason, or only that somebody is alive."""

from __future__ import annotations

import enum
import re
from collections.abc import Sequence

from ...core.logs.losses import LONGEST


class Sign(enum.Enum):
    """The kinds of lines, and how much silence each may be followed by, in ``Guard.pause_s``; 0 says nothing of it.

    The longest healthy ones of public logs: a compile 682 s and, as optimum-neuron says, up to an hour; a download 498 s.
    """

    STEP = ("step", 0)
    COMPILE = ("compile", 2)
    EVALUATE = ("evaluation", 1)
    SAVE = ("save", 1)
    DOWNLOAD = ("download", 1)
    LINE = ("line", 0)

    @property
    def word(self) -> str:
        """What people read."""
        return self.value[0]

    @property
    def pauses(self) -> int:
        """How much silence may follow; 0 for a line that explains none."""
        return self.value[1]


# Hugging Face Trainer, tqdm, Keras, DeepSpeed, Lightning, Megatron and NxD, XGBoost.
_STEP = re.compile(
    r"['\"]loss['\"]\s?:|\d/\d{1,9} \[\d|\d/\d{1,9} \[=|SamplesPerSec|\[timer\.py|\bEpoch \d{1,7}:|\biteration\s{1,3}\d|\[\d{1,7}\][\t#]"
    r"|\b(?:step|iter|global_step)\b['\"]?\s{0,2}[:=/]?\s{0,2}\d",
    re.IGNORECASE,
)
_PAUSES: Sequence[tuple[Sign, re.Pattern[str]]] = (
    (
        Sign.COMPILE,
        re.compile(
            r"neuronx?-cc|NEURON_CC_WRAPPER|NCC_WRAPPER|PARALLEL_COMPILE|Compiler status|cached neff|[Cc]ompil|^\.{2,}$|torch\._dynamo|XLA"
        ),
    ),
    (Sign.EVALUATE, re.compile(r"[Ee]valuat|['\"]eval_|[Vv]alidat|Running [Pp]rediction|\*{3,} Running")),
    (
        Sign.SAVE,
        re.compile(r"[Ss]aving|[Cc]heckpoint|[Ss]aved|save_pretrained|Configuration saved|Model weights saved"),
    ),
    (
        Sign.DOWNLOAD,
        re.compile(
            r"[Dd]ownload|[Ll]oading|[Ff]etching|\bMap\b|Generating .{0,40}split|[Tt]okeniz|[Ii]nstall|[Uu]pload|Filter \(|Resolving"
            r"|[Pp]reprocess|Collecting "
        ),
    ),
)
_SCALER = re.compile(r"OVERFLOW|[Ss]kipping step|loss scale|[Gg]radient overflow")


def sign_of(text: str) -> Sign:
    """What a line says; a pause that has a reason stands above a step: an evaluation has bars of its own."""
    line = text[-LONGEST:]
    for sign, pattern in _PAUSES:
        if pattern.search(line):
            return sign
    return Sign.STEP if _STEP.search(line) else Sign.LINE


def scales(text: str) -> bool:
    """Whether a loss scaler is at its normal search: the loss may be infinite for some steps."""
    return _SCALER.search(text[-LONGEST:]) is not None

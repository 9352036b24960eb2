"""Whatever a job prints, reading it ends, soon and without an exception. SM_TRN_FUZZ_CHUNKS says how many chunks (3,000)."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable

import pytest

from sm_trn.core.logs import LogEvent, MetricReader, SavedLog, dicts, prefix_of, printable, shown
from sm_trn.core.specs import MetricRule

CHUNKS = int(os.environ.get("SM_TRN_FUZZ_CHUNKS", "3000"))
RULES = (MetricRule("a", r"loss[=: ]+([0-9.]+)"), MetricRule("b", r"'(\w+)': (.*)$"))
PIECES = (
    "{", "}", "'", '"', ":", ",", "'loss': ", "0.5", "nan", "1e999", "-", "[1,0]<stdout>:", "[rank3]:", "#015", "#011",
    "\r", "\x1b[31m", "\x1b]8;;x", "\x1b", "PARALLEL_COMPILE||: Running trial run", "PARALLEL_COMPILE||:", "SM_HPS=",
    "{'loss': 0.5, 'step': 1}", "{'a': {'b': {'c': 1}}}", "[", "]", "(", "tensor(", "\u2588", "\ud800", "\x00", "\n",
    "2024-05-31 01:05:00 Training - ", "algo-1-x  | ", "loss=", " " * 50, "9" * 500,
)  # fmt: skip


def noise(dice: random.Random) -> bytes:
    return dice.randbytes(dice.randrange(400))


def soup(dice: random.Random) -> bytes:
    return "".join(dice.choices(PIECES, k=dice.randrange(40))).encode("utf-8", "surrogatepass")


def half(dice: random.Random) -> bytes:
    whole = b"[1,0]<stdout>:{'loss': 0.5, 'learning_rate': 5e-05, 'note': '\xe2\x96\x88', 'epoch': 1.0}\x1b[0m\n"
    start = dice.randrange(len(whole))
    return whole[start : start + dice.randrange(len(whole))]


def nested(dice: random.Random) -> bytes:
    depth = dice.randrange(3000)
    return b"{'a':" * depth + b"1" + b"}" * dice.randrange(depth + 1)


KINDS: tuple[Callable[[random.Random], bytes], ...] = (noise, soup, soup, half, nested)


def everything(raw: bytes, reader: MetricReader) -> None:
    text = raw.decode("utf-8", "replace")
    for event in (LogEvent(1.0, "algo-1", text), LogEvent(float("nan"), "", raw.decode("latin-1"))):
        assert all(isinstance(point.value, float) for point in reader.read([event]))
        prefix_of(event.text)
        assert "\x1b" not in printable(shown(event.text))
    saved = SavedLog(raw)
    assert all(isinstance(point.value, float) for point in saved.points())
    list(saved.events())
    assert saved.ending is not None
    assert saved.status_lines is not None


def test_chunks_of_anything_end_without_an_exception() -> None:
    dice = random.Random(20_261_120)
    reader = MetricReader(RULES)
    slowest = 0.0
    for number in range(CHUNKS):
        raw = KINDS[number % len(KINDS)](dice)
        began = time.process_time()
        everything(raw, reader)
        slowest = max(slowest, time.process_time() - began)
    assert slowest < 2.0


MEGABYTE = 1_000_000  # CloudWatch's own limit for one event
SIZE = MEGABYTE // 4
GIANTS = {
    "braces": "{" * SIZE,
    "pairs of braces": "{}" * (SIZE // 2),
    "nested dicts": "{'a':" * (SIZE // 5) + "1" + "}" * 100,
    "quotes": "{" + "'" * SIZE,
    "double and single quotes": "{" + "\"'" * (SIZE // 2),
    "digits": "{'loss': " + "1" * SIZE + "}",
    "digits without an end": "{'loss': " + "1" * SIZE,
    "blanks": "{'loss'" + " " * SIZE + ": 1}",
    "half pairs": "{" + "'a': 1 " * (SIZE // 7),
    "tensors": "{" + "'a': tensor(1, " * (SIZE // 15),
    "many dicts": "{'loss': 0.5} " * (SIZE // 14),
    "broken dicts": "{'loss': 0.5, x} " * (SIZE // 17),
    "escapes": "\x1b[" * (SIZE // 2) + "{",
    "titles": "\x1b]" * (SIZE // 2) + "{",
    "octal": "#015" * (SIZE // 4) + "{",
    "settings": "SM_A={'a': 1}" * (SIZE // 13),
    "prefixes": "[1,0]<stdout>:" * (SIZE // 14),
    "bars": "\r 10%|\u2588         | 1/10 [00:01<00:09]" * (SIZE // 36) + "{'loss': 0.5}",
    "status": "2024-05-31 01:05:00 Training - " + "." * SIZE,
    "dots": "." * SIZE + "x",
    "composed": "a" * SIZE + "-algo-1 |",
    "stream names": "[06/26/26 10:53:16] \x1b]8;" + "a-" * (SIZE // 2) + "/algo-1-1",
}


@pytest.mark.parametrize("name", GIANTS)
def test_the_longest_lines_take_seconds_at_most(name: str) -> None:
    raw = GIANTS[name].encode()
    began = time.process_time()
    everything(raw, MetricReader())
    assert time.process_time() - began < 15 * SIZE / MEGABYTE


def test_reading_a_dict_grows_with_the_lines_length_only() -> None:
    def seconds(size: int) -> float:
        began = time.process_time()
        for name in ("half pairs", "quotes", "nested dicts", "digits without an end", "broken dicts"):
            dicts(GIANTS[name][:size])
        return time.process_time() - began

    small = max(seconds(SIZE // 16), 0.001)
    assert seconds(SIZE) < 100 * small  # 16 times the length; a square would be 256 times

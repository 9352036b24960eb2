"""Accelerators as tables write them: the datasheet of each word, also of chips that no instance type has, and never one for another."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from sm_trn.core.catalog.chips import Chip, chips
from sm_trn.core.catalog.instances import instances

from .fields import Refusal

_FORMS = frozenset({"pcie", "nvl"})  # of one chip, each with a datasheet of its own
_MEMORY = re.compile(r"\d{2,3}gb")
_OTHER_CARDS = frozenset({"ti", "super", "laptop", "mobile"})  # after a card's name they make another one
# What is an accelerator though no datasheet of it is here: letters of a product line before a number, or the name of a line.
_PRODUCT = re.compile(r"(?:mi|gb|[abghklmptv])\d{1,4}[a-z]{0,2}|rtx|gtx|titan|quadro|radeon|tpu\w*|gaudi\w*|ascend\w*")
_BOARD_W: Mapping[str, float] = {"A100": 400, "H100": 700, "H200": 700}  # SXM boards, by their datasheets
_CLOCK = 1 / 3  # a chip's power grows with its clock and with the square of its voltage, which grows with the clock


@functools.cache
def accelerators() -> Mapping[str, Chip]:
    """The package's chips, and those of other machines beside this file."""
    rows = json.loads(Path(__file__).with_name("accelerators.json").read_text("utf-8"))["rows"]
    return {**chips(), **{row["name"]: Chip(**row) for row in rows}}


def accelerator(place: str, *notes: str) -> Chip | Refusal:
    """The chip that a row's place names, or else the first of its notes that names any; or why none is known."""
    for field in (place, *notes):
        words = _words(field)
        found = {chip.name: chip for chip in _chips_in(words)}
        if len(found) > 1:
            return Refusal(f"instance {place!r} may be {' or '.join(found)}")
        if found:
            return next(iter(found.values()))
        unknown = [word for word in words if _PRODUCT.fullmatch(word)] if field is place else []
        if unknown:
            return Refusal(f"no datasheet is here for accelerator {unknown[0]!r} of instance {place!r}")
    return Refusal(f"no accelerator is known for instance {place!r}")


def as_built(chip: Chip, words: str) -> Chip:
    """The chip with the memory and the power that a row says are not its datasheet's."""
    memory = re.search(r"\b(\d(?:\.\d+)?)\s?tb/s", words.lower())
    watts = re.search(r"\b([1-9]\d\d)\s?w\b", words.lower())
    board = _BOARD_W.get(chip.name.partition("-")[0])
    slower = min(1.0, float(watts[1]) / board) ** _CLOCK if watts and board else 1.0
    rates = {name: rate * slower for name in ("fp16", "bf16", "tf32", "fp32", "fp8") if (rate := getattr(chip, name))}
    return replace(chip, **rates, hbm_gbs=float(memory[1]) * 1000 if memory else chip.hbm_gbs)


def _words(field: str) -> list[str]:
    """``8xA100-SXM4-80GB`` as a100, sxm4, 80gb."""
    text = re.sub(r"(?<=[rg]tx)(?=\d)", " ", field.lower())
    text = re.sub(r"\btrainium\b\s?(\d?)", lambda said: f"trainium{said[1] or 1}", text)
    text = re.sub(r"(?<=\d)\s?gi?b?\b", "gb", text)
    return [re.sub(r"^\d+x(?=[a-z])|x\d+$", "", word) for word in re.findall(r"[a-z0-9.]+", text)]


def _chips_in(words: list[str]) -> Iterator[Chip]:
    for at in range(len(words)):
        names = {name for name in map(_core, accelerators()) if _names(name, words[at:])}
        longest = max(names, key=len, default=())
        if longest:
            yield _variant([chip for name, chip in accelerators().items() if _core(name) == longest], words)
        yield from _of_family(words[at])


def _core(name: str) -> tuple[str, ...]:
    """The words without which a chip is not meant: neither its memory's size nor its form, nor the line before a number of its own."""
    words = _words(name.removeprefix("RTX "))
    return tuple(word for word in words if word not in _FORMS and not _MEMORY.fullmatch(word))


def _names(core: tuple[str, ...], words: list[str]) -> bool:
    said = words[: len(core)]
    plural = [*said[:-1], said[-1].removesuffix("s")] if said else []
    exists = any(_core(name) == tuple(said) for name in accelerators())
    after = words[len(core) : len(core) + 1]
    return (tuple(said) == core or (tuple(plural) == core and not exists)) and not _OTHER_CARDS & set(after)


def _variant(of_one_name: list[Chip], words: list[str]) -> Chip:
    """The one of a chip's forms and memories that the words say; the first where they say none of these."""
    said = {word for word in words if word in _FORMS or _MEMORY.fullmatch(word)}
    return max(of_one_name, key=lambda chip: _likeness(set(_words(chip.name)), said))


def _likeness(name: set[str], said: set[str]) -> int:
    qualities = {word for word in name if word in _FORMS or _MEMORY.fullmatch(word)}
    return 2 * len(qualities & said) - len(qualities - said)


def _of_family(word: str) -> Iterator[Chip]:
    """The chip of AWS's instances of a family, such as p4de."""
    family = [one for one in instances().values() if one.name.split(".")[1] == word]
    yield from (chips()[one.chip] for one in family if one.chip in chips())

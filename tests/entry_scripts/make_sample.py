"""Owns the bundled sample reviews and the tokenizer of `tiny-random`; must not know how they are read.

    python make_sample.py            writes sample/reviews.csv and tiny_random/tokenizer.json of the entry scripts

The same bytes every time, on every Python: only `random.Random.random()` is drawn from, and the tokenizer file is
written as plain JSON, so that old and new `tokenizers` read the same thing.

The reviews are made so that counting words is not enough: in two of five the words alone mislead. They deny the
opposite ("not bad"), or weigh two opinions, where "but", "although" and their places say which one counts.
"""

from __future__ import annotations

import csv
import io
import json
import random
import string
from collections.abc import Sequence
from pathlib import Path

HERE = Path(__file__).resolve().parents[2] / "entry_scripts"
SAMPLE = HERE / "sample" / "reviews.csv"
TOKENIZER = HERE / "tiny_random" / "tokenizer.json"
ROWS = 4000
SEED = 2022

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
POSITIVE, NEGATIVE = 1, 0
ADJECTIVES = {
    POSITIVE: "good great excellent superb reliable sturdy lovely clear quick perfect solid impressive".split(),
    NEGATIVE: "bad poor terrible awful flimsy weak ugly dull slow broken shoddy disappointing".split(),
}
ASPECTS = "battery screen sound camera strap handle motor cable manual finish fabric zip lid design case grip".split()
NEGATIONS = ("not", "never", "hardly")
DEGREES = ("", "", "very", "really", "quite")
FILLERS = (
    "I bought it for my {person}.",
    "It arrived on {day}.",
    "We have used it since {month}.",
    "Ordered the {colour} one.",
    "My {person} uses it every day.",
    "Picked it up in the {colour} box.",
)
FILLS = {
    "person": "sister brother mother father neighbour friend son daughter".split(),
    "day": "Monday Tuesday Wednesday Thursday Friday Saturday".split(),
    "month": "January March April June August October".split(),
    "colour": "red blue green black white grey".split(),
}
# What the user's own text may hold beside the words above: the tokenizer then needs fewer one-letter pieces.
COMMON_WORDS = (
    "a about after again all also am an and any are as at back be because been before best better buy by "
    "came can could cd day did do does don down even first for from get go got had has have he her here "
    "him his how i if in into is it its just know like listen little ll long look love made make many me "
    "more most movie much music must my new no now of off old on one only or other our out over own "
    "people product quality re read really same say see she should so some still story such sure t take "
    "than thank that the their them then there these they thing think this time to too two up use used ve "
    "very voice waste want was way we well went were what when where which who why will with work works "
    "worst would year years you your book money price happy sad hate today tomorrow"
).split()


class Dice:
    """Draws that depend on the seed and on nothing else, whatever the Python version."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def chance(self, probability: float) -> bool:
        return self._random.random() < probability

    def pick(self, values: Sequence[str]) -> str:
        return values[int(self._random.random() * len(values))]


def clause(dice: Dice, polarity: int, *, negated: bool) -> str:
    """One opinion on one aspect: said directly, or by denying its opposite."""
    subject = "the " + dice.pick(ASPECTS) + " is"
    if negated:
        return " ".join((subject, dice.pick(NEGATIONS), dice.pick(ADJECTIVES[1 - polarity])))
    return " ".join(word for word in (subject, dice.pick(DEGREES), dice.pick(ADJECTIVES[polarity])) if word)


def opinion(dice: Dice, polarity: int) -> str:
    """A sentence whose meaning is `polarity`; in two of five the words alone do not tell it."""
    if dice.chance(0.6):
        return clause(dice, polarity, negated=False)
    if dice.chance(0.45):
        return clause(dice, polarity, negated=True)
    weighty = clause(dice, polarity, negated=dice.chance(0.15))
    light = clause(dice, 1 - polarity, negated=dice.chance(0.15))
    if dice.chance(0.6):
        return light + " but " + weighty
    return weighty + ", although " + light if dice.chance(0.5) else "although " + light + ", " + weighty


def review(dice: Dice, polarity: int) -> str:
    """An opinion, often with a sentence beside it that says nothing."""
    text = opinion(dice, polarity)
    text = text[0].upper() + text[1:] + dice.pick((".", ".", "!"))
    if dice.chance(0.5):
        filler = dice.pick(FILLERS)
        filler = filler.format(**{name: dice.pick(values) for name, values in FILLS.items()})
        text = filler + " " + text if dice.chance(0.5) else text + " " + filler
    return text


def rows(count: int = ROWS, seed: int = SEED) -> list[tuple[str, int]]:
    """`count` different reviews, half of them positive."""
    dice = Dice(seed)
    seen: set[str] = set()
    made: list[tuple[str, int]] = []
    while len(made) < count:
        label = len(made) % 2
        text = review(dice, label)
        if text not in seen:
            seen.add(text)
            made.append((text, label))
    return made


def sample_csv() -> str:
    out = io.StringIO()
    writer = csv.writer(out, quoting=csv.QUOTE_ALL, escapechar="\\", lineterminator="\n")
    writer.writerow(("content", "label"))
    writer.writerows(rows())
    return out.getvalue()


def vocabulary() -> dict[str, int]:
    """Special pieces, every character alone and inside a word, the sample's words, common words."""
    symbols = string.ascii_lowercase + string.digits
    words = {word.strip(",.!").lower() for text, _ in rows() for word in text.split()}
    pieces = list(SPECIAL)
    pieces += list(string.punctuation) + list(symbols) + ["##" + symbol for symbol in symbols]
    pieces += ["##" + ending for ending in ("ed", "er", "es", "est", "ing", "ion", "ly", "ment", "ness", "able", "ful")]
    pieces += sorted((words | set(COMMON_WORDS)) - set(pieces))
    return {piece: number for number, piece in enumerate(pieces)}


def tokenizer_json() -> str:
    """BERT's lower-casing WordPiece pipeline in the format that every `tokenizers` since 0.12 reads."""
    vocab = vocabulary()
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    special = [{"id": vocab[piece], "content": piece, **flags} for piece in SPECIAL]

    def one(piece: str, type_id: int) -> dict[str, dict[str, object]]:
        return {"SpecialToken": {"id": piece, "type_id": type_id}}

    def text(name: str, type_id: int) -> dict[str, dict[str, object]]:
        return {"Sequence": {"id": name, "type_id": type_id}}

    single = [one("[CLS]", 0), text("A", 0), one("[SEP]", 0)]
    content = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": special,
        "normalizer": {
            "type": "BertNormalizer",
            "clean_text": True,
            "handle_chinese_chars": True,
            "strip_accents": None,
            "lowercase": True,
        },
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": single,
            "pair": [*single, text("B", 1), one("[SEP]", 1)],
            "special_tokens": {
                piece: {"id": piece, "ids": [vocab[piece]], "tokens": [piece]} for piece in ("[CLS]", "[SEP]")
            },
        },
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
        "model": {
            "type": "WordPiece",
            "unk_token": "[UNK]",
            "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100,
            "vocab": vocab,
        },
    }
    return json.dumps(content, indent=1) + "\n"


def main() -> None:
    for path, content in ((SAMPLE, sample_csv()), (TOKENIZER, tokenizer_json())):
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content.encode())


if __name__ == "__main__":
    main()

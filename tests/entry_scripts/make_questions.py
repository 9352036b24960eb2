"""Owns the bundled sample questions; must not know how they are read.

    python make_questions.py         writes sample/questions.jsonl of the entry scripts, the same bytes every time

Each context tells who bought what, in which colour and when, beside an opinion; the answer is a part of it.
"""

from __future__ import annotations

import json
from typing import Any

from make_sample import ASPECTS, FILLS, HERE, Dice, clause

QUESTIONS = HERE / "sample" / "questions.jsonl"
ROWS = 600
SEED = 2016


def example(dice: Dice, number: int) -> dict[str, Any]:
    """In SQuAD's flat form."""
    who, colour, day = "My " + dice.pick(FILLS["person"]), dice.pick(FILLS["colour"]), "on " + dice.pick(FILLS["day"])
    thing = dice.pick(ASPECTS)
    said = clause(dice, number % 2, negated=dice.chance(0.3)).capitalize() + "."
    fact = f"{who} bought the {colour} {thing} {day}."
    context = f"{said} {fact}" if dice.chance(0.5) else f"{fact} {said}"
    question, answer = (
        (f"Who bought the {thing}?", who),
        (f"When did I get the {thing}?", day),
        (f"Which {thing} was it?", colour),
    )[number % 3]
    start = context.index(fact) + fact.index(answer)
    answers = {"text": [answer], "answer_start": [start]}
    return {"id": f"q{number:04d}", "context": context, "question": question, "answers": answers}


def sample_jsonl() -> str:
    dice = Dice(SEED)
    return "".join(json.dumps(example(dice, number)) + "\n" for number in range(ROWS))


if __name__ == "__main__":
    QUESTIONS.write_bytes(sample_jsonl().encode())

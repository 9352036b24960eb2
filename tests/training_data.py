"""Small data of every kind that a template reads."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path

# One pixel, red: PNG needs no library.
PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
)


def lines(path: Path, rows: list[dict[str, object]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


def chats(folder: Path) -> Path:
    turns = [{"role": "user", "content": "is the food good ?"}, {"role": "assistant", "content": "it is very good !"}]
    rows: list[dict[str, object]] = [{"messages": turns} for _ in range(200)]
    return lines(folder / "chats.jsonl", rows)


def preferences(folder: Path) -> Path:
    rows: list[dict[str, object]] = [{"prompt": "how was it ?", "chosen": "very good", "rejected": "no idea"}] * 100
    return lines(folder / "preferences.jsonl", rows)


def answers(folder: Path) -> Path:
    return lines(folder / "answers.jsonl", [{"prompt": f"what is {n} ?", "answer": str(n)} for n in range(100)])


def questions(folder: Path) -> Path:
    row: dict[str, object] = {
        "question": "what is good ?",
        "context": "the food is good",
        "answers": {"text": ["food"], "answer_start": [4]},
    }
    return lines(folder / "questions.jsonl", [row] * 100)


def reviews(folder: Path) -> Path:
    path = folder / "reviews.csv"
    rows = [f"the food is good {n},positive" for n in range(100)] + [
        f"the food is bad {n},negative" for n in range(100)
    ]
    path.write_text("\n".join(["review,sentiment", *rows]) + "\n", "utf-8")
    return path


def texts(folder: Path) -> Path:
    path = folder / "texts.txt"
    path.write_text("the movie was good and the food was bad\n" * 200, "utf-8")
    return path


def images(folder: Path) -> Path:
    for name in ("cat", "dog"):
        (folder / "images" / name).mkdir(parents=True)
        for number in range(8):
            (folder / "images" / name / f"{number}.png").write_bytes(PIXEL)
    return folder / "images"


def numbers(folder: Path) -> Path:
    path = folder / "numbers.csv"
    path.write_text("a,b,y\n" + "".join(f"{n},{n * 2},{n * 3}\n" for n in range(100)), "utf-8")
    return path


MADE: dict[str, Callable[[Path], Path]] = {
    "chat": chats,
    "preference": preferences,
    "reward": answers,
    "question-answering": questions,
    "classification": reviews,
    "language-model": texts,
    "vision": images,
    "pytorch": numbers,
}

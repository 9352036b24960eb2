"""Owns questions with their contexts and answers: files, features, and spans back into text; must not know models."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Iterable, Iterator, NamedTuple, Sequence

from _console import Mistake
from _corpus import import_datasets, load_hub
from _data import READERS, SAMPLES, files_of
from _examples import Examples, encode_examples
from _parts import rounded

SAMPLE = SAMPLES / "questions.jsonl"


class Question(NamedTuple):
    id: str
    question: str
    context: str
    answers: tuple[str, ...]  # all that count as right; none: the context does not tell
    starts: tuple[int, ...]  # where they begin in the context, in characters


class Features(NamedTuple):
    """Overlapping windows over the contexts, each with a place to find its example and its characters again."""

    examples: Examples
    of_question: list[int]
    offsets: list[list[tuple[int, int] | None]]  # None: not a token of the context


# --- files ---


def read_questions(where: str, flag: str) -> list[Question]:
    """Files in SQuAD's nested or flat JSON, JSON lines, csv (context, question, answer, answer_start), or parquet."""
    paths = files_of(SAMPLE if where == "sample" else Path(where), flag)
    found = [question for path in paths for question in _parse(_records(path), path.name, flag)]
    if not found:
        raise Mistake(f"--{flag}: got no question in {where!r}")
    return found


def hub_questions(name: str, config: str | None) -> tuple[list[Question], list[Question]]:
    parts = load_hub(import_datasets(), name, config)
    return tuple(list(_parse(parts[part], name, "dataset_name")) for part in ("train", "validation"))  # type: ignore[return-value]


def _records(path: Path) -> Iterator[dict[str, Any]]:
    if path.suffix == ".json":
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
        except ValueError:  # JSON lines under the name of JSON
            content = None
        if isinstance(content, dict) and isinstance(content.get("data"), list):
            yield from (row for entry in content["data"] for row in _flat(entry))
            return
    if path.suffix not in READERS:
        raise Mistake(f"data: got {path.name!r}, wanted a file that ends in {', '.join(READERS)}")
    yield from READERS[path.suffix](path)


def _flat(entry: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """SQuAD's articles hold paragraphs, which hold questions; some files hold the questions at once."""
    if "paragraphs" not in entry:
        yield entry
    for paragraph in entry.get("paragraphs", ()):
        for asked in paragraph["qas"]:
            answers = asked.get("answers") or []
            columns = {name: [answer[name] for answer in answers] for name in ("text", "answer_start")}
            yield {**asked, "context": paragraph["context"], "answers": columns}


def _parse(rows: Iterable[dict[str, Any]], name: str, flag: str) -> Iterator[Question]:
    for number, row in enumerate(rows):
        if not row:
            continue
        missing = [column for column in ("context", "question") if not row.get(column)]
        answers = row.get("answers")
        if missing or (answers is None and "answer" not in row):
            raise Mistake(
                f"--{flag}: row {number} of {name} lacks {', '.join(missing) or 'answers'}; wanted context, question "
                "and answers (text, answer_start), or in a csv the columns answer and answer_start"
            )
        if isinstance(answers, str):
            answers = json.loads(answers)
        if answers is None:
            texts, starts = [row["answer"]] if row["answer"] else [], [int(row.get("answer_start") or 0)]
        else:
            texts, starts = list(answers["text"]), [int(start) for start in answers["answer_start"]]
        yield Question(str(row.get("id", number)), row["question"], row["context"], tuple(texts), tuple(starts))


# --- features ---


def encode_questions(
    questions: Sequence[Question], tokenizer: Any, *, max_length: int, stride: int, full_length: bool
) -> Features:
    """Windows of at most `max_length` tokens that share `stride`; labels point at the answer, or at place 0."""
    encoded = tokenizer(
        [one.question.lstrip() for one in questions],
        [one.context for one in questions],
        truncation="only_second",
        max_length=max_length,
        stride=stride,
        return_overflowing_tokens=True,
        return_offsets_mapping=True,
        return_attention_mask=False,
    )
    of_question = list(encoded["overflow_to_sample_mapping"])
    offsets = [
        [pair if part == 1 else None for pair, part in zip(pairs, encoded.sequence_ids(number))]
        for number, pairs in enumerate(encoded["offset_mapping"])
    ]
    spans = [_span(questions[index], places) for index, places in zip(of_question, offsets)]
    labels = {"start_positions": [start for start, _ in spans], "end_positions": [end for _, end in spans]}
    longest = max(len(ids) for ids in encoded["input_ids"])
    length = max_length if full_length else min(max_length, rounded(longest))
    examples = encode_examples(encoded, labels, length=length, pad_id=tokenizer.pad_token_id)
    return Features(examples, of_question, offsets)


def _span(question: Question, offsets: Sequence[tuple[int, int] | None]) -> tuple[int, int]:
    """First and last token of the first answer; (0, 0) where this window does not hold all of it."""
    if not question.answers:
        return 0, 0
    begin = question.starts[0]
    end = begin + len(question.answers[0])
    inside = [place for place, pair in enumerate(offsets) if pair and pair[1] > begin and pair[0] < end]
    if not inside or offsets[inside[0]][0] > begin or offsets[inside[-1]][1] < end:  # type: ignore[index]  # not None
        return 0, 0
    return inside[0], inside[-1]


# --- answers ---


def answers_of(
    questions: Sequence[Question],
    features: Features,
    logits: tuple[Any, Any],
    *,
    n_best: int,
    max_tokens: int,
    may_be_empty: bool,
) -> list[str]:
    """The likeliest span of each question over all its windows; empty if that is allowed and likelier."""
    best: list[tuple[float, str]] = [(float("-inf"), "")] * len(questions)
    empty = [float("inf")] * len(questions)
    for number, index in enumerate(features.of_question):
        starts, ends, offsets = logits[0][number], logits[1][number], features.offsets[number]
        empty[index] = min(empty[index], float(starts[0]) + float(ends[0]))
        score, span = _best_span(starts, ends, offsets, n_best, max_tokens)
        if score > best[index][0]:
            best[index] = score, questions[index].context[span[0] : span[1]]
    return ["" if may_be_empty and none > score else text for (score, text), none in zip(best, empty)]


def _best_span(
    starts: Any, ends: Any, offsets: Sequence[tuple[int, int] | None], n_best: int, max_tokens: int
) -> tuple[float, tuple[int, int]]:
    """Among the `n_best` starts and ends: highest sum, in the context, forwards, not too long."""
    best = float("-inf"), (0, 0)
    likely_ends = [end for end in (-ends[: len(offsets)]).argsort()[:n_best].tolist() if offsets[end]]
    for start in (-starts[: len(offsets)]).argsort()[:n_best].tolist():
        first = offsets[start]
        if not first:
            continue
        for end in likely_ends:
            score = float(starts[start]) + float(ends[end])
            if start <= end < start + max_tokens and score > best[0]:
                best = score, (first[0], offsets[end][1])
    return best

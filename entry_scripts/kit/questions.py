"""Questions about texts, with their answers: rows as SQuAD has them, or with the columns answer and
answer_start.
"""

from __future__ import annotations

import ast
import json
from collections import Counter
from typing import Any, Sequence

from kit.data import Table, some
from sm_spot import UsageError

from datasets import Dataset, Features, Value

ANSWERS = {"text": [Value("string")], "answer_start": [Value("int32")]}
SQUAD = Features(
    {
        "id": Value("string"),
        "question": Value("string"),
        "context": Value("string"),
        "answers": ANSWERS,
    }
)


def questions_of(table: Table, *, judged: bool = False) -> Dataset:
    """SQuAD's columns: id, question, context and answers, where `answer_start` is empty if nobody
    knows the place.

    To be trained on, a row needs its answer where it says; to be judged on (`judged`) every row
    stays.
    """
    names = set(table.columns)
    if not {"question", "context"} <= names or not {"answers", "answer"} & names:
        wanted = "question, context and answers, or answer and answer_start; rename them"
        raise UsageError(
            f"--{table.name}: got the columns {', '.join(table.columns)}, wanted {wanted}"
        )
    ids = _ids(table)
    questions = table.texts("question")
    contexts = table.texts("context")
    examples: list[dict[str, Any]] = []
    lost: list[int] = []
    for index, row in enumerate(table.rows):
        question = questions[index]
        context = contexts[index]
        texts, start = _answers(table, index)
        start = _place(context, texts, start)
        answered = start >= 0 or not texts
        if not (question.strip() and context.strip() and answered):
            lost.append(row)
            if not judged:
                continue
        answers: dict[str, list[Any]] = {"text": texts, "answer_start": []}
        if start >= 0:
            answers["answer_start"].append(start)
        examples.append(
            {"id": ids[index], "question": question, "context": context, "answers": answers}
        )
    if lost and not judged:
        what = "which lack a question, a context, or the answer at its place"
        table.say(f"left out {len(lost)} rows, {what}: {some(lost)}")
    if not examples:
        raise UsageError(
            f"--{table.name}: got no row with its answer in its context, wanted some; check answer_start"
        )
    return Dataset.from_list(examples, features=SQUAD)


def _ids(table: Table) -> list[str]:
    if "id" not in table.columns:
        return [str(number) for number in range(len(table))]
    ids = table.texts("id")
    if len(set(ids)) < len(ids):
        own, count = Counter(ids).most_common(1)[0]
        raise UsageError(
            f"--{table.name}: got the id {own!r} in {count} rows, wanted each once; correct them"
        )
    return ids


def _answers(table: Table, index: int) -> tuple[list[str], int]:
    """The right answers, and where the first begins; -1: it does not say."""
    answers: Any
    if "answers" in table.columns:
        answers = table.columns["answers"][index]
    else:
        answers = {"text": table.columns["answer"][index], "answer_start": None}
        if "answer_start" in table.columns:
            answers["answer_start"] = table.columns["answer_start"][index]
    try:
        return _texts_and_start(answers)
    except (ValueError, SyntaxError, TypeError, AttributeError) as error:
        message = f"has the answers {answers!r:.60}, wanted text and answer_start; correct it"
        raise table.wrong(index, message) from error


def _texts_and_start(answers: Any) -> tuple[list[str], int]:
    if isinstance(answers, str):  # JSON, or as Python prints it, which is what to_csv writes
        printed = answers.lstrip("{[ ").startswith("'")
        answers = ast.literal_eval(answers) if printed else json.loads(answers or "[]")
    if isinstance(answers, list):  # as in SQuAD's own files: an object for each answer
        texts: Any = [one.get("text") for one in answers]
        starts: Any = [one.get("answer_start") for one in answers]
    else:
        answers = answers or {}
        texts = answers.get("text")
        starts = answers.get("answer_start")
    if isinstance(texts, str):
        texts = [texts]
    if not isinstance(starts, list):
        starts = [starts]
    starts = [start for start in starts if start not in {None, ""}]
    begin = int(float(starts[0])) if starts else -1
    return [str(text) for text in texts or [] if text], begin


def _place(context: str, texts: Sequence[str], start: int) -> int:
    """Where the first answer begins, without blanks at its edge; -1: not where it says, or nobody
    knows at which of several places.
    """
    if not texts or not texts[0].strip():
        return -1
    if start < 0 and context.count(texts[0]) == 1:
        start = context.find(texts[0])
    if start < 0 or not context.startswith(texts[0], start):
        return -1
    return start + len(texts[0]) - len(texts[0].lstrip())

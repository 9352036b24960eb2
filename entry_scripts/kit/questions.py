"""Questions about texts, with their answers: rows as SQuAD has them, or with the columns answer and
answer_start.
"""

from __future__ import annotations

import ast
import json
import re
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
    moved: list[int] = []
    for index, row in enumerate(table.rows):
        texts, said = _answers(table, index)
        start = _place(contexts[index], texts, said)
        if start >= 0 and said >= 0 and not contexts[index].startswith(texts[0], said):
            moved.append(row)
        answered = start >= 0 or not texts
        whole = bool(questions[index].strip() and contexts[index].strip() and answered)
        if not whole:
            lost.append(row)
        if whole or judged:
            answers = {"text": texts, "answer_start": [start] if start >= 0 else []}
            example = {
                "id": ids[index],
                "question": questions[index],
                "context": contexts[index],
                "answers": answers,
            }
            examples.append(example)
    if moved:
        what = "the answer is not at answer_start, but at one other place, which is used"
        table.say(f"of {len(moved)} rows {what}: {some(moved)}")
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
    seen: set[str] = set()
    for index, own in enumerate(ids):
        if own in seen:
            raise table.wrong(
                index, f"has the id {own!r} of a row before it, wanted another; correct it"
            )
        seen.add(own)
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
    texts: Any
    starts: Any
    if isinstance(answers, str):  # JSON, or as Python prints it, which is what to_csv writes
        if re.match(r"[{\[ ]*'", answers):
            answers = _printed(answers)
        else:
            answers = json.loads(answers or "[]")
    if isinstance(answers, list):  # as in SQuAD's own files: an object for each answer
        texts = [one.get("text") for one in answers]
        starts = [one.get("answer_start") for one in answers]
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


def _printed(text: str) -> Any:
    """As Python prints it, also with numpy's arrays, which pandas has in such a column."""
    try:
        return ast.literal_eval(text)
    except ValueError:
        return ast.literal_eval(
            re.sub(r"\barray\((\[.*?\])(, dtype=\w+)?\)", r"\1", text, flags=re.DOTALL)
        )


def _place(context: str, texts: Sequence[str], start: int) -> int:
    """Where the first answer begins, without blanks at its edge; -1: nowhere, or nobody knows at
    which of several places.
    """
    if not texts or not texts[0].strip():
        return -1
    if start < 0 or not context.startswith(texts[0], start):
        if context.count(texts[0]) != 1:
            return -1
        start = context.find(texts[0])
    return start + len(texts[0]) - len(texts[0].lstrip())

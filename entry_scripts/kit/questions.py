"""Questions about texts, with their answers: rows as SQuAD has them, or with the columns answer and answer_start."""

from __future__ import annotations

import ast
import json
import random
import re
from typing import Any, NamedTuple, Sequence

from kit.data import Table, some
from sm_spot import UsageError


class Questions(NamedTuple):
    ids: list[str]
    questions: list[str]
    contexts: list[str]
    answers: list[list[str]]  # all that count as right; none: the context does not tell
    starts: list[int]  # where the first begins in its context; -1: nowhere

    def take(self, chosen: Sequence[int]) -> Questions:
        columns: Any = ([column[index] for index in chosen] for column in self)
        return Questions(*columns)

    def first(self, count: int | None) -> Questions:
        return self.take(range(len(self.ids))[:count])

    def split(self, fraction: float, *, seed: int) -> tuple[Questions, Questions]:
        """What to train on, and what is held out."""
        rows = range(len(self.ids))
        if len(rows) < 2:
            raise UsageError(f"--train_file: got {len(rows)} question, wanted two to hold one out; add rows")
        count = min(max(1, round(len(rows) * fraction)), len(rows) - 1)
        out = {*random.Random(seed).sample(rows, count)}  # noqa: S311 - a split, no secret
        return self.take([row for row in rows if row not in out]), self.take(sorted(out))


def questions_of(table: Table, *, judged: bool = False) -> Questions:
    """SQuAD's rows, or `answer` and `answer_start`. To be trained on, a row needs its answer where it says."""
    if not {"question", "context"} <= {*table.columns} or not {"answers", "answer"} & {*table.columns}:
        wanted = "question, context and answers, or answer and answer_start; rename them"
        raise UsageError(f"--{table.name}: got the columns {', '.join(table.columns)}, wanted {wanted}")
    questions, contexts = table.texts("question"), table.texts("context")
    ids = table.texts("id") if "id" in table.columns else [str(number) for number in range(len(table))]
    known: set[str] = set()
    for index, own in enumerate(ids):
        if own in known:
            raise table.wrong(index, f"has the id {own!r} of a row before it, wanted another; correct it")
        known.add(own)
    answers = [_answers(table, index) for index in range(len(table))]
    starts = [_place(context, *answer) for context, answer in zip(contexts, answers)]
    good, lost, moved = [], [], []
    for index, row in enumerate(table.rows):
        (texts, said), start, context = answers[index], starts[index], contexts[index]
        if start >= 0 and said >= 0 and not context.startswith(texts[0], said):
            moved.append(row)
        whole = questions[index].strip() and context.strip() and (start >= 0 or not texts)
        if not whole:
            lost.append(row)
        if whole or judged:
            good.append(index)
    if moved:
        what = "the answer is not at answer_start, but at one other place, which is used"
        table.say(f"of {len(moved)} rows {what}: {some(moved)}")
    if len(good) < len(table):
        what = "which lack a question, a context, or the answer at its place"
        table.say(f"left out {len(lost)} rows, {what}: {some(lost)}")
    if not good:
        raise UsageError(f"--{table.name}: got no row with its answer in its context, wanted some; check answer_start")
    return Questions(ids, questions, contexts, [texts for texts, _ in answers], starts).take(good)


def _answers(table: Table, index: int) -> tuple[list[str], int]:
    """The right answers, and where the first begins; -1: it does not say."""
    row = {name: column[index] for name, column in table.columns.items()}
    found = row["answers"] if "answers" in row else {"text": row["answer"], "answer_start": row.get("answer_start")}
    try:
        if isinstance(found, str):  # JSON, or as Python prints it, which is what to_csv writes
            found = _printed(found) if re.match(r"[{\[ ]*'", found) else json.loads(found or "[]")
        if isinstance(found, list):  # as in SQuAD's own files: an object for each answer
            found = {name: [one.get(name) for one in found] for name in ("text", "answer_start")}
        texts, starts = ((found or {}).get(name) for name in ("text", "answer_start"))
        texts = [texts] if isinstance(texts, str) else texts or []
        starts = [one for one in (starts if isinstance(starts, list) else [starts]) if one not in {None, ""}]
        return [str(text) for text in texts if text], int(float(starts[0])) if starts else -1
    except (ValueError, SyntaxError, TypeError, AttributeError) as error:
        message = f"has the answers {found!r:.60}, wanted text and answer_start; correct it"
        raise table.wrong(index, message) from error


def _printed(text: str) -> Any:
    """As Python prints it, also with numpy's arrays, which pandas has in such a column."""
    try:
        return ast.literal_eval(text)
    except ValueError:
        return ast.literal_eval(re.sub(r"\barray\((\[.*?\])(, dtype=\w+)?\)", r"\1", text, flags=re.DOTALL))


def _place(context: str, texts: Sequence[str], start: int) -> int:
    """Where the first answer begins, without blanks at its edge; -1: nowhere, or nobody knows at which of several places."""
    if not texts or not texts[0].strip():
        return -1
    if start < 0 or not context.startswith(texts[0], start):
        start = context.find(texts[0]) if context.count(texts[0]) == 1 else -1
    return start if start < 0 else start + len(texts[0]) - len(texts[0].lstrip())

"""Tables of conversations, prompts and preferences as the data sets that trl knows."""

from __future__ import annotations

import contextlib
import json
from typing import Any, NoReturn, Sequence

from kit.data import Table, pick_columns
from kit.names import TEXTS
from sm_spot import UsageError

from datasets import Dataset

SHAREGPT_ROLES = {"human": "user", "gpt": "assistant"}


def tuning_set(table: Table, text_column: str | None = None) -> Dataset:
    """For SFTTrainer: conversations, prompts with completions, or texts; no other columns."""
    columns = table.columns
    for name in ("messages", "conversations"):
        if name in columns:
            conversations = [from_sharegpt(turns) for turns in columns[name]]
            check_conversations(table, conversations)
            kept = {"messages": conversations}
            if "tools" in columns:
                kept["tools"] = [as_json(tools) for tools in columns["tools"]]
            return Dataset.from_dict(kept)
    if "prompt" in columns and "completion" in columns:
        return preference_set(table, ("prompt", "completion"))
    names = set(map(str.lower, columns))
    if not text_column and not names & set(TEXTS):
        wanted = "'messages', 'prompt' and 'completion', or a text; rename them, or name one with --text_column"
        listed = ", ".join(columns)
        raise UsageError(f"--{table.name}: got the columns {listed}, wanted {wanted}")
    texts = table.texts(pick_columns(table, text=text_column, unlabelled=True).text)
    return Dataset.from_dict({"text": [text for text in texts if text.strip()]})


def preference_set(table: Table, names: Sequence[str]) -> Dataset:
    """The columns `names`, all texts or all conversations: prompt, chosen and rejected for
    DPOTrainer.
    """
    missing = [name for name in names if name not in table.columns]
    if missing:
        wanted = f"{', '.join(names)}; rename them"
        raise UsageError(
            f"--{table.name}: got the columns {', '.join(table.columns)}, wanted {wanted}"
        )
    columns = {name: table.columns[name] for name in names}
    check_alike(table, columns, names)
    return Dataset.from_dict(columns)


def check_alike(table: Table, columns: dict[str, list[Any]], names: Sequence[str]) -> None:
    """UsageError for the first row whose columns are neither all texts nor all conversations."""
    for index, values in enumerate(zip(*columns.values())):
        texts = all(isinstance(value, str) for value in values)
        if not texts and not all(map(is_conversation, values)):
            got = f"has {values!a:.60} in {' and '.join(map(repr, names))}"
            raise table.wrong(index, f"{got}, wanted texts or conversations alone; correct it")


def check_conversations(table: Table, conversations: Sequence[Any]) -> None:
    for index, turns in enumerate(conversations):
        if not is_conversation(turns):
            wanted = """wanted a list of {"role": …, "content": a text}"""
            raise table.wrong(index, f"has no conversation in 'messages', {wanted}")


def as_json(tools: Any) -> str:
    """For the chat template, which shows tools to the model; as JSON, for each row has a form of
    its own.
    """
    if isinstance(tools, str):
        return tools
    return json.dumps(tools or [])


def is_conversation(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(map(is_turn, value))


def is_turn(value: Any) -> bool:
    """A role and a text; a call of a tool has none."""
    if not isinstance(value, dict) or "content" not in value:
        return False
    return isinstance(value.get("role"), str) and isinstance(value["content"], (str, type(None)))


def from_sharegpt(turns: Any) -> Any:
    """A conversation of ShareGPT's form, `from` and `value`, with the roles that chat templates
    know.
    """
    if not isinstance(turns, list):
        return turns
    for turn in turns:
        if isinstance(turn, dict) and {"from", "value"} <= set(turn):
            role = turn.pop("from")
            turn.update(role=SHAREGPT_ROLES.get(role, role), content=turn.pop("value"))
    return turns


def refuse_conversation(
    sets: dict[str, Dataset], tables: dict[str, Table], tokenizer: Any, error: Exception
) -> NoReturn:
    """The first that the chat template has no form for, such as a system's turn, or two of the
    user's.
    """
    for name, examples in sets.items():
        for index, turns in enumerate(examples["messages"]):
            with contextlib.suppress(type(error)):
                tokenizer.apply_chat_template(turns, tokenize=False)
                continue
            message = f"has a conversation that the chat template refuses ({error}); correct it"
            raise tables[name].wrong(
                index, f"{message}, or give another --chat_template_path"
            ) from error
    raise error

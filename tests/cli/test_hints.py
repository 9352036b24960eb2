"""What a message tells people to type is there: every command and every option that a text of the package names."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from documents import commands_of

import sm_trn
from sm_trn.cli.__main__ import COMMANDS, cli, load

PACKAGE = Path(sm_trn.__file__).parent
OPTIONS = {
    tuple(path[1:]): {name for option in command.params for name in (*option.opts, *option.secondary_opts)}
    for name in COMMANDS
    for path, command in commands_of(["sm-trn", *name.split()], load(name))
}
OPTIONS[()] = {name for option in cli.params for name in option.opts}
EVERY = {"--help"}.union(*OPTIONS.values())
HINT = re.compile(r"\bsm-trn ((?:(?!sm-trn)[^;,`'\"()<\n]|(?<=\S)\.(?=\S))*)")
OPTION = re.compile(r"(?<![\w(-])--[a-z][a-z_-]*[a-z](?![\w-]*:)")  # and not a variable of CSS
# Options of other programs in texts that people read: pip's, AWS's, a shipped script's.
FOREIGN = {"--upgrade", "--shapes"}
PROSE = {"in"}
SPOKEN = {
    "cli", "account", "bridge/commands", "core/session", "core/pricing", "core/jobfile", "core/aws/errors.py", "core/aws/identity.py",
    "core/aws/renewal.py", "diagnosis/commands", "diagnosis/guard", "diagnosis/causes/source.py", "emulator/commands", "forecast",
    "hosting/commands", "report",
}  # fmt: skip


def texts(path: Path) -> Iterator[str]:
    """Each text of a file; a hole of an f-string is ``…``."""
    tree = ast.parse(path.read_text("utf-8"))
    inner = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else "…" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in inner:
            yield node.value


def command_of(words: list[str]) -> tuple[str, ...] | None:
    """The command that the words begin with; None where they begin with none."""
    if not words or words[0].startswith(("-", "…")) or words[0] in PROSE:
        return ()
    if len(words) > 1 and tuple(words[:2]) in OPTIONS:
        return tuple(words[:2])
    return (words[0],) if (words[0],) in OPTIONS else None


def wrong_hints(text: str) -> Iterator[str]:
    for match in HINT.finditer(text):
        words = [word.rstrip(".:") for word in match[1].split()]
        command = command_of(words)
        if command is None:
            yield f"no command: {match[0]}"
            continue
        said = set(OPTION.findall(match[1].split(" -- ")[0]))
        known = OPTIONS[command] | {"--help", *command} if command else EVERY
        yield from (f"no option {option}: {match[0]}" for option in said - known)


FILES = sorted(PACKAGE.rglob("*.py"))


def test_a_hint_names_commands_and_options_that_are_there() -> None:
    wrong = {
        f"{path.relative_to(PACKAGE)}: {each}" for path in FILES for text in texts(path) for each in wrong_hints(text)
    }
    assert set() == wrong


@pytest.mark.parametrize("room", sorted(SPOKEN))
def test_an_option_that_a_text_names_is_one_of_some_command(room: str) -> None:
    there = [path for path in FILES if str(path.relative_to(PACKAGE)).startswith(room)]
    assert there
    said = {(option, text) for path in there for text in texts(path) for option in OPTION.findall(text)}
    assert {} == {option: text for option, text in said if option not in EVERY | FOREIGN}


def test_the_shipped_dictionary_of_causes_names_what_is_there() -> None:
    text = (PACKAGE / "diagnosis/causes" / "dictionary.json").read_text("utf-8")
    assert [] == list(wrong_hints(text))


@pytest.mark.parametrize("page", sorted((PACKAGE / "docs").rglob("*.md")), ids=lambda path: path.name)
def test_a_page_names_commands_and_options_that_are_there(page: Path) -> None:
    assert [] == list(wrong_hints(page.read_text("utf-8")))

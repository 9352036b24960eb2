"""sm-trn skill"""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path

import click

from ..core.errors import NotConfigured
from .options import json_option
from .shared import say

NAME = "sm-trn"  # of the folder, which an agent's skill has
SKILL, AGENTS, INDEX = "SKILL.md", "AGENTS.md", "llms.txt"


@click.command("skill")
@click.option(
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    help=f"Write {SKILL}, {AGENTS} and {INDEX} into a folder of their own here, such as .claude/skills.",
)
@json_option
def command(output: Path | None, *, as_json: bool) -> None:
    """Print what a coding agent needs to check, launch, debug and cost a job, or write it as a folder that agents find.

    \b
    Example: sm-trn skill --output .claude/skills
    """
    if output is None:
        text = text_of(SKILL)
        say(json.dumps({"text": text}) if as_json else text.rstrip("\n"))
        return
    folder = output / NAME
    there = [str(folder / name) for name in (SKILL, AGENTS, INDEX) if (folder / name).exists()]
    if there:
        raise NotConfigured(
            f"output: {', '.join(there)} would be overwritten; choose another --output, or delete it first"
        )
    folder.mkdir(parents=True, exist_ok=True)
    for name in (SKILL, AGENTS, INDEX):
        (folder / name).write_text(text_of(name), "utf-8")
    written = [str(folder / name) for name in (SKILL, AGENTS, INDEX)]
    say(json.dumps({"written": written}) if as_json else f"Wrote {', '.join(written)}")


def text_of(name: str) -> str:
    """One of the files, as it ships."""
    return (files("sm_trn") / "docs" / "skill" / name).read_text("utf-8")

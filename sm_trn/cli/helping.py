"""sm-trn help"""

from __future__ import annotations

import click

from ..core.specs.value import suggestion


@click.command("help")
@click.argument("topic", default="all")
@click.pass_context
def command(context: click.Context, topic: str) -> None:
    """Show the commands of the group TOPIC, or of all groups, or the help of the command TOPIC.

    \b
    Example: sm-trn help jobs
    """
    from .__main__ import COMMANDS, GROUPS, load, write_groups  # noqa: PLC0415 - it loads this module

    if topic in COMMANDS:
        inner = load(topic)
        click.echo(inner.get_help(click.Context(inner, info_name=topic, parent=context.parent)))
        return
    if topic != "all" and topic not in GROUPS:
        wanted = ["all", *GROUPS, *COMMANDS]
        raise click.UsageError(
            f"help: got {topic!r}, wanted all, a command, or one of {', '.join(GROUPS)}{suggestion(topic, wanted)}"
        )
    formatter = context.make_formatter()
    write_groups(formatter, GROUPS if topic == "all" else [topic])
    click.echo(formatter.getvalue().strip())

"""The options of every command. The root command loads this module, so it imports nothing of the core."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])


class Region(click.ParamType):  # type: ignore[type-arg,unused-ignore]  # generic in new releases alone
    """A region that AWS has."""

    name = "region"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The name. Raises click.BadParameter for any other."""
        from ..core.errors import NotConfigured  # noqa: PLC0415 - a quick `--help` needs none of it
        from ..core.session.defaults import expect_region  # noqa: PLC0415 - as above

        try:
            return expect_region(str(value))
        except NotConfigured as error:
            self.fail(str(error).removeprefix("region: "), param, ctx)


# The options of every command. The root command shows them; a command takes those that it uses, and hides them in its help.
GLOBAL_OPTIONS: Mapping[str, tuple[tuple[str, ...], dict[str, Any]]] = {
    "backend": (
        ("--backend",),
        {
            "type": click.Choice(["aws", "emulator"]),
            "help": "Default: SM_TRN_BACKEND, else AWS if credentials are found.",
        },
    ),
    "region": (
        ("--region",),
        {
            "type": Region(),
            "metavar": "REGION",
            "help": "AWS region. Default: SM_TRN_REGION, AWS_REGION, AWS_DEFAULT_REGION or the profile's, else us-west-2.",
        },
    ),
    "profile": (("--profile",), {"help": "AWS profile."}),
    "state": (("--state",), {"type": click.Path(path_type=Path), "help": "The emulator's state folder."}),
    "as_json": (("--json", "as_json"), {"is_flag": True, "help": "Print JSON and nothing else on stdout."}),
    "debug": (("--debug",), {"is_flag": True, "help": "Show the traceback of an error."}),
}


def global_option(name: str, **more: Any) -> Callable[[Command], Command]:
    """Give a command one of the global options as an argument."""
    declarations, settings = GLOBAL_OPTIONS[name]
    return click.option(*declarations, **{**settings, **more})


def accept_global_options(command: click.Command) -> click.Command:
    """Make a command and its subcommands accept every global option; those that they do not use are ignored."""
    if isinstance(command, click.Group):
        for inner in command.commands.values():
            accept_global_options(inner)
    flags = {flag for parameter in command.params for flag in parameter.opts}
    for declarations, settings in GLOBAL_OPTIONS.values():
        if declarations[0] not in flags:
            command.params.append(click.Option(declarations, expose_value=False, **settings))
    for parameter in command.params:
        if parameter.name in GLOBAL_OPTIONS and isinstance(parameter, click.Option):
            parameter.hidden = True
    command.epilog = command.epilog or "Options of every command: sm-trn --help"
    return command


def inherited_options(command: click.Command, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the ``default_map`` by which a command and its subcommands get the options that stood before its name."""
    inner = command.commands if isinstance(command, click.Group) else {}
    return {**given, **{name: inherited_options(each, given) for name, each in inner.items()}}


region_option = global_option("region")
json_option = global_option("as_json")

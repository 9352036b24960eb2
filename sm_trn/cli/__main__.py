"""``sm-trn``: the command line. Commands load when they are called, so ``--help`` is quick."""

from __future__ import annotations

import errno
import os
import sys
import warnings
from importlib import import_module
from typing import Any

import click
from click.shell_completion import CompletionItem

from ..core import __version__
from ..core.errors import InvalidJobFile, NotConfigured, SmTrnError, UnknownName
from .options import accept_global_options, global_option, inherited_options

# The first commands that a user needs, then the others: command -> its module, and its line in the help.
START = {
    "quickstart": (
        "report.commands.quickstart",
        "run the whole workflow on this machine, without an account or Docker",
    ),
    "init": (
        "templates.commands.init",
        "create a project: job file, script and the cheapest machine that fits, tried on the emulator",
    ),
    "check": (
        "cli.files.check",
        "find every problem of a job file, offline (render and launch --dry-run show the request)",
    ),
    "estimate": (
        "forecast.commands.estimate",
        "estimate memory, time and cost of a job before it runs; --plan ranks machines",
    ),
    "import": (
        "bridge.commands.import_code",
        "run launch code of SDK v2 or v3 without launching, and write its jobs as job files or for SDK v3",
    ),
    "rehearse": (
        "emulator.commands.rehearse",
        "run a job locally with spot interruptions and check that it resumes correctly",
    ),
    "launch": ("cli.jobs.launch", "check and start the jobs of files; --dry-run shows requests and ceilings instead"),
    "list": ("cli.jobs.listing", "list training jobs, newest first, or show one and save it as a job file"),
    "watch": ("cli.jobs.watch", "watch jobs until they end"),
    "logs": ("cli.jobs.logs", "show a job's log; --follow waits for new lines"),
    "why": ("diagnosis.commands.why", "explain why a job failed, stopped or hangs, and what to change"),
    "stop": ("cli.jobs.stop", "stop jobs; SageMaker keeps a model that the script saves"),
}
MORE = {
    "render": ("cli.files.render", "show the request or SDK code that a job file makes"),
    "diff": ("cli.files.diff", "compare two job files, or a job file with a launched job"),
    "resubmit": ("cli.jobs.resubmit", "launch a job again, with changes or from its checkpoints"),
    "tune": ("tuning.commands.tune", "start a search for hyperparameters, show its jobs and the best of them"),
    "guard": ("diagnosis.commands.guard", "watch jobs for stalls, NaN, slowness and cost"),
    "ui": ("report.commands.ui", "show jobs and their logs on a live page in your browser"),
    "compare": ("report.commands.compare", "compare throughput, loss, billable time and cost of jobs"),
    "cost": ("report.commands.cost", "show what jobs cost, and how it was computed"),
    "deploy": ("hosting.commands.deploy", "deploy a job's model to an endpoint; list, ask and delete endpoints"),
    "doctor": ("account.commands.doctor", "show what is ready for a launch, and how to fix what is not"),
    "policy": ("account.commands.policy", "print least-privilege IAM policies for a job"),
    "local": ("emulator.commands.local", "control the emulator: up, down, status, reset"),
    "catalog": ("images.commands.catalog", "show instances, prices and images, and update them"),
    "skill": ("cli.skill", "print what a coding agent needs to know, or write it as a folder"),
}
COMMANDS = {**START, **MORE}
VARIABLE = "_SM_TRN_COMPLETE"  # by which a shell asks for completions


def load(name: str) -> click.Command:
    """The command of this name, from its module."""
    command = accept_global_options(import_module(f"sm_trn.{COMMANDS[name][0]}").command)
    if VARIABLE in os.environ:
        from .completing import completing  # noqa: PLC0415 - only a shell that completes needs it

        return completing(command)
    return command


class Lazy(click.Group):
    """A group whose commands are the modules of COMMANDS."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        del ctx
        if cmd_name not in COMMANDS:
            return None
        return load(cmd_name)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Names and summaries from the table: completing must not load every command."""
        if incomplete.startswith("-"):
            return super().shell_complete(ctx, incomplete)
        return [
            CompletionItem(name, help=summary) for name, (_, summary) in COMMANDS.items() if name.startswith(incomplete)
        ]

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            from ..core.specs.value import suggestion  # noqa: PLC0415 - a quick `--help` needs none of it

            raise click.UsageError(
                f"no command {args[0]!r}{suggestion(args[0], COMMANDS)}; sm-trn --help lists them", ctx
            )
        return super().resolve_command(ctx, args)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands first: who asks for help looks for them."""
        self.format_commands(ctx, formatter)
        click.Command.format_options(self, ctx, formatter)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        del ctx
        for title, commands in (("Commands", START), ("More commands", MORE)):
            with formatter.section(title):
                formatter.write_dl([(name, summary) for name, (_, summary) in commands.items()])


@click.group(
    cls=Lazy,
    context_settings={"help_option_names": ["-h", "--help"]},
    invoke_without_command=True,
    epilog="Start here: sm-trn quickstart. With a job file: sm-trn check job.toml, then sm-trn launch job.toml.",
)
@click.version_option(__version__, prog_name="sm-trn")
@global_option("backend")
@global_option("region")
@global_option("profile")
@global_option("state")
@global_option("as_json")
@global_option("debug")
@click.pass_context
def cli(context: click.Context, /, **options: Any) -> None:
    """Launch, watch and compare SageMaker training jobs – or rehearse them on this machine.

    Every command takes the options at the end, before its name or after it.
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())
        return
    given = {name: value for name, value in options.items() if value}
    if given:
        inner = load(context.invoked_subcommand)
        context.default_map = {context.invoked_subcommand: inherited_options(inner, given)}


def run() -> None:
    """The console script. Exit code 0: fine; 1: problems found or a job failed; 2: usage; 130: Ctrl-C."""
    debug = "--debug" in sys.argv[1:]
    try:
        warnings.showwarning = lambda message, *_, **__: click.echo(str(message), err=True)
        outcome = cli.main(prog_name="sm-trn", complete_var=VARIABLE, standalone_mode=False)
    except click.ClickException as error:
        error.show()
        if isinstance(error, click.MissingParameter):
            _say_where_names_are(error)
        raise SystemExit(2) from None
    except (click.Abort, KeyboardInterrupt) as stop:
        from ..core.formatting.printable import printable  # noqa: PLC0415 - a quick `--help` needs none of it

        cause = stop.__cause__ if isinstance(stop, click.Abort) else stop  # click turns Ctrl-C into an Abort of its own
        # A launch names its jobs, and so does a wait. Without a cause a question was answered with no, or not at all.
        told = "Nothing was done." if cause is None else str(cause) or "Interrupted."
        click.echo("\n".join(map(printable, told.split("\n"))), err=True)
        raise SystemExit(130) from None
    except BrokenPipeError:
        sys.stderr.close()
        raise SystemExit(0) from None
    except SmTrnError as error:
        if debug:
            raise
        from ..core.formatting.printable import printable  # noqa: PLC0415 - a quick `--help` needs none of it

        # A model's or a job's own words may be in it: they must not move the terminal's cursor.
        click.echo("\n".join(printable(line) for line in f"error: {error}".split("\n")), err=True)
        raise SystemExit(2 if isinstance(error, (UnknownName, NotConfigured, InvalidJobFile)) else 1) from None
    except OSError as error:
        if debug:
            raise
        click.echo(
            f"error: {error.strerror or error}: {error.filename or 'a file'}{_mend(error, _places(sys.argv[1:]))}",
            err=True,
        )
        raise SystemExit(1) from None
    except Exception as error:
        if debug:
            raise
        if type(error).__module__.startswith("botocore"):  # AWS's own word, or its SDK's
            click.echo(f"error: {error}; sm-trn doctor shows what is ready and what is not", err=True)
            raise SystemExit(1) from None
        click.echo(f"error: {type(error).__name__}: {error}", err=True)
        click.echo("  This is a fault of sm-trn; --debug shows the details.", err=True)
        raise SystemExit(1) from None
    raise SystemExit(outcome if isinstance(outcome, int) else 0)


def _say_where_names_are(error: click.MissingParameter) -> None:
    parameter = error.param
    if parameter is None or parameter.name not in {"name", "names"}:
        return
    command = error.ctx.info_name if error.ctx is not None else ""
    if command == "import":
        click.echo("FILE is a script or a notebook that calls SageMaker's SDK.", err=True)
    elif str(parameter.metavar or "").startswith("FILE"):
        click.echo("A job file is TOML, YAML or JSON; notebooks/jobs of the repository holds seven.", err=True)
    else:
        click.echo("sm-trn list shows the names.", err=True)


PLACES = ("--output", "--save", "--record")


def _places(arguments: list[str]) -> str:
    """The options by which the command that ran names another place to write to, as words; empty where it has none."""
    name = next((word for word in arguments if word in COMMANDS), "")
    command = load(name) if name else cli
    if isinstance(command, click.Group):
        inner = next((word for word in arguments if word in command.commands), "")
        command = command.commands.get(inner, command)
    known = {option for parameter in command.params for option in parameter.opts}
    return " or ".join(option for option in PLACES if option in known)


def _mend(error: OSError, places: str = "") -> str:
    """What to do about a file that could not be read or written; ``places`` are options that name another one."""
    named = f", with {places}" if places else ""
    if error.errno in {errno.EACCES, errno.EPERM, errno.EROFS}:
        return f"; choose a place that you may write{named}. Nothing else was touched"
    if error.errno == errno.ENOSPC:
        return "; the disk is full: free some space, sm-trn local reset deletes what the emulator keeps"
    if error.errno == errno.ENOENT:
        return f"; check the path, or name another place{named}. Nothing else was touched"
    return "; nothing else was touched"


if __name__ == "__main__":
    run()

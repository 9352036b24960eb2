"""``sm-trn``: the command line. Commands load when they are called, so ``--help`` is quick."""

from __future__ import annotations

import errno
import sys
from importlib import import_module

import click
from click.shell_completion import CompletionItem

from ..core import __version__
from ..core.errors import InvalidJobFile, NotConfigured, SmTrnError, UnknownName

# command -> its module, and what the list of commands says of it
COMMANDS = {
    "quickstart": (
        "report.commands.quickstart",
        "run the whole workflow on this machine, without an account or Docker",
    ),
    "check": ("cli.files.check", "find every problem of a job file, offline"),
    "estimate": ("forecast.commands.estimate", "estimate memory, time and cost of a job before it runs, offline"),
    "plan": ("report.commands.plan", "rank machines for a job by estimated time and cost, offline"),
    "render": ("cli.files.render", "show the request that a job file makes, without sending it"),
    "import": ("bridge.commands.import_code", "read the launch code you have, and write it as job files or for SDK v3"),
    "record": ("bridge.commands.record", "run a launcher as it is, without launching, and keep the jobs it sends"),
    "diff": ("cli.files.diff", "compare two job files, or a job file with a launched job"),
    "rehearse": (
        "emulator.commands.rehearse",
        "run a job locally with spot interruptions and check that it resumes correctly",
    ),
    "launch": ("cli.jobs.launch", "check and start the jobs of files"),
    "attach": ("cli.jobs.attach", "show any training job, and save it as a job file"),
    "resubmit": ("cli.jobs.resubmit", "launch a job again, with changes"),
    "resume": ("cli.jobs.resume", "start a new job from a stopped job's checkpoints"),
    "list": ("cli.jobs.listing", "list training jobs, newest first"),
    "watch": ("cli.jobs.watch", "watch jobs until they end"),
    "guard": ("diagnosis.commands.guard", "watch jobs for stalls, NaN, slowness and cost"),
    "ui": ("report.commands.ui", "show jobs, logs, comparisons and costs on a live page in your browser"),
    "logs": ("cli.jobs.logs", "show a job's log; --follow waits for new lines"),
    "why": ("diagnosis.commands.why", "explain why a job failed, stopped or hangs, and what to change"),
    "describe": ("cli.jobs.describe", "show status, times, hyperparameters and metrics of a job"),
    "stop": ("cli.jobs.stop", "stop jobs; SageMaker keeps a model that the script saves"),
    "compare": ("report.commands.compare", "compare throughput, loss, billable time and cost of jobs"),
    "cost": ("report.commands.cost", "show what jobs cost, and how it was computed"),
    "deploy": ("hosting.commands.deploy", "deploy a job's model to an endpoint"),
    "predict": ("hosting.commands.predict", "send a request to an endpoint"),
    "endpoints": ("hosting.commands.endpoints", "list endpoints and their cost per hour"),
    "delete-endpoint": ("hosting.commands.delete_endpoint", "delete endpoints, which ends their billing"),
    "local": ("emulator.commands.local", "control the emulator: up, down, status, env, logs, interrupt, fault, reset"),
    "doctor": ("account.commands.doctor", "show what is ready for a launch, and what mends the rest"),
    "conformance": ("account.commands.conformance", "compare the emulator with your AWS account, probe by probe"),
    "policy": ("account.commands.policy", "print least-privilege IAM policies for a job"),
    "catalog": ("cli.catalog", "show instances, images and prices"),
    "scripts": ("cli.scripts", "list or copy the training scripts included in the package"),
    "completion": ("cli.completion", "print the completion script for bash, zsh or fish"),
}


def load(name: str) -> click.Command:
    """The command of this name, from its module."""
    module, _ = COMMANDS[name]
    command: click.Command = import_module(f"sm_trn.{module}").command
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

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (_, summary) in COMMANDS.items()])


@click.group(
    cls=Lazy,
    context_settings={"help_option_names": ["-h", "--help"]},
    invoke_without_command=True,
    epilog="Start here: sm-trn quickstart. With a job file: sm-trn check job.toml, then sm-trn launch job.toml.",
)
@click.version_option(__version__, prog_name="sm-trn")
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
@click.pass_context
def cli(context: click.Context, *, debug: bool) -> None:
    """Launch, watch and compare SageMaker training jobs – or rehearse them on this machine."""
    context.obj = {"debug": debug}
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


def run() -> None:
    """The console script. Exit code 0: fine; 1: problems found or a job failed; 2: usage; 130: Ctrl-C."""
    debug = "--debug" in sys.argv[1:]
    try:
        outcome = cli.main(prog_name="sm-trn", complete_var="_SM_TRN_COMPLETE", standalone_mode=False)
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
        click.echo("  This is a fault of sm-trn; --debug, before the command, shows the details.", err=True)
        raise SystemExit(1) from None
    raise SystemExit(outcome if isinstance(outcome, int) else 0)


def _say_where_names_are(error: click.MissingParameter) -> None:
    parameter = error.param
    if parameter is None or parameter.name not in {"name", "names"}:
        return
    command = error.ctx.info_name if error.ctx is not None else ""
    if str(parameter.metavar or "").startswith("FILE"):
        click.echo("A job file is TOML, YAML or JSON; notebooks/jobs of the repository holds seven.", err=True)
    else:
        source = "endpoints" if command in {"predict", "delete-endpoint"} else "list"
        click.echo(f"sm-trn {source} shows the names.", err=True)


PLACES = ("--output", "--save", "--record", "--state")


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

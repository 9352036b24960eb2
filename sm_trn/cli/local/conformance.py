"""sm-trn conformance"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TypedDict

import boto3
import click
from typing_extensions import Unpack

from ...conformance.answers import Answers, dump_answers, read_answers
from ...conformance.cleanup import sweep
from ...conformance.differences import Differences, differences
from ...conformance.jobs import INSTANCE
from ...conformance.plan import Plan, make_plan
from ...conformance.probe import BATTERIES, Probe
from ...conformance.probes import PROBES
from ...conformance.run import ask_account, ask_emulator
from ...conformance.target import Target, find_target
from ...session.connecting import connect, known_prices
from ...session.pace import SystemClock
from ..shared import cents, emit, json_option, say

DEFAULT_REGION = "us-west-2"


class Where(TypedDict):
    """Whom to ask, and under which names."""

    backend: str
    region: str | None
    profile: str | None
    role: str | None
    bucket: str | None


_tell = partial(click.echo, err=True)


@click.command("conformance")
@click.option(
    "--plan", "plan_only", is_flag=True, help="Show what would be sent and the highest cost, and send nothing."
)
@click.option("--diff", "record", type=click.Path(path_type=Path), help="Compare a record with the emulator.")
@click.option("--clean", is_flag=True, help="Remove what interrupted runs left, and start nothing.")
@click.option("--max-usd", type=float, help="Start only if the run can cost no more than this.")
@click.option("--yes", is_flag=True, help="Start without a question.")
@click.option(
    "--battery", "names", multiple=True, type=click.Choice(BATTERIES), help="Send only this battery. Repeatable."
)
@click.option(
    "--output",
    type=click.Path(path_type=Path),
    default=Path("answers.json"),
    show_default=True,
    help="Write the record to this file.",
)
@click.option(
    "--backend", type=click.Choice(["aws", "emulator"]), default="aws", show_default=True, help="Whom to ask."
)
@click.option("--region", help="AWS region.")
@click.option("--profile", help="AWS profile.")
@click.option("--role", help="Execution role ARN; default: SM_TRN_ROLE, or the notebook's.")
@click.option("--bucket", help="The bucket of the run's objects; default: SM_TRN_BUCKET, or SageMaker's usual one.")
@click.option(
    "--state", type=click.Path(path_type=Path), help="The emulator's state folder; journals of runs are in it."
)
@json_option
def command(  # noqa: PLR0913 - an argument for each option
    *,
    plan_only: bool,
    record: Path | None,
    clean: bool,
    max_usd: float | None,
    yes: bool,
    names: tuple[str, ...],
    output: Path,
    state: Path | None,
    as_json: bool,
    **where: Unpack[Where],
) -> int:
    """Compare the emulator with your AWS account: send the same small requests to both, keep the answers without your names,
    and show what differs by field.

    Begin with --plan: it shows the highest cost and sends nothing. The exit code is 1 if something differs.

    \b
    Examples: sm-trn conformance --plan
              sm-trn conformance --max-usd 1
              sm-trn conformance --diff answers.json
    """
    if record is not None:
        return _compare(read_answers(record), record, state, as_json=as_json)
    probes = [probe for probe in PROBES if not names or probe.battery in names]
    plan = _planned(probes, where["region"], where["profile"])
    if plan_only:
        return _show(plan, as_json=as_json)
    if where["backend"] == "aws" and not clean:
        _agreed(plan, max_usd, yes=yes)
    target = _target(where, state)
    if clean:
        removed = sweep(target, state, SystemClock(), _tell)
        say("\n".join(map(str, removed)) or "No interrupted run left anything.")
        return 0
    _check_writable(output)
    try:
        answers, gone = ask_account(target, probes, clock=SystemClock(), state=state, tell=_tell)
    except KeyboardInterrupt as stop:
        said = "Interrupted. What the run made was removed; if that was interrupted too: sm-trn conformance --clean"
        raise KeyboardInterrupt(said) from stop
    output.write_text(dump_answers(answers), "utf-8")
    _tell(str(gone))
    return _compare(answers, output, state, as_json=as_json)


def _planned(probes: Sequence[Probe], region: str | None, profile: str | None) -> Plan:
    """The plan. The region is only read from arguments and configuration: nothing is sent."""
    where = region or boto3.Session(profile_name=profile).region_name or DEFAULT_REGION
    return make_plan(probes, where, known_prices().find(INSTANCE, where))


def _show(plan: Plan, *, as_json: bool) -> int:
    if as_json:
        rows = [
            {"battery": each.name, "probes": each.probes, "jobs": len(each.jobs), "most_usd": cents(each.most_usd)}
            for each in plan.batteries
        ]
        emit({"region": plan.region, "most_usd": cents(plan.most_usd), "batteries": rows})
    else:
        say(str(plan))
        say("Start it: sm-trn conformance --max-usd 1")
    return 0


def _agreed(plan: Plan, max_usd: float | None, *, yes: bool) -> None:
    """Raise UsageError where the run may not start, Abort for a no."""
    if plan.most_usd is None:
        raise click.UsageError(
            f"the worst case is unknown, because no price of {INSTANCE} in {plan.region} is known; "
            "sm-trn catalog prices --refresh fetches it. Nothing was sent"
        )
    if max_usd is None:
        raise click.UsageError(f"the worst case is ${plan.most_usd}: allow it with --max-usd. Nothing was sent")
    if float(plan.most_usd) > max_usd:
        raise click.UsageError(
            f"--max-usd: got {max_usd:g}, wanted at least the worst case, ${plan.most_usd}. Nothing was sent"
        )
    if yes:
        return
    if not sys.stdin.isatty():
        raise click.UsageError("wanted a yes: add --yes. Nothing was sent")
    say(str(plan))
    click.confirm(f"Send {plan.probes} probes?", abort=True, err=True)


def _target(where: Where, state: Path | None) -> Target:
    session = connect(**where, state=state)
    _tell(session.announcement)
    return find_target(session.boto_session, region=session.region, role=session.role, bucket=session.bucket)


def _check_writable(output: Path) -> None:
    """Raise OSError before anything is sent, not after an hour."""
    with output.open("a", encoding="utf-8"):
        pass
    if not output.stat().st_size:
        output.unlink()


def _compare(answers: Answers, path: Path, state: Path | None, *, as_json: bool) -> int:
    asked = {each.probe for each in answers.probes}
    probes = [probe for probe in PROBES if probe.name in asked]
    emulated = ask_emulator(answers.region, probes, clock=SystemClock(), state=state, tell=_tell)
    found = differences(answers, emulated)
    if as_json:
        emit(_facts(found))
    else:
        say(str(found))
        say(f"Account ids, keys and names were taken out of {path}.")
    return int(bool(found.found))


def _facts(found: Differences) -> dict[str, object]:
    rows = [{**dataclasses.asdict(each), "kind": each.kind.value} for each in found.found]
    return {
        "compared": found.compared,
        "names": list(found.names),
        "differences": rows,
        "unanswered": dict(found.unanswered),
    }

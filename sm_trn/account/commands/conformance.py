"""sm-trn conformance"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Sequence
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import TypedDict

import click
from typing_extensions import Unpack

from ...cli.shared import Number, cents, emit, json_option, region_option, say
from ...core.formatting.missing import Missing, no_price_for
from ...core.session.defaults import known_prices, known_region
from ...core.session.pace import SystemClock
from ...core.specs.job import JobSpec
from ...forecast.jobs.calibration import Calibration
from ...wiring import connect
from ..conformance.accelerator import JOBS, STEPS, most_usd, spec_of
from ..conformance.answers import Answers, dump_answers, read_answers
from ..conformance.cleanup import sweep
from ..conformance.differences import Differences, differences
from ..conformance.jobs import INSTANCE
from ..conformance.plan import Plan, make_plan
from ..conformance.probe import BATTERIES, Probe
from ..conformance.probes import HOSTED, PROBES
from ..conformance.run import ask_account, ask_emulator, measure_account
from ..conformance.target import Target, find_target


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
@click.option("--max-usd", type=Number(min=0), help="Start only if the run can cost no more than this.")
@click.option("--yes", is_flag=True, help="Start without a question.")
@click.option(
    "--battery", "names", multiple=True, type=click.Choice(BATTERIES[:-1]), help="Send only this battery. Repeatable."
)
@click.option("--hosting", is_flag=True, help="Send the battery hosting as well: a model and an endpoint.")
@click.option("--accelerator", metavar="INSTANCE", help="Measure this accelerator with three short jobs instead.")
@click.option(
    "--calibration",
    type=click.Path(path_type=Path),
    help="Write what the measurement teaches sm-trn estimate to this file.",
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
@region_option()
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
    hosting: bool,
    accelerator: str | None,
    calibration: Path | None,
    output: Path,
    state: Path | None,
    as_json: bool,
    **where: Unpack[Where],
) -> int:
    """Compare the emulator with your AWS account: send the same small requests to both, keep the answers without your names,
    and show what differs by field.

    Begin with --plan: it shows the highest cost and sends nothing. The exit code is 1 if something differs.

    With --accelerator, a training script of the package runs for at least 50 steps on that instance, is stopped and resumed, and the
    figures are shown beside the estimate.

    \b
    Examples: sm-trn conformance --plan
              sm-trn conformance --max-usd 1
              sm-trn conformance --diff answers.json
    """
    if record is not None:
        return _compare(read_answers(record), record, state, as_json=as_json)
    if accelerator is not None:
        return _measured(
            spec_of(accelerator), where, state, calibration, _Allowed(plan_only, max_usd, yes, output, as_json)
        )
    probes = [probe for probe in PROBES if not names or probe.battery in names] + list(HOSTED if hosting else ())
    plan = _planned(probes, where["region"], where["profile"])
    if plan_only:
        return _show(plan, as_json=as_json)
    if where["backend"] == "aws" and not clean:
        _agreed(str(plan), plan.most_usd, INSTANCE, max_usd, yes=yes)
    target = _target(where, state)
    if clean:
        return _cleaned(target, state)
    _check_writable(output)
    answers, gone = ask_account(target, probes, clock=SystemClock(), state=state, tell=_tell)
    output.write_text(dump_answers(answers), "utf-8")
    _tell(str(gone))
    return _compare(answers, output, state, as_json=as_json)


def _cleaned(target: Target, state: Path | None) -> int:
    """Remove what interrupted runs left, and say it; 1 if something stays."""
    stays = list[str]()
    removed = sweep(target, state, SystemClock(), stays.append)
    say("\n".join([*map(str, removed), *stays]) or "No interrupted run left anything.")
    return int(bool(stays))


def _planned(probes: Sequence[Probe], region: str | None, profile: str | None) -> Plan:
    """The plan. The region is only read from arguments and configuration: nothing is sent."""
    where, book = known_region(region, profile=profile), known_prices()
    return make_plan(probes, where, book.find(INSTANCE, where), book.hosting(INSTANCE, where))


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


def _agreed(what: str, most: Decimal | None, instance: str, max_usd: float | None, *, yes: bool) -> None:
    """Raise UsageError where the run may not start, Abort for a no. ``what`` is said before the question."""
    if most is None:
        raise click.UsageError(
            f"the worst case is unknown: {no_price_for(instance)} in this region; "
            "sm-trn catalog prices --refresh fetches it. Nothing was sent"
        )
    if max_usd is None:
        raise click.UsageError(f"the worst case is ${most}: allow it with --max-usd. Nothing was sent")
    if float(most) > max_usd:
        raise click.UsageError(f"--max-usd: got {max_usd:g}, wanted at least the worst case, ${most}. Nothing was sent")
    if yes:
        return
    if not sys.stdin.isatty():
        raise click.UsageError("wanted a yes: add --yes. Nothing was sent")
    say(what)
    click.confirm("Start it?", abort=True, err=True)


@dataclasses.dataclass(frozen=True, slots=True)
class _Allowed:
    """What the options say of whether, and where to."""

    plan_only: bool
    max_usd: float | None
    yes: bool
    output: Path
    as_json: bool


def _measured(spec: JobSpec, where: Where, state: Path | None, calibration: Path | None, allowed: _Allowed) -> int:
    instance = str(spec.compute.instance)
    region = known_region(where["region"], profile=where["profile"])
    most = most_usd(known_prices().find(instance, region))
    cost = f"unknown: {Missing.NO_PRICE}" if most is None else f"${most}"
    what = f"{len(JOBS)} jobs of at least {STEPS} steps on one {instance}. Worst case {cost}. Nothing was sent."
    if allowed.plan_only:
        emit({"region": region, "instance": instance, "most_usd": cents(most)}) if allowed.as_json else say(what)
        return 0
    if where["backend"] == "aws":
        _agreed(what, most, instance, allowed.max_usd, yes=allowed.yes)
    _check_writable(allowed.output)
    found, answers, gone = measure_account(_target(where, state), spec, clock=SystemClock(), state=state, tell=_tell)
    allowed.output.write_text(dump_answers(answers), "utf-8")
    _tell(str(gone))
    if calibration is not None:
        _saved(found.calibration(spec), calibration)
    emit(dataclasses.asdict(found)) if allowed.as_json else say(str(found))
    return int(found.exact is False)


def _saved(taught: Calibration, path: Path) -> None:
    if taught.jobs:
        taught.save(path)
        _tell(f"sm-trn estimate --calibration {path} uses it.")
    else:
        _tell("Nothing was learned: the figures of an emulated job are this machine's.")


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
    probes = [probe for probe in (*PROBES, *HOSTED) if probe.name in asked]
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

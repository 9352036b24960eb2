"""sm-trn doctor"""

from __future__ import annotations

import dataclasses

import click

from ...cli.files import files
from ...cli.options import global_option, json_option, region_option
from ...cli.shared import emit, say
from ..doctor import examine


@click.command("doctor")
@click.argument("name", metavar="[FILE]", required=False)
@region_option
@global_option("profile")
@click.option("--role", help="Execution role ARN; default: SM_TRN_ROLE, or the notebook's.")
@click.option("--bucket", help="The session's bucket; default: SM_TRN_BUCKET, or SageMaker's usual one.")
@json_option
def command(
    name: str | None, *, region: str | None, profile: str | None, role: str | None, bucket: str | None, as_json: bool
) -> int:
    """Show what is ready for a launch, what is not, and the command that mends it: this machine, login, role, bucket, and with
    FILE its rights, data, quota, image and network.

    Only reads are sent; nothing is started and no secret is printed. The exit code is 1 if a launch would fail.

    \b
    Example: sm-trn doctor bert.toml --profile ml
    """
    job = files.only(name) if name else None
    found = examine(job, name=name or "FILE", region=region, profile=profile, role=role, bucket=bucket)
    if as_json:
        emit([{**dataclasses.asdict(each), "state": each.state.value} for each in found])
    else:
        say(repr(found))
        ends = "A launch can start." if found.ready else "A launch would fail."
        say(f"{found.counted()}. {ends} Nothing was sent but reads. No secret was printed.")
    return int(not found.ready)

"""sm-trn policy"""

from __future__ import annotations

import dataclasses

import click

from ...cli.files import files
from ...cli.options import json_option, region_option
from ...cli.shared import bucket_name, emit, role_arn
from ...core.session.defaults import known_region
from ...core.specs.destination import Destination
from ..policies.policy import policies

KINDS = ("launch", "execution", "trust", "hosting", "hosting-execution")


@click.command("policy")
@click.argument("name", metavar="FILE")
@click.option("--for", "whom", type=click.Choice(KINDS), help="Print only this policy. Default: all.")
@click.option("--role", callback=role_arn, help="Execution role ARN; default: a visible placeholder.")
@click.option("--bucket", callback=bucket_name, help="The session's bucket; default: a visible placeholder.")
@region_option
@json_option
def command(
    name: str, *, whom: str | None, role: str | None, bucket: str | None, region: str | None, as_json: bool
) -> None:
    """Print least-privilege IAM policies for the job of FILE as JSON.

    launch is for the person who launches and watches the job. execution is for the role that the job runs under, and trust
    is that role's trust policy. Endpoints need hosting and hosting-execution as well.

    \b
    Example: sm-trn policy bert.toml --for launch --bucket my-bucket --role arn:aws:iam::111122223333:role/training
    """
    del as_json  # a policy is JSON in any case
    given = {key: value for key, value in {"role": role, "bucket": bucket}.items() if value is not None}
    at = Destination(region=known_region(region), **given)
    documents = policies(files.only(name), at)
    emit(getattr(documents, whom.replace("-", "_")) if whom else dataclasses.asdict(documents))

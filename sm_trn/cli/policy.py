"""sm-trn policy"""

from __future__ import annotations

import click

from ..render import policies
from ..specs import Destination
from . import files
from .shared import emit


@click.command("policy")
@click.argument("name", metavar="FILE")
@click.option(
    "--for", "whom", type=click.Choice(["launch", "execution", "trust"]), help="One of the three; default: all."
)
@click.option("--role", help="Execution role ARN; default: a visible placeholder.")
@click.option("--bucket", help="The session's bucket; default: a visible placeholder.")
@click.option("--region", help="Default: us-west-2.")
def command(name: str, *, whom: str | None, role: str | None, bucket: str | None, region: str | None) -> None:
    """IAM policies of least privilege for the job of FILE, as JSON.

    launch is for whoever launches and follows it, execution for the role that it runs under, trust is that role's trust policy.

    \b
    Example: sm-trn policy bert.toml --for launch --bucket my-bucket --role arn:aws:iam::111122223333:role/training
    """
    given = {"role": role, "bucket": bucket, "region": region}
    at = Destination(**{key: value for key, value in given.items() if value is not None})
    found = policies(files.only(name), at)
    every = {"launch": found.launch, "execution": found.execution, "trust": found.trust}
    emit(every[whom] if whom else every)

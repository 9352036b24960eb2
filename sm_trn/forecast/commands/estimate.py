"""sm-trn estimate"""

from __future__ import annotations

from typing import Any

import click

from ...cli.files import files
from ...cli.shared import emit, json_option, say
from ...core.session.defaults import known_prices, known_region
from ..jobs import estimate
from .known import calibration_of, known_of, known_options


@click.command("estimate")
@click.argument("name", metavar="FILE")
@known_options
@json_option
def command(*, name: str, as_json: bool, region: str | None, **options: Any) -> int:
    """Estimate memory, speed, time and cost of the job in FILE before it runs, without an account.

    FILE#NAME selects one of several jobs. What the file does not say is asked for by name. The exit code is 1 if the job does not
    fit the memory whatever its script does.

    \b
    Example: sm-trn estimate squad.toml --examples 88524
    """
    job = files.only(name)
    found = estimate(
        job,
        prices=known_prices(),
        region=known_region(region),
        calibration=calibration_of(options),
        **known_of(options),
    )
    if as_json:
        emit(found.to_dict())
    else:
        say(str(found))
        say(f"Next: sm-trn plan {name}")
    return 0 if found.fits or found.may_fit else 1

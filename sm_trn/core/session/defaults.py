"""Defaults: the region, and the known prices."""

from __future__ import annotations

import os
from pathlib import Path

from ..catalog import images
from ..errors import NotConfigured
from ..pricing.book import PriceBook, snapshot_book
from ..specs.destination import DEFAULT_REGION, region_named
from ..specs.value import suggestion


def state_folder(state: str | Path | None = None) -> Path:
    """Where launches that began and the emulator are kept: ``state``, else $SM_TRN_STATE, else sm-trn in the user's state folder."""
    home = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state or os.environ.get("SM_TRN_STATE") or Path(home) / "sm-trn").expanduser().absolute()


def known_prices() -> PriceBook:
    """Return the prices that ship with the package, with those that ``sm-trn catalog update`` added."""
    return snapshot_book()


def known_region(region: str | None = None, *, profile: str | None = None) -> str:
    """The region that is meant: the argument, ``SM_TRN_REGION``, ``AWS_REGION``, ``AWS_DEFAULT_REGION``, the profile's, the
    notebook's, else us-west-2. Offline. Raises NotConfigured for one that AWS does not have, and for a profile that is not there.
    """
    if region is not None:
        return expect_region(region)
    named = region_named(os.environ)
    if named is not None:
        variable, found = named
        return expect_region(found, of=variable)
    return expect_region(_region_of_files(profile) or DEFAULT_REGION, of="region of AWS's configuration files")


def expect_region(region: str, *, of: str = "region") -> str:
    """``region``, one that AWS has. Raises NotConfigured for any other."""
    known = images.regions()
    if region in known:  # botocore takes a third of a second to load
        return region
    import botocore.session  # noqa: PLC0415 - see above

    core = botocore.session.Session()
    every = {name for area in core.get_available_partitions() for name in core.get_available_regions("ec2", area)}
    if region in every:
        return region
    raise NotConfigured(
        f"{of}: got {region!r}, wanted a region of AWS{suggestion(region, known) or ', such as us-west-2'}; "
        "a newer boto3 knows newer ones: pip install --upgrade boto3"
    )


def _region_of_files(profile: str | None) -> str | None:
    """The profile's region, else the notebook's. Where there are no such files, boto3 need not be loaded for it."""
    config = os.environ.get("AWS_CONFIG_FILE", "~/.aws/config")
    credentials = os.environ.get("AWS_SHARED_CREDENTIALS_FILE", "~/.aws/credentials")
    there = [
        Path(name).expanduser().is_file() for name in (config, credentials, "/opt/ml/metadata/resource-metadata.json")
    ]
    if profile is None and not any(there):
        return None
    from .. import aws  # noqa: PLC0415 - see above

    return aws.configured_region(profile)

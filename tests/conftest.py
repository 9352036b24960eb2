"""Fixtures every folder of tests may use: an emulator of its own, and AWS clients that talk to it."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from sm_trn import emulator as embedded
from sm_trn.emulator import Endpoint, Options

_NEEDED = ("boto3", "moto", "flask_cors", "sagemaker_training")


@pytest.fixture(scope="session")
def emulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoint]:
    """A fresh emulator for the whole session, ended with it."""
    missing = [name for name in _NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        pytest.skip(f"the emulator needs sm_trn[local]; missing: {', '.join(missing)}")
    state = tmp_path_factory.mktemp("emulator")
    try:
        yield embedded.up(state, options=Options(start_delay_s=0.05, stop_grace_s=5.0, max_jobs=2))
    finally:
        embedded.down(state)


@pytest.fixture(scope="session")
def aws(emulator: Endpoint) -> Callable[[str], Any]:
    """``aws("s3")``: a boto3 client of the emulator, retries off."""
    import boto3
    from botocore.config import Config

    def client(service: str) -> Any:
        return boto3.client(
            service,
            endpoint_url=emulator.url,
            aws_access_key_id=emulator.access_key,
            aws_secret_access_key=emulator.secret_key,
            region_name=emulator.region,
            config=Config(retries={"total_max_attempts": 1}),
        )

    return client

"""A pytest plugin for moto's own tests: each of them meets a fresh emulator, with the key that opens it.

Loaded with ``-p moto_against_us`` by test_moto_suite.py, in processes of its own: it sets their environment.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path

with socket.socket() as _probe:
    _probe.bind(("127.0.0.1", 0))
    PORT = int(_probe.getsockname()[1])
os.environ |= {  # read by moto when it is imported
    "TEST_SERVER_MODE": "true",
    "TEST_SERVER_MODE_ENDPOINT": f"http://127.0.0.1:{PORT}",
    "MOTO_CALL_RESET_API": "false",
    "AWS_DEFAULT_REGION": "us-east-1",
}

import boto3
import moto.core
import pytest
from moto.core.config import default_user_config

from sm_trn import emulator as embedded
from sm_trn.emulator import EMULATED_ACCOUNT, Options

moto.core.DEFAULT_ACCOUNT_ID = EMULATED_ACCOUNT  # the tests look for it in ARNs
default_user_config["core"]["mock_credentials"] = False


@pytest.fixture(autouse=True)
def fresh_emulator(tmp_path: Path) -> Iterator[None]:
    state = tmp_path / "state"
    found = embedded.up(state, region="us-east-1", options=Options(port=PORT, start_delay_s=0.0, stop_grace_s=0.0))
    boto3.DEFAULT_SESSION = None  # it would keep the last emulator's key
    os.environ |= {"AWS_ACCESS_KEY_ID": found.access_key, "AWS_SECRET_ACCESS_KEY": found.secret_key}
    iam = boto3.client("iam", endpoint_url=found.url)  # the tests name a role that they do not make
    iam.create_role(RoleName="FakeRole", AssumeRolePolicyDocument="{}")
    try:
        yield
    finally:
        embedded.down(state)

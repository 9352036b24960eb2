"""A plugin of pytest for ceph/s3-tests: its configuration for the endpoint and the keys of the environment, and every third test."""

from __future__ import annotations

import configparser
import os
import tempfile
from pathlib import Path
from urllib.parse import urlsplit

import pytest

SECTIONS = ("s3 main", "s3 alt", "s3 tenant", "iam", "iam root", "iam alt root", "webidentity")


def pytest_load_initial_conftests() -> None:
    """Write the file that S3TEST_CONF names. All of its users are the one that the emulator knows."""
    endpoint = urlsplit(os.environ["AWS_ENDPOINT_URL"])
    text = configparser.ConfigParser()
    text["DEFAULT"] = {"host": str(endpoint.hostname), "port": str(endpoint.port), "is_secure": "False"}
    text["fixtures"] = {"bucket prefix": "s3tests-{random}-"}
    user = {
        "access_key": os.environ["AWS_ACCESS_KEY_ID"],
        "secret_key": os.environ["AWS_SECRET_ACCESS_KEY"],
        "api_name": os.environ["AWS_DEFAULT_REGION"],
    }
    user |= dict.fromkeys(("display_name", "user_id", "email", "tenant"), "tester")
    user |= dict.fromkeys(("token", "aud", "sub", "azp", "user_token", "thumbprint", "kc_realm"), "none")
    text.read_dict(dict.fromkeys(SECTIONS, user))
    file = Path(tempfile.mkdtemp(prefix="s3-tests-")) / "s3tests.conf"
    with file.open("w", encoding="utf-8") as stream:
        text.write(stream)
    os.environ["S3TEST_CONF"] = str(file)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep every third test of those that pass on AWS."""
    items[:] = [item for item in items if item.get_closest_marker("fails_on_aws") is None][::3]

"""The files that tell AWS's SDKs what they must know of an emulator beyond its address.

SageMaker's SDK, v2 and v3, makes its STS client with AWS's regional address, which beats ``AWS_ENDPOINT_URL``. botocore reads the rules
for addresses from its data folders, those of ``AWS_DATA_PATH`` first: ours take that address to the emulator, and leave every other one
as it is. The same SDK reports to AWS what it is used for: a rehearsal is not AWS's business.
https://boto3.amazonaws.com/v1/documentation/api/latest/guide/configuration.html
https://sagemaker.readthedocs.io/en/v2/overview.html#configuring-and-using-defaults-with-the-sagemaker-python-sdk
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

from .options import DATA_FOLDER, SDK_DEFAULTS

_DEFAULTS: Final = {"SchemaVersion": "1.0", "SageMaker": {"PythonSDK": {"Modules": {"TelemetryOptOut": True}}}}


def write(state: Path, url: str) -> None:
    """Put both files into the state folder. JSON is YAML too."""
    rules = Path(__file__).with_name("sts_rules.json")  # @URL@ is the emulator's address
    file = state / DATA_FOLDER / "sts/2011-06-15/endpoint-rule-set-1.json"  # the service's only version
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(rules.read_text("utf-8").replace("@URL@", url), encoding="utf-8")
    (state / DATA_FOLDER / SDK_DEFAULTS).write_text(json.dumps(_DEFAULTS), encoding="utf-8")

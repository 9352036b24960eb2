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
from typing import Any, Final

from .options import DATA_FOLDER, SDK_DEFAULTS

_FILE: Final = "sts/2011-06-15/endpoint-rule-set-1.json"  # the service's only version
_REGIONAL: Final = ("https://sts.{Region}.amazonaws.com", "https://sts.{Region}.amazonaws.com.cn")
_DEFAULTS: Final = {"SchemaVersion": "1.0", "SageMaker": {"PythonSDK": {"Modules": {"TelemetryOptOut": True}}}}


def write(state: Path, url: str) -> None:
    """Put both files into the state folder. JSON is YAML too."""
    file = state / DATA_FOLDER / _FILE
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(_rules(url), indent=1), encoding="utf-8")
    (state / DATA_FOLDER / SDK_DEFAULTS).write_text(json.dumps(_DEFAULTS), encoding="utf-8")


def _rules(url: str) -> dict[str, Any]:
    def rule(address: str | dict[str, str], *conditions: dict[str, Any]) -> dict[str, Any]:
        endpoint = {"url": address, "properties": {}, "headers": {}}
        return {"conditions": list(conditions), "endpoint": endpoint, "type": "endpoint"}

    endpoint = {"fn": "isSet", "argv": [{"ref": "Endpoint"}]}
    region = {"fn": "isSet", "argv": [{"ref": "Region"}]}
    ours = [
        rule(url, endpoint, region, {"fn": "stringEquals", "argv": [{"ref": "Endpoint"}, address]})
        for address in _REGIONAL
    ]
    flags = {"UseDualStack": "AWS", "UseFIPS": "AWS", "UseGlobalEndpoint": "AWS::STS"}
    flag = {"required": True, "default": False, "type": "Boolean"}
    parameters = {
        "Region": {"builtIn": "AWS::Region", "required": False, "type": "String"},
        "Endpoint": {"builtIn": "SDK::Endpoint", "required": False, "type": "String"},
        **{name: {"builtIn": f"{owner}::{name}", **flag} for name, owner in flags.items()},
    }
    rules = [*ours, rule({"ref": "Endpoint"}, endpoint), rule(_REGIONAL[0], region)]
    return {"version": "1.0", "parameters": parameters, "rules": rules}

"""A model, an endpoint's configuration and an endpoint: made, described, asked, deleted. Only if asked for: they end by a delete alone."""

from __future__ import annotations

import io
import tarfile
from typing import Final

from ....core.catalog.inference import hosting_image
from ....core.specs.json import Object
from ..bench import Bench, Outcome
from ..jobs import INSTANCE
from ..journal import CONFIG, ENDPOINT, MODEL, TAG
from ..probe import HOSTING, Probe

_CODE = (
    "import json\n"
    "def model_fn(folder): return 2\n"
    "def input_fn(body, kind): return json.loads(body)\n"
    "def predict_fn(data, model): return data * model\n"
    "def output_fn(found, accept): return json.dumps(found)\n"
)
_CREATE_MODEL, _CREATE_CONFIG, _CREATE = (f"sagemaker:Create{kind}" for kind in ("Model", "EndpointConfig", "Endpoint"))


def _archive() -> bytes:
    out, text = io.BytesIO(), _CODE.encode()
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        member = tarfile.TarInfo("code/inference.py")
        member.size = len(text)
        tar.addfile(member, io.BytesIO(text))
    return out.getvalue()


def _tagged(bench: Bench, request: Object) -> Object:
    return {**request, "Tags": [{"Key": TAG, "Value": bench.place.run}]}


def _model(bench: Bench) -> None:
    key, name = f"{bench.place.root}/model/model.tar.gz", bench.name("model")
    bench.ask("s3:PutObject", {"Bucket": bench.place.bucket, "Key": key, "Body": _archive()}, kept=False)
    image, _ = hosting_image(INSTANCE, bench.place.region, pytorch="1.13.1", transformers=None, hugging_face=False)
    variables = {"SAGEMAKER_PROGRAM": "inference.py", "SAGEMAKER_SUBMIT_DIRECTORY": "/opt/ml/model/code"}
    container: Object = {"Image": image, "ModelDataUrl": f"s3://{bench.place.bucket}/{key}", "Environment": variables}
    request: Object = {"ModelName": name, "ExecutionRoleArn": bench.place.role, "PrimaryContainer": container}
    bench.make(MODEL, name, _CREATE_MODEL, _tagged(bench, request))
    bench.ask("sagemaker:DescribeModel", {"ModelName": name})
    bench.ask(_CREATE_MODEL, request, "the same name again")


def _config(bench: Bench) -> None:
    name = bench.name("config")
    variant: Object = {
        "VariantName": "all",
        "ModelName": bench.name("model"),
        "InitialInstanceCount": 1,
        "InstanceType": INSTANCE,
    }
    request: Object = {"EndpointConfigName": name, "ProductionVariants": [variant]}
    bench.make(CONFIG, name, _CREATE_CONFIG, _tagged(bench, request))
    bench.ask("sagemaker:DescribeEndpointConfig", {"EndpointConfigName": name})


def _endpoint(bench: Bench) -> None:
    name = bench.name("endpoint")
    request = {"EndpointName": name, "EndpointConfigName": bench.name("config")}
    bench.make(ENDPOINT, name, _CREATE, _tagged(bench, request))
    _settled(bench, "Creating")
    bench.ask("sagemaker:DescribeEndpoint", {"EndpointName": name}, "when it is made")
    bench.ask(_CREATE, request, "the same name again")


def _asked(bench: Bench) -> None:
    request = {"EndpointName": bench.name("endpoint"), "Body": "21", "ContentType": "application/json"}
    bench.ask("sagemaker-runtime:InvokeEndpoint", request)
    bench.ask("sagemaker-runtime:InvokeEndpoint", {**request, "EndpointName": bench.name("absent")}, "of no name")


def _deleted(bench: Bench) -> None:
    name = bench.name("endpoint")
    bench.ask("sagemaker:DeleteEndpoint", {"EndpointName": name})
    _settled(bench, "Deleting")
    bench.ask("sagemaker:DescribeEndpoint", {"EndpointName": name}, "after it was deleted")
    bench.ask("sagemaker:DeleteEndpoint", {"EndpointName": name}, "once more")


def _settled(bench: Bench, passing: str) -> Outcome:
    """Wait until an endpoint is no more in this state. Raises Unanswered where that takes too long."""
    request = {"EndpointName": bench.name("endpoint")}
    return bench.passed("sagemaker:DescribeEndpoint", request, "EndpointStatus", passing)


PROBES: Final = (
    Probe(
        name="a model",
        battery=HOSTING,
        sends=("s3:PutObject", _CREATE_MODEL, "sagemaker:DescribeModel"),
        send=_model,
        bucket=True,
    ),
    Probe(
        name="a configuration of an endpoint",
        battery=HOSTING,
        sends=(_CREATE_CONFIG, "sagemaker:DescribeEndpointConfig"),
        send=_config,
    ),
    Probe(name="an endpoint", battery=HOSTING, sends=(_CREATE, "sagemaker:DescribeEndpoint"), send=_endpoint),
    Probe(name="an answer of an endpoint", battery=HOSTING, sends=("sagemaker-runtime:InvokeEndpoint",), send=_asked),
    Probe(
        name="an endpoint that is deleted",
        battery=HOSTING,
        sends=("sagemaker:DeleteEndpoint", "sagemaker:DescribeEndpoint"),
        send=_deleted,
    ),
)

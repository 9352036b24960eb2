"""Target ``model-v2``: the call that makes SDK v2's model of a trained job and deploys it, as plain data.

A classifier of a shipped script is answered for by the shipped inference.py; any other artefact has to bring its own code.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from types import MappingProxyType
from typing import Any, Final

from .. import _entry
from ..catalog.inference import hosting_image
from ..catalog.instances import find_instances
from ..specs.compute import Accelerator
from ..specs.destination import Destination
from ..specs.framework import Container
from ..specs.job import JobSpec
from ..specs.problems import Advice, AnyOf, Change, Field, Problem, rules_of
from .calls import EstimatorCall

ANSWERED: Final = frozenset({"train_text_classification.py", "train_glue.py"})  # what inference.py can load
IN_THE_MODEL: Final = MappingProxyType(
    {"SAGEMAKER_PROGRAM": "inference.py", "SAGEMAKER_SUBMIT_DIRECTORY": "/opt/ml/model/code"}
)

_RULES = rules_of(__package__)


def render(job: JobSpec, at: Destination) -> EstimatorCall:
    """HuggingFaceModel or PyTorchModel, then ``deploy`` on one ``at.host``. Raises UnknownName when no image fits the host."""
    own, framework = answered(job), job.framework
    hugging_face = own or framework.family.startswith("huggingface")
    image, _ = hosting_image(
        at.host, at.region, pytorch=framework.pytorch or None, transformers=framework.transformers, hugging_face=hugging_face
    )  # fmt: skip
    kwargs: dict[str, Any] = {"model_data": model_data(job, at), "role": at.role, "image_uri": image}
    if own:
        kwargs["entry_point"] = str(_entry.scripts_folder() / "inference.py")
    else:
        kwargs["env"] = dict(IN_THE_MODEL)
    if not hugging_face:
        kwargs["framework_version"] = image.rpartition(":")[2].partition("-")[0]  # how it packs code depends on it
    return EstimatorCall(
        cls=f"sagemaker.{'huggingface.HuggingFaceModel' if hugging_face else 'pytorch.PyTorchModel'}",
        kwargs=MappingProxyType(kwargs),
        method="deploy",
        fit=MappingProxyType({"initial_instance_count": 1, "instance_type": at.host}),
    )


def answered(job: JobSpec) -> bool:
    """Return True if the shipped inference.py loads what the job's script saves."""
    script = job.script
    return script is not None and script.entry in ANSWERED and script.source_dir is None and script.git is None


def model_data(job: JobSpec, at: Destination) -> str:
    """Where the service puts the artefact: https://docs.aws.amazon.com/sagemaker/latest/dg/your-algorithms-training-algo-output.html"""
    place = job.output.s3_uri or f"s3://{at.bucket}"
    return f"{place.rstrip('/')}/{at.named(job)}/output/model.tar.gz"


def problems(job: JobSpec) -> Iterator[Problem]:
    """TARGET200 to TARGET202: a model class needs to know the framework, packs and unpacks archives, and has a host of its own."""
    if isinstance(job.framework, Container):
        yield _RULES["TARGET200"].problem(
            Field("framework"),
            "the SDK's model classes know PyTorch and Hugging Face only",
            got="Container",
            wanted="PyTorch, HuggingFace, NeuronX or HuggingFaceNeuronX",
            fix=Advice("sagemaker.model.Model(image_uri=…), or job.deploy(…, image_uri=…)"),
        )
    if not job.output.compress:
        yield _RULES["TARGET201"].problem(
            Field("output.compress"),
            "the model classes take a model.tar.gz",
            got="compress=False",
            wanted="compress=True",
            fix=AnyOf(Change(output=dataclasses.replace(job.output, compress=True)), "pack the folder first"),
        )
    trained_on = [row for row in find_instances(job.compute.instances) if row.accelerator is not Accelerator.CPU]
    if trained_on:
        yield _RULES["TARGET202"].problem(
            Field("compute.instance"),
            "the endpoint runs on a host of its own, a CPU unless you choose another",
            got=f"trained on {trained_on[0].name!r} ({trained_on[0].accelerator.name})",
            wanted="a host that is fast enough for the requests",
            fix=Advice("sm-trn render --host TYPE, or st.specs.Destination(host=TYPE)"),
        )

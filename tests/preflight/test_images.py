"""IMG and COMP rules over every accelerator: one fault is one problem, and what is offered instead runs there."""

from __future__ import annotations

import dataclasses
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import jobs
import pytest

import sm_trn as st
from sm_trn.core.catalog import image_uri, images
from sm_trn.core.errors import UnknownName
from sm_trn.core.specs import Problem, Severity
from sm_trn.core.specs.problems import AnyOf, Change

OWN = "123456789012.dkr.ecr.us-east-1.amazonaws.com/own:1"
SOURCE = str(Path(__file__).parent)  # a small folder: every check looks through it
CPU, GPU, OLD_GPU, NEURON = "ml.m5.xlarge", "ml.p4d.24xlarge", "ml.p2.xlarge", "ml.trn1.32xlarge"
NEURON_2 = "ml.trn2.48xlarge"
PYTORCH = st.PyTorch("2.8", python="py312")
HUGGING_FACE = st.HuggingFace("4.56", pytorch="2.8", python="py312")


def job(framework: Any, *instances: str, **more: Any) -> st.JobSpec:
    groups = tuple(st.specs.InstanceGroup(name=f"g{index}", instance=name) for index, name in enumerate(instances))
    compute = st.Compute(instances[0]) if len(instances) == 1 else st.Compute(groups=groups)
    return jobs.smddp(SOURCE).replace(framework=framework, compute=compute, distribution=None, **more)


def faults(spec: st.JobSpec, families: tuple[str, ...] = ("IMG", "COMP")) -> list[Problem]:
    return [each for each in st.check(spec) if each.severity is Severity.ERROR and each.id.startswith(families)]


@pytest.mark.parametrize(
    ("framework", "instances", "rule"),
    [
        (PYTORCH, (CPU,), None),
        (PYTORCH, (GPU,), None),
        (PYTORCH, (CPU, GPU), None),
        (HUGGING_FACE, (GPU,), None),
        (HUGGING_FACE, (CPU, GPU), None),
        (HUGGING_FACE, ("ml.p6e-gb200.36xlarge",), None),
        (HUGGING_FACE, (CPU,), "IMG003"),
        (HUGGING_FACE, (CPU, "ml.c5.xlarge"), "IMG003"),
        (PYTORCH, (NEURON,), "IMG003"),
        (PYTORCH, (GPU, NEURON), "IMG003"),
        (st.PyTorch("99.9", python="py312"), (NEURON,), "IMG003"),
        (st.PyTorch("2.8", python="py38"), (NEURON,), "IMG003"),
        (st.NeuronX("2.9.0"), (NEURON,), None),
        (st.NeuronX("2.9.0"), (CPU, NEURON), None),
        (st.NeuronX("2.9.0"), (CPU,), "IMG003"),
        (st.NeuronX("99.9"), (GPU,), "IMG003"),
        (st.PyTorch("2.8.9", python="py312"), (CPU,), "IMG001"),
        (st.PyTorch("2.8", python="py38"), (CPU,), "IMG002"),
        (PYTORCH, (OLD_GPU,), "IMG007"),
        (st.PyTorch("1.12", python="py38"), (OLD_GPU,), None),
        (st.PyTorch("2.9", python="py312"), ("ml.p3.2xlarge",), "IMG007"),
        (st.HuggingFace("5.3.0", pytorch="2.9.0", python="py312"), ("ml.p3dn.24xlarge",), "IMG007"),
        (st.PyTorch("2.13", python="py312"), ("ml.g4dn.xlarge",), None),
        (st.PyTorch("2.13", python="py312"), (CPU,), None),
        (PYTORCH, ("ml.p3.2xlarge",), None),
        (st.PyTorch("2.14", python="py313"), (NEURON_2,), "IMG003"),
        (st.TorchNeuron("2.14"), (NEURON_2,), "IMG006"),
        (st.TorchNeuron("2.14"), (NEURON,), "IMG003"),
        (st.TorchNeuron("2.14"), (GPU,), "IMG003"),
    ],
)
def test_one_fault_is_one_problem(framework: Any, instances: tuple[str, ...], rule: str | None) -> None:
    spec = job(framework, *instances)
    assert [rule] * (rule is not None) == [each.id for each in faults(spec)]
    if rule is not None:
        with pytest.raises(UnknownName):
            image_uri(spec, "us-east-1")
    else:
        assert image_uri(spec, "us-east-1")


@pytest.mark.parametrize("instance", [CPU, GPU, OLD_GPU, "ml.p3.2xlarge", "ml.p5.48xlarge"])
@pytest.mark.parametrize("version", ["1.0.9", "1.11.1", "1.14", "2.3.9", "2.8.9"])
def test_the_image_that_is_offered_runs_there(version: str, instance: str) -> None:
    spec = job(st.PyTorch(version, python="py312"), instance)
    (problem,) = faults(spec)
    good = images.nearest(spec)
    assert good is not None
    assert str(problem.fix).startswith(f"framework=PyTorch({good.pytorch!r}")
    assert image_uri(spec.replace(framework=images.framework_of(good)), "us-east-1")
    patched = [
        row for row in images.rows("pytorch") if (row.end_of_patch or "") > row.as_of and not images.unfit(row, spec)
    ]
    assert good in patched or not patched
    assert "/" not in problem.wanted  # one image, not a list


def test_the_image_that_is_offered_has_the_library_of_the_distribution() -> None:
    spec = job(st.PyTorch("2.6.9", python="py312"), "ml.p4d.24xlarge").replace(distribution=st.SMDataParallel())
    good = images.nearest(spec)
    assert good is not None
    assert "2.2.0" == good.pytorch


@pytest.mark.parametrize(
    ("framework", "instance", "end"),
    [
        (st.PyTorch("2.15", python="py313"), GPU, "pytorch 2.14"),
        (st.HuggingFace("5.13.1", pytorch="2.11.0", python="py312"), GPU, "transformers 5.3.0"),
        (st.NeuronX("2.12"), NEURON, "neuron_sdk 2.30.0"),
        (st.NeuronX("2.9.0", neuron_sdk="2.33.0"), NEURON, "neuron_sdk 2.30.0"),
        (st.specs.HuggingFaceNeuronX("4.60.0", pytorch="2.9.0"), NEURON, "transformers 4.55.4"),
    ],
)
def test_a_version_newer_than_the_table_is_no_mistake(framework: Any, instance: str, end: str) -> None:
    spec = job(framework, instance)
    assert [] == faults(spec)
    (problem,) = (each for each in st.check(spec) if each.id == "IMG001")
    assert Severity.WARNING is problem.severity
    assert end in problem.wanted
    with pytest.raises(
        UnknownName, match=r"newer than this table of images .*; set image_uri, or run sm-trn catalog update"
    ):
        image_uri(spec, "us-east-1")
    own = spec.replace(image_uri="123456789012.dkr.ecr.us-east-1.amazonaws.com/own:1")
    assert [] == [each.id for each in st.check(own) if each.id == "IMG001"]


def job_of(row: images.ImageRow) -> st.JobSpec:
    """A plain job that runs on the image: on the newest machines that it fits."""
    if row.family == "neuronx":
        return job(st.NeuronX(row.pytorch, neuron_sdk=row.neuron_sdk), NEURON)
    if row.family == "huggingface-neuronx":
        assert row.transformers is not None
        framework = st.specs.HuggingFaceNeuronX(row.transformers, pytorch=row.pytorch, neuron_sdk=row.neuron_sdk)
        return job(framework, NEURON)
    python = row.python or "py312"
    own: Any = st.PyTorch(row.pytorch, python=python)
    if row.transformers is not None:
        own = st.HuggingFace(row.transformers, pytorch=row.pytorch, python=python)
    spec = job(own, GPU)
    if row.family.endswith("-compiler"):
        return spec.replace(compute=st.Compute("ml.p3.2xlarge"), compiler=st.TrainingCompiler())
    return spec.replace(distribution=st.specs.SMModelParallelV2()) if row.family == "pytorch-smp" else spec


@pytest.mark.parametrize(
    "row",
    [row for family in images.families() for row in images.rows(family) if family != "neuron-legacy"],
    ids=lambda row: f"{row.family}-{row.pytorch}-{row.transformers}-{row.python}-{row.neuron_sdk}",
)
def test_every_image_that_exists_has_a_job_without_a_fault_and_is_recognised(row: images.ImageRow) -> None:
    spec = job_of(row)
    assert [] == [
        each for each in st.check(spec) if each.severity is Severity.ERROR and not each.id.startswith("SCRIPT")
    ]
    region = "us-east-1" if "us-east-1" in images.registries(row) else next(iter(images.registries(row)))
    uri = image_uri(spec, region)
    assert f"/{row.repository}:" in uri
    again = images.recognise(uri)
    if row.family == "pytorch-smp" or row.family.endswith("-compiler") or row.python is None:
        return  # what else chooses such an image is no part of its URI
    assert again is not None
    assert uri == image_uri(spec.replace(framework=again), region)


@pytest.mark.parametrize(
    "row",
    [row for family in images.families() for row in images.rows(family)],
    ids=lambda row: f"{row.family}-{row.pytorch}-{row.transformers}-{row.python}-{row.neuron_sdk}",
)
def test_an_image_is_out_of_patch_from_its_date_on(row: images.ImageRow) -> None:
    if row.family != "pytorch" or row.end_of_patch is None:
        assert row.end_of_patch is None
        return
    assert row.general_availability is not None
    assert row.general_availability < row.end_of_patch
    spec = job(st.PyTorch(row.pytorch, python=row.python or "py312"), GPU)
    end = date.fromisoformat(row.end_of_patch)
    assert [] == [each for each in st.check(spec, today=end - timedelta(days=1)) if each.id == "IMG008"]
    (problem,) = (each for each in st.check(spec, today=end) if each.id == "IMG008")
    assert Severity.INFO is problem.severity
    assert row.end_of_patch in problem.what


@pytest.mark.parametrize(
    ("framework", "said"),
    [
        (st.NeuronX("2.9.0"), True),
        (st.specs.HuggingFaceNeuronX("4.55.4", pytorch="2.8.0"), True),
        (st.Container(), False),
    ],
)
def test_a_job_on_trainium_is_told_that_its_road_ended(framework: Any, said: bool) -> None:
    own = {} if said else {"image_uri": "123456789012.dkr.ecr.us-east-1.amazonaws.com/jax-training-neuronx:0.10"}
    spec = job(framework, NEURON, **own)
    assert ["IMG009"] * said == [each.id for each in st.check(spec) if each.id == "IMG009"]
    assert [] == faults(spec)


@pytest.mark.parametrize(
    "spec",
    [
        job(HUGGING_FACE, CPU),
        job(PYTORCH, NEURON),
        job(HUGGING_FACE, NEURON),
        job(HUGGING_FACE, NEURON_2),
        job(st.TorchNeuron("2.14"), GPU, image_uri=OWN),
        job(PYTORCH, OLD_GPU),
        job(st.PyTorch("2.13", python="py312"), "ml.p3.2xlarge"),
    ],
)
def test_the_fix_of_a_wrong_accelerator_is_one(spec: st.JobSpec) -> None:
    (problem,) = faults(spec)
    fix = problem.fix.choices[0] if isinstance(problem.fix, AnyOf) else problem.fix
    assert isinstance(fix, Change)
    assert [] == faults(spec.replace(**fix.fields))


def test_a_job_of_pytorch_2_14_on_trainium_2_is_sent_down_the_open_road() -> None:
    (problem,) = faults(job(st.PyTorch("2.14", python="py313"), NEURON_2))
    assert "framework=TorchNeuron('2.14'), image_uri='account.dkr.ecr.region.amazonaws.com/name:tag'" == problem.fix
    (ended,) = (each for each in st.check(job(st.NeuronX("2.9.0"), NEURON_2)) if each.id == "IMG009")
    assert str(ended.fix).startswith("framework=TorchNeuron('2.14')")


def test_torch_neuron_is_for_the_versions_of_its_release_notes() -> None:
    for version, rules in (("2.13", []), ("2.14.0", []), ("2.9", ["IMG001"]), ("2.15", ["IMG001"])):
        spec = job(st.TorchNeuron(version), NEURON_2, image_uri=OWN)
        assert rules == [each.id for each in st.check(spec) if each.id == "IMG001"]


@pytest.mark.parametrize(("tag", "version"), [("2.14.0-neuronx-py314-sdk2.33.0-ubuntu26.04", "2.14.0"), ("own", None)])
def test_a_container_of_torch_neuron_is_read_back_by_its_tag(tag: str, version: str | None) -> None:
    uri = f"111122223333.dkr.ecr.us-west-2.amazonaws.com/pytorch-training-neuronx:{tag}"
    spec = job(st.TorchNeuron("2.14"), NEURON_2, image_uri=uri)
    again = st.parse_request(st.render(spec, "request"))
    assert (st.TorchNeuron(version) if version else st.Container()) == again.framework
    assert uri == again.image_uri


@pytest.mark.parametrize("version", ["2", "2.8.0.1", "2.", "latest", ""])
def test_a_version_is_short_or_full(version: str) -> None:
    assert images.choose(job(st.PyTorch(version, python="py312"), GPU)) is None


def test_the_compiler_is_in_no_image_of_ones_own() -> None:
    own = job(
        PYTORCH, GPU, compiler=st.TrainingCompiler(), image_uri="123456789012.dkr.ecr.us-east-1.amazonaws.com/own:1"
    )
    assert ["COMP005"] == [each.id for each in faults(own)]
    assert ["COMP005"] == [each.id for each in faults(own.replace(framework=st.Container()))]
    algorithm = dataclasses.replace(own, framework=st.Container(algorithm="an-algorithm"), image_uri=None)
    assert ["COMP005"] == [each.id for each in faults(algorithm)]


def test_the_compiler_takes_no_type_that_the_catalogue_lacks() -> None:
    spec = job(st.PyTorch("1.13", python="py39"), "ml.p6e-gb200.36xlarge", compiler=st.TrainingCompiler())
    assert ["COMP001"] == [each.id for each in faults(spec)]


def test_a_compiled_job_is_refused_where_its_image_is_not() -> None:
    spec = job(st.HuggingFace("4.11", pytorch="1.9", python="py38"), GPU, compiler=st.TrainingCompiler())
    assert image_uri(spec, "us-east-1")
    with pytest.raises(
        UnknownName, match=r"region: got 'eu-central-1', wanted one with .*: ca-west-1, eu-west-1, us-east-1"
    ):
        image_uri(spec, "eu-central-1")

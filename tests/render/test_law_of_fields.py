"""The law of fields: a field that is changed alone changes the request and every target, or the target refuses it by name.

It is walked over every field of every class of a spec, so a new field is under it from its first day.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

import sm_trn as st
from sm_trn.core import fields
from sm_trn.core.jobfile import FORMATS, dump_job, load_jobs
from sm_trn.core.render import TARGETS, diff, parse_request, problems

AT = st.specs.Destination(
    role="arn:aws:iam::123456789012:role/r", bucket="b", job_name="a-job", source_uri="s3://b/source.tar.gz"
)
PLAIN = st.JobSpec(
    name="a-job",
    script=st.Script("train.py", source_dir="s3://b/source.tar.gz"),
    framework=st.PyTorch("2.8.0", python="py312"),
    compute=st.Compute("ml.g5.xlarge"),
    metrics=(),
)
TOKENS = {"ServerlessJobConfig": {"BaseModelArn": "arn:a", "JobType": "FineTuning", "AcceptEula": True}}
# A value of each field with nothing in it at its default.
EXAMPLES: Mapping[str, list[Any]] = {
    "compute": [
        st.Compute(
            "ml.g5.xlarge", count=2, volume_gb=31, volume_kms_key="a-key", keep_alive_s=60, training_plan="a-plan",
            placement=st.specs.Placement(shared=True, servers=(st.specs.UltraServer(count=1, server_id="a"),)),
        ),
        st.Compute(groups=(st.specs.InstanceGroup(name="a", instance="ml.g5.xlarge", count=2),)),
        st.Compute(preferences=(st.specs.InstancePreference("ml.g5.xlarge", count=2, training_plan="a-plan"),)),
    ],
    "inputs": [
        {"train": st.Channel("s3://b/data", mode=st.specs.InputMode.PIPE, spread=st.specs.Spread.SHARDED_BY_S3_KEY,
                             kind=st.specs.S3Kind.MANIFEST,
                             content_type="text/csv", compression="Gzip", record_wrapping="RecordIO", groups=("a",), shuffle_seed=1,
                             attribute_names=("a",), accept_eula=True, hub_content_arn="arn:a")},
        {"train": st.FileSystem("fs-1", st.specs.FileSystemKind.EFS, directory="/a", writable=True, content_type="text/csv")},
        {"train": st.specs.Dataset("arn:aws:sagemaker:us-west-2:aws:hub-content/a/DataSet/b", content_type="text/csv")},
    ],
    "spot": [st.Spot(max_wait_s=90_000, checkpoint_s3_uri="s3://b/c", checkpoint_local_path="/opt/ml/k")],
    "max_run_s": [3600],
    "metrics": [(st.MetricRule("loss", "loss: (.*)"),)],
    "environment": [{"A": "b"}],
    "tags": [{"a": "b"}],
    "image_uri": ["an-image"],
    "checkpoint": [st.Checkpoint(s3_uri="s3://b/c", local_path="/opt/ml/c")],
    "output": [st.Output(s3_uri="s3://b/out", kms_key="a-key", compress=False)],
    "network": [
        st.Network(subnets=("subnet-1",), security_groups=("sg-1",), isolation=True, encrypt_traffic=True),
    ],
    "retries": [3],
    "extra": [
        {
            "AlgorithmSpecification": {
                "ContainerEntrypoint": ["sh"], "ContainerArguments": ["-c"],
                "TrainingImageConfig": {"TrainingRepositoryAccessMode": "Vpc"},
            },
            "StoppingCondition": {"MaxPendingTimeInSeconds": 7200},
            "TensorBoardOutputConfig": {"S3OutputPath": "s3://b/t", "LocalPath": "/var/t"},
            "InfraCheckConfig": {"EnableInfraCheck": True}, "RemoteDebugConfig": {"EnableRemoteDebug": True},
            "SessionChainingConfig": {"EnableSessionTagChaining": True},
            "ExperimentConfig": {"ExperimentName": "a", "TrialName": "b", "TrialComponentDisplayName": "c", "RunName": "d"},
            "MlflowConfig": {"MlflowResourceArn": "arn:a"}, "ModelPackageConfig": {"ModelPackageGroupArn": "arn:a"},
            "ProfilerConfig": {"DisableProfiler": False, "S3OutputPath": "s3://b/p"},
            "DebugHookConfig": {"S3OutputPath": "s3://b/d", "HookParameters": {"a": "b"}},
            "DebugRuleConfigurations": [{"RuleConfigurationName": "own", "RuleEvaluatorImage": "an/image:2"}],
        },
        TOKENS,
    ],
    "name": ["another-job"],
    "kept": [(st.specs.Kept("/OutputDataConfig/A", sent="1"),)],
}  # fmt: skip
# Fields whose value a target or the request cannot show, each with the reason.
BY_HAND = {
    "framework": "chooses the image",
    "script": "is uploaded; the request names its place",
    "distribution": "writes hyperparameters, and has tests of its own",
    "hyperparameters": "are written by hand, and have tests of their own",
    "compiler": "chooses the image, and writes hyperparameters",
    "neuron": "writes variables and hyperparameters",
    "guard": "is what this package watches; no part of the request",
    "queue": "is where the request waits; no part of it",
}
NOT_IN_THE_REQUEST = {"name": "a destination names the job"}
# (target, field): what the target does not show of a change of this field.
NOT_SHOWN = {
    ("local", "metrics"): "the commands print what the script prints",
    ("local", "max_run_s"): "nobody ends the commands",
    ("local", "compute"): "machines of one's own are as they are",
    ("local", "output"): "the model stays in a folder",
    ("estimator-v2", "name"): "a destination names the job",
}


def changed(value: Any) -> Any:
    """Another value of the same type."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, enum.Enum):
        return next(member for member in type(value) if member is not value)
    if isinstance(value, int):
        return value + 1
    if isinstance(value, str):
        return f"{value}1"
    if isinstance(value, Mapping):
        return {**value, "more": "1"}
    if isinstance(value, (tuple, list)) and isinstance(value[0], str):
        return (*value, "more")
    raise TypeError(value)


def changes(value: Any, path: str) -> Iterator[tuple[str, tuple[str, str] | None, Any]]:
    """Every change of one field in ``value``: the path, class and name of the field, and the value with the change."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        for field in dataclasses.fields(value):
            inner = getattr(value, field.name)
            if inner in (None, (), {}) or inner == getattr(field, "default", None):
                continue
            for below, owner, new in changes(inner, f"{path}.{field.name}"):
                yield (
                    below,
                    owner or (type(value).__name__, field.name),
                    dataclasses.replace(value, **{field.name: new}),
                )
    elif isinstance(value, Mapping) and dataclasses.is_dataclass(next(iter(value.values()))):
        for name, item in value.items():
            for below, owner, new in changes(item, f"{path}.{name}"):
                yield below, owner, {**value, name: new}
    elif isinstance(value, tuple) and dataclasses.is_dataclass(value[0]):
        for below, owner, new in changes(value[0], path):
            yield below, owner, (new, *value[1:])
    else:
        yield path, None, changed(value)


def changes_of_extra(tree: Any, path: str) -> Iterator[tuple[str, None, Any]]:
    """Every change of one value in the members of a request."""
    if isinstance(tree, Mapping):
        for name, item in tree.items():
            for below, _, new in changes_of_extra(item, f"{path}.{name}"):
                yield below, None, {**tree, name: new}
    elif isinstance(tree, list) and isinstance(tree[0], Mapping):
        for below, _, new in changes_of_extra(tree[0], path):
            yield below, None, [new, *tree[1:]]
    else:
        yield path, None, changed(tree)


def cases() -> Iterator[tuple[str, tuple[str, str], st.JobSpec, st.JobSpec]]:
    for name, examples in EXAMPLES.items():
        for example in examples:
            job = PLAIN.replace(**{name: example}, **(SERVERLESS if example == TOKENS else {}))
            for path, owner, value in (changes_of_extra if name == "extra" else changes)(example, name):
                yield path, owner or ("JobSpec", name), job, job.replace(**{name: value})


SERVERLESS: Any = {"compute": st.Compute(st.specs.SERVERLESS), "framework": st.Container(), "script": None}
CASES = list(cases())
IDS = [f"{path}-{cls}" for path, (cls, _), _, _ in CASES]


def spec_classes() -> set[Any]:
    """The classes of a job's fields, but for those that are written by hand."""
    items = {
        st.specs.InstanceGroup,
        st.specs.InstancePreference,
        st.specs.UltraServer,
        st.MetricRule,
    }
    apart = {st.JobSpec, st.specs.Kept}
    return {*fields.PARTS.values(), *fields.SOURCES, *items, *apart}


def test_every_field_of_every_class_is_walked() -> None:
    walked = {owner for _, owner, _, _ in CASES}
    lacking = {
        (cls.__name__, field.name)
        for cls in spec_classes()
        for field in dataclasses.fields(cls)
        if (cls.__name__, field.name) not in walked
    }
    parts = {("JobSpec", name) for name in EXAMPLES} | {("Compute", "groups"), ("Compute", "preferences")}
    parts |= {("Compute", "placement"), ("Placement", "servers"), ("Kept", "instead_of")}
    assert {("JobSpec", name) for name in BY_HAND} == lacking - parts


def request(job: st.JobSpec) -> Any:
    return st.render(job, at=AT)


@pytest.mark.parametrize(("path", "owner", "before", "after"), CASES, ids=IDS)
def test_a_change_of_one_field_changes_the_request_and_comes_back_from_it(
    path: str, owner: tuple[str, str], before: st.JobSpec, after: st.JobSpec
) -> None:
    if path in NOT_IN_THE_REQUEST:
        return
    assert request(before) != request(after)
    assert diff(before, after), path
    parsed = parse_request(request(after), at=AT)
    assert request(after) == st.render(parsed, at=AT)
    if owner[0] != "Kept":
        assert () == parsed.kept


@pytest.mark.parametrize(("path", "owner", "before", "after"), CASES, ids=IDS)
def test_a_job_file_of_every_format_holds_the_change(
    path: str, owner: tuple[str, str], before: st.JobSpec, after: st.JobSpec
) -> None:
    del path, owner
    for form in FORMATS:
        assert dump_job(before, form) != dump_job(after, form)
        assert (after,) == load_jobs(dump_job(after, form), form)


def outcome(job: st.JobSpec, target: str) -> str:
    """What a target makes of a job: its text, or why not; and everything that it says of it."""
    words = "\n".join(map(str, problems(job, target)))
    try:
        return f"{words}\n{st.render(job, target, at=AT)}"
    except (st.errors.InvalidJob, st.errors.UnknownName) as error:
        return f"{words}\n{error}"


@pytest.mark.parametrize("target", sorted({*TARGETS} - {"model-v2"}))  # that one is of the model that a job leaves
@pytest.mark.parametrize(("path", "owner", "before", "after"), CASES, ids=IDS)
def test_a_change_of_one_field_is_said_by_every_target_or_refused_by_name(
    path: str, owner: tuple[str, str], before: st.JobSpec, after: st.JobSpec, target: str
) -> None:
    del owner
    top = path.split(".", maxsplit=1)[0]
    named = any(top in f"{each.where} {each.got}" for each in problems(after, target))
    if outcome(before, target) == outcome(after, target) and not named:
        assert (target, top) in NOT_SHOWN or path in NOT_IN_THE_REQUEST, path


@pytest.mark.parametrize("cls", sorted(spec_classes(), key=str))
def test_the_page_of_job_files_has_every_class_with_its_fields(cls: Any) -> None:
    configuration = pytest.importorskip("documents").configuration  # it makes the pages, and is no part of the package
    page = configuration()
    summary = " ".join((cls.__doc__ or "").strip().split("\n\n")[0].split()).replace("``", "`")
    assert summary in page
    section = page[page.index(summary) :].split("###")[0]
    for field in dataclasses.fields(cls):
        assert f"| `{field.name}` |" in section

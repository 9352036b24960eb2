"""The tuning job that we ask for is the one that SDK v2's ``HyperparameterTuner`` asks for, captured live from ``fit``.

SM_TRN_EXAMPLES=1200 compares more than 300 sweeps; 25 are drawn by default.
"""

from __future__ import annotations

import os
from collections import Counter
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as some
from strategies_of_values import REGIONS, sensible
from sweeps import plain_arguments, sweeps
from test_every_request import Wire, at, kept_fields, quick, sold, source
from test_same_request import flat

import sm_trn as st
from sm_trn.core.render import problems
from sm_trn.core.specs import JobSpec, Severity
from sm_trn.core.specs.tuning import Categorical, Continuous, Range, Sweep
from sm_trn.tuning.request import tuning_request

pytest.importorskip("sagemaker.pytorch", reason="needs SageMaker SDK v2: pip install 'sm_trn[sdk]'")
from sagemaker import parameter, tuner

from sm_trn.core import sdk
from sm_trn.emulator.api import shapes

pytestmark = pytest.mark.sdk
EXAMPLES = int(os.environ.get("SM_TRN_EXAMPLES", "25"))
__all__ = ["quick", "source"]  # fixtures
# What the SDK's tuner leaves out of the estimator's words, without a message. Everything else must be equal.
LEFT_OUT = {
    "KeepAlivePeriodInSeconds": "_prepare_hp_resource_config takes four fields of the cluster",
    "TrainingPlanArn": "as above",
    "InstancePlacementConfig": "as above",
}


class TunerWire(Wire):  # type: ignore[misc]  # what tests import from their own folder has no type here
    """A wire that keeps the requests for tuning jobs."""

    asked = "CreateHyperParameterTuningJob"
    sent: dict[str, Any]

    def tune(self, sweep: Sweep, region: str) -> dict[str, Any]:
        """What the SDK sends for a tuner of the job's own estimator."""
        self.sent = {}
        call = st.render(sweep.job, "estimator-v2", at=at(region))
        with sdk.contained():
            estimator = sdk.build(call, sagemaker_session=self.session(region))
            made = tuner.HyperparameterTuner(estimator, **arguments(sweep, estimator))
            if sweep.clusters:
                made.override_resource_config(
                    [
                        tuner.InstanceConfig(instance_count=each.count, instance_type=each.instance, volume_size=each.volume_gb)
                        for each in sweep.clusters
                    ]
                )  # fmt: skip
            made.fit(sdk.built(dict(call.fit)).get("inputs"), job_name="a-job", wait=False)
        return self.sent


def arguments(sweep: Sweep, estimator: Any) -> dict[str, Any]:
    """The tuner's arguments, as a person writes them down."""
    given: dict[str, Any] = {
        **plain_arguments(sweep),
        "hyperparameter_ranges": {name: as_range(values) for name, values in sweep.space.items()},
    }
    if sweep.hyperband is not None:
        least, most = sweep.hyperband.min_resource, sweep.hyperband.max_resource
        given["strategy_config"] = tuner.StrategyConfig(
            tuner.HyperbandStrategyConfig(max_resource=most, min_resource=least)
        )
    if sweep.completion is not None:
        given["completion_criteria_config"] = tuner.TuningJobCompletionCriteriaConfig(
            max_number_of_training_jobs_not_improving=sweep.completion.not_improving,
            complete_on_convergence=sweep.completion.convergence,
            target_objective_metric_value=sweep.completion.target,
        )
    if sweep.warm_start is not None:
        kind = tuner.WarmStartTypes(sweep.warm_start.kind.value)
        given["warm_start_config"] = tuner.WarmStartConfig(kind, set(sweep.warm_start.parents))
    if sweep.autotune:
        own = sweep.job.arguments.keys() - set(sweep.keep_static)
        estimator._prepare_for_training("a-job")
        fixed = estimator.hyperparameters().keys() - own - sweep.space.keys()
        toolkit = {"sagemaker_estimator_class_name", "sagemaker_estimator_module"} if sweep.job.script else set()
        given["hyperparameters_to_keep_static"] = sorted(fixed | toolkit)
    return given


def as_range(values: Range) -> Any:
    if isinstance(values, Categorical):
        return parameter.CategoricalParameter(list(values.values))
    kind = parameter.ContinuousParameter if isinstance(values, Continuous) else parameter.IntegerParameter
    return kind(values.low, values.high, values.scale.value)


def unordered(request: dict[str, Any]) -> dict[str, Any]:
    """The SDK keeps the parents of a warm start in a set."""
    start = request.get("WarmStartConfig")
    if start is None:
        return request
    parents = sorted(each["HyperParameterTuningJobName"] for each in start["ParentHyperParameterTuningJobs"])
    return {**request, "WarmStartConfig": {**start, "ParentHyperParameterTuningJobs": parents}}


def differences(ours: dict[str, Any], theirs: dict[str, Any]) -> set[str]:
    left, right = flat(unordered(ours)), flat(unordered(theirs))
    return {key for key in left.keys() | right.keys() if left.get(key) != right.get(key)}


def compared_parts(ours: dict[str, Any], theirs: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Both without the cluster where it has a field that the SDK's tuner leaves out."""
    cluster = ours["TrainingJobDefinition"].get("ResourceConfig", {})
    if not LEFT_OUT.keys() & cluster.keys():
        return ours, theirs
    parts = []
    for request in (ours, theirs):
        definition = request["TrainingJobDefinition"].items()
        rest = {name: value for name, value in definition if not name.endswith("ResourceConfig")}
        parts.append({**request, "TrainingJobDefinition": rest})
    return parts[0], parts[1]


def words_of(path: str) -> set[str]:
    """The members of a path, as a training job calls them."""
    return {word.removeprefix("Static") for word in path.split(".")}


@pytest.fixture(scope="module")
def wire() -> TunerWire:
    return TunerWire()


@pytest.mark.timeout(300 + EXAMPLES)
def test_a_sweep_is_asked_for_as_the_sdk_asks(wire: TunerWire, source: str) -> None:
    compared: Counter[str] = Counter()

    @settings(max_examples=EXAMPLES, derandomize=EXAMPLES <= 1200, phases=(Phase.generate,))
    @given(job=sensible(source), region=REGIONS, data=some.data())
    def compare(job: JobSpec, region: str, data: some.DataObject) -> None:
        faults = [*st.check(job), *problems(job, "estimator-v2")]
        if any(each.severity is Severity.ERROR for each in faults) or not sold(job, region):
            return
        sweep = data.draw(sweeps(job))
        ours = tuning_request(sweep, at(region))
        if job.compute.groups and not sweep.clusters:
            compared["refused by boto3"] += 1  # the SDK's tuner sends groups as a cluster without a type
            return
        different = differences(*compared_parts(ours, wire.tune(sweep, region)))
        assert set() == {name for name in different if not kept_fields(job) & words_of(name)}, different
        shapes.check("CreateHyperParameterTuningJob", ours)
        compared[sweep.strategy.value] += 1

    compare()
    print(f"\n{dict(compared)} compared")
    assert sum(compared.values()) - compared["refused by boto3"] >= EXAMPLES / 12, compared

"""The tuning job that we ask for is the one that SDK v3's ``HyperparameterTuner`` asks for, but for the named differences.

25 sweeps by default; SM_TRN_EXAMPLES=600 for a long look. With -s they are counted, and so is what v3's tuner leaves out of each.
"""

from __future__ import annotations

import collections
import os
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from strategies_of_values import sensible
from sweeps import plain_arguments, sweeps
from test_model_trainer import AT, QUICK, TARGET, channels, flat, offline, said_by_v3, sayable, source, spelt_out
from v3_wire import Wire, installed

import sm_trn as st
from sm_trn.core.specs import Compute, JobSpec
from sm_trn.core.specs.tuning import Categorical, Completion, Continuous, Range, Sweep
from sm_trn.tuning.request import tuning_request

if not installed():
    pytest.skip("needs SageMaker SDK v3, in an environment of its own: .ci/sdk3", allow_module_level=True)
pytestmark = pytest.mark.filterwarnings("default")  # the SDK's own deprecations
EXAMPLES = int(os.environ.get("SM_TRN_EXAMPLES", "25"))
__all__ = ["offline", "source"]  # fixtures
DEFINITION = "TrainingJobDefinition"
CONFIG = "HyperParameterTuningJobConfig"


# The whole list of differences, with reasons: what sagemaker.train.tuner does with a ModelTrainer. Everything else must be equal.
COMPARED_APART = {
    f"{DEFINITION}.StaticHyperParameters": "v3 sends the user's own, unquoted, and none that names an estimator",
    f"{DEFINITION}.InputDataConfig": "v3 adds the channel sm_drivers",
    f"{CONFIG}.ParameterRanges.CategoricalParameterRanges": "v3 quotes no value",
    f"{DEFINITION}.HyperParameterTuningResourceConfig": "v3 says a cluster in ResourceConfig, the member of training jobs",
    f"{DEFINITION}.ResourceConfig": "the same",
}
LEFT_OUT = {
    f"{DEFINITION}.EnableNetworkIsolation": "_build_training_job_definition takes the trainer's subnets and groups alone",
    f"{DEFINITION}.EnableInterContainerTrafficEncryption": "the same",
    f"{DEFINITION}.StoppingCondition.MaxPendingTimeInSeconds": "the same: of a stopping condition it takes how long a job runs and waits",
    f"{CONFIG}.RandomSeed": "_build_tuning_job_config takes a seed of 0 for none",
    f"{CONFIG}.ParameterRanges.AutoParameters": "_prepare_auto_parameters finds them, _build_tuning_job_config does not say them",
    "VolumeKmsKeyId": "its ResourceConfig has three words: type, count and volume",
    "KeepAlivePeriodInSeconds": "the same",
    "TrainingPlanArn": "the same",
    "InstancePlacementConfig": "the same",
    "InstanceGroups": "the same: a cluster of groups is asked for without a type, which the service refuses",
    "InstanceConfigs": "override_resource_config keeps the clusters, and nothing reads them",
}


class TunerWire(Wire):  # type: ignore[misc]  # what tests import from their own folder has no type here
    """A wire that drives the real tuner."""

    sent: dict[str, Any]

    def tune(self, sweep: Sweep) -> dict[str, Any]:
        """What SDK v3 sends for a tuner of the job's own ModelTrainer."""
        from sagemaker.train import tuner

        from sm_trn.core import sdk

        self.sent = {}
        call = st.render(sweep.job, TARGET, at=AT)
        with sdk.contained():
            trainer = sdk.build(call, sagemaker_session=self.session)
            made = tuner.HyperparameterTuner(trainer, **arguments(sweep))
            if sweep.clusters:
                made.override_resource_config([instance_of(each) for each in sweep.clusters])
            made.tune(sdk.built(dict(call.fit)).get("input_data_config"), job_name="a-job", wait=False)
        return self.sent


def instance_of(cluster: Compute) -> Any:
    from sagemaker.core.shapes import HyperParameterTuningInstanceConfig

    return HyperParameterTuningInstanceConfig(
        instance_type=cluster.instance, instance_count=cluster.count, volume_size_in_gb=cluster.volume_gb
    )


def arguments(sweep: Sweep) -> dict[str, Any]:
    """The tuner's arguments, as a person writes them down."""
    given: dict[str, Any] = {
        **plain_arguments(sweep),
        "hyperparameter_ranges": {name: as_range(values) for name, values in sweep.space.items()},
        "tags": [{"Key": key, "Value": value} for key, value in sweep.job.tags.items()] or None,
    }
    return given | settings_of(sweep)


def settings_of(sweep: Sweep) -> dict[str, Any]:
    """Those that are objects of the SDK."""
    from sagemaker.core import shapes

    given: dict[str, Any] = {}
    if sweep.hyperband is not None:
        least, most = sweep.hyperband.min_resource, sweep.hyperband.max_resource
        band = shapes.HyperbandStrategyConfig(min_resource=least, max_resource=most)
        given["strategy_config"] = shapes.HyperParameterTuningJobStrategyConfig(hyperband_strategy_config=band)
    if sweep.completion is not None:
        given["completion_criteria_config"] = completion(sweep.completion)
    if sweep.warm_start is not None:
        given["warm_start_config"] = shapes.HyperParameterTuningJobWarmStartConfig(
            warm_start_type=sweep.warm_start.kind.value,
            parent_hyper_parameter_tuning_jobs=[
                shapes.ParentHyperParameterTuningJob(hyper_parameter_tuning_job_name=name)
                for name in sweep.warm_start.parents
            ],
        )
    if sweep.autotune:
        given["hyperparameters_to_keep_static"] = sorted(sweep.keep_static)
    return given


def completion(asked: Completion) -> Any:
    from sagemaker.core import shapes

    given: dict[str, Any] = {}
    if asked.target is not None:
        given["target_objective_metric_value"] = asked.target
    if asked.not_improving is not None:
        given["best_objective_not_improving"] = shapes.BestObjectiveNotImproving(
            max_number_of_training_jobs_not_improving=asked.not_improving
        )
    if asked.convergence is not None:
        word = "Enabled" if asked.convergence else "Disabled"
        given["convergence_detected"] = shapes.ConvergenceDetected(complete_on_convergence=word)
    return shapes.TuningJobCompletionCriteria(**given)


def as_range(values: Range) -> Any:
    from sagemaker.core import parameter

    if isinstance(values, Categorical):
        return parameter.CategoricalParameter(list(values.values))
    kind = parameter.ContinuousParameter if isinstance(values, Continuous) else parameter.IntegerParameter
    return kind(values.low, values.high, values.scale.value)


def same(sweep: Sweep, sent: dict[str, Any]) -> set[str]:
    """Both requests are equal but for the named differences; which parts of ours v3 leaves out."""
    ours = tuning_request(sweep, AT)
    ours[DEFINITION] = spelt_out(ours[DEFINITION])
    theirs = sent[DEFINITION]
    assert channels(ours[DEFINITION]) == channels(theirs)
    assert categories(sweep) == sent[CONFIG].get("ParameterRanges", {}).get("CategoricalParameterRanges", [])
    assert fixed(sweep) == own(theirs.get("StaticHyperParameters", {}))
    assert machines(sweep.job.compute) == theirs["ResourceConfig"]
    left, right = flat(ours), flat(sent)
    different = {key for key in left.keys() | right.keys() if left.get(key) != right.get(key)}
    left_out = {key for key in different if key in LEFT_OUT and key not in right}
    assert set() == {key for key in different - left_out if not any(key.startswith(name) for name in COMPARED_APART)}
    assert lost(sweep) <= LEFT_OUT.keys()
    return left_out | lost(sweep)


def categories(sweep: Sweep) -> list[dict[str, Any]]:
    """The ranges of words as v3 says them."""
    return [
        {"Name": name, "Values": [str(value) for value in values.values]}
        for name, values in sweep.space.items()
        if isinstance(values, Categorical)
    ]


def fixed(sweep: Sweep) -> dict[str, str]:
    """The job's own hyperparameters that nothing chooses."""
    kept = set(sweep.keep_static) if sweep.autotune else sweep.job.arguments.keys()
    return {name: as_text(value) for name, value in sweep.job.arguments.items() if name in kept - sweep.space.keys()}


def as_text(value: object) -> str:
    from sagemaker.core.common_utils import to_string

    return str(to_string(value))


def own(hyperparameters: dict[str, str]) -> dict[str, str]:
    """Those that the user gave: v3 adds where the script is, for the container's toolkit."""
    added = {"sagemaker_program", "sagemaker_submit_directory"}
    return {name: text for name, text in hyperparameters.items() if name not in added}


def machines(compute: Compute) -> dict[str, Any]:
    """A cluster in the three words that v3's tuner has."""
    said = {"InstanceType": compute.instance, "InstanceCount": compute.count, "VolumeSizeInGB": compute.volume_gb}
    return said if not compute.groups else {"VolumeSizeInGB": compute.volume_gb}


def lost(sweep: Sweep) -> set[str]:
    """What of the cluster v3's tuner does not say."""
    said = tuning_request(sweep, AT)[DEFINITION]
    cluster = said.get("HyperParameterTuningResourceConfig") or said["ResourceConfig"]
    return set(cluster) - {"InstanceType", "InstanceCount", "VolumeSizeInGB"}


def test_the_real_tuner_sends_our_request(offline: None, source: str) -> None:
    compared: collections.Counter[str] = collections.Counter()
    left_out: collections.Counter[str] = collections.Counter()
    wire = TunerWire()

    @settings(max_examples=EXAMPLES, derandomize=EXAMPLES == 25, phases=QUICK)
    @given(job=sensible(source).map(sayable).filter(said_by_v3), data=some.data())
    def compare(job: JobSpec, data: some.DataObject) -> None:
        sweep = data.draw(sweeps(job))
        left_out.update(same(sweep, wire.tune(sweep)))
        compared[sweep.strategy.value] += 1

    compare()
    print(f"\n{sum(compared.values())} sweeps compared: {dict(compared)}; v3 leaves out {dict(left_out)}")

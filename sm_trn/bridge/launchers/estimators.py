"""Which classes of the SDK start training jobs, under which names their arguments go, and what of the SDK is none of them.

Source: sagemaker 2.257.7, estimator.py, pytorch/estimator.py, huggingface/estimator.py, tensorflow/estimator.py and their
neighbours; names of version 1: sagemaker 2.257.7, deprecations.py, and the migration page of version 2.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

_BASE: Final = (
    "role", "instance_count", "instance_type", "keep_alive_period_in_seconds", "volume_size", "volume_kms_key", "max_run",
    "input_mode", "output_path", "output_kms_key", "base_job_name", "sagemaker_session",
)  # fmt: skip
_FRAMEWORK: Final = (
    "entry_point",
    "source_dir",
    "hyperparameters",
    "container_log_level",
    "code_location",
    "image_uri",
)

# The order of the arguments that are given without a name.
POSITIONAL: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "Estimator": ("image_uri", *_BASE, "hyperparameters", "tags", "subnets", "security_group_ids"),
        "PyTorch": (
            "entry_point",
            "framework_version",
            "py_version",
            "source_dir",
            "hyperparameters",
            "image_uri",
            "distribution",
        ),
        "HuggingFace": (
            "py_version",
            "entry_point",
            "transformers_version",
            "tensorflow_version",
            "pytorch_version",
            "source_dir",
            "hyperparameters",
            "image_uri",
            "distribution",
            "compiler_config",
        ),
        "TensorFlow": ("py_version", "framework_version", "model_dir", "image_uri", "distribution"),
        "MXNet": (
            "entry_point",
            "framework_version",
            "py_version",
            "source_dir",
            "hyperparameters",
            "image_uri",
            "distribution",
        ),
        "Chainer": ("entry_point", "use_mpi", "num_processes", "process_slots_per_host", "additional_mpi_options"),
        "SKLearn": ("entry_point", "framework_version", "py_version", "source_dir", "hyperparameters", "image_uri"),
        "XGBoost": ("entry_point", "framework_version", "source_dir", "hyperparameters", "py_version", "image_uri"),
        "RLEstimator": (
            "entry_point",
            "toolkit",
            "toolkit_version",
            "framework",
            "source_dir",
            "hyperparameters",
            "image_uri",
        ),
        "AlgorithmEstimator": ("algorithm_arn", "role", "instance_count", "instance_type"),
    }
)
# Classes whose request can be said exactly; the others are seen and named.
WRITTEN: Final = frozenset(
    {"Estimator", "PyTorch", "HuggingFace", "TensorFlow", "MXNet", "SKLearn", "XGBoost", "AlgorithmEstimator"}
)

RENAMED: Final[Mapping[str, str]] = MappingProxyType(
    {
        "image_name": "image_uri",
        "distributions": "distribution",
        **{
            f"train_{name}": name
            for name in ("instance_count", "instance_type", "max_run", "use_spot_instances", "max_wait", "volume_size", "volume_kms_key")
        },
    }
)  # fmt: skip
FIT: Final = ("inputs", "wait", "logs", "job_name", "experiment_config")

# First-party algorithm classes and others that start jobs in a way of their own.
OTHER_JOBS: Final = frozenset({
    "KMeans", "PCA", "LinearLearner", "FactorizationMachines", "LDA", "NTM", "RandomCutForest", "KNN", "Object2Vec", "IPInsights",
    "RLEstimator", "Chainer",
})  # fmt: skip
SEEN: Final[Mapping[str, str]] = MappingProxyType(
    {
        **dict.fromkeys(("JumpStartEstimator", "JumpStartModel"), "JumpStart"),
        **dict.fromkeys(
            (
                "Pipeline",
                "TrainingStep",
                "ProcessingStep",
                "TuningStep",
                "ModelStep",
                "CreateModelStep",
                "TransformStep",
                "RegisterModel",
                "ConditionStep",
            ),
            "pipeline",
        ),
        **dict.fromkeys(
            (
                "Processor",
                "ScriptProcessor",
                "SKLearnProcessor",
                "FrameworkProcessor",
                "PySparkProcessor",
                "HuggingFaceProcessor",
                "PyTorchProcessor",
            ),
            "processing job",
        ),
        **dict.fromkeys(("HyperparameterTuner",), "tuning job"),
        **dict.fromkeys(
            (
                "HuggingFaceModel",
                "PyTorchModel",
                "TensorFlowModel",
                "Model",
                "MXNetModel",
                "SKLearnModel",
                "XGBoostModel",
                "PipelineModel",
                "MultiDataModel",
                "ModelPackage",
            ),
            "model",
        ),
        **dict.fromkeys(
            ("TrainingJobAnalytics", "HyperparameterTuningJobAnalytics", "ExperimentAnalytics"), "analytics"
        ),
        **dict.fromkeys(("Transformer",), "transform job"),
        **dict.fromkeys(("ModelTrainer", "ModelBuilder"), "SDK v3"),
        **dict.fromkeys(OTHER_JOBS, "algorithm class"),
    }
)
SIGHTED_METHODS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "deploy": "endpoint",
        "transformer": "transform job",
        "attach": "attached job",
        "register": "model",
        "create_model": "model",
    }
)
# Objects of the SDK that are arguments: how their own arguments go without names.
PARTS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "TrainingInput": (
            "s3_data",
            "distribution",
            "compression",
            "content_type",
            "record_wrapping",
            "s3_data_type",
            "instance_groups",
            "input_mode",
            "attribute_names",
            "target_attribute_name",
            "shuffle_config",
            "hub_access_config",
            "model_access_config",
        ),
        "s3_input": (
            "s3_data",
            "distribution",
            "compression",
            "content_type",
            "record_wrapping",
            "s3_data_type",
            "input_mode",
            "attribute_names",
            "target_attribute_name",
            "shuffle_config",
        ),
        "FileSystemInput": (
            "file_system_id",
            "file_system_type",
            "directory_path",
            "file_system_access_mode",
            "content_type",
        ),
        "ShuffleConfig": ("seed",),
        "InstanceGroup": ("instance_group_name", "instance_type", "instance_count"),
        "TrainingCompilerConfig": ("enabled", "debug"),
        "DebuggerHookConfig": (
            "s3_output_path",
            "container_local_output_path",
            "hook_parameters",
            "collection_configs",
        ),
        "CollectionConfig": ("name", "parameters"),
        "TensorBoardOutputConfig": ("s3_output_path", "container_local_output_path"),
        "ProfilerConfig": (
            "s3_output_path",
            "system_monitor_interval_millis",
            "framework_profile_params",
            "profile_params",
        ),
        "FrameworkProfile": (),
        "DetailedProfilingConfig": (),
        "DataloaderProfilingConfig": (),
        "PythonProfilingConfig": (),
        "HorovodProfilingConfig": (),
        "SMDataParallelProfilingConfig": (),
        "Profiler": (),
        "RetryStrategy": (),
        "ContinuousParameter": ("min_value", "max_value", "scaling_type"),
        "IntegerParameter": ("min_value", "max_value", "scaling_type"),
        "CategoricalParameter": ("values",),
    }
)
# How the methods that make a rule take what they are given without names.
RULES: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "Rule.sagemaker": ("base_config", "name", "container_local_output_path", "s3_output_path", "other_trials_s3_input_paths",
                           "rule_parameters", "collections_to_save", "actions"),
        "Rule.custom": ("name", "image_uri", "instance_type", "volume_size_in_gb", "source", "rule_to_invoke",
                        "container_local_output_path", "s3_output_path", "other_trials_s3_input_paths", "rule_parameters",
                        "collections_to_save", "actions"),
        "ProfilerRule.sagemaker": ("base_config", "name", "container_local_output_path", "s3_output_path", "instance_type",
                                   "volume_size_in_gb"),
        "ProfilerRule.custom": ("name", "image_uri", "instance_type", "volume_size_in_gb", "source", "rule_to_invoke",
                                "container_local_output_path", "s3_output_path", "rule_parameters"),
    }
)  # fmt: skip
# Objects that start an estimator: how what they are given goes without names.
FIRST: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType({"HyperparameterTuner": ("estimator",)})
PIPELINE_PARAMETERS: Final = frozenset({"ParameterString", "ParameterInteger", "ParameterFloat", "ParameterBoolean"})


def named(cls: str, given: list[object]) -> dict[str, object]:
    """Arguments without names under the names of their places."""
    return dict(zip(POSITIONAL.get(cls, ()), given, strict=False))


def renamed(arguments: dict[str, object]) -> tuple[dict[str, object], tuple[str, ...]]:
    """Arguments by SDK v2's names, and those that had names of version 1."""
    old = tuple(name for name in arguments if name in RENAMED)
    return {RENAMED.get(name, name): value for name, value in arguments.items()}, old

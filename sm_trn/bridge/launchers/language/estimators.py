"""Which names of the SDK start training jobs, and what others of its names are. What they take and send, the SDK itself says."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

ESTIMATORS: Final = frozenset({
    "Estimator", "PyTorch", "HuggingFace", "TensorFlow", "MXNet", "SKLearn", "XGBoost", "AlgorithmEstimator", "Chainer", "RLEstimator",
    "KMeans", "PCA", "LinearLearner", "FactorizationMachines", "LDA", "NTM", "RandomCutForest", "KNN", "Object2Vec", "IPInsights",
    "JumpStartEstimator",
})  # fmt: skip
_KINDS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "JumpStart": ("JumpStartModel",),
        "pipeline": (
            "Pipeline", "TrainingStep", "ProcessingStep", "TuningStep", "ModelStep", "CreateModelStep", "TransformStep", "RegisterModel",
            "ConditionStep",
        ),
        "processing job": (
            "Processor", "ScriptProcessor", "SKLearnProcessor", "FrameworkProcessor", "PySparkProcessor", "HuggingFaceProcessor",
            "PyTorchProcessor",
        ),
        "tuning job": ("HyperparameterTuner",),
        "model": (
            "HuggingFaceModel", "PyTorchModel", "TensorFlowModel", "Model", "MXNetModel", "SKLearnModel", "XGBoostModel", "PipelineModel",
            "MultiDataModel", "ModelPackage",
        ),
        "analytics": ("TrainingJobAnalytics", "HyperparameterTuningJobAnalytics", "ExperimentAnalytics"),
        "transform job": ("Transformer",),
        "queue of jobs": ("TrainingQueue",),
        "SDK v3": ("ModelTrainer", "ModelBuilder"),
    }
)  # fmt: skip
SEEN: Final[Mapping[str, str]] = MappingProxyType({name: kind for kind, names in _KINDS.items() for name in names})
SIGHTED_METHODS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "deploy": "endpoint", "transformer": "transform job", "attach": "attached job", "register": "model", "create_model": "model",
        "submit": "job in a queue", "map": "jobs in a queue",
    }
)  # fmt: skip
# The arguments of TrainingQueue.submit, in order, and what SubmitServiceJob calls those that are the queue's.
QUEUED: Final = (
    "training_job", "inputs", "job_name", "retry_config", "priority", "share_identifier", "timeout", "tags", "experiment_config",
)  # fmt: skip
QUEUE_MEMBERS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "retry_config": "retryStrategy", "priority": "schedulingPriority", "share_identifier": "shareIdentifier",
        "timeout": "timeoutConfig", "tags": "tags", "quota_share_name": "quotaShareName",
        "preemption_config": "preemptionConfiguration",
    }
)  # fmt: skip
# The arguments of TrainingStep and TuningStep, in order, as far as they say what is started, and on what.
STEPS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType({
    "TrainingStep": ("name", "step_args", "estimator", "display_name", "description", "inputs"),
    "TuningStep": ("name", "step_args", "tuner", "display_name", "description", "inputs"),
})  # fmt: skip
PIPELINE_PARAMETERS: Final = frozenset({"ParameterString", "ParameterInteger", "ParameterFloat", "ParameterBoolean"})

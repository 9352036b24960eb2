"""What other services of SageMaker have to do with a job: experiments, MLflow, the model registry, serverless customization."""

from __future__ import annotations

from dataclasses import dataclass

from .value import suggesting


@suggesting
@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """The experiment, trial and run that the job belongs to: ``ExperimentConfig``.

    >>> st.specs.Experiment(name="bert", run="run-1").trial is None
    True
    """

    name: str | None = None
    trial: str | None = None
    component: str | None = None
    run: str | None = None


@suggesting
@dataclass(frozen=True, slots=True, kw_only=True)
class Mlflow:
    """The managed MLflow that the job logs to: ``MlflowConfig``.

    >>> st.specs.Mlflow(resource_arn="arn:aws:sagemaker:us-east-1:123456789012:mlflow-tracking-server/a").run is None
    True
    """

    resource_arn: str
    experiment: str | None = None
    run: str | None = None


@suggesting
@dataclass(frozen=True, slots=True, kw_only=True)
class ModelPackage:
    """The group of the model registry that the model goes to, and the model package that it comes from: ``ModelPackageConfig``.

    >>> st.specs.ModelPackage(group_arn="arn:aws:sagemaker:us-east-1:123456789012:model-package-group/a").source_arn is None
    True
    """

    group_arn: str
    source_arn: str | None = None


@suggesting
@dataclass(frozen=True, slots=True, kw_only=True)
class Serverless:
    """A model of the hub that the service customizes, or evaluates, on machines of its own: ``ServerlessJobConfig``.

    Such a job is billed by tokens. Its Compute is ``Compute(SERVERLESS)``, its framework ``Container()`` without an image.

    >>> st.specs.Serverless(base_model_arn="arn:aws:sagemaker:us-east-1:aws:hub-content/a/Model/b/1.0.0", technique="SFT").job_type
    'FineTuning'
    """

    base_model_arn: str
    job_type: str = "FineTuning"
    accept_eula: bool = False
    technique: str | None = None
    peft: str | None = None
    evaluation_type: str | None = None
    evaluator_arn: str | None = None
    sequence_length: str | None = None

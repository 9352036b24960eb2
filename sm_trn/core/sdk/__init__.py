"""The only place that imports sagemaker."""

from .estimators import build, built, contained, estimator, load, sdk_session
from .trainers import model_trainer, trainer_session

__all__ = ["build", "built", "contained", "estimator", "load", "model_trainer", "sdk_session", "trainer_session"]

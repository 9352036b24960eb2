"""The only place that imports sagemaker."""

from .estimators import build, built, contained, estimator, load, sdk_session

__all__ = ["build", "built", "contained", "estimator", "load", "sdk_session"]

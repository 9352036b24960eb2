"""The only place that imports sagemaker."""

from .estimators import build, contained, estimator, load, sdk_session

__all__ = ["build", "contained", "estimator", "load", "sdk_session"]

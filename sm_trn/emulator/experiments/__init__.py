"""Experiments, their trials and the components of these, and SageMaker's operations on them."""

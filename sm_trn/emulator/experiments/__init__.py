"""This package keeps experiments, their trials and the components of these, and answers SageMaker's operations on them."""

"""Searches for hyperparameters: tuning jobs of SageMaker, and studies of Optuna whose trials are training jobs."""

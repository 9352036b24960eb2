"""This room holds hyperparameter tuning jobs: what is asked of them, what is tried next, and the training jobs that try it."""

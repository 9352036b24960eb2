"""This room holds training jobs: their operations, their life and their runs."""

"""Training jobs: their operations, life and runs."""

"""Logs and metrics of jobs and models."""

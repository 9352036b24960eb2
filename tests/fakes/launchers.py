"""Launchers that ask boto3 for one job, and notebooks of such code."""

from __future__ import annotations

import json

from sm_trn.core.specs.json import Json

REQUEST: dict[str, Json] = {
    "RoleArn": "arn:aws:iam::111122223333:role/mine", "OutputDataConfig": {"S3OutputPath": "s3://mine/out"},
    "AlgorithmSpecification": {"TrainingImage": "1.dkr.ecr.eu-west-1.amazonaws.com/own:1", "TrainingInputMode": "File"},
    "StoppingCondition": {"MaxRuntimeInSeconds": 60},
    "ResourceConfig": {"InstanceCount": 1, "InstanceType": "ml.m5.xlarge", "VolumeSizeInGB": 1},
}  # fmt: skip


def notebook(*sources: str) -> str:
    rows = [{"cell_type": "code", "source": [text], "metadata": {}, "outputs": []} for text in sources]
    return json.dumps({"cells": rows, "metadata": {}, "nbformat": 4, "nbformat_minor": 4})


ONE = f"import boto3\nboto3.client('sagemaker').create_training_job(TrainingJobName='one', **{REQUEST!r})"

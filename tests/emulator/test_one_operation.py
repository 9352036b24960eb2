"""An operation of the emulator costs one file and one line: shown on a copy of the package, used end to end by botocore."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_one_file_one_line import copy as copy_of_the_package
from test_one_file_one_line import insert, run

pytest.importorskip("moto")
copy = copy_of_the_package
# Of the service's operations, one that the emulator does not have.
OPERATION = '''
"""Names that begin with a hint."""
def suggest(training, body):
    hint = body["SuggestionQuery"]["PropertyNameQuery"]["PropertyNameHint"]
    names = [row["TrainingJobName"] for row in training.listed({"SortBy": "Name"})["TrainingJobSummaries"]]
    return {"PropertyNameSuggestions": [{"PropertyName": name} for name in names if name.startswith(hint)]}
'''
USE = """
import pathlib
import boto3
from botocore.config import Config
from botocore.exceptions import ClientError
from sm_trn import emulator
state = pathlib.Path("state").absolute()
here = emulator.up(state, options=emulator.Options(start_delay_s=0.0))
try:
    sagemaker = boto3.client(
        "sagemaker", endpoint_url=here.url, region_name=here.region, aws_access_key_id=here.access_key,
        aws_secret_access_key=here.secret_key, config=Config(parameter_validation=False, retries={"total_max_attempts": 1}))
    for name in ("haiku-1", "haiku-2", "other"):
        sagemaker.create_training_job(
            TrainingJobName=name, RoleArn=here.role_arn, OutputDataConfig={"S3OutputPath": f"s3://{here.bucket}/out"},
            AlgorithmSpecification={"TrainingImage": "i", "TrainingInputMode": "File", "ContainerEntrypoint": ["/bin/true"]},
            ResourceConfig={"InstanceType": "ml.m5.large", "InstanceCount": 1, "VolumeSizeInGB": 1},
            StoppingCondition={"MaxRuntimeInSeconds": 60})

    def suggested(resource="TrainingJob"):
        query = {"PropertyNameQuery": {"PropertyNameHint": "haiku"}}
        try:
            answer = sagemaker.get_search_suggestions(Resource=resource, SuggestionQuery=query)
        except ClientError as error:
            return error.response["Error"]["Code"]
        return [row["PropertyName"] for row in answer["PropertyNameSuggestions"]]

    found = [suggested(), suggested("Nonsense")]
    emulator.add_fault(emulator.Fault(kind="throttling", operation="GetSearchSuggestions"), state)
    print(json.dumps([*found, suggested(), suggested()]))
finally:
    emulator.down(state)
"""
REFUSED = """
import pathlib
from sm_trn import emulator
try:
    emulator.up(pathlib.Path("state").absolute())
except st.errors.EmulatorError as error:
    print(json.dumps([str(error)]))
"""


def registered(copy: Path, line: str) -> None:
    registry = copy / "sm_trn/emulator/operations.py"
    insert(registry, '        "DeleteTrainingJob": training.delete,', f'        "GetSearchSuggestions": {line},')
    insert(registry, "from .api import shapes", "from functools import partial\nfrom .training import suggestions")


def test_an_operation_is_answered_checked_and_met_by_faults(copy: Path) -> None:
    (copy / "sm_trn/emulator/training/suggestions.py").write_text(OPERATION)
    registered(copy, "partial(suggestions.suggest, training)")
    names = ["haiku-2", "haiku-1"]
    assert [names, "ValidationException", "ThrottlingException", names] == run(copy, USE)


@pytest.mark.parametrize(
    ("line", "why"), [("None", "got None"), ("suggestions.suggest", "missing a required argument: 'body'")]
)
def test_a_line_that_could_answer_nothing_is_refused_by_name_at_the_start(copy: Path, line: str, why: str) -> None:
    (copy / "sm_trn/emulator/training/suggestions.py").write_text(OPERATION)
    registered(copy, line)
    (said,) = run(copy, REFUSED)
    assert "operations: GetSearchSuggestions" in str(said)
    assert why in str(said)

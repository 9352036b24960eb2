"""moto's own tests of SageMaker, in server mode, against our dispatcher: what we pass on to it has to pass; what we own may differ
where moto is not like the service, and every such test is named here with the reason.

Some minutes long, so only with SM_TRN_MOTO_SUITE: a folder that holds moto's ``tests``, or ``download`` to take them from the
source archive of the moto that is installed.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
from importlib import metadata
from pathlib import Path
from typing import Final
from xml.etree import ElementTree

import pytest

SUITE: Final = os.environ.get("SM_TRN_MOTO_SUITE", "")
FILES: Final = (
    *(f"test_sagemaker/test_sagemaker_{name}.py" for name in (
        "endpoint", "experiment", "hyper_parameter_tuning_job",
        "integration", "model_package_groups", "model_packages", "models", "processing", "search", "training",
        "transform", "trial", "trial_component")),
    "test_sagemakerruntime/test_sagemakerruntime.py",
)  # fmt: skip
# Why we differ -> how the failure reads, and the tests that fail for it. All other tests of FILES have to pass.
DIFFERENT: Final[dict[str, tuple[str, dict[str, str]]]] = {
    "a model's archive has to exist: the service answers 'Could not find model data at …'": (
        "Could not find model data at",
        {
            "endpoint": """create_endpoint_config delete_endpoint_config create_endpoint_invalid_instance_type
                create_endpoint_invalid_memory_size create_endpoint delete_endpoint add_tags_endpoint delete_tags_endpoint
                list_tags_endpoint list_endpoints list_endpoints_filters list_endpoint_configs list_endpoint_configs_filters
                update_endpoint_weights_and_capacities_one_variant update_endpoint_weights_and_capacities_two_variants
                update_endpoint_weights_and_capacities_should_throw_clienterror_no_variant
                update_endpoint_weights_and_capacities_should_throw_clienterror_no_endpoint
                update_endpoint_weights_and_capacities_should_throw_clienterror_nonunique_variant"""
        },
    ),
    "what cannot be hosted here is refused before its model is looked for": (
        "the emulator hosts (instances|real-time variants) only|one model in a container|models of one container",
        {
            "endpoint": "create_endpoint_config_serverless create_endpoint_config_async",
            "integration": "tag_and_untag_resources_sagemaker",
            "runtime": "invoke_endpoint__default_results",
        },
    ),
    "a role's ARN has a pattern in the service model, and moto's is no role": (
        "RoleArn' failed to satisfy constraint: Member must satisfy regular|'roleArn' failed",
        {
            "models": """describe_model create_model delete_model list_models list_models_multiple add_tags_to_model
                delete_tags_from_model""",
            "training": """list_training_jobs list_training_jobs_multiple list_training_jobs_with_name_filters
                list_training_jobs_paginated list_training_jobs_paginated_with_target_in_middle
                list_training_jobs_paginated_with_fragmented_targets add_tags_to_training_job
                delete_tags_from_training_job""",
            "processing": """list_processing_jobs_multiple list_processing_jobs_with_name_filters
                list_processing_jobs_paginated list_processing_jobs_paginated_with_target_in_middle
                list_processing_jobs_paginated_with_fragmented_targets""",
        },
    ),
    "names and S3 URIs have patterns in the service model": (
        "'(modelName|transformInput.dataSource.s3DataSource.s3Uri|trainingJobDefinition.*)' failed to satisfy constraint",
        {
            "hyper_parameter_tuning_job": "describe_hyper_parameter_tuning_job",
            "transform": """create_transform_job list_transform_jobs list_transform_jobs_multiple
                list_transform_jobs_with_name_filters list_transform_jobs_paginated
                list_transform_jobs_paginated_with_target_in_middle list_transform_jobs_paginated_with_fragmented_targets
                add_tags_to_transform_job delete_tags_from_transform_job""",
        },
    ),
    "training data has to exist: the service answers 'No S3 objects found under S3 URL …'": (
        "No S3 objects found under S3 URL",
        {
            "training": "create_training_job",
            "processing": """create_processing_job list_processing_jobs stop_processing_job
                add_and_delete_tags_in_training_job""",
        },
    ),
    "a search without anything to train is none": (
        "give exactly one of TrainingJobDefinition and TrainingJobDefinitions",
        {
            "hyper_parameter_tuning_job": """create_hyper_parameter_tuning_job describe_hyper_parameter_tuning_job_defaults
                list_hyper_parameter_tuning_jobs list_hyper_parameter_tuning_jobs_filters
                delete_hyper_parameter_tuning_job tag_hyper_parameter_tuning_job"""
        },
    ),
    "the service says '1 validation error', names every member of the set, and quotes none": (
        "1 validation errors detected",
        {
            "training": "list_training_jobs_should_validate_input",
            "transform": "list_transform_jobs_should_validate_input",
            "processing": "list_processing_jobs_should_validate_input",
        },
    ),
    "the service's sentence for a job that is not there is another": (
        "Requested resource not found|Could not find transform job",
        {"training": "describe_unknown_training_job", "transform": "describe_unknown_transform_job"},
    ),
    "the service takes 50 tags": (
        r"calling the AddTags operation: 1 validation error detected",
        {
            "model_package_groups": "list_tags_model_package_group delete_tags_model_package_group",
            "trial": "list_trial_tags",
            "trial_component": "list_trial_component_tags",
        },
    ),
    "the test writes out moto's account number; ours is 000000000000": (
        "123456789012",
        {
            "model_package_groups": "create_model_package_group",
            "model_packages": "create_model_package create_model_package_in_model_package_group",
            "trial_component": "update_trial_component_should_return_an_error_if_trial_component_not_found",
        },
    ),
    "the test sets its answer by /moto-api, at a fixed port; that path is closed": (
        "/moto-api/",
        {
            "runtime": """invoke_endpoint invoke_endpoint_async
                invoke_endpoint_async_should_read_sync_queue_if_async_not_configured"""
        },
    ),
}


def named() -> dict[str, tuple[str, str]]:
    """Test -> (reason, how its failure reads)."""
    return {
        f"test_sagemaker{'runtime' if part == 'runtime' else '_' + part}::test_{name}": (reason, pattern)
        for reason, (pattern, parts) in DIFFERENT.items()
        for part, names in parts.items()
        for name in names.split()
    }


def downloaded(folder: Path) -> Path:
    """moto's tests from its source archive, and the one library that they need beside ours."""
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    version = metadata.version("moto")
    for command in (
        [
            "download",
            "--no-deps",
            "--no-binary",
            ":all:",
            "--no-build-isolation",
            "--dest",
            str(folder),
            f"moto=={version}",
        ],
        ["install", "--no-deps", "--target", str(folder / "more"), "freezegun"],
    ):
        done = subprocess.run([*pip, *command], check=False, capture_output=True, text=True)
        if done.returncode:
            pytest.skip(f"moto's source archive cannot be had: {done.stderr.strip()[-200:]}")
    with tarfile.open(next(folder.glob("moto-*.tar.gz"))) as tar:
        for member in tar:
            inside = member.name.partition("/")[2]
            if inside.startswith("tests/") and member.isreg() and ".." not in inside.split("/"):
                content = tar.extractfile(member)
                (folder / inside).parent.mkdir(parents=True, exist_ok=True)
                (folder / inside).write_bytes(content.read() if content else b"")
    return folder


@pytest.mark.skipif(not SUITE, reason="set SM_TRN_MOTO_SUITE to moto's source folder, or to 'download'")
@pytest.mark.timeout(1800)
def test_motos_own_suite_fails_only_where_moto_is_not_like_the_service(tmp_path: Path) -> None:
    root = downloaded(tmp_path) if SUITE == "download" else Path(SUITE)
    paths = [str(root), str(root / "more"), str(Path(__file__).parent), *(path for path in sys.path if path)]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "moto_against_us", "-c", os.devnull, "--rootdir", str(root), "-q", "-n", "2",
         f"--junitxml={tmp_path}/result.xml", *(str(root / "tests" / name) for name in FILES)],
        check=False, capture_output=True, text=True, cwd=root, env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
    )  # fmt: skip
    assert (tmp_path / "result.xml").exists(), done.stdout[-3000:] + done.stderr[-3000:]
    failed, number = {}, 0
    for case in ElementTree.parse(tmp_path / "result.xml").iter("testcase"):  # noqa: S314 - pytest's own report
        number += 1
        for trouble in (*case.iter("failure"), *case.iter("error")):
            failed[f"{case.get('classname', '').rpartition('.')[2]}::{case.get('name')}"] = (
                f"{trouble.get('message')} {trouble.text}"
            )
    expected = named()
    print(f"{number} tests of moto, {number - len(failed)} as there, {len(failed)} different")
    assert number >= 100, done.stdout[-3000:]
    assert {} == {name: text[:500] for name, text in failed.items() if name not in expected}
    assert [] == sorted(set(expected) - set(failed))
    assert [] == [name for name, text in failed.items() if not re.search(expected[name][1], text)]


def test_every_difference_is_named_once() -> None:
    listed = [name for _, parts in DIFFERENT.values() for names in parts.values() for name in names.split()]
    assert len(named()) == len(listed)

"""Job files on the command line: what is checked, shown, compared and launched, and how it is said."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from command import sm_trn

import sm_trn as st
from sm_trn.cli.files import fixes
from sm_trn.core.render import TARGETS, destination_of
from sm_trn.core.render.differences import differences
from sm_trn.core.specs import Advice, Change, Named

WRONG = """\
name = "bert-trn1"

[compute]
instance = "ml.trn1.32xlarge"
volume_gb = 512

[framework]
kind = "neuronx"
pytorch = "2.9.0"

[distribution]
kind = "smdistributed.dataparallel"

[script]
entry = "train.py"
source_dir = "src"

[spot]
max_wait_s = 72_000
"""
SCRIPT = (
    "import argparse\np = argparse.ArgumentParser()\np.add_argument('--shuffle', type=bool)\np.parse_known_args()\n"
)
RIGHT = """\
job:
  - &first
    name: first
    script: {entry: train.py, source_dir: src}
    framework: {kind: pytorch, version: 2.13.0, python: py312}
    compute: {instance: ml.c5.xlarge}
    inputs: {train: data}
    hyperparameters: {rate: 5e-5, flag: true}
    environment: {WHO: me}
    tags: {team: blue}
    max_run_s: 600
  - <<: *first
    name: second
    hyperparameters: {rate: 6e-5, flag: true}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "wrong.toml").write_text(WRONG)
    (tmp_path / "right.yaml").write_text(RIGHT)
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "train.py").write_text(SCRIPT)
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "x.txt").write_text("x\n")
    return tmp_path


def test_check_shows_each_problem_with_its_line_and_what_to_type(folder: Path) -> None:
    done = sm_trn("check", "wrong.toml", cwd=folder)
    assert (1, "") == (done.returncode, done.stderr)
    blocks = done.stdout.split("\n\n")
    assert """\
error[SPOT001]: max_wait_s is shorter than max_run_s
  --> wrong.toml:19
   |
19 | max_wait_s = 72_000
   |              ^^^^^^ got 72,000 s, wanted at least 86,400 s
   = fix: max_wait_s = 90000""" == blocks[1]
    assert """\
error[DIST003]: 'smdistributed.dataparallel' needs CUDA instances
  --> wrong.toml:12
   |
12 | kind = "smdistributed.dataparallel"
   |        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^
   = got 'ml.trn1.32xlarge' (NEURON), wanted ml.p4d.24xlarge or ml.p4de.24xlarge
   = fix: distribution = { kind = "torch_distributed" }""" == blocks[0]
    assert "✗ 2 errors  ▲ 1 warning  • 4 notes in wrong.toml. Not launchable.\nChecked in " in blocks[-1]
    assert all(len(line) <= 80 for line in done.stdout.splitlines())


def test_a_problem_of_the_script_is_shown_in_the_script(folder: Path) -> None:
    done = sm_trn("check", str(folder / "wrong.toml"))
    assert f"--> {folder / 'src' / 'train.py'}:3\n" in done.stdout
    assert " 3 | p.add_argument('--shuffle', type=bool)" in done.stdout


def test_short_is_a_line_each_errors_first_then_by_line(folder: Path) -> None:
    lines = sm_trn("check", "wrong.toml", "--format", "short", cwd=folder).stdout.splitlines()
    shown = [match.groups() for line in lines if (match := re.match(r"(\S+): (\w+)\[(\w+)\] \S", line))]
    assert [
        ("wrong.toml:12", "error", "DIST003"),
        ("wrong.toml:19", "error", "SPOT001"),
        ("wrong.toml:18", "warning", "SPOT004"),
        ("src/train.py:3", "note", "SCRIPT006"),
        ("wrong.toml:3", "note", "DIST012"),
        ("wrong.toml:5", "note", "LIMIT012"),
        ("wrong.toml:7", "note", "IMG009"),
    ] == shown


def test_github_gets_annotations(folder: Path) -> None:
    lines = sm_trn("check", "wrong.toml", "--format", "github", cwd=folder).stdout.splitlines()
    assert (
        "::error file=wrong.toml,line=19,title=SPOT001::max_wait_s is shorter than max_run_s; got 72,000 s; wanted"
        in lines[1]
    )
    assert ["error", "error", "warning", "notice", "notice", "notice", "notice"] == [
        line[2:].split(" ")[0] for line in lines
    ]


def test_json_has_every_problem_with_line_and_column(folder: Path) -> None:
    done = sm_trn("check", "wrong.toml", "right.yaml", "--json", cwd=folder)
    wrong, first, second = json.loads(done.stdout)
    assert (False, True, True) == (wrong["launchable"], first["launchable"], second["launchable"])
    assert ("right.yaml#first", "first") == (first["file"], first["job"])
    spot = next(problem for problem in wrong["problems"] if problem["id"] == "SPOT001")
    assert (19, 14, "spot.max_wait_s", "max_wait_s = 90000") == (
        spot["line"],
        spot["column"],
        spot["where"],
        spot["fix"],
    )
    assert "593.40" == wrong["most_usd"]


def test_what_is_fine_gets_its_ceiling(folder: Path) -> None:
    (folder / "src" / "train.py").write_text("import os\nprint(os.environ['SM_HPS'])\n")
    done = sm_trn("check", "right.yaml", cwd=folder)
    assert 0 == done.returncode, done.stderr
    assert "✓ right.yaml#first  no problems, at most $0.03 (0.167 h × 1 × $0.20/h, " in done.stdout
    one = sm_trn("check", "right.yaml#second", cwd=folder)
    assert (True, False) == ("#second" in one.stdout, "#first" in one.stdout)


def test_an_ignored_rule_is_left_out(folder: Path) -> None:
    done = sm_trn("check", "wrong.toml", "--ignore", "SPOT001", "--ignore", "DIST003", cwd=folder)
    assert (0, False) == (done.returncode, "SPOT001]" in done.stdout)


def test_a_price_that_is_not_known_is_not_guessed(folder: Path) -> None:
    (folder / "a.toml").write_text(WRONG.replace("ml.trn1.32xlarge", "ml.trn2.48xlarge"))
    assert json.loads(sm_trn("check", "a.toml", "--json", cwd=folder).stdout)[0]["most_usd"] is None


@pytest.mark.parametrize("command", ["check", "render", "launch"])
def test_an_unknown_key_is_refused_by_every_command(folder: Path, command: str) -> None:
    (folder / "bad.toml").write_text(WRONG.replace("[distribution]", "[distrbution]"))
    done = sm_trn(command, "bad.toml", cwd=folder)
    assert (2, "") == (done.returncode, done.stdout)
    assert done.stderr.startswith(
        'error: unknown key "distrbution" in bad.toml\n  --> bad.toml:11\n   |\n11 | [distrbution]\n'
        '   | ^^^^^^^^^^^^^\n   = did you mean "distribution"?'
    )
    assert "Traceback" not in done.stderr


def test_the_other_files_are_checked_beside_a_bad_one(folder: Path) -> None:
    (folder / "bad.toml").write_text("nam = 1\n")
    done = sm_trn("check", "bad.toml", "wrong.toml", "--json", cwd=folder)
    bad, wrong = json.loads(done.stdout)
    assert (2, "nam", 1, "wrong.toml") == (
        done.returncode,
        bad["faults"][-1]["field"],
        bad["faults"][-1]["line"],
        wrong["file"],
    )


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("check",), "no FILE"),
        (("check", "wrng.toml"), "did you mean 'wrong.toml'?"),
        (("check", "src/train.py"), "ends in .toml"),
        (("check", "right.yaml#frist"), "did you mean 'first'?"),
        (("diff", "right.yaml", "wrong.toml"), "right.yaml#first"),
        (("render", "wrong.toml", "--to", "reqest"), "did you mean 'request'?"),
        (("check", "--explain", "SPT001"), "did you mean 'SPOT001'?"),
        (("check", "binary.toml"), "UTF-8"),
    ],
)
def test_a_wrong_name_is_a_usage_error_with_the_right_one(folder: Path, arguments: tuple[str, ...], words: str) -> None:
    (folder / "binary.toml").write_bytes(b"\xff\xfe")
    done = sm_trn(*arguments, cwd=folder)
    assert (2, "") == (done.returncode, done.stdout)
    assert words in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr


def test_explain_without_a_rule_lists_what_is_not_looked_at() -> None:
    said = sm_trn("check", "--explain").stdout
    assert "check does not look at" in said
    assert "sm-trn check --run" in said


def test_explain_says_what_a_file_leaves_to_be_inferred(folder: Path) -> None:
    (folder / "three.toml").write_text(
        'script = {entry = "src/my_train.py"}\nframework = {kind = "huggingface", transformers = "4.56"}\n'
        'compute = {instance = "ml.g5.xlarge"}\n'
    )
    for arguments in (("--explain", "three.toml"), ("three.toml", "--explain")):
        lines = sm_trn("check", *arguments, cwd=folder).stdout.splitlines()
        assert ["name = 'my-train'", "framework.pytorch = '2.8.0'", "framework.python = 'py312'", "image huggingface-pytorch-training"] == [
            line.removeprefix("three.toml: ").split(",")[0].split(":")[0] for line in lines
        ]  # fmt: skip


def test_explain_and_rules_need_no_file() -> None:
    assert "API reference, StoppingCondition" in sm_trn("check", "--explain", "SPOT001").stdout
    assert sm_trn("check", "--rules").stdout.startswith("# Preflight rules\n")


def test_render_shows_the_request_and_says_when_it_is_not_launchable(folder: Path) -> None:
    done = sm_trn(
        "render",
        "wrong.toml",
        "--role",
        "arn:aws:iam::123456789012:role/r",
        "--bucket",
        "a-bucket",
        "--region",
        "us-east-1",
        cwd=folder,
    )
    sent = json.loads(done.stdout)
    assert ("arn:aws:iam::123456789012:role/r", "s3://a-bucket/", 72_000) == (
        sent["RoleArn"],
        sent["OutputDataConfig"]["S3OutputPath"],
        sent["StoppingCondition"]["MaxWaitTimeInSeconds"],
    )
    assert ".ecr.us-east-1." in sent["AlgorithmSpecification"]["TrainingImage"]
    assert (0, "2 errors, not launchable: sm-trn check wrong.toml\n") == (done.returncode, done.stderr)


def test_render_shows_the_estimator_with_the_source_as_seen_from_here(folder: Path) -> None:
    call = sm_trn("render", str(folder / "right.yaml#first"), "--to", "estimator-v2").stdout
    assert "from sagemaker.pytorch import PyTorch" in call
    assert f"source_dir={str(folder / 'src')!r}" in call


@pytest.mark.parametrize("target", TARGETS)
def test_every_target_has_json(folder: Path, target: str) -> None:
    assert 2 == len(json.loads(sm_trn("render", "right.yaml", "--to", target, "--json", cwd=folder).stdout))


def test_diff_shows_the_fields_that_differ(folder: Path) -> None:
    done = sm_trn("diff", "right.yaml#first", "right.yaml#second", cwd=folder)
    assert 1 == done.returncode
    assert (
        """\
--- right.yaml#first
+++ right.yaml#second
TrainingJobName
- "first"
+ "second"
HyperParameters.rate
- 5e-05
+ 6e-05
2 fields differ.
"""
        == done.stdout
    )
    same = sm_trn("diff", "right.yaml#first", "right.yaml#first", cwd=folder)
    assert (0, "No difference between right.yaml#first and right.yaml#first.\n") == (same.returncode, same.stdout)


def test_two_sources_differ_although_neither_is_uploaded(folder: Path) -> None:
    (folder / "git.yaml").write_text(
        RIGHT.replace("source_dir: src}", "source_dir: src, git: {repo: 'https://x/y', branch: b}}")
    )
    (only,) = json.loads(sm_trn("diff", "right.yaml#first", "git.yaml#first", "--json", cwd=folder).stdout)[
        "differences"
    ]
    assert ("HyperParameters.sagemaker_submit_directory", "src", "https://x/y@b:src") == (
        only["field"],
        only["before"],
        only["after"],
    )


def test_launch_refuses_all_jobs_when_one_is_wrong(folder: Path) -> None:
    done = sm_trn(
        "launch", "right.yaml", "wrong.toml", "--backend", "emulator", "--state", str(folder / "state"), cwd=folder
    )
    assert (1, "", False) == (done.returncode, done.stdout, (folder / "state").exists())
    assert "wrong.toml:19: error[SPOT001]" in done.stderr
    assert "Nothing was started, nothing is billed." in done.stderr


def test_a_dry_run_prints_the_requests_and_connects_to_nothing(folder: Path) -> None:
    done = sm_trn(
        "launch", "right.yaml", "--dry-run", "--backend", "emulator", "--state", str(folder / "state"), cwd=folder
    )
    assert ["first", "second"] == [sent["TrainingJobName"] for sent in json.loads(done.stdout)]
    assert (0, False) == (done.returncode, (folder / "state").exists())
    assert "right.yaml#first: at most $0.03" in done.stderr


def test_a_grid_is_a_job_for_each_combination(folder: Path) -> None:
    done = sm_trn(
        "launch", "right.yaml#first", "--grid", "rate=1e-5,3e-5", "--grid", "seed=1,2", "--dry-run", cwd=folder
    )
    assert 0 == done.returncode, done.stderr
    assert {
        "first-rate1e-5-seed1": ("1e-05", "1"),
        "first-rate1e-5-seed2": ("1e-05", "2"),
        "first-rate3e-5-seed1": ("3e-05", "1"),
        "first-rate3e-5-seed2": ("3e-05", "2"),
    } == {
        sent["TrainingJobName"]: (sent["HyperParameters"]["rate"], sent["HyperParameters"]["seed"])
        for sent in json.loads(done.stdout)
    }
    assert "right.yaml#first-rate3e-5-seed2: at most $0.03" in done.stderr


@pytest.mark.parametrize(
    ("grids", "words"),
    [
        (("--grid", "rate"), "--grid: got 'rate', wanted NAME=VALUE,VALUE"),
        (("--grid", "rate=1,1"), "--grid: rate: got 1 twice"),
        (("--grid", "rate=1", "--grid", "rate=2"), "--grid: got rate twice"),
        (("--grid", "rates=1,2"), "did you mean 'rate'"),
        (
            ("--grid", f"seed={','.join(map(str, range(11)))}"),
            "--grid makes 11 jobs, wanted a yes for more than 10; add --yes",
        ),
        (("--grid", f"seed={','.join(map(str, range(1001)))}"), "got 1,001 jobs"),
    ],
)
def test_a_grid_that_is_none_or_is_large_starts_nothing(folder: Path, grids: tuple[str, ...], words: str) -> None:
    done = sm_trn(
        "launch", "right.yaml#first", *grids, "--backend", "emulator", "--state", str(folder / "state"), cwd=folder
    )
    assert done.returncode in {1, 2}
    assert words in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr
    assert not (folder / "state").exists()


@pytest.mark.local
def test_a_grid_runs_and_says_how_to_compare_it(emulator: Any, folder: Path) -> None:
    (folder / "src" / "train.py").write_text("print('hello')\n")
    where = ("--backend", "emulator", "--state", str(emulator.state))
    done = sm_trn("launch", "right.yaml#first", "--grid", "rate=1e-5,3e-5", *where, cwd=folder)
    names = done.stdout.splitlines()
    assert (0, 2) == (done.returncode, len(names)), done.stderr
    assert names[1].startswith("first-rate3e-5-")
    assert "sm-trn compare --sweep first --output report/" in done.stderr
    assert 1 == done.stderr.count(names[0])  # said before it is created
    compared = sm_trn("watch", "--sweep", "first", *where)
    assert 0 == compared.returncode, compared.stderr
    assert 0 == sm_trn("stop", *names, "--wait", *where).returncode


@pytest.mark.local
def test_a_job_from_its_file_to_its_end_and_back_to_the_file(emulator: Any, folder: Path) -> None:
    where = ("--backend", "emulator", "--state", str(emulator.state))
    (folder / "src" / "train.py").write_text("print('hello')\n")
    file = str(folder / "right.yaml")
    launched = sm_trn("launch", f"{file}#first", "--wait", *where)
    assert 0 == launched.returncode, launched.stderr
    assert "EMULATED: no cost." in launched.stderr
    name = launched.stdout.splitlines()[0]
    assert "completed" in launched.stdout
    same = sm_trn("diff", f"{file}#first", name, *where)
    assert (0, True) == (same.returncode, same.stdout.startswith("No difference")), same.stdout
    other = json.loads(sm_trn("diff", name, f"{file}#second", "--json", *where).stdout)["differences"]
    assert [("HyperParameters.rate", 5e-5, 6e-5)] == [tuple(item.values()) for item in other]
    (folder / "src" / "train.py").write_text("raise SystemExit(3)\n")
    failed = sm_trn("launch", file, "--wait", "--json", *where)
    assert (1, ["Failed", "Failed"]) == (failed.returncode, [item["status"] for item in json.loads(failed.stdout)])
    (folder / "src" / "train.py").write_text("import time\ntime.sleep(60)\n")
    answers = [json.loads(sm_trn("launch", f"{file}#second", "--json", *where).stdout)[0] for _ in range(2)]
    assert [("second", True, None)] * 2 == [(each["spec"], each["emulated"], each["most_usd"]) for each in answers]
    newest = sm_trn("list", "second", *where)
    assert f"3 jobs were launched as second; the newest is {answers[1]['name']}" in newest.stderr
    refused = sm_trn("stop", "second", *where)
    assert (2, True) == (refused.returncode, "wanted one of the jobs that run" in refused.stderr)
    assert 0 == sm_trn("stop", answers[1]["name"], "--wait", *where).returncode
    assert (
        answers[0]["name"] in sm_trn("stop", "second", "--wait", *where).stdout
    )  # the only one that runs, not the newest


ANSWER: dict[str, Any] = {
    "TrainingJobName": "j-1",
    "TrainingJobArn": "arn:aws:sagemaker:eu-west-1:123456789012:training-job/j-1",
    "TrainingJobStatus": "Completed",
    "RoleArn": "arn:aws:iam::123456789012:role/r",
    "OutputDataConfig": {"S3OutputPath": "s3://b/", "KmsKeyId": "", "CompressionType": "GZIP"},
    "HyperParameters": {
        "a": '"x"',
        "sagemaker_submit_directory": '"s3://b/code.tar.gz"',
        "sagemaker_job_name": '"j-1"',
    },
    "EnableManagedSpotTraining": False,
    "MetricDefinitions": [],
}


def test_the_services_own_defaults_are_no_difference() -> None:
    sent = {key: ANSWER[key] for key in ("RoleArn", "HyperParameters")} | {
        "OutputDataConfig": {"S3OutputPath": "s3://b/"}
    }
    assert [] == differences(sent, ANSWER, names_matter=False)
    (found,) = differences({**sent, "EnableManagedSpotTraining": True}, ANSWER, names_matter=False)
    assert ("EnableManagedSpotTraining", True, False) == (found.field, found.before, found.after)


def test_a_number_is_not_a_boolean() -> None:
    one, two = ({"HyperParameters": {"a": text}} for text in ("1", "true"))
    assert ["HyperParameters.a"] == [item.field for item in differences(one, two, names_matter=True)]


def test_entries_that_only_moved_have_not_changed() -> None:
    rules = [{"Name": "a", "Regex": "x"}, {"Name": "b", "Regex": "y"}]
    one, two = ({"AlgorithmSpecification": {"MetricDefinitions": listed}} for listed in (rules, rules[::-1]))
    assert [] == differences(one, two, names_matter=True)


def test_a_spec_is_compared_as_if_it_had_gone_where_the_job_went() -> None:
    at = destination_of(ANSWER)
    assert ("eu-west-1", "b", "j-1", "s3://b/code.tar.gz") == (at.region, at.bucket, at.job_name, at.source_uri)


@pytest.mark.parametrize(
    ("fix", "form", "line"),
    [
        (Change(max_wait_s=90_000), "toml", "max_wait_s = 90000"),
        (Change(max_wait_s=90_000), "yaml", "max_wait_s: 90000"),
        (Change(distribution=st.TorchDistributed()), "json", '"distribution": {"kind": "torch_distributed"}'),
        (Change(distribution=Named("SMDataParallel")), "toml", 'distribution = { kind = "smdistributed.dataparallel" }'),
        (Change(framework=st.specs.HuggingFaceNeuronX("4.55.4", pytorch="2.8.0")), "toml",
         'framework = { kind = "huggingface-neuronx", transformers = "4.55.4", pytorch = "2.8.0" }'),
        (Change(compute=st.Compute("ml.trn1.32xlarge")), "toml", 'compute = { instance = "ml.trn1.32xlarge" }'),
        (Change(compiler=None), "toml", "leave compiler out"),
        (Change(compiler=st.TrainingCompiler()), "yaml", "compiler: {}"),
        (Change("or leave it out", count=1), "toml", "count = 1, or leave it out"),
        (Advice("compute=Compute('ml.p4d.24xlarge', …)"), "toml", "compute=Compute('ml.p4d.24xlarge', …)"),
        ("a text of a strategy of one's own", "toml", "a text of a strategy of one's own"),
    ],
)  # fmt: skip
def test_a_fix_is_written_as_the_file_wants_it(fix: str, form: str, line: str) -> None:
    assert line == fixes.in_file(fix, form)


def test_the_fix_of_a_checked_file_really_is_one(folder: Path) -> None:
    fixed = WRONG.replace("72_000", "90000").replace('[distribution]\nkind = "smdistributed.dataparallel"', "")
    (folder / "fixed.toml").write_text('distribution = { kind = "torch_distributed" }\n' + fixed)
    assert 0 == sm_trn("check", "fixed.toml", cwd=folder).returncode
    assert st.TorchDistributed.name in (folder / "fixed.toml").read_text()

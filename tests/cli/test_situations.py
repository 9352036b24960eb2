"""Where a person ends up now and then: each message says what happened, and what to type next."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from command import sm_trn
from fakes.canned_aws import LOGIN, answering
from fork_server import SHELL, python_with
from report_jobs import describe

from sm_trn.cli.__main__ import _mend, cli
from sm_trn.cli.jobs.listing import job_table
from sm_trn.core.formatting.text import NAMES, WIDE, Screen, table_lines
from sm_trn.core.specs import parse_snapshot

GOOD = """
name = "bert"
max_run_s = 3600
[script]
entry = "train_text_classification.py"
[framework]
kind = "neuronx"
pytorch = "2.9.0"
[compute]
instance = "ml.trn1.32xlarge"
[distribution]
kind = "torch_distributed"
"""


@pytest.fixture
def job(tmp_path: Path) -> str:
    (tmp_path / "job.toml").write_text(GOOD)
    return str(tmp_path / "job.toml")


def test_without_arguments_the_help_says_where_to_start() -> None:
    done = sm_trn()
    assert (0, "") == (done.returncode, done.stderr)
    assert "Start here: sm-trn quickstart" in " ".join(done.stdout.split())


@pytest.mark.parametrize("command", [["list"], ["watch"]], ids=" ".join)
def test_a_profile_that_is_not_there_is_answered_with_those_that_are(command: list[str], tmp_path: Path) -> None:
    (tmp_path / "config").write_text("[profile training]\nregion = us-west-2\n")
    aws = {"AWS_CONFIG_FILE": str(tmp_path / "config"), "AWS_SHARED_CREDENTIALS_FILE": str(tmp_path / "none")}
    done = sm_trn(*command, "--profile", "trainng", environment=aws)
    assert (2, "") == (done.returncode, done.stdout)
    assert "profile: got 'trainng'" in done.stderr
    assert "training (did you mean 'training'?)" in done.stderr


def test_a_configuration_of_aws_that_cannot_be_read_is_no_fault_of_ours(tmp_path: Path) -> None:
    (tmp_path / "config").write_text("[profile\nregion")
    done = sm_trn("list", environment={"AWS_CONFIG_FILE": str(tmp_path / "config")})
    assert 2 == done.returncode
    assert "Unable to parse config file" in done.stderr
    assert "fault" not in done.stderr


@pytest.mark.parametrize(("typed", "meant"), [("lunch", "launch"), ("chek", "check"), ("wathc", "watch")])
def test_a_typo_is_answered_with_the_command_that_was_meant(typed: str, meant: str) -> None:
    done = sm_trn(typed, "job.toml")
    assert (2, "") == (done.returncode, done.stdout)
    assert f"did you mean '{meant}'?" in done.stderr
    assert "sm-trn --help" in done.stderr


@pytest.mark.parametrize(
    ("command", "next_"),
    [
        ("resubmit", "sm-trn list"),
        ("launch", "job file is TOML"),
    ],
)
def test_a_missing_name_is_answered_with_where_names_are(command: str, next_: str) -> None:
    done = sm_trn(command)
    assert 2 == done.returncode
    assert next_ in done.stderr


def test_without_credentials_a_login_or_the_rehearsal_is_offered(tmp_path: Path) -> None:
    done = sm_trn("list", environment={"SM_TRN_BACKEND": "aws", "HOME": str(tmp_path)})
    assert (2, "") == (done.returncode, done.stdout)
    assert "aws sso login" in done.stderr
    assert "SM_TRN_BACKEND=emulator" in done.stderr


def test_without_a_region_it_says_how_to_give_one(tmp_path: Path) -> None:
    environment = {key: value for key, value in LOGIN.items() if key != "AWS_DEFAULT_REGION"}
    done = sm_trn("list", environment={**environment, "HOME": str(tmp_path)})
    assert 2 == done.returncode
    assert "AWS_DEFAULT_REGION" in done.stderr


def test_an_expired_token_says_how_to_log_in_and_that_jobs_go_on() -> None:
    with answering("ExpiredTokenException", "The security token included in the request is expired") as environment:
        done = sm_trn("list", environment=environment)
    assert (1, "") == (done.returncode, done.stdout)
    assert "aws sso login" in done.stderr
    assert "the job itself is not affected" in done.stderr


def test_a_region_without_the_instance_says_so_and_that_nothing_was_started(job: str) -> None:
    said = (
        "The account-level service limit 'ml.trn1.32xlarge for training job usage' is 0 Instances, with current utilization "
        "of 0 Instances and a request delta of 1 Instances."
    )
    with answering("ResourceLimitExceeded", said) as environment:
        done = sm_trn("launch", job, "--region", "eu-north-1", environment=environment)
    assert (1, "") == (done.returncode, done.stdout)
    words = " ".join(done.stderr.split())
    assert "try another --region" in words
    assert "Nothing was started, nothing is billed" in words


def test_an_unknown_job_says_how_to_find_those_that_are_there() -> None:
    with answering("ValidationException", "Requested resource not found.") as environment:
        done = sm_trn("list", "nothere", environment=environment)
    assert 1 == done.returncode
    assert "sm-trn list" in done.stderr


def test_an_unknown_endpoint_says_how_to_find_those_that_are_there() -> None:
    with answering("ValidationException", 'Could not find endpoint "arn:x".') as environment:
        done = sm_trn("deploy", "nothere", "--delete", environment=environment)
    assert "sm-trn deploy" in done.stderr


def test_an_emulator_that_is_down_is_named_with_the_command_that_starts_it() -> None:
    python_with(*SHELL)  # its start is not what is measured
    began = time.monotonic()
    done = sm_trn("list", environment={**LOGIN, "AWS_ENDPOINT_URL": "http://127.0.0.1:9"})
    assert 1 == done.returncode
    assert time.monotonic() - began < 5  # it is not asked ten times over
    assert "sm-trn local up" in done.stderr
    assert "unset the variable" in done.stderr


@pytest.mark.skipif(os.name != "posix", reason="permissions are POSIX's")
def test_a_folder_that_cannot_be_written_is_named_with_another_way(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = sm_trn("compare", "published/bert-p4d", "--output", str(tmp_path / "file" / "report"))
    assert 1 == done.returncode
    assert "file" in done.stderr
    assert "Traceback" not in done.stderr
    if os.geteuid():  # root may write anywhere
        (tmp_path / "shut").mkdir(mode=0o500)
        done = sm_trn("compare", "published/bert-p4d", "--output", str(tmp_path / "shut" / "report"))
        assert (1, True) == (done.returncode, "choose a place that you may write" in done.stderr)


def test_what_to_do_about_a_file_is_said_by_kind() -> None:
    assert "choose a place that you may write" in _mend(PermissionError(13, "Permission denied", "/x"))
    assert "choose a place that you may write" in _mend(OSError(30, "Read-only file system", "/x"))
    assert "sm-trn local reset" in _mend(OSError(28, "No space left on device", "/x"))
    assert "check the path" in _mend(FileNotFoundError(2, "No such file or directory", "/x"))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('name = "x\n', ("not valid TOML", "job.toml:1")),
        ('name = "x"\nframwork = 3\n', ('did you mean "framework"?', "job.toml:2")),
        ("", ('missing key "framework"', "wanted")),
    ],
)
def test_a_broken_job_file_is_shown_where_it_is_broken(tmp_path: Path, text: str, words: tuple[str, ...]) -> None:
    (tmp_path / "job.toml").write_text(text)
    done = sm_trn("launch", "job.toml", cwd=tmp_path)
    assert (2, "") == (done.returncode, done.stdout)
    assert all(word in done.stderr for word in words), done.stderr


def test_a_file_that_is_not_there_is_answered_with_one_that_is(tmp_path: Path) -> None:
    (tmp_path / "job.toml").write_text(GOOD)
    done = sm_trn("check", "jop.toml", cwd=tmp_path)
    assert 2 == done.returncode
    assert "did you mean 'job.toml'?" in done.stderr


@pytest.mark.skipif(os.name != "posix", reason="signals are POSIX's")
def test_ctrl_c_ends_with_130_and_without_a_traceback() -> None:
    with answering(
        "ThrottlingException", "Rate exceeded"
    ) as environment:  # it is retried, so there is time to interrupt
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("AWS_", "SM_TRN_"))}
        process = subprocess.Popen(
            [python_with(*SHELL), "-m", "sm_trn.cli", "list"],
            env={**kept, **environment}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert process.stderr is not None
        first = process.stderr.readline()  # the announcement: it is connected
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        said = first + process.communicate(timeout=60)[1]
    assert 130 == process.returncode, said
    assert "Traceback" not in said
    assert "Interrupted." == said.splitlines()[-1]  # it started no job, and says none


def test_ctrl_c_in_a_command_that_starts_nothing_speaks_of_no_jobs() -> None:
    stdin = (
        "class Stdin:\n    def read(self, size=-1): raise KeyboardInterrupt\n    buffer = property(lambda self: self)\n"
    )
    code = f"import sys\n{stdin}sys.stdin = Stdin()\nsys.argv = ['sm-trn', 'why', '-']\nfrom sm_trn.cli.__main__ import run\nrun()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (130, "", "\nInterrupted.\n") == (done.returncode, done.stdout, done.stderr)


@pytest.mark.skipif(os.name != "posix", reason="signals are POSIX's")
@pytest.mark.parametrize("flags", [(), ("--json",)])
def test_ctrl_c_during_a_launch_names_what_was_launched(job: str, flags: tuple[str, ...]) -> None:
    created: list[str] = []

    def interrupting(operation: str, body: bytes) -> object:
        if operation != "CreateTrainingJob":
            return None
        created.append(json.loads(body)["TrainingJobName"])
        process.send_signal(signal.SIGINT)
        return {"TrainingJobArn": f"arn:aws:sagemaker:us-west-2:111122223333:training-job/{created[-1]}"}

    with answering("ThrottlingException", "Rate exceeded", but=interrupting) as environment:
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("AWS_", "SM_TRN_"))}
        # An interpreter of its own: a fork server passes a signal on, and the answer may be there before it.
        process = subprocess.Popen(
            [sys.executable, "-m", "sm_trn.cli", "launch", job, *flags],
            env={**kept, **environment, "SM_TRN_STATE": f"{job}.state"}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        out, said = process.communicate(timeout=60)
    assert (130, 1) == (process.returncode, len(created)), said
    assert f"launched {created[0]}" in said
    assert f"sm-trn stop {created[0]}" in said
    assert "Traceback" not in said
    if flags:
        assert created == [entry["name"] for entry in json.loads(out)]


def test_help_loads_no_command_and_hardly_any_of_the_package() -> None:
    code = "import sys; sys.argv = ['sm-trn', '--help']\nfrom sm_trn.cli.__main__ import run\ntry: run()\nexcept SystemExit: pass\n"
    code += "print('LOADED', *[name for name in sys.modules if name.startswith(('sm_trn', 'boto', 'pandas'))], file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {"sm_trn", "sm_trn.cli", "sm_trn.cli.__main__", "sm_trn.cli.options", "sm_trn.core", "sm_trn.core.errors"}
    assert {"LOADED"} | loaded == {*done.stderr.split()}


def test_there_is_no_colour_where_there_is_no_terminal(job: str) -> None:
    for arguments in (["check", job], ["check", job.replace("job", "nothere")]):
        done = sm_trn(*arguments)
        assert "\x1b" not in done.stdout + done.stderr


@pytest.mark.skipif(os.name != "posix", reason="a pseudo-terminal")
@pytest.mark.parametrize(
    ("colour", "terminal", "environment"),
    [
        (True, True, {"TERM": "xterm"}),
        (False, True, {"TERM": "dumb"}),
        (False, True, {"TERM": "xterm", "NO_COLOR": "1"}),
        (True, False, {"FORCE_COLOR": "1"}),
        (False, False, {"FORCE_COLOR": "1", "NO_COLOR": "1"}),
        (False, False, {"FORCE_COLOR": "0"}),
        (False, False, {"TERM": "xterm"}),
    ],
)
def test_one_rule_decides_about_colour(
    job: str, colour: bool, terminal: bool, environment: dict[str, str], tmp_path: Path
) -> None:
    wrong = tmp_path / "wrong.toml"
    wrong.write_text(Path(job).read_text().replace("torch_distributed", "smdistributed.dataparallel"))
    kept = {key: value for key, value in os.environ.items() if key not in {"TERM", "NO_COLOR", "FORCE_COLOR"}}
    ours, theirs = os.openpty() if terminal else os.pipe()

    process = subprocess.Popen(
        [sys.executable, "-m", "sm_trn.cli", "check", str(wrong)], env={**kept, **environment}, stdout=theirs
    )
    os.close(theirs)
    said = b""
    with contextlib.suppress(OSError):  # a pseudo-terminal's way to say that nobody writes any more
        while part := os.read(ours, 65_536):
            said += part
    os.close(ours)
    assert 1 == process.wait(timeout=60), said
    assert b"error[" in said
    assert colour is (b"\x1b[" in said)


def test_annotations_have_no_colour_even_where_it_is_forced(job: str, tmp_path: Path) -> None:
    (tmp_path / "wrong.toml").write_text(
        Path(job).read_text().replace("torch_distributed", "smdistributed.dataparallel")
    )
    done = sm_trn("check", str(tmp_path / "wrong.toml"), "--format", "github", environment={"FORCE_COLOR": "1"})
    assert "::error" in done.stdout
    assert "\x1b" not in done.stdout


def completed(*words: str) -> list[str]:
    done = sm_trn(
        environment={
            "_SM_TRN_COMPLETE": "bash_complete",
            "COMP_WORDS": " ".join(words),
            "COMP_CWORD": str(len(words) - 1),
        }
    )
    return [line.partition(",")[2] for line in done.stdout.splitlines()]


def test_commands_and_options_are_completed() -> None:
    assert ["compare"] == completed("sm-trn", "comp")
    assert "--dry-run" in completed("sm-trn", "launch", "--d")


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (("check", "jo"), ["jo"]),
        (("why", "la"), ["la"]),
        (("compare", "published/bert-t"), ["published/bert-trn1", "published/bert-t"]),
        (("catalog", "images", "pytorch-2.13"), ["pytorch-2.13.0-cpu", "pytorch-2.13.0-gpu"]),
    ],
)
def test_files_and_words_are_completed(words: tuple[str, ...], found: list[str]) -> None:
    assert found == completed("sm-trn", *words)


def in_process(*line: str) -> str:
    """What a command writes to stdout; a process for each would take a minute."""
    done = CliRunner().invoke(cli, list(line), standalone_mode=False)
    assert done.exception is None, (line, done.output)
    return done.stdout


def test_every_commands_json_is_one_value_and_nothing_else(job: str, tmp_path: Path) -> None:
    """Those that need no account; the others are asked on the emulator, below."""
    record = tmp_path / "a.json"
    lines: list[list[str]] = [
        ["check", job], ["render", job], ["render", job, "--to", "model-v2"], ["diff", job, job], ["launch", job, "--dry-run"],
        ["policy", job], ["compare", "published/bert-p4d", "published/bert-trn1", "--output", str(tmp_path / "out")],
        ["catalog", "instances"], ["catalog", "images"], ["catalog", "images", "pytorch-2.13"],
        ["init", "--script", "train_text_classification.py", "--output", str(tmp_path / "copy")],
        ["local", "status", "--state", str(tmp_path / "s")],
    ]  # fmt: skip
    assert not record.exists()
    for line in lines:
        json.loads(in_process(*line, "--json"))


@pytest.mark.local
def test_every_commands_json_on_the_emulator_is_one_value_and_nothing_else(emulator: Any, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(
        "import os\nopen(os.environ['SM_MODEL_DIR'] + '/weights', 'w').write('2')\nprint('x')\n"
    )
    (tmp_path / "job.toml").write_text(
        'name = "said"\nmax_run_s = 600\n[script]\nentry = "train.py"\nsource_dir = "."\n'
        '[framework]\nkind = "pytorch"\nversion = "2.6.0"\npython = "py312"\n[compute]\ninstance = "ml.c5.xlarge"\n'
    )
    where = ("--backend", "emulator", "--state", str(emulator.state), "--json")

    def said(*line: str) -> Any:
        return json.loads(in_process(*line, *where))

    name = said("launch", str(tmp_path / "job.toml"), "--wait")[0]["name"]
    (tmp_path / "inference.py").write_text("def model_fn(f): return 0\n")
    for line in (
        ["list"], ["watch", name], ["cost", name], ["list", name, "--save", str(tmp_path / "again.toml")],
        ["compare", name], ["stop", name], ["diff", name, str(tmp_path / "again.toml")], ["deploy"],
    ):  # fmt: skip
        said(*line)
    lines = in_process("logs", name, *where).splitlines()  # a stream that may go on: a value a line
    assert lines
    assert all(json.loads(line)["text"] is not None for line in lines)
    assert isinstance(said("resubmit", name, "--set", "max_run_s=700"), (dict, list))


def test_a_list_fits_a_terminal_of_80_columns_and_cuts_no_name() -> None:
    name = "a-name-of-sixty-three-characters-as-long-as-the-service-lets-it"
    machines = {"InstanceType": "ml.trn1.32xlarge", "InstanceCount": 16}
    jobs = [
        parse_snapshot(describe(name, ResourceConfig=machines, BillableTimeInSeconds=86_400)),
        parse_snapshot(describe("b", TrainingJobStatus="Failed")),
    ]
    narrow = table_lines(job_table(jobs), Screen(width=80), NAMES)
    assert max(map(len, narrow)) <= 80
    assert name in narrow
    wide = table_lines(job_table(jobs), Screen(width=WIDE), NAMES)
    assert 3 == len(wide)
    assert wide[1].startswith(f"{name}  completed   ml.trn1.32xlarge × 16")

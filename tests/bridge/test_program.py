"""What a launcher is given when it is run, what stands in for what it lacks, and where it failed."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import pytest
from command import sm_trn
from fakes.launchers import ONE, notebook

from sm_trn.bridge.recorder import record
from sm_trn.core.errors import SmTrnError

SECRET = "a-plain-word-that-nobody-guesses"


def test_a_variable_that_is_not_here_is_refused(tmp_path: Path) -> None:
    (tmp_path / "launch.py").write_text(ONE)
    done = sm_trn("import", "--env", "NOT_THERE", "launch.py", cwd=tmp_path)
    assert 2 == done.returncode
    assert "--env: got 'NOT_THERE', which is no variable of this environment; wanted NAME" in " ".join(
        done.stderr.split()
    )


GIVEN = f"""
import os, sys
print("GIVEN", os.environ["EPOCHS"], os.environ["AWS_DEFAULT_REGION"], sys.argv[1:], os.environ.get("NOT_GIVEN"))
print(os.environ["DB_PASSWORD"], "printed")
{ONE.replace("**{", "Environment={'PLAIN': os.environ['DB_PASSWORD'] + '!'}, **{")}
raise ValueError("it was " + os.environ["DB_PASSWORD"])
"""


@pytest.mark.parametrize("as_json", [True, False])
def test_the_program_has_what_is_given_and_no_output_has_its_secrets(tmp_path: Path, as_json: bool) -> None:
    (tmp_path / "launch.py").write_text(GIVEN)
    options = ("--json",) if as_json else ()
    done = sm_trn(
        "import", *options, "--env", "EPOCHS=3", "--env", "AWS_DEFAULT_REGION=eu-west-1", "--env", "DB_PASSWORD",
        "launch.py", "--", "--size", "2",
        cwd=tmp_path, environment={"DB_PASSWORD": SECRET, "NOT_GIVEN": "x"},
    )  # fmt: skip
    assert 1 == done.returncode, done.stderr
    written = [path.read_text(errors="replace") for path in tmp_path.rglob("recorded/**/*") if path.is_file()]
    assert SECRET not in "".join([done.stdout, done.stderr, *written])
    if as_json:
        assert ["Environment.PLAIN"] == json.loads(done.stdout)["run"]["secrets"]
    else:
        assert 2 == len(written)
        assert "✗ Environment.PLAIN was sent in clear text by CreateTrainingJob." in done.stdout


def test_arguments_and_variables_reach_the_program(tmp_path: Path) -> None:
    (tmp_path / "launch.py").write_text(GIVEN)
    given = {"EPOCHS": "3", "AWS_DEFAULT_REGION": "eu-west-1", "DB_PASSWORD": SECRET}
    recorded = record(["launch.py", "--size", "2"], folder=tmp_path, environment=given)
    assert "GIVEN 3 eu-west-1 ['--size', '2'] None" in recorded.output
    assert SECRET not in recorded.output + str(recorded.failures)


def test_credentials_that_are_given_do_not_reach_the_program(tmp_path: Path) -> None:
    (tmp_path / "launch.py").write_text(
        "import os\nprint([value for value in os.environ.values() if 'mine' in value])\n"
    )
    given = dict.fromkeys(
        ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_ENDPOINT_URL"), "mine"
    )
    assert "[]\n" == record(["launch.py"], folder=tmp_path, environment=given).output


USES = """
import absent_library
import absent_library.deep.er as er
from absent_library import load
try:
    import another_absent
except ImportError:
    print("READY")
class Own(absent_library.Base):
    pass
rows = load("imdb")["train"].map(lambda row: row)
rows.columns = 3
print(rows, Own())
with er.context():
    pass
import importlib
importlib.import_module("absent_library.by.its.name").scheme = 3
"""


def test_a_module_that_is_not_installed_is_stood_in_for(tmp_path: Path) -> None:
    (tmp_path / "launch.py").write_text(f"{USES}{ONE}\n")
    recorded = record(["launch.py"], folder=tmp_path)
    assert 0 == recorded.exit_code, recorded.output
    assert ("absent_library",) == recorded.stand_ins
    assert "READY" in recorded.output
    assert 1 == len(recorded.jobs)


@pytest.mark.parametrize(
    "use", ["len(rows)", "if rows: pass", "int(rows)", "rows == 3", "open(rows)", "rows + 1", "for row in rows: pass"]
)
def test_a_stand_in_has_no_value(tmp_path: Path, use: str) -> None:
    (tmp_path / "launch.py").write_text(f"from absent_library import rows\n{use}\n")
    (failure,) = record(["launch.py"], folder=tmp_path).failures
    assert 2 == failure.line
    assert "absent_library.rows has no value here: absent_library is not installed" in failure.error


ENVIRONMENT = """
import os
from absent_library import key, bucket
os.environ["AWS_ACCESS_KEY_ID"] = key
os.environ["BUCKET"] = bucket
os.environ["PLAIN"] = "text"
print(os.getenv("PLAIN"), os.environ["AWS_ACCESS_KEY_ID"] is key, os.getenv("BUCKET", "mine") is bucket)
os.environ["GONE"] = bucket
print(os.environ.pop("GONE") is bucket, "GONE" in os.environ)
"""


def test_the_environment_holds_a_stand_in_and_no_text_in_its_place(tmp_path: Path) -> None:
    (tmp_path / "launch.py").write_text(f"{ENVIRONMENT}{ONE}\nlen(os.environ['BUCKET'])\n")
    recorded = record(["launch.py"], folder=tmp_path)
    assert "text False True\nTrue False" in recorded.output
    assert 1 == len(recorded.jobs)
    (failure,) = recorded.failures
    assert "absent_library.bucket has no value here" in failure.error


def test_the_sdks_are_never_stood_in_for(tmp_path: Path) -> None:
    (tmp_path / "launch.py").write_text("import sys\nsys.modules['boto3'] = None\nimport boto3\n")
    recorded = record(["launch.py"], folder=tmp_path)
    assert ((), 1) == (recorded.stand_ins, recorded.exit_code)


def test_a_job_with_the_text_of_a_stand_in_is_not_written(tmp_path: Path) -> None:
    job = ONE.replace(
        "TrainingJobName='one'", "TrainingJobName='one', HyperParameters={'rows': f'{absent_library.count()}'}"
    )
    (tmp_path / "launch.py").write_text(f"import absent_library\n{job}\n")
    done = sm_trn("import", "launch.py", cwd=tmp_path)
    assert 1 == done.returncode
    assert "▲ not here, a stub replaced them: absent_library" in done.stdout
    assert (
        "got <absent_library.count(…): absent_library is not installed> in the request, wanted its value; install it and import again"
        in done.stdout
    )
    assert not (tmp_path / "recorded").exists()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("open('data/train.csv')", "launch.py, line 2 failed: open('data/train.csv'): FileNotFoundError: [Errno 2] No such file"),
        (
            "import urllib.request\nurllib.request.urlopen('https://huggingface.co/x')",
            "launch.py, line 3 failed: urllib.request.urlopen('https://huggingface.co/x'): urllib.error.URLError: <urlopen error the",
        ),
        (
            "import boto3\nboto3.client('s3').get_object(Bucket='b', Key='data.csv')",
            "launch.py, line 3 failed: boto3.client('s3').get_object(Bucket='b', Key='data.csv'): botocore.errorfactory.NoSuchKey:",
        ),
        ("def f():\n    return {}['x']\n\nf()", "launch.py, line 3 failed: return {}['x']: KeyError: 'x'"),
        ("x = (", "launch.py, line 2 failed: x = (: SyntaxError: '(' was never closed"),
    ],
)  # fmt: skip
def test_the_first_line_says_where_a_program_failed_and_why(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "launch.py").write_text(f"# launches\n{text}\n")
    done = sm_trn("import", "launch.py", cwd=tmp_path)
    assert 1 == done.returncode
    assert any(line.startswith(f"✗ {said}") for line in done.stdout.splitlines()), done.stdout


def test_a_search_finds_nothing_and_says_so_in_lists(tmp_path: Path) -> None:
    (tmp_path / "launch.py").write_text(
        "import boto3\nprint(boto3.client('iam').list_policies()['Policies'], 'found')\n"
        "print(boto3.client('sagemaker').list_domains()['Domains'][0])\n"
    )
    recorded = record(["launch.py"], folder=tmp_path)
    assert "[] found" in recorded.output
    assert [
        "launch.py, line 3 failed: print(boto3.client('sagemaker').list_domains()['Domains'][0]): IndexError: list index out of range"
    ] == [str(each) for each in recorded.failures]


def test_an_answer_that_the_recorder_does_not_have_is_the_reason(tmp_path: Path) -> None:
    (tmp_path / "launch.py").write_text(
        "import boto3\nboto3.client('iam').create_policy(PolicyName='p', PolicyDocument='{}')['Policy']\n"
    )
    (failure,) = record(["launch.py"], folder=tmp_path).failures
    assert (
        "KeyError: 'Policy'; because the recorder does not know what AWS answers to iam CreatePolicy" == failure.error
    )


def test_objects_that_a_launcher_asks_for_are_there(tmp_path: Path) -> None:
    """A launcher that looks whether its data is in S3 goes on; what is in it nobody knows."""
    (tmp_path / "launch.py").write_text(
        "import boto3\ns3 = boto3.client('s3')\n"
        "print(s3.head_object(Bucket='b', Key='train.csv')['ContentLength'] > 0)\n"
        "s3.get_object(Bucket='b', Key='train.csv')\n"
    )
    recorded = record(["launch.py"], folder=tmp_path)
    assert "True" == recorded.output.splitlines()[0]
    (failure,) = recorded.failures
    assert (4, True) == (failure.line, "NoSuchKey" in failure.error)


def test_data_and_sources_that_are_not_here_are_made_up_and_said(tmp_path: Path) -> None:
    pytest.importorskip("sagemaker.pytorch", reason="needs SageMaker SDK v2: pip install 'sm_trn[sdk]'")
    (tmp_path / "launch.py").write_text(
        "import sagemaker, sys, os\nfrom sagemaker.pytorch import PyTorch\n"
        "data = sagemaker.Session().upload_data('data/train')\n"
        "own = PyTorch('train.py', source_dir=os.path.dirname(__file__) + '/code', role='arn:aws:iam::111122223333:role/r',"
        " instance_count=1, instance_type=sys.argv[1], framework_version='2.1', py_version='py310')\n"
        "own.fit(data)\n"
    )
    done = sm_trn("import", "launch.py", "--", "ml.m5.xlarge", cwd=tmp_path)
    assert 0 == done.returncode, done.stdout
    assert "▲ not here, a stub replaced them: data/train, data/train/stand-in.txt, code/train.py" in done.stdout


def test_the_words_of_a_program_that_ends_itself_are_shown(tmp_path: Path) -> None:
    (tmp_path / "launch.py").write_text(
        "import argparse\nparser = argparse.ArgumentParser()\nparser.add_argument('--x', required=True)\nparser.parse_args()\n"
    )
    done = sm_trn("import", "launch.py", cwd=tmp_path)
    assert 1 == done.returncode
    assert "✗ launch.py, line 4 failed: parser.parse_args(): SystemExit: 2" in done.stdout
    assert "launch.py: error: the following arguments are required: --x" in done.stdout


COMMENTED = """
from sagemaker.estimator import Estimator
class Trainer:
    def start(self, count=1):
        own = Estimator('1.dkr.ecr.us-west-2.amazonaws.com/own:1', 'arn:aws:iam::111122223333:role/r', count, 'ml.m5.xlarge')
        own.fit('s3://b/x')
def main():
    Trainer().start()
if __name__ == "__main__":
    print("uncomment the next line")
    # main()
"""


@pytest.mark.parametrize(("call", "count"), [("main", 1), ("Trainer().start(count=2)", 2)])
@pytest.mark.parametrize("name", ["launch.py", "launch.ipynb"])
def test_what_nothing_in_the_file_starts_is_called(tmp_path: Path, call: str, count: int, name: str) -> None:
    pytest.importorskip("sagemaker.pytorch", reason="needs SageMaker SDK v2: pip install 'sm_trn[sdk]'")
    (tmp_path / name).write_text(COMMENTED if name.endswith(".py") else notebook(COMMENTED))
    recorded = record([name], folder=tmp_path, call=call)
    (job,) = recorded.jobs
    assert f'"InstanceCount": {count}' in json.dumps(job.request)
    done = sm_trn("import", name, cwd=tmp_path)
    assert "--call main runs it" in done.stdout


def test_an_sdk_that_is_not_installed_is_named_with_its_line_for_pip(tmp_path: Path) -> None:
    (tmp_path / "launch.py").write_text("raise ImportError(\"No module named 'sagemaker.core'\")\n")
    done = sm_trn("import", "launch.py", cwd=tmp_path)
    assert "✗ launch.py, line 1 failed: raise ImportError" in done.stdout
    assert "'sm_trn[sdk3]' version 3" in done.stdout


def test_what_the_program_catches_is_no_failure(tmp_path: Path) -> None:
    (tmp_path / "launch.py").write_text(f"import sys\ntry:\n    sys.exit(3)\nexcept SystemExit:\n    pass\n{ONE}\n")
    recorded = record(["launch.py"], folder=tmp_path)
    assert (0, ()) == (recorded.exit_code, recorded.failures)


def test_files_that_cells_write_are_written_where_the_notebook_is_held(tmp_path: Path) -> None:
    with tempfile.TemporaryDirectory(dir="/var/tmp") as outside:  # not in /tmp, of which a program has its own
        (tmp_path / "linked").symlink_to(outside)
        (tmp_path / "launch.ipynb").write_text(
            notebook(
                "%%writefile src/train.py\nprint('here')\n", f"%%writefile {outside}/made.py\nx = 1",
                "%%writefile linked/made.py\nx = 1", "exec(open('src/train.py').read())",
            )
        )  # fmt: skip
        recorded = record(["launch.ipynb"], folder=tmp_path)
        assert [2, 3] == [failure.cell for failure in recorded.failures]
        assert "here\n" in recorded.output
        assert [] == list(Path(outside).iterdir())
    assert not (tmp_path / "src").exists()


def test_a_program_outside_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "launch.ipynb").write_text(notebook(ONE))
    (tmp_path / "work").mkdir()
    for name in (str(tmp_path / "launch.ipynb"), "../launch.ipynb"):
        with pytest.raises(SmTrnError, match="there is none of this name in"):
            record([name], folder=tmp_path / "work")


def test_output_of_the_shell_is_not_known_but_for_the_account_and_the_region(tmp_path: Path) -> None:
    account = "account = !aws sts get-caller-identity --query Account --output text"
    shown = "region = !aws configure get region\nprint(account[0], region[0])"
    (tmp_path / "launch.ipynb").write_text(
        notebook(f"{account}\n{shown}", "rows = !ls\nprint('shown', rows)\nlen(rows)")
    )
    recorded = record(["launch.ipynb"], folder=tmp_path)
    assert "111122223333 us-west-2\n" in recorded.output
    (failure,) = recorded.failures
    assert (2, 3) == (failure.cell, failure.line)
    assert "the output of a command has no value here: commands of the shell are not run" in failure.error


RICH = "import sys\nsys.excepthook = lambda *error: print('drawn by another')\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f"{RICH}1 / 0", "launch.py, line 3 failed: 1 / 0: ZeroDivisionError: division by zero"),
        (
            "import argparse\nparser = argparse.ArgumentParser()\nparser.add_argument('--x', required=True)\nparser.parse_args()",
            "launch.py, line 4 failed: parser.parse_args(): SystemExit: 2",
        ),
    ],
)
def test_a_failure_has_its_place_whoever_shows_it(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "launch.py").write_text(text)
    assert [said] == [f"{each}" for each in record(["launch.py"], folder=tmp_path).failures]


def test_a_notebook_runs_in_its_folder_with_what_lies_above_it(tmp_path: Path) -> None:
    deep = tmp_path / "examples" / "one"
    deep.mkdir(parents=True)
    (tmp_path / "ours.py").write_text("NAME = 'ours'\n")
    text = "import os, sys\nsys.path.append('../..')\nimport ours\nprint(ours.NAME, os.getcwd())"
    (deep / "launch.ipynb").write_text(notebook(text))
    recorded = record(["examples/one/launch.ipynb"], folder=tmp_path)
    assert ((), f"ours {deep}\n") == (recorded.stand_ins, recorded.output)


# A machine that has no user namespaces, and one without Landlock too, as the calls of containers are often filtered.

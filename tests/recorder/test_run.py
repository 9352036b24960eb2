"""sm-trn import --run: what the user gives the program, what is said first, and how it is held."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from command import sm_trn
from fakes.launchers import ONE, notebook

from sm_trn.bridge.commands.giving import variables
from sm_trn.bridge.recorder import record
from sm_trn.bridge.recorder.isolation import Isolation, holds
from sm_trn.bridge.recorder.verify import reached
from sm_trn.core.errors import SmTrnError

SECRET = "a-plain-word-that-nobody-guesses"
linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="isolation is Linux's")


def test_variables_are_given_by_name_by_value_and_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / ".env"
    file.write_text("# of the team\nexport A=1\nB='two words' # why\nC=three # why\n\nD=\n")
    assert {"A": "9", "B": "two words", "C": "three", "D": "", "HOME": "/h"} == variables(
        ["A=9", "HOME"], [file], {"HOME": "/h"}
    )


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            ("--env", "NOT_THERE"),
            "--env: got 'NOT_THERE', which is no variable of this environment; wanted NAME or NAME=VALUE",
        ),
        (("--env-file", "bad.env"), "--env-file: got line 2 of bad.env, wanted NAME=VALUE"),
    ],
)
def test_a_variable_that_cannot_be_given_is_said_without_its_value(
    tmp_path: Path, options: tuple[str, ...], said: str
) -> None:
    (tmp_path / "bad.env").write_text(f"A=1\n{SECRET}\n")
    (tmp_path / "launch.py").write_text(ONE)
    done = sm_trn("import", "--run", *options, "--", "python", "launch.py", cwd=tmp_path)
    assert 2 == done.returncode
    assert said in " ".join(done.stderr.split())
    assert SECRET not in done.stdout + done.stderr


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
    (tmp_path / "mine.env").write_text("EPOCHS=3\nAWS_DEFAULT_REGION=eu-west-1\n")
    options = ("--json",) if as_json else ()
    done = sm_trn(
        "import", "--run", *options, "--env-file", "mine.env", "--env", "DB_PASSWORD", "--", "python", "launch.py", "--size", "2",
        cwd=tmp_path, environment={"DB_PASSWORD": SECRET, "NOT_GIVEN": "x"},
    )  # fmt: skip
    assert 1 == done.returncode, done.stderr
    written = [path.read_text(errors="replace") for path in tmp_path.rglob("recorded/**/*") if path.is_file()]
    assert SECRET not in "".join([done.stdout, done.stderr, *written])
    if as_json:
        (call,) = json.loads(done.stdout)["calls"]
        assert ["Environment.PLAIN"] == call["secrets"]
    else:
        assert 1 == len(written)
        assert "✗ Environment.PLAIN was sent in clear text by CreateTrainingJob." in done.stdout


def test_arguments_and_variables_reach_the_program(tmp_path: Path) -> None:
    (tmp_path / "launch.py").write_text(GIVEN)
    given = {"EPOCHS": "3", "AWS_DEFAULT_REGION": "eu-west-1", "DB_PASSWORD": SECRET}
    recorded = record(["python", "launch.py", "--size", "2"], folder=tmp_path, environment=given)
    assert "GIVEN 3 eu-west-1 ['--size', '2'] None" in recorded.output
    assert SECRET not in recorded.output + str(recorded.failures)


@linux
def test_a_program_in_namespaces_has_a_temporary_folder_of_its_own(tmp_path: Path) -> None:
    """Launchers write their data to /tmp before they upload it. What they write there is in no file of this machine."""
    if not holds(Isolation.NAMESPACE):
        pytest.skip("namespace: this machine cannot")
    name = f"/tmp/{tmp_path.name}-own.csv"
    code = f"import os\nopen({name!r}, 'w').write('1')\nprint(sorted(os.listdir('/tmp')), open({name!r}).read())\n"
    (tmp_path / "launch.py").write_text(code)
    recorded = record(["python", "launch.py"], folder=tmp_path, isolation="namespace")
    assert 0 == recorded.exit_code, recorded.output
    assert Path(name).name in recorded.output
    assert not Path(name).exists()


def test_credentials_that_are_given_do_not_reach_the_program(tmp_path: Path) -> None:
    (tmp_path / "launch.py").write_text(
        "import os\nprint([value for value in os.environ.values() if 'mine' in value])\n"
    )
    given = dict.fromkeys(
        ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_ENDPOINT_URL"), "mine"
    )
    assert "[]\n" == record(["python", "launch.py"], folder=tmp_path, environment=given).output


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
    recorded = record(["python", "launch.py"], folder=tmp_path)
    assert 0 == recorded.exit_code, recorded.output
    assert ("absent_library",) == recorded.stand_ins
    assert "READY" in recorded.output
    assert 1 == len(recorded.jobs)


@pytest.mark.parametrize(
    "use", ["len(rows)", "if rows: pass", "int(rows)", "rows == 3", "open(rows)", "rows + 1", "for row in rows: pass"]
)
def test_a_stand_in_has_no_value(tmp_path: Path, use: str) -> None:
    (tmp_path / "launch.py").write_text(f"from absent_library import rows\n{use}\n")
    (failure,) = record(["python", "launch.py"], folder=tmp_path).failures
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
    recorded = record(["python", "launch.py"], folder=tmp_path)
    assert "text False True\nTrue False" in recorded.output
    assert 1 == len(recorded.jobs)
    (failure,) = recorded.failures
    assert "absent_library.bucket has no value here" in failure.error


def test_the_sdks_are_never_stood_in_for(tmp_path: Path) -> None:
    (tmp_path / "launch.py").write_text("import sys\nsys.modules['boto3'] = None\nimport boto3\n")
    recorded = record(["python", "launch.py"], folder=tmp_path)
    assert ((), 1) == (recorded.stand_ins, recorded.exit_code)


def test_a_job_with_the_text_of_a_stand_in_is_not_written(tmp_path: Path) -> None:
    job = ONE.replace(
        "TrainingJobName='one'", "TrainingJobName='one', HyperParameters={'rows': f'{absent_library.count()}'}"
    )
    (tmp_path / "launch.py").write_text(f"import absent_library\n{job}\n")
    done = sm_trn("import", "--run", "--", "python", "launch.py", cwd=tmp_path)
    assert 1 == done.returncode
    assert "▲ not here, something stood for them: absent_library" in done.stdout
    assert (
        "got <absent_library.count(…): absent_library is not installed> in the request, wanted its value; install it and record again"
        in done.stdout
    )
    assert not (tmp_path / "recorded").exists()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("open('data/train.csv')", "launch.py, line 2 failed: open('data/train.csv'): FileNotFoundError: [Errno 2] No such file"),
        (
            "import urllib.request\nurllib.request.urlopen('https://huggingface.co/x')",
            "launch.py, line 3 failed: urllib.request.urlopen('https://huggingface.co/x'): urllib.error.URLError: <urlopen error rec",
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
    done = sm_trn("import", "--run", "--", "python", "launch.py", cwd=tmp_path)
    assert 1 == done.returncode
    assert done.stdout.splitlines()[1].startswith(f"✗ {said}"), done.stdout


def test_the_exit_code_is_the_programs(tmp_path: Path) -> None:
    (tmp_path / "launch.py").write_text(f"{ONE}\nraise SystemExit(7)\n")
    done = sm_trn("import", "--run", "--", "python", "launch.py", cwd=tmp_path)
    assert (7, "✗ The program ended with exit code 7.") == (done.returncode, done.stdout.splitlines()[1])


def test_a_search_finds_nothing_and_says_so_in_lists(tmp_path: Path) -> None:
    (tmp_path / "launch.py").write_text(
        "import boto3\nprint(boto3.client('iam').list_policies()['Policies'], 'found')\n"
        "print(boto3.client('sagemaker').list_domains()['Domains'][0])\n"
    )
    recorded = record(["python", "launch.py"], folder=tmp_path)
    assert "[] found" in recorded.output
    assert [
        "launch.py, line 3 failed: print(boto3.client('sagemaker').list_domains()['Domains'][0]): IndexError: list index out of range"
    ] == [str(each) for each in recorded.failures]


def test_an_answer_that_the_recorder_does_not_have_is_the_reason(tmp_path: Path) -> None:
    (tmp_path / "launch.py").write_text(
        "import boto3\nboto3.client('iam').create_policy(PolicyName='p', PolicyDocument='{}')['Policy']\n"
    )
    (failure,) = record(["python", "launch.py"], folder=tmp_path).failures
    assert (
        "KeyError: 'Policy'; because the recorder does not know what AWS answers to iam CreatePolicy" == failure.error
    )


@pytest.mark.parametrize("root", ["ours", "src/ours"])
def test_a_module_of_the_repository_is_found_where_an_installation_would_have_it(tmp_path: Path, root: str) -> None:
    """A package of the launcher's own that is not installed lies in the folder itself or in src, whatever folder the script is in."""
    (tmp_path / root).mkdir(parents=True)
    (tmp_path / root / "settings.py").write_text("ROLE = 'mine'\n")
    (tmp_path / "scripts").mkdir()
    (tmp_path / "scripts" / "launch.py").write_text("from ours.settings import ROLE\nprint(ROLE)\n")
    recorded = record(["python", "scripts/launch.py"], folder=tmp_path)
    place = "src" if root.startswith("src") else "."
    assert ((f"ours (from {place})",), "mine\n") == (recorded.stand_ins, recorded.output)


def test_a_folder_of_other_things_is_no_module(tmp_path: Path) -> None:
    (tmp_path / "airflow" / "dags").mkdir(parents=True)
    (tmp_path / "airflow" / "dags" / "launch.py").write_text("from airflow import DAG\nprint('on', DAG)\n")
    recorded = record(["python", "airflow/dags/launch.py"], folder=tmp_path)
    assert (("airflow",), 0) == (recorded.stand_ins, recorded.exit_code)


def test_objects_that_a_launcher_asks_for_are_there(tmp_path: Path) -> None:
    """A launcher that looks whether its data is in S3 goes on; what is in it nobody knows."""
    (tmp_path / "launch.py").write_text(
        "import boto3\ns3 = boto3.client('s3')\n"
        "print(s3.head_object(Bucket='b', Key='train.csv')['ContentLength'] > 0)\n"
        "s3.get_object(Bucket='b', Key='train.csv')\n"
    )
    recorded = record(["python", "launch.py"], folder=tmp_path)
    assert "True" == recorded.output.splitlines()[0]
    (failure,) = recorded.failures
    assert (4, True) == (failure.line, "NoSuchKey" in failure.error)


@pytest.mark.parametrize("how", [[], ["--slice"]])
def test_data_and_sources_that_are_not_here_are_made_up_and_said(tmp_path: Path, how: list[str]) -> None:
    pytest.importorskip("sagemaker.pytorch", reason="needs SageMaker SDK v2: pip install 'sm_trn[sdk]'")
    (tmp_path / "launch.py").write_text(
        "import sagemaker, sys, os\nfrom sagemaker.pytorch import PyTorch\n"
        "data = sagemaker.Session().upload_data('data/train')\n"
        "own = PyTorch('train.py', source_dir=os.path.dirname(__file__) + '/code', role='arn:aws:iam::111122223333:role/r',"
        " instance_count=1, instance_type=sys.argv[1], framework_version='2.1', py_version='py310')\n"
        "own.fit(data)\n"
    )
    done = sm_trn("import", "--run", *how, "--", "python", "launch.py", "ml.m5.xlarge", cwd=tmp_path)
    assert 0 == done.returncode, done.stdout
    assert "▲ not here, something stood for them: data/train, data/train/stand-in.txt, code/train.py" in done.stdout


def test_the_words_of_a_program_that_ends_itself_are_shown(tmp_path: Path) -> None:
    (tmp_path / "launch.py").write_text(
        "import argparse\nparser = argparse.ArgumentParser()\nparser.add_argument('--x', required=True)\nparser.parse_args()\n"
    )
    done = sm_trn("import", "--run", "--", "python", "launch.py", cwd=tmp_path)
    assert 2 == done.returncode
    assert "✗ launch.py, line 4 failed: parser.parse_args(): SystemExit: 2" == done.stdout.splitlines()[1]
    assert "launch.py: error: the following arguments are required: --x" in done.stdout


def test_launches_that_were_reached_and_not_are_said(tmp_path: Path) -> None:
    made = (
        "from sagemaker.estimator import Estimator\n"
        "own = Estimator('1.dkr.ecr.us-west-2.amazonaws.com/own:1', 'arn:aws:iam::111122223333:role/r', 1, 'ml.m5.xlarge')\n"
    )
    (tmp_path / "launch.ipynb").write_text(
        notebook(f"{made}own.fit('s3://b/x')", "1 / 0", "open('gone.txt')\nown.fit('s3://b/y')")
    )
    pytest.importorskip("sagemaker.pytorch", reason="needs SageMaker SDK v2: pip install 'sm_trn[sdk]'")
    done = sm_trn("import", "--run", "--", "launch.ipynb", cwd=tmp_path)
    lines = done.stdout.splitlines()
    assert "✗ cell 2, line 1 failed: 1 / 0: ZeroDivisionError: division by zero" == lines[1]
    assert lines[2].startswith("✗ cell 3, line 1 failed: open('gone.txt'): FileNotFoundError")
    assert "✓ reached: Estimator, launch.ipynb, cell 1, line 3" == lines[3]
    assert "· not reached: Estimator, launch.ipynb, cell 3, line 2" == lines[4]
    assert lines[5].startswith("1 job recorded in ")


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
    come_to, own = reached(tmp_path / name, recorded), reached(tmp_path / name, record([name], folder=tmp_path))
    assert (1, 0, 0, 1) == (len(come_to.reached), len(come_to.missed), len(own.reached), len(own.missed))
    done = sm_trn("import", name, cwd=tmp_path)
    assert "--run --call main runs it" in done.stdout


def test_an_sdk_that_is_not_installed_is_named_with_its_line_for_pip(tmp_path: Path) -> None:
    (tmp_path / "launch.py").write_text("raise ImportError(\"No module named 'sagemaker.core'\")\n")
    done = sm_trn("import", "--run", "--", "python", "launch.py", cwd=tmp_path)
    assert "✗ launch.py, line 1 failed: raise ImportError" in done.stdout
    assert "pip install 'sm_trn[sdk3]' version 3" in done.stdout


def test_a_launcher_whose_data_is_not_here_is_shown_the_slice(tmp_path: Path) -> None:
    (tmp_path / "launch.py").write_text(f"open('data/train.csv')\n{ONE}\n")
    done = sm_trn("import", "--run", "--", "python", "launch.py", cwd=tmp_path)
    assert 1 == done.returncode
    assert "--slice runs only the statements that its launches depend on" in done.stdout


def test_what_the_program_catches_is_no_failure(tmp_path: Path) -> None:
    (tmp_path / "launch.py").write_text(f"import sys\ntry:\n    sys.exit(3)\nexcept SystemExit:\n    pass\n{ONE}\n")
    recorded = record(["python", "launch.py"], folder=tmp_path)
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
        with pytest.raises(SmTrnError, match="there is none of this name in the folder"):
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
    assert [said] == [f"{each}" for each in record(["python", "launch.py"], folder=tmp_path).failures]


def test_modules_of_the_repository_are_there_and_a_notebook_runs_in_its_folder(tmp_path: Path) -> None:
    deep = tmp_path / "examples" / "one"
    deep.mkdir(parents=True)
    (tmp_path / ".git").mkdir()
    (tmp_path / "ours.py").write_text("NAME = 'ours'\n")
    (deep / "launch.ipynb").write_text(
        notebook("import os, sys\nsys.path.append('../..')\nimport ours\nprint(ours.NAME, os.getcwd())")
    )
    for folder, name in ((deep, "launch.ipynb"), (tmp_path, "examples/one/launch.ipynb")):
        recorded = record([name], folder=folder)
        assert ((), f"ours {deep}\n") == (recorded.stand_ins, recorded.output)


# A machine that has no user namespaces, and one without Landlock too, as the calls of containers are often filtered.
FILTERED = """
import os, sys
from sm_trn.core.isolation import seal
seal._NUMBERS.update(unshare=(272, 97), landlock_create_ruleset=(444, 444))
seal._prctl(38, 1)
seal._filter([seal.Rule(call) for call in sys.argv[1].split(",")])
os.execv(sys.executable, [sys.executable, "-m", "sm_trn.cli", "import", "--run", *sys.argv[2:]])
"""


def filtered(folder: Path, calls: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", FILTERED, calls, *arguments, "--", "python", "launch.py"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=False)


@linux
def test_what_holds_is_said_and_where_nothing_does_a_yes_is_asked(tmp_path: Path) -> None:
    (tmp_path / "launch.py").write_text(ONE)
    done = filtered(tmp_path, "unshare")
    if "Landlock" not in done.stderr:
        assert 0 == done.returncode, done.stderr
        assert "Recording; nothing is started, nothing is billed. Landlock holds the program" in done.stdout
    done = filtered(tmp_path, "unshare,landlock_create_ruleset")
    assert 1 == done.returncode
    assert "run only code that you trust: --isolation none runs it as it is" in done.stderr
    assert "" == done.stdout
    done = filtered(tmp_path, "unshare,landlock_create_ruleset", "--isolation", "none")
    assert 0 == done.returncode, done.stderr
    assert "Nothing holds the program: run only code that you trust." in done.stdout

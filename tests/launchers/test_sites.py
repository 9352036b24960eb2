"""Every place that makes an estimator is mentioned, reached or not; and a function can be read as if it were called."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

import sm_trn as st
from sm_trn.bridge.launchers import Ending, Reason, read_launchers, read_text

ARGUMENTS = 'role="arn:aws:iam::1:role/role-of-it", framework_version="2.1", py_version="py310", instance_type="ml.g5.xlarge", instance_count=1'  # noqa: E501 - a launcher on one line
MADE = f'PyTorch("t.py", {ARGUMENTS}, hyperparameters={{"rate": rate}})'
IMPORT = "from sagemaker.pytorch import PyTorch\n"


@pytest.mark.parametrize(
    "text",
    [
        f"{IMPORT}def train(rate):\n    {MADE}.fit()",
        f"import sagemaker as sm\ndef train(rate):\n    sm.pytorch.{MADE}.fit()",
        f"from sagemaker import pytorch as own\ndef train(rate):\n    own.{MADE}.fit()",
        f"{IMPORT}class Job:\n    def train(self, rate):\n        {MADE}.fit()",
        f"import click\n{IMPORT}@click.command()\n@click.option('--rate')\ndef train(rate):\n    {MADE}.fit()\ntrain()",
        f"{IMPORT}import sys\nrate = 1\nif __name__ == 'other':\n    {MADE}.fit()",
        f"from sagemaker.pytorch import PyTorch as Own\nclass Mine(Own): pass\ndef train(rate):\n    {MADE.replace('PyTorch', 'Mine')}",
        f"{IMPORT}import threading\ndef train(rate=1):\n    {MADE}.fit()\nthreading.Thread(target=train).start()",
        "import boto3\ndef train():\n    boto3.client('sagemaker').create_training_job(TrainingJobName='a')",
    ],
)
def test_a_launch_that_is_not_reached_is_mentioned(text: str) -> None:
    (launch,) = read_text(text, "launch.py").launches
    assert (Ending.UNREACHED, [Reason.UNREACHED]) == (launch.ending, [hole.reason for hole in launch.holes])
    assert "not reached by default" in str(launch.holes[0])


def test_a_function_is_read_as_if_it_were_called(tmp_path: Path) -> None:
    path = tmp_path / "launch.py"
    path.write_text(f"{IMPORT}def train(rate, more=2):\n    {MADE}.fit()\n")
    (launch,) = read_launchers(path, call="train", given={"rate": 3}).launches
    assert ({"rate": 3}, Ending.JOB) == (dict(launch.jobs[0].spec.hyperparameters), launch.ending)
    (launch,) = read_launchers(path, call="train").launches
    assert ["rate"] == [hole.give for hole in launch.holes]


@pytest.mark.parametrize(
    ("name", "text", "code"),
    [
        ("c.json", '{"rate": 3}', "import json\nwith open('c.json') as file:\n    rate = json.load(file)['rate']"),
        ("c.yaml", "rate: 3", "import yaml\nrate = yaml.safe_load(open('c.yaml'))['rate']"),
        ("c.toml", "rate = 3", "import tomllib\nwith open('c.toml', 'rb') as file:\n    rate = tomllib.load(file)['rate']"),
        ("c.ini", "[own]\nrate = 3", "import configparser\nc = configparser.ConfigParser()\nc.read('c.ini')\nrate = c.getint('own', 'rate')"),  # noqa: E501 - a launcher on one line
        (".env", "RATE=3", "import os\nfrom dotenv import load_dotenv\nload_dotenv()\nrate = int(os.environ['RATE'])"),
        ("c.json", '{"rate": 3}', "import json\nfrom pathlib import Path\nrate = json.loads((Path(__file__).parent / 'c.json').read_text())['rate']"),  # noqa: E501 - a launcher on one line
    ],
)  # fmt: skip
def test_a_file_beside_the_launcher_is_read_as_the_launcher_reads_it(
    name: str, text: str, code: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_text(text)
    (tmp_path / "launch.py").write_text(f"{IMPORT}{code}\n{MADE}.fit()\n")
    (launch,) = read_launchers(tmp_path / "launch.py").launches
    assert ([], {"rate": 3}) == ([str(hole) for hole in launch.holes], dict(launch.jobs[0].spec.hyperparameters))


@pytest.mark.parametrize("written", ["5e-5", "yes", "on", "017", "1_000", "12:30", "~", "0x1F", "'5'"])
def test_a_value_of_yaml_is_what_pyyaml_makes_of_it(written: str, tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text(f"rate: {written}\n")
    code = "import yaml\nrate = repr(yaml.safe_load(open('c.yaml'))['rate'])"
    (tmp_path / "launch.py").write_text(f"{IMPORT}{code}\n{MADE}.fit()\n")
    (launch,) = read_launchers(tmp_path / "launch.py").launches
    assert ([], repr(yaml.safe_load(written))) == (list(launch.holes), launch.jobs[0].spec.hyperparameters["rate"])


@pytest.mark.parametrize(
    "text",
    ["RATE=3 # each", "OTHER=3\nRATE=a${OTHER}", 'RATE="a\nOTHER=3\n"', "RATE='it\\'s'", "RATE", "OTHER: 3\nRATE=3"],
)
def test_a_file_of_variables_that_is_more_than_names_and_values_is_not_known(text: str, tmp_path: Path) -> None:
    (tmp_path / ".env").write_text(text)
    code = "import os\nfrom dotenv import load_dotenv\nload_dotenv()\nrate = os.getenv('RATE', '1')"
    (tmp_path / "launch.py").write_text(f"{IMPORT}{code}\n{MADE}.fit()\n")
    (launch,) = read_launchers(tmp_path / "launch.py").launches
    assert () == launch.jobs
    assert "not a name and a plain value: .env, line" in str(launch.holes[0])


@pytest.mark.parametrize(
    "load",
    ["json.load(file, parse_int=str)", "json.load(file, object_hook=len)", "yaml.load(file, Loader=yaml.BaseLoader)"],
)
def test_a_file_that_is_read_in_a_way_of_its_own_is_not_known(load: str, tmp_path: Path) -> None:
    (tmp_path / "c.json").write_text('{"rate": 3}')
    code = f"import json, yaml\nwith open('c.json') as file:\n    rate = str({load})"
    (tmp_path / "launch.py").write_text(f"{IMPORT}{code}\n{MADE}.fit()\n")
    assert () == read_launchers(tmp_path / "launch.py").launches[0].jobs


def test_a_file_that_the_launcher_writes_first_is_not_known(tmp_path: Path) -> None:
    (tmp_path / "c.json").write_text('{"rate": 3}')
    code = "import json\nopen('c.json', 'w').write('{}')\nrate = json.load(open('c.json'))['rate']"
    (tmp_path / "launch.py").write_text(f"{IMPORT}{code}\n{MADE}.fit()\n")
    (launch,) = read_launchers(tmp_path / "launch.py").launches
    assert ["rate"] == [hole.give for hole in launch.holes]


def test_of_two_modules_of_one_name_none_is_taken(tmp_path: Path) -> None:
    for folder, rate in (("a", 1), ("b", 2)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "config.py").write_text(f"RATE = {rate}\n")
    (tmp_path / "launch.py").write_text(f"{IMPORT}import config\nrate = config.RATE\n{MADE}.fit()\n")
    (launch,) = read_launchers(tmp_path / "launch.py").launches
    assert [Reason.MODULE] == [hole.reason for hole in launch.holes]


QUEUED = f"{IMPORT}from sagemaker.aws_batch.training_queue import TrainingQueue\nrate = 1\n"


def test_a_queue_starts_what_it_is_given() -> None:
    retry = "{'attempts': 2, 'evaluateOnExit': [{'action': 'EXIT', 'onStatusReason': '*'}]}"
    told = f"'a-job', {retry}, 3, share_identifier='research', timeout={{'attemptDurationSeconds': 60}}, tags={{'team': 'a'}}"
    found = read_text(f"{QUEUED}TrainingQueue('q').submit({MADE}, 's3://b/x', {told})", "launch.py")
    (launch,) = found.launches
    assert (Ending.HANDED, "TrainingQueue", ["training"], False) == (
        launch.ending,
        launch.within,
        list(launch.jobs[0].spec.inputs),
        launch.jobs[0].wait,
    )
    assert "job in a queue" in {item.kind for item in found.seen}
    once = st.specs.Retry(attempts=2, rules=(st.specs.RetryRule(action="EXIT", reason="*"),))
    assert (
        st.Queue("q", priority=3, share="research", retry=once, timeout_s=60, tags={"team": "a"})
        == launch.jobs[0].spec.queue
    )
    assert "a-job" == launch.jobs[0].request["TrainingJobName"]


def test_a_queue_starts_an_estimator_again_and_again() -> None:
    text = f"""{QUEUED}made = {MADE}
queue = TrainingQueue(queue_name='q')
queue.submit(made, None, share_identifier='a')
made.set_hyperparameters(rate=2)
queue.submit(training_job=made, inputs='s3://b/y')
queue.map(made, ['s3://b/1', 's3://b/2'], ['one', 'two'], priority=1)
"""
    found = read_text(text, "launch.py")
    jobs = [job for launch in found.launches for job in launch.jobs]
    assert [None, "s3://b/y", "s3://b/1", "s3://b/2"] == [
        getattr(job.spec.channels.get("training"), "uri", None) for job in jobs
    ]
    assert ["1", "2", "2", "2"] == [str(job.spec.hyperparameters["rate"]) for job in jobs]
    assert [("a", None), (None, None), (None, 1), (None, 1)] == [
        (job.spec.queue.share, job.spec.queue.priority) for job in jobs if job.spec.queue is not None
    ]
    assert ["one", "two"] == [job.request["TrainingJobName"] for job in jobs[2:]]


def test_a_queue_that_is_not_known_is_a_hole() -> None:
    text = f"{QUEUED}import os\nTrainingQueue(os.environ['QUEUE']).submit({MADE}, None, priority=10_000)"
    (launch,) = read_text(text, "launch.py").launches
    assert ["QUEUE"] == [hole.give for hole in launch.holes]
    (launch,) = read_text(text, "launch.py", given={"QUEUE": "q"}).launches
    assert ["queue.priority: got 10000, wanted 0 to 9999"] == [hole.detail for hole in launch.holes]


@pytest.mark.parametrize(
    ("body", "known"),
    [
        ("v = [1]\nfor i in range(60):\n    v = [v, v]\nrate = v", False),
        ("v = 'x'\nfor i in range(64):\n    v = f'{v}{v}'\nrate = v", False),
        ("# -*- coding: rot13 -*-\nrate = 1", True),
        ("rate = '{:>{w}}'.format(1, w=10**9)", False),
        ("import re\nrate = re.match('(a+)+$', 'a' * 40 + 'b')", False),
        ("rate = 10 ** 10 ** 8", False),
    ],
)
def test_what_would_take_long_or_grow_is_a_hole_in_a_moment(body: str, known: bool) -> None:
    (launch,) = read_text(f"{IMPORT}{body}\n{MADE}.fit()\n", "launch.py").launches
    assert known == launch.complete


def test_attributes_that_are_set_after_the_making_count() -> None:
    made = MADE.replace('{"rate": rate}', "hp")
    later = "hp['late'] = 2\ne.volume_size = 77\ne.set_hyperparameters(more=3)"
    text = f"{IMPORT}hp = {{'rate': 1}}\ne = {made}\n{later}\ne.fit()"
    (launch,) = read_text(text, "launch.py").launches
    job = launch.jobs[0]
    sent = job.request["HyperParameters"]
    assert isinstance(sent, dict)
    # The class keeps the mapping that it is given, and encodes again what set_hyperparameters is given.
    assert (77, "2", json.dumps("3")) == (job.spec.compute.volume_gb, sent["late"], sent["more"])


def test_what_is_too_large_is_not_handed_to_the_sdk() -> None:
    body = "v = [1]\nfor i in range(60):\n    v = [v, v]\nrate = v"
    (launch,) = read_text(f"{IMPORT}{body}\n{MADE}.fit()\n", "launch.py").launches
    assert ["a value that is too large"] == [hole.detail for hole in launch.holes]


def test_the_docstring_of_a_launcher_is_known() -> None:
    code = "import argparse\nparser = argparse.ArgumentParser(description=__doc__)\nparser.add_argument('--rate', type=int, default=3)"
    (launch,) = read_text(
        f'"""Start it."""\n{IMPORT}{code}\nrate = parser.parse_args().rate\n{MADE}.fit()', "launch.py"
    ).launches
    assert ([], {"rate": 3}) == (list(launch.holes), dict(launch.jobs[0].spec.hyperparameters))


@pytest.mark.parametrize(
    ("between", "sent"),
    [
        ("print(e.training_image_uri())", {"rate": 1}),
        ("e.set_hyperparameters(rate=2)", {"rate": "2"}),
        ("e.fits('s3://b/x')", None),
    ],
)
def test_what_a_method_does_to_an_estimator_the_sdk_says(between: str, sent: dict[str, object] | None) -> None:
    (launch,) = read_text(f"{IMPORT}rate = 1\ne = {MADE}\n{between}\ne.fit()", "launch.py").launches
    assert sent == (dict(launch.jobs[0].spec.hyperparameters) if launch.jobs else None)
    assert [] == [hole.reason for hole in launch.holes if hole.reason is not Reason.REFUSED]


@pytest.mark.parametrize(
    ("body", "jobs", "holes"),
    [
        ("if os.path.exists('x'):\n    go()", [True], False),
        ("go()\nif os.path.exists('x'):\n    go()", [True, True], False),
        ("try:\n    go()\nexcept Exception as error:\n    print(error)", [True], False),
        ("for name in os.listdir():\n    go()", [], True),
        ("while True:\n    go()\n    break", [], True),
    ],
)
def test_a_launch_in_what_is_open_is_a_job_of_one_decision_or_a_hole_for_its_cause(
    body: str, jobs: list[bool], holes: bool
) -> None:
    found = read_text(f"import os\n{IMPORT}rate = 1\ndef go():\n    {MADE}.fit()\n{body}", "launch.py").launches
    assert jobs == [launch.complete for launch in found if launch.jobs]
    assert holes == any(launch.holes for launch in found)
    assert Reason.UNREACHED not in {hole.reason for launch in found for hole in launch.holes}


def test_what_only_some_readings_come_near_is_told_by_what_keeps_those_from_it() -> None:
    """It was "the launcher does not come here by itself", though it calls the function."""
    body = """
import glob
def launch():
    files = sorted(glob.glob("experiments/*.yaml"))
    if not files:
        return
    for each in files:
        PyTorch(entry_point="train.py", hyperparameters={"file": each}).fit()
launch()
"""
    (found,) = read_text(f"from sagemaker.pytorch import PyTorch\n{body}", "launch.py").launches
    assert ["files"] == [hole.give for hole in found.holes]

"""What only the user knows, and is a text whatever it is, stands in the job as a visible word; anything made of it is a hole."""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as draws

import sm_trn as st
from sm_trn.bridge.launchers import Launch, read_text
from sm_trn.bridge.launchers.values import Given

HEAD = """
import argparse, getpass, json, os, sagemaker
from huggingface_hub import HfFolder
from sagemaker.pytorch import PyTorch
p = argparse.ArgumentParser()
p.add_argument("--asked", required=True)
p.add_argument("--count", required=True, type=int)
p.add_argument("--kind", required=True, choices=["a", "b"])
p.add_argument("--many", required=True, nargs="+")
p.add_argument("--flag", type=bool)
p.add_argument("positional")
args = p.parse_args()
"""
PYTORCH = {
    "entry_point": '"train.py"',
    "role": '"arn:aws:iam::111122223333:role/own"',
    "framework_version": '"2.1"',
    "py_version": '"py310"',
    "instance_type": '"ml.g5.xlarge"',
    "instance_count": "1",
}


def only(
    body: str = "",
    *,
    fit: str = "",
    arguments: Mapping[str, str] = MappingProxyType({}),
    values: Mapping[str, object] | None = None,
) -> Launch:
    named = ", ".join(f"{name}={text}" for name, text in {**PYTORCH, **arguments}.items())
    text = f"{HEAD}{body}\nPyTorch({named}).fit({fit})\n"
    (launch,) = read_text(text, "launch.py", given=values, region="us-west-2", check=st.check).launches
    return launch


def parameter(value: str, body: str = "") -> Launch:
    return only(body, arguments={"hyperparameters": f'{{"x": {value}}}'})


@pytest.mark.parametrize(
    ("value", "body", "word", "name"),
    [
        ("args.asked", "", "YOUR-ASKED", "asked"),
        ("args.positional", "", "YOUR-POSITIONAL", "positional"),
        ("vars(args)['asked']", "", "YOUR-ASKED", "asked"),
        ("f'{args.asked}/tokens'", "", "YOUR-ASKED/tokens", "asked"),
        ("'at ' + args.asked", "", "at YOUR-ASKED", "asked"),
        ("'at {}'.format(args.asked)", "", "at YOUR-ASKED", "asked"),
        ("os.path.join(args.asked, 'a', 'b')", "", "YOUR-ASKED/a/b", "asked"),
        ("os.environ['HF_TOKEN']", "", "YOUR-HF-TOKEN", "HF_TOKEN"),
        ("os.environ.get('HF_TOKEN')", "", "YOUR-HF-TOKEN", "HF_TOKEN"),
        ("os.getenv('HF_TOKEN')", "", "YOUR-HF-TOKEN", "HF_TOKEN"),
        ("HfFolder.get_token()", "", "YOUR-HF-TOKEN", "HF_TOKEN"),
        ("f'for {getpass.getuser()}'", "", "for YOUR-USER", "user"),
        ("answer", "answer = input('which? ')", "YOUR-ANSWER", "answer"),
        ("input('which? ')", "", "YOUR-X", "x"),
        ("of('x')", "def of(x):\n    return os.environ['X_' + x]", "YOUR-X-X", "X_x"),
    ],
)
def test_it_is_a_word_that_check_refuses_until_it_is_given(value: str, body: str, word: str, name: str) -> None:
    launch = parameter(value, body)
    assert (True, {name, "region"}) == (launch.complete, set(launch.placeholders))
    (job,) = launch.jobs
    assert {"x": word} == dict(job.spec.hyperparameters)
    (problem,) = [problem for problem in job.problems if problem.id == "DATA006"]
    assert "hyperparameters.x" == str(problem.where)


@pytest.mark.parametrize(
    "value",
    [
        "args.count",
        "args.kind",
        "args.many",
        "args.asked.upper()",
        "f'{args.asked} {args.asked.upper()}'",
        "sagemaker.Session().upload_data(args.asked)",
        "args.asked.split(',')",
        "args.asked[1:]",
        "args.asked * 2",
        "int(args.asked)",
        "len(args.asked)",
        "f'{args.asked!r}'",
        "f'{args.asked:>20}'",
        "'%s' % args.asked",
        "json.dumps({'a': args.asked})",
        "os.path.join('a', args.asked)",
        "os.path.join(args.asked, args.asked)",
        "os.path.join(args.asked, '/a')",
        "args.asked == 'a'",
        "{'a': 1}.get(args.asked)",
        "{args.asked: 1}",
        "open(args.asked).read()",
        "json.load(open(args.asked))['a']",
        "os.environ['X'].strip()",
        "HfFolder.get_token().strip()",
    ],
)
def test_what_is_made_of_it_is_a_hole(value: str) -> None:
    launch = parameter(value)
    assert launch.holes
    assert not launch.complete


@pytest.mark.parametrize(
    ("body", "value"),
    [
        ("x = 'a'\nif args.asked:\n    x = 'b'", "x"),
        ("", "args.asked or 'a'"),
        ("x = 'a' if args.asked == 'b' else 'c'", "x"),
        ("x = 'a'\nfor each in args.asked:\n    x = each", "x"),
        ("x = 'a'\nif args.asked in {'a'}:\n    x = 'b'", "x"),
    ],
)
def test_what_depends_on_it_is_open(body: str, value: str) -> None:
    launch = parameter(value, body)
    assert launch.holes or len(launch.jobs) == 2


@pytest.mark.parametrize("name", ["instance_type", "framework_version", "py_version", "distribution"])
def test_where_the_sdk_wants_more_than_a_text_it_is_a_hole_that_can_be_given(name: str) -> None:
    (hole,) = only(arguments={name: "args.asked"}).holes
    assert "asked" == hole.give


def test_a_refusal_that_names_one_word_asks_for_that_one_alone() -> None:
    (hole,) = only(arguments={"instance_type": "args.asked", "base_job_name": "os.environ['NAME']"}).holes
    assert "asked" == hole.give


def test_a_refusal_that_names_no_word_is_told_with_it() -> None:
    (hole,) = only(arguments={"base_job_name": "args.asked", "framework_version": '"9.9"'}).holes
    assert "with YOUR-ASKED SDK v2 says: " in hole.detail
    assert "9.9" in hole.detail


@pytest.mark.parametrize(
    ("fit", "arguments", "where"),
    [
        ("args.asked", {}, "inputs.training"),
        ("{'train': f'{args.asked}/tokens'}", {}, "inputs.train"),
        ("{'train': sagemaker.inputs.TrainingInput(args.asked)}", {}, "inputs.train"),
        ("", {"output_path": "args.asked"}, "output.s3_uri"),
        ("", {"checkpoint_s3_uri": "args.asked"}, "checkpoint.s3_uri"),
    ],
)
def test_where_a_place_is_wanted_it_is_a_place(fit: str, arguments: dict[str, str], where: str) -> None:
    launch = only(fit=fit, arguments=arguments)
    assert () == launch.holes
    problems = [problem for problem in launch.jobs[0].problems if problem.id == "DATA006"]
    assert [(where, True)] == [(str(problem.where), "s3://YOUR-ASKED" in str(problem.got)) for problem in problems]


def test_a_word_that_the_sdk_cuts_is_whole() -> None:
    launch = only(arguments={"base_job_name": "f'a-rather-long-name-of-my-job-{args.asked}'"})
    assert "a-rather-long-name-of-my-job-YOUR-ASKED" == launch.jobs[0].spec.name
    launch = only(arguments={"base_job_name": "f'a-rather-long-name-of-my-own-a-{args.asked}'"})
    assert "a-rather-long-name-of-my-own-a-YOUR-ASKED" == launch.jobs[0].spec.name


def filled(value: Any, word: str, text: str) -> Any:
    return json.loads(json.dumps(value).replace(word, text))


@settings(max_examples=20)
@given(draws.text("abcdefghijklmnopqrstuvwxyz0123456789", min_size=1, max_size=12))
def test_the_request_with_the_word_is_the_request_with_the_value(text: str) -> None:
    body = "own = f'of-{args.asked}'"
    arguments = {
        "base_job_name": "own",
        "hyperparameters": "{'x': args.asked, 'y': own}",
        "environment": "{'X': args.asked + own}",
        "tags": "[{'Key': 'x', 'Value': own}]",
        "output_path": "f's3://{args.asked}/out'",
    }
    worded = only(body, fit="f's3://bucket/{own}'", arguments=arguments)
    given_ = only(body, fit="f's3://bucket/{own}'", arguments=arguments, values={"asked": text})
    assert ((), ()) == (worded.holes, given_.holes)
    assert given_.jobs[0].request == filled(worded.jobs[0].request, "YOUR-ASKED", text)


@pytest.mark.parametrize(
    ("value", "given_", "sent"),
    [
        ("args.asked", Given({"asked": 0.0001}, {"asked": "1e-4"}), '"1e-4"'),
        ("args.asked", {"asked": 3}, '"3"'),
        ("args.asked", {"asked": "3"}, '"3"'),
        ("args.count", Given({"count": 3}, {"count": "3"}), "3"),
        ("args.count", {"count": "3"}, "3"),
        ("args.count", {"count": 3}, "3"),
        ("args.flag", {"flag": False}, "false"),
        ("args.flag", Given({"flag": False}, {"flag": "False"}), "true"),  # as bool makes of a text
        ("os.environ['RATE']", Given({"RATE": 0.0001}, {"RATE": "1e-4"}), '"1e-4"'),
        ("os.environ.get('RATE', 'none')", {"RATE": 3}, '"3"'),
        ("int(os.environ['RATE'])", {"RATE": 3}, "3"),
        ("own", {"own": 3}, "3"),
    ],
)
def test_an_argument_and_a_variable_that_are_given_are_texts_of_their_type(
    value: str, given_: Mapping[str, object], sent: str
) -> None:
    launch = only("own = input()", arguments={"hyperparameters": f'{{"x": {value}}}'}, values=given_)
    parameters = launch.jobs[0].request["HyperParameters"]
    assert isinstance(parameters, dict)
    assert sent == parameters["x"]


def test_a_profile_that_this_machine_has_not_is_no_refusal() -> None:
    session = "sagemaker.Session(boto_session=boto3.Session(profile_name='mine'))"
    assert only("import boto3", arguments={"sagemaker_session": session}).complete

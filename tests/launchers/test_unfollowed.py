"""What is not followed is a hole where it can touch a launch, and none where it cannot: a canary for each."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sm_trn.bridge.launchers import Launch, Reason, read_text

HEAD = """
import os, json, functools, sagemaker
from sagemaker.pytorch import PyTorch
role = sagemaker.get_execution_role()
"""
FIT = 'PyTorch(entry_point="train.py", role=role, framework_version="2.1", py_version="py310", instance_type="ml.g5.xlarge", instance_count=1, hyperparameters={"rate": rate}).fit()'  # noqa: E501 - a launcher on one line
SHARED = FIT.replace('{"rate": rate}', "hp")
MADE = SHARED.removesuffix(".fit()")
MAYBE = "hp = {'rate': 1}\nother = hp if elsewhere.here() else {}\n"
START = "import threading; threading.Thread(target=change).start()"
IN_A_CLASS = "hp = {'rate': 1}\nclass Own:\n    held = hp\n"


def only(body: str, **modules: str) -> Launch:
    (launch,) = read_text(HEAD + body, "launch.py", modules=modules).launches
    return launch


@pytest.mark.parametrize(
    "body",
    [
        "for line in open('x'):\n    os.environ['RATE'] = line",
        "for line in open('x'):\n    if line:\n        os.environ['RATE'] = line\n        break",
        "while True:\n    os.environ['RATE'] = 'b'\n    break",
        "if os.path.exists('x'):\n    os.environ['RATE'] = 'b'",
        "if os.path.exists('x'):\n    os.environ.update(RATE='b')",
        "if os.path.exists('x'):\n    os.environ.setdefault('RATE', 'b')",
        "try:\n    open('x')\nexcept OSError:\n    os.environ['RATE'] = 'b'",
        "match open('x'):\n    case _:\n        os.environ['RATE'] = 'b'",
        "del os.environ['RATE']",
        "own = os.environ\nmatch open('x'):\n    case _:\n        own['RATE'] = 'b'",
        "class Own:\n    def set(self):\n        os.environ['RATE'] = 'b'\nOwn().set()",
        "import elsewhere\nelsewhere.set(os.environ)",
        "def rates():\n    os.environ['RATE'] = 'b'\n    yield\nlist(rates())",
        "os.environ[open('x').read()] = 'b'",
        "os.environ.update(open('x'))",
        "os.environ |= {'RATE': 'b'}",
        "os.environ.pop('RATE')",
    ],
)
@pytest.mark.parametrize("asked", ["os.environ.get('RATE', 'a')", "os.getenv('RATE', 'a')"])
def test_a_variable_that_may_have_been_set_is_a_hole(body: str, asked: str) -> None:
    launch = only(f"{body}\nrate = {asked}\n{FIT}")
    assert launch.holes or len(launch.jobs) == 2  # one with it, and one without


@pytest.mark.parametrize(
    "body",
    [
        "if os.path.exists('x'):\n    json.dump({'rate': 'b'}, open('c.json', 'w'))",
        "if os.path.exists('x'):\n    Path('c.json').write_text('{}')",
        "class Own:\n    def write(self):\n        json.dump({'rate': 'b'}, open('c.json', mode='w'))\nOwn().write()",
        "while True:\n    open('c.json', os.environ['MODE']).write('{}')",
    ],
)
def test_a_file_that_may_have_been_written_is_a_hole(body: str, tmp_path: Path) -> None:
    (tmp_path / "c.json").write_text('{"rate": "a"}')
    text = f"{HEAD}{body}\nrate = json.load(open('c.json'))['rate']\n{FIT}"
    (launch,) = read_text(text, "launch.py", folders=[tmp_path]).launches
    assert launch.holes


@pytest.mark.parametrize("how", ["exec('rate = 2')", "globals().update(rate=2)", "vars()['rate'] = 2"])
@pytest.mark.parametrize(
    "body",
    [
        "if os.path.exists('x'):\n    {how}",
        "class Own:\n    def set(self):\n        {how}\nOwn().set()",
        "while True:\n    {how}",
        "x = [{call} for y in os.listdir()]",
        "x = open('x') and {call}",
    ],
)
def test_names_that_a_text_may_have_set_are_holes(how: str, body: str) -> None:
    assert only(f"rate = 1\n{body.format(how=how, call=how.partition(')')[0] + ')')}\n{FIT}").holes


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (f"rate = 1\nexec(open('more.py').read())\n{FIT}", Reason.DYNAMIC),
        (f"rate = 1\neval(input())\n{FIT}", Reason.DYNAMIC),
        (f"rate = 1\nglobals()[input()] = 2\n{FIT}", Reason.DYNAMIC),
        (f"rate = 1\nexec('rate = 2')\n{FIT}", Reason.DYNAMIC),
        (f"rate = list({{'a', 'b'}})\n{FIT}", Reason.LOOP),
        (f"rate = [name for _, name in enumerate({{'a', 'b'}})]\n{FIT}", Reason.LOOP),
        (f"rate = []\nrate.extend({{'a', 'b'}})\n{FIT}", Reason.LOOP),
        (f"rate = eval('1 + 1')\n{FIT}", Reason.DYNAMIC),
        (f"rate = 1\nglobals()['rate'] = 2\n{FIT}", Reason.DYNAMIC),
        (f"rate = 1\nlocals().update(rate=2)\n{FIT}", Reason.DYNAMIC),
        (f"rate = 1\nwith elsewhere.kept():\n    rate = 2\n    raise ValueError\n{FIT}", Reason.UNDEFINED),
        (f"match 'b':\n    case 'a':\n        rate = 1\n    case rate:\n        pass\n{FIT}", Reason.CONSTRUCT),
        (f"rate = 1\nmatch [rate]:\n    case [1, *rest]:\n        rate = 2\n{FIT}", Reason.CONSTRUCT),
        (f"hp = {{'rate': 1}}\nmatch [hp]:\n    case [found]:\n        found['rate'] = 2\n{SHARED}", Reason.CONSTRUCT),
        (f"def rates():\n    yield 1\nfor rate in rates():\n    pass\n{FIT}", Reason.CONSTRUCT),
        (f"hp = {{'rate': 1}}\ndef change():\n    hp['rate'] = 2\n    yield\nlist(change())\n{SHARED}", Reason.CONSTRUCT),
        (f"hp = {{'rate': 1}}\nasync def change():\n    hp['rate'] = 2\nasyncio.run(change())\n{SHARED}", Reason.CONSTRUCT),
        (f"rate = 1\nPyTorch.fit = lambda self: 0\n{FIT}", Reason.DYNAMIC),
        (f"rate = 1\nfrom elsewhere import *\n{FIT}", Reason.MODULE),
        (f"from elsewhere import *\n{FIT}", Reason.MODULE),
        (f"rate = 1\nfrom between import *\n{FIT}", Reason.MODULE),
        (f"rate = 1\nfrom broken import *\n{FIT}", Reason.MODULE),
        (f"import elsewhere\nhp = {{'rate': 1}}\nelsewhere.tune(hp)\n{SHARED}", Reason.HANDED),
        (f"import elsewhere\nhp = {{'rate': 1}}\nelsewhere.tune([{{'a': hp}}])\n{SHARED}", Reason.HANDED),
        (f"import elsewhere\nestimator = {MADE}\nelsewhere.tune(estimator)\nestimator.fit()".replace("=hp", "={}"), Reason.HANDED),
        (f"import elsewhere\nestimator = {MADE}\nelsewhere.start(job=estimator)".replace("=hp", "={}"), Reason.HANDED),
        (f"rate = 1\ndef change():\n    global rate\n    rate = 2\nchange()\n{FIT}", Reason.CONSTRUCT),
        (f"def outer():\n    rate = 1\n    def inner():\n        nonlocal rate\n        rate = 2\n    inner()\n    return rate\nrate = outer()\n{FIT}", Reason.CONSTRUCT),  # noqa: E501 - a launcher on one line
        (f"hp = {{'rate': 1}}\nother = hp\nother |= {{'rate': 2}}\n{SHARED}", Reason.CONSTRUCT),
        (f"{MAYBE}while elsewhere.more():\n    other['rate'] = 2\n{SHARED}", Reason.LOOP),
        (f"{MAYBE}while elsewhere.more():\n    other.update(rate=2)\n{SHARED}", Reason.LOOP),
        (f"{MAYBE}del other['rate']\n{SHARED}", Reason.CONSTRUCT),
        (f"{IN_A_CLASS}Own.held |= {{'rate': 2}}\n{SHARED}", Reason.CONSTRUCT),
        (f"{IN_A_CLASS}Own.held['rate'] += 1\n{SHARED}", Reason.CONSTRUCT),
        (f"{IN_A_CLASS}while elsewhere.more():\n    Own.held.update(rate=2)\n{SHARED}", Reason.LOOP),
        (f"{MAYBE}held = [other]\nwhile elsewhere.more():\n    held[0].update(rate=2)\n{SHARED}", Reason.LOOP),
        (f"{MAYBE}held = {{'a': [other]}}\ndel held['a'][0]['rate']\n{SHARED}", Reason.CONSTRUCT),
        (f"{MAYBE}import types\nheld = types.SimpleNamespace(a=other)\ndel held.a['rate']\n{SHARED}", Reason.CONSTRUCT),
        (f"hp = {{'rate': 1}}\nelsewhere.tune(hp.update(rate=each) for each in [2])\n{SHARED}", Reason.HANDED),
        (f"hp = {{'rate': 1}}\nelsewhere.tune(map(hp.update, [{{'rate': 2}}]))\n{SHARED}", Reason.HANDED),
        (f"hp = {{'rate': 1}}\nheld = {{'a': hp}}.values()\nelsewhere.tune(held)\n{SHARED}", Reason.HANDED),
        (f"more = {{'a': 1}}\nheld = more.items()\nelsewhere.tune(more)\nrate = len(held)\n{FIT}", Reason.HANDED),
        (f"hp = {{'rate': 1}}\nsteps = [lambda: hp.update(rate=2)]\nwhile elsewhere.more():\n    steps[0]()\n{SHARED}", Reason.LOOP),
        (f"rate = 1\nwhile rate < 3:\n    rate += 1\n{FIT}", Reason.LOOP),
        (f"rate = 1\ndel rate\nrate = len(dir())\n{FIT}", Reason.CALL),
        (f"hp = {{'rate': 1, 'b': 2}}\ndel hp['b']\n{SHARED}", Reason.CONSTRUCT),
        (f"class Mine(PyTorch):\n    def fit(self):\n        pass\nrate = 1\n{FIT.replace('PyTorch(', 'Mine(')}", Reason.UNREACHED),
    ],
)  # fmt: skip
def test_it_is_a_hole(body: str, reason: Reason) -> None:
    launch = only(body, between="from elsewhere import *\n", broken="rate = (\n")
    assert () == launch.jobs
    assert reason in {hole.reason for hole in launch.holes}


@pytest.mark.parametrize(
    ("body", "rate"),
    [
        (f"rate = 1\nfrom here import *\n{FIT}", 2),
        (f"hp = {{'rate': 2}}\nprint(hp), json.dumps(hp)\nlogger = elsewhere.logger()\nlogger.info(hp)\n{SHARED}", 2),
        (f"os.environ['RATE'] = 'two'\nrate = os.environ.get('RATE', 'one')\n{FIT}", "two"),
        (f"rate = 2\nmake = functools.partial(PyTorch, role=role)\n{FIT.replace('PyTorch(', 'make(')}", 2),
        (f"hp = {{'rate': 1}}\n{MADE.replace('=hp', '=dict(rate=2)')}.fit()\nelsewhere.tune(hp)", 2),
    ],
)  # fmt: skip
def test_it_is_followed_or_cannot_touch_the_launch(body: str, rate: object) -> None:
    launch = only(body, here="rate = 2\n")
    assert () == launch.holes
    assert rate == launch.jobs[0].spec.hyperparameters["rate"]


def test_code_that_may_run_is_a_hole_of_that_way_alone() -> None:
    launch = only(f"rate = 1\nif os.path.exists('x'):\n    exec(open('more.py').read())\n{FIT}")
    assert [Reason.DYNAMIC] == [hole.reason for hole in launch.holes]
    assert [(("os.path.exists('x')", False),)] == [job.branch for job in launch.jobs]


@pytest.mark.parametrize(
    ("magic", "reasons"),
    [
        ("%run more.ipynb", {Reason.DYNAMIC}), ("%run more.py", {Reason.DYNAMIC}), ("%run -i more.py", {Reason.DYNAMIC}),
        ("%store -r", {Reason.DYNAMIC}), ("%store -r rate", {Reason.SHELL}), ("%store -r other", set()),
        ("%matplotlib inline", set()),
        ("%store rate\n%store -r rate", {Reason.SHELL}), ("%env NAME=b", set()), ("%pylab", {Reason.DYNAMIC}),
    ],
)  # fmt: skip
def test_magics_that_bring_names(magic: str, reasons: set[Reason]) -> None:
    cells = [{"cell_type": "code", "source": text} for text in (f"{HEAD}rate = 1", magic, FIT)]
    (launch,) = read_text(json.dumps({"cells": cells}), "launch.ipynb", modules={"more": "rate = 2\n"}).launches
    assert reasons == {hole.reason for hole in launch.holes}
    if not reasons:
        assert (2 if "run" in magic else 1) == launch.jobs[0].spec.hyperparameters["rate"]


def test_what_is_started_and_not_known_is_said() -> None:
    found = read_text(HEAD + "import elsewhere\nelsewhere.made(role).fit('s3://b/x')", "launch.py")
    assert ["start of something that is not known"] == [item.kind for item in found.seen]


def test_a_hole_names_what_to_give() -> None:
    body = f"import elsewhere\nhp = {{'rate': 1}}\nelsewhere.tune(hp)\n{SHARED}"
    (hole,) = only(body).holes
    assert "hp" == hole.give
    (launch,) = read_text(HEAD + body, "launch.py", given={"hp": {"rate": 3}}).launches
    assert {"rate": 3} == dict(launch.jobs[0].spec.hyperparameters)


@pytest.mark.parametrize(
    "body",
    [
        "import torch\n@torch.no_grad()\ndef change(of):\n    of['rate'] = 2\nchange(hp)",
        "import torch\n@torch.no_grad()\ndef change():\n    hp['rate'] = 2\nhp = {'rate': 1}\nchange()",
        "import tqdm\ndef change(of):\n    of['rate'] = 2\ntqdm.run(change)(hp)",
        "from concurrent import futures\ndef change(of):\n    of['rate'] = 2\nfutures.ThreadPoolExecutor().submit(change, hp)",
        "from concurrent import futures\nfutures.ThreadPoolExecutor().submit(functools.partial(hp.update, rate=2))",
        "import random\nhp['rate'] = [1, 2]\nrandom.shuffle(hp['rate'])",
        f"def change():\n    global hp\n    hp = {{'rate': 2}}\n{START}",
        f"def change():\n    global hp\n    hp = {{'rate': 2}}\n{START}\nhp = {{'rate': 3}}",
        f"def change():\n    def inner():\n        global hp\n        hp = {{'rate': 2}}\n    inner()\n{START}",
        f"def change():\n    global hp\n    hp = {{'rate': 2}}\ntry:\n    hp = {{'rate': 1}}\n    {START}\nexcept OSError:\n    pass",
        f"def change():\n    global rate\n    rate = 2\n{START}\nrate = 1\nhp = {{'rate': rate}}",
        f"rate = 1\ndef made():\n    rate = 1\n    def change():\n        nonlocal rate\n        rate = 2\n    {START}\n    return rate\nhp = {{'rate': made()}}",  # noqa: E501
        f"import sys\nown = sys.modules[__name__]\ndef change():\n    own.hp = {{'rate': 2}}\n{START}",
        "import sys\nsys.modules[__name__].hp = {'rate': 2}",
        "import sys\nsetattr(sys.modules[__name__], 'hp', {'rate': 2})",
        "import sys as s\ns.modules['__main__'].__dict__['hp'] = {'rate': 2}",
        "from sys import modules\nmodules['__main__'].hp = {'rate': 2}",
        "import __main__ as own\nown.hp = {'rate': 2}",
        "import importlib\nimportlib.import_module('__main__').hp = {'rate': 2}",
        "import inspect\ninspect.currentframe().f_globals['hp'] = {'rate': 2}",
        "import datasets\ndef change(row):\n    import __main__ as own\n    own.hp = {'rate': 2}\ndatasets.load_dataset('x').map(change)",
        "import datasets\ndef change(row):\n    change.__globals__['hp'] = {'rate': 2}\ndatasets.load_dataset('x').map(change)",
        "import datasets\ndef change(row):\n    getattr(change, '__globals__')['hp'] = {'rate': 2}\ndatasets.load_dataset('x').map(change)",
        "import datasets\ndef change(row):\n    globals()['hp'] = {'rate': 2}\ndatasets.load_dataset('x').map(change)",
        "import datasets\ndef change(row):\n    exec('hp = 1', globals())\ndatasets.load_dataset('x').map(change)",
    ],
)  # fmt: skip
def test_what_code_of_the_launcher_may_change_through_a_library_is_a_hole(body: str) -> None:
    launch = only(f"hp = {{'rate': 1}}\n{body}\n{SHARED}")
    assert not launch.complete or launch.jobs[0].spec.hyperparameters == {"rate": 2}


def test_a_command_line_that_is_only_looked_at_is_as_it_was() -> None:
    body = "import argparse, sys\np = argparse.ArgumentParser()\np.add_argument('--rate', default=1)\n"
    assert only(f"{body}print(sys.argv[1:], len(sys.argv))\nhp = {{'rate': p.parse_args().rate}}\n{SHARED}").complete


@pytest.mark.parametrize(
    "line", ["%%writefile c.json", "!cp e.json c.json", "%cp e.json c.json", "!sed -i s/1/2/ ./c.json"]
)
def test_a_file_that_a_line_of_the_shell_names_may_be_another_one(line: str, tmp_path: Path) -> None:
    (tmp_path / "c.json").write_text('{"rate": 1}')
    sources = [f"{line}\n{{}}" if line.startswith("%%") else line, f"{HEAD}hp = json.load(open('c.json'))\n{SHARED}"]
    cells = [{"cell_type": "code", "source": source, "metadata": {}, "outputs": []} for source in sources]
    text = json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 4})
    (launch,) = read_text(text, "launch.ipynb", folders=(tmp_path,)).launches
    assert launch.holes


def test_parts_of_a_network_are_no_modules_of_a_program() -> None:
    body = "import torch, boto3\nhp = {'rate': 1}\nfor part in torch.nn.Linear(2, 2).modules():\n    part.eval()\n"
    assert only(f"{body}boto3.resource('s3').Object('b', 'k').reload()\n{SHARED}").complete


def test_a_name_that_code_of_the_launcher_sets_in_a_library_is_a_hole_alone() -> None:
    """As in Hugging Face's notebooks, which cut texts into pieces and keep the rest for the next call."""
    body = """
from datasets import load_dataset
from functools import partial
hp = {"rate": 1}
rest = []
def chunk(sample, length=2048):
    global rest
    rest = [*rest, *sample["text"]][length:]
    return sample
rows = load_dataset("squad").map(lambda sample: tokenizer(sample["text"])).map(partial(chunk, length=8))
rows.save_to_disk(f"s3://{sagemaker.Session().default_bucket()}/train")
"""
    assert only(f"{body}{SHARED}").complete
    assert not only(f"{body}hp['rate'] = rest\n{SHARED}").complete


def test_a_stamp_of_the_sdk_in_a_name_is_the_time() -> None:
    fit = SHARED.replace(".fit()", ".fit(job_name=f'mine-{sagemaker_timestamp()}')")
    launch = only(f"hp = {{'rate': 1}}\nfrom sagemaker.utils import sagemaker_timestamp\n{fit}")
    assert () == launch.holes
    assert launch.jobs[0].spec.name == "mine"


def test_a_launch_before_the_last_step_of_a_reading_is_complete_and_what_follows_is_said() -> None:
    """Each launch is asked about with steps of its own, whatever the file has taken."""
    loops = "for x in range(2_900):\n    y = x\n" * 20
    found = read_text(f"{HEAD}hp = {{str(n): n for n in range(50)}}\n{SHARED}\n{loops}{SHARED}\n", "launch.py")
    assert [True, False] == [launch.complete for launch in found.launches]
    assert "more steps than a reading takes" in found.unread[0][1]


def test_a_launch_that_takes_too_many_steps_to_ask_about_is_a_hole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sm_trn.bridge.launchers.read.STEPS", 1)
    (launch,) = read_text(f"{HEAD}hp = {{str(n): n for n in range(50)}}\n{SHARED}\n", "launch.py").launches
    assert not launch.complete
    assert "it needs more steps than a reading takes" in str(launch.holes)

"""What changes most often costs one file and one line in a registry: shown on a copy of the package, in a process of its own."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import sm_trn

PACKAGE = Path(sm_trn.__file__).parent
JOB = """
import json, sm_trn as st
job = st.JobSpec(name="a-job", script=st.Script("train.py", source_dir="s3://a-bucket/source.tar.gz"),
                 framework=st.PyTorch("2.8.0", python="py312"), compute=st.Compute("ml.p4d.24xlarge", count=2),
                 distribution=st.TorchDistributed(), inputs={"train": "s3://a-bucket/data"})
errors = lambda job: [problem.id for problem in st.check(job) if problem.severity is st.Severity.ERROR]
"""
STRATEGY = '''
"""Workers by pigeon."""
from dataclasses import dataclass
from typing import ClassVar
from ..specs import LaunchPlan, Problem, Runner, Severity

@dataclass(frozen=True, slots=True, kw_only=True)
class Carrier:
    pigeons: int = 2
    name: ClassVar[str] = "carrier"
    image_family: ClassVar[str | None] = None

    def problems(self, job):
        if self.pigeons < job.compute.count:
            yield Problem(id="DIST900", severity=Severity.ERROR, where="distribution", what="too few", got="", wanted="", fix="")

    def plan(self, job):
        wish = {"coo": True, "coo_pigeons": self.pigeons}
        return LaunchPlan(runner=Runner.PYTHON, workers_per_host=self.pigeons, toolkit=wish, estimator={"carrier": {}})

    @classmethod
    def recognise(cls, sent):
        return cls(pigeons=sent["coo_pigeons"]) if sent.get("coo") is True else None
'''
RULE = '''
"""HAIKU rules."""
from ..specs import Advice, Field, Rule, Severity

DATA900 = Rule("DATA900", (Severity.WARNING,), "a name without a season", "A haiku names one.")

def season(job):
    """DATA900: a haiku names a season."""
    if "spring" not in job.name:
        yield DATA900.problem(Field("name"), "no season", got=job.name, wanted="spring", fix=Advice("wait"))

RULES = (season,)
'''
TARGET = '''
"""Target ``haiku``."""
def render(job, at):
    return f"{job.name} / runs on {job.compute.hosts} hosts / {at.region} in spring"
'''

FIGURE = '''
"""How many people waited for each job."""
from .bars import Bar, bar_chart


def chart(section):
    bars = [Bar(label=row.label, slot=row.slot, value=7.0, text="7 people") for row in section.rows]
    return bar_chart(bars, name="audience", title="Seven people waited", subtitle="", foot="", axis="people")
'''

COMMAND = '''
"""sm-trn tally"""
import click


@click.command("tally")
@click.argument("names", nargs=-1)
def command(names):
    """Count the jobs NAMES."""
    click.echo(len(names))
'''


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    shutil.copytree(PACKAGE, tmp_path / "sm_trn", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(PACKAGE.parent / ".github/documents.py", tmp_path)
    return tmp_path


def insert(path: Path, before: str, line: str) -> None:
    text = path.read_text("utf-8")
    assert 1 == text.count(before), before
    path.write_text(text.replace(before, f"{line}\n{before}"), "utf-8")


def run(folder: Path, code: str) -> list[object]:
    """What ``code`` prints as JSON, with the package of ``folder``."""
    done = subprocess.run(
        [sys.executable, "-c", JOB + code], cwd=folder, capture_output=True, text=True, timeout=60, check=False
    )
    assert 0 == done.returncode, done.stderr
    found: list[object] = json.loads(done.stdout.splitlines()[-1])  # what a wait shows comes before
    return found


def test_a_strategy(copy: Path) -> None:
    (copy / "sm_trn/core/strategies/carrier.py").write_text(STRATEGY)
    registry = copy / "sm_trn/core/strategies/__init__.py"
    insert(registry, "        SingleProcess.name: SingleProcess,", "        Carrier.name: Carrier,")
    insert(registry, "from .ddp import PyTorchDDP", "from .carrier import Carrier")
    answer = run(
        copy,
        """
from sm_trn.core.strategies import STRATEGIES, plan
carried = job.replace(distribution=STRATEGIES["carrier"](pigeons=3))
file = st.dump_job(carried, "toml")
print(json.dumps([errors(carried), errors(carried.replace(distribution=STRATEGIES["carrier"](pigeons=1))),
                  st.render(carried)["HyperParameters"]["coo"], st.render(carried, "estimator-v2").kwargs["distribution"],
                  plan(carried).workers_per_host, st.load_jobs(file, "toml")[0] == carried]))
""",
    )
    assert [[], ["DIST900"], "true", {"carrier": {}}, 3, True] == answer


@pytest.mark.local
def test_a_strategy_goes_to_every_target_and_comes_back_from_a_job(copy: Path, emulator: Any, tmp_path: Path) -> None:
    (copy / "sm_trn/core/strategies/carrier.py").write_text(STRATEGY)
    registry = copy / "sm_trn/core/strategies/__init__.py"
    insert(registry, "        SingleProcess.name: SingleProcess,", "        Carrier.name: Carrier,")
    insert(registry, "from .ddp import PyTorchDDP", "from .carrier import Carrier")
    (tmp_path / "src").mkdir()
    (tmp_path / "src/train.py").write_text("import os\nprint('coo is', os.environ['SM_HP_COO'])\n")
    answer = run(
        copy,
        """
from sm_trn.core.render import TARGETS
from sm_trn.core.strategies import STRATEGIES
carried = job.replace(distribution=STRATEGIES["carrier"](pigeons=3), inputs={}, script=st.Script("train.py", source_dir="src"),
                      compute=st.Compute("ml.c5.xlarge"), metrics=())
rendered = [name for name in TARGETS if st.render(carried, name) is not None]
session = st.connect("emulator", state=STATE)
first = session.submit(carried)
session.wait([first])
attached = session.attach(first.name)
second = session.submit(attached.spec)
session.wait([second])
print(json.dumps([sorted(rendered) == sorted(TARGETS), attached.spec.distribution == carried.distribution, list(attached.spec.kept),
                  [any("coo is" in event.text for event in each.logs()) for each in (first, second)]]))
""".replace("STATE", repr(str(emulator.state))),
    )
    assert [True, True, [], [True, True]] == answer


def test_a_rule(copy: Path) -> None:
    (copy / "sm_trn/core/preflight/haiku.py").write_text(RULE)
    registry = copy / "sm_trn/core/preflight/__init__.py"
    insert(registry, "    *images.RULES,", "    *haiku.RULES,")
    insert(registry, "from . import (", "from . import haiku")
    answer = run(
        copy,
        """
from sm_trn.cli.files import rules
found = lambda job: [problem.id for problem in st.check(job) if problem.id == "DATA900"]
print(json.dumps([found(job), found(job.replace(name="a-spring-job")),
                  "A haiku names one." in rules.explain("data900"), "| DATA900 | warning | a name without a season |" in rules.page()]))
""",
    )
    assert [["DATA900"], [], True, True] == answer


def test_an_instance_family(copy: Path) -> None:
    name = "ml.p6e-gb200.36xlarge"  # of the service's own names; the copy's table does not have it yet
    row = {
        "name": name, "accelerator": "NEURON", "chip": "Trainium9", "chips": 4, "workers": 8, "accelerator_memory_gib": 768,
        "vcpus": 96, "memory_gib": 512, "network_gbps": 3200, "efa": True, "nvme": True, "trains": True, "source": "a test",
    }  # fmt: skip
    table = copy / "sm_trn/core/catalog/instances.json"
    table.write_text("".join(line for line in table.read_text().splitlines(keepends=True) if name not in line))
    insert(table, '    {"name": "ml.trn1.2xlarge"', f"    {json.dumps(row)},")
    answer = run(
        copy,
        """
from sm_trn.core.strategies import plan
neuron = job.replace(framework=st.NeuronX("2.9.0"), compute=st.Compute(NAME, count=2))
print(json.dumps([plan(neuron).workers_per_host, errors(neuron), errors(neuron.replace(distribution=st.SMDataParallel())),
                  st.render(neuron)["ResourceConfig"]["InstanceType"], str(st.render(neuron, "local")).count("--nproc_per_node=8") > 0]))
""".replace("NAME", repr(name)),
    )
    assert [8, [], ["DIST003"], name, True] == answer


def test_a_render_target(copy: Path) -> None:
    (copy / "sm_trn/core/render/haiku.py").write_text(TARGET)
    registry = copy / "sm_trn/core/render/__init__.py"
    insert(
        registry,
        '        "request": Target(render=request.render, problems=request.problems),',
        '        "haiku": Target(render=haiku.render),',
    )
    insert(registry, "from .calls import EstimatorCall", "from . import haiku")
    answer = run(copy, 'print(json.dumps([st.render(job, "haiku"), st.render(job)["TrainingJobName"]]))')
    assert ["a-job / runs on 2 hosts / us-west-2 in spring", "a-job"] == answer
    (copy / "job.json").write_text(run_file())
    shown = subprocess.run(
        [sys.executable, "-m", "sm_trn.cli", "render", "job.json", "--to", "haiku"],
        cwd=copy, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (0, "runs on 2 hosts") == (shown.returncode, shown.stdout.split(" / ")[1]), shown.stderr


ROW = '    Field(spec="pretend_level", request="PretendConfig.Level", v2="pretend_level", codec=NUMBER),'


def test_a_member_of_the_request(copy: Path) -> None:
    """The line of the spec and the row of the table are all: what no row says of a language is refused there by the field's name."""
    insert(copy / "sm_trn/core/specs/job.py", "    kept: tuple[Kept, ...] = ()", "    pretend_level: int | None = None")
    insert(copy / "sm_trn/core/fields.py", '    Field(spec="max_run_s",', ROW)
    answer = run(
        copy,
        """
from sm_trn.core.render import TARGETS
pretend = job.replace(pretend_level=3)
request = st.render(pretend)
described = {**request, "TrainingJobStatus": "Completed", "TrainingJobArn": "arn:aws:sagemaker:us-west-2:123456789012:training-job/a-job"}
def said(target):
    words = " ".join(map(str, st.core.render.problems(pretend, target)))
    try:
        words += str(st.render(pretend, target))
    except st.errors.InvalidJob as error:
        words += str(error)
    return "pretend" in words.lower()
def refused(**changes):
    try:
        job.replace(**changes)
    except TypeError as error:
        return str(error)
attached = [st.parse_request(each) for each in (request, described)]
print(json.dumps([
    errors(pretend), request["PretendConfig"], [name for name in TARGETS if not said(name)],
    st.render(pretend, "estimator-v2").kwargs["pretend_level"],
    [each.pretend_level for each in attached], [list(map(str, each.kept)) for each in attached],
    [(each.field, each.before, each.after) for each in st.diff(job, pretend)],
    [st.load_jobs(st.dump_job(pretend, form), form)[0] == pretend for form in ("toml", "yaml", "json")],
    "pretend_level = 3" in st.dump_job(pretend, "toml"), "got '3' (str)" in refused(pretend_level="3"),
]))
""",
    )
    assert [
        [],
        {"Level": 3},
        ["model-v2"],  # the model that a job leaves
        3,
        [3, 3],
        [[], []],
        [["PretendConfig.Level", None, 3]],
        [True, True, True],
        True,
        True,
    ] == answer


def test_a_figure(copy: Path) -> None:
    (copy / "sm_trn/report/figures/audience.py").write_text(FIGURE)
    insert(
        copy / "sm_trn/report/figures/__init__.py",
        "    plot_loss = _plot(",
        '    plot_audience = _plot("audience", "Who waited.")',
    )
    answer = run(
        copy,
        """
import pathlib
import matplotlib
matplotlib.use("Agg")
both = st.compare(["published/bert-p4d", "published/bert-trn1"])
drawn = [text.get_text() for text in both.plot_audience().texts]
names = [path.name for path in both.save("out")]
page = pathlib.Path("out/report.html").read_text("utf-8")
doc = both.plot_audience.__doc__.split("\\n")[0]
print(json.dumps([drawn.count("7 people"), doc, names.index("audience.png") > names.index("pareto.png"),
                  'id="t-audience">Seven people waited' in page]))
""",
    )
    assert [2, "Who waited.", True, True] == answer


def test_a_command(copy: Path) -> None:
    (copy / "sm_trn/cli/jobs/tally.py").write_text(COMMAND)
    insert(copy / "sm_trn/cli/__main__.py", '    "why": (', '    "tally": ("cli.jobs.tally", "count jobs"),')
    answer = run(
        copy,
        """
import io
from contextlib import redirect_stdout
from sm_trn.cli.__main__ import cli
from documents import cli_reference
def said(*words):
    with redirect_stdout(io.StringIO()) as out:
        cli.main(list(words), standalone_mode=False)
    return out.getvalue()
print(json.dumps([said("tally", "a", "b"), "count jobs" in said("--help"), "## sm-trn tally" in cli_reference()]))
""",
    )
    assert ["2\n", True, True] == answer


def run_file() -> str:
    return json.dumps(
        {
            "name": "a-job",
            "script": {"entry": "train.py", "source_dir": "s3://a-bucket/source.tar.gz"},
            "framework": {"kind": "pytorch", "version": "2.8.0", "python": "py312"},
            "compute": {"instance": "ml.p4d.24xlarge", "count": 2},
            "distribution": {"kind": "torch_distributed"},
        }
    )

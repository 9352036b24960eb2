"""``sm-trn init``: the files that it writes are checked, its machine fits and keeps the budget, its first steps run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from command import sm_trn
from training_data import MADE

import sm_trn as st
from sm_trn.core.pricing.book import snapshot_book
from sm_trn.templates import first_steps
from sm_trn.templates.project import _known, design, job_name
from sm_trn.templates.reading import few, spread, template_of
from sm_trn.templates.template import TEMPLATES, ProjectRequest
from sm_trn.templates.writing import write

IN_FULL = pytest.mark.skipif(
    "SM_TRN_CLIENTS" not in os.environ, reason="set SM_TRN_CLIENTS=all: a training for each template"
)
NAMES = list(TEMPLATES)


def project(folder: Path, name: str, **more: Any) -> Any:
    template = "pytorch" if name == "pytorch" else None
    return design(ProjectRequest(data=str(MADE[name](folder)), template=template, **more), snapshot_book())


@pytest.mark.parametrize("name", [name for name in NAMES if name != "pytorch"])
def test_data_tells_its_template(tmp_path: Path, name: str) -> None:
    assert TEMPLATES[name] is template_of(MADE[name](tmp_path))


def test_numbers_alone_tell_no_template(tmp_path: Path) -> None:
    assert template_of(MADE["pytorch"](tmp_path)) is None


@pytest.mark.parametrize("name", NAMES)
def test_what_is_written_is_launchable_and_keeps_the_budget(tmp_path: Path, name: str) -> None:
    made = project(tmp_path, name, budget_usd=20.0)
    written = write(made, tmp_path / "out")
    job = st.read_jobs(tmp_path / "out" / "job.toml")[0]
    assert {"job.toml", "job.schema.json", TEMPLATES[name].script, "requirements.txt"} == {
        path.name for path in written
    }
    assert [] == [str(problem) for problem in st.check(job) if problem.severity is not st.Severity.INFO]
    if TEMPLATES[name].head:  # one set of facts: estimate says what init said
        said, again = (st.estimate(each, **_known(made.request, TEMPLATES[name])) for each in (made.job, job))
        assert (said.billable_s, said.assumed, True) == (
            again.billable_s,
            again.assumed,
            again.billable_s.p90 <= job.max_run_s,
        )
    assert 20 >= made.most_usd > 0
    assert len(made.reasons) == 3
    assert len(made.others) <= 3


def test_a_file_that_is_there_stays_unless_it_is_forced(tmp_path: Path) -> None:
    made = project(tmp_path, "pytorch")
    (tmp_path / "job.toml").write_text("mine")
    with pytest.raises(st.errors.NotConfigured, match=r"job\.toml would be overwritten"):
        write(made, tmp_path)
    assert "mine" == (tmp_path / "job.toml").read_text()
    assert not (tmp_path / "src").exists()
    write(made, tmp_path, force=True)
    assert "mine" != (tmp_path / "job.toml").read_text()


def test_a_large_model_gets_a_machine_that_holds_it(tmp_path: Path) -> None:
    made = project(tmp_path, "chat", model="Qwen/Qwen3-8B", budget_usd=50.0)
    found = st.estimate(made.job)
    assert found.fits
    assert found.memory.total < 0.95 * found.memory_limit_gib
    assert made.job.hyperparameters["use_peft"] is True
    assert "qwen3-8b-chat" == made.job.name


def test_what_no_machine_does_is_said_with_what_to_change(tmp_path: Path) -> None:
    with pytest.raises(
        st.errors.NotConfigured, match=r"no machine keeps the budget: the nearest is .*\n  fix: --max-usd \d+"
    ):
        project(tmp_path, "chat", model="Qwen/Qwen3-8B", budget_usd=0.01)


def test_a_model_that_nobody_knows_is_said(tmp_path: Path) -> None:
    with pytest.raises(st.errors.MissingFact, match="neither an id of the table"):
        project(tmp_path, "chat", model="acme/wonder")


def test_your_own_script_stays_where_it_is(tmp_path: Path) -> None:
    script = tmp_path / "mine.py"
    script.write_text("import transformers\n")
    made = project(tmp_path, "pytorch", script=script, budget_usd=3.0)
    assert (tmp_path / "job.toml", tmp_path / "job.schema.json") == write(made, tmp_path)
    job = st.read_jobs(tmp_path / "job.toml")[0]
    assert ("mine.py", str(tmp_path)) == (
        job.script and job.script.entry,
        str(Path(str(job.script and job.script.source_dir)).resolve()),
    )
    assert isinstance(job.framework, st.HuggingFace)  # it imports transformers


@pytest.mark.parametrize(
    ("instance", "framework"),
    [("ml.trn1.32xlarge", st.NeuronX("2.9.0")), ("ml.trn2.48xlarge", st.TorchNeuron("2.14"))],
)
def test_a_project_for_trainium_has_its_container(tmp_path: Path, instance: str, framework: st.TorchNeuron) -> None:
    made = project(tmp_path, "classification", instance=instance)
    assert (framework, st.TorchDistributed()) == (made.job.framework, made.job.distribution)
    assert {"transformers", "accelerate", "datasets"} == set(made.requirements)


@pytest.mark.parametrize("name", NAMES)
def test_a_few_rows_have_the_form_of_all(tmp_path: Path, name: str) -> None:
    data = MADE[name](tmp_path)
    part = few(data, tmp_path / "few", 10)
    assert template_of(data) == template_of(part)


def test_rows_are_taken_from_everywhere() -> None:
    assert [0, 25, 50, 75] == spread(range(100), 4)
    assert [1, 2] == spread([1, 2], 4)


@pytest.mark.parametrize("name", NAMES)
def test_a_name_leaves_room_for_what_makes_it_unique(name: str) -> None:
    made = job_name(TEMPLATES[name], "organisation/A very_long.Name-of-a-model-with-many-words")
    assert len(made) <= 30
    assert made.endswith(name)


def made_of(architecture: str, name: str, folder: Path) -> int:
    return first_steps.make(architecture, TEMPLATES[name], folder)


@pytest.mark.local
@pytest.mark.parametrize(
    ("model", "name", "architecture"),
    [
        ("Qwen/Qwen3-8B", "chat", "qwen3"),
        ("Qwen/Qwen2.5-0.5B-Instruct", "chat", "qwen2"),
        ("meta-llama/Llama-3.1-8B", "chat", "llama"),
        ("HuggingFaceTB/SmolLM2-135M", "language-model", "llama"),
        ("distilbert-base-uncased", "classification", "distilbert"),
        ("google/vit-base-patch16-224", "vision", "vit"),
    ],
)
def test_a_tiny_model_has_the_architecture(tmp_path: Path, model: str, name: str, architecture: str) -> None:
    assert architecture == first_steps.model_type(model, TEMPLATES[name].head)
    assert made_of(architecture, name, tmp_path) < 300_000
    assert architecture == json.loads((tmp_path / "config.json").read_text())["model_type"]


@pytest.mark.local
def test_an_architecture_that_the_name_does_not_tell_is_not_guessed() -> None:
    for model in ("acme/wonder-7b", "qwen-7b", "optical-1b"):
        with pytest.raises(st.errors.NotConfigured, match="does not tell"):
            first_steps.model_type(model, "CausalLM")


@pytest.mark.local
def ran(folder: Path, name: str, emulator: Any, *more: str) -> subprocess.CompletedProcess[str]:
    data = MADE[name](folder)
    arguments = ("init", "--data", str(data), "--template", name, "--output", str(folder / "out"), *more)
    return sm_trn(*arguments, "--json", environment={"SM_TRN_STATE": str(emulator.state)}, cwd=folder)


@pytest.mark.local
@pytest.mark.parametrize("name", ["chat", *(pytest.param(name, marks=IN_FULL) for name in NAMES if name != "chat")])
def test_first_steps_run_on_the_emulator(emulator: Any, tmp_path: Path, name: str) -> None:
    done = ran(tmp_path, name, emulator)
    assert 0 == done.returncode, done.stderr + done.stdout
    answer = json.loads(done.stdout)
    assert answer["first_steps"]["completed"]
    assert name == answer["template"]
    assert answer["first_steps"]["emulated"] is True


def test_without_a_terminal_it_asks_nothing_and_says_what_is_missing(tmp_path: Path) -> None:
    done = sm_trn("init", cwd=tmp_path)
    assert (2, "") == (done.returncode, done.stdout)
    assert "--data is missing" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--data", "nowhere.jsonl"), "not there"),
        (("--data", "s3://bucket/data"), "--template"),
        (("--data", "empty.csv"), "empty"),
        (("--data", "broken.jsonl"), "is not JSON"),
        (("--data", "binary.csv"), "UTF-8"),
        (("--data", "s3://bucket/data", "--template", "chat"), "--examples"),
        (("--data", "rows.csv", "--template", "chat", "--instance", "ml.p9.large"), "ml.p9.large"),
        (("--data", "rows.csv", "--script", "bad.py"), "cannot be read as Python"),
        (("--data", "rows.csv", "--max-usd", "-3"), "--max-usd"),
        (("--data", "rows.csv", "--template", "poetry"), "poetry"),
    ],
)
def test_a_mistake_is_answered_with_what_to_do(tmp_path: Path, arguments: tuple[str, ...], said: str) -> None:
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "broken.jsonl").write_text("{not json\n")
    (tmp_path / "binary.csv").write_bytes(b"\xff\xfe\x00\x81")
    (tmp_path / "rows.csv").write_text("a,b\n1,2\n")
    (tmp_path / "bad.py").write_text("def (:\n")
    done = sm_trn("init", *arguments, "--no-run", cwd=tmp_path)
    assert done.returncode in {1, 2}, done.stdout
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "job.toml").exists()


def test_python_of_the_templates_compiles_for_the_oldest_image() -> None:
    for template in TEMPLATES.values():
        compile(template.source.read_text("utf-8"), template.script, "exec", dont_inherit=True)
    assert sys.version_info >= (3, 10)

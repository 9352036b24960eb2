"""Measured steps: what a log tells of them, the estimate that stands on them, and the trial that measures them."""

from __future__ import annotations

from pathlib import Path

import pytest
from command import sm_trn
from fakes.simulated_sagemaker import Story
from fakes.simulated_wire import World, world

import sm_trn as st
from sm_trn.core.logs.saved import parse_log


def job(instance: str = "ml.g5.2xlarge", count: int = 1) -> st.JobSpec:
    return st.JobSpec(
        name="reviews",
        script=st.Script("train.py", source_dir="s3://a-bucket/source.tar.gz"),
        framework=st.PyTorch("2.8.0", python="py312"),
        compute=st.Compute(instance, count=count),
        distribution=st.TorchDistributed(),
        hyperparameters={
            "model_name_or_path": "bert-base-uncased",
            "per_device_train_batch_size": 32,
            "max_seq_length": 128,
            "num_train_epochs": 1,
        },
        max_run_s=7200,
    )


def bar(done: int, total: int, elapsed_s: int, unit: str = "1.50s/it", before: str = "") -> str:
    hours, minutes, seconds = elapsed_s // 3600, elapsed_s // 60 % 60, elapsed_s % 60
    clock = f"{hours}:{minutes:02d}:{seconds:02d}" if hours else f"{minutes:02d}:{seconds:02d}"
    return f"{before}{done * 100 // total:3d}%|███       | {done}/{total} [{clock}<1:02:03, {unit}]"


def training_bar(total: int = 500, step_s: float = 1.5, warm_up_s: int = 60) -> str:
    return "\r".join(bar(done, total, int(warm_up_s + done * step_s)) for done in range(1, 120))


def step_s(text: str) -> float:
    """The step that an estimate takes from a log. Raises SmTrnError."""
    return st.estimate(job(), measured=parse_log(text), examples=1000).step_s.p50


def test_a_progress_bar_tells_the_step_without_its_warm_up() -> None:
    assert pytest.approx(1.5, rel=0.02) == step_s(training_bar())


def test_bars_of_data_of_downloads_and_of_evaluations_are_not_the_trainings() -> None:
    others = [
        bar(9_000, 10_000, 4_000, "2.2examples/s", "Map: "),
        bar(30, 62, 3_000, "1.2it/s", "Loading checkpoint shards: "),
        bar(300, 548, 9_000, "55.1MB/s"),
        *(bar(done, 63, done // 4, "4.0it/s") for done in range(64)),
    ]
    assert pytest.approx(1.5, rel=0.02) == step_s("\n".join([*others[:3], training_bar(), *others[3:]]))


def test_hours_count() -> None:
    assert 10 == step_s("\n".join(bar(done, 5_000, done * 10) for done in range(100, 1_000, 100)))


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("{{'steps_per_second': 4.0, 'step': {0}, 'loss': 0.3}}", 0.25),
        ("{{'samples_per_second': 64.0, 'step': {0}, 'loss': 0.3}}", 0.5),
        ("{{'train_runtime': 10.0, 'train_steps_per_second': 2.5, 'train_loss': 0.1}}", 0.4),
        ("{{'train_runtime': 10.0, 'train_samples_per_second': 16.0, 'train_loss': 0.1}}", 2.0),
    ],
)
def test_rates_that_are_printed_tell_it(line: str, expected: float) -> None:
    assert pytest.approx(expected) == step_s("\n".join(line.format(10 * number) for number in range(8)))


@pytest.mark.parametrize("text", ["", "epoch 3/4 done", training_bar()[:600], "  0%|  | 0/10 [00:00<?, ?it/s]"])
def test_a_log_without_steps_is_refused(text: str) -> None:
    with pytest.raises(st.SmTrnError, match="tells no steps"):
        step_s(text)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "train.log"
    path.write_text(training_bar(total=3_125, step_s=0.5))
    return path


def test_an_estimate_stands_on_the_measured_step(log: Path) -> None:
    before = st.estimate(job(), examples=100_000)
    found = st.estimate(job(), measured=st.read_log(log), examples=100_000)
    assert pytest.approx(0.5, rel=0.03) == found.step_s.p50
    assert found.step_s.p90 / found.step_s.p10 < before.step_s.p90 / before.step_s.p10
    assert found.billable_s.p90 / found.billable_s.p10 < before.billable_s.p90 / before.billable_s.p10
    assert "ESTIMATED from a measured step" in str(found)
    assert "the step was measured on this job" in str(found)
    assert found.to_dict()["basis"]["measured"] is True  # type: ignore[index,call-overload]
    assert before.to_dict()["basis"]["measured"] is False  # type: ignore[index,call-overload]


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> World:
    return world(monkeypatch, tmp_path)


def test_a_job_that_ran_its_first_steps_tells_them(here: World) -> None:
    phases = (("Starting", 90.0), ("Downloading", 200.0), ("Training", 5_000.0), ("Uploading", 20.0))
    lines = tuple((350.0 + done * 3.0, bar(done, 3_125, int(done * 3.0))) for done in range(1, 1_500))
    here.service.story_of = lambda _name: Story(phases=phases, lines={"algo-1": lines})
    ran = here.session.submit(job())
    ran.wait(progress=False)
    assert pytest.approx(3.0, rel=0.02) == st.estimate(job(), measured=ran, examples=100_000).step_s.p50


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "train.py").write_text("print('here')\n")
    path = tmp_path / "reviews.toml"
    path.write_text("""
name = "reviews"
script = { entry = "train.py", source_dir = "." }
framework = { kind = "pytorch", version = "2.8.0", python = "py312" }
compute = { instance = "ml.g5.2xlarge" }
hyperparameters = { model_name_or_path = "bert-base-uncased", per_device_train_batch_size = 32, max_seq_length = 128, num_train_epochs = 1 }
max_run_s = 7200
""")
    return path


def test_the_shell_takes_a_log(file: Path, log: Path) -> None:
    ran = sm_trn("estimate", file.name, "--examples", "100000", "--log", str(log), cwd=file.parent)
    assert 0 == ran.returncode, ran.stderr
    assert "ESTIMATED from a measured step" in ran.stdout


@pytest.mark.parametrize(
    ("options", "code", "says"),
    [
        (("--plan", "--log", "reviews.toml"), 2, "is not for --plan"),
        (("--log", "reviews.toml"), 1, "tells no steps"),
        (("--log", "absent.log"), 2, "absent.log"),
    ],
)
def test_what_cannot_be_measured_is_said(file: Path, options: tuple[str, ...], code: int, says: str) -> None:
    ran = sm_trn("estimate", file.name, "--examples", "100000", *options, cwd=file.parent)
    assert code == ran.returncode, ran.stderr
    assert says in ran.stderr
    assert "Traceback" not in ran.stderr

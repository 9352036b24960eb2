"""Measured steps: what a log tells of them, the estimate that stands on them, and the trial that measures them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command import sm_trn
from fakes.simulated_sagemaker import Story
from fakes.simulated_wire import World, world

import sm_trn as st
from sm_trn.core.logs.saved import parse_log, read_log
from sm_trn.emulator import Endpoint
from sm_trn.forecast.jobs.estimate import calibration_from
from sm_trn.forecast.jobs.measured import StepTimes, step_times
from sm_trn.forecast.trial import measure_steps, trial_spec


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


def times(text: str, batch: float = 32) -> StepTimes | None:
    return step_times(parse_log(text).events(), batch=batch)


def test_a_progress_bar_tells_the_step_without_its_warm_up() -> None:
    found = times(training_bar())
    assert found is not None
    assert pytest.approx(1.5, rel=0.02) == found.step_s.p50
    assert 109 == found.steps
    assert "bar" in found.source


def test_bars_of_data_of_downloads_and_of_evaluations_are_not_the_trainings() -> None:
    others = [
        bar(9_000, 10_000, 4_000, "2.2examples/s", "Map: "),
        bar(30, 62, 3_000, "1.2it/s", "Loading checkpoint shards: "),
        bar(300, 548, 9_000, "55.1MB/s"),
        *(bar(done, 63, done // 4, "4.0it/s") for done in range(64)),
    ]
    found = times("\n".join([*others[:3], training_bar(), *others[3:]]))
    assert found is not None
    assert pytest.approx(1.5, rel=0.02) == found.step_s.p50


def test_hours_count() -> None:
    text = "\n".join(bar(done, 5_000, done * 10) for done in range(100, 1_000, 100))
    found = times(text)
    assert found is not None
    assert 10 == found.step_s.p50


@pytest.mark.parametrize(
    ("line", "step_s"),
    [
        ("{{'steps_per_second': 4.0, 'step': {0}, 'loss': 0.3}}", 0.25),
        ("{{'samples_per_second': 64.0, 'step': {0}, 'loss': 0.3}}", 0.5),
        ("{{'train_runtime': 10.0, 'train_steps_per_second': 2.5, 'train_loss': 0.1}}", 0.4),
        ("{{'train_runtime': 10.0, 'train_samples_per_second': 16.0, 'train_loss': 0.1}}", 2.0),
    ],
)
def test_rates_that_are_printed_tell_it(line: str, step_s: float) -> None:
    found = times("\n".join(line.format(10 * number) for number in range(8)))
    assert found is not None
    assert pytest.approx(step_s) == found.step_s.p50


@pytest.mark.parametrize("text", ["", "epoch 3/4 done", training_bar()[:600], "  0%|  | 0/10 [00:00<?, ?it/s]"])
def test_a_log_without_steps_tells_nothing(text: str) -> None:
    assert times(text) is None


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "train.log"
    path.write_text(training_bar(total=3_125, step_s=0.5))
    return path


def test_an_estimate_stands_on_the_measured_step(log: Path) -> None:
    before = st.estimate(job(), examples=100_000)
    found = st.estimate(job(), measured=st.read_log(log), examples=100_000)
    assert before.step_s is not None
    assert found.step_s is not None
    assert pytest.approx(0.5, rel=0.03) == found.step_s.p50
    assert found.step_s.p90 / found.step_s.p10 < before.step_s.p90 / before.step_s.p10
    assert found.billable_s.p90 / found.billable_s.p10 < before.billable_s.p90 / before.billable_s.p10
    assert "ESTIMATED from a measured step" in str(found)
    assert "the step was measured on this job" in str(found)
    assert found.to_dict()["basis"]["measured"] is True  # type: ignore[index,call-overload]
    assert before.to_dict()["basis"]["measured"] is False  # type: ignore[index,call-overload]


def with_length(length: int) -> st.JobSpec:
    return job().replace(hyperparameters={**job().hyperparameters, "max_seq_length": length})


def test_it_speaks_for_other_sizes_of_the_job_as_a_calibration_does(log: Path) -> None:
    same, longer = (st.estimate(with_length(length), examples=100_000) for length in (128, 256))
    found = st.estimate(with_length(256), calibration=_taught(log), examples=100_000)
    assert same.step_s is not None
    assert longer.step_s is not None
    assert found.step_s is not None
    assert not found.basis.measured
    assert 1 == found.basis.calibrated
    assert pytest.approx(longer.step_s.p50 * 0.5 / same.step_s.p50, rel=0.03) == found.step_s.p50
    assert found.step_s.p90 / found.step_s.p10 < longer.step_s.p90 / longer.step_s.p10


def test_epochs_and_examples_are_no_part_of_a_step(log: Path) -> None:
    found = st.estimate(job(), calibration=_taught(log), examples=5_000, epochs=7)
    assert found.basis.measured


def _taught(log: Path) -> st.results.Calibration:
    return calibration_from(read_log(log), job(), examples=100_000)


def test_what_was_measured_is_kept_in_a_file(log: Path, tmp_path: Path) -> None:
    kept = tmp_path / "kept.json"
    _taught(log).save(kept)
    assert _taught(log) == st.read_calibration(kept)
    found = st.estimate(job(), calibration=st.read_calibration(kept), examples=100_000)
    assert found.basis.measured


@pytest.mark.parametrize(
    "steps", [{"a": [3, 2, 1]}, {"a": [1, 2]}, {"a": [-1, 1, 2]}, {"a": 3}, [1], {"a": ["x", 1, 2]}]
)
def test_a_file_with_impossible_steps_is_refused(steps: object, tmp_path: Path) -> None:
    path = tmp_path / "kept.json"
    path.write_text(json.dumps({"schema": 1, "ratios": {}, "steps": steps}))
    with pytest.raises(st.SmTrnError, match="wanted what"):
        st.read_calibration(path)


def test_a_log_that_tells_nothing_is_refused(tmp_path: Path) -> None:
    (tmp_path / "train.log").write_text("hello\n")
    with pytest.raises(st.SmTrnError, match="tells no steps"):
        st.estimate(job(), measured=st.read_log(tmp_path / "train.log"), examples=1000)


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> World:
    return world(monkeypatch, tmp_path)


PHASES = (("Starting", 90.0), ("Downloading", 200.0), ("Training", 5_000.0), ("Uploading", 20.0))


def story(outcome: str = "Completed", phases: tuple[tuple[str, float], ...] = PHASES) -> Story:
    lines = tuple((350.0 + done * 3.0, bar(done, 3_125, int(done * 3.0))) for done in range(1, 1_500))
    return Story(phases=phases, lines={"algo-1": lines}, outcome=outcome, reason="CUDA out of memory")


def test_a_trial_is_stopped_when_its_steps_are_timed(here: World) -> None:
    here.service.story_of = lambda _name: story()
    spot = job().replace(spot=st.Spot(max_wait_s=9_000, checkpoint_s3_uri="s3://a-bucket/kept/"))
    trial = here.session.submit(trial_spec(spot))
    measure_steps(trial, spot, {"examples": 100_000})
    final = trial.snapshot()
    assert "CheckpointConfig" not in final.raw
    assert not final.raw.get("EnableManagedSpotTraining")
    assert 3600 == final.raw["StoppingCondition"]["MaxRuntimeInSeconds"]
    assert 1 == here.wire.calls["StopTrainingJob"]
    final = trial.wait(progress=False)
    assert st.results.JobStatus.STOPPED is final.status
    assert final.billable_s is not None
    assert final.billable_s < 1_000
    found = st.estimate(spot, measured=trial, examples=100_000)
    assert found.step_s is not None
    assert pytest.approx(3.0, rel=0.02) == found.step_s.p50


def test_a_trial_neither_reads_nor_writes_checkpoints() -> None:
    for kept in (
        {"checkpoint": st.Checkpoint(s3_uri="s3://a-bucket/kept/")},
        {"spot": st.Spot(max_wait_s=9_000, checkpoint_s3_uri="s3://a-bucket/kept/")},
    ):
        assert trial_spec(job().replace(**kept)).checkpoints is None


def test_of_two_measurements_of_a_step_the_later_counts(log: Path, tmp_path: Path) -> None:
    first = _taught(log)
    (tmp_path / "slow.log").write_text(training_bar(total=3_125, step_s=2.0))
    later = calibration_from(read_log(tmp_path / "slow.log"), job(), first, examples=100_000)
    found = st.estimate(job(), calibration=later, examples=100_000)
    assert found.step_s is not None
    assert pytest.approx(2.0, rel=0.03) == found.step_s.p50


def test_a_trial_that_fails_says_why(here: World) -> None:
    short = (("Starting", 90.0), ("Downloading", 200.0), ("Training", 80.0), ("Uploading", 20.0))
    here.service.story_of = lambda _name: story("Failed", short)
    trial = here.session.submit(trial_spec(job()))
    with pytest.raises(st.errors.JobFailed, match="out of memory"):
        measure_steps(trial, job(), {"examples": 100_000})
    assert not here.wire.calls["StopTrainingJob"]


def test_an_interrupted_trial_is_stopped(here: World) -> None:
    here.service.story_of = lambda _name: story()
    trial = here.session.submit(trial_spec(job()))

    def interrupt() -> None:
        raise KeyboardInterrupt

    here.wire.interrupt(6, interrupt, after=False)
    with pytest.raises(KeyboardInterrupt):
        measure_steps(trial, job(), {"examples": 100_000})
    assert 1 == here.wire.calls["StopTrainingJob"]


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
        (("--measure", "--backend", "emulator"), 1, "Nothing was started"),
        (("--measure", "--log", "reviews.toml"), 2, "wanted one of them"),
        (("--log", "reviews.toml"), 1, "tells no steps"),
        (("--log", "absent.log"), 2, "absent.log"),
    ],
)
def test_what_cannot_be_measured_is_said(
    file: Path, emulator: Endpoint, options: tuple[str, ...], code: int, says: str
) -> None:
    state = {"SM_TRN_STATE": str(emulator.state)}
    ran = sm_trn("estimate", file.name, "--examples", "100000", *options, environment=state, cwd=file.parent)
    assert code == ran.returncode, ran.stderr
    assert says in ran.stderr
    assert "Traceback" not in ran.stderr

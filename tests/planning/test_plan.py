"""Plans: every choice can be launched and learns the same, the best is the best of the whole grid, and limits hold at the upper end."""

from __future__ import annotations

import itertools
import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner
from command import sm_trn
from jobs import LLAMA, SQUAD

import sm_trn as st
from sm_trn.cli.__main__ import cli
from sm_trn.core.catalog import instances
from sm_trn.core.catalog.instances import Chip, chips

SOME = ("ml.trn1.32xlarge", "ml.p4d.24xlarge", "ml.g5.*xlarge", "ml.p5.48xlarge")


@pytest.mark.parametrize("job", [SQUAD, LLAMA], ids=["squad", "llama"])
def test_every_choice_passes_check_and_learns_the_same(job: st.JobSpec) -> None:
    found = st.plan(job, only=SOME, counts=(1, 2))
    assert found.choices
    for choice in found.choices:
        assert not [each for each in st.check(choice.job) if each.severity is st.Severity.ERROR]
        assert found.global_batch == choice.estimate.configuration.global_batch
        assert choice.estimate.fits


def test_the_best_is_that_of_brute_force() -> None:
    """Every batch with every accumulation on two machines, each estimated and checked."""
    few = {"ml.p4d.24xlarge": 8, "ml.g5.12xlarge": 4}
    kept: list[tuple[float, float]] = []
    for instance, batch in itertools.product(few, (1, 2, 4, 8, 16, 32, 64)):
        steps = 256 / few[instance] / batch
        if steps < 1:
            continue
        sizes = {"per_device_train_batch_size": batch, "gradient_accumulation_steps": int(steps)}
        tried = SQUAD.replace(
            compute=st.Compute(instance), hyperparameters={**SQUAD.hyperparameters, **sizes}, max_run_s=86_400
        )
        found = st.estimate(tried)
        errors = [each for each in st.check(tried) if each.severity is st.Severity.ERROR]
        if found.fits and found.usd is not None and not errors:
            kept.append((found.usd.p50, found.wall_s.p50))
    for goal, order in (("cheapest", (0, 1)), ("fastest", (1, 0))):
        best = st.plan(SQUAD, limits=st.Limits(goal=goal), only=tuple(few), counts=(1,)).best
        assert pytest.approx(min(kept, key=lambda each: [each[at] for at in order])) == (best.usd.p50, best.wall_s.p50)


def test_limits_hold_at_the_upper_end() -> None:
    found = st.plan(SQUAD, limits=st.Limits(deadline_s=3600, max_usd=20), only=SOME)
    assert all(each.wall_s.p90 <= 3600 and each.usd.p90 <= 20 for each in found.choices)
    assert {"after the deadline", "over the budget"} <= {each.kind for each in found.excluded}


def test_every_exclusion_has_a_reason() -> None:
    found = st.plan(LLAMA, limits=st.Limits(deadline_s=3600))
    assert found.excluded
    assert all(each.reason for each in found.excluded)


def test_no_choice_of_the_front_is_beaten() -> None:
    found = st.plan(SQUAD, only=SOME)
    ordered = sorted(found.front, key=lambda each: each.wall_s.p50)
    costs = [each.usd.p50 for each in ordered]
    assert costs == sorted(costs, reverse=True)


def test_a_script_of_ones_own_stays_on_its_kind_of_accelerator(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("print('hello')\n")
    found = st.plan(SQUAD.replace(script=st.Script("train.py", source_dir=str(tmp_path))), only=SOME, counts=(1,))
    assert not [each for each in found.choices if "trn1" in each.name]
    assert any("own script may not run" in each.reason for each in found.excluded)


def test_spot_is_planned_beside_on_demand() -> None:
    spot = SQUAD.replace(spot=st.Spot(max_wait_s=200_000, checkpoint_s3_uri="s3://a-bucket/checkpoints"))
    found = st.plan(spot, only=["ml.p4d.24xlarge"], counts=(1,))
    assert {True, False} == {each.job.spot is not None for each in found.choices}


def test_a_pattern_without_a_machine_is_said() -> None:
    with pytest.raises(st.errors.UnknownName, match=r"ml\.trn1"):
        st.plan(SQUAD, only=["ml.q9.*"])


def test_the_command_saves_a_choice_that_can_be_launched(tmp_path: Path) -> None:
    (tmp_path / "squad.toml").write_text(st.dump_job(SQUAD, "toml"))
    saved = tmp_path / "chosen.toml"
    run = CliRunner().invoke(
        cli,
        ["estimate", "--plan", str(tmp_path / "squad.toml"), "--only", "ml.p4d.*", "--take", "1", "--save", str(saved)],
    )
    assert 0 == run.exit_code, run.output
    assert "Cheapest: ml.p4d.24xlarge × 1" in run.output
    (job,) = st.load_jobs(saved.read_text(), "toml")
    assert "ml.p4d.24xlarge" == job.compute.instance


BF16 = SQUAD.replace(hyperparameters={**SQUAD.hyperparameters, "bf16": True})
WITHOUT_BF16 = ("ml.p3.*", "ml.p3dn.*", "ml.g4dn.*", "ml.p2.*")


def test_a_machine_without_bf16_is_no_choice_for_a_job_that_asks_for_it() -> None:
    found = st.plan(BF16, only=[*WITHOUT_BF16, "ml.p4d.*"], counts=(1,))
    assert {"ml.p4d.24xlarge"} == {each.job.compute.instance for each in found.choices}
    said = {each.name: each.reason for each in found.excluded if each.kind == "without the precision"}
    assert "V100 has no bf16, which the job asks for" == said["ml.p3.8xlarge × 1"]
    assert "T4 has no bf16, which the job asks for" == said["ml.g4dn.xlarge × 1"]


def test_a_job_that_asks_for_no_bf16_may_run_without_it() -> None:
    half = SQUAD.replace(hyperparameters={**SQUAD.hyperparameters, "fp16": True})
    assert st.plan(half, only=["ml.p3.*"], counts=(1,)).choices


def test_a_job_on_a_machine_without_bf16_is_planned_on_others() -> None:
    found = st.plan(BF16.replace(compute=st.Compute("ml.p3.8xlarge")), only=["ml.g5.12xlarge"], counts=(1,))
    assert found.choices


@pytest.mark.parametrize("chip", [chip for chip in chips().values() if chip.bf16 is None], ids=lambda chip: chip.name)
def test_an_estimate_refuses_a_precision_that_the_chip_lacks(chip: Chip) -> None:
    machine = next(row.name for row in instances().values() if row.chip == chip.name and row.trains)
    with pytest.raises(st.errors.MissingFact, match=f"{chip.name} has no bf16, which the job asks for"):
        st.estimate(BF16.replace(compute=st.Compute(machine)))
    with pytest.raises(st.errors.MissingFact, match=f"{chip.name} has no fp8"):
        st.estimate(SQUAD.replace(compute=st.Compute(machine)), precision="fp8")


ENDLESS = SQUAD.replace(
    compute=st.Compute("ml.g5.xlarge"),
    hyperparameters={**SQUAD.hyperparameters, "num_train_epochs": 40_000, "per_device_train_batch_size": 4},
)


def test_no_fix_proposes_a_time_limit_that_the_service_refuses() -> None:
    found = st.estimate(ENDLESS)
    assert found.billable_s.p90 > 28 * 86_400
    (problem,) = [each for each in st.check(ENDLESS) if each.id == "EST001"]
    assert "SageMaker ends a job after 28 days" in str(problem)
    assert "max_run_s =" not in str(problem)


LONG = SQUAD.replace(hyperparameters={**SQUAD.hyperparameters, "num_train_epochs": 400}, max_run_s=3600)


def test_a_choice_has_the_time_that_it_is_estimated_to_take() -> None:
    """SageMaker stops a job at max_run_s: a choice that keeps one below its estimate would never end."""
    found = st.plan(LONG, only=["ml.p4d.24xlarge"], counts=(1,))
    (choice,) = found.choices
    assert 3600 < choice.estimate.billable_s.p90 < choice.job.max_run_s < 28 * 86_400
    assert not [each for each in st.check(choice.job) if each.id == "EST001"]
    assert f"Choice 1: max_run_s {choice.job.max_run_s:,} s, where the job has 3,600 s" in str(found)


def test_a_time_limit_that_the_service_refuses_becomes_what_the_job_needs() -> None:
    for limit in (40 * 86_400, 10 * 86_400):  # over the API's 28 days, over the 5 days that an account has
        (choice,) = st.plan(SQUAD.replace(max_run_s=limit), only=["ml.p4d.24xlarge"], counts=(1,)).choices
        assert choice.estimate.billable_s.p90 < choice.job.max_run_s < 86_400


def test_a_time_limit_that_is_enough_stays() -> None:
    (choice,) = st.plan(SQUAD.replace(max_run_s=80_000), only=["ml.p4d.24xlarge"], counts=(1,)).choices
    assert 80_000 == choice.job.max_run_s


def test_a_spot_job_still_waits_longer_than_it_runs() -> None:
    spot = LONG.replace(spot=st.Spot(max_wait_s=7200, checkpoint_s3_uri="s3://a-bucket/checkpoints"))
    found = st.plan(spot, only=["ml.p4d.24xlarge"], counts=(1,))
    assert {True, False} == {each.job.spot is not None for each in found.choices}
    assert all(each.job.spot is None or each.job.spot.max_wait_s == each.job.max_run_s + 3600 for each in found.choices)


def test_what_takes_longer_than_a_job_may_run_is_no_choice() -> None:
    longest = SQUAD.replace(hyperparameters={**SQUAD.hyperparameters, "num_train_epochs": 40_000})
    found = st.plan(longest, only=["ml.g5.xlarge", "ml.g4dn.xlarge"], counts=(1,))
    assert () == found.choices
    assert all("SageMaker ends a job after 28 days" in each.reason for each in found.excluded)


def test_with_json_what_was_saved_is_said_beside_it(tmp_path: Path) -> None:
    (tmp_path / "squad.toml").write_text(st.dump_job(SQUAD, "toml"))
    asked = (
        "estimate",
        "squad.toml",
        "--plan",
        "--only",
        "ml.p4d.*",
        "--take",
        "1",
        "--save",
        "chosen.toml",
        "--json",
    )
    done = sm_trn(*asked, cwd=tmp_path)
    assert "squad" == json.loads(done.stdout)["job"]
    assert "Saved chosen.toml: ml.p4d.24xlarge × 1. Next: sm-trn check chosen.toml\n" == done.stderr


def test_saving_says_which_time_limit_it_writes(tmp_path: Path) -> None:
    (tmp_path / "long.toml").write_text(st.dump_job(LONG, "toml"))
    saved = tmp_path / "chosen.toml"
    asked = ["estimate", "--plan", str(tmp_path / "long.toml"), "--only", "ml.p4d.*", "--take", "1"]
    run = CliRunner().invoke(cli, [*asked, "--save", str(saved)])
    (job,) = st.load_jobs(saved.read_text(), "toml")
    assert f"with max_run_s {job.max_run_s:,} s, where {tmp_path / 'long.toml'} has 3,600 s" in run.output


@pytest.mark.parametrize("wrong", [["--deadline", "soon"], ["--take", "one"], ["--take", "1"]])
def test_the_command_names_what_it_wanted(tmp_path: Path, wrong: list[str]) -> None:
    (tmp_path / "squad.toml").write_text(st.dump_job(SQUAD, "toml"))
    run = CliRunner().invoke(cli, ["estimate", "--plan", str(tmp_path / "squad.toml"), *wrong])
    assert 2 == run.exit_code
    assert wrong[0] in run.output


def test_the_estimate_command(tmp_path: Path) -> None:
    (tmp_path / "squad.toml").write_text(st.dump_job(SQUAD, "toml"))
    run = CliRunner().invoke(cli, ["estimate", str(tmp_path / "squad.toml")])
    assert 0 == run.exit_code, run.output
    assert "ESTIMATED, not measured" in run.output
    run = CliRunner().invoke(cli, ["estimate", str(tmp_path / "squad.toml"), "--json", "--epochs", "4"])
    assert '"estimated": true' in run.output


def test_prices_of_different_days_are_marked_in_the_ranking() -> None:
    found = st.plan(
        SQUAD, only=("ml.p3.*xlarge", "ml.g5.*xlarge", "ml.p4d.24xlarge", "ml.p4de.24xlarge"), region="us-west-2"
    )
    prices = [each.estimate.price for each in found.choices if each.estimate.price is not None]
    assert len({price.as_of for price in prices}) > 1
    rows = [line for line in str(found).splitlines() if re.match(r"[→ ] +\d+ ml\.", line)]
    assert [
        f"{each.estimate.price.as_of}{' i' * each.estimate.price.inferred}"
        for each in found.front
        if each.estimate.price
    ] == [re.sub(r".* (\d{4}-\d{2}(-\d{2})?( i)?)$", r"\1", row) for row in rows]
    assert "prices of different days" in str(found)


def test_a_plan_with_trainium_says_that_its_road_ended() -> None:
    assert "AWS ended PyTorch/XLA training" in str(st.plan(LLAMA, only=("ml.trn1.32xlarge",)))


def own(folder: Path, text: str, **changes: object) -> st.JobSpec:
    (folder / "train.py").write_text(text)
    return SQUAD.replace(script=st.Script("train.py", source_dir=str(folder)), **changes)


def test_a_script_that_names_torch_xla_is_planned_on_trainium(tmp_path: Path) -> None:
    job = own(tmp_path, "try:\n    import torch_xla.core.xla_model as xm\nexcept ImportError:\n    xm = None\n")
    found = st.plan(job, only=SOME, counts=(1,))
    assert [each for each in found.choices if "trn1" in each.name]
    assert "AWS ended PyTorch/XLA training" in str(found)


def test_the_caller_says_that_a_script_runs_on_xla(tmp_path: Path) -> None:
    found = st.plan(own(tmp_path, "print('hello')\n"), only=SOME, counts=(1,), runs_on_xla=True)
    assert [each for each in found.choices if "trn1" in each.name]
    for each in found.choices:
        assert not [problem for problem in st.check(each.job) if problem.severity is st.Severity.ERROR]


def test_a_hugging_face_script_gets_a_hugging_face_container_on_trainium(tmp_path: Path) -> None:
    hugging = st.HuggingFace("4.49.0", pytorch="2.5.1", python="py311")
    job = own(tmp_path, "print('hello')\n", framework=hugging, compute=st.Compute("ml.g5.12xlarge"))
    found = st.plan(job, only=["ml.trn1.32xlarge"], counts=(1,), runs_on_xla=True)
    assert {"huggingface-neuronx"} == {each.job.framework.family for each in found.choices}


def test_the_jobs_own_machine_is_always_in_the_answer(tmp_path: Path) -> None:
    job = own(tmp_path, "print('hello')\n", compute=st.Compute("ml.g6.48xlarge"))
    text = str(st.plan(job, counts=(1,)))
    assert re.search(r"ml\.g6\.48xlarge × 1 .*\(the job's own\)", text)
    chosen = str(st.plan(job.replace(compute=st.Compute("ml.p4d.24xlarge")), only=["ml.p4d.24xlarge"], counts=(1,)))
    assert re.search(r"1 ml\.p4d\.24xlarge × 1 ", chosen)
    assert "the job's own" in chosen

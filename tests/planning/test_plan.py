"""Plans: every choice can be launched and learns the same, the best is the best of the whole grid, and limits hold at the upper end."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from click.testing import CliRunner
from jobs import LLAMA, SQUAD

import sm_trn as st
from sm_trn.cli.__main__ import cli
from sm_trn.estimation.jobs.configure import with_batch
from sm_trn.planning import grid

SOME = ("ml.trn1.32xlarge", "ml.p4d.24xlarge", "ml.g5.*xlarge", "ml.p5.48xlarge")


@pytest.mark.parametrize("job", [SQUAD, LLAMA], ids=["squad", "llama"])
def test_every_choice_passes_check_and_learns_the_same(job: st.JobSpec) -> None:
    found = st.plan(job, only=SOME, counts=(1, 2))
    assert found.choices
    for choice in found.choices:
        assert not [each for each in st.check(choice.job) if each.severity is st.Severity.ERROR]
        assert found.global_batch == choice.estimate.configuration.global_batch
        assert choice.estimate.fits


@pytest.mark.parametrize("job", [SQUAD, LLAMA], ids=["squad", "llama"])
def test_the_best_is_that_of_brute_force(job: st.JobSpec) -> None:
    """Every batch with every accumulation on three machines, each estimated and checked."""
    few = ("ml.trn1.32xlarge", "ml.p4d.24xlarge", "ml.g5.12xlarge")
    kept: list[tuple[float, float]] = []
    for place in grid.places(few, (1,), (None,)):
        there = grid.moved(job, place)
        if isinstance(there, str):
            continue
        for batch, accumulation in itertools.product(range(1, 33), (1, 2, 4, 8, 16, 32, 64)):
            if batch * accumulation not in {2, 4, 8, 16, 32, 64}:  # what one worker's share can be on these machines
                continue
            tried = with_batch(there, batch, accumulation)
            found = st.estimate(tried)
            whole = 64 if job is LLAMA else 256
            if (
                whole != found.configuration.global_batch
                or not found.fits
                or found.usd is None
                or found.wall_s.p90 > 14_400
            ):
                continue
            if not any(each.severity is st.Severity.ERROR for each in st.check(tried)):
                kept.append((found.usd.p50, found.wall_s.p50))
    for goal, order in (("cheapest", (0, 1)), ("fastest", (1, 0))):
        best = st.plan(job, limits=st.Limits(goal=goal, deadline_s=14_400), only=few, counts=(1,)).best
        assert pytest.approx(min(kept, key=lambda each: [each[at] for at in order])) == (best.usd.p50, best.wall_s.p50)


def test_limits_hold_at_the_upper_end() -> None:
    found = st.plan(SQUAD, limits=st.Limits(deadline_s=3600, max_usd=20), only=SOME)
    assert all(each.wall_s.p90 <= 3600 and each.usd.p90 <= 20 for each in found.choices)
    assert {"after the deadline", "over the budget"} <= {each.kind for each in found.excluded}
    likely = st.plan(SQUAD, limits=st.Limits(deadline_s=3600, max_usd=20, at="likely"), only=SOME)
    assert len(found.choices) < len(likely.choices)


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
    with pytest.raises(st.UnknownName, match=r"ml\.trn1"):
        st.plan(SQUAD, only=["ml.q9.*"])


def test_the_command_saves_a_choice_that_can_be_launched(tmp_path: Path) -> None:
    (tmp_path / "squad.toml").write_text(st.dump_job(SQUAD, "toml"))
    saved = tmp_path / "chosen.toml"
    run = CliRunner().invoke(
        cli, ["plan", str(tmp_path / "squad.toml"), "--only", "ml.p4d.*", "--take", "1", "--save", str(saved)]
    )
    assert 0 == run.exit_code, run.output
    assert "Cheapest: ml.p4d.24xlarge × 1" in run.output
    (job,) = st.load_jobs(saved.read_text(), "toml")
    assert "ml.p4d.24xlarge" == job.compute.instance


@pytest.mark.parametrize("wrong", [["--deadline", "soon"], ["--counts", "one"], ["--take", "1"]])
def test_the_command_names_what_it_wanted(tmp_path: Path, wrong: list[str]) -> None:
    (tmp_path / "squad.toml").write_text(st.dump_job(SQUAD, "toml"))
    run = CliRunner().invoke(cli, ["plan", str(tmp_path / "squad.toml"), *wrong])
    assert 2 == run.exit_code
    assert wrong[0] in run.output


def test_the_estimate_command(tmp_path: Path) -> None:
    (tmp_path / "squad.toml").write_text(st.dump_job(SQUAD, "toml"))
    run = CliRunner().invoke(cli, ["estimate", str(tmp_path / "squad.toml")])
    assert 0 == run.exit_code, run.output
    assert "ESTIMATED, not measured" in run.output
    run = CliRunner().invoke(cli, ["estimate", str(tmp_path / "squad.toml"), "--json", "--epochs", "4"])
    assert '"estimated": true' in run.output

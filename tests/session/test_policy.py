"""A team's policy: what it does not allow is refused by check, by launch and in Python, before anything is sent."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jobs
import pytest
from command import sm_trn
from fakes.simulated_wire import World
from hypothesis import given
from hypothesis import strategies as some

import sm_trn as st
from sm_trn.core.errors import InvalidJobFile
from sm_trn.core.pricing.book import snapshot_book
from sm_trn.core.pricing.cost import ceiling
from sm_trn.core.session.policy import Policy, enforce, find_policy

BOOK = snapshot_book()
REGION = "us-west-2"


def price_of(machines: Any) -> Any:
    return BOOK.of(machines, REGION)


def ids(policy: Policy, job: st.JobSpec, region: str = REGION) -> list[str]:
    return [problem.id for problem in policy.problems(job, region, price_of)]


@pytest.fixture
def job(tmp_path: Path) -> st.JobSpec:
    (tmp_path / "train.py").write_text("print('loss: 1.0')\n")
    return st.JobSpec(
        name="plain",
        script=st.Script("train.py", source_dir=str(tmp_path)),
        framework=st.PyTorch("2.8.0", python="py312"),
        compute=st.Compute("ml.g5.xlarge"),
        max_run_s=3600,
    )


def test_a_policy_without_limits_allows_every_job(job: st.JobSpec) -> None:
    assert [] == ids(Policy(), job)


@pytest.mark.parametrize(
    ("policy", "found"),
    [
        (Policy(max_usd=1.0), "POLICY001"),
        (Policy(types=("ml.g6.*",)), "POLICY002"),
        (Policy(regions=("eu-west-1",)), "POLICY003"),
        (Policy(tags=("team",)), "POLICY004"),
        (Policy(spot_only=True), "POLICY005"),
    ],
)
def test_each_limit_refuses_what_it_names(job: st.JobSpec, policy: Policy, found: str) -> None:
    assert [found] == ids(policy, job)


def test_what_keeps_every_limit_is_allowed(job: st.JobSpec) -> None:
    policy = Policy(max_usd=5, types=("ml.g5.*", "ml.g6.*"), regions=(REGION,), tags=("team",), spot_only=True)
    spot = st.Spot(max_wait_s=7200, checkpoint_s3_uri="s3://bucket/checkpoints")
    assert [] == ids(policy, job.replace(tags={"team": "search"}, spot=spot))


@given(limit=some.decimals("0.01", "500", places=2), seconds=some.integers(60, 400_000), count=some.integers(1, 4))
def test_a_job_is_refused_exactly_when_it_can_cost_more(limit: Any, seconds: int, count: int) -> None:
    job = jobs.SQUAD.replace(compute=st.Compute("ml.g5.xlarge", count=count), max_run_s=seconds)
    most = ceiling(job, price_of(job.compute.machines))
    assert (most is not None and most > limit) == (["POLICY001"] == ids(Policy(max_usd=float(limit)), job))


def test_without_a_price_nobody_knows_and_the_job_is_refused(job: st.JobSpec) -> None:
    dear = job.replace(compute=st.Compute("ml.m4.xlarge"))
    assert ["POLICY001"] == ids(Policy(max_usd=1000), dear)


def test_the_file_is_found_upwards_and_the_nearest_holds(tmp_path: Path) -> None:
    below = tmp_path / "team" / "project"
    below.mkdir(parents=True)
    assert find_policy(below) is None
    (tmp_path / "sm_trn.toml").write_text("max_usd = 100\n")
    assert Policy(max_usd=100) == find_policy(below)
    (tmp_path / "team" / "sm_trn.toml").write_text('tags = ["team"]\n[guard]\nstall_s = 600\n')
    assert Policy(tags=("team",), guard=st.Guard(stall_s=600)) == find_policy(below)


def test_the_variable_names_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sm_trn.toml").write_text("max_usd = 100\n")
    (tmp_path / "other.toml").write_text("max_usd = 7\n")
    monkeypatch.setenv("SM_TRN_POLICY", str(tmp_path / "other.toml"))
    assert Policy(max_usd=7) == find_policy(tmp_path)
    monkeypatch.setenv("SM_TRN_POLICY", str(tmp_path / "nothing.toml"))
    with pytest.raises(st.errors.NotConfigured, match="SM_TRN_POLICY"):
        find_policy(tmp_path)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("max_us = 3\n", 'did you mean "max_usd"'),
        ('max_usd = "3"\n', "wanted: a number"),
        ("max_usd = 0\n", "wanted: more than 0"),
        ('types = ["ml.z9.*"]\n', "wanted: a pattern of instance types"),
        ("tags = team\n", "not valid TOML"),
        ("[guard]\nstall = 3\n", "stall_s"),
    ],
)
def test_a_policy_that_is_none_is_told_with_its_line(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "sm_trn.toml").write_text(text)
    with pytest.raises(InvalidJobFile) as caught:
        find_policy(tmp_path)
    assert said in str(caught.value)
    assert "sm_trn.toml" in str(caught.value)


def test_a_guard_of_the_policy_is_that_of_jobs_without_one(tmp_path: Path, job: st.JobSpec) -> None:
    (tmp_path / "sm_trn.toml").write_text("[guard]\nstall_s = 600\n")
    own = job.replace(guard=st.Guard(stall_s=60))
    found = enforce([job, own], tmp_path, REGION, price_of)
    assert [600, 60] == [each.guard.stall_s for each in found if each.guard]


@given(limit=some.integers(1, 400), hours=some.lists(some.integers(1, 20), min_size=1, max_size=5))
def test_a_launch_is_refused_exactly_when_its_jobs_can_cost_more_together(limit: int, hours: list[int]) -> None:
    launch = [jobs.SQUAD.replace(compute=st.Compute("ml.g5.xlarge"), max_run_s=3600 * each) for each in hours]
    each = [ceiling(job, price_of(job.compute.machines)) for job in launch]
    most = sum(usd for usd in each if usd is not None)
    found = list(Policy(max_usd=limit).launch_problems(launch, REGION, price_of))
    assert (most > limit) == bool(found)
    alone = {usd for usd in each if usd is not None and usd > limit}
    assert len(found) <= max(1, len(alone))  # a job that is refused alone is told, and not the sum as well


def test_the_jobs_of_a_grid_are_one_launch(
    here: World, spec: st.JobSpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    once = here.session.ceiling(spec)
    assert once is not None
    monkeypatch.setenv("SM_TRN_POLICY", str(tmp_path / "policy.toml"))
    (tmp_path / "policy.toml").write_text(f"max_usd = {float(once) * 2.5}\n")
    grid = st.grid(spec, {"rate": [1, 2, 3]})
    with pytest.raises(
        st.errors.InvalidJob, match="the 3 jobs of the launch can cost more together than is allowed"
    ) as caught:
        here.session.submit_all(grid)
    assert f"got at most ${float(once) * 3:,.2f}" in str(caught.value)
    assert "launch fewer jobs" in str(caught.value)
    assert 0 == sum(here.wire.calls.values())
    assert 2 == len(here.session.submit_all(grid[:2]))


def test_a_launch_in_python_is_refused_before_anything_is_sent(
    here: World, spec: st.JobSpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SM_TRN_POLICY", str(tmp_path / "policy.toml"))
    (tmp_path / "policy.toml").write_text('tags = ["team"]\n')
    with pytest.raises(st.errors.InvalidJob, match="POLICY004"):
        here.session.submit_all([spec.replace(tags={"team": "search"}), spec])
    assert 0 == sum(here.wire.calls.values())
    assert here.session.submit(spec.replace(tags={"team": "search"}))


@pytest.fixture
def folder(tmp_path: Path, job: st.JobSpec) -> Path:
    (tmp_path / "job.toml").write_text(st.dump_job(job.replace(script=st.Script("train.py", source_dir=".")), "toml"))
    (tmp_path / "sm_trn.toml").write_text('max_usd = 1\ntags = ["team"]\n')
    return tmp_path


def test_check_refuses_and_shows_where(folder: Path) -> None:
    done = sm_trn("check", "job.toml", "--json", cwd=folder)
    found = {problem["id"]: problem for problem in json.loads(done.stdout)[0]["problems"]}
    assert 1 == done.returncode
    assert {"POLICY001", "POLICY004"} == {name for name in found if name.startswith("POLICY")}
    assert 2 == found["POLICY001"]["line"]


def test_launch_refuses_and_starts_nothing(folder: Path) -> None:
    done = sm_trn("launch", "job.toml", "--dry-run", cwd=folder)
    assert 1 == done.returncode
    assert "POLICY004" in done.stderr
    assert "Nothing was started" in done.stderr


@pytest.mark.parametrize("more", [(), ("--dry-run",)])
def test_a_grid_of_the_shell_is_one_launch(folder: Path, more: tuple[str, ...]) -> None:
    (folder / "sm_trn.toml").write_text("max_usd = 3\n")
    (folder / "train.py").write_text(
        "import argparse\nparser = argparse.ArgumentParser()\nparser.add_argument('--lr')\nparser.parse_args()\n"
    )
    done = sm_trn("launch", "job.toml", "--grid", "lr=1,2,3", *more, cwd=folder)
    assert 1 == done.returncode
    assert "POLICY001" in done.stderr
    assert "the 3 jobs of the launch can cost more together" in done.stderr
    assert "3 jobs: 1 problem, nothing was started" in done.stderr
    assert 0 == sm_trn("launch", "job.toml", "--grid", "lr=1,2", "--dry-run", cwd=folder).returncode


def test_a_rehearsal_costs_nothing_and_is_allowed(folder: Path) -> None:
    assert 0 == sm_trn("launch", "job.toml", "--dry-run", "--backend", "emulator", cwd=folder).returncode


def test_a_policy_cannot_be_ignored(folder: Path) -> None:
    done = sm_trn("check", "job.toml", "--ignore", "POLICY001", cwd=folder)
    assert 2 == done.returncode
    assert "cannot be ignored" in done.stderr


def test_a_broken_policy_is_no_reason_to_launch(folder: Path) -> None:
    (folder / "sm_trn.toml").write_text("max_usd = \n")
    for command in ("check", "launch"):
        done = sm_trn(command, "job.toml", cwd=folder)
        assert 2 == done.returncode
        assert "sm_trn.toml:1" in done.stderr

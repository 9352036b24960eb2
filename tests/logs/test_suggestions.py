"""Numbers that a script prints in its own way are offered as rules, which read what stands there; nothing is read with them before."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as some

from sm_trn.cli.jobs.logs import _suggest
from sm_trn.core.jobfile.in_toml import parse
from sm_trn.core.logs import LogEvent
from sm_trn.core.logs.suggestions import Suggester
from sm_trn.core.specs.metrics import MetricRule

CORPUS = Path(os.environ.get("SM_TRN_CORPUS", Path(__file__).resolve().parents[3] / "shared" / "corpus"))


def events(lines: Sequence[str]) -> list[LogEvent]:
    return [LogEvent(float(at), "algo-1", line) for at, line in enumerate(lines)]


def offered(lines: Sequence[str]) -> dict[str, float]:
    suggester = Suggester()
    suggester.hear(events(lines))
    return {each.rule.name: each.value for each in suggester.suggestions()}


def epochs(form: str) -> list[str]:
    return [form.format(epoch=at, loss=2 / at, share=50 + at) for at in range(1, 5)]


@pytest.mark.parametrize(
    ("form", "found"),
    [
        (
            "Epoch {epoch}/4 | train loss: {loss:.3f} | val acc: {share} %",
            {"epoch": 4, "train_loss": 0.5, "val_acc": 54},
        ),
        ("step {epoch}/100 loss={loss:.2e}", {"step": 4, "loss": 0.5}),
        ("Train Epoch: {epoch} [{share}/60000 (0%)]#011Loss: {loss:.6f}", {"train_epoch": 4, "loss": 0.5}),
        ("[rank 0] step {epoch} loss {loss:.4f} lr 1e-4", {"step": 4, "loss": 0.5}),
        ("{epoch}/4 [====>...] - ETA: 0s - loss: {loss:.4f} - accuracy: 0.{share}", {"loss": 0.5, "accuracy": 0.54}),
        ("| end of epoch {epoch} | time: 5.00s | valid loss {loss:.2f}", {"valid_loss": 0.5}),
    ],
)
def test_numbers_with_names_are_offered(form: str, found: dict[str, float]) -> None:
    assert found.items() <= offered(epochs(form)).items()


@pytest.mark.parametrize("between", ["   ", " | ", "\t"])
def test_columns_of_a_table_are_offered(between: str) -> None:
    rows = [between.join([str(at), f"{2 / at:.4f}", f"0.{50 + at}", "00:12"]) for at in range(1, 5)]
    assert {"epoch": 4.0, "train_loss": 0.5, "accuracy": 0.54} == offered(
        [between.join(["epoch", "train_loss", "accuracy", "time"]), *rows]
    )


@pytest.mark.parametrize(
    "line",
    [
        "{{'loss': {at}.5, 'epoch': {at}}}",  # read without a rule
        "port: 8080 batch size: 32",  # a setting
        "2024-05-01 10:00:0{at} INFO started",
        "[{at}/9] Building CXX object",
    ],
)
def test_what_is_read_anyway_or_never_changes_is_not_offered(line: str) -> None:
    assert {} == offered([line.format(at=at) for at in range(1, 9)])


def test_a_loss_that_is_no_number_is_offered_too() -> None:
    assert "nan" == str(offered(["loss: 0.5", "loss: 0.4", "loss: nan"])["loss"])


def test_the_command_writes_rules_as_a_job_file_has_them(capsys: pytest.CaptureFixture[str]) -> None:
    suggester = Suggester()
    suggester.hear(events(epochs("Epoch {epoch}/4 | train loss: {loss:.3f} | val acc: {share} %")))
    _suggest(suggester.suggestions(), as_json=False)
    metrics = parse(capsys.readouterr().out)[0]["metrics"]
    assert [each.rule for each in suggester.suggestions()] == [MetricRule(**rule) for rule in metrics]
    _suggest((), as_json=False)
    assert "No line of the script" in capsys.readouterr().err


@given(some.lists(some.text(max_size=80), max_size=30))
def test_any_text_is_looked_through(lines: list[str]) -> None:
    offered(lines)

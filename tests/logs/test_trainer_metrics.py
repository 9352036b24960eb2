"""The shipped metric rules against Hugging Face's Trainer itself: what it prints, in both of its forms, is read as it was logged."""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Mapping
from typing import Any

import pytest

import sm_trn as st
from sm_trn.core.logs.metrics import MetricReader

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
NAMES = {
    "summary_train_runtime": "train_runtime", "summary_train_samples_per_second": "train_samples_per_second",
    "summary_train_steps_per_second": "train_steps_per_second", "summary_train_loss": "train_loss", "train_loss": "loss",
}  # fmt: skip


def service(line: str) -> dict[str, float]:
    """What SageMaker keeps of a line: of each rule the first group, as a number."""
    rules = (*st.TRAINER_METRICS, *st.specs.EVALUATION_METRICS)
    found = {rule.name: re.search(rule.regex, line) for rule in rules}
    return {name: float(match[1]) for name, match in found.items() if match is not None}


def wanted(logs: Mapping[str, Any]) -> dict[str, float]:
    names = {rule.name: NAMES.get(rule.name, rule.name) for rule in (*st.TRAINER_METRICS, *st.specs.EVALUATION_METRICS)}
    return {name: logs[key] for name, key in names.items() if key in logs}


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[dict[str, Any]], list[str]]:
    """What a Trainer logged, and the lines that it printed: losses from 1e+06 down, a learning rate below 1e-05."""

    class Model(torch.nn.Module):  # type: ignore[misc,name-defined]  # torch is loaded on use
        def __init__(self) -> None:
            super().__init__()
            self.weight = torch.nn.Parameter(torch.ones(1))

        def forward(self, x: Any, labels: Any) -> Any:
            loss = ((self.weight * x - labels) ** 2).mean()
            return {"loss": loss, "logits": self.weight * x}

    class Kept(transformers.TrainerCallback):  # type: ignore[misc,name-defined]  # as above
        def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **more: Any) -> None:
            del args, state, control, more
            kept.append(dict(logs))

    kept: list[dict[str, Any]] = []
    rows = [{"x": torch.tensor([1.0]), "labels": torch.tensor([scale])} for scale in (1000.0, 1.001, 1.0, 0.0)]
    arguments = transformers.TrainingArguments(
        output_dir=str(tmp_path_factory.mktemp("trainer")), per_device_train_batch_size=1, num_train_epochs=2, logging_steps=1,
        learning_rate=9e-06, eval_strategy="epoch", save_strategy="no", report_to=[], use_cpu=True, disable_tqdm=True,
        dataloader_pin_memory=False,
    )  # fmt: skip
    trainer = transformers.Trainer(Model(), arguments, train_dataset=rows, eval_dataset=rows[1:3], callbacks=[Kept()])
    with contextlib.redirect_stdout(io.StringIO()) as said:
        trainer.train()
    return kept, [line for line in said.getvalue().splitlines() if line.startswith("{")]


def test_what_the_trainer_prints_is_read_to_its_digits(trained: tuple[list[dict[str, Any]], list[str]]) -> None:
    logged, printed = trained
    assert len(logged) == len(printed) > 8
    for logs, line in zip(logged, printed, strict=True):
        assert {name: float(f"{value:.4g}") for name, value in wanted(logs).items()} == service(line), line


def test_what_transformers_4_prints_is_read_whole(trained: tuple[list[dict[str, Any]], list[str]]) -> None:
    """It prints the dict itself: numbers without quotes, in Python's own digits."""
    for logs in trained[0]:
        assert wanted(logs) == service(str(logs))


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_a_loss_that_is_no_number_is_read(value: float, capsys: pytest.CaptureFixture[str]) -> None:
    """As the Trainer's own printer words it, in both forms."""
    state = transformers.TrainerState(is_local_process_zero=True)
    logs = {"loss": value, "grad_norm": value, "learning_rate": 5e-05, "epoch": 0.01}
    transformers.trainer_callback.PrinterCallback().on_log(None, state, None, logs=dict(logs))
    for line in (capsys.readouterr().out, str(logs)):
        read = service(line)
        assert str(value) == str(read["train_loss"])
        assert (5e-05, 0.01) == (read["learning_rate"], read["epoch"])


def test_the_numbers_have_exponents(trained: tuple[list[dict[str, Any]], list[str]]) -> None:
    text = "\n".join(trained[1])
    assert re.search(r"e-0\d", text)
    assert re.search(r"e\+0\d", text)


def test_the_service_reads_what_we_read(trained: tuple[list[dict[str, Any]], list[str]]) -> None:
    reader = MetricReader((*st.TRAINER_METRICS, *st.specs.EVALUATION_METRICS)).rules
    assert [service(line) for line in trained[1]] == [reader.values(line) for line in trained[1]]

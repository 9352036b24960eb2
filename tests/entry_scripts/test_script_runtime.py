"""Which device is chosen, and what the loop of our own does on it."""

from __future__ import annotations

import re
import sys
from types import SimpleNamespace
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("accelerate")
pytest.importorskip("datasets")

import train_text_classification as script
from accelerate import Accelerator
from datasets import Dataset
from kit.common import choose, load_tokenizer, set_environment
from recording_torch_xla import RecordingTorchXla
from sm_spot import UsageError, place, seed

# --- choosing ---


def test_xla_is_not_chosen_because_it_can_be_imported() -> None:
    environ: dict[str, str] = {}
    with RecordingTorchXla().installed():
        assert "cpu" == choose(environ)
        set_environment(environ)
    assert "0" == environ["USE_TORCH_XLA"]  # else accelerate and transformers would


@pytest.mark.parametrize(
    "evidence", [{"PJRT_DEVICE": "NEURON"}, {"XRT_WORKERS": "localservice:0;host:43857"}, {"NEURON_RT_NUM_CORES": "2"}]
)
def test_xla_is_chosen_on_evidence_and_only_where_it_can_be_imported(evidence: dict[str, str]) -> None:
    assert "cpu" == choose(evidence)
    with RecordingTorchXla().installed():
        assert "xla" == choose(evidence)


def test_the_user_has_the_last_word() -> None:
    with RecordingTorchXla().installed():
        assert "cpu" == choose({"PJRT_DEVICE": "NEURON", "SM_TRN_RUNTIME": "cpu"})
        assert "xla" == choose({"SM_TRN_RUNTIME": "xla"})


def test_an_unknown_device_is_a_mistake() -> None:
    with pytest.raises(UsageError, match="SM_TRN_RUNTIME: got 'tpu', wanted one of cpu, cuda, neuron, xla"):
        choose({"SM_TRN_RUNTIME": "tpu"})


def test_places_are_read_from_torchrun_and_from_mpi() -> None:
    torchrun = {"RANK": "3", "WORLD_SIZE": "4", "LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "2"}
    mpi = {f"OMPI_COMM_WORLD_{name}": torchrun[ours] for name, ours in (
        ("RANK", "RANK"), ("SIZE", "WORLD_SIZE"), ("LOCAL_RANK", "LOCAL_RANK"), ("LOCAL_SIZE", "LOCAL_WORLD_SIZE"))}  # fmt: skip
    assert (3, 4, 1, 2, 1, 2) == place(torchrun) == place(mpi)
    assert (0, 1, 0, 1, 0, 1) == place({})


@pytest.mark.parametrize(
    ("environ", "interface"),
    [
        ({"LOCAL_WORLD_SIZE": "2", "WORLD_SIZE": "2"}, "lo"),
        ({"LOCAL_WORLD_SIZE": "2", "WORLD_SIZE": "4", "MASTER_ADDR": "127.0.0.1"}, "lo"),
        ({"LOCAL_WORLD_SIZE": "2", "WORLD_SIZE": "4", "MASTER_ADDR": "algo-1"}, None),
        ({"LOCAL_WORLD_SIZE": "2", "WORLD_SIZE": "2", "GLOO_SOCKET_IFNAME": "eth0"}, "eth0"),
    ],
)
@pytest.mark.skipif(sys.platform != "linux", reason="the loopback interface is called lo on Linux")
def test_gloo_uses_the_loopback_where_all_workers_are_here(environ: dict[str, str], interface: str | None) -> None:
    own = {**environ, "SM_TRN_RUNTIME": "cpu"}
    set_environment(own)
    assert interface == own.get("GLOO_SOCKET_IFNAME")


def test_neuron_defaults_are_set_and_the_jobs_own_are_kept() -> None:
    environ = {"NEURON_CC_FLAGS": "--my-own", "SM_TRN_RUNTIME": "xla"}
    set_environment(environ)
    assert "--my-own" == environ["NEURON_CC_FLAGS"]
    assert "1" == environ["NEURON_FUSE_SOFTMAX"]


def test_dropout_depends_on_seed_step_and_worker_only() -> None:
    def drawn(number: int, step: int, rank: int) -> float:
        seed(number, step, rank)
        return float(torch.rand(()))

    assert drawn(1, 2, 0) == drawn(1, 2, 0)
    assert 4 == len({drawn(1, 2, 0), drawn(2, 2, 0), drawn(1, 3, 0), drawn(1, 2, 1)})


# --- the whole loop, with the smallest model ---


class Words(torch.nn.Module):  # type: ignore[misc,name-defined]  # torch comes from importorskip, untyped
    """The smallest classifier: a mean of word vectors."""

    def __init__(self) -> None:
        super().__init__()
        self.vectors = torch.nn.Embedding(400, 2)

    def forward(self, input_ids: Any, attention_mask: Any) -> Any:
        weights = attention_mask[..., None].float()
        return SimpleNamespace(logits=(self.vectors(input_ids) * weights).sum(1) / weights.sum(1))


def make_run(*flags: str) -> Any:
    args = script.parse_arguments(["--per_device_batch_size", "4", "--epochs", "3", "--bf16", "False", *flags])
    tokenizer = load_tokenizer("tiny-random")
    parts = {}
    for name, texts, labels in (
        ("train", ["good", "bad"] * 9, [1, 0] * 9),
        ("validation", ["good", "bad", "bad", "bad", "bad"], [1, 0, 0, 0, 0]),
    ):
        ids = tokenizer(texts)["input_ids"]
        parts[name] = Dataset.from_dict({"input_ids": ids, "labels": labels, "length": [len(one) for one in ids]})
    torch.manual_seed(0)
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=args.gradient_accumulation_steps)
    return script.Run(args, accelerator, Words(), parts, tokenizer)


def test_two_micro_batches_make_the_step_and_the_loss_of_one_batch(capsys: pytest.CaptureFixture[str]) -> None:
    ends = []
    for batch, micro_batches in (("8", "1"), ("4", "2")):
        sizes = ("--per_device_batch_size", batch, "--gradient_accumulation_steps", micro_batches)
        # Clipping and Adam would both hide a gradient of the wrong size.
        run = make_run(*sizes, "--logging_steps", "1", "--epochs", "1", "--max_grad_norm", "0")
        optimizer = torch.optim.SGD(run.model.parameters(), lr=0.1)
        run.optimizer = run.accelerator.prepare(optimizer)
        run.scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda _: 1.0)
        script.fit(run)
        printed = capsys.readouterr().out
        losses = [float(found) for found in re.findall(r"'loss': ([0-9.]+)", printed)]
        ends.append((losses, run.model.vectors.weight.detach().clone()))
    assert ends[0][0] == pytest.approx(ends[1][0], abs=2e-6)  # printed with six decimals
    assert torch.allclose(ends[0][1], ends[1][1], atol=1e-6)


def test_only_whole_steps_are_taken_and_the_model_is_judged_between_epochs(capsys: pytest.CaptureFixture[str]) -> None:
    run = make_run("--logging_steps", "5", "--gradient_accumulation_steps", "2")
    script.fit(run)
    assert 6 == run.step  # 18 examples in steps of 8, the last two dropped: 2 steps in each of 3 epochs
    assert 2 == capsys.readouterr().out.count("eval_accuracy")


def test_the_first_step_uses_the_first_learning_rate(capsys: pytest.CaptureFixture[str]) -> None:
    run = make_run("--learning_rate", "0.1", "--warmup_ratio", "0", "--logging_steps", "1", "--epochs", "1")
    assert 0.1 == run.optimizer.param_groups[0]["lr"]
    script.fit(run)
    rates = [line for line in capsys.readouterr().out.splitlines() if "learning_rate" in line]
    assert "'learning_rate': 0.075" in rates[0]
    assert "'learning_rate': 0.0," in rates[-1]


def test_accuracy_counts_every_example_once() -> None:
    run = make_run()
    with torch.no_grad():
        run.model.vectors.weight.copy_(torch.tensor([[1.0, 0.0]]).expand(400, 2))  # always the first label, "0"
    line = script.evaluate(run)
    assert (5, 0.8) == (line["eval_samples"], line["eval_accuracy"])


def test_a_loss_that_is_not_finite_ends_the_run() -> None:
    run = make_run()
    with torch.no_grad():
        run.model.vectors.weight.fill_(float("nan"))
    with pytest.raises(UsageError, match="loss: got nan, wanted a finite number; lower the learning rate"):
        script.fit(run)

"""Which runtime is chosen, and the order in which a step does its work."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

torch = pytest.importorskip("torch")

import train_text_classification as script
from fork_server import TORCH, python_with
from kit.data import encode
from kit.device import TorchRuntime, XlaRuntime, choose, detect, set_environment
from kit.job import Console
from kit.loop import optimizer_step, prepare
from recording_torch_xla import RecordingTorchXla
from sm_spot import StopRequest, UsageError, place, seed

from launch import QUIET

HERE = Path(__file__).parent
STEP = ["reduce", "clip", "optimizer", "scheduler", "zero", "cut"]


# --- choosing ---


def test_xla_is_not_chosen_because_it_can_be_imported() -> None:
    with RecordingTorchXla().installed():
        assert "cpu" == choose({})


@pytest.mark.parametrize(
    "evidence",
    [
        {"PJRT_DEVICE": "NEURON"},
        {"GPU_NUM_DEVICES": "8"},
        {"XRT_WORKERS": "localservice:0;host:43857"},
        {"NEURON_RT_NUM_CORES": "2"},
        {"SM_FRAMEWORK_PARAMS": json.dumps({"sagemaker_training_compiler_enabled": True})},
    ],
)
def test_xla_is_chosen_on_evidence_and_only_where_it_can_be_imported(evidence: dict[str, str]) -> None:
    assert "cpu" == choose(evidence)
    with RecordingTorchXla().installed():
        assert "xla" == choose(evidence)


def test_the_user_has_the_last_word() -> None:
    with RecordingTorchXla().installed():
        assert "cpu" == choose({"PJRT_DEVICE": "NEURON", "SM_TRN_RUNTIME": "cpu"})
        assert "xla" == choose({"SM_TRN_RUNTIME": "xla"})


def test_an_unknown_runtime_is_a_mistake() -> None:
    with pytest.raises(UsageError, match="SM_TRN_RUNTIME: got 'tpu', wanted one of cpu, cuda, smddp, neuron, xla"):
        choose({"SM_TRN_RUNTIME": "tpu"})


def test_smddp_without_a_gpu_is_the_cpu() -> None:
    assert "cpu" == choose({"SM_FRAMEWORK_PARAMS": json.dumps({"sagemaker_distributed_dataparallel_enabled": True})})


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


# --- steps ---


class Recorded:
    """A real optimizer, scheduler and parameter that write down when they are used."""

    def __init__(self, calls: list[str]) -> None:
        self.weight = torch.nn.Parameter(torch.zeros(4))
        self.weight.grad = torch.full((4,), 100.0)
        self._calls = calls
        self.param_groups = [{"params": [self.weight]}]

    def step(self) -> None:
        norm = float(self.weight.grad.norm())
        self._calls += ["clip"] * (norm < 1.001) + ["optimizer"]

    def zero_grad(self) -> None:
        self._calls.append("zero")


def one_step(runtime: Any, calls: list[str], max_grad_norm: float = 1.0) -> list[str]:
    scheduler = SimpleNamespace(step=lambda: calls.append("scheduler"))
    calls.clear()
    optimizer_step(runtime, Recorded(calls), scheduler, max_grad_norm)
    return calls


@pytest.mark.parametrize("old", [True, False])
def test_a_step_on_xla_reduces_clips_steps_schedules_zeroes_and_cuts(*, old: bool) -> None:
    with RecordingTorchXla(old=old, world_size=2).installed() as xla:
        assert STEP == one_step(XlaRuntime({}), xla.calls)


def test_a_step_on_torch_has_the_same_order() -> None:
    calls: list[str] = []
    assert STEP[1:-1] == one_step(TorchRuntime("cpu", {}), calls)


def test_norm_zero_does_not_clip() -> None:
    calls: list[str] = []
    assert "clip" not in one_step(TorchRuntime("cpu", {}), calls, 0.0)


@pytest.mark.parametrize("old", [True, False])
def test_rank_and_world_are_found_under_old_and_new_names(*, old: bool) -> None:
    with RecordingTorchXla(old=old, rank=5, world_size=8).installed():
        runtime = XlaRuntime({})
    assert (5, 8, False) == (runtime.rank, runtime.world_size, runtime.is_main)


def test_neuron_defaults_are_set_and_the_jobs_own_are_kept() -> None:
    environ = {"NEURON_CC_FLAGS": "--my-own", "SM_TRN_RUNTIME": "xla"}
    with RecordingTorchXla().installed():
        detect(environ)
    assert "--my-own" == environ["NEURON_CC_FLAGS"]
    assert "1" == environ["NEURON_FUSE_SOFTMAX"]


def test_dropout_depends_on_seed_step_and_worker_only() -> None:
    def drawn(number: int, step: int, rank: int) -> float:
        seed(number, step, rank)
        return float(torch.rand(()))

    assert drawn(1, 2, 0) == drawn(1, 2, 0)
    assert 4 == len({drawn(1, 2, 0), drawn(2, 2, 0), drawn(1, 3, 0), drawn(1, 2, 1)})


# --- the whole loop on the recording device ---


class Words(torch.nn.Module):  # type: ignore[misc,name-defined]  # torch comes from importorskip, untyped
    """The smallest classifier: a mean of word vectors."""

    def __init__(self) -> None:
        super().__init__()
        self.vectors = torch.nn.Embedding(50, 2)

    def forward(self, input_ids: Any, attention_mask: Any) -> Any:
        weights = attention_mask[..., None].float()
        return SimpleNamespace(logits=(self.vectors(input_ids) * weights).sum(1) / weights.sum(1))


class Letters:
    pad_token_id = 0

    def __call__(self, texts: list[str], **_: Any) -> dict[str, list[list[int]]]:
        return {"input_ids": [[ord(letter) % 49 + 1 for letter in text] for text in texts]}


def make_run(runtime: Any, *flags: str) -> Any:
    args = script.parse_arguments(["--per_device_batch_size", "4", "--epochs", "3", *flags])
    args.bf16 = False
    parts = []
    for texts, labels in ((["good", "bad"] * 9, [1, 0] * 9), (["good", "bad", "bad", "bad", "bad"], [1, 0, 0, 0, 0])):
        parts.append(encode(Letters(), texts, max_length=8, labels=labels))
    torch.manual_seed(0)
    return script.Run(args, runtime, prepare(runtime, Words()), parts, 0)


def fit(run: Any, *, is_main: bool = True) -> None:
    script.fit(run, Console(is_main=is_main), None, StopRequest())


def test_every_batch_is_uploaded_by_the_device_loader_and_every_step_is_cut() -> None:
    with RecordingTorchXla().installed() as xla:
        run = make_run(XlaRuntime({}), "--logging_steps", "5")
        fit(run)
    assert 12 == run.step  # 18 examples in steps of 4, the last two dropped: 4 steps in each of 3 epochs
    assert 12 == xla.calls.count("cut") == xla.calls.count("reduce")
    assert 12 + 2 * 2 == xla.calls.count("upload")  # two batches in each of the two evaluations between epochs


def test_with_accumulation_gradients_are_reduced_once_a_step() -> None:
    with RecordingTorchXla().installed() as xla:
        run = make_run(XlaRuntime({}), "--gradient_accumulation_steps", "2", "--epochs", "1")
        fit(run)
    assert 2 == xla.calls.count("reduce") == xla.calls.count("cut")
    assert 4 == xla.calls.count("upload")


def test_two_micro_batches_make_the_step_and_the_loss_of_one_batch(capsys: pytest.CaptureFixture[str]) -> None:
    ends = []
    for batch, micro_batches in (("8", "1"), ("4", "2")):
        sizes = ("--per_device_batch_size", batch, "--gradient_accumulation_steps", micro_batches)
        # Clipping and Adam would both hide a gradient of the wrong size.
        run = make_run(detect({}), *sizes, "--logging_steps", "1", "--epochs", "1", "--max_grad_norm", "0")
        run.optimizer = torch.optim.SGD(run.model.parameters(), lr=0.1)
        run.scheduler = torch.optim.lr_scheduler.LambdaLR(run.optimizer, lambda _: 1.0)
        fit(run)
        printed = capsys.readouterr().out
        losses = [float(found) for found in re.findall(r"'loss': ([0-9.]+)", printed)]
        ends.append((losses, run.model.vectors.weight.detach().clone()))
    assert ends[0][0] == pytest.approx(ends[1][0], abs=2e-6)  # printed with six decimals
    assert torch.allclose(ends[0][1], ends[1][1], atol=1e-6)


def test_every_worker_makes_the_same_calls() -> None:
    made = []
    for rank in (0, 1):
        with RecordingTorchXla(rank=rank, world_size=2).installed() as xla:
            run = make_run(XlaRuntime({}), "--logging_steps", "2")
            fit(run, is_main=rank == 0)
            made.append(xla.calls)
    assert made[0] == made[1]
    assert "all_reduce sum" in made[0]


def test_the_host_waits_only_where_a_line_is_logged() -> None:
    with RecordingTorchXla(world_size=2).installed() as xla:
        run = make_run(XlaRuntime({}), "--logging_steps", "3", "--epochs", "4")
        fit(run)
    # 8 steps of 8 examples: the first, 3, 6 and the last; and 3 evaluations
    assert 8 == run.step
    assert 4 + 3 == xla.calls.count("all_reduce sum")


def test_the_first_step_uses_the_first_learning_rate(capsys: pytest.CaptureFixture[str]) -> None:
    flags = ("--learning_rate", "0.1", "--warmup_ratio", "0", "--logging_steps", "1", "--epochs", "1")
    run = make_run(detect({}), *flags)
    assert 0.1 == run.optimizer.param_groups[0]["lr"]
    fit(run)
    rates = [line for line in capsys.readouterr().out.splitlines() if "learning_rate" in line]
    assert "'learning_rate': 0.075" in rates[0]
    assert "'learning_rate': 0.0," in rates[-1]


def test_accuracy_counts_every_example_once() -> None:
    run = make_run(detect({}))
    with torch.no_grad():
        run.model.vectors.weight.copy_(torch.tensor([[1.0, 0.0]]).expand(50, 2))  # always the first label, "0"
    line = script.evaluate(run)
    assert line is not None
    assert (5, 0.8) == (line["eval_samples"], line["eval_accuracy"])


def test_a_loss_that_is_not_finite_ends_the_run() -> None:
    run = make_run(detect({}))
    with torch.no_grad():
        run.model.vectors.weight.fill_(float("nan"))
    with pytest.raises(UsageError, match="loss: got nan, wanted a finite number; lower the learning rate"):
        fit(run)


# --- two real workers ---


def test_two_workers_average_their_gradients_with_and_without_overlap() -> None:
    command = [python_with(*TORCH), "-m", "torch.distributed.run", "--nproc_per_node=2", str(HERE / "two_workers.py")]
    out = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, **QUIET, "PYTHON_EXEC": command[0]},
    )
    assert 0 == out.returncode, out.stderr[-2000:]
    assert ["flat agrees", "overlap agrees"] == [line for line in out.stdout.splitlines() if "agrees" in line]

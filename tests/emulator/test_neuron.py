"""A job of TorchNeuron on the emulator: its script computes what it computes on the CPU, and fails where tables say."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from emulator.bench import Bench
from jobs import job_of

import sm_trn as st

# The answers are a file of the model: the toolkit mixes what a script prints with its warnings, piece by piece.
SCRIPT = """
import json, os, torch, warnings
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

dist.init_process_group("neuron")

def losses(device):
    torch.manual_seed(0)
    data = torch.Generator().manual_seed(1)  # dropout draws as often, but other numbers, where it is fused
    net = nn.Sequential(nn.Linear(8, 8), nn.LayerNorm(8), nn.SiLU(), nn.Dropout(0.1), nn.Linear(8, 8))
    net[4].weight = net[0].weight  # tied, as GPT-2 ties its embeddings
    net = fully_shard(net.to(device), mesh=init_device_mesh(device, (dist.get_world_size(),)))
    optimizer = torch.optim.AdamW(net.parameters(), 1e-2)
    for _ in range(5):
        x, y = torch.randn(32, 8, generator=data).to(device), torch.randint(0, 3, (32,), generator=data).to(device)
        loss = nn.functional.cross_entropy(net(x), y)
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        yield loss.item()

answers = {"equal": list(losses("cpu")) == list(losses("neuron"))}
tensor, whole = torch.ones(3, 3, device="neuron"), torch.ones(3, 3, dtype=torch.int64, device="neuron")
path = f"saved-{dist.get_rank()}.pt"
torch.save(tensor, path)
calls = {
    "saved": lambda: torch.load(path).device,
    "compiled": lambda: torch.compile(nn.Linear(3, 3).to("neuron"), backend="neuron")(tensor).shape,
    "dynamic": lambda: torch.compile(lambda x: x * 2, backend="neuron", dynamic=True)(tensor),
    "integers": lambda: torch.compile(lambda x: x @ x, backend="neuron")(whole),
    "cuda": lambda: tensor.cpu().cuda(),
    "float64": lambda: tensor.double() @ tensor.double(),
}
for name, call in calls.items():
    with warnings.catch_warnings(record=True) as shown:
        try:
            answers[name] = str(call())
        except Exception as error:
            answers[name] = type(error).__name__ + ": " + str(error)
    answers[name] += "".join(str(each.message) for each in shown)
with open(os.environ["SM_MODEL_DIR"] + f"/answers-{dist.get_rank()}.json", "w") as file:
    json.dump(answers, file)
"""
WANTED = [
    ("saved", "neuron:0"),
    ("compiled", "torch.Size([3, 3])"),
    ("dynamic", "NCC_EMOD025"),
    ("dynamic", "reference-torch-compile, 2026-10-14"),
    ("integers", "NCC_EVRF035"),
    ("integers", "compiler/error-codes, 2026-07-14"),
    ("cuda", "Error"),
    ("float64", "float64 is no data type of NeuronCore-v3"),
]


@pytest.mark.local
@pytest.mark.skipif(shutil.which("g++") is None, reason="the device is built with g++")
def test_a_script_computes_as_on_the_cpu_and_fails_where_the_published_tables_say(
    bench: Bench, session: st.Session, tmp_path: Path
) -> None:
    image = "111122223333.dkr.ecr.us-west-2.amazonaws.com/own:1"
    job = job_of(tmp_path, SCRIPT, name="trn2").replace(
        framework=st.TorchNeuron("2.14"),
        compute=st.Compute("ml.trn2.48xlarge"),
        distribution=st.TorchDistributed(),
        image_uri=image,
    )
    handle = session.submit(job)
    assert st.JobStatus.COMPLETED is session.wait([handle], progress=False)[0].status
    assert any("SIMULATED the device neuron. Not known here: speed" in line.message for line in handle.logs())
    answers = json.loads(bench.model(handle.name)["answers-0.json"])
    assert answers["equal"]
    assert [] == [(name, text, answers[name]) for name, text in WANTED if text not in answers[name]]

"""A job of TorchNeuron on the emulator: its script computes what it computes on the CPU, and fails where tables say."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from jobs import job_of

import sm_trn as st

SCRIPT = """
import torch, torch_neuronx
from torch import nn

def losses(device):
    torch.manual_seed(0)
    data = torch.Generator().manual_seed(1)  # dropout draws as often, but other numbers, where it is fused
    net = nn.Sequential(nn.Linear(8, 16), nn.LayerNorm(16), nn.GELU(), nn.Dropout(0.1), nn.Linear(16, 3)).to(device)
    optimizer = torch.optim.AdamW(net.parameters(), 1e-2)
    for _ in range(5):
        x, y = torch.randn(32, 8, generator=data).to(device), torch.randint(0, 3, (32,), generator=data).to(device)
        loss = nn.functional.cross_entropy(net(x), y)
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        yield loss.item()

def answer(name, call):
    try:
        print(name, "ran", call())
    except Exception as error:
        print(name, type(error).__name__, *str(error).splitlines())

print("equal", list(losses("cpu")) == list(losses("neuron")))
tensor, whole = torch.ones(3, 3, device="neuron"), torch.ones(3, 3, dtype=torch.int64, device="neuron")
torch.save(tensor, "saved.pt")
answer("saved", lambda: torch.load("saved.pt").device)
answer("compiled", lambda: torch.compile(nn.Linear(3, 3).to("neuron"), backend="neuron")(tensor).shape)
answer("dynamic", lambda: torch.compile(lambda x: x * 2, backend="neuron", dynamic=True)(tensor))
answer("integers", lambda: torch.compile(lambda x: x @ x, backend="neuron")(whole))
answer("cuda", lambda: tensor.cpu().cuda())
print({"loss": (tensor.double() @ tensor.double()).sum().item(), "step": 1})
"""


@pytest.mark.local
@pytest.mark.skipif(shutil.which("g++") is None, reason="the device is built with g++")
def test_a_script_computes_as_on_the_cpu_and_fails_where_the_published_tables_say(
    emulator: Any, tmp_path: Path
) -> None:
    image = "111122223333.dkr.ecr.us-west-2.amazonaws.com/own:1"
    job = job_of(tmp_path, SCRIPT, name="trn2").replace(
        framework=st.TorchNeuron("2.14"), compute=st.Compute("ml.trn2.48xlarge"), image_uri=image
    )
    session = st.connect("emulator", state=emulator.state)
    handle = session.submit(job)
    assert st.JobStatus.COMPLETED is session.wait([handle], progress=False)[0].status
    log = "".join(
        "".join(line.message.split()) for line in handle.logs()
    )  # the toolkit may cut what print writes anywhere
    wanted = [
        "SIMULATED the device neuron. Not known here: speed, memory, numerics",
        "equal True",
        "saved ran neuron:0",
    ]
    wanted += ["compiled ran torch.Size([3, 3])", "NCC_EMOD025", "reference-torch-compile, 2026-10-14", "NCC_EVRF035"]
    wanted += ["compiler/error-codes, 2026-07-14", "cuda RuntimeError", "float64 is no data type of NeuronCore-v3"]
    assert [] == [text for text in wanted if "".join(text.split()) not in log]

"""AdamW in one kernel where there is one, and checkpoints that go between devices that have it and those that have not."""

from __future__ import annotations

import copy
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from kit.loop import adamw_with_linear_schedule, load_optimizer


def trained(steps: int) -> tuple[Any, Any]:
    torch.manual_seed(5)
    model = torch.nn.Linear(4, 3)
    optimizer, _ = adamw_with_linear_schedule(model, 0.1, 0.01, warmup_steps=0, total_steps=20)
    step(model, optimizer, steps)
    return model, optimizer


def step(model: Any, optimizer: Any, steps: int) -> None:
    for number in range(steps):
        model(torch.full((2, 4), 1.0 + number)).square().sum().backward()
        optimizer.step()
        optimizer.zero_grad()


def test_on_a_cpu_a_step_is_one_kernel() -> None:
    _, optimizer = trained(1)
    assert [True, True] == [group["fused"] for group in optimizer.param_groups]


def test_on_another_device_torch_decides() -> None:
    with torch.device("meta"):
        model = torch.nn.Linear(4, 3)
    optimizer, _ = adamw_with_linear_schedule(model, 0.1, 0, warmup_steps=0, total_steps=1)
    assert not any(group["fused"] for group in optimizer.param_groups)


@pytest.mark.parametrize(("saved", "own"), [(True, False), (False, True)])
def test_a_checkpoint_does_not_say_how_this_device_computes_a_step(*, saved: bool, own: bool) -> None:
    model, optimizer = trained(3)
    groups = [dict(group, fused=saved) for group in optimizer.param_groups]
    state = copy.deepcopy(optimizer.state_dict())
    state["param_groups"] = [dict(group, fused=saved) for group in state["param_groups"]]
    other = torch.optim.AdamW([{"params": group["params"]} for group in groups], lr=0.1, fused=own)
    load_optimizer(other, state)
    assert [own, own] == [group["fused"] for group in other.param_groups]
    assert [0.01, 0.0] == [group["weight_decay"] for group in other.param_groups]
    before = [weight.detach().clone() for weight in model.parameters()]
    step(model, other, 1)
    after = [weight.detach().clone() for weight in model.parameters()]
    assert all((one != two).any() for one, two in zip(before, after, strict=True))


@pytest.mark.parametrize(("own", "device"), [(True, "meta"), (False, "cpu")])
def test_the_count_of_steps_lies_where_this_devices_kernel_looks_for_it(*, own: bool, device: str) -> None:
    """In one kernel it is on the device; else on the host, wherever the checkpoint had it."""
    state = copy.deepcopy(trained(3)[1].state_dict())
    state["param_groups"] = [dict(group, fused=not own) for group in state["param_groups"]]
    with torch.device("meta"):
        model = torch.nn.Linear(4, 3)
    other = torch.optim.AdamW([{"params": [model.weight]}, {"params": [model.bias]}], lr=0.1)
    for group in other.param_groups:
        group["fused"] = own
    load_optimizer(other, state)
    assert {device} == {values["step"].device.type for values in other.state.values()}


def test_a_step_in_one_kernel_is_the_step() -> None:
    results = []
    for fused in (True, False):
        torch.manual_seed(5)
        model = torch.nn.Linear(4, 3)
        step(model, torch.optim.AdamW(model.parameters(), lr=0.1, weight_decay=0.01, fused=fused), 5)
        results.append([weight.detach() for weight in model.parameters()])
    for one, two in zip(*results, strict=True):
        torch.testing.assert_close(one, two)

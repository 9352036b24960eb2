"""The device ``neuron``, simulated on the CPU: what a script of TorchNeuron (AWS Neuron 2.33.0, 2026-10-19) imports.

torch loads it by itself, as it does TorchNeuron. It says what it cannot know. It must not import anything of sm_trn, for it runs in the
job's Python.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import subprocess
import types
from pathlib import Path
from typing import Any


def autoload() -> None:
    """torch's entry point for devices: https://docs.pytorch.org/tutorials/unstable/python_extension_autoload.html

    It stands here because torch asks for it while it is imported.
    """


import torch  # noqa: E402 - as above
import torch.distributed as dist  # noqa: E402

SOURCE = Path(__file__).with_name("device.cpp")


def library() -> Path:
    """Return the compiled device: the first process of a release of torch builds it, the others wait. Raises SystemExit."""
    torch_folder = Path(torch.__file__).parent
    key = hashlib.sha256(SOURCE.read_bytes() + f"{torch.__version__} {torch_folder}".encode()).hexdigest()[:16]
    built = Path(os.environ["SM_TRN_NEURON"]) / f"{key}.so"
    with built.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # ends with the process that holds it
        if not built.exists():
            part = built.with_suffix(".part")
            options = ["-std=c++20", "-O1", "-fPIC", "-shared", "-w", f"-L{torch_folder}/lib", "-ltorch_cpu", "-lc10"]
            options += [f"-I{torch_folder}/include", f"-I{torch_folder}/include/torch/csrc/api/include"]
            options += [f"-D_GLIBCXX_USE_CXX11_ABI={int(torch.compiled_with_cxx11_abi())}"]
            try:
                subprocess.run(["g++", str(SOURCE), "-o", str(part), *options], check=True)
            except (OSError, subprocess.CalledProcessError) as error:  # of an exception torch would say: turn it off
                raise SystemExit(
                    f"neuron (simulated): g++ cannot build the device for torch {torch.__version__}: {error}"
                ) from error
            part.rename(built)
    return built


def compiled(graph: torch.fx.GraphModule, examples: list[Any], **_: Any) -> Any:
    """Dynamo's backend ``neuron``: run the graph as it is. Raises RuntimeError for what the published tables refuse."""
    if any(isinstance(size, torch.SymInt) for each in examples for size in (each, *getattr(each, "shape", ()))):
        raise RuntimeError(
            "neuron (simulated): NCC_EMOD025: a dynamic shape; set dynamic=False "
            "(AWS Neuron, torch/compile/reference-torch-compile, 2026-10-14: dynamic is unsupported)"
        )
    for node in graph.graph.nodes:
        name = getattr(node.target, "__name__", str(node.target))
        for value in (each.meta.get("example_value") for each in (node, *node.all_input_nodes)):
            if isinstance(value, torch.Tensor) and (row := torch.ops.neuron_simulated.row(name, value.dtype)):
                raise RuntimeError(
                    f"neuron (simulated): {row} (AWS Neuron, compiler/error-codes, 2026-07-14); "
                    f"got {name} of {value.dtype} at {node.stack_trace}"
                )
    return graph.forward


def torch_neuron() -> types.ModuleType:
    """torch.neuron, as far as torch, accelerate and transformers ask. The device's generator is the CPU's, which torch itself seeds."""
    module = types.ModuleType("torch.neuron")
    vars(module).update(
        {
            **{
                name: lambda *_: None
                for name in ("synchronize", "empty_cache", "reset_peak_memory_stats", "_lazy_init")
            },
            **{name: lambda *_: None for name in ("manual_seed", "manual_seed_all")},
            **{name: lambda: True for name in ("is_available", "is_initialized", "is_bf16_supported")},
            **{name: lambda *_: 0 for name in ("_is_in_bad_fork", "memory_allocated", "max_memory_allocated")},
            **{name: getattr(torch.cpu, name) for name in ("Event", "Stream", "current_stream", "stream")},
            "current_device": torch.accelerator.current_device_index,
            "device": lambda *_: contextlib.nullcontext(),
            "device_count": lambda: int(os.environ.get("LOCAL_WORLD_SIZE", "1")),
            "get_amp_supported_dtype": lambda: [torch.bfloat16, torch.float16],
            "get_device_name": lambda *_: "NeuronCore-v3 (simulated)",
            "get_device_properties": lambda *_: types.SimpleNamespace(name="NeuronCore-v3 (simulated)"),
            "get_rng_state": lambda *_: torch.get_rng_state(),
            "get_rng_state_all": lambda: [torch.get_rng_state()],
            "set_device": torch.accelerator.set_device_index,
            "set_rng_state": lambda state, *_: torch.set_rng_state(state),
            "set_rng_state_all": lambda states: torch.set_rng_state(states[0]),
        }
    )
    return module


torch.ops.load_library(str(library()))
torch.utils.rename_privateuse1_backend("neuron")
torch._register_device_module("neuron", torch_neuron())
torch.utils.generate_methods_for_privateuse1_backend()
torch._dynamo.config.automatic_dynamic_shapes = False  # TorchNeuron compiles each new shape anew
torch._dynamo.register_backend(compiled, name="neuron")
dist.Backend.register_backend("neuron", dist.ProcessGroupGloo, devices=["neuron", "cpu"])

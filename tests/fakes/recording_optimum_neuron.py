"""An optimum.neuron that writes down how it is used. It proves what we call, not what Trainium does.

Its arguments have the fields and defaults of the released class, read from the wheel of the version that the JSON beside
this file names; its trainer refuses what the real one refuses: evaluation, and going on from a checkpoint.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import sys
from collections.abc import Callable, Iterator
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import torch

_RELEASED = json.loads(Path(__file__).with_name("neuron_training_arguments.json").read_text())
_TYPES = {"int": int, "float": float, "bool": bool, "str": str}


class RecordingOptimumNeuron:
    """`steps` is how long a training lasts; `before_step` is called with the number of each."""

    def __init__(self, *, steps: int = 3, before_step: Callable[[int], None] = lambda _step: None) -> None:
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self._steps, self._before_step = steps, before_step

    def named(self, name: str) -> list[dict[str, Any]]:
        return [arguments for called, arguments in self.calls if called == name]

    @contextlib.contextmanager
    def installed(self) -> Iterator[RecordingOptimumNeuron]:
        modules = {module.__name__: module for module in self._modules()}
        hidden = {name: module for name, module in sys.modules.items() if name.split(".")[0] == "optimum"}
        for name in hidden:
            del sys.modules[name]
        sys.modules.update(modules)
        try:
            yield self
        finally:
            for name in modules:
                del sys.modules[name]
            sys.modules.update(hidden)

    def _modules(self) -> Iterator[ModuleType]:  # noqa: C901 - the classes below share the recorder
        recorder = self

        class NeuronTrainer:
            def __init__(
                self,
                model: Any,
                args: Any,
                data_collator: Any = None,
                train_dataset: Any = None,
                eval_dataset: Any = None,
                processing_class: Any = None,  # noqa: ARG002 - the real one's
                callbacks: Any = None,
            ) -> None:
                if eval_dataset is not None:
                    raise RuntimeError("Evaluation is not supported in NeuronTrainer.")
                recorder.calls.append(("NeuronTrainer", {"args": args, "train_dataset": train_dataset, "model": model}))
                self.args, self._callbacks = args, list(callbacks or [])
                self._batch = data_collator([train_dataset[0]])
                self.state = SimpleNamespace(
                    global_step=0, max_steps=recorder._steps, is_world_process_zero=args.process_index == 0
                )
                self.control = SimpleNamespace(should_save=False, should_training_stop=False)

            def add_callback(self, callback: Any) -> None:
                self._callbacks.append(callback)

            def remove_callback(self, kind: Any) -> None:
                recorder.calls.append(("remove_callback", {"kind": kind.__name__}))

            def _tell(self, event: str, **more: Any) -> None:
                for callback in self._callbacks:
                    getattr(callback, event)(self.args, self.state, self.control, **more)

            def train(self, resume_from_checkpoint: Any = None) -> None:
                if resume_from_checkpoint not in {False, None}:
                    raise ValueError("`resume_from_checkpoint` is not supported by the NeuronTrainer.")
                recorder.calls.append(("train", {"batch": self._batch}))
                self._tell("on_train_begin")
                while self.state.global_step < self.state.max_steps and not self.control.should_training_stop:
                    recorder._before_step(self.state.global_step)
                    self._tell("on_step_begin")
                    self.state.global_step += 1
                    self._tell("on_step_end")
                    self._tell("on_log", logs={"loss": 1.5, "learning_rate": 0.0001, "epoch": 0.5})
                    if self.control.should_save:
                        self._save()

            def _save(self) -> None:
                folder = Path(self.args.output_dir, f"checkpoint-{self.state.global_step}")
                (folder / "shards").mkdir(parents=True)
                (folder / "shards" / "tp_rank_00.pt").write_bytes(b"weights")
                (folder / "trainer_state.json").write_text("{}")
                self._tell("on_save")

            def save_model(self, output_dir: str | None = None) -> None:
                recorder.calls.append(("save_model", {"output_dir": output_dir}))

        class NeuronModelForCausalLM:
            @classmethod
            def from_pretrained(cls, name: str, trn_config: Any, **more: Any) -> Any:
                recorder.calls.append(("from_pretrained", {"name": name, "trn_config": trn_config, **more}))
                model = torch.nn.Linear(2, 2)
                model.config = SimpleNamespace(max_position_embeddings=4096, model_type="llama")
                return model

        def get_peft_model(model: Any, config: Any) -> Any:
            recorder.calls.append(("get_peft_model", {"config": config}))
            return model

        root = {"NeuronTrainingArguments": _arguments_class(), "NeuronTrainer": NeuronTrainer}
        yield _module("optimum", {})
        yield _module("optimum.neuron", root)
        yield _module("optimum.neuron.models", {})
        yield _module("optimum.neuron.models.training", {"NeuronModelForCausalLM": NeuronModelForCausalLM})
        yield _module("optimum.neuron.peft", {"get_peft_model": get_peft_model})


def _arguments_class() -> Any:
    fields = []
    for name, default in _RELEASED["fields"].items():
        kind = _TYPES.get(_RELEASED["types"][name].split(" |")[0], str)
        fields.append((name, kind, dataclasses.field(default=default)))
    behaviour = {
        "__post_init__": lambda self: setattr(self, "trn_config", {"tp": self.tensor_parallel_size}),
        "world_size": property(lambda _self: 4),
        "process_index": property(lambda _self: int(os.environ.get("RANK", "0"))),
        "device": property(lambda _self: torch.device("cpu")),
    }
    return dataclasses.make_dataclass("NeuronTrainingArguments", fields, namespace=behaviour)


def _module(name: str, content: dict[str, Any]) -> ModuleType:
    module = ModuleType(name)
    module.__spec__ = ModuleSpec(name, None)
    module.__path__ = []
    module.__dict__.update(content)
    return module

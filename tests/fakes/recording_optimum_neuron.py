"""An optimum.neuron that writes down how it is used. It proves what we call, not what Trainium does.

It imitates optimum-neuron 0.4.5, read from its wheel; each part names the file and the line. Its arguments have the fields and
defaults of the released class, which the JSON beside this file lists.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import torch
from fakes.stand_in import module, standing_in
from transformers import TrainerState

_RELEASED = json.loads(Path(__file__).with_name("neuron_training_arguments.json").read_text())
_TYPES = {"int": int, "float": float, "bool": bool, "str": str}


class RecordingOptimumNeuron:
    """`steps` is how long a training lasts; `before_step` is called with the number of each, and `trace` where its graph grows."""

    def __init__(self, *, steps: int = 3, before_step: Callable[[int], None] = lambda _step: None) -> None:
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self._steps, self._before_step = steps, before_step
        self.trace: Callable[[], None] = lambda: None

    def named(self, name: str) -> list[dict[str, Any]]:
        return [arguments for called, arguments in self.calls if called == name]

    @contextlib.contextmanager
    def installed(self) -> Iterator[RecordingOptimumNeuron]:
        with standing_in("optimum", self._modules()):
            yield self

    def _modules(self) -> Iterator[ModuleType]:  # noqa: C901 - the classes below share the recorder
        recorder = self

        class NeuronSFTTrainer:  # trainers/sft_trainer.py line 132: a NeuronTrainer, trainers/transformers.py line 119
            def __init__(
                self,
                model: Any,
                args: Any = None,
                data_collator: Any = None,  # noqa: ARG002 - the real one's, line 141 of sft_trainer.py, as all names here
                train_dataset: Any = None,
                eval_dataset: Any = None,
                processing_class: Any = None,
                callbacks: Any = None,
                peft_config: Any = None,
            ) -> None:
                if eval_dataset is not None:  # transformers.py line 137
                    raise RuntimeError("Evaluation is not supported in NeuronTrainer.")
                recorder.calls.append(
                    ("NeuronSFTTrainer", {"args": args, "train_dataset": train_dataset, "peft_config": peft_config})
                )
                self.model, self.args, self.processing_class = model, args, processing_class
                self.train_dataset, self._callbacks = train_dataset, list(callbacks or [])
                self.callback_handler = SimpleNamespace(callbacks=self._callbacks)  # transformers.py line 230
                # line 262, with models/training/training_utils.py line 194: the first worker of the last pipeline stage
                stage = 32 // args.pipeline_parallel_size
                logs = int(os.environ["RANK"]) == (args.pipeline_parallel_size - 1) * stage
                self.state = TrainerState(max_steps=recorder._steps, epoch=0.0, is_world_process_zero=logs)
                self.control = SimpleNamespace(should_save=False, should_training_stop=False, should_evaluate=False)

            def add_callback(self, callback: Any) -> None:
                self._callbacks.append(callback)

            def remove_callback(self, kind: Any) -> None:
                recorder.calls.append(("remove_callback", {"kind": kind.__name__}))

            def _tell(self, event: str, **more: Any) -> None:
                for callback in self._callbacks:
                    getattr(callback, event)(self.args, self.state, self.control, **more)

            def train(self, resume_from_checkpoint: Any = None) -> None:
                if resume_from_checkpoint not in {False, None}:  # line 1095
                    raise ValueError("`resume_from_checkpoint` is not supported by the NeuronTrainer.")
                import torch_xla

                recorder.calls.append(("train", {}))
                self._tell("on_train_begin")
                self._tell("on_epoch_begin")
                while self.state.global_step < self.state.max_steps and not self.control.should_training_stop:
                    recorder._before_step(self.state.global_step)
                    torch_xla.sync()  # line 1160, by its older name
                    self._tell("on_step_begin")  # line 1165
                    recorder.trace()  # lines 1170 to 1195: forward, backward and the optimizer's step
                    self.state.global_step += 1
                    self._tell("on_step_end")  # line 1196
                    torch_xla.sync()  # line 1197
                    # line 1061 rounds the loss; no line with train_runtime ever comes: line 1326 writes a file instead
                    self._tell("on_log", logs={"loss": 1.5, "learning_rate": 0.0001, "epoch": 0.5})
                    if self.control.should_save:
                        self._save_checkpoint()
                        self._tell("on_save")  # line 1087
                self._tell("on_train_end")

            def _save_checkpoint(self) -> None:  # line 1385
                folder = Path(self.args.output_dir, f"checkpoint-{self.state.global_step}")
                folder.mkdir(parents=True, exist_ok=True)
                self.save_model(str(folder))
                (folder / "shards").mkdir()
                (folder / "shards" / "tp_rank_00.pt").write_bytes(b"weights")
                if self.args.should_save:  # line 1406
                    (folder / "trainer_state.json").write_text("{}")

            def save_model(self, output_dir: str | None = None) -> None:  # line 1268
                recorder.calls.append(("save_model", {"output_dir": output_dir}))
                if self.processing_class is not None and self.args.should_save:  # line 1313
                    recorder.calls.append(("save tokenizer", {"output_dir": output_dir}))

        class NeuronModelForCausalLM:
            @classmethod
            def from_pretrained(cls, name: str, trn_config: Any, **more: Any) -> Any:
                recorder.calls.append(("from_pretrained", {"name": name, "trn_config": trn_config, **more}))
                model = torch.nn.Linear(2, 2)
                model.config = SimpleNamespace(max_position_embeddings=4096, model_type="llama")
                return model

        root = {"NeuronSFTConfig": _arguments_class(), "NeuronSFTTrainer": NeuronSFTTrainer}
        yield module("optimum", {})
        yield module("optimum.neuron", root)
        yield module("optimum.neuron.models", {})
        yield module("optimum.neuron.models.training", {"NeuronModelForCausalLM": NeuronModelForCausalLM})


def _arguments_class() -> Any:
    """NeuronSFTConfig: trainers/sft_config.py line 33, NeuronTrainingArguments with trl's own fields, of which some stand here."""
    fields = []
    for name, default in _RELEASED["fields"].items():
        kind = _TYPES.get(_RELEASED["types"][name].split(" |")[0], str)
        fields.append((name, kind, dataclasses.field(default=default)))
    of_trl = [("max_length", int, 1024), ("packing", bool, False), ("dataset_text_field", str, "text")]
    for name, kind, default in (*of_trl, ("chat_template_path", str, None)):
        fields.append((name, kind, dataclasses.field(default=default)))

    def prepare(self: Any) -> None:
        if self.do_eval:  # trainers/training_args.py line 620
            raise RuntimeError("Evaluation is not supported yet.")
        self.trn_config, self.distributed_state = {"tp": self.tensor_parallel_size}, None  # lines 662 and 706

    def index(self: Any) -> int:  # line 723
        return int(self.distributed_state.process_index) if self.distributed_state is not None else 0

    behaviour = {
        "__post_init__": prepare,
        "world_size": property(lambda _self: 4),  # line 719: replicas
        "process_index": property(index),
        "should_save": property(lambda self: index(self) == 0),  # line 755
        "device": property(lambda _self: torch.device("cpu")),
    }
    return dataclasses.make_dataclass("NeuronSFTConfig", fields, namespace=behaviour)

"""Owns the way to optimum-neuron (0.4) and what it calls things; must not know texts, flags' defaults or the loop.

Nothing here has run on Trainium by the authors: names and signatures are those of the released library.
https://huggingface.co/docs/optimum-neuron
"""

from __future__ import annotations

import importlib
import importlib.util
import os
from typing import Any, NamedTuple, Sequence

from _runtime import choose


class NeuronLibrary(NamedTuple):
    """What is used of optimum-neuron."""

    arguments_class: Any
    trainer_class: Any
    models: Any
    root: Any

    def load_model(self, own: Any, args: Any) -> Any:
        """Each worker loads the shard that is its own, `num_local_ranks_per_step` workers at a time."""
        import torch

        return self.models.NeuronModelForCausalLM.from_pretrained(
            own.model_name_or_path,
            args.trn_config,
            torch_dtype=torch.bfloat16 if args.bf16 else torch.float32,
            attn_implementation="flash_attention_2" if own.block_size % 2048 == 0 else "eager",
        )

    def add_lora(self, model: Any, config: Any) -> Any:
        return importlib.import_module("optimum.neuron.peft").get_peft_model(model, config)

    def trainer(self, args: Any, model: Any, tokenizer: Any, blocks: Any, collator: Any) -> Any:
        return self.trainer_class(
            model=model, args=args, data_collator=collator, train_dataset=blocks, processing_class=tokenizer
        )

    def sft_trainer(
        self, own: Any, args: Any, model: Any, tokenizer: Any, *, texts: Sequence[str], block_size: int
    ) -> Any:
        from _llama import lora_config

        dataset = importlib.import_module("datasets").Dataset.from_dict({"text": list(texts)})
        return self.root.NeuronSFTTrainer(
            model=model,
            args=self.root.NeuronSFTConfig(max_length=block_size, packing=True, **args.to_dict()),
            train_dataset=dataset,
            processing_class=tokenizer,
            peft_config=lora_config(own) if own.use_lora else None,
        )


def find_neuron_library() -> NeuronLibrary | None:
    """Where this process trains on XLA and the library is there; else None."""
    if choose(os.environ) != "xla" or not importlib.util.find_spec("optimum"):
        return None
    if not importlib.util.find_spec("optimum.neuron"):
        return None
    root = importlib.import_module("optimum.neuron")
    models = importlib.import_module("optimum.neuron.models.training")
    return NeuronLibrary(root.NeuronTrainingArguments, root.NeuronTrainer, models, root)

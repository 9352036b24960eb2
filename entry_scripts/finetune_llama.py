"""Fine-tune a language model on texts or conversations: trl's sft.py in a SageMaker job that may be
interrupted.

    python finetune_llama.py --model_name_or_path tiny-llama --max_steps 20 --max_length 64
    torchrun --nproc_per_node=8 finetune_llama.py --model_name_or_path meta-llama/Llama-3.1-8B --train_file chats.jsonl \
        --use_peft True --load_in_4bit True --gradient_checkpointing True --attn_implementation flash_attention_2
    torchrun --nproc_per_node=8 finetune_llama.py … --fsdp full_shard --fsdp_config fsdp2.json      # or --deepspeed zero3.json
    torchrun --nproc_per_node=32 finetune_llama.py … --tensor_parallel_size 8 --zero_1 True           # Trainium
    neuron_parallel_compile torchrun --nproc_per_node=32 finetune_llama.py … --max_steps 5       # fills the cache first

Data: `messages` (conversations, through the model's chat template), `prompt` and `completion`, of
which only the completion is learnt, or texts, which are packed with end tokens between them. Every
argument of trl's SFTConfig and ModelConfig is a flag; on Trainium of optimum-neuron's
NeuronSFTConfig, whose trainer does not evaluate and cannot go on from a checkpoint: there a run
begins anew, and says so. In a SageMaker job the channels `train` and `validation` are found by
themselves. Exit code: 0 done; 2 a mistake in what was asked; 75 stopped by SIGTERM, run the same
command again to continue.
"""

from __future__ import annotations

import importlib.util
import math
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, Sequence

import kit.trainer as kit
import sm_spot
from kit.chats import refuse_conversation, tuning_set
from kit.device import choose, loading_turn
from kit.job import needed
from kit.models import load_tokenizer, longest_input
from sm_spot import UsageError

import torch
from jinja2 import TemplateError

with needed("finetune_llama.py", "trl and peft"):
    from kit.tuning import (
        ModelArguments,
        TuningArguments,
        load_causal_model,
        peft_config_of,
        read_tables,
        save_tuned,
    )

ON_NEURON = (
    choose() == "xla"
    and importlib.util.find_spec("optimum")
    and importlib.util.find_spec("optimum.neuron")
)
if ON_NEURON:
    from optimum.neuron import NeuronSFTConfig as SFTConfig
    from optimum.neuron import NeuronSFTTrainer as SFTTrainer
    from optimum.neuron.models.training import NeuronModelForCausalLM
else:
    from trl import SFTConfig, SFTTrainer

# Where LoRA adds on Trainium, as in optimum-neuron's examples; it translates these names to those
# of its own layers.
ATTENTION = ["q_proj", "k_proj", "v_proj", "o_proj"]
# Flags that only optimum-neuron has.
NEURON_ONLY = (
    "tensor_parallel_size",
    "pipeline_parallel_size",
    "pipeline_parallel_num_microbatches",
    "zero_1",
    "zero1",
    "disable_sequence_parallel",
    "kv_size_multiplier",
    "num_local_ranks_per_step",
    "use_xser",
    "async_save",
    "stochastic_rounding_enabled",
    "skip_cache_push",
    "use_autocast",
)


@dataclass
class TrainingArguments(kit.JobArguments, SFTConfig):  # type: ignore[misc]  # both libraries are untyped here
    """SFTConfig or NeuronSFTConfig, and a job's folders."""


def parse_arguments(argv: Sequence[str] | None) -> tuple[Any, ...]:
    """ModelConfig, the data, and SFTConfig or NeuronSFTConfig; and lines for the log."""
    defaults: dict[str, Any] = {
        "per_device_train_batch_size": 1,
        "learning_rate": 2e-4,
        "max_length": 2048,
        "gradient_checkpointing": False,
        "packing": None,  # texts are packed unless that is refused
        "packing_strategy": "wrapped",
    }
    if ON_NEURON:  # its own optimizer keeps master weights
        defaults.update(
            do_eval=False,
            optim=SFTConfig.optim,
            dataloader_drop_last=SFTConfig.dataloader_drop_last,
        )
    else:
        taken, _ = kit.take_flags(argv, NEURON_ONLY)
        for flag in taken:
            raise UsageError(f"--{flag}: only optimum-neuron on Trainium has it; leave it out here")
    kinds = (ModelArguments, TuningArguments, TrainingArguments)
    return kit.parse(kinds, argv, __doc__, **defaults)


def check_format(examples: Any, training_args: Any, tokenizer: Any) -> None:
    """UsageError where the tokenizer or the loss does not suit the data."""
    if tokenizer.eos_token is None:
        raise UsageError(
            "--tokenizer_name: wanted a tokenizer with an end token, this one has none"
        )
    if (
        getattr(training_args, "completion_only_loss", False)
        and "completion" not in examples.column_names
    ):
        wanted = "wanted 'prompt' and 'completion'; of 'messages', --assistant_only_loss"
        raise UsageError(f"--completion_only_loss: {wanted}")


def load_neuron_model(model_args: Any, training_args: Any) -> Any:
    """Each worker loads the shard that is its own."""
    attention = "flash_attention_2" if training_args.max_length % 2048 == 0 else "eager"
    return NeuronModelForCausalLM.from_pretrained(
        model_args.model_name_or_path,
        training_args.trn_config,
        torch_dtype=torch.bfloat16 if training_args.bf16 else torch.float32,
        attn_implementation=model_args.attn_implementation or attention,
    )


def say_perplexity(trainer: Any) -> None:
    loss = kit.evaluate(trainer)["eval_loss"]
    perplexity = round(math.exp(loss), 6) if loss < 700 else math.inf
    line = {
        "eval_perplexity": perplexity,
        "eval_samples": len(trainer.eval_dataset),
        "step": trainer.state.global_step,
    }
    sm_spot.say(sm_spot.metric_line(line))


def main(argv: Sequence[str] | None = None) -> None:
    model_args, data_args, training_args, notes = parse_arguments(argv)
    kit.begin(training_args, notes)
    name = model_args.model_name_or_path
    # `process_index` is 0 on every worker (optimum-neuron 0.4.5, trainers/training_args.py line
    # 723)
    if ON_NEURON:
        here = sm_spot.place()
        training_args.distributed_state = SimpleNamespace(
            process_index=here.rank, local_process_index=here.local_rank
        )

    with loading_turn():
        tokenizer = load_tokenizer(
            model_args.tokenizer_name or name, **model_args.hub(training_args)
        )
    tables = read_tables(data_args)
    text_column = data_args.text_column
    if training_args.dataset_text_field != "text":  # trl's flag for it
        text_column = text_column or training_args.dataset_text_field
        training_args.dataset_text_field = "text"
    sets = {part: tuning_set(table, text_column) for part, table in tables.items()}
    check_format(sets["train"], training_args, tokenizer)
    if training_args.packing is None:
        training_args.packing = "text" in sets["train"].column_names
    with loading_turn():
        if ON_NEURON:
            model = load_neuron_model(model_args, training_args)
            model_args.lora_target_modules = model_args.lora_target_modules or ATTENTION
        else:
            model = load_causal_model(model_args, training_args, tokenizer)
    takes = longest_input(model.config) or training_args.max_length
    training_args.max_length = min(training_args.max_length, takes)

    judged = {}
    if not ON_NEURON:
        judged["eval_dataset"] = sets["validation"] if kit.evaluates(training_args) else None
    try:
        with kit.usage_errors():
            trainer = SFTTrainer(
                model=model,
                args=training_args,
                train_dataset=sets["train"],
                processing_class=tokenizer,
                peft_config=peft_config_of(model_args, model),
                **judged,
            )
    except TemplateError as error:
        refuse_conversation(sets, tables, tokenizer, error)
    identity = {"model": name, "lora": model_args.use_peft, "block_size": training_args.max_length}
    callback = kit.watch(
        trainer, {**identity, "data": kit.fingerprint(sets["train"])}, reseed=not ON_NEURON
    )
    trainable = sum(weight.numel() for weight in trainer.model.parameters() if weight.requires_grad)
    sm_spot.say(
        f"{name} with {type(trainer).__name__} on {training_args.device}, {training_args.world_size} replica(s), {trainable} "
        f"weights to train: {len(trainer.train_dataset)} examples of at most {training_args.max_length} tokens out of "
        f"{len(sets['train'])} rows"
    )

    kit.train(trainer, resumable=not ON_NEURON)
    if ON_NEURON:
        # its trainer writes a file in the place of Trainer's last line
        callback.say_runtime(trainer)
        kit.save(trainer)
        if training_args.tensor_parallel_size > 1 or training_args.pipeline_parallel_size > 1:
            consolidate = "`optimum-cli neuron consolidate` makes one model"
            sm_spot.say(f"{training_args.model_dir} holds each worker's shards; {consolidate}")
        return
    if training_args.do_eval:
        say_perplexity(trainer)
    save_tuned(model_args, trainer, tokenizer)


if __name__ == "__main__":
    sm_spot.leave(sm_spot.exit_code_of(main))

"""Train a language model on preferences with trl: DPO on pairs of answers, or GRPO on prompts whose
answers are rewarded.

    python train_preference.py --model_name_or_path tiny-llama --train_file pairs.jsonl --max_steps 20
    torchrun --nproc_per_node=8 train_preference.py --model_name_or_path meta-llama/Llama-3.1-8B-Instruct \
        --train_file pairs.jsonl --use_peft True --gradient_checkpointing True
    torchrun --nproc_per_node=8 train_preference.py --method grpo --reward_model_name_or_path my/reward-model …

Data: `prompt`, `chosen` and `rejected`; for GRPO `prompt`. Each is a text or a conversation. Every
argument of trl's DPOConfig (or GRPOConfig) and ModelConfig is a flag. In a SageMaker job the
channels `train` and `validation` are found by themselves. Exit code: 0 done; 2 a mistake in what
was asked; 75 stopped by SIGTERM, run the same command again to continue.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Any, Optional, Sequence

import kit.trainer as kit
import sm_spot
from kit.chats import preference_set
from kit.device import loading_turn
from kit.job import needed
from kit.models import TINY, load_tokenizer
from sm_spot import UsageError

with needed("train_preference.py", "trl and peft"):
    from kit.tuning import (
        ModelArguments,
        TuningArguments,
        load_causal_model,
        peft_config_of,
        read_tables,
        save_tuned,
    )

    from trl import DPOConfig, DPOTrainer, GRPOConfig, GRPOTrainer

COLUMNS = {"dpo": ("prompt", "chosen", "rejected"), "grpo": ("prompt",)}


@dataclass
class PreferenceArguments(TuningArguments):
    method: str = field(
        default="dpo", metadata={"choices": ("dpo", "grpo"), "help": "dpo: pairs; grpo: rewards"}
    )
    reward_model_name_or_path: Optional[str] = field(
        default=None, metadata={"help": "what judges answers; for grpo"}
    )


@dataclass
class DPOArguments(kit.JobArguments, DPOConfig):  # type: ignore[misc]  # trl is untyped here
    """DPOConfig, and a job's folders."""


@dataclass
class GRPOArguments(kit.JobArguments, GRPOConfig):  # type: ignore[misc]  # as above
    """GRPOConfig, and a job's folders."""


def parse_arguments(argv: Sequence[str] | None) -> tuple[Any, ...]:
    """ModelConfig, the data, and DPOConfig or GRPOConfig; and lines for the log."""
    chosen, _ = kit.take_flags(argv, ["method"])
    config: Any = GRPOArguments if chosen.get("method") == ["grpo"] else DPOArguments
    kinds = (ModelArguments, PreferenceArguments, config)
    defaults = {
        "per_device_train_batch_size": 2,
        "learning_rate": 1e-6,
        "gradient_checkpointing": False,
    }
    if config is GRPOArguments:  # as many answers to a prompt as are compared
        defaults["per_device_train_batch_size"] = 8
    model_args, data_args, training_args, notes = kit.parse(kinds, argv, __doc__, **defaults)
    if data_args.method == "grpo" and not data_args.reward_model_name_or_path:
        raise UsageError(
            "--reward_model_name_or_path: wanted a model that rewards answers, for --method grpo; name one"
        )
    return model_args, data_args, training_args, notes


def make_trainer(
    model_args: Any, data_args: Any, training_args: Any, tokenizer: Any, sets: dict[str, Any]
) -> Any:
    with loading_turn():
        model = load_causal_model(model_args, training_args, tokenizer)
    options: dict[str, Any] = {
        "args": training_args,
        "train_dataset": sets["train"],
        "eval_dataset": sets["validation"] if kit.evaluates(training_args) else None,
        "processing_class": tokenizer,
        "peft_config": peft_config_of(model_args, model),
    }
    with kit.usage_errors():
        if data_args.method == "grpo":
            return GRPOTrainer(model, data_args.reward_model_name_or_path, **options)
        reference = None
        # which trl would look for where the model is from
        if model_args.model_name_or_path in TINY and not model_args.use_peft:
            reference = copy.deepcopy(model)
        return DPOTrainer(model, reference, **options)


def main(argv: Sequence[str] | None = None) -> None:
    model_args, data_args, training_args, notes = parse_arguments(argv)
    kit.begin(training_args, notes)
    name = model_args.model_name_or_path
    with loading_turn():
        tokenizer = load_tokenizer(
            model_args.tokenizer_name or name, **model_args.hub(training_args)
        )
    if data_args.train_file is None and data_args.dataset_name is None:
        raise UsageError(
            "--train_file: wanted a file with prompt, chosen and rejected; there is no sample of them"
        )
    tables = read_tables(data_args)
    sets = {
        part: preference_set(table, COLUMNS[data_args.method]) for part, table in tables.items()
    }
    trainer = make_trainer(model_args, data_args, training_args, tokenizer, sets)
    identity = {"model": name, "method": data_args.method, "lora": model_args.use_peft}
    kit.watch(trainer, {**identity, "data": kit.fingerprint(sets["train"])})
    sm_spot.say(
        f"{name} with {type(trainer).__name__} on {training_args.device}, {training_args.world_size} replica(s): "
        f"{len(trainer.train_dataset)} examples"
    )

    kit.train(trainer)
    if training_args.do_eval:
        kit.evaluate(trainer)
    save_tuned(model_args, trainer, tokenizer)


if __name__ == "__main__":
    sm_spot.leave(sm_spot.exit_code_of(main))

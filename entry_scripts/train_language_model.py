"""Train a language model, causal (GPT-2) or masked (BERT): run_clm and run_mlm in a SageMaker job
that may be interrupted.

    python train_language_model.py --model_type tiny-gpt2 --num_train_epochs 3 --do_eval True
    torchrun --nproc_per_node=2 train_language_model.py --model_type tiny-bert --do_eval True
    torchrun --nproc_per_node=32 train_language_model.py --model_type gpt2 --tokenizer_name gpt2 --block_size 512 \
        --dataset_name wikitext --dataset_config_name wikitext-103-v1 --per_device_train_batch_size 13 --bf16 True

Every argument of transformers' TrainingArguments is a flag too. In a SageMaker job the channels
`train` and, if there is one, `validation` are found by themselves. Exit code: 0 done; 2 a mistake
in what was asked; 75 stopped by SIGTERM, run the same command again to continue.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Optional, Sequence

import kit.common as kit
import sm_spot
from kit.data import DataArguments, read_sets, text_columns
from sm_spot import UsageError

import torch
from datasets import DatasetDict
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    AutoModelForMaskedLM,
    DataCollatorForLanguageModeling,
    Trainer,
)
from transformers.models.auto import modeling_auto

DEFAULT_BLOCK = 1024  # where the model could take more


@dataclass
class ModelArguments(kit.ModelArguments):
    model_type: Optional[str] = field(
        default=None,
        metadata={
            "help": "from scratch: gpt2, bert, … or tiny-gpt2, tiny-bert, which need no network"
        },
    )
    config_overrides: Optional[str] = field(
        default=None, metadata={"help": "of a new model: n_embd=10,n_layer=4"}
    )
    objective: Optional[str] = field(
        default=None,
        metadata={"choices": ("clm", "mlm"), "help": "default: what the model was made for"},
    )
    mlm_probability: float = field(
        default=0.15, metadata={"help": "share of the tokens that are hidden"}
    )


@dataclass
class LanguageArguments(DataArguments):
    block_size: Optional[int] = field(
        default=None, metadata={"help": "default: all the model takes, at most 1024"}
    )
    max_seq_length: Optional[int] = field(
        default=None, metadata={"help": "the same, as masked models' scripts call it"}
    )


def load_names(model_args: ModelArguments) -> tuple[Any, Any]:
    """Tokenizer and configuration; a new model's vocabulary is as large as the tokenizer's."""
    hub = kit.hub_options(model_args)
    if model_args.model_type in kit.TINY:
        model_args.model_name_or_path = model_args.model_type
    name = model_args.model_name_or_path or model_args.config_name
    tokenizer_name = model_args.tokenizer_name or name
    if not tokenizer_name:
        raise UsageError("--tokenizer_name: wanted one for a model that has none of its own")
    tokenizer = kit.load_tokenizer(tokenizer_name, **hub)
    with kit.usage_errors("--model_type, --config_overrides"):
        if name is not None:
            config = kit.load_config(name, tokenizer, **hub)
        else:
            config = AutoConfig.for_model(model_args.model_type)
        if model_args.model_name_or_path is None:
            config.vocab_size = max(config.vocab_size, len(tokenizer))
        if model_args.config_overrides:
            config.update_from_string(model_args.config_overrides)
    return tokenizer, config


def blocks_of(data_args: LanguageArguments, tokenizer: Any, size: int) -> DatasetDict:
    """All texts one after another, each closed by an end-of-text token, cut into blocks of one
    length, as run_clm does; what of a thousand texts fills no block is left out. On disk.
    """
    sets = read_sets(data_args, "reviews.csv")
    if "validation" not in sets:
        fraction = data_args.validation_split_percentage / 100
        count = max(1, int(len(sets["train"]) * fraction))
        sets["validation"] = sets["train"].select(range(count))
        sets["train"] = sets["train"].select(range(count, len(sets["train"])))
    end = tokenizer.eos_token_id
    for name, part in sets.items():
        (column, *_) = text_columns(part.column_names, data_args, name)
        how = {
            "batched": True,
            "remove_columns": part.column_names,
            "num_proc": data_args.preprocessing_num_workers,
            "load_from_cache_file": not data_args.overwrite_cache,
        }
        blocks = part.map(
            _blocks,
            fn_kwargs={"tokenizer": tokenizer, "column": column, "end": end, "size": size},
            **how,
        )
        limit = data_args.max_train_samples if name == "train" else data_args.max_eval_samples
        sets[name] = blocks.select(range(min(len(blocks), limit or len(blocks))))
        if not len(blocks):
            raise UsageError(f"--block_size: got {size}, which no {name} texts fill; lower it")
    return sets


def _blocks(rows: Any, tokenizer: Any, column: str, end: Optional[int], size: int) -> Any:
    tokens: list[int] = []
    texts = [text for text in rows[column] if text and text.strip()]
    for ids in tokenizer(texts, verbose=False)["input_ids"] if texts else ():
        tokens += ids
        if end is not None and ids[-1:] not in ([end], [tokenizer.sep_token_id]):
            tokens.append(end)
    starts = range(0, len(tokens) - size + 1, size)
    return {"input_ids": [tokens[start : start + size] for start in starts]}


def token_losses(logits: Any, labels: Any, *, causal: bool) -> Any:
    """For Trainer's `preprocess_logits_for_metrics`: of each example the sum of its tokens' losses,
    and their number.
    """
    if isinstance(logits, (tuple, list)):
        logits = logits[0]
    if causal:
        logits = logits[:, :-1]
        labels = labels[:, 1:]
    scores = logits.float().transpose(1, 2)
    losses = torch.nn.functional.cross_entropy(scores, labels, reduction="none")
    return torch.stack([losses.sum(dim=1), (labels != -100).sum(dim=1).float()], dim=1)


def perplexity(predictions: Any) -> dict[str, float]:
    """For Trainer's `compute_metrics`: e to the mean loss per foretold token, each token counted
    once.
    """
    losses, counts = predictions.predictions.astype("float64").T
    loss = float(losses.sum() / max(1.0, counts.sum()))
    value = math.inf
    if loss < 700:
        value = round(math.exp(loss), 6)
    return {"loss": loss, "perplexity": value, "samples": len(losses)}


def main(argv: Optional[Sequence[str]] = None) -> None:
    model_args, data_args, training_args = kit.parse(
        (ModelArguments, LanguageArguments, kit.TrainingArguments), argv, __doc__
    )
    with kit.loading_turn():
        tokenizer, config = load_names(model_args)
        masked = config.model_type not in modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES
        masked = masked or (tokenizer.mask_token is not None and "bert" in config.model_type)
        objective = model_args.objective or ("mlm" if masked else "clm")
        if objective == "mlm" and tokenizer.mask_token is None:
            raise UsageError("--objective: got mlm, wanted clm, or a tokenizer with a mask token")
        if objective == "clm" and masked:
            config.is_decoder = True  # it would else see what it is to foretell
        size = kit.length_of(
            "block_size",
            data_args.block_size or data_args.max_seq_length,
            DEFAULT_BLOCK,
            tokenizer,
            config,
        )
        sets = blocks_of(data_args, tokenizer, size)
        model = kit.load_model(
            AutoModelForMaskedLM if objective == "mlm" else AutoModelForCausalLM,
            model_args.model_name_or_path,
            config,
            tokenizer,
            training_args,
            **kit.attention_of(model_args),
            **kit.hub_options(model_args),
        )
    with kit.usage_errors():
        trainer = Trainer(
            model=model,
            args=training_args,
            train_dataset=sets["train"],
            eval_dataset=sets["validation"],
            processing_class=tokenizer,
            data_collator=DataCollatorForLanguageModeling(
                tokenizer, mlm=objective == "mlm", mlm_probability=model_args.mlm_probability
            ),
            compute_metrics=perplexity,
            preprocess_logits_for_metrics=partial(token_losses, causal=objective == "clm"),
        )
    kit.say_what_runs(
        f"{objective}, {model.num_parameters()} weights,",
        training_args,
        f"{len(sets['train'])} blocks of {size} tokens, {len(sets['validation'])} held out",
    )
    identity = {
        "model": model_args.model_name_or_path or config.model_type,
        "objective": objective,
        "block_size": size,
        "mlm_probability": model_args.mlm_probability,
        "data": kit.fingerprint(sets["train"]),
    }
    kit.watch(trainer, identity)
    if training_args.do_train:
        kit.train(trainer)
    kit.finish(trainer, {"eval": sets["validation"]})


if __name__ == "__main__":
    sm_spot.leave(sm_spot.exit_code_of(main))

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

import hashlib
import math
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Callable, Optional, Sequence

import kit.trainer as kit
import sm_spot
from kit.data import DataArguments, Table, pick_columns, read_sets
from kit.device import loading_turn
from kit.models import (
    TINY,
    load_config,
    load_tokenizer,
    loading,
    longest_input,
    masked_by_nature,
    model_of,
)
from sm_spot import UsageError

import torch
from datasets import Dataset
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    AutoModelForMaskedLM,
    DataCollatorForLanguageModeling,
    Trainer,
    default_data_collator,
)

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
    validation_split_percentage: int = field(
        default=5, metadata={"help": "where there is nothing to hold out"}
    )
    block_size: Optional[int] = field(
        default=None, metadata={"help": "default: all the model takes, at most 1024"}
    )
    max_seq_length: Optional[int] = field(
        default=None, metadata={"help": "the same, as masked models' scripts call it"}
    )


def parse_arguments(argv: Sequence[str] | None = None) -> tuple[Any, ...]:
    return kit.parse((ModelArguments, LanguageArguments, kit.TrainingArguments), argv, __doc__)


# --- model ---


def load_names(model_args: ModelArguments) -> tuple[Any, Any]:
    """Tokenizer and configuration; a new model's vocabulary is as large as the tokenizer's."""
    if model_args.model_type in TINY:
        model_args.model_name_or_path = model_args.model_type
    name = model_args.model_name_or_path or model_args.config_name
    tokenizer_name = model_args.tokenizer_name or name
    if tokenizer_name is None:
        wanted = f"wanted one for --model_type {model_args.model_type!r}, which has none of its own"
        raise UsageError(f"--tokenizer_name: {wanted}")
    tokenizer = load_tokenizer(tokenizer_name, **model_args.hub())
    if name is not None:
        config = load_config(name, tokenizer, **model_args.hub())
    else:
        with loading(str(model_args.model_type)):
            config = AutoConfig.for_model(model_args.model_type)
    if model_args.model_name_or_path is None:
        config.vocab_size = max(config.vocab_size, len(tokenizer))
    if model_args.config_overrides:
        with kit.usage_errors():
            config.update_from_string(model_args.config_overrides)
    return tokenizer, config


def block_size_of(data_args: LanguageArguments, config: Any, tokenizer: Any) -> int:
    takes = min(longest_input(config) or DEFAULT_BLOCK, tokenizer.model_max_length)
    asked = data_args.block_size or data_args.max_seq_length or min(takes, DEFAULT_BLOCK)
    if asked > takes:
        wanted = f"wanted at most {takes}, which is what the model takes"
        raise UsageError(f"--block_size: got {asked}, {wanted}")
    return int(asked)


# --- data ---


def load_texts(data_args: LanguageArguments) -> tuple[list[str], list[str]]:
    """What to train on and what is held out: from files, channels, the hub or the sample."""
    tables = read_sets(data_args, "reviews.csv")
    train = texts_of(tables["train"], data_args)
    if "validation" in tables:
        held_out = texts_of(tables["validation"], data_args)
    else:
        count = kit.first_held_out(len(train), data_args.validation_split_percentage)
        train, held_out = train[count:], train[:count]
    return train, held_out


def texts_of(table: Table, data_args: LanguageArguments) -> list[str]:
    column = pick_columns(table, text=data_args.text_column, unlabelled=True).text
    return [text for text in table.texts(column) if text.strip()]


def blocks_of(tokenizer: Any, texts: list[str], size: int, *, limit: int | None = None) -> Dataset:
    """All texts one after another, each closed by an end-of-text token, cut into blocks of one
    length: no padding, and each token is to be foretold. The rest that fills no block is left out.
    """
    ends = (tokenizer.eos_token_id, tokenizer.sep_token_id)
    tokens: list[int] = []
    for ids in tokenizer(texts, return_attention_mask=False, verbose=False)["input_ids"]:
        tokens += ids
        if tokenizer.eos_token_id is not None and not (ids and ids[-1] in ends):
            tokens.append(tokenizer.eos_token_id)
    whole = len(tokens) // size * size
    blocks = [tokens[begin : begin + size] for begin in range(0, whole, size)][:limit]
    if not blocks:
        count = len(texts)
        wanted = f"wanted at most {len(tokens)}, which is what all {count} texts have"
        raise UsageError(f"--block_size: got {size}, {wanted}; lower it")
    return Dataset.from_dict({"input_ids": blocks, "labels": blocks})


def masking(
    collator: DataCollatorForLanguageModeling, model: Any, seed: int, epoch: Callable[[], int]
) -> Callable[[Any], Any]:
    """The collator, but what it hides, one token at least, is a function of the seed, the epoch and
    the blocks: the same after a resume; in evaluation the epoch is not in it.
    """

    def collate(features: Sequence[Any]) -> Any:
        blocks = [feature["input_ids"] for feature in features]
        when = epoch() if model.training else "evaluation"
        drawn = hashlib.sha256(f"{seed}/{when}/{blocks}".encode()).digest()
        collator.generator = torch.Generator().manual_seed(int.from_bytes(drawn[:4], "big"))
        batch = collator([{"input_ids": block} for block in blocks])
        if not (batch["labels"] != -100).any():  # the loss of nothing would be no number
            place = drawn[4] % len(blocks[0])
            batch["labels"][0, place] = blocks[0][place]
            batch["input_ids"][0, place] = collator.tokenizer.mask_token_id
        return batch

    return collate


# --- metrics ---


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


# --- main ---


def main(argv: Sequence[str] | None = None) -> None:
    model_args, data_args, training_args, notes = parse_arguments(argv)
    kit.begin(training_args, notes)

    with loading_turn():
        tokenizer, config = load_names(model_args)
    objective = model_args.objective or ("mlm" if masked_by_nature(config) else "clm")
    if objective == "mlm" and tokenizer.mask_token is None:
        raise UsageError(
            "--objective: got mlm, the tokenizer has no mask token; wanted clm, or a tokenizer with one"
        )
    block_size = block_size_of(data_args, config, tokenizer)
    texts, held_out_texts = load_texts(data_args)
    train_dataset = blocks_of(tokenizer, texts, block_size, limit=data_args.max_train_samples)
    eval_dataset = None
    if kit.evaluates(training_args):
        eval_dataset = blocks_of(
            tokenizer, held_out_texts, block_size, limit=data_args.max_eval_samples
        )

    auto = AutoModelForMaskedLM if objective == "mlm" else AutoModelForCausalLM
    model = model_of(auto, model_args, config, tokenizer, training_args)
    with kit.usage_errors():
        trainer = Trainer(
            model=model,
            args=training_args,
            train_dataset=train_dataset,
            eval_dataset=eval_dataset,
            processing_class=tokenizer,
            data_collator=default_data_collator,
            compute_metrics=perplexity,
            preprocess_logits_for_metrics=partial(token_losses, causal=objective == "clm"),
        )
    callback = kit.watch(
        trainer,
        {
            "model": model_args.model_name_or_path or config.model_type,
            "objective": objective,
            "block_size": block_size,
            "mlm_probability": model_args.mlm_probability,
            "data": kit.fingerprint(train_dataset),
        },
    )
    if objective == "mlm":
        collator = DataCollatorForLanguageModeling(
            tokenizer, mlm_probability=model_args.mlm_probability
        )
        collate = masking(collator, model, training_args.seed, lambda: callback.epoch)
        trainer.data_collator = callback.meter.counting(collate, model)
    held_out = len(eval_dataset or ())
    kit.say_what_runs(
        f"{objective}, {model.num_parameters()} weights,",
        training_args,
        f"{len(train_dataset)} blocks of {block_size} tokens, {held_out} held out",
    )

    if training_args.do_train:
        kit.train(trainer)
    if training_args.do_eval:
        kit.evaluate(trainer)
    if training_args.do_train:
        kit.save(trainer)


if __name__ == "__main__":
    sm_spot.leave(sm_spot.exit_code_of(main))

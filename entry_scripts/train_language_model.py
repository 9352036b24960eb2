"""Train a language model, causal (GPT-2) or masked (BERT), with Trainer: on CPU, CUDA, SMDDP, Trainium, or compiled.

    python train_language_model.py --model_type tiny-gpt2 --num_train_epochs 3 --do_eval True
    torchrun --nproc_per_node=2 train_language_model.py --model_type tiny-bert --do_eval True
    torchrun --nproc_per_node=32 train_language_model.py --model_type gpt2 --tokenizer_name gpt2 --block_size 512 \
        --dataset_name wikitext --dataset_config_name wikitext-103-v1 --per_device_train_batch_size 13 --bf16 True

Every argument of transformers' TrainingArguments is a flag too, by its old or its new name.
In a SageMaker job the channels `train` and, if there is one, `validation` are found by themselves.
Exit code: 0 done; 2 a mistake in what was asked; 75 stopped by SIGTERM, run the same command again to continue.
"""

from __future__ import annotations

import hashlib
import math
import sys
from array import array
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Callable, Optional, Sequence

import kit.trainer as kit
from kit.data import CHUNK, Table, pick_columns, said_of
from kit.device import MASKED, TINY, load_config, load_tokenizer, longest_input
from sm_spot import UsageError, exit_code_of, leave

import numpy as np
import torch
from transformers import CONFIG_MAPPING, DataCollatorForLanguageModeling, Trainer, default_data_collator

SAMPLE = Path(__file__).resolve().parent / "sample" / "reviews.csv"
DEFAULT_BLOCK = 1024  # where the model could take more


@dataclass
class Arguments(kit.SharedArguments):
    __doc__ = __doc__

    model_name_or_path: Optional[str] = field(default=None, metadata={"help": "pretrained: hub id or local folder"})
    model_type: Optional[str] = field(
        default=None, metadata={"help": "from scratch: gpt2, bert, … or tiny-gpt2, tiny-bert, which need no network"}
    )
    config_name: Optional[str] = field(default=None, metadata={"help": "from scratch; default: the model type's"})
    objective: Optional[str] = field(
        default=None, metadata={"choices": ("clm", "mlm"), "help": "default: what the model was made for"}
    )
    validation_split_percentage: int = field(default=5, metadata={"help": "where there is nothing to hold out"})
    text_column: Optional[str] = field(default=None, metadata={"help": "default: by the names that data sets use"})
    block_size: Optional[int] = field(default=None, metadata={"help": "default: all the model takes, at most 1024"})
    max_seq_length: Optional[int] = field(
        default=None, metadata={"help": "the same, as masked models' scripts call it"}
    )
    mlm_probability: float = field(default=0.15, metadata={"help": "share of the tokens that are hidden"})


def parse_arguments(argv: Sequence[str] | None = None) -> tuple[Arguments, Any, list[str]]:
    """Our own arguments, TrainingArguments, and what was translated."""
    own, args, notes = kit.parse_flags(Arguments, argv, {})
    if own.model_name_or_path is None and own.model_type is None and own.config_name is None:
        own.model_name_or_path = "gpt2"
    if own.model_type in {*TINY, "tiny-random"} or own.model_name_or_path in TINY:
        own.model_name_or_path = own.model_type or own.model_name_or_path
        if own.model_name_or_path == "tiny-random":
            own.model_name_or_path = "tiny-bert" if own.objective == "mlm" else "tiny-gpt2"
    return own, args, notes


# --- model ---


def load_names(own: Arguments) -> tuple[Any, Any]:
    """Tokenizer and configuration; a new model's vocabulary is as large as the tokenizer's."""
    name = own.model_name_or_path or own.config_name
    words = own.tokenizer_name or name
    if words is None:
        raise UsageError(f"--tokenizer_name: wanted one for --model_type {own.model_type!r}, which has none of its own")
    tokenizer = load_tokenizer(words, **own.hub())
    if name is not None:
        config = load_config(name, tokenizer, **own.hub())
    elif own.model_type in CONFIG_MAPPING:
        config = CONFIG_MAPPING[own.model_type]()
    else:
        raise UsageError(f"--model_type: got {own.model_type!r}, wanted {', '.join(TINY)}, gpt2, bert, roberta, …")
    if own.model_name_or_path is None:
        config.vocab_size = max(config.vocab_size, len(tokenizer))
    return tokenizer, config


def masked_by_nature(config: Any) -> bool:
    from transformers.models.auto import modeling_auto as known

    both = config.model_type in known.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES
    return config.model_type in (MASKED if both else known.MODEL_FOR_MASKED_LM_MAPPING_NAMES)


def block_size_of(own: Arguments, config: Any, tokenizer: Any) -> int:
    takes = min(longest_input(config) or DEFAULT_BLOCK, tokenizer.model_max_length)
    asked = own.block_size or own.max_seq_length
    if asked is not None and asked > takes:
        raise UsageError(f"--block_size: got {asked}, wanted at most {takes}, which is what the model takes")
    return int(asked or min(takes, DEFAULT_BLOCK))


# --- data ---


def load_texts(own: Arguments, say: Callable[..., None]) -> tuple[list[str], list[str]]:
    """What to train on and what is held out: from files, channels, the hub or the sample."""
    tables = kit.read_tables(own, SAMPLE)
    texts = {name: texts_of(table, own) for name, table in tables.items()}
    say(*said_of(tables))
    if "validation" not in texts:
        held = kit.first_held_out(len(texts["train"]), own.validation_split_percentage)
        return texts["train"][held:], texts["train"][:held]
    return texts["train"], texts["validation"]


def texts_of(table: Table, own: Arguments) -> list[str]:
    column = pick_columns(table, text=own.text_column, unlabelled=True).text
    return [text for text in table.texts(column) if text.strip()]


class Blocks:
    """Texts one after another, cut into blocks of one length: no padding, and each token is to be foretold."""

    def __init__(self, ids: array[int], size: int) -> None:
        self.ids, self.size = ids, size

    def __len__(self) -> int:
        return len(self.ids) // self.size

    def __getitem__(self, index: int) -> dict[str, Any]:
        begin = range(0, len(self.ids), self.size)[index]
        ids = np.array(self.ids[begin : begin + self.size], dtype=np.int64)
        return {"input_ids": ids, "labels": ids}

    def fingerprint(self) -> str:
        return hashlib.sha256(self.ids).hexdigest()[:16]


def blocks_of(tokenizer: Any, texts: Sequence[str], size: int, *, limit: int | None = None) -> Blocks:
    """An end-of-text token closes each text; the rest that fills no block is left out."""
    ids, ends = array("i"), {tokenizer.eos_token_id, tokenizer.sep_token_id}
    for start in range(0, len(texts), CHUNK):
        made = tokenizer(list(texts[start : start + CHUNK]), return_attention_mask=False, verbose=False)
        for own in made["input_ids"]:
            ids.extend(own)
            if tokenizer.eos_token_id is not None and not (own and own[-1] in ends):
                ids.append(tokenizer.eos_token_id)
        if limit and len(ids) >= limit * size:
            break
    count = min(len(ids) // size, limit or len(ids))
    if not count:
        wanted = f"wanted at most {len(ids)}, which is what all the texts have"
        raise UsageError(f"--block_size: got {size}, {wanted}; lower it")
    return Blocks(ids[: count * size], size)


def seeded(collator: Any, model: Any, seed: int, epoch: Callable[[], int]) -> Callable[[Any], Any]:
    """DataCollatorForLanguageModeling, but what it hides in a block, one token at least, is a function of the seed, the epoch
    and the block: the same after a resume, and however many workers there are; in evaluation the epoch is not in it.
    """
    mask_id = collator.tokenizer.mask_token_id

    def collate(features: Sequence[Any]) -> dict[str, Any]:
        made, salt = [], f"{seed}/{epoch() if model.training else 'evaluation'}/".encode()
        with torch.random.fork_rng(devices=[]):
            for feature in features:
                drawn = hashlib.sha256(salt + np.asarray(feature["input_ids"]).tobytes()).digest()
                torch.default_generator.manual_seed(int.from_bytes(drawn[:4], "big"))
                one = collator([{"input_ids": feature["input_ids"].tolist()}])
                if not (one["labels"] != -100).any():  # the loss of nothing would be no number
                    place = int(torch.randint(one["labels"].shape[1], (1,)))
                    one["labels"][0, place] = one["input_ids"][0, place]
                    one["input_ids"][0, place] = mask_id
                made.append(one)
        return {name: torch.cat([one[name] for one in made]) for name in made[0]}

    return collate


# --- metrics ---


def token_losses(*, causal: bool) -> Any:
    """For Trainer's `preprocess_logits_for_metrics`: of each example the sum of its tokens' losses, and their number."""

    def sums(logits: Any, labels: Any) -> Any:
        logits = logits[0] if isinstance(logits, (tuple, list)) else logits
        if causal:
            logits, labels = logits[:, :-1], labels[:, 1:]
        losses = torch.nn.functional.cross_entropy(logits.float().transpose(1, 2), labels, reduction="none")
        return torch.stack([losses.sum(dim=1), (labels != -100).sum(dim=1).float()], dim=1)

    return sums


def perplexity(found: Any) -> dict[str, float]:
    """For Trainer's `compute_metrics`: e to the mean loss per foretold token, each token counted once."""
    losses, counts = found.predictions.astype("float64").T
    loss = float(losses.sum() / max(1.0, counts.sum()))
    return {"loss": loss, "perplexity": round(math.exp(loss), 6) if loss < 700 else math.inf, "samples": len(losses)}


# --- main ---


def main(argv: Sequence[str] | None = None) -> None:
    own, args, notes = parse_arguments(argv)
    spot = kit.begin(own, args, notes)
    runtime = spot.runtime
    with runtime.loading_turn():
        tokenizer, config = load_names(own)
    objective = own.objective or ("mlm" if masked_by_nature(config) else "clm")
    if objective == "mlm" and tokenizer.mask_token is None:
        raise UsageError("--objective: got mlm, the tokenizer has no mask token; wanted clm, or a tokenizer with one")
    block_size = block_size_of(own, config, tokenizer)
    texts, judged = load_texts(own, spot.console.say)
    blocks = blocks_of(tokenizer, texts, block_size, limit=own.max_train_samples)
    evaluates = args.do_eval or str(getattr(args, "eval_strategy", "no")) != "no"
    held_out = blocks_of(tokenizer, judged, block_size, limit=own.max_eval_samples) if evaluates else None
    kit.check_size(len(blocks), args)
    head = "MaskedLM" if objective == "mlm" else "CausalLM"
    model = kit.model_of(own, args, runtime, config, head, tokenizer=tokenizer)
    collator: Any = default_data_collator
    if objective == "mlm":
        collator = DataCollatorForLanguageModeling(tokenizer, mlm_probability=own.mlm_probability)
        collator = seeded(collator, model, args.seed, lambda: spot.epoch)
    with kit.asked():
        trainer = Trainer(
            model=model,
            args=args,
            train_dataset=blocks,
            eval_dataset=held_out,
            data_collator=spot.collate(model, collator),
            compute_metrics=perplexity,
            preprocess_logits_for_metrics=token_losses(causal=objective == "clm"),
            callbacks=[spot],
        )
    spot.console.say(
        f"{objective}, {sum(weight.numel() for weight in model.parameters())} weights, on {args.device}, "
        f"{args.world_size} worker(s): {len(blocks)} blocks of {block_size} tokens, {len(held_out or ())} held out"
    )
    if args.do_train:
        name, data = own.model_name_or_path or config.model_type, blocks.fingerprint()
        identity = {"model": name, "objective": objective, "data": data, "block_size": block_size}
        kit.train(trainer, spot, own, {**identity, "mlm_probability": own.mlm_probability})
    kit.drop_printers(trainer)
    kit.in_order(args)
    if args.do_eval:
        trainer.evaluate()
    if args.do_train:
        kit.save(trainer, spot, tokenizer, own.output_dir)


def _mp_fn(_index: int) -> None:
    """Where torch_xla's spawn launcher (the Training Compiler's `pytorchxla` distribution) enters each worker."""
    sys.exit(exit_code_of(main))


if __name__ == "__main__":
    leave(exit_code_of(main))

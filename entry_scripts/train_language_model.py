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

import argparse
import os
import sys
from typing import Any, Sequence

import torch

from _args import add_folders, parse_flags, trainer_defaults
from _arguments import Parser, integer, proper_fraction, str2bool
from _checkpoint import StopRequest
from _console import Console, Mistake, exit_code_of, leave
from _corpus import Blocks, HiddenTokens, NextToken, pack, read_texts
from _language import load_language_config, load_language_model, load_language_tokenizer, masked_by_nature
from _models import longest_input
from _peers import loading_turn, on_xla, settled
from _scores import perplexity

DEFAULT_BLOCK = 1024  # where the model could take more

# --- arguments ---


def make_parser() -> Parser:
    channel = {name: os.environ.get("SM_CHANNEL_" + name) for name in ("TRAIN", "TRAINING", "VALIDATION", "TEST")}
    parser = Parser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False)
    add = parser.add_argument
    add("--model_name_or_path", help="pretrained: hub id or local folder")
    add("--model_type", help="from scratch: gpt2, bert, roberta, … or tiny-gpt2, tiny-bert, which need no network")
    add("--config_name", help="from scratch with this configuration; default: the model type's")
    add("--tokenizer_name", help="default: the model's")
    add("--objective", choices=("clm", "mlm"), help="causal or masked; default: what the model was made for")
    add("--dataset_name", help="of the Hugging Face hub, or `sample`")
    add("--dataset_config_name")
    add("--train_file", default=channel["TRAIN"] or channel["TRAINING"], help="txt, csv, jsonl, parquet; or a folder")
    add("--validation_file", default=channel["VALIDATION"] or channel["TEST"])
    add("--validation_split_percentage", type=integer(1), default=5, help="held out where there is nothing to hold out")
    add("--text_column", help="default: text, content or sentence")
    add("--block_size", type=integer(2), help="tokens per example; default: all the model takes, at most 1024")
    add("--max_seq_length", type=integer(2), help="the same, as scripts for masked models call it")
    add("--mlm_probability", type=proper_fraction, default=0.15, help="share of the tokens that are hidden")
    add("--max_train_samples", type=integer(1), help="blocks at most")
    add("--max_eval_samples", type=integer(1), help="blocks at most")
    add("--preprocessing_num_workers", type=integer(1), help="accepted; the tokenizer's threads do that work")
    add("--overwrite_cache", type=str2bool, nargs="?", const=True, help="accepted; there is no cache of tokens")
    add("--use_fast_tokenizer", type=str2bool, nargs="?", const=True, help="accepted; it always is")
    add_folders(parser)
    return parser


def parse_arguments(argv: Sequence[str] | None = None) -> tuple[argparse.Namespace, Any, list[str]]:
    """Our own arguments, TrainingArguments, and what was translated."""
    defaults = {**trainer_defaults(), "prediction_loss_only": True}
    own, args, notes = parse_flags(make_parser(), argv, defaults)
    args.output_dir = str(own.checkpoint_dir or own.output_dir)
    if own.model_name_or_path is None and own.model_type is None and own.config_name is None:
        own.model_name_or_path = "gpt2"
    return own, args, notes


# --- data ---


def block_size_of(own: argparse.Namespace, config: Any, tokenizer: Any) -> int:
    takes = min(longest_input(config) or DEFAULT_BLOCK, tokenizer.model_max_length)
    asked = own.block_size or own.max_seq_length
    if asked is None:
        return int(min(takes, DEFAULT_BLOCK))
    if asked > takes:
        raise Mistake(f"--block_size: got {asked}, wanted at most {takes}, which is what the model takes")
    return int(asked)


def load_blocks(own: argparse.Namespace, tokenizer: Any, block_size: int) -> tuple[Blocks, Blocks]:
    """What to train on, and what is held out."""
    texts = read_texts(own)
    train, held_out = (pack(part, tokenizer, block_size) for part in texts)
    if not len(held_out) and own.do_eval:
        raise Mistake(f"--block_size: got {block_size}, wanted at most the tokens held out; raise what is held out")
    return Blocks(train[: own.max_train_samples]), Blocks(held_out[: own.max_eval_samples])


# --- main ---


def run(own: argparse.Namespace, args: Any, notes: list[str], stop: StopRequest) -> None:
    from _trainer import EpochOf, SpotTrainer, check_size, identity_of, save, silence, train  # seconds, so not before

    console = Console(is_main=args.process_index == 0)
    for note in notes:
        console.say(note)
    own.do_eval = args.do_eval
    with loading_turn(args):
        tokenizer = load_language_tokenizer(own)
        config = load_language_config(own, tokenizer)
    objective = own.objective or ("mlm" if masked_by_nature(config) else "clm")
    block_size = block_size_of(own, config, tokenizer)
    blocks, held_out = load_blocks(own, tokenizer, block_size)
    if args.do_train:
        check_size("data", len(blocks), args)
    torch.manual_seed(args.seed)
    with loading_turn(args):
        model = load_language_model(own, config, masked=objective == "mlm", eager_attention=on_xla())
        model = settled(model, args)

    def collator_of(part: Blocks) -> Any:
        return HiddenTokens(part, tokenizer, own.mlm_probability, args.seed) if objective == "mlm" else NextToken(part)

    trainer = SpotTrainer(
        model=model,
        args=args,
        train_dataset=blocks,
        eval_dataset=held_out,
        data_collator=collator_of(blocks),
        callbacks=[EpochOf(blocks)],
    )
    trainer.collate_evaluation = collator_of(held_out)
    silence(trainer)
    console.say(
        f"{objective}, {sum(weight.numel() for weight in model.parameters())} weights, on {args.device}, "
        f"{args.world_size} worker(s): {len(blocks)} blocks of {block_size} tokens, {len(held_out)} held out"
    )
    if args.do_train:
        same = identity_of(args, objective=objective, data=blocks.fingerprint(), block_size=block_size)
        train(trainer, own, same, console, stop, tokens_per_sample=block_size)
    if args.do_eval:
        console.metrics(evaluate(trainer, len(held_out)))
    if args.do_train:
        save(trainer, tokenizer, own.output_dir)


def evaluate(trainer: Any, samples: int) -> dict[str, Any]:
    """Perplexity: e to the mean loss per foretold token. Every block foretells as many, so means of means are right."""
    loss = float(trainer.evaluate()["eval_loss"])
    return {"eval_perplexity": perplexity(loss), "eval_samples": samples, "step": trainer.state.global_step}


def main(argv: Sequence[str] | None = None) -> None:
    stop = StopRequest()
    stop.install()
    own, args, notes = parse_arguments(argv)
    run(own, args, notes, stop)


def _mp_fn(_index: int) -> None:
    """Where torch_xla's spawn launcher (the Training Compiler's `pytorchxla` distribution) enters each worker."""
    sys.exit(exit_code_of(main))


if __name__ == "__main__":
    leave(exit_code_of(main))

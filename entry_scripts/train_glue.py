"""Fine-tune a model on a task of GLUE, or on pairs of texts like it, with Trainer: CPU, CUDA, SMDDP, SMP or Trainium.

    python train_glue.py --model_name_or_path tiny-random --num_train_epochs 4 --learning_rate 0.002
    torchrun --nproc_per_node=2 train_glue.py --model_name_or_path tiny-random --max_steps 50
    torchrun --nproc_per_node=32 train_glue.py --model_name_or_path roberta-large --task_name mnli --bf16 True

Every argument of transformers' TrainingArguments is a flag too, by its old or its new name. Under SageMaker's model
parallel library Trainer reads its settings from the environment; the flag --mp_parameters that comes with it is known.
In a SageMaker job the channels `train`, `validation` and `test` are found by themselves.
Exit code: 0 done; 2 a mistake in what was asked; 75 stopped by SIGTERM, run the same command again to continue.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any, Sequence

import torch

from _args import GROUP_BY_LENGTH, add_folders, parse_flags, trainer_defaults
from _arguments import Parser, integer, proper_fraction, str2bool
from _checkpoint import StopRequest
from _console import Console, Mistake, exit_code_of, leave
from _data import cut, label_names, label_numbers
from _examples import Collator, Examples, encode_examples
from _models import load_classifier, load_config, load_tokenizer, longest_input
from _pairs import Pair, read_pairs, task_pairs
from _parts import rounded
from _peers import grain_of, loading_turn, on_xla, settled
from _scores import accuracy, f1

# --- arguments ---


def make_parser() -> Parser:
    channel = {name: os.environ.get("SM_CHANNEL_" + name) for name in ("TRAIN", "TRAINING", "VALIDATION", "TEST")}
    parser = Parser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False)
    add = parser.add_argument
    add("--model_name_or_path", default="roberta-base", help="hub id, local folder, or tiny-random")
    add("--tokenizer_name", help="default: the model's")
    add("--task_name", help="of GLUE, from the hub: cola, mnli, mrpc, qnli, qqp, rte, sst2, wnli")
    add("--train_file", default=channel["TRAIN"] or channel["TRAINING"], help="csv, tsv, jsonl, parquet; or a folder")
    add("--validation_file", default=channel["VALIDATION"])
    add("--test_file", default=channel["TEST"], help="what --do_predict labels")
    add("--validation_fraction", type=proper_fraction, default=0.1, help="held out where there is no validation file")
    add("--max_seq_length", type=integer(2), default=128)
    add(
        "--pad_to_max_length",
        type=str2bool,
        nargs="?",
        const=True,
        help="one length for all batches; XLA always has it",
    )
    add("--max_train_samples", type=integer(1))
    add("--max_eval_samples", type=integer(1))
    add("--max_predict_samples", type=integer(1))
    add("--overwrite_cache", type=str2bool, nargs="?", const=True, help="accepted; there is no cache of tokens")
    add_folders(parser)
    return parser


def parse_arguments(argv: Sequence[str] | None = None) -> tuple[argparse.Namespace, Any, list[str]]:
    """Our own arguments, TrainingArguments, and what was translated."""
    defaults = {**trainer_defaults(), **GROUP_BY_LENGTH, "do_eval": True, "learning_rate": 2e-5}
    own, args, notes = parse_flags(make_parser(), argv, defaults)
    args.output_dir = str(own.checkpoint_dir or own.output_dir)
    args.label_names = ["labels"]
    return own, args, notes


# --- data ---


def load_pairs(own: argparse.Namespace) -> dict[str, list[Pair]]:
    """Training texts under `train`; each other name is a set to be judged on, or, under `test`, only to be labelled."""
    if own.train_file is None and own.task_name and own.task_name != "sample":
        sets = task_pairs(own.task_name)
    else:
        sets = {"train": read_pairs(own.train_file or "sample", "train_file")}
        if own.validation_file:
            sets["eval"] = read_pairs(own.validation_file, "validation_file")
        else:
            sets["train"], sets["eval"] = cut(sets["train"], own.validation_fraction)
        if own.test_file:
            sets["test"] = read_pairs(own.test_file, "test_file", labelled=False)
    limits = {"train": own.max_train_samples, "test": own.max_predict_samples}
    return {name: pairs[: limits.get(name, own.max_eval_samples)] for name, pairs in sets.items()}


def encode_sets(
    sets: dict[str, list[Pair]], names: list[str], tokenizer: Any, own: argparse.Namespace
) -> dict[str, Examples]:
    """All of one length: what the longest pair needs, or `max_seq_length`."""
    encoded = {}
    for name, pairs in sets.items():
        seconds = {"text_pair": [pair.second for pair in pairs]} if any(pair.second for pair in pairs) else {}
        first = [pair.first for pair in pairs]
        encoded[name] = tokenizer(first, **seconds, truncation=True, max_length=own.max_seq_length)
    longest = max(len(ids) for pieces in encoded.values() for ids in pieces["input_ids"])
    length = own.max_seq_length if own.pad_to_max_length else min(own.max_seq_length, rounded(longest))
    return {
        name: encode_examples(
            pieces,
            {} if name == "test" else {"labels": label_numbers([pair.label for pair in sets[name]], names, name)},
            length=length,
            pad_id=tokenizer.pad_token_id,
        )
        for name, pieces in encoded.items()
    }


# --- main ---


def run(own: argparse.Namespace, args: Any, notes: list[str], stop: StopRequest) -> None:
    from _trainer import SpotTrainer, check_size, identity_of, save, silence, train  # seconds, so not before

    console = Console(is_main=args.process_index == 0)
    for note in notes:
        console.say(note)
    with loading_turn(args):
        tokenizer = load_tokenizer(own.tokenizer_name or own.model_name_or_path)
    sets = load_pairs(own)
    names = label_names([pair.label for pair in sets["train"]], None)
    config = load_config(own.model_name_or_path, tokenizer, names)
    takes = longest_input(config)
    if takes is not None and own.max_seq_length > takes:
        raise Mistake(f"--max_seq_length: got {own.max_seq_length}, wanted at most {takes}, which the model takes")
    examples = encode_sets(sets, names, tokenizer, own)
    data = examples["train"]
    if args.do_train:
        check_size("data", len(data), args)
    torch.manual_seed(args.seed)  # the new head, and all of tiny-random
    with loading_turn(args):
        model = load_classifier(own.model_name_or_path, config, eager_attention=on_xla())
        model = settled(model, args)
    trim = not (on_xla() or own.pad_to_max_length)
    collators = {name: Collator(part, trim=trim) for name, part in examples.items()}
    in_parts = Collator(data, trim=trim, grain=grain_of(args))
    trainer = SpotTrainer(
        model=model,
        args=args,
        train_dataset=data,
        data_collator=in_parts,
        preprocess_logits_for_metrics=logits_alone,
    )
    silence(trainer)
    trainer.group_lengths(data)
    held_out = [name for name in examples if name not in {"train", "test"}]
    console.say(
        f"{own.model_name_or_path} on {args.device}, {args.world_size} worker(s): {len(data)} examples of {len(names)} "
        f"labels, at most {data.length} tokens ({data.fill():.0%} filled), "
        f"{sum(len(examples[name]) for name in held_out)} held out"
    )
    if args.do_train:
        same = identity_of(args, model=own.model_name_or_path, data=data.fingerprint())
        train(trainer, own, same, console, stop, tokens_per_sample=data.length)
    if args.do_eval:
        for name in held_out:
            trainer.collate_evaluation = collators[name]
            console.metrics({**evaluate(trainer, examples[name], name), "step": trainer.state.global_step})
    if args.do_train:
        save(trainer, tokenizer, own.output_dir)
    if args.do_predict and "test" in examples:
        trainer.collate_evaluation = collators["test"]
        guesses = trainer.predict(examples["test"]).predictions.argmax(-1).tolist()
        if args.process_index == 0:
            write_predictions(own.output_dir / "predictions.tsv", [names[guess] for guess in guesses])


def logits_alone(found: Any, _labels: Any) -> Any:
    """BART and its like hand out their encoder's states as well."""
    return found[0] if isinstance(found, (tuple, list)) else found


def evaluate(trainer: Any, examples: Examples, prefix: str) -> dict[str, Any]:
    """Accuracy, and F1 of label 1 or, with more than two labels, the mean of all. Each example counts once."""
    found = trainer.predict(examples, metric_key_prefix=prefix)
    wanted, guesses = examples.labels["labels"].tolist(), found.predictions.argmax(-1).tolist()
    return {
        f"{prefix}_loss": round(float(found.metrics[f"{prefix}_loss"]), 6),
        f"{prefix}_accuracy": round(accuracy(wanted, guesses), 6),
        f"{prefix}_f1": round(f1(wanted, guesses, found.predictions.shape[-1]), 6),
        f"{prefix}_samples": len(wanted),
    }


def write_predictions(path: Path, labels: Sequence[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [f"{number}\t{label}\n" for number, label in enumerate(labels)]
    path.write_text("index\tprediction\n" + "".join(lines), encoding="utf-8")


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

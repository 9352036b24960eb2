"""Fine-tune a model to find answers in texts, as in SQuAD, with Trainer: on CPU, CUDA, SMDDP or Trainium.

    python train_question_answering.py --model_name_or_path tiny-random --num_train_epochs 20 --learning_rate 0.002
    torchrun --nproc_per_node=2 train_question_answering.py --model_name_or_path tiny-random --max_steps 50
    torchrun --nproc_per_node=32 train_question_answering.py --model_name_or_path bert-large-uncased-whole-word-masking \
        --dataset_name squad --max_seq_length 384 --doc_stride 128 --per_device_train_batch_size 4 --bf16 True

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

from _args import GROUP_BY_LENGTH, add_folders, parse_flags, trainer_defaults
from _arguments import Parser, integer, proper_fraction, str2bool
from _checkpoint import StopRequest
from _console import Console, Mistake, exit_code_of, leave
from _data import cut
from _examples import Collator
from _models import load_head_config, load_tokenizer, load_with_head, longest_input
from _peers import grain_of, loading_turn, on_xla, settled
from _questions import Features, Question, answers_of, encode_questions, hub_questions, read_questions
from _scores import answer_f1, exact_match

# --- arguments ---


def make_parser() -> Parser:
    channel = {name: os.environ.get("SM_CHANNEL_" + name) for name in ("TRAIN", "TRAINING", "VALIDATION", "TEST")}
    parser = Parser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False)
    add = parser.add_argument
    add("--model_name_or_path", default="bert-large-uncased-whole-word-masking", help="hub id, folder, or tiny-random")
    add("--tokenizer_name", help="default: the model's")
    add("--dataset_name", help="of the Hugging Face hub, such as squad, or `sample`")
    add("--dataset_config_name")
    add("--train_file", default=channel["TRAIN"] or channel["TRAINING"], help="json, jsonl, csv, parquet; or a folder")
    add("--validation_file", default=channel["VALIDATION"] or channel["TEST"])
    add("--validation_fraction", type=proper_fraction, default=0.1, help="held out where there is no validation file")
    add("--max_seq_length", type=integer(16), default=384, help="tokens of question and context together")
    add("--doc_stride", type=integer(1), default=128, help="tokens that two windows over a long context share")
    add(
        "--pad_to_max_length",
        type=str2bool,
        nargs="?",
        const=True,
        help="one length for all batches; XLA always has it",
    )
    add("--n_best_size", type=integer(1), default=20, help="starts and ends that are tried")
    add("--max_answer_length", type=integer(1), default=30, help="tokens")
    add("--version_2_with_negative", type=str2bool, nargs="?", const=True, default=False, help="some have no answer")
    add("--max_train_samples", type=integer(1), help="questions at most")
    add("--max_eval_samples", type=integer(1), help="questions at most")
    add("--preprocessing_num_workers", type=integer(1), help="accepted; the tokenizer's threads do that work")
    add("--overwrite_cache", type=str2bool, nargs="?", const=True, help="accepted; there is no cache of features")
    add_folders(parser)
    return parser


def parse_arguments(argv: Sequence[str] | None = None) -> tuple[argparse.Namespace, Any, list[str]]:
    """Our own arguments, TrainingArguments, and what was translated."""
    learning = {"learning_rate": 3e-5, "num_train_epochs": 2}
    defaults = {**trainer_defaults(), **GROUP_BY_LENGTH, **learning, "do_eval": True}
    own, args, notes = parse_flags(make_parser(), argv, defaults)
    args.output_dir = str(own.checkpoint_dir or own.output_dir)
    args.label_names = ["start_positions", "end_positions"]
    if own.doc_stride >= own.max_seq_length:
        raise Mistake(f"--doc_stride: got {own.doc_stride}, wanted less than --max_seq_length {own.max_seq_length}")
    return own, args, notes


# --- data ---


def load_questions(own: argparse.Namespace) -> tuple[list[Question], list[Question]]:
    """What to train on, and what is held out."""
    if own.train_file is None and own.dataset_name not in {None, "sample"}:
        train, held_out = hub_questions(own.dataset_name, own.dataset_config_name)
    else:
        train = read_questions(own.train_file or "sample", "train_file")
        if own.validation_file:
            held_out = read_questions(own.validation_file, "validation_file")
        else:
            train, held_out = cut(train, own.validation_fraction)
    return train[: own.max_train_samples], held_out[: own.max_eval_samples]


# --- main ---


def run(own: argparse.Namespace, args: Any, notes: list[str], stop: StopRequest) -> None:
    from _trainer import SpotTrainer, check_size, identity_of, save, silence, train  # seconds, so not before

    console = Console(is_main=args.process_index == 0)
    for note in notes:
        console.say(note)
    with loading_turn(args):
        tokenizer = load_tokenizer(own.tokenizer_name or own.model_name_or_path)
        config = load_head_config(own.model_name_or_path, tokenizer)
    takes = longest_input(config)
    if takes is not None and own.max_seq_length > takes:
        raise Mistake(f"--max_seq_length: got {own.max_seq_length}, wanted at most {takes}, which the model takes")
    questions = load_questions(own)
    train_features, held_out = (
        encode_questions(
            part,
            tokenizer,
            max_length=own.max_seq_length,
            stride=own.doc_stride,
            full_length=bool(own.pad_to_max_length),
        )
        for part in questions
    )
    if args.do_train:
        check_size("data", len(train_features.examples), args)
    torch.manual_seed(args.seed)  # the new head, and all of tiny-random
    with loading_turn(args):
        model = load_with_head(own.model_name_or_path, config, "QuestionAnswering", eager_attention=on_xla())
        model = settled(model, args)
    trim = not (on_xla() or own.pad_to_max_length)
    trainer = SpotTrainer(
        model=model,
        args=args,
        train_dataset=train_features.examples,
        eval_dataset=held_out.examples,
        data_collator=Collator(train_features.examples, trim=trim, grain=grain_of(args)),
    )
    # Windows of one batch may be trimmed, but the logits of all are put together and so are of one length.
    trainer.collate_evaluation = Collator(held_out.examples, trim=False)
    silence(trainer)
    trainer.group_lengths(train_features.examples)
    console.say(
        f"{own.model_name_or_path} on {args.device}, {args.world_size} worker(s): {len(questions[0])} questions in "
        f"{len(train_features.examples)} windows of {train_features.examples.length} tokens, {len(questions[1])} held out"
    )
    if args.do_train:
        data = train_features.examples
        same = identity_of(args, model=own.model_name_or_path, data=data.fingerprint())
        train(trainer, own, same, console, stop, tokens_per_sample=data.length)
    if args.do_eval:
        console.metrics({**evaluate(trainer, own, questions[1], held_out), "step": trainer.state.global_step})
    if args.do_train:
        save(trainer, tokenizer, own.output_dir)


def evaluate(trainer: Any, own: argparse.Namespace, questions: list[Question], features: Features) -> dict[str, Any]:
    """Exact match and F1 in percent, over questions, each counted once, as SQuAD's own evaluation has them."""
    found = trainer.predict(features.examples, metric_key_prefix="eval")
    answers = answers_of(
        questions,
        features,
        found.predictions[:2],
        n_best=own.n_best_size,
        max_tokens=own.max_answer_length,
        may_be_empty=own.version_2_with_negative,
    )
    pairs = list(zip(questions, answers))
    return {
        "eval_loss": round(float(found.metrics["eval_loss"]), 6),
        "eval_exact_match": round(100 * sum(exact_match(q.answers, text) for q, text in pairs) / len(pairs), 6),
        "eval_f1": round(100 * sum(answer_f1(q.answers, text) for q, text in pairs) / len(pairs), 6),
        "eval_samples": len(pairs),
    }


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

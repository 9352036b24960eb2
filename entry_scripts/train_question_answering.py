"""Fine-tune a model to find answers in texts, as in SQuAD, with Trainer: on CPU, CUDA, SMDDP or Trainium.

    python train_question_answering.py --model_name_or_path tiny-random --num_train_epochs 20 --learning_rate 0.002
    torchrun --nproc_per_node=2 train_question_answering.py --model_name_or_path tiny-random --max_steps 50
    torchrun --nproc_per_node=32 train_question_answering.py --model_name_or_path bert-large-uncased-whole-word-masking \
        --dataset_name squad --max_seq_length 384 --doc_stride 128 --per_device_train_batch_size 4 --bf16 True

Every argument of transformers' TrainingArguments is a flag too, by its old or its new name. The answers to the held-out
questions are written to predictions.json, which SQuAD's own evaluation reads.
In a SageMaker job the channels `train` and, if there is one, `validation` are found by themselves.
Exit code: 0 done; 2 a mistake in what was asked; 75 stopped by SIGTERM, run the same command again to continue.
"""

from __future__ import annotations

import argparse
import json
import re
import string
import sys
from collections import Counter
from pathlib import Path
from typing import Any, Callable, Sequence

import torch

from kit.data import Questions, questions_of, windows_of
from kit.device import detect, load_config, load_model, load_tokenizer, longest_input
from kit.spot import Parser, StopRequest, UsageError, exit_code_of, integer, leave, proper_fraction, str2bool

SAMPLE = Path(__file__).resolve().parent / "sample" / "questions.jsonl"
SPLIT_SEED = 20  # not --seed: runs with different seeds are compared on the same held-out questions
ARTICLES = re.compile(r"\b(a|an|the)\b")
PUNCTUATION = frozenset(string.punctuation)


def make_parser() -> Parser:
    from kit.trainer import add_folders, channel

    parser = Parser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False)
    add = parser.add_argument
    add("--model_name_or_path", default="bert-large-uncased-whole-word-masking", help="hub id, folder, or tiny-random")
    add("--tokenizer_name", help="default: the model's")
    add("--dataset_name", help="of the Hugging Face hub, such as squad, or `sample`")
    add("--dataset_config_name")
    add("--train_file", default=channel("train") or channel("training"), help="json, csv, parquet; or a folder")
    add("--validation_file", default=channel("validation") or channel("test"))
    add("--validation_fraction", type=proper_fraction, default=0.1, help="held out where there is no validation file")
    add("--encoding", help="of the files, where it is not UTF-8: latin-1, cp1252, utf-16")
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
    add("--attn_implementation", help="eager, sdpa, flash_attention_2; default: transformers' own choice, eager on XLA")
    add("--preprocessing_num_workers", type=integer(1), help="accepted; the tokenizer's threads do that work")
    add("--overwrite_cache", type=str2bool, nargs="?", const=True, help="accepted; there is no cache of features")
    add_folders(parser)
    return parser


def parse_arguments(argv: Sequence[str] | None = None) -> tuple[argparse.Namespace, Any, list[str]]:
    """Our own arguments, TrainingArguments, and what was translated."""
    from kit.trainer import parse_flags

    ours = {"train_sampling_strategy": "group_by_length", "learning_rate": 3e-5, "num_train_epochs": 2, "do_eval": True}
    own, args, notes = parse_flags(make_parser(), argv, ours)
    if own.doc_stride >= own.max_seq_length:
        raise UsageError(f"--doc_stride: got {own.doc_stride}, wanted less than --max_seq_length {own.max_seq_length}")
    return own, args, notes


def load_questions(own: argparse.Namespace, say: Callable[[str], None]) -> tuple[Questions, Questions]:
    """What to train on, and what is held out."""
    from kit.trainer import read_tables

    tables = read_tables(own, SAMPLE)
    train = questions_of(tables["train"])
    if "validation" in tables:
        held_out = questions_of(tables["validation"], judged=True)
    else:
        train, held_out = train.split(own.validation_fraction, seed=SPLIT_SEED)
    for sentence in dict.fromkeys(sentence for table in tables.values() for sentence in table.said):
        say(sentence)
    return train.take(range(len(train.ids))[: own.max_train_samples]), held_out.take(
        range(len(held_out.ids))[: own.max_eval_samples]
    )


# --- metrics: the formulas of SQuAD's own evaluation ---


def normal(text: str) -> str:
    """Lower case, without punctuation, articles and extra blanks."""
    bare = "".join(letter for letter in text.lower() if letter not in PUNCTUATION)
    return " ".join(ARTICLES.sub(" ", bare).split())


def exact_match(gold: Sequence[str], answer: str) -> float:
    """1 if the answer is one of the right ones. No right answer at all means the empty one."""
    return float(any(normal(answer) == normal(one) for one in gold or [""]))


def answer_f1(gold: Sequence[str], answer: str) -> float:
    """Overlap of words with the right answer that it is nearest to."""
    return max(_overlap(normal(one).split(), normal(answer).split()) for one in gold or [""])


def _overlap(gold: Sequence[str], answer: Sequence[str]) -> float:
    if not gold or not answer:
        return float(gold == answer)
    common = sum((Counter(gold) & Counter(answer)).values())
    return 2 * common / (len(gold) + len(answer))


# --- answers ---


def answers_of(questions: Questions, windows: Any, logits: tuple[Any, Any], own: Any) -> list[str]:
    """The likeliest span of each question over all its windows; empty if that is allowed and likelier."""
    best: list[tuple[float, str]] = [(float("-inf"), "")] * len(questions.ids)
    empty = [float("inf")] * len(questions.ids)
    for number, index in enumerate(windows.questions):
        starts, ends, offsets = logits[0][number], logits[1][number], windows.offsets(number)
        empty[index] = min(empty[index], float(starts[0]) + float(ends[0]))
        score, span = best_span(starts, ends, offsets, own.n_best_size, own.max_answer_length)
        if score > best[index][0]:
            best[index] = score, questions.contexts[index][span[0] : span[1]]
    may_be_empty = own.version_2_with_negative
    return ["" if may_be_empty and none > score else text for (score, text), none in zip(best, empty)]


def best_span(
    starts: Any, ends: Any, offsets: Sequence[tuple[int, int] | None], n_best: int, max_tokens: int
) -> tuple[float, tuple[int, int]]:
    """Among the `n_best` starts and ends: highest sum, in the context, forwards, not too long."""
    best = float("-inf"), (0, 0)
    likely_ends = [end for end in (-ends[: len(offsets)]).argsort()[:n_best].tolist() if offsets[end]]
    for start in (-starts[: len(offsets)]).argsort()[:n_best].tolist():
        first = offsets[start]
        for end in likely_ends if first else ():
            last, score = offsets[end], float(starts[start]) + float(ends[end])
            if first and last and start <= end < start + max_tokens and score > best[0]:
                best = score, (first[0], last[1])
    return best


# --- main ---


def run(own: argparse.Namespace, args: Any, notes: list[str], stop: StopRequest) -> None:
    from transformers import DataCollatorWithPadding, Trainer

    from kit.trainer import SpotCallback, check_size, in_order, save, train

    args.label_names = ["start_positions", "end_positions"]
    args.device  # noqa: B018 - asking for it connects the workers
    runtime = detect(connect=False)
    spot = SpotCallback(runtime, args, stop)
    for note in notes:
        spot.console.say(note)
    with runtime.loading_turn():
        tokenizer = load_tokenizer(own.tokenizer_name or own.model_name_or_path)
        config = load_config(own.model_name_or_path, tokenizer)
    takes = longest_input(config)
    if takes is not None and own.max_seq_length > takes:
        raise UsageError(f"--max_seq_length: got {own.max_seq_length}, wanted at most {takes}, which the model takes")
    questions, held_out = load_questions(own, spot.console.say)
    windows, judged = (
        windows_of(tokenizer, part, max_length=own.max_seq_length, stride=own.doc_stride)
        for part in (questions, held_out)
    )
    if args.do_train:
        check_size(len(windows), args)
    torch.manual_seed(args.seed)  # the new head, and all of tiny-random
    with runtime.loading_turn():
        model = load_model(
            own.model_name_or_path, config, "QuestionAnswering", own.attn_implementation or runtime.attention
        )
        model = (
            model.to(args.device) if runtime.name == "xla" else model
        )  # elsewhere Trainer, or what it drives, knows when
    longest = max(*windows.lengths, *judged.lengths)
    one_length = own.pad_to_max_length or runtime.name == "xla"
    padding = {
        "padding": "max_length",
        "max_length": own.max_seq_length if own.pad_to_max_length else -(-longest // 8) * 8,
    }
    collator = DataCollatorWithPadding(tokenizer, pad_to_multiple_of=8, **(padding if one_length else {}))
    answers: list[str] = []

    def compute_metrics(found: Any) -> dict[str, float]:
        """Exact match and F1 in percent, over questions, each counted once."""
        answers[:] = answers_of(held_out, judged, found.predictions[:2], own)
        pairs = list(zip(held_out.answers, answers))
        sums = {"exact_match": sum(exact_match(*pair) for pair in pairs), "f1": sum(answer_f1(*pair) for pair in pairs)}
        return {**{name: round(100 * total / len(pairs), 6) for name, total in sums.items()}, "samples": len(pairs)}

    trainer = Trainer(
        model=model,
        args=args,
        train_dataset=windows,
        eval_dataset=judged,
        data_collator=spot.collate(model, collator),
        compute_metrics=compute_metrics,
        callbacks=[spot],
    )
    # Trainer 5 believes that every model which takes **kwargs divides its loss by the number of labels in the whole step.
    # Heads for answers do not: with several workers or micro-batches their gradients came out a multiple.
    trainer.model_accepts_loss_kwargs = False
    spot.console.say(
        f"{own.model_name_or_path} on {args.device}, {args.world_size} worker(s): {len(questions.ids)} questions in "
        f"{len(windows)} windows of at most {longest} tokens, {len(held_out.ids)} held out"
    )
    if args.do_train:
        train(trainer, spot, own, {"model": own.model_name_or_path, "data": windows.fingerprint()})
    in_order(args)
    if args.do_eval:
        trainer.evaluate()
    if args.do_train:
        save(trainer, spot, tokenizer, own.output_dir)
    if answers and runtime.is_main:
        own.output_dir.mkdir(parents=True, exist_ok=True)
        content = json.dumps(dict(zip(held_out.ids, answers)), indent=1, ensure_ascii=False)
        (own.output_dir / "predictions.json").write_text(content + "\n", encoding="utf-8")


def main(argv: Sequence[str] | None = None) -> None:
    stop = StopRequest()
    own, args, notes = parse_arguments(argv)
    run(own, args, notes, stop)


def _mp_fn(_index: int) -> None:
    """Where torch_xla's spawn launcher (the Training Compiler's `pytorchxla` distribution) enters each worker."""
    sys.exit(exit_code_of(main))


if __name__ == "__main__":
    leave(exit_code_of(main))

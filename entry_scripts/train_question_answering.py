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

import json
import re
import string
import sys
from array import array
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Callable, Optional, Sequence

import kit.trainer as kit
from kit.data import CHUNK, Encoded, said_of
from kit.device import length_of, load_config, load_tokenizer
from kit.questions import Questions, questions_of
from sm_spot import UsageError, exit_code_of, leave

from transformers import Trainer

SAMPLE = Path(__file__).resolve().parent / "sample" / "questions.jsonl"
SPLIT_SEED = 20  # not --seed: runs with different seeds are compared on the same held-out questions
ARTICLES = re.compile(r"\b(a|an|the)\b")
PUNCTUATION = frozenset(string.punctuation)


@dataclass
class Arguments(kit.SharedArguments):
    __doc__ = __doc__

    model_name_or_path: str = "bert-large-uncased-whole-word-masking"
    config_name: Optional[str] = field(default=None, metadata={"help": "default: the model's"})
    validation_fraction: float = field(default=0.1, metadata={"help": "held out where there is no validation file"})
    max_seq_length: Optional[int] = field(
        default=None, metadata={"help": "of question and context together; default: 384, or what the model takes"}
    )
    doc_stride: Optional[int] = field(
        default=None, metadata={"help": "tokens that two windows share; default: a third of them, at most 128"}
    )
    pad_to_max_length: bool = field(default=False, metadata={"help": "one length for all batches; XLA always has it"})
    n_best_size: int = field(default=20, metadata={"help": "starts and ends that are tried"})
    max_answer_length: int = field(default=30, metadata={"help": "tokens"})
    version_2_with_negative: bool = field(default=False, metadata={"help": "some have no answer"})
    null_score_diff_threshold: float = field(
        default=0.0, metadata={"help": "how much likelier than any answer none has to be"}
    )


def parse_arguments(argv: Sequence[str] | None = None) -> tuple[Arguments, Any, list[str]]:
    """Our own arguments, TrainingArguments, and what was translated."""
    ours = {"train_sampling_strategy": "group_by_length", "learning_rate": 3e-5, "num_train_epochs": 2, "do_eval": True}
    own, args, notes = kit.parse_flags(Arguments, argv, ours)
    if own.doc_stride and own.max_seq_length and own.doc_stride >= own.max_seq_length:
        raise UsageError(f"--doc_stride: got {own.doc_stride}, wanted less than --max_seq_length {own.max_seq_length}")
    return own, args, notes


def load_questions(own: Arguments, say: Callable[..., None]) -> tuple[Questions, Questions]:
    """What to train on, and what is held out."""
    tables = kit.read_tables(own, SAMPLE)
    train = questions_of(tables["train"])
    if "validation" in tables:
        held_out = questions_of(tables["validation"], judged=True)
    else:
        train, held_out = train.split(own.validation_fraction, seed=SPLIT_SEED)
    say(*said_of(tables))
    return train.first(own.max_train_samples), held_out.first(own.max_eval_samples)


# --- windows ---


class Windows(Encoded):
    """Overlapping pieces of contexts, each behind its question, and where their tokens stand in the contexts."""

    def __init__(self) -> None:
        super().__init__()
        self.questions, self.edges = array("q"), array("i")

    def offsets(self, number: int) -> list[tuple[int, int] | None]:
        """None: not a token of the context."""
        own = self.edges[2 * self.ends[number] : 2 * self.ends[number + 1]]
        return [(begin, end) if begin >= 0 else None for begin, end in zip(own[::2], own[1::2])]


def windows_of(tokenizer: Any, questions: Questions, *, max_length: int, stride: int) -> Windows:
    """Of at most `max_length` tokens, of which two over one context share `stride`. Labels: the first answer's tokens, or 0."""
    if not tokenizer.is_fast:
        got = f"--tokenizer_name: got {type(tokenizer).__name__}"
        raise UsageError(f"{got}, wanted a fast one, which knows where tokens stand")
    found = Windows()
    spans: list[tuple[int, int]] = []
    asked = [question.lstrip() for question in questions.questions]
    for begin in range(0, len(asked), CHUNK // 10):
        chosen = slice(begin, begin + CHUNK // 10)
        pairs = asked[chosen], questions.contexts[chosen]
        _check_room(tokenizer, pairs, questions.ids[chosen], max_length, stride)
        made = tokenizer(
            *pairs, truncation="only_second", max_length=max_length, stride=stride, return_overflowing_tokens=True,
            return_offsets_mapping=True, return_attention_mask=False,
        )  # fmt: skip
        found.add(made)
        for number, (own, offsets) in enumerate(zip(made["overflow_to_sample_mapping"], made["offset_mapping"])):
            places = [place if part == 1 else (-1, -1) for place, part in zip(offsets, made.sequence_ids(number))]
            found.questions.append(begin + own)
            found.edges.extend(edge for place in places for edge in place)
            spans.append(_span(questions, begin + own, places))
    found.labels = {"start_positions": [start for start, _ in spans], "end_positions": [end for _, end in spans]}
    return found


def _check_room(
    tokenizer: Any, pairs: tuple[list[str], list[str]], ids: Sequence[str], max_length: int, stride: int
) -> None:
    """Beside the question there has to be more room than two windows share, unless the context fits at once."""
    room = max_length - tokenizer.num_special_tokens_to_add(pair=True)
    if stride >= room:
        raise UsageError(f"--doc_stride: got {stride}, wanted less than {room}, the tokens of a window; lower it")
    lengths = [len(one) for one in tokenizer(pairs[0], add_special_tokens=False, verbose=False)["input_ids"]]
    for index in [index for index, length in enumerate(lengths) if room - length <= stride]:
        whole = tokenizer(pairs[0][index], pairs[1][index], verbose=False)["input_ids"]
        if len(whole) > max_length:
            raise UsageError(
                f"--max_seq_length: got {max_length}, which leaves {max(0, room - lengths[index])} tokens beside the question "
                f"{ids[index]!r} of {lengths[index]}; wanted more than --doc_stride {stride}; raise it, or lower --doc_stride"
            )


def _span(questions: Questions, index: int, places: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """First and last token of the answer; (0, 0) where this window does not hold all of it."""
    begin = questions.starts[index]
    if begin < 0:
        return 0, 0
    end = begin + len(questions.answers[index][0].strip())
    inside = [number for number, place in enumerate(places) if place[1] > begin and 0 <= place[0] < end]
    if not inside or places[inside[0]][0] > begin or places[inside[-1]][1] < end:
        return 0, 0
    return inside[0], inside[-1]


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
    answers = []
    for (score, text), none in zip(best, empty):
        has_none = own.version_2_with_negative and none - score > own.null_score_diff_threshold
        answers.append("" if has_none else text)
    return answers


def best_span(
    starts: Any, ends: Any, offsets: Sequence[tuple[int, int] | None], n_best: int, max_tokens: int
) -> tuple[float, tuple[int, int]]:
    """Among the `n_best` starts and ends: highest sum, in the context, forwards, not too long."""
    best = float("-inf"), (0, 0)
    likely_ends = [end for end in (-ends[: len(offsets)]).argsort()[:n_best].tolist() if offsets[end]]
    for start in (-starts[: len(offsets)]).argsort()[:n_best].tolist():
        first = offsets[start]
        if first is None:
            continue
        for end in likely_ends:
            last, score = offsets[end], float(starts[start]) + float(ends[end])
            if last and start <= end < start + max_tokens and score > best[0]:
                best = score, (first[0], last[1])
    return best


# --- main ---


def main(argv: Sequence[str] | None = None) -> None:
    own, args, notes = parse_arguments(argv)
    args.label_names = ["start_positions", "end_positions"]
    spot = kit.begin(own, args, notes)
    runtime = spot.runtime
    with runtime.loading_turn():
        tokenizer = load_tokenizer(own.tokenizer_name or own.model_name_or_path, **own.hub())
        config = load_config(own.config_name or own.model_name_or_path, tokenizer, **own.hub())
    own.max_seq_length = length_of("max_seq_length", own.max_seq_length, 384, config)
    stride = own.doc_stride or min(128, own.max_seq_length // 3)
    questions, held_out = load_questions(own, spot.console.say)
    windows, judged = (
        windows_of(tokenizer, part, max_length=own.max_seq_length, stride=stride) for part in (questions, held_out)
    )
    kit.check_size(len(windows), args)
    model = kit.model_of(own, args, runtime, config, "QuestionAnswering", tokenizer=tokenizer)
    collator = kit.padding_of(own, tokenizer, runtime, (windows, judged))
    answers: list[str] = []

    def compute_metrics(found: Any) -> dict[str, float]:
        """Exact match and F1 in percent, over questions, each counted once."""
        answers[:] = answers_of(held_out, judged, found.predictions[:2], own)
        pairs = list(zip(held_out.answers, answers))
        sums = {"exact_match": sum(exact_match(*pair) for pair in pairs), "f1": sum(answer_f1(*pair) for pair in pairs)}
        return {**{name: round(100 * total / len(pairs), 6) for name, total in sums.items()}, "samples": len(pairs)}

    with kit.asked():
        trainer = Trainer(
            model=model,
            args=args,
            train_dataset=windows,
            eval_dataset=judged,
            data_collator=spot.collate(model, collator),
            compute_metrics=compute_metrics,
            callbacks=[spot],
        )
    spot.console.say(
        f"{own.model_name_or_path} on {args.device}, {args.world_size} worker(s): {len(questions.ids)} questions in "
        f"{len(windows)} windows of at most {max(windows.lengths)} tokens, {len(held_out.ids)} held out"
    )
    if args.do_train:
        kit.train(trainer, spot, own, {"model": own.model_name_or_path, "data": windows.fingerprint()})
    kit.drop_printers(trainer)
    kit.in_order(args)
    if args.do_eval:
        trainer.evaluate()
    if args.do_train:
        kit.save(trainer, spot, tokenizer, own.output_dir)
    if answers and runtime.is_main:
        own.output_dir.mkdir(parents=True, exist_ok=True)
        content = json.dumps(dict(zip(held_out.ids, answers)), indent=1, ensure_ascii=False)
        (own.output_dir / "predictions.json").write_text(content + "\n", encoding="utf-8")


def _mp_fn(_index: int) -> None:
    """Where torch_xla's spawn launcher (the Training Compiler's `pytorchxla` distribution) enters each worker."""
    sys.exit(exit_code_of(main))


if __name__ == "__main__":
    leave(exit_code_of(main))

"""Fine-tune a model to find answers in texts, as in SQuAD: run_qa in a SageMaker job that may be
interrupted.

    python train_question_answering.py --model_name_or_path tiny-random --num_train_epochs 20 --learning_rate 0.002
    torchrun --nproc_per_node=2 train_question_answering.py --model_name_or_path tiny-random --max_steps 50
    torchrun --nproc_per_node=32 train_question_answering.py --model_name_or_path bert-large-uncased-whole-word-masking \
        --dataset_name squad --max_seq_length 384 --doc_stride 128 --per_device_train_batch_size 4 --bf16 True

Every argument of transformers' TrainingArguments is a flag too. The answers to the held-out
questions are written to predictions.json, which SQuAD's own evaluation reads. In a SageMaker job
the channels `train` and, if there is one, `validation` are found by themselves. Exit code: 0 done;
2 a mistake in what was asked; 75 stopped by SIGTERM, run the same command again to continue.
"""

from __future__ import annotations

import json
import re
import string
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Optional, Sequence

import kit.common as kit
import sm_spot
from kit.data import DataArguments, hold_out, read_sets
from sm_spot import UsageError

import numpy as np
from datasets import Dataset, DatasetDict
from transformers import AutoModelForQuestionAnswering, DataCollatorWithPadding, Trainer

ARTICLES = re.compile(r"\b(a|an|the)\b")
ADDED = ("question", "offsets", "start_positions", "end_positions")
NOWHERE = [-1, -1]  # where a token of the question stands in the context


@dataclass
class ModelArguments(kit.ModelArguments):
    model_name_or_path: str = "bert-large-uncased-whole-word-masking"


@dataclass
class QuestionArguments(DataArguments):
    validation_fraction: float = field(
        default=0.1, metadata={"help": "held out where there is no validation file"}
    )
    max_seq_length: Optional[int] = field(
        default=None,
        metadata={
            "help": "of question and context together; default: 384, or what the model takes"
        },
    )
    doc_stride: Optional[int] = field(
        default=None,
        metadata={"help": "tokens that two windows share; default: a third of them, at most 128"},
    )
    pad_to_max_length: bool = field(
        default=False, metadata={"help": "one length for all batches; XLA always has it"}
    )
    max_answer_length: int = 30
    version_2_with_negative: bool = False
    null_score_diff_threshold: float = field(
        default=0.0, metadata={"help": "how much likelier than any answer none has to be"}
    )


# --- data ---


def load_questions(data_args: QuestionArguments) -> DatasetDict:
    """SQuAD's columns: id, question, context and answers, where `answer_start` is empty if nobody
    has answered.
    """
    sets = read_sets(data_args, "questions.jsonl")
    for name, part in sets.items():
        missing = {"question", "context", "answers"} - set(part.column_names)
        if missing:
            got = f"--{name}: got the columns {', '.join(part.column_names)}"
            wanted = "wanted id, question, context and answers, as SQuAD has them"
            raise UsageError(f'{got}, {wanted}: {{"text": ["…"], "answer_start": [0]}}')
        if "id" not in part.column_names:
            sets[name] = part.add_column("id", [str(number) for number in range(len(part))])
        if name == "train":
            sets[name] = sets[name].filter(_is_answered)
        if len(sets[name]) < len(part):
            sm_spot.say(
                f"--{name}: left out {len(part) - len(sets[name])} rows whose answer is not in the context"
            )
    if "validation" not in sets:
        sets["train"], sets["validation"] = hold_out(sets["train"], data_args.validation_fraction)
    limits = {"train": data_args.max_train_samples, "validation": data_args.max_eval_samples}
    for name, part in sets.items():
        sets[name] = part.select(range(min(len(part), limits[name] or len(part))))
    return sets


def _is_answered(row: Any) -> bool:
    """Each answer stands where it says, or there is none."""
    places = zip(row["answers"]["text"], row["answers"]["answer_start"])
    return bool(row["question"]) and all(
        row["context"].startswith(text, start) for text, start in places
    )


def windows_of(tokenizer: Any, questions: Dataset, *, max_length: int, stride: int) -> Dataset:
    """Contexts cut into overlapping pieces, each behind its question.

    A window has at most `max_length` tokens; two over one context share `stride`. Its labels are
    the first answer's tokens, or 0. `question` is the row of its question, `offsets` where its
    tokens stand in the context.
    """
    if not tokenizer.is_fast:
        got = f"--tokenizer_name: got {type(tokenizer).__name__}"
        raise UsageError(f"{got}, wanted a fast one, which knows where tokens stand")

    def cut(examples: Any, rows: Sequence[int]) -> dict[str, list[Any]]:
        asked = [question.lstrip() for question in examples["question"]]
        tokenized = tokenizer(
            asked,
            examples["context"],
            truncation="only_second",
            max_length=max_length,
            stride=stride,
            return_overflowing_tokens=True,
            return_offsets_mapping=True,
            return_length=True,
        )
        windows: dict[str, list[Any]] = {name: [] for name in ADDED}
        offset_mapping = tokenized.pop("offset_mapping")
        for number, own in enumerate(tokenized.pop("overflow_to_sample_mapping")):
            offsets = []
            parts = tokenized.sequence_ids(number)
            for offset, part in zip(offset_mapping[number], parts):
                offsets.append(list(offset) if part == 1 else NOWHERE)
            start, end = span_of(examples["answers"][own], offsets)
            windows["question"].append(rows[own])
            windows["offsets"].append(offsets)
            windows["start_positions"].append(start)
            windows["end_positions"].append(end)
        return {**tokenized, **windows}

    how = {"batched": True, "with_indices": True, "batch_size": 100}
    return questions.map(cut, remove_columns=questions.column_names, **how)


def span_of(answers: Any, offsets: Sequence[Sequence[int]]) -> tuple[int, int]:
    """First and last token of the first answer; (0, 0) where this window does not hold all of
    it.
    """
    if not answers["answer_start"]:
        return 0, 0
    begin = answers["answer_start"][0]
    end = begin + len(answers["text"][0].strip())
    inside = [
        token for token, place in enumerate(offsets) if place[1] > begin and 0 <= place[0] < end
    ]
    if not inside:
        return 0, 0
    first = inside[0]
    last = inside[-1]
    if offsets[first][0] > begin or offsets[last][1] < end:
        return 0, 0
    return first, last


# --- metrics: the formulas of SQuAD's own evaluation ---


def normal(text: str) -> str:
    """Lower case, without punctuation, articles and extra blanks."""
    bare = text.lower().translate(str.maketrans("", "", string.punctuation))
    return " ".join(ARTICLES.sub(" ", bare).split())


def exact_match(gold: Sequence[str], answer: str) -> float:
    """1 if the answer is one of the right ones. No right answer at all means the empty one."""
    return float(normal(answer) in map(normal, gold or [""]))


def answer_f1(gold: Sequence[str], answer: str) -> float:
    """Overlap of words with the right answer that it is nearest to."""
    best = 0.0
    words = normal(answer).split()
    for right in gold or [""]:
        wanted = normal(right).split()
        if not wanted or not words:
            best = max(best, float(wanted == words))
        else:
            common = sum((Counter(wanted) & Counter(words)).values())
            best = max(best, 2 * common / (len(wanted) + len(words)))
    return best


# --- answers ---


def answers_of(
    questions: Dataset, windows: Dataset, logits: tuple[Any, Any], data_args: Any
) -> list[str]:
    """The likeliest span of each question over all its windows; empty if that is allowed and
    likelier.
    """
    contexts = questions["context"]
    count = len(questions)
    best = [float("-inf")] * count
    answers = [""] * count
    empty = [float("inf")] * count
    for window, starts, ends in zip(windows, *logits):
        row = window["question"]
        none = float(starts[0] + ends[0])
        empty[row] = min(empty[row], none)
        score, begin, end = best_span(starts, ends, window["offsets"], data_args.max_answer_length)
        if score > best[row]:
            best[row] = score
            answers[row] = contexts[row][begin:end]
    if data_args.version_2_with_negative:
        for row, score in enumerate(best):
            if empty[row] - score > data_args.null_score_diff_threshold:
                answers[row] = ""
    return answers


def best_span(
    starts: Any, ends: Any, offsets: Sequence[Sequence[int]], max_tokens: int
) -> tuple[float, int, int]:
    """Score of the best answer, and where it begins and ends: in the context, forwards, not too
    long.
    """
    tokens = len(offsets)
    in_context = np.array([place != NOWHERE for place in offsets])
    starts = np.where(in_context, starts[:tokens], -np.inf)
    ends = np.where(in_context, ends[:tokens], -np.inf)
    scores = starts[:, None] + ends[None, :]
    places = np.arange(tokens)
    lengths = places[None, :] - places[:, None]
    scores[(lengths < 0) | (lengths >= max_tokens)] = -np.inf
    start, end = divmod(int(scores.argmax()), tokens)
    begin, _ = offsets[start]
    _, after = offsets[end]
    return float(scores[start, end]), begin, after


class SquadMetrics:
    """For Trainer's `compute_metrics`: exact match and F1 in percent, over questions, each counted
    once. Keeps the answers.
    """

    def __init__(self, questions: Dataset, windows: Dataset, data_args: Any) -> None:
        self.questions = questions
        self.windows = windows
        self.data_args = data_args
        self.answers: list[str] = []

    def __call__(self, predictions: Any) -> dict[str, float]:
        logits = predictions.predictions[:2]
        self.answers = answers_of(self.questions, self.windows, logits, self.data_args)
        exact = f1 = 0.0
        for gold, answer in zip(self.questions["answers"], self.answers):
            exact += exact_match(gold["text"], answer)
            f1 += answer_f1(gold["text"], answer)
        count = len(self.answers)
        return {
            "exact_match": round(100 * exact / count, 6),
            "f1": round(100 * f1 / count, 6),
            "samples": count,
        }


# --- main ---


def main(argv: Optional[Sequence[str]] = None) -> None:
    model_args, data_args, training_args = kit.parse(
        (ModelArguments, QuestionArguments, kit.TrainingArguments),
        argv,
        __doc__,
        do_eval=True,
        learning_rate=3e-5,
        num_train_epochs=2,
        **kit.GROUP_BY_LENGTH,
    )
    training_args.label_names = ["start_positions", "end_positions"]
    hub = kit.hub_options(model_args)
    name = model_args.model_name_or_path
    with kit.loading_turn():
        tokenizer = kit.load_tokenizer(model_args.tokenizer_name or name, **hub)
        config = kit.load_config(model_args.config_name or name, tokenizer, **hub)
        length = kit.length_of("max_seq_length", data_args.max_seq_length, 384, tokenizer, config)
        stride = data_args.doc_stride or min(128, length // 3)
        questions = load_questions(data_args)
        with kit.usage_errors("--max_seq_length, --doc_stride", (Exception,)):
            datasets = {
                part: windows_of(tokenizer, examples, max_length=length, stride=stride)
                for part, examples in questions.items()
            }
        model = kit.load_model(
            AutoModelForQuestionAnswering,
            name,
            config,
            tokenizer,
            training_args,
            **kit.attention_of(model_args),
            **hub,
        )
    compute_metrics = SquadMetrics(questions["validation"], datasets["validation"], data_args)
    fixed_length = length if data_args.pad_to_max_length else None
    with kit.usage_errors():
        trainer = Trainer(
            model=model,
            args=training_args,
            train_dataset=datasets["train"],
            eval_dataset=datasets["validation"],
            processing_class=tokenizer,
            data_collator=DataCollatorWithPadding(
                tokenizer, **kit.padding(datasets, training_args, fixed_length)
            ),
            compute_metrics=compute_metrics,
        )
    count = len(questions["train"])
    kit.say_what_runs(name, training_args, f"{count} questions in {len(datasets['train'])} windows")
    kit.watch(trainer, {"model": name, "data": kit.fingerprint(datasets["train"])})
    if training_args.do_train:
        kit.train(trainer)
    kit.finish(trainer, {"eval": datasets["validation"]})
    if compute_metrics.answers and trainer.is_world_process_zero():
        answers = dict(zip(questions["validation"]["id"], compute_metrics.answers))
        folder = Path(training_args.model_dir)
        folder.mkdir(parents=True, exist_ok=True)
        content = json.dumps(answers, indent=1, ensure_ascii=False)
        (folder / "predictions.json").write_text(content + "\n", encoding="utf-8")


if __name__ == "__main__":
    sm_spot.leave(sm_spot.exit_code_of(main))

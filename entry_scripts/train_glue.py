"""Fine-tune a model on a task of GLUE, or on texts or pairs of texts like it, with Trainer: CPU, CUDA, SMDDP, SMP or Trainium.

    python train_glue.py --model_name_or_path tiny-random --num_train_epochs 4 --learning_rate 0.002
    torchrun --nproc_per_node=2 train_glue.py --model_name_or_path tiny-random --max_steps 50
    torchrun --nproc_per_node=32 train_glue.py --model_name_or_path roberta-large --task_name mnli --bf16 True

Every argument of transformers' TrainingArguments is a flag too, by its old or its new name. Under SageMaker's model
parallel library Trainer reads its settings from the environment; the flag --mp_parameters that comes with it is known.
Labels are classes, or, as in stsb, numbers. In a SageMaker job the channels `train`, `validation` and `test` are found by
themselves. Exit code: 0 done; 2 a mistake in what was asked; 75 stopped by SIGTERM, run the same command again to continue.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Optional, Sequence

import kit.trainer as kit
from kit.data import Table, encode, fingerprint_of, lengths_of, pick_columns
from kit.device import length_of, load_config, load_tokenizer
from kit.labels import drop_missing, labels_of, split
from sm_spot import UsageError, exit_code_of, leave

import numpy as np
from transformers import Trainer

SAMPLE = Path(__file__).resolve().parent / "sample" / "reviews.csv"
SPLIT_SEED = 20  # not --seed: runs with different seeds are compared on the same held-out texts
TASKS = (
    "cola",
    "mnli",
    "mrpc",
    "qnli",
    "qqp",
    "rte",
    "sst2",
    "stsb",
    "wnli",
)  # of huggingface.co/datasets/nyu-mll/glue


@dataclass
class Arguments(kit.SharedArguments):
    __doc__ = __doc__

    model_name_or_path: str = field(default="roberta-base", metadata={"help": "hub id, local folder, or tiny-random"})
    config_name: Optional[str] = field(default=None, metadata={"help": "default: the model's"})
    ignore_mismatched_sizes: bool = field(default=True, metadata={"help": "accepted; a head for other labels is new"})
    task_name: Optional[str] = field(default=None, metadata={"help": f"of GLUE, from the hub: {', '.join(TASKS)}"})
    # A channel `test` is not to be judged on.
    validation_file: Optional[str] = field(default_factory=lambda: kit.channel("validation"))
    test_file: Optional[str] = field(
        default_factory=lambda: kit.channel("test"), metadata={"help": "what --do_predict labels, every row of it"}
    )
    validation_fraction: float = field(default=0.1, metadata={"help": "held out where there is no validation file"})
    text_column: Optional[str] = field(default=None, metadata={"help": "default: by the names that data sets use"})
    text_pair_column: Optional[str] = field(default=None, metadata={"help": "default: by the names that data sets use"})
    label_column: Optional[str] = field(default=None, metadata={"help": "default: by the names that data sets use"})
    num_labels: Optional[int] = field(default=None, metadata={"help": "default: as many as the training data has"})
    max_seq_length: Optional[int] = field(default=None, metadata={"help": "default: 128, or what the model takes"})
    pad_to_max_length: bool = field(default=False, metadata={"help": "one length for all batches; XLA always has it"})
    max_predict_samples: Optional[int] = None


def parse_arguments(argv: Sequence[str] | None = None) -> tuple[Arguments, Any, list[str]]:
    """Our own arguments, TrainingArguments, and what was translated."""
    ours = {"train_sampling_strategy": "group_by_length", "do_eval": True, "learning_rate": 2e-5}
    return kit.parse_flags(Arguments, argv, ours)


# --- data ---


class Examples(NamedTuple):
    """Of one set: texts, what goes beside them (None: they stand alone), and labels (None: they are to be found)."""

    texts: list[str]
    beside: list[str] | None
    labels: Any


def load_examples(own: Arguments, order: Sequence[str] = ()) -> tuple[dict[str, Examples], Any, list[str]]:
    """Read `train`, `test`, and under each other name a set to be judged on. Returns these, the training labels (in the model's
    `order`, if it knows the same), and lines for the log.
    """
    if own.train_file is None and (own.task_name or own.dataset_name or "sample") != "sample":
        tables = hub_tables(own)
    else:
        found = kit.read_tables(own, SAMPLE, ("train", "validation", "test"))
        tables = {"eval" if name == "validation" else name: table for name, table in found.items()}
    examples: dict[str, Examples] = {}
    known: Any = None
    said: list[str] = []
    for name, table in tables.items():
        chosen = own.text_column, own.text_pair_column, own.label_column
        columns = pick_columns(table, *chosen, unlabelled=name == "test")
        parts: list[Any] = [(name, table, None)]
        if name != "test":
            labels = labels_of(table, columns.label, names=known.names if known else None, num_labels=own.num_labels)
            whole, labels = drop_missing(table, columns, labels)
            known = known or labels.numbered_as(order)
            labels = labels if labels.names == known.names else known
            parts = [(name, whole, labels)]
            if name == "train" and "eval" not in tables:
                (one, y), (other, z) = split(whole, labels, own.validation_fraction, seed=SPLIT_SEED)
                parts = [("train", one, y), ("eval", other, z)]
        for part, rows, its in parts:
            limit = {"train": own.max_train_samples, "test": own.max_predict_samples}.get(part, own.max_eval_samples)
            beside = rows.texts(columns.pair)[:limit] if columns.pair else None
            examples[part] = Examples(rows.texts(columns.text)[:limit], beside, its.values[:limit] if its else None)
            said += rows.said
    return examples, known, list(dict.fromkeys(said))


def hub_tables(own: Arguments) -> dict[str, Table]:
    """The sets of a task, or of another data set, by name; MNLI is judged on two."""
    if own.dataset_name:
        parts, more = kit.load_hub(own.dataset_name, own.dataset_config_name), ""
    else:
        task = str(own.task_name).lower().replace("-", "").replace("_", "")
        if task not in TASKS:
            known = f"wanted one of {', '.join(TASKS)}; or give --train_file"
            raise UsageError(f"--task_name: got {own.task_name!r}, {known}")
        parts, more = kit.load_hub("nyu-mll/glue", task), "_matched" if task == "mnli" else ""
    wanted = {"train": "train", "eval": "validation" + more, "test": "test" + more, "eval_mm": "validation_mismatched"}
    return {name: parts[part] for name, part in wanted.items() if part in parts}


# --- metrics ---


def compute_metrics(found: Any) -> dict[str, float]:
    """Accuracy and F1 (of label 1 where there are two, else the mean over labels), or Pearson's r; each example once."""
    logits, labels = np.asarray(found.predictions, dtype=np.float64), np.asarray(found.label_ids)
    if logits.shape[-1] == 1:
        scores, labels = logits[:, 0], labels.astype(np.float64).reshape(-1)
        return {"loss": float(((scores - labels) ** 2).mean()), "pearson": correlation(scores, labels),
                "spearmanr": correlation(*map(average_ranks, (scores, labels))), "samples": len(labels)}  # fmt: skip
    guesses, count = logits.argmax(-1), logits.shape[-1]
    peak = logits.max(-1, keepdims=True)
    losses = np.log(np.exp(logits - peak).sum(-1)) + peak[:, 0] - logits[np.arange(len(labels)), labels]
    chosen = [1] if count == 2 else sorted({*labels.tolist(), *guesses.tolist()})
    hits = [2 * int(((labels == one) & (guesses == one)).sum()) for one in chosen]
    sizes = [int((labels == one).sum() + (guesses == one).sum()) for one in chosen]
    f1 = float(np.mean([hit / size if size else 0.0 for hit, size in zip(hits, sizes)]))
    accuracy = float((guesses == labels).mean())
    return {"loss": float(losses.mean()), "accuracy": round(accuracy, 6), "f1": round(f1, 6), "samples": len(labels)}


def average_ranks(values: Any) -> Any:
    """Equal values share the mean of their places."""
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - (counts - 1) / 2.0)[places]


def correlation(one: Any, other: Any) -> float:
    """0 where one of the two does not vary."""
    return round(float(np.corrcoef(one, other)[0, 1]), 6) if one.std() and other.std() else 0.0


def logits_alone(found: Any, _labels: Any) -> Any:
    """BART and its like hand out their encoder's states as well."""
    return found[0] if isinstance(found, (tuple, list)) else found


# --- main ---


def main(argv: Sequence[str] | None = None) -> None:
    own, args, notes = parse_arguments(argv)
    args.label_names = ["labels"]
    spot = kit.begin(own, args, notes)
    runtime = spot.runtime
    with runtime.loading_turn():
        tokenizer = load_tokenizer(own.tokenizer_name or own.model_name_or_path, **own.hub())
        known = load_config(own.config_name or own.model_name_or_path, tokenizer, **own.hub()).id2label
    examples, labels, said = load_examples(own, list(known.values()))
    spot.console.say(*said)
    if args.do_predict and "test" not in examples:
        raise UsageError(
            "--do_predict: got True and nothing to label, wanted --test_file, or a channel test; leave it out"
        )
    names = labels.names
    head: dict[str, Any] = {"num_labels": 1, "problem_type": "regression"}
    if names:
        label2id = {name: number for number, name in enumerate(names)}
        head = {"num_labels": len(names), "id2label": dict(enumerate(names)), "label2id": label2id}
    config = load_config(own.config_name or own.model_name_or_path, tokenizer, **head, **own.hub())
    own.max_seq_length = length_of("max_seq_length", own.max_seq_length, 128, config)
    sets = {
        name: encode(tokenizer, part.texts, part.beside, max_length=own.max_seq_length, labels=part.labels)
        for name, part in examples.items()
    }
    kit.check_size(len(sets["train"]), args)
    model = kit.model_of(own, args, runtime, config, "SequenceClassification", tokenizer=tokenizer)
    collator = kit.padding_of(own, tokenizer, runtime, sets.values())
    with kit.asked():
        trainer = Trainer(
            model=model,
            args=args,
            train_dataset=sets["train"],
            eval_dataset=sets["eval"],
            data_collator=spot.collate(model, collator),
            compute_metrics=compute_metrics,
            preprocess_logits_for_metrics=logits_alone,
            callbacks=[spot],
        )
    judged = [name for name in sets if name not in {"train", "test"}]
    size, held_out = len(sets["train"]), sum(len(sets[name]) for name in judged)
    spot.console.say(
        f"{own.model_name_or_path} on {args.device}, {args.world_size} worker(s): {size} examples of "
        f"{f'{len(names)} labels' if names else 'scores'}, at most {max(lengths_of(sets['train']))} tokens, {held_out} held out"
    )
    if args.do_train:
        kit.train(trainer, spot, own, {"model": own.model_name_or_path, "data": fingerprint_of(sets["train"])})
    kit.drop_printers(trainer)
    kit.in_order(args)
    if args.do_eval:
        for name in judged:
            trainer.evaluate(sets[name], metric_key_prefix=name)
    if args.do_train:
        kit.save(trainer, spot, tokenizer, own.output_dir)
    if args.do_predict and "test" in sets:
        found = trainer.predict(sets["test"], metric_key_prefix="test").predictions
        if runtime.is_main:
            labelled = [names[guess] for guess in found.argmax(-1)] if names else [f"{one:.4f}" for one in found[:, 0]]
            write_predictions(own.output_dir / "predictions.tsv", labelled)


def write_predictions(path: Path, labels: Sequence[str]) -> None:
    """Every row of the test data, by its number from 0 on, as GLUE wants them."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [f"{number}\t{label}\n" for number, label in enumerate(labels)]
    path.write_text("index\tprediction\n" + "".join(lines), encoding="utf-8")


def _mp_fn(_index: int) -> None:
    """Where torch_xla's spawn launcher (the Training Compiler's `pytorchxla` distribution) enters each worker."""
    sys.exit(exit_code_of(main))


if __name__ == "__main__":
    leave(exit_code_of(main))

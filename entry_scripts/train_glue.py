"""Fine-tune a model on a task of GLUE, or on texts or pairs of texts like it: run_glue in a
SageMaker job that may be interrupted.

    python train_glue.py --model_name_or_path tiny-random --num_train_epochs 4 --learning_rate 0.002
    torchrun --nproc_per_node=2 train_glue.py --model_name_or_path tiny-random --max_steps 50
    torchrun --nproc_per_node=32 train_glue.py --model_name_or_path roberta-large --task_name mnli --bf16 True

Every argument of transformers' TrainingArguments is a flag too. Labels are classes, or, as in stsb,
numbers. In a SageMaker job the channels `train`, `validation` and `test` are found by themselves.
Exit code: 0 done; 2 a mistake in what was asked; 75 stopped by SIGTERM, run the same command again
to continue.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Optional, Sequence

import kit.trainer as kit
import sm_spot
from kit.data import (
    DataArguments,
    Table,
    first_examples,
    read_sets,
)
from kit.job import channel
from kit.labels import classified_sets, head_for, tokenized
from kit.models import config_of, length_of, model_of, tokenizer_of
from sm_spot import UsageError

import numpy as np
from datasets import DatasetDict
from scipy.stats import pearsonr, spearmanr
from sklearn.metrics import accuracy_score, f1_score
from transformers import (
    AutoModelForSequenceClassification,
    DataCollatorWithPadding,
    EvalPrediction,
    Trainer,
)

# of the hub's nyu-mll/glue
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
)
# what a set is judged as
CALLED = {
    "validation": "eval",
    "validation_matched": "eval",
    "validation_mismatched": "eval_mm",
    "test_matched": "test",
}


@dataclass
class ModelArguments(kit.ModelArguments):
    model_name_or_path: str = field(
        default="roberta-base", metadata={"help": "hub id, local folder, or tiny-random"}
    )


@dataclass
class GlueArguments(DataArguments):
    task_name: Optional[str] = field(
        default=None, metadata={"help": f"of GLUE, from the hub: {', '.join(TASKS)}"}
    )
    # A channel `test` is not to be judged on.
    validation_file: Optional[str] = field(default_factory=lambda: channel("validation"))
    test_file: Optional[str] = field(
        default_factory=lambda: channel("test"),
        metadata={"help": "what --do_predict labels, every row of it"},
    )
    validation_fraction: float = field(
        default=0.1, metadata={"help": "held out where there is no validation file"}
    )
    text_pair_column: Optional[str] = field(
        default=None, metadata={"help": "default: by the names that data sets use"}
    )
    label_column: Optional[str] = field(
        default=None, metadata={"help": "default: by the names that data sets use"}
    )
    num_labels: Optional[int] = field(
        default=None, metadata={"help": "default: as many as the training data has"}
    )
    max_seq_length: Optional[int] = field(
        default=None, metadata={"help": "default: 128, or what the model takes"}
    )
    pad_to_max_length: bool = field(
        default=False, metadata={"help": "one length for all batches; XLA always has it"}
    )
    max_predict_samples: Optional[int] = None


def parse_arguments(argv: Sequence[str] | None = None) -> tuple[Any, ...]:
    kinds = (ModelArguments, GlueArguments, kit.TrainingArguments)
    return kit.parse(kinds, argv, __doc__, do_eval=True, learning_rate=2e-5, **kit.GROUP_BY_LENGTH)


# --- data ---


def load_raw_datasets(data_args: GlueArguments, order: Sequence[str]) -> DatasetDict:
    """As kit.labels.classified_sets makes them, and no more examples of each than were asked for."""
    raw_datasets = classified_sets(load_tables(data_args), data_args, order)
    limits = {"train": data_args.max_train_samples, "test": data_args.max_predict_samples}
    for name, part in raw_datasets.items():
        limit = limits.get(name, data_args.max_eval_samples)
        raw_datasets[name] = first_examples(part, limit)
    return raw_datasets


def load_tables(data_args: GlueArguments) -> dict[str, Table]:
    """The sets of files or channels, of a task, or of another data set, by name; MNLI is judged on
    two.
    """
    names = ["train", "validation", "test"]
    if data_args.task_name and data_args.train_file is None:
        task = data_args.task_name.lower().replace("-", "").replace("_", "")
        if task not in TASKS:
            known = f"wanted one of {', '.join(TASKS)}; or give --train_file"
            raise UsageError(f"--task_name: got {data_args.task_name!r}, {known}")
        data_args.dataset_name = "nyu-mll/glue"
        data_args.dataset_config_name = task
        if task == "mnli":
            names = ["train", "validation_matched", "validation_mismatched", "test_matched"]
    tables = read_sets(data_args, "reviews.csv", names)
    return {CALLED.get(name, name): table for name, table in tables.items()}


# --- metrics ---


def compute_metrics(predictions: EvalPrediction) -> dict[str, float]:
    """Accuracy and F1 (of label 1 where there are two, else the mean over labels), or correlations;
    each example once.
    """
    logits = np.asarray(predictions.predictions)
    labels = np.asarray(predictions.label_ids)
    if logits.shape[-1] == 1:
        scores = logits[:, 0]
        metrics = {"pearson": 0.0, "spearmanr": 0.0}
        if scores.std() > 0 and labels.std() > 0:  # else there is none
            metrics["pearson"] = round(float(pearsonr(scores, labels)[0]), 6)
            metrics["spearmanr"] = round(float(spearmanr(scores, labels)[0]), 6)
    else:
        guesses = logits.argmax(axis=-1)
        average = "binary" if logits.shape[-1] == 2 else "macro"
        accuracy = float(accuracy_score(labels, guesses))
        f1 = float(f1_score(labels, guesses, average=average, zero_division=0.0))
        metrics = {"accuracy": round(accuracy, 6), "f1": round(f1, 6)}
    metrics["samples"] = len(labels)
    return metrics


def logits_alone(outputs: Any, _labels: Any) -> Any:
    """BART and its like hand out their encoder's states as well."""
    return outputs[0] if isinstance(outputs, (tuple, list)) else outputs


# --- main ---


def main(argv: Sequence[str] | None = None) -> None:
    model_args, data_args, training_args, notes = parse_arguments(argv)
    kit.begin(training_args, notes)

    tokenizer = tokenizer_of(model_args)
    config = config_of(model_args, tokenizer)
    raw_datasets = load_raw_datasets(data_args, list(config.id2label.values()))
    if training_args.do_predict and "test" not in raw_datasets:
        wanted = "wanted --test_file, or a channel test; leave it out"
        raise UsageError(f"--do_predict: got True and nothing to label, {wanted}")
    names = getattr(raw_datasets["train"].features["label"], "names", [])
    config = config_of(model_args, tokenizer, **head_for(raw_datasets["train"]))
    max_seq_length = length_of("max_seq_length", data_args.max_seq_length, 128, config)
    datasets = tokenized(raw_datasets, tokenizer, max_seq_length)
    model = model_of(
        AutoModelForSequenceClassification,
        model_args,
        config,
        tokenizer,
        training_args,
        ignore_mismatched_sizes=True,
    )
    fixed_length = max_seq_length if data_args.pad_to_max_length else None
    padding = kit.padding(datasets, training_args, fixed_length)
    with kit.usage_errors():
        trainer = Trainer(
            model=model,
            args=training_args,
            train_dataset=datasets["train"],
            eval_dataset=datasets["eval"],
            processing_class=tokenizer,
            data_collator=DataCollatorWithPadding(tokenizer, **padding),
            compute_metrics=compute_metrics,
            preprocess_logits_for_metrics=logits_alone,
        )
    name = model_args.model_name_or_path
    train_dataset = datasets["train"]
    kit.watch(trainer, {"model": name, "data": kit.fingerprint(train_dataset)})
    judged = [part for part in datasets if part not in {"train", "test"}]
    held_out = sum(len(datasets[part]) for part in judged)
    kinds = f"{len(names)} labels" if names else "scores"
    longest = max(train_dataset["length"])
    kit.say_what_runs(
        name,
        training_args,
        f"{len(train_dataset)} examples of {kinds}, at most {longest} tokens, {held_out} held out",
    )

    if training_args.do_train:
        kit.train(trainer)
    if training_args.do_eval:
        for part in judged:
            kit.evaluate(trainer, datasets[part], part)
    if training_args.do_train:
        kit.save(trainer)
    if training_args.do_predict:
        kit.judge_in_order(training_args)
        predictions = trainer.predict(datasets["test"], metric_key_prefix="test").predictions
        if trainer.is_world_process_zero():
            write_predictions(Path(training_args.model_dir), predictions, names)


def write_predictions(folder: Path, predictions: Any, names: Sequence[str]) -> None:
    """Every row of the test data, by its number from 0 on, as GLUE wants them."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "predictions.tsv").open("w", encoding="utf-8") as file:
        file.write("index\tprediction\n")
        for number, row in enumerate(predictions):
            label = names[row.argmax()] if names else f"{row[0]:.4f}"
            file.write(f"{number}\t{label}\n")


if __name__ == "__main__":
    sm_spot.leave(sm_spot.exit_code_of(main))

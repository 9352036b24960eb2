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

import kit.common as kit
import sm_spot
from kit.data import DataArguments, label_sets, read_sets
from sm_spot import UsageError

import numpy as np
from datasets import ClassLabel, DatasetDict
from scipy.stats import pearsonr, spearmanr
from sklearn.metrics import accuracy_score, f1_score
from transformers import (
    AutoModelForSequenceClassification,
    DataCollatorWithPadding,
    EvalPrediction,
    Trainer,
)


@dataclass
class ModelArguments(kit.ModelArguments):
    model_name_or_path: str = field(
        default="roberta-base", metadata={"help": "hub id, local folder, or tiny-random"}
    )


@dataclass
class GlueArguments(DataArguments):
    task_name: Optional[str] = field(
        default=None, metadata={"help": "of GLUE, from the hub: cola, mnli, mrpc, sst2, stsb, …"}
    )
    # A channel `test` is not to be judged on.
    validation_file: Optional[str] = field(default_factory=lambda: kit.channel("validation"))
    test_file: Optional[str] = field(
        default_factory=lambda: kit.channel("test"),
        metadata={"help": "what --do_predict labels, every row of it"},
    )
    validation_fraction: float = field(
        default=0.1, metadata={"help": "held out where there is no validation file"}
    )
    text_pair_column: Optional[str] = None
    label_column: Optional[str] = field(
        default=None, metadata={"help": "default: by the names that data sets use"}
    )
    num_labels: Optional[int] = field(
        default=None, metadata={"help": "1: scores; default: as many as the training data has"}
    )
    max_seq_length: Optional[int] = field(
        default=None, metadata={"help": "default: 128, or what the model takes"}
    )
    pad_to_max_length: bool = field(
        default=False, metadata={"help": "one length for all batches; XLA always has it"}
    )
    max_predict_samples: Optional[int] = None


def load_raw_datasets(data_args: GlueArguments, order: Sequence[str]) -> DatasetDict:
    """`train`, `test` and, as `eval`, what to judge on; MNLI is judged on two."""
    names = ["train", "validation", "test"]
    if data_args.task_name and data_args.train_file is None:
        data_args.dataset_name = "nyu-mll/glue"
        data_args.dataset_config_name = data_args.task_name.lower()
        if data_args.dataset_config_name == "mnli":
            names = ["train", "validation_matched", "validation_mismatched", "test_matched"]
    sets = read_sets(data_args, "reviews.csv", names)
    called = {"validation_matched": "validation", "test_matched": "test"}
    sets = DatasetDict({called.get(name, name): part for name, part in sets.items()})
    sets = label_sets(sets, data_args, order)
    limits = {"train": data_args.max_train_samples, "test": data_args.max_predict_samples}
    for name, part in sets.items():
        limit = limits.get(name, data_args.max_eval_samples) or len(part)
        sets[name] = part.select(range(min(limit, len(part))))
    return sets


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


def main(argv: Optional[Sequence[str]] = None) -> None:
    model_args, data_args, training_args = kit.parse(
        (ModelArguments, GlueArguments, kit.TrainingArguments),
        argv,
        __doc__,
        do_eval=True,
        learning_rate=2e-5,
        **kit.GROUP_BY_LENGTH,
    )
    hub = kit.hub_options(model_args)
    name = model_args.model_name_or_path
    with kit.loading_turn():
        tokenizer = kit.load_tokenizer(model_args.tokenizer_name or name, **hub)
        config = kit.load_config(model_args.config_name or name, tokenizer, **hub)
        raw_datasets = load_raw_datasets(data_args, list(config.id2label.values()))
        if training_args.do_predict and "test" not in raw_datasets:
            raise UsageError(
                "--do_predict: got nothing to label, wanted --test_file, or a channel test"
            )
        length = kit.length_of("max_seq_length", data_args.max_seq_length, 128, tokenizer, config)
        columns = [one for one in ("text", "text_pair") if one in raw_datasets["train"].features]
        datasets = raw_datasets.map(
            lambda rows: tokenizer(
                *(rows[column] for column in columns),
                truncation=True,
                max_length=length,
                return_length=True,
            ),
            batched=True,
            remove_columns=columns,
        )
        feature = datasets["train"].features["label"]
        names = feature.names if isinstance(feature, ClassLabel) else []
        config.num_labels = len(names) or 1
        config.problem_type = None if names else "regression"
        if names:
            config.id2label = dict(enumerate(names))
            config.label2id = {label: number for number, label in enumerate(names)}
        model = kit.load_model(
            AutoModelForSequenceClassification,
            name,
            config,
            tokenizer,
            training_args,
            ignore_mismatched_sizes=True,
            **kit.attention_of(model_args),
            **hub,
        )
    fixed_length = length if data_args.pad_to_max_length else None
    judged = {
        part.replace("validation", "eval").replace("eval_mismatched", "eval_mm"): examples
        for part, examples in datasets.items()
        if part not in {"train", "test"}
    }
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
            preprocess_logits_for_metrics=logits_alone,
        )
    kit.say_what_runs(
        name, training_args, f"{len(datasets['train'])} examples of {len(names) or 'no'} labels"
    )
    kit.watch(trainer, {"model": name, "data": kit.fingerprint(datasets["train"])})
    if training_args.do_train:
        kit.train(trainer)
    kit.finish(trainer, judged)
    if training_args.do_predict:
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

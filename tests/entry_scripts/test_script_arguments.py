"""Command lines of Hugging Face's users: taken as today's release calls them, from files too, or refused in a sentence."""

from __future__ import annotations

import dataclasses
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("datasets")

import train_glue
import train_language_model
import train_question_answering
import train_text_classification
from kit.common import RENAMED, TrainingArguments, defaults_of_a_job, parse, today
from sm_spot import UsageError

from launch import QUIET, SCRIPTS

# The hyperparameters of the documents, as SageMaker's toolkit passes them on.
DOCUMENTS: dict[str, tuple[Any, str, dict[str, Any]]] = {
    "001, run_qa": (
        train_question_answering,
        (
            "--model_name_or_path bert-large-uncased-whole-word-masking --dataset_name squad --do_train True --do_eval True --fp16 True"
            " --per_device_train_batch_size 4 --per_device_eval_batch_size 4 --num_train_epochs 2 --max_seq_length 384 --max_steps 100"
            " --pad_to_max_length True --doc_stride 128 --output_dir {folder}"
        ),
        {"fp16": True, "bf16": False, "max_steps": 100, "doc_stride": 128, "pad_to_max_length": True},
    ),
    "001, run_glue": (
        train_glue,
        (
            "--model_name_or_path roberta-large --task_name mnli --per_device_train_batch_size 16 --per_device_eval_batch_size 16"
            " --do_train True --do_eval True --do_predict True --num_train_epochs 2 --output_dir {folder} --max_steps 500"
            " --mp_parameters partitions=4"
        ),
        {"task_name": "mnli", "do_predict": True, "max_steps": 500},
    ),
    "001, spot": (
        train_glue,
        "--epochs 1 --train_batch_size 32 --model_name distilbert-base-uncased --output_dir {folder}",
        {"num_train_epochs": 1, "per_device_train_batch_size": 32, "model_name_or_path": "distilbert-base-uncased"},
    ),
    "001, spot, the loop": (
        train_text_classification,
        "--epochs 1 --train_batch_size 32 --model_name distilbert-base-uncased --output_dir {folder}",
        {"epochs": 1, "per_device_batch_size": 32, "model": "distilbert-base-uncased"},
    ),
    "002": (
        train_language_model,
        (
            "--model_type gpt2 --tokenizer_name gpt2 --dataset_name wikitext --dataset_config_name wikitext-103-v1 --do_train True"
            " --do_eval False --num_train_epochs 10 --block_size 512 --overwrite_output_dir True --save_strategy no"
            " --evaluation_strategy no --logging_strategy epoch --output_dir {folder} --dataloader_drop_last True"
            " --preprocessing_num_workers 12 --per_device_train_batch_size 13 --learning_rate 2.03125e-05"
        ),
        {"block_size": 512, "eval_strategy": "no", "preprocessing_num_workers": 12, "dataloader_drop_last": True},
    ),
    "run_glue_no_trainer": (
        train_text_classification,
        (
            "--model_name_or_path m --num_train_epochs 2 --num_warmup_steps 10 --lr_scheduler_type cosine --max_train_steps 50"
            " --checkpointing_steps 25 --per_device_train_batch_size 8 --output_dir {folder}"
        ),
        {
            "warmup_steps": 10,
            "lr_scheduler_type": "cosine",
            "max_steps": 50,
            "save_steps": 25,
            "per_device_batch_size": 8,
        },
    ),
}


def parsed(module: Any, words: list[str]) -> dict[str, Any]:
    if module is train_text_classification:
        return dict(vars(module.parse_arguments(words)))
    kinds = [
        kind
        for name, kind in vars(module).items()
        if name in {"ModelArguments", "GlueArguments", "LanguageArguments", "QuestionArguments"}
    ]
    values: dict[str, Any] = {}
    for one in parse((*kinds, TrainingArguments), words):
        values.update(vars(one))
    return values


@pytest.mark.parametrize("document", DOCUMENTS)
@pytest.mark.parametrize("form", ["words", "args.json", "--config args.yaml"])
def test_the_documents_own_hyperparameters_are_taken_word_for_word(document: str, form: str, tmp_path: Path) -> None:
    module, line, wanted = DOCUMENTS[document]
    words = shlex.split(line.format(folder=tmp_path / "model"))
    if form != "words":
        values = {flag[2:]: value for flag, value in zip(words[::2], words[1::2], strict=True)}
        place = form.replace("args", str(tmp_path / "args"))
        Path(place.rsplit(" ", 1)[-1]).write_text(json.dumps(values))  # which YAML is, too
        words = shlex.split(place)
    values = parsed(module, words)
    assert wanted == {name: getattr(values[name], "value", values[name]) for name in wanted}


@pytest.mark.parametrize(
    ("words", "known", "becomes"),
    [
        ("--no_cuda True", {"use_cpu"}, "--use_cpu True"),
        ("--no_cuda True", {"no_cuda"}, "--no_cuda True"),
        ("--group-by-length False", {"train_sampling_strategy"}, "--train_sampling_strategy random"),
        ("--group_by_length", {"train_sampling_strategy"}, "--train_sampling_strategy group_by_length"),
        ("--group_by_length True", {"group_by_length"}, "--group_by_length True"),
        ("--per_gpu_train_batch_size=3", {"per_device_train_batch_size"}, "--per_device_train_batch_size 3"),
        ("--warmup_ratio 0.1", {"warmup_steps"}, "--warmup_steps 0.1"),
        ("--fp16_backend amp --use_ipex True", set(), ""),
    ],
)
def test_a_flag_becomes_what_the_release_calls_it(
    words: str, known: set[str], becomes: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert becomes.split() == today(words.split(), known, RENAMED)
    ignored = "ignored, for it means nothing here: "
    assert bool(becomes) != capsys.readouterr().out.startswith(ignored)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--num_train_epoch 3", "--num_train_epoch: unknown flag; see --help"),
        ("--num_train_epochs many", "--num_train_epochs: invalid float value: 'many'"),
        ("--output_dir /proc/none", "--output_dir: got '/proc/none'"),
        ("--config none.yaml", "none.yaml: "),
        ("--lr_scheduler_type nowhere", "--lr_scheduler_type: invalid"),
    ],
)
def test_a_mistake_is_a_sentence(words: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=message):
        parse((TrainingArguments,), words.split())


def test_help_is_given_and_is_no_mistake() -> None:
    run = subprocess.run(
        [sys.executable, str(SCRIPTS / "train_glue.py"), "--help"],
        env={**os.environ, **QUIET},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "--checkpoint_dir" in run.stdout


def test_half_precision_is_asked_for_or_the_devices_own(tmp_path: Path) -> None:
    ways = {
        "--fp16 True": (True, False),
        "--bf16 True": (False, True),
        "--fp16 False": (False, False),
        "": (False, False),
    }
    for words, wanted in ways.items():
        (args,) = parse((TrainingArguments,), [*words.split(), "--output_dir", str(tmp_path)])
        assert wanted == (args.fp16, args.bf16)


def test_the_defaults_of_a_job_are_transformers_own_fields(monkeypatch: pytest.MonkeyPatch) -> None:
    fields = {field.name for field in dataclasses.fields(TrainingArguments)}
    assert {*defaults_of_a_job("cpu"), *defaults_of_a_job("xla")} <= fields
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert "gloo" == defaults_of_a_job("cpu")["ddp_backend"]
    assert "adamw_torch" == defaults_of_a_job("xla")["optim"]

"""One set of flags for every transformers: renamed, reworded or left out by what its TrainingArguments has."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from hypothesis import given
from hypothesis import strategies as st
from kit.data import DataArguments
from kit.trainer import LEFT_OUT, TrainingArguments, defaults_of_a_job, known_flags, take_flags
from kit.trainer import parse as parse_arguments
from sm_spot import UsageError

# The fields of TrainingArguments, read from the wheels of these versions.
FIELDS: dict[str, list[str]] = json.loads(Path(__file__).with_name("training_arguments_fields.json").read_text())
LIVING = [version for version in FIELDS if tuple(map(int, version.split("."))) >= (4, 56)]
# The hyperparameters of the compiler's published example, as SageMaker's toolkit passes them on.
PUBLISHED = [
    "--dataloader_drop_last",
    "True",
    "--dataset_config_name",
    "wikitext-103-v1",
    "--dataset_name",
    "wikitext",
    "--do_eval",
    "False",
    "--do_train",
    "True",
    "--evaluation_strategy",
    "no",
    "--learning_rate",
    "2.03125e-05",
    "--logging_strategy",
    "epoch",
    "--num_train_epochs",
    "10",
    "--output_dir",
    "/opt/ml/model",
    "--overwrite_output_dir",
    "True",
    "--per_device_train_batch_size",
    "13",
    "--preprocessing_num_workers",
    "12",
    "--save_strategy",
    "no",
]
# Flags of run_glue, run_clm and run_qa (transformers 4.56, examples/pytorch) that change nothing here.
EXAMPLES = (
    "dtype",
    "ignore_mismatched_sizes",
    "keep_linebreaks",
    "low_cpu_mem_usage",
    "n_best_size",
    "overwrite_cache",
    "preprocessing_num_workers",
    "torch_dtype",
    "use_fast_tokenizer",
)
OWN = {"dataset_config_name", "dataset_name", "preprocessing_num_workers", "output_dir", "overwrite_output_dir"}


@pytest.mark.parametrize("version", LIVING)
def test_the_published_flags_are_known_to_every_release_that_lives(version: str) -> None:
    flags, notes = known_flags(PUBLISHED, {*FIELDS[version], *OWN})
    names = {flag[2:] for flag in flags if flag.startswith("--")}
    assert "eval_strategy" in names
    assert names <= {*FIELDS[version], *OWN}
    assert len(PUBLISHED) == len(flags)
    assert ["--evaluation_strategy: passed on as --eval_strategy no"] == notes


GOLDEN: list[tuple[list[str], dict[str, list[str]]]] = [
    # given, by release: what it becomes; nothing: left out with a note
    (["--no_cuda", "True"], {"4.57.6": ["--no_cuda", "True"], "5.23.0": ["--use_cpu", "True"]}),
    (["--warmup_ratio", "0.1"], {"4.57.6": ["--warmup_ratio", "0.1"], "5.23.0": ["--warmup_steps", "0.1"]}),
    (
        ["--group_by_length", "True"],
        {"4.57.6": ["--group_by_length", "True"], "5.23.0": ["--train_sampling_strategy", "group_by_length"]},
    ),
    (["--group_by_length", "False"], {"5.23.0": ["--train_sampling_strategy", "random"]}),
    (["--group_by_length", "false"], {"5.23.0": ["--train_sampling_strategy", "random"]}),
    (["--group_by_length", "0"], {"5.23.0": ["--train_sampling_strategy", "random"]}),
    (["--group_by_length"], {"5.23.0": ["--train_sampling_strategy", "group_by_length"]}),
    (["--per_gpu_train_batch_size=3"], {"5.23.0": ["--per_device_train_batch_size", "3"]}),
    (["--fp16_backend", "amp"], {"5.23.0": []}),
    (["--mp_parameters", "{}"], {"5.23.0": []}),
    (["--bf16", "True"], {"5.23.0": ["--bf16", "True"]}),
]


@pytest.mark.parametrize(
    ("given_flags", "version", "wanted"),
    [(flag, version, want) for flag, row in GOLDEN for version, want in row.items()],
)
def test_a_flag_becomes_what_the_release_calls_it(given_flags: list[str], version: str, wanted: list[str]) -> None:
    flags, notes = known_flags(given_flags, FIELDS[version])
    assert wanted == flags
    assert (wanted != given_flags) == bool(notes)


@pytest.mark.parametrize("version", LIVING)
def test_no_field_of_any_release_is_unknown_to_one_that_lives(version: str) -> None:
    own = {field.name for field in dataclasses.fields(TrainingArguments)}
    every = {name for names in FIELDS.values() for name in names if not name.startswith("_")}
    later = {name for other in LIVING for name in FIELDS[other]}
    for name in every - later:
        known_flags([f"--{name}", "True"], {*FIELDS[version], *own})


def test_the_table_names_nothing_that_no_release_had() -> None:
    every = {name for names in FIELDS.values() for name in names}
    assert {*LEFT_OUT} <= {*every, *EXAMPLES}


@dataclasses.dataclass
class Arguments(DataArguments):
    block_size: int = 2
    share: float = 0.1


def parse(argv: list[str]) -> tuple[Any, ...]:
    return parse_arguments((Arguments, TrainingArguments), argv, seed=3)


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["--learning_rat", "1"], "--learning_rat: unknown flag; did you mean --learning_rate?"),
        (["--block_sise", "1"], "--block_sise: unknown flag; did you mean --block_size?"),
        (["--overwrite_output", "1"], "--overwrite_output: unknown flag; did you mean --overwrite_output_dir?"),
        (["--learning_rate", "fast"], "--learning_rate: invalid float value: 'fast'"),
        (["7"], "7: unknown flag; see --help"),
        (["--save_strategy", "often"], "--save_strategy: invalid choice: 'often'"),
        (["--block_size", "0"], "--block_size: got 0, wanted a whole number, at least 2"),
        (["--learning_rate", "-1"], "--learning_rate: got -1.0, wanted a number, at least 0"),
        (["--num_train_epochs", "nan"], "--num_train_epochs: got nan, wanted a number, at least 0"),
        (
            ["--per_device_train_batch_size", "0"],
            "--per_device_train_batch_size: got 0, wanted a whole number, at least 1",
        ),
        (["--seed", "-1"], "--seed: got -1, wanted a whole number, at least 0, below 4294967296"),
        (["--max_train_samples", "-5"], "--max_train_samples: got -5, wanted a whole number, at least 1"),
        (["--share", "1"], "--share: got 1.0, wanted a number, at least 0, below 1"),
        (["--share", "nan"], "--share: got nan, wanted a number, at least 0, below 1"),
    ],
)
def test_a_mistyped_flag_is_a_mistake_with_a_suggestion(argv: list[str], said: str) -> None:
    pytest.importorskip("transformers")
    with pytest.raises(UsageError) as raised:
        parse(argv)
    assert said in str(raised.value)


def test_help_is_given_and_is_no_mistake(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("transformers")
    with pytest.raises(SystemExit) as ended:
        parse(["--help"])
    shown = capsys.readouterr().out
    assert ended.value.code == 0
    assert "--block_size" in shown
    assert "--per_device_train_batch_size" in shown


def test_the_command_line_overrules_our_defaults_and_json_stays_in_one_piece() -> None:
    pytest.importorskip("transformers")
    own, args, notes = parse(
        ["--seed=5", "--block_size", "9", "--bf16", "--label_names", "a", "b", "--lr_scheduler_kwargs", '{"x": 1}']
    )
    assert (5, 9, True, ["a", "b"]) == (args.seed, own.block_size, args.bf16, args.label_names)
    assert {"x": 1} == args.lr_scheduler_kwargs
    assert [] == notes
    assert 3 == parse([])[1].seed


def test_the_optimizer_is_transformers_own_and_never_the_fused_one_on_xla(monkeypatch: pytest.MonkeyPatch) -> None:
    transformers = pytest.importorskip("transformers")
    (own,) = (field.default for field in dataclasses.fields(transformers.TrainingArguments) if field.name == "optim")
    assert own == parse([])[1].optim.value
    monkeypatch.setenv("SM_TRN_RUNTIME", "xla")
    assert "adamw_torch" == defaults_of_a_job()["optim"]


NAMES = st.from_regex(r"[a-z][a-z_]{0,8}", fullmatch=True)
VALUES = st.text("abc0123456789.{}: /", min_size=1).filter(lambda text: not text.startswith("-"))


@given(st.dictionaries(NAMES, VALUES))
def test_both_ways_to_write_a_flag_are_one(flags: dict[str, str]) -> None:
    apart = [part for name, value in flags.items() for part in ("--" + name, value)]
    joined = [f"--{name}={value}" for name, value in flags.items()]
    wanted = {name: [value] for name, value in flags.items()}
    assert (wanted, []) == take_flags(apart, flags) == take_flags(joined, flags)
    assert ({name: [] for name in flags}, []) == take_flags(["--" + name for name in flags], flags)
    assert ({}, joined) == take_flags(joined, [])


def test_trainers_workers_on_the_cpu_are_connected_by_gloo(monkeypatch: pytest.MonkeyPatch) -> None:
    assert defaults_of_a_job()["use_cpu"]
    assert "ddp_backend" not in defaults_of_a_job()
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert "gloo" == defaults_of_a_job()["ddp_backend"]


@pytest.mark.parametrize(
    ("flags", "wanted"),
    [
        ([], (True, False)),
        (["--fp16", "True"], (False, True)),
        (["--fp16"], (False, True)),
        (["--fp16=false"], (True, False)),
        (["--fp16", "0"], (True, False)),
        (["--fp16_full_eval", "True"], (True, False)),
        (["--bf16", "False"], (False, False)),
    ],
)
def test_whoever_asks_for_float16_does_not_get_bfloat16_beside_it(
    flags: list[str], wanted: tuple[bool, bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kit.trainer.has_bf16", bool)  # of a device's name: True
    args = parse(flags)[1]
    assert wanted == (args.bf16, args.fp16)


def test_nothing_is_computed_in_less_than_float32_on_a_cpu_and_a_loss_that_is_no_number_is_not_smoothed_over() -> None:
    _, args, notes = parse([])
    assert (False, False, False) == (args.bf16, args.fp16, args.logging_nan_inf_filter)
    assert [] == notes


def test_the_loop_of_our_own_knows_the_trainer_scripts_names_and_no_name_is_proposed_that_is_far_off() -> None:
    loop = {"model", "train", "epochs", "seed"}
    flags, notes = known_flags(["--model_name_or_path", "bert", "--train_file", "a", "--num_train_epochs", "2"], loop)
    assert ["--model", "bert", "--epochs", "2", "--train", "a"] == flags
    assert "--train_file: passed on as --train a" in notes
    with pytest.raises(UsageError, match=r"--early_stopping_patience: unknown flag; see --help"):
        parse_arguments((DataArguments, TrainingArguments), ["--early_stopping_patience", "3"])
    with pytest.raises(UsageError, match=r"--max_train_sample: unknown flag; did you mean --max_train_samples\?"):
        parse_arguments((DataArguments, TrainingArguments), ["--max_train_sample", "3"])

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
from kit.trainer import (
    NEURON_ONLY,
    SOMETIMES,
    SYNONYMS,
    SharedArguments,
    pairs,
    parse_flags,
    trainer_defaults,
    translate,
)
from recording_torch_xla import RecordingTorchXla
from sm_spot import UsageError

# The fields of TrainingArguments, read from the wheels of these versions.
FIELDS: dict[str, list[str]] = json.loads(Path(__file__).with_name("training_arguments_fields.json").read_text())
VERSIONS = list(FIELDS)
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
OWN = {"dataset_config_name", "dataset_name", "preprocessing_num_workers", "output_dir", "overwrite_output_dir"}


@pytest.mark.parametrize("version", VERSIONS)
def test_the_published_flags_reach_every_version_under_the_names_it_has(version: str) -> None:
    given_flags = {name: value for name, value in pairs(PUBLISHED) if name not in OWN}
    flags, notes = translate(given_flags, FIELDS[version])
    name = "evaluation_strategy" if "evaluation_strategy" in FIELDS[version] else "eval_strategy"
    assert "no" == flags[name]
    assert set(flags) <= set(FIELDS[version])
    assert len(given_flags) == len(flags)
    assert len(notes) == (0 if "evaluation_strategy" in FIELDS[version] else 1)


GOLDEN: list[tuple[tuple[str, str], dict[str, tuple[str, str] | None]]] = [
    # given, by version: what it becomes; None: left out with a note
    (("eval_strategy", "steps"), {"4.6.1": ("evaluation_strategy", "steps"), "5.23.0": ("eval_strategy", "steps")}),
    (("no_cuda", "True"), {"4.21.3": ("no_cuda", "True"), "5.0.0": ("use_cpu", "True"), "5.23.0": ("use_cpu", "True")}),
    (("use_cpu", "True"), {"4.21.3": ("no_cuda", "True"), "4.57.6": ("use_cpu", "True")}),
    (("warmup_ratio", "0.1"), {"4.57.6": ("warmup_ratio", "0.1"), "5.23.0": ("warmup_steps", "0.1")}),
    (("warmup_steps", "0.1"), {"4.21.3": ("warmup_ratio", "0.1"), "5.23.0": ("warmup_steps", "0.1")}),
    (("warmup_steps", "50"), {"4.21.3": ("warmup_steps", "50"), "5.23.0": ("warmup_steps", "50")}),
    (
        ("group_by_length", "True"),
        {"4.57.6": ("group_by_length", "True"), "5.23.0": ("train_sampling_strategy", "group_by_length")},
    ),
    (("train_sampling_strategy", "group_by_length"), {"4.21.3": ("group_by_length", "True")}),
    (
        ("group_by_length", "False"),
        {"4.57.6": ("group_by_length", "False"), "5.23.0": ("train_sampling_strategy", "random")},
    ),
    (("train_sampling_strategy", "random"), {"5.0.0": ("group_by_length", "False")}),
    (("adafactor", "True"), {"4.6.1": ("adafactor", "True"), "5.23.0": ("optim", "adafactor")}),
    (("per_gpu_train_batch_size", "3"), {"5.23.0": ("per_device_train_batch_size", "3")}),
    (("overwrite_output_dir", "True"), {"4.57.6": ("overwrite_output_dir", "True"), "5.0.0": None}),
    (("fp16_backend", "amp"), {"4.6.1": ("fp16_backend", "amp"), "5.23.0": None}),
    (("mp_parameters", "{}"), {"4.21.3": ("mp_parameters", "{}"), "5.23.0": None}),
    (("bf16", "True"), {"5.23.0": ("bf16", "True")}),
    (("optim", "adamw_torch"), {"4.6.1": None, "4.21.3": ("optim", "adamw_torch")}),
    (("ddp_backend", "gloo"), {"4.21.3": ("xpu_backend", "gloo"), "5.23.0": ("ddp_backend", "gloo")}),
]


@pytest.mark.parametrize(
    ("flag", "version", "wanted"), [(flag, version, want) for flag, row in GOLDEN for version, want in row.items()]
)
def test_a_flag_becomes_what_the_version_calls_it(
    flag: tuple[str, str], version: str, wanted: tuple[str, str] | None
) -> None:
    flags, notes = translate(dict([flag]), FIELDS[version])
    assert ({} if wanted is None else dict([wanted])) == flags
    assert (wanted != flag) == bool(notes)


@pytest.mark.parametrize("version", VERSIONS)
def test_what_a_version_has_is_never_touched(version: str) -> None:
    given_flags = dict.fromkeys(FIELDS[version], "7")
    assert (given_flags, []) == translate(given_flags, FIELDS[version])


@pytest.mark.parametrize("version", VERSIONS)
def test_no_field_of_any_version_is_unknown_to_another(version: str) -> None:
    every = {name for names in FIELDS.values() for name in names if not name.startswith("_")}
    assert every <= {*FIELDS[version], *SOMETIMES, *NEURON_ONLY, *(name for names in SYNONYMS for name in names)}


def test_the_table_names_nothing_that_no_version_had() -> None:
    every = {name for names in FIELDS.values() for name in names}
    assert SOMETIMES <= every
    neuron = json.loads((Path(__file__).parents[1] / "fakes" / "neuron_training_arguments.json").read_text())["fields"]
    assert {name for names in SYNONYMS for name in names} <= {*every, *neuron, "zero1"}
    assert set(NEURON_ONLY) <= {*neuron, "zero1"}


@dataclasses.dataclass
class Arguments(SharedArguments):
    block_size: int = 2
    share: float = 0.1


def parse(argv: list[str]) -> tuple[Any, Any, list[str]]:
    return parse_flags(Arguments, argv, {"seed": 3})


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["--learning_rat", "1"], "--learning_rat: unknown flag; did you mean --learning_rate?"),
        (["--block_sise", "1"], "--block_sise: unknown flag; did you mean --block_size?"),
        (["--overwrite_output", "1"], "--overwrite_output: unknown flag; did you mean --overwrite_output_dir?"),
        (["--learning_rate", "fast"], "--learning_rate: invalid float value: 'fast'"),
        (["7"], "arguments: got '7', wanted flags like"),
        (["--save_strategy", "often"], "--save_strategy: invalid choice: 'often'"),
        (["--block_size", "0"], "--block_size: got 0, wanted a whole number, at least 2"),
        (["--learning_rate", "-1"], "--learning_rate: got -1, wanted a number, at least 0"),
        (["--num_train_epochs", "nan"], "--num_train_epochs: got nan, wanted a number, at least 0"),
        (["--per_device_train_batch_size", "0"], "--per_device_train_batch_size: got 0, wanted a number, at least 1"),
        (["--warmup_ratio", "2"], "--warmup_ratio: got 2, wanted a number from 0 to below 1"),
        (["--seed", "-1"], "--seed: got -1, wanted a number from 0 to below 4294967296"),
        (["--max_train_samples", "-5"], "--max_train_samples: got -5, wanted a whole number, at least 1"),
        (["--share", "1"], "--share: got 1.0, wanted a number from 0 to below 1"),
        (["--share", "nan"], "--share: got nan, wanted a number from 0 to below 1"),
    ],
)
def test_a_mistyped_flag_is_a_mistake_with_a_suggestion(argv: list[str], said: str) -> None:
    pytest.importorskip("transformers")
    with pytest.raises(UsageError) as raised:
        parse(argv)
    assert said in str(raised.value)


def test_the_command_line_overrules_our_defaults_and_json_stays_in_one_piece() -> None:
    pytest.importorskip("transformers")
    own, args, notes = parse(
        ["--seed=5", "--block_size", "9", "--bf16", "--label_names", "a", "b", "--lr_scheduler_kwargs", '{"x": 1}']
    )
    assert (5, 9, True, ["a", "b"]) == (args.seed, own.block_size, args.bf16, args.label_names)
    assert {"x": 1} == args.lr_scheduler_kwargs
    assert [] == notes
    assert 3 == parse([])[1].seed


FIELDS_HERE = {field.name for field in dataclasses.fields(pytest.importorskip("transformers").TrainingArguments)}


def test_the_optimizer_is_fused_where_the_library_would_have_it_and_never_on_xla(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    transformers = pytest.importorskip("transformers")
    (own,) = (field.default for field in dataclasses.fields(transformers.TrainingArguments) if field.name == "optim")
    wanted = "adamw_torch_fused" if "fused" in str(own) else "adamw_torch"
    assert wanted == parse([])[1].optim.value
    monkeypatch.setenv("SM_TRN_RUNTIME", "xla")
    with RecordingTorchXla().installed():
        assert "adamw_torch" == trainer_defaults(FIELDS_HERE)["optim"]


NAMES = st.from_regex(r"[a-z][a-z_]{0,8}", fullmatch=True)
VALUES = st.text("abc0123456789.{}: /", min_size=1).filter(lambda text: not text.startswith("-"))


@given(st.dictionaries(NAMES, VALUES))
def test_both_ways_to_write_a_flag_are_one(flags: dict[str, str]) -> None:
    apart = [part for name, value in flags.items() for part in ("--" + name, value)]
    joined = [f"--{name}={value}" for name, value in flags.items()]
    assert flags == dict(pairs(apart)) == dict(pairs(joined))
    assert dict.fromkeys(flags, "True") == dict(pairs("--" + name for name in flags))


def test_trainers_workers_on_the_cpu_are_connected_by_gloo(monkeypatch: pytest.MonkeyPatch) -> None:
    assert trainer_defaults(FIELDS_HERE)["use_cpu"]
    assert "ddp_backend" not in trainer_defaults(FIELDS_HERE)
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert "gloo" == trainer_defaults(FIELDS_HERE)["ddp_backend"]


def test_nothing_is_computed_in_less_than_float32_on_a_cpu_and_a_loss_that_is_no_number_is_not_smoothed_over() -> None:
    _, args, notes = parse([])
    assert (False, False, False) == (args.bf16, args.fp16, args.logging_nan_inf_filter)
    assert [] == notes

"""What a script says of its training itself is what transformers' own classes hold when the script has run."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

import sm_trn as st
from sm_trn.core.preflight.source import command_line
from sm_trn.forecast.training import DECIDED_LATER, arguments_of

HEAD = "import argparse, os\nfrom dataclasses import dataclass, field\nfrom transformers import HfArgumentParser, TrainingArguments\n"
PARSER = "parser = argparse.ArgumentParser()\n{}\nargs, _ = parser.parse_known_args()\n"
BATCH = 'parser.add_argument("--train_batch_size", type=int, default=16)'
SHORT = 'parser.add_argument("--bs", type=int, default=12)\nparser.add_argument("--rounds", type=float, default=2)'
TAKES = "training = TrainingArguments(output_dir='out', {})\n"
OWN = '@dataclass\nclass Own:\n    max_seq_length: int = field(default=512, metadata={"help": "tokens"})\n    name: str = "a"\n'
FIELDS = OWN + "own, training = HfArgumentParser((Own, TrainingArguments)).parse_args_into_dataclasses()\n"
CONSTANT = "per_device_train_batch_size=4, num_train_epochs=5, gradient_accumulation_steps=2, max_steps=90"
ASKED = (
    "per_device_train_batch_size",
    "num_train_epochs",
    "gradient_accumulation_steps",
    "max_steps",
    "gradient_checkpointing",
)

SCRIPTS: dict[str, tuple[str, dict[str, Any]]] = {
    "constants": (HEAD + TAKES.format(CONSTANT), {}),
    "Trainer's own": (HEAD + TAKES.format("learning_rate=1e-4"), {}),
    "an argument's default": (HEAD + PARSER.format(BATCH) + TAKES.format("per_device_train_batch_size=args.train_batch_size"), {}),
    "an argument that is given": (
        HEAD + PARSER.format(BATCH) + TAKES.format("per_device_train_batch_size=args.train_batch_size"), {"train_batch_size": 24},
    ),
    "names of one's own": (
        HEAD + PARSER.format(SHORT) + TAKES.format("per_device_train_batch_size=args.bs, num_train_epochs=args.rounds"), {},
    ),
    "a constant of the module": (HEAD + "EPOCHS = 4\n" + TAKES.format("num_train_epochs=EPOCHS"), {}),
    "made a number": (HEAD + PARSER.format(SHORT) + TAKES.format("per_device_train_batch_size=int(args.bs)"), {"bs": 3}),
    "an argument with a dash": (
        HEAD
        + PARSER.format(BATCH.replace("train_batch_size", "train-batch-size"))
        + TAKES.format("per_device_train_batch_size=args.train_batch_size"),
        {"train-batch-size": 24},
    ),
    "its parser, nothing given": (HEAD + FIELDS, {"output_dir": "out"}),
    "its parser, something given": (HEAD + FIELDS, {"output_dir": "out", "per_device_train_batch_size": 6, "num_train_epochs": 1}),
    "its parser, a beginning": (HEAD + FIELDS, {"output_dir": "out", "max_steps": 7, "gradient_acc": 3}),
}  # fmt: skip


def job(folder: Path, text: str, given: dict[str, Any]) -> st.JobSpec:
    (folder / "train.py").write_text(text)
    return st.JobSpec(
        name="a",
        script=st.Script("train.py", source_dir=str(folder)),
        framework=st.PyTorch("2.1", python="py310"),
        compute=st.Compute("ml.g5.12xlarge"),
        hyperparameters=given,
    )


@pytest.mark.parametrize("name", SCRIPTS)
def test_it_is_what_transformers_own_class_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    pytest.importorskip("transformers")
    there = job(tmp_path, *SCRIPTS[name])
    monkeypatch.setattr(sys, "argv", ["train.py", *command_line(there)])
    names: dict[str, Any] = {"__name__": "train"}
    exec(compile(SCRIPTS[name][0], "train.py", "exec", dont_inherit=True), names)  # noqa: S102 - the script of the test
    said = arguments_of(there)
    held = names["training"]
    assert {each: getattr(held, each) for each in ASKED if each in said} == {
        each: said[each] for each in ASKED if each in said
    }
    assert {"per_device_train_batch_size"} <= said.keys()


def test_what_is_given_by_the_beginning_of_a_name_counts(tmp_path: Path) -> None:
    assert arguments_of(job(tmp_path, HEAD + FIELDS, {"max_seq_len": 3072}))["max_seq_length"] == 3072


def test_the_beginning_of_two_names_is_neither(tmp_path: Path) -> None:
    two = FIELDS.replace('    name: str = "a"', "    max_seq_width: int = 4")
    said = arguments_of(job(tmp_path, HEAD + two, {"max_seq": 3072}))
    assert (said["max_seq_length"], said["max_seq_width"]) == (512, 4)


def test_the_entry_scripts_own_default_is_the_last_word(tmp_path: Path) -> None:
    (tmp_path / "flags.py").write_text(
        "import argparse\nparser = argparse.ArgumentParser()\nparser.add_argument('--bs', default=4)\n"
    )
    text = "import flags\n" + HEAD + PARSER.format('parser.add_argument("--bs", type=int, default=6)')
    assert arguments_of(job(tmp_path, text, {}))["bs"] == 6


def test_what_the_device_decides_is_left_to_it(tmp_path: Path) -> None:
    by_default = 'parser.add_argument("--bf16", type=bool, default=torch.cuda.get_device_capability()[0] == 8)'
    text = (
        HEAD
        + PARSER.format(by_default)
        + TAKES.format("bf16=args.bf16, fp16=not torch.cuda.is_bf16_supported(), seed=len(args)")
    )
    said = arguments_of(job(tmp_path, text, {}))
    assert (said["bf16"], said["fp16"]) == (DECIDED_LATER, DECIDED_LATER)
    assert "seed" not in said


def test_the_device_is_asked_for_16_bits_alone(tmp_path: Path) -> None:
    kernels = 'parser.add_argument("--use_flash_attn", default=torch.cuda.get_device_capability()[0] >= 8)'
    text = HEAD + PARSER.format(kernels) + TAKES.format("optim='a' if torch.cuda.is_bf16_supported() else 'b'")
    assert not {"use_flash_attn", "optim"} & arguments_of(job(tmp_path, text, {})).keys()


def test_attributes_of_what_no_parser_made_are_not_the_scripts_arguments(tmp_path: Path) -> None:
    text = (
        HEAD
        + PARSER.format(SHORT)
        + TAKES.format("per_device_train_batch_size=config.bs, num_train_epochs=options.rounds")
    )
    assert not {"per_device_train_batch_size", "num_train_epochs"} & arguments_of(job(tmp_path, text, {})).keys()
    parsed = text.replace("args, _ =", "options, _ =")
    assert arguments_of(job(tmp_path, parsed, {}))["num_train_epochs"] == 2


def test_a_folder_that_the_toolkit_names_is_known(tmp_path: Path) -> None:
    folder = 'parser.add_argument("--model-dir", default=os.environ["SM_MODEL_DIR"])'
    said = arguments_of(
        job(tmp_path, HEAD + PARSER.format(folder) + "TrainingArguments(output_dir=args.model_dir)\n", {})
    )
    assert said["output_dir"] == said["model_dir"] == "/opt/ml/model"


@pytest.mark.parametrize("text", ["TrainingArguments(**words)\n", "TrainingArguments(max_steps=steps)\n"])
def test_what_cannot_be_told_is_not_said(tmp_path: Path, text: str) -> None:
    assert "num_train_epochs" not in arguments_of(job(tmp_path, HEAD + text, {}))


@pytest.mark.parametrize(
    "text", ["Trainer(max_steps=10, max_epochs=3)\n", "train(num_train_epochs=3, batches=load())\n"]
)
def test_what_is_no_class_of_trainers_arguments_has_no_defaults_of_it(tmp_path: Path, text: str) -> None:
    assert not arguments_of(job(tmp_path, text, {}))


def test_of_two_trainings_none_is_taken(tmp_path: Path) -> None:
    two = TAKES.format("per_device_train_batch_size=4") + TAKES.format("per_device_train_batch_size=8")
    assert not arguments_of(job(tmp_path, HEAD + two, {}))
    assert "num_train_epochs" not in arguments_of(job(tmp_path, HEAD + FIELDS + two, {}))


def test_a_shipped_script_and_one_elsewhere_say_nothing(tmp_path: Path) -> None:
    there = job(tmp_path, HEAD + FIELDS, {"seed": 1})
    for script in (st.Script("train_glue.py"), st.Script("train.py", source_dir="s3://bucket/source.tar.gz")):
        assert dict(arguments_of(there.replace(script=script))) == {"seed": 1}


def test_a_name_with_dashes_is_the_name_that_argparse_makes_of_it(tmp_path: Path) -> None:
    there = job(
        tmp_path, PARSER.format('parser.add_argument("--batch-size", type=int, default=64)'), {"batch-size": 512}
    )
    assert arguments_of(there)["batch_size"] == 512
    elsewhere = there.replace(script=st.Script("train.py", source_dir="s3://bucket/source.tar.gz"))
    assert arguments_of(elsewhere)["batch_size"] == 512


@pytest.mark.parametrize("place", ["train.yaml", "./train.yaml", "/opt/ml/code/train.yaml"])
def test_arguments_of_a_file_that_an_argument_names(tmp_path: Path, place: str) -> None:
    (tmp_path / "train.yaml").write_text("num_train_epochs: 2\nper_device_train_batch_size: 6\nfsdp_config: {a: 1}\n")
    there = job(tmp_path, HEAD + FIELDS, {"config": place, "num_train_epochs": 4})
    said = arguments_of(there)
    assert (said["per_device_train_batch_size"], said["num_train_epochs"], said["max_seq_length"]) == (6, 4, 512)


def test_arguments_of_a_file_in_a_channel(tmp_path: Path) -> None:
    channel = tmp_path / "channel"
    channel.mkdir()
    (channel / "a.json").write_text('{"max_seq_length": 96}')
    there = job(tmp_path, HEAD + FIELDS, {"config": "/opt/ml/input/data/settings/a.json"})
    assert arguments_of(there)["max_seq_length"] == 512
    assert arguments_of(there.replace(inputs={"settings": str(channel)}))["max_seq_length"] == 96


def test_a_file_that_holds_no_arguments_says_nothing(tmp_path: Path) -> None:
    for text in ("- 1\n", "a: [", ""):
        (tmp_path / "train.yaml").write_text(text)
        assert arguments_of(job(tmp_path, HEAD + FIELDS, {"config": "train.yaml"}))["max_seq_length"] == 512

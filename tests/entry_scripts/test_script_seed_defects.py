"""Every defect of the published code that these scripts replace, and the test that fails where it comes back.

The numbers are those of the documents: 000 a BERT loop for Trainium, 001 spot jobs of Trainer's examples, 002 GPT-2 with
and without the Training Compiler, 003 Llama with optimum-neuron, 004 the figures of that comparison.
"""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from kit.common import TrainingArguments, parse
from sm_spot import Checkpoints
from sm_trn.core.logs import numbers

from launch import Launch

TESTS = Path(__file__).resolve().parents[1]
SCRIPTS = TESTS.parent / "entry_scripts"

DEFECTS = [
    (
        "000",
        "an import without its keyword",
        "entry_scripts/test_script_training.py::test_what_old_containers_run_compiles_there",
    ),
    (
        "000",
        "names that were never imported",
        "entry_scripts/test_script_training.py::test_a_tiny_model_learns_the_sample_and_beats_the_majority",
    ),
    (
        "000",
        "no sampler where there is one worker",
        "entry_scripts/test_script_batches.py::test_a_step_has_the_same_examples_however_many_workers_share_them",
    ),
    (
        "000",
        "the schedule steps before the optimizer",
        "entry_scripts/test_script_faults.py::test_losses_are_those_of_a_plain_loop_with_transformers_schedule",
    ),
    (
        "000",
        "the first learning rate is skipped",
        "entry_scripts/test_script_runtime.py::test_the_first_step_uses_the_first_learning_rate",
    ),
    (
        "000",
        "the loop reads the loader that is not the device's",
        "entry_scripts/test_script_environments.py::test_a_step_is_one_execution",
    ),
    (
        "000",
        "no step is cut, and compilation grows with the epoch",
        "entry_scripts/test_script_environments.py::test_one_shape_is_compiled_at_most_three_times",
    ),
    (
        "000",
        "every epoch has the same order",
        "entry_scripts/test_script_batches.py::test_each_epoch_has_its_own_order_and_each_seed",
    ),
    (
        "000",
        "the last batch has a shape of its own",
        "entry_scripts/test_script_batches.py::test_training_sees_no_example_twice_and_only_full_steps",
    ),
    (
        "000",
        "pandas has no error_bad_lines any more",
        "entry_scripts/test_script_data.py::test_a_file_gives_its_rows_or_is_refused_in_a_sentence",
    ),
    (
        "000",
        "torch_xla has no xrt_world_size any more",
        "entry_scripts/test_script_runtime.py::test_places_are_read_from_torchrun_and_from_mpi",
    ),
    (
        "000",
        "the model is pickled whole, on its device",
        "entry_scripts/test_script_environments.py::test_a_model_saved_on_xla_loads_with_from_pretrained",
    ),
    ("000", "every worker saves", "entry_scripts/test_script_seed_defects.py::test_only_the_main_worker_saves"),
    (
        "000",
        "the loss is never shown",
        "entry_scripts/test_script_training.py::test_each_step_is_logged_once_with_the_same_keys",
    ),
    (
        "001",
        "checkpoints lie in the model and are uploaded with it",
        "entry_scripts/test_script_seed_defects.py::test_checkpoints_lie_outside_the_model_where_a_job_has_a_place_for_them",
    ),
    (
        "001",
        "only one old version of the library runs it",
        "entry_scripts/test_script_arguments.py::test_the_documents_own_hyperparameters_are_taken_word_for_word",
    ),
    (
        "001",
        "float16, which Trainium does not train in",
        "entry_scripts/test_script_seed_defects.py::test_nothing_is_computed_in_half_precision_unasked",
    ),
    (
        "002",
        "flags that transformers 5 does not know",
        "entry_scripts/test_script_arguments.py::test_the_documents_own_hyperparameters_are_taken_word_for_word",
    ),
    (
        "002",
        "two jobs share one dictionary of hyperparameters",
        "specs/test_values.py::test_a_spec_does_not_change_when_its_dict_does",
    ),
    (
        "002",
        "the learning rate follows the batch of one worker, not of all",
        "preflight/test_more_rules.py::test_the_rule_speaks_of_the_wrong_spec_alone",
    ),
    ("002", "metrics are cut out of a line by its first and last brace", "logs/test_logs.py::test_odd_lines"),
    (
        "002",
        "nan is replaced inside words",
        "entry_scripts/test_script_seed_defects.py::test_words_with_nan_in_them_are_left_alone",
    ),
    (
        "002",
        "an except that catches everything",
        "entry_scripts/test_script_seed_defects.py::test_nothing_is_caught_unnamed",
    ),
    ("002", "waiting polls at one pace for six hours", "test_session.py::test_the_pace_is_never_hasty_and_never_slow"),
    ("002", "percentages are cut to whole numbers", "report/test_report_format.py::test_percent_has_one_decimal"),
    (
        "002",
        "gains in speed and in time are one number",
        "report/test_report_published.py::test_percentages_against_the_baseline",
    ),
    (
        "003",
        "optimum-neuron calls it zero_1",
        "entry_scripts/test_script_finetune.py::test_parallel_flags_reach_the_librarys_own_arguments",
    ),
    ("004", "a price has no date", "report/test_report_published.py::test_headline_names_both_price_dates"),
]


@cache
def names_in(path: str) -> frozenset[str]:
    tree = ast.parse((TESTS / path).read_text(encoding="utf-8"))
    return frozenset(node.name for node in tree.body if isinstance(node, ast.FunctionDef))


@pytest.mark.parametrize(("document", "defect", "test"), DEFECTS, ids=[f"{row[0]} {row[1]}" for row in DEFECTS])
def test_a_defect_has_a_test_of_this_name(document: str, defect: str, test: str) -> None:
    path, _, name = test.partition("::")
    assert name in names_in(path), f"{document}, {defect}: {test} is gone; name the test that guards against it now"


# --- those that no other file guards ---


def test_only_the_main_worker_saves(tmp_path: Path) -> None:
    """A sealed file that a second worker writes once more would not match its manifest."""
    flags = "--model tiny-random --train sample --epochs 1 --per_device_batch_size 256 --max_length 8 --save_steps 2"
    folders = ["--model_dir", str(tmp_path / "model"), "--checkpoint_dir", str(tmp_path / "checkpoints")]
    run = Launch(tmp_path).run(*flags.split(), *folders, workers=2)
    assert 0 == run.code, run.err[-3000:]
    known = Checkpoints(tmp_path / "checkpoints")
    assert ["", ""] == [known.fault(step) for step in known.steps()]
    assert (tmp_path / "model" / "model.safetensors").is_file()


def test_checkpoints_lie_outside_the_model_where_a_job_has_a_place_for_them(tmp_path: Path) -> None:
    folders = ["--output_dir", str(tmp_path / "model"), "--checkpoint_dir", str(tmp_path / "checkpoints")]
    (args,) = parse((TrainingArguments,), folders)
    assert (str(tmp_path / "model"), str(tmp_path / "checkpoints")) == (args.model_dir, args.output_dir)


def test_nothing_is_computed_in_half_precision_unasked(tmp_path: Path) -> None:
    (args,) = parse((TrainingArguments,), ["--output_dir", str(tmp_path)])
    assert (False, False) == (args.fp16, args.bf16)


def test_words_with_nan_in_them_are_left_alone() -> None:
    found = numbers("{'finance': 2.0, 'nan_count': 1, 'loss': nan}")
    assert ["finance", "nan_count", "loss"] == list(found)
    assert 2.0 == found["finance"]
    assert found["loss"] != found["loss"]


@pytest.mark.parametrize("script", sorted(SCRIPTS.glob("*.py")), ids=lambda path: path.stem)
def test_nothing_is_caught_unnamed(script: Path) -> None:
    caught = [node for node in ast.walk(ast.parse(script.read_text())) if isinstance(node, ast.ExceptHandler)]
    assert all(handler.type is not None for handler in caught)

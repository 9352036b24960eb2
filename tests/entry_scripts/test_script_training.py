"""The script as a user runs it: alone, under torchrun, killed and started again."""

from __future__ import annotations

import ast
import csv
import hashlib
import json
import re
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from sm_spot import INTERRUPTED, USAGE_ERROR, exit_code_of
from train_text_classification import main, parse_arguments

from launch import ROOT, SCRIPTS, Finished, Launch, run_here
from make_sample import rows

pytestmark = pytest.mark.local
TINY = ("--model", "tiny-random")


def weights_of(folder: Path) -> str:
    (path,) = [*folder.glob("model.safetensors"), *folder.glob("pytorch_model.bin")]
    return hashlib.sha256(path.read_bytes()).hexdigest()


# --- learning ---


@dataclass(frozen=True)
class Learned:
    run: Finished
    model: Path


@pytest.fixture(scope="module")
def learned(tmp_path_factory: pytest.TempPathFactory) -> Learned:
    """Two workers, six epochs of the bundled sample, as a SageMaker job would be told to."""
    folder = tmp_path_factory.mktemp("learned")
    flags = [*TINY, "--train", "sample", "--epochs", "6", "--learning_rate", "0.002"]
    job = {"SM_MODEL_DIR": str(folder / "output")}
    run = Launch(folder).run(*flags, "--logging_steps", "25", workers=2, environment=job)
    assert run.code == 0, run.err[-3000:]
    return Learned(run, folder / "output")


def test_a_tiny_model_learns_the_sample_and_beats_the_majority(learned: Learned) -> None:
    (line,) = learned.run.having("baseline_majority_accuracy")
    assert line["eval_accuracy"] >= 0.85
    assert 0.45 < line["baseline_majority_accuracy"] < 0.55


def test_each_step_is_logged_once_with_the_same_keys(learned: Learned) -> None:
    lines = learned.run.having("loss")
    assert [line["step"] for line in lines] == list(range(25, 6 * 112 + 1, 25))
    keys = ["loss", "learning_rate", "epoch", "step", "samples_per_second", "steps_per_second"]
    keys += ["tokens_per_second", "data_wait"]
    assert all(list(line) == keys for line in lines)
    assert all(line["samples_per_second"] == pytest.approx(32 * line["steps_per_second"], rel=1e-3) for line in lines)


def test_the_loss_falls_and_the_learning_rate_ends_near_zero(learned: Learned) -> None:
    lines = learned.run.having("loss")
    assert lines[-1]["loss"] < 0.5 * lines[0]["loss"]
    rates = [line["learning_rate"] for line in lines]
    assert max(rates) <= 0.002
    assert rates[-1] < 0.1 * max(rates)


def test_evaluation_covers_the_held_out_texts_exactly(learned: Learned) -> None:
    evaluations = learned.run.having("eval_accuracy")
    assert [line["epoch"] for line in evaluations] == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    assert {line["eval_samples"] for line in evaluations} == {400}
    assert all((400 * line["eval_accuracy"]).is_integer() for line in evaluations)


def test_the_summary_agrees_with_itself(learned: Learned) -> None:
    (line,) = learned.run.having("train_runtime")
    assert line["step"] == 672
    # the first step is in the run, but in no step line
    assert line["train_samples_per_second"] * line["train_runtime"] == pytest.approx(672 * 32, rel=1e-3)
    assert 1 == len(learned.run.having("first_step_seconds"))


@pytest.mark.parametrize("key", ["loss", "learning_rate", "epoch", "eval_accuracy", "train_samples_per_second"])
def test_the_classic_regexes_read_what_the_dictionaries_say(learned: Learned, key: str) -> None:
    wanted = [line[key] for line in learned.run.metrics if key in line]
    found = re.findall(rf"'{key}': ([0-9.]*)", learned.run.out)
    assert wanted == [float(number) for number in found]


def test_the_saved_folder_loads_and_predicts(learned: Learned) -> None:
    model = transformers.AutoModelForSequenceClassification.from_pretrained(learned.model)
    tokenizer = transformers.AutoTokenizer.from_pretrained(learned.model)
    texts = ["The screen is not bad.", "The battery is terrible."]
    with torch.no_grad():
        logits = model(**tokenizer(texts, padding=True, return_tensors="pt")).logits
    assert [model.config.id2label[int(label)] for label in logits.argmax(-1)] == ["1", "0"]


def test_the_first_human_line_says_where_and_what(learned: Learned) -> None:
    assert ("tiny-random on cpu:0: 2 worker(s), float32, 32 samples per step, 672 steps") in learned.run.out


# --- one worker or two ---


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """144 reviews, of which 130 are trained on: 16 steps of 8 an epoch."""
    folder = tmp_path_factory.mktemp("small")
    with (folder / "train.csv").open("w", newline="") as file:
        csv.writer(file, quoting=csv.QUOTE_ALL).writerows([("content", "label"), *rows(144)])
    return folder


def test_two_workers_train_as_one_with_twice_the_batch(small: Path, tmp_path: Path) -> None:
    from kit.common import load_config, load_model, load_tokenizer

    tokenizer = load_tokenizer("tiny-random")
    config = load_config("tiny-random", tokenizer, num_labels=2)
    config.hidden_dropout_prob = config.attention_probs_dropout_prob = 0.0
    torch.manual_seed(0)
    load_model(
        transformers.AutoModelForSequenceClassification,
        "tiny-random",
        config,
        tokenizer,
        SimpleNamespace(seed=0, device="cpu"),
    ).save_pretrained(tmp_path / "still")
    tokenizer.save_pretrained(tmp_path / "still")
    flags = [
        "--model",
        str(tmp_path / "still"),
        "--train",
        str(small / "train.csv"),
        "--logging_steps",
        "1",
        "--epochs",
        "2",
    ]
    launch = Launch(tmp_path)
    alone = launch.run(*flags, "--per_device_batch_size", "16", "--model_dir", "alone")
    shared = launch.run(*flags, "--per_device_batch_size", "8", "--model_dir", "shared", workers=2)
    assert alone.code == shared.code == 0, alone.err + shared.err
    assert [line["loss"] for line in alone.having("loss")] == pytest.approx(
        [line["loss"] for line in shared.having("loss")], abs=2e-4
    )
    one, two = (
        transformers.AutoModelForSequenceClassification.from_pretrained(tmp_path / name).state_dict()
        for name in ("alone", "shared")
    )
    assert all(torch.allclose(one[name], two[name], atol=1e-4) for name in one)


# --- interrupted ---

AGAIN = ("--epochs", "30", "--per_device_batch_size", "8", "--logging_steps", "1", "--save_steps", "20", *TINY)


def interrupted_twice(small: Path, folder: Path, workers: int) -> tuple[list[Finished], str, str]:
    """SIGKILL, a torn newest checkpoint, SIGTERM, and at last to the end; beside it a run that nobody disturbs."""
    folder.mkdir()
    launch = Launch(folder)
    flags = [*AGAIN, "--train", str(small / "train.csv")]
    checked = [*flags, "--checkpoint_dir", "checkpoints", "--model_dir", "resumed"]
    killed = launch.run_until("'step': 90,", signal.SIGKILL, *checked, workers=workers)
    newest = max((folder / "checkpoints").glob("checkpoint-*"), key=lambda path: int(path.name.rsplit("-", 1)[1]))
    (newest / "optimizer.bin").write_bytes((newest / "optimizer.bin").read_bytes()[:-1000])
    stopped = launch.run_until("'step': 150,", signal.SIGTERM, *checked, workers=workers)
    ended = launch.run(*checked, workers=workers)
    straight = launch.run(*flags, "--model_dir", "straight", workers=workers)
    assert straight.code == ended.code == 0, ended.err + straight.err
    return [killed, stopped, ended, straight], weights_of(folder / "straight"), weights_of(folder / "resumed")


@pytest.fixture(scope="module")
def alone(small: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Finished], str, str]:
    return interrupted_twice(small, tmp_path_factory.mktemp("alone") / "run", 0)


def test_a_killed_and_torn_and_stopped_run_ends_with_the_same_bytes(alone: tuple[list[Finished], str, str]) -> None:
    _, straight, resumed = alone
    assert straight == resumed


def test_the_same_losses_are_logged_after_a_resume(alone: tuple[list[Finished], str, str]) -> None:
    runs, _, _ = alone
    straight = {line["step"]: line["loss"] for line in runs[-1].having("loss")}
    for run in runs[:-1]:
        assert all(straight[line["step"]] == line["loss"] for line in run.having("loss"))
    assert [] != runs[2].having("loss")


def test_a_torn_checkpoint_is_said_and_the_one_before_is_used(alone: tuple[list[Finished], str, str]) -> None:
    stopped = alone[0][1]
    assert "optimizer.bin does not match its manifest" in stopped.out
    (torn,) = re.findall(r"checkpoint-(\d+) is not usable", stopped.out)
    (resumed,) = re.findall(r"resuming after step (\d+)", stopped.out)
    assert int(resumed) == int(torn) - 20


def test_sigterm_saves_at_the_next_step_and_exits_with_its_own_code(alone: tuple[list[Finished], str, str]) -> None:
    _, stopped, ended, _ = alone[0]
    assert stopped.code == INTERRUPTED
    (saved,) = re.findall(r"interrupted: after step (\d+) of 480; saved in checkpoints", stopped.err)
    assert saved == str(stopped.having("loss")[-1]["step"])
    assert f"resuming after step {saved}" in ended.out


def test_two_workers_stop_together_and_resume_to_the_same_bytes(small: Path, tmp_path: Path) -> None:
    launch = Launch(tmp_path)
    flags = [*AGAIN, "--train", str(small / "train.csv")]
    checked = [*flags, "--checkpoint_dir", "checkpoints", "--model_dir", "resumed"]
    stopped = launch.run_until("'step': 90,", signal.SIGTERM, *checked, workers=2)
    assert stopped.code != 0
    (saved,) = re.findall(r"interrupted: after step (\d+) of 240; saved in checkpoints", stopped.err)
    ended = launch.run(*checked, workers=2)
    straight = launch.run(*flags, "--model_dir", "straight", workers=2)
    assert ended.code == straight.code == 0, ended.err
    assert f"resuming after step {saved}" in ended.out
    assert weights_of(tmp_path / "straight") == weights_of(tmp_path / "resumed")


# --- mistakes ---


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (("--epoch", "3"), "error: --epoch: unknown flag; see --help"),
        (("--per_device_train_batch_siz=3",), "error: --per_device_train_batch_siz: unknown flag; see --help"),
        (("--epochs", "many"), "error: --epochs: invalid int value: 'many'"),
        (("--bf16", "maybe"), "error: --bf16: Truthy value expected: got maybe"),
        ((*TINY, "--train", "nowhere"), "error: --train_file: got 'nowhere', which does not exist"),
        (
            (*TINY, "--per_device_batch_size", "5000"),
            "error: data: got 3600 examples to learn from, wanted at least 5000",
        ),
        (("--model", "no/such/model"), "error: --model: no/such/model does not load"),
    ],
)
def test_a_mistake_is_told_before_the_first_step_without_a_traceback(
    flags: tuple[str, ...],
    said: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert exit_code_of(lambda: main(flags)) == USAGE_ERROR
    captured = capsys.readouterr()
    assert captured.err.startswith(said), captured.err
    assert "Traceback" not in captured.err
    assert "first_step_seconds" not in captured.out


def test_a_text_longer_than_the_models_positions_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = tmp_path / "long.jsonl"
    texts = [{"text": "good " * (900 + i), "label": i % 2} for i in range(20)]
    data.write_text("\n".join(map(json.dumps, texts)))
    flags = [*TINY, "--train", str(data), "--max_length", "600", "--per_device_batch_size", "2"]
    assert exit_code_of(lambda: main(flags)) == USAGE_ERROR
    assert "--max_length: got 600, wanted at most 512, which the model takes" in capsys.readouterr().err


def test_without_groups_of_like_length_it_is_another_run(tmp_path: Path) -> None:
    flags = "--model tiny-random --max_steps 2 --per_device_batch_size 32 --group_by_length"
    folders = ("--model_dir", str(tmp_path / "m"), "--checkpoint_dir", str(tmp_path / "c"))
    first = run_here(main, *flags.split(), "False", *folders)
    assert 0 == first.code, first.err
    mixed = run_here(main, *flags.split(), "True", *folders)
    assert USAGE_ERROR == mixed.code
    assert "another run (group_by_length: got True, it has False)" in mixed.err


def test_sagemakers_channels_are_the_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    assert ("sample", None) == (parse_arguments([]).train, parse_arguments([]).validation)
    monkeypatch.setenv("SM_CHANNEL_TRAINING", "/opt/ml/input/data/training")
    monkeypatch.setenv("SM_CHANNEL_TEST", "/opt/ml/input/data/test")
    args = parse_arguments(["--bf16", "True"])
    assert ("/opt/ml/input/data/training", "/opt/ml/input/data/test") == (args.train, args.validation)
    assert args.bf16
    monkeypatch.setenv("SM_CHANNEL_TRAIN", "/opt/ml/input/data/train")
    assert "/opt/ml/input/data/train" == parse_arguments([]).train


# --- old containers ---


def test_what_old_containers_run_compiles_there(python38: str, tmp_path: Path) -> None:
    files = [str(SCRIPTS / name) for name in ("sm_spot.py", "inference.py")]
    code = "import sys\nfor name in sys.argv[1:]: compile(open(name, encoding='utf-8').read(), name, 'exec')"
    subprocess.run([python38, "-c", code, *files], check=True)


def test_the_scripts_import_neither_the_package_nor_boto3() -> None:
    for path in (ROOT / "entry_scripts").rglob("*.py"):
        assert not re.search(
            r"^\s*(import|from) (sm_trn|boto3|botocore|sagemaker)\b", path.read_text(), re.MULTILINE
        ), path


def test_statements_say_no_more_than_in_hugging_faces_own_examples() -> None:
    """6.3 expressions a statement and 10 comprehensions and conditional expressions in 100 statements are run_glue's."""
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in SCRIPTS.rglob("*.py")]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    statements = sum(isinstance(node, ast.stmt) for node in nodes)
    folded = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.IfExp)
    assert sum(isinstance(node, ast.expr) for node in nodes) <= 6.3 * statements
    assert sum(isinstance(node, folded) for node in nodes) <= 0.1 * statements

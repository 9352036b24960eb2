"""Our scripts beside Hugging Face's own examples: python tests/benchmarks/bench_scripts.py. On demand, never as a test.

    SM_TRN_PEERS=FOLDER   run_glue.py, run_glue_no_trainer.py, run_clm.py, and run_qa.py with trainer_qa.py and utils_qa.py, as
                          the repository of transformers has them (never copied); trl's sft.py is the installed one
    SM_TRN_PEERS_PYTHON   an interpreter with transformers, torch, datasets, trl and evaluate; default: this one

Same data, same models, same machine, one thread, runs interleaved, the peers in their best configuration (dynamic padding and
texts of like length in a batch; packing; no progress bars); the best and the median of the rounds. Each round has a seed of its
own, and accuracies are their means with a standard error: five rounds for a claim about them. Rates are samples per CPU second
between the lines with a loss, so that they begin after the first step and other work on the machine hardly moves them. Prints
one line per run and then the ratios; exit code 1 where a ratio misses its bar.
"""

from __future__ import annotations

import argparse
import ast
import csv
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median, stdev

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = ROOT / "entry_scripts"
sys.path.insert(0, str(SCRIPTS))

PEERS_PYTHON = os.environ.get("SM_TRN_PEERS_PYTHON", sys.executable)
SIZES = {"tiny": (2, 64), "middle": (2, 128), "small": (4, 256)}  # layers, width
EXAMPLES = {
    "tiny": (2000, 4),
    "middle": (2000, 4),
    "small": (500, 1),
}  # to train on, and epochs; the accuracy of so short a one says nothing
STEPS = {"tiny": 150, "middle": 100, "small": 40}  # of the others; four times as many of questions, which are short
TASKS = ("classification", "language", "questions", "fine-tuning")
LEARNS = ("classification", "questions")  # where accuracy is compared
LOGGING_STEPS = 25
FIRST_SEED = 42
Check = tuple[str, float, float, bool]  # what, how much, the bar, and whether the bar is the least
PEER = "run_glue, dynamic and grouped"
REVIEWS_IN_A_ROW = (42, 18, 11, 9, 7, 5, 4, 3, 2)  # weights
ACCURACY = '''
import datasets
import evaluate
class Accuracy(evaluate.Metric):
    """What the hub's metric of this name computes; here because the benchmark has no network."""
    def _info(self):
        kind = {"predictions": datasets.Value("int32"), "references": datasets.Value("int32")}
        return evaluate.MetricInfo(description="", citation="", features=datasets.Features(kind))
    def _compute(self, predictions, references):
        return {"accuracy": sum(a == b for a, b in zip(predictions, references)) / len(references)}
'''


SQUAD = '''
import collections
import re
import string
import datasets
import evaluate
class Squad(evaluate.Metric):
    """What the hub's metric of this name computes; here because the benchmark has no network."""
    def _info(self):
        text = datasets.Value("string")
        answers = {"text": datasets.Sequence(text), "answer_start": datasets.Sequence(datasets.Value("int32"))}
        kind = {"predictions": {"id": text, "prediction_text": text}, "references": {"id": text, "answers": answers}}
        return evaluate.MetricInfo(description="", citation="", features=datasets.Features(kind))
    def _compute(self, predictions, references):
        found = {one["id"]: words(one["prediction_text"]) for one in predictions}
        exact, f1 = [], []
        for one in references:
            pairs = [(words(text), found[one["id"]]) for text in one["answers"]["text"]]
            exact.append(max(gold == got for gold, got in pairs))
            shared = [(sum((collections.Counter(gold) & collections.Counter(got)).values()), gold, got) for gold, got in pairs]
            f1.append(max(2 * same / (len(gold) + len(got)) if same else 0.0 for same, gold, got in shared))
        return {"exact_match": 100 * sum(exact) / len(exact), "f1": 100 * sum(f1) / len(f1)}
def words(text):
    bare = "".join(letter for letter in text.lower() if letter not in string.punctuation)
    return re.sub(r"\\b(a|an|the)\\b", " ", bare).split()
'''


@dataclass(frozen=True)
class Contender:
    name: str
    command: list[str]  # its last word is the folder it writes to; --seed comes behind it
    score: str = "eval_accuracy"
    peer: bool = False
    samples: int = 8  # a step


@dataclass(frozen=True)
class Outcome:
    rate: float  # training samples per CPU second after the first lines, evaluations left out
    said: float  # samples per second of a whole training, as the script itself says
    cpu_s: float  # user and system, of the whole process
    rss_mb: float  # at its most
    first_step_s: float | None  # from the start of the process
    accuracy: float | None


# --- the same data and models for all ---


def write_data(folder: Path) -> None:
    """The bundled reviews, one to nine of one label in a row: a quarter of 128 tokens on average, a few at the limit."""
    with (SCRIPTS / "sample" / "reviews.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    texts, labels = [row["content"] for row in rows], [row["label"] for row in rows]
    draw = random.Random(5)
    by_label = {label: [text for text, own in zip(texts, labels, strict=True) if own == label] for label in ("0", "1")}
    counts = {f"train-{size}": count for size, (count, _) in EXAMPLES.items()}
    for name, count in {**counts, "validation": 1000}.items():
        with (folder / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(["text", "label"])
            for _ in range(count):
                label = draw.choice("01")
                number = draw.choices(range(1, 10), weights=REVIEWS_IN_A_ROW)[0]
                writer.writerow([" ".join(draw.choices(by_label[label], k=number)), label])
    (folder / "train.txt").write_text("\n".join(texts * 2), encoding="utf-8")
    (folder / "validation.txt").write_text("\n".join(texts[:400]), encoding="utf-8")
    (folder / "texts").mkdir()
    shutil.copy(folder / "train.txt", folder / "texts" / "train.txt")  # a folder is a data set
    lines = (SCRIPTS / "sample" / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    asked = [json.loads(line) for line in lines]
    for name, part in {"train": asked[60:] * 2, "validation": asked[:60]}.items():
        rows = [{**row, "id": str(number)} for number, row in enumerate(part)]
        (folder / f"questions-{name}.json").write_text(json.dumps({"data": rows}), encoding="utf-8")


def write_models(folder: Path) -> None:
    import torch
    from kit.common import load_tokenizer
    from transformers import BertConfig, BertForSequenceClassification, GPT2Config, GPT2LMHeadModel

    tokenizer = load_tokenizer("tiny-random")
    tokenizers = {"bert": tokenizer, "gpt2": load_tokenizer("tiny-gpt2")}  # a language model's has an end token
    for name, (layers, width) in SIZES.items():
        torch.manual_seed(3)
        bert = BertConfig(vocab_size=2000, hidden_size=width, num_hidden_layers=layers, num_attention_heads=4,
                          intermediate_size=4 * width, num_labels=2, pad_token_id=tokenizer.pad_token_id)  # fmt: skip
        gpt2 = GPT2Config(vocab_size=2000, n_embd=width, n_layer=layers, n_head=4, n_positions=512,
                          bos_token_id=tokenizer.sep_token_id, eos_token_id=tokenizer.sep_token_id)  # fmt: skip
        for kind, model in (("bert", BertForSequenceClassification(bert)), ("gpt2", GPT2LMHeadModel(gpt2))):
            model.save_pretrained(folder / f"{kind}-{name}")
            tokenizers[kind].save_pretrained(folder / f"{kind}-{name}")


# --- one run ---


def run(contender: Contender, folder: Path, seed: int) -> Outcome:
    """Reads lines as they come: the first one that speaks of a step has its time from the start of the process."""
    quiet = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1",
             "PYTHONWARNINGS": "ignore", "TOKENIZERS_PARALLELISM": "false", "HF_HOME": str(folder / "hf"),
             "CUDA_VISIBLE_DEVICES": "", "PYTHONUNBUFFERED": "1"}  # fmt: skip
    shutil.rmtree(contender.command[-1], ignore_errors=True)
    started, first = time.perf_counter(), None
    before: float | None = None
    lines, seconds = 0, 0.0
    said = []
    process = subprocess.Popen(
        [*contender.command, "--seed", str(seed)],
        cwd=folder,
        env={**os.environ, **quiet},
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    assert process.stdout is not None
    for line in process.stdout:
        said.append(line)
        if first is None and "first_step_seconds" in line:
            first = time.perf_counter() - started
        if "'loss'" in line:
            now = cpu_seconds_of(process.pid)
            if before is not None:
                lines, seconds = lines + 1, seconds + now - before
            before = now
        elif "eval_" in line:
            before = None  # what lies between is not all training
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{contender.name}: exit code {process.returncode}\n{''.join(said[-30:])}")
    text = "".join(said)
    rate, accuracy = number(text, "train_samples_per_second") or 0.0, number(text, contender.score)
    return Outcome(
        lines * contender.samples * LOGGING_STEPS / max(seconds, 0.01),
        rate,
        used.ru_utime + used.ru_stime,
        used.ru_maxrss / 1024,
        first,
        accuracy,
    )


def cpu_seconds_of(process: int) -> float:
    """User and system so far (proc(5): the 14th and 15th field; no name of ours has a blank in it)."""
    fields = Path(f"/proc/{process}/stat").read_text().split()
    return (int(fields[13]) + int(fields[14])) / os.sysconf("SC_CLK_TCK")


def number(text: str, name: str) -> float | None:
    """The last value under a name, in a dictionary line or in Trainer's table."""
    found = re.findall(rf"\b{name}\b['\"]?\s*[:=]\s*['\"]?([0-9.]+)", text)
    return float(ast.literal_eval(found[-1])) if found else None


# --- who runs ---


def classification(peers: Path, size: str, length: int, out: Path) -> list[Contender]:
    model, shared = f"bert-{size}", ["--learning_rate", "0.001", "--weight_decay", "0.01"]
    batch, train, epochs = "16", f"train-{size}.csv", str(EXAMPLES[size][1])
    peer = [PEERS_PYTHON, str(peers / "run_glue.py"), "--model_name_or_path", model, "--train_file", train,
            "--validation_file", "validation.csv", "--do_train", "--do_eval", "--max_seq_length", str(length),
            "--per_device_train_batch_size", batch, "--num_train_epochs", epochs, "--save_strategy", "no",
            "--report_to", "none", "--use_cpu", "True", "--disable_tqdm", "True", "--logging_steps",
            str(LOGGING_STEPS), *shared]  # fmt: skip
    loop = [sys.executable, str(SCRIPTS / "train_text_classification.py"), "--model", model, "--train", train,
            "--validation", "validation.csv", "--max_length", str(length), "--per_device_batch_size", batch,
            "--epochs", epochs, "--warmup_ratio", "0", "--logging_steps", str(LOGGING_STEPS), *shared]  # fmt: skip
    glue = [sys.executable, str(SCRIPTS / "train_glue.py"), "--model_name_or_path", model, "--train_file", train,
            "--validation_file", "validation.csv", "--max_seq_length", str(length), "--per_device_train_batch_size",
            batch, "--num_train_epochs", epochs, "--logging_steps", str(LOGGING_STEPS), "--save_strategy", "no", *shared]  # fmt: skip
    best = ["--pad_to_max_length", "False", "--train_sampling_strategy", "group_by_length"]
    # It pads dynamically, has no grouping, and says no loss while it trains: only whole processes are compared.
    plain = [PEERS_PYTHON, str(peers / "run_glue_no_trainer.py"), "--model_name_or_path", model, "--train_file", train,
             "--validation_file", "validation.csv", "--max_length", str(length), "--per_device_train_batch_size", batch,
             "--num_train_epochs", epochs, *shared]  # fmt: skip
    return [
        Contender(PEER, [*peer, *best, "--output_dir", str(out / "a")], peer=True, samples=16),
        Contender("run_glue_no_trainer", [*plain, "--output_dir", str(out / "b")], "accuracy", peer=True, samples=16),
        Contender("train_text_classification", [*loop, "--model_dir", str(out / "c")], samples=16),
        Contender("train_glue", [*glue, "--output_dir", str(out / "d")], samples=16),
    ]


def language(peers: Path, size: str, steps: int, out: Path) -> list[Contender]:
    flags = ["--tokenizer_name", f"gpt2-{size}", "--config_name", f"gpt2-{size}", "--train_file", "train.txt",
             "--validation_file", "validation.txt", "--block_size", "128", "--per_device_train_batch_size", "8",
             "--max_steps", str(steps), "--logging_steps", str(LOGGING_STEPS), "--save_strategy", "no", "--use_cpu", "True",
             "--report_to", "none", "--learning_rate", "0.0005", "--do_train", "True", "--disable_tqdm", "True"]  # fmt: skip
    return [
        Contender(
            "run_clm", [PEERS_PYTHON, str(peers / "run_clm.py"), *flags, "--output_dir", str(out / "e")], peer=True
        ),
        Contender(
            "train_language_model",
            [sys.executable, str(SCRIPTS / "train_language_model.py"), *flags, "--output_dir", str(out / "f")],
        ),
    ]


def questions(peers: Path, size: str, steps: int, out: Path) -> list[Contender]:
    flags = ["--model_name_or_path", f"bert-{size}", "--train_file", "questions-train.json", "--validation_file",
             "questions-validation.json", "--do_train", "True", "--do_eval", "True", "--max_seq_length", "128",
             "--doc_stride", "32", "--pad_to_max_length", "False", "--train_sampling_strategy", "group_by_length",
             "--per_device_train_batch_size", "8", "--max_steps", str(steps), "--logging_steps", str(LOGGING_STEPS), "--save_strategy",
             "no", "--use_cpu", "True", "--report_to", "none", "--learning_rate", "0.002", "--disable_tqdm", "True"]  # fmt: skip
    ours = [sys.executable, str(SCRIPTS / "train_question_answering.py"), *flags]
    theirs = [PEERS_PYTHON, str(peers / "run_qa.py"), *flags]
    # Grouped, Trainer hands out predictions in the groups' order, and run_qa reads each as another question's.
    in_order = [*theirs, "--train_sampling_strategy", "random", "--output_dir", str(out / "k")]
    return [
        Contender("run_qa, grouped", [*theirs, "--output_dir", str(out / "g")], "nothing", peer=True),
        Contender("run_qa, as they come", in_order, "eval_f1", peer=True),
        Contender("train_question_answering", [*ours, "--output_dir", str(out / "h")], "eval_f1"),
    ]


def fine_tuning(size: str, steps: int, out: Path) -> list[Contender]:
    flags = ["--model_name_or_path", f"gpt2-{size}", "--packing", "True", "--packing_strategy", "wrapped",
             "--per_device_train_batch_size", "8", "--max_steps", str(steps), "--logging_steps", str(LOGGING_STEPS), "--save_strategy",
             "no", "--use_cpu", "True", "--report_to", "none", "--learning_rate", "0.0005", "--bf16", "False",
             "--gradient_checkpointing", "False", "--disable_tqdm", "True"]  # fmt: skip
    theirs = ["-m", "trl.scripts.sft", *flags, "--dataset_name", "texts", "--max_length", "128", "--dtype", "float32"]
    ours = [str(SCRIPTS / "finetune.py"), *flags, "--train_file", "train.txt", "--block_size", "128"]
    return [
        Contender("trl sft", [PEERS_PYTHON, *theirs, "--output_dir", str(out / "i")], peer=True),
        Contender("finetune", [sys.executable, *ours, "--output_dir", str(out / "j")]),
    ]


# --- ratios ---


class Table:
    """The best of each contender's rounds in speed and memory, and their mean in accuracy."""

    def __init__(self, title: str, contenders: list[Contender]) -> None:
        self.title, self.contenders = title, contenders
        self.outcomes: dict[str, list[Outcome]] = {contender.name: [] for contender in contenders}

    def measure(self, folder: Path, rounds: int) -> None:
        for turn in range(rounds):
            for contender in self.contenders:
                found = run(contender, folder, FIRST_SEED + turn)
                self.outcomes[contender.name].append(found)
                first = f"{found.first_step_s:5.1f} s to the first step" if found.first_step_s else ""
                accuracy = f"accuracy {found.accuracy:.3f}" if found.accuracy is not None else ""
                print(f"{self.title} {turn + 1}  {contender.name:26} {found.rate:8.1f} samples/CPU s ({found.said:.1f} /s)  "
                      f"{found.cpu_s:6.1f} CPU s  {found.rss_mb:6.0f} MB  {first} {accuracy}", flush=True)  # fmt: skip

    def ratios(self, ours: str, theirs: str) -> list[Check]:
        """Of rates, CPU seconds and memory, best against best; medians are printed beside them."""
        mine, peers = self.outcomes[ours], self.outcomes[theirs]
        name = f"{self.title}: {ours} / {theirs}"
        medians = f"CPU s {median(one.cpu_s for one in mine) / median(one.cpu_s for one in peers):.2f}"
        checks = [
            (f"{name}, CPU s", min(one.cpu_s for one in mine) / min(one.cpu_s for one in peers), 0.8, False),
            (f"{name}, RSS", min(one.rss_mb for one in mine) / min(one.rss_mb for one in peers), 1.0, False),
        ]
        if all(one.rate for one in peers):
            medians += f", rate {median(one.rate for one in mine) / median(one.rate for one in peers):.2f}"
            checks += [(f"{name}, rate", max(one.rate for one in mine) / max(one.rate for one in peers), 1.0, True)]
        print(f"{name}, medians: {medians}")
        return checks

    def accuracy(self, name: str) -> tuple[float, float]:
        """Mean, and its standard error."""
        found = [one.accuracy or 0.0 for one in self.outcomes[name]]
        return mean(found), (stdev(found) / len(found) ** 0.5 if len(found) > 1 else 0.0)


def judge(checks: list[Check]) -> int:
    """Prints each figure beside its bar; 1 if any misses."""
    missed = 0
    for text, figure, bar, at_least in checks:
        good = figure >= bar if at_least else figure <= bar
        missed += not good
        print(f"{'ok  ' if good else 'MISS'} {text}: {figure:.2f} (bar: {'>=' if at_least else '<='} {bar})")
    return min(1, missed)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--sizes", nargs="+", choices=tuple(SIZES), default=list(SIZES))
    parser.add_argument("--only", nargs="+", choices=TASKS, default=list(TASKS))
    args = parser.parse_args()
    if not os.environ.get("SM_TRN_PEERS"):
        sys.exit("SM_TRN_PEERS: not set, wanted a folder with run_glue.py, run_clm.py, run_qa.py and what it imports")
    peers = Path(os.environ["SM_TRN_PEERS"]).resolve()
    checks: list[Check] = []
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for name, text in {"accuracy": ACCURACY, "squad": SQUAD}.items():
            (folder / name).mkdir()
            (folder / name / f"{name}.py").write_text(text)
        write_data(folder)
        write_models(folder)
        for size in args.sizes:
            steps = STEPS[size]
            contenders = {
                "classification": classification(peers, size, 128, folder),
                "language": language(peers, size, steps, folder),
                "questions": questions(peers, size, 4 * steps, folder),
                "fine-tuning": fine_tuning(size, steps, folder),
            }
            for task in args.only:
                table = Table(f"{task} {size}", contenders[task])
                table.measure(folder, args.rounds)
                checks += checks_of(table, learns=task in LEARNS and size != "small")
    return judge(checks)


def checks_of(table: Table, *, learns: bool) -> list[Check]:
    """Each of ours beside the first of the peers in speed, and beside the best of them in accuracy."""
    checks, peers = [], [one.name for one in table.contenders if one.peer]
    theirs, their_error = max(table.accuracy(name) for name in peers)
    for name in [one.name for one in table.contenders if not one.peer]:
        checks += table.ratios(name, peers[0])
        if name == "train_text_classification":
            checks += table.ratios(name, "run_glue_no_trainer")
        got, error = table.accuracy(name)
        if learns:
            print(f"{table.title}: accuracy {name} {got:.3f} ± {error:.3f}, peer {theirs:.3f} ± {their_error:.3f}")
            beyond = (
                f"{table.title}: {name}, accuracy beyond the peer's",
                got - theirs,
                -2 * (error + their_error),
                True,
            )
            checks.append(beyond)
    return checks


if __name__ == "__main__":
    sys.exit(main())

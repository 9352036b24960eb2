"""What HfArgumentParser makes of a script's dataclasses is what transformers' own makes of them, with the fields of the job's release."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import jobs
import pytest

import sm_trn as st

OWN = """
from dataclasses import dataclass, field
from typing import Literal, Optional
from transformers import HfArgumentParser

@dataclass
class Model:
    name: str = field(metadata={"help": "the model"})
    attn: str = field(default="sdpa", metadata={"choices": ["sdpa", "eager"]})
    lora: bool = False
    size: Optional[int] = None
    split: Literal["train", "all"] = "train"
    layers: list[int] = field(default_factory=list)

"""
MINE = OWN + "model, = HfArgumentParser(Model).parse_args_into_dataclasses()\n"
TRAINED = OWN.replace("import HfArgumentParser", "import HfArgumentParser, TrainingArguments") + (
    "model, args = HfArgumentParser((Model, TrainingArguments)).parse_args_into_dataclasses()\n"
)
CASES: list[dict[str, Any]] = [
    {"name": "m"}, {}, {"name": "m", "attn": "eager"}, {"name": "m", "attn": "flash"}, {"name": "m", "lora": True},
    {"name": "m", "lora": "yes"}, {"name": "m", "lora": "maybe"}, {"name": "m", "size": 3}, {"name": "m", "size": 1.5},
    {"name": "m", "split": "all"}, {"name": "m", "split": "none"}, {"name": "m", "layers": 3}, {"name": "m", "layers": "a"},
    {"name": "m", "nam": "n"}, {"name": "m", "epochs": 3}, {"nam": "m"},
]  # fmt: skip
IDS = {"SCRIPT008", "SCRIPT014"}
OLD, NEW, NEXT = ("4.36.0", "2.1.0", "py310"), ("4.49.0", "2.5.1", "py311"), ("5.3.0", "2.9.0", "py312")


def job_of(folder: Path, script: str, release: tuple[str, str, str] = NEW, **sent: Any) -> st.JobSpec:
    (folder / "run_clm.py").write_text(script)
    framework = st.HuggingFace(release[0], pytorch=release[1], python=release[2])
    return jobs.trainium(str(folder)).replace(
        framework=framework, compute=st.Compute("ml.g5.xlarge"), distribution=None, neuron=None, hyperparameters=sent
    )


def found(job: st.JobSpec) -> set[str]:
    return {problem.id for problem in st.check(job)}


def ends(folder: Path, script: str, sent: dict[str, Any]) -> bool:
    """Whether transformers itself refuses the arguments."""
    transformers = pytest.importorskip("transformers")
    (folder / "classes.py").write_text(script.rpartition("\nmodel, = ")[0])
    space = runpy.run_path(str(folder / "classes.py"))
    words = [word for name in sorted(sent) for word in (f"--{name}", str(sent[name]))]
    try:
        transformers.HfArgumentParser(space["Model"]).parse_args_into_dataclasses(words, look_for_args_file=False)
    except (SystemExit, ValueError):
        return True
    return False


@pytest.mark.parametrize("sent", CASES, ids=str)
def test_a_job_is_refused_where_transformers_refuses_its_arguments(tmp_path: Path, sent: dict[str, Any]) -> None:
    assert ends(tmp_path, MINE, sent) == bool(IDS & found(job_of(tmp_path, MINE, **sent)))


@pytest.mark.parametrize(
    ("release", "name", "refused"),
    [
        (OLD, "evaluation_strategy", False), (OLD, "eval_strategy", True), (NEW, "eval_strategy", False),
        (NEW, "evaluation_strategy", False), (NEXT, "evaluation_strategy", True), (NEXT, "eval_strategy", False),
    ],
)  # fmt: skip
def test_the_fields_are_those_of_the_containers_release(
    tmp_path: Path, release: tuple[str, str, str], name: str, refused: bool
) -> None:
    job = job_of(tmp_path, TRAINED, release, **{"name": "m", "output_dir": "/opt/ml/checkpoints", name: "no"})
    assert refused == ("SCRIPT008" in found(job))


def test_requirements_choose_the_release(tmp_path: Path) -> None:
    job = job_of(tmp_path, TRAINED, OLD, name="m", output_dir="/opt/ml/checkpoints", eval_strategy="no")
    assert "SCRIPT008" in found(job)
    for text in ("transformers==4.49.0\n", "transformers>=4.45\n"):  # another one, and one that nobody knows
        (tmp_path / "requirements.txt").write_text(text)
        assert "SCRIPT008" not in found(job)


@pytest.mark.parametrize(
    ("sent", "ids"),
    [
        ({"fp16": True, "bf16": True}, {"SCRIPT018"}),
        ({"fp16": False, "bf16": True}, set()),
        ({"load_best_model_at_end": True}, {"SCRIPT018"}),
        ({"load_best_model_at_end": True, "eval_strategy": "epoch", "save_strategy": "epoch"}, set()),
        ({"load_best_model_at_end": True, "eval_strategy": "steps", "eval_steps": 300, "save_steps": 500}, {"SCRIPT018"}),
        ({"load_best_model_at_end": True, "eval_strategy": "steps", "eval_steps": 250, "save_steps": 500}, set()),
    ],
)  # fmt: skip
def test_settings_that_exclude_each_other_are_refused(tmp_path: Path, sent: dict[str, Any], ids: set[str]) -> None:
    job = job_of(tmp_path, TRAINED, name="m", output_dir="/opt/ml/checkpoints", **sent)
    assert ids == found(job) & {"SCRIPT018", *IDS}


@pytest.mark.parametrize(
    ("words", "release", "refused"),
    [
        ('output_dir="x", evaluation_strategy="no"', NEXT, True),
        ('output_dir="x", evaluation_strategy="no"', NEW, False),
        ('output_dir="x", learningrate=1', NEW, True),
        ("**known", NEW, False),
    ],
)
def test_a_keyword_that_the_release_lacks_is_refused(
    tmp_path: Path, words: str, release: tuple[str, str, str], refused: bool
) -> None:
    script = f"import sys\nfrom transformers import TrainingArguments\nargs = TrainingArguments({words})\n"
    assert refused == ("SCRIPT017" in found(job_of(tmp_path, script, release)))


@pytest.mark.parametrize(("more", "told"), [("", True), (", **more", False)])
def test_what_two_stars_may_bring_is_not_missed(tmp_path: Path, more: str, told: bool) -> None:
    words = f'"x", load_best_model_at_end=True, save_strategy="steps"{more}'
    script = f"import sys\nfrom transformers import TrainingArguments\nargs = TrainingArguments({words})\n"
    assert told == ("SCRIPT018" in found(job_of(tmp_path, script)))


@pytest.mark.parametrize(
    ("head", "body", "told"),
    [
        ("class Own(Trainer):", "def compute_loss(self, *words): return 0", True),
        ("class Own(transformers.Trainer):", "pass", True),
        ("class Own(Trainer):", "def __init__(self, model, **words): pass", False),
        ("class Own(Mixin, Trainer):", "pass", False),
        ("@dataclass\nclass Own(Trainer):", "pass", False),
    ],
)
def test_a_class_that_is_made_as_its_base_takes_its_words(tmp_path: Path, head: str, body: str, told: bool) -> None:
    script = (
        f"import transformers\nfrom transformers import Trainer\n{head}\n    {body}\nOwn(model=None, learningrate=1)\n"
    )
    assert told == ("SCRIPT017" in found(job_of(tmp_path, script)))


def test_a_class_of_the_scripts_own_is_not_the_librarys(tmp_path: Path) -> None:
    script = "class TrainingArguments:\n    def __init__(self, **words): pass\nTrainingArguments(learningrate=1)\n"
    assert "SCRIPT017" not in found(job_of(tmp_path, script))


@pytest.mark.parametrize(
    ("words", "requirements", "refused"),
    [
        # The image is built with trl 0.15.2, which says max_seq_length; pip leaves it where a requirement only names it.
        ('output_dir="x", max_length=128', None, True),
        ('output_dir="x", max_seq_length=128', None, False),
        ('output_dir="x", max_length=128', "trl==0.20.0\n", False),
        ('output_dir="x", max_length=128', "trl\n", True),
        ('output_dir="x", max_length=128', "trl>=0.15\n", True),
        ('output_dir="x", max_length=128', "trl>=0.19\n", False),  # which one pip takes is not known
        ('output_dir="x", max_length=128', "trl @ git+https://github.com/huggingface/trl\n", False),
        ('output_dir="x", max_length=128', "-r other.txt\n", False),
    ],
)
def test_the_images_own_trl_is_asked_where_requirements_name_no_other(
    tmp_path: Path, words: str, requirements: str | None, refused: bool
) -> None:
    if requirements is not None:
        (tmp_path / "requirements.txt").write_text(requirements)
    job = job_of(tmp_path, f"from trl import SFTConfig\nargs = SFTConfig({words})\n", NEW)
    assert refused == ("SCRIPT017" in found(job))


def test_a_class_of_a_release_that_nobody_knows_may_declare_any_argument(tmp_path: Path) -> None:
    script = (
        OWN
        + "from trl import DPOConfig\nmodel, args = HfArgumentParser((Model, DPOConfig)).parse_args_into_dataclasses()\n"
    )
    job = job_of(tmp_path, script, NEXT, name="m", beta=0.2)  # its image is built with a trl that is not in the table
    assert not {"SCRIPT008", "SCRIPT015"} & found(job)


def test_a_class_may_have_the_name_of_its_base(tmp_path: Path) -> None:
    script = OWN + (
        "import transformers\n\n\n"
        "@dataclass\nclass TrainingArguments(transformers.TrainingArguments):\n    use_lora: bool = False\n\n\n"
        "model, args = HfArgumentParser((Model, TrainingArguments)).parse_args_into_dataclasses()\n"
    )
    assert not IDS & found(job_of(tmp_path, script, name="m", use_lora=True, learning_rate=1e-4))
    assert {"SCRIPT008"} == IDS & found(job_of(tmp_path, script, name="m", use_lora=True, rate=1e-4))

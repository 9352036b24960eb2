"""What a job leaves is foretold from literals: a model, checkpoints, and a first start that resumes."""

from __future__ import annotations

from pathlib import Path

import pytest

import sm_trn as st

HF = "from transformers import AutoModel as A, Trainer, TrainingArguments\nm = A.from_pretrained('bert-base-cased')\n"
ASK = "import argparse, os, torch\np = argparse.ArgumentParser()\np.add_argument('--out', default={})\na = p.parse_args()\n"
TRL = "from trl import *\n(c,) = TrlParser((SFTConfig,)).parse_args_and_config()\nSFTTrainer('gpt2', c).train()\n"
KEPT = {"checkpoint": st.Checkpoint(s3_uri="s3://b/ck")}
YAML = {"hyperparameters": {"config": "c.yaml"}}


def trainer(arguments: str, then: str = "t.train()") -> str:
    return f"{HF}t = Trainer(m, TrainingArguments({arguments}))\n{then}\n"


NO_MODEL = {
    "torch.save(x, 'model.pt')": "import torch\ntorch.save({}, 'model.pt')\n",
    "in a function": "import torch\ndef main():\n    torch.save({}, './model/m.pt')\nmain()\n",
    "output_dir of a Trainer": trainer("output_dir='/tmp/out'"),
    "a default": ASK.format("'./results'") + "torch.save({}, os.path.join(a.out, 'm.pt'))\n",
    "a constant": HF + "OUT = '/tmp'\nm.save_pretrained(f'{OUT}/model')\n",
    "in YAML": TRL + "# output_dir: /tmp/llama",
    "joblib": "import joblib\njoblib.dump({}, 'model.joblib')\n",
}
A_MODEL = {
    "SM_MODEL_DIR": "import os, torch\ntorch.save({}, os.path.join(os.environ['SM_MODEL_DIR'], 'm.pt'))\n",
    "the folder itself": "import torch\ntorch.save({}, '/opt/ml/model/m.pt')\n",
    "both": "import torch\ntorch.save({}, 'best.pt')\ntorch.save({}, '/opt/ml/model/m.pt')\n",
    "beside the code": "import torch\ntorch.save({}, '../model/m.pt')\n",
    "uploaded": "import boto3, torch\ntorch.save({}, 'm.pt')\n",
    "to the hub": HF + "m.save_pretrained('out')\nm.push_to_hub('a/b')\n",
    "another program": "import subprocess, torch\ntorch.save({}, 'm.pt')\n",
    "computed": "import torch\ndef save(place):\n    torch.save({}, place)\n",
    "nothing saved": "print(1)\n",
}


def ids(folder: Path, text: str, **changes: object) -> set[str]:
    code, _, settings = text.partition("# output_dir")
    (folder / "train.py").write_text(code, "utf-8")
    if settings:
        (folder / "c.yaml").write_text(f"output_dir{settings}\n", "utf-8")
        changes = {**YAML, **changes}
    script = st.Script("train.py", source_dir=str(folder))
    framework = st.HuggingFace("4.49.0", pytorch="2.5.1", python="py311")
    job = st.JobSpec(name="r", script=script, framework=framework, compute=st.Compute("ml.g5.xlarge")).replace(
        **changes
    )
    return {problem.id for problem in st.check(job)} & {"SCRIPT024", "SPOT005", "SPOT006", "SPOT014", "SPOT015"}


@pytest.mark.parametrize("name", [*NO_MODEL, *A_MODEL])
def test_a_model_that_nothing_keeps_is_foretold(tmp_path: Path, name: str) -> None:
    assert ({"SCRIPT024"} if name in NO_MODEL else set()) == ids(tmp_path, {**NO_MODEL, **A_MODEL}[name])


def test_a_model_in_the_place_that_the_job_says_is_kept(tmp_path: Path) -> None:
    script = ASK.format("'./results'") + "torch.save({}, a.out)\n"
    assert set() == ids(tmp_path, script, hyperparameters={"out": "/opt/ml/model"})
    assert {"SCRIPT024"} == ids(tmp_path, script, hyperparameters={"out": "/tmp/model"})


SAVED = "t.train()\nm.save_pretrained('/opt/ml/model')"
LAST = "from transformers.trainer_utils import get_last_checkpoint as last\nt.train(resume_from_checkpoint=last('/opt/ml/checkpoints'))"


@pytest.mark.parametrize(
    ("text", "changes", "expected"),
    [
        (trainer("'/opt/ml/model', save_strategy='no'"), KEPT, {"SPOT006"}),
        (trainer("'/tmp/ck', save_steps=9", SAVED), KEPT, {"SPOT006"}),
        (TRL + "# output_dir: /opt/ml/checkpoints\nsave_strategy: 'no'", KEPT, {"SPOT006"}),
        ("print(1)\n", KEPT, {"SPOT005"}),
        (trainer("'/opt/ml/checkpoints'", SAVED), KEPT, set()),
        (trainer("'/opt/ml/ck'", SAVED), {"checkpoint": st.Checkpoint(s3_uri="s3://b/ck", local_path="/opt/ml/ck")}, set()),
        (trainer("'/opt/ml/checkpoints'", SAVED), {}, {"SPOT014"}),
        (ASK.format("'/opt/ml/model'"), {"hyperparameters": {"out": "/opt/ml/checkpoints"}}, {"SPOT014"}),
        (trainer("'/opt/ml/model', save_strategy='no'", "t.train()\nt.save_model()"), {}, set()),
        (trainer("'/opt/ml/checkpoints'", "t.train(resume_from_checkpoint=True)"), KEPT, {"SPOT015"}),
        (trainer("'/opt/ml/checkpoints'", "trainer = t\ntrainer.train(True)"), KEPT, {"SPOT015"}),
        (trainer("'/opt/ml/checkpoints'", "R = True\nt.train(resume_from_checkpoint=R)"), KEPT, {"SPOT015"}),
        (trainer("'/opt/ml/checkpoints'", LAST), KEPT, set()),
        (trainer("'/opt/ml/checkpoints'", "import os\nif os.listdir('c'):\n    t.train(resume_from_checkpoint=True)"), KEPT, set()),
        (trainer("'/opt/ml/checkpoints'", "try:\n    t.train(resume_from_checkpoint=True)\nexcept ValueError:\n    pass"), KEPT, set()),
        (trainer("'/opt/ml/checkpoints'", "m.train(True)"), KEPT, set()),
    ],
)  # fmt: skip
def test_checkpoints_that_are_lost_or_looked_for_in_vain_are_foretold(
    tmp_path: Path, text: str, changes: dict[str, object], expected: set[str]
) -> None:
    assert expected == ids(tmp_path, text, **changes)

"""How a script trains is read once: ``check`` and ``estimate`` say the same of its memory."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import sm_trn as st
from sm_trn.forecast.configuration import Sharding

LOAD = "model = AutoModelForCausalLM.from_pretrained(name)\n"
QUANTISED = (
    "config = BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_compute_dtype=torch.bfloat16)\n"
    "model = AutoModelForCausalLM.from_pretrained(name, quantization_config=config)\n"
)
ADAPTED = "from peft import LoraConfig, get_peft_model\nmodel = get_peft_model(model, LoraConfig(r=16))\n"
TRAINED = "trainer = SFTTrainer(model=model, args=args, train_dataset=data{})\ntrainer.train()\n"
PEFT_CONFIG = TRAINED.format(", peft_config=LoraConfig(r=8)")
TRAINED = TRAINED.format("")
IF_ASKED = "if args.use_peft:\n    model = get_peft_model(model, LoraConfig())\n"

# source, arguments -> what surely holds, and whether the source leaves something open
SCRIPTS: dict[str, tuple[str, dict[str, Any], dict[str, Any], bool]] = {
    "full": (LOAD + TRAINED, {}, {}, False),
    "lora": (LOAD + ADAPTED + TRAINED, {}, {"adapted": 2 / 7}, False),
    "lora by trl": (LOAD + PEFT_CONFIG, {}, {"adapted": 2 / 7}, False),
    "qlora": (QUANTISED + ADAPTED + TRAINED, {}, {"adapted": 2 / 7, "weight_bits": 4}, False),
    "qlora by trl": (QUANTISED + PEFT_CONFIG, {}, {"adapted": 2 / 7, "weight_bits": 4}, False),
    "8 bits": (QUANTISED.replace("4bit", "8bit") + ADAPTED, {}, {"adapted": 2 / 7, "weight_bits": 8}, False),
    "lora if asked": (LOAD + "from peft import LoraConfig, get_peft_model\n" + IF_ASKED + TRAINED, {}, {}, True),
    "lora if asked, asked": (LOAD + IF_ASKED + TRAINED, {"use_peft": True}, {"adapted": 2 / 7}, False),
    "lora in a function": (LOAD + "def wrap(model):\n    return get_peft_model(model)\nwrap(model)\n", {}, {"adapted": 1.0}, False),
    "bits by a variable": (QUANTISED.replace("True", "args.four", 1) + TRAINED, {}, {}, True),
    "frozen body": (LOAD + "for each in model.base.parameters():\n    each.requires_grad = False\n" + TRAINED, {}, {}, True),
    "16-bit weights": (LOAD.replace("(name", "(name, torch_dtype=torch.bfloat16") + TRAINED, {}, {"autocast": False}, False),
    "weights by a variable": (LOAD.replace("(name", "(name, torch_dtype=kind") + TRAINED, {}, {}, False),
    "fsdp": ("from torch.distributed.fsdp import FullyShardedDataParallel as FSDP\n" + LOAD + "FSDP(model)\n", {},
             {"sharding": Sharding.FULL}, False),
    "fsdp 2": ("from torch.distributed.fsdp import fully_shard\n" + LOAD + "fully_shard(model)\n", {}, {"sharding": Sharding.FULL}, False),
    "fsdp by Trainer": (LOAD + TRAINED, {"fsdp": "full_shard auto_wrap"}, {"sharding": Sharding.FULL}, False),
    "zero 2": (LOAD + TRAINED, {"deepspeed": json.dumps({"zero_optimization": {"stage": 2}})}, {"sharding": Sharding.GRADIENTS}, False),
    "zero 3": (LOAD + TRAINED, {"deepspeed": json.dumps({"zero_optimization": {"stage": 3}})}, {"sharding": Sharding.FULL}, False),
    "offload": (LOAD + TRAINED, {"deepspeed": json.dumps({"zero_optimization": {"stage": 3, "offload_optimizer": {"device": "cpu"}}})},
                {"sharding": Sharding.OFFLOAD}, False),
    "deepspeed that is not there": (LOAD + TRAINED, {"deepspeed": "gone.json"}, {}, True),
    "deepspeed in code": ("import deepspeed\n" + LOAD + "engine = deepspeed.initialize(model=model, config=config)\n", {}, {}, True),
    "8-bit optimizer": (LOAD + "args = TrainingArguments(optim='paged_adamw_8bit')\n" + TRAINED, {}, {"optimizer_bytes": 2}, False),
    "8-bit optimizer by argument": (LOAD + TRAINED, {"optim": "adamw_bnb_8bit"}, {"optimizer_bytes": 2}, False),
    "adafactor": (LOAD + TRAINED, {"optim": "adafactor"}, {"optimizer_bytes": 0}, False),
    "evaluation alone": (LOAD + TRAINED, {"do_train": False, "do_eval": True}, {"forward_only": True}, False),
    "recomputed": (LOAD + "model.gradient_checkpointing_enable()\n" + TRAINED, {}, {"recompute": 1}, False),
    "recomputed by argument": (LOAD + TRAINED, {"gradient_checkpointing": True}, {"recompute": 1}, False),
    "attention": (LOAD.replace("(name", "(name, attn_implementation='flash_attention_2'") + TRAINED, {}, {"flash": 2}, False),
    "eager attention": (LOAD.replace("(name", "(name, attn_implementation='eager'") + TRAINED, {}, {"flash": 0}, False),
    "a word in a comment": ("# from peft import get_peft_model\n" + LOAD + TRAINED, {}, {}, False),
}  # fmt: skip


def job(folder: Path, name: str, instance: str = "ml.g5.2xlarge") -> st.JobSpec:
    text, arguments, _, _ = SCRIPTS[name]
    (folder / "train.py").write_text(text)
    return st.JobSpec(
        name="a",
        script=st.Script("train.py", source_dir=str(folder)),
        framework=st.PyTorch("2.1", python="py310"),
        compute=st.Compute(instance),
        hyperparameters={
            "model_name_or_path": "meta-llama/Llama-2-7b-hf", "per_device_train_batch_size": 1, "max_seq_length": 512,
            "num_train_epochs": 1, **arguments,
        },
    )  # fmt: skip


PLAIN = {
    "adapted": 0.0, "weight_bits": 0, "autocast": True, "sharding": Sharding.NONE, "optimizer_bytes": 8, "forward_only": False,
    "recompute": 0, "flash": 0,
}  # fmt: skip


@pytest.mark.parametrize("name", SCRIPTS)
def test_how_a_script_trains(tmp_path: Path, name: str) -> None:
    _, _, sure, open_ = SCRIPTS[name]
    found = st.estimate(job(tmp_path, name), examples=1000)
    assert {**PLAIN, **sure} == {field: getattr(found.configuration, field) for field in PLAIN}
    assert open_ == any("is decided when it runs" in each for each in found.assumed)


@pytest.mark.parametrize("name", SCRIPTS)
@pytest.mark.parametrize("instance", ["ml.g5.2xlarge", "ml.g6e.2xlarge", "ml.p4d.24xlarge"])
def test_check_and_estimate_say_the_same_of_memory(tmp_path: Path, name: str, instance: str) -> None:
    there = job(tmp_path, name, instance)
    found = st.estimate(there, examples=1000)
    errors = {each.id for each in st.check(there) if each.severity is st.Severity.ERROR and each.id == "MEM001"}
    assert not errors or not (found.fits or found.may_fit), "check refuses what the estimate lets pass"
    if not found.fits and not found.may_fit and not found.largest_batch:
        assert {each.id for each in st.check(there)} & {"MEM001", "EST002"}, "the estimate refuses what check lets pass"

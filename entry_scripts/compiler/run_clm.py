"""Train GPT-2 under the SageMaker Training Compiler: run_clm for its last container, and for
nothing newer.

AWS releases the compiler no more. Its last image has Python 3.8, torch 1.11 and transformers 4.21,
and this file stays as it is: alone but for sm_spot.py, which keeps every script safe on spot
capacity. ../train_language_model.py is the living one.

    Script("compiler/run_clm.py") with HuggingFace("4.21", pytorch="1.11"), TrainingCompiler() and PyTorchXLA()

    python run_clm.py --model_type tiny-gpt2 --num_train_epochs 3 --do_eval True
    torchrun --nproc_per_node=2 run_clm.py --model_type gpt2 --tokenizer_name gpt2 --dataset_name wikitext …

Exit code: 0 done; 2 a mistake in what was asked; 75 stopped by SIGTERM, run the same command again
to continue.
"""

from __future__ import annotations

import csv
import math
import os
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Dict, List, Optional, Sequence

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parent))

import sm_spot

import torch
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    AutoTokenizer,
    HfArgumentParser,
    PreTrainedTokenizerFast,
    Trainer,
    TrainingArguments,
    default_data_collator,
    set_seed,
)
from transformers.trainer_callback import PrinterCallback, ProgressCallback

CHECKPOINTS = Path("/opt/ml/checkpoints")  # exists in a job that was given a checkpoint_s3_uri


@dataclass
class ModelArguments:
    model_name_or_path: Optional[str] = None
    model_type: Optional[str] = field(
        default=None, metadata={"help": "from scratch: gpt2, or tiny-gpt2"}
    )
    tokenizer_name: Optional[str] = None


@dataclass
class DataArguments:
    dataset_name: Optional[str] = None
    dataset_config_name: Optional[str] = None
    train_file: Optional[str] = field(default_factory=lambda: os.environ.get("SM_CHANNEL_TRAIN"))
    validation_split_percentage: int = 5
    block_size: int = 512
    max_train_samples: Optional[int] = None
    max_eval_samples: Optional[int] = None
    preprocessing_num_workers: Optional[int] = None
    overwrite_cache: bool = False
    checkpoint_dir: Optional[str] = field(
        default_factory=lambda: str(CHECKPOINTS) if CHECKPOINTS.is_dir() else None
    )


def parse_arguments(argv: Optional[Sequence[str]]) -> Any:
    parser = HfArgumentParser((ModelArguments, DataArguments, TrainingArguments))
    known = set(TrainingArguments.__dataclass_fields__)
    defaults: Dict[str, Any] = {
        "output_dir": os.environ.get("SM_MODEL_DIR") or "model",
        "do_train": True,
        "report_to": "none",
        "logging_steps": 20,
        "save_steps": 200,
        "disable_tqdm": True,
        "dataloader_drop_last": True,  # a smaller last batch would be compiled anew
        "log_level": "error",
        "optim": "adamw_torch",
    }
    compiled = any(name.startswith(("GPU_NUM_DEVICES", "XRT_")) for name in os.environ)
    if not (compiled or torch.cuda.is_available()):
        defaults.update(no_cuda=True, use_cpu=True, ddp_backend="gloo", xpu_backend="gloo")
    parser.set_defaults(**{name: value for name, value in defaults.items() if name in known})
    try:
        return parser.parse_args_into_dataclasses(argv, look_for_args_file=False)
    except ValueError as error:
        raise sm_spot.UsageError(f"arguments: {sm_spot.first_line(error)}") from error


def load_model(model_args: ModelArguments) -> Any:
    """Tokenizer and model: a pretrained one, a new one, or the tiny one, which needs no network."""
    if model_args.model_type == "tiny-gpt2":
        folder = HERE.parent / "tiny_random"
        tokenizer = PreTrainedTokenizerFast(
            tokenizer_file=str(folder / "tokenizer.json"),
            eos_token="[SEP]",  # noqa: S106 - of texts
        )
        return tokenizer, AutoModelForCausalLM.from_config(
            AutoConfig.from_pretrained(str(folder / "gpt2.json"))
        )
    name = model_args.model_name_or_path or model_args.model_type or "gpt2"
    try:
        tokenizer = AutoTokenizer.from_pretrained(model_args.tokenizer_name or name)
        if model_args.model_name_or_path:
            return tokenizer, AutoModelForCausalLM.from_pretrained(name)
        return tokenizer, AutoModelForCausalLM.from_config(AutoConfig.from_pretrained(name))
    except (OSError, ValueError) as error:
        wanted = "wanted a model of the hub, a folder with one, or --model_type tiny-gpt2"
        raise sm_spot.UsageError(f"--model: got {name!r}, which does not load; {wanted}") from error


def load_texts(data_args: DataArguments) -> Dict[str, List[str]]:
    """From a data set of the hub, a text file or folder of them, or the bundled sample."""
    if data_args.dataset_name:
        import datasets

        parts = datasets.load_dataset(data_args.dataset_name, data_args.dataset_config_name)
        return {"train": parts["train"]["text"], "validation": parts["validation"]["text"]}
    if data_args.train_file:
        where = Path(data_args.train_file)
        files = sorted(where.glob("*.txt")) if where.is_dir() else [where]
        texts = [line for file in files for line in file.read_text(encoding="utf-8").splitlines()]
    else:
        with (HERE.parent / "sample" / "reviews.csv").open(encoding="utf-8", newline="") as file:
            texts = [row["content"] for row in csv.DictReader(file)]
    count = max(1, len(texts) * data_args.validation_split_percentage // 100)
    return {"train": texts[count:], "validation": texts[:count]}


def blocks_of(
    tokenizer: Any, texts: Sequence[str], size: int, limit: Optional[int]
) -> List[Dict[str, List[int]]]:
    """All texts one after another, in blocks of one length: the compiler then has one graph."""
    ids: List[int] = []
    end = tokenizer.eos_token_id
    for text in texts:
        if text.strip():
            ids += tokenizer(text)["input_ids"]
            if ids[-1] != end:
                ids.append(end)
    last = len(ids) - size
    blocks = [ids[begin : begin + size] for begin in range(0, last + 1, size)]
    if not blocks:
        raise sm_spot.UsageError(
            f"--block_size: got {size}, wanted at most {len(ids)}, which is what all the texts have"
        )
    return [{"input_ids": block, "labels": block} for block in blocks[:limit]]


def main(argv: Optional[Sequence[str]] = None) -> None:
    model_args, data_args, training_args = parse_arguments(argv)
    model_dir = training_args.output_dir
    training_args.output_dir = data_args.checkpoint_dir or model_dir
    set_seed(training_args.seed)
    tokenizer, model = load_model(model_args)
    texts = load_texts(data_args)
    train_dataset = blocks_of(
        tokenizer, texts["train"], data_args.block_size, data_args.max_train_samples
    )
    eval_dataset = blocks_of(
        tokenizer, texts["validation"], data_args.block_size, data_args.max_eval_samples
    )
    identity = {
        "model": model_args.model_name_or_path or model_args.model_type,
        "block_size": data_args.block_size,
    }
    trainer = Trainer(
        model=model,
        args=training_args,
        train_dataset=train_dataset,
        eval_dataset=eval_dataset,
        data_collator=default_data_collator,
        callbacks=[
            sm_spot.SpotCallback(
                {**identity, "seed": training_args.seed, "blocks": len(train_dataset)}
            )
        ],
    )
    for printer in (PrinterCallback, ProgressCallback):
        trainer.remove_callback(printer)
    sm_spot.say(
        f"{len(train_dataset)} blocks of {data_args.block_size} tokens on {training_args.device}"
    )
    if training_args.do_train:
        sm_spot.train(trainer)
    if training_args.do_eval:
        loss = trainer.evaluate()["eval_loss"]
        sm_spot.say(
            sm_spot.metric_line(
                {"eval_perplexity": math.exp(min(loss, 700)), "step": trainer.state.global_step}
            )
        )
    if training_args.do_train:
        trainer.save_model(model_dir)
        if sm_spot.place().rank == 0:
            tokenizer.save_pretrained(model_dir)


def _mp_fn(_index: int) -> None:
    """Where torch_xla's spawn launcher (the `pytorchxla` distribution) enters each worker."""
    sys.exit(sm_spot.exit_code_of(main))


if __name__ == "__main__":
    sm_spot.leave(sm_spot.exit_code_of(main))

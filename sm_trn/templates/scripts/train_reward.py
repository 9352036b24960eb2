"""Train a chat model by a reward function with trl's GRPOTrainer: change `reward` to what is good in your answers.

    python train_reward.py --model_name_or_path Qwen/Qwen3-0.6B --train ./questions.jsonl --num_generations 8

Rows have a `prompt`, a text or a conversation, and the `answer` that is right. Every argument of trl's GRPOConfig is a flag too.
"""

import os
from dataclasses import dataclass, field
from pathlib import Path

import torch
from datasets import load_dataset
from peft import LoraConfig
from transformers import AutoModelForCausalLM, AutoTokenizer, HfArgumentParser
from transformers.trainer_utils import get_last_checkpoint
from trl import GRPOConfig, GRPOTrainer


@dataclass
class Arguments:
    model_name_or_path: str = "Qwen/Qwen3-0.6B"
    train: str = field(default=os.environ.get("SM_CHANNEL_TRAIN", "data"))
    use_peft: bool = False
    lora_r: int = 16


@dataclass
class Config(GRPOConfig):
    output_dir: str = "/opt/ml/checkpoints" if Path("/opt/ml/checkpoints").is_dir() else "checkpoints"
    report_to: str = "none"
    disable_tqdm: bool = True
    bf16: bool = torch.cuda.is_available() and torch.cuda.is_bf16_supported()
    use_cpu: bool = not torch.cuda.is_available()


def reward(completions, answer, **_):
    """1 where the completion holds the right answer, else 0."""
    texts = [each if isinstance(each, str) else each[-1]["content"] for each in completions]
    return [float(str(right).strip().lower() in text.lower()) for text, right in zip(texts, answer)]


def read(place):
    """The rows of a file, or of a folder's files."""
    files = [str(path) for path in sorted(Path(place).rglob("*")) if path.suffix in {".jsonl", ".json", ".parquet"}]
    files = files or [str(place)]
    kind = "parquet" if files[0].endswith(".parquet") else "json"
    return load_dataset(kind, data_files=files, split="train")


def main():
    own, args = HfArgumentParser((Arguments, Config)).parse_args_into_dataclasses()
    tokenizer = AutoTokenizer.from_pretrained(own.model_name_or_path, padding_side="left")
    kind = "bfloat16" if args.bf16 and own.use_peft else "float32"  # frozen weights need no more
    model = AutoModelForCausalLM.from_pretrained(own.model_name_or_path, dtype=kind)
    lora = LoraConfig(task_type="CAUSAL_LM", r=own.lora_r, target_modules="all-linear") if own.use_peft else None
    trainer = GRPOTrainer(
        model, reward, args=args, train_dataset=read(own.train), processing_class=tokenizer, peft_config=lora
    )
    last = get_last_checkpoint(args.output_dir) if Path(args.output_dir).is_dir() else None
    trainer.train(resume_from_checkpoint=last)
    trainer.save_model(os.environ.get("SM_MODEL_DIR", "model"))


if __name__ == "__main__":
    main()

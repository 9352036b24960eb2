"""An ordinary script of trl's GRPOTrainer, which learns four steps from the answers that it generates at once."""

from pathlib import Path
from typing import Any

from datasets import Dataset
from transformers import HfArgumentParser
from trl import GRPOConfig, GRPOTrainer

import tiny


def reward(completions: list[str], **_: Any) -> list[float]:
    return [float(len(set(text.split()))) for text in completions]


def main() -> None:
    (args,) = HfArgumentParser(GRPOConfig).parse_args_into_dataclasses()
    args.steps_per_generation = 4
    args.generation_batch_size = 4 * args.per_device_train_batch_size * args.world_size
    args.max_completion_length = 8
    args.max_steps = 40
    tokenizer = tiny.tokenizer()
    trainer = GRPOTrainer(
        tiny.generator(tokenizer, args.seed),
        reward,
        args=args,
        train_dataset=Dataset.from_dict({"prompt": tiny.dataset(64)["text"]}),
        processing_class=tokenizer,
    )
    trainer.train()
    trainer.save_model(str(Path(args.output_dir, "model")))


if __name__ == "__main__":
    main()

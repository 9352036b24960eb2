"""An ordinary script of trl's SFTTrainer."""

from pathlib import Path

from transformers import HfArgumentParser
from trl import SFTConfig, SFTTrainer

import tiny


def main() -> None:
    (args,) = HfArgumentParser(SFTConfig).parse_args_into_dataclasses()
    tokenizer = tiny.tokenizer()
    dataset = tiny.dataset().remove_columns("label")
    trainer = SFTTrainer(
        model=tiny.generator(tokenizer, args.seed),
        args=args,
        train_dataset=dataset,
        eval_dataset=dataset.select(range(64)),
        processing_class=tokenizer,
    )
    trainer.train()
    trainer.save_model(str(Path(args.output_dir, "model")))


if __name__ == "__main__":
    main()

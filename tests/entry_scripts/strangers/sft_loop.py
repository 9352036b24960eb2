"""An ordinary script of trl's SFTTrainer, and the lines of sm_spot."""

import sm_spot

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
    sm_spot.train(trainer)
    trainer.save_model(str(Path(args.output_dir, "model")))


if __name__ == "__main__":
    sm_spot.leave(sm_spot.exit_code_of(main))

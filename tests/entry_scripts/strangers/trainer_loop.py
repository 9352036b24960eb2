"""An ordinary Trainer script: `datasets`, a tokenizer, a collator that draws as run_mlm's does."""

from pathlib import Path
from typing import Any

import torch
from transformers import DataCollatorWithPadding, HfArgumentParser, Trainer, TrainingArguments

import tiny


class Masking(DataCollatorWithPadding):  # type: ignore[misc]  # transformers is untyped here
    def __call__(self, features: Any) -> Any:
        batch = super().__call__(features)
        batch["attention_mask"] *= torch.rand(batch["attention_mask"].shape) > 0.15
        return batch


def main() -> None:
    (args,) = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()
    tokenizer = tiny.tokenizer()
    dataset = tiny.dataset().map(lambda rows: tokenizer(rows["text"], truncation=True, max_length=32), batched=True)
    trainer = Trainer(
        model=tiny.classifier(tokenizer, args.seed),
        args=args,
        train_dataset=dataset,
        eval_dataset=dataset.select(range(64)),
        processing_class=tokenizer,
        data_collator=Masking(tokenizer),
    )
    result = trainer.train()
    trainer.save_metrics("train", result.metrics)  # as Hugging Face's examples do
    trainer.save_model(str(Path(args.output_dir, "model")))


if __name__ == "__main__":
    main()

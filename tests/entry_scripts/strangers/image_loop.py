"""A Trainer over a data set that draws for each example, as image augmentation does."""

from pathlib import Path
from typing import Any

import torch
from transformers import DataCollatorWithPadding, HfArgumentParser, Trainer, TrainingArguments

import tiny


class Augmented(torch.utils.data.Dataset):  # type: ignore[misc]  # torch is untyped here
    def __init__(self, tokenizer: Any) -> None:
        self.rows = [{**tokenizer(row["text"]), "labels": row["label"]} for row in tiny.dataset()]

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int) -> dict[str, Any]:
        row = self.rows[index]
        return {**row, "attention_mask": [int(torch.rand(()) > 0.2) for _ in row["input_ids"]]}


def main() -> None:
    (args,) = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()
    tokenizer = tiny.tokenizer()
    trainer = Trainer(
        model=tiny.classifier(tokenizer, args.seed),
        args=args,
        train_dataset=Augmented(tokenizer),
        data_collator=DataCollatorWithPadding(tokenizer),
    )
    trainer.train()
    trainer.save_model(str(Path(args.output_dir, "model")))


if __name__ == "__main__":
    main()

"""Fine-tune a model to classify images with Trainer.

    python train_images.py --model_name_or_path google/vit-base-patch16-224 --train ./images

--train has a folder for each class, with its images. Every argument of transformers' TrainingArguments is a flag too.
"""

import os
from dataclasses import dataclass, field
from pathlib import Path

import torch
from PIL import Image
from transformers import (
    AutoImageProcessor,
    AutoModelForImageClassification,
    HfArgumentParser,
    Trainer,
    TrainingArguments,
)
from transformers.trainer_utils import get_last_checkpoint

KINDS = {".jpg", ".jpeg", ".png", ".webp", ".bmp"}


@dataclass
class Arguments:
    model_name_or_path: str = "google/vit-base-patch16-224"
    train: str = field(default=os.environ.get("SM_CHANNEL_TRAIN", "data"))
    validation_fraction: float = 0.1


@dataclass
class Config(TrainingArguments):
    output_dir: str = "/opt/ml/checkpoints" if Path("/opt/ml/checkpoints").is_dir() else "checkpoints"
    report_to: str = "none"
    disable_tqdm: bool = True
    remove_unused_columns: bool = False


class Images(torch.utils.data.Dataset):
    """Images and the numbers of their classes."""

    def __init__(self, rows, processor):
        self.rows, self.processor = rows, processor

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        path, label = self.rows[index]
        pixels = self.processor(Image.open(path).convert("RGB"), return_tensors="pt")["pixel_values"][0]
        return {"pixel_values": pixels, "labels": label}


def accuracy(predictions):
    return {"accuracy": float((predictions.predictions.argmax(-1) == predictions.label_ids).mean())}


def main():
    own, args = HfArgumentParser((Arguments, Config)).parse_args_into_dataclasses()
    names = sorted(path.name for path in Path(own.train).iterdir() if path.is_dir())
    found = [
        (path, label)
        for label, name in enumerate(names)
        for path in sorted(Path(own.train, name).iterdir())
        if path.suffix.lower() in KINDS
    ]
    every = max(2, round(1 / own.validation_fraction))
    processor = AutoImageProcessor.from_pretrained(own.model_name_or_path)
    model = AutoModelForImageClassification.from_pretrained(
        own.model_name_or_path,
        num_labels=len(names),
        id2label=dict(enumerate(names)),
        ignore_mismatched_sizes=True,
    )
    trainer = Trainer(
        model=model,
        args=args,
        train_dataset=Images([row for at, row in enumerate(found) if at % every], processor),
        eval_dataset=Images(found[::every], processor),
        compute_metrics=accuracy,
    )
    last = get_last_checkpoint(args.output_dir) if Path(args.output_dir).is_dir() else None
    trainer.train(resume_from_checkpoint=last)
    print(trainer.evaluate(), flush=True)
    model_dir = os.environ.get("SM_MODEL_DIR", "model")
    trainer.save_model(model_dir)
    processor.save_pretrained(model_dir)


if __name__ == "__main__":
    main()

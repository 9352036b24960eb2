"""A loop on Accelerate that saves and resumes by itself, as Hugging Face's run_glue_no_trainer does."""

import argparse
from pathlib import Path

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from transformers import DataCollatorWithPadding, get_linear_schedule_with_warmup

import tiny


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--output_dir")
    parser.add_argument("--resume_from_checkpoint")
    parser.add_argument("--save_steps", type=int, default=5)
    args, _ = parser.parse_known_args()
    accelerator = Accelerator(cpu=True)
    set_seed(42)
    tokenizer = tiny.tokenizer()
    dataset = tiny.dataset().map(lambda rows: tokenizer(rows["text"]), batched=True).remove_columns("text")
    loader = torch.utils.data.DataLoader(dataset, 8, shuffle=True, collate_fn=DataCollatorWithPadding(tokenizer))
    model = tiny.classifier(tokenizer, 42)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    schedule = get_linear_schedule_with_warmup(optimizer, 0, 2 * len(loader))
    model, optimizer, loader, schedule = accelerator.prepare(model, optimizer, loader, schedule)
    done = 0
    if args.resume_from_checkpoint:
        accelerator.load_state(args.resume_from_checkpoint)
        done = int(Path(args.resume_from_checkpoint).name.removeprefix("step_"))
    for epoch in range(done // len(loader), 2):
        skipped = done % len(loader)
        for batch in accelerator.skip_first_batches(loader, skipped) if skipped else loader:
            loss = model(**batch).loss
            accelerator.backward(loss)
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()
            done += 1
            print({"loss": float(loss.detach()), "epoch": epoch}, flush=True)
            if done % args.save_steps == 0:
                accelerator.save_state(str(Path(args.output_dir, f"step_{done}")))


if __name__ == "__main__":
    main()

"""An ordinary loop on Accelerate, and the lines of sm_spot."""

import sm_spot

import argparse
import re
from pathlib import Path

import torch
from accelerate import Accelerator, skip_first_batches
from accelerate.utils import DataLoaderConfiguration, set_seed
from transformers import DataCollatorWithPadding, get_linear_schedule_with_warmup

import tiny


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--output_dir")
    parser.add_argument("--per_device_train_batch_size", type=int, default=8)
    parser.add_argument("--num_train_epochs", type=int, default=2)
    parser.add_argument("--save_steps", type=int, default=5)
    args, _ = parser.parse_known_args()
    stop, checkpoints = sm_spot.StopRequest(), sm_spot.Checkpoints(args.output_dir, keep=2)
    # With several workers Accelerate shuffles by a generator of its own: the seedable one is a function of the epoch.
    accelerator = Accelerator(cpu=True, dataloader_config=DataLoaderConfiguration(use_seedable_sampler=True))
    set_seed(42)
    tokenizer = tiny.tokenizer()
    dataset = tiny.dataset().map(lambda rows: tokenizer(rows["text"], truncation=True, max_length=32), batched=True)
    loader = torch.utils.data.DataLoader(
        dataset.remove_columns("text"),
        batch_size=args.per_device_train_batch_size,
        shuffle=True,
        collate_fn=DataCollatorWithPadding(tokenizer),
    )
    model = tiny.classifier(tokenizer, 42)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    schedule = get_linear_schedule_with_warmup(optimizer, 0, args.num_train_epochs * len(loader))
    model, optimizer, loader, schedule = accelerator.prepare(model, optimizer, loader, schedule)
    step = 0
    newest = sm_spot.last_complete_checkpoint(args.output_dir)
    if newest:
        accelerator.load_state(newest)
        step = int(re.findall(r"\d+", newest)[-1])
    for epoch in range(step // len(loader), args.num_train_epochs):
        sm_spot.seed(42, "epoch", epoch)
        loader.set_epoch(epoch)  # the order of the examples
        batches = skip_first_batches(loader, step % len(loader)) if step % len(loader) else loader
        for batch in batches:
            sm_spot.seed(42, step, accelerator.process_index)  # dropout
            loss = model(**batch).loss
            accelerator.backward(loss)
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()
            step += 1
            sm_spot.say(sm_spot.metric_line({"loss": loss, "step": step}))
            stopping = stop.agreed()
            if stopping or step % args.save_steps == 0:
                accelerator.save_state(str(checkpoints.path(step)))
                checkpoints.seal_together(step)
            if stopping:
                raise sm_spot.Interrupted(f"after step {step}")
    accelerator.wait_for_everyone()
    if accelerator.is_main_process:
        accelerator.unwrap_model(model).save_pretrained(Path(args.output_dir, "model"))


if __name__ == "__main__":
    sm_spot.leave(sm_spot.exit_code_of(main))

"""Owns what every Trainer script adds to Trainer: proven checkpoints, exact resume, an orderly stop.

Must not know the task, the model or the data. Only public hooks of Trainer are used where there is one; those that are
not have been there, under the same names, since 4.6.
"""

from __future__ import annotations

import contextlib
import gc
import hashlib
from pathlib import Path
from typing import Any, Iterator, Mapping

from transformers import Trainer, TrainerCallback
from transformers.trainer_callback import PrinterCallback, ProgressCallback

from _batches import Layout
from _checkpoint import StopRequest
from _console import Console, Interrupted, Mistake, graphs_only
from _examples import PARTS, Examples, LikeLengths
from _filling import Filling
from _gauges import Gauges
from _peers import any_of_us, on_xla, seed_everything, wait_for_all, workers
from _proven import ProvenCheckpoints, step_of
from _report import Report

AGREE_STEPS = 5  # between two questions "was anybody asked to stop?"; each waits for the device


# --- callbacks ---


class Spot(TrainerCallback):  # type: ignore[misc]  # transformers is untyped here
    """Dropout as a function of (seed, step, worker), sealed checkpoints, and a stop after SIGTERM at a step's end."""

    def __init__(self, checkpoints: ProvenCheckpoints, stop: StopRequest, *, reseed: bool) -> None:
        self._checkpoints, self._stop, self._reseed = checkpoints, stop, reseed
        self._workers = workers()
        self.interrupted = False
        self.saved_step = 0

    def on_step_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:  # noqa: ARG002 - Trainer's signature
        if not self._reseed:
            return
        drawn = hashlib.sha256(f"{args.seed}/{state.global_step}/{args.process_index}".encode()).digest()
        seed_everything(int.from_bytes(drawn[:4], "big") >> 1)

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> Any:
        if state.global_step >= state.max_steps or (self._workers > 1 and state.global_step % AGREE_STEPS):
            return control
        if any_of_us(self._stop.seen, args.device):
            self.interrupted = True
            control.should_save = control.should_training_stop = True
            control.should_evaluate = False
        return control

    def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:  # noqa: ARG002 - Trainer's signature
        wait_for_all()  # every worker has written its own random state
        if state.is_world_process_zero and self._checkpoints.seal(state.global_step):
            self.saved_step = state.global_step
        wait_for_all()


class EpochOf(TrainerCallback):  # type: ignore[misc]  # transformers is untyped here
    """Tells the data which epoch it is read in."""

    def __init__(self, dataset: Any) -> None:
        self._dataset = dataset

    def on_epoch_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:  # noqa: ARG002 - Trainer's signature
        self._dataset.epoch = int(state.epoch or 0)


# --- the trainer ---


class SpotTrainer(Trainer):  # type: ignore[misc]  # transformers is untyped here
    """Trainer that outlives a full disk, and that evaluates every example also where training drops the last ones."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._groups = asked_to_group(self.args)
        # Trainer 5 believes every model that takes **kwargs to divide its loss by the number of labels in the whole
        # step. BERT's heads do not: with several workers or micro-batches their gradients came out a multiple.
        self.model_accepts_loss_kwargs = False

    def _save_checkpoint(self, *args: Any, **kwargs: Any) -> None:
        try:
            super()._save_checkpoint(*args, **kwargs)
        except Exception as error:  # whatever the writers raise; a bug of ours would show in the next line and the seal
            if not _disk_refused(error):
                raise
            state_file = Path(self.args.output_dir, f"checkpoint-{self.state.global_step}", "trainer_state.json")
            with contextlib.suppress(OSError):
                state_file.unlink()  # unsealable: what is there is not whole

    collate_evaluation: Any = None  # where held-out examples are put together in another way

    def get_eval_dataloader(self, *args: Any, **kwargs: Any) -> Any:
        with self._collating_evaluation():
            return super().get_eval_dataloader(*args, **kwargs)

    def get_test_dataloader(self, *args: Any, **kwargs: Any) -> Any:
        with self._collating_evaluation():
            return super().get_test_dataloader(*args, **kwargs)

    @contextlib.contextmanager
    def _collating_evaluation(self) -> Iterator[None]:
        before: Any = self.__dict__["data_collator"]
        self.data_collator = self.collate_evaluation or before
        try:
            yield
        finally:
            self.data_collator = before

    gauges: Any = None
    order: Any = None  # a sampler, where the examples' lengths decide who shares a step

    def group_lengths(self, examples: Examples) -> None:
        """Unless --group_by_length is False: less padding, on XLA none; everywhere the same steps.

        Before 4.31 Trainer gives each worker a sampler of its own; later accelerate deals out batches in turn."""
        if not self._groups:
            return
        args = self.args
        layout = Layout(args.train_batch_size, args.world_size, args.gradient_accumulation_steps)
        alone = args.world_size > 1 and not hasattr(self, "accelerator")
        self.order = LikeLengths(examples, layout, args.seed, args.process_index if alone else None)
        self.add_callback(EpochOf(examples))

    def _get_train_sampler(self, *args: Any, **kwargs: Any) -> Any:
        return self.order or super()._get_train_sampler(*args, **kwargs)

    share = 1.0  # of a batch: what the part that is computed now weighs

    def training_step(self, model: Any, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """A batch in parts is computed part by part: their gradients add up to those of the whole, their losses too."""
        if PARTS not in inputs:
            return super().training_step(model, inputs, *args, **kwargs)
        sizes = [len(part["input_ids"]) for part in inputs[PARTS]]
        losses = []
        for number, part in enumerate(inputs[PARTS], 1):
            self.share = sizes[number - 1] / sum(sizes)
            waits = number < len(sizes) and hasattr(model, "no_sync")  # only the last part talks to the other workers
            with model.no_sync() if waits else contextlib.nullcontext():
                losses.append(super().training_step(model, part, *args, **kwargs))
        self.share = 1.0
        return sum(losses)

    def compute_loss(self, *args: Any, **kwargs: Any) -> Any:
        found = super().compute_loss(*args, **kwargs)
        return found if self.share == 1.0 else found * self.share

    def floating_point_ops(self, inputs: Any) -> int:  # noqa: ARG002 - Trainer's signature
        return 0  # an estimate that no line of ours shows, made by walking through all modules in each step

    def evaluate(self, *args: Any, **kwargs: Any) -> Any:
        with _whole(self.args), _unwatched(self.gauges):
            return super().evaluate(*args, **kwargs)

    def predict(self, *args: Any, **kwargs: Any) -> Any:
        with _whole(self.args):
            return super().predict(*args, **kwargs)


def asked_to_group(args: Any) -> bool:
    """Takes the wish over: Trainer would look for lengths in the examples, which here are numbers, in evaluation too."""
    strategy = getattr(args, "train_sampling_strategy", "random")
    if strategy == "batch_rebalance":
        raise Mistake(f"--train_sampling_strategy: got {strategy!r}, wanted random, sequential or group_by_length")
    if strategy == "group_by_length":
        args.train_sampling_strategy = "random"
        return True
    groups = bool(getattr(args, "group_by_length", False))
    if groups:
        args.group_by_length = False
    return groups


def _disk_refused(error: Exception) -> bool:
    """Python raises OSError for it; torch's writer a RuntimeError, safetensors' an error of its own."""
    words = ("no space left", "file too large", "disk quota", "writer failed", "write failed", "i/o error")
    return isinstance(error, OSError) or any(word in str(error).lower() for word in words)


@contextlib.contextmanager
def _whole(args: Any) -> Iterator[None]:
    before, args.dataloader_drop_last = args.dataloader_drop_last, False
    try:
        yield
    finally:
        args.dataloader_drop_last = before


@contextlib.contextmanager
def _unwatched(gauges: Gauges | None) -> Iterator[None]:
    """What evaluation compiles is not counted as training's."""
    if gauges is not None:
        gauges.pause()
    yield
    if gauges is not None:
        gauges.resume()


def silence(trainer: Any) -> None:
    """Trainer's own printers: one rounds to words, the other draws bars."""
    for printer in (PrinterCallback, ProgressCallback):
        trainer.remove_callback(printer)


def samples_per_step(args: Any) -> int:
    return int(args.per_device_train_batch_size * args.gradient_accumulation_steps * args.world_size)


def check_size(name: str, samples: int, args: Any) -> None:
    if samples < samples_per_step(args):
        raise Mistake(
            f"{name}: got {samples} examples, wanted at least {samples_per_step(args)} (= "
            f"{args.per_device_train_batch_size} per device x {args.world_size} workers x "
            f"{args.gradient_accumulation_steps} micro-batches); lower --per_device_train_batch_size"
        )


def identity_of(args: Any, **more: Any) -> dict[str, Any]:
    """Two runs with the same identity are the same run."""
    same = ("seed", "learning_rate", "weight_decay", "max_grad_norm", "num_train_epochs", "max_steps")
    return {**{name: getattr(args, name) for name in same}, "samples_per_step": samples_per_step(args), **more}


def train(
    trainer: Any,
    own: Any,
    identity: Mapping[str, Any],
    console: Console,
    stop: StopRequest,
    *,
    tokens_per_sample: int,
    resumable: bool = True,
) -> None:
    """From the newest proven checkpoint to the end; raises Interrupted after a SIGTERM, when all is saved.

    A trainer that is not `resumable` begins anew, puts the checkpoints it finds aside, and draws as its library does.
    """
    args = trainer.args
    identity = {**identity, "group_by_length": getattr(trainer, "order", None) is not None}
    checkpoints = ProvenCheckpoints(Path(args.output_dir), identity, console, args.save_total_limit or 2)
    args.save_total_limit = None  # Trainer would delete the old one before the new one is proven
    spot = Spot(checkpoints, stop, reseed=resumable)
    trainer.add_callback(spot)
    trainer.gauges = Gauges(args.device, xla=on_xla(), is_main=args.process_index == 0)
    collator = getattr(trainer, "data_collator", None)
    filling = collator if isinstance(collator, Filling) else Filling()
    trainer.add_callback(Report(console, spot, trainer.gauges, filling, (samples_per_step(args), tokens_per_sample)))
    if own.overwrite_output_dir and own.checkpoint_dir is None and args.process_index == 0 and not graphs_only():
        checkpoints.forget()
    wait_for_all()
    newest = None if graphs_only() else checkpoints.newest()
    if newest and not resumable:
        console.say(f"{newest.name} is put aside: this trainer cannot go on from a checkpoint")
        newest = None
    wait_for_all()  # all have looked before anything is moved
    if args.process_index == 0 and not graphs_only():
        checkpoints.put_aside_newer(newest)
    wait_for_all()
    console.say(f"{'resuming after step ' + str(step_of(newest)) if newest else 'from the start'}")
    gc.freeze()  # what is loaded by now stays: collecting garbage, as Trainer does first, need not look at it
    try:
        trainer.train(resume_from_checkpoint=str(newest) if newest else None)
    finally:
        gc.unfreeze()
    if spot.interrupted:
        kept = f"saved in {args.output_dir}" if spot.saved_step == trainer.state.global_step else "not saved"
        raise Interrupted(f"after step {trainer.state.global_step} of {trainer.state.max_steps}; {kept}")


def save(trainer: Any, tokenizer: Any, folder: Path) -> None:
    """Weights, configuration and tokenizer, as `from_pretrained` reads them; the main worker writes."""
    if graphs_only():
        return
    trainer.save_model(str(folder))
    if trainer.args.process_index == 0:
        tokenizer.save_pretrained(str(folder))

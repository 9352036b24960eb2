"""Fine-tune Llama or TinyLlama: with optimum-neuron on Trainium (TP, PP, sequence parallel, ZeRO-1), else plain Trainer.

    python finetune_llama.py --model_name_or_path tiny-llama --num_train_epochs 2 --learning_rate 0.002
    torchrun --nproc_per_node=2 finetune_llama.py --model_name_or_path tiny-llama --max_steps 20
    torchrun --nproc_per_node=32 finetune_llama.py --model_name_or_path meta-llama/Llama-2-7b-chat-hf \
        --dataset_name wikitext --dataset_config_name wikitext-2-raw-v1 --block_size 2048 --bf16 True \
        --tensor_parallel_size 8 --zero_1 True --use_lora True
    neuron_parallel_compile torchrun --nproc_per_node=32 finetune_llama.py … --max_steps 5       # fills the cache first

Every argument of transformers' TrainingArguments, on Trainium of optimum-neuron's NeuronTrainingArguments, is a flag too.
In a SageMaker job the channels `train` and, if there is one, `validation` are found by themselves.
Exit code: 0 done; 2 a mistake in what was asked; 75 stopped by SIGTERM, run the same command again to continue.
optimum-neuron's trainer does not evaluate and cannot go on from a checkpoint: there a run begins anew, and says so.
"""

from __future__ import annotations

import argparse
import os
from typing import Any, Sequence

import torch

from _args import add_folders, parse_flags, trainer_defaults
from _arguments import Parser, fraction, integer, str2bool
from _checkpoint import StopRequest
from _console import Console, Mistake, exit_code_of, leave
from _corpus import Blocks, NextToken, pack, read_texts
from _llama import add_lora, load_llama, load_llama_tokenizer, loading_turns
from _models import longest_input
from _neuron_library import NeuronLibrary, find_neuron_library
from _scores import perplexity

# --- arguments ---


def make_parser() -> Parser:
    channel = {name: os.environ.get("SM_CHANNEL_" + name) for name in ("TRAIN", "TRAINING", "VALIDATION", "TEST")}
    parser = Parser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False)
    add = parser.add_argument
    default = "TinyLlama/TinyLlama-1.1B-Chat-v1.0"
    add("--model_name_or_path", "--model_id", default=default, help="hub id, local folder, or tiny-llama")
    add("--tokenizer_name", help="default: the model's")
    add("--dataset_name", help="of the Hugging Face hub, or `sample`")
    add("--dataset_config_name")
    add("--train_file", default=channel["TRAIN"] or channel["TRAINING"], help="txt, csv, jsonl, parquet; or a folder")
    add("--validation_file", default=channel["VALIDATION"] or channel["TEST"])
    add("--validation_split_percentage", type=integer(1), default=5, help="held out where there is nothing to hold out")
    add("--text_column", help="default: text, content or sentence")
    add("--block_size", type=integer(2), default=2048, help="tokens per example, at most what the model takes")
    add("--max_train_samples", type=integer(1), help="blocks at most")
    add("--max_eval_samples", type=integer(1), help="blocks at most")
    add("--sft", type=str2bool, default=False, help="on Trainium: pack with NeuronSFTTrainer instead of by ourselves")
    add(
        "--use_lora", type=str2bool, nargs="?", const=True, default=False, help="train small additions only; needs peft"
    )
    add("--lora_r", type=integer(1), default=16)
    add("--lora_alpha", type=integer(1), default=32)
    add("--lora_dropout", type=fraction, default=0.05)
    add("--lora_target_modules", nargs="+", default=["q_proj", "k_proj", "v_proj", "o_proj"])
    add_folders(parser)
    return parser


def parse_arguments(argv: Sequence[str] | None, library: NeuronLibrary | None) -> tuple[Any, Any, list[str]]:
    """Our own arguments, TrainingArguments or NeuronTrainingArguments, and what was translated."""
    defaults = {**trainer_defaults(), "per_device_train_batch_size": 1, "learning_rate": 2e-4}
    if library is None:
        own, args, notes = parse_flags(make_parser(), argv, {**defaults, "prediction_loss_only": True})
    else:
        del defaults["optim"]  # the library chooses one that keeps master weights
        own, args, notes = parse_flags(make_parser(), argv, defaults, library.arguments_class)
    args.output_dir = str(own.checkpoint_dir or own.output_dir)
    return own, args, notes


# --- data ---


def block_size_of(own: argparse.Namespace, config: Any) -> int:
    takes = longest_input(config)
    return int(min(own.block_size, takes) if takes else own.block_size)


# --- main ---


def run(own: argparse.Namespace, args: Any, notes: list[str], stop: StopRequest, library: NeuronLibrary | None) -> None:
    from _trainer import SpotTrainer, check_size, identity_of, save, silence, train  # seconds, so not before

    console = Console(is_main=args.process_index == 0)
    for note in notes:
        console.say(note)
    with loading_turns(args):
        tokenizer = load_llama_tokenizer(own)
    torch.manual_seed(args.seed)
    with loading_turns(args):
        model = library.load_model(own, args) if library else load_llama(own, tokenizer, args)
    if own.use_lora and not (library and own.sft):
        model = add_lora(own, model, library)
    block_size = block_size_of(own, model.config)
    texts = read_texts(own)
    blocks, held_out = (
        Blocks(pack(part, tokenizer, block_size)[:limit])
        for part, limit in zip(texts, (own.max_train_samples, own.max_eval_samples))
    )
    check_size("data", len(blocks), args)
    if library is None:
        if args.do_eval and not len(held_out):
            raise Mistake(f"--block_size: got {block_size}, wanted at most the tokens held out")
        trainer = SpotTrainer(
            model=model,
            args=args,
            train_dataset=blocks,
            eval_dataset=held_out,
            data_collator=NextToken(blocks),
        )
        trainer.collate_evaluation = NextToken(held_out)
    elif own.sft:
        trainer = library.sft_trainer(own, args, model, tokenizer, texts=texts.train, block_size=block_size)
    else:
        trainer = library.trainer(args, model, tokenizer, blocks, NextToken(blocks))
    silence(trainer)
    trainable = sum(weight.numel() for weight in model.parameters() if weight.requires_grad)
    console.say(
        f"{own.model_name_or_path} with {'optimum-neuron' if library else 'Trainer'} on {args.device}, "
        f"{args.world_size} replica(s), {trainable} weights to train: {len(blocks)} blocks of {block_size} tokens"
    )
    same = identity_of(args, model=own.model_name_or_path, data=blocks.fingerprint(), lora=own.use_lora)
    train(trainer, own, same, console, stop, tokens_per_sample=block_size, resumable=library is None)
    if args.do_eval and library is None:
        loss = float(trainer.evaluate()["eval_loss"])
        console.metrics(
            {"eval_perplexity": perplexity(loss), "eval_samples": len(held_out), "step": trainer.state.global_step}
        )
    save(trainer, tokenizer, own.output_dir)
    if library and (args.tensor_parallel_size > 1 or args.pipeline_parallel_size > 1):
        console.say(
            f"{own.output_dir} holds the shards of each worker; `optimum-cli neuron consolidate` makes one model"
        )


def main(argv: Sequence[str] | None = None) -> None:
    stop = StopRequest()
    stop.install()
    library = find_neuron_library()
    own, args, notes = parse_arguments(argv, library)
    run(own, args, notes, stop, library)


if __name__ == "__main__":
    leave(exit_code_of(main))

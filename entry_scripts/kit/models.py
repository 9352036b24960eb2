"""Tokenizers, configurations and models by their names: of the hub, of a folder, or tiny ones that
need no network.
"""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any, Iterator

from kit.device import choose, loading_turn
from sm_spot import UsageError, first_line, tell

import torch
import transformers
from transformers import AutoConfig, AutoTokenizer, set_seed
from transformers.models.auto import modeling_auto

TINY_RANDOM = Path(__file__).resolve().parent.parent / "tiny_random"
TINY = {"tiny-random": "bert", "tiny-bert": "bert", "tiny-gpt2": "gpt2", "tiny-llama": "llama"}
# Whose positions start after the padding's.
AFTER_PADDING = (
    "camembert",
    "data2vec-text",
    "esm",
    "ibert",
    "longformer",
    "luke",
    "mpnet",
    "roberta",
    "roberta-prelayernorm",
    "xlm-roberta",
    "xlm-roberta-xl",
    "xmod",
)
# Made to fill gaps; transformers can also train them to foretell the next token.
MASKED = (
    "bert",
    "big_bird",
    "camembert",
    "data2vec-text",
    "electra",
    "ernie",
    "megatron-bert",
    "rembert",
    "roberta",
    "roberta-prelayernorm",
    "roc_bert",
    "roformer",
    "xlm-roberta",
    "xlm-roberta-xl",
    "xmod",
)
# as of BART and its like, their heads see what they are asked for
UNSHIFTED = (
    "flaubert",
    "xlm",
    "xlnet",
)


@contextlib.contextmanager
def loading(name: str) -> Iterator[None]:
    """Around what loads a model's parts: a name that does not load is the user's to put right."""
    try:
        yield
    except (OSError, ValueError, KeyError, ImportError) as error:
        raise UsageError(
            f"--model: got {name!r}, which does not load ({first_line(error)}); wanted a model of the Hugging Face hub, a "
            "folder with one, or 'tiny-random' (needs no network)"
        ) from error


def hub_options(model_args: Any, *, trust_remote_code: bool = False) -> dict[str, Any]:
    """What `from_pretrained` is to know beside a name; nothing where no flag was given."""
    options = {
        "revision": model_args.model_revision,
        "token": model_args.token,
        "cache_dir": model_args.cache_dir,
        "trust_remote_code": trust_remote_code or None,
    }
    return {name: value for name, value in options.items() if value not in {None, "main"}}


def attention(chosen: str | None) -> dict[str, str]:
    """For `from_pretrained`. On XLA SDPA looks into its mask on the host: one more graph and wait
    in every step.
    """
    if chosen is None and choose() == "xla":
        chosen = "eager"
    return {} if chosen is None else {"attn_implementation": chosen}


def load_tokenizer(name: str, **hub: Any) -> Any:
    """`hub` is what `from_pretrained` takes: revision, token, cache_dir, trust_remote_code."""
    transformers.utils.logging.disable_progress_bar()  # a job's log is read as lines
    with loading(name):
        tokenizer = AutoTokenizer.from_pretrained(str(TINY_RANDOM) if name in TINY else name, **hub)
    if tokenizer.pad_token is None:  # GPT-like models
        if tokenizer.eos_token is None:
            got = f"got {name!r}, which has neither a pad token nor an end token"
            raise UsageError(f"tokenizer: {got}; wanted one of them")
        tokenizer.pad_token = tokenizer.eos_token
    return tokenizer


def load_config(name: str, tokenizer: Any, **options: Any) -> Any:
    where = name
    if name in TINY:
        where = str(TINY_RANDOM / f"{TINY[name]}.json")
    with loading(name):
        config = AutoConfig.from_pretrained(where, **options)
    if name in TINY:
        config._name_or_path = ""  # noqa: SLF001 - peft would look for the file there, and on the hub
    if config.pad_token_id is None:
        config.pad_token_id = tokenizer.pad_token_id
    return config


def load_model(
    auto: Any, name: str | None, config: Any, tokenizer: Any = None, **options: Any
) -> Any:
    """`auto` is one of transformers' AutoModelFor…; without a name, or with a tiny one, the weights
    are new: seed first.

    Always in float32: a checkpoint in half precision would else be trained in it. Every token has
    its embedding.
    """
    check_head(auto, name, config)
    with loading(name or config.model_type):
        if name is None or name in TINY:
            for flag in ("revision", "token", "cache_dir", "ignore_mismatched_sizes"):
                options.pop(flag, None)
            model = auto.from_config(config, **options)
        else:
            model = auto.from_pretrained(name, config=config, **options)
    embeddings = model.get_input_embeddings()
    rows = getattr(embeddings, "num_embeddings", None)
    if (
        tokenizer is not None
        and rows is not None
        and rows == getattr(config, "vocab_size", None)
        and rows < len(tokenizer)
    ):
        model.resize_token_embeddings(len(tokenizer))
        tell(
            f"embeddings: {len(tokenizer)} rows instead of {rows}, as the tokenizer has tokens; new ones are untrained"
        )
    return model.to(torch.float32)


def check_head(auto: Any, name: str | None, config: Any) -> None:
    """A causal model must not see what it is asked for: refuse those that do, and make masked ones
    look back only.
    """
    if auto is not transformers.AutoModelForCausalLM:
        return
    if config.model_type in UNSHIFTED or config.is_encoder_decoder:
        wanted = "wanted one that foretells the next token from those before it, such as gpt2"
        raise UsageError(
            f"--model: got {name or config.model_type!r}, of the type {config.model_type}; {wanted}"
        )
    if config.model_type in MASKED:
        config.is_decoder = True


def masked_by_nature(config: Any) -> bool:
    if config.model_type in modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES:
        return config.model_type in MASKED
    return config.model_type in modeling_auto.MODEL_FOR_MASKED_LM_MAPPING_NAMES


def tokenizer_of(model_args: Any) -> Any:
    with loading_turn():
        name = model_args.tokenizer_name or model_args.model_name_or_path
        return load_tokenizer(name, **model_args.hub())


def config_of(model_args: Any, tokenizer: Any, **head: Any) -> Any:
    """`head` is what the task adds: labels, or that they are numbers."""
    name = model_args.config_name or model_args.model_name_or_path
    return load_config(name, tokenizer, **head, **model_args.hub())


def model_of(
    auto: Any, model_args: Any, config: Any, tokenizer: Any, args: Any, **options: Any
) -> Any:
    """On the worker's device. What is new, a head or all of a tiny model, is drawn from the seed."""
    options.update(attention(model_args.attn_implementation), **model_args.hub())
    with loading_turn():
        set_seed(args.seed)
        model = load_model(auto, model_args.model_name_or_path, config, tokenizer, **options)
        return model.to(args.device)


def length_of(flag: str, asked: int | None, default: int, config: Any) -> int:
    """What is asked for, if the model takes it; else as much of the default as it takes."""
    takes = longest_input(config)
    if takes is None:
        return asked or default
    if asked and asked > takes:
        raise UsageError(f"--{flag}: got {asked}, wanted at most {takes}, which the model takes")
    return asked or min(default, takes)


def longest_input(config: Any) -> int | None:
    """The most tokens the model has positions for, where its configuration says so."""
    longest = getattr(config, "max_position_embeddings", None)
    if longest is None or longest <= 0:  # XLNet's is -1
        return None
    if config.model_type in AFTER_PADDING:
        longest -= config.pad_token_id + 1
    return int(longest)

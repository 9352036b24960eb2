"""The first steps of a new project, on the emulator: a few rows, a tiny model of the same architecture, a few steps."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ..core import _entry
from ..core.errors import NotConfigured
from ..core.session.handles import Session
from ..core.specs.compute import Compute
from ..core.specs.framework import TorchNeuron
from ..core.specs.job import HyperValue, JobSpec
from ..core.specs.snapshot import JobStatus
from . import reading
from .template import Project, Template

# Small values of what configurations call their sizes; a configuration gets those that it has.
SMALL: Mapping[str, int] = MappingProxyType(
    {
        **dict.fromkeys(
            ("hidden_size", "d_model", "n_embd", "dim", "embedding_size", "hidden_dim", "word_embed_proj_dim"), 64
        ),
        **dict.fromkeys(("intermediate_size", "ffn_dim", "n_inner", "moe_intermediate_size", "d_ff"), 128),
        **dict.fromkeys(
            ("encoder_ffn_dim", "decoder_ffn_dim", "shared_expert_intermediate_size", "ffn_hidden_size"), 128
        ),
        **dict.fromkeys(
            ("num_hidden_layers", "n_layer", "n_layers", "num_layers", "encoder_layers", "decoder_layers"), 2
        ),
        **dict.fromkeys(("num_attention_heads", "n_head", "n_heads", "num_heads"), 4),
        **dict.fromkeys(("encoder_attention_heads", "decoder_attention_heads"), 4),
        **dict.fromkeys(("num_key_value_heads", "num_kv_heads"), 2),
        "head_dim": 16,
        **dict.fromkeys(("num_experts", "num_local_experts", "n_routed_experts"), 4),
        "num_experts_per_tok": 2,
        **dict.fromkeys(("max_position_embeddings", "n_positions", "max_seq_len"), 512),
        "image_size": 32,
        "patch_size": 8,
    }
)
# Models whose name does not hold the name of their architecture, as their config.json says it: their cards on the hub.
NAMED_OTHERWISE: Mapping[str, str] = MappingProxyType(
    {
        "smollm2": "llama",
        "smollm": "llama",
        "tinyllama": "llama",
        "vicuna": "llama",
        "zephyr": "mistral",
        "mathstral": "mistral",
        "qwen25": "qwen2",
        "qwen15": "qwen2",
        "pythia": "gpt_neox",
        "dolly": "gpt_neox",
        "distilgpt2": "gpt2",
        "distilroberta": "roberta",
        "phi4": "phi3",
        "phi35": "phi3",
        "minilm": "bert",
        "bge": "bert",
    }
)
COPY = "000000000000.dkr.ecr.us-west-2.amazonaws.com/copy:1"  # no page read here tags TorchNeuron's image (2026-10-16)
SPECIAL = ("pad", "unk", "cls", "sep", "mask")
CHAT = (
    "{% for message in messages %}{{ message['role'] + ' : ' + message['content'] + ' ' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ 'assistant : ' }}{% endif %}"
)


def model_type(model: str, head: str) -> str:
    """transformers' name of the model's architecture: of a folder its config.json's, else the one that the name holds.

    Raises NotConfigured where transformers has none of that name for this kind of training.
    """
    from transformers.models.auto import modeling_auto  # noqa: PLC0415 - seconds

    tables = {
        "CausalLM": modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
        "SequenceClassification": modeling_auto.MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING_NAMES,
        "QuestionAnswering": modeling_auto.MODEL_FOR_QUESTION_ANSWERING_MAPPING_NAMES,
        "ImageClassification": modeling_auto.MODEL_FOR_IMAGE_CLASSIFICATION_MAPPING_NAMES,
    }
    known: Mapping[str, object] = tables[head]
    config = Path(model, "config.json")
    if config.is_file():
        named_type = str(json.loads(config.read_text("utf-8")).get("model_type", ""))
        if named_type in known:
            return named_type
        raise NotConfigured(
            f"model: got the architecture {named_type!r} in {config}, which transformers has no AutoModelFor{head} of"
        )
    named = model.rstrip("/").split("/")[-1].lower()
    for word, found in NAMED_OTHERWISE.items():
        if found in known and _names(named, word):
            return found
    held = [each for each in known if len(each) > 2 and _names(named, each)]
    if not held:
        raise NotConfigured(
            f"model: got {model!r}, whose architecture its name does not tell; name a folder with its config.json in --model"
        )
    return max(held, key=len)


def _names(model: str, word: str) -> bool:
    """Return True if a model's name holds the word, however it is hyphened, and not as a part of a longer one."""
    letters = "[^a-z0-9]*".join(re.findall("[a-z0-9]", word.lower()))
    return re.search(f"(?<![a-z0-9]){letters}(?![a-z])", model) is not None


def make(architecture: str, template: Template, folder: Path) -> int:
    """Write a tiny model of the architecture, and the package's small tokenizer, into ``folder``; returns its parameters.

    Raises NotConfigured for an architecture that has no small form.
    """
    import torch  # noqa: PLC0415 - seconds
    import transformers  # noqa: PLC0415 - as above

    transformers.utils.logging.disable_progress_bar()
    torch.manual_seed(0)
    try:
        config = small_config(architecture)
        model = getattr(transformers, f"AutoModelFor{template.head}").from_config(config)
    except Exception as error:
        raise NotConfigured(f"model: transformers makes no small {architecture!r} ({error})") from error
    model.save_pretrained(folder)
    if template.head == "ImageClassification":
        side = SMALL["image_size"]
        processor = {"image_processor_type": "ViTImageProcessor", "size": {"height": side, "width": side}}
        Path(folder, "preprocessor_config.json").write_text(json.dumps(processor), "utf-8")
    else:
        tokenizer().save_pretrained(folder)
    return sum(weights.numel() for weights in model.parameters())


def small_config(architecture: str) -> Any:
    """The architecture's configuration with small sizes."""
    from transformers import AutoConfig  # noqa: PLC0415 - seconds

    default = AutoConfig.for_model(architecture)
    text = default.get_text_config()
    names = {name for name in vars(text) if name in SMALL} | {name for name in text.attribute_map if name in SMALL}
    sizes: dict[str, object] = {name: SMALL[name] for name in names if isinstance(getattr(text, name, None), int)}
    if isinstance(getattr(text, "layer_types", None), list):
        sizes["layer_types"] = text.layer_types[:2]
    words = tokenizer()
    sizes["pad_token_id"] = words.pad_token_id
    sizes["bos_token_id"] = sizes["eos_token_id"] = words.sep_token_id
    if isinstance(getattr(text, "vocab_size", None), int):
        sizes["vocab_size"] = len(words)
    return type(text)(**sizes)


def tokenizer() -> Any:
    """The small tokenizer of the entry scripts, with a plain chat template."""
    from transformers import PreTrainedTokenizerFast  # noqa: PLC0415 - seconds

    special = {f"{kind}_token": f"[{kind.upper()}]" for kind in SPECIAL} | {"eos_token": "[SEP]"}
    file = str(_entry.scripts_folder() / "tiny_random" / "tokenizer.json")
    made = PreTrainedTokenizerFast(tokenizer_file=file, model_max_length=512, **special)
    made.chat_template = CHAT
    return made


CHANNEL = "model"
MODEL_PLACE = f"/opt/ml/input/data/{CHANNEL}"
ROWS = 64
LENGTH = 16  # tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstSteps:
    """The outcome: the emulated job, its losses in order, what was trained; ``failure`` is empty where it completed."""

    name: str
    model: str
    losses: tuple[float, ...]
    failure: str = ""

    @property
    def completed(self) -> bool:
        """Return True if the job ended well."""
        return not self.failure

    def __str__(self) -> str:
        if self.failure:
            lines = [line for line in self.failure.split("\n") if not line.startswith(("ExitCode", "Command"))]
            return f"EMULATED {self.name} failed on {self.model}: {' '.join(lines)}"
        losses = f"loss {self.losses[0]:.3g} → {self.losses[-1]:.3g}" if len(self.losses) > 1 else "completed"
        return f"EMULATED {self.name} completed on this machine: {self.model}, {losses}"


def take(project: Project, job: JobSpec, session: Session) -> FirstSteps:
    """Run the job's first steps on the emulator of ``session``. Raises NotConfigured where no tiny model is known."""
    with tempfile.TemporaryDirectory(prefix="sm-trn-first-steps-") as folder:
        small, model = shrunk(project, job, Path(folder))
        run = session.submit(small)
        snapshot = session.wait([run], progress=False)[0]
    reason = (snapshot.failure_reason or snapshot.status_word).strip()
    failure = "" if snapshot.status is JobStatus.COMPLETED else reason
    losses = tuple(point.value for point in run.points() if point.name == "loss")
    return FirstSteps(name=run.name, model=model, losses=losses, failure=failure)


def shrunk(project: Project, job: JobSpec, folder: Path) -> tuple[JobSpec, str]:
    """The job with a few rows of its data and, where its model is public, a tiny one; and what it then trains, in words.

    Raises NotConfigured.
    """
    template, data = project.template, Path(project.request.data)
    own = project.request.script is not None
    if reading.in_s3(project.request.data):
        raise NotConfigured("first steps: the data lies in S3; name some of it on this machine in --data to try them")
    rows = data if own and data.is_dir() else reading.few(data, folder / "train", ROWS)
    inputs = {"train": str(rows)}
    given: dict[str, HyperValue] = {**job.hyperparameters}
    model = "your script as it is"
    if not own:
        model = f"{template.script} with {ROWS} rows"
        given |= template.few
        given.pop("bf16", None)
        if template.length_argument and template.length_argument not in template.few:
            given[template.length_argument] = min(LENGTH, int(given[template.length_argument]))
    if template.head:
        architecture = model_type(str(given[template.model_argument]), template.head)
        weights = make(architecture, template, folder / CHANNEL)
        given[template.model_argument] = MODEL_PLACE
        inputs[CHANNEL] = str(folder / CHANNEL)
        model = f"a {architecture} of {weights:,} weights, {ROWS} rows"
    small = job.replace(
        name=f"{job.name[:30]}-first-steps",
        inputs=inputs,
        hyperparameters=given,
        compute=Compute(job.compute.instance),
        distribution=None,
        image_uri=job.image_uri or (COPY if isinstance(job.framework, TorchNeuron) else None),
        max_run_s=min(job.max_run_s, 1800),
    )
    return small, model

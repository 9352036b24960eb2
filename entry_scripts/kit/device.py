"""One runtime for every device: CPU, CUDA, SMDDP, Trainium (XLA on trn1, native on trn2 and later), the Training Compiler.

    runtime = detect()                   for a loop of your own: it connects the workers
    runtime = detect(connect=False)      beside Trainer, which connects them: first ask TrainingArguments for its device

Only cpu/gloo and (one worker) XLA on CPU have been run by the authors; the others follow their documentation.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import importlib.util
import inspect
import json
import math
import os
import shutil
import socket
import subprocess
import threading
import time
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, Iterator, Mapping, MutableMapping, Sequence

from sm_spot import UsageError, first_line, place, tell

import torch
import torch.distributed as dist

NAMES = ("cpu", "cuda", "smddp", "neuron", "xla")
COLLECTIVES = {"cpu": "gloo", "cuda": "nccl", "smddp": "smddp", "neuron": "neuron"}
NEURON_DEVICE = Path("/dev/neuron0")
# Set before torch_xla is imported, and only where the job has not set them itself. Values as in AWS's own training
# samples: https://awsdocs-neuron.readthedocs-hosted.com. The compiler's default cache is lost with the machine.
NEURON_DEFAULTS = {
    "NEURON_CC_FLAGS": "--model-type=transformer --retry_failed_compilation",
    "NEURON_COMPILE_CACHE_URL": "/var/tmp/neuron-compile-cache",  # noqa: S108 - the compiler's own default
    "NEURON_FUSE_SOFTMAX": "1",
    "NEURON_RT_ASYNC_EXEC_MAX_INFLIGHT_REQUESTS": "3",
    "NEURON_RT_STOCHASTIC_ROUNDING_EN": "1",
    "NEURON_RT_STOCHASTIC_ROUNDING_SEED": "0",
    "TOKENIZERS_PARALLELISM": "false",
}
EFA = {"FI_PROVIDER": "efa", "FI_EFA_USE_DEVICE_RDMA": "1", "FI_EFA_FORK_SAFE": "1"}  # between machines
LOADING_AT_ONCE = "SM_TRN_LOADING_AT_ONCE"  # workers of a machine; 8 as in optimum-neuron's num_local_ranks_per_step


# --- choosing ---


def choose(environ: Mapping[str, str] = os.environ) -> str:
    """The runtime's name; starts nothing. torch_xla being importable is no reason to use it: evidence is."""
    asked = environ.get("SM_TRN_RUNTIME")
    if asked:
        if asked not in NAMES:
            raise UsageError(f"SM_TRN_RUNTIME: got {asked!r}, wanted one of {', '.join(NAMES)}")
        return asked
    # Inferentia's older torch_neuron also adds torch.neuron, without a device in it.
    if getattr(getattr(torch, "neuron", None), "is_available", bool)():
        return "neuron"
    # A launcher that speaks XLA, a Neuron device, or the Training Compiler's own flag.
    evidence = any(name.startswith(("PJRT_DEVICE", "GPU_NUM_DEVICES", "XRT_", "NEURON_RT_")) for name in environ)
    evidence = evidence or NEURON_DEVICE.exists() or framework_flag(environ, "sagemaker_training_compiler_enabled")
    if evidence and importlib.util.find_spec("torch_xla"):
        return "xla"
    if NEURON_DEVICE.exists():
        raise UsageError(
            f"device: got {NEURON_DEVICE} but neither torch.neuron nor torch_xla, wanted one of them; use an image with "
            "torch-neuronx, or set SM_TRN_RUNTIME=cpu to train on the CPU"
        )
    if not torch.cuda.is_available():
        return "cpu"
    wants_smddp = framework_flag(environ, "sagemaker_distributed_dataparallel_enabled")
    return "smddp" if wants_smddp and importlib.util.find_spec("smdistributed") else "cuda"


def framework_flag(environ: Mapping[str, str], name: str) -> bool:
    """SageMaker's toolkit passes its own hyperparameters as JSON in SM_FRAMEWORK_PARAMS."""
    return bool(json.loads(environ.get("SM_FRAMEWORK_PARAMS") or "{}").get(name, False))


def set_environment(environ: MutableMapping[str, str] = os.environ) -> str:
    """Set what is not set, before torch_xla is imported and workers are connected, and return the runtime's name."""
    name, here = choose(environ), place(environ)
    if name == "xla":
        for variable, value in {**NEURON_DEFAULTS, **(EFA if here.hosts > 1 else {})}.items():
            if not (variable == "NEURON_COMPILE_CACHE_URL" and "--cache_dir" in environ.get("NEURON_CC_FLAGS", "")):
                environ.setdefault(variable, value)
    elif name == "cpu":
        local = here.hosts == 1 or environ.get("MASTER_ADDR", "").startswith(("127.", "localhost"))
        if local and "lo" in (own for _, own in socket.if_nameindex()):
            environ.setdefault("GLOO_SOCKET_IFNAME", "lo")  # whatever the host name resolves to
    else:
        torch.set_float32_matmul_precision("high")  # TF32 where the GPU has it
    return name


# --- runtimes ---


def detect(environ: MutableMapping[str, str] = os.environ, *, connect: bool = True) -> Any:
    """The runtime that this process should use, or a UsageError. `SM_TRN_RUNTIME` decides when it is set."""
    name = set_environment(environ)
    return XlaRuntime(environ, connect=connect) if name == "xla" else TorchRuntime(name, environ, connect=connect)


class Runtime(ABC):
    """What a loop needs of a device and of the other workers."""

    name: str
    device: Any
    attention: str | None = None  # what transformers should compute it with; None: what it would choose

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._stand(environ)
        self._at_once = environ.get(LOADING_AT_ONCE, "8")
        if not self._at_once.isdigit() or int(self._at_once) < 1:
            raise UsageError(f"{LOADING_AT_ONCE}: got {self._at_once!r}, wanted a number of workers from 1 on")

    @abstractmethod
    def memory(self) -> float:
        """Bytes; 0 where the device does not say."""

    @abstractmethod
    def barrier(self) -> None:
        """Wait for all workers."""

    @abstractmethod
    def sum_over_workers(self, values: Sequence[Any]) -> list[float]:
        """One collective; waits for the device."""

    def _stand(self, environ: Mapping[str, str]) -> None:
        here = place(environ)
        self.rank, self.world_size, self.local_rank, self._here = here.rank, here.size, here.local_rank, here.here

    @property
    def is_main(self) -> bool:
        return self.rank == 0

    @property
    def on_neuron(self) -> bool:
        return self.name == "neuron/neuron" or (self.name == "xla" and NEURON_DEVICE.exists())

    @property
    def bf16(self) -> bool:
        """Whether the device computes in bfloat16 as fast as it can: Ampere and later, Neuron."""
        return self.on_neuron or (self.name.startswith("cuda") and torch.cuda.get_device_capability()[0] >= 8)

    @contextlib.contextmanager
    def loading_turn(self) -> Iterator[None]:
        """The first worker of a machine alone: it fills the caches. Then the others in waves: each holds a whole model on
        the host until it is on its device, so move it there inside. Inside there can be no collective.
        """
        size = int(self._at_once)
        own, waves = math.ceil(self.local_rank / size), 1 + math.ceil((self._here - 1) / size)
        for _ in range(own):
            self.barrier()
        yield  # after a failure in it nobody waits: the launcher ends the others
        for _ in range(waves - own):
            self.barrier()

    def compilations(self) -> tuple[int, float]:
        """Number of this process's compilations, and their seconds; none where nothing compiles."""
        return 0, 0.0


class TorchRuntime(Runtime):
    """torch.distributed on any device that torch itself knows: cpu/gloo, cuda/nccl, cuda/smddp, neuron/neuron."""

    def __init__(self, name: str, environ: MutableMapping[str, str], *, connect: bool = True) -> None:
        super().__init__(environ)
        kind = "cuda" if name == "smddp" else name
        self.name, self.device = f"{kind}/{COLLECTIVES[name]}", torch.device("cpu")
        if kind != "cpu":
            module = getattr(torch, kind)
            if self.local_rank >= module.device_count():
                wanted = f"below {module.device_count()}, the number of {kind} devices here; start fewer workers"
                raise UsageError(f"workers: got local rank {self.local_rank}, wanted {wanted} per machine")
            module.set_device(self.local_rank)
            self.device = torch.device(kind, self.local_rank)
        # On a CPU one flat all-reduce keeps the order of every sum, also after a resume: DDP re-cuts its buckets after the
        # first step, which with more than two workers changes the last bit. Accelerators gain more from overlap.
        self.overlap = kind != "cpu"
        if connect and self.world_size > 1:
            if name == "smddp":
                importlib.import_module("smdistributed.dataparallel.torch.torch_smddp")  # registers the backend
            bound = kind == "cuda" and "device_id" in inspect.signature(dist.init_process_group).parameters
            dist.init_process_group(COLLECTIVES[name], **({"device_id": self.device} if bound else {}))

    def barrier(self) -> None:
        if self.world_size > 1:
            dist.barrier()

    def sum_over_workers(self, values: Sequence[Any]) -> list[float]:
        total = stacked(values, self.device)
        if self.world_size > 1:
            dist.all_reduce(total)
        return [float(value) for value in total.tolist()]

    def memory(self) -> float:
        """The most that tensors have held at once."""
        most = getattr(getattr(torch, self.device.type, None), "max_memory_allocated", None)
        return float(most(self.device)) if self.device.type != "cpu" and most else 0.0


class XlaRuntime(Runtime):
    """torch_xla, under every name its functions have had from 1.11 to 2.9."""

    name = "xla"
    attention = "eager"  # SDPA looks into its mask on the host: one more graph and one more wait in every step

    def __init__(self, environ: MutableMapping[str, str], *, connect: bool = True) -> None:
        super().__init__(environ)
        import torch_xla.core.xla_model as xm

        self.xm = xm
        # torchrun's workers meet through torch.distributed; xla_spawn's (Training Compiler) are connected already.
        if connect and "RANK" in environ and self.world_size > 1:
            importlib.import_module("torch_xla.distributed.xla_backend")  # registers the backend
            dist.init_process_group("xla")
        self.device = xm.xla_device()
        with contextlib.suppress(ImportError):
            importlib.import_module("torch_xla.runtime")  # there is none in old versions
        self._stand(environ)  # a worker that torch_xla has spawned knows its place only now

    def barrier(self) -> None:
        if self.world_size > 1:
            self.xm.rendezvous("sm_trn")

    def sum_over_workers(self, values: Sequence[Any]) -> list[float]:
        if self.world_size == 1:  # what is there is fetched; putting it together first would be one more graph
            return [float(torch.as_tensor(value).cpu()) for value in values]
        return [float(value) for value in self.xm.all_reduce("sum", stacked(values, self.device)).cpu().tolist()]

    def compilations(self) -> tuple[int, float]:
        known = importlib.import_module("torch_xla.debug.metrics").metric_data("CompileTime")
        return (int(known[0]), float(known[1]) / 1e9) if known else (0, 0.0)  # it counts nanoseconds

    def memory(self) -> float:
        """What tensors hold now."""
        with contextlib.suppress(RuntimeError, AttributeError):  # not every device can be asked
            known = self.xm.get_memory_info(self.device)
            if "bytes_used" in known:
                return float(known["bytes_used"])
            return 1024.0 * float(known.get("kb_total", 0) - known.get("kb_free", 0))  # before torch_xla 2.2
        return 0.0


def stacked(values: Sequence[Any], device: Any) -> Any:
    return torch.stack([torch.as_tensor(value, dtype=torch.float32, device=device).detach() for value in values])


# --- models ---

TINY_RANDOM = Path(__file__).resolve().parent.parent / "tiny_random"
TINY = {"tiny-random": "bert", "tiny-bert": "bert", "tiny-gpt2": "gpt2", "tiny-llama": "llama"}  # need no network
AFTER_PADDING = frozenset(  # whose positions start after the padding's
    (
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
)
MASKED = frozenset(  # made to fill gaps; transformers can also train them to foretell the next token
    (
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
)
UNSHIFTED = frozenset(("flaubert", "xlm", "xlnet"))  # as of BART and its like, their heads see what they are asked for


def load_tokenizer(name: str, **hub: Any) -> Any:
    """`hub` is what `from_pretrained` takes: revision, token, cache_dir, trust_remote_code."""
    from transformers.utils import logging

    logging.disable_progress_bar()  # a job's log is read as lines
    if name in TINY:
        from transformers import PreTrainedTokenizerFast

        special = {kind + "_token": f"[{kind.upper()}]" for kind in ("pad", "unk", "cls", "sep", "mask")}
        end = {} if TINY[name] == "bert" else {"eos_token": "[SEP]"}
        file = str(TINY_RANDOM / "tokenizer.json")
        return PreTrainedTokenizerFast(tokenizer_file=file, model_max_length=512, **special, **end)
    from transformers import AutoTokenizer

    with _loading(name):
        tokenizer = AutoTokenizer.from_pretrained(name, **hub)
    if tokenizer.pad_token is None:  # GPT-like models
        if tokenizer.eos_token is None:
            got = f"got {name!r}, which has neither a pad token nor an end token"
            raise UsageError(f"tokenizer: {got}; wanted one of them")
        tokenizer.pad_token = tokenizer.eos_token
    return tokenizer


def load_config(name: str, tokenizer: Any, **more: Any) -> Any:
    from transformers import AutoConfig

    where = name
    if name in TINY:
        where, more["vocab_size"] = str(TINY_RANDOM / f"{TINY[name]}.json"), len(tokenizer)
        if TINY[name] != "bert":  # its texts end with [SEP]
            more["bos_token_id"] = more["eos_token_id"] = tokenizer.sep_token_id
    with _loading(name):
        config = AutoConfig.from_pretrained(where, **more)
    if name in TINY:
        config._name_or_path = ""  # noqa: SLF001 - peft would look for the file there, and on the hub
    if config.pad_token_id is None:
        config.pad_token_id = tokenizer.pad_token_id
    return config


def load_model(
    name: str | None, config: Any, head: str, attention: str | None = None, tokens: int = 0, **hub: Any
) -> Any:
    """Pretrained weights, or new ones where there is no name or it is a tiny one; always in float32: a checkpoint in half
    precision would else be trained in it. `head` is the end of transformers' class names: SequenceClassification, CausalLM.
    Of the tokenizer's `tokens` each has a row of the embeddings. New weights are drawn from torch's generator: seed it first.
    """
    import transformers

    if head == "CausalLM" and (config.model_type in UNSHIFTED or config.is_encoder_decoder):
        wanted = "wanted one that foretells the next token from those before it, such as gpt2"
        raise UsageError(f"--model: got {name or config.model_type!r}, of the type {config.model_type}; {wanted}")
    if head == "CausalLM" and config.model_type in MASKED:
        config.is_decoder = True  # else each token would see the one that it is to foretell
    auto = getattr(transformers, "AutoModelFor" + head)
    version = tuple(int(part) for part in transformers.__version__.split(".")[:2])
    # Before 4.36 all was eager. A head for other labels is made anew, and transformers says so.
    chosen: dict[str, Any] = {"attn_implementation": attention} if attention and version >= (4, 36) else {}
    more = {"ignore_mismatched_sizes": True} if head == "SequenceClassification" else {}
    with _loading(name or config.model_type):
        fresh = name is None or name in TINY
        if fresh:
            trusted = {"trust_remote_code": True} if hub.get("trust_remote_code") else {}
            model = auto.from_config(config, **chosen, **trusted)
        else:
            model = auto.from_pretrained(name, config=config, **chosen, **more, **hub)
    rows = getattr(config, "vocab_size", tokens)
    if rows < tokens and getattr(model.get_input_embeddings(), "num_embeddings", None) == rows:
        model.resize_token_embeddings(tokens)
        tell(f"embeddings: {tokens} rows instead of {rows}, as the tokenizer has tokens; new ones are untrained")
    gc.freeze()  # what is loaded stays, and is not searched again in training
    return model.float()


@contextlib.contextmanager
def _loading(name: str) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError, KeyError, ImportError) as error:
        raise UsageError(
            f"--model: got {name!r}, which does not load ({first_line(error)}); wanted a model of the Hugging Face hub, a "
            "folder with one, or 'tiny-random' (needs no network)"
        ) from error


def length_of(flag: str, asked: int | None, default: int, config: Any) -> int:
    """What is asked for, if the model takes it; else as much of the default as it takes."""
    takes = longest_input(config)
    if takes is not None and (asked or 0) > takes:
        raise UsageError(f"--{flag}: got {asked}, wanted at most {takes}, which the model takes")
    return asked or min(default, takes or default)


def longest_input(config: Any) -> int | None:
    """The most tokens the model has positions for, where its configuration says so."""
    longest: int | None = getattr(config, "max_position_embeddings", None)
    if longest is None or longest <= 0:  # XLNet's is -1
        return None
    return longest - (config.pad_token_id + 1 if config.model_type in AFTER_PADDING else 0)


# --- what it does ---


class Meter:
    """Speed of all workers together, this worker's waiting, and how full batches are, between two log lines."""

    def __init__(self, runtime: Any, samples_per_step: int) -> None:
        self._runtime, self._samples, self._workers = runtime, samples_per_step, runtime.world_size
        self._since, self._seconds, self._waited = time.perf_counter(), 0.0, 0.0
        self._steps, self.steps, self.seconds = 0, 0, 0.0  # the last two: of this process, evaluations left out
        self._batches: list[tuple[int, int]] = []  # tokens and positions of batches made and not yet trained on
        self._tokens = 0
        self._running, self._compiled, self._before = False, (0, 0.0), (0, 0.0)
        self._monitor = NeuronMonitor() if runtime.on_neuron and runtime.is_main else None

    def start(self) -> None:
        if not self._running:
            self._since, self._before, self._running = time.perf_counter(), self._runtime.compilations(), True

    def stop(self) -> None:
        """What happens until the next start, evaluation above all, is no training and counts nowhere."""
        if self._running:
            self._seconds += time.perf_counter() - self._since
            self._compiled, self._running = self.compiled(), False

    def compiled(self) -> tuple[int, float]:
        """Graphs and seconds so far."""
        if not self._running:
            return self._compiled
        now, before, known = self._runtime.compilations(), self._before, self._compiled
        return known[0] + now[0] - before[0], known[1] + now[1] - before[1]

    def waited(self, seconds: float) -> None:
        """For a batch."""
        self._waited += max(0.0, seconds)

    def batch(self, tokens: int, positions: int) -> None:
        self._batches.append((int(tokens), int(positions)))

    def step(self) -> None:
        self._steps += 1

    def lap(self, micro_batches: int = 1) -> dict[str, Any]:
        """Since the last lap. `micro_batches` a step: loaders make batches before they are used."""
        self.stop()
        self.start()
        seconds, steps, self._seconds, self._steps = self._seconds, self._steps, 0.0, 0
        self.seconds, self.steps = self.seconds + seconds, self.steps + steps
        used, self._batches = self._batches[: steps * micro_batches], self._batches[steps * micro_batches :]
        tokens, positions = sum(own for own, _ in used) * self._workers, sum(size for _, size in used) * self._workers
        self._tokens += tokens
        found = {**self._rates(seconds, steps), "data_wait": round(min(1.0, self._waited / max(seconds, 1e-9)), 4)}
        self._waited = 0.0
        if positions:  # of this worker, whose like the others are taken to be; none where loaders have processes
            found["tokens_per_second"] = round(tokens / max(seconds, 1e-9), 1)
            found["padding_fill"] = round(tokens / positions, 4)
        return {**found, **self.device()}

    def _rates(self, seconds: float, steps: int, prefix: str = "") -> dict[str, float]:
        rate = steps / max(seconds, 1e-9)
        rates = {prefix + "samples_per_second": rate * self._samples, prefix + "steps_per_second": rate}
        return {name: round(value, 3) for name, value in rates.items()}

    def summary(self) -> dict[str, float]:
        """Speed of all workers together since this process began to train."""
        found = {"train_runtime": round(self.seconds, 4), **self._rates(self.seconds, self.steps, "train_")}
        return {**found, **({"train_tokens_per_second": round(self._tokens / self.seconds, 1)} if self._tokens else {})}

    def device(self) -> dict[str, float]:
        """What the device has to say; nothing on a CPU."""
        found: dict[str, float] = {}
        if self._runtime.name == "xla":
            count, seconds = self.compiled()
            found.update(compiles=count, compile_seconds=round(seconds, 3))
        memory = self._runtime.memory()
        if memory:
            found["accelerator_memory_gb"] = round(memory / 1e9, 3)
        return {**found, **(self._monitor.values if self._monitor else {})}


class NeuronMonitor:
    """The program `neuron-monitor` beside the script, and its newest report.

    Form of its reports: https://awsdocs-neuron.readthedocs-hosted.com, "Neuron Monitor User Guide".
    """

    def __init__(self) -> None:
        self.values: dict[str, float] = {}
        program = shutil.which("neuron-monitor")
        with contextlib.suppress(OSError):  # it is a help, not a need
            if program is not None:
                self.process = subprocess.Popen([program], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)  # noqa: S603 - a program of the image, by its full path
                atexit.register(self.process.kill)
                threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        for line in self.process.stdout or ():
            with contextlib.suppress(ValueError, TypeError, AttributeError):  # half a line, or a later version's form
                self.values = utilisation(json.loads(line))


def utilisation(report: Any) -> dict[str, float]:
    """Mean of the cores in use, in percent, and gigabytes held on the devices; of all processes of this machine."""
    cores, held = [], 0.0
    for runtime in report.get("neuron_runtime_data") or []:
        own = runtime.get("report") or {}
        used = (own.get("neuroncore_counters") or {}).get("neuroncores_in_use") or {}
        cores += [float(core["neuroncore_utilization"]) for core in used.values() if "neuroncore_utilization" in core]
        held += float(((own.get("memory_used") or {}).get("neuron_runtime_used_bytes") or {}).get("neuron_device") or 0)
    found = {"neuroncore_utilization": round(sum(cores) / len(cores), 2)} if cores else {}
    return {**found, **({"neuron_memory_gb": round(held / 1e9, 3)} if held else {})}

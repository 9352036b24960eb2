"""Keep a training job safe on spot capacity: one file that needs nothing else.

A script with a Trainer of transformers, trl or sentence-transformers, as it is:

    python sm_spot.py run train.py --output_dir model …
    torchrun --nproc_per_node=8 sm_spot.py run train.py …          # --exact: refuse what cannot resume to the same bytes

It trains from the newest proven checkpoint, stops after SIGTERM with all saved, and prints metrics as
lines. `--not-exact` leaves random numbers as the script draws them. Of a loop on Accelerate the script's
own `save_state` is proven, and its `--resume_from_checkpoint` is given the newest.

In a script of your own:

    trainer = Trainer(...)
    sm_spot.train(trainer)                         # instead of trainer.train()
    sm_spot.leave(sm_spot.exit_code_of(main))      # at the end of the script

or `callbacks=[SpotCallback()]` and
`trainer.train(resume_from_checkpoint=last_complete_checkpoint(args.output_dir))`. In a loop:

    stop, checkpoints = sm_spot.StopRequest(), sm_spot.Checkpoints("/opt/ml/checkpoints")
    newest = sm_spot.last_complete_checkpoint(checkpoints.folder)
    if newest:
        accelerator.load_state(newest)
    for step in range(first, total):
        ...
        stopping = stop.due()                      # the same answer on every worker
        if stopping or step % 500 == 0:
            accelerator.save_state(checkpoints.path(step))
            checkpoints.seal_together(step)
        if stopping:
            raise sm_spot.Interrupted(f"after step {step}")

SageMaker copies the checkpoint folder to S3 file by file while it is written, so neither a rename
nor a file's presence proves anything there. A checkpoint counts only if its manifests, written
last, match every byte. Each host writes one.
https://docs.aws.amazon.com/sagemaker/latest/dg/model-checkpoints.html

Exit codes: 0 done; 2 something that the user can put right; 75 stopped after SIGTERM, run the same
command again.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import hashlib
import inspect
import json
import logging
import math
import os
import random
import re
import runpy
import shutil
import signal
import sys
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, Callable, Iterator, Mapping, NamedTuple, NoReturn, Optional

DONE = 0
USAGE_ERROR = 2
INTERRUPTED = 75  # EX_TEMPFAIL of sysexits.h
# what SageMaker shows as the job's FailureReason
BASE = Path(os.environ.get("SAGEMAKER_BASE_DIR", "/opt/ml"))
FAILURE = BASE / "output/failure"
CHECKPOINTS = BASE / "checkpoints"  # exists in a job that was given a checkpoint_s3_uri
MANIFEST = "manifest.json"
ERROR_FILE = "TORCHELASTIC_ERROR_FILE"
MARK = "checkpoints.txt"  # in a folder that a run has written to
KEEP = 2  # the older one is what survives a torn upload of the newer
# Between two questions "was anybody asked to stop?", each of which waits for the device. torchrun
# kills its workers 30 s after it has passed SIGTERM on, SageMaker 120 s after it has sent it.
AGREE_SECONDS = 2.0
AGREE_CALLS = 50
FLAG = 1 << 20  # above a number of milliseconds
CHUNK = 1 << 28  # bytes that one thread proves
SCRIPT_VARIABLE = "SM_SPOT_SCRIPT"  # what a job that starts this file is to run
MAX_RUN_VARIABLE = (
    "SM_SPOT_MAX_RUN_SECONDS"  # set it to the job's max_run, and the run saves before that ends
)
MARGIN_SECONDS = 180.0  # for the last step and the save
LARGEST = 2**31 - 1
DEVICES = {"nccl": "cuda", "smddp": "cuda", "neuron": "neuron"}  # of torch's backends; else the CPU
STARTED = time.time()
IS_PROGRAM = __name__ == "__main__"

if IS_PROGRAM:  # whoever imports it in the script gets this module
    sys.modules["sm_spot"] = sys.modules["__main__"]
    __name__ = "sm_spot"


def _end_early(_number: int, _frame: Any) -> NoReturn:
    """Before there is a StopRequest nothing is trained, and there is nothing to save."""
    if os.environ.get("RANK", "0") == "0":
        os.write(2, b"interrupted: before training\n")
    os._exit(INTERRUPTED)


if (
    threading.current_thread() is threading.main_thread()
    and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
):
    signal.signal(signal.SIGTERM, _end_early)

try:  # after the line above: it loads for seconds, in which SIGTERM is heard
    from transformers import TrainerCallback
except ImportError:  # a loop without transformers
    TrainerCallback = object


class UsageError(Exception):
    """Only the user can put it right. The message says what, got, wanted and fix."""


class Interrupted(Exception):  # noqa: N818 - not an error: asked for, and answered
    """The run was asked to stop and has stopped at the end of a step."""


# --- the workers ---


class Place(NamedTuple):
    """Where this process stands: among all workers, among those `here` on its host, and its host
    among the hosts.
    """

    rank: int
    size: int
    local_rank: int
    here: int
    host: int
    hosts: int


def place(environ: Mapping[str, str] = os.environ) -> Place:
    """From the variables of torchrun, else of Open MPI."""

    def number(name: str, mpi: str, absent: int) -> int:
        return int(environ.get(name) or environ.get("OMPI_COMM_WORLD_" + mpi) or absent)

    rank = number("RANK", "RANK", 0)
    size = number("WORLD_SIZE", "SIZE", 1)
    local_rank = number("LOCAL_RANK", "LOCAL_RANK", 0)
    here = number("LOCAL_WORLD_SIZE", "LOCAL_SIZE", size)
    return Place(rank, size, local_rank, here, rank // here, math.ceil(size / here))


def agree(value: int, *, most: bool = True) -> int:
    """The largest (or the smallest) of all workers' values. Every worker has to ask, in the same
    order.
    """
    if place().size == 1:
        return value
    import torch
    import torch.distributed as dist

    backend = dist.get_backend() if dist.is_initialized() else "xla"
    xm = sys.modules.get("torch_xla.core.xla_model")
    if backend == "xla" and xm is not None:
        # torch_xla chains every reduction to those before it: a pending step would be compiled and
        # run once more.
        cut_graph()
        answer = xm.all_reduce(
            "max" if most else "min", torch.tensor(value, dtype=torch.int32, device=xm.xla_device())
        )
        return int(answer.cpu())
    if backend == "xla":
        raise UsageError(
            "workers: got several that are not connected; make the Trainer, or the Accelerator, before"
        )
    device = DEVICES.get(backend, "cpu")
    answer = torch.tensor(value, dtype=torch.int32, device=device)
    dist.all_reduce(answer, dist.ReduceOp.MAX if most else dist.ReduceOp.MIN)
    return int(answer)


def barrier() -> None:
    agree(0, most=False)


def cut_graph() -> None:
    """Hand XLA what is pending; its function has another name until torch_xla 2.6 or so."""
    cut = (
        getattr(sys.modules["torch_xla"], "sync", None)
        or sys.modules["torch_xla.core.xla_model"].mark_step
    )
    cut()


# --- what a script says, and how it ends ---


def say(text: str) -> None:
    """A line of the main worker, written at once: a killed process has said what it knew."""
    if place().rank == 0:
        print(text, flush=True)


def metric_line(values: Mapping[str, Any]) -> str:
    """One dictionary in Trainer's form that `ast.literal_eval` and the classic metric regexes read
    alike.

    Floats are written out in full: 0.00005, never 5e-05, of which `'learning_rate': ([0-9.]*)`
    would read 5.

    >>> metric_line({"loss": 0.5, "learning_rate": 5e-05})
    "{'loss': 0.5, 'learning_rate': 0.00005}"
    """
    return "{" + ", ".join(f"'{name}': {_literal(value)}" for name, value in values.items()) + "}"


def _literal(value: Any) -> str:
    if hasattr(value, "item"):  # numpy's and torch's numbers
        value = value.item()
    if not isinstance(value, float) or not math.isfinite(value):
        return repr(value)
    whole, _, decimals = f"{value:.10f}".partition(".")
    return whole + "." + (decimals.rstrip("0") or "0")


def exit_code_of(run: Callable[[], None]) -> int:
    """Run, and turn the end into an exit code. What is neither UsageError nor Interrupted nor a
    full disk is raised.
    """
    code = DONE
    try:
        run()
    except Interrupted as stop:
        tell(f"interrupted: {stop}")
        code = INTERRUPTED
    except Exception as error:
        message = str(error)
        if not isinstance(error, UsageError):
            if not disk_refused(error):
                record(error)
                raise
            message = (
                f"disk: a file could not be written ({first_line(error)}); give the job a larger volume, or free space, "
                "and run the same command again: it goes on from the newest checkpoint"
            )
        tell(f"error: {message}")
        if FAILURE.parent.is_dir() and place().rank == 0:
            with contextlib.suppress(OSError):
                FAILURE.write_text(message[:1024], encoding="utf-8")
        return USAGE_ERROR
    dist = sys.modules.get("torch.distributed")
    # The workers' group; libraries other than these two close theirs by themselves.
    if (
        dist
        and dist.is_available()
        and dist.is_initialized()
        and dist.get_backend() in {"gloo", "nccl"}
    ):
        dist.destroy_process_group()
    return code


def record(error: Exception) -> None:
    """Into torchrun's error file: its table of failures then shows the error of the worker that
    failed first, and its rank.
    """
    if ERROR_FILE in os.environ and "torch" in sys.modules:
        from torch.distributed.elastic.multiprocessing.errors import get_error_handler

        get_error_handler().record_exception(error)


def tell(text: str) -> None:
    """To stderr, on the main worker only: every worker meets the same error."""
    if place().rank == 0:
        print(text, file=sys.stderr, flush=True)


def leave(code: int) -> NoReturn:
    """End the process with `code` after all that is to be done at its end, and tear nothing down:
    torch's threads that still run while the interpreter ends now and then abort the process, and a
    job that has saved would be Failed.
    """
    atexit._run_exitfuncs()  # noqa: SLF001 - what os._exit leaves out
    logging.shutdown()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def disk_refused(error: BaseException) -> bool:
    """Python raises OSError for it; torch's writer a RuntimeError, safetensors' an error of its
    own.
    """
    words = "no space left|file too large|disk quota|writer failed|write failed|i/o error|unexpected pos"
    return re.search(words, str(error).lower()) is not None


def first_line(error: BaseException) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]


class StopRequest:
    """SIGTERM, remembered; or the end of the time that the job has. SageMaker sends SIGTERM before
    it stops a job: act at the end of the next step.
    """

    def __init__(self) -> None:
        self._signalled = False
        max_run = os.environ.get(MAX_RUN_VARIABLE)
        self._deadline = STARTED + float(max_run) - MARGIN_SECONDS if max_run else math.inf
        self._kind = ""
        self._calls = 0  # until the workers ask one another again
        self._asked = (0.0, 1)  # when they last did, and for how many calls
        self.listen()

    def listen(self) -> None:
        """Answer SIGTERM from here on, also after somebody else did. Python lets the main thread
        alone do so.
        """
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, self._remember)

    def _remember(self, _number: int, _frame: Any) -> None:
        self._signalled = True

    @property
    def seen(self) -> bool:
        """On this worker alone; nothing waits."""
        return self._signalled or time.time() >= self._deadline

    def agreed(self) -> bool:
        """On any worker. Every worker has to ask, and waits for the others."""
        return bool(agree(int(self.seen)))

    def due(self, kind: str = "step") -> bool:
        """`agreed`, and the workers ask one another every two seconds, or each time where a step is
        longer.

        Every worker calls it at the end of the same steps; `kind` names what it ends.
        """
        if place().size == 1:
            return self.seen
        self._calls -= 1
        if kind == self._kind and self._calls > 0:
            return False
        now = time.monotonic()
        began, calls = self._asked
        if kind != self._kind:  # nothing is known of its length
            began, calls = 0.0, 1
        milliseconds = min(FLAG - 1, int(1000 * (now - began) / calls))
        answer = agree(milliseconds + FLAG * self.seen)
        fitting = int(1000 * AGREE_SECONDS / max(1, answer % FLAG))
        self._kind = kind
        self._calls = max(1, min(AGREE_CALLS, 2 * calls, fitting))  # steps may become longer
        self._asked = (now, self._calls)
        return answer >= FLAG


# --- checkpoints ---


class Checkpoints:
    """The folders `checkpoint-N` of one run, of which only those with matching manifests count.

    `identity` is what makes two runs the same run. It lies in the manifest, and a checkpoint that
    another run wrote is refused rather than resumed from or overwritten. `keep` is how many remain,
    at least 2; None: all. With `each_host` every host has a whole checkpoint of its own, as with
    Trainer's `save_on_each_node`.
    """

    def __init__(
        self,
        folder: str | Path,
        identity: Mapping[str, Any] | None = None,
        keep: Optional[int] = None,
        *,
        each_host: bool = False,
    ) -> None:
        self.folder = Path(folder)
        self.saved_step = 0
        self._identity = json.loads(json.dumps(identity or {}, default=str))
        self._keep = None if keep is None else max(KEEP, keep)
        self._host, self._hosts = (0, 1) if each_host else place()[4:]
        self._background = ThreadPoolExecutor(1, "checkpoint")
        self._begun: Optional[Future[None]] = None

    def path(self, step: int) -> Path:
        return self.folder / f"checkpoint-{step}"

    def steps(self) -> list[int]:
        names = [path.name for path in self.folder.glob("checkpoint-*")]
        return sorted(int(name[11:]) for name in names if re.fullmatch(r"checkpoint-\d+", name))

    def claim(self) -> None:
        """Take the folder for this run. UsageError where another program's checkpoints are in it:
        without a manifest they could not be told from torn ones.
        """
        steps = self.steps()
        mark = self.folder / MARK
        if (
            steps
            and not mark.exists()
            and not any((self.path(step) / MANIFEST).exists() for step in steps)
        ):
            got = f"got {self.path(steps[-1])}, which another program has written"
            raise UsageError(
                f"checkpoint_dir: {got}, wanted this script's own, or an empty folder; give another one"
            )
        if place().local_rank == 0:
            self.folder.mkdir(parents=True, exist_ok=True)
            mark.write_text(
                "The checkpoints in this folder are proven by their manifests.\n", encoding="utf-8"
            )

    def newest(self, limit: int = LARGEST) -> int:
        """The newest complete checkpoint's step up to `limit`, 0 if there is none. Torn ones are
        named and passed over.
        """
        for step in reversed(self.steps()):
            if step > limit:
                continue
            fault = self.fault(step)
            if not fault:
                return step
            say(f"checkpoint-{step} is not usable ({fault}); trying the one before")
        return 0

    def newest_of_all(self) -> int:
        """The newest step that is complete on every host, 0 if there is none. Every worker has to
        ask.
        """
        proves = place().local_rank == 0  # one worker of each host reads the files
        limit = LARGEST
        while limit:
            newest = self.newest(limit) if proves else limit
            limit = agree(newest, most=False)
            if agree(int(not proves or newest == limit), most=False):
                return limit
        return 0

    def fault(self, step: int) -> str:
        """Why this checkpoint cannot be used, or an empty string. A complete one of another run is
        a UsageError.
        """
        path = self.path(step)
        fault, saved = proof_of(path)
        if fault:
            return fault
        differing = [
            f"{name}: got {value!r}, it has {saved.get(name)!r}"
            for name, value in sorted(self._identity.items())
            if saved.get(name) != value
        ]
        if differing:
            seen = "; ".join(differing)
            raise UsageError(
                f"checkpoint_dir: {path} was written by another run ({seen}); use the same settings and data to continue "
                "it, or another --checkpoint_dir to start anew"
            )
        return ""

    def seal(self, step: int, best: Optional[str] = None) -> None:
        """Write this host's manifest, then let older checkpoints go, but the `best`.

        One worker of each host calls this, when all workers have written.
        """
        content = {"step": step, "hosts": self._hosts, "identity": self._identity}
        seal(self.path(step), content, self._host)
        self.saved_step = step
        if self._keep is not None:
            for old in self.steps()[: -self._keep]:
                if self.path(old).name != Path(best or "").name:
                    shutil.rmtree(self.path(old), ignore_errors=True)

    def seal_together(
        self, step: int, *, background: bool = False, best: Optional[str] = None
    ) -> None:
        """Wait until every worker has written, then seal on each host. Every worker calls this."""
        barrier()
        if place().local_rank == 0:
            self.begin(lambda: self.seal(step, best=best))
        if not background:
            self.finish()
            barrier()

    def begin(self, work: Callable[[], None]) -> None:
        """Write or seal in the background, one after the other: no worker waits for the disk."""
        self.finish()
        self._begun = self._background.submit(work)

    def finish(self) -> None:
        """Wait until what was begun is on the disk, and raise what it has raised."""
        begun = self._begun
        self._begun = None
        if begun is not None:
            begun.result()

    def kept(self, step: int) -> str:
        """When all is on the disk, in a phrase: what of this step is."""
        self.finish()
        if self.saved_step == step:
            return f"saved in {self.folder}"
        return "not saved at this step; the next run goes on from the one before"

    def put_aside(self, newer_than: int) -> None:
        """What this run will write again, and must not take for its own. Kept under another name
        until next time.
        """
        newer = [step for step in self.steps() if step > newer_than]
        if newer:
            for old in self.folder.glob("torn-checkpoint-*"):
                shutil.rmtree(old, ignore_errors=True)
        for step in newer:
            # hosts that share the folder, as on a cluster, do this at once: one of them finds it done
            with contextlib.suppress(FileNotFoundError):
                self.path(step).rename(self.folder / f"torn-checkpoint-{step}")


def seal(folder: Path, content: Mapping[str, Any], host: int = 0) -> None:
    """Write a manifest over every file that this host has there, each on the disk before it."""
    folder.mkdir(parents=True, exist_ok=True)  # a host that has nothing to write proves that
    files = {}
    for file in sorted(folder.rglob("*")):
        if file.is_file() and not file.name.startswith("manifest"):
            sync(file)
            files[file.relative_to(folder).as_posix()] = fingerprint(file)
    manifest = folder / _manifest_of(host)
    manifest.write_text(json.dumps({**content, "files": files}, indent=1), encoding="utf-8")
    for written in (manifest, folder, folder.parent):
        sync(written)


def proof_of(folder: Path) -> tuple[str, dict[str, Any]]:
    """Why what lies in the folder is not what was sealed, or an empty string; and whose it is."""
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        files = dict(manifest["files"])
        for host in range(1, manifest.get("hosts", 1)):
            others = json.loads((folder / _manifest_of(host)).read_text(encoding="utf-8"))
            files.update(others["files"])
        torn = [name for name, wanted in files.items() if fingerprint(folder / name) != wanted]
        if torn:
            return f"{', '.join(torn)} does not match its manifest", {}
        return "", dict(manifest.get("identity", {}))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        return f"{type(error).__name__}: {error}", {}


def _manifest_of(host: int) -> str:
    return f"manifest-{host}.json" if host else MANIFEST


def fingerprint(path: Path) -> dict[str, Any]:
    """Of a file's bytes, chunk by chunk on several cores: a large optimizer's state has 100 GB."""
    size = path.stat().st_size

    def digest(start: int) -> bytes:
        own = hashlib.sha256()
        with path.open("rb") as file:
            file.seek(start)
            for begin in range(start, min(start + CHUNK, size), 1 << 20):
                own.update(file.read(min(1 << 20, start + CHUNK - begin)))
        return own.digest()

    starts = range(0, size, CHUNK)
    with ThreadPoolExecutor(max(1, min(len(starts), (os.cpu_count() or 2) // 2))) as threads:
        whole = hashlib.sha256(b"".join(threads.map(digest, starts)))
    return {"sha256_of_chunks": whole.hexdigest(), "bytes": size}


def sync(path: Path) -> None:
    """Bytes (or a folder's entries) on the disk, not in the cache: the instance may vanish."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def last_complete_checkpoint(
    folder: str | Path, identity: Mapping[str, Any] | None = None
) -> Optional[str]:
    """The newest checkpoint that is complete on every host, or None: begin at the start. Newer ones
    are put aside.

    Every worker calls it once the workers are connected. Without `identity` any run's checkpoint is
    taken.
    """
    checkpoints = Checkpoints(folder, identity)
    checkpoints.claim()
    step = checkpoints.newest_of_all()
    if place().local_rank == 0:
        checkpoints.put_aside(newer_than=step)
    barrier()
    say(f"resuming after step {step}" if step else "from the start")
    return str(checkpoints.path(step)) if step else None


# --- Trainer ---


class SpotCallback(TrainerCallback):  # type: ignore[misc]  # transformers is untyped here
    """Proves Trainer's checkpoints, stops after SIGTERM with all saved, and prints Trainer's
    numbers as lines.

    With `reseed`, order, dropout and what a collator or a data set draws are functions of the seed,
    the step, the examples and the worker: a resumed run ends with the same bytes. Leave it out where
    workers share one model's layers and must draw alike. With `exact` a run that cannot resume so is
    refused.
    """

    def __init__(
        self,
        identity: Mapping[str, Any] | None = None,
        *,
        reseed: bool = True,
        exact: bool = False,
    ) -> None:
        self.identity = identity
        self.reseed = reseed
        self.exact = exact
        self.stop = StopRequest()
        self.checkpoints: Checkpoints | None = None
        # known where `train` is used: it can then save within a step, or in an evaluation
        self.trainer: Any = None
        self.epoch = 0
        self.interrupted = False
        self.first_step = 0
        self._draws: list[Any] = []
        self._began = 0.0

    def on_train_begin(self, args: Any, state: Any, control: Any, **more: Any) -> None:  # noqa: ARG002 - Trainer's signature
        # with --enable_jit_checkpoint transformers would answer, and end with exit code 0
        self.stop.listen()
        if self.checkpoints is None:
            each_host = bool(getattr(args, "save_on_each_node", False))
            self.checkpoints = Checkpoints(
                args.output_dir, self.identity, args.save_total_limit, each_host=each_host
            )
            args.save_total_limit = (
                None  # Trainer would delete an older one before the newer one is proven
            )
        loader: Any = more.get("train_dataloader")
        loader = getattr(loader, "base_dataloader", loader)  # Accelerate's one holds torch's
        self._say_exactness(args, loader)
        # not on XLA, where a thread of its loader's would draw beside the step's dropout
        if self.reseed and hasattr(loader, "collate_fn") and "torch_xla" not in sys.modules:
            loader.collate_fn = _Collate(loader.collate_fn, args.seed)
            self._draws = [loader.collate_fn]
            if _draws_by_itself(loader.dataset):
                # torch's loader refuses to be given another one
                object.__setattr__(loader, "dataset", _Examples(loader.dataset, args.seed))
                self._draws.append(loader.dataset)
        self.first_step = state.global_step + 1
        self._began = time.perf_counter()
        self.interrupted = False
        answers = self._answers(args, state)
        if answers.exists():
            import torch

            vars(self.trainer).update(torch.load(answers, weights_only=False))

    def _say_exactness(self, args: Any, loader: Any) -> None:
        dataset = getattr(loader, "dataset", None)
        inexact = {
            "its random numbers are the script's own": not self.reseed,
            "the data set streams from code of its own": hasattr(dataset, "__iter__")
            and not hasattr(dataset, "__getitem__")
            and not _is_of_datasets(dataset),
            "its loader's processes outlive an epoch": getattr(loader, "persistent_workers", False),
            "batches are not skipped (ignore_data_skip)": getattr(args, "ignore_data_skip", False),
            "the optimizer is not saved (save_only_model)": getattr(args, "save_only_model", False),
            "vLLM draws the answers": getattr(args, "use_vllm", False),
        }
        reasons = [reason for reason, applies in inexact.items() if applies]
        if reasons and self.exact:
            raise UsageError(f"--exact: this run resumes, but not exactly: {'; '.join(reasons)}")
        say(f"resumes, but not exactly: {'; '.join(reasons)}" if reasons else "resumes exactly")

    def _answers(self, args: Any, state: Any) -> Path:
        """What trl's online trainers have generated and not yet learnt: Trainer does not save it."""
        return Path(
            args.output_dir, f"checkpoint-{state.global_step}", f"answers-{place().rank}.pt"
        )

    def on_epoch_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:  # noqa: ARG002 - as above
        self.epoch = int((state.epoch or 0) + 1e-6)
        for drawing in self._draws:
            drawing.epoch = self.epoch
        if self.reseed:  # the order of an epoch's examples, the same on every worker
            seed(args.seed, "epoch", self.epoch)

    def on_step_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:  # noqa: ARG002 - as above
        if self.reseed:
            seed(args.seed, state.global_step, place().rank)
        # here and not at the step's end: the loader has just cut XLA's graph, and nothing is pending
        if "torch_xla" in sys.modules:
            self.interrupted = self.stop.due()

    def on_substep_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Of a step whose gradients are not all there: the model is as the step before left it."""
        if self.trainer is not None and "torch_xla" not in sys.modules and self.stop.due():
            self._save_now(args, state, control)
            self._end(state)

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> Any:
        if state.global_step == self.first_step:
            wait_for_device()
            seconds = round(time.perf_counter() - self._began, 3)
            self.metrics(state, {"first_step_seconds": seconds, "total_steps": state.max_steps})
        self._seed_next_epoch(args, state)
        if "torch_xla" not in sys.modules:
            self.interrupted = self.stop.due()
        if state.global_step >= state.max_steps:  # all is trained
            self.interrupted = False
        if self.interrupted:
            # Whoever resumes behind a step does not judge it again; where the best model is wanted,
            # it must be judged.
            control.should_save = not (_wants_best(args) and _judged_here(args, state, control))
            control.should_evaluate = False
            control.should_training_stop = True
        return control

    def on_epoch_end(self, args: Any, state: Any, control: Any, **_: Any) -> Any:  # noqa: ARG002 - as above
        if self.interrupted:  # saved already, and an evaluation takes longer than there is time
            control.should_save = control.should_evaluate = False
        return control

    def _seed_next_epoch(self, args: Any, state: Any) -> None:
        """Trainer saves the generators behind this, and where an epoch begins with a checkpoint it
        loads them after on_epoch_begin.
        """
        if self.reseed and _ends_epoch(state):
            seed(args.seed, "epoch", round(state.epoch or 0))

    def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:  # noqa: ARG002 - as above
        assert self.checkpoints is not None  # noqa: S101 - made when training began
        if getattr(self.trainer, "_buffered_inputs", None) is not None:
            import torch

            names = ("_step", "_buffered_inputs")
            torch.save(
                {name: getattr(self.trainer, name) for name in names}, self._answers(args, state)
            )
        best = getattr(state, "best_model_checkpoint", None)
        self.checkpoints.seal_together(state.global_step, background=True, best=best)

    def on_prediction_step(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if not self.stop.due("prediction"):
            return
        training = self.trainer is not None and getattr(self.trainer, "is_in_train", False)
        if training and not _wants_best(args):
            self._seed_next_epoch(args, state)
            self._save_now(args, state, control)
        self._end(state, "in an evaluation ")

    def _save_now(self, args: Any, state: Any, control: Any) -> None:
        assert self.checkpoints is not None  # noqa: S101 - made when training began
        if not state.global_step or self.checkpoints.saved_step == state.global_step:
            return
        self.trainer._save_checkpoint(self.trainer.model, trial=None)  # noqa: SLF001 - there is no public way
        self.on_save(args, state, control)

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:  # noqa: ARG002 - as above
        # an evaluation, which has just drawn, ends with its line
        self._seed_next_epoch(args, state)
        # the summary of a run that has not ended
        if not (self.interrupted and "train_runtime" in (logs or {})):
            self.metrics(state, {**(logs or {}), "step": state.global_step})

    def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:  # noqa: ARG002 - as above
        if self.interrupted:
            self._end(state)
        if self.checkpoints is not None:
            self.checkpoints.finish()
        barrier()  # nobody leaves, and makes torchrun kill the others, before all is saved

    def _end(self, state: Any, where: str = "") -> NoReturn:
        kept = "nothing is saved"
        if self.checkpoints is not None:
            kept = self.checkpoints.kept(state.global_step)
        barrier()
        raise Interrupted(f"{where}after step {state.global_step} of {state.max_steps}; {kept}")

    def metrics(self, state: Any, values: Mapping[str, Any]) -> None:
        """Print numbers as a line that metric definitions read, on the worker that has them.

        With pipeline stages that is one of the last stage, and not the first of all.
        """
        if state.is_world_process_zero:
            print(metric_line(values), flush=True)


def _wants_best(args: Any) -> bool:
    # optimum-neuron's arguments have no such field
    return bool(getattr(args, "load_best_model_at_end", False))


def _judged_here(args: Any, state: Any, control: Any) -> bool:
    """Whether an evaluation belongs to this step: one that is asked for already, or that of an
    epoch that ends.
    """
    by_epoch = getattr(args.eval_strategy, "value", args.eval_strategy) == "epoch"
    return bool(control.should_evaluate or (by_epoch and _ends_epoch(state)))


def _ends_epoch(state: Any) -> bool:
    epoch = float(state.epoch or 0)
    return abs(epoch - round(epoch)) < 1e-6


class _Collate:
    """A collator whose draws, such as masks, are a function of the seed, the epoch and the examples:
    loaders ask it for a batch before the step is known, some of them in other processes.
    """

    def __init__(self, collate: Callable[[Any], Any], number: int) -> None:
        self.collate = collate
        self.number = number
        self.epoch = 0

    def __call__(self, examples: Any) -> Any:
        first = examples[0] if isinstance(examples, list) else examples
        seed(self.number, "batch", self.epoch, first)
        return self.collate(examples)


def _is_of_datasets(dataset: Any) -> bool:
    return type(dataset).__module__.partition(".")[0] == "datasets"


def _draws_by_itself(dataset: Any) -> bool:
    """It has code of its own for one example, which may draw: image augmentation above all."""
    if _is_of_datasets(dataset):
        return getattr(dataset, "format", {}).get("type") == "custom"
    return hasattr(dataset, "__getitem__") and hasattr(dataset, "__len__")


class _Examples:
    """A data set whose draws are a function of the seed, the epoch and the example's number."""

    def __init__(self, dataset: Any, number: int) -> None:
        self.dataset = dataset
        self.number = number
        self.epoch = 0

    def __len__(self) -> int:
        return len(self.dataset)

    def __getitem__(self, index: Any) -> Any:
        seed(self.number, "example", self.epoch, index)
        return self.dataset[index]


def seed(*parts: Any) -> None:
    """Make the generators a function of `parts`, such as seed, step and rank: nothing to save,
    nothing to restore.
    """
    digest = hashlib.sha256("/".join(map(str, parts)).encode()).digest()
    number = int.from_bytes(digest[:4], "big") >> 1
    random.seed(number)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(number)
    torch = sys.modules.get("torch")
    if torch is not None:
        # torch.manual_seed also notes who asked, for devices that are not there: 0.3 ms a step
        alone = hasattr(torch, "accelerator") and not torch.accelerator.is_available()
        (torch.default_generator if alone else torch).manual_seed(number)
    xm = sys.modules.get("torch_xla.core.xla_model")
    if xm is not None:
        xm.set_rng_state(number)


def wait_for_device() -> None:
    """Until what was asked of it is done: on XLA a step is compiled when its graph is cut, and else
    only traced.
    """
    xm = sys.modules.get("torch_xla.core.xla_model")
    if xm is not None:
        cut_graph()
        xm.wait_device_ops()
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available():
        torch.cuda.synchronize()


def train(trainer: Any, identity: Mapping[str, Any] | None = None, **more: Any) -> Any:
    """`trainer.train()` from the newest complete checkpoint to the end, and what it returns; raises
    Interrupted after a SIGTERM.

    Adds a SpotCallback where the trainer has none. `more` is what `trainer.train` takes: its
    `resume_from_checkpoint` is used where there is no checkpoint of this run.

    >>> sm_spot.train(Trainer(model, args, train_dataset=dataset))   # doctest: +SKIP
    """
    args = trainer.args
    spot = next(
        (one for one in trainer.callback_handler.callbacks if isinstance(one, SpotCallback)), None
    )
    if spot is None:
        spot = SpotCallback(identity)
        trainer.add_callback(spot)
    spot.trainer = trainer
    newest = last_complete_checkpoint(args.output_dir, spot.identity)
    if newest:
        state = json.loads(Path(newest, "trainer_state.json").read_text(encoding="utf-8"))
        # all is trained: Trainer would train one step more
        if state["global_step"] >= state["max_steps"]:
            args.num_train_epochs = 0
            args.max_steps = -1
        more["resume_from_checkpoint"] = newest
    elif not isinstance(more.get("resume_from_checkpoint"), (str, Path)):
        more.pop("resume_from_checkpoint", None)
    try:
        with _own_names(trainer.model):
            return trainer.train(**more)
    except Exception as error:
        if spot.stop.seen and disk_refused(error):
            step = trainer.state.global_step
            raise Interrupted(
                f"after step {step}: not saved, the disk refused it ({first_line(error)})"
            ) from error
        raise
    finally:  # also where the disk has refused the next one
        if spot.checkpoints is not None:
            spot.checkpoints.finish()


@contextlib.contextmanager
def _own_names(model: Any) -> Iterator[None]:
    """Transformers 5 saves some models, such as Mixtral, under the names that the hub has for their
    weights, and Trainer, which loads a checkpoint by the module's own names, leaves out what it
    does not find.
    """
    save = getattr(model, "save_pretrained", None)
    if save is None or "save_original_format" not in inspect.signature(save).parameters:
        yield
        return
    model.save_pretrained = functools.partial(save, save_original_format=False)
    try:
        yield
    finally:
        del model.save_pretrained


# --- any script ---


def run(argv: Optional[list[str]] = None) -> None:
    """`run [--exact|--not-exact] SCRIPT …`: the script as it is, its Trainer or Accelerate loop kept
    safe. In a job the script is named by SM_SPOT_SCRIPT, and every flag is its own.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    script = os.environ.get(SCRIPT_VARIABLE, "")
    options = {"--exact": False, "--not-exact": False}
    if not script and words[:1] == ["run"]:
        words.pop(0)
        while words and words[0] in options:
            options[words.pop(0)] = True
        script = words.pop(0) if words else ""
    path = Path(script)
    if script and not path.is_file():
        path = Path(__file__).resolve().parent / script
    if not path.is_file():
        raise UsageError(
            f"sm_spot.py: got {script!r}, wanted a script: python sm_spot.py run train.py …"
        )
    if TrainerCallback is not object:
        _keep_trainers_safe(exact=options["--exact"], reseed=not options["--not-exact"])
    with contextlib.suppress(ImportError):
        words = _keep_accelerate_safe(path, words, exact=options["--exact"])
    sys.argv = [str(path), *words]
    sys.path.insert(0, str(path.resolve().parent))
    runpy.run_path(str(path), run_name="__main__")


def _keep_trainers_safe(*, exact: bool, reseed: bool) -> None:
    """`Trainer.train` becomes `train` above, with checkpoints in the job's own folder for them."""
    from transformers import Trainer
    from transformers.trainer_callback import PrinterCallback, ProgressCallback

    plain = Trainer.train

    @functools.wraps(plain)
    def safe(self: Any, resume_from_checkpoint: Any = None, *given: Any, **more: Any) -> Any:
        args = self.args
        inner = any(isinstance(one, SpotCallback) for one in self.callback_handler.callbacks)
        if inner or given or more.get("trial") is not None:
            return plain(self, resume_from_checkpoint, *given, **more)
        for printer in (PrinterCallback, ProgressCallback):  # their numbers are words
            self.remove_callback(printer)
        self.add_callback(SpotCallback(exact=exact, reseed=reseed))
        folder = args.output_dir
        if CHECKPOINTS.is_dir():
            args.output_dir = str(CHECKPOINTS)
        try:
            return train(self, resume_from_checkpoint=resume_from_checkpoint, **more)
        finally:
            args.output_dir = folder

    Trainer.train = safe


def _keep_accelerate_safe(script: Path, words: list[str], *, exact: bool) -> list[str]:
    """Seal what the script's own `save_state` saves, stop there, and give the script its newest as
    --resume_from_checkpoint; returns the flags.
    """
    if "save_state(" not in script.read_text(encoding="utf-8"):
        return words
    from accelerate import Accelerator

    if exact:
        raise UsageError("--exact: a loop on Accelerate resumes, but not exactly; leave it out")
    say("resumes, but not exactly: from what the loop on Accelerate itself saves")
    stop = StopRequest()
    plain = Accelerator.save_state

    @functools.wraps(plain)
    def save_state(self: Any, output_dir: Any = None, *given: Any, **more: Any) -> Any:
        folder = plain(self, output_dir, *given, **more)
        barrier()
        if place().local_rank == 0:
            seal(Path(folder), {})
        if stop.agreed():
            raise Interrupted(f"saved in {folder}")
        return folder

    Accelerator.save_state = save_state
    flag = "--resume_from_checkpoint"
    known = re.search(r"--output_dir[= ](\S+)", " ".join(words))
    if known is None or flag in words or flag not in script.read_text(encoding="utf-8"):
        return words
    for manifest in sorted(Path(known[1]).rglob(MANIFEST), key=os.path.getmtime, reverse=True):
        if not proof_of(manifest.parent)[0]:
            say(f"resuming from {manifest.parent}")
            return [*words, flag, str(manifest.parent)]
    return words


if IS_PROGRAM:
    leave(exit_code_of(run))

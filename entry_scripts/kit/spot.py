"""What keeps a job safe: checked flags, its lines, exit codes, the wish to stop, and checkpoints that are proven complete.

Exit codes: 0 done; 2 something that the user can put right; 75 stopped after SIGTERM, run the same command again.

SageMaker copies the checkpoint folder to S3 file by file while it is being written, so neither a rename nor a file's
presence proves anything there: a checkpoint counts only if its manifest, written last, matches every byte.
https://docs.aws.amazon.com/sagemaker/latest/dg/model-checkpoints.html
"""

from __future__ import annotations

import atexit
import contextlib
import difflib
import gc
import hashlib
import json
import logging
import math
import os
import re
import shutil
import signal
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any, Callable, Mapping, NoReturn

DONE, USAGE_ERROR, INTERRUPTED = 0, 2, 75  # 75 is EX_TEMPFAIL of sysexits.h
FAILURE = Path("/opt/ml/output/failure")  # what SageMaker shows as the job's FailureReason
CHECKPOINTS = Path("/opt/ml/checkpoints")  # exists in a job that was given a checkpoint_s3_uri
MANIFEST = "manifest.json"
MARK = "checkpoints.txt"  # in a folder that a run has written to
KEEP = 2  # the older one is what survives a torn upload of the newer
GRAPHS_ONLY_STEPS = 5  # neuron_parallel_compile sees every graph of a training loop within these

# Kit's modules come before the libraries, and this one before all: those load for seconds, in which SIGTERM is heard, and
# make many objects and few cycles, so that they load faster when these are searched for less often.
gc.set_threshold(100_000, 50, 100)
EARLY: list[int] = []
if Path(sys.argv[0]).resolve().parent == Path(__file__).resolve().parent.parent:  # a script beside kit is what runs
    signal.signal(signal.SIGTERM, lambda number, _frame: EARLY.append(number))


class UsageError(Exception):
    """Only the user can put it right. The message says what, got, wanted and fix."""


class Interrupted(Exception):  # noqa: N818 - not an error: asked for, and answered
    """The run was asked to stop and has stopped at the end of a step."""


# --- flags ---


def refuse_unknown(flag: str, known: Any) -> NoReturn:
    close = difflib.get_close_matches(flag, sorted(known), n=1)
    raise UsageError(f"{flag}: unknown flag; " + (f"did you mean {close[0]}?" if close else "see --help"))


def check_folder(flag: str, folder: Path | None) -> None:
    """That it can be written to is known before hours are spent, not after."""
    try:
        if folder is not None and not graphs_only():
            folder.mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        raise UsageError(
            f"--{flag}: got {str(folder)!r} ({error}), wanted a folder that this user may write to"
        ) from error


def graphs_only() -> bool:
    """Under `neuron_parallel_compile` graphs are collected and not executed: no number that comes out means anything.

    A script then makes few steps, and neither reads nor writes a checkpoint, saves no model and prints no metric.
    """
    return os.environ.get("NEURON_EXTRACT_GRAPHS_ONLY", "0") not in {"", "0"}


# --- what a script says ---


def metric_line(values: Mapping[str, Any]) -> str:
    """One dictionary in Trainer's form that `ast.literal_eval` and the classic metric regexes read alike.

    Floats are written out in full: 0.00005, never 5e-05, of which `'learning_rate': ([0-9.]*)` would read 5.
    """
    return "{" + ", ".join(f"'{name}': {_literal(value)}" for name, value in values.items()) + "}"


def _literal(value: Any) -> str:
    value = value.item() if hasattr(value, "item") else value  # numpy's and torch's numbers
    if not isinstance(value, float) or not math.isfinite(value):
        return repr(value)
    whole, _, decimals = f"{value:.10f}".partition(".")
    return whole + "." + (decimals.rstrip("0") or "0")


class Console:
    """Prints on the main worker only, each line at once: a killed process has said what it knew."""

    def __init__(self, *, is_main: bool) -> None:
        self.is_main = is_main

    def metrics(self, values: Mapping[str, Any]) -> None:
        if not graphs_only():
            self.say(metric_line(values))

    def say(self, *texts: str) -> None:
        for text in texts if self.is_main else ():
            print(text, flush=True)


def refuse_nan(loss: float) -> None:
    if not math.isfinite(loss) and not graphs_only():
        wanted = "wanted a finite number; lower the learning rate, or use bf16 instead of fp16"
        raise UsageError(f"loss: got {loss}, {wanted}")


# --- how a script ends ---


def exit_code_of(run: Callable[[], None]) -> int:
    """Run, and turn the end into an exit code. What is neither UsageError nor Interrupted nor a full disk is raised."""
    code = DONE
    try:
        run()
    except Interrupted as stop:
        tell(f"interrupted: {stop}")
        code = INTERRUPTED
    except Exception as error:
        if not (isinstance(error, UsageError) or disk_refused(error)):
            raise
        message = str(error) if isinstance(error, UsageError) else (
            f"disk: a file could not be written ({first_line(error)}); give the job a larger volume, or free space, and "
            "run the same command again: it goes on from the newest checkpoint"
        )  # fmt: skip
        tell(f"error: {message}")
        with contextlib.suppress(OSError):
            if FAILURE.parent.is_dir() and os.environ.get("RANK", "0") == "0":
                FAILURE.write_text(message[:1024], encoding="utf-8")
        return USAGE_ERROR
    dist = sys.modules.get("torch.distributed")
    # The workers' group; libraries other than these two close theirs by themselves.
    if dist and dist.is_available() and dist.is_initialized() and dist.get_backend() in {"gloo", "nccl"}:
        dist.destroy_process_group()
    return code


def tell(text: str) -> None:
    """On the main worker only: every worker meets the same error."""
    if os.environ.get("RANK", "0") == "0":
        print(text, file=sys.stderr, flush=True)


def leave(code: int) -> NoReturn:
    """End the process with `code` after all that is to be done at its end, and tear nothing down: torch's threads that
    still run while the interpreter ends now and then abort the process, and a job that has saved would be Failed.
    """
    atexit._run_exitfuncs()  # noqa: SLF001 - what os._exit leaves out
    logging.shutdown()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def disk_refused(error: BaseException) -> bool:
    """Python raises OSError for it; torch's writer a RuntimeError, safetensors' an error of its own."""
    words = "no space left|file too large|disk quota|writer failed|write failed|i/o error|unexpected pos"
    return re.search(words, str(error).lower()) is not None


def first_line(error: BaseException) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]


class StopRequest:
    """SIGTERM, remembered. SageMaker sends it before a spot interruption and before a stop; torchrun passes it on.

    torchrun kills its workers 30 s later, SageMaker after 120 s: the loop acts at the end of its next step.
    """

    def __init__(self) -> None:
        self.seen = bool(EARLY)
        signal.signal(signal.SIGTERM, lambda _number, _frame: setattr(self, "seen", True))


# --- checkpoints ---


class Checkpoints:
    """The folders `checkpoint-N` of one run, of which only those with a matching manifest count.

    `identity` is what makes two runs the same run. It lies in the manifest, and a checkpoint that another run wrote is
    refused rather than resumed from or overwritten.
    """

    def __init__(self, folder: Path, identity: Mapping[str, Any], say: Callable[[str], None], keep: int = KEEP) -> None:
        self.folder, self._identity, self._keep = folder, json.loads(json.dumps(identity, default=str)), max(KEEP, keep)
        self.say, self.saved_step = say, 0
        self._begun: threading.Thread | None = None
        self._error: Exception | None = None

    def path(self, step: int) -> Path:
        return self.folder / f"checkpoint-{step}"

    def steps(self) -> list[int]:
        found = (re.fullmatch(r"checkpoint-(\d+)", path.name) for path in self.folder.glob("checkpoint-*"))
        return sorted(int(match[1]) for match in found if match)

    def claim(self, *, is_main: bool) -> None:
        """Take the folder for runs of this script. UsageError where another program's checkpoints are in it: without a manifest
        they could not be told from torn ones, and older ones would be deleted.
        """
        if graphs_only():
            return
        steps, mark = self.steps(), self.folder / MARK
        if steps and not mark.exists() and not any((self.path(step) / MANIFEST).exists() for step in steps):
            got = f"got {self.path(steps[-1])}, which another program has written"
            raise UsageError(f"checkpoint_dir: {got}, wanted this script's own, or an empty folder; give another one")
        if is_main:
            self.folder.mkdir(parents=True, exist_ok=True)
            mark.write_text("The checkpoints in this folder are proven by their manifests.\n", encoding="utf-8")

    def newest(self) -> int:
        """The newest complete checkpoint's step, 0 if there is none. Torn ones are named and passed over."""
        for step in reversed(self.steps()):
            fault = self.fault(step)
            if not fault:
                return step
            self.say(f"checkpoint-{step} is not usable ({fault}); trying the one before")
        return 0

    def fault(self, step: int) -> str:
        """Why this checkpoint cannot be used, or an empty string. A complete one of another run is a UsageError."""
        path = self.path(step)
        try:
            manifest = json.loads((path / MANIFEST).read_text(encoding="utf-8"))
            its = manifest["identity"]
            torn = [name for name, wanted in manifest["files"].items() if fingerprint(path / name) != wanted]
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            return f"{type(error).__name__}: {error}"
        if torn:
            return f"{', '.join(torn)} does not match its manifest"
        differing = sorted(name for name, value in self._identity.items() if its.get(name) != value)
        if differing:
            seen = "; ".join(f"{name}: got {self._identity[name]!r}, it has {its.get(name)!r}" for name in differing)
            raise UsageError(
                f"checkpoint_dir: {path} was written by another run ({seen}); use the same settings and data to continue "
                "it, or another --checkpoint_dir to start anew"
            )
        return ""

    def seal(self, step: int, folder: Path | None = None, best: str | None = None) -> None:
        """Write the manifest over every file, each on the disk before it; then let the older checkpoints go, but the best."""
        path = folder or self.path(step)
        files = [file for file in sorted(path.rglob("*")) if file.is_file() and file.name != MANIFEST]
        for file in files:
            sync(file)
        prints = {file.relative_to(path).as_posix(): fingerprint(file) for file in files}
        content = json.dumps({"step": step, "identity": self._identity, "files": prints}, indent=1)
        (path / MANIFEST).write_text(content, encoding="utf-8")
        sync(path / MANIFEST)
        sync(path)
        if folder is not None:
            shutil.rmtree(self.path(step), ignore_errors=True)  # a torn one of the same step: `newest` has refused it
            folder.rename(self.path(step))
        sync(self.folder)
        self.saved_step = step
        for old in self.steps()[: -self._keep]:
            if self.path(old).name != Path(best or "").name:
                shutil.rmtree(self.path(old), ignore_errors=True)

    def begin(self, work: Callable[[], None]) -> None:
        """Write or seal in the background, one after the other: no worker waits for the disk."""

        def run() -> None:
            try:
                work()
            except Exception as error:  # noqa: BLE001 - `finish` raises it
                self._error = error

        self.finish()
        self._begun = threading.Thread(target=run, name="checkpoint")
        self._begun.start()

    def finish(self) -> None:
        """Wait until what was begun is on the disk, and raise what it has raised."""
        if self._begun is not None:
            self._begun.join()
        error, self._begun, self._error = self._error, None, None
        if error is not None:
            raise error

    def put_aside(self, newer_than: int) -> None:
        """What this run will write again, and must not take for its own. Kept under another name until next time."""
        for old in self.folder.glob("torn-checkpoint-*"):
            shutil.rmtree(old, ignore_errors=True)
        for step in self.steps():
            if step > newer_than:
                self.path(step).rename(self.folder / f"torn-checkpoint-{step}")


def fingerprint(path: Path) -> dict[str, Any]:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        for block in iter(lambda: file.read(1 << 20), b""):
            digest.update(block)
    return {"sha256": digest.hexdigest(), "bytes": path.stat().st_size}


def sync(path: Path) -> None:
    """Bytes (or a folder's entries) on the disk, not in the cache: the instance may vanish."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

"""This program does what the training toolkit does with a script, where the toolkit cannot be installed (no compiler, no Linux).

Reads /opt/ml's configuration, sets the SM_ variables, runs the script by itself or through torchrun, writes ``success``
or ``failure``. The code lies in /opt/ml/code already. It must not import anything beyond the standard library.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, NamedTuple

_TAIL = 8192  # bytes of the script's errors that can reach the failure file
# What the toolkit takes for itself; what else begins with sagemaker_ is a framework's.
_TOOLKITS = ("program", "submit_directory", "enable_cloudwatch_metrics", "container_log_level", "job_name", "region")
_OF_THE_TOOLKIT = frozenset(f"sagemaker_{name}" for name in _TOOLKITS)


def decoded(text: str) -> Any:
    """Return a hyperparameter as the SDK meant it: JSON where it is some."""
    try:
        return json.loads(text)
    except ValueError:
        return text


class Told(NamedTuple):
    """This is what the files of /opt/ml/input/config say, hyperparameters decoded."""

    base: Path
    given: dict[str, Any]
    resources: dict[str, Any]
    channels: dict[str, Any]

    @property
    def own(self) -> list[tuple[str, Any]]:
        """Return the script's own hyperparameters, in order of name."""
        return sorted((name, value) for name, value in self.given.items() if not name.startswith("sagemaker_"))


def command_line(told: Told) -> list[str]:
    """``--name value`` for each, in order of name; one letter has one dash; a mapping is ``k=v,k=v``."""
    words: list[str] = []
    for name, value in told.own:
        text = ",".join(f"{key}={part}" for key, part in sorted(value.items())) if isinstance(value, dict) else value
        words += [f"--{name}" if len(name) > 1 else f"-{name}", "" if text is None else str(text)]
    return words


def variables(told: Told) -> dict[str, str]:
    """Return SM_ variables, after the toolkit's own names: texts as they are, everything else as compact JSON."""
    base, given, resources = told.base, told.given, told.resources
    program, own = given.get("sagemaker_program", ""), dict(told.own)
    facts = {
        "hosts": resources["hosts"],
        "current_host": resources["current_host"],
        "current_instance_type": resources["current_instance_type"],
        "current_instance_group": resources["current_group_name"],
        "instance_groups": [group["instance_group_name"] for group in resources["instance_groups"]],
        "network_interface_name": resources["network_interface_name"],
        "resource_config": resources,
        "input_data_config": told.channels,
        "channels": sorted(told.channels),
        "hps": own,
        "user_args": command_line(told),
        "user_entry_point": program,
        "module_name": re.sub(r"[.]py$", "", program),
        "module_dir": given.get("sagemaker_submit_directory", ""),
        "framework_params": {name: given[name] for name in given if name not in {*own, *_OF_THE_TOOLKIT}},
        "framework_module": os.environ.get("SAGEMAKER_TRAINING_MODULE", ""),
        "log_level": given.get("sagemaker_container_log_level", 20),
        "input_dir": str(base / "input"),
        "input_config_dir": str(base / "input/config"),
        "model_dir": str(base / "model"),
        "output_dir": str(base / "output"),
        "output_data_dir": str(base / "output/data"),
        "output_intermediate_dir": str(base / "output/intermediate"),
        "num_cpus": os.cpu_count() or 1,
        "num_gpus": 0,
        "num_neurons": 0,
        **{f"channel_{name}": str(base / "input/data" / name) for name in told.channels},
        **{f"hp_{name}": value for name, value in own.items()},
    }
    return {f"SM_{name.upper()}": _text(value) for name, value in facts.items()}


def _text(value: Any) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def command(told: Told) -> list[str]:
    """Return what starts the script. Raises ValueError for a script that is no plain name of one."""
    script, words = str(told.given.get("sagemaker_program", "")), command_line(told)
    if not script or script.startswith("-") or ".." in script.split("/"):
        raise ValueError(f"sagemaker_program: got {script!r}, wanted the name of a script")
    if script.endswith(".sh"):
        return ["/bin/sh", f"./{script}", *words]
    workers = os.environ.get("SM_TRN_WORKERS")  # only where the emulator decided that torchrun starts some
    if workers is None:
        return [sys.executable, script, *words]
    hosts = told.resources["hosts"]
    options = ["--nnodes", str(len(hosts)), "--nproc_per_node", workers]
    if len(hosts) > 1:
        options += ["--master_addr", hosts[0], "--master_port", "7777"]
        options += ["--node_rank", str(hosts.index(told.resources["current_host"]))]
    return ["torchrun", *options, script, *words]


def run(words: list[str], folder: Path, environment: dict[str, str]) -> tuple[int, str]:
    """Return the script's exit status, and the end of what it said on stderr, which goes to the log all the same."""
    process = subprocess.Popen(words, cwd=folder, env=environment, stderr=subprocess.PIPE)
    tail = bytearray()

    def follow() -> None:
        if process.stderr is not None:
            while block := os.read(process.stderr.fileno(), 65536):
                sys.stdout.buffer.write(block)
                sys.stdout.flush()
                tail.extend(block)
                del tail[:-_TAIL]

    follower = threading.Thread(target=follow)
    follower.start()
    status = process.wait()
    follower.join()
    return status, bytes(tail).decode("utf-8", "replace")


def fail(base: Path, kind: str, status: int, said: str, words: list[str]) -> int:
    """Write the failure file, as the toolkit words it, where the script has written none. Returns this program's exit status."""
    at = said.find("Traceback")
    message = said[max(at, 0) :].strip()
    failure = base / "output/failure"
    if not failure.exists():
        failure.write_text(
            f'{kind}:\nExitCode {status}\nErrorMessage "{message}"\nCommand "{" ".join(words)}"',
            "utf-8",
        )
    return status if 0 < status < 256 else 1


def main() -> int:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # a stop is told to the script, whose end we wait for
    base = Path(os.environ.get("SAGEMAKER_BASE_DIR", "/opt/ml"))
    read = {name: json.loads((base / "input/config" / f"{name}.json").read_text("utf-8")) for name in
            ("hyperparameters", "resourceconfig", "inputdataconfig")}  # fmt: skip
    given = {name: decoded(value) for name, value in read["hyperparameters"].items()}
    told = Told(base, given, read["resourceconfig"], read["inputdataconfig"])
    code = base / "code"
    if (code / "requirements.txt").exists():
        print("Installing dependencies from requirements.txt", flush=True)  # noqa: T201 - the job's log
        words = [sys.executable, "-m", "pip", "install", "-r", "requirements.txt"]
        status, said = run(words, code, dict(os.environ))
        if status:
            return fail(base, "InstallRequirementsError", status, said, words)
    words = command(told)
    paths = [str(code), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, **variables(told), "PYTHONPATH": os.pathsep.join(paths)}
    print(f"Invoking script with the following command:\n\n{' '.join(words)}\n", flush=True)  # noqa: T201 - the job's log
    status, said = run(words, code, environment)
    if status:
        return fail(base, "ExecuteUserScriptError", status, said, words)
    (base / "output/success").touch()
    return 0


if __name__ == "__main__":
    sys.exit(main())

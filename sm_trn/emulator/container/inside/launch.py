"""This program does what the training toolkit does with a script, where the toolkit cannot be installed (no compiler, no Linux).

Reads /opt/ml's configuration, sets the SM_ variables, runs the script by itself or through torchrun, writes ``success``
or ``failure``. The code lies in /opt/ml/code already. It must not import anything beyond the standard library.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

_TAIL = 8192  # bytes of the script's errors that can reach the failure file
# What the toolkit takes for itself; what else begins with sagemaker_ is a framework's.
_OF_THE_TOOLKIT = frozenset(
    f"sagemaker_{name}"
    for name in (
        "program",
        "submit_directory",
        "enable_cloudwatch_metrics",
        "container_log_level",
        "job_name",
        "region",
    )
)


def decoded(text: str) -> Any:
    """Return a hyperparameter as the SDK meant it: JSON where it is some."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def command_line(hyperparameters: dict[str, Any]) -> list[str]:
    """``--name value`` for each, in order of name; one letter has one dash; a mapping is ``k=v,k=v``."""
    words: list[str] = []
    for name in sorted(hyperparameters):
        value = hyperparameters[name]
        if isinstance(value, dict):
            value = ",".join(f"{key}={part}" for key, part in sorted(value.items()))
        words += [f"--{name}" if len(name) > 1 else f"-{name}", "" if value is None else str(value)]
    return words


def variables(facts: dict[str, Any]) -> dict[str, str]:
    """Return SM_ variables: texts as they are, everything else as compact JSON."""
    return {
        f"SM_{name.upper()}": ""
        if value is None
        else value
        if isinstance(value, str)
        else json.dumps(value, sort_keys=True, separators=(",", ":"))
        for name, value in facts.items()
    }


def facts_of(base: Path, given: dict[str, Any], resources: dict[str, Any], channels: dict[str, Any]) -> dict[str, Any]:
    """Return what the SM_ variables tell of this host, after the toolkit's own names."""
    own = {name: value for name, value in given.items() if not name.startswith("sagemaker_")}
    for name in ("sagemaker_program", "sagemaker_submit_directory"):
        given.setdefault(name, "")
    facts: dict[str, Any] = {
        "hosts": resources["hosts"],
        "current_host": resources["current_host"],
        "current_instance_type": resources["current_instance_type"],
        "current_instance_group": resources["current_group_name"],
        "instance_groups": [group["instance_group_name"] for group in resources["instance_groups"]],
        "network_interface_name": resources["network_interface_name"],
        "resource_config": resources,
        "input_data_config": channels,
        "channels": sorted(channels),
        "hps": own,
        "user_args": command_line(own),
        "user_entry_point": given["sagemaker_program"],
        "module_name": given["sagemaker_program"].removesuffix(".py"),
        "module_dir": given["sagemaker_submit_directory"],
        "framework_params": {
            name: value
            for name, value in given.items()
            if name.startswith("sagemaker_") and name not in _OF_THE_TOOLKIT
        },
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
    }
    facts |= {f"channel_{name}": str(base / "input/data" / name) for name in channels}
    facts |= {f"hp_{name}": value for name, value in own.items()}
    return facts


def command(given: dict[str, Any], resources: dict[str, Any], words: list[str]) -> list[str]:
    """Raises ValueError for a script that is no plain name of one."""
    script = str(given["sagemaker_program"])
    if not script or script.startswith("-") or ".." in script.split("/"):
        raise ValueError(f"sagemaker_program: got {script!r}, wanted the name of a script")
    if script.endswith(".sh"):
        return ["/bin/sh", f"./{script}", *words]
    workers = os.environ.get("SM_TRN_WORKERS")  # only where the emulator decided that torchrun starts some
    if workers is None:
        return [sys.executable, script, *words]
    hosts = resources["hosts"]
    options = ["--nnodes", str(len(hosts)), "--nproc_per_node", workers]
    if len(hosts) > 1:
        options += ["--master_addr", hosts[0], "--master_port", "7777"]
        options += ["--node_rank", str(hosts.index(resources["current_host"]))]
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


def main() -> int:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # a stop is told to the script, whose end we wait for
    base = Path(os.environ.get("SAGEMAKER_BASE_DIR", "/opt/ml"))
    read = {name: json.loads((base / "input/config" / f"{name}.json").read_text("utf-8")) for name in
            ("hyperparameters", "resourceconfig", "inputdataconfig")}  # fmt: skip
    given = {name: decoded(value) for name, value in read["hyperparameters"].items()}
    facts = facts_of(base, given, read["resourceconfig"], read["inputdataconfig"])
    code = base / "code"
    paths = [str(code), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, **variables(facts), "PYTHONPATH": os.pathsep.join(paths)}
    words = command(given, read["resourceconfig"], facts["user_args"])
    print(f"Invoking script with the following command:\n\n{' '.join(words)}\n", flush=True)  # noqa: T201 - the job's log
    status, said = run(words, code, environment)
    if status == 0:
        (base / "output/success").touch()
        return 0
    at = said.find("Traceback")
    message = said[max(at, 0) :].strip()
    failure = base / "output/failure"
    if not failure.exists():
        failure.write_text(
            f'ExecuteUserScriptError:\nExitCode {status}\nErrorMessage "{message}"\nCommand "{" ".join(words)}"',
            "utf-8",
        )
    return status if 0 < status < 256 else 1


if __name__ == "__main__":
    sys.exit(main())

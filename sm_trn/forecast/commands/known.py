"""Options of commands that estimate: what a job file does not say."""

from __future__ import annotations

from typing import Any

import click

from ...cli.shared import Number
from ..jobs import Calibration, read_calibration
from ..jobs.facts import Known


def _is_data(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    del context, parameter
    if value is not None and value.endswith((".toml", ".yaml", ".yml", ".py", ".ipynb")):
        raise click.UsageError(
            f"--data: got {value}, a job file or code; wanted the training data: .jsonl, .json, .csv, .tsv, .txt, .parquet or a folder"
        )
    return value


def known_options(command: Any) -> Any:
    """The options that say what a job file does not."""
    for option in reversed(
        [
            click.option("--examples", type=Number(min=1), help="Number of training examples."),
            click.option("--tokens", type=Number(min=1), help="Number of tokens in all training examples."),
            click.option(
                "--data",
                type=click.Path(exists=True),
                callback=_is_data,
                metavar="FILE",
                help="Count the examples of this local file or folder.",
            ),
            click.option("--length", type=Number(min=1), help="Tokens of an example as trained."),
            click.option("--batch", type=Number(min=1), help="Examples of one worker's forward pass."),
            click.option("--epochs", type=Number(min=0, min_open=True), help="Number of epochs."),
            click.option("--steps", type=Number(min=1), help="Number of optimizer steps."),
            click.option("--model", metavar="NAME", help="Public name, size such as 7b, or folder with a config.json."),
            click.option(
                "--precision", type=click.Choice(["fp32", "tf32", "fp16", "bf16", "fp8"]), help="Precision of products."
            ),
            click.option(
                "--calibration",
                type=click.Path(exists=True, dir_okay=False),
                metavar="FILE",
                help="Use what your own jobs taught (st.calibrate).",
            ),
        ]
    ):
        command = option(command)
    return command


def known_of(options: dict[str, Any]) -> Known:
    """What the caller gave, by the names of ``st.estimate``."""
    found: Known = {
        name: value for name, value in options.items() if name in Known.__annotations__ and value is not None
    }  # type: ignore[assignment]  # names and types are those of the options
    return found


def calibration_of(options: dict[str, Any]) -> Calibration | None:
    """The calibration of ``--calibration``. Raises SmTrnError."""
    return read_calibration(options["calibration"]) if options.get("calibration") else None

"""What an installed SDK has, asked of the SDK itself in the Python that has it: names, where they are at home, their arguments."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ...core.errors import SmTrnError

VARIABLE: Final = "SM_TRN_SDK3_PYTHON"
TIMEOUT_S: Final = 120.0
_ASK: Final = Path(__file__).with_name("asked.py")


@dataclass(frozen=True, slots=True)
class Known:
    """A name of an SDK: the dotted name of what it stands for, ``kind`` of it (module, class, function or value), the
    parameters of a call in order, the attributes of a class, and what of the name is an attribute of that class."""

    home: str
    kind: str
    parameters: tuple[str, ...] = ()
    attributes: frozenset[str] = frozenset()
    rest: tuple[str, ...] = ()


class Sdk:
    """The SDK of one Python. Answers are kept.

    >>> Sdk(Path(sys.executable)).ask(["sagemaker.pytorch.PyTorch"])["sagemaker.pytorch.PyTorch"].home
    'sagemaker.pytorch.estimator.PyTorch'
    """

    def __init__(self, python: Path) -> None:
        self.python = python
        self.version = ""
        self._names: dict[str, Known | None] = {}

    def ask(self, names: Iterable[str]) -> Mapping[str, Known | None]:
        """What each dotted name is; None where the SDK has none of it. Raises SmTrnError where this Python has no SDK."""
        unasked = sorted(set(names) - set(self._names))
        if unasked or not self.version:
            answer = self._answer(unasked)
            self.version = str(answer["version"])
            for name, row in answer["names"].items():
                self._names[name] = None if row is None else known(row)
        return self._names

    def _answer(self, names: list[str]) -> dict[str, dict[str, dict[str, object] | None]]:
        environment = {key: value for key, value in os.environ.items() if key not in {"PYTHONPATH", "PYTHONHOME"}}
        try:
            done = subprocess.run(  # noqa: S603 - the Python that the user named, and our own program
                [str(self.python), "-W", "ignore", str(_ASK)],
                input=json.dumps(names), capture_output=True, text=True, timeout=TIMEOUT_S, check=False, env=environment,
            )  # fmt: skip
        except (OSError, subprocess.TimeoutExpired) as error:
            raise SmTrnError(f"{self.python}: cannot be asked for its SDK: {error}") from None
        if done.returncode:
            last = done.stderr.strip().rpartition("\n")[2]
            raise SmTrnError(f"{self.python}: has no SageMaker SDK that can be asked: {last[:200]}")
        answer: dict[str, dict[str, dict[str, object] | None]] = json.loads(
            done.stdout.rpartition("\n{")[2].join(("{", ""))
        )
        return answer


def known(row: Mapping[str, object]) -> Known:
    """A name from its row in the answer."""

    def texts(key: str) -> tuple[str, ...]:
        value = row.get(key)
        return tuple(str(item) for item in value) if isinstance(value, list) else ()

    return Known(str(row["home"]), str(row["kind"]), texts("parameters"), frozenset(texts("attributes")), texts("rest"))


def sdk_v2() -> Sdk:
    """The SDK of this Python. Raises SmTrnError where it is not version 2."""
    sdk = Sdk(Path(sys.executable))
    sdk.ask(())
    if not sdk.version.startswith("2."):
        raise SmTrnError(
            f'SDK v2: this Python has version {sdk.version}, wanted 2, which the program is written for; pip install "sm_trn[sdk]"'
        )
    return sdk


def sdk_v3(python: Path | None = None) -> Sdk:
    """The SDK of the Python given, or named by SM_TRN_SDK3_PYTHON. Raises SmTrnError where there is none, or not of version 3."""
    named = os.environ.get(VARIABLE)
    place = python or (Path(named) if named else None)
    if place is None:
        raise SmTrnError(
            "a program is written for SDK v3 only after it has run there: name a Python that has it, with --python PATH or "
            f'{VARIABLE}. One is made by: python -m venv v3 && v3/bin/pip install "sagemaker>=3"'
        )
    sdk = Sdk(place)
    sdk.ask(())
    if not sdk.version.startswith("3."):
        raise SmTrnError(f"{place}: has SageMaker SDK {sdk.version}, wanted version 3")
    return sdk

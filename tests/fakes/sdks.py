"""SDKs that are asked without a process of their own: version 2 as it is installed here, and a version 3 that has every name."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path

from sm_trn.bridge.rewriting import asked
from sm_trn.bridge.rewriting.sdk import Known, Sdk, known

PARTS = ("core", "train", "serve", "mlops")  # what is below ``sagemaker`` in version 3


class Installed(Sdk):
    """SDK v2, imported into the process of the tests."""

    def __init__(self) -> None:
        super().__init__(Path(sys.executable))
        self._rows: dict[str, Known | None] = {}

    def ask(self, names: Iterable[str]) -> Mapping[str, Known | None]:
        for name in set(names) - set(self._rows):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                row = asked.told(name)
            self._rows[name] = None if row is None else known(row)
        return self._rows


class Everything(Sdk):
    """An SDK v3 that has each name below its parts, but for those in ``lacking``."""

    def __init__(self, lacking: Iterable[str] = ()) -> None:
        super().__init__(Path("no-python"))
        self._lacking = set(lacking)
        self._rows: dict[str, Known | None] = {}

    def ask(self, names: Iterable[str]) -> Mapping[str, Known | None]:
        for name in set(names) - set(self._rows):
            words = name.split(".")
            there = len(words) < 2 or words[1] in PARTS
            kind = "class" if words[-1][:1].isupper() else "function"
            home = "sagemaker.train.model_trainer.ModelTrainer" if words[-1] == "ModelTrainer" else name
            row = Known(home, kind, attributes=frozenset({"default_bucket", "boto_region_name", "upload_data"}))
            self._rows[name] = row if there and name not in self._lacking else None
        return self._rows

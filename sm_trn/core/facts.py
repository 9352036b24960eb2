"""The user's own file of facts that are newer than the tables that ship: images and prices, with the day they were taken."""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from .errors import NotConfigured

SCHEMA = 1


def facts_file() -> Path:
    """``SM_TRN_CATALOG``, else ``sm_trn/catalog.json`` in the user's configuration folder. It need not exist."""
    named = os.environ.get("SM_TRN_CATALOG")
    if named:
        return Path(named)
    home = os.environ.get("XDG_CONFIG_HOME")
    return (Path(home) if home else Path.home() / ".config") / "sm_trn" / "catalog.json"


@functools.cache
def user_facts() -> Mapping[str, Any]:
    """Return the contents of ``facts_file``; empty where there is none. Raises NotConfigured when it holds something else."""
    return MappingProxyType(read_facts(facts_file()))


def read_facts(path: Path) -> dict[str, Any]:
    """The facts of one file: ``made`` (ISO day), ``images`` and ``prices`` in the form of the tables that ship.

    Nothing where there is no such file. Raises NotConfigured when it holds something else.
    """
    try:
        body = json.loads(path.read_text("utf-8"))
        if body["schema"] == SCHEMA and {"made", "images", "prices"} <= set(body):
            return dict(body)
        got = f"schema {body['schema']!r}"
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, KeyError, TypeError) as error:
        got = f"{type(error).__name__}: {error}"
    raise NotConfigured(
        f"{path}: got {got}, wanted what sm-trn catalog update writes; delete the file, then run sm-trn catalog update"
    )

"""Finds the shipped entry scripts: beside the package in a checkout, inside it in an installed wheel. Alone knows where."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parents[1]
_PLACES = (_PACKAGE / "_entry_scripts", _PACKAGE.parent / "entry_scripts")


def scripts_folder() -> Path:
    """The folder of the shipped scripts and their shared modules.

    >>> (st.scripts_folder() / "train_text_classification.py").is_file()
    True
    """
    return next((place for place in _PLACES if place.is_dir()), _PLACES[0])


def shipped_scripts() -> tuple[str, ...]:
    """File names of the scripts that a job can name without a ``source_dir``."""
    return tuple(sorted(path.name for path in scripts_folder().glob("*.py") if not path.name.startswith("_")))

"""The user's data, looked at: which template reads it, and a few of its rows for the first steps."""

from __future__ import annotations

import csv
import io
import json
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ..core.errors import NotConfigured
from .template import TEMPLATES, Template

READ = 20_000_000  # characters of a file that are looked at
IMAGES = frozenset({".jpg", ".jpeg", ".png", ".webp", ".bmp"})
TABLES = (".jsonl", ".json", ".csv", ".tsv", ".parquet", ".txt")


class UnreadableData(NotConfigured):
    """The data is not there, or not of a form that is known."""


def in_s3(data: str) -> bool:
    """Return True if the data lies in S3, where nobody looks at it."""
    return data.startswith("s3://")


def template_of(data: Path) -> Template | None:
    """The template that reads such data: the one whose columns are the most that it has; None where no template does.

    Raises UnreadableData.
    """
    if class_folders(data):
        return TEMPLATES["vision"]
    columns = frozenset(name.lower() for name in columns_of(data))
    fitting = [
        (len(wanted), template) for template in TEMPLATES.values() for wanted in template.columns if wanted <= columns
    ]
    return max(fitting, key=lambda pair: pair[0])[1] if fitting else None


def class_folders(data: Path) -> list[Path]:
    """The folders of images, one for each class."""
    if not data.is_dir():
        return []
    return [each for each in sorted(data.iterdir()) if each.is_dir() and any(images_in(each))]


def images_in(folder: Path) -> Iterator[Path]:
    """The images of a folder."""
    return (each for each in sorted(folder.iterdir()) if each.suffix.lower() in IMAGES)


def table_file(data: Path) -> Path:
    """The file of rows: the data itself, or of a folder the one for training, or the largest. Raises UnreadableData."""
    if data.is_file() and data.suffix in TABLES:
        return data
    if not data.exists():
        raise UnreadableData(
            f"data: got {str(data)!r}, which is not there; wanted a file or a folder of this machine, or s3://…"
        )
    tables = [each for each in sorted(data.rglob("*"))[:1000] if each.suffix in TABLES] if data.is_dir() else []
    if not tables:
        raise UnreadableData(
            f"data: got {str(data)!r}, wanted {', '.join(TABLES)}, or a folder of images for each class"
        )
    return max(tables, key=lambda each: ("train" in each.name, each.stat().st_size))


def columns_of(data: Path) -> tuple[str, ...]:
    """The names of the columns; of lines of text, ``text``. Raises UnreadableData."""
    path = table_file(data)
    if path.suffix == ".txt":
        return ("text",)
    if path.suffix in {".csv", ".tsv"}:
        head, _ = _csv(path)
        return tuple(head)
    rows = _rows(path)
    if not rows or not isinstance(rows[0], dict):
        raise UnreadableData(f"data: got {path.name!r} without rows of named columns; wanted a JSON object a row")
    return tuple(rows[0])


def few(data: Path, folder: Path, count: int = 64) -> Path:
    """Write ``count`` rows of the data, spread over it, into ``folder``, in the form that they have. Raises UnreadableData."""
    folder.mkdir(parents=True, exist_ok=True)
    classes = class_folders(data)
    if classes:
        return _few_images(classes, folder)
    path = table_file(data)
    target = folder / ("train" + path.suffix)
    if path.suffix in {".csv", ".tsv"}:
        head, rows = _csv(path)
        with target.open("w", encoding="utf-8", newline="") as stream:
            csv.writer(stream, delimiter=_delimiter(path)).writerows([head, *spread(rows, count)])
    elif path.suffix == ".txt":
        lines = [line for line in _text(path).split("\n") if line.strip()]
        target.write_text("\n".join(spread(lines, count)) + "\n", "utf-8")
    else:
        target = target.with_suffix(".jsonl")
        rows = spread(_rows(path), count)
        target.write_text("".join(json.dumps(row, ensure_ascii=False, default=str) + "\n" for row in rows), "utf-8")
    return folder


def spread(rows: Sequence[Any], count: int) -> list[Any]:
    """``count`` rows, or all, at equal distances: a sorted file shows more than its first class."""
    if len(rows) <= count:
        return list(rows)
    return [rows[at * len(rows) // count] for at in range(count)]


def _few_images(classes: Sequence[Path], folder: Path, each_class: int = 4) -> Path:
    for place in classes:
        (folder / place.name).mkdir(exist_ok=True)
        for image in list(images_in(place))[:each_class]:
            shutil.copy2(image, folder / place.name / image.name)
    return folder


def _text(path: Path) -> str:
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            text = stream.read(READ)
    except (OSError, UnicodeDecodeError) as error:
        raise UnreadableData(f"data: got {path.name!r}, which cannot be read ({error}); wanted UTF-8 text") from error
    return text if len(text) < READ else text[: text.rfind("\n") + 1]


def _delimiter(path: Path) -> str:
    return "\t" if path.suffix == ".tsv" else ","


def _csv(path: Path) -> tuple[list[str], list[list[str]]]:
    try:
        rows = list(csv.reader(io.StringIO(_text(path)), delimiter=_delimiter(path)))
    except csv.Error as error:
        raise UnreadableData(f"data: got {path.name!r}, which is no table ({error})") from error
    if not rows:
        raise UnreadableData(f"data: got {path.name!r}, which is empty; wanted rows below the names of columns")
    return rows[0], rows[1:]


def _rows(path: Path) -> list[Any]:
    if path.suffix == ".parquet":
        return _parquet(path)
    text = _text(path)
    try:
        if path.suffix == ".json" and text.lstrip()[:1] == "[":
            return list(json.loads(text))
        return [json.loads(line) for line in text.split("\n") if line.strip()]
    except ValueError as error:
        raise UnreadableData(
            f"data: got {path.name!r}, which is not JSON ({error}); wanted one object a line"
        ) from error


def _parquet(path: Path) -> list[Any]:
    try:
        from pyarrow import parquet  # noqa: PLC0415 - an extra, and needed for this kind alone
    except ImportError as error:
        raise UnreadableData(f"data: reading {path.name!r} needs pyarrow: pip install pyarrow") from error
    first = next(parquet.ParquetFile(path).iter_batches(batch_size=10_000), None)
    return first.to_pylist() if first is not None else []

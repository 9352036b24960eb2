"""How fast tables are read: python tests/benchmarks/bench_data.py [ROWS]. On demand, never as a test.

A table of ROWS (100,000 unless told) in each form: seconds to read it whole, beside pandas where it reads the same rows.
"""

from __future__ import annotations

import csv
import importlib
import random
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
SCRIPTS = HERE.parents[1] / "entry_scripts"
sys.path[:0] = [str(SCRIPTS), str(HERE.parent / "entry_scripts")]

from kit.data import read_table  # noqa: E402 - they stand in a folder of their own
from zoo import ESCAPED, by_pandas, by_r, joined, json_array, json_lines, parquet, written  # noqa: E402

WORDS = [
    "a",
    "cable",
    "is",
    "not",
    "good",
    ",",
    'very "fine"',
    "it's",
    "C:\\temp",
    '5"',
    "ordered",
    "white",
    "fabric",
    "broken",
]


def table_of(rows: int) -> list[tuple[str, str]]:
    draw = random.Random(0)
    return [(" ".join(draw.choices(WORDS, k=draw.randint(20, 80))), str(row % 3)) for row in range(rows)]


FORMS: dict[str, Callable[[Any], str | bytes]] = {
    "pandas.csv": by_pandas,
    "quotes.csv": lambda rows: written(rows, quoting=csv.QUOTE_ALL),
    "backslashes.csv": lambda rows: written(rows, quoting=csv.QUOTE_ALL, **ESCAPED),
    "glue.tsv": joined,
    "of_r.tsv": by_r,
    "lines.jsonl": json_lines,
    "array.json": json_array,
    "table.parquet": parquet,
}
PEERS = {
    "pandas.csv": "read_csv",
    "quotes.csv": "read_csv",
    "lines.jsonl": "read_json",
    "table.parquet": "read_parquet",
}


def show_reading(rows: list[tuple[str, str]]) -> None:
    pandas: Any = importlib.import_module("pandas")
    with tempfile.TemporaryDirectory() as folder:
        for name, write in FORMS.items():
            path, content = Path(folder) / name, write(rows)
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
            begin = time.perf_counter()
            table = read_table(path, "train_file")
            own = time.perf_counter() - begin
            if list(zip(*table.columns.values(), strict=True)) != rows:
                sys.exit(f"{name}: other rows than were written")
            line = f"{name:16} {len(table)} rows, {path.stat().st_size / 1e6:5.1f} MB: {own:5.2f} s"
            if name in PEERS:
                options = {"lines": True} if name == "lines.jsonl" else {}
                begin = time.perf_counter()
                getattr(pandas, PEERS[name])(path, **options)
                line += f", pandas {time.perf_counter() - begin:5.2f} s"
            print(line, flush=True)


if __name__ == "__main__":
    show_reading(table_of(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000))

"""How fast tables are read and what tokens weigh: python tests/benchmarks/bench_data.py [ROWS]. On demand, never as a test.

1. A table of ROWS (100,000 unless told) in each form: seconds to read it whole, beside pandas where it reads the same rows.
2. Its tokens: `kit.data.encode` beside all the tokenizer's lists at once, each in a process of its own. What the texts
   weigh is in neither; peak and rest are resident memory above what the process had before.
"""

from __future__ import annotations

import csv
import gc
import importlib
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
SCRIPTS = HERE.parents[1] / "entry_scripts"
sys.path[:0] = [str(SCRIPTS), str(HERE.parent / "entry_scripts")]

from kit.data import encode, read_table  # noqa: E402 - they stand in a folder of their own
from zoo import ESCAPED, by_pandas, by_r, joined, json_array, json_lines, parquet, written  # noqa: E402

LENGTH = 128
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


def resident_mb(line: str = "VmRSS") -> float:
    """Of this process; VmHWM is the most it has had. (What getrusage calls so begins with the parent's.)"""
    status = dict(one.split(":", 1) for one in Path("/proc/self/status").read_text().splitlines())
    return int(status[line].split()[0]) * 1024 / 1e6


def weigh(way: str, count: int) -> None:
    """In a process of its own: seconds, peak and rest in MB, tokens."""
    transformers: Any = importlib.import_module("transformers")
    special = {kind + "_token": f"[{kind.upper()}]" for kind in ("pad", "unk", "cls", "sep", "mask")}
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_file=str(SCRIPTS / "tiny_random" / "tokenizer.json"), **special
    )
    texts = [text for text, _ in table_of(count)]
    tokenizer(texts[:10])  # what the library itself needs
    gc.collect()
    before, begin = resident_mb(), time.perf_counter()
    if way == "encode":
        found: Any = encode(tokenizer, texts, max_length=LENGTH)
        tokens = len(found.ids)
    else:
        found = tokenizer(texts, truncation=True, max_length=LENGTH)
        tokens = sum(map(len, found["input_ids"]))
    seconds = time.perf_counter() - begin
    peak = resident_mb("VmHWM") - before
    gc.collect()
    print(
        f"{way:10} {seconds:5.1f} s, peak {peak:6.0f} MB, rest {resident_mb() - before:6.0f} MB, {tokens} tokens",
        flush=True,
    )


def main(argv: list[str]) -> None:
    if argv[:1] == ["--weigh"]:
        weigh(argv[1], int(argv[2]))
        return
    count = int(argv[0]) if argv else 100_000
    show_reading(table_of(count))
    for way in ("encode", "lists"):
        subprocess.run([sys.executable, __file__, "--weigh", way, str(count)], check=True)


if __name__ == "__main__":
    main(sys.argv[1:])

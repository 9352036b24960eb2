"""Files as people have them: dialects × encodings × faults, made in code, each with its rows or its refusal.

`oracle` reads the same bytes with a library that is not ours, where that library agrees with what the file means.
"""

from __future__ import annotations

import csv
import gzip
import importlib
import io
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Rows = list[tuple[Any, ...]]

LATE = 150  # the row that differs: far behind what a look at the first lines would see
TAME = [(f"It is number {n} of the texts", str(n % 3)) for n in range(200)]
QUOTED = [
    *TAME,
    ('say "hi", then go', "1"),
    ('"all in quotes"', "0"),
    ('he said "bye"', "2"),
    ('5" pipe', "1"),
    (", ,", "0"),
]
LINES = [*QUOTED, ("two\nlines", "1"), ("\nfirst line empty", "0"), ('a "b\nc" d', "2")]
SLASHES = [*QUOTED, ("C:\\temp\\new", "1"), ("ends in \\", "0"), ('\\"', "2"), ("\\\\", "1"), ('a \\" b', "0")]
WORLD = [
    *TAME,
    ("naïve café", "1"),
    ("日本語のテキスト", "0"),
    ("emoji 🙂, yes", "2"),
    ("Ω\u2028one text\u2029still\x0b\x85", "1"),
]
WESTERN = [*TAME, ("naïve café", "1"), ("Ærøskøbing, ¿qué?", "2")]


@dataclass(frozen=True)
class Case:
    """One file (or a folder: a name may have slashes) and what is to come of reading it."""

    name: str
    files: dict[str, bytes]
    wanted: Rows | str  # all rows, or the words of the refusal
    columns: tuple[str, ...] = ("text", "label")
    options: dict[str, Any] = field(default_factory=dict)
    said: str = ""  # words that have to be printed
    numbers: list[int] | None = None  # of the rows; None: from 1 on
    oracle: Callable[[bytes], Rows] | None = None

    def write(self, folder: Path) -> Path:
        for name, content in self.files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        only = next(iter(self.files))
        return folder / (only.split("/")[0] if "/" in only else only)


def library(name: str) -> Any:
    return importlib.import_module(name)


# --- writers ---


def written(rows: Rows, header: tuple[str, ...] | None = ("text", "label"), **dialect: Any) -> str:
    out = io.StringIO()
    csv.writer(out, **dialect).writerows([*([header] if header else []), *rows])
    return out.getvalue()


def joined(rows: Rows, cut: str = "\t", header: tuple[str, ...] | None = ("text", "label"), end: str = "\n") -> str:
    return "".join(cut.join(map(str, row)) + end for row in [*([header] if header else []), *rows])


def by_pandas(rows: Rows, **options: Any) -> str:
    return str(library("pandas").DataFrame(rows, columns=["text", "label"]).to_csv(**{"index": False, **options}))


def by_r(rows: Rows) -> str:
    """R's write.table(sep = "\\t", row.names = FALSE): all text in quotes, those inside behind backslashes."""
    cells = [["text", "label"], *([text.replace("\\", "\\\\").replace('"', '\\"'), label] for text, label in rows)]
    return "".join(f'"{text}"\t"{label}"\n' for text, label in cells)


def json_lines(rows: Rows, **options: Any) -> str:
    return "".join(json.dumps({"text": text, "label": label}, **options) + "\n" for text, label in rows)


def json_array(rows: Rows, **options: Any) -> str:
    return json.dumps([{"text": text, "label": label} for text, label in rows], **options)


def parquet(rows: Rows, names: Sequence[str] = ("text", "label")) -> bytes:
    pa, pq = library("pyarrow"), library("pyarrow.parquet")
    out = io.BytesIO()
    pq.write_table(pa.table([pa.array(column) for column in zip(*rows, strict=True)], names=list(names)), out)
    return out.getvalue()


def parquet_of_bytes(content: bytes) -> bytes:
    """A column of text that is not UTF-8, as writers in C++ do not mind."""
    pa = library("pyarrow")
    ends = len(content).to_bytes(8, "little")
    column = pa.StringArray.from_buffers(1, pa.py_buffer(ends[4:] + ends[:4]), pa.py_buffer(content))
    out = io.BytesIO()
    library("pyarrow.parquet").write_table(pa.table([column], names=["text"]), out)
    return out.getvalue()


def with_late(rows: Rows, line: str, cut: str = ",") -> str:
    """Where the rest contradicts the first hundred rows."""
    lines = written(rows, delimiter=cut, lineterminator="\n").split("\n")
    return "\n".join([*lines[:LATE], line, *lines[LATE:]])


# --- readers of others ---


def by_csv(**dialect: Any) -> Callable[[bytes], Rows]:
    def read(content: bytes) -> Rows:
        lines = csv.reader(io.StringIO(content.decode("utf-8-sig"), newline=""), **dialect)
        return [tuple(row) for row in lines][1:]

    return read


def by_read_csv(**options: Any) -> Callable[[bytes], Rows]:
    def read(content: bytes) -> Rows:
        table = library("pandas").read_csv(io.BytesIO(content), **{"dtype": str, "keep_default_na": False, **options})
        return [tuple(row) for row in table.itertuples(index=False)]

    return read


def by_arrow(**options: Any) -> Callable[[bytes], Rows]:
    def read(content: bytes) -> Rows:
        pa, arrow = library("pyarrow"), library("pyarrow.csv")
        names = content.split(b"\n")[0].decode().strip().replace('"', "").split(options.get("delimiter", ","))
        table = arrow.read_csv(
            io.BytesIO(content),
            parse_options=arrow.ParseOptions(**{"newlines_in_values": True, **options}),
            convert_options=arrow.ConvertOptions(column_types={name: pa.string() for name in names}),
        )
        return [tuple(row.values()) for row in table.to_pylist()]

    return read


def by_lines(content: bytes) -> Rows:
    return [tuple(row.values()) for row in map(json.loads, content.decode("utf-8-sig").strip().split("\n"))]


def by_json(content: bytes) -> Rows:
    return [tuple(row.values()) for row in json.loads(content.decode("utf-8-sig"))]


def by_read_parquet(content: bytes) -> Rows:
    return [tuple(row.values()) for row in library("pyarrow.parquet").read_table(io.BytesIO(content)).to_pylist()]


# --- the files ---

GLUE = [
    *TAME,
    ('"Hello , she said', "1"),
    ("It is fine", "0"),
    ('he said "bye"', "1"),
    ('"a whole quotation"', "0"),
    ("it 's 5\" long", "2"),
    ('bye"', "1"),
]
SQUAD = {
    "version": "1.1",
    "data": [
        {
            "title": "Ann",
            "paragraphs": [
                {
                    "context": "It was Ann.",
                    "qas": [{"id": "7", "question": "Who?", "answers": [{"text": "Ann", "answer_start": 7}]}],
                },
                {
                    "context": "Or Bob.",
                    "qas": [{"id": "8", "question": "Who else?", "answers": [], "is_impossible": True}],
                },
            ],
        }
    ],
}
STS = [(str(n), "main", f"A man {n} is playing", f'A "man" {n} plays', f"{n % 6}.{n % 10}00") for n in range(150)]
STS_COLUMNS = ("index", "genre", "sentence1", "sentence2", "score")
ESCAPED: dict[str, Any] = {"escapechar": "\\", "doublequote": False}


def one(name: str, content: str | bytes, wanted: Rows | str, **more: Any) -> Case:
    ending = more.pop("ending", name.rsplit(".", 1)[-1])
    data = content if isinstance(content, bytes) else content.encode()
    return Case(name, {f"{name.split('.', maxsplit=1)[0].replace(' ', '_')}.{ending}": data}, wanted, **more)


CSV = [
    one("rfc 4180.csv", written(LINES), LINES, oracle=by_csv(), said="separated by commas, quotes doubled, utf-8"),
    one("all in quotes.csv", written(LINES, quoting=csv.QUOTE_ALL), LINES, oracle=by_read_csv()),
    one("unix.csv", written(LINES, dialect="unix"), LINES, oracle=by_arrow()),
    one("pandas.csv", by_pandas(SLASHES), SLASHES, oracle=by_read_csv()),
    one("pandas with lines.csv", by_pandas([*SLASHES, *LINES]), [*SLASHES, *LINES], oracle=by_arrow()),
    one("pandas all in quotes.csv", by_pandas(SLASHES, quoting=csv.QUOTE_ALL), SLASHES, oracle=by_csv()),
    one(
        "pandas with its index.csv",
        by_pandas(QUOTED, index=True),
        [(str(n), *row) for n, row in enumerate(QUOTED)],
        columns=("column1", "text", "label"),
        oracle=by_csv(),
    ),
    one(
        "backslashes.csv",
        written(SLASHES, quoting=csv.QUOTE_ALL, **ESCAPED),
        SLASHES,
        oracle=by_csv(**ESCAPED),
        said="quotes after a backslash",
    ),
    one(
        "few backslashes.csv",
        written(SLASHES, **ESCAPED),
        SLASHES,
        oracle=by_read_csv(escapechar="\\", doublequote=False),
    ),
    one("backslashes of pandas.csv", by_pandas(SLASHES, **ESCAPED), SLASHES, oracle=by_csv(**ESCAPED)),
    one(
        "backslashes without quotes.csv",
        written(QUOTED, quoting=csv.QUOTE_NONE, escapechar="\\"),
        QUOTED,
        oracle=by_csv(quoting=csv.QUOTE_NONE, escapechar="\\"),
    ),
    one(
        "escaped quotes alone.csv",
        written([*TAME, ('say "hi"', "1")], quoting=csv.QUOTE_NONE, escapechar="\\"),
        [*TAME, ('say "hi"', "1")],
        oracle=by_csv(quoting=csv.QUOTE_NONE, escapechar="\\"),
    ),
    one(
        "both ways.csv",
        written(TAME, quoting=csv.QUOTE_ALL) + '"a \\"fine\\" day, really","2"\r\n"two ""dull""","0"\r\n',
        [*TAME, ('a "fine" day, really', "2"), ('two "dull"', "0")],
        oracle=by_csv(escapechar="\\"),
    ),
    one(
        "a late backslash.csv",
        with_late(TAME, '"a \\"late\\" one, really",1'),
        [*TAME[: LATE - 1], ('a "late" one, really', "1"), *TAME[LATE - 1 :]],
        oracle=by_csv(escapechar="\\"),
    ),
    one(
        "paths beside escapes.csv",
        written(TAME) + '"C:\\temp \\"x\\"",1\r\n',
        [*TAME, ('C:\\temp "x"', "1")],
        said="quotes after a backslash",
    ),
    one(
        "spaces around quotes.csv",
        'text, label\n"good, day", "pos"\n"bad ""one""" , "neg"\nfine, pos\n',
        [("good, day", "pos"), ('bad "one"', "neg"), ("fine", " pos")],
    ),
    one(
        "paths.csv", joined([*TAME, ("C:\\temp\\new", "1")], ","), [*TAME, ("C:\\temp\\new", "1")], oracle=by_read_csv()
    ),
    one(
        "inches.csv",
        joined([*TAME, ('5" pipe', "1"), ('a "b" c', "0")], ","),
        [*TAME, ('5" pipe', "1"), ('a "b" c', "0")],
        oracle=by_csv(),
    ),
    one(
        "a quotation first.csv",
        joined([*TAME, ('"Hi" she said', "1")], ","),
        [*TAME, ('"Hi" she said', "1")],
        oracle=by_csv(quoting=csv.QUOTE_NONE),
        said="quotes as text",
    ),
    one("semicolons.csv", written(LINES, delimiter=";"), LINES, oracle=by_read_csv(sep=";")),
    one("bars.csv", written(LINES, delimiter="|"), LINES, oracle=by_arrow(delimiter="|")),
    one("tabs.csv", written(QUOTED, delimiter="\t"), QUOTED, oracle=by_csv(delimiter="\t"), said="separated by tabs"),
    one(
        "a comma in a name.csv",
        written(LINES, ("id;x", "text, raw", "label"), delimiter=";"),
        "wanted the same|has .* fields",
    ),
    one("crlf inside.csv", written([*TAME, ("a\r\nb", "1")]), [*TAME, ("a\r\nb", "1")], oracle=by_csv()),
    one("old mac.csv", joined(QUOTED[:200], ",", end="\r"), TAME, oracle=by_read_csv()),
    one("mixed ends.csv", joined(TAME, ",") + "x,1\r\ny,0\r\n", [*TAME, ("x", "1"), ("y", "0")], oracle=by_read_csv()),
    one("no end.csv", joined(TAME, ",").rstrip(), TAME, oracle=by_csv()),
    one("blank lines.csv", joined(TAME, ",").replace("\n", "\n\n"), TAME, oracle=by_read_csv()),
    one("gaps.csv", written([("a", ""), ("", "1"), ("b", "0")]), [("a", ""), ("", "1"), ("b", "0")], oracle=by_csv()),
    one(
        "words for gaps.csv",
        written([("NA", "1"), ("null", "0"), ("nan", "1")]),
        [("NA", "1"), ("null", "0"), ("nan", "1")],
        oracle=by_read_csv(),
    ),
    one(
        "one column.csv",
        written([(text,) for text, _ in LINES], ("text",)),
        [(text,) for text, _ in LINES],
        columns=("text",),
        oracle=by_csv(),
    ),
    one("blank texts.csv", "text\n\na\n \n\nb\n\n\n", [("",), ("a",), (" ",), ("",), ("b",)], columns=("text",)),
    one(
        "blank texts in quotes.csv",
        written([("",), ("a",), ("",)], ("text",)),
        [("",), ("a",), ("",)],
        columns=("text",),
    ),
    one(
        "numbers, no names.csv",
        written(QUOTED, None),
        QUOTED,
        columns=("column1", "column2"),
        said="no names of columns",
    ),
    one(
        "a number, no names.csv",
        "fine,5\nbad,1\n",
        [("fine", "5"), ("bad", "1")],
        columns=("column1", "column2"),
        oracle=by_read_csv(header=None),
    ),
    one(
        "words, no names.csv",
        written([("fine", "pos"), ("bad", "neg"), ("good", "pos")], None),
        [("fine", "pos"), ("bad", "neg"), ("good", "pos")],
        columns=("column1", "column2"),
    ),
    one(
        "names of its own.csv",
        written([("fine", "a"), ("bad", "b")], ("Bewertung", "Sterne")),
        [("fine", "a"), ("bad", "b")],
        columns=("Bewertung", "Sterne"),
        oracle=by_csv(),
    ),
    one(
        "one ragged row.csv",
        with_late(TAME, "one, two, three"),
        TAME,
        numbers=[*range(1, LATE), *range(LATE + 1, 202)],
        said=f"left out 1 rows of one_ragged_row.csv: line {LATE + 1} has 3 fields, line 1 has 2",
    ),
    one(
        "one ragged row of a test.csv",
        with_late(TAME, "one, two, three"),
        f"line {LATE + 1} has 3 fields, line 1 has 2",
        options={"split": "test"},
    ),
    one(
        "many ragged rows.csv",
        joined([*TAME, *[("a, b", "1")] * 40], ","),
        "has 40 of 240 rows that cannot be read: line 202 has 3 fields, line 1 has 2",
    ),
    one(
        "names again.csv",
        written(TAME[:100]) + written(TAME[100:]),
        TAME,
        numbers=[*range(1, 101), *range(102, 202)],
        said="line 102 repeats the names of the columns",
    ),
    one("an open quote.csv", written([("a, b", "1")] * 200) + '"never closed, 1\r\n', "has a quote in line 202"),
    one(
        "a late quote.csv", with_late([*QUOTED, ("a, b", "1")], '"late" she said, 1'), f"has a quote in line {LATE + 1}"
    ),
    one("names twice.csv", joined(TAME, ",", ("text", "text")), "has the columns text, text, wanted each name once"),
    one("told by Excel.csv", "sep=;\r\n" + written(LINES, delimiter=";"), LINES, said="separated by semicolons"),
    one("told in quotes.csv", '"SEP=;"\n' + written(LINES, delimiter=";"), LINES),
    one(
        "counted by pandas.csv",
        library("pandas").DataFrame(QUOTED).to_csv(),
        [(str(n), *row) for n, row in enumerate(QUOTED)],
        columns=("column1", "0", "1"),
        oracle=by_csv(),
    ),
    one(
        "twice ended.csv",
        written(LINES).replace("\n", "\r\n"),
        [(text.replace("\n", "\r\n"), label) for text, label in LINES],
    ),
    one("each end twice.csv", joined(TAME, ",", end="\r\r\n"), TAME, oracle=by_read_csv()),
    one("workbook.csv", b"PK\x03\x04" + bytes(99), "is a zip archive or a workbook of Excel by its first bytes"),
    one(
        "MySQL's lines.csv",
        written(TAME, quoting=csv.QUOTE_ALL) + '"say \\"hi\\" in two\\\nlines, or \\\\","1"\n',
        [*TAME, ('say "hi" in two\nlines, or \\', "1")],
        oracle=by_csv(escapechar="\\"),
    ),
    one(
        "a pointer.csv",
        "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n",
        "is a pointer of Git LFS, wanted the file itself; git lfs pull",
    ),
    one("empty.csv", "", "is empty, wanted a table"),
    one("blank.csv", "\n \n", "is empty, wanted a table"),
    one("names alone.csv", "text,label\n", "got no row in"),
]
ENCODINGS = [
    one("bom.csv", written(WORLD).encode("utf-8-sig"), WORLD, oracle=by_csv()),
    one("no bom.csv", written(WORLD), WORLD, oracle=by_csv()),
    one("utf-16.csv", written(WORLD).encode("utf-16"), WORLD, said="utf-16"),
    one("utf-16 big.csv", b"\xfe\xff" + written(WORLD).encode("utf-16-be"), WORLD),
    one("utf-32.csv", written(WORLD).encode("utf-32"), WORLD, said="utf-32"),
    one(
        "utf-16 without a word.csv",
        written(TAME).encode("utf-16-le"),
        TAME,
        said="utf-16-le",
    ),
    one("utf-16 asked for.csv", written(WORLD).encode("utf-16-le"), WORLD, options={"encoding": "utf-16-le"}),
    one(
        "latin-1.csv",
        written(WESTERN).encode("latin-1"),
        "is not utf-8: line 202 has the byte 0xef; give its --encoding",
    ),
    one(
        "latin-1 asked for.csv",
        written(WESTERN).encode("latin-1"),
        WESTERN,
        options={"encoding": "latin-1"},
        said="latin-1",
    ),
    one(
        "cp1252 asked for.csv",
        written([("“smart” €", "1"), ("x", "0")]).encode("cp1252"),
        [("“smart” €", "1"), ("x", "0")],
        options={"encoding": "cp1252"},
    ),
    one("no such encoding.csv", written(TAME), "--encoding 'utf-eight' is unknown", options={"encoding": "utf-eight"}),
    one("a zero byte.csv", written([*TAME, ("a\0b", "1")]), "has a zero byte in line 202"),
    one("latin-1 lines.jsonl", json_lines(WESTERN, ensure_ascii=False).encode("latin-1"), "is not utf-8: line 201"),
    one("packed.csv.gz", gzip.compress(written(LINES).encode()), LINES, ending="csv.gz"),
    one("half packed.csv.gz", gzip.compress(written(LINES).encode())[:-20], "cannot be read", ending="csv.gz"),
    one("old mac.txt", "one\r\rtwo\r", [("one",), ("",), ("two",)], columns=("text",)),
    one("text bom.txt", "\ufeffone\r\n\r\ntwo", [("one",), ("",), ("two",)], columns=("text",)),
]
TSV = [
    one(
        "glue.tsv",
        joined(GLUE),
        GLUE,
        oracle=by_csv(delimiter="\t", quoting=csv.QUOTE_NONE),
        said="separated by tabs, quotes as text",
    ),
    one("five rows.tsv", joined(GLUE[-6:-1]), GLUE[-6:-1], oracle=by_read_csv(sep="\t", quoting=csv.QUOTE_NONE)),
    one(
        "quotations.tsv",
        joined([*TAME, ('"quoted"', "1")]),
        [*TAME, ('"quoted"', "1")],
        oracle=by_csv(delimiter="\t", quoting=csv.QUOTE_NONE),
    ),
    one(
        "stsb.tsv",
        joined(STS, header=STS_COLUMNS),
        STS,
        columns=STS_COLUMNS,
        oracle=by_csv(delimiter="\t", quoting=csv.QUOTE_NONE),
    ),
    one("excel tabs.tsv", written(LINES, dialect="excel-tab"), LINES, oracle=by_csv(dialect="excel-tab")),
    one(
        "all in quotes.tsv",
        written(TAME, dialect="excel-tab", quoting=csv.QUOTE_ALL),
        TAME,
        oracle=by_read_csv(sep="\t"),
    ),
    one("of R.tsv", by_r(SLASHES), SLASHES, oracle=by_csv(delimiter="\t", **ESCAPED)),
    one(
        "cola.tsv",
        joined([("gj04", str(n % 2), "", f"Text {n}") for n in range(9)], header=None),
        [("gj04", str(n % 2), "", f"Text {n}") for n in range(9)],
        columns=tuple(f"column{n}" for n in range(1, 5)),
    ),
    one(
        "both ways.tsv",
        joined([("a", "1"), ('"she said', "1"), ("b", "0"), ('so"', "1")]),
        "both fit; write it as JSON lines",
    ),
    one(
        "a ragged row.tsv",
        joined([*GLUE, ("one\ttwo", "1")]),
        GLUE,
        said="left out 1 rows of a_ragged_row.tsv: line 208 has 3",
    ),
    one("commas.tsv", written(QUOTED), QUOTED, oracle=by_csv(), said="separated by commas"),
]
GAPS: Rows = [("a", 1), (None, 0), ("c", None)]
JSON = [
    one("lines.jsonl", json_lines(WORLD), WORLD, oracle=by_lines, said="json lines, utf-8"),
    one(
        "lines, not escaped.jsonl",
        json_lines([*WORLD, *SLASHES], ensure_ascii=False),
        [*WORLD, *SLASHES],
        oracle=by_lines,
    ),
    one("lines with bom.jsonl", b"\xef\xbb\xbf" + json_lines(LINES).encode(), LINES, oracle=by_lines),
    one("lines with crlf.jsonl", json_lines(LINES).replace("\n", "\r\n\r\n"), LINES),
    one("lines by name json.json", json_lines(LINES), LINES, oracle=by_lines, said="json lines"),
    one("array.json", json_array(WORLD), WORLD, oracle=by_json),
    one("array with bom.json", b"\xef\xbb\xbf" + json_array(LINES, indent=1).encode(), LINES, oracle=by_json),
    one("array by name jsonl.jsonl", json_array(LINES, indent=2), LINES, oracle=by_json),
    one(
        "data.json", json.dumps({"data": [{"text": "a", "label": 1}, {"text": "b", "label": 0}]}), [("a", 1), ("b", 0)]
    ),
    one(
        "squad.json",
        json.dumps(SQUAD),
        [
            ("7", "Who?", [{"text": "Ann", "answer_start": 7}], "It was Ann.", None),
            ("8", "Who else?", [], "Or Bob.", True),
        ],
        columns=("id", "question", "answers", "context", "is_impossible"),
    ),
    one(
        "broken squad.json",
        json.dumps({"data": [{"paragraphs": [{"qas": []}]}]}).replace("[]", '[{"id": 1}]'),
        "lacks 'context'",
    ),
    one("one object.json", '{"text": "a",\n "label": 1}', [("a", 1)]),
    one("too deep.json", "[" * 100_000, "is no whole JSON array"),
    one("by columns.json", json.dumps({"text": [row[0] for row in LINES], "label": [row[1] for row in LINES]}), LINES),
    one(
        "pandas.json",
        library("pandas").DataFrame(LINES, columns=["text", "label"]).to_json(),
        LINES,
        oracle=lambda content: [
            tuple(row) for row in library("pandas").read_json(io.BytesIO(content), dtype=str).values
        ],
        said="json by columns",
    ),
    one(
        "one conversation.json",
        json.dumps({"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]}),
        [([{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}],)],
        columns=("messages",),
    ),
    one("columns of two lengths.json", '{"text": ["a", "b"], "label": [0]}', [(["a", "b"], [0])]),
    one("half an array.json", json_array(LINES)[:-9], "is no whole JSON array"),
    one("words in an array.json", '["a", "b"]', "row 1 is no whole JSON object, 'a'"),
    one("a word.json", '"text"', "row 1 is no whole JSON object"),
    one(
        "a broken line.jsonl",
        json_lines(TAME) + '{"text": "cut o',
        TAME,
        said="left out 1 rows of a_broken_line.jsonl: row 201",
    ),
    one(
        "a broken line of a test.jsonl",
        json_lines(TAME) + '{"text": "cut o',
        "row 201 is no whole JSON object",
        options={"split": "test"},
    ),
    one("no json.jsonl", written(TAME), "row 1 is no whole JSON object, 'text,label'"),
    one("gaps.jsonl", '{"text": "a", "label": 1}\n{"label": 0}\n{"text": "c", "label": NaN}\n', GAPS),
    one(
        "half a character.jsonl",
        '{"text": "\\ud83d", "label": 1}\n' + json_lines(TAME),
        TAME,
        numbers=list(range(2, 202)),
        said="row 1 holds half a character",
    ),
    one("a pair of halves.jsonl", '{"text": "\\ud83d\\ude42", "label": 1}\n', [("🙂", 1)], oracle=by_lines),
]
OTHERS = [
    one("table.parquet", parquet(WORLD), WORLD, oracle=by_read_parquet),
    one("gaps.parquet", parquet(GAPS), GAPS, oracle=by_read_parquet),
    one("gaps of floats.parquet", parquet([("a", 1.0), ("b", float("nan"))]), [("a", 1.0), ("b", None)]),
    one("no text.parquet", parquet_of_bytes(b"\xff"), "is no readable Parquet file"),
    one("names twice.parquet", parquet(TAME, ["text", "text"]), "has the columns text, text, wanted each name once"),
    one("broken.parquet", parquet(TAME)[:-9], "is no readable Parquet file"),
    one("no parquet.parquet", written(TAME), "is no readable Parquet file"),
    one(
        "lines.txt",
        'one\n\n  two \nthree, "3"\tx\n',
        [("one",), ("",), ("  two ",), ('three, "3"\tx',)],
        columns=("text",),
    ),
    one("table.xlsx", b"PK\x03\x04", "wanted files for train of one kind"),
    one("table.arrow", b"ARROW1", "export with to_csv"),
]


def folder(name: str, files: dict[str, str | bytes], wanted: Rows | str, **more: Any) -> Case:
    content = {f"channel/{path}": data if isinstance(data, bytes) else data.encode() for path, data in files.items()}
    return Case(name, content, wanted, **more)


A, B, C = (written([(letter, str(number)), (letter * 2, "9")]) for number, letter in enumerate("abc"))
FOLDERS = [
    folder(
        "shards",
        {"part-00001.csv": B, "part-00000.csv": A},
        [("a", "0"), ("aa", "9"), ("b", "1"), ("bb", "9")],
        numbers=[1, 2, 1, 2],
    ),
    folder("train beside test", {"train.csv": A, "test.csv": B}, [("a", "0"), ("aa", "9")], said="left out test.csv"),
    folder(
        "test beside shards",
        {"x.csv": A, "myTestset.csv": B, "dev.csv": C},
        [("a", "0"), ("aa", "9")],
        said="left out dev.csv, myTestset.csv",
    ),
    folder(
        "validation of three",
        {"train.csv": A, "test.csv": B, "valid.jsonl": json_lines(TAME)},
        TAME,
        options={"split": "validation"},
    ),
    folder(
        "folders for splits",
        {"train/x.csv": A, "test/y.csv": B, "validation/z.csv": C},
        [("a", "0"), ("aa", "9")],
        said="left out y.csv, z.csv",
    ),
    folder("a test run", {"test-3/train.csv": A, "test-3/eval.csv": B}, [("a", "0"), ("aa", "9")]),
    folder("both words", {"train_test.csv": A, "training.csv": B}, [("b", "1"), ("bb", "9")]),
    folder("a test alone", {"test.csv": A}, "got test.csv in .*, wanted files for train"),
    folder(
        "words that are not splits",
        {"latest.csv": A, "trainer_values.csv": B},
        [("a", "0"), ("aa", "9"), ("b", "1"), ("bb", "9")],
        numbers=[1, 2, 1, 2],
    ),
    folder("two kinds", {"a.csv": A, "a.jsonl": json_lines(TAME)}, r"got a\.csv, a\.jsonl in .* of one kind"),
    folder("packed and not", {"a.csv": A, "a.csv.gz": gzip.compress(A.encode())}, "each once"),
    folder(
        "other columns",
        {"a.csv": A, "b.csv": written([("x", "y", "1")], ("id", "text", "label"))},
        r"b\.csv has the columns id, text, label, files before it have text, label",
    ),
    folder(
        "other keys",
        {"a.jsonl": '{"text": "a"}', "b.jsonl": '{"text": "b", "label": 1}', "c.jsonl": '{"label": 2}'},
        [("a", None), ("b", 1), (None, 2)],
        numbers=[1, 1, 1],
    ),
    folder(
        "hidden files",
        {"a.csv": A, ".b.csv": B, "_c.csv": C, "dataset_info.json": "{}", "README.md": "#"},
        [("a", "0"), ("aa", "9")],
    ),
    folder(
        "saved by datasets",
        {"data-00000-of-00001.arrow": b"x", "state.json": b"{}"},
        "got no data file in .*export with to_csv",
    ),
]
CASES = [*CSV, *ENCODINGS, *TSV, *JSON, *OTHERS, *FOLDERS]

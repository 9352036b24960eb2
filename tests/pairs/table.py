"""AWS's own code for SDK v2 beside AWS's own code for SDK v3: the table of pairs, and how one is run again and compared.

``python tests/pairs/table.py FOLDER NAME`` runs one from the git directories below FOLDER (``OWNER+NAME/repo`` or ``OWNER/NAME``) and
prints the rows of its table. It must not know what is expected; test_pairs.py compares.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Final

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).parent.parent)

from others.suites import ROOT, git_directory

import sm_trn as st
from sm_trn.bridge.commands.import_code import written
from sm_trn.bridge.launchers import LauncherJob, read_text
from sm_trn.bridge.recorder.verify import GIVEN

TABLE: Final = Path(__file__).with_name("table.toml")
V3: Final = ROOT / ".ci/cache/sdk3/bin/python"
TARGETS: Final = ("model-trainer-v3", "training-job-v3")
SIDES: Final = ("v2", "aws", *TARGETS)
ABSENT: Final = "–"  # what a request does not say
_MOMENT: Final = re.compile(r"-(\d{4}(-\d\d){5}(-\d{3})?|\d{14}|TIME)$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One launcher: where it lies, the calls that start the job, and what is put before and behind it to make it whole.

    ``before`` stands behind the first ``behind`` cells of a notebook.
    """

    repository: str
    commit: str
    path: str
    calls: tuple[str, ...]
    lines: tuple[int, int] | None = None
    before: str = ""
    behind: int = 0
    after: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A row: two launchers of AWS's for one job, and the fields in which the requests differ, each in the order of ``SIDES``.

    ``refused`` are the targets that refuse the job, with the rules that do so; they have no values.
    """

    name: str
    v2: Side
    v3: Side
    files: tuple[str, ...] = ()
    note: str = ""
    refused: Mapping[str, tuple[str, ...]]
    differs: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class NotRun:
    """A pair that was not run: why, and what is known of it all the same."""

    v2: str
    v3: str
    why: str
    aws: str = ""
    ours: str = ""


def table() -> tuple[list[Pair], list[NotRun]]:
    """Read the table."""
    found = tomllib.loads(TABLE.read_text("utf-8"))
    pairs = [
        Pair(
            name=row["name"], v2=_side(row["v2"]), v3=_side(row["v3"]), files=tuple(row.get("files", ())), note=row.get("note", ""),
            refused={name: tuple(ids) for name, ids in row.get("refused", {}).items()},
            differs={field: tuple(values) for field, values in row["differs"].items()},
        )
        for row in found["pair"]
    ]  # fmt: skip
    return pairs, [NotRun(**row) for row in found["not_run"]]


def _side(row: Mapping[str, Any]) -> Side:
    lines = row.get("lines")
    return Side(**{**row, "calls": tuple(row["calls"]), "lines": (lines[0], lines[1]) if lines else None})


def compared(pair: Pair, folder: Path) -> tuple[dict[str, tuple[str, ...]], dict[str, tuple[str, ...]]]:
    """Run both sides and what is written here for SDK v3: the targets that refuse, and the fields that differ."""
    name, text = launcher(pair.v2, folder)
    found = {"v2": _asked(Path(sys.executable), name, text, pair.files, pair.v2.calls)}
    found["aws"] = _asked(V3, *launcher(pair.v3, folder), pair.files, pair.v3.calls)
    job, refused = _read(pair, name, text), {}
    for target in TARGETS:
        program = _program(job, target)
        if isinstance(program, str):
            found[target] = _asked(V3, "ours.py", program, pair.files, ())
        else:
            refused[target] = program
    requests = [_plain(found[side]) if side in found else None for side in SIDES]
    return refused, {path: tuple(values) for path, values in _differing("", requests)}


def _program(job: LauncherJob, target: str) -> str | tuple[str, ...]:
    """The program for SDK v3, or the rules that refuse the job."""
    try:
        return written(job, target)
    except st.errors.InvalidJob as error:
        return tuple(sorted({problem.id for problem in error.problems if problem.severity is st.Severity.ERROR}))


def launcher(side: Side, folder: Path) -> tuple[str, str]:
    """A name and the text of a launcher, whole."""
    git = git_directory(folder, side.repository)
    assert git is not None, f"{side.repository} is not below {folder}"
    shown = subprocess.run(
        ["git", "--git-dir", str(git), "show", f"{side.commit}:{side.path}"], check=True, capture_output=True
    )
    text, name = shown.stdout.decode("utf-8"), re.sub(r"\W", "_", PurePosixPath(side.path).stem)
    if side.path.endswith(".ipynb"):
        return f"{name}.ipynb", _wrapped(text, side)
    lines = text.splitlines(keepends=True)
    chosen = lines[side.lines[0] - 1 : side.lines[1]] if side.lines else lines
    return f"{name}.py", f"{side.before}{''.join(chosen)}{side.after}"


def _wrapped(text: str, side: Side) -> str:
    notebook = json.loads(text)
    around = [[{"cell_type": "code", "source": source}] if source else [] for source in (side.before, side.after)]
    notebook["cells"] = [*notebook["cells"][: side.behind], *around[0], *notebook["cells"][side.behind :], *around[1]]
    return json.dumps(notebook)


def _read(pair: Pair, name: str, text: str) -> LauncherJob:
    launches = [
        launch for launch in read_text(text, name, given=GIVEN).launches if launch.jobs and launch.started is not None
    ]
    chosen = (
        launches
        if len(launches) == 1
        else [launch for launch in launches if _starts(text, name, launch.started, pair.v2)]
    )
    assert len(chosen) == 1, [str(launch.started) for launch in launches]
    (job,) = chosen[0].jobs
    return job


def _starts(text: str, name: str, started: Any, side: Side) -> bool:
    from sm_trn.bridge.launchers.source import cells

    code = next(cell.code for cell in cells(name, text) if cell.number == started.cell)
    return any(f"{call}(" in code.split("\n")[started.line - 1] for call in side.calls)


def _asked(python: Path, name: str, text: str, files: tuple[str, ...], calls: tuple[str, ...]) -> dict[str, Any]:
    asked = json.dumps({"name": name, "text": text, "files": files, "calls": calls})
    run = subprocess.run(
        [str(python), str(Path(__file__).with_name("recorded.py"))],
        input=asked, check=True, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    answer = json.loads(run.stdout.splitlines()[-1])
    assert len(answer["requests"]) == 1, answer["output"]
    request: dict[str, Any] = answer["requests"][0]
    return request


def _plain(request: dict[str, Any]) -> dict[str, Any]:
    """With the bucket, and the job's name without its moment, as words, and items of lists by their names."""
    name = request["TrainingJobName"]
    text = json.dumps(request).replace(str(GIVEN["bucket"]), "BUCKET")
    found: dict[str, Any] = json.loads(text.replace(name, "NAME"))
    found["AlgorithmSpecification"] = request["AlgorithmSpecification"]  # an image can have the job's name
    return {key: _by_name(value) for key, value in found.items()} | {"TrainingJobName": _MOMENT.sub("", name)}


def _by_name(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _by_name(item) for key, item in value.items()}
    if isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
        word = next((word for word in ("ChannelName", "Name", "Key") if word in value[0]), None)
        if word is not None:
            return {item[word]: _by_name({key: part for key, part in item.items() if key != word}) for item in value}
    return value


def _differing(path: str, values: list[Any]) -> Iterator[tuple[str, list[str]]]:
    """Fields that not all say alike; where one lacks a whole part, the part is one field. A target that refuses has no say."""
    saying = [value for value in values if value is not None]
    if all(value == saying[0] for value in saying):
        return
    if all(isinstance(value, dict) for value in saying):
        for key in dict.fromkeys(key for value in saying for key in value):
            within = [None if value is None else value.get(key, ABSENT) for value in values]
            yield from _differing(f"{path}.{key}" if path else key, within)
    else:
        yield path, ["" if value is None else value if value == ABSENT else json.dumps(value) for value in values]


def main() -> None:
    """Print the table's rows of the pairs that are named."""
    folder = Path(sys.argv[1])
    for pair in table()[0]:
        if pair.name in sys.argv[2:]:
            refused, differs = compared(pair, folder)
            print(
                f"# {pair.name}\nrefused = {json.dumps({name: list(ids) for name, ids in refused.items()})}\n[pair.differs]"
            )
            for field, values in differs.items():
                print(f"{json.dumps(field)} = {json.dumps(list(values), ensure_ascii=False)}")


if __name__ == "__main__":
    main()

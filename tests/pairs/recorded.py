"""Runs one launcher against the recorder in the environment of the Python that runs this, and prints what it asked for.

On stdin: a JSON object with the launcher's ``name`` and ``text``, ``files`` that stand for its sources, and ``calls``: calls as they
are written, ``trainer.train``; only the statements that these depend on are run, and without any the whole launcher is.
"""

from __future__ import annotations

import ast
import json
import sys
import tempfile
from pathlib import Path

from sm_trn.bridge.launchers.slice import sliced
from sm_trn.bridge.launchers.source import Cell, Unread, cells, parsed
from sm_trn.bridge.launchers.values import Place
from sm_trn.bridge.recorder import record


def _started(name: str, code: list[Cell], calls: frozenset[str]) -> list[Place]:
    return [
        Place(name, cell.number, node.lineno)
        for cell in code
        if not isinstance(tree := parsed(cell), Unread)
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func) in calls
    ]


def main() -> None:
    """Record, and print the requests and the end of the output."""
    asked = json.load(sys.stdin)
    name, calls = asked["name"], frozenset(asked["calls"])
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        for file, text in {**dict.fromkeys(asked["files"], ""), name: asked["text"]}.items():
            (place / file).parent.mkdir(parents=True, exist_ok=True)
            (place / file).write_text(text, "utf-8")
        code = cells(name, asked["text"])
        part = sliced(code, _started(name, code, calls)) if calls else None
        found = record([name], folder=place, timeout_s=240, code=part)
    print(json.dumps({"requests": [dict(job.request) for job in found.jobs], "output": found.output[-4000:]}))


if __name__ == "__main__":
    main()

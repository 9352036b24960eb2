"""Runs the cells of a notebook one after the other in this interpreter: a cell that fails costs that cell only.

The first argument is a JSON file: a list of pairs of a cell's number and its code, without magics.
"""

from __future__ import annotations

import ast
import json
import linecache
import sys
import traceback
import types


def _parts(code: str, name: str) -> list[types.CodeType]:
    """The cell as one; in a slice a statement each, so that one that fails costs nothing that does not need it."""
    if "--apart" not in sys.argv:
        return [compile(code, name, "exec")]
    return [compile(ast.Module([node], []), name, "exec") for node in ast.parse(code, name).body]


def _run(code: types.CodeType, names: dict[str, object]) -> int:
    try:
        exec(code, names)  # noqa: S102 - running the launcher is what the recorder is for
    except SystemExit:
        raise
    except BaseException:  # noqa: BLE001 - whatever a cell raises, the next one is run
        traceback.print_exc()
        return 1
    return 0


def main() -> int:
    with open(sys.argv[1], encoding="utf-8") as file:
        cells = json.load(file)
    sys.path.insert(0, "")
    names = {"__name__": "__main__", "__builtins__": __builtins__, "display": lambda *values: print(*values)}
    failed = 0
    for number, code in cells:
        name = f"<cell {number}>"
        linecache.cache[name] = (len(code), None, code.splitlines(keepends=True), name)
        try:
            for part in _parts(code, name):
                failed += _run(part, names)
        except SystemExit:
            break
        except BaseException:  # noqa: BLE001 - whatever a cell raises, the next one is run
            failed += 1
            traceback.print_exc()
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())

"""Runs the cells of a notebook one after the other in this interpreter: a cell that fails costs that cell only.

The first argument is a JSON file: a list of pairs of a cell's number and its code, without magics. The second is ``whole`` or
``apart``: whether a cell is run as one, or each statement by itself. The others are the arguments that the cells see.
"""

from __future__ import annotations

import ast
import json
import linecache
import os
import runpy
import sys
import traceback
import types

import sitecustomize  # type: ignore[import-not-found]  # it lies beside this file
import stand_ins  # type: ignore[import-not-found]  # as above


def _parts(code: str, name: str, *, apart: bool) -> list[tuple[types.CodeType, set[str]]]:
    """The cell as one; in a slice a statement each, so that one that fails costs nothing that does not need it.

    Beside each are the names that it gives or changes: when it fails they are taken away, so that nothing stale is used.
    """
    if not apart:
        return [(compile(code, name, "exec"), set())]
    return [(compile(ast.Module([node], []), name, "exec"), _changed(node)) for node in ast.parse(code, name).body]


def _changed(node: ast.stmt) -> set[str]:
    found = {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store)}
    for inner in ast.walk(node):
        if isinstance(inner, (ast.Attribute, ast.Subscript)) and (
            isinstance(inner.ctx, ast.Store) or isinstance(node, ast.Expr)
        ):
            owner: ast.expr = inner
            while isinstance(owner, (ast.Attribute, ast.Subscript)):
                owner = owner.value
            found |= {owner.id} if isinstance(owner, ast.Name) else set()
    return found


def _run(number: int, code: types.CodeType, changed: set[str], names: dict[str, object]) -> bool:
    """Whether it ran to its end."""
    try:
        exec(code, names)  # noqa: S102 - running the launcher is what the recorder is for
    except SystemExit as end:
        if end.code not in {None, 0}:
            _told(number, end)
        raise
    except BaseException as error:  # noqa: BLE001 - whatever a cell raises, the next one is run
        traceback.print_exc()
        _told(number, error)
        for name in changed & set(names):
            if not isinstance(names[name], types.ModuleType):
                del names[name]
        return False
    return True


def _told(number: int, error: BaseException) -> None:
    """Write down which cell failed, at which line of it, and with what."""
    name = f"<cell {number}>"
    lines = [line for frame, line in traceback.walk_tb(error.__traceback__) if frame.f_code.co_filename == name]
    line = lines[-1] if lines else getattr(error, "lineno", None) or 1
    sitecustomize.told(name, line, error, number)


def _ran(line: str, names: dict[str, object]) -> None:
    """A line magic that brings names."""
    word, _, rest = line.partition(" ")
    if word == "run" and rest.split()[0].endswith(".py"):
        names.update(runpy.run_path(rest.split()[0], run_name="__main__"))
    elif word in {"env", "set_env"} and "=" in rest:
        name, _, value = rest.partition("=")
        os.environ[name.strip()] = value.strip()


def _write_file(name: str, body: str, add: bool) -> None:
    os.makedirs(os.path.dirname(os.path.abspath(name)), exist_ok=True)
    with open(name, "a" if add else "w", encoding="utf-8") as file:
        file.write(body)


def main() -> int:
    with open(sys.argv[1], encoding="utf-8") as file:
        cells = json.load(file)
    apart = sys.argv[2] == "apart"
    sys.argv = sys.argv[3:]
    sys.path.insert(0, "")
    names = {"__name__": "__main__", "__builtins__": __builtins__, "display": lambda *values: print(*values)}
    names["_write_file_"] = _write_file
    names["_shell_account_"] = ["111122223333"]  # as the recorder answers it
    names["_shell_region_"] = [os.environ["AWS_DEFAULT_REGION"]]
    names["_shell_output_"] = stand_ins.StandIn("the output of a command", "commands of the shell are not run")
    names["_magic_"] = lambda line: _ran(line, names)
    if sys.argv[0].endswith(".py"):
        names["__file__"] = os.path.abspath(sys.argv[0])
    failed = 0
    for number, code in cells:
        name = f"<cell {number}>"
        linecache.cache[name] = (len(code), None, code.splitlines(keepends=True), name)
        try:
            for part, changed in _parts(code, name, apart=apart):
                failed += not _run(number, part, changed, names)
        except SystemExit as end:
            failed += end.code not in {None, 0}
            break
        except BaseException as error:  # noqa: BLE001 - a cell that is no Python
            failed += 1
            traceback.print_exc()
            _told(number, error)
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())

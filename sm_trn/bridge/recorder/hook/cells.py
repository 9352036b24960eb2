"""Runs the cells of a notebook in this interpreter, each statement by itself: one that fails costs what depends on it only.

The first argument is a JSON file: a list of pairs of a cell's number and its code, without magics. The others are the arguments
that the cells see.
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

import recorder_hook  # type: ignore[import-not-found]  # it lies beside this file
import stand_ins  # type: ignore[import-not-found]  # of the sandbox


def _changed_names(node: ast.stmt) -> set[str]:
    """Return the names that a statement gives or changes: when it fails they are taken away, so that nothing stale is used."""
    nodes = list(ast.walk(node))
    names = {inner.id for inner in nodes if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store)}
    for inner in nodes:
        if isinstance(inner, (ast.Attribute, ast.Subscript)) and (
            isinstance(inner.ctx, ast.Store) or isinstance(node, ast.Expr)
        ):
            owner: ast.expr = inner
            while isinstance(owner, (ast.Attribute, ast.Subscript)):
                owner = owner.value
            names |= {owner.id} if isinstance(owner, ast.Name) else set()
    return names


def _run_cell(number: int, code: str, names: dict[str, object]) -> int:
    """Run the statements of a cell; return how many failed."""
    failed, name = 0, f"<cell {number}>"
    for node in ast.parse(code, name).body:
        try:
            exec(compile(ast.Module([node], []), name, "exec"), names)  # noqa: S102 - running it is what the recorder is for
        except SystemExit:  # noqa: PERF203 - each statement by itself
            raise
        except BaseException as error:  # noqa: BLE001 - whatever a statement raises, the next one is run
            failed += 1
            traceback.print_exc()
            _tell(number, error)
            for changed in _changed_names(node) & set(names):
                if not isinstance(names[changed], types.ModuleType):
                    del names[changed]
    return failed


def _tell(number: int, error: BaseException) -> None:
    """Write down which cell failed, at which line of it, and with what."""
    name = f"<cell {number}>"
    lines = [line for frame, line in traceback.walk_tb(error.__traceback__) if frame.f_code.co_filename == name]
    line = lines[-1] if lines else getattr(error, "lineno", None) or 1
    recorder_hook.tell_failure(name, line, error, number)


def _run_magic(line: str, names: dict[str, object]) -> None:
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
    sys.argv = sys.argv[2:]
    sys.path.insert(0, "")
    names = {"__name__": "__main__", "__builtins__": __builtins__, "display": lambda *values: print(*values)}
    names["_write_file_"] = _write_file
    names["_shell_account_"] = ["111122223333"]  # as the recorder answers it
    names["_shell_region_"] = [os.environ["AWS_DEFAULT_REGION"]]
    names["_shell_output_"] = stand_ins.StandIn("the output of a command", "commands of the shell are not run")
    names["_magic_"] = lambda line: _run_magic(line, names)
    if sys.argv[0].endswith(".py"):
        names["__file__"] = os.path.abspath(sys.argv[0])
    failed = 0
    for number, code in cells:
        name = f"<cell {number}>"
        linecache.cache[name] = (len(code), None, code.splitlines(keepends=True), name)
        try:
            failed += _run_cell(number, code, names)
        except SystemExit as end:
            if end.code not in {None, 0}:
                failed += 1
                _tell(number, end)
            break
        except BaseException as error:  # noqa: BLE001 - a cell that is no Python
            failed += 1
            traceback.print_exc()
            _tell(number, error)
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())

"""Runs a launcher's file as an import of it would, and then calls what is named: a launch that nothing in the file starts by itself.

The first argument is the call, a Python expression with the names of the file; the second is the file, the others are its arguments.
"""

from __future__ import annotations

import os
import runpy
import sys


def main() -> None:
    call, sys.argv = sys.argv[1], sys.argv[2:]
    sys.path[0] = os.path.dirname(os.path.abspath(sys.argv[0]))
    names = runpy.run_path(sys.argv[0], run_name="launcher")
    eval(call, names)  # noqa: S307 - running the launcher is what the recorder is for


if __name__ == "__main__":
    main()

"""``python -m sm_trn.emulator --state DIR`` starts the background process, which detaches and then serves.

It owns the command line of that process and how a start is reported; ``sm-trn local`` is the command for people.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import sys
import traceback
from pathlib import Path

from .options import Options
from .state.disk import disk_full, no_room


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m sm_trn.emulator")
    parser.add_argument("--state", type=Path, required=True)
    parser.add_argument("--region", default="us-west-2")
    parser.add_argument("--options", default="{}", help="fields of Options as JSON")
    parser.add_argument("--ready-fd", type=int, help="where to write 'ready' or 'error: ...'; implies detaching")
    parsed = parser.parse_args(arguments)
    os.umask(0o077)
    sys.stderr = _Log()
    if parsed.ready_fd is not None and os.fork():
        return 0  # the child belongs to nobody now, so nobody has to wait for it

    def report(text: str) -> None:
        """Tell whoever waits for the start, once: the pipe is closed then."""
        if parsed.ready_fd is not None:
            os.write(parsed.ready_fd, text.encode())
            os.close(parsed.ready_fd)
            parsed.ready_fd = None

    try:
        from .server import serve  # noqa: PLC0415 - heavy, and its settings must stand in the environment first

        serve(parsed.state, parsed.region, Options(**json.loads(parsed.options)), report)
    except BlockingIOError:
        report("error: another emulator holds this state folder")
        return 1
    except Exception as error:  # noqa: BLE001 - the last line of defence: whoever waits must hear of it
        traceback.print_exc()
        report(f"error: {disk_full(parsed.state) if no_room(error) else f'{type(error).__name__}: {error}'}")
        return 1
    return 0


class _Log(io.TextIOBase):
    """The emulator's own log, to which all of its threads write. On a full disk it loses words, and holds nobody up."""

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        with contextlib.suppress(OSError):
            os.write(2, text.encode("utf-8", "backslashreplace"))
        return len(text)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

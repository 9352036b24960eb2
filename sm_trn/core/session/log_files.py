"""A job's log in files, written on from where the last download ended – also when that one was killed in the middle.

Beside the log lies ``<name>.cursor``: the place in the cloud and the sizes that the files had there. Whatever a file has
beyond that is cut off before writing goes on, so no line is lost and none is there twice.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from pathlib import Path

from ..errors import SmTrnError
from ..logs.events import LogEvent, saved_line
from ..logs.selection import LogFilter
from ..ports import LogCursor, dump_cursor, parse_cursor
from .log_reader import JobLog


def save_log(
    log: JobLog, target: Path, *, by_host: bool, follow: bool = False, wanted: LogFilter | None = None,
    begin: LogCursor | None = None, notice: Callable[[str], None] = lambda _text: None,
) -> tuple[Path, ...]:  # fmt: skip
    """Write the log to the file ``target``, or with ``by_host`` to one file a host in that folder; returns the files.

    Raises SmTrnError when another job's log, or another selection of this one's, lies there; CloudError.
    """
    selection = repr(wanted or LogFilter())
    folder = _Files(target, by_host=by_host)
    cursor = folder.resume(log.name, selection) or begin or LogCursor()
    for batch in log.batches(cursor, follow=follow, notice=notice):
        events = batch.events if wanted is None else [event for event in batch.events if wanted.wants(event)]
        folder.write(events)
        folder.note(log.name, selection, batch.cursor)
    return folder.paths


class _Files:
    """The files of one download and the note beside them."""

    def __init__(self, target: Path, *, by_host: bool) -> None:
        self._target, self._by_host = target, by_host
        self._sizes: dict[str, int] = {}
        self._home = target if by_host else target.parent
        self._home.mkdir(parents=True, exist_ok=True)
        self._note = target / ".cursor" if by_host else target.with_name(target.name + ".cursor")

    @property
    def paths(self) -> tuple[Path, ...]:
        return tuple(self._home / name for name in sorted(self._sizes))

    def resume(self, job: str, selection: str) -> LogCursor | None:
        """Where the last download ended; None when there was none. Cuts off what it wrote after its last note."""
        if not self._note.exists():
            if not self._by_host and self._target.exists() and self._target.stat().st_size:
                raise SmTrnError(
                    f"save: {str(self._target)!r} exists and is no download of ours; choose another name, nothing was written"
                )
            self._sizes = {} if self._by_host else {self._target.name: 0}
            return None
        try:
            noted = json.loads(self._note.read_text("utf-8"))
            note = (noted["job"], noted["selection"])
            sizes = {str(name): int(size) for name, size in noted["sizes"].items()}
            cursor = parse_cursor(noted["cursor"])
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise SmTrnError(f"save: {str(self._note)!r} is damaged; delete it and what it describes") from error
        if note != (job, selection):
            raise SmTrnError(
                f"save: {str(self._target)!r} holds {note[1]} of {note[0]!r}, wanted {selection} of {job!r}; "
                "choose another name, nothing was written"
            )
        for name, size in sizes.items():
            self._cut(self._home / Path(name).name, size)
        self._sizes = sizes
        return cursor

    def write(self, events: Iterable[LogEvent]) -> None:
        """Append; on the disk when this returns."""
        pieces: dict[str, list[str]] = {} if self._by_host else {self._target.name: []}
        for event in events:
            name = f"{Path(event.host).name or 'unknown'}.log" if self._by_host else self._target.name
            pieces.setdefault(name, []).append(saved_line(event))
        for name, lines in pieces.items():
            with (self._home / name).open("ab") as out:
                out.write("".join(lines).encode("utf-8", "backslashreplace"))
                out.flush()
                os.fsync(out.fileno())
                self._sizes[name] = out.tell()

    def note(self, job: str, selection: str, cursor: LogCursor) -> None:
        body = {"job": job, "selection": selection, "sizes": self._sizes, "cursor": dump_cursor(cursor)}
        fresh = self._note.with_name(self._note.name + ".new")
        with fresh.open("w", encoding="utf-8") as out:
            json.dump(body, out)
            out.flush()
            os.fsync(out.fileno())
        fresh.replace(self._note)

    def _cut(self, path: Path, size: int) -> None:
        if not path.exists() or path.stat().st_size < size:
            raise SmTrnError(
                f"save: {str(path)!r} is shorter than its note says; delete {str(self._note)!r} to read it all again"
            )
        os.truncate(path, size)

"""The report's own comparison of jobs that were ticked, as a document for a frame of the page."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timezone

from ...core.extras import extra
from ...core.session.handles import Session, TrainingJob
from ...core.specs.record import JobRecord
from ..comparison.compare import compare

KEPT = 24  # records of jobs that have ended: they change no more
AGAIN_S = 60.0  # a comparison with jobs that run is made again after so long


class Comparer:
    """Makes one comparison at a time: matplotlib draws for one thread only."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._lock = threading.Lock()
        self._records: OrderedDict[str, JobRecord] = OrderedDict()
        self._newest: tuple[tuple[tuple[str, ...], tuple[int, ...]], float, bool, str] | None = None

    def document(self, names: Sequence[str], slots: Sequence[int] = ()) -> str:
        """The whole document; ``slots`` are the colours and marks that the page gives the jobs, in their order.

        Raises SmTrnError for jobs that cannot be compared, CloudError.
        """
        with extra("report", "the page of a comparison"):
            from ..comparison.page import page, pictures  # noqa: PLC0415 - matplotlib is loaded with the first comparison

        with self._lock:
            now_s = self._session.clock.now()
            wanted = tuple(dict.fromkeys(names))
            places = tuple(slots) if len(slots) == len(wanted) == len(set(slots)) else tuple(range(len(wanted)))
            if self._newest is not None and self._newest[0] == (wanted, places):
                _, made_s, ended, text = self._newest
                if ended or 0 <= now_s - made_s < AGAIN_S:
                    return text
            records = [self._record(name) for name in wanted]
            first = compare(records, book=self._session.prices)
            colors = replace(first, slots={row.label: place for row, place in zip(first.rows, places, strict=True)})
            item = compare(records, book=self._session.prices, colors=colors)
            text = page(item, tuple(pictures(item)), now=datetime.fromtimestamp(now_s, tz=timezone.utc))
            self._newest = ((wanted, places), now_s, all(record.snapshot.terminal for record in records), text)
            return text

    def _record(self, name: str) -> JobRecord:
        known = self._records.get(name)
        if known is not None:
            self._records.move_to_end(name)
            return known
        found = TrainingJob(name=name, session=self._session).record()
        if found.snapshot.terminal:
            self._records[name] = found
            while len(self._records) > KEPT:
                self._records.popitem(last=False)
        return found

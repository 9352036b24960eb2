"""What reports add to the live handles: frames of a job's numbers, and what many jobs cost together."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import TYPE_CHECKING, Literal, TextIO

from typing_extensions import TypeVar

from ..core.errors import UnknownName, extra
from ..core.ports import JobQuery
from ..core.session import handles
from .fleets.search import MOST, fetch_jobs, moment

if TYPE_CHECKING:
    import pandas as pd

    from ..diagnosis.guard.live import JobGuards
    from .fleets.fleet import Fleet
    from .watch.progress import Progress

MetricView = Literal["all", "train", "eval", "summary", "final"]


class MeasuredJob(handles.TrainingJob):
    """A job whose numbers come as frames."""

    __slots__ = ()

    def metrics(self, *, view: MetricView = "all") -> pd.DataFrame:
        """The numbers of the log as a tidy frame: step, epoch, host, name, value, time, guessed.

        ``train``, ``eval``, ``summary``: one row a printed line, one column a number. ``final``: what the service itself kept
        (FinalMetricDataList) as ``value`` beside ``log_value``, what the same expression finds in the log – the two differ
        where the expression stops before an exponent. Raises UnknownName for another view.
        """
        with extra("report", "job.metrics()"):
            from .metrics import final_frame, lines_frame, metrics_frame  # noqa: PLC0415 - pandas stays out of `import sm_trn`

        if view == "all":
            return metrics_frame(self.points())
        if view == "final":
            return final_frame(self._log.final_rows())
        if view not in {"train", "eval", "summary"}:
            raise UnknownName(f"view: got {view!r}, wanted 'all', 'train', 'eval', 'summary' or 'final'")
        return lines_frame(self.metric_log().view(view))

    def utilization(self) -> pd.DataFrame:
        """CPUUtilization, GPUUtilization, … in percent by host and time, as CloudWatch measured them; the columns of
        ``metrics()``, no rows where there is nothing. Raises CloudError."""
        with extra("report", "job.utilization()"):
            from .metrics import metrics_frame  # noqa: PLC0415 - pandas stays out of `import sm_trn`

        return metrics_frame(self._log.utilization())


M_co = TypeVar("M_co", bound=MeasuredJob, default=MeasuredJob, covariant=True)


class ReportingSession(handles.Session[M_co]):
    """A session that can report on all of its jobs."""

    __slots__ = ()

    def fleet(
        self,
        containing: str = "",
        *,
        tag: tuple[str, str] | None = None,
        after: date | str | None = None,
        before: date | str | None = None,
        tags: bool = False,
        at: date | str | None = None,
        limit: int = MOST,
    ) -> Fleet:
        """What jobs cost together: those with ``containing`` in their name, with the ``tag``, created ``after`` and ``before``.

        At most the ``limit`` newest; priced at the newest price, or that of a day. ``tags`` reads their tags too, for
        ``fleet.by("tag:KEY")``: a call a job more. Raises CloudError.
        """
        from .fleets.fleet import fleet  # noqa: PLC0415 - pandas stays out of `import sm_trn`

        query = JobQuery(containing=containing, created_after=moment(after), created_before=moment(before, end=True))
        jobs, more = fetch_jobs(self, query, tag=tag, tags=tags, limit=limit)
        words = [
            f"with {containing!r} in their name" if containing else "",
            f"tagged {tag[0]}={tag[1]}" if tag else "",
            f"created {after} or later" if after else "",
            f"created {before} or before" if before else "",
        ]
        title = f"Jobs {', '.join(word for word in words if word)}".strip()
        return fleet(jobs, book=self.prices, at=at, title=title, cut=limit if more else None)

    def _progress(self, jobs: Sequence[handles.TrainingJob], stream: TextIO | None, guards: JobGuards) -> Progress:
        """What reads the logs of a wait and shows them on ``stream``; without one, it reads for whoever hears."""
        from .watch.display import Display, display_for  # noqa: PLC0415 - pandas and matplotlib stay out of `import sm_trn`
        from .watch.progress import progress_of  # noqa: PLC0415 - as above

        return progress_of(self, jobs, Display() if stream is None else display_for(stream), guards)

"""The session's methods for tuning jobs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from typing_extensions import TypeVar

from ..core.catalog import limits
from ..core.errors import NotConfigured, UnknownName
from ..core.session import handles
from ..core.specs.tuning import Sweep
from ..core.specs.units import Usd

if TYPE_CHECKING:
    from .aws import Boto3Tuning
    from .job import TuningJob

T_co = TypeVar("T_co", bound=handles.TrainingJob, default=handles.TrainingJob, covariant=True)


class TuningSession(handles.Session[T_co]):
    """A session that starts tuning jobs."""

    __slots__ = ()

    @property
    def tuner(self) -> Boto3Tuning:
        """The port to tuning jobs. Raises NotConfigured for a session without AWS's SDK behind it."""
        from .aws import Boto3Tuning  # noqa: PLC0415 - `import sm_trn` loads no boto3

        if self.boto_session is None:
            raise NotConfigured("tuning: got a session without boto3, wanted one of connect()")
        return Boto3Tuning(self.boto_session, None if self.emulated else self.clock)

    def tune(
        self,
        sweep: Sweep,
        *,
        name: str | None = None,
        ignore: Sequence[str] = (),
        max_usd: Usd | float | None = None,
    ) -> TuningJob:
        """Check, upload, create a tuning job. ``ignore`` waives errors of ``check`` by id.

        ``max_usd`` refuses, with OverBudget, what may cost more: the number of training jobs × max_run_s × instances × price. An
        emulated job costs nothing. ``name``, at most 32 characters, makes the call repeatable: after a kill the same call with the
        same name goes on with the same tuning job. Raises InvalidJob, OverBudget, CloudError, LaunchUnknown, and for Ctrl-C
        LaunchInterrupted.
        """
        from .job import start  # noqa: PLC0415 - few sessions search

        return start(self, self.tuner, sweep, name=name, ignore=ignore, max_usd=max_usd)

    def tuning_job(self, name: str) -> TuningJob:
        """A handle for an existing tuning job, by its name or ARN. Raises UnknownName when there is none, CloudError."""
        from .job import TuningJob  # noqa: PLC0415 - as above

        short = name.rsplit("/", 1)[-1]
        if not limits.matches("HyperParameterTuningJobName", short) or not self.tuner.exists(short):
            raise UnknownName(f"tuning job: got {name!r}, wanted the name or the ARN of one in {self.region}")
        return TuningJob(name=short, session=self, service=self.tuner)

    def worst_case(self, sweep: Sweep) -> Usd | None:
        """The most that a tuning job can cost, in USD; None without a price, or on the emulator."""
        from .worst_case import worst_case  # noqa: PLC0415 - as above

        return None if self.emulated else worst_case(sweep, self.price_of)

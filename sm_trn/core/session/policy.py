"""A team's policy: a file sm_trn.toml above the job file, or the one that SM_TRN_POLICY names. Check and launch enforce it."""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from ..catalog.instances import instances
from ..errors import InvalidJob, NotConfigured
from ..formatting import numbers as fmt
from ..jobfile.files import parse_as
from ..pricing.cost import ceiling
from ..specs.guard import Guard
from ..specs.job import JobSpec
from ..specs.problems import Advice, Field, Problem, rules_of
from ..specs.units import Usd
from .budget import PriceOf, as_usd

FILE = "sm_trn.toml"
VARIABLE = "SM_TRN_POLICY"
SIZE_CAP = 100_000  # bytes
NAMED = 3  # jobs of a launch that a message names
_RULES = rules_of(__package__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """A team's limits. A limit that is left out does not apply.

    ``max_usd``: the most dollars that one launch can cost: a job, or all jobs of a grid, a sweep or a study together. ``types``:
    patterns of instance types, such as ``ml.g5.*``. ``regions``: names of regions. ``tags``: keys that each job has. ``spot_only``: jobs
    run on spot capacity. ``guard``: what jobs without a guard of their own are watched for.
    """

    max_usd: float | None = None
    types: tuple[str, ...] = ()
    regions: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    spot_only: bool = False
    guard: Guard | None = None

    def __post_init__(self) -> None:
        if self.max_usd is not None and not self.max_usd > 0:
            raise ValueError(f"max_usd: got {self.max_usd!r}, wanted more than 0")
        for pattern in self.types:
            if not fnmatch.filter(instances(), pattern):
                raise ValueError(f"types: got {pattern!r}, wanted a pattern of instance types, such as ml.g5.*")

    def problems(self, job: JobSpec, region: str, price_of: PriceOf) -> Iterator[Problem]:
        """Yield problems of a job that the team does not allow."""
        yield from self.cost_problems(
            ceiling(job, price_of(job.compute.machines)),
            Field("max_run_s"),
            "the job can cost more than is allowed",
            fix="lower max_run_s, or choose a cheaper instance",
        )
        yield from self.job_problems(job, region)

    def launch_problems(self, jobs: Sequence[JobSpec], region: str, price_of: PriceOf) -> Iterator[Problem]:
        """Yield problems of jobs that are launched together: those of each, else those of their total cost."""
        each = list(dict.fromkeys(problem for job in jobs for problem in self.problems(job, region, price_of)))
        if each:
            yield from each
            return
        most = [ceiling(job, price_of(job.compute.machines)) for job in jobs]
        yield from self.cost_problems(
            sum((usd for usd in most if usd is not None), Decimal(0)),
            Field("max_run_s"),
            f"the {len(jobs)} jobs of the launch can cost more together than is allowed",
            fix="lower max_run_s, launch fewer jobs, or choose a cheaper instance",
        )

    def job_problems(self, job: JobSpec, region: str) -> Iterator[Problem]:
        """The same without its cost."""
        for instance in job.compute.instances:
            if self.types and not any(fnmatch.fnmatch(instance, pattern) for pattern in self.types):
                yield _RULES["POLICY002"].problem(
                    Field("compute.instance"),
                    "this instance type is not allowed here",
                    got=repr(instance),
                    wanted=" or ".join(self.types),
                    fix=Advice(f"choose one with sm-trn estimate JOB.toml --plan --only '{self.types[0]}'"),
                )
        if self.regions and region not in self.regions:
            yield _RULES["POLICY003"].problem(
                Field("region"),
                "jobs are not allowed in this region",
                got=repr(region),
                wanted=" or ".join(self.regions),
                fix=Advice(f"--region {self.regions[0]}"),
            )
        lacking = [tag for tag in self.tags if not job.tags.get(tag)]
        if lacking:
            yield _RULES["POLICY004"].problem(
                Field("tags"),
                "tags that each job must have are missing",
                got=", ".join(job.tags) or "no tags",
                wanted=", ".join(self.tags),
                fix=Advice(f"add {', '.join(lacking)} to tags"),
            )
        if self.spot_only and job.spot is None:
            yield _RULES["POLICY005"].problem(
                Field("spot"),
                "jobs run on spot capacity alone here",
                got="no spot",
                wanted="spot with max_wait_s and checkpoint_s3_uri",
                fix=Advice("add spot; sm-trn rehearse tells whether the job resumes"),
            )

    def cost_problems(self, most: Usd | None, where: Field, what: str, *, fix: str) -> Iterator[Problem]:
        """POLICY001 where a launch can cost more than is allowed, or where nobody knows what it can cost."""
        if self.max_usd is not None and (most is None or most > as_usd(self.max_usd)):
            yield _RULES["POLICY001"].problem(
                where,
                what if most is not None else "nobody knows what it can cost",
                got="no price" if most is None else f"at most {fmt.usd(most)}",
                wanted=f"at most {fmt.usd(as_usd(self.max_usd))}",
                fix=Advice(fix),
            )


def find_policy(start: Path) -> Policy | None:
    """The policy of the file that ``SM_TRN_POLICY`` names, else of the first sm_trn.toml from ``start`` upwards; None without one.

    Raises NotConfigured for a file that is not there or cannot be read, InvalidJobFile for what stands in it.
    """
    named = os.environ.get(VARIABLE)
    if named:
        return _read(Path(named), of=f"{VARIABLE}: ")
    folder = start.resolve()
    file = next((each / FILE for each in (folder, *folder.parents) if (each / FILE).is_file()), None)
    return None if file is None else _read(file)


def _read(path: Path, of: str = "policy: ") -> Policy:
    try:
        if path.stat().st_size > SIZE_CAP:
            raise NotConfigured(f"{of}got {str(path)!r}, which is too large; wanted a policy such as max_usd = 100")
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise NotConfigured(f"{of}got {str(path)!r}, which cannot be read ({error}); wanted a file {FILE}") from error
    return parse_as(Policy, text, "toml", name=str(path))[0]


def enforce(jobs: Iterable[JobSpec], start: Path, region: str, price_of: PriceOf) -> list[JobSpec]:
    """The jobs of a launch with the guard of the policy that holds at ``start``. Raises InvalidJob for what it does not allow."""
    policy, launch = find_policy(start), list(jobs)
    if policy is None:
        return launch
    refused = tuple(policy.launch_problems(launch, region, price_of))
    if refused:
        raise InvalidJob(
            ", ".join(job.name for job in launch[:NAMED]) + (", …" if len(launch) > NAMED else ""), refused
        )
    return [job if job.guard is not None else job.replace(guard=policy.guard) for job in launch]

"""A launcher imported: its launch sites, run in the sandbox, with each request as a job; what did not run is read as literals."""

from __future__ import annotations

import dataclasses
import functools
import importlib.metadata
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from ..core.errors import SmTrnError
from .jobs import Launch, launch_of
from .literal import Arguments, read_arguments
from .recorder import Recorded, record
from .sites import Place, Site, Source, find_sites, read_source
from .values import ACCOUNT_NAMES, with_values

PYTHON3: Final = "SM_TRN_SDK3_PYTHON"  # names a Python that has SDK v3
_JOBS: Final = ("CreateTrainingJob", "CreateHyperParameterTuningJob")


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """A launcher's file: every launch site, the launches that its run sent, and the arguments of the sites that sent none.

    ``recorded`` is the run; None where it was not run, for the reason in ``not_run``. ``unread`` are cells that are no Python.

    >>> imported = st.import_launcher("launch.py")
    >>> imported.jobs[0].compute.instance, imported.complete
    ('ml.g5.xlarge', True)
    """

    file: str
    sites: tuple[Site, ...]
    launches: tuple[Launch, ...] = ()
    arguments: tuple[tuple[Site, Arguments], ...] = ()
    recorded: Recorded | None = None
    not_run: str = ""
    unread: tuple[tuple[Place, str], ...] = ()

    @property
    def jobs(self) -> tuple[object, ...]:
        """The specs of the launches, a sweep where a tuner starts the job."""
        return tuple(each.sweep or each.job for each in self.launches if each.job is not None)

    @property
    def complete(self) -> bool:
        """True if the program ended well, and every launch site sent a job that can be written."""
        return (
            self.recorded is not None
            and self.recorded.exit_code == 0
            and bool(self.launches)
            and not self.arguments
            and not self.recorded.swallowed
            and not any(each.refusal for each in self.launches)
        )


def import_launcher(  # noqa: PLR0913 - what is run, and how
    path: str | Path,
    arguments: Sequence[str] = (),
    *,
    call: str = "",
    environment: Mapping[str, str] | None = None,
    values: Mapping[str, object] | None = None,
    python: str | Path | None = None,
    run: bool = True,
    trusted: bool = False,
    timeout_s: float = 600.0,
) -> Imported:
    """Run a launcher in the sandbox, with its AWS account answered by stubs, and return each job that it would start.

    ``arguments`` are its command line, ``environment`` its variables, ``call`` a function to call at its end. ``values`` replace what
    it assigns to these names; role, bucket, region and account are also what the account answers. ``python`` is a Python with SDK v3,
    for a program of SDK v3. With ``run`` False, or where the SDK is not installed, its literals are read. ``trusted`` runs it also
    where this machine has no sandbox. Raises SmTrnError for a file that is no launcher, and where it can be run in no sandbox.

    >>> [job.name for job in st.import_launcher("launch.py", ["--epochs", "3"]).jobs]
    ['bert', 'bert-long']
    """
    path = Path(path)
    source = read_source(path)
    sites = tuple(find_sites(source))
    not_run, own_python = ("it was asked not to run", None) if not run else _runner(source, python)
    if not_run:
        read = tuple((site, read_arguments(site, source)) for site in sites)
        return Imported(file=path.name, sites=sites, arguments=read, not_run=not_run, unread=source.unread)
    given = dict(values or {})
    folder = Path.cwd() if Path.cwd() in path.resolve().parents else path.resolve().parent
    name = str(path.resolve().relative_to(folder.resolve()))
    recorded = record(
        [name, *arguments],
        folder=folder,
        timeout_s=timeout_s,
        environment=environment,
        python=own_python,
        call=call,
        trusted=trusted,
        account={key: str(value) for key, value in given.items() if key in ACCOUNT_NAMES},
        code=with_values(source, given) if given else None,
    )
    launches = tuple(_launches(recorded, sites, path))
    reached = {each.site for each in launches}
    read = tuple((site, read_arguments(site, source)) for site in sites if site not in reached)
    return Imported(
        file=path.name, sites=sites, launches=launches, arguments=read, recorded=recorded, unread=source.unread
    )  # fmt: skip


def _launches(recorded: Recorded, sites: Sequence[Site], path: Path) -> list[Launch]:
    launches = []
    for call in recorded.calls:
        if call.operation not in _JOBS:
            continue
        own = replace(call, places=_named(call.places, path), made_at=_named(call.made_at, path))
        made_at = (site for place in (*own.made_at, *own.places) for site in sites if site.covers(place))
        site = next(made_at, None)  # the site that made the estimator of a call, or that is the call itself
        place = next((each for each in own.places if each.file == path.name), next(iter(own.places), None))
        launch = launch_of(own, place, site, recorded.uploads)
        at = (place.cell, place.line) if place is not None and place.cell else (0, 0)
        failed = [each for each in recorded.failures if (each.cell, each.line) < at]
        if failed:
            note = f"cell {failed[-1].cell}, line {failed[-1].line} failed before it: what it would have changed is not in this job"
            launch = dataclasses.replace(launch, notes=(*launch.notes, note))
        launches.append(launch)
    return launches


def _named(places: Sequence[Place], path: Path) -> tuple[Place, ...]:
    """Return the places with the launcher's file by its name alone."""
    own = str(path.resolve())
    return tuple(replace(each, file=path.name) if each.cell or each.file == own else each for each in places)


def _runner(source: Source, python: str | Path | None) -> tuple[str, Path | None]:
    """Return why a program cannot be run, or else the Python that runs it: None for this one."""
    version = _version(sys.executable)
    if not source.sdk3:
        if 0 < version < 3 or not any("sagemaker" in cell.code and "import" in cell.code for cell in source.cells):
            return "", None
        return "SDK v2 is not installed here: pip install 'sm_trn[sdk]'", None
    other = str(python or os.environ.get(PYTHON3) or "")
    if other:
        if _version(other) < 3:
            raise SmTrnError(f"python: got {other!r}, which has no SDK v3, wanted a Python with sagemaker 3 or later")
        return "", Path(other)
    if version >= 3:
        return "", None
    return (
        f"it is a program of SDK v3, which is not installed here: --python or {PYTHON3} names a Python that has it",
        None,
    )


@functools.cache
def _version(python: str) -> int:
    """Return the first number of the SDK's version in a Python; 0 where it has none."""
    if python == sys.executable:
        try:
            return int(importlib.metadata.version("sagemaker").partition(".")[0])
        except importlib.metadata.PackageNotFoundError:
            return 0
    script = "import importlib.metadata as m; print(m.version('sagemaker').partition('.')[0])"
    try:
        answer = subprocess.run([python, "-c", script], capture_output=True, text=True, check=False, timeout=60)  # noqa: S603
    except OSError as error:
        raise SmTrnError(f"python: got {python!r}, which does not start ({error.strerror}), wanted a Python") from None
    return int(answer.stdout) if answer.stdout.strip().isdigit() else 0

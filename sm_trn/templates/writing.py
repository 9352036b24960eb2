"""A project as plain files: job.toml, the script in src, requirements.txt beside it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from textwrap import wrap

from ..core import _entry
from ..core.errors import NotConfigured
from ..core.jobfile.json_schema import json_schema
from ..core.session.jobfiles import save
from ..core.specs.job import JobSpec, Script
from .template import Project

JOB, SCHEMA, SOURCE, REQUIREMENTS = "job.toml", "job.schema.json", "src", "requirements.txt"


def write(project: Project, folder: Path, *, force: bool = False) -> tuple[Path, ...]:
    """Write the files; returns those that were written. Raises NotConfigured where one is there already, unless ``force``."""
    job_file, source = folder / JOB, folder / SOURCE
    own = project.request.script is not None
    planned = [job_file, folder / SCHEMA, *([] if own else [source / project.template.script, source / REQUIREMENTS])]
    there = [str(path) for path in planned if path.exists()]
    if there and not force:
        raise NotConfigured(f"output: {', '.join(there)} would be overwritten; choose another --output, or say --force")
    folder.mkdir(parents=True, exist_ok=True)
    if not own:
        source.mkdir(exist_ok=True)
        _script(project, source)
        (source / REQUIREMENTS).write_text(requirements(project), "utf-8")
    (folder / SCHEMA).write_text(json.dumps(json_schema(), indent=1) + "\n", "utf-8")
    save(job_file, in_folder(project, folder), head=_comments(project))
    return tuple(planned)


def in_folder(project: Project, folder: Path) -> JobSpec:
    """The job with the script that was written to ``folder``, its paths from the working directory."""
    if project.request.script is not None:
        return project.job
    return project.job.replace(script=Script(project.template.script, source_dir=str(folder / SOURCE)))


def _script(project: Project, source: Path) -> None:
    template = project.template
    if template.shipped:
        copy_script(template.script, source)
    else:
        shutil.copy2(template.source, source / template.script)


def requirements(project: Project) -> str:
    """The text of requirements.txt: what the image is not known to hold, or a comment."""
    if project.requirements:
        return "\n".join(project.requirements) + "\n"
    return "# What the image does not hold: one package a line. sm-trn catalog images NAME lists what it holds.\n"


def _comments(project: Project) -> str:
    """The first lines of the job file: its schema, for editors, and why it is as it is."""
    lines = [*project.reasons, *(f"Not chosen: {other}" for other in project.others)]
    wrapped = [part for line in lines for part in wrap(line, 100, subsequent_indent="  ")]
    return f"#:schema ./{SCHEMA}\n" + "".join(f"# {line}\n" for line in wrapped) + "\n"


def copy_script(name: str, folder: Path) -> None:
    """Copy a shipped script, with the modules and the small files that it needs, into ``folder``."""
    home = _entry.scripts_folder()
    text = (home / name).read_text("utf-8")
    folder.mkdir(parents=True, exist_ok=True)
    for script in {name, "sm_spot.py"} if "sm_spot" in text else {name}:
        shutil.copy2(home / script, folder / script)
    for package in ("kit", "sample", "tiny_random") if "import kit" in text else ():
        shutil.copytree(
            home / package, folder / package, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__")
        )

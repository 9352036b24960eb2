"""A source out of a repository: cloned shallowly once, pinned to its commit."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from ..errors import NotConfigured
from ..specs.job import Git

REPOSITORY = re.compile(r"(https://|ssh://|file://|git@)\S+|/\S+")
NAME = re.compile(r"[\w][\w./-]*")
LIMIT_S = 600


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkout:
    """The files of one commit."""

    folder: Path
    commit: str


def checkout(git: Git) -> Checkout:
    """Clone the commit, or the head of the branch, into a folder of its own. Raises NotConfigured with git's own words.

    Nothing of the repository is run: no hooks, no submodules, no filters of its own configuration, no prompt.
    """
    wanted = git.commit or git.branch or "HEAD"
    if not REPOSITORY.fullmatch(git.repo) or not NAME.fullmatch(wanted):
        raise NotConfigured(
            f"git: got {git.repo!r} at {wanted!r}, wanted an https, ssh, git@ or file repository and a branch or commit"
        )
    folder = Path(tempfile.mkdtemp(prefix="sm_trn-git-"))
    _git(folder, "init", "--quiet")
    _git(folder, "fetch", "--quiet", "--depth", "1", "--no-tags", git.repo, wanted)
    _git(folder, "checkout", "--quiet", "--detach", "FETCH_HEAD")
    commit = _git(folder, "rev-parse", "HEAD")
    if git.commit and not commit.startswith(git.commit):
        raise NotConfigured(f"git: got commit {commit!r}, wanted {git.commit!r}")
    return Checkout(folder=folder, commit=commit)


def _git(folder: Path, *arguments: str) -> str:
    environment = {**os.environ, "GIT_TERMINAL_PROMPT": "0", "GIT_LFS_SKIP_SMUDGE": "1"}
    command = ["git", "-c", "core.hooksPath=/dev/null", "-c", "protocol.ext.allow=never", *arguments]
    try:
        done = subprocess.run(  # noqa: S603 - a fixed program and checked arguments, no shell
            command, cwd=folder, env=environment, capture_output=True, text=True, timeout=LIMIT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NotConfigured(
            f"git {arguments[0]}: {error}; wanted the git program and a repository that answers"
        ) from error
    if done.returncode:
        words = done.stderr.strip().splitlines() or ["no message"]
        raise NotConfigured(
            f"git {arguments[0]}: {words[-1]}; check repo, branch and commit, and that you may read them"
        )
    return done.stdout.strip()

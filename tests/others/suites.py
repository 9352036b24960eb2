"""Suites and launchers of public repositories: the table of them, and how one is run as its own repository says, without a change.

``python tests/others/suites.py FOLDER NAME`` runs one from the git directories below FOLDER (``OWNER+NAME/repo`` or ``OWNER/NAME``), and
says what failed and how, grouped. It must not know what is expected; test_others.py compares.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from xml.etree import ElementTree

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT: Final = Path(__file__).parents[2]
TABLE: Final = Path(__file__).with_name("suites.toml")
REGION: Final = "us-west-2"
_PYTEST: Final = (
    "pytest<9",
    "pytest-timeout",
    "pytest-xdist",
)  # pytest 9 refuses marks on fixtures, which older suites have


@dataclass(frozen=True, slots=True, kw_only=True)
class Different:
    """Tests that do not pass, and why: ``side`` is ``ours``, ``theirs`` or ``service``; ``reads`` finds how their failures read."""

    why: str
    side: str
    reads: str
    tests: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """A row of the table. ``pytest`` are arguments of pytest, ``commands`` are named shell lines: a suite has the one or the other."""

    name: str
    repository: str
    commit: str
    what: str
    packages: tuple[str, ...]
    passed: int
    pytest: tuple[str, ...] = ()
    commands: Mapping[str, str] = field(default_factory=dict)
    paths: tuple[str, ...] = ()
    folder: str = ""
    timeout_s: int = 300
    region: str = REGION
    roles: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    refused: Mapping[str, int] = field(default_factory=dict)
    different: tuple[Different, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of a suite: ``failed`` are names and how each failure reads, ``refused`` the operations that the emulator lacks."""

    passed: tuple[str, ...]
    skipped: int
    failed: Mapping[str, str]
    refused: Mapping[str, int]


def suites() -> Iterator[Suite]:
    """Read the table."""
    for row in tomllib.loads(TABLE.read_text("utf-8"))["suite"]:
        yield suite_of(row)


def suite_of(row: dict[str, Any]) -> Suite:
    """Read a row; TypeError names a word that no row has."""
    listed = {name: tuple(value) for name, value in row.items() if isinstance(value, list) and name != "different"}
    different = tuple(Different(**{**each, "tests": tuple(each["tests"])}) for each in row.get("different", ()))
    return Suite(**{**row, **listed, "different": different})


def git_directory(folder: Path, repository: str) -> Path | None:
    """Find a repository below a folder; None where it is not there."""
    for place in (folder / repository.replace("/", "+") / "repo", folder / repository):
        for found in (place, place / ".git"):
            if (found / "HEAD").exists():
                return found
    return None


def lay_out(git: Path, suite: Suite, into: Path) -> None:
    """Write the commit's files; a blob that the copy lacks is left out, as a shallow mirror has none of the largest."""
    base, env = ["git", "--git-dir", str(git)], {**os.environ, "GIT_NO_LAZY_FETCH": "1"}
    listed = subprocess.run(
        [*base, "ls-tree", "-r", "-z", suite.commit, "--", *suite.paths], check=True, capture_output=True, env=env
    )
    rows = [row.split("\t", 1) for row in listed.stdout.decode().split("\0") if row]
    blobs = [(*kind.split(), path) for kind, path in rows if kind.split()[1] == "blob"]
    names = "".join(f"{identity}\n" for _, _, identity, _ in blobs)
    with tempfile.TemporaryFile() as said:
        said.write(names.encode())
        said.seek(0)
        with subprocess.Popen([*base, "cat-file", "--batch"], stdin=said, stdout=subprocess.PIPE, env=env) as batch:
            assert batch.stdout is not None
            for mode, _, _, path in blobs:
                head = batch.stdout.readline().split()
                if head[1] == b"missing":
                    continue
                content = batch.stdout.read(int(head[2]))
                batch.stdout.read(1)
                _write(into / path, mode, content)


def _write(target: Path, mode: str, content: bytes) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if mode == "120000":
        target.symlink_to(content.decode())
    else:
        target.write_bytes(content)
        target.chmod(0o755 if mode == "100755" else 0o644)


def environment_of(suite: Suite, checkout: Path, home: Path) -> Path:
    """Make the environment that the suite's users would have, with this package in it; its Python."""
    if not home.exists():
        subprocess.run([sys.executable, "-m", "venv", str(home)], check=True)
    packages = [each.replace("{checkout}", str(checkout)) for each in suite.packages]
    subprocess.run(
        [str(ROOT / ".ci/install"), str(home), "--editable", f"{ROOT}[local]", *_PYTEST, *packages], check=True
    )
    return home / "bin" / "python"


def run(suite: Suite, git: Path, work: Path) -> Outcome:
    """Lay a suite out below ``work``, make its environment, and run it."""
    checkout = work / "checkout"
    lay_out(git, suite, checkout)
    python = environment_of(suite, checkout, work / "environment")
    return run_laid_out(suite, checkout, python, work)


def run_laid_out(suite: Suite, checkout: Path, python: Path, work: Path) -> Outcome:
    """Run a suite that is laid out already."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "SM_TRN_", "PYTEST_"))}
    kept |= {"PATH": f"{python.parent}:{kept['PATH']}"}
    for name, text in suite.environment.items():
        kept[name] = text.replace("{checkout}", str(checkout)).replace("{here}", str(TABLE.parent))
    kept["SAGEMAKER_SUPPRESS_V2_WARNING"] = "1"
    arguments = list(suite.pytest) if suite.pytest else [str(_as_tests(suite, work))]
    options = [
        "--sm-trn-everywhere",
        f"--sm-trn-region={suite.region}",
        *(f"--sm-trn-role={role}" for role in suite.roles),
    ]
    result = work / "result.xml"
    options += ["-p", "no:cacheprovider", f"--timeout={suite.timeout_s}", f"--junitxml={result}"]
    command = [str(python), "-m", "pytest", *options, *arguments]
    done = subprocess.run(
        command, check=False, capture_output=True, text=True, cwd=checkout / suite.folder, env=kept, timeout=7200
    )
    (work / "output.txt").write_text(done.stdout + done.stderr, encoding="utf-8")
    assert result.exists(), (done.stdout + done.stderr)[-3000:]
    return _outcome(result, done.stdout)


def _as_tests(suite: Suite, work: Path) -> Path:
    """A launcher's commands as tests of pytest, so that it meets the emulator as every suite does."""
    lines = {name: line.replace("{here}", str(TABLE.parent)) for name, line in suite.commands.items()}
    text = "import subprocess\n\n" + "\n\n".join(
        f"def test_{name}():\n    done = subprocess.run({line!r}, shell=True, text=True, stdin=subprocess.DEVNULL, "
        "stdout=subprocess.PIPE, stderr=subprocess.STDOUT)\n    assert 0 == done.returncode, done.stdout[-3000:]\n"
        for name, line in lines.items()
    )
    file = work / "test_commands.py"
    file.write_text(text, encoding="utf-8")
    return file


def _outcome(result: Path, said: str) -> Outcome:
    passed, failed, skipped = [], {}, 0
    for case in ElementTree.parse(result).iter("testcase"):  # noqa: S314 - pytest's own report
        name = f"{case.get('classname', '').rpartition('.')[2]}::{case.get('name')}"
        troubles = [*case.iter("failure"), *case.iter("error")]
        if troubles:
            failed[name] = "\n".join(f"{each.get('message')} {each.text}" for each in troubles)
        elif case.find("skipped") is not None:
            skipped += 1
        else:
            passed.append(name)
    refused = {name: int(number) for number, name in re.findall(r"^ +(\d+)  (\S+:.+)$", said, re.MULTILINE)}
    return Outcome(
        passed=tuple(name for name in passed if name not in failed), skipped=skipped, failed=failed, refused=refused
    )


def _last_words(text: str) -> str:
    lines = [line[1:].strip() for line in text.splitlines() if line.startswith("E  ")]
    return re.sub(r"\d[\d:-]{3,}", "#", (lines or text.strip().splitlines() or [""])[-1])[:240]


def main(arguments: Sequence[str]) -> None:
    """Run one suite in a folder that stays, and say what failed."""
    place, wanted = Path(arguments[0]), arguments[1]
    suite = next(each for each in suites() if each.name == wanted)
    work = Path(arguments[2] if len(arguments) > 2 else tempfile.mkdtemp(prefix="others-"))
    git = git_directory(place, suite.repository)
    assert git is not None, f"{suite.repository} is not below {place}"
    shutil.rmtree(work / "checkout", ignore_errors=True)
    outcome = run(suite, git, work)
    print(f"{len(outcome.passed)} passed, {outcome.skipped} skipped, {len(outcome.failed)} failed; {work}")
    groups = Counter(_last_words(text) for text in outcome.failed.values())
    for words, number in groups.most_common():
        print(f"{number:>4}  {words}")
        print("      ", *[name for name, text in outcome.failed.items() if _last_words(text) == words])
    print(*(f"refused {number}  {name}" for name, number in outcome.refused.items()), sep="\n")


if __name__ == "__main__":
    main(sys.argv[1:])

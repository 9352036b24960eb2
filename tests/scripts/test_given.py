"""What a script is given: before its release 5.1.3 the training toolkit let a shell read the arguments once more."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

import sm_trn as st
from sm_trn.core.catalog import images
from sm_trn.core.catalog.toolkit import shell_reads, shell_reads_in
from sm_trn.scripts.given import lines, through_shell

OLD, NEW = st.PyTorch("2.5.1", python="py311"), st.PyTorch("2.10.0", python="py313")
HEAD = "import argparse\np = argparse.ArgumentParser()\n"
TOLD = {"SCRIPT004", "SCRIPT007", "SCRIPT014", "SCRIPT019"}


def job(folder: Path, body: str, framework: st.PyTorch, entry: str = "train.py", **sent: Any) -> st.JobSpec:
    (folder / entry).write_text(f"{HEAD}{body}\n")
    return st.JobSpec(
        name="a",
        script=st.Script(entry, source_dir=str(folder)),
        framework=framework,
        compute=st.Compute("ml.g5.2xlarge"),
        hyperparameters=sent,
    )


def told(asked: st.JobSpec) -> dict[str, str]:
    return {each.id: each.severity.value for each in st.check(asked) if each.id in TOLD}


@given(some.lists(some.text(some.sampled_from("ab1-=_.,:/@%+[]{}!^ '\"\t"), max_size=8), max_size=5))
def test_words_are_split_as_a_shell_splits_them(words: list[str]) -> None:
    ours = through_shell(tuple(words))
    script = "printf '%s\\0' " + " ".join(words)
    ran = subprocess.run(["/bin/sh", "-c", script], capture_output=True, text=True, check=False)
    if ours is None:
        assert ran.returncode  # a quotation mark that nothing closes
    else:
        assert "".join(f"{word}\0" for word in ours or ("",)) == ran.stdout


@pytest.mark.parametrize(
    "text", ["$HOME", "a;b", "a&b", "(a)", "a*", "~", "a #b", "a\\b", "`ls`", "a>b", "a\nb", "it's"]
)
def test_what_a_shell_does_more_with_is_not_foretold(text: str) -> None:
    assert through_shell((text,)) is None


ONE = "p.add_argument('--name')\np.parse_args()"
KNOWN = "p.add_argument('--name')\np.parse_known_args()"
MANY = "p.add_argument('--name', nargs='+')\np.parse_args()"
NUMBERS = "p.add_argument('--name', nargs='+', type=int)\np.parse_args()"
TWICE = {"SCRIPT014": "warning", "SCRIPT004": "warning"}
FLAG = "p.add_argument('--name', action='store_true')\np.parse_args()"


@pytest.mark.parametrize(
    ("body", "value", "old", "new"),
    [
        (ONE, "a b", {"SCRIPT014": "error", "SCRIPT004": "warning"}, {"SCRIPT014": "warning", "SCRIPT004": "warning"}),
        (KNOWN, "a b", {"SCRIPT004": "warning"}, {"SCRIPT004": "warning"}),
        ("import sys\nsys.argv", "a b", {"SCRIPT004": "info"}, {"SCRIPT004": "info"}),
        (MANY, "a b", {}, {}),
        (NUMBERS, "1 2", {}, {"SCRIPT014": "warning", "SCRIPT004": "warning"}),
        (ONE, "'a b'", {}, {"SCRIPT004": "warning"}),
        (ONE, "a", {}, {}),
        (ONE, "$A", {"SCRIPT004": "warning"}, {"SCRIPT004": "warning"}),
        (f"p.add_argument('--data', required=True)\n{ONE}", "a", {"SCRIPT014": "error"}, {"SCRIPT014": "error"}),
        (f"p.add_argument('--data', required=True)\n{ONE}", "$A", TWICE, TWICE),
        (ONE, "a#b~", {}, {}),
        (FLAG, "", {}, {"SCRIPT007": "warning"}),
        (FLAG, True, {"SCRIPT007": "error"}, {"SCRIPT007": "error"}),
        (ONE, "", {"SCRIPT014": "error"}, {"SCRIPT014": "warning"}),
        (
            NUMBERS,
            [1, 2],
            {"SCRIPT014": "error", "SCRIPT019": "warning"},
            {"SCRIPT014": "error", "SCRIPT019": "warning"},
        ),
    ],
)
def test_a_job_is_told_what_its_toolkit_does(
    tmp_path: Path, body: str, value: object, old: dict[str, str], new: dict[str, str]
) -> None:
    assert old == told(job(tmp_path, body, OLD, name=value))
    assert new == told(job(tmp_path, body, NEW, name=value))


def test_the_way_out_is_a_text_that_the_shell_gives_back(tmp_path: Path) -> None:
    asked = job(tmp_path, ONE, OLD, name="full shard $A")
    (problem,) = [each for each in st.check(asked) if each.id == "SCRIPT004"]
    (mended,) = lines(job(tmp_path, ONE, OLD, name=str(problem.fix).strip('"')))
    assert mended is None  # it holds a dollar, which only a shell reads
    (mended,) = lines(job(tmp_path, ONE, OLD, name="'full shard'"))
    assert ("--name", "full shard") == mended


@pytest.mark.parametrize("framework", [OLD, NEW])
@pytest.mark.parametrize("secret", ["s3cret 'value", "s3cret value", "s3cret$value"])
def test_a_secret_is_not_shown(tmp_path: Path, framework: st.PyTorch, secret: str) -> None:
    asked = job(tmp_path, f"p.add_argument('--api_key', type=int)\n{ONE}", framework, api_key=secret, name="a b")
    problems = [each for each in st.check(asked) if each.id in TOLD]
    assert "SCRIPT004" in {each.id for each in problems}
    assert all("s3cret" not in str(each) for each in problems)


def test_the_last_images_with_a_shell_are_those_that_aws_no_longer_patched() -> None:
    """The table of images and the day of the toolkit that starts a script without one."""
    support = {key: row["end_of_patch"] for key, row in images.shipped_table()["support"]["pytorch"].items()}
    assert {key for key, day in support.items() if day < "2026-10-12"} == {key for key in support if shell_reads(key)}


def test_every_image_of_aws_is_known_by_its_uri() -> None:
    for family in images.families():
        for row in images.rows(family):
            uri = f"763104351884.dkr.ecr.us-west-2.amazonaws.com/{row.repository}:{row.pytorch}-x"
            assert shell_reads(row.pytorch) == shell_reads_in(uri), uri
    assert shell_reads_in("123456789012.dkr.ecr.us-west-2.amazonaws.com/mine:2.1") is None


def test_a_shell_script_is_given_its_words_in_quotes(tmp_path: Path) -> None:
    asked = job(tmp_path, ONE, OLD, "train.sh", name="a b")
    assert (("--name", "a b"),) == lines(asked)
    assert not told(asked)

"""Short names are of one job each, the beginning of a name means one job or none, and labels keep what differs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as some

import sm_trn as st
from sm_trn.core.formatting.printable import cut_apart
from sm_trn.core.formatting.theme import MARKERS, marker, role
from sm_trn.core.session.launches import unique_name
from sm_trn.core.session.names import meant, short_names, stem

BASES = some.sampled_from(["a", "a-b", "reviews", "reviews-lr0p03", "reviews-lr0p1", "x-261124-062845-ab2fcf"])
NAMES = some.lists(
    some.builds(unique_name, BASES, some.floats(1.7e9, 1.8e9)) | BASES, min_size=1, max_size=8, unique=True
)


@given(base=some.from_regex(r"[a-z][a-z0-9-]{0,30}[a-z]", fullmatch=True), now=some.floats(1e9, 2e9))
def test_what_a_launch_adds_goes_again(base: str, now: float) -> None:
    assert base == stem(unique_name(base, now))


@given(names=NAMES)
def test_no_two_jobs_share_a_short_name(names: list[str]) -> None:
    short = short_names(names)
    assert len(names) == len(set(short.values()))
    assert all(name.startswith(word) for name, word in short.items())


@given(names=NAMES)
def test_a_short_name_means_its_job(names: list[str]) -> None:
    for name, word in short_names(names).items():
        if word != name:
            assert name == meant(word, names)


def test_of_several_launches_the_newest_is_meant_and_of_several_jobs_none() -> None:
    names = ["b-261124-062846-ab2fcf", "b-261124-062845-ab2fcf", "beta-261124-062846-ab2fcf"]
    assert names[1] == meant("b-261124-062845", names)
    assert meant("c", names) is None
    with pytest.warns(UserWarning, match=f"2 jobs were launched as b; the newest is {names[0]}"):
        assert names[0] == meant("b", names)
    with pytest.raises(st.errors.UnknownName, match="write more of the name, or @last"):
        meant("b-", names)


LABELS = [f"reviews-lr{rate}-261124-0628{n}-ab2fcf" for n, rate in enumerate(("1e-5", "0p03", "0p1"), start=40)]


@pytest.mark.parametrize("width", [12, 20, 30])
def test_labels_keep_what_differs(width: int) -> None:
    cut = cut_apart([stem(label) for label in LABELS], width)
    assert max(map(len, cut)) <= width
    assert 3 == len(set(cut))
    assert ["1e-5", "0p03", "0p1"] == [label.split("lr")[1] for label in cut]


@given(names=some.lists(some.text("ab-", min_size=1, max_size=12), min_size=1, max_size=5), width=some.integers(1, 14))
def test_cut_labels_fit_and_whole_ones_stay(names: list[str], width: int) -> None:
    cut = cut_apart(names, width)
    assert len(names) == len(cut)
    assert all(len(label) <= width for label in cut)
    if max(map(len, names)) <= width:
        assert names == cut


def test_marks_beyond_six_differ() -> None:
    assert 12 == len({marker(slot).solid for slot in range(12)}) == len({marker(slot).ascii for slot in range(12)})
    assert 12 == len({each.matplotlib for each in MARKERS}) == len({each.hollow for each in MARKERS})
    assert 72 == len({(marker(slot).solid, role(slot)) for slot in range(72)})

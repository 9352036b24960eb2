"""Lists and searches that find nothing, or that ask for what they may not: no job is needed, and nobody's job is shown."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Final

from ....core.specs.json import Json
from ..bench import Bench
from ..journal import TAG
from ..probe import LISTING, Probe

_NONE = "conformance-finds-nothing"
_LISTS: Final[Mapping[str, Mapping[str, Json]]] = {
    "list nothing": {},
    "list 101 a page": {"MaxResults": 101},
    "list 0 a page": {"MaxResults": 0},
    "list with a token that is none": {"NextToken": "conformance"},
    "list in an order that is none": {"SortOrder": "Backwards"},
    "list by a status that is none": {"StatusEquals": "Waiting"},
    "list until before it begins": {"CreationTimeAfter": 1_700_000_100, "CreationTimeBefore": 1_700_000_000},
}
_TAGGED: Final[Json] = {"Name": f"Tags.{TAG}", "Operator": "Equals", "Value": _NONE}
_SEARCHES: Final[Mapping[str, Mapping[str, Json]]] = {
    "search nothing": {"SearchExpression": {"Filters": [_TAGGED]}},
    "search 101 a page": {"SearchExpression": {"Filters": [_TAGGED]}, "MaxResults": 101},
    "search by an operator that is none": {
        "SearchExpression": {"Filters": [{"Name": f"Tags.{TAG}", "Operator": "Like", "Value": _NONE}]}
    },
    "search with 21 filters": {"SearchExpression": {"Filters": [_TAGGED] * 21}},
}


def _list(members: Mapping[str, Json], bench: Bench) -> None:
    bench.ask("sagemaker:ListTrainingJobs", {"NameContains": _NONE, **members})


def _search(members: Mapping[str, Json], bench: Bench) -> None:
    bench.ask("sagemaker:Search", {"Resource": "TrainingJob", **members})


def _tags_of_nothing(bench: Bench) -> None:
    arn = f"arn:aws:sagemaker:{bench.place.region}:{bench.target.account}:training-job/{bench.name('absent')}"
    bench.ask("sagemaker:ListTags", {"ResourceArn": arn})


PROBES: Final = (
    *(
        Probe(name=name, battery=LISTING, sends=("sagemaker:ListTrainingJobs",), send=partial(_list, members))
        for name, members in _LISTS.items()
    ),
    *(
        Probe(name=name, battery=LISTING, sends=("sagemaker:Search",), send=partial(_search, members))
        for name, members in _SEARCHES.items()
    ),
    Probe(name="tags of no job", battery=LISTING, sends=("sagemaker:ListTags",), send=_tags_of_nothing),
)

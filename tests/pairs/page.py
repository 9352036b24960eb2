"""The page of the pairs, made of their table: ``python tests/pairs/page.py`` writes it."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).parent.parent)

from others.suites import ROOT
from pairs.table import ABSENT, SIDES, NotRun, Pair, Side, table

PAGE: Final = ROOT / "sm_trn/docs/pairs.md"
_SHOWN: Final = 70
_NAMES: Final = ("SDK v2", "AWS's v3 code", "`model-trainer-v3`", "`training-job-v3`")
_HEAD: Final = """# AWS's v2 code, AWS's v3 code, and ours

AWS published the same launch for SDK v2 and for SDK v3 in several places. Each pair here was run on both sides against the recorder
(sagemaker 2.257.7 and 3.27.0), and so were the two programs that `sm-trn import --to` writes for the v2 side. The tables name every
field of CreateTrainingJob that not all four send alike, and who keeps what SDK v2 sent. – is a field that is not sent, BUCKET the
default bucket, NAME the job's name; the moment in a job's name is left out.

The rows are `tests/pairs/table.toml`; this page is made of them by `python tests/pairs/page.py`. To run the pairs again:

```sh
git clone https://github.com/OWNER/NAME /checkouts/OWNER/NAME   # each repository of the table
git -C /checkouts/aws/sagemaker-python-sdk fetch origin pull/5546/head
.ci/sdk3 --build
SM_TRN_PAIRS=/checkouts python -m pytest tests/pairs
```

Two differences of `training-job-v3` mean the same, and are said when it is written (TARGET021): SDK v3's classes do not send
`DisableProfiler: false`, nor an empty list of collections.

"""
_NOT_RUN: Final = """## Pairs that were not run

| v2 | v3 | why |
|---|---|---|
"""
_READ: Final = """
Three of them were compared by reading (2026-11-22), and what `import` writes for the v2 file was looked at (2026-11-23):

| v3 | what it changes of v2's request | what `import` writes for the v2 notebook |
|---|---|---|
"""


def page() -> str:
    """Return the text of the page."""
    pairs, not_run = table()
    text = _HEAD + "".join(_counted(pairs)) + "\n" + "".join(map(_section, pairs))
    text += _NOT_RUN + "".join(f"| {each.v2} | {each.v3} | {each.why} |\n" for each in not_run)
    return text + _READ + "".join(_by_reading(each) for each in not_run if each.aws)


def _by_reading(each: NotRun) -> str:
    return f"| {each.v3} | {each.aws} | {each.ours} |\n"


def _counted(pairs: list[Pair]) -> Iterator[str]:
    yield f"| pair | fields that differ | {' | '.join(f'{name} keeps v2’s' for name in _NAMES[1:])} |\n|---|---|---|---|---|\n"
    for pair in pairs:
        kept = [
            "refused"
            if SIDES[side] in pair.refused
            else str(sum(_keeps(values, side) for values in pair.differs.values()))
            for side in range(1, len(SIDES))
        ]
        yield f"| [{pair.name}](#{pair.name}) | {len(pair.differs)} | {' | '.join(kept)} |\n"


def _keeps(values: tuple[str, ...], side: int) -> bool:
    return values[side] == values[0]


def _section(pair: Pair) -> str:
    sides = "".join(f"- {name}: {_where(side)}\n" for name, side in (("v2", pair.v2), ("v3", pair.v3)))
    note = f"\n{pair.note}\n" if pair.note else ""
    rows = "".join(
        f"| `{field}` | {' | '.join(map(_value, values))} | {_keepers(pair, values)} |\n"
        for field, values in pair.differs.items()
    )
    return f"## {pair.name}\n\n{sides}{note}\n| field | {' | '.join(_NAMES)} | keep v2's |\n|---|---|---|---|---|---|\n{rows}\n"


def _where(side: Side) -> str:
    lines = f", lines {side.lines[0]}-{side.lines[1]}" if side.lines else ""
    return f"`{side.path}`{lines} of {side.repository} at `{side.commit[:12]}`"


def _keepers(pair: Pair, values: tuple[str, ...]) -> str:
    who = [
        name
        for side, name in enumerate(("", "AWS", "trainer", "job"))
        if side and SIDES[side] not in pair.refused and _keeps(values, side)
    ]
    return ", ".join(who) or "none"


def _value(text: str) -> str:
    if text in {ABSENT, ""}:
        return text
    value = json.loads(text)
    shown = value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))
    return f"`{shown if len(shown) <= _SHOWN else shown[: _SHOWN - 1] + '…'}`".replace("|", "\\|")


def main() -> None:
    """Write the page."""
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()

"""The page of the suites, made of their table: ``python tests/others/page.py`` writes it."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).parent.parent))

from others.suites import ROOT, Suite, suites

PAGE: Final = ROOT / "sm_trn/docs/other-suites.md"
_SIDES: Final = {"ours": "the emulator's", "theirs": "the suite's", "service": "the real service's"}
_HEAD: Final = """# Other people's code on the emulator

Suites and launchers of public repositories, run as they are against the emulator: nothing of them is changed. Each row is one run
of one commit, in an environment of its own, with `pytest --sm-trn-everywhere` ([Testing in CI](guides/testing.md)). A launcher
is one test, which passes if its exit code is 0.

The rows are `tests/others/suites.toml`; this page is made of them by `python tests/others/page.py`. To run one again:

```sh
git clone https://github.com/OWNER/NAME /checkouts/OWNER/NAME
SM_TRN_OTHERS=/checkouts python -m pytest tests/others
```

"""
_REFUSED: Final = """## What the emulator does not have, by how often these runs asked for it

Processing jobs and tuning jobs are built ([the emulator](emulator.md)); this is what is left.

| operation | requests |
|---|---|
"""
_MOTO: Final = """
moto's own tests of SageMaker have a table of their own, `tests/emulator/test_moto_suite.py`.
"""


def page() -> str:
    """Return the text of the page."""
    found = list(suites())
    failed = {suite.name: sum(len(each.tests) for each in suite.different) for suite in found}
    repositories = len({suite.repository for suite in found})
    passed = sum(suite.passed for suite in found)
    text = _HEAD + (
        f"{len(found)} suites of {repositories} repositories: {passed} tests pass, {sum(failed.values())} do not.\n\n"
        "| suite | what | commit | passed | not passed |\n|---|---|---|---|---|\n"
    )
    for suite in found:
        link = f"[{suite.repository}](https://github.com/{suite.repository})"
        text += f"| {link} | {suite.what} | `{suite.commit[:12]}` | {suite.passed} | {failed[suite.name]} |\n"
    text += "\n## What does not pass, and why\n\n"
    text += "".join(_differences(suite) for suite in found if suite.different)
    return text + _REFUSED + "".join(_counted(found)) + _MOTO


def _counted(found: list[Suite]) -> Iterator[str]:
    counts: Counter[str] = Counter()
    for suite in found:
        counts.update(suite.refused)
    for name, number in counts.most_common():
        yield f"| `{name}` | {number} |\n"


def _differences(suite: Suite) -> str:
    rows = "".join(f"- {len(each.tests)} × on {_SIDES[each.side]} side: {each.why}\n" for each in suite.different)
    return f"**{suite.repository}** ({suite.what})\n\n{rows}\n"


def main() -> None:
    """Write the page."""
    Path(PAGE).write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()

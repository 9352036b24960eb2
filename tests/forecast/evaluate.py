"""How far the estimates can be trusted: ``python tests/forecast/evaluate.py ROWS.json --json OUT``.

Each row is estimated by constants that never saw its repository. ``--max-batch FILE`` does the same for
published largest batches. What cannot be estimated is refused, with its reason.
"""

from __future__ import annotations

import argparse
import functools
import json
import statistics
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from forecast.fields import Refusal
from forecast.largest import batch_configuration, batch_flag
from forecast.published import published_rows
from forecast.rows import Measurement, read

from sm_trn.core.specs.json import Object
from sm_trn.forecast.intervals import Interval, around, repository_of, spread_of, support_width
from sm_trn.forecast.memory import largest_batch
from sm_trn.forecast.rates import Constants, method_doubt, shipped, support_key, supported
from sm_trn.forecast.step import host_seconds, step_parts
from sm_trn.forecast.work import fastest_seconds, model_flop, work_of


@dataclass(frozen=True, slots=True)
class Judged:
    """A row, what was estimated for it in its own unit, and what was published; or why it was refused."""

    row: Object
    group: str
    estimate: Interval | None
    published: float
    error: float  # estimated over published speed, minus one
    reason: str = ""
    flag: str = ""

    @property
    def covered(self) -> bool:
        return self.estimate is not None and self.estimate.p10 <= self.published <= self.estimate.p90


def judge(row: Object) -> Judged:
    """A row estimated without its own repository."""
    found = read(row)
    if isinstance(found, Refusal):
        return Judged(row, "", None, 0.0, 0.0, found.reason, _flag(row))
    interval = row_interval(found)
    seconds = found.seconds(found.published)
    middle = found.seconds(interval.p50)
    return Judged(row, found.group, interval, found.published, seconds / middle - 1, "", _flag(row))


@functools.cache
def left_out() -> Mapping[str, Constants]:
    """Constants that never saw a repository, by its name: ``fit`` writes the file."""
    changes = json.loads(Path(__file__).with_name("left_out.json").read_text("utf-8"))
    values = shipped().constants.values
    return {repository: Constants({**values, **changed}) for repository, changed in changes.items()}


def row_interval(found: Measurement) -> Interval:
    """The estimate of a measurement in its own unit."""
    fitted, c = shipped(), found.configuration
    repository = repository_of(found.group)
    constants = left_out().get(repository, fitted.constants)
    work, rates = work_of(c), constants.rates(c)
    seconds = step_parts(work, rates).total
    known = supported(c) - (1 if repository in left_out() else 0)
    width = support_width(max(0, known)) * found.doubt * method_doubt(c)
    likely = around(seconds, spread_of(fitted.residuals, repository), width=width, hosts=host_seconds(work, rates))
    fastest = min(fastest_seconds(c), likely.p50)
    bounded = Interval(max(likely.p10, fastest), likely.p50, likely.p90)
    low, middle, high = (found.value(each) for each in (bounded.p10, bounded.p50, bounded.p90))
    return Interval(min(low, high), middle, max(low, high))


def _flag(row: Object) -> str:
    said = row.get("flag")
    if said:
        return str(said)
    known = _flags().get(
        (
            str(row.get("source")),
            str(row.get("model")),
            str(row.get("value")),
            str(row.get("unit")),
            str(row.get("precision")),
        )
    )
    return known or ("" if row.get("quality") in {None, "ok"} else f"marked {row.get('quality')!r} by its table")


def _flags() -> Mapping[tuple[str, str, str, str, str], str]:
    return {
        (str(row["source"]), str(row["model"]), str(row["value"]), str(row["unit"]), str(row["precision"])): str(
            row["flag"]
        )
        for row in published_rows()
        if row.get("flag")
    }


def summary(title: str, rows: Sequence[Judged], *, refused: int = 0) -> str:
    """One line of the table: rows, within 20 and 35 per cent, median error, coverage by rows and by groups."""
    if not rows:
        return f"{title:<58} {0:>5}"
    errors = [abs(row.error) for row in rows]
    inside = len(errors) + refused
    groups: dict[str, list[bool]] = {}
    for row in rows:
        groups.setdefault(row.group, []).append(row.covered)
    votes = statistics.mean(statistics.mean(each) for each in groups.values())
    return (
        f"{title:<58} {inside:>5} {_share(errors, 0.20, inside):>6} {_share(errors, 0.35, inside):>6} "
        f"{100 * statistics.median(errors):>6.1f} % {100 * statistics.mean(row.covered for row in rows):>6.0f} % {100 * votes:>6.0f} %"
    )


def by_groups(title: str, rows: Sequence[Judged]) -> str:
    """The same with one vote a group."""
    groups: dict[str, list[float]] = {}
    for row in rows:
        groups.setdefault(row.group, []).append(abs(row.error))
    if not groups:
        return f"{title:<58} {0:>5}"
    shares = [
        statistics.mean(statistics.mean(e <= bound for e in each) for each in groups.values()) for bound in (0.20, 0.35)
    ]
    middle = statistics.median(statistics.median(each) for each in groups.values())
    return f"{title:<58} {len(groups):>5} {100 * shares[0]:>4.0f} % {100 * shares[1]:>4.0f} % {100 * middle:>6.1f} %"


def _tensorflow(judged: Judged) -> bool:
    return str(judged.row.get("framework")).startswith("TensorFlow")


def _share(errors: Sequence[float], bound: float, of: int) -> str:
    return f"{100 * sum(error <= bound for error in errors) / of:.0f} %"


def report(judged: Sequence[Judged]) -> str:
    """The whole table."""
    flagged = [each for each in judged if each.flag]
    answered = [each for each in judged if not each.flag and each.estimate is not None]
    refused = [each for each in judged if not each.flag and each.estimate is None]
    mpt: Callable[[Judged], bool] = lambda each: "mpt-" in each.group  # noqa: E731  # three filters side by side
    neuron_bert: Callable[[Judged], bool] = lambda each: "neuron" in each.group and each.group.endswith("bert-large")  # noqa: E731
    rest = [each for each in answered if not mpt(each)]
    few = [each for each in rest if not neuron_bert(each)]
    lines = [
        "Each row is estimated by constants that never saw its repository.",
        f"{'':<58} {'ROWS':>5} {'±20 %':>6} {'±35 %':>6} {'MEDIAN':>8} {'COVERED':>8} {'GROUPS':>8}",
        summary("not flagged", answered),
        summary("  refused rows counted as outside", answered, refused=len(refused)),
        by_groups("  one vote a group", answered),
        summary("PyTorch, as every job of this package", [each for each in answered if not _tensorflow(each)]),
        summary("TensorFlow", [each for each in answered if _tensorflow(each)]),
        summary("without MPT", rest),
        summary("without MPT and BERT-Large on Trainium", few),
        summary("baseline: median MFU by chip and precision", mfu_baseline(answered)),
        "",
        "GROUPS",
    ]
    names = sorted({each.group for each in answered})
    for name in names:
        mine = [each for each in answered if each.group == name]
        ratio = statistics.median(1 + each.error for each in mine)
        away = "" if 0.8 <= ratio <= 1.2 else "   outside: " + _cause(mine[0])
        lines.append(summary(f"  {name}"[:58], mine) + f"  speed × {ratio:.2f}{away}")
    lines += [
        "",
        f"{len(answered)} answered, {len(refused)} refused, {len(flagged)} left out because they are flagged.",
    ]
    lines += [f"  {count:>3} refused: {why}" for why, count in Counter(each.reason for each in refused).most_common()]
    lines += [f"  {count:>3} flagged: {why}" for why, count in Counter(each.flag for each in flagged).most_common()]
    return "\n".join(lines)


def _cause(row: Judged) -> str:
    """What is known of why a group lies outside, from how its neighbours are."""
    found = read(row.row)
    if isinstance(found, Refusal):
        return found.reason
    c = found.configuration
    others = shipped().support.get(support_key(c), 0) - 1
    if c.images:
        return "convolutions: few rows resemble one another"
    if others <= 1:
        return f"{others} other repository with {support_key(c)}"
    if c.neuron and c.tensor > 1:
        return "tensor parallel on Trainium: the row does not say what is recomputed"
    if c.sequence * c.micro_batch < 4096:
        return "small micro-steps: launches and the optimizer decide"
    return "its software differs from its neighbours'"


def mfu_baseline(rows: Sequence[Judged]) -> list[Judged]:
    """What a table of median utilizations would say: of the other repositories with the same chip and precision."""
    found: list[tuple[Judged, Measurement, float]] = []
    for each in rows:
        read_row = read(each.row)
        if isinstance(read_row, Measurement):
            c = read_row.configuration
            peak = c.chip.peak(c.precision) or c.chip.fp32 * 1e12
            used = model_flop(c) / c.workers / peak / read_row.seconds(read_row.published)
            found.append((each, read_row, used))
    judged = []
    for each, mine, used in found:
        c = mine.configuration
        same = [
            u
            for other, m, u in found
            if repository_of(other.group) != repository_of(each.group)
            and m.configuration.generation == c.generation
            and m.configuration.precision == c.precision
        ]
        typical = (
            statistics.median(same)
            if same
            else statistics.median(
                u for other, _, u in found if repository_of(other.group) != repository_of(each.group)
            )
            if len({repository_of(o.group) for o, _, _ in found}) > 1
            else used
        )
        judged.append(Judged(each.row, each.group, None, each.published, typical / used - 1))
    return judged


def answers(judged: Sequence[Judged]) -> list[Object]:
    """What ``--json`` writes: for each row, in order, its quantiles in its own unit, or why it was refused."""
    return [
        {
            "p10": each.estimate.p10,
            "p50": each.estimate.p50,
            "p90": each.estimate.p90,
            "unit": str(each.row.get("unit")),
            "group": each.group,
        }
        if each.estimate is not None
        else {"refused": each.reason}
        for each in judged
    ]


@dataclass(frozen=True, slots=True)
class BatchJudged:
    """A published largest batch and ours."""

    name: str
    kind: str
    published: float
    estimate: int
    reason: str = ""
    flag: str = ""


def judge_batches(rows: Sequence[Object]) -> list[BatchJudged]:
    """Two answers a row: without the Training Compiler, and with it."""
    found = []
    for row in rows:
        for field, compiled in (("native", False), ("compiler", True)):
            published = row.get(field)
            if not isinstance(published, (int, float)):
                continue
            c = batch_configuration(row, compiled=compiled)
            name = f"{row.get('model')} {row.get('instance')} length {row.get('seq_len')}, {row.get('framework')}"
            if isinstance(c, Refusal):
                found.append(BatchJudged(name, field, float(published), 0, c.reason))
            else:
                kind = "images" if c.images else field
                found.append(BatchJudged(name, kind, float(published), largest_batch(c), flag=batch_flag(row, field)))
    return found


def batch_report(judged: Sequence[BatchJudged]) -> str:
    """Within × 1.2, × 1.35 and × 1.5 of what was published, and the optimistic misses by name."""
    lines = [f"{'LARGEST BATCH THAT FITS':<28} {'ROWS':>5} {'×1.2':>6} {'×1.35':>6} {'×1.5':>6} {'MEDIAN':>7}"]
    for kind in ("native", "compiler", "images"):
        ratios = [
            each.estimate / each.published for each in judged if each.kind == kind and not each.reason and not each.flag
        ]
        if ratios:
            shares = [sum(1 / bound <= ratio <= bound for ratio in ratios) / len(ratios) for bound in (1.2, 1.35, 1.5)]
            lines.append(
                f"{kind:<28} {len(ratios):>5} "
                + " ".join(f"{100 * share:>4.0f} %" for share in shares)
                + f" {statistics.median(ratios):>7.2f}"
            )
    over = sorted(
        (each for each in judged if not each.reason and not each.flag and each.estimate > 1.35 * each.published),
        key=lambda each: -each.estimate / each.published,
    )
    lines += ["", f"{len(over)} optimistic misses: more than × 1.35 of what was published"]
    lines += [f"  {each.kind:<9} {each.estimate:>5} for {each.published:g}: {each.name}" for each in over]
    lines += [
        f"{count:>3} refused: {why}"
        for why, count in Counter(each.reason for each in judged if each.reason).most_common()
    ]
    lines += [
        f"{count:>3} flagged and left out: {why}"
        for why, count in Counter(each.flag for each in judged if each.flag).most_common()
    ]
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line. Returns its exit code."""
    parser = argparse.ArgumentParser(prog="python tests/forecast/evaluate.py", description=__doc__)
    parser.add_argument("rows", nargs="?", help="a JSON list of published rows; without it, the table beside this file")
    parser.add_argument("--json", metavar="OUT", help="write p10, p50 and p90 of each row, in order")
    parser.add_argument("--max-batch", metavar="FILE", help="a JSON list of published largest batches")
    asked = parser.parse_args(arguments)
    try:
        batches = _list(asked.max_batch) if asked.max_batch else None
        rows = _list(asked.rows) if asked.rows else None if batches is not None else list(published_rows())
    except (OSError, ValueError) as error:
        sys.stderr.write(f"error: {error}\n")
        return 2
    if rows is not None:
        judged = [judge(row) for row in rows]
        sys.stdout.write(report(judged) + "\n")
        if asked.json:
            Path(asked.json).write_text(json.dumps(answers(judged), indent=1) + "\n", "utf-8")
    if batches is not None:
        found = judge_batches(batches)
        sys.stdout.write(batch_report(found) + "\n")
        if asked.json and rows is None:
            body = [
                {
                    "model": each.name,
                    "kind": each.kind,
                    "p50": each.estimate,
                    "published": each.published,
                    "refused": each.reason or None,
                }
                for each in found
            ]
            Path(asked.json).write_text(json.dumps(body, indent=1) + "\n", "utf-8")
    return 0


def _list(path: str) -> list[Object]:
    body = json.loads(Path(path).read_text("utf-8"))
    found = body.get("rows") if isinstance(body, dict) else body
    if not isinstance(found, list) or not all(isinstance(row, dict) for row in found):
        raise ValueError(f"{path}: got {type(body).__name__}, wanted a list of rows, each an object")
    return found


if __name__ == "__main__":
    raise SystemExit(main())

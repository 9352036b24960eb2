"""Make the constants again from the published rows: ``python tests/forecast/fit.py``. Needs numpy and scipy.

Residuals are logarithms of published over estimated seconds under a soft L1 loss; a repository weighs at most as twelve rows, its
models alike; every constant is held by its prior. Each repository is then left out in turn: the constants without it judge it, and
their residuals make the intervals. ``--try`` fits each other constant besides, and says whether left-out repositories are foretold
better: only such a constant has a spread in ``rates.PRIORS``.
"""

from __future__ import annotations

import json
import math
import statistics
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from forecast.fields import Refusal
from forecast.published import published_rows
from forecast.rows import Measurement, read

from sm_trn.forecast import rates
from sm_trn.forecast.intervals import repository_of
from sm_trn.forecast.rates import PRIORS, Prior, chosen, methods_of, support_key
from sm_trn.forecast.step import Rates, Work, step_parts
from sm_trn.forecast.work import work_of

REPOSITORY_WEIGHT = 12.0
NOISE = 0.10  # spread of a published row around its own truth
OUT = Path(rates.__file__).with_name("constants.json")
LEFT_OUT = Path(__file__).with_name("left_out.json")


def measurements() -> list[Measurement]:
    """The rows of the table that are not flagged and can be read."""
    found = (read(row) for row in published_rows() if not row.get("flag"))
    return [each for each in found if not isinstance(each, Refusal)]


class Problem:
    """Rows as arrays: the model and its constants as numpy sees them."""

    def __init__(self, rows: Sequence[Measurement], priors: Mapping[str, Prior] = PRIORS) -> None:
        import numpy as np  # of the fit alone

        self.np = np
        self.names = [name for name, prior in priors.items() if prior.spread > 0]
        self.groups = [row.group for row in rows]
        works = [work_of(row.configuration) for row in rows]
        self.work: Any = Work(**{f.name: np.array([getattr(each, f.name) for each in works]) for f in fields(Work)})
        self.log_seconds = np.log([row.seconds(row.published) for row in rows])
        place = {name: at for at, name in enumerate(self.names)}
        # For each field of Rates: which fitted constants multiply in, and what the fixed ones give.
        self.used: dict[str, Any] = {}
        self.fixed: dict[str, Any] = {}
        picks = [chosen(row.configuration) for row in rows]
        for f in fields(Rates):
            matrix, rest = np.zeros((len(rows), len(self.names))), np.zeros(len(rows))
            for at, pick in enumerate(picks):
                for name in pick[f.name]:
                    if name in place:
                        matrix[at, place[name]] += 1
                    else:
                        rest[at] += np.log(priors[name].median)
            self.used[f.name], self.fixed[f.name] = matrix, rest
        self.start = np.log([priors[name].median for name in self.names])
        self.spread = np.array([priors[name].spread for name in self.names])

    def errors(self, logs: Any) -> Any:
        """Logarithm of published over estimated seconds, by row."""
        values = {name: self.np.exp(self.used[name] @ logs + self.fixed[name]) for name in self.used}
        return self.log_seconds - self.np.log(step_parts(self.work, Rates(**values)).total)

    def solve(self, weights: Any, start: Any) -> Any:
        """The constants' logarithms under these weights of rows."""
        from scipy.optimize import least_squares

        np = self.np
        live = weights > 0

        def cost(logs: Any) -> Any:
            error = self.errors(logs)[live] / NOISE
            soft = np.sign(error) * np.sqrt(2 * (np.sqrt(1 + error**2) - 1)) * np.sqrt(weights[live])
            return np.concatenate([soft, (logs - self.start) / self.spread])

        return least_squares(cost, start, max_nfev=25, xtol=1e-4, ftol=1e-4).x

    def weights(self, without: str | None = None) -> Any:
        """One row's weight: a repository counts as twelve rows at most, shared by its groups; one that is left out as none."""
        rows = Counter(self.groups)
        groups = Counter(repository_of(group) for group in rows)
        return self.np.array(
            [
                0.0
                if repository_of(group) == without
                else min(1.0, REPOSITORY_WEIGHT / groups[repository_of(group)] / rows[group])
                for group in self.groups
            ]
        )

    def left_out(self, start: Any) -> Iterator[tuple[str, Any, Any]]:
        """Each repository, the constants without it, and what they miss of every row."""
        for repository in sorted(set(map(repository_of, self.groups))):
            logs = self.solve(self.weights(repository), start) if self.names else start
            yield repository, logs, self.errors(logs)


def fit() -> tuple[dict[str, Any], Mapping[str, dict[str, float]]]:
    """Constants of all rows with the residuals of the repositories left out, and the constants without each."""
    rows = measurements()
    problem = Problem(rows)
    whole = problem.solve(problem.weights(), problem.start)
    without: dict[str, dict[str, float]] = {}
    residuals: dict[str, list[float]] = {}
    for repository, logs, errors in problem.left_out(whole):
        without[repository] = _named(problem.names, logs)
        for error, group in zip(errors, problem.groups, strict=True):
            if repository_of(group) == repository:
                residuals.setdefault(group, []).append(round(float(error), 3))
    support: dict[str, set[str]] = {}
    for row in rows:
        for key in (support_key(row.configuration), *methods_of(row.configuration)):
            support.setdefault(key, set()).add(repository_of(row.group))
    body = {
        "schema": 1,
        "made_by": "tests/forecast/fit.py",
        "rows": len(rows),
        "constants": _named(problem.names, whole),
        "residuals": residuals,
        "support": {key: len(repositories) for key, repositories in sorted(support.items())},
    }
    return body, without


def within(rows: Sequence[Measurement], priors: Mapping[str, Prior]) -> tuple[float, float, float]:
    """Shares of rows within 20 and 35 per cent, and the median miss, of repositories left out under these priors."""
    problem = Problem(rows, priors)
    whole = problem.solve(problem.weights(), problem.start) if problem.names else problem.start
    misses = [
        abs(math.exp(error) - 1)
        for repository, _, errors in problem.left_out(whole)
        for error, group in zip(errors, problem.groups, strict=True)
        if repository_of(group) == repository
    ]
    return (
        statistics.mean(miss <= 0.20 for miss in misses),
        statistics.mean(miss <= 0.35 for miss in misses),
        statistics.median(misses),
    )


def tried() -> Iterator[str]:
    """What left-out repositories say of the constants that are fitted, of none, and of each other one besides."""
    rows = measurements()
    none = {name: Prior(prior.median) for name, prior in PRIORS.items()}
    choices = {"none": none, "fitted": dict(PRIORS)}
    for name, prior in PRIORS.items():
        if not prior.spread:
            choices[f"fitted and {name}"] = {**PRIORS, name: Prior(prior.median, 0.3)}
    for said, priors in choices.items():
        twenty, third, middle = within(rows, priors)
        yield f"{said:<32} {twenty:6.1%} within 20 %, {third:6.1%} within 35 %, median {middle:.1%}"


def _named(names: Sequence[str], logs: Any) -> dict[str, float]:
    return {name: float(f"{2.718281828459045 ** float(log):.4g}") for name, log in zip(names, logs, strict=True)}


def main() -> None:
    """Write the package's ``constants.json``, and ``left_out.json`` beside this file."""
    body, without = fit()
    LEFT_OUT.write_text(json.dumps(without, indent=1) + "\n", "utf-8")
    OUT.write_text(json.dumps(body, indent=1) + "\n", "utf-8")
    sys.stdout.write(f"{body['rows']} rows: {OUT.name}\n")
    for name, value in body["constants"].items():
        sys.stdout.write(f"  {name}: {PRIORS[name].median:g} -> {value:g}\n")


if __name__ == "__main__":
    if "--try" in sys.argv:
        for line in tried():
            sys.stdout.write(line + "\n")
    else:
        main()

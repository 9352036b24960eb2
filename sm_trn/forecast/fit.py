"""Make the constants again from the published rows: ``python -m sm_trn.forecast.fit``. Needs numpy and scipy.

Residuals are logarithms of published over estimated seconds under a soft L1 loss; each group of rows, a repository and a model,
weighs at most as six rows; every constant is held by its prior. Each group is then left out in turn: the constants without it
judge it, and their residuals make the intervals.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from .fields import Refusal
from .published import published_rows
from .rates import PRIORS, chosen, fitted_names, support_key
from .rows import Measurement, read
from .step import Rates, Work, step_parts
from .work import work_of

GROUP_WEIGHT = 6.0
NOISE = 0.10  # spread of a published row around its own truth
OUT = Path(__file__).with_name("constants.json")


def measurements() -> list[Measurement]:
    """The rows of the package's table that are not flagged and can be read."""
    found = (read(row) for row in published_rows() if not row.get("flag"))
    return [each for each in found if not isinstance(each, Refusal)]


class Problem:
    """Rows as arrays: the model and its constants as numpy sees them."""

    def __init__(self, rows: Sequence[Measurement]) -> None:
        import numpy as np  # noqa: PLC0415  # of the fit alone

        self.np = np
        self.names = fitted_names()
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
                        rest[at] += np.log(PRIORS[name].median)
            self.used[f.name], self.fixed[f.name] = matrix, rest
        self.start = np.log([PRIORS[name].median for name in self.names])
        self.spread = np.array([PRIORS[name].spread for name in self.names])

    def errors(self, logs: Any) -> Any:
        """Logarithm of published over estimated seconds, by row."""
        values = {name: self.np.exp(self.used[name] @ logs + self.fixed[name]) for name in self.used}
        return self.log_seconds - self.np.log(step_parts(self.work, Rates(**values)).total)

    def solve(self, weights: Any, start: Any) -> Any:
        """The constants' logarithms under these weights of rows."""
        from scipy.optimize import least_squares  # noqa: PLC0415

        np = self.np
        live = weights > 0

        def cost(logs: Any) -> Any:
            error = self.errors(logs)[live] / NOISE
            soft = np.sign(error) * np.sqrt(2 * (np.sqrt(1 + error**2) - 1)) * np.sqrt(weights[live])
            return np.concatenate([soft, (logs - self.start) / self.spread])

        return least_squares(cost, start, max_nfev=25, xtol=1e-4, ftol=1e-4).x

    def weights(self, without: str | None = None) -> Any:
        """One row's weight: a group counts as six rows at most, a group that is left out as none."""
        counts = Counter(self.groups)
        return self.np.array(
            [0.0 if group == without else min(1.0, GROUP_WEIGHT / counts[group]) for group in self.groups]
        )


def fit() -> Mapping[str, object]:
    """Constants of all rows, constants without each group, residuals of the groups left out."""
    rows = measurements()
    problem = Problem(rows)
    whole = problem.solve(problem.weights(), problem.start)
    without: dict[str, dict[str, float]] = {}
    residuals: dict[str, list[float]] = {}
    for group in sorted(set(problem.groups)):
        logs = problem.solve(problem.weights(group), whole)
        without[group] = _named(problem.names, logs)
        errors = problem.errors(logs)
        residuals[group] = [round(float(e), 3) for e, g in zip(errors, problem.groups, strict=True) if g == group]
    support: dict[str, set[str]] = {}
    for row in rows:
        support.setdefault(support_key(row.configuration), set()).add(row.group)
    return {
        "schema": 1,
        "made_by": "python -m sm_trn.forecast.fit",
        "rows": len(rows),
        "constants": _named(problem.names, whole),
        "without": without,
        "residuals": residuals,
        "support": {key: len(groups) for key, groups in sorted(support.items())},
    }


def _named(names: Sequence[str], logs: Any) -> dict[str, float]:
    return {name: float(f"{2.718281828459045 ** float(log):.4g}") for name, log in zip(names, logs, strict=True)}


def main() -> None:
    """Write ``constants.json`` beside this file."""
    body = fit()
    OUT.write_text(json.dumps(body, indent=1) + "\n", "utf-8")
    sys.stdout.write(f"{body['rows']} rows: {OUT.name}\n")


if __name__ == "__main__":
    main()

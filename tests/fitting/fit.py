"""Make the constants again from the published rows: ``PYTHONPATH=tests python -m fitting.fit``. Needs numpy and scipy.

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

from sm_trn.forecast import rates
from sm_trn.forecast.rates import PRIORS, chosen, support_key
from sm_trn.forecast.step import Rates, Work, step_parts
from sm_trn.forecast.work import work_of

from .fields import Refusal
from .published import published_rows
from .rows import Measurement, read

GROUP_WEIGHT = 6.0
NOISE = 0.10  # spread of a published row around its own truth
OUT = Path(rates.__file__).with_name("constants.json")
LEFT_OUT = Path(__file__).with_name("left_out.json")


def measurements() -> list[Measurement]:
    """The rows of the table that are not flagged and can be read."""
    found = (read(row) for row in published_rows() if not row.get("flag"))
    return [each for each in found if not isinstance(each, Refusal)]


class Problem:
    """Rows as arrays: the model and its constants as numpy sees them."""

    def __init__(self, rows: Sequence[Measurement]) -> None:
        import numpy as np  # of the fit alone

        self.np = np
        self.names = [name for name, prior in PRIORS.items() if prior.spread > 0]
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
        from scipy.optimize import least_squares

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


def fit() -> tuple[Mapping[str, object], Mapping[str, dict[str, float]]]:
    """Constants of all rows with the residuals of the groups left out, and the constants without each group."""
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
    body = {
        "schema": 1,
        "made_by": "tests/fitting/fit.py",
        "rows": len(rows),
        "constants": _named(problem.names, whole),
        "residuals": residuals,
        "support": {key: len(groups) for key, groups in sorted(support.items())},
    }
    return body, without


def _named(names: Sequence[str], logs: Any) -> dict[str, float]:
    return {name: float(f"{2.718281828459045 ** float(log):.4g}") for name, log in zip(names, logs, strict=True)}


def main() -> None:
    """Write the package's ``constants.json``, and ``left_out.json`` beside this file."""
    body, without = fit()
    LEFT_OUT.write_text(json.dumps(without, indent=1) + "\n", "utf-8")
    OUT.write_text(json.dumps(body, indent=1) + "\n", "utf-8")
    sys.stdout.write(f"{body['rows']} rows: {OUT.name}\n")


if __name__ == "__main__":
    main()

"""The rules that strategies share: what is looked for, and why. Strategies import this table, never one another."""

from ..specs.problems import rules_of

RULES = _RULES = rules_of(__package__)

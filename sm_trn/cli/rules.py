"""The catalogue of preflight's rules, read from the rules themselves: their source is the only place where they are described.

A rule is any ``Problem(id=…)`` in one of ``HOMES``; why it exists stands in its function's docstring.
"""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files

from ..errors import UnknownName
from ..specs import suggestion

HOMES = ("preflight", "strategies", "render", "aws", "session")
FAMILIES = {
    "IMG": "containers",
    "DIST": "distribution",
    "COMP": "Training Compiler",
    "SPOT": "spot and checkpoints",
    "LIMIT": "limits of the API",
    "SCRIPT": "the entry script",
    "DATA": "data and places",
    "MEM": "memory",
    "SCALE": "batch and learning rate",
    "COST": "cost",
    "KEPT": "parts of an attached job's request",
    "TARGET": "what a render target cannot say",
    "ONLINE": "what the account says (`Session.check`, before a launch)",
    "HOST": "what a job left, before it is hosted (`deploy`, `transform`)",
}
_NOT_WAIVED = ("HOST",)  # a host could not serve it
_ID = re.compile(r"[A-Z]{3,6}\d{3}$")
_HEAD = re.compile(r"^(?:[A-Z]{3,6}\d{3}(?:, )?)+: ")
_WORDS = {"error": "error", "warning": "warning", "info": "note"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One id: what its problems say (… stands for what depends on the job), and why it is checked."""

    id: str
    severities: tuple[str, ...]
    says: tuple[str, ...]
    why: str
    evidence: tuple[str, ...]
    home: str

    @property
    def family(self) -> str:
        return self.id.rstrip("0123456789")


@functools.cache
def catalogue() -> tuple[Rule, ...]:
    """Every rule, by family and number."""
    found: dict[str, list[Rule]] = {}
    for home in HOMES:
        for path in sorted(files("sm_trn").joinpath(home).iterdir(), key=lambda item: item.name):
            if path.name.endswith(".py"):
                for rule in _Module(path.read_text("utf-8"), f"sm_trn/{home}/{path.name}").rules():
                    found.setdefault(rule.id, []).append(rule)
    families = list(FAMILIES)
    merged = [_merged(rules) for rules in found.values()]
    return tuple(
        sorted(merged, key=lambda rule: (families.index(rule.family) if rule.family in families else 99, rule.id))
    )


def explain(name: str) -> str:
    """All there is to say about one rule. Raises UnknownName, with the nearest id, when there is none."""
    rules = {rule.id: rule for rule in catalogue()}
    rule = rules.get(name.upper())
    if rule is None:
        raise UnknownName(
            f"rule: got {name!r}, wanted an id such as {', '.join(list(rules)[:3])}{suggestion(name.upper(), rules)}"
        )
    lines = [f"{' or '.join(rule.severities)}[{rule.id}]", *(f"  {text}" for text in rule.says)]
    lines += [f"  why       {rule.why}"] if rule.why and rule.why not in rule.says else []
    lines += [f"  evidence  {text}" for text in rule.evidence]
    lines += [f"  rule      {rule.home}"]
    lines += [] if rule.family in _NOT_WAIVED else [f"  waive     sm-trn launch FILE --ignore {rule.id}"]
    return "\n".join(lines)


def page() -> str:
    """The catalogue as a page of Markdown: ``sm-trn check --rules`` prints it, ``sm_trn/docs/rules.md`` keeps it."""
    parts = [
        "# Preflight rules",
        "",
        "What `sm-trn check` looks for, offline and before anything is started. `sm-trn check --explain ID` shows one rule.",
        "This page is made from the rules: `sm-trn check --rules > sm_trn/docs/rules.md`.",
    ]
    for family in dict.fromkeys(rule.family for rule in catalogue()):
        parts += [
            "",
            f"## {family}: {FAMILIES.get(family, family)}",
            "",
            "| id | severity | what | why and evidence |",
            "|---|---|---|---|",
        ]
        for rule in catalogue():
            if rule.family == family:
                reason = "" if rule.why in rule.says else rule.why.rstrip(".")
                why = "; ".join(text for text in (reason, *rule.evidence) if text)
                cells = (rule.id, " or ".join(rule.severities), "<br>".join(rule.says), why)
                parts.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
    return "\n".join(parts) + "\n"


def _merged(rules: list[Rule]) -> Rule:
    def all_of(name: str) -> tuple[str, ...]:
        return tuple(dict.fromkeys(text for rule in rules for text in getattr(rule, name)))

    return Rule(
        id=rules[0].id,
        severities=all_of("severities"),
        says=all_of("says"),
        why=" ".join(dict.fromkeys(rule.why for rule in rules if rule.why)),
        evidence=all_of("evidence"),
        home=", ".join(dict.fromkeys(rule.home for rule in rules)),
    )


class _Module:
    """One module's text: its constants, its helpers that make problems, and the problems that its functions name by id."""

    def __init__(self, text: str, home: str) -> None:
        self._tree = ast.parse(text)
        self._home = home
        assigned = [node for node in self._tree.body if isinstance(node, (ast.Assign, ast.AnnAssign))]
        self._constants = {
            target.id: node.value.value
            for node in assigned
            for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
            if isinstance(target, ast.Name) and isinstance(node.value, ast.Constant)
        }
        self._functions = {node.name: node for node in ast.walk(self._tree) if isinstance(node, ast.FunctionDef)}

    def rules(self) -> Iterator[Rule]:
        for function in self._functions.values():
            why = _HEAD.sub("", (ast.get_docstring(function) or "").partition("\n")[0])
            described = _HEAD.match(ast.get_docstring(function) or "") is not None
            for call in (node for node in ast.walk(function) if isinstance(node, ast.Call)):
                given = self._given(call)
                name = given.get("id", given.get("rule"))
                if isinstance(name, ast.Constant) and _ID.fullmatch(str(name.value)):
                    yield self._rule(str(name.value), given, why if described else "")

    def _given(self, call: ast.Call) -> dict[str, ast.expr]:
        """The arguments of a call by name; those of a helper of this module also by the helper's own Problem."""
        given = {word.arg: word.value for word in call.keywords if word.arg}
        helper = self._functions.get(call.func.id) if isinstance(call.func, ast.Name) else None
        if helper is None:
            return given
        names = [argument.arg for argument in helper.args.args]
        given |= dict(zip(names, call.args, strict=False))
        inner = next(
            (node for node in ast.walk(helper) if isinstance(node, ast.Call) and _called(node) == "Problem"), None
        )
        kept = {word.arg: word.value for word in inner.keywords if word.arg} if inner is not None else {}
        fixed = {name: value for name, value in kept.items() if name in {"severity", "evidence"}}
        return fixed | given

    def _rule(self, name: str, given: dict[str, ast.expr], why: str) -> Rule:
        told = given.get(
            "severity", ast.Attribute(value=ast.Name(id="Severity"), attr="ERROR")
        )  # a helper made elsewhere
        severities = {node.attr.lower() for node in ast.walk(told) if isinstance(node, ast.Attribute)} & set(_WORDS)
        evidence = self._text(given["evidence"]) if "evidence" in given else ""
        return Rule(
            id=name,
            severities=tuple(word for severity, word in _WORDS.items() if severity in severities),
            says=tuple(text for text in self._choices(given["what"]) if text.strip("… ")) or (why,),
            why=why,
            evidence=(evidence,) if evidence.strip("… ") else (),
            home=self._home,
        )

    def _choices(self, node: ast.expr) -> list[str]:
        if isinstance(node, ast.IfExp):
            return [*self._choices(node.body), *self._choices(node.orelse)]
        return [self._text(node)]

    def _text(self, node: ast.expr) -> str:
        """A text with … for what is known only at run time."""
        if isinstance(node, ast.Constant):
            return str(node.value)
        if isinstance(node, ast.Name):
            return str(self._constants.get(node.id, "…"))
        if isinstance(node, ast.JoinedStr):
            return "".join(self._text(part) for part in node.values)
        if isinstance(node, ast.FormattedValue):
            return self._text(node.value)
        if isinstance(node, ast.IfExp):
            return " / ".join(text for text in (self._text(node.body), self._text(node.orelse)) if text)
        return "…"


def _called(call: ast.Call) -> str:
    return call.func.id if isinstance(call.func, ast.Name) else ""

"""The catalogue of preflight's rules, as text and as a page. The rules stand beside the functions that find their problems."""

from __future__ import annotations

import functools
import importlib
import pkgutil
import re
from collections.abc import Iterator

import click

from ...core.errors import UnknownName
from ...core.specs.problems import Rule
from ...core.specs.value import suggestion

HOMES = (
    "core.preflight",
    "core.strategies",
    "core.render",
    "core.aws.online",
    "core.session.policy",
    "images.rules",
    "forecast",
    "scripts",
    "hosting.deployment",
    "tuning.checking",
)
FAMILIES = {
    "IMG": "containers",
    "ENV": "what the image holds, and what the job brings",
    "DIST": "distribution",
    "NET": "the network between hosts",
    "COMP": "Training Compiler",
    "SPOT": "spot and checkpoints",
    "LIMIT": "limits of the API",
    "SCRIPT": "the entry script",
    "DATA": "data and places",
    "CHIP": "chips, precisions and kernels",
    "MEM": "memory",
    "SCALE": "batch and learning rate",
    "COST": "cost",
    "POLICY": "what the team allows (`sm_trn.toml`)",
    "EST": "what the estimate says",
    "KEPT": "parts of an attached job's request",
    "TARGET": "what a render target cannot say",
    "ONLINE": "what the account says (`Session.check`, before a launch)",
    "TUNE": "searches for hyperparameters (`st.check` of a sweep, `sm-trn tune`)",
    "HOST": "what a job left, before it is hosted (`deploy`)",
}
# What no rule looks at, and what tells it instead.
UNSEEN = (
    ("what the script does when it runs: its code is read as text, and none of it runs", "a rehearsal: sm-trn rehearse"),
    (
        "arguments that are not literal calls of argparse or fields of the script's own dataclasses: SCRIPT023 names them",
        "sm-trn check --run asks the script's own parser",
    ),
    ("keywords of transformers and trl, but for a dozen that releases renamed", "a rehearsal"),
    ("names that a script passes on to another program", "a rehearsal"),
    ("channels and hyperparameters that are read under a condition, in a try, or by a name that is put together", "a rehearsal"),
    ("whether the objects of an input exist, hold what the script expects, or are large", "sm-trn doctor, Session.check"),
    ("whether the account's quotas, role, subnets, security groups and keys allow the job", "sm-trn doctor, Session.check"),
    ("whether requirements.txt can be installed in the container", "sm-trn check --resolve, or sm-trn check --install"),
    ("whether the source in S3 or git, or an image of your own, holds what the job needs", "the first minutes of the job"),
    ("whether numbers are good ones: learning rates, sizes, whether a loss falls", "a short run"),
    ("collectives that ranks call in different orders, and hangs", "sm-trn guard, while the job runs"),
)  # fmt: skip
_NOT_WAIVED = ("HOST", "POLICY")  # a host could not serve it; a team says what it allows in its own file


@functools.cache
def catalogue() -> tuple[Rule, ...]:
    """Every rule, by family and number."""
    families = list(FAMILIES)
    found = {rule.id: rule for home in HOMES for module in _modules(home) for rule in _rules(module)}
    return tuple(sorted(found.values(), key=lambda rule: (families.index(rule.family), rule.id)))


def _modules(home: str) -> Iterator[object]:
    try:
        module = importlib.import_module(f"sm_trn.{home}")
    except ModuleNotFoundError:
        return  # a part that is not here
    yield module
    for found in pkgutil.iter_modules(getattr(module, "__path__", ())):
        yield importlib.import_module(f"sm_trn.{home}.{found.name}")


def _rules(module: object) -> Iterator[Rule]:
    yield from {*getattr(module, "_RULES", {}).values(), *(v for v in vars(module).values() if type(v) is Rule)}


def explain(name: str) -> str:
    """All there is to say about one rule. Raises UnknownName, with the nearest id, when there is none."""
    rules = {rule.id: rule for rule in catalogue()}
    rule = rules.get(name.upper())
    if rule is None:
        parts = re.fullmatch(r"([A-Z]+)0*(\d+)", name.upper())
        meant = f"{parts[1]}{parts[2]:0>3}" if parts else ""  # LIMIT01 is LIMIT001 to who types it
        nearest = f" (did you mean {meant!r}?)" if meant in rules else suggestion(name.upper(), rules)
        raise UnknownName(f"rule: got {name!r}, wanted an id such as {', '.join(list(rules)[:3])}{nearest}")
    lines = [f"{_severities(rule)}[{rule.id}]", f"  finds     {rule.summary}", f"  why       {rule.why}"]
    lines += [f"  evidence  {rule.evidence}"] if rule.evidence else []
    lines += [] if rule.family in _NOT_WAIVED else [f"  waive     sm-trn launch FILE --ignore {rule.id}"]
    return "\n".join(lines)


def unseen() -> str:
    """What ``check`` does not look at, a line for each, with what tells it instead."""
    lines = [f"  - {what}\n      told by {instead}" for what, instead in UNSEEN]
    return "\n".join(["check does not look at:", *lines])


def ids_of_rules(context: click.Context, parameter: click.Parameter, value: tuple[str, ...]) -> tuple[str, ...]:
    """The ids, each of a rule: one that is none would ignore nothing. Raises click.BadParameter."""
    known = [rule.id for rule in catalogue()] if value else []
    for name in value:
        if name not in known:
            said = f"got {name!r}, wanted the id of a rule{suggestion(name, known)}; sm-trn check --rules lists them"
            raise click.BadParameter(said, context, parameter)
        if name.startswith(_NOT_WAIVED):
            raise click.BadParameter(
                f"{name} cannot be ignored; sm-trn check --explain {name} says why", context, parameter
            )
    return value


ignore_option = click.option(
    "--ignore",
    multiple=True,
    metavar="ID",
    callback=ids_of_rules,
    help="Ignore the rule ID. You can repeat this option.",
)


def page() -> str:
    """The catalogue as a page of Markdown: ``sm-trn check --rules`` prints it, ``sm_trn/docs/rules.md`` keeps it."""
    parts = [
        "# Preflight rules",
        "",
        "What `sm-trn check` looks for, offline and before anything is started. `sm-trn check --explain ID` says why, with the source.",
        "This page is made from the rules: `sm-trn check --rules > sm_trn/docs/rules.md`.",
    ]
    for family in dict.fromkeys(rule.family for rule in catalogue()):
        parts += ["", f"## {family}: {FAMILIES[family]}", "", "| id | severity | finds |", "|---|---|---|"]
        parts += [
            f"| {rule.id} | {_severities(rule)} | {rule.summary} |" for rule in catalogue() if rule.family == family
        ]
    parts += ["", "## What is not looked at", "", "| check does not look at | told by |", "|---|---|"]
    parts += [f"| {what} | {instead} |" for what, instead in UNSEEN]
    return "\n".join(parts) + "\n"


def _severities(rule: Rule) -> str:
    return " or ".join(severity.word for severity in rule.severities)

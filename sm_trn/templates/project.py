"""A project from what a person asked for: its job on the cheapest machine that fits, why, and the files to write."""

from __future__ import annotations

import ast
import math
import re
from dataclasses import dataclass, field, replace
from pathlib import Path

from ..core.catalog.images import rows
from ..core.catalog.instances import find_instance, instances
from ..core.errors import NotConfigured, UnknownName
from ..core.formatting.missing import no_price_for
from ..core.preflight import check
from ..core.pricing.book import PriceBook
from ..core.pricing.cost import ceiling
from ..core.specs.compute import Accelerator, Compute
from ..core.specs.framework import HuggingFace, PyTorch
from ..core.specs.job import HyperValue, JobSpec, Script
from ..core.specs.problems import Severity
from ..core.specs.value import suggestion
from ..forecast.data import count
from ..forecast.estimate import span, usd_text
from ..forecast.facts import Known, facts_of
from ..forecast.models import Architecture, find_model, in_folder
from ..forecast.plan import Choice, Excluded, Limits, Plan, plan
from ..forecast.rules import ALL_RULES
from ..images.contents import Contents, all_contents
from .reading import UnreadableData, class_folders, images_in, in_s3, template_of
from .template import LARGE, TEMPLATES, Asked, Project, Template

GPUS = ("ml.g*", "ml.p*")  # the images that are chosen are for NVIDIA's
SHORTEST_S, SLACK = 3600, 3  # of max_run_s: an hour, or three times the upper estimate
LONGEST_NAME = 30  # characters: the first steps and SageMaker's unique names add to it
ROOM = 0.95  # of the memory that an estimate may fill: it is not exact
MACHINE_RULES = ("MEM", "CHIP", "LIMIT", "IMG", "NET")


@dataclass(frozen=True, slots=True)
class _Machine:
    """A machine for the job, why it was chosen, and what was not."""

    job: JobSpec
    reasons: tuple[str, ...]
    others: tuple[str, ...] = field(default=())


def design(asked: Asked, prices: PriceBook) -> Project:
    """The project. Raises NotConfigured for what is not known or does not fit, with what to say or change."""
    template = chosen_template(asked)
    framework, image = framework_for(template, asked.script)
    draft = _draft(asked, template, framework)
    estimated = asked.instance is None and template.head
    found = _planned(draft, asked, template, prices) if estimated else _priced(draft, asked, prices)
    job = _within_budget(_with_volume(found.job, asked), asked, prices)
    most = ceiling(job, prices.of(job.compute.machines, asked.region))
    needed = () if asked.script is not None else missing_packages(template, image)
    where = f"Image: {image.name}, {_held(image, template)}" if image is not None else f"Image: {framework}"
    return Project(
        template=template,
        job=job,
        requirements=needed,
        reasons=(*found.reasons, where),
        others=found.others,
        asked=asked,
        most_usd=None if most is None else float(most),
    )


def chosen_template(asked: Asked) -> Template:
    """The template that was named, or the one that reads the data. Raises NotConfigured."""
    if asked.template is not None:
        return TEMPLATES[asked.template]
    if asked.script is not None:
        return TEMPLATES["pytorch"]
    names = ", ".join(TEMPLATES)
    if in_s3(asked.data):
        raise UnreadableData(f"template: data in S3 is not looked at; say what to train with --template ({names})")
    found = template_of(Path(asked.data))
    if found is None:
        raise UnreadableData(
            f"template: no template has the columns of {asked.data}; say one with --template ({names})"
        )
    return found


def framework_for(template: Template, script: Path | None) -> tuple[HuggingFace | PyTorch, Contents | None]:
    """The newest image for GPUs that holds what the script imports, and what is published of it."""
    wanted = (
        set(template.packages) if script is None else imported(script) & {"transformers", "trl", "peft", "datasets"}
    )
    if wanted:
        named = [each for each in all_contents() if each.family == "huggingface" and each.processor == "gpu"]
        holding = [each for each in named if all(each.holds(package) for package in wanted - {"pillow"})]
        image = max(holding or named, key=_age)
        python = f"py{''.join((image.python or '3.12').split('.')[:2])}"
        return HuggingFace(str(image.transformers), pytorch=image.pytorch, python=python), image
    newest = next(row for row in reversed(rows("pytorch")) if row.python is not None)
    image_of = [
        each
        for each in all_contents()
        if (each.family, each.pytorch, each.processor) == ("pytorch", newest.pytorch, "gpu")
    ]
    return PyTorch(newest.pytorch, python=str(newest.python)), next(iter(image_of), None)


def imported(script: Path) -> set[str]:
    """The modules that a script of the user imports. Raises NotConfigured where it is no Python."""
    try:
        tree = ast.parse(script.read_text("utf-8"))
    except (OSError, SyntaxError, ValueError) as error:
        raise NotConfigured(f"script: got {str(script)!r}, which cannot be read as Python ({error})") from error
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module.split(".")[0])
    return found


def missing_packages(template: Template, image: Contents | None) -> tuple[str, ...]:
    """Return the script's packages that the image is not known to hold."""
    return tuple(package for package in template.packages if image is None or not image.holds(package))


def _age(image: Contents) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", f"{image.transformers}.{image.pytorch}"))


def _held(image: Contents, template: Template) -> str:
    held = [
        f"{package} {image.version(package) or '(version not known)'}"
        for package in template.packages
        if image.holds(package)
    ]
    return "the newest that holds " + (", ".join(held) if held else f"PyTorch {image.pytorch}")


def _draft(asked: Asked, template: Template, framework: HuggingFace | PyTorch) -> JobSpec:
    """The job before its machine is known."""
    own = asked.script or (None if template.shipped else template.source)
    script = Script(template.script) if own is None else Script(own.name, source_dir=str(own.parent))
    return JobSpec(
        name=asked.name or job_name(template, asked.model),
        script=script,
        framework=framework,
        compute=Compute(asked.instance or "ml.g5.xlarge"),
        hyperparameters={} if asked.script is not None else arguments(template, asked),
        inputs={"train": asked.data},
    )


def job_name(template: Template, model: str | None) -> str:
    """``qwen3-8b-chat``: what may be a job's name."""
    named = re.sub(r"[^a-z0-9]+", "-", (model or template.model).rstrip("/").split("/")[-1].lower())
    kept = named[: LONGEST_NAME - len(template.name) - 1].strip("-")
    return f"{kept}-{template.name}" if kept else template.name


def arguments(template: Template, asked: Asked) -> dict[str, HyperValue]:
    """The script's hyperparameters."""
    found: dict[str, HyperValue] = {}
    if template.head:
        found[template.model_argument] = asked.model or template.model
    found |= template.arguments
    shape = in_folder(asked.model or "") or find_model(asked.model or template.model)
    if isinstance(shape, Architecture) and shape.parameters >= LARGE:
        found |= template.large
    return found


def _known(asked: Asked, template: Template) -> Known:
    known: Known = {}
    if asked.examples is not None:
        known["examples"] = asked.examples
    elif not in_s3(asked.data) and template.name == "vision":
        known["examples"] = float(sum(len(list(images_in(each))) for each in class_folders(Path(asked.data))))
    if template.name == "reward":  # generated tokens are trained, not the rows' own
        known["length"] = float(str(template.arguments["max_completion_length"]))
    return known


def _planned(draft: JobSpec, asked: Asked, template: Template, prices: PriceBook) -> _Machine:
    """The cheapest machine that the estimates know. Raises MissingFact, and NotConfigured where none keeps the limits."""
    known = _known(asked, template)
    count(facts_of(draft, known))
    limits = Limits(max_usd=asked.budget_usd, deadline_s=asked.deadline_s)
    found = plan(draft, limits=limits, only=GPUS, prices=prices, region=asked.region, **known)
    if not found.choices:
        raise NotConfigured(_nothing_fits(found, asked))
    clean = [each for each in found.choices if not _doubt(each)]
    chosen = (clean or list(found.choices))[0]
    usd = f"{usd_text(chosen.usd.p50)} (80 %: {usd_text(chosen.usd.p10)} to {usd_text(chosen.usd.p90)})"
    time = span(chosen.wall_s.p50)
    machine = f"Machine: {chosen.name}, the cheapest of {len(found.choices)} that fit: about {usd} in {time}, estimated"
    limit = max(SHORTEST_S, round(SLACK * chosen.estimate.billable_s.p90))
    job = chosen.job.replace(max_run_s=min(chosen.job.max_run_s, limit))
    doubt = "" if clean else _doubt(chosen)
    doubts = (f"Doubt: {doubt}; no machine within the limits is without one",) if doubt else ()
    return _Machine(job, (machine, _batch(chosen), *doubts), not_chosen(found, chosen))


def _batch(chosen: Choice) -> str:
    c = chosen.estimate.configuration
    memory = chosen.estimate.memory.total
    return (
        f"Batch: {c.global_batch:g} examples, as {c.micro_batch:g} on each of {c.data} and {c.micro_steps:g} accumulated; "
        f"memory {memory:.1f} of {chosen.estimate.memory_limit_gib:.1f} GiB"
    )


def _doubt(choice: Choice) -> str:
    """Why a choice that fits is not taken: no room in memory, or a warning that its machine is to blame for; else empty."""
    memory, limit = choice.estimate.memory.total, choice.estimate.memory_limit_gib
    if memory > ROOM * limit:
        return f"{memory:.1f} of {limit:.1f} GiB leave no room"
    found = (each for each in check(choice.job, rules=ALL_RULES) if each.severity is Severity.WARNING)
    return next((f"{each.id} {each.what}" for each in found if each.id.startswith(MACHINE_RULES)), "")


def not_chosen(found: Plan, chosen: Choice) -> tuple[str, ...]:
    """At most three machines that were looked at and not taken, each with its reason: the likeliest first."""
    before = found.choices[: found.choices.index(chosen)]
    cheaper = [f"{each.name}: {usd_text(each.usd.p50)}, but {_doubt(each)}" for each in before[:3]]
    faster = [each for each in found.front if each.wall_s.p50 < chosen.wall_s.p50]
    faster = [each for each in faster if span(each.wall_s.p50) != span(chosen.wall_s.p50)]  # as it is shown
    dearer = [
        f"{each.name}: quicker ({span(each.wall_s.p50)}) and dearer ({usd_text(each.usd.p50)})" for each in faster[:2]
    ]
    unfit = [
        each for each in found.excluded if each.kind in {"do not fit", "without the precision", "refused by check"}
    ]
    small = sorted(unfit, key=lambda each: each.kind != "do not fit")
    return (*cheaper[:1], *dearer, *(f"{each.name}: {each.reason}" for each in small))[:3]


def _nothing_fits(found: Plan, asked: Asked) -> str:
    """Why no machine is left, with what to change."""
    near = [each for each in found.excluded if each.choice is not None]
    if near:
        best: Excluded = near[0]
        wanted = f"--max-usd {math.ceil(best.choice.usd.p90)}" if best.choice is not None else "a larger --max-usd"
        limit = "the budget and the deadline" if asked.deadline_s else "the budget"
        return (
            f"no machine keeps {limit}: the nearest is {best.name}, {best.reason}\n"
            f"  fix: {wanted}, a smaller --model, or a part of the data"
        )
    kinds = ("refused by check", "do not fit", "longer than a job may run")
    reasons = [each.reason for kind in kinds for each in found.excluded if each.kind == kind]
    told = next(iter(reasons), next((each.reason for each in found.excluded), "none was looked at"))
    return f"no machine fits {found.job.name}: {told}\n  fix: a smaller --model"


def _priced(draft: JobSpec, asked: Asked, prices: PriceBook) -> _Machine:
    """A machine without an estimate: the one that was named, or the cheapest GPU that computes in bf16, by its price an hour."""
    if asked.instance is not None:
        if find_instance(asked.instance) is None:
            raise UnknownName(
                f"instance: got {asked.instance!r}{suggestion(asked.instance, instances())}; sm-trn catalog instances lists them"
            )
        return _Machine(draft, (f"Machine: {asked.instance}, as you said",))
    offers = _offers(prices, asked.region)
    if not offers:
        raise NotConfigured(f"instance: {no_price_for('a GPU', asked.region)}; say one with --instance ml.g5.xlarge")
    name, hourly = offers[0]
    reasons = (
        f"Machine: {name}, the cheapest with a GPU that computes in bf16: ${hourly:.2f} an hour",
        "Time: not known, for nobody knows the model of the script; sm-trn estimate job.toml --model … tells more",
    )
    others = tuple(f"{other}: ${price:.2f} an hour" for other, price in offers[1:3])
    job = draft.replace(compute=Compute(name))
    return _Machine(job, reasons, (*others, "machines without a GPU: name one with --instance ml.c5.xlarge"))


def _offers(prices: PriceBook, region: str) -> list[tuple[str, float]]:
    """Machines with one modern GPU and their price an hour, cheapest first."""
    from ..core.catalog.instances import find_chip  # noqa: PLC0415 - for a script of one's own alone

    found = []
    for each in instances().values():
        chip = find_chip(each.chip)
        if not each.trains or each.accelerator is not Accelerator.CUDA or chip is None or chip.bf16 is None:
            continue
        price = prices.of(((each.name, 1),), region)
        if price is not None:
            found.append((each.name, float(price.usd_per_hour)))
    return sorted(found, key=lambda pair: pair[1])


def _with_volume(job: JobSpec, asked: Asked) -> JobSpec:
    """With a disk for the weights as they are loaded, kept in a checkpoint, and saved."""
    shape = in_folder(asked.model or "") or (find_model(asked.model) if asked.model else None)
    machine = find_instance(job.compute.instance)
    if not isinstance(shape, Architecture) or machine is None or machine.nvme:
        return job
    needed = math.ceil((30 + shape.parameters * 2 * 4 / 1e9) / 10) * 10
    if needed <= job.compute.volume_gb:
        return job
    return job.replace(compute=replace(job.compute, volume_gb=needed))


def _within_budget(job: JobSpec, asked: Asked, prices: PriceBook) -> JobSpec:
    """With a max_run_s that the budget pays: SageMaker ends the job before it costs more."""
    price = prices.of(job.compute.machines, asked.region)
    if asked.budget_usd is None or price is None:
        return job
    paid = int(asked.budget_usd / (float(price.usd_per_hour) * job.compute.hosts) * 3600)
    return job.replace(max_run_s=max(1, min(job.max_run_s, paid)))

"""A project from what a person asked for: its job on the cheapest machine that fits, why, and the files to write."""

from __future__ import annotations

import ast
import math
import re
from dataclasses import dataclass, field, replace
from pathlib import Path

from ..core.catalog.images import TORCH_NEURON, rows
from ..core.catalog.instances import find_instance, instances
from ..core.errors import NotConfigured, UnknownName
from ..core.formatting.missing import no_price_for
from ..core.preflight import check
from ..core.pricing.book import PriceBook
from ..core.pricing.cost import ceiling
from ..core.specs.compute import Accelerator, Compute
from ..core.specs.framework import HuggingFace, NeuronX, PyTorch, TorchNeuron
from ..core.specs.job import HyperValue, JobSpec, Script
from ..core.specs.problems import Severity
from ..core.specs.value import suggestion
from ..core.strategies.torchrun import TorchDistributed
from ..forecast.data import count
from ..forecast.estimate import span, usd_text
from ..forecast.facts import Known, facts_of
from ..forecast.models import Architecture, find_model, in_folder
from ..forecast.plan import Choice, Excluded, Limits, Plan, plan
from ..forecast.rules import ALL_RULES
from ..images.contents import Contents, all_contents
from .reading import UnreadableData, class_folders, images_in, in_s3, template_of
from .template import LARGE, TEMPLATES, Project, ProjectRequest, Template

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


def design(request: ProjectRequest, prices: PriceBook) -> Project:
    """The project. Raises NotConfigured for what is not known or does not fit, with what to say or change."""
    template = chosen_template(request)
    framework, image = framework_for(template, request.script)
    draft = _draft(request, template, framework)
    row = find_instance(request.instance or "")
    neuron = row is not None and row.accelerator is Accelerator.NEURON
    if row is not None and neuron:
        native = NeuronX("2.9.0") if row.chip == "Trainium1" else TorchNeuron(TORCH_NEURON[-1])
        image, draft = None, draft.replace(framework=native, distribution=TorchDistributed())
    estimated = request.instance is None and template.head
    machine = _planned(draft, request, template, prices) if estimated else _priced(draft, request, prices)
    job = _within_budget(_with_volume(machine.job, request), request, prices)
    most = ceiling(job, prices.of(job.compute.machines, request.region))
    needed = () if request.script is not None else missing_packages(template, image)
    needed += ("accelerate", "datasets") if neuron and needed else ()  # Hugging Face's images have them
    where = f"Image: {image.name}, {_held(image, template)}" if image is not None else f"Image: {job.framework}"
    return Project(
        template=template,
        job=job,
        requirements=needed,
        reasons=(*machine.reasons, where),
        others=machine.others,
        request=request,
        most_usd=None if most is None else float(most),
    )


def chosen_template(request: ProjectRequest) -> Template:
    """The template that was named, or the one that reads the data. Raises NotConfigured."""
    if request.template is not None:
        return TEMPLATES[request.template]
    if request.script is not None:
        return TEMPLATES["pytorch"]
    names = ", ".join(TEMPLATES)
    if in_s3(request.data):
        raise UnreadableData(f"template: data in S3 is not looked at; say what to train with --template ({names})")
    template = template_of(Path(request.data))
    if template is None:
        raise UnreadableData(
            f"template: no template has the columns of {request.data}; say one with --template ({names})"
        )
    return template


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
    modules: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            modules.add(node.module.split(".")[0])
    return modules


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


def _draft(request: ProjectRequest, template: Template, framework: HuggingFace | PyTorch) -> JobSpec:
    """The job before its machine is known."""
    own = request.script or (None if template.shipped else template.source)
    script = Script(template.script) if own is None else Script(own.name, source_dir=str(own.parent))
    return JobSpec(
        name=request.name or job_name(template, request.model),
        script=script,
        framework=framework,
        compute=Compute(request.instance or "ml.g5.xlarge"),
        hyperparameters={} if request.script is not None else arguments(template, request),
        inputs={"train": request.data},
    )


def job_name(template: Template, model: str | None) -> str:
    """``qwen3-8b-chat``: what may be a job's name."""
    named = re.sub(r"[^a-z0-9]+", "-", (model or template.model).rstrip("/").split("/")[-1].lower())
    kept = named[: LONGEST_NAME - len(template.name) - 1].strip("-")
    return f"{kept}-{template.name}" if kept else template.name


def arguments(template: Template, request: ProjectRequest) -> dict[str, HyperValue]:
    """The script's hyperparameters."""
    options: dict[str, HyperValue] = {}
    if template.head:
        options[template.model_argument] = request.model or template.model
    options |= template.arguments
    shape = in_folder(request.model or "") or find_model(request.model or template.model)
    if isinstance(shape, Architecture) and shape.parameters >= LARGE:
        options |= template.large
    return options


def _known(request: ProjectRequest, template: Template) -> Known:
    known: Known = {}
    if request.examples is not None:
        known["examples"] = request.examples
    elif not in_s3(request.data) and template.name == "vision":
        known["examples"] = float(sum(len(list(images_in(each))) for each in class_folders(Path(request.data))))
    if template.name == "reward":  # generated tokens are trained, not the rows' own
        known["length"] = float(str(template.arguments["max_completion_length"]))
    return known


def _planned(draft: JobSpec, request: ProjectRequest, template: Template, prices: PriceBook) -> _Machine:
    """The cheapest machine that the estimates know. Raises MissingFact, and NotConfigured where none keeps the limits."""
    known = _known(request, template)
    count(facts_of(draft, known))
    limits = Limits(max_usd=request.budget_usd, deadline_s=request.deadline_s)
    ranking = plan(draft, limits=limits, only=GPUS, prices=prices, region=request.region, **known)
    if not ranking.choices:
        raise NotConfigured(_nothing_fits(ranking, request))
    clean = [each for each in ranking.choices if not _doubt(each)]
    chosen = (clean or list(ranking.choices))[0]
    usd = f"{usd_text(chosen.usd.p50)} (80 %: {usd_text(chosen.usd.p10)} to {usd_text(chosen.usd.p90)})"
    time = span(chosen.wall_s.p50)
    machine = (
        f"Machine: {chosen.name}, the cheapest of {len(ranking.choices)} that fit: about {usd} in {time}, estimated"
    )
    limit = max(SHORTEST_S, round(SLACK * chosen.estimate.billable_s.p90))
    job = chosen.job.replace(max_run_s=min(chosen.job.max_run_s, limit))
    doubt = "" if clean else _doubt(chosen)
    doubts = (f"Doubt: {doubt}; no machine within the limits is without one",) if doubt else ()
    return _Machine(job, (machine, _batch(chosen), *doubts), not_chosen(ranking, chosen))


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
    warnings = (each for each in check(choice.job, rules=ALL_RULES) if each.severity is Severity.WARNING)
    return next((f"{each.id} {each.what}" for each in warnings if each.id.startswith(MACHINE_RULES)), "")


def not_chosen(ranking: Plan, chosen: Choice) -> tuple[str, ...]:
    """At most three machines that were looked at and not taken, each with its reason: the likeliest first."""
    before = ranking.choices[: ranking.choices.index(chosen)]
    cheaper = [f"{each.name}: {usd_text(each.usd.p50)}, but {_doubt(each)}" for each in before[:3]]
    faster = [each for each in ranking.front if each.wall_s.p50 < chosen.wall_s.p50]
    faster = [each for each in faster if span(each.wall_s.p50) != span(chosen.wall_s.p50)]  # as it is shown
    dearer = [
        f"{each.name}: quicker ({span(each.wall_s.p50)}) and dearer ({usd_text(each.usd.p50)})" for each in faster[:2]
    ]
    unfit = [
        each for each in ranking.excluded if each.kind in {"do not fit", "without the precision", "refused by check"}
    ]
    small = sorted(unfit, key=lambda each: each.kind != "do not fit")
    return (*cheaper[:1], *dearer, *(f"{each.name}: {each.reason}" for each in small))[:3]


def _nothing_fits(ranking: Plan, request: ProjectRequest) -> str:
    """Why no machine is left, with what to change."""
    near = [each for each in ranking.excluded if each.choice is not None]
    if near:
        best: Excluded = near[0]
        wanted = f"--max-usd {math.ceil(best.choice.usd.p90)}" if best.choice is not None else "a larger --max-usd"
        limit = "the budget and the deadline" if request.deadline_s else "the budget"
        return (
            f"no machine keeps {limit}: the nearest is {best.name}, {best.reason}\n"
            f"  fix: {wanted}, a smaller --model, or a part of the data"
        )
    kinds = ("refused by check", "do not fit", "longer than a job may run")
    reasons = [each.reason for kind in kinds for each in ranking.excluded if each.kind == kind]
    reason = next(iter(reasons), next((each.reason for each in ranking.excluded), "none was looked at"))
    return f"no machine fits {ranking.job.name}: {reason}\n  fix: a smaller --model"


def _priced(draft: JobSpec, request: ProjectRequest, prices: PriceBook) -> _Machine:
    """A machine without an estimate: the one that was named, or the cheapest GPU that computes in bf16, by its price an hour."""
    if request.instance is not None:
        if find_instance(request.instance) is None:
            raise UnknownName(
                f"instance: got {request.instance!r}{suggestion(request.instance, instances())}; sm-trn catalog instances lists them"
            )
        return _Machine(draft, (f"Machine: {request.instance}, as you said",))
    offers = _offers(prices, request.region)
    if not offers:
        raise NotConfigured(f"instance: {no_price_for('a GPU', request.region)}; say one with --instance ml.g5.xlarge")
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

    offers = []
    for each in instances().values():
        chip = find_chip(each.chip)
        if not each.trains or each.accelerator is not Accelerator.CUDA or chip is None or chip.bf16 is None:
            continue
        price = prices.of(((each.name, 1),), region)
        if price is not None:
            offers.append((each.name, float(price.usd_per_hour)))
    return sorted(offers, key=lambda pair: pair[1])


def _with_volume(job: JobSpec, request: ProjectRequest) -> JobSpec:
    """With a disk for the weights as they are loaded, kept in a checkpoint, and saved."""
    shape = in_folder(request.model or "") or (find_model(request.model) if request.model else None)
    machine = find_instance(job.compute.instance)
    if not isinstance(shape, Architecture) or machine is None or machine.nvme:
        return job
    needed = math.ceil((30 + shape.parameters * 2 * 4 / 1e9) / 10) * 10
    if needed <= job.compute.volume_gb:
        return job
    return job.replace(compute=replace(job.compute, volume_gb=needed))


def _within_budget(job: JobSpec, request: ProjectRequest, prices: PriceBook) -> JobSpec:
    """With a max_run_s that the budget pays: SageMaker ends the job before it costs more."""
    price = prices.of(job.compute.machines, request.region)
    if request.budget_usd is None or price is None:
        return job
    paid = int(request.budget_usd / (float(price.usd_per_hour) * job.compute.hosts) * 3600)
    return job.replace(max_run_s=max(1, min(job.max_run_s, paid)))

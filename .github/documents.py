"""The pages of sm_trn/docs that are made from the code itself: ``python .github/documents.py`` writes all, a test compares them.

One function a page, one line in PAGES. Prose that no code can be asked for stands in pages written by hand.
"""

from __future__ import annotations

import copy
import dataclasses
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import ROUND_HALF_UP
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from typing import Any, get_args

import click

import sm_trn
from sm_trn import HOMES
from sm_trn.cli.__main__ import COMMANDS, MORE, START, load
from sm_trn.core import catalog, render
from sm_trn.core.catalog.renewal import catalogue_tables
from sm_trn.core.jobfile.files import dump_job
from sm_trn.core.jobfile.json_schema import about, json_schema, sweep_schema
from sm_trn.core.pricing.book import Price, PriceBook, price_sources, snapshot_book
from sm_trn.core.pricing.cost import CENT
from sm_trn.core.render import TARGETS
from sm_trn.core.specs.compute import (
    Accelerator,
    Compute,
    InstanceGroup,
    InstancePreference,
    InstanceType,
    Placement,
    Spot,
    UltraServer,
)
from sm_trn.core.specs.data import Channel, Checkpoint, Dataset, FileSystem, InputMode, Network, Output
from sm_trn.core.specs.framework import Framework, NeuronOptions, TrainingCompiler
from sm_trn.core.specs.guard import Guard
from sm_trn.core.specs.job import Git, JobSpec, Script
from sm_trn.core.specs.kept import Kept
from sm_trn.core.specs.metrics import MetricRule
from sm_trn.core.specs.services import Queue, Retry, RetryRule
from sm_trn.core.strategies import STRATEGIES
from sm_trn.report.comparison.compare import compare

_WIDTH = 100
STUB = Path(sm_trn.__file__).with_name("__init__.pyi")
_MADE = "<!-- Made from the code: python .github/documents.py -->"
# What a user may set. What the package sets for its own processes stands in INTERNAL.
VARIABLES: Mapping[str, str] = {
    "SM_TRN_BACKEND": "`aws` or `emulator`. Unset: AWS when boto3 finds credentials, else the emulator; what was chosen is announced",
    "SM_TRN_ROLE": "The execution role's ARN, where neither an argument nor a SageMaker notebook says one",
    "SM_TRN_BUCKET": "The bucket for sources, inputs and models; unset: `sagemaker-REGION-ACCOUNT` when it exists",
    "SM_TRN_DEVICE": "In a job's environment, `neuron` has the emulator simulate that device (`rehearse --device`)",
    "SM_TRN_REGION": "The region, before `AWS_REGION`, `AWS_DEFAULT_REGION` and the profile's; else `us-west-2` where no account is asked",
    "SM_TRN_SDK3_PYTHON": "A Python that has SageMaker SDK v3: `import` runs there what it writes",
    "SM_TRN_STATE": "The emulator's state folder; one emulator a folder",
    "SM_TRN_POLICY": "The team's policy file; unset: the `sm_trn.toml` in the folder of a job file or above it",
    "SM_TRN_CATALOG": "The file of newer images and prices that `sm-trn catalog update` writes; unset: `~/.config/sm_trn/catalog.json`",
    "SM_TRN_RUNTIME": "In a job's environment: which runtime the entry scripts use, when it must not be found out",
    "SM_TRN_LOADING_AT_ONCE": "In a job's environment: how many workers of a host load a model at the same time",
}
FOREIGN: Mapping[str, str] = {
    "AWS_PROFILE, AWS_ACCESS_KEY_ID, AWS_DEFAULT_REGION, …": "As boto3 reads them",
    "AWS_ENDPOINT_URL": "Another service than AWS's: `export $(sm-trn local up)` sets it to the emulator's",
    "NO_COLOR, FORCE_COLOR, TERM=dumb": "Colour is for terminals; NO_COLOR (no-color.org) and TERM=dumb turn it off, FORCE_COLOR=1 on",
}
_WORDS: Mapping[str, str] = {
    "str": "text",
    "int": "whole number",
    "float": "number",
    "bool": "true or false",
    "Json": "any value",
}
_PLURALS: Mapping[str, str] = {"str": "texts", "int": "whole numbers", "float": "numbers", "HyperValue": "values"}
INTERNAL = frozenset({
    "SM_TRN_CODE", "SM_TRN_COMPLETE", "SM_TRN_EMULATED", "SM_TRN_IMAGE", "SM_TRN_MASTER_PORT", "SM_TRN_MODEL_DIR", "SM_TRN_PID",
    "SM_TRN_NEURON", "SM_TRN_PYTHON", "SM_TRN_READ_ONLY", "SM_TRN_SANDBOX", "SM_TRN_SHELL", "SM_TRN_WORKERS",
})  # fmt: skip


# Where public names come from, the longest beginning wins, and what those names are for.
ROOMS: Mapping[str, str] = {
    ".rules": "Check a job",
    ".wiring": "Connect, rehearse; the session and its jobs",
    ".core.specs": "Describe a job",
    ".core.strategies": "Choose a distribution",
    ".forecast": "Estimate and plan a job",
    ".core.render": "Render a request, compare two",
    ".core.jobfile": "Read and write job files",
    ".bridge": "Record launch code",
    ".core.session": "Launch, watch, attach",
    ".capacity": "Find room for a job",
    ".tuning": "Search for hyperparameters",
    ".emulator": "Rehearsals",
    ".core.logs": "Read logs",
    ".diagnosis": "Find out why",
    ".report": "Compare and add up",
    ".core.pricing": "Prices and costs",
    ".hosting": "Endpoints and transforms",
    ".account": "Policies of the account",
    ".core.errors": "Errors",
    ".core._entry": "Scripts of the package",
}


def python_reference() -> str:
    """Every public name, by the room it comes from, and then the three modules of rarer names; the site shows the docstrings."""
    by_room: dict[str, list[str]] = {room: [] for room in ROOMS}
    for name, module in HOMES.items():
        room = max((room for room in ROOMS if module.startswith(room)), key=len)
        by_room[room].append(f"sm_trn.{name}")
    parts = [(ROOMS[room], names) for room, names in by_room.items() if names]
    for rarer in (sm_trn.specs, sm_trn.results, sm_trn.errors):
        names = [f"{rarer.__name__}.{name}" for name in rarer.__all__ if name not in HOMES]
        parts.append((rarer.__name__, names))
    lines = ["# Python API", "", _MADE, "", "`import sm_trn as st` loads a name when it is first used."]
    for title, names in parts:
        lines += ["", f"## {title}", *(f"\n::: {name}" for name in sorted(names, key=str.lower))]
    return "\n".join(lines) + "\n"


def stub() -> str:
    """What editors and type checkers see of the package: each public name where it is defined."""
    lines = ["# Made from sm_trn/__init__.py: python .github/documents.py"]
    lines += [f"from . import {module} as {module}" for module in ("errors", "results", "specs")]
    lines += [f"from {module} import {name} as {name}" for name, module in HOMES.items()]
    lines += ["", "__version__: str", "HOMES: dict[str, str]"]
    lines += ["__all__ = [", *(f'    "{name}",' for name in sorted(sm_trn.__all__, key=_ranked)), "]"]
    return "\n".join(lines) + "\n"


def _ranked(name: str) -> tuple[int, str]:
    """Constants, classes, functions: the order in which linters want names."""
    return (0 if name.isupper() else 1 if name[0].isupper() else 2), name


def cli_reference() -> str:
    """Every command's own help."""
    lines = [
        "# Command line",
        "",
        "Every answer of `sm-trn … --help`. Exit codes: 0 fine; 1 problems found, or a job failed; 2 usage;",
    ]
    lines += [
        "130 Ctrl-C, which never stops a job. With `--json` stdout is one JSON value and nothing else (`logs`: one a line).",
        "",
    ]
    lines += [_MADE]
    for title, commands in (("Commands", START), ("More commands", MORE)):
        lines += ["", f"**{title}**", "", "| | |", "|---|---|"]
        lines += [f"| [`{name}`](#sm-trn-{name}) | {summary} |" for name, (_, summary) in commands.items()]
    for name in COMMANDS:
        for path, command in commands_of(["sm-trn", name], load(name)):
            lines += ["", f"## {' '.join(path)}", "", "```text", _help(path, command), "```"]
    return "\n".join(lines) + "\n"


def commands_of(path: list[str], command: click.Command) -> Iterator[tuple[list[str], click.Command]]:
    """The command and those within it, each with its words."""
    yield path, command
    if isinstance(command, click.Group):
        for name, inner in command.commands.items():
            yield from commands_of([*path, name], inner)


def _help(path: Sequence[str], command: click.Command) -> str:
    shown = copy.copy(command)
    shown._help_option = None  # noqa: SLF001 - click keeps the names of the first context that asked: a test's, say
    context = click.Context(shown, info_name=" ".join(path), terminal_width=_WIDTH, help_option_names=["-h", "--help"])
    return "\n".join(line.rstrip() for line in shown.get_help(context).split("\n")).strip()


def configuration() -> str:
    """Environment variables, and the keys of a job file."""
    lines = ["# Configuration", "", _MADE, "", "## Environment", ""]
    lines += _table(("variable", "means"), [(f"`{name}`", text) for name, text in {**VARIABLES, **FOREIGN}.items()])
    lines += [
        "",
        "Arguments win over variables, variables over what a SageMaker notebook says of itself.",
        "",
        "## Job files",
        "",
    ]
    lines += [
        "TOML, YAML or JSON; several jobs are a list under `job`. A key that is not here is refused, with the nearest that is."
    ]
    lines += ["`kind` chooses a framework or a distribution.", ""]
    lines += [
        "Editors complete keys and mark mistakes with the JSON Schema that `sm-trn check --schema > job.schema.json` writes: begin a",
        "TOML file with `#:schema ./job.schema.json`, a YAML file with `# yaml-language-server: $schema=./job.schema.json`, and give a",
        'JSON file the key `"$schema"`.',
        "",
        *_complete_files(),
    ]
    kinds = [(f'framework, `kind = "{cls.family}"`', cls) for cls in get_args(Framework)]
    kinds += [(f'distribution, `kind = "{name}"`', cls) for name, cls in STRATEGIES.items()]
    parts: list[tuple[str, Any]] = [
        ("the job itself", JobSpec), ("script", Script), ("script.git", Git), ("compute", Compute),
        ("compute.groups", InstanceGroup), ("compute.preferences", InstancePreference), ("compute.placement", Placement),
        ("compute.placement.servers", UltraServer),
        *kinds,
        ("inputs, where a channel is more than its URI", Channel), ("inputs, where a channel is a file system", FileSystem),
        ("inputs, where a channel is a dataset of a hub", Dataset),
        ("compiler", TrainingCompiler), ("spot", Spot), ("guard", Guard),
        ("checkpoint", Checkpoint), ("output", Output), ("network", Network), ("neuron", NeuronOptions),
        ("metrics", MetricRule),
        ("queue", Queue), ("queue.retry", Retry), ("queue.retry.rules", RetryRule), ("kept", Kept),
    ]  # fmt: skip
    for title, cls in parts:
        said = (cls.__doc__ or "").strip().split("\n\n")[0].replace("\n", " ").replace("``", "`")
        lines += ["", f"### {title}", "", " ".join(said.split()), ""]
        rows = [
            (f"`{field.name}`", _kind(field), _default(field), about(cls, field.name))
            for field in dataclasses.fields(cls)
            if field.init
        ]
        lines += _table(("key", "type", "default", "means"), rows) if rows else ["No keys beside `kind`."]
    return "\n".join(lines) + "\n"


def _kind(field: dataclasses.Field[Any]) -> str:
    """A field's type as a file writes it."""
    words: list[str] = []
    for part in str(field.type).split(" | "):
        listed = re.fullmatch(r"tuple\[(\w+), \.\.\.\]", part)
        table = re.fullmatch(r"Mapping\[str, (.*)\]", part)
        if part == "None":
            continue
        if listed:
            words.append(f"list of {_PLURALS.get(listed[1], f'`{listed[1]}`')}")
        elif table:
            words.append(f"table of {_PLURALS.get(table[1], 'values')}")
        else:
            words.append(_WORDS.get(part, f"`{part}`"))
    return " or ".join(words)


def _default(field: dataclasses.Field[Any]) -> str:
    if field.default_factory is not dataclasses.MISSING:
        return "its own defaults" if dataclasses.is_dataclass(field.default_factory()) else "empty"
    if field.default is dataclasses.MISSING:
        return "required"
    value = field.default
    if isinstance(value, tuple):
        return "the Trainer's own numbers" if value else "empty"
    shown = getattr(value, "value", value)
    if value is None or shown == "":
        return "none"
    return f"`{json.dumps(shown)}`"


def _complete_files() -> list[str]:
    """Job files that hold a whole job each."""
    source: Any = {
        "script": Script("train.py", source_dir="./src"),
        "hyperparameters": {"epochs": 3, "learning_rate": 2e-5},
    }
    spot = JobSpec(
        name="bert-spot", framework=sm_trn.HuggingFace("4.49", pytorch="2.5", python="py311"),
        compute=Compute("ml.p4d.24xlarge"), distribution=sm_trn.TorchDistributed(), inputs={"train": "./data/train.csv"},
        spot=Spot(max_wait_s=28_800, checkpoint_s3_uri="s3://my-bucket/bert/checkpoints"), max_run_s=14_400,
        tags={"team": "search"}, **source,
    )  # fmt: skip
    trainium = JobSpec(
        name="bert-trainium", framework=sm_trn.NeuronX("2.9.0"), compute=Compute("ml.trn1.32xlarge", count=2, volume_gb=200),
        distribution=sm_trn.TorchDistributed(), inputs={"train": Channel("s3://my-bucket/corpus", mode=InputMode.FAST_FILE)},
        neuron=NeuronOptions(cache_s3_uri="s3://my-bucket/neuron-cache"), **source,
    )  # fmt: skip
    lines = ["### Two complete files", "", "On A100s with managed spot, as TOML:", ""]
    lines += ["```toml", dump_job(spot, "toml").rstrip(), "```", "", "On two Trainium machines, as YAML:", ""]
    return [*lines, "```yaml", dump_job(trainium, "yaml").rstrip(), "```"]


def accelerators() -> str:
    """Facts and dated prices of the instance types that train, and the published pair's arithmetic."""
    lines = [
        "# Which accelerator should I pick",
        "",
        _MADE,
        "",
        "Facts and prices of the catalogue. No figure here was measured by this project.",
    ]
    lines += ["", "## What decides it", ""]
    lines += _QUESTIONS.strip().split("\n")
    lines += _ROAD.rstrip().split("\n")
    for accelerator in (Accelerator.NEURON, Accelerator.CUDA):
        rows = [row for row in catalog.instances().values() if row.accelerator is accelerator and row.trains]
        title = "Trainium" if accelerator is Accelerator.NEURON else "NVIDIA GPUs"
        lines += ["", f"## {title}", ""]
        heads = (
            "instance",
            "chips",
            "workers",
            "memory a worker, GiB",
            "network, Gbit/s",
            "EFA",
            "USD an hour",
            "USD an hour and worker",
            "price of",
        )
        lines += _table(heads, [_machine(row) for row in rows])
    lines += [
        "",
        "Workers: one process a GPU or NeuronCore, on trn2 a logical one at LNC=2. Prices: the newest known for training",
        "in us-west-2, else us-east-1; `i` is inferred,",
    ]
    lines += ["`-` not known (`sm-trn catalog update` asks AWS). Sources:", ""]
    lines += [f"- {name}: {text}" for name, text in price_sources().items() if name != "fmbench-2025"]
    lines += ["", "## A published comparison, recomputed", ""]
    pair = compare(["published/bert-p4d", "published/bert-trn1"], baseline="bert-p4d", book=snapshot_book())
    lines += [
        f"- {finding.text}"
        for finding in pair.findings
        if finding.kind in {"throughput", "billable", "cost", "flip", "repriced", "runs"}
    ]
    lines += [
        "",
        "Three numbers, and only the last is money: `sm-trn compare published/bert-p4d published/bert-trn1 --baseline bert-p4d`.",
    ]
    return "\n".join(lines).replace("\u00a0", " ") + "\n"


_ROAD = """
## Two roads on Trainium

| day | what AWS Neuron did |
|---|---|
| 2026-05-21 | 2.30 ended PyTorch/XLA training; PyTorch 2.9 was its last version. The container of 2.30.0 has it, unsupported |
| 2026-07-07 | 2.31 came without a PyTorch training container |
| 2026-10-19 | 2.33 made TorchNeuron a public beta on Trn2 and Trn3: `torch-neuronx` 2.13.3.0 and 2.14.3.0, and a container again |

- **trn1** stays on the ended road: `NeuronX` takes the last supported container, of Neuron 2.29.1 (2026-05-21). Only JAX follows there.
- **trn2**: `TorchNeuron("2.14")` with `image_uri`, for no page read here gives the container's tag (AWS Neuron, 2026-10-16).
  Prices: unknown. [The guide](guides/trainium.md) moves a script.

Sources: AWS Neuron, announce-no-support-pytorch-xla-training (2026-05-21), release-notes/components/torchneuron (2026-10-19),
setup/pytorch/dlc (2026-10-16); aws-neuron/deep-learning-containers@2be9ed1 README (2026-08-17).
"""

_QUESTIONS = """
1. **Does the code run there?** trn1 runs XLA graphs: one shape per batch; trn2 runs PyTorch on the device `neuron`; neither has
   `.cuda()`. SMDDP, SageMaker's model parallelism and the Training Compiler need GPUs; `sm-trn check` says which.
2. **Does it fit?** Accelerator memory of one worker against weights, gradients, optimizer states and activations: rules MEM.
3. **What does a finished job cost?** Billable seconds × instances × price, not the price of an hour. Only a run of yours
   tells the seconds; `sm-trn compare` prices them, names the date, and says at which price the order flips.
4. **Can it be interrupted?** `sm-trn rehearse` shows whether a resumed run ends with the same weights, before spot is used.
"""


def _machine(row: Any) -> tuple[str, ...]:
    price = _price(row.name)
    usd = f"{price.usd_per_hour.quantize(CENT, ROUND_HALF_UP)}{' i' * price.inferred}" if price else "-"
    each = f"{price.usd_per_hour / row.workers:.3f}" if price else "-"
    dated = f"{price.as_of}, {price.region}" if price else "-"
    memory = f"{row.accelerator_memory_gib / row.workers:g}"
    efa = "yes" if row.efa else "no"
    return (
        f"`{row.name}`",
        f"{row.chips} × {row.chip}",
        str(row.workers),
        memory,
        "-" if row.network_gbps is None else f"{row.network_gbps:g}",
        efa,
        usd,
        each,
        dated,
    )


def _price(instance: str) -> Price | None:
    book = snapshot_book()
    return next((found for region in ("us-west-2", "us-east-1") if (found := book.find(instance, region))), None)


def facts() -> str:
    """How old each table of facts is, what renews it, and which prices are known where."""
    book = snapshot_book()
    rows = [price for price in book.prices if price.component != "Hosting"]
    prices = (f"{len(rows)}", max(price.as_of for price in rows), "sm-trn catalog update, from the AWS Price List")
    lines = [
        "# How old the facts are",
        "",
        _MADE,
        "",
        "`sm-trn catalog` shows the same with your own rows.",
        "",
    ]
    lines += _table(
        ("table", "rows", "newest row", "renewed without a new version by", "source"),
        [
            *(
                (table.name, str(table.rows), table.as_of, table.renewed_by or "-", table.source)
                for table in catalogue_tables()
            ),
            ("prices", *prices, "below"),
        ],
    )
    lines += [
        "",
        "Limits and the names of instance types are always those of the installed botocore.",
        "",
        "## Prices",
        "",
    ]
    lines += [_PRICE_RULE, ""]
    lines += _table(("source", "is"), [(f"`{name}`", text) for name, text in price_sources().items()])
    types = [row for row in catalog.instances().values() if row.trains]
    regions = sorted({region for ratios in book.ratios for region in ratios.usd_per_hour})
    lines += ["", "Training types with a price, by region:", ""]
    lines += _table(
        (
            "region",
            f"GPUs and Trainium, of {sum(row.chips > 0 for row in types)}",
            f"CPUs, of {sum(row.chips == 0 for row in types)}",
            "oldest",
            "newest",
        ),
        [_coverage(book, region, types) for region in regions],
    )
    return "\n".join(lines) + "\n"


_PRICE_RULE = """
**The rule of inferred prices.** Where a region has no newer price of its own, a type costs there what it costs in us-east-1,
times EC2's ratio of the instance family between the two regions. In each of the 386 pairs of a family and a region that two
public lists of EC2's prices hold, this ratio is the same for every size of the family. Held against 30 published SageMaker
prices that it did not use (us-west-2 2026, eu-west-1 2023, ap-northeast-1 2026), the rule is off by 0.25 % at most. An
inferred price is as old as the older of its two sources, and says so. It is no promise that SageMaker sells the type there.
""".strip()


def _coverage(book: PriceBook, region: str, types: Sequence[InstanceType]) -> tuple[str, ...]:
    found = [(row, price) for row in types if (price := book.find(row.name, region)) is not None]
    days = sorted(price.as_of for _, price in found)
    accelerated = sum(row.chips > 0 for row, _ in found)
    return (region, str(accelerated), str(len(found) - accelerated), days[0], days[-1])


def targets() -> str:
    """The render targets, by their modules' own first sentence: ``Target ``name``: what it is``."""
    modules = (import_module(found.name) for found in walk_packages(render.__path__, "sm_trn.core.render."))
    said = (" ".join((module.__doc__ or "").partition("\n\n")[0].split()).replace("``", "`") for module in modules)
    purposes = {found[1]: found[2] for text in said if (found := re.match(r"Target `([\w-]+)`: (.+)", text))}
    lines = [
        "# Render targets",
        "",
        _MADE,
        "",
        "`sm-trn render FILE --to TARGET`; what a target cannot say is an error with a reason.",
        "",
    ]
    lines += _table(("target", "is"), [(f"`{name}`", purposes[name]) for name in TARGETS])
    return "\n".join(lines) + "\n"


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    lines = [f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]
    return [*lines, *(f"| {' | '.join(cell.replace('|', '∣') for cell in row)} |" for row in rows)]


def schema_of_job_files() -> str:
    """The JSON Schema, as ``sm-trn check --schema`` prints it."""
    return json.dumps(json_schema(), indent=2) + "\n"


def schema_of_sweep_files() -> str:
    """The JSON Schema, as ``sm-trn tune --schema`` prints it."""
    return json.dumps(sweep_schema(), indent=2) + "\n"


_ENTRY = re.compile(r"^ +- ([^:]+): (\S+\.md)$", re.MULTILINE)  # a page of the site's navigation


def index_for_machines() -> str:
    """The pages with their titles and first sentences, as https://llmstxt.org asks for: paths are relative to sm_trn/docs."""
    home = Path(sm_trn.__file__).parent / "docs"
    lines = ["# sm_trn", "", "> Check, estimate, rehearse, launch, debug and cost Amazon SageMaker training jobs.", ""]
    lines += [
        "`sm-trn skill` prints what an agent needs. Pages lie in `sm_trn/docs` of the package.",
        "",
        "## Pages",
        "",
    ]
    for title, name in _ENTRY.findall(Path(__file__).with_name("mkdocs.yml").read_text("utf-8")):
        if not (home / name).is_file():
            continue
        body = re.sub(
            r"<!--.*?-->|^#[^\n]*$|^```.*?^```$", "", (home / name).read_text("utf-8"), flags=re.MULTILINE | re.DOTALL
        )
        first = next((part for part in body.split("\n\n") if re.match(r"\s*[A-Z`\[]", part)), "")
        said = re.split(r"(?<=[.:]) ", " ".join(first.split()))[0]
        said = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", said)
        lines.append(f"- [{title}]({name}){': ' + said if said else ''}")
    return "\n".join(lines) + "\n"


PAGES: Mapping[str, Callable[[], str]] = {
    "skill/llms.txt": index_for_machines,
    "job.schema.json": schema_of_job_files,
    "sweep.schema.json": schema_of_sweep_files,
    "api.md": python_reference,
    "cli.md": cli_reference,
    "configuration.md": configuration,
    "accelerators.md": accelerators,
    "facts.md": facts,
    "targets.md": targets,
}


def write(folder: Path) -> None:
    """Every page into ``folder``, and the package's stub."""
    for name, page in PAGES.items():
        (folder / name).write_text(page(), "utf-8")
    STUB.write_text(stub(), "utf-8")


if __name__ == "__main__":
    write(Path(sm_trn.__file__).parent / "docs")

"""NET rules: does anything select EFA between the hosts, and does the launcher overwrite what the job says of the network?

Keyed on three things: the release of the toolkit (or of SDK v3's drivers) that starts the workers, the aws-ofi-nccl plugin in
the image, and the instance type. ``catalog/efa`` has them, each row with its file and version.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ..catalog import efa, images
from ..catalog.instances import find_instances
from ..specs.compute import Accelerator, InstanceType
from ..specs.framework import Container, NeuronOptions
from ..specs.job import JobSpec
from ..specs.launch import Runner
from ..specs.problems import Advice, AnyOf, Change, Field, Problem, rules_of
from ..strategies import plan

PROVIDER, RDMA, PROTOCOL = "FI_PROVIDER", "FI_EFA_USE_DEVICE_RDMA", "NCCL_PROTO"
GPU_DIRECT = ("ml.p4", "ml.p5")  # EFA reads the memory of their GPUs: NCCL's documentation of the plugin
DRIVERS = "sm_drivers"  # the channel of SDK v3's launchers: sagemaker-train 1.27.0, ModelTrainer
LOG = "in the log, `Selected provider is efa` proves it and `NET/Socket` denies it"

_RULES = rules_of(__package__)


@dataclass(frozen=True, slots=True)
class _Way:
    """Between hosts: what starts the workers (None: nothing that sets variables), and the image's build as far as known."""

    launcher: efa.Launcher | None
    build: efa.Build | None

    @property
    def selects(self) -> bool | None:
        """Return True if the plugin in the image asks for EFA by itself."""
        return None if self.build is None else self.build.selects

    @property
    def words(self) -> str:
        """The image and the launcher, for people."""
        plugin = "an image whose NCCL plugin is not known"
        if self.build is not None:
            plugin = f"an image of PyTorch {self.build.pytorch}, aws-ofi-nccl {self.build.plugin or 'not known'}"
        return f"{plugin}, {f'launcher {self.launcher.version} or newer' if self.launcher else 'no launcher that selects it'}"


def _hosts_with_efa(job: JobSpec, accelerator: Accelerator) -> tuple[InstanceType, ...]:
    rows = find_instances(job.compute.instances)
    fast = all(row.efa and row.accelerator is accelerator for row in rows)
    return rows if rows and fast and job.compute.hosts > 1 else ()


def _way(job: JobSpec) -> _Way:
    framework = images.recognise(job.image_uri) if job.image_uri else job.framework
    build = None if framework is None or isinstance(framework, Container) else efa.build_of(framework)
    if DRIVERS in str(job.extra_at("AlgorithmSpecification.ContainerArguments")):
        return _Way(efa.drivers(), build)
    if plan(job).runner not in {Runner.TORCHRUN, Runner.MPI} or job.own_entrypoint:
        return _Way(None, build)
    return _Way(efa.toolkit_of(build) if build else None, build)


def _sets(launcher: efa.Launcher | None, runner: Runner, instance: str) -> Mapping[str, str]:
    """Return the variables that the launcher sets on this instance type, whatever the job says."""
    if launcher is None:
        return {}
    variables = {PROVIDER: "efa"} if instance in launcher.efa else {}
    if instance in launcher.rdma:
        variables[RDMA] = "1"
    if launcher.simple if runner is Runner.TORCHRUN else instance in launcher.efa:
        variables[PROTOCOL] = "simple"
    return variables


def selected(job: JobSpec) -> Iterator[Problem]:
    """NET001, NET002: on several hosts with EFA the plugin, the toolkit or the job itself has to ask for it."""
    rows = _hosts_with_efa(job, Accelerator.CUDA)
    launch = plan(job)
    if not rows or launch.runner in {Runner.SMDDP, Runner.XLA_SPAWN} or PROVIDER in job.environment:
        return  # both set it themselves: toolkit, smdataparallel.py and pytorch_xla.py
    way, instance = _way(job), rows[0].name
    if way.launcher and instance in way.launcher.efa:
        return
    if way.selects is False:
        direct = {RDMA: "1"} if instance.startswith(GPU_DIRECT) else {}
        yield _RULES["NET001"].problem(
            Field("environment"),
            f"nothing selects EFA between {job.compute.hosts} hosts; gradients may go over TCP",
            got=f"{instance!r}, {way.words}",
            wanted=f"{PROVIDER}=efa in the environment, or an image with aws-ofi-nccl 1.7 or newer",
            fix=AnyOf(_added(job, {PROVIDER: "efa", **direct, PROTOCOL: "simple"}), "choose PyTorch 2.1 or newer"),
            evidence=way.build.source if way.build else "",
        )
    elif not (way.selects and instance in efa.named()) and "NCCL_DEBUG" not in job.environment:
        yield _RULES["NET002"].problem(
            Field("environment"),
            f"it cannot be told whether {job.compute.hosts} hosts will use EFA; {LOG}",
            got=f"{instance!r}, {way.words}",
            wanted="NCCL_DEBUG=INFO in a first short job",
            fix=_added(job, {"NCCL_DEBUG": "INFO"}),
        )


def _added(job: JobSpec, variables: dict[str, str]) -> Change:
    """The variables alone: what the environment holds already may be a secret."""
    return Change("beside what is there" if job.environment else "", environment=variables)


def neuron_hosts(job: JobSpec) -> Iterator[Problem]:
    """NET002: on Trainium the toolkit's lists name trn1.32xlarge alone, and Neuron wants its variables on every type."""
    rows = _hosts_with_efa(job, Accelerator.NEURON)
    if not rows or job.neuron is not None or PROVIDER in job.environment or rows[0].name in efa.named():
        return
    yield _RULES["NET002"].problem(
        Field("neuron"),
        f"{rows[0].name!r} is in no list of the toolkit: only the script can have selected EFA between {job.compute.hosts} hosts",
        got=f"no {PROVIDER}",
        wanted=f"{PROVIDER}=efa, {RDMA}=1 and FI_EFA_FORK_SAFE=1, which NeuronOptions sets",
        fix=Change(neuron=NeuronOptions(efa=True)),
        evidence="AWS Neuron documentation, setup of EFA for several instances",
    )


def overwritten(job: JobSpec) -> Iterator[Problem]:
    """NET003: torchrun's and MPI's launchers set some variables after the job's own environment."""
    rows = find_instances(job.compute.instances)
    if not rows or job.environment.keys().isdisjoint({PROVIDER, RDMA, PROTOCOL}):
        return
    runner, way = plan(job).runner, _way(job)
    if way.launcher is None or runner not in {Runner.TORCHRUN, Runner.MPI}:
        return
    for name, value in _sets(way.launcher, runner, rows[0].name).items():
        chosen = job.environment.get(name)
        if chosen is not None and chosen.lower() != value:
            yield _RULES["NET003"].problem(
                Field("environment"),
                f"the launcher sets {name}={value} after the job's environment, so this value never arrives",
                got=f"{name}={chosen}",
                wanted="the value set where the workers run",
                fix=Advice(f"leave it out, or set os.environ[{name!r}] in the script before init_process_group"),
                evidence=way.launcher.source,
            )


def protocol(job: JobSpec) -> Iterator[Problem]:
    """NET004: a note on several hosts, where the forced protocol costs most, and only where the plugin would choose."""
    if (
        not _hosts_with_efa(job, Accelerator.CUDA)
        or PROTOCOL in job.environment
        or plan(job).runner is not Runner.TORCHRUN
    ):
        return
    way = _way(job)
    if way.launcher is None or not way.launcher.simple or way.selects is not True:
        return
    yield _RULES["NET004"].problem(
        Field("distribution"),
        "torchrun's launcher sets NCCL_PROTO=simple, and the image's plugin would choose the protocol itself",
        got=way.words,
        fix=Advice("to try without: os.environ.pop('NCCL_PROTO', None) in the script before init_process_group"),
    )


RULES = (selected, neuron_hosts, overwritten, protocol)

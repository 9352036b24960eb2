"""Train Hugging Face and PyTorch scripts on Amazon SageMaker, and know the cost before and after.

    import sm_trn as st

    job = st.JobSpec(...)                       # one training job, as a value
    st.check(job)                               # its problems, found without an account
    st.estimate(job)                            # its time and cost, before the launch
    st.render(job, "request")                   # the exact CreateTrainingJob request
    session = st.connect("emulator")            # this machine; "aws" is the account
    session.wait([session.submit(job)])         # the same job on both

Rarer names stand in ``sm_trn.specs``, ``sm_trn.results`` and ``sm_trn.errors``.
Names are loaded when they are first used: importing the package loads neither boto3 nor pandas nor torch.
"""

from .core import __version__

# Public name -> the module that holds it. The stub beside this file shows the same to editors; .github/documents.py writes it.
HOMES = {
    "policies": ".account.policies.policy",
    "import_launcher": ".bridge.launchers",
    "fallback": ".capacity.fallback",
    "scripts_folder": ".core._entry",
    "SmTrnError": ".core.errors",
    "dump_job": ".core.jobfile.files",
    "load_jobs": ".core.jobfile.files",
    "read_log": ".core.logs.saved",
    "render": ".core.render",
    "parse_request": ".core.render.from_request",
    "estimator": ".core.session.connection",
    "read_jobs": ".core.session.jobfiles",
    "TRAINER_METRICS": ".core.specs",
    "Compute": ".core.specs.compute",
    "Spot": ".core.specs.compute",
    "Channel": ".core.specs.data",
    "Checkpoint": ".core.specs.data",
    "FileSystem": ".core.specs.data",
    "Network": ".core.specs.data",
    "Output": ".core.specs.data",
    "Container": ".core.specs.framework",
    "HuggingFace": ".core.specs.framework",
    "NeuronX": ".core.specs.framework",
    "PyTorch": ".core.specs.framework",
    "TorchNeuron": ".core.specs.framework",
    "TrainingCompiler": ".core.specs.framework",
    "Guard": ".core.specs.guard",
    "JobSpec": ".core.specs.job",
    "Script": ".core.specs.job",
    "MetricRule": ".core.specs.metrics",
    "Severity": ".core.specs.problems",
    "Queue": ".core.specs.services",
    "JobStatus": ".core.specs.snapshot",
    "grid": ".core.specs.sweeps",
    "Sweep": ".core.specs.tuning",
    "PyTorchDDP": ".core.strategies.ddp",
    "MPI": ".core.strategies.mpi",
    "SMDataParallel": ".core.strategies.smddp",
    "SMModelParallel": ".core.strategies.smp",
    "TorchDistributed": ".core.strategies.torchrun",
    "PyTorchXLA": ".core.strategies.xla",
    "why": ".diagnosis.causes.source",
    "estimate": ".forecast.estimate",
    "Limits": ".forecast.plan",
    "plan": ".forecast.plan",
    "diff": ".report.comparing",
    "compare": ".report.comparison.compare",
    "check": ".rules",
    "tune": ".tuning.studies",
    "Session": ".wiring",
    "TrainingJob": ".wiring",
    "connect": ".wiring",
    "rehearse": ".wiring",
}
_MODULES = ("errors", "results", "specs")

__all__ = [*HOMES, *_MODULES, "__version__"]  # noqa: PLE0604


def __getattr__(name: str) -> object:
    from importlib import import_module  # noqa: PLC0415 - as everything here, on first use

    if name in _MODULES:
        return import_module(f".{name}", __name__)
    if name in HOMES:
        value = getattr(import_module(HOMES[name], __name__), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)

"""Hypothesis strategies for specs: anything over the real catalogue, and jobs that make sense."""

from __future__ import annotations

import dataclasses
from typing import Any

from hypothesis import strategies as some

import sm_trn as st
from sm_trn.catalog import compiler, images, instances
from sm_trn.specs import Accelerator

NAMES = some.from_regex(r"[a-z](-?[a-z0-9]){0,20}", fullmatch=True)
TEXT = some.text(some.characters(codec="utf-8", exclude_categories=("C", "Z")), max_size=20)
HYPERPARAMETERS = some.dictionaries(
    some.from_regex(r"[a-z][a-z_]{0,10}", fullmatch=True),
    some.one_of(
        TEXT, some.integers(-(10**9), 10**9), some.booleans(), some.floats(allow_nan=False, allow_infinity=False)
    ),
    max_size=6,
)
ENVIRONMENT = some.dictionaries(some.from_regex(r"[A-Z]{1,5}", fullmatch=True), TEXT, max_size=2)
TAGS = some.dictionaries(some.from_regex(r"[a-z]{1,5}", fullmatch=True), some.just("x"), max_size=2)
MPI_OPTIONS = some.sampled_from(["", "-verbose -x NCCL_DEBUG=VERSION"])
SMP = some.builds(
    st.SMModelParallel,
    partitions=some.sampled_from([None, 1, 2, 4]),
    microbatches=some.sampled_from([None, 1, 4]),
    pipeline=some.sampled_from([None, "simple", "interleaved", "wrong"]),
    placement_strategy=some.sampled_from([None, "spread", "cluster"]),
    optimize=some.sampled_from([None, "speed", "memory"]),
    ddp=some.sampled_from([None, True]),
    horovod=some.sampled_from([None, True]),
    ddp_port=some.sampled_from([None, 8765]),
    memory_weight=some.sampled_from([None, 0.5, 1.5]),
    processes_per_host=some.sampled_from([None, 1, 4, 8, 16]),
)
DISTRIBUTIONS = some.one_of(
    some.none(),
    some.just(st.SingleProcess()),
    some.builds(st.TorchDistributed, workers_per_host=some.sampled_from([None, None, 1, 2, 3, 8, 32])),
    some.builds(st.SMDataParallel, custom_mpi_options=MPI_OPTIONS),
    some.just(st.PyTorchXLA()),
    some.builds(st.PyTorchDDP),
    some.builds(st.MPI, processes_per_host=some.sampled_from([None, 1, 2, 8]), custom_mpi_options=MPI_OPTIONS),
    SMP,
    some.builds(st.SMModelParallelV2, tensor_parallel_degree=some.sampled_from([None, 2, 8])),
)
NEURON = some.one_of(
    some.none(),
    some.builds(
        st.NeuronOptions,
        tensor_parallel=some.sampled_from([1, 2, 8]),
        zero_1=some.booleans(),
        stochastic_rounding=some.booleans(),
        malloc_arena_max=some.sampled_from([None, 64]),
        cache_s3_uri=some.sampled_from([None, "s3://a-bucket/neuron-cache"]),
    ),
)
CHANNELS = some.one_of(
    some.just("s3://a-bucket/data"),
    some.builds(
        st.Channel,
        some.just("s3://a-bucket/data"),
        mode=some.sampled_from([None, st.InputMode.FILE, st.InputMode.FAST_FILE]),
        spread=some.sampled_from(st.Spread),
        kind=some.sampled_from([st.S3Kind.PREFIX, st.S3Kind.MANIFEST]),
        content_type=some.sampled_from([None, "text/csv"]),
        compression=some.sampled_from([None, "Gzip"]),
    ),
)
SPOTS = some.builds(
    st.Spot,
    max_wait_s=some.integers(1, 200_000),
    checkpoint_s3_uri=some.sampled_from([None, "s3://a-bucket/checkpoints"]),
)
SURROUNDINGS: dict[str, Any] = {
    "hyperparameters": HYPERPARAMETERS,
    "inputs": some.dictionaries(NAMES, CHANNELS, max_size=2),
    "spot": some.one_of(some.none(), SPOTS),
    "max_run_s": some.integers(1, 100_000),
    "environment": ENVIRONMENT,
    "tags": TAGS,
    "checkpoint": some.sampled_from(
        [None, st.Checkpoint(s3_uri="s3://a-bucket/c"), st.Checkpoint(s3_uri="s3://a-bucket/c", local_path="/opt/ml/c")]
    ),
    "output": some.builds(
        st.Output,
        s3_uri=some.sampled_from([None, "s3://a-bucket/out"]),
        kms_key=some.sampled_from([None, "a-key"]),
        compress=some.booleans(),
    ),
    "network": some.sampled_from(
        [
            None,
            st.Network(isolation=True, encrypt_traffic=True),
            st.Network(subnets=("subnet-1", "subnet-2"), security_groups=("sg-1",)),
        ]
    ),
    "retries": some.sampled_from([None, 1, 30]),
    "profiler": some.booleans(),
    "debugger": some.booleans(),
}


def _compute(*names: str) -> Any:
    return some.builds(
        st.Compute,
        some.sampled_from(sorted(names or instances())),
        count=some.integers(1, 4),
        volume_gb=some.integers(1, 500),
        volume_kms_key=some.sampled_from([None, "a-key"]),
        keep_alive_s=some.sampled_from([None, 60, 3600]),
    )


def _pytorch() -> Any:
    return some.sampled_from(
        [
            st.PyTorch(row.pytorch, python=row.python)
            for row in (*images.rows("pytorch"), *images.rows("pytorch-compiler"))
        ]
    )


def _hugging_face() -> Any:
    rows = [*images.rows("huggingface"), *images.rows("huggingface-compiler")]
    return some.sampled_from([st.HuggingFace(str(r.transformers), pytorch=r.pytorch, python=r.python) for r in rows])


def _neuron() -> Any:
    rows = images.rows("huggingface-neuronx")
    return some.one_of(
        some.sampled_from([st.NeuronX(row.pytorch, neuron_sdk=row.neuron_sdk) for row in images.rows("neuronx")]),
        some.sampled_from([st.HuggingFaceNeuronX(str(row.transformers), pytorch=row.pytorch) for row in rows]),
    )


def _specs(source_dir: str, **parts: Any) -> Any:
    return some.builds(
        st.JobSpec,
        name=NAMES,
        script=some.just(st.Script("run_clm.py", source_dir=source_dir)),
        **{**SURROUNDINGS, **parts},
    )


def specs(source_dir: str) -> Any:
    """Any job, sensible or not, over the real catalogue."""
    return _specs(
        source_dir,
        framework=some.one_of(_pytorch(), _hugging_face(), _neuron()),
        compute=_compute(),
        distribution=DISTRIBUTIONS,
        compiler=some.sampled_from([None, None, st.TrainingCompiler(), st.TrainingCompiler(debug=True)]),
        neuron=NEURON,
    )


def _coherent(job: st.JobSpec) -> st.JobSpec:
    """Without what spot forbids."""
    if job.spot is None:
        return job
    named_twice = job.spot.checkpoint_s3_uri is not None
    cold = dataclasses.replace(job.compute, keep_alive_s=None)
    return job.replace(compute=cold, checkpoint=None if named_twice else job.checkpoint)


def sensible(source_dir: str) -> Any:
    """Jobs whose parts belong together, so that most of them pass preflight; every strategy among them."""
    return _sensible(source_dir).map(_coherent)


def _sensible(source_dir: str) -> Any:
    gpus = [name for name, row in instances().items() if row.accelerator is Accelerator.CUDA and row.trains]
    neurons = [name for name, row in instances().items() if row.accelerator is Accelerator.NEURON and row.trains]
    compiled = [name for name in gpus if instances()[name].family in compiler.COMPILER_FAMILIES]
    trcomp = some.one_of(
        some.sampled_from(
            [
                st.HuggingFace(str(r.transformers), pytorch=r.pytorch, python=r.python)
                for r in images.rows("huggingface-compiler")
            ]
        ),
        some.sampled_from([st.PyTorch(row.pytorch, python=row.python) for row in images.rows("pytorch-compiler")]),
    )
    spot = some.one_of(
        some.none(),
        some.just(st.Spot(max_wait_s=200_000)),
        some.just(st.Spot(max_wait_s=200_000, checkpoint_s3_uri="s3://a-bucket/k")),
    )
    smp_v2 = some.sampled_from([st.PyTorch(row.pytorch, python=row.python) for row in images.rows("pytorch-smp")])
    frameworks = some.one_of(_pytorch(), _hugging_face())
    smddp = some.builds(st.SMDataParallel, custom_mpi_options=MPI_OPTIONS)
    v2 = some.builds(st.SMModelParallelV2, tensor_parallel_degree=some.sampled_from([None, 2, 8]))
    return some.one_of(
        _specs(source_dir, framework=frameworks, compute=_compute(*gpus), distribution=DISTRIBUTIONS, spot=spot),
        _specs(
            source_dir, framework=frameworks, compute=_compute(*compiler.SMDDP_INSTANCES), distribution=smddp, spot=spot
        ),
        _specs(source_dir, framework=frameworks, compute=_compute(*gpus), distribution=SMP, spot=spot),
        _specs(
            source_dir,
            framework=smp_v2,
            compute=_compute("ml.p4d.24xlarge", "ml.p5.48xlarge"),
            distribution=v2,
            spot=spot,
        ),
        _specs(
            source_dir,
            framework=_neuron(),
            compute=_compute(*neurons),
            distribution=some.just(st.TorchDistributed()),
            neuron=NEURON,
            spot=spot,
        ),
        _specs(
            source_dir,
            framework=trcomp,
            compute=_compute(*compiled),
            distribution=some.sampled_from([st.PyTorchXLA(), None]),
            compiler=some.builds(st.TrainingCompiler, debug=some.booleans()),
            spot=spot,
        ),
    )

"""Hypothesis strategies for specs: anything over the real catalogue, and jobs that make sense."""

from __future__ import annotations

import dataclasses
import random
from typing import Any

from hypothesis import strategies as some

import sm_trn as st
from sm_trn.core.catalog import compiler, images, instances, limits
from sm_trn.core.specs import Accelerator

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
TAGS = some.dictionaries(
    some.from_regex(r"[a-z]{1,5}", fullmatch=True), some.sampled_from(["x", "a b", ""]), max_size=2
)
METRICS = some.sampled_from([st.TRAINER_METRICS, (), (st.MetricRule("loss", r"loss: ([0-9.]+)"),)])
OWN_IMAGE = "123456789012.dkr.ecr.us-east-1.amazonaws.com/own:1"
IMAGES = some.sampled_from([*[None] * 9, OWN_IMAGE])
REGIONS = some.sampled_from(sorted(images.regions()))
MPI_OPTIONS = some.sampled_from(["", "-verbose -x NCCL_DEBUG=VERSION"])


def _maybe(*values: Any) -> Any:
    """Mostly nothing, else one of these."""
    return some.sampled_from([None] * 4 * len(values) + list(values))


SMP = some.builds(
    st.SMModelParallel,
    active_microbatches=_maybe(1, 4),
    pipeline_parallel_degree=_maybe(1, 2),
    tensor_parallel_degree=_maybe(1, 2),
    auto_partition=_maybe(True, False),
    default_partition=_maybe(0, 1),
    contiguous=_maybe(True, False),
    load_partition=_maybe(True, False),
    partition_file=_maybe("a-file"),
    deterministic_server=_maybe(True, False),
    ddp_dist_backend=_maybe("auto", "nccl"),
    shard_optimizer_state=_maybe(True, False),
    sharded_data_parallel_degree=_maybe(2, 8),
    prescaled_batch=_maybe(True, False),
    fp16=_maybe(True, False),
    bf16=_maybe(True, False),
    offload_activations=_maybe(True, False),
    activation_loading_horizon=_maybe(2, 4),
    skip_tracing=_maybe(True, False),
    custom_mpi_options=MPI_OPTIONS,
    partitions=some.sampled_from([None, 1, 2, 4]),
    microbatches=some.sampled_from([None, 1, 4]),
    pipeline=some.sampled_from([None, "simple", "interleaved", "wrong"]),
    placement_strategy=some.sampled_from([None, "spread", "cluster", "DPT"]),
    fp16_params=_maybe(True, False),
    optimize=some.sampled_from([None, "speed", "memory"]),
    ddp=some.sampled_from([None, True]),
    horovod=some.sampled_from([None, True]),
    ddp_port=some.sampled_from([None, 8765]),
    memory_weight=some.sampled_from([None, 0.5, 1.5]),
    processes_per_host=some.sampled_from([None, 1, 4, 8, 16]),
)
SMP_V2 = some.builds(
    st.specs.SMModelParallelV2,
    hybrid_shard_degree=_maybe(0, 8),
    tensor_parallel_degree=some.sampled_from([None, 2, 8]),
    context_parallel_degree=_maybe(1, 2),
    expert_parallel_degree=_maybe(1, 2),
    activation_loading_horizon=_maybe(2, 4),
    sm_activation_offloading=_maybe(True, False),
    fsdp_cache_flush_warnings=_maybe(True, False),
    allow_empty_shards=_maybe(True, False),
    random_seed=_maybe(1, 2),
)
DISTRIBUTIONS = some.one_of(
    some.none(),
    some.just(st.specs.SingleProcess()),
    some.builds(st.TorchDistributed, workers_per_host=some.sampled_from([None, None, 1, 2, 3, 8, 32])),
    some.builds(st.SMDataParallel, custom_mpi_options=MPI_OPTIONS),
    some.just(st.PyTorchXLA()),
    some.builds(st.PyTorchDDP, custom_mpi_options=MPI_OPTIONS),
    some.builds(st.MPI, processes_per_host=some.sampled_from([None, 1, 2, 8]), custom_mpi_options=MPI_OPTIONS),
    SMP,
    SMP_V2,
)
OPTIONS = some.builds(
    st.specs.NeuronOptions,
    tensor_parallel=some.sampled_from([1, 2, 8]),
    pipeline_parallel=some.sampled_from([1, 2]),
    sequence_parallel=some.booleans(),
    precompile=some.booleans(),
    efa=some.sampled_from([None, True, False]),
    zero_1=some.booleans(),
    stochastic_rounding=some.booleans(),
    malloc_arena_max=some.sampled_from([None, 64]),
    cache_s3_uri=some.sampled_from([None, "s3://a-bucket/neuron-cache"]),
)
GUARDS = some.one_of(
    some.none(),
    some.builds(
        st.Guard,
        no_first_step_s=some.sampled_from([0, 600, 3600]),
        stall_s=some.sampled_from([0, 60, 1200]),
        pause_s=some.sampled_from([0, 900, 1800]),
        not_finite=some.booleans(),
        max_usd=_maybe(50.0),
        metric_evaluation_data_points=some.integers(1, 5),
        act=some.sampled_from(["tell", "stop"]),
        silence_suffices=some.booleans(),
    ),
)
NEURON = some.one_of(some.none(), OPTIONS)
CHANNELS = some.one_of(
    some.just("s3://a-bucket/data"),
    some.builds(
        st.Channel,
        some.sampled_from(["s3://a-bucket/data", "s3://a-bucket/data/"]),
        mode=some.sampled_from([None, *st.specs.InputMode]),
        spread=some.sampled_from(st.specs.Spread),
        kind=some.sampled_from([st.specs.S3Kind.PREFIX, st.specs.S3Kind.MANIFEST]),
        content_type=some.sampled_from([None, "text/csv"]),
        compression=some.sampled_from([None, "Gzip"]),
        record_wrapping=some.sampled_from([None, "RecordIO"]),
    ),
    some.builds(
        st.FileSystem,
        some.sampled_from(["fs-0123456789abcdef0", "fs-11112222"]),
        some.sampled_from(st.specs.FileSystemKind),
        directory=some.sampled_from(["/", "/squad/train"]),
        writable=some.booleans(),
        content_type=some.sampled_from([None, "text/csv"]),
    ),
    some.just(
        st.Channel(
            "s3://a-bucket/data",
            mode=st.specs.InputMode.PIPE,
            kind=st.specs.S3Kind.AUGMENTED_MANIFEST,
            record_wrapping="RecordIO",
        )
    ),
)
SPOTS = some.builds(
    st.Spot,
    max_wait_s=some.integers(1, 200_000),
    checkpoint_s3_uri=some.sampled_from([None, "s3://a-bucket/checkpoints"]),
    checkpoint_local_path=some.sampled_from([None, "/opt/ml/k"]),
)
# A part of a request that every SDK's default stands for.
KEPT = some.sampled_from(
    [
        *[()] * 9,
        (st.specs.Kept("/ProfilerConfig", instead_of='{"DisableProfiler":true}'),),
        (st.specs.Kept("/HyperParameters/sagemaker_container_log_level", sent='"10"', instead_of='"20"'),),
    ]
)
TENSORBOARD = some.sampled_from(
    [{}, {}, {"S3OutputPath": "s3://a-bucket/t"}, {"S3OutputPath": "s3://a-bucket/u", "LocalPath": "/var/t"}]
)
EXTRA = some.builds(
    lambda events, infra, debug: {
        **({"TensorBoardOutputConfig": events} if events else {}),
        **({"InfraCheckConfig": {"EnableInfraCheck": True}} if infra else {}),
        **({"RemoteDebugConfig": {"EnableRemoteDebug": True}} if debug else {}),
    },
    TENSORBOARD,
    some.booleans(),
    some.booleans(),
)
AROUND: dict[str, Any] = {
    "guard": GUARDS,
    "hyperparameters": HYPERPARAMETERS,
    "inputs": some.dictionaries(NAMES, CHANNELS, max_size=2),
    "spot": some.one_of(some.none(), SPOTS),
    "max_run_s": some.integers(1, 100_000),
    "environment": ENVIRONMENT,
    "tags": TAGS,
    "metrics": METRICS,
    "image_uri": IMAGES,
    "checkpoint": some.sampled_from(
        [None, st.Checkpoint(s3_uri="s3://a-bucket/c"), st.Checkpoint(s3_uri="s3://a-bucket/d", local_path="/opt/ml/c")]
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
            st.Network(isolation=True),
            st.Network(encrypt_traffic=True),
            st.Network(isolation=True, encrypt_traffic=True),
            st.Network(subnets=("subnet-1", "subnet-2"), security_groups=("sg-1",)),
            st.Network(subnets=("subnet-1",), security_groups=("sg-1",), isolation=True),
        ]
    ),
    "retries": some.sampled_from([None, 1, 30]),
    "extra": EXTRA,
}


# Instance types that the catalogue does not have: two of tomorrow, and those of the API that nothing describes.
UNKNOWN = ("ml.p9.48xlarge", "ml.m9i.large", *sorted({*limits.members("TrainingInstanceType")} - {*instances()}))


def instances_of(accelerator: Accelerator) -> list[str]:
    """The types that train."""
    return [name for name, row in instances().items() if row.accelerator is accelerator and row.trains]


def _compute(*names: str) -> Any:
    return some.builds(
        st.Compute,
        some.sampled_from(sorted(names or instances())),
        count=some.integers(1, 4),
        volume_gb=some.integers(1, 500),
        volume_kms_key=some.sampled_from([None, "a-key"]),
        keep_alive_s=some.sampled_from([None, 60, 3600]),
        training_plan=some.sampled_from([None, None, "arn:aws:sagemaker:us-west-2:111122223333:training-plan/a-plan"]),
    )


def _groups(*names: str) -> Any:
    members = some.lists(
        some.tuples(some.sampled_from(sorted(names or instances())), some.integers(1, 3)), min_size=1, max_size=3
    )
    groups = members.map(
        lambda drawn: tuple(
            st.specs.InstanceGroup(name=f"group-{index}", instance=name, count=count)
            for index, (name, count) in enumerate(drawn)
        )
    )
    return some.builds(st.Compute, groups=groups, volume_gb=some.integers(1, 500))


def _spelled(version: str | None, *, short: bool) -> str:
    return images.minor(str(version)) if short else str(version)


def _pytorch(*families: str) -> Any:
    rows = [row for family in families or ("pytorch", "pytorch-compiler") for row in images.rows(family)]
    return some.builds(
        lambda row, short: st.PyTorch(_spelled(row.pytorch, short=short), python=row.python or "py312"),
        some.sampled_from(rows),
        some.booleans(),
    )


def _hugging_face(*families: str) -> Any:
    rows = [row for family in families or ("huggingface", "huggingface-compiler") for row in images.rows(family)]
    return some.builds(
        lambda row, short: st.HuggingFace(
            _spelled(row.transformers, short=short), pytorch=_spelled(row.pytorch, short=short), python=row.python
        ),
        some.sampled_from(rows),
        some.booleans(),
    )


def _neuron() -> Any:
    rows = images.rows("huggingface-neuronx")
    return some.one_of(
        some.builds(
            lambda row, full: st.NeuronX(row.pytorch, **(_exactly(row) if full else {})),
            some.sampled_from(images.rows("neuronx")),
            some.booleans(),
        ),
        some.builds(
            lambda row, full: st.specs.HuggingFaceNeuronX(
                str(row.transformers), pytorch=row.pytorch, **(_exactly(row) if full else {})
            ),
            some.sampled_from(rows),
            some.booleans(),
        ),
    )


def _exactly(row: images.ImageRow) -> dict[str, str | None]:
    return {"python": row.python, "neuron_sdk": row.neuron_sdk}


NATIVE = some.sampled_from([st.TorchNeuron("2.14"), st.TorchNeuron("2.13.0")])
NATIVE_IMAGES = some.sampled_from(
    [
        OWN_IMAGE,
        "111122223333.dkr.ecr.us-west-2.amazonaws.com/pytorch-training-neuronx:2.14.0-neuronx-py314-sdk2.33.0-ubuntu26.04",
    ]
)
CONTAINERS = some.sampled_from([st.Container(), st.Container(algorithm="an-algorithm")])


def _scripts(source_dir: str) -> Any:
    here = st.Script("run_clm.py", source_dir=source_dir)
    beside = st.Script("run_clm.py", source_dir=source_dir, dependencies=(source_dir, f"{source_dir}/"))
    pinned = st.Script("run_clm.py", git=st.specs.Git("https://example.com/a/b.git", commit="0" * 40))
    branch = st.Script("examples/run_glue.py", git=st.specs.Git("https://example.com/a/c.git", branch="main"))
    return some.sampled_from([*[here] * 11, beside, pinned, branch, None, None])


# Values of fields that are seldom used. Each field has a random stream of its own, so that another field shifts no draw of these.
SELDOM: dict[str, list[Any]] = {
    "queue": [
        st.Queue("training"),
        st.Queue(
            "arn:aws:batch:us-west-2:111122223333:job-queue/training",
            priority=10,
            share="research",
            retry=st.specs.Retry(attempts=2, rules=(st.specs.RetryRule(action="EXIT", reason="*"),)),
            timeout_s=3600,
            tags={"team": "a"},
        ),
        st.Queue(
            "training",
            quota_share="research",
            preemptions=2,
            retry=st.specs.Retry(
                attempts=3,
                rules=(
                    st.specs.RetryRule(action="RETRY", reason="CapacityError*"),
                    st.specs.RetryRule(action="EXIT", reason="*"),
                ),
            ),
        ),
        st.Queue("training", retry=st.specs.Retry(attempts=4)),
    ],
}
REGISTRY = "arn:aws:lambda:us-west-2:111122223333:function:registry"
SELDOM_EXTRA: dict[str, list[Any]] = {
    "AlgorithmSpecification": [
        {"ContainerEntrypoint": ["python", "-m", "train"]},
        {"ContainerEntrypoint": ["/bin/sh"], "ContainerArguments": ["--epochs", "3"]},
        {"ContainerArguments": ["a b"], "TrainingImageConfig": {"TrainingRepositoryAccessMode": "Vpc"}},
        {
            "TrainingImageConfig": {
                "TrainingRepositoryAccessMode": "Platform",
                "TrainingRepositoryAuthConfig": {"TrainingRepositoryCredentialsProviderArn": REGISTRY},
            }
        },
    ],
    "StoppingCondition": [{"MaxPendingTimeInSeconds": 7200}],
    "SessionChainingConfig": [{"EnableSessionTagChaining": True}],
    "ExperimentConfig": [
        {"ExperimentName": "an-experiment", "RunName": "a-run"},
        {"TrialName": "a-trial", "TrialComponentDisplayName": "a-part"},
    ],
    "MlflowConfig": [{"MlflowResourceArn": "arn:aws:sagemaker:us-west-2:111122223333:mlflow-tracking-server/a"}],
    "ModelPackageConfig": [
        {"ModelPackageGroupArn": "arn:aws:sagemaker:us-west-2:111122223333:model-package-group/a"},
        {
            "ModelPackageGroupArn": "arn:aws:sagemaker:us-west-2:111122223333:model-package-group/b",
            "SourceModelPackageArn": "arn:aws:sagemaker:us-west-2:111122223333:model-package/b/1",
        },
    ],
    "ProfilerConfig": [
        {"DisableProfiler": False, "S3OutputPath": "s3://a-bucket/p", "ProfilingIntervalInMilliseconds": 500}
    ],
    "DebugHookConfig": [
        {"S3OutputPath": "s3://a-bucket/d", "CollectionConfigurations": [{"CollectionName": "losses"}]}
    ],
}
TRAINING_PLAN = "arn:aws:sagemaker:us-west-2:111122223333:training-plan/a-plan"
SELDOM_OF_COMPUTE: dict[str, list[Any]] = {
    "placement": [
        st.specs.Placement(shared=True),
        st.specs.Placement(servers=(st.specs.UltraServer(count=1), st.specs.UltraServer(count=2, server_id="us-1"))),
    ],
}
SELDOM_OF_CHANNEL: dict[str, list[Any]] = {
    "shuffle_seed": [0, 7],
    "attribute_names": [("image", "label")],
    "accept_eula": [True],
    "hub_content_arn": ["arn:aws:sagemaker:us-west-2:111122223333:hub-content/a/ModelReference/b"],
}
DATASET = st.specs.Dataset(
    "arn:aws:sagemaker:us-west-2:111122223333:hub-content/a-hub/DataSet/squad/1.0.0", content_type="text/csv"
)


def _rarely(values: dict[str, list[Any]], seed: str, *, one_in: int) -> dict[str, Any]:
    """Some of the fields, each with one of its values. What a field gets depends on its name and the seed alone."""
    chosen = {}
    for name, choices in values.items():
        stream = random.Random(f"{seed}/{name}")
        if stream.randrange(one_in) == 0:
            chosen[name] = stream.choice(choices)
    return chosen


def _with_seldom_fields(job: st.JobSpec, number: int) -> st.JobSpec:
    compute = dataclasses.replace(job.compute, **_rarely(SELDOM_OF_COMPUTE, f"{number}/compute", one_in=25))
    inputs = dict(job.inputs)
    for name, channel in job.channels.items():
        changes = _rarely(SELDOM_OF_CHANNEL, f"{number}/inputs/{name}", one_in=25)
        if changes:
            inputs[name] = dataclasses.replace(channel, **changes)
    inputs |= _rarely({"squad": [DATASET, st.specs.Dataset(DATASET.dataset_arn + "0")]}, f"{number}/dataset", one_in=50)
    extra = {**job.extra, **_rarely(SELDOM_EXTRA, f"{number}/extra", one_in=80)}
    changed = job.replace(compute=compute, inputs=inputs, extra=extra, **_rarely(SELDOM, str(number), one_in=80))
    if _rarely({"preferences": [True]}, f"{number}/preferences", one_in=50) and compute.instance:
        first = st.specs.InstancePreference(compute.instance)
        second = st.specs.InstancePreference("ml.p5.48xlarge", count=2, training_plan=TRAINING_PLAN)
        several = (first,) if number % 2 else (dataclasses.replace(first, count=1), second)
        count = compute.count if number % 2 else 1  # one count: the job's, or each preference's own
        return changed.replace(compute=dataclasses.replace(compute, instance="", count=count, preferences=several))
    if _rarely({"serverless": [True]}, f"{number}/serverless", one_in=60):
        return _serverless(changed, number)
    return changed


def _serverless(job: st.JobSpec, number: int) -> st.JobSpec:
    """A job without machines and program, around which everything else stays."""
    model = "arn:aws:sagemaker:us-west-2:aws:hub-content/SageMakerPublicHub/Model/a-model/1.0.0"
    config = {
        "BaseModelArn": model,
        "JobType": "FineTuning",
        "AcceptEula": True,
        "CustomizationTechnique": "SFT",
        "Peft": "LORA",
    }
    if number % 2:
        config = {"BaseModelArn": f"{model}0", "JobType": "Evaluation", "EvaluationType": "BenchmarkEvaluation"}
    extra = {
        name: value for name, value in job.extra.items() if name not in {"AlgorithmSpecification", "ProfilerConfig"}
    }
    return job.replace(
        extra={**extra, "ServerlessJobConfig": config}, compute=st.Compute(st.specs.SERVERLESS), framework=st.Container(), script=None,
        distribution=None, compiler=None, neuron=None, image_uri=None, spot=None, kept=(), metrics=(),
    )  # fmt: skip


def _specs(source_dir: str, **parts: Any) -> Any:
    jobs = some.builds(st.JobSpec, name=NAMES, script=_scripts(source_dir), **{**AROUND, **parts})
    return some.builds(_with_seldom_fields, jobs, some.integers(0, 2**32))


def specs(source_dir: str) -> Any:
    """Any job, sensible or not, over the real catalogue."""
    return _specs(
        source_dir,
        framework=some.one_of(_pytorch(), _hugging_face(), _neuron(), NATIVE, CONTAINERS),
        compute=some.one_of(_compute(), _compute(*UNKNOWN), _groups()),
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
    return _sensible(source_dir).map(_coherent).map(_named).map(_grouped).map(_reachable)


def _named(job: st.JobSpec) -> st.JobSpec:
    """A Container with an image, or with an algorithm; a job without a script with an image that has a program of its own."""
    if job.script is None:
        job = job.replace(distribution=None, compiler=None, neuron=None, image_uri=job.image_uri or OWN_IMAGE)
    if not isinstance(job.framework, st.Container):
        return job
    return job.replace(image_uri=None if job.framework.algorithm else job.image_uri or OWN_IMAGE)


def _reachable(job: st.JobSpec) -> st.JobSpec:
    """A network where a file system needs one."""
    if not job.file_systems or (job.network is not None and job.network.subnets):
        return job
    isolation = job.network is not None and job.network.isolation
    return job.replace(network=st.Network(subnets=("subnet-1",), security_groups=("sg-1",), isolation=isolation))


def _grouped(job: st.JobSpec) -> st.JobSpec:
    """Channels for the first group only, where there are groups."""
    names = tuple(group.name for group in job.compute.groups)[:1]
    inputs = {name: dataclasses.replace(channel, groups=names) for name, channel in job.channels.items()}
    return job.replace(inputs={**job.inputs, **inputs}) if names and job.retries == 1 else job


def _sensible(source_dir: str) -> Any:
    gpus, neurons, cpus = map(instances_of, (Accelerator.CUDA, Accelerator.NEURON, Accelerator.CPU))
    compiled = [name for name in gpus if instances()[name].family in compiler.COMPILER_FAMILIES]
    trcomp = some.one_of(_hugging_face("huggingface-compiler"), _pytorch("pytorch-compiler"))
    spot = some.one_of(
        some.none(),
        some.just(st.Spot(max_wait_s=200_000)),
        some.just(st.Spot(max_wait_s=300_000, checkpoint_s3_uri="s3://a-bucket/k")),
        some.just(st.Spot(max_wait_s=200_000, checkpoint_s3_uri="s3://a-bucket/k", checkpoint_local_path="/opt/ml/k")),
    )
    frameworks = some.one_of(_pytorch("pytorch"), _hugging_face("huggingface"))
    smddp = some.builds(st.SMDataParallel, custom_mpi_options=MPI_OPTIONS)
    one = some.sampled_from([None, st.specs.SingleProcess()])

    def jobs(**parts: Any) -> Any:
        return _specs(source_dir, **{"spot": spot, "kept": KEPT, **parts})

    return some.one_of(
        jobs(framework=frameworks, compute=_compute(*gpus), distribution=DISTRIBUTIONS),
        jobs(framework=_pytorch("pytorch"), compute=_compute(*cpus), distribution=some.one_of(one, DISTRIBUTIONS)),
        jobs(framework=frameworks, compute=some.one_of(_groups(*gpus, *cpus), _groups(*gpus)), distribution=one),
        jobs(framework=frameworks, compute=_groups(), distribution=DISTRIBUTIONS),
        jobs(framework=frameworks, compute=_compute(*UNKNOWN), distribution=some.one_of(one, DISTRIBUTIONS)),
        jobs(
            framework=CONTAINERS,
            compute=some.one_of(_compute(), _groups()),
            distribution=some.one_of(one, DISTRIBUTIONS),
        ),
        jobs(framework=_pytorch("pytorch"), compute=_compute(*compiler.SMDDP_INSTANCES), distribution=smddp),
        jobs(framework=frameworks, compute=_compute(*gpus), distribution=SMP),
        jobs(
            framework=_pytorch("pytorch-smp"),
            compute=_compute("ml.p4d.24xlarge", "ml.p5.48xlarge"),
            distribution=SMP_V2,
        ),
        jobs(
            framework=_neuron(),
            compute=some.one_of(_compute(*neurons), _groups(*neurons)),
            distribution=some.one_of(some.just(st.TorchDistributed()), DISTRIBUTIONS),
            neuron=NEURON,
        ),
        jobs(
            framework=_neuron(),
            compute=_compute(*neurons),
            distribution=some.just(st.TorchDistributed()),
            neuron=OPTIONS,
        ),
        jobs(
            framework=NATIVE,
            compute=_compute("ml.trn2.48xlarge", "ml.trn2u.48xlarge"),
            distribution=some.one_of(
                one, some.builds(st.TorchDistributed, workers_per_host=some.sampled_from([None, 4, 64]))
            ),
            image_uri=NATIVE_IMAGES,
        ),
        jobs(
            framework=trcomp,
            compute=_compute(*compiled),
            distribution=some.sampled_from([st.PyTorchXLA(), None]),
            compiler=some.builds(
                st.TrainingCompiler, enabled=some.sampled_from([True, True, False]), debug=some.booleans()
            ),
            image_uri=some.none(),
        ),
    )

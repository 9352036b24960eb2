"""The rules that strategies share: what is looked for, and why. Strategies import this table, never one another."""

from ..specs.problems import Rule, Severity

ERROR, WARNING, INFO = (Severity.ERROR,), (Severity.WARNING,), (Severity.INFO,)

DIST002 = Rule(
    "DIST002",
    ERROR,
    "torchrun on a CPU instance",
    "AWS's toolkit starts torchrun on GPUs and NeuronCores only.",
    "SageMaker SDK 2.257.7, validate_torch_distributed_distribution",
)
DIST003 = Rule(
    "DIST003",
    ERROR,
    "a strategy for NVIDIA GPUs on an instance without them",
    "SMDDP, the model-parallel library and pytorchddp are built on CUDA.",
    "SageMaker SDK 2.257.7, validate_distribution_for_instance_type",
)
DIST004 = Rule(
    "DIST004",
    (Severity.ERROR, Severity.WARNING),
    "a library on an instance that it does not support",
    "The libraries run on some GPU instances only; SMDDP's launcher starts workers elsewhere too, for torch's own DDP.",
    "SageMaker developer guide, distributed-data-parallel-support",
)
DIST005 = Rule(
    "DIST005",
    WARNING,
    "an instance for which AWS has stopped developing SMDDP",
    "The current guide lists p4d and p4de only.",
    "SageMaker developer guide, distributed-data-parallel-support",
)
DIST006 = Rule(
    "DIST006",
    ERROR,
    "a PyTorch version whose container has no SMDDP",
    "The library is part of the container, up to PyTorch 2.2.",
    "SageMaker developer guide, distributed-data-parallel-support",
)
DIST007 = Rule(
    "DIST007",
    ERROR,
    "a distribution other than torch_distributed on Trainium",
    "Neuron containers start workers with torchrun only.",
    "SageMaker SDK 2.257.7, validate_distribution_for_instance_type",
)
DIST010 = Rule(
    "DIST010",
    ERROR,
    "torchrun in a GPU container that does not have it",
    "GPU containers have torchrun from PyTorch 1.13 on.",
    "SageMaker SDK 2.257.7, TORCH_DISTRIBUTED_GPU_SUPPORTED_FRAMEWORK_VERSIONS",
)
DIST011 = Rule(
    "DIST011", WARNING, "several hosts without EFA", "Gradients go over plain TCP, which is many times slower than EFA."
)
DIST012 = Rule(
    "DIST012",
    INFO,
    "SMDDP on one host",
    "Its all-reduce is faster between hosts; on one host NCCL is as fast.",
    "SMDDP release notes, 2021",
)
DIST013 = Rule(
    "DIST013",
    ERROR,
    "pytorchxla without the Training Compiler",
    "The launcher exists in the compiler's containers only.",
    "SageMaker SDK 2.257.7, validate_torch_distributed_distribution",
)
DIST014 = Rule(
    "DIST014",
    ERROR,
    "pytorchddp with the PyTorch estimator",
    "SDK v2 rewrites it into smdistributed.dataparallel without a word.",
    "SageMaker SDK 2.257.7, PyTorch.__init__",
)
DIST015 = Rule(
    "DIST015",
    ERROR,
    "more processes than accelerators on a host",
    "Two processes would need one GPU; the container refuses to start them.",
    "aws/amazon-sagemaker-examples issue 2023",
)
DIST016 = Rule(
    "DIST016",
    ERROR,
    "a number of workers that the instance cannot run",
    "NeuronCores can be grouped in some counts only; a GPU takes one worker.",
)
DIST017 = Rule(
    "DIST017",
    ERROR,
    "an option of the model-parallel library that does not fit the others",
    "The library refuses it after the machines have started.",
    "SageMaker developer guide, model-parallel (v1)",
)
DIST018 = Rule(
    "DIST018",
    INFO,
    "version 1 of the model-parallel library",
    "AWS archived it in December 2023.",
    "SageMaker developer guide, model-parallel (v1)",
)
DIST019 = Rule(
    "DIST019",
    ERROR,
    "version 2 of the model-parallel library outside its PyTorch images",
    "The library is part of images of its own.",
    "SageMaker developer guide, model-parallel-v2",
)
DIST023 = Rule(
    "DIST023",
    WARNING,
    "fewer processes than GPUs",
    "mpirun starts as many processes as it is told; the other GPUs are billed and idle.",
    "sagemaker-training 5.1.4, mpi.py: as many processes as it is told",
)

"""Why a job failed: real texts find their cause, a healthy log finds none, and no text takes long."""

from __future__ import annotations

import json
import math
import os
import random
from collections.abc import Mapping
from pathlib import Path

import jobs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

import sm_trn as st
from sm_trn.core.logs import LogEvent
from sm_trn.core.specs.problems import AnyOf, Change
from sm_trn.core.specs.snapshot import parse_snapshot
from sm_trn.diagnosis.causes.cause import Confidence
from sm_trn.diagnosis.causes.diagnose import JobText, read_events
from sm_trn.diagnosis.causes.entries import Role, entries, fragment, match
from sm_trn.diagnosis.causes.reading import SHAPES, LogReading

CORPUS = Path(os.environ.get("SM_TRN_CORPUS", Path(__file__).resolve().parents[3] / "shared" / "corpus"))
corpus = pytest.mark.skipif(
    not CORPUS.is_dir(), reason="the corpus of public logs is not beside the checkout (SM_TRN_CORPUS)"
)
WINDOWS = 1_000
LOGS = sorted((CORPUS / "logs").glob("*.txt")) if CORPUS.is_dir() else []
# Logs of jobs that failed, or never ran; all others are healthy.
FAILED: Mapping[str, tuple[str, ...]] = {
    "falcon_p4d_capacityerror.txt": ("capacity.insufficient",),
    "hf_fsdp_p4d_1node_failed_device_mismatch.txt": ("script.device",),
    "hf_llama3_failed_torchrun_modulenotfound.txt": ("script.module_missing",),
    "smddp_maskrcnn_p3_16xl_4node_failed.tail.txt": ("script.exception",),
    "smp_bert_p3_16xl_failed_mpirun.txt": ("image.library_missing",),
    "trcomp_tf_vit_optimized_metrics_frame.txt": ("none", "unknown"),  # a table of numbers, no log
}
# errors.json by place: only records whose text is the service's own.
ERRORS: Mapping[str, tuple[str, ...]] = {
    "ResourceLimitExceeded": ("api.quota", "api.no_such_type"),
    "ThrottlingException": ("api.throttled",),
    "ExpiredToken": ("api.login_expired",),
    "CapacityError": ("capacity.insufficient",),
    "AccessDeniedException": ("api.access_denied",),
    "ResourceInUse": ("api.name_in_use",),
    "EntityAlreadyExists": ("api.name_in_use",),
    "RepositoryAlreadyExistsException": ("api.name_in_use",),
    "InternalServerError": ("platform.internal_error",),
}


@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.stem)
def test_a_real_log_has_its_cause_and_a_healthy_one_none(path: Path) -> None:
    assert st.why(path).id in FAILED.get(path.name, ("none",))


@pytest.mark.parametrize("path", [each for each in LOGS if each.name not in FAILED], ids=lambda path: path.stem)
def test_no_line_of_a_healthy_log_speaks_for_a_cause(path: Path) -> None:
    """Each alone, as a log's: nothing before it, and no success behind it that would excuse it."""
    found = []
    for text in dict.fromkeys(path.read_text("utf-8", "replace").splitlines()):
        reading = LogReading(lambda line: (math.nan, "algo-1", line), log=True)
        reading.feed(LogEvent(math.nan, "algo-1", text), 1)
        found += [each.match.entry for each in reading.findings if each.match is not None]
    causes = {row.id for row in found if row.role not in {"noise", "state"}}
    # A notebook's own poll was throttled: the service said so.
    assert causes == ({"api.throttled"} if path.name == "spot_mxnet_debugger_2021.txt" else set())


@corpus
def test_lines_cut_out_of_a_healthy_log_hardly_ever_have_a_cause(tmp_path: Path) -> None:
    """Few lines are read as what somebody asks about: level, library and form of a line say that it is no complaint."""
    draw, wrong = random.Random(14), []
    texts = [path.read_text("utf-8", "replace").splitlines() for path in LOGS if path.name not in FAILED]
    for _ in range(WINDOWS):
        lines, number = draw.choice(texts), draw.choice((1, 2, 5, 13, 40))
        at = draw.randrange(max(1, len(lines) - number + 1))
        (tmp_path / "cut.log").write_text("\n".join(lines[at : at + number]) + "\n", "utf-8")
        found = st.why(tmp_path / "cut.log")
        if found.cause is not None and found.id not in {"unknown", "api.throttled", "net.efa_not_used"}:
            # The last two are told, and stand there.
            assert found.cause.confidence is not Confidence.CERTAIN, found
            wrong.append(found)
    assert len(wrong) <= WINDOWS / 100, wrong


@corpus
def test_real_error_texts_find_their_cause() -> None:
    records = json.loads((CORPUS / "errors.json").read_text("utf-8"))
    known = [each for each in records if each["verbatim"] and each.get("code") in ERRORS]
    assert len(known) >= 15
    wrong = [
        (each["message"], st.why(each["message"]).id)
        for each in known
        if st.why(each["message"]).id not in ERRORS[each["code"]]
    ]
    assert [] == wrong


DENIED = "User: arn:aws:sts::1:assumed-role/r/x is not authorized to perform: {} on resource: arn:aws:x {}"


@pytest.mark.parametrize(
    ("cause", "confidence", "texts"),
    [
        # "certain" supposes nothing that the text does not show: each kind as strangers met it, and five of our own.
        ("script.entry_point", "certain", [
            "/opt/conda/bin/python3.11: No module named pipeline/train", "/miniconda3/bin/python: No module named train.py.main",
            "/usr/bin/python3.10: No module named src/pipelines.__main__", "/opt/conda/bin/python: No module named pip_train",
            "ErrorMessage \"/opt/conda/bin/python3.12: No module named a/b\nExitCode 1",
        ]),
        ("pip.failed", "certain", [
            "/opt/conda/bin/python3.11: No module named pip", "ERROR: No matching distribution found for a==9",
            "ERROR: Failed building wheel for flash-attn", "ERROR: ResolutionImpossible: for help visit https://pip.pypa.io",
            "error: could not compile `tokenizers`\nERROR: Failed to build installable wheels",
        ]),
        ("pip.failed", "likely", [
            "error: could not compile `my_kernel`", "fatal error: Python.h: No such file", "error: command 'gcc' failed with exit status 1",
            "OSError: CUDA_HOME environment variable is not set.", "error: invalid command 'bdist'",
        ]),
        ("checkpoint.missing", "certain", [
            "ValueError: No valid checkpoint found in output directory (/opt/ml/checkpoints)",
            "ValueError: Can't find a valid checkpoint at /opt/ml/checkpoints/checkpoint-1",
            "FileNotFoundError: [Errno 2] No such file or directory: '/opt/ml/checkpoints/last.pt'",
            "RuntimeError: No checkpoint found at /opt/ml/checkpoints", "OSError: checkpoint /opt/ml/checkpoints/a does not exist",
        ]),
        ("checkpoint.incompatible", "certain", [
            "RuntimeError: Error(s) in loading state_dict for Net:",
            "ValueError: loaded state dict has a different number of parameter groups",
            "_pickle.UnpicklingError: invalid load key, '<'.", "RuntimeError: PytorchStreamReader failed reading zip archive",
            "safetensors_rust.SafetensorError: Error while deserializing header: HeaderTooLarge",
        ]),
        ("checkpoint.incompatible", "likely", [
            "OSError: /opt/ml/input/data/a does not appear to have a file named b.", "OSError: Error no file named model.bin, tf_model.h5",
            "ValueError: Unrecognized model in /opt/ml/model. Should have a `model_type` key", "ValueError: cannot load checkpoint",
            "OSError: org/name does not appear to have files named ('a',).",
        ]),
        ("api.explicit_deny", "certain", [
            DENIED.format("s3:PutObject", "with an explicit deny in a service control policy"),
            DENIED.format("kms:Decrypt", "with an explicit deny in a resource-based policy"),
            DENIED.format("iam:PassRole", "with an explicit deny in a permissions boundary"),
            DENIED.format("sagemaker:CreateTrainingJob", "with an explicit deny in an identity-based policy"),
            "ClientError: An error occurred (AccessDeniedException): not authorized to perform: ecr:X with an explicit deny",
        ]),
        ("api.access_denied", "certain", [
            DENIED.format("sagemaker:AddTags", f"because no identity-based policy allows the {action} action")
            for action in ("a:B", "c:D", "e:F", "g:H")
        ] + ["ValidationException: Could not assume role arn:aws:iam::1:role/x"]),
        ("api.access_denied", "likely", [
            DENIED.format("batch:Run", "because no resource-based policy allows the batch:Run action"),
            DENIED.format("sns:Publish", "because no permissions boundary allows the action"),
            DENIED.format("sqs:Send", "because no service control policy allows the action"),
            DENIED.format("sagemaker:AddTags", ""), "AccessDeniedException: you may not",
        ]),
        ("api.kms_local_disk", "certain", [
            "ValidationException: VolumeKmsKeyId is not supported for ml.g5.xlarge",
            "You can't specify a VolumeKmsKeyId with local storage",
            "ValidationException: Volume KMS key is not supported for instance type ml.p4d.24xlarge with local NVMe storage",
            "ClientError: a KMS key cannot be used with local disks",
            "ValidationException: KMS key given for a type with instance storage",
        ]),
        ("neuron.cached_failure", "certain", [
            f"RuntimeError: {text}"
            for text in ("Got a cached failed neff at /var/tmp/a.", "found a failed neff entry MODULE_1", "cached failed neff; skip",
                         "a failed neff is in cache", "Got a cached failed neff at s3://b/c. Will skip compilation")
        ]),
        ("dist.fsdp_flat", "likely", [
            "RuntimeError: mat2 must be a matrix, got 1-D tensor", "RuntimeError: 'weight' must be 2-D",
            "RuntimeError: size mismatch, got input (8192), mat (8192x4096), vec (0)",
            "RuntimeError: weight should have at least three dimensions", "AssertionError: FlatParameter is not sharded",
        ]),
        ("image.library_missing", "certain", [
            f"{name}: cannot open shared object file: No such file or directory"
            for name in ("ImportError: libxml2.so.2", "neuronx-cc: error while loading shared libraries: libxml2.so.2", "OSError: a.so.1",
                         "OSError: libcudart.so.11.0", "ImportError: libodd.so.1")
        ]),
    ],
)  # fmt: skip
def test_a_cause_is_certain_only_where_its_fix_supposes_nothing(cause: str, confidence: str, texts: list[str]) -> None:
    found = {text: st.why(text) for text in texts}
    assert {} == {
        text: (each.id, each.confidence.value)
        for text, each in found.items()
        if (each.id, each.confidence.value) != (cause, confidence)
    }


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("ExitCode 137\nErrorMessage \"\"\nExtraInfo \"OutOfMemory: Process killed by SIGKILL (signal 9)\"", "mem.host_oom"),
        ("RuntimeError: DataLoader worker (pid 312) is killed by signal: Bus error.", "mem.shm"),
        ("RuntimeError: DataLoader worker (pid 312) is killed by signal: Killed.", "mem.host_oom"),
        ("OSError: [Errno 28] No space left on device: '/opt/ml/checkpoints/5'", "disk.full"),
        ("train.py: error: unrecognized arguments: --epoch 3", "script.arguments"),
        ("FileNotFoundError: [Errno 2] No such file or directory: '/opt/ml/input/data/train/a.csv'", "data.missing_channel"),
        ("exec /usr/bin/train: exec format error", "image.arch"),
        ("ERROR: No matching distribution found for torch==9.9", "pip.failed"),
        ("[F137] neuronx-cc was forcibly killed", "neuron.compile_oom"),
        ("{'loss': 0.0, 'grad_norm': nan, 'learning_rate': 0.00001, 'epoch': 0.5}", "num.nan"),
        ("{'loss': 0.7, 'grad_norm': nan, 'learning_rate': 0.00001, 'epoch': 0.5}", "none"),
        ("W tensorflow/core/framework/op_kernel.cc:1: OP_REQUIRES failed: nrt_execute: status=1004", "neuron.runtime"),
        ("ValueError: label 7 out of range for 2 classes", "script.exception"),
        ("Memory on the node was 219 GB / 230 GB, which exceeds the memory usage threshold of 0.95.", "mem.host_oom"),
        ("ERROR: [EUOC002] An unsupported operator was used.", "neuron.compile_error"),
        ("OSError: [Errno 116] Stale file handle: mount of Lustre file system fs-0a1b was lost", "data.mount"),
        ("RuntimeError: DDP expects same model across all ranks, but Rank 1 has 201 params", "dist.desync"),
        ("AlgorithmError: ExecuteUserScriptError:\nCommand \"python train.py\", exit code: 1", "unknown"),
        ("An error occurred (ValidationException) when calling X: Cannot find the requested image: a/b", "image.pull"),
        ("WARNING: overflow detected, setting loss scale to: 0.0009765625", "num.loss_scale"),
        ("WARNING: overflow detected, setting loss scale to: 0.25", "unknown"),
        ("[WARNING] [runner.py:215] Unable to find hostfile, will proceed with local resources only.", "unknown"),
        ("Make sure to have access to it at https://huggingface.co/a/b.", "hub.gated"),
        ("NCCL WARN NET/OFI Unable to create endpoint", "net.efa_error"),
        ("[rank5]:[W427 17:25:37.3 ProcessGroupNCCL.cpp:41] give init_process_group() a device, or it may hang", "unknown"),
        ("W horovod/stall.cc:9] tensors were submitted by a subset of ranks", "dist.desync"),
        ("NCCL WARN Failed to open libibverbs.so[.1]", "unknown"),
        ("hf://datasets/a/b.parquet not found in cache, downloading to /tmp/x.incomplete", "unknown"),
        ("debug1: Exit status 127\nORTE was unable to reliably start one or more daemons.", "dist.mpi_start"),
        ("PyTorch no longer supports this GPU because it is too old.", "image.driver"),
        ("[WARNING] [stage3.py:1850:step] the allocator flushed its cache under high memory pressure", "unknown"),
        ("  77:77   INFO   NRT:nrt_allocate_neuron_cores   device count:1, cores per device:2", "unknown"),
        ("2024-01-01 10:00:00.1: W lib/parallel/split.py:12] no room was asked for, it is ignored", "unknown"),
        ("[launch.py:9:sigkill_handler] ['python', 'train.py', '--local_rank=1'] exits with return code = 1", "unknown"),
        ("[launch.py:9:sigkill_handler] ['python', 'train.py'] exits with return code = -9", "mem.host_oom"),
        ("+ orted -mca ess env -mca orte_default_hostfile /etc/mpi/hostfile", "unknown"),
        ("me@host:/work# horovodrun --start-timeout 9 -np 2 python train.py", "unknown"),
        ("{'ddp': True, 'microbatches': 2, 'strategy': 'smdistributed, no more'}", "unknown"),
        ("{'loss': nan, 'learning_rate': 4e-05, 'epoch': 0.2}", "num.nan"),
        ("ClientError: An error occurred (400) when calling the HeadObject operation: Bad Request", "unknown"),
        ("enforce fail at inline_container.cc:9: PytorchStreamReader failed reading zip archive", "checkpoint.incompatible"),
        ("  File \"/a/train.py\", line 3, in main\n    run()\n**RuntimeError: CUDA out of memory.** Tried 2 GiB", "mem.cuda_oom"),
        ("NCCL WARN Call to posix_fallocate failed : No space left on device", "mem.shm"),
        ("WARNING:elastic.agent.server.api:Received 2 death signal, shutting down workers", "stop.user"),
        ("train.py: error: unrecognized arguments: --local_rank=1", "script.arguments"),
        ("ERROR 7 [job.WalrusDriver.0]: Backend exited with code -9\n[F137] neuronx-cc was killed", "neuron.compile_oom"),
        ("libfabric:7:core:fi_getinfo_():13<info> provider x returned -61 (No data available)", "unknown"),
        ("CalledProcessError: Command '['/usr/bin/python3', 'train.py']' returned non-zero exit status 1.", "unknown"),
        ("Is EFA supported with this type? I could not find it.", "unknown"),
        ("I could not find out whether the tokenizer is the problem", "unknown"),
        ("I get RuntimeError: CUDA out of memory, what can I do?", "mem.cuda_oom"),
        ("Error pulling image (latest): ApplyLayer: write /x: no space left on device", "disk.full"),
        ("Error pulling image (latest): the layer is gone", "image.pull"),
        ("srun: error: node7: task 3: Out Of Memory", "mem.host_oom"),
        ("train.py: error: unrecognized arguments: --error_level 3", "script.arguments"),
        ("ModuleNotFoundError: No module named 'smdebug.core'", "script.module_missing"),
        ("smdebug.core has no module named so", "unknown"),
        ("Unable to load optimizer from checkpoint /c, exiting.", "checkpoint.incompatible"),
        ("Loaded optimizer from checkpoint /c", "unknown"),
        ("ConnectionClosedError: closed before we received a valid response from endpoint URL", "data.no_route"),
        ("Error when retrieving credentials from x: Error retrieving metadata: none", "api.login_expired"),
        ("Failed to get spot instances: capacity-not-available", "capacity.insufficient"),
        ("torch._dynamo compiled the frame", "unknown"),
        ("ClientError: Failed to invoke sagemaker:CreateModel: x is not authorized to perform: y", "api.access_denied"),
        ("the call failed (Service: EC2; Error Code: InvalidGroup.NotFound)", "api.not_found"),
        ("RuntimeError: some background workers are no longer alive", "mem.worker_killed"),
        ("The tokenizer differs from the checkpoint's, which may result in unexpected tokens", "unknown"),
        ("Exception ignored in: <function close>\nOSError: [Errno 9] Bad file descriptor", "unknown"),
        ("acme._core.exc.Unsupported: a call of print()", "script.exception"),
        ("Exception: too short", "script.exception"),
        ("RuntimeError: weight of size [64, 3, 7, 7], expected an input with 3 channels, but got 1 channels", "script.exception"),
        ("[I socket.cpp:6] [c10d] The server socket has started to listen on [::]:29500.", "unknown"),
        ("The node was low on resource: memory.", "mem.host_oom"),
        ("The node was low on resource: ephemeral-storage.", "disk.full"),
        ("sagemaker.exceptions.UnexpectedStatusException: Error for Training job a: Failed. Reason: ClientError: ", "unknown"),
        ("SystemExit: 1", "unknown"),
        ("AssertionError: Check batch related parameters. 8 != 4 * 1 * 1", "dist.launcher_mismatch"),
        ("OCI runtime create failed: nvidia-container-cli: requirement error: unsatisfied condition: cuda >= 9", "image.driver"),
        ("cuda_dnn.cc:385] could not create cudnn handle: CUDNN_STATUS_INTERNAL_ERROR", "cuda.kernel_error"),
        ("E cuda_dnn.cc:9] Unable to register cuDNN factory: one is there already", "unknown"),
        ("InternalError: Blas SGEMM launch failed : m=10", "cuda.kernel_error"),
        ("src/storage/pool.h:161: cudaMalloc retry failed: out of memory", "mem.cuda_oom"),
        ("NCCL WARN Error: failed to extend /dev/shm/nccl-a to 9637892 bytes", "mem.shm"),
        ("ClientError: the role may not: User is not authorized to perform kms:Decrypt", "data.kms"),
        ("error: Invalid distribution name or version syntax: ./a-1.0.0", "pip.failed"),
        ("ValueError: host not found: Name or service not known", "dist.rendezvous"),
        ("JobId=127441 WTERMSIG 9", "mem.host_oom"),
        ("InternalServerError: we are unable to provision the instances", "capacity.insufficient"),
        ("OSError: key 'a' in bucket 'b': AWS Error ACCESS_DENIED during HeadObject operation", "data.s3_access_denied"),
        ("ERROR TDRV:dma_ring_allocate No more pages for ring type: 1", "mem.neuron_oom"),
        ("ImportError: Missing optional dependency 'odd'.", "script.module_missing"),
        ("ncclUnhandledCudaError: Call to CUDA function failed.\nCuda failure 'out of memory'", "mem.cuda_oom"),
        ("tar: optimizer.pt: Wrote only 4096 of 10240 bytes", "disk.full"),
        ("E cuda_dnn.cc:4] Loaded runtime CuDNN library: 8.5.0 but source was compiled with: 8.6.0.", "image.abi"),
        ("The exit codes of the workers are {SIGKILL(-9)}", "mem.host_oom"),
        ("ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device", "disk.full"),
        ("PermissionError: [Errno 13] Permission denied: '/opt/ml/checkpoints/a'", "script.exception"),
        ("ValueError: Token is required, but no token found.", "hub.gated"),
        ("TypeError: TrainingArguments.__init__() got an unexpected keyword argument 'evaluation_strategy'", "script.library_version"),
        ("TypeError: SFTTrainer.__init__() got an unexpected keyword argument 'tokenizer'", "script.library_version"),
        ("TypeError: Reader.__init__() got an unexpected keyword argument 'size'", "script.exception"),
        ("ValueError: Asking to pad but the tokenizer does not have a padding token.", "data.padding"),
        ("ValueError: Unable to create tensor, you should probably activate truncation and/or padding", "data.padding"),
        ("ValueError: Target modules {'query_key_value'} not found in the base model.", "script.lora_modules"),
        ("IndexError: index out of range in self", "script.token_index"),
        ("RuntimeError: element 0 of tensors does not require grad and does not have a grad_fn", "script.no_gradient"),
        ("ValueError: Attempting to unscale FP16 gradients.", "script.half_weights"),
        ("wandb.errors.errors.UsageError: api_key not configured (no-tty). call wandb.login(key=[x])", "script.tracking_key"),
        ("/bin/sh: 1: Syntax error: Unterminated quoted string", "script.shell"),
        ('/bin/sh: -c: line 0: syntax error near unexpected token `(\'', "script.shell"),
        ("jinja2.exceptions.TemplateError: Conversation roles must alternate user/assistant/user/assistant/...", "data.chat_template"),
        ("ValueError: Cannot use chat template functions because tokenizer.chat_template is not set", "data.chat_template"),
        ("ImportError: libGL.so.1: cannot open shared object file: No such file or directory", "image.system_library"),
        ("ImportError: libnccl.so.2: cannot open shared object file: No such file or directory", "image.library_missing"),
        ("AttributeError: 'NoneType' object has no attribute 'cquantize_blockwise_fp16_nf4'", "image.abi"),
        ("ValueError: Expected parameter loc, but found invalid values: tensor([[nan, nan]])", "num.nan"),
        ("odd.error: unpack requires a buffer of 8 bytes", "script.exception"),
        ("ERROR   NRT:nrt_tensor_allocate  Failed to allocate nrt tensor UNNAMED", "mem.neuron_oom"),
        ("ERROR   NRT:nrt_allocate_neuron_cores  Neuron cores are not contiguous", "neuron.config"),
        ("uv: error: No solution found when resolving dependencies: cudnn", "pip.failed"),
        ("Error: Invalid value for '--epochs': 'x'", "script.arguments"),
        ("mpirun: Error: unknown option \"--odd\"", "dist.mpi_start"),
        ("ValidationException: SageMaker Debugger is in maintenance mode and is not available to new customers", "api.debugger_closed"),
        ("AlgorithmError: ExecuteUserScriptError: ExitCode 137", "mem.host_oom"),
        ("AlgorithmError: ExecuteUserScriptError: ExitCode 1", "unknown"),
        ("MaxWaitTime exceeded", "stop.max_wait"),
        ("MaxRuntime exceeded", "stop.max_runtime"),
        ("ERROR: Could not install packages due to an OSError: [Errno 122] Disk quota exceeded", "disk.full"),
        ("ERROR: Cannot uninstall 'a'. It is a distutils installed project", "pip.failed"),
        ("[launch.py:320:sigkill_handler] Killing subprocess 912", "unknown"),
        ("RuntimeError: DataLoader worker (pid 7) is killed by signal: Aborted.", "mem.worker_killed"),
        ("A daemon (pid 7) died unexpectedly with status 127", "dist.mpi_start"),
        ("Insufficient space in /dev/shm", "mem.shm"),
        ("docker: Error response from daemon: could not select device driver \"\"", "image.driver"),
        ("[E TCPStore.cpp] TCP client failed to connect to algo-1:29400", "dist.rendezvous"),
        ("RuntimeError: [gloo/allreduce.cc] op.preamble.length <= op.nbytes. 8 vs 4", "dist.desync"),
        ("mpirun has exited due to process rank 2 with PID 7 exiting improperly.", "dist.mpi_lost"),
        ("AccessDeniedException: the role is not allowed to use kms:GenerateDataKey", "data.kms"),
        ("RuntimeError: storage has wrong byte size: expected 7 got 4", "checkpoint.incompatible"),
        ("CalledProcessError: Command '['ninja', '-v']' returned non-zero exit status 1.", "image.bad"),
        ("ERROR: git clone --quiet a b did not run successfully.", "pip.failed"),
        ("The conflict is caused by:\n    The user requested a==1", "pip.failed"),
        ("RuntimeError: store_based_barrier_key:1 timed out", "dist.rendezvous"),
        ("[Rank 0] Timeout at NCCL work: 1186", "dist.nccl_timeout"),
        ("mpirun has detected an attempt to run as root.", "dist.mpi_start"),
        ("InvalidArgumentError: Expected image (JPEG, PNG, or GIF), got another", "data.bad"),
        ("exec /usr/local/bin/a.sh: no such file or directory", "image.no_entrypoint"),
        ("ValueError: No available memory for the cache blocks of this model.", "mem.cuda_oom"),
        ("CalledProcessError: Command '['neuronx-cc', 'a']' died with <Signals.SIGSEGV: 11>.", "neuron.compile_error"),
        ("CalledProcessError: Command '['neuronx-cc', 'a']' died with <Signals.SIGKILL: 9>.", "neuron.compile_oom"),
        ("RuntimeError: Unsupported: per_channel_affine", "script.exception"),
        ("torch.distributed.DistNetworkError: odd", "dist.rendezvous"),
        ("horovod: timed out waiting for all tasks to start.", "dist.rendezvous"),
        ("The AWS Access Key Id you provided does not exist in our records.", "api.login_expired"),
        ("RuntimeError: CUDA error: CUDA driver is a stub library", "image.driver"),
        ("Killed: 9", "mem.host_oom"),
        ("Check failed: error == cudaSuccess (2 vs. 0)  out of memory", "mem.cuda_oom"),
        ("run.sh: line 7: 2117 Killed python3 train.py", "mem.host_oom"),
        ("ImportError: Unable to import required dependencies: numpy", "image.abi"),
        ("g++: error: unrecognized command line option '-std=c++17'", "image.bad"),
        ("ClientError: Data download failed: the connection to S3 timed out", "data.no_route"),
        ("Essential container in task exited - OutOfMemory", "mem.host_oom"),
        ("OSError: /opt/ml/input/data/a does not appear to have files named ('b',).", "checkpoint.incompatible"),
        ("ImportError: a.so.1: cannot allocate memory in static TLS block", "image.abi"),
        ("MissingParameter: The request must contain the parameter A", "api.validation"),
        ("You have requested more vCPU capacity than your current vCPU limit", "api.quota"),
        ("java.nio.file.AccessDeniedException: s3a://b/a: 403 Forbidden", "data.s3_access_denied"),
        ("Back-off pulling image \"a/b:c\"", "image.pull"),
        ("it was compiled to use AVX instructions, but these are not there\nAborted (core dumped)", "image.illegal_instruction"),
        ("TypeError: Couldn't build proto file into descriptor pool", "image.abi"),
        ("OSError: /opt/ml/input/data/a does not appear to have a file named b.", "checkpoint.incompatible"),
        ("RuntimeError: NCCL error: ncclTimeoutError: Call timed out", "dist.nccl_timeout"),
        ("!!! Segfault encountered !!!", "proc.segfault"),
        ("neuronx-cc: Backend exited with code -6", "neuron.compile_error"),
    ],
)  # fmt: skip
def test_a_text_finds_its_cause(text: str, cause: str) -> None:
    assert cause == st.why(text).id


def log(*lines: str) -> str:
    return "".join(f"2026-11-22T10:00:{at % 60:02d}.000Z\talgo-1\t{line}\n" for at, line in enumerate(lines))


STEPS = tuple(f"{{'loss': {1 / step:.4f}, 'epoch': {step / 10}}}" for step in range(1, 30))
CRASH = (
    "Traceback (most recent call last):",
    '  File "/opt/ml/code/train.py", line 21, in main',
    "    x",
    "KeyError: 'text'",
)


def test_what_is_no_text_and_no_answer_is_refused() -> None:
    with pytest.raises(TypeError, match="got None, wanted a text"):
        st.why(None)  # type: ignore[arg-type]  # a user's mistake


def test_the_first_failure_is_the_cause_and_what_follows_is_not() -> None:
    lost = "[1,3]<stderr>:RuntimeError: NCCL error: remote process exited or there was a network error"
    killed = "mpirun noticed that process rank 1 with PID 7 exited on signal 15"
    found = st.why(log(*STEPS, *(f"[1,1]<stderr>:{line}" for line in CRASH), lost, killed))
    assert found.cause is not None
    assert ("script.exception", 1, "train.py:21") == (found.id, found.cause.rank, found.cause.place)
    assert "KeyError: 'text'" == found.cause.error
    assert {"dist.peer_lost", "dist.mpi_lost"} & {each.id for each in found.consequences}


def test_an_exception_that_the_script_caught_is_no_cause() -> None:
    caught = log(*STEPS, *CRASH[:3], "torch.cuda.OutOfMemoryError: CUDA out of memory.", *STEPS, *CRASH)
    assert "script.exception" == st.why(caught).id


def test_of_exceptions_that_led_to_one_another_the_known_one_counts() -> None:
    text = "\n".join([*CRASH, "", "During handling of the above exception, another exception occurred:", "", *CRASH[:3],
                      "OSError: We couldn't connect to 'https://huggingface.co' to load this file"])  # fmt: skip
    assert "hub.offline" == st.why(text).id


def test_an_exception_that_python_ignores_is_no_cause() -> None:
    ignored = ("Exception ignored in: <function Engine.__del__ at 0x7f>", *CRASH)
    assert "unknown" == st.why("\n".join(("all is done", *ignored))).id
    assert "none" == st.why(log(*STEPS, *ignored)).id
    assert "mem.cuda_oom" == st.why(log(*ignored, *CRASH[:3], "torch.OutOfMemoryError: CUDA out of memory.")).id
    assert "script.exception" == st.why(log(ignored[0], *STEPS, *CRASH)).id


BUILD = (
    "RuntimeError:",
    "      The detected CUDA version (9.1) mismatches the version that was used to compile",
    "ERROR: Failed building wheel for frobnicate",
)


@pytest.mark.parametrize(
    "code",
    ["    model = DistributedDataParallel(model, find_unused_parameters=True)", "---> 47     find_unused_parameters=True)",
     "│ ❱  47 │   model = DDP(model, find_unused_parameters=True)    │", "    return DDP(model, find_unused_parameters=True)"],
)  # fmt: skip
def test_the_lines_of_code_that_a_cut_traceback_shows_say_nothing(code: str) -> None:
    assert "script.exception" == st.why(f"{code}\nRuntimeError: no such flavour").id
    assert "dist.unused_parameters" == st.why(f"RuntimeError: pass {code.strip('->│ ❱47')} to it").id


def test_the_fix_is_a_change_of_the_spec() -> None:
    job = jobs.trainium("s3://bucket/source.tar.gz").replace(hyperparameters={"epochs": 1, "epoch": 3})
    fix = st.why("train.py: error: unrecognized arguments: --epoch 3", spec=job).cause
    assert fix is not None
    assert isinstance(fix.fix, AnyOf)
    change = fix.fix.choices[0]
    assert isinstance(change, Change)
    assert {"epochs": 1} == job.replace(**change.fields).hyperparameters


@pytest.mark.parametrize(
    ("status", "secondary", "cause"),
    [
        ("Stopped", "MaxRuntimeExceeded", "stop.max_runtime"),
        ("Stopped", "MaxWaitTimeExceeded", "stop.max_wait"),
        ("Stopped", "Stopped", "stop.user"),
        ("InProgress", "Interrupted", "spot.interrupted"),
        ("InProgress", "Training", "none"),
        ("Completed", "Completed", "none"),
        ("Failed", "Failed", "unknown"),
    ],
)
def test_a_status_decides(status: str, secondary: str, cause: str) -> None:
    assert cause == st.why({"TrainingJobName": "bert", "TrainingJobStatus": status, "SecondaryStatus": secondary}).id


def test_watchdogs_that_waited_for_different_collectives_disagree() -> None:
    said = "[Rank {}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum={}, OpType={}, Timeout(ms)=600000)"
    same = st.why("\n".join(said.format(rank, 9, "ALLREDUCE") for rank in range(4)))
    differ = st.why("\n".join(said.format(rank, 9 - (rank == 2), "ALLREDUCE") for rank in range(4)))
    absent = st.why("\n".join(said.format(rank, 9, "ALLREDUCE") for rank in range(4) if rank != 2))
    assert ("dist.nccl_timeout", "dist.desync", "dist.slow_rank") == (same.id, differ.id, absent.id)


def test_every_row_is_complete_and_its_fragments_match_themselves() -> None:
    for row in entries():
        assert row.role in {Role.HEALTHY, Role.NOISE} or (row.what and row.fix), row.id
        for piece in (*row.exact, *row.strong):
            assert piece.matches(" ".join(piece.parts)), (row.id, piece)
    assert len({row.id for row in entries()}) == len(entries())


@given(some.text(max_size=400))
def test_a_fragment_finds_what_holds_its_parts(text: str) -> None:
    piece = fragment("no such … directory")
    assert piece.matches(f"{text.lower()}no such {text.lower()} directory")
    assert not piece.matches(text.lower().replace("no such", ""))


WORDS = some.sampled_from(
    ["Traceback (most recent call last):", "error", "[1,0]<stderr>:", "\x1b[34m", "#015", "{'loss': nan}", "\x00", "…",
     "RuntimeError: ", '  File "/opt/ml/code/', "During handling of the above exception", "A" * 5000, "[Rank 3]", "(" * 200,
     "SeqNum=", "nan", "exitcode: -9", "\ud800".encode("utf-8", "replace").decode(), " " * 3000]
)  # fmt: skip


@settings(max_examples=60)
@given(some.lists(some.lists(WORDS | some.text(max_size=30), max_size=12).map("".join), max_size=40))
def test_no_text_is_too_hostile(lines: list[str]) -> None:
    assert st.why("\n".join(["", *lines])).id


@given(some.binary(max_size=2000))
def test_no_bytes_are_too_hostile(raw: bytes) -> None:
    from sm_trn.core.logs import parse_log
    from sm_trn.diagnosis.causes.diagnose import why_text

    assert why_text("log", parse_log(raw)).id


def test_a_line_that_is_healthy_speaks_for_nothing() -> None:
    assert match("Setting OMP_NUM_THREADS environment variable, error") is None


def test_a_script_that_failed_in_a_job_that_succeeded_is_told() -> None:
    done = "2022-11-22 10:00:00,123 sagemaker-training-toolkit INFO     Reporting training SUCCESS"
    assert ("false_success", "KeyError: 'text'") == (
        st.why(log(*STEPS, *CRASH, done)).id,
        getattr(st.why(log(*STEPS, *CRASH, done)).cause, "error", ""),
    )
    assert "none" == st.why(log(*CRASH, *STEPS, done)).id


SUCCESS = "2022-11-22 10:00:00,123 sagemaker-training-toolkit INFO     Reporting training SUCCESS"
GOOD = "{'loss': 0.7, 'grad_norm': 1.5, 'learning_rate': 5e-05, 'epoch': 0.1}"
WITHOUT_A_NUMBER = (
    "{'loss': nan, 'grad_norm': nan, 'learning_rate': 5e-05, 'epoch': 0.2}",
    "{'loss': 0.0, 'grad_norm': nan, 'learning_rate': 5e-05, 'epoch': 0.2}",  # Trainer's logging_nan_inf_filter
    "{'loss': '0', 'grad_norm': 'nan', 'learning_rate': '5e-05', 'epoch': '0.2'}",  # the same of transformers 5
    '{"loss": NaN, "step": 7}',
    "step 7 loss=inf lr=0.1",
    "[1,mpirank:3,algo-1]<stdout>:epoch 1 loss: nan",
)


@pytest.mark.parametrize("line", WITHOUT_A_NUMBER)
@pytest.mark.parametrize("before", [0, 3])
def test_a_job_that_ended_well_without_learning_is_told(line: str, before: int) -> None:
    text = log(*[GOOD] * before, *[line] * 5, "Saving model checkpoint to /opt/ml/model", SUCCESS)
    found = st.why(text)
    assert ("num.nan", "certain") == (found.id, found.confidence.value)
    assert found.cause is not None
    assert line.removeprefix("[1,mpirank:3,algo-1]<stdout>:") in found.cause.evidence[0].text
    assert "num.nan" == st.why(text.removesuffix(SUCCESS)).id  # where nothing says how it ended, too


@pytest.mark.parametrize("line", WITHOUT_A_NUMBER)
def test_a_loss_that_came_back_is_none(line: str) -> None:
    assert "none" == st.why(log(GOOD, line, line, GOOD, SUCCESS)).id
    assert "none" == st.why(log(*[GOOD] * 5, line, SUCCESS)).id  # one value of many: a last batch


@pytest.mark.parametrize(
    "line",
    ["{'loss': 0.0, 'grad_norm': 0.0, 'epoch': 1}", "{'loss': 0.5, 'grad_norm': nan, 'epoch': 1}", "{'loss': 0.0, 'epoch': 1}",
     "{'eval_loss': nan, 'epoch': 1}"],
)  # fmt: skip
def test_a_loss_that_is_a_number_is_none(line: str) -> None:
    assert "none" == st.why(log(*[line] * 5, SUCCESS)).id


def test_a_job_that_failed_without_a_word_and_learned_nothing_is_told_as_likely() -> None:
    failure = "2022-11-22 10:00:00,123 sagemaker-training-toolkit ERROR    Reporting training FAILURE"
    found = st.why(log(*[GOOD] * 70, *[WITHOUT_A_NUMBER[0]] * 5, failure))
    assert ("num.nan", "likely") == (found.id, found.confidence.value)


def test_an_exception_behind_its_rank_needs_no_traceback_in_front() -> None:
    """PyTorch's hook writes the rank before every line; another host's log may hold those before."""
    found = st.why(log(*STEPS, "[rank1]: PermissionError: [Errno 13] Permission denied: '/cache'")).cause
    assert found is not None
    assert ("script.exception", 1) == (found.id, found.rank)


def test_what_nccl_could_not_open_and_says_as_information_is_no_complaint() -> None:
    lines = "n1:7:8 [1] NCCL INFO Failed to open libibverbs.so\nn1:7:8 [1] NCCL INFO Using network Socket"
    assert "net.efa_not_used" != st.why(lines).id


def test_a_completed_job_without_a_loss_is_told_by_its_log() -> None:
    answer = {"TrainingJobName": "bert", "TrainingJobStatus": "Completed", "SecondaryStatus": "Completed"}
    spec = jobs.trainium("s3://bucket/source.tar.gz").replace(hyperparameters={"fp16": True})
    scan = read_events([[LogEvent(float(at), "algo-1", WITHOUT_A_NUMBER[1]) for at in range(3)]])
    found = JobText("bert", parse_snapshot(answer), spec, scan).diagnosis()
    assert ("num.nan", "algo-1", 2.0) == (found.id, *((found.cause.host, found.cause.time_s) if found.cause else ()))
    assert "bf16" in str(found.cause and found.cause.fix)


def test_what_a_library_says_at_level_info_is_no_cause() -> None:
    waits = "2022-11-22 10:00:00,123 sagemaker-training-toolkit INFO     Cannot connect to host algo-2 at port 22"
    assert "script.exception" == st.why(log(waits, *STEPS, *CRASH)).id


def test_torchrun_names_the_first_rank() -> None:
    text = "\n".join(
        ["torch.distributed.elastic.multiprocessing.errors.ChildFailedError:", "train.py FAILED", "Failures:", "[1]:",
         "  rank      : 5 (local_rank: 1)", "  exitcode  : -15 (pid: 80)", "Root Cause (first observed failure):", "[0]:",
         "  rank      : 2 (local_rank: 2)", "  exitcode  : -9 (pid: 79)", "  traceback : Signal 9 (SIGKILL) received by PID 79"]
    )  # fmt: skip
    found = st.why(text)
    assert ("mem.host_oom", 2) == (found.id, found.cause.rank if found.cause is not None else None)


def compiling(graphs: int) -> str:
    """A log whose steps have so many compilations between them."""
    wrapper = "2024-04-12 07:13:06.000297:  271334  INFO ||NEURON_CC_WRAPPER||: Call compiler with cmd: neuronx-cc compile m.pb"
    steps = [f"{{'loss': 0.5, 'step': {step}}}" for step in range(40)]
    return "\n".join(
        f"{step}\n{wrapper}\nCompiler status PASS" if at < graphs else step for at, step in enumerate(steps)
    )


def test_an_error_that_only_mentions_an_exception_is_not_cut_to_it() -> None:
    assert "pip.failed" == st.why("ERROR: Could not install packages due to an OSError: [Errno 13] no").id


def test_the_pid_of_a_worker_does_not_make_an_error_healthy() -> None:
    assert (
        "neuron.config" == st.why("2024-May-21 16:08:34.2 58100:58100 ERROR  TDRV:tdrv_init  Could not open the nd3").id
    )


def test_a_word_that_only_holds_efa_is_not_the_network() -> None:
    text = "[PG GUID 0(default_pg) Rank 5] terminated with exception: NCCL error: remote process exited or there was a network error"
    assert "dist.peer_lost" == st.why(text).id


@pytest.mark.parametrize("last", ["RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB", "KeyError: 'text'"])
def test_a_log_without_two_lines_alike_is_read_as_any_other(tmp_path: Path, last: str) -> None:
    """After SHAPES different lines only those that speak of trouble are looked up; a traceback is read whole."""
    head = "2026-01-01 00:00:00,000 sagemaker-training-toolkit INFO     Invoking user script"
    trace = [
        "Traceback (most recent call last):",
        '  File "/opt/ml/code/train.py", line 31, in <module>',
        "    run()",
        last,
    ]
    letters = str.maketrans("0123456789", "qwrtypsdfg")
    many = [f"{at} of so many lines, each of its own".translate(letters) for at in range(2 * SHAPES)]
    found = []
    for name, before in (("alike", many[:1] * len(many)), ("varied", many)):
        path = tmp_path / name
        path.write_text("\n".join([head, *before * 3, *trace, *before[:50]]) + "\n")
        assert path.stat().st_size > 2_000_000, "the traceback stands in a later block than the first"
        found.append(st.why(path).cause)
    assert found[0] is not None
    assert found[0] == found[1]
    assert (found[0].error, found[0].place) == (last, "train.py:31")


@pytest.mark.parametrize(
    ("text", "confidence"),
    [("KeyError: 'colour'", "certain"), ("ValueError: no such flavour", "likely"), ("AssertionError: odd", "likely")],
)
def test_an_exception_that_a_library_may_mean_otherwise_is_not_certain(text: str, confidence: str) -> None:
    found = st.why(text).cause
    assert found is not None
    assert ("script.exception", confidence) == (found.id, found.confidence.value)


def traced(error: str, *files: str) -> str:
    frames = [f'  File "{file}", line 7, in f\n    g()' for file in files]
    return "\n".join(["Traceback (most recent call last):", *frames, error])


@pytest.mark.parametrize(
    "outer",
    [
        "RuntimeError: Caught OSError in a worker.",
        "a.b.ProcessRaisedException:",
        "ray.RayTaskError(OSError): x",
    ],
)
def test_an_error_that_hands_on_a_workers_error_is_not_the_cause(outer: str) -> None:
    inner = "RuntimeError: CUDA error: out of memory"
    assert "mem.cuda_oom" == st.why(f"{outer}\n{inner}").id
    assert "mem.cuda_oom" == st.why(f"{outer}\nOriginal {traced(inner, '/opt/ml/code/train.py')}").id


def test_an_iterator_that_ends_is_an_exception_too() -> None:
    found = st.why(traced("StopIteration", "/opt/ml/code/train.py")).cause
    assert found is not None
    assert ("script.exception", "StopIteration") == (found.id, found.error)


@pytest.mark.parametrize(
    "line",
    ['{{"timestamp": 17, "message": {}}}', '{{"log": {}, "stream": "stderr"}}', '            "message": {},',
     '{{"level": "ERROR", "msg": {}}}'],
)  # fmt: skip
def test_a_line_that_is_json_is_read_by_its_message(line: str) -> None:
    lines = traced("KeyError: 'text'", "/opt/ml/code/train.py").splitlines()
    found = st.why("\n".join(line.format(json.dumps(each)) for each in lines)).cause
    assert found is not None
    assert ("script.exception", "certain", "train.py:7") == (found.id, found.confidence.value, found.place)
    assert found.id == st.why(line.format(json.dumps("\n".join(lines)))).id
    assert "unknown" == st.why('{"level": "info", "msg": "the tokenizer is not there yet"}').id


def test_the_services_own_word_for_its_failure_is_enough() -> None:
    assert "platform.internal_error" == st.why("InternalServerError: the frobnicator is out of order").id


def test_a_ray_actor_that_died_unexpectedly_says_no_why() -> None:
    timeout = "[Rank 3] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=9)"
    died = "ray.exceptions.ActorDiedError: The actor died unexpectedly before finishing this task."
    assert ("dist.nccl_timeout", "unknown") == (st.why(f"{timeout}\n{died}").id, st.why(died).id)


@pytest.mark.parametrize(
    "text",
    [
        "ValueError: Error for Training job my job: Failed Reason: AlgorithmError: ExecuteUserScriptError: Command \"python\"",
        "2022-06-02 17:28:14 Failed - Training job failed\n" + traced(
            "sagemaker.exceptions.UnexpectedStatusException: Error for Training job x-1: Failed. Reason: AlgorithmError: "
            "ExecuteUserScriptError:", "/opt/conda/lib/python3.6/site-packages/sagemaker/session.py"),
        r'{"name": "torchelastic.worker.status.FAILED", "raw_error": "{\"message\": \"<NONE>\"}", "metadata": "{\"local_rank\": [3]}"}',
        "2024-06-20 06:08:19.000682:  65821  ERROR ||NEURON_PARALLEL_COMPILE||: There was an error in the training script.",
    ],
)  # fmt: skip
def test_what_only_says_that_a_job_or_a_worker_failed_decides_nothing(text: str) -> None:
    assert "unknown" == st.why(text).id


def test_the_sdks_exception_in_a_log_is_read_by_the_services_reason() -> None:
    reason = "UnexpectedStatusException: Error for Training job x-1: Failed. Reason: AlgorithmError: "
    log = "2022-06-02 17:28:14 Failed - Training job failed\n"
    assert "mem.host_oom" == st.why(f"{log}{reason}ExitCode 137").id
    assert "script.exception" == st.why(f"{log}{reason}KeyError: 'colour'").id


@pytest.mark.parametrize(
    "launcher", ["torchrun", "/opt/conda/bin/torchrun", "accelerate", "/usr/bin/deepspeed", "mpirun"]
)
def test_a_launchers_command_line_tells_nothing_of_why_it_failed(launcher: str) -> None:
    flags = "'--node_rank', '0', '--nproc_per_node', '2', '--master_addr', '127.0.0.1', 'train.py'"
    line = f"subprocess.CalledProcessError: Command '['{launcher}', {flags}]' returned non-zero exit status 1."
    assert "unknown" == st.why(line).id
    assert "mem.cuda_oom" == st.why(f"{line}\ntorch.OutOfMemoryError: CUDA out of memory.").id


TABLE = """
Traceback (most recent call last):
  File "/opt/ml/code/train.py", line 7, in main
    dist.barrier()
RuntimeError: [pair.cc:553] Connection closed by peer [10.0.0.2]:40355. This is typically caused by a remote worker crashing.
torch.distributed.elastic.multiprocessing.errors.ChildFailedError:
============================================================
train.py FAILED
------------------------------------------------------------
Failures:
[0]:
  rank      : 0 (local_rank: 0)
  exitcode  : 1 (pid: 71)
  error_file: /tmp/torchelastic_a/none_b/attempt_0/0/error.json
  traceback : Traceback (most recent call last):
    File "/opt/ml/code/train.py", line 7, in main
      dist.barrier()
  RuntimeError: [pair.cc:553] Connection closed by peer [10.0.0.2]:40355.
------------------------------------------------------------
Root Cause (first observed failure):
[1]:
  rank      : 1 (local_rank: 1)
  exitcode  : 1 (pid: 72)
  error_file: /tmp/torchelastic_a/none_b/attempt_0/1/error.json
  traceback : Traceback (most recent call last):
    File "/opt/ml/code/train.py", line 6, in main
      raise ValueError("the third row has no label")
  ValueError: the third row has no label
============================================================
"""


def test_torchruns_table_names_the_worker_that_failed_first() -> None:
    """The table of torch 2.13 with an error file (torch/distributed/elastic/multiprocessing/errors/__init__.py, ChildFailedError)."""
    found = st.why(TABLE)
    assert found.cause is not None
    assert ("script.exception", 1, "train.py:6") == (found.cause.id, found.cause.rank, found.cause.place)
    assert "ValueError: the third row has no label" == found.cause.error


@pytest.mark.parametrize(
    ("pieces", "cause", "error"),
    [
        (("IndexError", ":", "list index out of range"), "script.exception", "IndexError: list index out of range"),
        (("RuntimeError", ": CUDA out of memory."), "mem.cuda_oom", "RuntimeError: CUDA out of memory."),
        (("AssertionError", "Command failed"), "script.exception", "AssertionError"),
    ],
)
def test_an_exception_in_pieces_is_one(pieces: tuple[str, ...], cause: str, error: str) -> None:
    """Python writes one so where its output is not buffered, and the toolkit prints each piece as a line (process.py, watch)."""
    head = "2026-01-01 00:00:00,000 sagemaker-training-toolkit INFO     Invoking user script\nTraceback (most recent call last):\n"
    found = st.why(
        head + '  File "/opt/ml/code/train.py", line 3, in <module>\nprint(rows[5])\n~\n^\n' + "\n".join(pieces) + "\n"
    )
    assert found.cause is not None
    assert (cause, error, "train.py:3") == (found.cause.id, found.cause.error, found.cause.place)


def test_a_reason_in_two_lines_keeps_its_words() -> None:
    reason = 'AlgorithmError: ExecuteUserScriptError:\nExitCode 1\nErrorMessage "IndexError\n list index out of range"'
    found = st.why(reason)
    assert found.cause is not None
    assert "IndexError: list index out of range" == found.cause.error

"""What a job may reach and what may reach it: no listener beyond this machine, none of the user's credentials."""

from __future__ import annotations

import contextlib
import json
import re
import time
from pathlib import Path

import pytest
from emulator.bench import Bench, below, packed

pytest.importorskip("sagemaker_training")

WORKERS = """
    import time, torch, torch.distributed as dist
    dist.init_process_group("gloo")
    total = torch.ones(1)
    dist.all_reduce(total)
    print(f"together {int(total)}")
    time.sleep(300)
"""
HANDLERS = "def model_fn(folder): return 1\ndef transform_fn(model, body, kind, accept): return body, accept\n"


def listeners(root: int) -> dict[str, str]:
    """Address of every listening socket of ``root``'s descendants, and who listens."""
    held = {}
    for pid in below(root):
        with contextlib.suppress(OSError):
            for handle in Path(f"/proc/{pid}/fd").iterdir():
                with contextlib.suppress(OSError):
                    if match := re.fullmatch(r"socket:\[(\d+)\]", str(handle.readlink())):
                        held[match[1]] = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    found = {}
    for table in ("tcp", "tcp6", "udp", "udp6"):
        for row in Path(f"/proc/net/{table}").read_text(encoding="ascii").splitlines()[1:]:
            columns = row.split()
            if columns[9] in held and columns[3] in {"0A", "07"}:  # LISTEN, or UDP that is bound
                found[f"{table} {columns[1]}"] = held[columns[9]]
    return found


def loopback(address: str) -> bool:
    host = address.split()[1].partition(":")[0]
    return host in {"0100007F", "00000000000000000000000001000000", "0000000000000000FFFF00000100007F"}


def test_nothing_of_a_job_or_an_endpoint_listens_beyond_this_machine(bench: Bench) -> None:
    pytest.importorskip("torch")
    endpoint = bench.deploy(packed({"code/inference.py": HANDLERS}))
    name = bench.submit(
        WORKERS,
        {"sagemaker_torch_distributed_enabled": True},
        ResourceConfig={"InstanceType": "ml.c5.xlarge", "InstanceCount": 2, "VolumeSizeInGB": 10},
    )
    bench.said(name, "together 2", 90)
    found = listeners(bench.endpoint.pid)
    bench.sagemaker.stop_training_job(TrainingJobName=name)
    bench.sagemaker.delete_endpoint(EndpointName=endpoint)
    assert any("train.py" in command or "torchrun" in command for command in found.values()), found
    assert [] == [f"{address} {command}" for address, command in found.items() if not loopback(address)]
    bench.finished(name)


def test_special_files_among_a_jobs_outputs_neither_hang_it_nor_fill_the_disk(bench: Bench) -> None:
    name = bench.submit(
        """
        import os, socket
        for root in ("/opt/ml/model", "/opt/ml/output/data", "/opt/ml/checkpoints"):
            root = os.environ["SAGEMAKER_BASE_DIR"] + root[7:] if "SAGEMAKER_BASE_DIR" in os.environ else root
            os.makedirs(root, exist_ok=True)
            os.chdir(root)
            os.mkfifo("pipe")
            socket.socket(socket.AF_UNIX).bind("socket")
            os.symlink("loop", "loop")
            os.symlink("/dev/zero", "zero")
            os.symlink("/etc/passwd", "passwd")
            try:
                os.mknod("device", 0o600 | 0o020000, os.makedev(1, 5))
            except OSError:
                pass
            with open("kept", "w") as out:
                out.write("kept")
        """,
        CheckpointConfig={"S3Uri": f"s3://{bench.endpoint.bucket}/special"},
    )
    assert "Completed" == bench.finished(name)["TrainingJobStatus"], bench.lines(name)[-12:]
    assert {"kept": b"kept"} == bench.model(name)
    listed = bench.s3.list_objects_v2(Bucket=bench.endpoint.bucket, Prefix="special/")["Contents"]
    assert ["special/kept"] == [row["Key"] for row in listed]


def test_a_sparse_file_of_a_terabyte_is_refused_and_not_written_out(bench: Bench) -> None:
    name = bench.submit(
        """
        import os
        root = os.environ["SM_MODEL_DIR"]
        with open(os.path.join(root, "sparse"), "wb") as out:
            out.truncate(2**40)
        """
    )
    began = time.monotonic()
    answer = bench.finished(name, 30)
    assert "Failed" == answer["TrainingJobStatus"]
    assert "No space left on device" in answer["FailureReason"]
    assert time.monotonic() - began < 30


def test_a_job_finds_no_way_to_the_users_credentials(bench: Bench) -> None:
    """Neither by the environment, nor by the SDK's files, nor by the instance's own service."""
    name = bench.submit(
        """
        import json, os, botocore.session, botocore.utils
        session = botocore.session.get_session()
        credentials = session.get_credentials()
        files = [os.path.expanduser(path) for path in ("~/.aws/config", "~/.aws/credentials", "~/.netrc")]
        fetched = botocore.utils.InstanceMetadataFetcher(timeout=1, num_attempts=1, env=os.environ).retrieve_iam_role_credentials()
        print("found " + json.dumps({
            "method": credentials.method, "profiles": session.available_profiles, "imds": fetched,
            "files": [path for path in files if os.path.exists(path) and os.path.getsize(path)],
            "mine": credentials.access_key == os.environ["AWS_ACCESS_KEY_ID"],
        }))
        """
    )
    assert "Completed" == bench.finished(name)["TrainingJobStatus"], bench.lines(name)
    said = json.loads(next(line for line in bench.lines(name) if line.startswith("found ")).removeprefix("found "))
    assert {"method": "env", "profiles": [], "imds": {}, "files": [], "mine": True} == said

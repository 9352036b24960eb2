"""A world that is killed again and again: clients that work on it, and what they know must be there afterwards."""

from __future__ import annotations

import contextlib
import hashlib
import io
import itertools
import json
import random
import sqlite3
import tarfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from emulator.bench import GROUP, IMAGE, TERMINAL, client_of, lines_of, packed, shell

from sm_trn.emulator import Endpoint

PART = 5 * 2**20
KEYS = [f"data/{n}" for n in range(10)]
MODEL = {
    "code/inference.py": "def model_fn(folder): return 1\ndef transform_fn(model, body, kind, accept): return body, accept\n"
}
# One client meets what another has just done: the job has ended, the source of a copy is gone.
EXPECTED = {"ValidationException", "ResourceInUse", "NoSuchKey"}
ENDPOINTS = ("kept-endpoint", "other-endpoint")


@dataclass(slots=True)
class Known:
    """What must be found. ``objects``: for each key its possible contents, None for absent; names of jobs by what became of them."""

    objects: dict[str, list[bytes | None]] = field(default_factory=dict)
    asked: set[str] = field(default_factory=set)
    created: set[str] = field(default_factory=set)
    finished: dict[str, str] = field(default_factory=dict)
    logs: dict[str, list[str]] = field(default_factory=dict)
    deleting: set[str] = field(default_factory=set)
    deployed: set[str] = field(default_factory=set)
    seen: set[str] = field(default_factory=set)
    outputs: set[tuple[str, tuple[str, int]]] = field(default_factory=set)
    looked_at: int = 0
    interrupted: int = 0
    surprises: list[str] = field(default_factory=list)


class World:
    """Clients of one state folder through the lives of its emulator."""

    def __init__(self, state: Path, seed: int) -> None:
        self.state = state
        self.chance = random.Random(seed)
        self.known = Known()
        self._count = itertools.count(1)
        self._lock = threading.Lock()
        self._clients: dict[str, Any] = {}
        self.endpoint: Endpoint | None = None
        self._heard = threading.local()

    def meet(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        impatient = Config(read_timeout=20)
        self._clients = {each: client_of(endpoint, each, config=impatient) for each in ("s3", "sagemaker", "logs")}
        self._sagemaker.meta.events.register("before-parse.sagemaker.DescribeTrainingJob", self._hear)

    # --- work ---

    def work(self, seed: int) -> list[threading.Thread]:
        """Start clients that work until the emulator is gone."""
        tasks: list[list[Callable[[random.Random], None]]] = [
            [self.put, self.put, self.put_in_parts, self.delete, self.copy],
            [self.train, self.train_long, self.stop_job, self.delete_job],
            [self.train, self.put, self.watch],
        ]
        threads = [
            threading.Thread(target=self._toil, args=(task, random.Random(seed * 7 + at)), daemon=True)
            for at, task in enumerate(tasks)
        ]
        if self.chance.random() < 0.2:
            threads.append(threading.Thread(target=self.deploy, args=(random.Random(seed),), daemon=True))
        for thread in threads:
            thread.start()
        return threads

    def _toil(self, tasks: list[Callable[[random.Random], None]], chance: random.Random) -> None:
        while True:
            try:
                chance.choice(tasks)(chance)
            except (BotoCoreError, OSError, KeyError):  # noqa: PERF203 - cut off, perhaps within the answer: it was done, or was not
                self.known.interrupted += 1
                return
            except ClientError as error:
                if error.response["Error"]["Code"] not in EXPECTED:
                    self.known.surprises.append(str(error))
                    return

    def put(self, chance: random.Random) -> None:
        content = chance.randbytes(chance.choice([0, 10, 2000, 300_000, 3_000_000]))
        self._replace(chance.choice(KEYS), content, lambda where: self._s3.put_object(**where, Body=content))

    def put_in_parts(self, chance: random.Random) -> None:
        parts = [chance.randbytes(PART), chance.randbytes(1000)]

        def send(where: dict[str, str]) -> None:
            whole = {**where, "UploadId": self._s3.create_multipart_upload(**where)["UploadId"]}
            tags = [self._s3.upload_part(**whole, PartNumber=n, Body=part)["ETag"] for n, part in enumerate(parts, 1)]
            listed = [{"PartNumber": n, "ETag": tag} for n, tag in enumerate(tags, 1)]
            self._s3.complete_multipart_upload(**whole, MultipartUpload={"Parts": listed})

        self._replace(chance.choice(KEYS), b"".join(parts), send)

    def delete(self, chance: random.Random) -> None:
        self._replace(chance.choice(KEYS), None, lambda where: self._s3.delete_object(**where))

    def copy(self, chance: random.Random) -> None:
        found = self._s3.list_objects_v2(Bucket=self._bucket, Prefix="data/").get("Contents", [])
        if found:
            source = chance.choice(found)["Key"]
            with self._lock:
                possible = self.known.objects.get(source, [None])
                content = possible[0] if len(possible) == 1 else None
            if content is not None:
                target = f"copies/{next(self._count)}"
                self.known.objects[target] = [None, content]
                answer = self._s3.copy_object(
                    Bucket=self._bucket, Key=target, CopySource={"Bucket": self._bucket, "Key": source}
                )
                etag = answer["CopyObjectResult"]["ETag"].strip('"')
                if etag == hashlib.md5(content).hexdigest():  # else the source was replaced meanwhile
                    self.known.objects[target] = [content]
                else:
                    self._s3.delete_object(Bucket=self._bucket, Key=target)
                    self.known.objects.pop(target)

    def _replace(self, key: str, content: bytes | None, send: Callable[[dict[str, str]], object]) -> None:
        with self._lock:
            before = self.known.objects.setdefault(key, [None])
            if len(before) > 1:  # somebody else is at it
                return
            self.known.objects[key] = [*before, content]
        send({"Bucket": self._bucket, "Key": key})
        with self._lock:
            self.known.objects[key] = [content]

    def train(self, chance: random.Random) -> None:
        self._create(f"echo said; printf w%s $TRAINING_JOB_NAME > /opt/ml/model/w; sleep 0.{chance.randrange(4)}")

    def train_long(self, _chance: random.Random) -> None:
        self._create("echo said; (setsid sleep 600 &); sleep 600")

    def _create(self, script: str) -> None:
        name = f"job-{next(self._count)}"
        self.known.asked.add(name)
        self._sagemaker.create_training_job(
            TrainingJobName=name,
            RoleArn=self._here.role_arn,
            AlgorithmSpecification=shell(script),
            OutputDataConfig={"S3OutputPath": f"s3://{self._bucket}/out"},
            ResourceConfig={"InstanceType": "ml.m5.large", "InstanceCount": 1, "VolumeSizeInGB": 10},
            StoppingCondition={"MaxRuntimeInSeconds": 600},
        )
        self.known.created.add(name)
        self.watch(None)

    def stop_job(self, _chance: random.Random) -> None:
        found = self._sagemaker.list_training_jobs(StatusEquals="InProgress")["TrainingJobSummaries"]
        for row in found:
            self._sagemaker.stop_training_job(TrainingJobName=row["TrainingJobName"])

    def delete_job(self, chance: random.Random) -> None:
        for name in chance.sample(sorted(self.known.finished), max(0, len(self.known.finished) - 20)):
            self.known.deleting.add(name)
            self._sagemaker.delete_training_job(TrainingJobName=name)
            self.known.finished.pop(name, None)
            self.known.created.discard(name)

    def watch(self, _chance: random.Random | None) -> None:
        """Note what has finished by now, as it is told."""
        for row in self._sagemaker.list_training_jobs(MaxResults=20)["TrainingJobSummaries"]:
            name = row["TrainingJobName"]
            if row["TrainingJobStatus"] in TERMINAL and name not in self.known.finished | dict.fromkeys(
                self.known.deleting
            ):
                self._remember(name)

    def _remember(self, name: str) -> None:
        told, lines = self.told(name), self.lines(name)
        self.known.finished[name], self.known.logs[name] = told, lines

    def deploy(self, chance: random.Random) -> None:
        name = chance.choice(ENDPOINTS)
        with contextlib.suppress(BotoCoreError, OSError, ClientError):
            if name in self.known.deployed and chance.random() < 0.5:
                self.known.deployed.discard(name)
                self._sagemaker.delete_endpoint(EndpointName=name)
                return
            self._s3.put_object(Bucket=self._bucket, Key="model.tar.gz", Body=packed(MODEL))
            image = IMAGE.replace("training", "inference")
            with contextlib.suppress(ClientError):
                self._sagemaker.create_model(
                    ModelName="m",
                    ExecutionRoleArn=self._here.role_arn,
                    PrimaryContainer={"Image": image, "ModelDataUrl": f"s3://{self._bucket}/model.tar.gz"},
                )
            variant = {"VariantName": "v", "ModelName": "m", "InitialInstanceCount": 1, "InstanceType": "ml.c5.xlarge"}
            with contextlib.suppress(ClientError):
                self._sagemaker.create_endpoint_config(EndpointConfigName="c", ProductionVariants=[variant])
            self._sagemaker.create_endpoint(EndpointName=name, EndpointConfigName="c")
            self._until_in_service(name)
            self.known.deployed.add(name)

    def _until_in_service(self, name: str) -> None:
        while self._sagemaker.describe_endpoint(EndpointName=name)["EndpointStatus"] == "Creating":
            time.sleep(0.1)

    # --- what must be true ---

    def check(self) -> None:
        assert [] == self.known.surprises
        self._check_objects()
        self._check_jobs()
        self._check_endpoints()
        self._check_files()

    def _check_objects(self) -> None:
        listed: dict[str, tuple[str, int]] = {}
        for page in self._s3.get_paginator("list_objects_v2").paginate(Bucket=self._bucket):
            listed |= {row["Key"]: (row["ETag"].strip('"'), row["Size"]) for row in page.get("Contents", ())}
        for key, possible in self.known.objects.items():
            content = self._read(key, listed.pop(key, None))
            assert content in possible, (
                f"{key}: {None if content is None else len(content)} bytes, none of those that were put"
            )
            self.known.objects[key] = [content]
        for key, facts in listed.items():
            assert key.startswith(("out/job-", "model.tar.gz")), f"{key} was never put"
            if (key, facts) not in self.known.outputs or self.chance.random() < 0.05:
                assert self._read(key, facts) is not None
                self.known.outputs.add((key, facts))
        for key in [key for key in self.known.objects if key.startswith("copies/")]:
            self._s3.delete_object(Bucket=self._bucket, Key=key)
            self.known.objects[key] = [None]

    def _read(self, key: str, facts: tuple[str, int] | None) -> bytes | None:
        if facts is None:
            return None
        content: bytes = self._s3.get_object(Bucket=self._bucket, Key=key)["Body"].read()
        self.known.looked_at += 1
        digest = hashlib.md5(content).hexdigest()
        if facts[0].endswith("-2"):
            digest = (
                hashlib.md5(hashlib.md5(content[:PART]).digest() + hashlib.md5(content[PART:]).digest()).hexdigest()
                + "-2"
            )
        assert (digest, len(content)) == facts, f"{key}: its ETag or size is not that of its content"
        return content

    def _check_jobs(self) -> None:
        rows = [
            row
            for page in self._sagemaker.get_paginator("list_training_jobs").paginate()
            for row in page["TrainingJobSummaries"]
        ]
        there = {row["TrainingJobName"]: row["TrainingJobStatus"] for row in rows}
        assert set(there) <= self.known.asked
        assert self.known.created - self.known.deleting <= set(there), "a job that was created is gone"
        assert set(there.values()) <= set(TERMINAL), "a job of the life before has no end"
        for name in set(there) - set(self.known.finished):
            told = json.loads(self.told(name))
            if told["TrainingJobStatus"] == "Failed":
                assert told["FailureReason"].startswith(
                    "InternalServerError: the emulator was killed while the job was in"
                )
            self.known.created.add(name)
            self._remember(name)
        for name, told in list(self.known.finished.items()):
            if name not in there and name in self.known.deleting:
                self.known.finished.pop(name)
                continue
            assert told == self.told(name), f"{name} was changed"
            if name in self.known.seen and self.chance.random() < 0.8:  # an old one: its log and model now and then
                continue
            self.known.seen.add(name)
            assert self.known.logs[name] == self.lines(name), f"{name}: its log was changed"
            if json.loads(told)["TrainingJobStatus"] == "Completed":
                self._check_model(name, json.loads(told))
        self.known.created -= self.known.deleting - set(there)
        self.known.deleting.clear()

    def _check_model(self, name: str, told: dict[str, Any]) -> None:
        bucket, _, key = told["ModelArtifacts"]["S3ModelArtifacts"].removeprefix("s3://").partition("/")
        content = self._s3.get_object(Bucket=bucket, Key=key)["Body"].read()
        with tarfile.open(fileobj=io.BytesIO(content)) as tar:
            member = tar.extractfile("w")
            assert member is not None
            assert f"w{name}".encode() == member.read()

    def _check_endpoints(self) -> None:
        there = {row["EndpointName"]: row["EndpointStatus"] for row in self._sagemaker.list_endpoints()["Endpoints"]}
        for name in self.known.deployed:
            assert there.get(name) in {"InService", "SystemUpdating"}, f"{name}: {there.get(name)}"
        for name in set(there) - self.known.deployed:
            self.known.deployed |= {name} if there[name] in {"InService", "SystemUpdating"} else set()
            if there[name] == "Failed":
                self._sagemaker.delete_endpoint(EndpointName=name)

    def _check_files(self) -> None:
        assert [] == list((self.state / "jobs").iterdir())
        named = {entry["file"] for entry in self.rows("SELECT file FROM objects UNION SELECT file FROM parts")}
        held = {
            path.relative_to(self.state / "s3").as_posix() for path in (self.state / "s3").rglob("*") if path.is_file()
        }
        assert named == held, "a file that nothing names, or a name without a file"

    # --- means ---

    def rows(self, query: str) -> list[dict[str, Any]]:
        with contextlib.closing(sqlite3.connect(f"file:{self.state / 'emulator.db'}?mode=ro", uri=True)) as db:
            db.row_factory = sqlite3.Row
            return [dict(row) for row in db.execute(query)]

    def told(self, name: str) -> str:
        """The describe answer to the byte."""
        self._sagemaker.describe_training_job(TrainingJobName=name)
        return str(self._heard.body)

    def _hear(self, response_dict: dict[str, Any], **_more: Any) -> None:
        self._heard.body = response_dict["body"].decode()

    def lines(self, name: str) -> list[str]:
        return lines_of(self._logs, GROUP, f"{name}/")

    @property
    def _here(self) -> Endpoint:
        assert self.endpoint is not None
        return self.endpoint

    @property
    def _bucket(self) -> str:
        return self._here.bucket

    @property
    def _s3(self) -> Any:
        return self._clients["s3"]

    @property
    def _sagemaker(self) -> Any:
        return self._clients["sagemaker"]

    @property
    def _logs(self) -> Any:
        return self._clients["logs"]

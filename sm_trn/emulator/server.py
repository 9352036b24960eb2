"""The emulator's process: its parts, the lock of the state folder, serving, and cleaning up.

The only place where the parts meet.
"""

from __future__ import annotations

import fcntl
import json
import os
import signal
import sys
import threading
import time
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from ..core.specs.snapshot import EMULATED_ACCOUNT
from . import options, sdk_settings
from .api.shapes import service_model
from .container.context import Shared
from .container.isolation import probe
from .container.orphans import clean_up_orphans
from .container.slots import Capacity, JobSlots
from .control import Control, Refusals
from .dispatcher import Dispatcher, Services
from .fault_injection import FaultInjector
from .http.moto import Moto, settle_environment
from .iam.authenticator import Authenticator
from .iam.keys import Key, Principals, new_key
from .iam.roles import Roles
from .iam.sts import StsApi
from .options import ROLE_NAME, Endpoint, Options
from .regions import Regions
from .s3.api import S3Api
from .s3.object_store import ObjectStore
from .state.quota import Quota
from .state.store import Store
from .training.supervisor import ToolkitCheck

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from .service import OpenService

_SHUTDOWN_S = 12.0
_CONNECTIONS = 128
_LOCK_TRIES = 40
_ENDPOINT = "endpoint.json"
_ROLE = f"arn:aws:iam::{EMULATED_ACCOUNT}:role/{ROLE_NAME}"
_TRUST = {
    "Version": "2012-10-17",
    "Statement": [{"Effect": "Allow", "Principal": {"Service": "sagemaker.amazonaws.com"}, "Action": "sts:AssumeRole"}],
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """These values live as long as the process."""

    endpoint: Endpoint
    regions: Regions
    server: Any
    warm_up: Callable[[], None]


def hold_lock(state: Path) -> None:
    """Take the lock that makes this process the state folder's only one. Raises BlockingIOError.

    What a killed one said of itself goes: its process number may be anybody's by now.
    """
    handle = os.open(state / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    for attempt in range(_LOCK_TRIES):  # a look by `find` holds it for a moment
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:  # noqa: PERF203 - a short loop
            if attempt == _LOCK_TRIES - 1:
                raise
            time.sleep(0.05)
        else:
            break
    (state / _ENDPOINT).unlink(missing_ok=True)


def build(state: Path, region: str, options: Options, services: Sequence[OpenService]) -> Parts:
    """Open the state folder and make the server; nothing is served yet. Raises EmulatorError, or OSError for a port that is taken."""
    settle_environment()
    clean_up_orphans(state)
    store = Store(state / "emulator.db")
    key, server = _stored_key(store), _listen(store, options.port)
    endpoint = _endpoint(state, region, key, int(server.server_port))
    principals, moto, quota = Principals(key), Moto(region), Quota(state, options.state_max_gb)
    objects = ObjectStore(state / "s3", store, quota)
    objects.create_bucket(endpoint.bucket, region)
    shared = _shared(state, endpoint.url, options, objects, principals)
    regions = Regions(shared, store, moto, region, services)
    roles = Roles(moto, objects.ready)
    refusals = Refusals()
    owners = Services(
        regions=regions,
        objects=objects,
        s3=S3Api(objects, state / "tmp"),
        sts=StsApi(principals, roles),
        roles=roles,
        quota=quota,
        moto=moto,
        faults=shared.faults,
        control=Control(endpoint, shared.isolation.value, regions, shared.faults, quota, refusals=refusals),
        refusals=refusals,
    )
    entrance = Authenticator(principals, int(server.server_port), state / "tmp", quota, region=region)
    server.app = Dispatcher(entrance, owners)
    for each in regions.all():
        each.restore()
    return Parts(endpoint=endpoint, regions=regions, server=server, warm_up=partial(_warm_up, moto, objects, regions))


def _shared(state: Path, url: str, options: Options, objects: ObjectStore, principals: Principals) -> Shared:
    return Shared(
        objects=objects,
        principals=principals,
        options=options,
        isolation=probe(options.isolation, state / "tmp"),
        slots=JobSlots(options.max_jobs),
        capacity=Capacity(options.capacity),
        root=state,
        url=url,
        toolkit_error=ToolkitCheck(options.job_python),
        faults=FaultInjector(),
    )


def _endpoint(state: Path, region: str, key: Key, port: int) -> Endpoint:
    return Endpoint(
        url=f"http://127.0.0.1:{port}",
        access_key=key.access,
        secret_key=key.secret,
        region=region,
        account_id=EMULATED_ACCOUNT,
        pid=os.getpid(),
        state=state,
        version=vars(sys.modules["sm_trn"])["__version__"],  # an import of the package would point up the layers
        bucket=f"sagemaker-{region}-{EMULATED_ACCOUNT}",
        role_arn=_ROLE,
    )


def _warm_up(moto: Moto, objects: ObjectStore, regions: Regions) -> None:
    """Tell moto what there is, then read the service model: what nobody has to wait for who starts an emulator."""
    try:
        for bucket, region in objects.buckets().items():
            moto.create_bucket(bucket, region)
        role = {"RoleName": ROLE_NAME, "AssumeRolePolicyDocument": json.dumps(_TRUST)}
        moto.query("iam", "CreateRole", "2010-05-08", role)
        for each in regions.all():
            each.prepare(moto)
            each.metrics.restore()
    finally:
        objects.ready.set()
    service_model()
    service_model("logs")


def serve(
    state: Path, region: str, options: Options, services: Sequence[OpenService], ready: Callable[[str], None]
) -> None:
    """Run until SIGTERM or SIGINT. ``ready`` is told ``ready`` once requests are answered."""
    hold_lock(state)  # until the process is gone: the kernel lets go of it
    parts = build(state, region, options, services)
    _publish(parts.endpoint)
    threading.Thread(target=parts.warm_up, name="warm-up", daemon=True).start()
    thread = threading.Thread(
        target=parts.server.serve_forever, kwargs={"poll_interval": 0.1}, name="http server", daemon=True
    )
    end = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: end.set())
    thread.start()
    ready("ready")
    while not end.wait(60):
        pass
    parts.regions.shutdown(time.monotonic() + _SHUTDOWN_S)
    parts.server.shutdown()
    (state / _ENDPOINT).unlink(missing_ok=True)
    parts.regions.close()


def _stored_key(store: Store) -> Key:
    access, secret = store.setting("access_key"), store.setting("secret_key")
    if access is None or secret is None:
        key = new_key()
        store.set("access_key", key.access)
        store.set("secret_key", key.secret)
        return key
    return Key(access, secret)


def _listen(store: Store, wanted: int) -> Any:
    """A bound server on loopback. Without a port asked for, that of the last run is tried first."""
    last = int(store.setting("port") or 0)
    try:
        server = _server(wanted or last)
    except (OSError, SystemExit) as error:  # werkzeug exits where it cannot bind
        if wanted:
            raise OSError(f"port {wanted} is taken; got {error!r}, wanted a free port or 0") from error
        server = _server(0)
    store.set("port", str(server.server_port))
    return server


def _server(port: int) -> Any:
    from .http.server import LoopbackServer  # noqa: PLC0415 - heavy, and its settings must stand in the environment first

    return LoopbackServer("127.0.0.1", port, _CONNECTIONS)


def _publish(endpoint: Endpoint) -> None:
    """endpoint.json, readable by the owner only, complete or not there; before it, what SDKs are to know of us."""
    sdk_settings.write(endpoint.state, endpoint.url)
    fresh = endpoint.state / f"{_ENDPOINT}.new"
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as out:
        out.write(options.dump(endpoint))
    fresh.replace(endpoint.state / _ENDPOINT)

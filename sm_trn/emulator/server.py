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
from collections.abc import Callable
from pathlib import Path
from typing import Any

from . import options, sdk_settings
from .api.shapes import service_model
from .container.context import Context
from .container.layout import clean_up_orphans, has_namespaces
from .dispatcher import Dispatcher
from .fault_injection import FaultInjector
from .hosting.endpoints import Endpoints
from .http.moto import Moto, settle_environment
from .iam.authenticator import Authenticator
from .iam.keys import Key, Principals, new_key
from .iam.roles import Roles
from .objects import Objects
from .operations import Operations
from .options import EMULATED_ACCOUNT, ROLE_NAME, Endpoint, Options
from .state.resources import Resources
from .state.store import Store
from .telemetry.log_store import LogLines
from .telemetry.logs import GROUP
from .telemetry.metrics import MetricStore
from .training.api import TrainingApi
from .training.jobs import Jobs
from .training.supervisor import Supervisor

_SHUTDOWN_S = 12.0
_CONNECTIONS = 128
_LOCK_TRIES = 40
_LOOK_S = 2.0  # between two looks for a parent
_ENDPOINT = "endpoint.json"
_SETTING = "setting"  # the kind of record that names the key and the port


class Emulator:
    """The parts of one process. Raises EmulatorError for a state folder that cannot be used, OSError for a port that is taken."""

    def __init__(self, state: Path, region: str, options: Options) -> None:
        settle_environment()
        clean_up_orphans(state)
        self._store = store = Store(state / "emulator.db")
        key, self.server = _stored_key(store), _listen(store, options.port)
        port = int(self.server.server_port)
        self.endpoint = _endpoint(state, region, key, port)
        self._moto = Moto(region)
        self.context = context = Context(
            root=state,
            region=region,
            url=self.endpoint.url,
            options=options,
            namespace=options.namespace and has_namespaces(),
            objects=Objects(state / "s3", store),
            principals=Principals(key),
            faults=FaultInjector(),
            resources=Resources(store, region),
            lines=LogLines(state / "logs"),
            metrics=MetricStore(state / "metrics", self._moto),
        )
        self._roles = Roles(self._moto, context.objects.ready)
        jobs, self._hosting = Jobs(store), Endpoints(context)
        self._supervisor = Supervisor(context, jobs)
        training = TrainingApi(context, jobs, self._supervisor)
        self.server.app = Dispatcher(
            authenticator=Authenticator(context.principals, port, state / "tmp"),
            context=context,
            endpoint=self.endpoint,
            training=training,
            hosting=self._hosting,
            roles=self._roles,
            moto=self._moto,
            operations=Operations(training, self._hosting, context.resources),
        )
        self._hosting.fail_unfinished()
        self._waiting = jobs.fail_unfinished()

    def warm_up(self) -> None:
        """Give moto what there is, and read the service model: whoever starts an emulator need not wait for it."""
        objects = self.context.objects
        try:
            self._moto.load()
            self.server.use_motos_handler()
            objects.load()
            objects.create_bucket(self.endpoint.bucket, self.endpoint.region)
            self._roles.create(ROLE_NAME)
            body = json.dumps({"logGroupName": GROUP}).encode()
            self._moto.call("logs", body, "application/x-amz-json-1.1", "Logs_20140328.CreateLogGroup")
            self.context.metrics.restore()
        finally:
            objects.ready.set()
        for name in self._waiting:
            self._supervisor.start(name)
        service_model()
        service_model("logs")

    def shutdown(self) -> None:
        """End all that runs, and keep what is new."""
        self._hosting.shutdown()
        self._supervisor.shutdown(time.monotonic() + _SHUTDOWN_S)
        self.server.shutdown()
        (self.endpoint.state / _ENDPOINT).unlink(missing_ok=True)
        self.context.objects.save()
        self._store.close()


def serve(state: Path, region: str, options: Options, ready: Callable[[str], None]) -> None:
    """Run until SIGTERM or SIGINT. ``ready`` is told ``ready`` once requests are answered. Raises as Emulator, and BlockingIOError for
    a folder that another process holds."""
    lock(state)  # until the process is gone: the kernel lets go of it
    emulator = Emulator(state, region, options)
    _publish(emulator.endpoint)
    threading.Thread(target=emulator.warm_up, name="warm-up", daemon=True).start()
    serving = {"poll_interval": 0.1}
    threading.Thread(target=emulator.server.serve_forever, kwargs=serving, name="http server", daemon=True).start()
    end = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: end.set())
    ready("ready")
    while not end.wait(_LOOK_S):
        if options.parent_pid is not None and not _lives(options.parent_pid):
            break
    emulator.shutdown()


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except OSError as error:
        return isinstance(error, PermissionError)  # somebody else's
    return True


def lock(state: Path) -> None:
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
        role_arn=f"arn:aws:iam::{EMULATED_ACCOUNT}:role/{ROLE_NAME}",
    )


def _stored_key(store: Store) -> Key:
    known = store.records(_SETTING)
    if "access_key" in known and "secret_key" in known:
        return Key(known["access_key"], known["secret_key"])
    key = new_key()
    store.save(_SETTING, "access_key", key.access)
    store.save(_SETTING, "secret_key", key.secret)
    return key


def _listen(store: Store, wanted: int) -> Any:
    """A bound server on loopback. Without a port asked for, that of the last run is tried first."""
    last = int(store.records(_SETTING).get("port", 0))
    try:
        server = _server(wanted or last)
    except (OSError, SystemExit) as error:  # werkzeug exits where it cannot bind
        if wanted:
            raise OSError(f"port {wanted} is taken; got {error!r}, wanted a free port or 0") from error
        server = _server(0)
    store.save(_SETTING, "port", str(server.server_port))
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

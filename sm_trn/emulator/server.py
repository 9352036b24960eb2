"""The emulator's process: its parts, the lock of the state folder, serving, and cleaning up.

The only place where the parts meet.
"""

from __future__ import annotations

import fcntl
import os
import signal
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

from . import options, sdk_settings
from .api.shapes import service_model
from .container.context import Shared
from .container.isolation import probe
from .container.orphans import clean_up_orphans
from .container.slots import JobSlots
from .control import Control
from .dispatcher import Dispatcher
from .fault_injection import FaultInjector
from .http.moto import Moto, settle_environment
from .iam.authenticator import Authenticator
from .iam.keys import Key, Principals, new_key
from .iam.roles import Roles
from .objects import Objects
from .options import EMULATED_ACCOUNT, ROLE_NAME, Endpoint, Options
from .regions import Regions
from .state.store import Store
from .training.supervisor import ToolkitCheck

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_SHUTDOWN_S = 12.0
_CONNECTIONS = 128
_LOCK_TRIES = 40
_LOOK_S = 2.0  # between two looks for a parent
_ENDPOINT = "endpoint.json"


class Emulator:
    """The parts of one process. Raises EmulatorError for a state folder that cannot be used, OSError for a port that is taken."""

    def __init__(self, state: Path, region: str, options: Options) -> None:
        settle_environment()
        clean_up_orphans(state)
        store = Store(state / "emulator.db")
        key, self.server = _stored_key(store), _listen(store, options.port)
        port = int(self.server.server_port)
        self.endpoint = _endpoint(state, region, key, port)
        self._shared = _shared(state, self.endpoint.url, options, Objects(state / "s3", store), Principals(key))
        self._moto = Moto(region)
        self._roles = Roles(self._moto, self._shared.objects.ready)
        self.regions = Regions(self._shared, store, self._moto, region)
        self.server.app = Dispatcher(
            authenticator=Authenticator(self._shared.principals, port, state / "tmp"),
            shared=self._shared,
            regions=self.regions,
            roles=self._roles,
            moto=self._moto,
            control=Control(self.endpoint, self._shared.isolation.value, self.regions, self._shared.faults),
        )
        self._waiting = {each: each.restore() for each in self.regions.all()}

    def warm_up(self) -> None:
        """Give moto what there is, and read the service model: whoever starts an emulator need not wait for it."""
        objects = self._shared.objects
        try:
            self._moto.load()
            self.server.use_motos_handler()
            objects.load()
            objects.create_bucket(self.endpoint.bucket, self.endpoint.region)
            self._roles.create(ROLE_NAME)
            for each in self.regions.all():
                each.prepare(self._moto)
                each.metrics.restore()
        finally:
            objects.ready.set()
        for each, names in self._waiting.items():
            for name in names:
                each.supervisor.start(name)
        service_model()
        service_model("logs")

    def shutdown(self) -> None:
        """End all that runs, and keep what is new."""
        self.regions.shutdown(time.monotonic() + _SHUTDOWN_S)
        self.server.shutdown()
        (self.endpoint.state / _ENDPOINT).unlink(missing_ok=True)
        self._shared.objects.save()
        self.regions.close()


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
    except ProcessLookupError:
        return False
    except PermissionError:  # somebody else's
        return True
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


def _shared(state: Path, url: str, options: Options, objects: Objects, principals: Principals) -> Shared:
    return Shared(
        objects=objects,
        principals=principals,
        options=options,
        isolation=probe(options.isolation),
        slots=JobSlots(options.max_jobs),
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
        role_arn=f"arn:aws:iam::{EMULATED_ACCOUNT}:role/{ROLE_NAME}",
    )


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

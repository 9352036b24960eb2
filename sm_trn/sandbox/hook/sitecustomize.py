"""Start-up hook of every Python process in the sandbox: stand-ins for absent modules, and notes of what the program lacks.

It runs before the program, knows nothing of the package, and reads its settings from the variable SM_TRN_SANDBOX. It seals nothing:
what keeps the program from files and the network are the namespaces that it runs in. Addresses are refused here so that the refusal
names them. Other hooks ``import sitecustomize`` for what has no underscore here.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import json
import os
import sys
from collections.abc import Callable
from types import ModuleType

import stand_ins  # type: ignore[import-not-found]  # it lies beside this file

SETTINGS = json.loads(os.environ.get("SM_TRN_SANDBOX", "{}"))
_COPY = os.path.realpath(SETTINGS.get("copy", "/")) + os.sep
_LOOPBACK = ("127.0.0.1", "::1", "localhost", "", None)
_PATCHES: dict[str, Callable[[ModuleType], None]] = {}


class RefusedError(OSError):
    """There is no network here."""


def tell(kind: str, **row: object) -> None:
    """Write a note down, which the sandbox returns."""
    descriptor = os.open(SETTINGS["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.write(descriptor, (json.dumps({"kind": kind, **row}) + "\n").encode())
    os.close(descriptor)


def on_import(name: str, patch: Callable[[ModuleType], None]) -> None:
    """Call ``patch`` with a module when it has been imported first."""
    _PATCHES[name] = patch


def of_program(name: str) -> bool:
    """Return True for a file of the program's own, or a cell of it."""
    if name.startswith("<"):  # a cell, or what Python and libraries have made of text
        return name.startswith("<cell ")
    return os.path.realpath(name).startswith(_COPY) and "site-packages" not in name


def _watch(event: str, arguments: tuple[object, ...]) -> None:
    """Refuse an address or a name that is looked up and does not belong to this machine: there is no network."""
    if event in {"socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr"}:
        host, what = arguments[0], "name"
    elif event in {"socket.connect", "socket.sendto", "socket.sendmsg"} and isinstance(arguments[1], tuple):
        host, what = arguments[1][0], "connection to"
    else:
        return
    host = host.decode("utf-8", "replace") if isinstance(host, bytes) else host
    if host not in _LOOPBACK:
        tell("refused", what=what, detail=str(host)[:300])
        raise RefusedError(f"there is no network in the sandbox; {what} {host} was refused")


class _Finder(importlib.abc.MetaPathFinder):
    """Patches a module when it is first imported."""

    def find_spec(self, name, path=None, target=None):
        if name not in _PATCHES:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is None or spec.loader is None:
            return None
        execute = spec.loader.exec_module

        def exec_module(module):
            execute(module)
            _PATCHES[name](module)

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]  # of this one loader
        return spec


def _start() -> None:
    sys.meta_path.insert(0, _Finder())
    sys.meta_path.append(stand_ins.Finder(of_program, lambda name: tell("stand-in", name=name)))
    for path in SETTINGS["hooks"]:  # their folders are on the path
        importlib.import_module(os.path.basename(path)[: -len(".py")])
    sys.addaudithook(_watch)


if SETTINGS:
    _start()

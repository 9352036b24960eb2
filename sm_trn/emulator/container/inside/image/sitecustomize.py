"""Every Python of an emulated host loads this module, so that torch's rendezvous store listens on this machine only.

torch binds it to every interface, and takes no address. It does take a socket that listens already, so it is given
one of 127.0.0.1. An installation's own sitecustomize is run as well. It must not import torch, nor fail.
"""

from __future__ import annotations

import contextlib
import importlib.abc
import importlib.machinery
import importlib.util
import socket
import sys
from pathlib import Path
from typing import Any

_TORCH_DISTRIBUTED = "torch.distributed"
_LISTEN_FD = 6  # where master_listen_fd stands among TCPStore's arguments, after host and port


class _BeforeDistributed(importlib.abc.MetaPathFinder):
    """Changes torch's initialisation just before the package that calls it is loaded."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:  # noqa: ARG002 - importlib's signature
        if name == _TORCH_DISTRIBUTED:
            sys.meta_path.remove(self)
            with contextlib.suppress(Exception):  # an older torch: it stays as it is
                _wrap_initialisation(sys.modules["torch._C"])


def _wrap_initialisation(core: Any) -> None:
    original = core._c10d_init  # noqa: SLF001 - there is no public place to do this

    def initialise() -> Any:
        done = original()
        with contextlib.suppress(Exception):
            parts = core._distributed_c10d  # noqa: SLF001 - as above
            parts.TCPStore = _on_loopback(parts.TCPStore)
        return done

    core._c10d_init = initialise  # noqa: SLF001 - as above


def _on_loopback(store: Any) -> Any:
    class TCPStore(store):  # type: ignore[misc]
        def __init__(self, host_name: str, port: int, *rest: Any, **named: Any) -> None:
            master = rest[1] if len(rest) > 1 else named.get("is_master", False)
            if master and len(rest) < _LISTEN_FD and named.get("master_listen_fd") is None:
                with contextlib.suppress(OSError):  # taken: by this process's own store, or torch says by whom
                    named["master_listen_fd"] = _listening(port)
            super().__init__(host_name, port, *rest, **named)

    return TCPStore


def _listening(port: int) -> int:
    with socket.socket() as bound:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(("127.0.0.1", port))
        bound.listen(1024)
        return bound.detach()


def _run_the_installations_own() -> None:
    here = str(Path(__file__).parent)
    elsewhere = [entry for entry in sys.path if entry and str(Path(entry)) != here]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", elsewhere)
    if spec is not None and spec.loader is not None:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


sys.meta_path.insert(0, _BeforeDistributed())
_run_the_installations_own()

"""An index of tiny packages in a folder, which uv and pip read as they read the public one."""

from __future__ import annotations

import contextlib
import http.server
import io
import json
import tarfile
import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path


def wheel(
    folder: Path,
    name: str,
    version: str,
    *requires: str,
    python: str = "",
    wants_python: str = "",
    program: str = "",
    native: str = "",
    **modules: str,
) -> None:
    """A package whose module tells its version, then runs ``program``, in an index of its own; for one Python where ``python`` says, or for
    those that ``wants_python`` says.

    ``modules`` are the texts of modules below it, by name; ``native`` is what its compiled module holds.
    """
    folder = folder / name
    folder.mkdir(exist_ok=True)
    info = f"{name.replace('-', '_')}-{version}.dist-info"
    needed = "".join(f"Requires-Dist: {each}\n" for each in requires)
    needed += f"Requires-Python: {wants_python}\n" if wants_python else ""
    tag = f"{python}-{python}-manylinux_2_17_x86_64" if python else "py3-none-any"
    with zipfile.ZipFile(folder / f"{name.replace('-', '_')}-{version}-{tag}.whl", "w") as packed:
        packed.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{needed}")
        packed.writestr(f"{info}/WHEEL", f"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: {tag}\n")
        packed.writestr(f"{info}/RECORD", "")
        packed.writestr(f"{name.replace('-', '_')}/__init__.py", f"__version__ = {version!r}\n{program}")
        if native:
            packed.writestr(f"{name.replace('-', '_')}/_native.so", native)
        for module, text in modules.items():
            packed.writestr(f"{name.replace('-', '_')}/{module}.py", text)
    index(folder)


def sdist(folder: Path, name: str, version: str, *requires: str, program: str = "", build: str = "") -> None:
    """A package that has no wheel: a build would tell what it is, and what setuptools packed with it where there is a ``program``.

    ``build`` is the program that builds it, isolated, with nothing beside it.
    """
    folder = folder / name
    folder.mkdir()
    texts = {"setup.py": "raise SystemExit('built')"}
    if build:
        backend = "[build-system]\nrequires = []\nbuild-backend = 'backend'\nbackend-path = ['.']\n"
        texts = {"pyproject.toml": backend, "backend.py": build}
    if program:
        module = name.replace("-", "_")
        texts[f"src/{module}/__init__.py"] = program
        texts[f"src/{module}.egg-info/top_level.txt"] = f"{module}\n"
        texts[f"src/{module}.egg-info/requires.txt"] = "".join(f"{each}\n" for each in requires)
    with tarfile.open(folder / f"{name}-{version}.tar.gz", "w:gz") as packed:
        for path, text in texts.items():
            member = tarfile.TarInfo(f"{name}-{version}/{path}")
            member.size = len(text)
            packed.addfile(member, io.BytesIO(text.encode()))
    index(folder)


def index(folder: Path) -> None:
    files = [*folder.glob("*.whl"), *folder.glob("*.tar.gz")]
    links = "".join(f'<a href="{each.name}">{each.name}</a>' for each in files)
    (folder / "index.html").write_text(f"<html><body>{links}</body></html>")


@contextlib.contextmanager
def dated(folder: Path, days: dict[str, str]) -> Iterator[str]:
    """The URL of an index of a folder that says on which day each version was uploaded: by file, else on the first of 2020."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            place = folder / self.path.strip("/")
            if not place.exists():
                self.send_error(404)
                return
            files = [
                {
                    "filename": each.name,
                    "url": f"/{each.relative_to(folder)}",
                    "hashes": {},
                    "upload-time": f"{days.get(each.name, '2020-01-01')}T00:00:00Z",
                }
                for each in place.glob("*.whl")
            ]
            page = {"meta": {"api-version": "1.1"}, "name": place.name, "files": files}
            content = json.dumps(page).encode() if place.is_dir() else place.read_bytes()
            self.send_response(200)
            self.send_header("Content-Type", "application/vnd.pypi.simple.v1+json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(content)

        def do_HEAD(self) -> None:
            self.do_GET()

        def log_message(self, *_: object) -> None:
            return

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/"
        server.shutdown()


def alone(folder: Path) -> dict[str, str]:
    """What makes uv look into a folder alone."""
    return {"UV_DEFAULT_INDEX": folder.as_uri(), "UV_NO_CONFIG": "1", "UV_CACHE_DIR": str(folder.parent / "cache")}

"""Imports that are followed through the packages of a job: what is surely lacking is told, and nothing else."""

from __future__ import annotations

import functools
import http.server
import sys
import tempfile
import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as some

from sm_trn.images.following import Follower
from sm_trn.images.wheels import Release, UnreadError, read_release

LAZY = "import sys\n_import_structure = {'parts': ['Listed']}\nsys.modules[__name__] = _LazyModule(_import_structure)\n"


def release(name: str, files: dict[str, str]) -> Release:
    return Release(name, "1.0", {path: text.encode() for path, text in files.items()})


def lacking(program: str, *packages: Release, **own: str) -> list[str]:
    """What a program lacks among packages."""
    programs = release("", {"train.py": program, **{f"{name}.py": text for name, text in own.items()}})
    by_name = {module: package for package in packages for module in package.modules}
    return [
        str(each) for each in Follower(programs, lambda module: by_name.get(module.partition(".")[0])).lacking("train")
    ]


LIBRARY = release(
    "library",
    {
        "library/__init__.py": "from .values import *\nif True:\n    Bound = 1\n",
        "library/values.py": "Value = 1\nfor each in ():\n    pass\n",
        "library/native.so": "",
        "library/lazy/__init__.py": LAZY,
        "library/lazy/parts.py": "class Below:\n    pass\n",
        "library/asked.py": "def __getattr__(name):\n    return 1\n",
        "library/lazily.py": "if TYPE_CHECKING:\n    from .values import Value\n"
        "else:\n    NAMES = {'Named': 1}\n    def __getattr__(name):\n        raise AttributeError(NAMES[name])\n",
        "library/spaced/__init__.py": "__path__ = __import__('pkgutil').extend_path(__path__, __name__)\n",
        "library/made/__init__.py": "import sys\nsys.modules[__name__ + '.later'] = sys\n",
        "library/broad.py": "def fill():\n    global Filled\n    Filled = 1\n",
    },
)


@pytest.mark.parametrize(
    "line",
    [
        "import library.values",
        "from library import Value, Bound, each, values, native",
        "import library.native",
        "from library.native import anything",
        "from library.lazy import Listed, Below",
        "from library.asked import anything",
        "from library.lazily import Named",
        "import library.spaced.of_another_package",
        "import library.made.later",
        "from library.broad import Filled",
        "try:\n    from library import Gone\nexcept ImportError:\n    pass",
        "if library:\n    from library import Gone",
        "def later():\n    from library import Gone",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from library import Gone",
        "import unknown.module",
        "from library import *",
        "raise SystemExit\nfrom library import Gone",
    ],
)
def test_what_may_be_there_is_not_missed(line: str) -> None:
    assert [] == lacking(f"{line}\n", LIBRARY)


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("from library import Gone", "Gone from library"),
        ("from library.values import Gone", "Gone from library.values"),
        ("import library.gone", "library.gone"),
        ("from library.gone.further import Name", "library.gone.further"),
        ("from library.lazy import Gone", "Gone from library.lazy"),
        ("if __name__ == '__main__':\n    from library import Gone", "Gone from library"),
        ("class Own:\n    from library import Gone", "Gone from library"),
    ],
)
def test_what_is_not_there_is_told_with_its_place(line: str, what: str) -> None:
    number = line.count("\n") + 1
    assert [f"train.py:{number} imports {what}, which library 1.0 does not have"] == lacking(f"{line}\n", LIBRARY)


def test_two_modules_that_take_each_other_whole_end_in_no_certainty() -> None:
    around = release(
        "around", {"around/__init__.py": "from .other import *\n", "around/other.py": "from around import *\n"}
    )
    assert [] == lacking("from around import Gone\n", around)


def test_imports_are_followed_through_the_jobs_own_programs_and_other_packages() -> None:
    user = release(
        "user",
        {
            "user/__init__.py": LAZY.replace("Listed", "Main"),
            "user/parts.py": "from .deep import x\nclass Main:\n    pass\n",
            "user/deep.py": "from library.values import Gone\n",
            "user/unused.py": "from library import AnotherGone\n",
        },
    )
    told = "user 1.0 imports Gone from library.values, which library 1.0 does not have"
    assert [told] == lacking("import helper\n", user, LIBRARY, helper="from user import Main\n")
    assert [] == lacking("import user.lazily\n", LIBRARY)
    assert [] == lacking("from library import Gone\n", LIBRARY, library="Gone = 1\n")  # the job's own hides it


def test_a_backend_counts_where_its_release_is_one_that_the_library_takes() -> None:
    torch = release("torch", {"torch/__init__.py": "x = 1\n"})
    for wanted, told in (("1.0", True), ("2.0", False)):
        files = {
            "user/__init__.py": "if is_torch_available():\n    from torch import Gone\n",
            "user-1.0.dist-info/METADATA": f"Name: user\nRequires-Dist: torch>={wanted}; extra == 'torch'\n\nRequires-Dist: none",
        }
        assert told is bool(lacking("import user\n", release("user", files), torch))


def test_a_function_that_only_looks_for_a_package_is_a_condition_that_is_known() -> None:
    files = {
        "user/__init__.py": "from .checks import has_library\nif not has_library():\n    Own = 1\nelse:\n    from library import Gone\n",
        "user/checks.py": "import importlib\ndef has_library():\n    return importlib.util.find_spec('library') is not None\n",
    }
    assert 1 == len(lacking("import user\n", release("user", files), LIBRARY))
    assert [] == lacking("import user\n", release("user", files))
    files["user/checks.py"] = files["user/checks.py"].replace("is not None", "is not None and has_gpu()")
    assert [] == lacking("import user\n", release("user", files), LIBRARY)


NAMES = some.sampled_from(["one", "two", "three", "four"])
STATEMENTS = some.one_of(
    NAMES.map(lambda name: f"{name} = 1"),
    NAMES.map(lambda name: f"def {name}(): pass"),
    NAMES.map(lambda name: f"if True:\n    {name} = 1"),
    NAMES.map(lambda name: f"try:\n    import os as {name}\nexcept ImportError:\n    pass"),
    NAMES.map(lambda name: f"for {name} in [1]:\n    pass"),
    NAMES.map(lambda name: f"globals()['{name}'] = 1"),
    NAMES.map(lambda name: f"setattr(__import__('sys').modules[__name__], '{name}', 1)"),
    NAMES.map(lambda name: f"with open(__file__) as {name}:\n    pass"),
    NAMES.map(lambda name: f"({name} := 1)"),
    some.just("from package.other import *"),
)


@given(some.lists(STATEMENTS, max_size=5), some.lists(STATEMENTS, max_size=3), NAMES)
def test_a_name_that_python_finds_is_never_told(first: list[str], other: list[str], name: str) -> None:
    files = {
        "package/__init__.py": "\n".join(first) + "\n",
        "package/other.py": "\n".join(each for each in other if "package" not in each) + "\n",
    }
    if found_by_python(files, name):
        assert [] == lacking(f"from package import {name}\n", release("package", files))


def found_by_python(files: dict[str, str], name: str) -> bool:
    """Whether Python finds a name in the package of these files."""
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        for path, text in files.items():
            Path(folder, path).parent.mkdir(exist_ok=True)
            Path(folder, path).write_text(text)
        patch.syspath_prepend(folder)
        try:
            exec(f"from package import {name}", {})  # noqa: S102 - of this file's own statements
        except ImportError:
            return False
        finally:
            for module in [each for each in sys.modules if each.partition(".")[0] == "package"]:
                del sys.modules[module]
        return True


@pytest.fixture
def wheel_file(tmp_path: Path) -> Path:
    """A wheel of 200 modules."""
    path = tmp_path / "library-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as packed:
        packed.writestr("library/__init__.py", "Value = 1\n")
        packed.writestr("library/long.py", "#" * 4_000_000)
        for number in range(200):
            packed.writestr(
                f"library/module{number}.py", "".join(f"x{number}_{line} = {line}\n" for line in range(500))
            )
    return path


def test_a_long_wheel_is_fetched_in_parts(wheel_file: Path, served: str, monkeypatch: pytest.MonkeyPatch) -> None:
    size = wheel_file.stat().st_size
    whole = read_release("library", "1.0", f"{served}/{wheel_file.name}", size)
    monkeypatch.setattr("sm_trn.images.wheels.WHOLE", 1_000)
    parts = read_release("library", "1.0", f"{served}/{wheel_file.name}", size)
    assert (False, True) == (whole.partial, parts.partial)
    assert set(whole.files) == set(parts.files)
    assert whole.text("library.module150") == parts.text("library.module150")
    assert parts.text("library.long") is None  # no program is so long
    assert ["library.module3"] == whole.definers("x3_1", "library")
    with pytest.raises(UnreadError):
        parts.definers("x3_1", "library")
    assert 1 == len(lacking("from library.module7 import Gone\n", parts))


@pytest.mark.parametrize("url", ["ftp://host/library.whl", "{served}/nothing.whl", "{served}/readme.txt"])
def test_what_is_no_wheel_is_unread(url: str, served: str) -> None:
    with pytest.raises(UnreadError):
        read_release("library", "1.0", url.format(served=served), None)


def test_a_server_that_sends_no_parts_and_a_wheel_that_is_too_long_are_unread(
    wheel_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sm_trn.images.wheels.WHOLE", 100)
    with pytest.raises(UnreadError, match="longer than 100 bytes"):
        read_release("library", "1.0", wheel_file.as_uri(), None)
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=tmp_path)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        place = wheel_file.relative_to(tmp_path)
        with pytest.raises(UnreadError, match="is not sent in parts"):
            read_release("library", "1.0", f"http://127.0.0.1:{server.server_port}/{place}", wheel_file.stat().st_size)
        server.shutdown()


@pytest.fixture
def served(tmp_path: Path) -> Iterator[str]:
    """The address of a server of the folder that sends parts: SimpleHTTPRequestHandler sends whole files alone."""
    (tmp_path / "readme.txt").write_text("no wheel\n")

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = tmp_path / self.path.lstrip("/")
            if not path.is_file():
                self.send_error(404)
                return
            content, asked = path.read_bytes(), self.headers.get("Range")
            first, last = map(int, asked.removeprefix("bytes=").split("-")) if asked else (0, len(content) - 1)
            self.send_response(206 if asked else 200)
            self.send_header("Content-Length", str(last + 1 - first))
            self.end_headers()
            self.wfile.write(content[first : last + 1])

        def log_message(self, *words: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


GUARD = """
import importlib.util
NEWEST = "2.0"
def _is_package_available(name, return_version=False):
    return importlib.util.find_spec(name) is not None
_other_available = _is_package_available("other")
_new_available, _new_version = _is_package_available("other", return_version=True)
def is_other_available(): return _other_available
def is_found(): return importlib.util.find_spec("other") is not None
def is_asked(): return _is_package_available("other")[0]
def is_new_available(min_version=NEWEST): return _new_available and version.parse(_new_version) >= version.parse(min_version)
def is_old_available(min_version="1.0"): return _new_available and version.parse(_new_version) >= version.parse(min_version)
def is_any_available(): return _other_available or _new_available
def is_elsewhere(): return _is_package_available("elsewhere")
"""


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ("is_other_available()", True),
        ("is_found()", True),
        ("is_asked()", True),
        ("is_old_available()", True),
        ("is_other_available() and is_found()", True),
        ("is_new_available()", False),
        ("is_any_available()", False),
        ("is_elsewhere()", False),
        ("is_other_available() and is_elsewhere()", False),
        ("not is_other_available()", False),
        ("is_other_available('2')", False),
    ],
)
def test_an_import_under_a_condition_is_followed_where_the_condition_surely_holds(condition: str, holds: bool) -> None:
    library = release(
        "library",
        {
            "library/__init__.py": "",
            "library/utils.py": GUARD,
            "library/model.py": f"from .utils import {', '.join(FUNCTIONS)}\nif {condition}:\n    from other import gone\n",
        },
    )
    other = release("other", {"other/__init__.py": ""})
    assert holds == bool(lacking("import library.model\n", library, other))


FUNCTIONS = [line.split("(")[0].removeprefix("def ") for line in GUARD.splitlines() if line.startswith("def is_")]


@pytest.mark.parametrize(
    ("program", "told"),
    [
        ("import library\nx = library.gone\n", True),
        ("import library as l\nclass A(l.gone):\n    pass\n", True),
        ("import library as l\nprint(l.gone)\n", True),
        ("import library.values\nx = library.values.gone\n", False),  # further down is not looked at
        ("import importlib\nl = importlib.import_module('library')\nif l:\n    print(l.gone)\n", True),
        ("import library as l\ndef f(x=l.gone):\n    return x\n", True),
        ("import library as l\nx = l.Value\n", False),
        ("import library as l\ndef f():\n    return l.gone\n", False),
        ("import library as l\nx = l.gone if hasattr(l, 'gone') else 1\n", False),
        ("import library as l\nx = hasattr(l, 'gone') and l.gone\n", False),
        ("import library as l\nl.gone = 1\nx = 1\n", False),
        ("import library as l\nl = 1\nprint(l.gone)\n", False),
        ("try:\n    import library as l\nexcept ImportError:\n    l = None\nif l:\n    print(l.gone)\n", False),
    ],
)
def test_an_attribute_that_a_module_lacks_is_told_where_it_is_surely_read(program: str, told: bool) -> None:
    assert told == bool(lacking(program, LIBRARY))


def test_a_library_below_a_namespace_is_found_by_its_whole_name() -> None:
    above = release("above", {"above/__init__.py": ""})
    below = release("above-below", {"above/below/__init__.py": ""})
    programs = release("", {"train.py": "from above.below import gone\n"})
    by_name = {"above": above, "above.below": below}
    assert ["gone"] == [each.name for each in Follower(programs, by_name.get).lacking("train")]

"""Whatever a file holds, it is read or refused in words; not a line of it is executed, and none of it costs more than a moment.

200 mutated scripts and notebooks in the suite; SM_TRN_HOSTILE=2000 asks for more, and SM_TRN_CALLSITES for real ones among them.
"""

from __future__ import annotations

import ast
import contextlib
import json
import os
import random
import time
from pathlib import Path

import pytest
from fakes.sdks import Everything, Installed

from sm_trn.bridge.commands import shown
from sm_trn.bridge.launchers import read_launchers
from sm_trn.bridge.launchers.slice import sliced
from sm_trn.bridge.launchers.source import cells
from sm_trn.bridge.rewriting.rewrite import rewritten
from sm_trn.core.errors import SmTrnError
from sm_trn.rules import check

CASES = int(os.environ.get("SM_TRN_HOSTILE", "200"))
CALLSITES = Path(os.environ.get("SM_TRN_CALLSITES", "/nowhere"))
BATCH = 50
V2, V3 = Installed(), Everything()
WHOLE = """open({canary!r}, 'w').close()
exec("open({canary!r}, 'w')")
import os, sagemaker
os.system('touch ' + {canary!r})
from sagemaker.pytorch import PyTorch
from sagemaker.tuner import HyperparameterTuner
class Settings:
    rates = [1, 2]
    def __init__(self, n=3):
        self.n = n
def made(n, *more, **names):
    if n > 5:
        return {{'n': n - 1}}
    try:
        return {{**names, 'n': n}}
    except KeyError as error:
        return error
d = {{'a': [1, 2], **made(7, x=f'{{d!r:>3}}')}}
for i, word in enumerate('abc'):
    d[i] = word if i % 2 else f'{{i:03d}}'
match len(d):
    case 1 | 2:
        d |= {{'m': 1}}
    case [first, *rest]:
        del d['a']
while d:
    break
e = PyTorch('t.py', role=sagemaker.get_execution_role(), instance_type='ml.g5.xlarge', framework_version='2.1', py_version='py310',
            hyperparameters=d, instance_count=1)
if os.path.exists({canary!r}):
    e.fit('s3://b')
HyperparameterTuner(e, 'loss').fit({{'train': 's3://b/x'}})
"""
JUNK = [
    "\x00", "ﬁ", "'''", "(" * 50, "[" * 300, "print 'two'\n", "exec 'x = 1'\n", "\r", "lambda: ", "d.update(d)\n", "d['d'] = d\n",
    "\ud800", "%store -r\n", "!ls {x}\n", "%%bash\n", "%run -i x.py\n", "from x import *\n", "global d\n", "e = e.fit = e\n", "    ",
    "\t", "\\\n", "async def f():\n", "yield\n", "9" * 5_000, "\ufeff", "\u202e", "{canary}", "f'{f'{1}'}'\n", "d = d['d'] = d\n",
]  # fmt: skip


def originals(canary: Path) -> list[str]:
    """Our own launcher, and public ones where they lie."""
    real = sorted(CALLSITES.rglob("*.ipynb"))[::20] if CALLSITES.is_dir() else []
    return [
        WHOLE.format(canary=str(canary)),
        *(path.read_text("utf-8", errors="replace") for path in real if path.stat().st_size < 200_000),
    ]


WORDS = [
    "d",
    "e",
    "made",
    "Settings",
    "os",
    "None",
    "10 ** 9",
    "-1",
    "d['a']",
    "e.fit",
    "made(d)",
    "{}",
    "[d]",
    "e.fit(d)",
    "{**d}",
    "d[d]",
]


class Exchanged(ast.NodeTransformer):
    """Some values are put in the places of others."""

    def __init__(self, draw: random.Random) -> None:
        self.draw = draw

    def generic_visit(self, node: ast.AST) -> ast.AST:
        if isinstance(node, ast.JoinedStr):
            return node
        node = super().generic_visit(node)
        known = isinstance(node, (ast.Name, ast.Constant, ast.Call, ast.Dict)) and isinstance(
            getattr(node, "ctx", ast.Load()), ast.Load
        )
        return ast.parse(self.draw.choice(WORDS), mode="eval").body if known and self.draw.random() < 0.08 else node


def tangled(draw: random.Random, text: str) -> str:
    """Statements dropped, doubled and exchanged, and values put in the places of others: it stays Python."""
    tree = ast.parse(text)
    for body in [
        tree.body,
        *(node.body for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.If, ast.For, ast.Try))),
    ]:
        for _ in range(draw.randrange(3)):
            one, two = draw.randrange(len(body)), draw.randrange(len(body))
            body[one], body[two] = body[two], body[one]
            body.insert(one, body[two])
            del body[draw.randrange(len(body))]
    return str(ast.unparse(Exchanged(draw).visit(tree)))


def mutated(draw: random.Random, text: str) -> tuple[str, bytes]:
    """A name and what a file of that name holds: cut, mixed, filled with junk, wrapped into a notebook, with flipped bytes."""
    broken = draw.random() < 0.5
    text = text if broken or text.lstrip().startswith("{") else tangled(draw, text)
    if broken:
        start = draw.randrange(len(text)) if draw.random() < 0.2 else 0
        text = text[start : draw.randrange(len(text)) if draw.random() < 0.5 else len(text)]
    for _ in range(draw.randrange(4) if broken else 0):
        at = draw.randrange(len(text) + 1)
        text = (
            text[:at]
            + draw.choice([*JUNK, text[at : at + 200] * 3, " " * draw.randrange(9)])
            + text[at + draw.randrange(20) :]
        )
    name = draw.choice(["launch.py", "launch.ipynb"])
    if name.endswith("ipynb") and not text.lstrip().startswith("{"):
        code = {"cell_type": "code", "source": draw.choice([text, text.splitlines(keepends=True), [3, None], None])}
        text = json.dumps(
            {"cells": [code, draw.choice([None, 3, {"cell_type": "code"}, {"cell_type": "code", "source": {}}])]}
        )
    data = bytearray(text.encode("utf-8", "surrogatepass"))
    for _ in range(draw.randrange(3) if data and broken and draw.random() < 0.3 else 0):
        data[draw.randrange(len(data))] = draw.randrange(256)
    return name, bytes(data)


def everything(path: Path, *, checked: bool = False) -> None:
    """All that a command does with a file, but the running."""
    found = read_launchers(path, check=check if checked else None)
    assert shown.report(found)
    json.dumps(shown.as_json(found))
    text = path.read_bytes().decode("utf-8")
    rewritten(text, path.name, V2, V3)
    sliced(cells(path.name, text.replace("\r\n", "\n")), [launch.place for launch in found.launches])


@pytest.mark.parametrize("batch", range(max(1, CASES // BATCH)))
def test_a_broken_launcher_is_read_or_refused_and_never_run(batch: int, tmp_path: Path) -> None:
    canary = tmp_path / "canary"
    texts = originals(canary)
    for number in range(batch * BATCH, (batch + 1) * BATCH):
        draw = random.Random(number)
        name, data = mutated(draw, draw.choice(texts))
        path = tmp_path / name
        path.write_bytes(data)
        began = time.process_time()
        with contextlib.suppress(SmTrnError):
            everything(path, checked=number % 10 == 0)
        assert time.process_time() - began < 20, (number, name)
    assert not canary.exists()


@pytest.mark.parametrize("name", ["launch.py", "launch.ipynb"])
def test_a_file_of_fifty_megabytes_is_refused_by_its_size(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(b"x = 1\n" * 8_500_000)
    with pytest.raises(SmTrnError, match="wanted at most"):
        read_launchers(path)


@pytest.mark.parametrize(
    "line", ["del d[[1]]", "d[[1]] = 2", "x = d[[1]]", "d.pop([1])", "x = {[1]: 2}", "x = {**[1]}", "d |= [1]"]
)
def test_what_python_refuses_is_no_traceback(line: str, tmp_path: Path) -> None:
    path = tmp_path / "launch.py"
    path.write_text(f"d = {{'a': 1}}\n{line}\n")
    everything(path)


WAYS_OUT = [
    "x = sagemaker.estimator.os.system('touch {out}')",
    "from sagemaker.estimator import os as o\nx = o.system('touch {out}')",
    "x = sagemaker.Session().upload_data.__globals__['os'].system('touch {out}')",
    "x = boto3.Session().client('s3')._endpoint.http_session.send.__globals__['os'].system('touch {out}')",
    "x = sagemaker.Session().__class__.__init__.__globals__['os'].system('touch {out}')",
    "x = sagemaker.Session().__class__.__mro__[-1].__subclasses__()",
    "x = getattr(sagemaker.estimator, 'os').system('touch {out}')",
    "x = boto3.session.os.system('touch {out}')",
    "x = botocore.utils.os.system('touch {out}')",
    "x = sagemaker.utils.shutil.copy('/etc/hostname', '{out}')",
    "x = sagemaker.utils.create_tar_file(['/etc/hostname'], target='{out}')",
    "x = sagemaker.utils.tarfile.open('{out}', 'w')",
    "x = sagemaker.utils.download_file('b', 'k', '{out}', sagemaker.Session())",
    "x = sagemaker.s3.S3Downloader.download('s3://b/k', '{out}')",
    "x = sagemaker.git_utils.subprocess.check_call(['touch', '{out}'])",
    "x = sagemaker.local.image.subprocess.run(['touch', '{out}'])",
    "sagemaker.Session().config.__class__.__init__.__globals__['os'].system('touch {out}')\nx = 1",
]


@pytest.mark.parametrize("line", WAYS_OUT)
def test_the_sdk_that_is_asked_runs_no_code_and_writes_no_file_of_a_launcher(tmp_path: Path, line: str) -> None:
    pytest.importorskip("sagemaker.pytorch", reason="needs SageMaker SDK v2: pip install 'sm_trn[sdk]'")
    out = tmp_path / "out"
    (tmp_path / "launch.py").write_text(
        "import boto3, botocore.utils, sagemaker, sagemaker.estimator, sagemaker.git_utils, sagemaker.local.image, sagemaker.s3\n"
        f"import boto3.session\nfrom sagemaker.pytorch import PyTorch\n{line.format(out=out)}\n"
        "PyTorch('t.py', role='arn:aws:iam::111122223333:role/r', framework_version='2.1', py_version='py310', instance_count=1,\n"
        "        instance_type='ml.g5.xlarge', hyperparameters={'a': str(x)}).fit()\n"
    )
    read_launchers(tmp_path / "launch.py")
    assert not out.exists()
    assert ["launch.py"] == [path.name for path in tmp_path.iterdir()]


def test_the_sdk_that_is_asked_calls_no_function_of_others() -> None:
    pytest.importorskip("sagemaker.pytorch", reason="needs SageMaker SDK v2: pip install 'sm_trn[sdk]'")
    from sm_trn.bridge.recorder.replay import FailedError, Replay

    calls = [{"id": 1, "kind": "call", "path": "sagemaker.utils.datetime", "args": [2024, 1, 1]}]
    with pytest.raises(FailedError, match="only the SDK"):
        Replay().run(calls)

"""Modules and files beside a launcher are what Python finds there when it runs, or a hole."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from readings import readings, told

from sm_trn.bridge.launchers.read import siblings

START = "a = [3, 1, 2]\nd = {'k': 1}\ns = 'One'\nn = 2\nu = None\n"
NAMES = "adsnu"
# A launcher, and after each @@ the name and the text of a file that lies beside it.
PROGRAMS = r"""
import sys
sys.path.insert(0, 'lib')
import config
n = config.N
@@config.py
N = 5
@@lib/config.py
N = 6
===
import sys
sys.path.append('lib')
import config
n = config.N
@@config.py
N = 5
@@lib/config.py
N = 6
===
import sys
sys.path.insert(0, 'lib')
import extra
n = extra.N
@@lib/extra.py
N = 6
===
import config
n = config.N
@@config.py
N = 5
===
from config import N as n
@@config.py
N = 5
===
from config import N, bump
bump()
n = N
@@config.py
N = 5
def bump():
    global N
    N = 6
===
import config
config.bump()
n = config.N
@@config.py
N = 5
def bump():
    global N
    N = 6
===
import config
config.N = 7
n = config.get()
@@config.py
N = 5
def get(): return N
===
import config
config.D['x'] = 7
n = config.get()
@@config.py
D = {}
def get(): return D.get('x')
===
from config import *
n = N
@@config.py
N = 5
_M = 6
===
import config
import other
n = config.N
@@config.py
N = 5
@@other.py
import config
config.N = 8
===
import other
import config
n = config.N
@@config.py
N = 5
@@other.py
import config
config.N = 8
===
from pkg import config
n = config.N
@@pkg/__init__.py
config = None
class config: N = 9
@@pkg/config.py
N = 5
===
from pkg import N
n = N
@@pkg/__init__.py
from .config import N
@@pkg/config.py
N = 5
===
from pkg.sub.deep import M
n = M
@@pkg/__init__.py
X = 7
@@pkg/sub/__init__.py
@@pkg/sub/deep.py
from .. import X
M = X
===
try:
    import config
    n = config.N
except ImportError:
    n = 0
@@config.py
raise ImportError('x')
===
try:
    from config import M
    n = M
except ImportError:
    n = 0
@@config.py
N = 5
===
import config
n = config.x
@@config.py
def __getattr__(name): return 5
===
import importlib, config
config.N = 9
importlib.reload(config)
n = config.N
@@config.py
N = 5
===
import config
s = config.NAME
@@config.py
import os
NAME = os.path.basename(__file__)
===
import yaml
n = yaml.safe_load('3')
@@yaml.py
def safe_load(x): return 99
===
import random
n = random.N
@@random.py
N = 3
===
import json
with open('c.json') as f: d = json.load(f)
@@c.json
{"k": 5}
===
import json
with open('c.json', 'w') as f: json.dump({'k': 9}, f)
with open('c.json') as f: d = json.load(f)
@@c.json
{"k": 5}
===
import json
from pathlib import Path
Path('c.json').write_text('{"k": 9}')
with open('c.json') as f: d = json.load(f)
@@c.json
{"k": 5}
===
import json, shutil
shutil.copy('e.json', 'c.json')
with open('c.json') as f: d = json.load(f)
@@c.json
{"k": 5}
@@e.json
{"k": 6}
===
import json, os
os.rename('e.json', 'c.json')
with open('c.json') as f: d = json.load(f)
@@c.json
{"k": 5}
@@e.json
{"k": 6}
===
import json, os
os.replace('e.json', 'c.json')
d = json.load(open('c.json'))
@@c.json
{"k": 5}
@@e.json
{"k": 6}
===
import json, os
os.system('echo 3 > c.json')
d = json.load(open('c.json'))
@@c.json
{"k": 5}
===
import json, subprocess
subprocess.run('echo 3 > c.json', shell=True)
d = json.load(open('c.json'))
@@c.json
{"k": 5}
===
import json
open('c.json', 'a').write(' ')
f = open('c.json', 'r+'); f.write('[1]      '); f.close()
d = json.load(open('c.json'))
@@c.json
{"k": 5}
===
import json, config
d = json.load(open('c.json'))
@@c.json
{"k": 5}
@@config.py
open('c.json', 'w').write('{"k": 7}')
===
import json, os
os.chdir('sub')
d = json.load(open('c.json'))
@@c.json
{"k": 5}
@@sub/c.json
{"k": 6}
===
import json, contextlib, os
@contextlib.contextmanager
def inside():
    os.chdir('sub'); yield; os.chdir('..')
with inside(): d = json.load(open('c.json'))
@@c.json
{"k": 5}
@@sub/c.json
{"k": 6}
===
import json
d = json.load(open('./sub/../c.json'))
@@c.json
{"k": 5}
@@sub/x
===
s = open('x.txt').read()
@@x.txt
one
===
u = [line.strip() for line in open('x.txt')]
@@x.txt
one
two
===
with open('x.txt') as f:
    s = f.readline()
    u = f.read()
@@x.txt
one
two
===
with open('x.txt') as f:
    f.seek(2)
    s = f.read()
@@x.txt
one
two
===
with open('x.txt', encoding='latin-1') as f: s = f.read()
@@x.txt
é
===
with open('x.txt', encoding='utf-8-sig') as f: s = f.read()
@@x.txt
é
===
with open('x.txt', 'rb') as f: n = len(f.read())
@@x.txt
é
===
from pathlib import Path
s = (Path(__file__).parent / 'x.txt').read_text(encoding='latin-1')
@@x.txt
é
===
from pathlib import Path
n = 1 if Path('x.txt').exists() else 2
@@x.txt
one
===
import os
n = 1 if os.path.exists('x.txt') else 2
@@x.txt
one
===
import yaml
d = yaml.safe_load(open('c.yaml'))
@@c.yaml
k: 5
x: [1, 2]
===
import yaml
d = yaml.load(open('c.yaml'), Loader=yaml.FullLoader)
@@c.yaml
k: 010
x: yes
===
import yaml
d = yaml.load(open('c.yaml'), Loader=yaml.BaseLoader)
@@c.yaml
k: 5
===
import yaml
d = yaml.safe_load(open('c.yaml').read().replace('5', '6'))
@@c.yaml
k: 5
===
import tomllib
d = tomllib.load(open('c.toml', 'rb'))
@@c.toml
k = 5
===
import configparser
c = configparser.ConfigParser(); c.read('c.ini'); s = c['x']['k']; n = c.getint('x', 'k')
@@c.ini
[x]
K = 5
===
import configparser
c = configparser.ConfigParser(); c.read(['c.ini', 'e.ini']); s = c['x']['k']
@@c.ini
[x]
k = 5
@@e.ini
[x]
k = 6
===
import configparser
c = configparser.ConfigParser(); c.read('c.ini'); c.read('e.ini'); s = c['x']['k']
@@c.ini
[x]
k = 5
@@e.ini
[x]
k = 6
===
import json
d = json.load(open('c.json'), object_hook=lambda x: {'k': 99})
@@c.json
{"k": 5}
===
import os, pkgutil
pkgutil.resolve_name('os.environ')['SM_TRN_PROBE'] = '5'
s = os.getenv('SM_TRN_PROBE', 'none')
===
import abc
class A(abc.ABC):
    @abc.abstractmethod
    def f(self): ...
try: A()
except TypeError: n = 9
===
import queue
q = queue.Queue(); q.put(a); q.get().append(5)
""".strip("\n").split("\n===\n")
SHOW = """
import json, runpy, sys
sys.path.insert(0, "")
found = runpy.run_path("launch.py", run_name="__main__")
known = {}
for name in "adsnu":
    try:
        known[name] = json.dumps(found[name])
    except TypeError:
        pass
print(json.dumps(known))
"""


def written(folder: Path, program: str) -> str:
    """Write the program and its files; its text."""
    main, *files = program.split("@@")
    for each in (f"launch.py\n{START}{main}", *files):
        name, _, text = each.partition("\n")
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")
    return START + main


@pytest.mark.parametrize("program", PROGRAMS)
def test_what_is_read_is_what_python_finds(program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    text = written(ours, program)
    written(theirs, program)
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, "-c", SHOW], cwd=theirs, env=environment, capture_output=True, text=True, check=True
    )
    expected = json.loads(done.stdout.splitlines()[-1])
    monkeypatch.chdir(ours)
    states = readings(text, modules=siblings(Path("launch.py")), folders=[ours])
    for name in NAMES:
        found = told(states, name)
        assert None in found or expected[name] in found, name

"""What is read of Python's own language is what Python does: random programs, run by both. What is not followed is a hole.

80 programs in the suite; SM_TRN_EXAMPLES asks for more.
"""

from __future__ import annotations

import copy
import json
import os
import random
import re
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as some

from sm_trn.bridge.launchers import read_text

LAUNCH = 'PyTorch(entry_point="train.py", role="arn:aws:iam::1:role/r", framework_version="2.1", py_version="py310", instance_type="ml.g5.xlarge", instance_count=1, hyperparameters={"found": found}).fit()'  # noqa: E501 - a launcher on one line
START = """
a = [3, 1, 2]
b = ["x", "yy", "x"]
d = {"k": 1, "m": [1, 2]}
s = "One two"
n = 2
f = 1.5
t = (1, "z")
u = None
"""
NAMES = "abdsnftu"
# One expression a line; a word in capitals is another one of that kind.
NUMBER = r"""
n
len(a)
len(s)
-1
0
3
7
n + NUMBER
n * NUMBER
n - NUMBER
NUMBER // 2
NUMBER % 3
abs(NUMBER)
max(NUMBER, n)
min(n, NUMBER, 5)
sum(a)
a[0]
a[-1]
d.get('k', NUMBER)
d.get('q', NUMBER)
int('4')
s.count('o')
s.find('t')
a.index(a[0])
a.count(1)
(NUMBER if TRUTH else n)
n ** 2
round(2.5)
len(d)
len(t)
divmod(NUMBER, 3)[0]
sum(x for x in a if x > 1)
(lambda q, w=2: q * w)(NUMBER)
max(a, default=NUMBER)
max([], default=NUMBER)
sum(a, NUMBER)
int(TRUTH)
next(iter(a), 9)
NUMBER & 3
NUMBER << 1
n or NUMBER
n and NUMBER
"""
TRUTH = r"""
id(a) > 0
id(b) < 0
id(n) != n
id(s) == 0
n > 1
n == NUMBER
1 < n <= 3
'x' in b
'k' in d
n not in a
not n
u is None
s.startswith('O')
s.endswith(('o', 'x'))
bool(a)
any(x > 2 for x in a)
all(a)
a == sorted(a)
isinstance(n, int)
isinstance(s, (int, str))
s.isdigit()
t != (1, 'z')
n != 2 or not a
"""
TEXT = r"""
s
s.upper()
s.lower()
s.strip('Oo')
s.replace('o', '0')
s.replace('o', '0', 1)
s[1:]
s[::-1]
s[NUMBER:]
s.split()[0]
s.split('o', 1)[-1]
s.rsplit(' ', 1)[0]
'-'.join(b)
f'{n}-{s}'
f'{f:.2f}'
f'{n:03d}'
f'{s!r:>12}'
f'{n + 1}{a[0]}'
f'{s:<9}|'
'%s-%d' % (s, n)
'%(k)s' % d
'%5.1f|%-4s|%x' % (f, n, n)
'{}-{}'.format(s, n)
'{1}{0}'.format(n, s)
'{q}'.format(q=s)
'{:>6}'.format(n)
str(NUMBER)
str(a)
str(f)
repr(s)
s * 2
s + 'x'
s.title()
s.partition(' ')[2]
s.removeprefix('One')
s.zfill(9)
s.center(11, '*')
s.capitalize()
b[0]
'a' if TRUTH else s
max(b)
min(b, key=len)
sorted(b)[0]
''.join(c for c in s if c.isalpha())
'x'.join(str(q) for q in a)
chr(65)
s.swapcase()
','.join(map(str, a))
str(TRUTH)
f'{d}'
f'{n!s}{{}}'
s.casefold()
s.expandtabs()
"""
LIST = r"""
a
list(a)
a[:2]
a[1:]
a[::-1]
a[::2]
a + [n]
[n] * 2
[x * 2 for x in a]
[x for x in a if x != 1]
sorted(a)
sorted(a, reverse=True)
list(range(n))
list(range(1, 6, 2))
[i for i, _ in enumerate(b)]
[i for i, _ in enumerate(b, 1)]
[i for i, _ in enumerate(b, start=n)]
[*a, n]
list(reversed(a))
[x + y for x, y in zip(a, [1, 2])]
list(map(lambda x: x + 1, a))
list(filter(lambda x: x > 1, a))
[x for r in [a, [n]] for x in r]
sorted(a, key=lambda x: -x)
a.copy()
[int(c) for c in '12']
[len(w) for w in b]
list(d.get('m', []))
[ NUMBER, n ]
list(set([1, 1]))
[x if x > 1 else 0 for x in a]
(a, [n])[TRUTH]
copy.copy(a)
copy.deepcopy(a)
[y := 1, y + 1]
list(dict.fromkeys(a))
[i for i in range(9) if i % 2][-2:]
"""
MAPPING = r"""
d
dict(d)
{**d, 'z': n}
d | {'k': 5}
{k: 1 for k in b}
{str(x): x for x in a if x > 1}
dict(k=n, j=s)
dict(d, k=7)
dict(zip(b, a))
dict([('p', 1)])
{k: v for k, v in d.items() if k != 'm'}
d.copy()
{i: w for i, w in enumerate(b)}
copy.deepcopy(d)
dict(sorted(d.items(), reverse=True))
{'a': {'b': n}}
{v: k for k, v in zip('ab', 'cd')}
dict.fromkeys(b, 0)
{**dict(q=1), **d}
"""
# An empty line between two.
STATEMENTS = r"""
a.append(NUMBER)

a.extend([NUMBER, 1])

a += [NUMBER]

a.insert(1, NUMBER)

a.insert(0, n)

a.pop()

a.pop(0)

a.remove(1)

a.sort()

a.sort(reverse=True)

a.sort(key=lambda x: -x)

a.reverse()

a.clear()

a[0] = NUMBER

a[-1] += 1

del a[0]

del a[1:]

a[1:2] = [8, 9]

a *= 2

b.append(s)

b = b[:2] + [s]

d['k'] = NUMBER

d['new'] = s

d['k'] += 1

d.update(k=NUMBER)

d.update({'w': n})

d.update([('v', 1)])

d |= {'o': 1}

d.pop('k')

d.pop('q', None)

d.popitem()

d.clear()

del d['k']

d.setdefault('k', 9)

d.setdefault('y', []).append(n)

d['m'].append(NUMBER)

d.get('m', []).append(1)

n = NUMBER

n += 1

n -= NUMBER

n = n % 5

s = TEXT

s += 'x'

s = s.strip()

f = NUMBER / 2

f += 0.25

a = LIST

d = MAPPING

b = sorted(b)

c = a
c.append(NUMBER)

c = list(a)
c.append(1)

x, *rest = a
n = x

n, f = f, n

(n, s), u = (n + 1, s), s

for i in range(3):
    n += i

for i, w in enumerate(b):
    d[w] = i

for i, w in enumerate(b, 2):
    d[w] = i

for k, v in list(d.items()):
    d[k] = str(v)

for x in list(a):
    if x == 1:
        continue
    if x > 5:
        break
    a.append(x + 1)
else:
    s = 'else'

while n < 5:
    n += 2

while True:
    n += 1
    if n > 4:
        break

if TRUTH:
    n = 1
elif n > 3:
    s = 'e'
else:
    a.append(0)

if TRUTH:
    u = NUMBER

try:
    n = d['none']
except KeyError:
    n = 4
else:
    s = 'no'
finally:
    f = 0.5

try:
    u = a[99]
except (IndexError, KeyError) as error:
    u = 'out'

def g(x, y=2, *more, z=3, **names):
    return [x, y, *more, z, *names.values()]
a = g(n, 1, 5, z=7, w=9)

def g(q, into=a):
    into.append(q)
    return len(into)
n = g(NUMBER)

def g():
    global n
    n = n + 10
g()

def g(k):
    if k <= 1:
        return 1
    return k * g(k - 1)
n = g(4)

def outer():
    total = 0
    def add(k):
        nonlocal total
        total += k
        return total
    add(1)
    return add(n)
f = outer()

def g(x):
    x = x + [1]
    return x
c = g(a)

def gen(k):
    return {'n': k, **d}
d = gen(n)

class C:
    rate = 2
    def __init__(self, k):
        self.k = k
    def twice(self):
        return self.k * self.rate
n = C(NUMBER).twice()

class C:
    seen = []
C.seen.append(n)
a = C.seen + a

match n:
    case 1 | 2:
        s = 'low'
    case int() if n > 5:
        s = 'high'
    case _:
        s = 'other'

if (m := len(a)) > 2:
    n = m

a = [x for x in a if (y := x) > 1]

assert n is not None

t = (*t, n)

u = d or None

u = n and s

n = [10, 20, 30][n % 3]

u = {'a': 1, 'b': 2}.get(s, 'none')

n = -n

n = +abs(n)

f = float(n)

n = int(f)

a = [[i, j] for i in range(2) for j in range(2) if i != j][0]

s = s.replace(s[0], 'Q')

b[0], b[1] = b[1], b[0]

d['l'] = a
a.append(77)

d['c'] = a[:]
a.append(78)

d = dict(d)
d['x'] = 1

e = [a] * 2
e[0].append(5)

global_list = []
for x in a:
    global_list = global_list + [x]
b = global_list

s = ''
for x in a:
    s += str(x)

n = sum(1 for _ in b)

pass

del d

v = {1, n}
w = v
w |= {5}
w.add(6)
w.discard(1)
n = len(v)

v = {"p", "q"}
w = v
v -= {"p"}
b = sorted(w)

v = set(a)
v.remove(a[0])
a = sorted(v)

a = [x for i, x in enumerate(a) if i % 2 == 0]

c = d
c = {**c, "k": 3}

c = d
c |= {"k": 3}

t += (5,)

s = "".join(reversed(s))

a, b = b, a

for i in range(len(a) - 1, -1, -1):
    s += str(a[i])

def g(*names, **more):
    more.update(n=len(names))
    return dict(more)
d = g(*a, **{"z": 1})

def g(found=[]):
    found.append(1)
    return found
g()
a = g()

class C:
    def __init__(self):
        self.items = []
    def add(self, k):
        self.items.append(k)
        return self
a = C().add(n).add(2).items

try:
    n = int(s)
except ValueError:
    n = 99

for i in range(4):
    n += 1
    if TRUTH:
        break
    d["turn"] = i

for i in range(7):
    if TRUTH:
        continue
    n += i

while n < 9:
    n += 1
    if TRUTH:
        break
    a.append(n)
else:
    s = "whole"

def g(k):
    if TRUTH:
        return k
    k += 1
    for i in range(3):
        if TRUTH:
            return i
        a.append(i)
    return k * 2
n = g(n)

if TRUTH:
    a.append(5)
    if TRUTH:
        d["deep"] = s
    else:
        del d["k"]
elif TRUTH:
    a = [9]

u = [k for k in a if TRUTH]

try:
    if TRUTH:
        raise KeyError(n)
    n = 1
except KeyError:
    n = 2
    a.append(2)

for i in range(3):
    try:
        if TRUTH:
            continue
        n += 1
    finally:
        f += 1

with open("/dev/null") as file:
    n += 1
    if TRUTH:
        s = "read"

for k in sorted(d):
    if k == "m":
        del d[k]
        break

n = len([w for w in s.split() if w])

d = {}

a = []
"""
KINDS = {
    "NUMBER": NUMBER.split("\n")[1:-1], "TRUTH": TRUTH.split("\n")[1:-1], "TEXT": TEXT.split("\n")[1:-1],
    "LIST": LIST.split("\n")[1:-1], "MAPPING": MAPPING.split("\n")[1:-1],
}  # fmt: skip


def filled(draw: random.Random, pieces: list[str], depth: int = 3) -> str:
    """One of the pieces, with other ones in it."""

    def inner(found: re.Match[str]) -> str:
        return filled(draw, KINDS[found[0]], depth - 1) if depth else {"NUMBER": "n", "TRUTH": "n > 1"}[found[0]]

    return re.sub("|".join(KINDS), inner, draw.choice(pieces))


def program(draw: random.Random) -> tuple[str, dict[str, Any]]:
    """Statements that Python runs, and what the names are afterwards."""
    text, names = START, dict[str, Any]()
    exec(text, names)  # noqa: S102 - the pieces above
    for _ in range(draw.randint(1, 8)):
        longer, made = f"{text}\n{filled(draw, STATEMENTS.strip().split(chr(10) * 2))}", {"copy": copy}
        try:
            exec(longer, made)  # noqa: S102 - the pieces above
        except Exception:  # noqa: BLE001, S112 - what Python refuses is no case
            continue
        text, names = longer, made
    return text, names


@settings(
    max_examples=max(80, int(os.environ.get("SM_TRN_EXAMPLES", "0"))), derandomize="SM_TRN_EXAMPLES" not in os.environ
)
@given(some.integers(0, 10**9))
def test_a_program_is_read_as_python_runs_it(seed: int) -> None:
    text, names = program(random.Random(seed))
    for name in (key for key in NAMES if key in names):
        body = f"import copy\nfrom sagemaker.pytorch import PyTorch\n{text}\nfound = {name}\n{LAUNCH}"
        (launch,) = read_text(body, "launch.py").launches
        if launch.complete:  # of several jobs, one a branch, one is what Python does
            found = [job.request["HyperParameters"] for job in launch.jobs]
            texts = [each.get("found", "null") for each in found if isinstance(each, dict)]
            assert json.dumps(names[name]) in texts, (body, texts)


def test_most_programs_are_followed() -> None:
    known = []
    for seed in range(40):
        text, names = program(random.Random(seed))
        body = f"import copy\nfrom sagemaker.pytorch import PyTorch\n{text}\nfound = {'d' if 'd' in names else 'n'}\n{LAUNCH}"
        known += [launch.complete for launch in read_text(body, "launch.py").launches]
    assert sum(known) > 30

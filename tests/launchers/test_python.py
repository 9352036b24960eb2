"""What is read of Python's own language is what Python does: random programs, run by both. What is not followed is a hole.

The pieces follow the language reference: expressions, statements, patterns, functions, classes, generators, contexts, exceptions.
300 programs in the suite; SM_TRN_EXAMPLES asks for more.
"""

from __future__ import annotations

import json
import os
import random
import re
import textwrap
from typing import Any

import pytest
from readings import readings, told

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
# Pieces of the whole language; UNKNOWN is a condition that no reading can decide, BLOCK is other pieces.
LANGUAGE = r'''
if UNKNOWN:
    BLOCK
else:
    BLOCK

if UNKNOWN:
    BLOCK

for i in range(3):
    if UNKNOWN:
        BLOCK
        continue
    BLOCK
else:
    n += 1

turns = 0
while turns < 3:
    turns += 1
    if UNKNOWN:
        break
    BLOCK

def act(k=NUMBER, *more, flag=TRUTH, **names):
    global n
    if UNKNOWN:
        n += k
        return {"k": k, **names}
    for i in more:
        if i == k:
            return i
    return len(names)
u = act(NUMBER, 2, flag=False, z=TEXT)

def act(first, /, second=2, *, third=3):
    return [first, second, third]
u = act(*[NUMBER], **{"third": n})

def act(a, b, /, *c, d, e=5, **f):
    return (a, b, c, d, e, sorted(f))
u = act(1, 2, 3, d=NUMBER, g=1)

try:
    act = lambda a, b: a
    u = act(NUMBER)
except TypeError:
    u = "type"

def numbers(k):
    got = 0
    for i in range(k):
        got = yield i + (got or 0)
    return "end"
g = numbers(4)
next(g)
u = [g.send(NUMBER), list(g)]

def numbers():
    try:
        yield 1
        yield NUMBER
    finally:
        a.append(99)
for i in numbers():
    if TRUTH:
        break
u = list(numbers())

def inner():
    got = yield from [1, 2]
    return NUMBER
def outer():
    got = yield from inner()
    yield got
u = list(outer())

def numbers():
    n2 = 1
    while True:
        yield n2
        n2 *= 2
g = numbers()
u = [next(g), next(g), next(g)]

g = (x * n for x in a)
n = 100
u = list(g)

fs = [lambda: i for i in range(3)]
u = [each() for each in fs]

fs = [lambda i=i: i for i in range(3)]
u = [each() for each in fs]

def logged(function):
    def inside(*given, **names):
        a.append(len(given))
        return [function(*given, **names)]
    return inside
@logged
def act(k):
    return k + 1
u = act(NUMBER)

import functools
def times(count):
    def decorate(function):
        @functools.wraps(function)
        def inside(*given):
            return [function(*given) for _ in range(count)]
        return inside
    return decorate
@times(2)
def act(k):
    return k
u = [act(NUMBER), act.__name__]

def marked(cls):
    cls.mark = NUMBER
    return cls
@marked
class C:
    pass
u = C.mark

class C:
    n = 5
    def get(self):
        return n
    def own(self):
        return self.n
u = [C().get(), C().own()]

class C:
    first = 1
    items = [first for _ in range(2)] if TRUTH else []
    second = first + 1
u = C.second

n = 4
class C:
    n = n + 1
    def f(self):
        return n
u = [C.n, C().f()]

class C:
    def __init__(self, k):
        self.k = k
    def __bool__(self):
        return self.k > 2
    def __len__(self):
        return 7
u = [1 if C(NUMBER) else 2, len(C(1)), not C(3)]

class C:
    def __len__(self):
        return n % 2
u = "full" if C() else "empty"

class C:
    def __setattr__(self, name, value):
        object.__setattr__(self, name, [value])
c = C()
c.rate = NUMBER
u = c.rate

class C:
    def __getattr__(self, name):
        return name * 2
u = [C().abc, getattr(C(), "x", 1), hasattr(C(), "q")]

class C:
    def __init__(self):
        self._x = 1
    @property
    def x(self):
        return self._x + 1
    @x.setter
    def x(self, value):
        self._x = value * 10
c = C()
c.x = NUMBER
c.x += 1
u = c.x

class C:
    def __eq__(self, other):
        return True
    def __hash__(self):
        return 1
u = [C() == 5, C() != 5, C() in [1], len({C(), C()})]

class C:
    def __add__(self, other):
        return ("add", other)
    def __radd__(self, other):
        return ("radd", other)
    def __iadd__(self, other):
        a.append(other)
        return self
c = C()
u = [c + 1, 2 + c]
c += 5

class C:
    def __getitem__(self, key):
        if isinstance(key, slice):
            return [key.start, key.stop]
        return key
    def __setitem__(self, key, value):
        d[str(key)] = value
    def __delitem__(self, key):
        a.append(key)
    def __contains__(self, key):
        return key == n
c = C()
c[1] = NUMBER
del c[7]
u = [c["k"], c[1:n], n in c, 77 in c]

class C:
    def __iter__(self):
        return iter([NUMBER, 2])
u = [x for x in C()]
x, y = C()
u = [*C(), x, y]

class C:
    def __init__(self):
        self.k = 0
    def __iter__(self):
        return self
    def __next__(self):
        self.k += 1
        if self.k > 3:
            raise StopIteration
        return self.k
u = [list(C()), sum(C())]

class C:
    def __call__(self, k, *, w=1):
        return k * w
u = C()(NUMBER, w=2)

class C:
    def __enter__(self):
        a.append("in")
        return [n]
    def __exit__(self, kind, error, trace):
        a.append("out" if kind is None else kind.__name__)
        return kind is ValueError
with C() as u:
    if TRUTH:
        raise ValueError
    n = 3

class C:
    def __enter__(self):
        return 1
    def __exit__(self, *rest):
        d["left"] = n
try:
    with C() as one, C() as two:
        n = one + two
        d["none"]["such"]
except KeyError as error:
    u = [str(error), n]

import contextlib
@contextlib.contextmanager
def managed(k):
    a.append(k)
    try:
        yield k + 1
    finally:
        a.append(-k)
with managed(NUMBER) as u:
    n = u

import contextlib
with contextlib.suppress(KeyError, IndexError):
    n = a[50]
    s = "not here"

class A:
    name = "a"
    def who(self):
        return ["A"]
class B(A):
    name = "b"
    def who(self):
        return ["B", *super().who()]
class D(A):
    def who(self):
        return ["D", *super().who()]
class E(B, D):
    def who(self):
        return ["E", *super().who()]
u = [E().who(), E.name, isinstance(E(), D), issubclass(B, D)]

class A:
    x = 1
class B:
    x = 2
    y = 3
class C(A, B):
    pass
u = [C.x, C.y, C().y]

class Typed:
    def __set_name__(self, owner, name):
        self.name = "_" + name
    def __get__(self, it, kind=None):
        return getattr(it, self.name, "none") if it is not None else kind.__name__
    def __set__(self, it, value):
        setattr(it, self.name, value * 2)
class C:
    field = Typed()
c = C()
before = c.field
c.field = NUMBER
u = [before, c.field, C.field]

class Meta(type):
    def __new__(cls, name, bases, names, **more):
        made = super().__new__(cls, name, bases, names)
        made.made = sorted(more)
        return made
    def __call__(cls, *given):
        return super().__call__(*given)
    def __len__(cls):
        return 3
class C(metaclass=Meta, extra=1):
    def __init__(self, k=2):
        self.k = k
u = [C.made, len(C), C(NUMBER).k]

class Base:
    kinds = []
    def __init_subclass__(cls, kind="k", **more):
        Base.kinds.append(kind)
class One(Base, kind="one"):
    pass
class Two(Base):
    pass
u = Base.kinds

class C:
    __slots__ = ("x",)
    def __init__(self):
        self.x = NUMBER
try:
    c = C()
    c.y = 1
    u = "set"
except AttributeError:
    u = c.x

class C:
    count = 0
    def __init__(self):
        C.count += 1
        self.count += 10
    @classmethod
    def made(cls):
        return cls()
    @staticmethod
    def plain(k):
        return k
c = C.made()
u = [C.count, c.count, C.plain(NUMBER), c.plain(1)]

class C:
    shared = []
    def add(self, k):
        self.shared.append(k)
C().add(NUMBER)
C().add(2)
u = C.shared

from dataclasses import dataclass, field, asdict, replace
@dataclass
class C:
    a: int
    b: list = field(default_factory=list)
    c: str = "x"
    def __post_init__(self):
        self.b.append(self.a)
u = asdict(replace(C(NUMBER), c=s, b=[1]))

from dataclasses import dataclass
@dataclass(frozen=True, order=True)
class C:
    a: int
    b: int = 2
try:
    c = C(1)
    c.a = 5
    u = "changed"
except AttributeError:
    u = [C(1) < C(2), C(1) == C(1), len({C(1), C(1)})]

from enum import Enum
class Kind(Enum):
    ONE = 1
    TWO = "two"
    @property
    def twice(self):
        return self.value * 2
u = [Kind.ONE.value, Kind("two").name, Kind.TWO.twice, [k.name for k in Kind], Kind.ONE is Kind.ONE, Kind.ONE == 1]

from collections import namedtuple, defaultdict, Counter, OrderedDict, deque
P = namedtuple("P", "x y", defaults=[5])
g = defaultdict(list)
g["k"].append(NUMBER)
u = [P(NUMBER)._asdict(), dict(g), Counter(b).most_common(1), list(OrderedDict(q=1)), list(deque([1, 2, 3], maxlen=2))]

from typing import NamedTuple, Optional
class P(NamedTuple):
    x: int
    y: str = "d"
    def both(self):
        return f"{self.x}{self.y}"
u = [P(NUMBER).both(), *P(1, "z")]

match d:
    case {"k": int() as k, **rest} if k > 0:
        u = [k, sorted(map(str, rest))]
    case {"k": _}:
        u = "other"
    case _:
        u = "none"

match a:
    case []:
        u = 0
    case [x]:
        u = x
    case [x, *middle, 1 | 2 | 3 as y]:
        u = [x, middle, y]
    case [x, y, *_]:
        u = y

class P:
    __match_args__ = ("x", "y")
    def __init__(self, x, y):
        self.x, self.y = x, y
match P(n, s):
    case P(1 | 2, y):
        u = ["low", y]
    case P(x=0):
        u = "zero"
    case P(x, str()):
        u = x

match (n, s, TRUTH):
    case (int(x), "One two", True):
        u = x
    case (_, str(y), False):
        u = y
    case tuple():
        u = "t"

match s:
    case "a" | "b":
        u = 1
    case str() if UNKNOWN:
        u = 2
    case _:
        u = 3

try:
    try:
        raise ValueError(NUMBER)
    except KeyError:
        u = "wrong"
    finally:
        a.append("f")
except (TypeError, ValueError) as error:
    u = error.args[0]
else:
    u = "else"

class Own(Exception):
    def __init__(self, code):
        super().__init__(f"code {code}")
        self.code = code
class Sub(Own):
    pass
try:
    raise Sub(NUMBER)
except Own as error:
    u = [error.code, str(error), type(error).__name__]

def act():
    try:
        if TRUTH:
            return "try"
        raise KeyError
    except KeyError:
        return "except"
    finally:
        a.append("finally")
u = act()

def act():
    for i in range(3):
        try:
            if i == 1:
                continue
            a.append(i)
        finally:
            if i == 2:
                break
            n2 = i
    return n2
u = act()

def act():
    try:
        return 1
    finally:
        return 2
u = act()

try:
    try:
        d["none"]
    except KeyError as error:
        raise RuntimeError("again") from error
except RuntimeError as error:
    u = [str(error), type(error.__cause__).__name__]

try:
    try:
        d["none"]
    except KeyError:
        n += 1
        raise
except LookupError:
    u = n

try:
    u = int(str(n))
except ValueError:
    u = "v"
else:
    u = "else"
finally:
    n += 1

try:
    n += 1
    if UNKNOWN:
        raise ValueError
    a.append(n)
except ValueError:
    BLOCK
else:
    s = "passed"

try:
    a.append(1)
    k = int("7" if UNKNOWN else "q")
    a.append(2)
except ValueError:
    s = "caught"
    BLOCK
else:
    s = "else"

for i in range(2):
    try:
        BLOCK
        if UNKNOWN:
            raise KeyError(i)
        n += 10
    except KeyError as error:
        n += 100
    else:
        n += 1000
    finally:
        f += 1

def outer():
    x = 1
    def inner():
        nonlocal x
        x += NUMBER
        def deepest():
            nonlocal x
            x *= 2
        deepest()
    inner()
    return x
u = outer()

def act():
    try:
        return n
    except UnboundLocalError:
        return "unbound"
    n = 2
u = act()

def act():
    total = [0]
    def add(k):
        total[0] += k
        return total
    add(1)
    return add(NUMBER)
u = act()

x = "outer"
def act():
    x = "local"
    return [x for _ in range(1)] + [(lambda: x)()]
u = act() + [x]

x = 10
u = [x for x in a] + [x]

u = [(z := y * 2) for y in a] + [z] if a else [0]

u = {x: (lambda q=x: q + n)() for x in a if TRUTH}

u = sorted({x % 2 for x in a})

u = [[x * y for y in range(x)] for x in range(3)]

u = [x for x in a if x > 1 if TRUTH]

u = [*a, *b, *{"k": 1}, *range(2)]

u = {**d, **{"k": NUMBER}, "last": 1}

(x, [y, *z]), w = (1, [2, 3, 4]), NUMBER
u = [x, y, z, w]

*x, y = a or [1]
u = [x, y]

for (i, j), k in zip([(1, 2), (3, 4)], "ab"):
    d[k] = i * j

for d["turn"] in range(3):
    pass

for i in range(3):
    for j in range(3):
        if j == 2:
            break
        if i == 1:
            continue
        a.append(i * j)
    else:
        a.append("never")
else:
    a.append("end")

i = 0
while i < 4:
    i += 1
    if i == 2:
        continue
    if i == 4:
        break
    a.append(i)
else:
    a.append("no")

a[1:2] = [NUMBER, 9]
a[::2] = [0] * len(a[::2])

a[len(a):] = [n]
del a[::2]

d.setdefault("list", []).extend(a)
d["list"] += [NUMBER]

x = y = [1]
x += [2]
x = x + [3]
u = [x, y]

x = y = "a"
x += "b"
u = [x, y]

t2 = t
t2 += (NUMBER,)
u = [t, t2]

x = [[0]] * 2
x[0].append(n)
y = [[0] for _ in range(2)]
y[0].append(n)
u = [x, y]

import copy
x = {"a": [1]}
y = copy.copy(x)
z = copy.deepcopy(x)
x["a"].append(NUMBER)
u = [x, y, z]

def act(k, into=[]):
    into.append(k)
    return into
act(1)
u = act(NUMBER)[:]

def act(k: "int" = NUMBER) -> "str":
    """Words."""
    return act.__doc__
u = act()

u: int = NUMBER
v: list
if TRUTH:
    v = [u]
    u = v

assert TRUTH or True, "words"

del s
try:
    u = s
except NameError:
    u = "gone"
    s = "back"

class C: pass
c = C()
c.x = 1
del c.x
u = getattr(c, "x", NUMBER)

u = f"{n!r:>5}|{s!s:.3}|{f:{n}.1f}|{a}|{d['k'] if 'k' in d else 0:03d}|{{}}"

u = "%s|%5d|%-4s|%r|%%|%.2f" % (s, n, "x", s, f)

u = "{0}{x}{0!r:>8}{y[k]}{z[1]}".format(n, x=s, y={"k": 1}, z=[1, 2])

u = f"{f'{n}'}{(lambda q: q)(n)}{a[0] if a else None!r}"

u = 1 < n <= NUMBER != 3

u = n and s or a

u = not a or n and [] or "x"

u = ~n ^ 3 | 4 & NUMBER

u = n if TRUTH else s if TRUTH else f

u = (lambda *p, k=n, **q: [p, k, q])(1, *[2], **{"w": 3})

u = [True + n, 7 // 2, -7 // 2, -7 % 3, 2 ** -1, 0.1 + 0.2, 1e3, 1_000, 0xff, 1 / 3]

u = [round(2.5), int(-3.7), divmod(-7, 2), abs(-n), pow(2, 5, 7), sum([0.1] * 3), max("ab", "b"), min(a or [0])]

u = ["a" "b", r"\n", "\x41\u00e9", b"x".decode(), "é".encode().hex(), ascii("é"), ord("a"), chr(98)]

u = [s.join("ab"), "a,b,,c".split(","), " x ".strip(), "x".rjust(3, "-"), "Abc".swapcase(), "a-b".partition("-"), "aXbX".rsplit("X", 1)]

u = [list(map(str, a)), list(filter(None, [0, 1, ""])), list(zip(a, b, strict=False)), any([]), all([]), list(reversed(a))]

import itertools, operator, functools, math
u = [list(itertools.chain(a, [1]))]
u += [functools.reduce(operator.add, [1, 2, n]), math.floor(f), list(itertools.accumulate([1, 2, 3])), list(itertools.islice(a, 2))]

import functools
u = functools.partial(max, 5)(NUMBER)

import json
u = json.loads(json.dumps({"a": a, "n": [n, None, True]}, sort_keys=True))

import re
u = [re.sub(r"\d", "#", "a1b2"), re.findall("[a-z]", "aB1c"), bool(re.match("O", s)), re.split(",", "a,b")]

import argparse
p = argparse.ArgumentParser()
p.add_argument("--k", type=int, default="5")
p.add_argument("--flag", action="store_true")
p.add_argument("words", nargs="*")
p.set_defaults(extra=NUMBER)
o = p.parse_args(["--k", "7", "x"])
u = [o.k, o.flag, o.words, o.extra, vars(o)["k"]]

import os
os.environ["SET_HERE"] = s
u = [os.environ["SET_HERE"], os.getenv("SET_HERE"), os.environ.get("SET_HERE", 1), "SET_HERE" in os.environ]

import os
from pathlib import Path, PurePosixPath
u = [os.path.join("a", "b"), str(Path("a") / "b" / s)]
u += [Path("x/y.tar.gz").suffix, os.path.splitext("a.b")[1], str(PurePosixPath("a/../b")), Path("a/b").parts]

from datetime import datetime, timedelta, date
u = [str(date(2024, 1, 31) + timedelta(days=1)), datetime(2024, 5, 6).strftime("%Y-%m"), timedelta(hours=25).days]

u = globals()["n"] + len(locals()["a"])

exec("n = n + 1")
u = eval("n * 2")

import copy
u = isinstance(n, (int, str)) and type(s) is str and callable(len)

u = id(a) == id(a) or n

x = a if UNKNOWN else b
x.append(NUMBER)

x = a if TRUTH else b
x.append(NUMBER)
u = x is a

u = a if id(a) == 5 else [7]
u.append(1)

u = UNKNOWN and NUMBER

u = UNKNOWN or NUMBER

def act():
    if UNKNOWN:
        return a
    return b
act().append(5)

c = d if UNKNOWN else {}
c["q"] = NUMBER

def act():
    a.append(n)
    return UNKNOWN
if act():
    n += 1
else:
    s = "other"

def act(k):
    if k > 3 and UNKNOWN:
        return "big"
    while k:
        k -= 1
        if UNKNOWN:
            break
    return k
u = [act(i) for i in (1, 4)]

class C:
    def __init__(self):
        self.k = 0
    def up(self):
        if UNKNOWN:
            self.k += 1
        return self
u = C().up().up().k

e = []
for i in range(3):
    if UNKNOWN:
        e.append(i)
u = len(e)

g = iter([1, 2, 3])
if UNKNOWN:
    next(g)
u = list(g)

def numbers():
    yield 1
    if UNKNOWN:
        yield 2
    yield 3
u = list(numbers())

import asyncio
async def act(k):
    return k + 1
async def main():
    return [await act(NUMBER), await act(2)]
u = asyncio.run(main())

import random
random.seed(1)
u = random.choice([1, 1])

import threading
h = threading.Thread(target=lambda: a.append(5))
h.start()
h.join()

import os
u = os.getcwd() and 1

def act(): return 1
act.calls = NUMBER
u = act.calls

class C:
    x = [1]
    y = [q for q in x]
    z = len(x) + NUMBER
u = [C.y, C.z]

class C:
    def __repr__(self):
        return "C!"
    def __format__(self, spec):
        return f"<{spec}>"
u = f"{C()!r}{C():>3}{[C()]}{str(C())}"

class C(dict):
    def __missing__(self, key):
        return key * 2
c = C(x=1)
u = [c["x"], c["y"], c.get("y"), len(c)]

class C(list):
    def total(self):
        return sum(self)
c = C([1, 2])
c.append(NUMBER)
u = [c.total(), c]

class C(str):
    def loud(self):
        return self.upper() + "!"
u = C(s).loud()

class A:
    def __init__(self): self.items = []
class B(A):
    def __init__(self):
        A.__init__(self)
        self.items.append(NUMBER)
u = B().items

import types
c = types.SimpleNamespace(x=1)
c.y = NUMBER
u = vars(c)

import abc
class A(abc.ABC):
    @abc.abstractmethod
    def f(self): ...
class B(A):
    def f(self): return NUMBER
try:
    A()
    u = "made"
except TypeError:
    u = B().f()

def act(*, k): return k
try:
    u = act(1)
except TypeError:
    u = act(k=NUMBER)

u = [*map(lambda p: p[0], sorted(d.items(), key=lambda p: str(p[1])))]

u = max(d, key=lambda k: len(str(k)), default=None)

u, n = n, len(str(u))

with open("/dev/null") as h:
    u = h.read()
    n += 1

u = input if UNKNOWN else n

try:
    u = undefined_name
except NameError:
    u = "undefined"

try:
    import no_such_module
    u = 1
except ImportError:
    u = 2

if UNKNOWN:
    class K:
        x = 1
else:
    class K:
        x = 2
u = K.x

if UNKNOWN:
    def act(): return 1
else:
    def act(): return 2
u = act()

global_before = n
def act():
    global n, made_here
    n = NUMBER
    made_here = n
act()
u = [global_before, made_here, n]
'''
# Conditions that hold, or not, and that only running tells.
UNKNOWN = r"""
id(a) > 0
id(b) < 0
id(n) != n
os.getpid() > 0
os.path.exists("/")
os.path.exists("/no/such/place")
time.time() < 5
hash("a") == hash("b")
"""
KINDS = {
    name: text.split("\n")[1:-1]
    for name, text in {
        "NUMBER": NUMBER, "TRUTH": TRUTH, "TEXT": TEXT, "LIST": LIST, "MAPPING": MAPPING, "UNKNOWN": UNKNOWN,
    }.items()
}  # fmt: skip
PIECES = STATEMENTS.strip().split("\n\n")
WHOLE = [*PIECES, *LANGUAGE.strip().split("\n\n")]
SIMPLEST = {"NUMBER": "n", "TRUTH": "n > 1", "UNKNOWN": "id(a) > 0"}


def filled(draw: random.Random, pieces: list[str], depth: int = 3) -> str:
    """One of the pieces, with other ones in it."""

    def inner(found: re.Match[str]) -> str:
        return filled(draw, KINDS[found[0]], depth - 1) if depth else SIMPLEST.get(found[0], "n")

    def block(found: re.Match[str]) -> str:
        body = "\n".join(filled(draw, WHOLE, depth - 1) for _ in range(draw.randint(1, 2))) if depth > 1 else "n += 1"
        return textwrap.indent(body, found["indent"])

    piece = re.sub(r"^(?P<indent> *)BLOCK$", block, draw.choice(pieces), flags=re.MULTILINE)
    return re.sub(r"\b(?:" + "|".join(KINDS) + r")\b", inner, piece)


def program(draw: random.Random, pieces: list[str]) -> tuple[str, dict[str, Any]]:
    """Statements that Python runs, and what the names are afterwards."""
    text = f"import copy, os, time\n{START}"
    names = dict[str, Any](__name__="__main__")
    exec(text, names)  # noqa: S102 - the pieces above
    for _ in range(draw.randint(1, 8)):
        longer, made = f"{text}\n{filled(draw, pieces)}", {"__name__": "__main__"}
        try:
            exec(longer, made)  # noqa: S102 - the pieces above
        except Exception:  # noqa: BLE001, S112 - what Python refuses is no case
            continue
        text, names = longer, made
    return text, names


def mistakes(text: str, names: dict[str, Any]) -> tuple[list[object], int, int]:
    """Names that are read as another value than Python gives them; how many are known, and how many there are."""
    states = readings(text)
    assert not states[0].unread, (text, states[0].unread)
    wrong: list[object] = []
    known = total = 0
    for name in NAMES:
        if name not in names:
            continue
        try:
            expected = json.dumps(names[name])
        except (TypeError, ValueError):
            continue
        total += 1
        found = told(states, name)
        if None not in found:
            known += 1
            wrong += [(name, expected, found)] if expected not in found else []
    return wrong, known, total


EXAMPLES = int(os.environ.get("SM_TRN_EXAMPLES", "300"))
BATCH = 100


@pytest.mark.parametrize("batch", range(max(1, EXAMPLES // BATCH)))
@pytest.mark.parametrize("pieces", [PIECES, WHOLE], ids=["plain", "whole"])
def test_a_program_is_read_as_python_runs_it(pieces: list[str], batch: int) -> None:
    known = total = 0
    for seed in range(batch * BATCH, (batch + 1) * BATCH):
        text, names = program(random.Random(seed), pieces)
        wrong, some, all_of_them = mistakes(text, names)
        assert not wrong, (seed, text, wrong)
        known, total = known + some, total + all_of_them
    assert known > total * (0.75 if pieces is PIECES else 0.5)


def test_a_value_that_is_read_is_in_the_request() -> None:
    text, names = program(random.Random(7), PIECES)
    body = f"from sagemaker.pytorch import PyTorch\n{text}\nfound = d\n{LAUNCH}"
    (launch,) = read_text(body, "launch.py").launches
    sent = [job.request["HyperParameters"] for job in launch.jobs]
    assert json.dumps(names["d"]) in [each["found"] for each in sent if isinstance(each, dict)]


MANAGED = """
@contextlib.contextmanager
def managed(k):
    a.append(1)
    try:
        yield k
    finally:
        a.append(2)
"""
CACHED = """
@functools.lru_cache
def cached(k):
    a.append(k)
    return 4
"""
SINGLE = """
@functools.singledispatch
def single(k):
    return 1
@single.register(int)
def _(k):
    a.append(8)
    return 2
"""
HOLDER = """
class Holder:
    @contextlib.contextmanager
    def managed(self, k):
        a.append(6)
        yield self
        b.append(a[0])
"""


@pytest.mark.parametrize(
    ("decorated", "use"),
    [
        (MANAGED, "with managed(n) as u:\n    b.append(2)"),
        (MANAGED, "m = managed(n)\na = [7]\nwith m:\n    b.append(len(a))"),
        (MANAGED, "def act():\n    with managed(n):\n        return 3\nu = act()"),
        (MANAGED, "with managed(n), managed(k=n) as u:\n    pass"),
        (MANAGED, "@managed(n)\ndef act():\n    b.append(5)\nact()"),
        (MANAGED, "@managed(1)\ndef act(k):\n    b.append(k)\nact(n)"),
        (MANAGED, "with contextlib.ExitStack() as stack:\n    u = stack.enter_context(managed(n))"),
        (MANAGED, "with managed(n) as u:\n    a = [1]\na.append(3)"),
        (CACHED, "u = cached(n)"),
        (CACHED, "u = [cached(each) for each in (n, n)]"),
        (CACHED, "u = functools.partial(cached, n)()"),
        (SINGLE, "u = single(n)"),
        (HOLDER, "u = Holder().managed(n)\nwith u:\n    b.append(3)"),
    ],
)
def test_what_a_decorated_function_does_with_something_unknown_is_not_overlooked(decorated: str, use: str) -> None:
    text = f"import contextlib, functools, os\na = [3]\nb = [1]\nn = os.getpid() % 1 + 1\n{decorated}\n{use}\n"
    names = dict[str, Any](__name__="__main__")
    exec(text, names)  # noqa: S102 - the lines above
    assert not mistakes(text, names)[0]


SHOWN = ("input", "exit", "(lambda: 1)", "[print]", "C()", "C", "C().m", "[C()]", "os", "object()", "range(3)")
FORMS = (
    "len(str({0}))",
    "len(f'{{{0}}}')",
    "len('%s' % ({0},))",
    "len('{{}}'.format({0}))",
    "repr({0})",
    "str({0})[:6]",
)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("shown", SHOWN)
def test_what_an_object_is_shown_as_is_pythons_or_unknown(shown: str, form: str) -> None:
    text = f"import os\nclass C:\n    def m(self): pass\nu = {form.format(shown)}\n"
    names = dict[str, Any](__name__="__main__")
    exec(text, names)  # noqa: S102 - the lines above
    assert not mistakes(text, names)[0]


def test_an_address_in_memory_is_no_value() -> None:
    launch = "from sagemaker.pytorch import PyTorch\nfound = str(object())\n" + LAUNCH
    (found,) = read_text(launch, "launch.py").launches
    assert not found.complete


GENERATOR = """
def numbers():
    try:
        yield 1
        yield 2
    finally:
        a.append(99)
"""
LEFT = (
    "for i in numbers():\n    break\nu = list(numbers())",
    "for i in numbers():\n    if all(a):\n        break\na.append(5)",
    "g = numbers()\nfor i in g:\n    break\na.append(1)",
    "def act():\n    for i in numbers():\n        return 4\nu = act()\na.append(5)",
    "try:\n    for i in numbers():\n        raise ValueError\nexcept ValueError:\n    a.append(5)",
    "def kept():\n    return g\ng = numbers()\nfor i in kept():\n    break\na.append(5)",
    "u = next(numbers())\na.append(5)",
    "for i, j in zip(numbers(), numbers()):\n    break\na.append(5)",
)


@pytest.mark.parametrize("branch", [False, True], ids=["alone", "in a branch beside one that raises"])
@pytest.mark.parametrize("left", LEFT)
def test_what_a_generator_does_when_its_loop_is_left_is_not_overlooked(left: str, branch: bool) -> None:
    text = f"{GENERATOR}\n{left}"
    if branch:
        text = f"if time.time() < 5:\n    u = a + 1\nelse:\n{textwrap.indent(text, '    ')}"
    text = f"import time\na = ['x']\n{text}\n"
    names = dict[str, Any](__name__="__main__")
    exec(text, names)  # noqa: S102 - the lines above
    assert not mistakes(text, names)[0]


# Constructs that are easily overlooked.
PROBE_START = """
import argparse, contextlib, copy, functools, json, os, random, threading
a = [3, 1, 2]
b = ["x"]
d = {"k": 1}
s = "One"
n = 2
f = 1.5
t = (1,)
u = None
"""
PROBES = {
    "explicit_args": """
p=argparse.ArgumentParser()
p.add_argument('--n',type=int,default=1)
n=p.parse_args(['--n','7']).n
""",
    "type_default": """
p=argparse.ArgumentParser()
p.add_argument('--n',type=int,default='5')
n=p.parse_args([]).n
f=p.parse_known_args([])[0].n
""",
    "set_defaults": """
p=argparse.ArgumentParser()
p.add_argument('--n',type=int,default=1)
p.set_defaults(n=9,q=4)
n=p.parse_args([]).n
u=p.parse_args([]).q
""",
    "decorator": """
def twice(g):
    def h(*x):
        return g(*x)*2
    return h
@twice
def g(x):
    return x
n=g(3)
""",
    "enter": """
class C:
    def __enter__(self):
        return 5
    def __exit__(self,*e):
        a.append(9)
        return True
with C() as n:
    raise ValueError
u=len(a)
""",
    "class_scope": """
n=1
class C:
    n=2
    def m(self):
        return n
u=C().m()
""",
    "dunder_bool": """
class C:
    def __bool__(self):
        return False
    def __len__(self):
        return 3
n=1 if C() else 2
u=len(C())
""",
    "setattr": """
class C:
    def __setattr__(self,k,v):
        object.__setattr__(self,k,v*2)
c=C()
c.x=4
n=c.x
""",
    "prop": """
class C:
    @property
    def x(self):
        return self._x
    @x.setter
    def x(self,v):
        self._x=v+1
c=C()
c.x=4
n=c.x
""",
    "second_base": """
class A:
    x=1
class B:
    y=2
class C(A,B):
    pass
n=C().y
""",
    "second_except": """
try:
    [][1]
except KeyError:
    n=1
except IndexError:
    n=7
""",
    "state_in_try": """
try:
    n=5
    a.append(4)
    int('x')
    n=6
except ValueError:
    u=n
""",
    "patterns": """
match d:
    case {'k':n,**rest}:
        u=n+1
""",
    "random": """
random.seed(1)
n=random.randint(1,100)
a=random.sample(a,2)
""",
    "getcwd": """
s=os.getcwd()
n=len(s)
u=os.path.abspath('x')
""",
    "thread": """
def w():
    d['k']=5
th=threading.Thread(target=w)
th.start()
th.join()
""",
    "thread2": """
def w(q):
    q['k']=5
th=threading.Thread(target=w,args=(d,))
th.start()
th.join()
""",
    "partial_mut": """
def w(q):
    q['k']=5
functools.partial(w,d)()
""",
    "lru": """
@functools.lru_cache
def w(q):
    d['k']=q
    return q
n=w(4)
""",
    "atexit": """
import atexit
@atexit.register
def w():
    d['k']=7
""",
    "sortkey": """
a.sort(key=lambda v: d.update(k=v) or v)
""",
    "chainmap": """
import collections
c=collections.ChainMap(d)
c['k']=4
""",
    "mapfn": """
u=list(map(lambda v: a.append(v), [5]))
""",
    "defaultdict": """
import collections
c=collections.defaultdict(lambda: a.append(1))
c['q']
""",
    "ctxdec": """
@contextlib.contextmanager
def m(q):
    q['k']=8
    yield 3
with m(d) as n:
    pass
""",
    "suppress": """
with contextlib.suppress(ValueError):
    n=int('x')
    a.append(1)
""",
    "exitstack": """
with contextlib.ExitStack() as st:
    st.callback(a.append,5)
    n=len(a)
u=len(a)
""",
    "getattr": """
class C:
    def __getattr__(self,k):
        return k*2
s=C().zz
""",
    "meta": """
class M(type):
    def __call__(cls,*x):
        return 5
class C(metaclass=M):
    pass
n=C()
""",
    "initsub": """
class A:
    def __init_subclass__(cls):
        d['k']=3
class B(A):
    pass
""",
    "iadd": """
class C:
    def __iadd__(self,o):
        a.append(o)
        return self
c=C()
c+=5
""",
    "finally_ret": """
def g():
    try:
        return 1
    finally:
        a.append(9)
n=g()
""",
    "nested_ret": """
def g():
    for i in range(3):
        try:
            if i==1:
                return i
        finally:
            a.append(i)
n=g()
""",
    "whileelse": """
i=0
while i<3:
    i+=1
else:
    n=i
""",
    "globalsw": """
globals()['n']=9
""",
    "varsw": """
class C: pass
c=C()
vars(c)['x']=4
n=c.x
""",
    "dictattr": """
class C: pass
c=C()
c.__dict__['x']=4
n=c.x
""",
    "execw": """
exec('n=9')
""",
    "gen": """
def g():
    d['k']=9
    yield 1
x=g()
d={'k':1}
next(x)
""",
    "genfin": """
def g():
    try:
        yield 1
    finally:
        a.append(5)
for n in g():
    break
""",
    "asyn": """
import asyncio
async def g():
    d['k']=2
    return 4
n=asyncio.run(g())
""",
    "envset": """
os.environ['Q1']='5'
s=os.environ['Q1']
""",
    "slots": """
class C:
    __slots__=('x',)
c=C()
c.x=3
n=c.x
""",
    "datacls": """
from dataclasses import dataclass,field
@dataclass
class C:
    x:int=1
    y:list=field(default_factory=list)
    def __post_init__(self):
        self.x+=1
n=C().x
""",
    "enum": """
import enum
class E(enum.Enum):
    A=1
n=E.A.value
s=E.A.name
""",
    "namedt": """
from typing import NamedTuple
class C(NamedTuple):
    x:int=3
n=C().x
""",
    "callbackcls": """
class C:
    def __call__(self):
        a.append(7)
C()()
""",
    "operator": """
import operator
operator.setitem(d,'k',8)
""",
    "heap": """
import heapq
heapq.heapify(a)
n=heapq.heappop(a)
""",
    "gl": """
def g():
    global n
    n=8
[g() for _ in range(1)]
""",
    "delx": """
del d['k']
n=len(d)
""",
    "assert": """
try:
    assert n>5
except AssertionError:
    n=0
""",
    "typecall": """
C=type('C',(),{'x':5})
n=C.x
""",
    "hashr": """
n=hash('x')%2
u=id(a)%2
""",
    "setorder": """
a=list({'x','y','z'})
""",
    "chained": """
def grow():
    a.append(9)
    return 5
u=0 < grow() < 3
""",
    "lazy call": """
x=map(a.append, [7])
next(x)
""",
    "library replaced": """
own=json.dumps
json.dumps=lambda x: 'changed'
s=json.dumps(d)
json.dumps=own
""",
    "library replaced by setattr": """
own=os.path.join
setattr(os.path,'join',lambda *x: 'changed')
s=os.path.join('a','b')
os.path.join=own
""",
    "builtin replaced": """
import builtins
own=builtins.len
builtins.len=lambda x: 42
n=len(a)
builtins.len=own
""",
    "command line replaced": """
import sys
own=sys.argv
sys.argv=['x','--n','5']
p=argparse.ArgumentParser()
p.add_argument('--n',default=1)
n=p.parse_args().n
sys.argv=own
""",
    "command line changed": """
from sys import argv as words
own=list(words)
words[:]=['x','--n','5']
p=argparse.ArgumentParser()
p.add_argument('--n',default=1)
n=p.parse_args().n
words[:]=own
""",
    "environment as bytes": """
os.environb[b'SM_TRN_PROBE']=b'7'
s=os.getenv('SM_TRN_PROBE','none')
del os.environ['SM_TRN_PROBE']
""",
    "annotation": """
n: a.append(5) = 5
""",
    "annotation of a parameter": """
def f1(x: a.append(5)):
    pass
""",
    "unknown arguments": """
import itertools
def second(x, y='whole'):
    return y
s=second(*itertools.repeat('other', 2))
""",
}


@pytest.mark.parametrize("name", PROBES)
def test_a_construct_is_what_python_makes_of_it_or_a_hole(name: str) -> None:
    text = f"{PROBE_START}{PROBES[name]}"
    names = dict[str, Any](__name__="__main__")
    exec(text, names)  # noqa: S102 - the programs above
    assert not mistakes(text, names)[0]

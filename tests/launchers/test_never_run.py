"""A launcher is read, and no line of it runs: not through Python's own functions, classes and libraries, whatever it hands to them."""

from __future__ import annotations

import argparse
import collections.abc
import enum
from pathlib import Path

import pytest

from sm_trn.bridge.launchers import read_launchers

HEAD = r"""
import json, functools, itertools, operator, re, copy, contextlib
import dataclasses, collections, pathlib, shlex, textwrap, string, argparse, configparser
import statistics, hashlib, base64, decimal, enum, types, urllib.parse, os.path
import abc, numbers, unicodedata, builtins, math, heapq, bisect, logging
import tempfile, shutil, subprocess, typing, typing_extensions, yaml, attr, os, sys
class R:
    def __reduce__(self):
        return (exec, ("open('{o}','w')",))
    def __reduce_ex__(self, p):
        return (exec, ("open('{o}','w')",))
class K:
    __new__ = functools.partial(open, "{o}", "w")
class P:
    x = property(lambda self: open("{o}", "w"))
class W:
    __enter__ = functools.partial(open, "{o}", "w")
class T:
    a: "open('{o}','w')"
def G():
    yield open("{o}", "w")
def A():
    p = argparse.ArgumentParser(); p.add_argument("--a", type=functools.partial(open, mode="w")); return p
def A2():
    p = argparse.ArgumentParser(); p.add_argument("--a", type=eval); return p
"""
# Each would leave the file {o}, change what this process shares, or end in an exception of the reader.
PROGRAMS = r"""
class E(enum.Enum):
    pass
x = E._convert_("E2", "os", lambda n: n == "system").system.value("touch {o}")
---
x = list(map(open, ["{o}"], ["w"]))
---
x = list(map(exec, ["open('{o}','w')"]))
---
x = list(map(eval, ["open('{o}','w')"]))
---
x = sorted(["open('{o}','w')"], key=eval)
---
x = max(["open('{o}','w')", "1"], key=exec)
---
x = list(filter(exec, ["open('{o}','w')"]))
---
x = functools.reduce(open, ["{o}", "w"])
---
x = list(itertools.starmap(open, [("{o}", "w")]))
---
x = functools.partial(open, "{o}")("w")
---
x = functools.partial(exec)("open('{o}','w')")
---
x = operator.call(open, "{o}", "w")
---
x = operator.methodcaller("write_text", "x")(pathlib.Path("{o}"))
---
x = yaml.unsafe_load_all("!!python/object/apply:os.system ['touch {o}']").__next__()
---
x = list(yaml.unsafe_load_all("!!python/object/apply:os.system ['touch {o}']"))
---
x = yaml.UnsafeLoader("!!python/object/apply:os.system ['touch {o}']").get_single_data()
---
x = yaml.load("!!python/object/apply:os.system ['touch {o}']", Loader=yaml.UnsafeLoader)
---
x = yaml.full_load_all("!!python/object/apply:os.system ['touch {o}']")
---
x = typing.ForwardRef("__import__('os').system('touch {o}')")._evaluate({}, {}, frozenset())
---
x = attr.make_class("C", ["x=__import__('os').system('touch {o}')"])
---
x = copy.copy(R())
---
x = copy.deepcopy(R())
---
x = json.loads('{"a": 1.5}', parse_float=lambda t: open("{o}", "w"))
---
x = json.loads('["{o}"]', object_pairs_hook=exec)
---
x = json.loads('"x"', cls=open)
---
x = json.dumps({1: R()}, default=lambda x: open("{o}", "w"))
---
contextlib.ExitStack().callback(open, "{o}", "w"); s = contextlib.ExitStack(); s.callback(open, "{o}", "w"); s.close()
---
x = dataclasses.make_dataclass("X", [("a", int, dataclasses.field(default_factory=functools.partial(open, "{o}", "w")))])()
---
x = collections.defaultdict(functools.partial(open, "{o}", "w"))["a"]
---
x = next(iter(functools.partial(open, "{o}", "w"), None))
---
x = re.sub("a", lambda m: open("{o}", "w") and "x", "a")
---
x = re.sub("(.*)", functools.partial(eval), "a")
---
x = type("X", (), {"__init__": exec})
---
x = K()
---
x = P().x
---
x = pathlib.Path("{o}").write_text("x")
---
x = pathlib.Path.write_text(pathlib.Path("{o}"), "x")
---
x = pathlib.PosixPath("{o}").touch()
---
shlex.split("a", posix=True); shlex.os.system("touch {o}")
---
x = textwrap.re.enum.sys.modules["os"].system("touch {o}")
---
x = json.decoder.scanner.re.enum.sys.modules["os"].system("touch {o}")
---
x = string.Formatter().format("{0.__class__.__init__.__globals__}", logging)
---
x = "{0.__class__.__mro__}".format(R())
---
x = argparse.ArgumentParser().add_argument("--a", type=open)
---
x = A().parse_args(["--a", "{o}"])
---
x = A2().parse_args(["--a", "open('{o}','w')"])
---
x = configparser.ConfigParser().write(open("{o}", "w"))
---
x = statistics.sys.modules
---
x = hashlib.file_digest
---
x = base64.main()
---
x = base64.encode(open("/etc/hostname"), open("{o}", "w"))
---
x = decimal.Decimal(1).__reduce__()
---
x = enum.Enum("E", {"a": R()})
---
x = types.LambdaType
---
x = types.SimpleNamespace(**{"x": 1}).__reduce__()
---
x = getattr(getattr(json, "codecs"), "open")("{o}", "w")
---
x = json.codecs.open("{o}", "w")
---
x = urllib.parse.sys.modules
---
x = os.path.genericpath.os.system("touch {o}")
---
x = os.path.os.system("touch {o}")
---
x = contextlib.os.system("touch {o}")
---
x = contextlib.contextmanager(G)().__enter__()
---
x = dataclasses.sys.modules["os"].system("touch {o}")
---
x = dataclasses.inspect.os.system("touch {o}")
---
x = dataclasses.builtins.exec("open('{o}','w')")
---
x = dataclasses.builtins.open("{o}", "w")
---
x = functools.wraps(open)(open)("{o}", "w")
---
x = functools.cached_property(open).func("{o}", "w")
---
x = property(open).fget("{o}", "w")
---
x = staticmethod(open).__func__("{o}", "w")
---
x = staticmethod(open)("{o}", "w")
---
x = classmethod(exec).__get__("open('{o}','w')")()
---
x = types.MethodType(open, "{o}")("w")
---
x = types.MethodType(exec, "open('{o}','w')")()
---
x = abc.ABCMeta.register
---
x = numbers.Number.__subclasses__()
---
x = unicodedata.ucd_3_2_0
---
x = open.__self__.exec("open('{o}','w')")
---
x = print.__self__.open("{o}", "w")
---
x = [].__class__.__base__.__subclasses__()
---
x = (lambda: 0).__globals__["__builtins__"]
---
x = vars(json)["codecs"].open("{o}", "w")
---
x = vars(builtins)["open"]("{o}", "w")
---
x = builtins.open("{o}", "w")
---
x = globals()["__builtins__"].open("{o}", "w")
---
x = __builtins__.open("{o}", "w")
---
x = help(exec)
---
x = sum([[]], start=R())
---
x = dict(a=1).__class__.__dict__["update"]
---
x = string.Template("$a").substitute(R())
---
x = math.fsum(map(eval, ["open('{o}','w') and 1"]))
---
x = any(map(exec, ["open('{o}','w')"]))
---
x = [*map(exec, ["open('{o}','w')"])]
---
a, = map(open, ["{o}"], "w")
---
x = {**dict(map(lambda f: (1, f("{o}", "w")), [open]))}
---
x = min(["{o}"], key=functools.partial(open, mode="w"))
---
x = heapq.nsmallest(1, ["open('{o}','w')"], key=eval)
---
x = bisect.bisect([1], 1, key=lambda x: open("{o}", "w") and 1)
---
x = collections.Counter(map(eval, ["open('{o}','w') and 1"]))
---
x = tuple(itertools.accumulate(["{o}", "w"], open))
---
x = list(itertools.takewhile(exec, ["open('{o}','w')"]))
---
x = list(itertools.groupby(["open('{o}','w')"], eval))
---
x = str.join("", map(eval, ["open('{o}','w') and 'x'"]))
---
x = "".join(map(eval, ["open('{o}','w') and 'x'"]))
---
x = print(*map(exec, ["open('{o}','w')"]))
---
x = f"{list(map(exec, [chr(111)+chr(112)]))}"
---
x = argparse.Namespace(a=1).__init__
---
x = argparse.FileType("w")("{o}")
---
x = argparse._sys.modules["os"].system("touch {o}")
---
x = logging.FileHandler("{o}")
---
x = logging.basicConfig(filename="{o}")
---
x = tempfile.NamedTemporaryFile(dir="{d}", delete=False)
---
x = shutil.copy("/etc/hostname", "{o}")
---
x = subprocess.run(["touch", "{o}"])
---
x = contextlib.redirect_stdout(open("{o}", "w"))
---
x = contextlib.closing(open("{o}", "w"))
---
x = dataclasses.make_dataclass("X", [("a", "open('{o}','w')")])
---
x = dataclasses.dataclass(type("Y", (), {"__annotations__": {"a": "typing.ClassVar[open('{o}','w')]"}}))
---
x = typing.NamedTuple("N", [("a", "open('{o}','w')")])
---
x = typing.TypedDict("T", {"a": "open('{o}','w')"})
---
x = typing.Optional["open('{o}','w')"]
---
x = typing_extensions.get_type_hints(T)
---
x = typing_extensions.evaluate_forward_ref(typing.ForwardRef("open('{o}','w')"))
---
x = functools.singledispatchmethod(exec).register
---
x = functools.total_ordering(R)
---
x = functools.reduce(lambda a, b: b, map(exec, ["open('{o}','w')"]), 0)
---
x = collections.namedtuple("N", "a", defaults=map(exec, ["open('{o}','w')"]))
---
x = collections.namedtuple("N", "a", module=R())
---
x = collections.UserDict(map(lambda x: (1, exec(x)), ["open('{o}','w')"]))
---
x = collections.ChainMap(R())["a"]
---
x = W().__enter__()
---
x = object.__getattribute__(lambda: 0, "__globals__")["__builtins__"]
---
x = str.__dict__["format"]
---
x = type.__dict__["__subclasses__"](object)
---
x = object.__dict__["__getattribute__"](lambda: 0, "__globals__")["os"].system("touch {o}")
---
x = type.__getattribute__(int, "__subclasses__")
---
class C: pass
C.__annotations__ = {"a: __import__('os').system('touch {o}') = 1": int}
x = dataclasses.dataclass(C)
---
class C:
    a: int = 1
C.__annotations__["b: int = __import__('os').system('touch {o}')"] = int
x = list(map(dataclasses.dataclass, [C]))
---
class F:
    name = "a=__import__('os').system('touch {o}')"; init = True; type = int
    default = 1; kw_only = False; default_factory = dataclasses.MISSING
class C:
    __dataclass_fields__ = {"a": F()}
@dataclasses.dataclass
class D(C):
    b: int = 2
x = D()
---
ns = types.SimpleNamespace()
functools.wraps(lambda: 0, assigned=("__globals__",), updated=())(ns)
x = vars(ns)["__globals__"]["__builtins__"]["open"]("{o}", "w")
---
ns = types.SimpleNamespace()
functools.update_wrapper(ns, lambda: 0, assigned=("__globals__",), updated=())
x = vars(ns)["__globals__"]["__builtins__"]["open"]("{o}", "w")
---
class E(enum.Enum):
    A = 1
x = E._convert_("E", "os", lambda n: n == "system").system.value("touch {o}")
---
class E(enum.Enum):
    A = 1
x = E._convert_("E2", "os", lambda n: n == "system", as_global=False)["system"].value("touch {o}")
---
match (lambda: 0):
    case object(__globals__=g):
        x = g["__builtins__"]["open"]("{o}", "w")
---
class M:
    __match_args__ = ("__globals__",)
match M():
    case M(g):
        x = g
---
try:
    [].nope
except AttributeError as e:
    x = e.__traceback__.tb_frame.f_globals["__builtins__"]["open"]("{o}", "w")
---
try:
    1 / 0
except Exception as e:
    x = e.with_traceback(None).__context__
---
x = (lambda: 0).__class__
x = x.__call__
---
x = functools.partial(object.__getattribute__, lambda: 0)("__globals__")
---
x = list(map(object.__getattribute__, [lambda: 0], ["__globals__"]))[0]["__builtins__"]["open"]("{o}", "w")
---
x = list(map("{0.__globals__}".format, [lambda: 0]))
---
x = str.format("{0.__globals__}", lambda: 0)
---
x = "{0.__globals__}".format_map({"0": 1})
---
class S(str):
    def isidentifier(self): return True
    def __str__(self): return self
x = collections.namedtuple("N", [S("a=__import__('os').system('touch {o}')")])
---
class S(str):
    def isidentifier(self): return True
class C: pass
C.__annotations__ = {S("a: int = __import__('os').system('touch {o}')"): int}
x = dataclasses.dataclass(C)
---
class Q(argparse.ArgumentParser):
    def go(self):
        self.fromfile_prefix_chars = "@"
        return self._read_args_from_files(["@/etc/hostname"])
x = Q().go()
---
class Q(argparse.ArgumentParser):
    def go(self):
        self._print_message("x", open("{o}", "w"))
x = Q().go()
---
class T(string.Template):
    pass
x = T("$a").safe_substitute(a=T.__init_subclass__)
---
class D(dict):
    def __missing__(self, k): return open("{o}", "w")
x = D()["a"]
---
class D(dict):
    __missing__ = open
x = D()["{o}"]
---
class D:
    __getattr__ = exec
x = getattr(D(), "open('{o}','w')")
---
class D:
    __class_getitem__ = exec
x = D["open('{o}','w')"]
---
class D:
    __format__ = exec
x = f"{D():x}"
---
class D:
    __init_subclass__ = functools.partial(open, "{o}", "w")
class E(D): pass
x = 1
---
class Meta(type):
    __call__ = functools.partial(open, "{o}", "w")
class E(metaclass=Meta): pass
x = E()
---
class Meta(type):
    def __prepare__(n, b): return open("{o}", "w")
class E(metaclass=Meta): pass
x = 1
---
class E(metaclass=open): pass
x = 1
---
class E(metaclass=lambda n, b, d: open("{o}", "w")): pass
x = 1
---
@exec
def f(): pass
x = 1
---
@functools.partial(map, exec)
def f(): pass
x = 1
---
def f(a: open("{o}", "w")) -> exec("open('{o}','w')"): pass
x = 1
---
x: open("{o}", "w") = 1
---
import copyreg
copyreg.pickle(dict, exec)
x = copy.copy({})
---
class R2:
    def __reduce_ex__(self, p):
        return (type, ("X", (), {}))
x = copy.copy(R2())
---
class R3:
    def __reduce_ex__(self, p):
        return "os.system"
x = copy.copy(R3())("touch {o}")
---
class R4:
    def __reduce_ex__(self, p):
        return (functools.partial, (print,), {}, None, None)
x = copy.copy(R4())
---
class R5:
    __deepcopy__ = exec
x = copy.deepcopy(R5())
---
argparse.ArgumentParser.parse_args = lambda self: 1
x = 1
---
enum.Enum.hack = 1
x = 1
---
setattr(argparse.ArgumentParser, "hack", 1)
x = 1
---
type.__setattr__(argparse.ArgumentParser, "hack", 1)
x = 1
---
collections.abc.Mapping.register(int)
x = 1
---
x = [c for c in ().__class__.__mro__[1].__subclasses__() if c.__name__ == "Popen"][0](["touch", "{o}"])
---
x = type(type)("X", (), {}).__mro__
---
x = type(re)
---
x = type(iter([])).__init_subclass__
---
x = type((i for i in [])).gi_frame
---
g = (i for i in [1])
x = g.gi_frame.f_globals
---
x = super(dict, {}).__getattribute__("__class__")
---
class A:
    def f(self): return super().__getattribute__("f")
x = A().f().__globals__
---
class A:
    def f(self): return super().__getattribute__("__init__")
x = A().f()
---
class A:
    def f(self): return super().__reduce_ex__(2)
x = A().f()[0].__globals__
---
class A:
    def f(self): return super().__dir__()
x = A().f()
---
x = json.loads("[1]", object_hook=None, parse_int=getattr)
---
x = json.loads("[1]", parse_int=functools.partial(getattr, json))
---
x = contextlib.ExitStack().enter_context(open("{o}", "w"))
---
class CM:
    __enter__ = lambda self: open("{o}", "w")
    __exit__ = lambda *a: None
with CM() as x: pass
---
x = contextlib.closing(functools.partial(open, "{o}", "w")).thing()
---
x = re.compile("a").__class__.__new__
---
x = enum.Enum.__prepare__
---
class E(enum.Enum):
    _generate_next_value_ = exec
    A = enum.auto()
x = E.A
---
class E(enum.Enum):
    A = "open('{o}','w')"
    def __init__(self, v): exec(v)
x = E.A
---
class E(enum.Enum):
    A = "open('{o}','w')"
    __init__ = exec
x = 1
---
x = types.SimpleNamespace(a=1).__class__.__init__
---
x = functools.reduce(operator.getitem, [sys.modules, "os"])
---
x = sum([functools.partial(open)], functools.partial(open, "{o}"))
---
x = max([1], key=functools.cmp_to_key(exec))
---
x = sorted(["open('{o}','w')", "1"], key=functools.cmp_to_key(lambda a, b: eval(a)))
---
x = eval("open('{o}','w')")
---
x = exec("import os\nos.system('touch {o}')")
---
x = exec("list(map(exec, ['1']))")
---
x = __import__("os").system("touch {o}")
---
import importlib
x = importlib.import_module("os").system("touch {o}")
---
x = list(map(__import__, ["antigravity"]))
---
x = list(map(importlib.import_module, ["os"]))
---
import sagemaker
x = list(map(sagemaker.estimator.os.system, ["touch {o}"]))
---
x = configparser.ConfigParser(converters={"x": exec}).getx("a", "b")
---
c = configparser.ConfigParser(converters={"x": eval}); c.read_string("[a]\nb=open('{o}','w')\n"); x = c.getx("a", "b")
---
p = argparse.ArgumentParser(); p.add_argument("--a", default="open('{o}','w')", type=eval); x = p.parse_args([])
---
p = argparse.ArgumentParser(); p.add_argument("--a", action=functools.partial(open, "{o}", "w")); x = 1
---
p = argparse.ArgumentParser(); p.register("type", "z", exec); p.add_argument("--a", type="z", default="open('{o}','w')"); x = p.parse_args()
---
p = argparse.ArgumentParser(formatter_class=exec); x = p.format_help()
---
x = string.Formatter().vformat("{0.__class__}", [1], {})
---
x = base64.b64decode("aa").__class__.__subclasses__
---
x = heapq.merge([1], [2], key=exec)
---
x = statistics.mean(map(exec, ["open('{o}','w')"]))
---
x = property(lambda s: 1).fget.__globals__
---
x = functools.partial(lambda: 0).func.__globals__
---
x = staticmethod(lambda: 0).__wrapped__.__globals__
---
x = contextlib.contextmanager(lambda: 0).__wrapped__
---
cm = contextlib.contextmanager(G)(); x = cm.gen.gi_frame
---
cm = contextlib.contextmanager(G)(); x = cm.func.__globals__
---
x = list(functools.cached_property(exec).func("open('{o}','w')"))
---
async def co(): return open("{o}", "w")
x = co().cr_frame
---
def gen():
    try: yield 1
    finally: open("{o}", "w")
for x in gen(): break
---
x = typing.NamedTuple("N", [("a=1", int)])
---
x = typing.Optional["__import__('os').system('touch {o}')"].__args__[0]._evaluate
---
x = typing.cast(exec, 1)
---
x = typing.TypeVar("T", bound="__import__('os').system('touch {o}')")
---
x = dataclasses.field(default_factory=lambda: open("{o}", "w"))
@dataclasses.dataclass
class C:
    a: int = dataclasses.field(default_factory=functools.partial(open, "{o}", "w"))
x = C()
---
@dataclasses.dataclass
class C:
    a: int = 1
f = dataclasses.fields(C)[0]
f.name = "z=__import__('os').system('touch {o}')"
@dataclasses.dataclass
class D(C):
    b: int = 2
x = D()
---
x = dataclasses.replace.__globals__
---
x = "a".join(map(functools.partial(getattr, "x"), ["__class__"]))
""".strip("\n").split("\n---\n")


@pytest.mark.parametrize("number", range(len(PROGRAMS)))
def test_nothing_of_a_launcher_runs(tmp_path: Path, number: int) -> None:
    out = tmp_path / "out"
    program = f"{HEAD}\nx = 0\n{PROGRAMS[number]}\n".replace("{o}", str(out)).replace("{d}", str(tmp_path))
    (tmp_path / "launch.py").write_text(program)
    read_launchers(tmp_path / "launch.py")
    assert ["launch.py"] == [path.name for path in tmp_path.iterdir()], PROGRAMS[number]
    assert "parse_args" == argparse.ArgumentParser.parse_args.__name__
    assert not any(hasattr(kind, "hack") for kind in (argparse.ArgumentParser, enum.Enum))
    assert not isinstance(1, collections.abc.Mapping)

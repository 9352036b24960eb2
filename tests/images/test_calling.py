"""Calls that are held against the signatures of what they call: what is surely refused is told, and nothing else."""

from __future__ import annotations

import pytest

from sm_trn.images.calling import Caller
from sm_trn.images.following import Follower
from sm_trn.images.wheels import Release


def release(name: str, files: dict[str, str], version: str = "1.0") -> Release:
    return Release(name, version, {path: text.encode() for path, text in files.items()})


def refused(program: str, *packages: Release, **own: str) -> list[str]:
    """What the calls of a program, and of what they run, are refused among packages."""
    programs = release("", {"train.py": program, **{f"{name}.py": text for name, text in own.items()}})
    by_name = {module: package for package in packages for module in package.modules}
    follower = Follower(programs, lambda module: by_name.get(module.partition(".")[0]))
    return [str(each) for each in Caller(follower).refused("train")]


LIBRARY = release(
    "library",
    {
        "library/__init__.py": "from .parts import Config, Engine, Open, Renamed, Wider, call\nfrom . import parts\n",
        "library/parts.py": """
from dataclasses import dataclass, field
from typing import ClassVar

@dataclass
class Base:
    rank: int = 4

@dataclass
class Config(Base):
    alpha: int = 8
    names: list = field(default_factory=list)
    hidden: int = field(default=1, init=False)
    KIND: ClassVar[str] = 'x'

class Engine:
    def __init__(self, model, rate=1.0, *, name=''):
        self.model = model

    def step(self, batch):
        pass

    def run(self):
        return self.loss(self.model, [1], count=2)

    def loss(self, model, batch, count=None):
        return 0

class Wider(Engine):
    pass

class Open:
    def __init__(self, **more):
        pass

class Renamed:
    @renames('old', 'new')
    def __init__(self, new=1):
        pass

def call(first, second=2):
    return first
""",
    },
)


@pytest.mark.parametrize(
    "line",
    [
        "from library import Config\nConfig(rank=1, alpha=2, names=[])",
        "from library import Config\nConfig(1, 2)",
        "from library import Engine\nEngine(1, 2, name='a').anything(1, 2, 3)",
        "from library import Open\nOpen(anything=1)",
        "from library import Renamed\nRenamed(old=1)",
        "from library import call\ncall(**{'third': 3})",
        "from library import call\ncall(*[1, 2, 3])",
        "from library import call\ntry:\n    call(third=3)\nexcept TypeError:\n    call(1)",
        "from library import call\nif call:\n    call(third=3)",
        "from library import call\ndef never():\n    call(third=3)",
        "from library import call\ndef call(third):\n    pass\ncall(third=3)",
        "from library import call\ndef main(call):\n    call(third=3)\nmain(print)",
        "from library import call\nwrapped = lambda: call(third=3)",
        "from unknown import call\ncall(third=3)",
        "from unknown import Base\nclass Own(Base):\n    pass\nOwn(third=3)",
        "from library import Engine\nclass Own(Engine):\n    def __init__(self, third):\n        pass\nOwn(third=3)",
        "from library import Engine\nclass Own(Engine):\n    def loss(self, model, batch, **more):\n        pass\nOwn(1).run()",
        "from library import Engine\nclass Own(Engine):\n    def loss(self, *given, count=1):\n        pass\nOwn(1).run()",
        "from library import Engine\nclass Own(Engine):\n    def run(self):\n        pass\n    def loss(self):\n        pass\nOwn(1)",
        "from library import call\ndef main(stop):\n    if stop:\n        return\n    call(third=3)\nmain(1)",
    ],
)
def test_what_may_be_taken_is_not_refused(line: str) -> None:
    assert [] == refused(f"{line}\n", LIBRARY)


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("from library import Config\nConfig(beta=1)", "train.py:2 calls Config with beta"),
        ("from library import Config\nConfig(hidden=1)", "train.py:2 calls Config with hidden"),
        ("from library import Config\nConfig(1, 2, [], 4)", "train.py:2 calls Config with 4 values"),
        ("from library import Engine\nEngine(1, third=3)", "train.py:2 calls Engine with third"),
        ("from library import Wider\nWider(1, third=3)", "train.py:2 calls Wider with third"),
        ("import library\nlibrary.call(third=3)", "train.py:2 calls library.call with third"),
        ("import library.parts as parts\nparts.call(1, third=3)", "train.py:2 calls parts.call with third"),
        ("from library import parts\nparts.call(1, third=3)", "train.py:2 calls parts.call with third"),
        ("from library import Engine\nengine = Engine(1)\nengine.step(1, 2)", "train.py:3 calls engine.step with 2 values"),
        (
            "from library import call\ndef main():\n    call(1, third=3)\nif __name__ == '__main__':\n    main()",
            "train.py:3 calls call with third",
        ),
        (
            "from library import call\nimport fire\ndef main():\n    for _ in range(3):\n        call(1, third=3)\nfire.Fire(main)",
            "train.py:5 calls call with third",
        ),
        (
            "from library import Engine\nclass Own(Engine):\n    def __init__(self):\n        super().__init__(1, third=3)\nOwn()",
            "train.py:4 calls super().__init__ with third",
        ),
    ],
)  # fmt: skip
def test_what_is_not_taken_is_told_with_its_place(line: str, what: str) -> None:
    assert [f"{what}, which library 1.0 does not take"] == refused(f"{line}\n", LIBRARY)


def test_a_method_of_the_jobs_own_takes_what_the_library_calls_it_with() -> None:
    own = "from library import Engine\nclass Own(Engine):\n    def loss(self, model, batch):\n        pass\nOwn(1).run()\n"
    told = "library 1.0 calls Own.loss with count, which train.py:3 does not take"
    assert [told] == refused(own, LIBRARY)


def test_a_library_calls_another_one_as_that_is() -> None:
    user = release(
        "user",
        {
            "user/__init__.py": "from .deep import Trainer, missing\n",
            "user/deep.py": "import library\nfrom library import Engine\n\n"
            "class Trainer(Engine):\n    def __init__(self, model):\n        if model:\n            model = 1\n"
            "        super().__init__(model, processor=2)\n\n"
            "def missing():\n    helper()\n\ndef helper():\n    library.gone()\n",
        },
    )
    told = "user 1.0 calls super().__init__ with processor, which library 1.0 does not take"
    assert [told] == refused("from user import Trainer\nTrainer(1)\n", user, LIBRARY)
    assert ["user 1.0 imports gone from library, which library 1.0 does not have"] == refused(
        "import user\nuser.missing()\n", user, LIBRARY
    )
    assert [] == refused("from user import Trainer\n", user, LIBRARY)


HOLDS = release(
    "holds",
    {
        "holds/__init__.py": """
from dataclasses import dataclass

@dataclass
class Settings:
    rate: float = 1.0

    def __post_init__(self):
        self.made = 1
        for name in ('rate',):
            setattr(self, name, 2)

class Kept:
    LIMIT = 3

    def __init__(self):
        self.held = 1

    def method(self):
        pass

class Anything:
    def __getattr__(self, name):
        return name

class Filled:
    def fill(self, **more):
        self.__dict__.update(more)

class Below(Unknown):
    pass
""",
    },
)


@pytest.mark.parametrize(
    "line",
    [
        "from holds import Kept\nkept = Kept()\nprint(kept.held, kept.LIMIT, kept.method, kept.__class__)",
        "from holds import Settings\ndef main(settings: Settings):\n    print(settings.rate, settings.made)\nmain(1)",
        "from holds import Anything, Filled, Below\nprint(Anything().a)\na = Anything()\nb = Filled()\nc = Below()\nprint(a.a, b.b, c.c)",
        "from holds import Kept\nkept = Kept()\nkept.gone = 1\nprint(kept.gone)",
        "from holds import Kept\nkept = Kept()\nsetattr(kept, 'gone', 1)\nprint(kept.gone)",
        "from holds import Kept\nkept = Kept()\nif kept:\n    print(kept.gone)\nhasattr(kept, 'gone')",
        "from holds import Kept\nkept = Kept()\nkept = wrapped(kept)\nprint(kept.gone)",
    ],
)
def test_an_attribute_that_an_object_may_have_is_not_missed(line: str) -> None:
    assert [] == refused(f"{line}\n", HOLDS)


TWO = release(
    "library",
    {
        "library/__init__.py": """
class First:
    def __init__(self):
        self.held = 1

    def step(self, batch):
        pass

class Second(First):
    def gone(self):
        pass

    def step(self, batch, more):
        pass

class Made:
    def __new__(cls):
        return Second()
"""
    },
)
USED = "print(one.gone)\none.step(1, 2)\n"


@pytest.mark.parametrize(
    "again",
    [
        "if input():\n    one = Second()\n",
        "try:\n    one = Second()\nexcept OSError:\n    pass\n",
        "for one in [Second()]:\n    pass\n",
        "while input():\n    one = Second()\n",
        "with opened(Second()) as one:\n    pass\n",
        "match input():\n    case 'x':\n        one = Second()\n    case one:\n        pass\n",
        "one, two = Second(), 1\n",
        "print(one := Second())\n",
        "one += 1\n",
        "one: First = Second()\n",
        "import another as one\n",
        "def one():\n    pass\n",
        "def change():\n    global one\n    one = Second()\nchange()\n",
        "try:\n    pass\nexcept OSError as one:\n    pass\n",
        "First.step = First.gone = print\n",
        "one.step = one.gone = print\n",
        "import sys\nif len(sys.argv) > 1:\n    sys.exit()\n",
        "for _ in range(2):\n    if input():\n        break\n    "
        + USED.replace("\n", "\n    ")
        + "\nraise SystemExit\n",
    ],
)
def test_an_object_whose_class_may_be_another_is_told_nothing_of(again: str) -> None:
    program = f"from library import First, Second\none = First()\n{again}{USED}"
    assert [] == refused(program, TWO)
    inside = "def main():\n    " + program.replace("\n", "\n    ") + "\nmain()\n"
    assert [] == refused(inside.replace("global one", "nonlocal one"), TWO)


@pytest.mark.parametrize(
    "line",
    [
        f"def main(one: First):\n    {USED.splitlines()[0]}\n    {USED.splitlines()[1]}\nmain(Second())",
        f"one = Made()\n{USED}",
        "library.First = dict\nlibrary.First(third=3)",
    ],
)
def test_a_class_that_a_name_does_not_settle_is_told_nothing_of(line: str) -> None:
    assert [] == refused(f"import library\nfrom library import First, Second, Made\n{line}\n", TWO)


def test_an_object_whose_class_is_certain_is_told_of() -> None:
    found = refused(f"from library import First\none = First()\n{USED}", TWO)
    assert ["reads gone of a First", "calls one.step with 2 values"] == [
        each.split(", which")[0].removeprefix(f"train.py:{line} ") for line, each in enumerate(found, 3)
    ]


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("from holds import Kept\nkept = Kept()\nprint(kept.gone)", "train.py:3 reads gone of a Kept"),
        (
            "from holds import Settings\ndef main():\n    settings = Settings()\n    print(settings.gone)\nmain()",
            "train.py:4 reads gone of a Settings",
        ),
    ],
)
def test_an_attribute_that_its_class_does_not_have_is_told(line: str, what: str) -> None:
    assert [f"{what}, which holds 1.0 does not give it"] == refused(f"{line}\n", HOLDS)

"""Asks a real resolver whether a job's requirements can be installed into its image, and follows its imports. It uses the network."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

from ..core.catalog.instances import find_instances
from ..core.errors import SmTrnError
from ..core.preflight import source
from ..core.preflight.source import REQUIREMENTS, requirements, source_folder
from ..core.specs.job import JobSpec
from ..core.specs.problems import Problem
from .calling import Caller
from .contents import Contents, contents_of, imports_of, package_of, packages_of, python_of
from .following import Follower, takes_torch, wanted_torch
from .gpus import first_cuda
from .releases import misfits
from .requirements import requirements_of
from .rules import installs
from .wheels import Release, UnreadError, read_release

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

# What the image builds its other libraries for: they are held, so that a set is found that leaves them alone.
HELD = ("torch", "torchvision", "torchaudio", "torch-xla", "torch-neuronx", "flash-attn", "numpy")
TIMEOUT_S = 300
LATE = 99  # a patch of the image's Python: without one uv takes the first, for which later releases are not meant
PLATFORM = "x86_64-manylinux_2_31"  # Ubuntu 20.04: the oldest of the images


_NO_WHEEL = re.compile(
    r"(?:all versions of )?(?P<name>[A-Za-z0-9][\w.-]*?)(?:\[[^\]]*\])?"
    r"(?P<spec>(?:[<>=!~]=?[\w.+*]+,?)*) ha(?:s|ve) no usable wheels"
)
_SMALL = 2_000_000  # bytes of a wheel that is fetched for its Pythons alone
_EDITABLE = re.compile(r"(?:-e|--editable)[ =]\s*")
_ARCHIVES = (".whl", ".tar.gz", ".zip")
_NOT_FOUND = re.compile(r"Because (?P<name>[A-Za-z0-9][\w.-]*) was not found")
_CUDA = re.compile(r"^cuda\b.* = '([\d.]+)'", re.MULTILINE)
# What a program may ask of transformers, the package that they want for it, and where their release says which.
_REFUSALS = (
    (
        ("attn_implementation", "flash_attention_2"),
        "flash-attn",
        r"def is_flash_attn_2_available\b(?:(?!\ndef ).)*?>= version\.parse\(\"([\d.]+)\"\)",
    ),
    (
        ("resume_from_checkpoint", True),
        "torch",
        r"def check_torch_load_is_safe\b(?:(?!\ndef ).)*?is_torch_greater_or_equal\(\"([\d.]+)\"\)",
    ),
)
_PYTHONS = ("3.8", "3.9", "3.10", "3.11", "3.12", "3.13")
MOST_PROGRAMS = 500  # of a source folder
_MOST_LEFT_OUT = 12  # packages without any wheel, or that the index does not have: more are not looked at


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolved:
    """``pins`` are versions that can be installed together into the image, as lines of a constraints file; empty where there are none,
    and ``conflict`` says why in the resolver's words. ``certain`` are the pins that the job surely has. ``replaced`` are packages of the
    image that they replace: name, version there, version wanted; ``drags`` says in the resolver's words why what the image is built for
    cannot stay. ``misfits`` are sentences about pins that fail together and imports that will fail; ``excluded`` about packages of the
    image that the script imports and that do not allow the pins.
    ``problems`` are what ``check`` finds with these pins, and not without. ``unread`` are requirements that only a build could tell about:
    addresses, and packages without any wheel.
    """

    image: str
    pins: tuple[str, ...] = ()
    certain: tuple[str, ...] = ()
    conflict: str = ""
    replaced: tuple[tuple[str, str, str], ...] = ()
    drags: str = ""
    misfits: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()
    unread: tuple[str, ...] = ()


@dataclass
class _Question:
    """What uv is asked, in a folder of its own, until every package without any wheel is read in its source, or left out."""

    uv: str
    folder: Path
    python: str
    lines: list[str]
    there: list[str]
    left_out: list[str]
    wheels: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    releases: dict[tuple[str, str], Release | None] = field(default_factory=dict)
    built: dict[str, str] = field(default_factory=dict)  # packages without any wheel whose source is read: their pins

    def ask(self, limits: list[str]) -> tuple[str, tuple[str, ...]]:
        """The conflict, empty where there is none, and the pins. Raises SmTrnError where uv gives no answer."""
        while True:
            words, pins = self._once(self.lines, [*limits, *self.built.values()], self.python)
            missing = _NO_WHEEL.search(words)
            if missing is None or len(self.left_out) >= _MOST_LEFT_OUT or missing["name"] in self.left_out:
                return words, pins
            if not self._alone(missing):
                return words, pins
            if not self._reads_source(missing["name"], missing["spec"].rstrip(",")):
                self.left_out.append(missing["name"])

    def _alone(self, missing: re.Match[str]) -> bool:
        """Whether a package has no wheels for other Pythons either: it is built everywhere, and nobody knows how that ends."""
        wanted = f"{missing['name']}{missing['spec'].rstrip(',')}"
        return not any(not self._once([wanted], [], python, "--no-deps")[0] for python in _PYTHONS)

    def _reads_source(self, name: str, spec: str) -> bool:
        """Whether the programs of a package without any wheel are read. What it needs a build would say: uv is told that it is nothing."""
        if name in self.built or os.environ.get("UV_CONFIG_FILE"):  # uv would not be told
            return False
        self.built[name] = f"{name}{spec}"
        needs = [f'[[dependency-metadata]]\nname = "{each}"\nrequires-dist = []\n' for each in self.built]
        (self.folder / "uv.toml").write_text("".join(needs), "utf-8")
        pin = next(iter(self.alone([self.built[name]])), "")
        if pin and self.release(name, pin.partition("==")[2]) is not None:
            self.built[name] = pin
            return True
        del self.built[name]
        return False

    @functools.cached_property
    def newest(self) -> tuple[str, ...]:
        """What the requirements allow without what they need."""
        return self.alone(self.lines)

    def alone(self, lines: list[str]) -> tuple[str, ...]:
        """The newest releases that requirements allow by themselves."""
        return self._once(lines, [], self.python, "--no-deps")[1]

    def excludes(self, package: str, pins: tuple[str, ...]) -> str:
        """Why a package of the image does not allow the pins, in the resolver's words; empty where it does, and where it fails alone."""
        options = [line for line in self.lines if line.lstrip().startswith("-")]
        if self._once([*options, package], [], self.python)[0]:
            return ""
        return self._once([*options, package, *pins], [], self.python)[0]

    def brought(self, wanted: list[str]) -> frozenset[str]:
        """The names of what packages bring when they are installed, and their own; none where no set of them goes together."""
        lacking: list[str] = []
        for options in (["--no-deps"], []):  # the wanted ones by themselves are looked at sooner
            words, pins = self._once(wanted, [], self.python, *options, there=[], gone=lacking)
            while (missing := _NO_WHEEL.search(words) or _NOT_FOUND.search(words)) and missing["name"] not in lacking:
                if len(lacking) >= _MOST_LEFT_OUT:
                    return frozenset()
                lacking.append(missing["name"])
                words, pins = self._once(wanted, [], self.python, *options, there=[], gone=lacking)
        return frozenset(_name_of(pin) for pin in pins) | frozenset(lacking if pins else ())

    def lock(self, pins: list[str]) -> None:
        """Find where the wheels of pins are."""
        options = [line for line in self.lines if line.lstrip().startswith("-")]
        (self.folder / "locked.txt").write_text("".join(f"{line}\n" for line in [*options, *pins]), "utf-8")
        output = self.folder / "pylock.toml"
        output.unlink(missing_ok=True)
        done = self._compile("locked.txt", "--no-deps", "--format", "pylock.toml", "--output-file", output.name)
        packages = tomllib.loads(output.read_text("utf-8")).get("packages", ()) if not done.returncode else ()
        for each in packages:
            source = [each["sdist"]] if each["name"] in self.built and "sdist" in each else []
            self.wheels[f"{each['name']}=={each['version']}"] = source or each.get("wheels", [])

    def release(self, name: str, version: str) -> Release | None:
        """One release, read once."""
        if (name, version) not in self.releases:
            self.releases[name, version] = self._read(name, version)
        return self.releases[name, version]

    def _read(self, name: str, version: str) -> Release | None:
        """One release, read out of its wheel or its source; None where the index has none of it."""
        if f"{name}=={version}" not in self.wheels:
            self.lock([f"{name}=={version}"])
        for each in self.wheels.get(f"{name}=={version}", ()):
            url = each.get("url") or Path(self.folder, each["path"]).resolve().as_uri()
            with contextlib.suppress(UnreadError):
                return read_release(name, version, url, each.get("size"))
        return None

    def _once(
        self,
        lines: list[str],
        limits: list[str],
        python: str,
        *more: str,
        there: list[str] | None = None,
        gone: list[str] | None = None,
    ) -> tuple[str, tuple[str, ...]]:
        without = [f"{name} ; python_version < '3'" for name in (self.left_out if gone is None else gone)]
        kept = self.there if there is None else there
        for name, content in (("asked", lines), ("limits", limits), ("pinned", kept), ("gone", without)):
            (self.folder / f"{name}.txt").write_text("".join(f"{line}\n" for line in content), "utf-8")
        # uv keeps what stands in its output where that fits, as pip keeps what is installed.
        files = ("--constraint", "limits.txt", "--override", "gone.txt", "--output-file", "pinned.txt")
        done = self._compile("asked.txt", *files, "--no-header", "--no-annotate", *more, python=python)
        if done.returncode > 1:  # 1 says that there is no solution, more that it could not look
            raise SmTrnError(f"--resolve: uv could not look for the requirements: {words_of(done.stderr)}")
        made = (self.folder / "pinned.txt").read_text("utf-8")
        return (
            (words_of(done.stderr), ()) if done.returncode else ("", tuple(x for x in made.splitlines() if "==" in x))
        )

    def _compile(self, file: str, *options: str, python: str = "") -> subprocess.CompletedProcess[str]:
        place = ("--python-version", python or self.python, "--python-platform", PLATFORM, "--only-binary", ":all:")
        command = [self.uv, "pip", "compile", file, *options, *place, "--python", sys.executable]
        command += ["--no-python-downloads", "--quiet"]
        command += [word for name in self.built for word in ("--no-binary", name)]
        command += ["--config-file", "uv.toml"] if self.built and os.environ.get("UV_NO_CONFIG") else []
        try:
            return subprocess.run(
                command, capture_output=True, text=True, check=False, timeout=TIMEOUT_S, cwd=self.folder
            )
        except subprocess.TimeoutExpired as error:
            raise SmTrnError(
                f"--resolve: uv gave no answer in {TIMEOUT_S} s; is the package index reachable?"
            ) from error


def resolve(job: JobSpec) -> Resolved:
    """Resolve the requirements of a job for its image's Python and platform: its PyTorch held, or else, as pip does, replaced.

    It installs, builds and runs nothing. Raises SmTrnError where the image's contents are not published, or there is no uv.
    """
    held, text, uv = contents_of(job), requirements(job) or "", find_uv()
    python = python_of(held)
    if held is None or python is None:
        raise SmTrnError(f"{job.name}: what its image holds is not published, wanted an image of sm-trn images")
    if uv is None:
        raise SmTrnError("--resolve asks uv, which is not installed; fix: pip install uv")
    addresses = [line.strip() for line in text.splitlines() if _address(line) or _of_neuron(line, held)]
    lines = [line for line in text.splitlines() if line.strip() not in addresses]
    there = [f"{name}=={version}" for name, version in _there(held).items()]
    with tempfile.TemporaryDirectory() as folder:
        question = _Question(uv, Path(folder), f"{python}.{LATE}", lines, there, [])
        limits = _held(held)
        drags, pins = question.ask(limits)
        conflict, pins = question.ask([each for each in limits if each.startswith("numpy")]) if drags else ("", pins)
        conflict, pins = question.ask([]) if conflict else ("", pins)
        if conflict:
            return Resolved(image=held.name, conflict=conflict, unread=(*addresses, *question.left_out))
        question.lock(list(pins))
        asked = frozenset(each.name for each in requirements_of(text, python_of(held)))
        needed = _needed(question, pins, held, asked)
        newest = (*question.newest, *(question.alone(needed) if needed else ()))
        certain = _certain(pins, text, held, newest, functools.partial(_absent, question, pins, held))
        certain = tuple(pin for pin in pins if pin in {*certain, *_with_torch(question, pins, held)})
        lacking, required = _lacking(question, certain, job, held)
        misfits = tuple(dict.fromkeys([*_misfits(certain, held), *_unfit(question, held), *lacking]))
        return Resolved(
            image=held.name,
            pins=pins,
            certain=certain,
            replaced=tuple(_replaced(pins, held)),
            drags=drags,
            misfits=misfits,
            excluded=(*_excluded(question, certain, job, held), *(each for each in required if each not in misfits)),
            unread=(*addresses, *question.left_out),
        )


@contextlib.contextmanager
def with_pins(job: JobSpec, resolved: Resolved) -> Iterator[JobSpec]:
    """The job with the versions that pip will take as its requirements, for as long as the block lasts: a folder of links to its source."""
    folder = source_folder(job)
    if folder is None or job.script is None:
        yield job
        return
    with tempfile.TemporaryDirectory() as beside:
        for entry in folder.iterdir():
            if entry.name != REQUIREMENTS:
                Path(beside, entry.name).symlink_to(entry.absolute())
        names = [pin.partition("==")[0] for pin in resolved.pins if pin not in resolved.certain]
        lines = [*resolved.certain, *names, *resolved.unread]
        Path(beside, REQUIREMENTS).write_text("".join(f"{line}\n" for line in lines), "utf-8")
        yield job.replace(script=dataclasses.replace(job.script, source_dir=beside))


def _address(line: str) -> bool:
    """Whether a line asks for what no index has: an address, a file or a folder."""
    words = _EDITABLE.sub("", line.split(" #", maxsplit=1)[0].strip())
    if words.startswith(("#", "-")):
        return False
    return "://" in words or words.startswith((".", "/")) or words.endswith(_ARCHIVES) or words != line.strip()


def _of_neuron(line: str, held: Contents) -> bool:
    """Whether a line asks for a package of the AWS Neuron SDK, which pip has from the image's own index."""
    return held.processor == "neuron" and re.match(r"\s*(?:torch[-_]|lib|aws[-_])?neuronx", line) is not None


def _certain(
    pins: tuple[str, ...],
    text: str,
    held: Contents,
    newest: tuple[str, ...],
    absent: Callable[[], frozenset[str]],
) -> tuple[str, ...]:
    """The pins that the job surely has. Of the others the image may have a version that is not published, and pip leaves it alone; or pip
    takes a newer one, whose needs have no wheels, and builds those.

    ``newest`` are the releases that pip would rather take; ``absent`` says which pins no package of the image brings.
    """
    wanted = list(requirements_of(text, python_of(held)))
    asked = {each.name for each in wanted}
    exact = {each.name for each in wanted if each.exact is not None}
    names = {pin: _name_of(pin) for pin in pins}
    rather = {_name_of(pin): pin for pin in newest}
    certain = {
        pin
        for pin, name in names.items()
        if name in exact
        or held.version(name) is not None
        or (name in asked and name not in held.packages and pin in newest)
        or (held.holds(name) is False and (pin in newest or name not in {*asked, *rather}))
    }
    undecided = {pin for pin, name in names.items() if pin not in certain and rather.get(name) == pin}
    if undecided and held.published and held.processor != "neuron":
        certain |= undecided & absent()
    return tuple(pin for pin in pins if pin in certain)


def _name_of(pin: str) -> str:
    return canonicalize_name(pin.partition("==")[0])


def _needed(question: _Question, pins: tuple[str, ...], held: Contents, asked: frozenset[str]) -> list[str]:
    """What the releases of packages that are asked for need of the other pins, as lines of requirements."""
    names = {_name_of(pin) for pin in pins} - asked
    versions = _versions(pins, held)
    releases = (question.release(name, versions[name]) for name in asked if name in versions)
    needs = [need for each in releases if each is not None for need in each.needs("")]
    return [f"{need.name}{need.specifier}" for need in needs if canonicalize_name(need.name) in names]


def _absent(question: _Question, pins: tuple[str, ...], held: Contents) -> frozenset[str]:
    """The pins that no package of the image brings, as the index says."""
    there = question.brought(sorted(held.packages))
    return frozenset(pin for pin in pins if there and _name_of(pin) not in there)


def _with_torch(question: _Question, pins: tuple[str, ...], held: Contents) -> Iterator[str]:
    """The pins that the job's PyTorch wants exactly so: its Triton."""
    version = _versions(pins, held).get("torch")
    release = question.release("torch", version) if version is not None else None
    wanted = release.needs("") if release is not None else []
    exact = {f"{canonicalize_name(each.name)}{each.specifier}" for each in wanted}
    yield from (pin for pin in pins if pin in exact)


def _misfits(pins: tuple[str, ...], held: Contents) -> Iterator[str]:
    """What fails together of what the job will surely have."""
    taken = {_name_of(pin) for pin in pins}
    yield from (str(misfit) for misfit in misfits(_versions(pins, held)) if misfit.library in taken)


def _unfit(question: _Question, held: Contents) -> Iterator[str]:
    """The exact versions that are asked for, and that pip has not for this Python: uv passes over up to which one they are.

    They are small: a wheel of one Python's own, as large ones are, says it in its name, so that uv knows.
    """
    asked = requirements_of("\n".join(question.lines), python_of(held))
    pins = {f"{each.name}=={each.exact}": each for each in asked if each.exact is not None}
    question.lock([pin for pin in pins if pin not in question.wheels])
    for pin, each in pins.items():
        small = all((wheel.get("size") or 0) <= _SMALL for wheel in question.wheels.get(pin, ()))
        release = question.release(each.name, str(each.exact)) if small else None
        with contextlib.suppress(InvalidSpecifier):
            if release is not None and question.python not in SpecifierSet(release.python):
                yield f"{release} is for Python {release.python}, and {held.name} has {python_of(held)}"


def _excluded(question: _Question, pins: tuple[str, ...], job: JobSpec, held: Contents) -> Iterator[str]:
    """What the script imports of the image and does not allow what pip installs beside it: pip does not look at what it leaves alone."""
    taken = {_name_of(pin) for pin in pins}
    imported = {name for module, _ in imports_of(source.program(job) or "") for name in packages_of(module)}
    for name in sorted(imported - taken):
        version = held.version(name)
        words = question.excludes(f"{name}=={version.public}", pins) if version is not None else ""
        if words:
            yield f"{name} {version} of {held.name} does not allow what pip installs: {words}"
    there = _versions(pins, held)
    torch = held.version("torch")
    asked = _asked_of(job)
    for name in sorted(imported | {package for _, package, _ in asked}) if _moved(torch, there) else ():
        version = held.version(name)
        if version is None or name == "torch" or name in question.left_out or there[name] != version.public:
            continue
        release = question.release(name, there[name])
        if release.links("libtorch") if release is not None else name in HELD:  # the image built what has no wheel
            yield f"{name} {version} of {held.name} is built for torch {torch}, and the job will have {there['torch']}: it may not load"
    for name in sorted(imported & taken) if "torch" in there else ():
        release = question.release(name, there[name])
        if release is not None and not takes_torch(release, there["torch"]):
            wanted = ", ".join(str(each.specifier) for each in wanted_torch(release))
            yield f"{release} goes with torch {wanted}, as its extra says, and the job will have {there['torch']}"
    yield from _refused(question, there, job, held)
    replaced = {name for name, _, _ in _replaced(pins, held)}
    release = question.release("torch", there["torch"]) if "torch" in replaced else None
    cuda = _CUDA.search((release.text("torch.version") or "") if release is not None else "")
    for row in find_instances(job.compute.instances) if cuda is not None else ():
        first = first_cuda(row.chip)
        if cuda is not None and first is not None and Version(cuda[1]).release < first:
            wanted = ".".join(map(str, first))
            yield f"{release} is built with CUDA {cuda[1]}, and the {row.chip} of {row.name} wants CUDA {wanted} or newer"


def _refused(question: _Question, there: dict[str, str], job: JobSpec, held: Contents) -> Iterator[str]:
    """What transformers refuse to do beside an older package, as their release says, and the program asks for."""
    asked = _asked_of(job)
    release = question.release("transformers", there["transformers"]) if asked and "transformers" in there else None
    text = release.text("transformers.utils.import_utils") if release is not None else None
    for word, package, says in asked:
        least, version = re.search(says, text or "", re.DOTALL), there.get(package)
        if least is None or package in question.left_out:
            continue
        wanted = f"{source.entry_name(job)} asks for {word[0]}={word[1]}: {release} wants {package} {least[1]}"
        if version is None and held.holds(package) is False:
            yield f"{wanted}, and neither {held.name} nor requirements.txt has it"
        elif version is not None and Version(version) < Version(least[1]):
            yield f"{wanted}, and the job will have {version}"


def _asked_of(job: JobSpec) -> list[tuple[tuple[str, Any], str, str]]:
    """What the program asks of transformers that they may refuse."""
    calls = source.calls(source.program(job) or "")
    words = {(word.arg, getattr(word.value, "value", None)) for call in calls for word in call.keywords}
    return [each for each in _REFUSALS if each[0] in words]


def _moved(torch: Version | None, there: dict[str, str]) -> bool:
    """Whether the job has another PyTorch than its image, beyond a patch."""
    return torch is not None and Version(there["torch"]).release[:2] != torch.release[:2]


def _versions(pins: tuple[str, ...], held: Contents) -> dict[str, str]:
    """What the job will surely have, by package: what the image publishes, and what pip takes."""
    pairs = (pin.split(";", maxsplit=1)[0].strip().split("==") for pin in pins)
    return _there(held) | {str(canonicalize_name(name)): version for name, version in pairs}


def _own_programs(job: JobSpec) -> dict[str, str]:
    """The texts of the job's own programs by their paths below its source, and below the folder of its script, where Python looks first."""
    folder, script = source_folder(job), job.script
    if folder is None or script is None or not script.entry.endswith(".py"):
        return {}
    paths = sorted(folder.rglob("*.py"))[:MOST_PROGRAMS] if script.source_dir is not None else [folder / script.entry]
    return {
        path.relative_to(above).as_posix(): source.text(path) or ""
        for above in ((folder / script.entry).parent, folder)
        for path in paths
        if path.is_relative_to(above)
    }


def _lacking(question: _Question, pins: tuple[str, ...], job: JobSpec, held: Contents) -> tuple[list[str], list[str]]:
    """What the job's program, and what it imports and calls, will not find in the releases that the job will surely have, or be refused;
    and what the packages that it requires will not find, which others may import where they are there.
    """
    programs = _own_programs(job)
    if any(installs(text) for text in programs.values()):
        return [], []  # what it installs by itself is not known
    wanted = list(requirements_of("\n".join(question.lines), python_of(held)))
    versions = _versions(pins, held)

    def release(name: str) -> Release | None:
        return question.release(name, versions[name]) if name in versions else None

    @functools.cache
    def release_of(module: str) -> Release | None:
        top = module.partition(".")[0]
        if not module or top in sys.stdlib_module_names:
            return None
        found = (release(name) for name in (*packages_of(module), *(each.name for each in wanted)))
        holder = next((each for each in found if each is not None and top in each.modules), None)
        return holder or (release(package_of(top)) if package_of(top) != top.replace("_", "-").lower() else None)

    own = Release("", "", {path: text.encode() for path, text in programs.items()})
    entry = source.entry_name(job).removesuffix(".py").replace("/", ".")
    follower = Follower(own, release_of, frozenset(HELD))
    left = [(module, line) for module, line in imports_of(source.program(job) or "") if release_of(module) is None]
    unknown = {module: line for module, line in reversed(left) if not own.has_module(module.partition(".")[0])}
    told = list(_unbrought(question, job, held, unknown))
    told += [str(each) for each in (*follower.lacking(entry), *Caller(follower).refused(entry))]
    required = (release(each.name) for each in wanted)
    # What was built from a source is often asked for in case that another package looks for it.
    wheels = [each for each in required if each is not None and not each.source]
    tops = [top for each in wheels for top in each.modules & {each.name.replace("-", "_")}]
    return told, [str(each) for top in tops for each in follower.lacking(top)]


def _unbrought(question: _Question, job: JobSpec, held: Contents, imported: dict[str, int]) -> Iterator[str]:
    """The packages that the script imports, by module and line, and that nothing brings, as the index says."""
    names = {*map(_name_of, question.wheels), *held.packages, *question.left_out}
    addresses = any(map(_address, (requirements(job) or "").splitlines()))
    known = held.published and held.processor != "neuron" and not addresses
    tops: dict[str, str] = {}
    for module in sorted(imported, key=imported.__getitem__) if known else ():
        top = module.partition(".")[0]
        if top not in sys.stdlib_module_names and not {*packages_of(module)} & names:
            tops.setdefault(top, module)
    brought = question.brought(sorted(held.packages)) if tops else frozenset()
    for top, module in tops.items() if brought else ():
        if any(top.lower().replace("_", "-") in name for name in (*names, *brought)):
            continue  # a package of another name may have it
        newest = next(iter(question.alone([package_of(module)])), "").partition(" ")[0].partition("==")
        release = question.release(package_of(module), newest[2]) if newest[2] else None
        if release is not None and top in release.modules:
            place = f"{source.entry_name(job)}:{imported[module]} imports {module}"
            yield f"{place}, and neither {held.name} nor requirements.txt has it"


def find_uv() -> str | None:
    """uv beside this Python, else the one on the path."""
    return shutil.which("uv", path=str(Path(sys.executable).parent)) or shutil.which("uv")


def _held(held: Contents) -> list[str]:
    found = []
    for name in HELD:
        version, spec = held.version(name), held.spec(name)
        if version is not None:
            found.append(f"{name}=={version.public}")
        elif spec is not None:
            found.append(f"{name}{spec}")
        elif name == "numpy" and held.first_numpy:
            found.append("numpy<2")
    return found


def _there(held: Contents) -> dict[str, str]:
    """The published versions of the image, by package."""
    return {name: version.public for name in held.packages if (version := held.version(name)) is not None}


def _replaced(pins: tuple[str, ...], held: Contents) -> list[tuple[str, str, str]]:
    found = []
    for pin in pins:
        name, _, wanted = pin.split(";", maxsplit=1)[0].strip().partition("==")
        there = held.version(canonicalize_name(name))
        if there is not None and there.public != Version(wanted).public:
            found.append((name, there.public, wanted))
    return found


def words_of(text: str) -> str:
    """The resolver's own sentences, without its colours and marks."""
    plain = re.sub(r"\x1b\[[0-9;]*m", "", text)
    return " ".join(line.strip(" ×╰─▶│·") for line in plain.splitlines() if line.strip()).strip()

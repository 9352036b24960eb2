"""Reads what AWS's training images hold from the files that they are built from, and writes ``sm_trn/images/contents.json``.

    python .github/image_contents.py DEEP_LEARNING_CONTAINERS NEURON_CONTAINERS [--newest FOLDER]

The arguments are git folders of github.com/aws/deep-learning-containers, with its history – old images were deleted from its newest tree –
and of github.com/aws-neuron/deep-learning-containers. Nothing of the Dockerfiles is copied: names and versions of packages are read.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path, PurePosixPath
from urllib.parse import unquote

import tomllib
from packaging.utils import canonicalize_name

from sm_trn.core.catalog.images import ImageRow, families, rows

OUT = Path(__file__).resolve().parent.parent / "sm_trn" / "images" / "contents.json"
_REQUIREMENT = re.compile(r"(?P<name>[A-Za-z][A-Za-z0-9._-]*)(?:\[[^\]]*\])?(?P<spec>(?:[=<>!~]=?=?[^=<>!~,]+,?)*)")
_WHEEL = re.compile(r"(?P<name>[A-Za-z][A-Za-z0-9_.]*)-(?P<version>\d[^-]*)-[^/]*\.whl")
_INSTALLS = re.compile(r"(?:pip3?|mamba|conda|uv pip)$")
_VALUED = {
    "-c", "--channel", "-i", "--index-url", "--extra-index-url", "--trusted-host", "--config-settings", "-f", "--find-links", "-r",
    "--requirement", "--python", "-t", "--target", "--constraint", "--prefix", "-n", "--config-setting", "-b", "--build-option",
    "--global-option", "--upgrade-package",
}  # fmt: skip
CONDA_NAMES = {"pytorch": "torch", "pytorch-mutex": "", "python": "", "opencv": "opencv-python", "pip": ""}
NO_PACKAGES = (
    "cuda-",
    "cudnn",
    "lib",
    "mkl",
    "nccl",
    "aws-ofi",
    "magma",
    "cudatoolkit",
    "pytorch-cuda",
    "gcc",
    "gxx",
    "nodejs",
    "openssl",
)


# Libraries that rules ask for: of an image without a lock file it is known who could bring them.
LIBRARIES = (
    "accelerate",
    "bitsandbytes",
    "datasets",
    "deepspeed",
    "diffusers",
    "peft",
    "sentence-transformers",
    "transformers",
    "trl",
    "wandb",
)


@dataclasses.dataclass
class Repository:
    """A git folder. ``name`` is what the sources are called by."""

    folder: str
    name: str

    def git(self, *arguments: str) -> str:
        done = subprocess.run(
            ["git", f"--git-dir={self.folder}", *arguments], capture_output=True, text=True, check=False
        )
        return done.stdout

    def show(self, commit: str, path: str) -> str:
        return self.git("show", f"{commit}:{path}")

    def versions(self, *paths: str) -> Iterator[str]:
        """Commits that touched one of the paths, newest first; those too that deleted it."""
        yield from self.git("log", "--format=%h", "--full-history", "HEAD", "--", *paths).split()

    def paths(self, commit: str, folder: str) -> list[str]:
        return self.git("ls-tree", "-r", "--name-only", commit, folder).split("\n")


@dataclasses.dataclass
class Held:
    """What one image holds: versions or specifiers by package, ``""`` where only the name is published."""

    source: str
    python: str | None = None
    cuda: str | None = None
    packages: dict[str, str] = dataclasses.field(default_factory=dict)
    complete: bool = False
    published: bool = True  # not what an image that it is made from holds, where no file of that one is read

    def add(self, name: str, spec: str) -> None:
        name = canonicalize_name(name)
        if name and not name.startswith(NO_PACKAGES):
            self.packages[name] = spec


def logical_lines(text: str) -> Iterator[str]:
    """A Dockerfile's instructions, each in one line, without comments."""
    whole = ""
    for line in text.splitlines():
        if line.lstrip().startswith("#"):
            continue
        whole += line.rstrip().removesuffix("\\") + " "
        if not line.rstrip().endswith("\\"):
            yield whole.strip()
            whole = ""
    if whole.strip():
        yield whole.strip()


def filled(text: str, known: Mapping[str, str]) -> str:
    return re.sub(r"\$\{?(\w+)\}?", lambda found: known.get(found[1], found[0]), text)


def read_dockerfile(text: str, given: Mapping[str, str], source: str) -> Held:
    """The packages of the stage that becomes SageMaker's image, and of those that it is made from."""
    held, known = Held(source), dict(given)
    stages: dict[str, tuple[str, list[str]]] = {}
    stage = ""
    for line in logical_lines(text):
        word, _, rest = line.partition(" ")
        if word in {"ARG", "ENV"}:
            pairs = re.findall(r"(\w+)=(\"[^\"]*\"|\S+)", rest) or [tuple(rest.split(None, 1))] * (
                len(rest.split(None, 1)) == 2
            )
            known.update({name: filled(value.strip('"'), known) for name, value in pairs if name not in given})
        elif word == "FROM":
            parts = rest.split()
            stage = parts[-1] if len(parts) > 2 else rest
            stages[stage] = (filled(parts[0], known), [])
        elif word == "RUN" and stages:
            stages[stage][1].append(filled(rest, known))
    wanted = next((name for name in ("sagemaker", "final", "prod") if name in stages), stage)
    chain: list[str] = []
    while wanted in stages and wanted not in chain:
        chain.insert(0, wanted)
        wanted = filled(stages[wanted][0], known)
    held.python = known.get("PYTHON_VERSION")
    held.published = bool(wanted) and not re.search(r"\$|-training", wanted)
    cuda = re.search(r"(?:nvidia/cuda:|base:)(\d+\.\d+(?:\.\d+)?)", stages[chain[0]][0] if chain else "")
    held.cuda = cuda[1] if cuda else None
    for name in chain:
        for command in stages[name][1]:
            read_command(held, command)
    return held


def read_command(held: Held, line: str) -> None:
    """What the installers of one RUN add and remove."""
    for command in re.split(r"&&|;|\|\|", line):
        try:
            words = shlex.split(command)
        except ValueError:
            continue
        at = next((n for n, word in enumerate(words) if _INSTALLS.search(word) or word == "-m"), None)
        if at is None or not {"install", "uninstall"} & set(words[at:]):
            continue
        verb = next(word for word in words[at:] if word in {"install", "uninstall"})
        conda = "mamba" in words[at] or "conda" in words[at]
        rest, skip = words[words.index(verb, at) + 1 :], False
        for word in rest:
            if skip or word.startswith("-"):
                skip = not skip and word in _VALUED
                continue
            if verb == "uninstall":
                held.packages.pop(canonicalize_name(word), None)
            else:
                read_word(held, word, conda=conda)


def read_word(held: Held, word: str, *, conda: bool) -> None:
    wheel = _WHEEL.fullmatch(PurePosixPath(word).name)
    if wheel:
        held.add(wheel["name"], f"=={unquote(wheel['version'])}")
        return
    if "://" in word or word.startswith(("/", ".", "git+")) or word.endswith((".txt", ".tar.gz")):
        if "git+" in word:
            held.add(
                PurePosixPath(word.split("@", maxsplit=1)[0].split("#", maxsplit=1)[0]).name.removesuffix(".git"), ""
            )
        return
    found = _REQUIREMENT.fullmatch(word)
    if not found or "$" in word:
        name = re.match(r"[A-Za-z][A-Za-z0-9._-]*", word)
        if name and "$" in word:
            held.add(name[0], "")
        return
    name, spec = found["name"], found["spec"].rstrip(",")
    if conda:
        name = CONDA_NAMES.get(name, name)
        spec = re.sub(r"^=(?!=)", "==", spec)
    held.add(name, spec)


def core_packages(text: str) -> dict[str, str]:
    """What AWS's own test of the image holds it to."""
    found = json.loads(text) if text else {}
    return {
        canonicalize_name(name): item.get("version_specifier", "")
        for name, item in found.items()
        if isinstance(item, dict)
    }


def locked(text: str) -> dict[str, str]:
    """Names and versions of a uv.lock."""
    return {
        canonicalize_name(each["name"]): f"=={each['version']}"
        for each in tomllib.loads(text)["package"]
        if "version" in each
    }


def aws_image(row: ImageRow, processor: str, repository: Repository) -> Held | None:
    """What the file of one of AWS's own PyTorch images says, at the newest commit that has it."""
    short = ".".join(row.pytorch.split(".")[:2])
    new = {"cpu": f"docker/pytorch/{short}/cpu", "gpu": f"docker/pytorch/{short}/cuda"}[processor]
    for commit in ["HEAD"]:
        lock = repository.show(commit, f"{new}/uv.lock")
        if lock:
            head = repository.git("rev-parse", "--short", commit).strip()
            held = Held(f"{repository.name}@{head} {new}/uv.lock", packages=locked(lock), complete=True)
            project = tomllib.loads(repository.show(commit, f"{new}/pyproject.toml"))
            held.packages.pop(canonicalize_name(project["project"]["name"]), None)
            held.python = project["project"].get("requires-python", "").lstrip("=>~ ").split(",")[0] or None
            return held
    middle = f"pytorch/training/docker/{short}/py3"
    compiler = r"\.trcomp" if row.family == "pytorch-compiler" else ""
    for commit in repository.versions(middle):
        wanted = rf"/Dockerfile(\.sagemaker)?{compiler}\.{processor}$"
        paths = [
            path for path in repository.paths(commit, middle) if re.search(wanted, path) and "/example/" not in path
        ]
        for path in sorted(paths, reverse=True):
            held = read_dockerfile(repository.show(commit, path), {}, f"{repository.name}@{commit} {path}")
            if held.packages.get("torch", "").removeprefix("==").split("+")[0] not in {"", row.pytorch}:
                continue
            tested = core_packages(
                repository.show(commit, re.sub(r"(\.sagemaker)?\.(\w+)$", r".sagemaker.\2.core_packages.json", path))
            )
            held.packages = {
                **held.packages,
                **{name: spec for name, spec in tested.items() if not held.packages.get(name)},
            }
            held.packages.setdefault("torch", f"=={row.pytorch}")
            return held
    return None


def hugging_face_image(row: ImageRow, processor: str, repository: Repository, neuron: str | None) -> Held | None:
    """What Hugging Face's file says, on top of the image of AWS's that it is made from."""
    short = ".".join(row.pytorch.split(".")[:2])
    folder = f"huggingface/pytorch/training/docker/{short}/py3"
    wanted = rf"sdk{re.escape(neuron)}/Dockerfile\.neuronx?$" if neuron else r"/cu\d+/Dockerfile\.gpu$"
    if row.family == "huggingface-compiler":
        wanted = r"/cu\d+/Dockerfile\.trcomp\.gpu$"
    for commit in repository.versions("huggingface/pytorch/training"):
        specs = repository.git(
            "grep", "-hE", r"(transformers|datasets)_version: &", commit, "--", "huggingface/pytorch/training"
        )
        if f"TRANSFORMERS_VERSION {row.transformers}" not in specs:
            continue
        paths = [path for path in repository.paths(commit, folder) if re.search(wanted, path)]
        if not paths:
            continue
        text = specs[specs.index(f"TRANSFORMERS_VERSION {row.transformers}") :]
        datasets = re.search(r"DATASETS_VERSION (\S+)", text)
        given = {"TRANSFORMERS_VERSION": row.transformers or ""} | (
            {"DATASETS_VERSION": datasets[1]} if datasets else {}
        )
        found = read_dockerfile(repository.show(commit, paths[-1]), given, f"{repository.name}@{commit} {paths[-1]}")
        base = (
            None
            if neuron or row.family != "huggingface"
            else aws_image(dataclasses.replace(row, family="pytorch"), processor, repository)
        )
        if base is not None:
            found = dataclasses.replace(
                base, source=f"{found.source}; {base.source}", packages={**base.packages, **found.packages}
            )
        found.packages.setdefault("torch", f"=={row.pytorch}")
        return found
    return None


def neuron_image(row: ImageRow, repository: Repository, newest: bool) -> Held | None:
    path = f"pytorch/training/{row.pytorch}/Dockerfile.neuronx"
    for commit in repository.versions(path):
        text = repository.show(commit, path)
        if text and newest:
            held = read_dockerfile(text, {}, f"{repository.name}@{commit} {path}")
            held.packages.setdefault("torch", f"=={row.pytorch}")
            return held
    return None


def bringers(held: list[dict[str, str]]) -> dict[str, list[str]]:
    """Which packages of the images bring each of LIBRARIES with them, as uv says of the wheels of the index; about ten minutes."""
    every = sorted({(name, spec.split("+")[0]) for packages in held for name, spec in packages.items()})
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(brought, every))
    return {
        library: sorted({name for (name, _), others in zip(every, found, strict=True) if library in others - {name}})
        for library in LIBRARIES
    }


def brought(package: tuple[str, str]) -> set[str]:
    """What a package is installed with: of Python 3.10, or 3.12 where it has no wheel for the older one; nothing where uv cannot tell."""
    for python in ("3.10", "3.12"):
        place = ["--python-version", python, "--python-platform", "x86_64-manylinux_2_28"]
        command = ["uv", "pip", "compile", "-", *place]
        command += ["--only-binary", ":all:", "--no-header", "--no-annotate", "--quiet", "--no-python-downloads"]
        done = subprocess.run(command, input="".join(package), capture_output=True, text=True, check=False)
        if not done.returncode:
            return {canonicalize_name(line.split("==")[0]) for line in done.stdout.splitlines() if "==" in line}
    return set()


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("containers")
    asked.add_argument("neuron")
    asked.add_argument("--newest", help="a second git folder of the first repository, with the newest tree")
    given = asked.parse_args()
    aws = [Repository(folder, "aws/deep-learning-containers") for folder in (given.newest, given.containers) if folder]
    neuron = Repository(given.neuron, "aws-neuron/deep-learning-containers")
    every = [row for family in families() for row in rows(family)]
    found = []
    for number, row in enumerate(every):
        last = not any(each.family == row.family and each.pytorch == row.pytorch for each in every[number + 1 :])
        for processor in row.processors:
            held = None
            for repository in aws:
                if row.family in {"pytorch", "pytorch-compiler"} and tuple(map(int, row.pytorch.split(".")[:2])) >= (
                    1,
                    10,
                ):
                    held = held or aws_image(row, processor, repository)
                elif row.family in {"huggingface", "huggingface-neuronx", "huggingface-compiler"}:
                    held = held or hugging_face_image(row, processor, repository, row.neuron_sdk)
            if row.family == "neuronx":
                held = neuron_image(row, neuron, last)
            if held is None:
                print(
                    f"nothing published: {row.family} {row.pytorch} {row.transformers} {row.neuron_sdk} {processor}",
                    file=sys.stderr,
                )
                continue
            identity = {
                "family": row.family,
                "pytorch": row.pytorch,
                "transformers": row.transformers,
                "neuron_sdk": row.neuron_sdk,
            }
            found.append(
                {
                    **{key: value for key, value in identity.items() if value},
                    "processor": processor,
                    **{
                        key: value
                        for key, value in dataclasses.asdict(held).items()
                        if (key, value) != ("published", True)
                    },
                }
            )
    lines = ",\n".join(json.dumps(each, sort_keys=False) for each in found)
    brings = json.dumps(bringers([each["packages"] for each in found if not each["complete"]]))
    OUT.write_text(f'{{"schema": 1, "bringers": {brings}, "rows": [\n{lines}\n]}}\n', "utf-8")


if __name__ == "__main__":
    main()

"""Campaigns over the network: random requirements, what ``check --resolve`` says against what pip says (SM_TRN_RESOLUTIONS=100 asks for 100
sets), and the pairs of releases that fail together, installed and run again (SM_TRN_PAIRS=1).
"""

from __future__ import annotations

import os
import random
import subprocess
from pathlib import Path

import pytest

import sm_trn as st
from sm_trn.emulator.container.twins import twin_at
from sm_trn.emulator.options import TWIN_TAG
from sm_trn.emulator.twin import find_python, in_twin
from sm_trn.images.releases import FailingPair, failing_pairs
from sm_trn.images.resolve import find_uv, resolve

PAIRS = os.environ.get("SM_TRN_PAIRS", "")
SETS = int(os.environ.get("SM_TRN_RESOLUTIONS", "0"))
IMAGES = (
    st.PyTorch("2.1.0", python="py310"),
    st.HuggingFace("4.49.0", pytorch="2.5.1", python="py311"),
    st.HuggingFace("4.56.2", pytorch="2.8.0", python="py312"),
)
RELEASES = {
    "transformers": ("4.30.2", "4.36.2", "4.41.2", "4.49.0", "4.56.2"),
    "tokenizers": ("0.13.3", "0.15.2", "0.19.1", "0.21.0", "0.22.0"),
    "peft": ("0.4.0", "0.10.0", "0.14.0", "0.17.1"),
    "accelerate": ("0.21.0", "0.29.3", "1.3.0", "1.10.0"),
    "trl": ("0.7.4", "0.12.0", "0.17.0"),
    "datasets": ("2.14.6", "2.19.0", "3.2.0", "4.0.0"),
    "huggingface-hub": ("0.16.4", "0.23.0", "0.26.2", "0.34.4"),
    "numpy": ("1.23.5", "1.26.4", "2.1.3"),
    "pandas": ("1.5.3", "2.0.3", "2.2.3"),
    "scikit-learn": ("1.2.2", "1.5.2", "1.7.1"),
    "safetensors": ("0.3.3", "0.4.5", "0.6.2"),
    "protobuf": ("3.20.3", "4.25.8", "6.31.1"),
    "pyarrow": ("12.0.1", "16.1.0", "21.0.0"),
    "fsspec": ("2023.9.2", "2024.6.1", "2025.3.0"),
    "evaluate": ("0.4.1", "0.4.5"),
    "sentencepiece": ("0.1.99", "0.2.0"),
    "pydantic": ("1.10.15", "2.9.2"),
    "tqdm": ("4.64.1", "4.67.1"),
    "pyyaml": ("5.4.1", "6.0.2"),
}
# Pairs of which one bounds the other: with two of them pinned, about half of the sets cannot be installed.
RELATED = (
    ("transformers", "tokenizers"),
    ("transformers", "huggingface-hub"),
    ("tokenizers", "huggingface-hub"),
    ("trl", "transformers"),
    ("trl", "accelerate"),
    ("datasets", "fsspec"),
    ("datasets", "huggingface-hub"),
    ("pandas", "numpy"),
    ("scikit-learn", "numpy"),
)
MARKERS = ("", "", "", ' ; python_version < "3.11"', ' ; python_version >= "3.11"', " ; sys_platform == 'win32'")


def requirements(some: random.Random) -> str:
    """Two related pairs, pinned or bounded, and up to two other packages: pinned, bounded or free, some under a marker."""
    related = sorted({name for pair in some.sample(RELATED, 2) for name in pair})
    lines = [f"{name}{some.choice(('==', '==', '==', '<='))}{some.choice(RELEASES[name])}\n" for name in related]
    for name in some.sample(sorted(RELEASES.keys() - set(related)), some.randint(0, 2)):
        version = some.choice(RELEASES[name])
        operator = some.choice(("==", "==", ">=", "<=", "~=", ""))
        lines.append(f"{name}{operator}{version if operator else ''}{some.choice(MARKERS)}\n")
    return "".join(lines)


def pip_refuses(folder: Path, python: str) -> bool | None:
    """What the pip of a twin says of a set, without installing it; None where it has said nothing after three minutes."""
    command = [python, "-m", "pip", "install", "--dry-run", "--quiet", "--only-binary", ":all:", "-r"]
    asked = [*command, str(folder / "requirements.txt")]
    try:
        return bool(subprocess.run(asked, capture_output=True, check=False, timeout=180).returncode)
    except subprocess.TimeoutExpired:
        return None


@pytest.mark.timeout(0)
@pytest.mark.skipif(
    not SETS, reason="asks the package index, and makes three twins in SM_TRN_STATE: SM_TRN_RESOLUTIONS=100"
)
def test_the_verdict_agrees_with_pip(tmp_path: Path) -> None:
    state = Path(os.environ.get("SM_TRN_STATE") or tmp_path / "state")
    some, differences, known, refused = random.Random(36), [], 0, 0
    for number in range(SETS):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "train.py").write_text("import torch\n")
        (folder / "requirements.txt").write_text(requirements(some))
        asked = st.JobSpec(
            name="a",
            script=st.Script("train.py", source_dir=str(folder)),
            framework=IMAGES[number % len(IMAGES)],
            compute=st.Compute("ml.g5.xlarge"),
        )
        twin = twin_at(state, in_twin(asked, state, tell=print).tags[TWIN_TAG])
        assert twin is not None
        ours, theirs = resolve(asked), pip_refuses(folder, twin.interpreter)
        print(number, twin.image, bool(ours.conflict), theirs, flush=True)
        known += theirs is not None
        refused += theirs is True
        if theirs is not None and bool(ours.conflict) != theirs:
            differences.append(
                f"{twin.image}: {(folder / 'requirements.txt').read_text()} pip refuses: {theirs}; {ours.conflict}"
            )
    print(f"pip refuses {refused} of {known} sets; {len(differences)} verdicts differ")
    assert known * 0.35 <= refused <= known * 0.65, "the sets say little: about half of them should conflict"
    assert len(differences) <= known * 0.05, "\n".join(differences)


@pytest.mark.timeout(0)
@pytest.mark.skipif(not PAIRS, reason="installs each pair of failing_pairs.json: SM_TRN_PAIRS=1")
@pytest.mark.parametrize("pair", failing_pairs(), ids=lambda pair: f"{pair['library']}-{pair['other']}")
def test_a_pair_that_pip_installs_fails_as_it_was_seen_to(pair: FailingPair, tmp_path: Path) -> None:
    uv = find_uv()
    python = find_python(str(uv), pair["python"])
    if uv is None or python is None:
        pytest.skip(f"wants uv and Python {pair['python']}")
    for pins, error in ((pair["fails"], pair["error"]), (pair["works"], "")):
        interpreter = tmp_path / ("works" if not error else "fails") / "bin/python"
        subprocess.run([uv, "venv", "--quiet", "--python", python, str(interpreter.parents[1])], check=True)
        subprocess.run([uv, "pip", "install", "--quiet", "--python", str(interpreter), *pins], check=True)
        done = subprocess.run([interpreter, "-c", pair["program"]], capture_output=True, text=True, check=False)
        assert bool(error) is bool(done.returncode), done.stderr
        assert error in done.stderr

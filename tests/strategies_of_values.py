"""Hypothesis strategies for specs and snapshots."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as some

import sm_trn as st
from sm_trn.catalog import images, instances

NAMES = some.from_regex(r"[a-z](-?[a-z0-9]){0,20}", fullmatch=True)
TEXT = some.text(some.characters(codec="utf-8", exclude_categories=("C", "Z")), max_size=20)
HYPERPARAMETERS = some.dictionaries(
    some.from_regex(r"[a-z][a-z_]{0,10}", fullmatch=True),
    some.one_of(
        TEXT, some.integers(-(10**9), 10**9), some.booleans(), some.floats(allow_nan=False, allow_infinity=False)
    ),
    max_size=8,
)
DISTRIBUTIONS = some.sampled_from(
    [None, st.SingleProcess(), st.TorchDistributed(), st.SMDataParallel(), st.PyTorchXLA()]
)


def _pytorch() -> Any:
    return some.sampled_from([st.PyTorch(row.pytorch, python=row.python) for row in images.rows("pytorch")])


def _hugging_face() -> Any:
    rows = [*images.rows("huggingface"), *images.rows("huggingface-compiler")]
    return some.sampled_from([st.HuggingFace(str(r.transformers), pytorch=r.pytorch, python=r.python) for r in rows])


def _neuron() -> Any:
    return some.sampled_from([st.NeuronX(row.pytorch, neuron_sdk=row.neuron_sdk) for row in images.rows("neuronx")])


SPOTS = some.builds(
    st.Spot,
    max_wait_s=some.integers(1, 200_000),
    checkpoint_s3_uri=some.one_of(some.none(), some.just("s3://a-bucket/checkpoints")),
)


def specs(source_dir: str) -> Any:
    """Any job, sensible or not, over the real catalogue."""
    return some.builds(
        st.JobSpec,
        name=NAMES,
        script=some.just(st.Script("run_clm.py", source_dir=source_dir)),
        framework=some.one_of(_pytorch(), _hugging_face(), _neuron()),
        compute=some.builds(
            st.Compute,
            some.sampled_from(sorted(instances())),
            count=some.integers(1, 4),
            volume_gb=some.integers(1, 500),
        ),
        distribution=DISTRIBUTIONS,
        hyperparameters=HYPERPARAMETERS,
        inputs=some.dictionaries(NAMES, some.just("s3://a-bucket/data"), max_size=2),
        compiler=some.sampled_from([None, None, st.TrainingCompiler(), st.TrainingCompiler(debug=True)]),
        spot=some.one_of(some.none(), SPOTS),
        max_run_s=some.integers(1, 100_000),
        environment=some.dictionaries(some.from_regex(r"[A-Z]{1,5}", fullmatch=True), TEXT, max_size=2),
        tags=some.dictionaries(some.from_regex(r"[a-z]{1,5}", fullmatch=True), some.just("x"), max_size=2),
    )

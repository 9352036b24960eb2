"""A spec survives its file, in every format, and every value is found again where it stands."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from strategies_of_values import specs

import sm_trn as st
from sm_trn.core.errors import SmTrnError, UnknownName
from sm_trn.core.jobfile import FORMATS, dump_job, in_json, in_toml, in_yaml, load_jobs
from sm_trn.core.specs import JobSpec, LaunchPlan, Runner

ANY_TEXT = some.text(some.characters(codec="utf-8"), max_size=12)  # control characters, line ends and quotes too
TRAPS = some.sampled_from(
    ["no", "yes", "on", "~", "null", "1.10", "1e5", "5e-5", "0o17", "010", "0x1f", "1:30", "2022-11-01", "<<", "=", "", " ", "#",
     "- x", "{a}", "\u2028", "\x85", "\ufeff", "\r\n", '"""', "'''", "\\", "a: b", ".inf", "-", "!!python/none", "&a", "*a"]
)  # fmt: skip
TEXTS = some.one_of(ANY_TEXT, TRAPS)
NUMBERS = some.one_of(some.integers(), some.floats(allow_nan=False), some.booleans())
GROUPS = some.lists(some.builds(st.specs.InstanceGroup, name=TEXTS, instance=some.just("ml.p4d.24xlarge"), count=some.integers(1, 9)),
                    min_size=1, max_size=3)  # fmt: skip
CHANNELS = some.builds(
    st.Channel,
    TEXTS,
    mode=some.sampled_from([None, *st.specs.InputMode]),
    spread=some.sampled_from(st.specs.Spread),
    kind=some.sampled_from(st.specs.S3Kind),
    groups=some.lists(TEXTS, max_size=2).map(tuple),
    record_wrapping=some.sampled_from([None, "RecordIO"]),
)
MORE: dict[str, Any] = {
    "script": some.builds(
        st.Script,
        TEXTS,
        source_dir=some.one_of(some.none(), TEXTS),
        git=some.one_of(some.none(), some.builds(st.specs.Git, TEXTS, branch=some.one_of(some.none(), TEXTS))),
    ),
    "compute": some.builds(st.Compute, groups=GROUPS.map(tuple)),
    "hyperparameters": some.dictionaries(TEXTS, some.one_of(TEXTS, NUMBERS), max_size=4),
    "inputs": some.dictionaries(TEXTS, some.one_of(TEXTS, CHANNELS), max_size=2),
    "environment": some.dictionaries(TEXTS, TEXTS, max_size=2),
    "tags": some.dictionaries(TEXTS, TEXTS, max_size=2),
    "metrics": some.lists(some.builds(st.MetricRule, TEXTS, TEXTS), max_size=2).map(tuple),
    "distribution": some.sampled_from(
        [st.SMModelParallel(memory_weight=0.5, ddp=False, partition_file="no"), st.specs.SMModelParallelV2(random_seed=0)]
    ),
    "neuron": some.builds(
        st.specs.NeuronOptions, sequence_parallel=some.booleans(), precompile=some.booleans(), efa=some.sampled_from([None, True, False])
    ),
}  # fmt: skip


def anything() -> Any:
    """Specs over the whole space, some with parts drawn from any text at all."""
    changes = some.fixed_dictionaries({}, optional=MORE)
    return some.builds(lambda job, parts: job.replace(**parts), specs("./src"), changes)


@pytest.mark.parametrize("form", FORMATS)
@settings(max_examples=60)
@given(job=anything())
def test_a_spec_is_equal_after_its_file(form: str, job: JobSpec) -> None:
    assert (job,) == load_jobs(dump_job(job, form), form)


MIXED = some.dictionaries(TEXTS, some.one_of(TEXTS, CHANNELS), min_size=2, max_size=5)


@pytest.mark.parametrize("form", FORMATS)
@settings(max_examples=100)
@given(inputs=MIXED)
def test_channels_stay_in_their_order(form: str, inputs: dict[str, str | st.Channel]) -> None:
    job = st.JobSpec(
        name="a", framework=st.NeuronX("2.9.0"), compute=st.Compute("ml.trn1.32xlarge"), inputs=inputs, tags={"a": "b"}
    )
    (again,) = load_jobs(dump_job(job, form), form)
    assert list(inputs.items()) == list(again.inputs.items())


@pytest.mark.parametrize("form", FORMATS)
@settings(max_examples=20)
@given(job=anything())
def test_windows_line_ends_change_nothing(form: str, job: JobSpec) -> None:
    text = dump_job(job, form)
    assert load_jobs(text, form) == load_jobs("\ufeff" + text.replace("\n", "\r\n"), form)


def leaves(tree: Any, path: tuple[str | int, ...] = ()) -> Any:
    if isinstance(tree, dict):
        for key, value in tree.items():
            yield from leaves(value, (*path, key))
    elif isinstance(tree, list):
        for index, value in enumerate(tree):
            yield from leaves(value, (*path, index))
    else:
        yield path, tree


READ = {
    "toml": lambda text: in_toml.parse(f"x = {text}")[0]["x"],
    "json": json.loads,
    "yaml": lambda text: in_yaml.parse(f"x: {text}")[0]["x"],
}
PARSERS = {"toml": in_toml.parse, "json": in_json.parse, "yaml": in_yaml.parse}


@pytest.mark.parametrize("form", FORMATS)
@settings(max_examples=30)
@given(job=anything(), inputs=MIXED)
def test_every_value_is_found_where_it_stands(form: str, job: JobSpec, inputs: dict[str, str | st.Channel]) -> None:
    text = dump_job(job.replace(inputs=inputs), form)
    tree, places = PARSERS[form](text)
    lines = text.split("\n")
    for path, value in leaves(tree):
        place = places.values[path]
        shown = lines[place.line - 1][place.column : place.column + place.width]
        assert value == READ[form](shown)  # type: ignore[operator]  # a table of functions


def test_a_default_is_not_written() -> None:
    job = st.JobSpec(
        name="a",
        script=st.Script("t.py"),
        framework=st.NeuronX("2.9.0"),
        compute=st.Compute("ml.trn1.32xlarge", count=1),
    )
    assert {"name", "script", "framework", "compute"} == set(json.loads(dump_job(job, "json")))
    assert {"instance": "ml.trn1.32xlarge"} == json.loads(dump_job(job, "json"))["compute"]


def test_what_is_not_default_is_written_even_when_empty() -> None:
    job = st.JobSpec(
        name="a",
        script=st.Script("t.py"),
        framework=st.NeuronX("2.9.0"),
        compute=st.Compute("ml.trn1.32xlarge"),
        compiler=st.TrainingCompiler(),
        metrics=(),
    )
    tree = json.loads(dump_job(job, "json"))
    assert ([], {}) == (tree["metrics"], tree["compiler"])


class Pretend:
    """A strategy that no registry knows."""

    name = "pretend"
    image_family = None

    def problems(self, job: JobSpec) -> Any:
        del job
        return iter(())

    def plan(self, job: JobSpec) -> LaunchPlan:
        del job
        return LaunchPlan(runner=Runner.PYTHON, workers_per_host=1)


def test_a_strategy_outside_the_registry_is_refused_in_words() -> None:
    job = st.JobSpec(
        name="a",
        script=st.Script("t.py"),
        framework=st.NeuronX("2.9.0"),
        compute=st.Compute("ml.trn1.32xlarge"),
        distribution=Pretend(),  # type: ignore[arg-type]  # the mistake is the test
    )
    with pytest.raises(SmTrnError, match=r"got a Pretend \('pretend'\), wanted one of the registry"):
        dump_job(job, "toml")


def test_an_unknown_format_is_refused_with_a_suggestion() -> None:
    with pytest.raises(UnknownName, match=r"wanted one of toml, json, yaml \(did you mean 'yaml'\?\)"):
        load_jobs("", "yml")

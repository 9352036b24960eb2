"""Wrong job files: every fault at once, each with its line, what was got, what was wanted and the nearest right word."""

from __future__ import annotations

import pytest

import sm_trn as st
from sm_trn.core.errors import InvalidJobFile, SmTrnError
from sm_trn.core.jobfile import JobFile, in_toml, load_jobs, parse_jobs
from sm_trn.core.jobfile.faults import Fault

GOOD = """\
name = "gpt2"
max_run_s = 3_600

[script]
entry = "run_clm.py"
source_dir = "./src"

[framework]
kind = "pytorch"
version = "1.11"
python = "py38"

[compute]
instance = "ml.p4d.24xlarge"

[distribution]
kind = "smdistributed.dataparallel"

[hyperparameters]
"learning.rate" = 5e-5
"""


def faults(text: str, form: str = "toml") -> list[Fault]:
    with pytest.raises(InvalidJobFile) as caught:
        parse_jobs(text, form, name=f"gpt2.{form}")
    assert isinstance(caught.value, SmTrnError)
    return list(caught.value.faults)


def only(text: str, form: str = "toml") -> Fault:
    (fault,) = faults(text, form)
    return fault


def test_a_file_is_a_spec() -> None:
    (job,) = load_jobs(GOOD, "toml")
    assert job == st.JobSpec(
        name="gpt2",
        script=st.Script("run_clm.py", source_dir="./src"),
        framework=st.PyTorch("1.11", python="py38"),
        compute=st.Compute("ml.p4d.24xlarge"),
        distribution=st.SMDataParallel(),
        hyperparameters={"learning.rate": 5e-5},
        max_run_s=3600,
    )


def test_an_unknown_key_is_shown_with_its_line_and_the_keys_that_exist() -> None:
    assert """\
unknown key "distrbution" in gpt2.toml
  --> gpt2.toml:16
   |
16 | [distrbution]
   | ^^^^^^^^^^^^^
   = did you mean "distribution"?
   = keys here: name, script, framework, compute, distribution,
     hyperparameters, inputs, compiler, spot, max_run_s, metrics, environment,
     tags, image_uri, checkpoint, output, network, neuron, retries, guard,
     queue, extra, kept""" == str(only(GOOD.replace("[distribution]", "[distrbution]")))


# what is replaced in GOOD, by what; the line of the fault and words of it
WRONG = [
    ("max_run_s = 3_600", 'max_run_s = "3600"', 2, ["max_run_s", 'got: "3600" (text)', "wanted: a whole number"]),
    ("max_run_s = 3_600", "max_run_s = true", 2, ["got: true (true or false)"]),
    ("max_run_s = 3_600", "max_run_s = 1.5", 2, ["got: 1.5 (a number)"]),
    ("max_run_s = 3_600", "max_run_s = 0", 2, ["got: 0", "wanted: at least 1"]),
    ("max_run_s = 3_600", "spot = {max_wait_s = 0}", 2, ["spot.max_wait_s", "got: 0", "wanted: at least 1"]),
    ("max_run_s = 3_600", "spot = 5", 2, ["wanted: a table with max_wait_s"]),
    ("max_run_s = 3_600", "metrics = 5", 2, ["wrong value of metrics", "wanted: a list"]),
    ("max_run_s = 3_600", "metrics = [{name = 'a'}]", 2, ['missing key "regex"']),
    ("max_run_s = 3_600", "inputs.train = 5", 2, ["inputs.train", "an S3 URI, a folder, or a table with uri"]),
    ("max_run_s = 3_600", "inputs.train = {uri = 'x', mode = 'Fast'}", 2, ["inputs.train.mode", '"FastFile"']),
    ("max_run_s = 3_600", "tags = 5", 2, ["wanted: a table"]),
    ("max_run_s = 3_600", "tags = {a = 5}", 2, ["tags.a", "write it in quotes"]),
    ("max_run_s = 3_600", "hyperparameters.a = [1]", 2, ["got: a list of 1", "text, a number, or true or false"]),
    ("max_run_s = 3_600", "hyperparameters.a = 2022-11-01", 2, ["got: a date, 2022-11-01"]),
    ('version = "1.11"', "version = 1.11", 10, ["framework.version", "got: 1.11 (a number)", "in quotes"]),
    ('version = "1.11"', "", 8, ['missing key "version"']),
    ('kind = "pytorch"', 'kind = "pytorh"', 9, ['unknown kind "pytorh"', 'did you mean "pytorch"?', '"neuronx"']),
    ('kind = "pytorch"', "", 8, ["framework", 'wanted: kind = "pytorch"']),
    ("smdistributed.dataparallel", "torchxla", 17, ['unknown kind "torchxla"', 'did you mean "pytorchxla"?']),
    ('kind = "smdistributed.dataparallel"', 'kind = "mpi"\nprocess_per_host = 8', 18, ['"processes_per_host"?', "keys here: kind,"]),
]  # fmt: skip


@pytest.mark.parametrize(("right", "wrong", "line", "words"), WRONG)
def test_a_wrong_value_is_named_with_its_line(right: str, wrong: str, line: int, words: list[str]) -> None:
    text = GOOD.replace('[hyperparameters]\n"learning.rate" = 5e-5\n', "") if "hyperparameters" in wrong else GOOD
    fault = only(text.replace(right, wrong))
    assert line == (fault.place.line if fault.place else 0)
    for word in words:
        assert word in " ".join(str(fault).split())


def test_all_faults_come_at_once_in_the_order_of_the_file() -> None:
    text = GOOD.replace("max_run_s", "max_run").replace('"1.11"', "1.11").replace("entry", "entri")
    found = faults(text)
    assert [2, 4, 5, 10] == [fault.place.line for fault in found if fault.place]
    with pytest.raises(InvalidJobFile) as caught:
        load_jobs(text, "toml")
    assert 3 == str(caught.value).count("\nerror: ")


@pytest.mark.parametrize(
    ("form", "text", "line", "words"),
    [
        ("toml", "name = \n", 1, "not valid TOML"),
        ("toml", 'name = "a"\nname = "b"\n', 2, "not valid TOML"),
        ("json", '{"name": \n}', 2, "not valid JSON"),
        ("json", '{"a": {"name": 1}, "name": "a",\n "name": "b"}', 2, "key 'name' stands twice"),
        ("toml", 'name = "a"\nscript = {', 2, "not valid TOML"),
        ("json", "[" * 100_000, None, "nested too deeply"),
        ("yaml", "name: [", 1, "not valid YAML"),
        ("yaml", "name: a\nname: b\n", 2, "key 'name' stands twice"),
        ("yaml", "a: 1\n---\nb: 2\n", 2, "not valid YAML"),
        ("yaml", "name: !!python/object/apply:os.system ['true']\n", 1, "not valid YAML"),
        ("yaml", "a: \x00\n", None, "not valid YAML"),
        ("toml", "#" * 1_000_001, None, "too long"),
    ],
)
def test_what_cannot_be_read_is_a_fault_too(form: str, text: str, line: int | None, words: str) -> None:
    fault = only(text, form)
    assert words in str(fault)
    assert line == (fault.place.line if fault.place else None)


def test_aliases_that_multiply_are_refused() -> None:
    rows = ["a0: &a0 [x, x]", *(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}, *a{n - 1}, *a{n - 1}]" for n in range(1, 12))]
    assert "aliases that multiply?" in str(only("\n".join(rows), "yaml"))


YAML = """\
job:
  - &base
    name: a
    script: {entry: train_text_classification.py}
    framework: {kind: neuronx, pytorch: "2.9.0"}
    compute: {instance: ml.trn1.32xlarge}
    hyperparameters: {save_strategy: no, learning_rate: 5e-5, seed: 010, text: 1:30}
  - <<: *base
    name: b
"""


def test_yaml_reads_words_as_words_and_numbers_as_numbers() -> None:
    job, _ = load_jobs(YAML, "yaml")
    assert {"save_strategy": "no", "learning_rate": 5e-5, "seed": 10, "text": "1:30"} == dict(job.hyperparameters)


def test_yaml_may_share_parts_between_jobs() -> None:
    first, second = load_jobs(YAML, "yaml")
    assert second == first.replace(name="b")


def test_faults_of_the_second_job_are_found_in_the_second_job() -> None:
    text = "\n".join(
        f'[[job]]\nname = "j{n}"\nscript.entry = "t.py"\nframework = {{kind = "neuronx", pytorch = "2.9.0"}}\ncompute.count = {1 - n}\n'
        f'compute.instance = "ml.trn1.32xlarge"\n'
        for n in range(2)
    )
    fault = only(text)
    assert ("job[1].compute.count", 12) == (fault.field, fault.place.line if fault.place else 0)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("job = []", "wanted: a list of jobs"),
        ("job = 5", "wanted: a list of jobs"),
        ("x = 1\n[[job]]\nname = 'a'", 'unknown key "x"'),
    ],
)
def test_a_list_of_jobs_stands_alone_and_is_not_empty(text: str, words: str) -> None:
    assert words in "".join(map(str, faults(text)))


def test_a_list_is_no_job() -> None:
    assert "wanted: a table with name, script" in str(only("[1]", "json"))


@pytest.fixture
def file() -> JobFile:
    return parse_jobs(GOOD + '\n[[metrics]]\nname = "loss"\nregex = "x"\n', "toml")


@pytest.mark.parametrize(
    ("where", "shown"),
    [
        ("max_run_s", "3_600"),
        ("compute.instance", '"ml.p4d.24xlarge"'),
        ("compute.count", "[compute]"),
        ("compute", "[compute]"),
        ("distribution", '"smdistributed.dataparallel"'),
        ("distribution.custom_mpi_options", "[distribution]"),
        ("hyperparameters.learning.rate", "5e-5"),
        ("metrics[0].regex", '"x"'),
        ("metrics[0]", "[[metrics]]"),
    ],
)
def test_a_field_is_found_in_the_text_or_else_its_table(file: JobFile, where: str, shown: str) -> None:
    place = file.place(0, where)
    assert place is not None
    assert shown == file.line(place.line)[place.column : place.column + place.width]


def test_a_field_that_is_nowhere_has_no_place(file: JobFile) -> None:
    assert file.place(0, "spot.max_wait_s") is None


@pytest.mark.parametrize(
    ("text", "form", "shown"),
    [
        ('name = "a"\nb = 2]\n', "toml", "\n  --> a.toml:2\n   |\n 2 | b = 2]\n   |      ^"),
        ("name: a\n  b: [\n", "yaml", "\n  --> a.yaml:2\n   |\n 2 |   b: [\n   |    ^"),
        ('{"name": "a",\n "b" 3}', "json", '\n  --> a.json:2\n   |\n 2 |  "b" 3}\n   |      ^'),
    ],
)
def test_a_syntax_error_shows_its_line_and_column(text: str, form: str, shown: str) -> None:
    with pytest.raises(InvalidJobFile) as caught:
        parse_jobs(text, form, name=f"a.{form}")
    assert str(caught.value).endswith(shown)


@pytest.mark.parametrize("text", ["{key} = 1", "[{key}]\n", "[[ {key} ]]\n", "a = {{ {key} = 1 }}", "x = 1\n{key} = 1"])
@pytest.mark.parametrize("part", ["a", '"a b"', "'a'"])
def test_a_key_of_many_parts_is_refused_before_it_is_built(text: str, part: str) -> None:
    key = " . ".join([part] * 20_000)
    with pytest.raises(InvalidJobFile, match="a key of more than 64 parts"):
        st.load_jobs(text.format(key=key), "toml")


def test_dots_that_are_no_key_are_not_counted() -> None:
    dots = ".".join("a" * 100)
    text = (
        f"# {dots}\na = \"x {dots}\"\nb = \"\"\"\n{dots}\n\"\"\"\nc = '''\n{dots}'''\nd = '{dots}'\n"
        + '"a.b".' * 60
        + "c = 1\n"
    )
    assert dots in str(in_toml.parse(text)[0])

"""What the estimates are worth on rows that they never saw, and how rows of any table are read."""

from __future__ import annotations

import json
import math
import statistics
from pathlib import Path

import pytest
from forecast import evaluate
from forecast.accelerators import accelerator
from forecast.fields import Refusal
from forecast.published import published_rows
from forecast.rows import Measurement, group_of, read
from hypothesis import given
from hypothesis import strategies as some

from sm_trn.core.catalog.chips import Chip
from sm_trn.core.specs.json import Json, Object
from sm_trn.forecast.intervals import Interval, repository_of
from sm_trn.forecast.rates import PRIORS, shipped

ROW: dict[str, Json] = {
    "source": "github:somebody/bench@abc:README.md", "date": "2024-05", "model": "Llama-2-7B", "task": "pre-training", "seq_len": 4096,
    "per_device_batch": 1, "global_batch": 64, "precision": "bf16", "instance": "p4d.24xlarge", "instances": 2, "devices": 16,
    "metric": "throughput",
    "value": 40_000.0, "unit": "tokens/s", "distribution": "FSDP FULL_SHARD", "framework": "PyTorch",
}  # fmt: skip


def row(**changes: Json) -> Object:
    return {**ROW, **changes}


@pytest.fixture(scope="module")
def judged() -> list[evaluate.Judged]:
    return [each for each in map(evaluate.judge, published_rows()) if not each.flag]


def within(rows: list[evaluate.Judged], bound: float) -> float:
    return statistics.mean(abs(each.error) <= bound for each in rows)


def test_repositories_left_out_are_estimated_as_the_page_says(judged: list[evaluate.Judged]) -> None:
    """The bounds of docs/guides/estimate.md, on the package's own table."""
    assert len(judged) > 500
    assert not [each.reason for each in judged if each.estimate is None]
    others = [each for each in judged if "mpt-" not in each.group]
    assert within(judged, 0.20) >= 0.62
    assert within(judged, 0.35) >= 0.85
    assert within(others, 0.35) >= 0.80
    assert 0.76 <= statistics.mean(each.covered for each in judged) <= 0.86


def test_each_repository_has_constants_that_never_saw_it() -> None:
    used = {group_of(each) for each in published_rows() if not each.get("flag")}
    assert used == set(shipped().residuals)
    assert {repository_of(group) for group in used} == set(evaluate.left_out())


def test_few_constants_are_fitted_and_each_says_how_far_it_moved() -> None:
    fitted = {name: prior for name, prior in PRIORS.items() if prior.spread}
    assert len(fitted) <= 14
    for name, prior in fitted.items():
        moved = math.log(shipped().constants.values[name] / prior.median)
        assert abs(moved) <= 3 * prior.spread, name


UNITS = [
    ("tokens/s", 1.0), ("tokens/s/GPU", 1 / 16), ("tokens per second per device", 1 / 16), ("k tokens/s", 1e-3), ("sequences/s", 1 / 4096),
    ("samples/s", 1 / 4096), ("samples/s/GPU", 1 / 4096 / 16),
    ("examples/sec", 1 / 4096), ("it/s", 1 / 4096 / 64), ("steps/s", 1 / 4096 / 64),
    ("iterations/s", 1 / 4096 / 64), ("samples/hour", 3600 / 4096),
]  # fmt: skip


@pytest.mark.parametrize(("unit", "factor"), UNITS)
def test_rates_in_any_unit_are_the_same_speed(unit: str, factor: float) -> None:
    base, other = evaluate.judge(row()), evaluate.judge(row(unit=unit))
    assert base.estimate is not None
    assert other.estimate is not None
    assert pytest.approx(base.estimate.p50 * factor) == other.estimate.p50


@pytest.mark.parametrize(
    ("unit", "metric"),
    [("s/step", "step time"), ("ms/it", "step time"), ("s", "step time"), ("seconds/iteration", "x")],
)
def test_durations_of_a_step(unit: str, metric: str) -> None:
    rate, time = evaluate.judge(row(unit="it/s")), evaluate.judge(row(unit=unit, metric=metric))
    assert rate.estimate is not None
    assert time.estimate is not None
    scale = 1000 if unit.startswith("ms") else 1
    assert pytest.approx(scale / rate.estimate.p50) == time.estimate.p50


def test_a_whole_job_needs_its_examples() -> None:
    refused = evaluate.judge(row(unit="h", metric="time to train", task="fine-tuning"))
    assert "how many steps" in refused.reason
    told = evaluate.judge(row(unit="h", metric="time to train", task="fine-tuning, 64,000 examples, 2 epochs"))
    step = evaluate.judge(row(unit="s/step"))
    assert told.estimate is not None
    assert step.estimate is not None
    assert pytest.approx((2000 * step.estimate.p50 + 20) / 3600) == told.estimate.p50


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"model": "an unheard-of model"}, "no shape"),
        ({"instance": "a laptop"}, "no accelerator"),
        ({"per_device_batch": None, "global_batch": None}, "its batch"),
        ({"seq_len": None}, "sequences"),
        ({"unit": "USD", "metric": "cost"}, "price"),
        ({"value": None}, "no value"),
        ({"unit": "bananas"}, "unit"),
    ],
)
def test_a_row_without_a_basis_is_refused_with_its_reason(changes: dict[str, Json], reason: str) -> None:
    found = read(row(**changes))
    assert isinstance(found, Refusal)
    assert reason in found.reason


CHIPS = [
    ("A10", "A10"), ("A10G", "A10G"), ("NVIDIA A100-SXM4-80GB", "A100-80GB"), ("A100 80GB PCIe", "A100-80GB PCIe"),
    ("8xA100-PCIE-40GB", "A100-40GB PCIe"), ("A800", "A800"), ("L4", "L4"), ("L40", "L40"), ("4 x L40S", "L40S"), ("A40", "A40"),
    ("H100 SXM5 80GB", "H100-80GB"), ("H100 PCIe", "H100 PCIe"), ("H100-NVL 94GB", "H100 NVL"), ("H800", "H800"), ("H20", "H20"),
    ("GH200", "GH200"), ("DGX B200", "B200"), ("GeForce RTX3090", "RTX 3090"), ("RTX 4090", "RTX 4090"), ("A6000", "RTX A6000"),
    ("RTX 6000 Ada", "RTX 6000 Ada"), ("V100-SXM2-32GB", "V100-32GB"), ("Tesla T4", "T4"), ("P100", "P100"), ("trainium", "Trainium1"),
    ("g5", "A10G"), ("p4de", "A100-80GB"),
]  # fmt: skip


@pytest.mark.parametrize(("words", "name"), CHIPS)
def test_each_accelerator_has_its_own_datasheet(words: str, name: str) -> None:
    found = accelerator(words)
    assert isinstance(found, Chip)
    assert name == found.name


@pytest.mark.parametrize(
    "words", ["MI250", "MI300X", "TPU v4", "Gaudi2", "RTX 3080 Ti", "RTX 6000", "M60", "A100 or H100", "a laptop"]
)
def test_an_accelerator_without_a_datasheet_is_unknown(words: str) -> None:
    """Whatever the notes compare it with."""
    assert isinstance(accelerator(words, "faster than an A100" if words != "a laptop" else ""), Refusal)


def test_a_chip_may_be_built_otherwise_than_its_datasheet_says() -> None:
    found = read(row(instance="p5.48xlarge", instance_note="H100 with 2.4 TB/s memory and 500 W"))
    assert isinstance(found, Measurement)
    assert 2400 == found.configuration.chip.hbm_gbs
    assert 800 < (found.configuration.chip.bf16 or 0) < 989


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"precision": "nvfp4"}, "nvfp4"),
        ({"precision": "posit16"}, "posit16"),
        ({"task": "DPO"}, "dpo"),
        ({"distribution": "DoRA"}, "dora"),
        ({"method": "zeroth order"}, "zeroth"),
        ({"optimizer": "Muon"}, "muon"),
    ],
)
def test_a_word_that_is_not_understood_is_no_likely_value(changes: dict[str, Json], word: str) -> None:
    found = read(row(**changes))
    assert isinstance(found, Refusal)
    assert word in found.reason


@pytest.mark.parametrize(
    ("words", "bits"),
    [("QLoRA", 4), ("LoRA, GPTQ", 4), ("LoRA; int8", 8), ("LoRA; adamw_8bit", 0), ("LoRA; 8-bit paged AdamW", 0)],
)
def test_weights_are_quantised_where_they_are_said_to_be(words: str, bits: int) -> None:
    found = read(row(distribution=words))
    assert isinstance(found, Measurement)
    assert bits == found.configuration.weight_bits


@pytest.mark.parametrize(
    ("framework", "style"),
    [
        ("LitGPT, Lightning Fabric", "eager"),
        ("lit-gpt, fused kernels", "fused"),
        ("Composer", "fused"),
        ("Composer, BERT of transformers", "eager"),
        ("torchtitan", "eager"),
        ("torchtitan, torch.compile", "fused"),
    ],
)
def test_software_is_as_fused_as_its_layers(framework: str, style: str) -> None:
    found = read(row(framework=framework))
    assert isinstance(found, Measurement)
    assert style == found.configuration.style.value


@pytest.mark.parametrize(("words", "share"), [("LoRA q_proj, v_proj", 2 / 7), ("LoRA all linear", 1), ("LoRA", 1)])
def test_adapters_are_where_a_row_puts_them(words: str, share: float) -> None:
    found = read(row(distribution=words))
    assert isinstance(found, Measurement)
    assert share == found.configuration.adapted


def test_what_a_row_says_of_its_layout() -> None:
    found = read(row(distribution="TP=4 PP=2 ZeRO-1; full activation checkpointing; gradient accumulation 16"))
    assert isinstance(found, Measurement)
    c = found.configuration
    assert (4, 2, 2) == (c.tensor, c.pipeline, c.data)
    assert "FULL" == c.recompute.name


@pytest.mark.parametrize(
    ("model", "style"),
    [("BERT-Large", "tuned"), ("ResNet-50", "tuned"), ("BART-large", "eager"), ("Transformer-XL base", "eager")],
)
def test_recipes_have_fused_layers_where_their_source_has_them(model: str, style: str) -> None:
    found = read(
        row(model=model, framework="PyTorch, NGC 20.06", precision="mixed fp16", unit="samples/s", distribution="")
    )
    assert isinstance(found, Measurement)
    assert style == found.configuration.style.value


def test_rows_of_one_method_do_not_speak_for_another() -> None:
    """Few published rows train adapters, and none has quantised weights: their intervals are wider than those of all weights. Of weights
    of 8 bits what is published does not agree.
    """
    layouts = ("FSDP", "FSDP; LoRA", "FSDP; QLoRA 4-bit", "FSDP; LoRA; int8")
    widths = []
    for layout in layouts:
        estimate = evaluate.judge(row(distribution=layout)).estimate
        assert estimate is not None
        widths.append(estimate.p90 / estimate.p10)
    assert widths == sorted(set(widths))


def test_attention_of_nemo_is_written_for_its_chip() -> None:
    found = [read(row(instance="p5.48xlarge", framework=name)) for name in ("NeMo", "Megatron-LM")]
    rates = [shipped().constants.rates(each.configuration) for each in found if isinstance(each, Measurement)]
    assert rates[0].attention > rates[1].attention
    assert rates[0].efficiency == rates[1].efficiency


MESS = some.one_of(
    some.none(),
    some.text(max_size=12),
    some.integers(-5, 10**7),
    some.floats(allow_nan=False, allow_infinity=False),
    some.booleans(),
)


@given(some.dictionaries(some.sampled_from(sorted(ROW)), MESS))
def test_any_row_is_answered_or_refused(changes: dict[str, Json]) -> None:
    """Tables are foreign text: whatever a field holds, the row is read or refused, and quantiles are in order."""
    judged = evaluate.judge({**ROW, **changes})
    assert bool(judged.reason) != (judged.estimate is not None)
    if judged.estimate is not None:
        assert 0 < judged.estimate.p10 <= judged.estimate.p50 <= judged.estimate.p90


def test_the_command_answers_every_row_in_order(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows, out = tmp_path / "rows.json", tmp_path / "out.json"
    rows.write_text(json.dumps([row(), row(model="?"), row(unit="it/s")]))
    assert 0 == evaluate.main([str(rows), "--json", str(out)])
    answers = json.loads(out.read_text())
    assert ["p10", "refused", "p10"] == [next(iter(each)) for each in answers]
    assert "2 answered, 1 refused" in capsys.readouterr().out


def test_the_command_names_a_file_that_is_no_list(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = tmp_path / "rows.json"
    rows.write_text("{}")
    assert 2 == evaluate.main([str(rows)])
    assert "wanted a list of rows" in capsys.readouterr().err


def test_largest_batches(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "batches.json"
    of = {
        "model": "bert-base-uncased",
        "instance": "ml.g5.2xlarge",
        "precision": "float16",
        "seq_len": 128,
        "framework": "PyTorch 1.12.0",
    }
    file.write_text(json.dumps([{**of, "native": 160, "compiler": 288}]))
    assert 0 == evaluate.main(["--max-batch", str(file)])
    assert "native                           1  100 %" in capsys.readouterr().out


def test_an_interval_is_in_order() -> None:
    with pytest.raises(ValueError, match="in order"):
        Interval(2.0, 1.0, 3.0)

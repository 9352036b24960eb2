"""What a job's data says of the length of its samples, and what the answer says where it does not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

import sm_trn as st
from sm_trn.forecast.data import count_file, lengths
from sm_trn.forecast.facts import facts_of
from sm_trn.forecast.models import Architecture, find_model

WORDS = "the model learns from what people have written to each other "


def job(source: Path | None = None, **arguments: Any) -> st.JobSpec:
    return st.JobSpec(
        name="chats",
        script=st.Script("train.py", source_dir=str(source) if source else "s3://a-bucket/code.tar.gz"),
        framework=st.PyTorch("2.1", python="py310"),
        compute=st.Compute("ml.g5.2xlarge"),
        hyperparameters={
            "model_name_or_path": "gpt2",
            "per_device_train_batch_size": 4,
            "epochs": 1,
            "bf16": True,
            **arguments,
        },
    )


def chats(path: Path, characters: int, number: int = 2000) -> str:
    text = (WORDS * (characters // len(WORDS) + 1))[:characters]
    rows = [
        {
            "messages": [
                {"role": "user", "content": text[: characters // 2]},
                {"role": "assistant", "content": text[characters // 2 :]},
            ]
        }
    ]
    path.write_text("".join(json.dumps(rows[0]) + "\n" for _ in range(number)))
    return str(path)


def test_short_texts_cost_less_than_long_ones_whatever_the_cap(tmp_path: Path) -> None:
    short, long = chats(tmp_path / "short.jsonl", 120), chats(tmp_path / "long.jsonl", 8000)
    capped = job(max_seq_length=2048)
    quick, slow = st.estimate(capped, data=short), st.estimate(capped, data=long)
    assert quick.step_s.p50 < slow.step_s.p50 / 3
    assert quick.largest_batch > slow.largest_batch
    assert any("not known" in each for each in quick.assumed)


def test_the_tokens_of_a_sample_are_always_said(tmp_path: Path) -> None:
    data = chats(tmp_path / "chats.jsonl", 400)
    assert "tokens a sample" in " ".join(st.estimate(job(max_seq_length=512), data=data).assumed)
    assert "the most that the job allows" in " ".join(st.estimate(job(max_seq_length=512), examples=100).assumed)


def test_an_unknown_length_makes_a_wide_interval() -> None:
    open_, given_ = (
        st.estimate(job(max_seq_length=2048), examples=50_000),
        st.estimate(job(), examples=50_000, length=2048),
    )
    assert open_.step_s.p10 < given_.step_s.p10 / 2
    assert given_.step_s.p90 == pytest.approx(open_.step_s.p90)


FILLINGS = [
    ("DataCollatorWithPadding(tokenizer)", {}, 110, 130),
    ("tokenizer(texts, padding='max_length')", {}, 512, 512),
    ("tokenizer(texts, padding=True)", {}, 110, 130),
    ("SFTConfig(packing=True)", {}, 512, 512),
    ("pass", {"group_by_length": True}, 90, 120),
    ("pass", {"pad_to_max_length": True}, 512, 512),
    ("pass", {"packing": True}, 512, 512),
    ("pass", {"block_size": 512}, 512, 512),
]


@pytest.mark.parametrize(("code", "arguments", "least", "most"), FILLINGS)
def test_how_a_batch_is_filled_up_is_read_from_the_script(
    tmp_path: Path, code: str, arguments: dict[str, Any], least: float, most: float
) -> None:
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "train.py").write_text(code + "\n")
    data = chats(tmp_path / "chats.jsonl", 450)
    found = lengths(facts_of(job(tmp_path / "source", max_seq_length=512, **arguments), {"data": data}), model())
    assert least <= found.average <= most


def model() -> Architecture:
    found = find_model("gpt2")
    assert isinstance(found, Architecture)
    return found


def test_graphs_have_one_length(tmp_path: Path) -> None:
    data = chats(tmp_path / "chats.jsonl", 450)
    there = job(max_seq_length=512).replace(compute=st.Compute("ml.trn1.2xlarge"))
    assert lengths(facts_of(there, {"data": data}), model()).average == 512


@given(some.integers(1, 64), some.integers(0, 64))
def test_a_larger_batch_is_filled_up_to_more(batch: int, more: int) -> None:
    rows = str(Path(__file__).parent / "test_models.py")
    shorter, longer = (
        lengths(facts_of(job(), {"data": rows, "batch": each}), model()) for each in (batch, batch + more)
    )
    assert shorter.least <= shorter.average <= longer.average * (1 + 1e-9)
    assert longer.average <= longer.most
    assert longer.average <= longer.longest


@given(some.integers(1, 4000), some.integers(0, 4000))
def test_more_text_never_costs_less(characters: int, more: int) -> None:
    def seconds(size: int) -> tuple[float, float, float]:
        tokens = size * 1000.0
        found = st.estimate(job(max_seq_length=8192), examples=1000, tokens=tokens).billable_s
        return found.p10, found.p50, found.p90

    assert all(
        less <= greater * (1 + 1e-9)
        for less, greater in zip(seconds(characters), seconds(characters + more), strict=True)
    )


@pytest.mark.parametrize(
    ("name", "text", "rows", "tokens"),
    [
        ("a.jsonl", '{"text": "%s"}\n' % (WORDS * 10) * 20, 20, 147),
        ("a.json", json.dumps([{"text": WORDS * 10}] * 20), 20, 147),
        ("a.csv", "label,text\n" + f'1,"{WORDS * 10}\nand a second line"\n' * 20, 20, 152),
        ("a.tsv", "label\ttext\n" + f"1\t{WORDS * 10}\n" * 20, 20, 147),
        ("a.txt", f"{WORDS * 10}\n\n" * 20, 20, 147),
        ("zh.jsonl", '{"text": "%s"}\n' % ("我们从数据中学习" * 30) * 20, 20, 162),
    ],
)
def test_rows_and_their_texts_are_read_as_their_kind_has_them(
    tmp_path: Path, name: str, text: str, rows: int, tokens: float
) -> None:
    (tmp_path / name).write_text(text, "utf-8")
    found = count_file(tmp_path / name)
    assert rows == found.examples
    assert pytest.approx(tokens, rel=0.05) == found.tokens / found.examples


def test_a_large_file_is_read_at_its_beginning_alone(tmp_path: Path) -> None:
    rows = [{"text": WORDS * 4}] * 20_000
    (tmp_path / "list.json").write_text(json.dumps(rows, indent=1))
    assert pytest.approx(20_000, rel=0.01) == count_file(tmp_path / "list.json").examples
    path = tmp_path / "large.jsonl"
    path.write_text('{"text": "%s"}\n' % (WORDS * 4) * 20_000)
    found = count_file(path)
    assert found.source.startswith("estimated from the first rows")
    assert pytest.approx(20_000, rel=0.01) == found.examples


def test_where_nothing_says_how_a_batch_is_filled_up_the_cap_is_possible(tmp_path: Path) -> None:
    data = chats(tmp_path / "chats.jsonl", 200)
    found = lengths(facts_of(job(max_seq_length=2048), {"data": data}), model())
    assert found.least <= found.average < 200 < found.most == 2048

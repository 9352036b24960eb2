"""How a script fills a batch up: what decides the tokens that are computed beside those that are text."""

from __future__ import annotations

from ...core.preflight import reading
from ...core.specs.job import JobSpec
from .facts import Facts


def filling_of(facts: Facts) -> str:
    """How a batch is filled up: ``packed``, ``one length``, ``like lengths``, ``longest``; empty where nothing says."""
    job = facts.job
    if "block_size" in facts.arguments or facts.said(("packing",)) or "run_clm" in facts.words():
        return "packed"
    static = job.neuron is not None or job.compute.instances[0].startswith(("ml.trn", "ml.inf")) or job.compiled
    if static or facts.said(("pad_to_max_length",)) or facts.text(("padding",)) == "max_length":
        return "one length"  # a graph is compiled for each shape
    if facts.said(("group_by_length",)):
        return "like lengths"
    if job.script is not None and job.script.source_dir is None:
        return "like lengths" if job.script.entry == "train_text_classification.py" else "longest"
    return _filling_of_script(job)


def _filling_of_script(job: JobSpec) -> str:
    words, said = reading.words(job), reading.keywords(job)
    padding = said.get("padding", frozenset())
    if words is None:
        return ""
    if True in said.get("packing", ()) or "group_texts" in words.all:
        return "packed"
    if "max_length" in padding or True in said.get("pad_to_max_length", ()):
        return "one length"
    padded = words.any_of("DataCollatorWithPadding", "DataCollatorForSeq2Seq", "DataCollatorForLanguageModeling")
    return "longest" if padded or padding & {True, "longest"} else ""

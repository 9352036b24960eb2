"""SCRIPT017: keywords that the container's release of transformers or trl does not have."""

from __future__ import annotations

from collections.abc import Iterator

from packaging.version import Version

from ..core.preflight import source
from ..core.specs.job import JobSpec
from ..core.specs.problems import Advice, Line, Problem, Severity, rules_of
from .programs import programs
from .syntax import called, keyword

_RULES = rules_of(__package__)
# Library, class by the end of its name, keyword, the first release with it, the first without, what is meant.
# Source: the classes in the wheels of transformers 4.4 to 5.17 and trl 0.8 to 1.11; datasets 4.0.0's release notes.
_KEYWORDS = (
    ("transformers", "Arguments", "evaluation_strategy", "4", "4.51", "eval_strategy"),
    ("transformers", "Arguments", "eval_strategy", "4.41", "", "evaluation_strategy"),
    ("transformers", "Arguments", "no_cuda", "4", "5", "use_cpu"),
    ("transformers", "Arguments", "overwrite_output_dir", "4", "5", "no such keyword"),
    ("transformers", "Arguments", "per_gpu_train_batch_size", "4", "5", "per_device_train_batch_size"),
    ("transformers", "Trainer", "tokenizer", "4", "5", "processing_class"),
    ("transformers", "Trainer", "processing_class", "4.46", "", "tokenizer"),
    ("trl", "SFTTrainer", "tokenizer", "0", "0.16", "processing_class"),
    ("trl", "SFTTrainer", "max_seq_length", "0", "0.13", "SFTConfig(max_seq_length=…)"),
    ("trl", "SFTTrainer", "dataset_text_field", "0", "0.13", "SFTConfig(dataset_text_field=…)"),
    ("trl", "SFTTrainer", "packing", "0", "0.13", "SFTConfig(packing=…)"),
    ("trl", "SFTConfig", "max_seq_length", "0", "0.20", "max_length"),
    ("datasets", "load_dataset", "trust_remote_code", "1", "4", "data without a loading script"),
    ("trl", "DPOTrainer", "beta", "0", "0.13", "DPOConfig(beta=…)"),
)


def keywords(job: JobSpec) -> Iterator[Problem]:
    """SCRIPT017: a keyword that a release does not have is a TypeError when the object is made."""
    for file, text in programs(job):
        for call in source.calls(text):
            for library, end, name, first, gone, meant in _KEYWORDS:
                of_trl = called(call).startswith(("SFT", "DPO"))
                if not called(call).endswith(end) or keyword(call, name) is None or of_trl is not (library == "trl"):
                    continue
                release = _release(job, library)
                if release is not None and (release < Version(first) or (gone and release >= Version(gone))):
                    yield _RULES["SCRIPT017"].problem(
                        Line(file, call.lineno),
                        f"{called(call)} of {library} {release} takes no {name}",
                        got=name,
                        wanted=meant,
                        severity=Severity.WARNING if library == "datasets" else None,
                        fix=Advice("correct the name, or ask for another release in requirements.txt"),
                    )


def _release(job: JobSpec, library: str) -> Version | None:
    """The release that the job's script imports: the image's where the requirements admit it, else an exact pin; None for another."""
    from ..images.contents import contents_of  # noqa: PLC0415 - the table loads for what needs it alone
    from ..images.requirements import requirements_of  # noqa: PLC0415 - as above

    there = contents.version(library) if (contents := contents_of(job)) is not None else None
    for each in requirements_of(source.requirements(job) or ""):
        if each.name == library and (there is None or not each.admits(there)):
            return Version(each.exact) if each.exact is not None else None
    return there


RULES = (keywords,)

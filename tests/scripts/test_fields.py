"""The table of fields holds every release that a container brings, and says what each has."""

from __future__ import annotations

import ast

import pytest

from sm_trn.core.catalog import images
from sm_trn.scripts.fields import classes_of, library_class, release


def test_every_container_has_its_release_of_transformers_in_the_table() -> None:
    versions = {
        row.transformers
        for family in ("huggingface", "huggingface-neuronx")
        for row in images.rows(family)
        if row.transformers
    }
    assert set() == {each for each in versions if release("transformers", each) is None}


@pytest.mark.parametrize(
    ("library", "name", "at", "has", "lacks"),
    [
        ("transformers", "TrainingArguments", "4.26.0", "evaluation_strategy", "neftune_noise_alpha"),
        ("transformers", "TrainingArguments", "5.3.0", "eval_strategy", "overwrite_output_dir"),
        ("trl", "SFTConfig", "0.16.1", "max_seq_length", "chat_template_path"),
        ("trl", "SFTConfig", "0.20.0", "max_length", "max_seq_length"),
    ],
)
def test_a_release_has_its_own_fields(library: str, name: str, at: str, has: str, lacks: str) -> None:
    found = library_class(library, name, at)
    assert found is not None
    assert (True, False) == (has in found.own, lacks in found.own)


@pytest.mark.parametrize(
    ("annotation", "type_", "choices", "many"),
    [
        ("int", "int", (), False), ("Optional[float]", "float", (), False), ("bool | None", "bool", (), False),
        ("'list[int]'", "int", (), True), ("Literal['a', 'b']", "", ("a", "b"), False), ("Union[Kind, str]", "", ("x",), False),
        ("Annotated[str, 3]", "str", (), False), ("dict", "", (), False), ("Union[int, str]", "", (), False),
    ],
)  # fmt: skip
def test_an_annotation_says_what_is_taken(annotation: str, type_: str, choices: tuple[str, ...], many: bool) -> None:
    program = ast.parse(f"class Kind(Enum):\n    X = 'x'\nclass Mine:\n    a: {annotation}\n")
    kind = classes_of(program)["Mine"].own["a"]
    assert (type_, choices, many, True) == (kind.type, kind.choices, kind.many, kind.required)

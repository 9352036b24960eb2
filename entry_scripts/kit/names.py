"""The names that data sets use for their columns, in lower case."""

from __future__ import annotations

TEXTS = ("text", "content", "sentence", "review", "tweet", "comment", "body", "document", "message")
PAIRS = {
    "sentence1": "sentence2",
    "premise": "hypothesis",
    "question1": "question2",
    "question": "sentence",
    "text1": "text2",
    "#1 string": "#2 string",
}
LABELS = (
    "label",
    "labels",
    "sentiment",
    "class",
    "category",
    "target",
    "score",
    "stars",
    "rating",
    "gold_label",
    "is_duplicate",
    "quality",
)
NAMES = {*TEXTS, *PAIRS, *PAIRS.values(), *LABELS, "id", "idx", "context", "answers"}

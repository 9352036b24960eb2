"""What pages and notebook outputs of every kind share: text made safe, and the head of a document. Knows no job."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files

from ..formatting import numbers as fmt
from ..formatting.markup import escaped, variables
from .layout import one_line


def text(value: str) -> str:
    """Foreign or own text for HTML: one printable line, escaped, numbers held to their units."""
    return fmt.unbroken(escaped(one_line(value)))


def document_head(title: str) -> Iterator[str]:
    """Everything up to the body, and the link that skips to its ``main``."""
    css = files(__package__).joinpath("document.css").read_text("utf-8")
    css = css.replace("VARIABLES_LIGHT", variables("light")).replace("VARIABLES_DARK", variables("dark"))
    yield '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield '<meta name="color-scheme" content="light dark">'
    yield f"<title>{text(title)}</title>\n<style>\n{css}</style>\n</head>\n<body>"
    yield '<a class="skip" href="#main">Skip to the findings</a>'

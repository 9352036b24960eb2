"""What can be known of accessibility without a browser: language, headings in order, named pictures, headers with scope, contrast."""

from __future__ import annotations

import itertools
from html.parser import HTMLParser

import pytest
from shown_pages import PAGES, page_of

from sm_trn.core.formatting.theme import PALETTES

TEXTS = ("ink", "ink2", "ink3", "link", "ok", "warn", "err", "info", "emu")
SLOTS = ("s1", "s2", "s3", "s4", "s5", "s6")
themes = pytest.mark.parametrize("theme", ["light", "dark"])
each_page = pytest.mark.parametrize("name", PAGES)


class Tags(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def named(self, *names: str) -> list[dict[str, str | None]]:
        return [attrs for tag, attrs in self.found if tag in names]


def luminance(color: str) -> float:
    """https://www.w3.org/TR/WCAG22/#dfn-relative-luminance"""
    parts = (int(color[place : place + 2], 16) / 255 for place in (1, 3, 5))
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


@themes
@pytest.mark.parametrize("ground", ["bg", "panel"])
def test_every_text_colour_can_be_read_on_every_ground(theme: str, ground: str) -> None:
    palette = PALETTES[theme]
    assert {} == {name: palette[name] for name in TEXTS if contrast(palette[name], palette[ground]) < 4.5}


@themes
def test_marks_and_axes_can_be_seen_and_the_emulated_tag_can_be_read(theme: str) -> None:
    palette = PALETTES[theme]
    assert {} == {name: palette[name] for name in (*SLOTS, "axis") if contrast(palette[name], palette["bg"]) < 3}
    assert 4.5 <= contrast(palette["emu"], palette["emut"])


def test_the_measure_of_contrast_is_the_standards_own() -> None:
    assert 21 == round(contrast("#000000", "#ffffff"), 3)
    assert 4.54 == round(contrast("#767676", "#ffffff"), 2)


@each_page
def test_a_page_names_its_language_and_itself(name: str) -> None:
    tags = Tags(page_of(name))
    assert ["en"] == [attrs.get("lang") for attrs in tags.named("html")]
    assert 1 == page_of(name).partition("<body")[0].count("<title>")


@each_page
def test_headings_come_in_order_and_begin_with_one(name: str) -> None:
    levels = [int(tag[1]) for tag, _ in Tags(page_of(name)).found if tag in {"h1", "h2", "h3", "h4"}]
    assert 1 == levels[0]
    assert 1 == levels.count(1)
    assert [] == [(one, two) for one, two in itertools.pairwise(levels) if two > one + 1]


@each_page
def test_every_header_of_a_table_says_what_it_is_the_header_of(name: str) -> None:
    assert {"row", "col"} >= {attrs.get("scope") for attrs in Tags(page_of(name)).named("th")}


@each_page
def test_every_picture_is_named_or_hidden_from_those_who_hear(name: str) -> None:
    unnamed = [
        attrs
        for attrs in Tags(page_of(name)).named("svg", "img")
        if attrs.get("aria-hidden") != "true"
        and not (attrs.get("aria-label") or attrs.get("alt") or attrs.get("aria-labelledby"))
    ]
    assert [] == unnamed


@pytest.mark.parametrize("name", ["report", "report-mixed", "fleet"])
def test_what_scrolls_can_be_reached_by_keyboard_and_has_a_name(name: str) -> None:
    scrolled = [attrs for attrs in Tags(page_of(name)).named("div") if "scroll" in str(attrs.get("class")).split()]
    assert scrolled
    assert all(
        "0" == attrs.get("tabindex") and attrs.get("aria-label") and "region" == attrs.get("role") for attrs in scrolled
    )

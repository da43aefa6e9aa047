"""The colours of the style sheet: text and marks stand out enough from what they stand on, by day and by night."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import relatum.serving

STATIC = Path(relatum.serving.__file__).parent / "static"
TEXT, GRAPHICS = 4.5, 3.0  # WCAG 2.2, AA
GROUNDS = ("paper", "card", "tint")


def tokens(theme: int) -> dict[str, str]:
    """Return the colours of a theme, 0 for light and 1 for dark, by name."""
    sheet = (STATIC / "explorer.css").read_text(encoding="utf-8")
    pairs = re.findall(r"--([\w-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\)", sheet)
    return {name: (light, dark)[theme] for name, light, dark in pairs}


def luminance(color: str) -> float:
    """Return the relative luminance of a colour, as WCAG defines it."""
    shares = [int(color[start : start + 2], 16) / 255 for start in (1, 3, 5)]
    red, green, blue = (share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    lighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def test_the_contrast_of_black_and_white_is_21() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
def test_text_can_be_read_on_every_ground(theme: int) -> None:
    color = tokens(theme)
    assert len(color) >= 15
    pairs = [(text, ground) for text in ("ink", "soft", "accent", "known", "predicted", "wrong") for ground in GROUNDS]
    pairs += [(mark, f"{mark}-tint") for mark in ("known", "predicted", "wrong")] + [("on-accent", "accent")]
    low = {pair: round(contrast(color[pair[0]], color[pair[1]]), 2) for pair in pairs}
    assert {pair: found for pair, found in low.items() if found < TEXT} == {}


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
def test_lines_and_bars_can_be_seen(theme: int) -> None:
    color = tokens(theme)
    pairs = [(mark, ground) for mark in ("edge", "accent", "known", "predicted") for ground in ("paper", "card", "line")]
    low = {pair: round(contrast(color[pair[0]], color[pair[1]]), 2) for pair in pairs if pair != ("edge", "line")}
    assert {pair: found for pair, found in low.items() if found < GRAPHICS} == {}


def test_every_colour_is_a_token() -> None:
    sheet = (STATIC / "explorer.css").read_text(encoding="utf-8")
    rules = sheet.partition(":root[data-theme")[2]
    assert not re.findall(r"#[0-9a-fA-F]{3,8}\b|rgba?\(|hsl", rules)
    used, known = set(re.findall(r"var\(--([\w-]+)\)", sheet)), set(re.findall(r"--([\w-]+):", sheet))
    assert used <= known


def test_there_is_one_scale_of_type() -> None:
    rules = (STATIC / "explorer.css").read_text(encoding="utf-8").partition(":root[data-theme")[2]
    sizes = re.findall(r"font-size: ([^;}]+)", rules)
    odd = {size for size in sizes if not size.startswith("var(--") and not size.endswith("px")}
    assert odd <= {"0.93em", "1rem"}  # code beside text; a box that phones do not zoom into

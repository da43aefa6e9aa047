"""Numbers, shares, times and names as people read them, on the command line and in reports.

Spaces are plain: a page that must not break a line inside a number makes them so itself.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

# Control characters do something, or are not even text to XML: they are shown as pictures of themselves, or as something
# that cannot be shown. So are those that turn the direction of writing, for one that is not closed turns what follows the
# name, and those that begin a line.
_HIDDEN = {code: 0x2400 + code for code in range(32)} | {127: 0x2421}
_DIRECTIONS = (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
_HIDDEN |= dict.fromkeys((*range(128, 160), *_DIRECTIONS, 0x2028, 0x2029, 0xFFFE, 0xFFFF), 0xFFFD)
_ESCAPES = {code: f"\\u{code:04x}" for code in _HIDDEN if code >= 127}  # JSON escapes those below by itself


def number(value: int) -> str:
    """Return a whole number with its thousands set apart: `61,911`."""
    return f"{value:,}"


def count(value: int, one: str, many: str | None = None) -> str:
    """Return how many there are of something: `1 fact`, `61,911 facts`."""
    return f"{value:,} {one if value == 1 else many or one + 's'}"


def score(value: float) -> str:
    """Return an MRR or a Hit@k: `0.431`."""
    return f"{value:.3f}"


def percent(value: float | None, digits: int = 1) -> str:
    """Return a share of 1 as `43.1 %`, or a dash for none; what is all but certain is not rounded to certainty."""
    if value is None:
        return "-"
    least = 0.5 * 10 ** -(digits + 2)
    if 1 - least <= value < 1:
        return f"> {100 - 10**-digits:.{digits}f} %"
    if 0 < value < least:
        return f"< {10**-digits:.{digits}f} %"
    return f"{100 * value:.{digits}f} %"


def share(part: int, whole: int) -> str:
    """Return how much of `whole` a part is: `96.3 %`, or a dash where there is nothing to be a part of."""
    return percent(part / whole if whole else None)


def duration(seconds: float) -> str:
    """Return a time as its two largest units: `14 min 42 s`; `?` for one that is not known."""
    if not math.isfinite(seconds):
        return "?"
    if seconds < 10:
        return f"{seconds:.1f} s"
    left, found = round(seconds), list[str]()
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min"), (1, "s")):
        if left >= size and len(found) < 2:
            found.append(f"{left // size} {unit}")
        elif found:
            break
        left %= size
    return " ".join(found)


def listed(words: Sequence[str]) -> str:
    """Return words as a choice: `2, 3 or 4`."""
    return " or ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else "".join(words)


def visible(text: str) -> str:
    """Return a text of one line, such as a name, whose control characters can be seen and do nothing."""
    return text.translate(_HIDDEN)


def visible_json(text: str) -> str:
    """Return a text of JSON that says the same, with characters that do something to a terminal written by their numbers."""
    return text.translate(_ESCAPES)

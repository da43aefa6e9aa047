"""Numbers as people read them."""

from __future__ import annotations

__all__ = ["count", "duration", "listed", "percent", "score"]


def count(number: int, one: str, many: str | None = None) -> str:
    """Return how many there are of something: `1 fact`, `61,911 facts`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def score(value: float) -> str:
    """Return an MRR or a Hit@k: `0.431`."""
    return f"{value:.3f}"


def percent(share: float, digits: int = 1) -> str:
    """Return a share as `43.1 %`; what is all but certain is not rounded to certainty."""
    most, least = 1 - 0.5 * 10 ** -(digits + 2), 0.5 * 10 ** -(digits + 2)
    if most <= share < 1:
        return f">\u00a0{100 - 10**-digits:.{digits}f}\u00a0%"
    if 0 < share < least:
        return f"<\u00a0{10**-digits:.{digits}f}\u00a0%"
    return f"{100 * share:.{digits}f}\u00a0%"


def duration(seconds: float) -> str:
    """Return a time as its two largest units: `14 min 42 s`."""
    if seconds < 10:
        return f"{seconds:.1f}\u00a0s"
    left, found = round(seconds), list[str]()
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min"), (1, "s")):
        if left >= size and len(found) < 2:
            found.append(f"{left // size}\u00a0{unit}")
        elif found:
            break
        left %= size
    return " ".join(found)


def listed(words: list[str]) -> str:
    """Return words as a choice: `2, 3 or 4`."""
    return " or ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else "".join(words)

"""The exceptions of relatum.

RelatumError                 anything a caller can mend: a code, and one sentence of place, reason and remedy
├── DataError                facts, names or schemas that cannot be used as they are
│   └── FormatError          a file that breaks its format: file, line and reason
├── UnknownNameError         a name that nothing has, with the nearest ones that exist
├── DownloadError            a dataset that could not be fetched
├── SettingError             a setting whose value cannot be used, with its path
├── NumericError             a score that is not a finite number
└── StoreError               a saved model that cannot be read back

RelatumWarning               something works, but is not as it should be

`docs/troubleshooting.md` has every code, with its cause and its remedy.
"""

from __future__ import annotations

import difflib
import itertools
from collections.abc import Iterable
from pathlib import Path
from typing import Self

# difflib compares about 50,000 names a second; past this many the best of a plausible part is good enough.
_MOST_COMPARED = 20_000
_MOST_LISTED = 12
_NO_MEMORY = ("can't allocate memory", "cannot allocate memory", "bad_alloc", "failed to map segment")
_NO_THREADS = ("can't start new thread", "resource temporarily unavailable")


class RelatumError(Exception):
    """The base of every error that relatum raises on purpose.

    Attributes:
        code: the kind of mistake, such as `no-such-file`; it stays when the words change.
        place: where it is: a file and line, a setting, a table; empty where it is nowhere in particular.
        reason: what is wrong.
        remedy: what to do about it; empty where the reason says it.
        nearest: names that exist and look like the one that was given.
    """

    def __init__(self, code: str, reason: str, *, place: object = "", remedy: str = "", nearest: Iterable[str] = ()) -> None:
        self.code, self.place, self.reason, self.remedy, self.nearest = code, str(place), reason, remedy, tuple(nearest)
        super().__init__(code, reason)

    def __str__(self) -> str:
        where = f"{self.place}: " if self.place else ""
        hint = f"did you mean {' or '.join(map(repr, self.nearest))}?" if self.nearest else ""
        return where + "; ".join(filter(None, (self.reason, hint, self.remedy)))

    def within(self, place: object) -> Self:
        """Return this error with a wider place before its own: the file, say, of the line that it names."""
        self.place = f"{place}: {self.place}" if self.place else str(place)
        return self

    def to_dict(self) -> dict[str, object]:
        """Return the fields, as programs read them."""
        fields = {"code": self.code, "place": self.place, "reason": self.reason, "remedy": self.remedy}
        return {**fields, "nearest": list(self.nearest)}


class RelatumWarning(UserWarning):
    """Something that works, but is not as it should be; its text is one sentence for the person who called."""


class DataError(RelatumError, ValueError):
    """Facts, names or schemas that cannot be used as they are."""


class FormatError(DataError):
    """A file that breaks its format, with the line (from 1) where it does."""

    def __init__(
        self, code: str, path: Path | str, line: int | None, reason: str, *, remedy: str = "", nearest: Iterable[str] = ()
    ) -> None:
        self.path, self.line = Path(path), line
        super().__init__(code, reason, place=f"{path}:{line}" if line is not None else path, remedy=remedy, nearest=nearest)

    @classmethod
    def of(cls, path: Path | str, line: int | None, error: RelatumError) -> Self:
        """Return what is wrong with a part of a file as an error that names the file."""
        reason = f"{error.place}: {error.reason}" if error.place else error.reason
        return cls(error.code, path, line, reason, remedy=error.remedy, nearest=error.nearest)


class UnknownNameError(RelatumError, LookupError):
    """A name that nothing has, with the nearest ones that exist."""

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        known = tuple(known)
        self.kind, self.name = kind, name
        nearest = nearest_names(name, known)
        listed = "" if nearest or not 0 < len(known) <= _MOST_LISTED else f"known: {', '.join(known)}"
        super().__init__("unknown-name", f"unknown {kind} {name!r}", remedy=listed, nearest=nearest)


class DownloadError(RelatumError):
    """A dataset that could not be fetched."""


class SettingError(RelatumError, ValueError):
    """A setting whose value cannot be used, with its path."""


class NumericError(RelatumError, ArithmeticError):
    """A score that is not a finite number."""


class StoreError(RelatumError):
    """A saved model that cannot be read back."""


def nearest_names(name: str, known: Iterable[str], most: int = 3) -> tuple[str, ...]:
    """Return up to `most` known names that look like `name`, the nearest first, in bounded time."""
    folded = name.casefold()
    plausible = (other for other in known if abs(len(other) - len(name)) <= 1 + len(name) // 3)
    candidates = {other: other.casefold() for other in itertools.islice(plausible, _MOST_COMPARED)}
    close = set(difflib.get_close_matches(folded, set(candidates.values()), n=most, cutoff=0.6))

    def unlikeness(other: str) -> tuple[float, str]:
        return -difflib.SequenceMatcher(None, folded, candidates[other]).ratio(), other

    return tuple(sorted((other for other, form in candidates.items() if form in close), key=unlikeness)[:most])


def shortage(error: BaseException) -> str | None:
    """Return a sentence for an error that says that memory or threads have run out; None for any other."""
    message = str(error).lower()
    if isinstance(error, MemoryError) or any(text in message for text in _NO_MEMORY):
        return "not enough memory; give the program more, or it less to do: a smaller dim, batch_size or data"
    if any(text in message for text in _NO_THREADS):
        return "no more threads can be started; raise the limit of processes, or set RELATUM_THREADS=1"
    return None

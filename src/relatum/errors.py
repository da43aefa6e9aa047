"""The exceptions of relatum.

RelatumError                 anything a caller can mend; its text is one sentence for the person who called
├── DataError                facts, names or schemas that cannot be used as they are
│   └── FormatError          a file that breaks its format: file, line and reason
├── UnknownNameError         a name that is not there, with the nearest ones that are
├── DownloadError            a dataset that could not be fetched
├── SettingError             a setting that cannot be, with its path
├── NumericError             a score that is not a finite number
└── StoreError               a saved model that cannot be read back

RelatumWarning               something works, but is not as it should be, such as a table of many roles
"""

from __future__ import annotations

import difflib
import itertools
from collections.abc import Iterable
from pathlib import Path

# difflib compares about 50,000 names a second; past this many the best of a plausible part is good enough.
_MOST_COMPARED = 20_000
_MOST_LISTED = 12


class RelatumError(Exception):
    """The base of every error that relatum raises on purpose."""


class RelatumWarning(UserWarning):
    """Something that works, but is not as it should be; its text is one sentence for the person who called."""


class DataError(RelatumError, ValueError):
    """Facts, names or schemas that cannot be used as they are."""


class FormatError(DataError):
    """A file that breaks its format, with the line (from 1) where it does."""

    def __init__(self, path: Path | str, line: int | None, reason: str) -> None:
        self.path, self.line, self.reason = Path(path), line, reason
        where = f"{path}:{line}" if line is not None else f"{path}"
        super().__init__(f"{where}: {reason}")


class UnknownNameError(RelatumError, LookupError):
    """A name that is not there, with the nearest ones that are."""

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        known = tuple(known)
        self.kind, self.name, self.nearest = kind, name, nearest_names(name, known)
        hint = ""
        if self.nearest:
            hint = f"; did you mean {' or '.join(map(repr, self.nearest))}?"
        elif 0 < len(known) <= _MOST_LISTED:
            hint = f"; known: {', '.join(known)}"
        super().__init__(f"unknown {kind} {name!r}{hint}")


class DownloadError(RelatumError):
    """A dataset that could not be fetched."""


class SettingError(RelatumError, ValueError):
    """A setting that cannot be, with its path."""


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


# What errors say where the machine has run short of something.
_NO_MEMORY = ("can't allocate memory", "cannot allocate memory", "bad_alloc", "failed to map segment")
_NO_THREADS = ("can't start new thread", "resource temporarily unavailable")


def shortage(error: BaseException) -> str | None:
    """Return a sentence for an error that says that memory or threads have run out; None for any other."""
    message = str(error).lower()
    if isinstance(error, MemoryError) or any(text in message for text in _NO_MEMORY):
        return "not enough memory; give the program more, or it less to do: a smaller dim, batch_size or data"
    if any(text in message for text in _NO_THREADS):
        return "no more threads can be started; raise the limit of processes, or set RELATUM_THREADS=1"
    return None

"""A parser under attack: what it is given, and how it is held to its word."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from relatum.errors import RelatumError
from torture.fuzz.mutations import mutated, words_of

__all__ = ["Parser", "round_trip"]


@dataclass(frozen=True)
class Parser:
    """One parser.

    Attributes:
        name: what it reads.
        corpus: valid inputs, all texts or all bytes.
        tokens: what is put into them.
        check: reads an input, and returns what is wrong with the result; None if nothing is.
        refusals: the errors by which it may refuse.
        share: of the inputs that a parser gets, where one takes milliseconds.
        prepare: loads what is slow to load, once for all batches.
    """

    name: str
    corpus: Sequence[Any]
    tokens: Sequence[Any]
    check: Callable[[Any], str | None]
    refusals: tuple[type[Exception], ...] = (RelatumError,)
    share: float = 1.0
    prepare: Callable[[], object] = lambda: None

    @cached_property
    def _words(self) -> list[Any]:
        return words_of(self.corpus)

    def input(self, seed: int, number: int, rng: random.Random) -> Any:
        """Return the input of this number."""
        rng.seed(f"{seed} {self.name} {number}")
        return mutated(rng, self.corpus, self.tokens, self._words)

    def fault(self, text: Any) -> str | None:
        """Return what the parser does to a text that it should not."""
        try:
            return self.check(text)
        except self.refusals as error:
            if isinstance(error, RelatumError) and "\n" in str(error):
                return f"refuses in more than one line: {str(error)[:200]!r}"
            return None
        except Exception as error:
            return f"{type(error).__name__}: {str(error)[:200]}"


def round_trip(found: Any, written: str, read: Callable[[str], Any]) -> str | None:
    """Return how what was read differs from what is read of it once it is written, if it does."""
    try:
        again = read(written)
    except RelatumError as error:
        return f"written as {written[:300]!r}, it is refused: {str(error)[:200]}"
    return None if again == found else f"written as {written[:300]!r}, it is another: {again!s:.200}"

"""Valid inputs, spoiled: pieces are cut, doubled, swapped with those of another input, or replaced by tokens."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from typing import Any

__all__ = ["BYTES", "CHARACTERS", "mutated", "words_of"]

_MOST = 4  # changes of one input
_MANY = (40, 400, 5000)  # times that a token is repeated now and then, so that there is depth and length
_LONGEST = 50_000  # characters of that

# What breaks texts anywhere: quotes, ends, controls, other scripts, numbers that are too large.
CHARACTERS = (
    *"\"'\\,;()[]{}<>=!?%#|:.-+*/_ \n\r\t\0&@~^$`",
    *("0", "7", "-1", "1e400", "9" * 30, "0.5", "nan", "inf", "true", "null", "a", "Z"),
    *("é", "日本", "😀", "\u0663", "\u00b2", "\u202e", "\u2028", "\x85", "\ufeff", "\x1b[31m", "\ud800", "\x7f", "İ", "ſ"),
)
BYTES = (
    *(one.encode(errors="surrogatepass") for one in CHARACTERS),
    *(b"\xff", b"\xc0\xaf", b"\xed\xa0\x80", b"\xe2\x82", b"\x80", b"\xf4\x90\x80\x80", b"\x1f\x8b", b"\r\n", b"\n\n"),
)


_WORDS = re.compile(r"\w+")
_BYTE_WORDS = re.compile(rb"\w+")


def words_of(corpus: Sequence[Any]) -> list[Any]:
    """Return the words of texts, or of bytes, each once."""
    return list(dict.fromkeys(word for text in corpus for word in _word(text).findall(text)))


def mutated(rng: random.Random, corpus: Sequence[Any], tokens: Sequence[Any], words: Sequence[Any]) -> Any:
    """Return an input of the corpus with a few changes, most often one; texts stay texts, and bytes bytes.

    A word in the place of another leaves most grammars in order, so that what lies behind the grammar is reached as well.
    """
    text = rng.choice(corpus)
    for _ in range(int(rng.random() ** 2 * _MOST) + 1):
        start = int(rng.random() * (len(text) + 1))
        end = min(len(text), start + int(rng.random() * 8))
        kind = rng.random()
        if kind < 0.35:
            if found := _word(text).search(text, start):
                text = text[: found.start()] + rng.choice(words) + text[found.end() :]
        elif kind < 0.45:
            text = text[:start] + text[end:]
        elif kind < 0.6:
            text = text[:start] + rng.choice(tokens) + text[start:]
        elif kind < 0.75:
            text = text[:start] + rng.choice(tokens) + text[end:]
        elif kind < 0.82:
            text = text[:start] + text[start:end] * 2 + text[end:]
        elif kind < 0.995:
            other = rng.choice(corpus)
            begin = int(rng.random() * (len(other) + 1))
            text = text[:start] + other[begin : begin + int(rng.random() * 24)] + text[end:]
        else:
            token = rng.choice(tokens)
            text = text[:start] + (token * rng.choice(_MANY))[:_LONGEST] + text[end:]
    return text


def _word(text: Any) -> re.Pattern[Any]:
    return _BYTE_WORDS if isinstance(text, bytes) else _WORDS

"""The words of a query, looked over before it is parsed: what is not supported is refused by name where it stands.

This also bounds the work of all that follows: a parser is recursive, and text from elsewhere may be as deep as it likes.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from relatum.errors import DataError, RelatumError, UnknownNameError
from relatum.formatting import visible

MOST_CHARACTERS = 100_000
MOST_TOKENS = 20_000
MOST_DEPTH = 20  # of parentheses within one another, NOT before NOT included
MOST_SELECTS = 256
_MOST_JOINS = 256
_MOST_SHOWN = 400  # characters of a reason


class SqlError(DataError):
    """A query that is not answered, with the line and column, from 1, of what stands in the way."""

    def __init__(
        self, code: str, reason: str, line: int, column: int, *, remedy: str = "", nearest: Iterable[str] = ()
    ) -> None:
        self.line, self.column = line, column
        super().__init__(code, reason, place=f"line {line}, column {column}", remedy=remedy, nearest=nearest)


class Refusals:
    """Makes the errors of one text out of reasons and offsets."""

    def __init__(self, text: str) -> None:
        self._text = text

    def at(
        self, offset: int, reason: str, code: str = "sql-not-supported", *, remedy: str = "", nearest: Iterable[str] = ()
    ) -> SqlError:
        """Return the error for what stands at an offset of the text."""
        before = self._text[: max(offset, 0)]
        shown = visible(reason)  # a quoted name may hold anything, and be as long as it likes
        reason = shown if len(shown) <= _MOST_SHOWN else f"{shown[: _MOST_SHOWN - 3]}..."
        line, column = before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1
        return SqlError(code, reason, line, column, remedy=visible(remedy), nearest=map(visible, nearest))

    def of(self, offset: int, error: RelatumError) -> SqlError:
        """Return what is wrong with what stands at an offset as an error of the text."""
        reason = f"{error.place}: {error.reason}" if error.place else error.reason
        return self.at(offset, reason, error.code, remedy=error.remedy, nearest=error.nearest)

    def unknown(self, offset: int, what: str, name: str, known: Iterable[str]) -> SqlError:
        """Return that there is no such name, with the nearest ones that are there, or else all if they are few."""
        return self.of(offset, UnknownNameError(what, name, dict.fromkeys(known)))


@dataclass(frozen=True, slots=True)
class Token:
    """A word, number, quoted text or mark of a query.

    Attributes:
        text: as it is written; of something quoted, what stands in the quotes.
        kind: `word`, `name` (in double quotes), `text` (in single ones), `number` or `mark`.
        start: where it begins.
        end: the offset behind it.
    """

    text: str
    kind: str
    start: int
    end: int

    @property
    def word(self) -> str:
        """The word in capitals, the first of several; empty for anything else."""
        return self.text.split()[0].upper() if self.kind == "word" else ""

    def is_mark(self, mark: str) -> bool:
        """Return whether it is a mark."""
        return self.kind == "mark" and self.text == mark


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_BEGINS = ("SELECT", "WITH", "CREATE", "")
_MARKS = frozenset("? : @ $ ` [ { ! ~ & | ^ #")  # no text that is answered has them outside of quotes
_AFTER_JOIN = _words("JOIN NATURAL CROSS INNER WHERE ORDER LIMIT UNION EXCEPT INTERSECT SELECT FROM AND OR")
_NO_CONDITION = "a JOIN needs ON or USING; every row with every row is CROSS JOIN"
# Words that are no names unless they are quoted.
_RESERVED = _words(
    "SELECT FROM WHERE AND OR NOT IN EXISTS JOIN ON USING NATURAL CROSS INNER UNION EXCEPT INTERSECT DISTINCT AS WITH LIMIT "
    "ORDER BY"
)
# What the parser lets pass, by error code: patterns of reserved words, marks and `name`, `text` and `number` for all else.
_MISSHAPEN = {
    "syntax": {
        r" (,) (?![a-z(*.+-]|NOT |EXISTS |CASE )": "a comma with nothing behind it",
        r"(?:^| [A-Z_]+| \(| \.) (,)": "a comma with nothing before it",
        r"(?<! IN) (\() \)": "parentheses with nothing in them",
        r"(?<! name) (\.) (?!number)": "'.' is not expected here: a table's name stands before it",
        r"(?: name| number| text| \)) (\*) (?![a-z(+-]|CASE |NOT )": "'*' needs a value behind it",
        r" (ORDER) ": "ORDER needs BY; a name like this is written in double quotes",
        r" (BY) ": "'BY' is not expected here",
        r" (LIMIT) (?![a-z-])": "LIMIT takes a whole number from 1 up",
        r" (AS) (?!name|\(|SELECT|WITH)": "AS needs a name behind it; a word of SQL as a name is written in double quotes",
        r"(?:^| [A-Z_]+| \(| ,) (AS) ": "'AS' is not expected here",
        **{rf" ({word}) (?!\()": f"{word} needs parentheses: {word} (...)" for word in ("IN", "EXISTS", "USING")},
    },
}


def check_tokens(tokens: Sequence[Token], refusals: Refusals) -> None:
    """Refuse what is not supported, more of anything than is read, and more than one statement."""
    if not tokens:
        raise refusals.at(0, "there is no statement: write SELECT ...", "syntax")
    if len(tokens) > MOST_TOKENS:
        raise refusals.at(
            tokens[MOST_TOKENS].start, f"the query has more than {MOST_TOKENS:,} words and marks", "over-limit"
        )
    first = tokens[0]
    if first.word not in _BEGINS or (not first.word and first.text != "("):
        begin = f"{first.word} is not supported" if first.word else f"{first.text!r} begins no statement"
        raise refusals.at(
            first.start, f"{begin}: a statement is SELECT ..., EXPLAIN SELECT ... or CREATE VIEW name AS SELECT ..."
        )
    if first.word == "CREATE" and (what := tokens[1] if len(tokens) > 1 else first).word != "VIEW":
        reason = f"CREATE {what.text.upper()} is not supported: CREATE VIEW name AS SELECT ... defines a relation"
        raise refusals.at(what.start, reason)
    depth = denials = 0
    for token in tokens:
        if token.kind == "mark" and token.text[:1] in _MARKS and token.text not in ("!=", "||", "::"):
            raise refusals.at(token.start, f"{token.text} is not supported")
        depth += token.is_mark("(") - token.is_mark(")")
        denials = denials + 1 if token.word == "NOT" else 0
        if depth + denials > MOST_DEPTH:
            raise refusals.at(token.start, f"the query is nested more than {MOST_DEPTH} deep", "over-limit")
    _check_shape(tokens, refusals)
    _check_joins(tokens, refusals)
    for word, most in (("SELECT", MOST_SELECTS), ("JOIN", _MOST_JOINS)):
        found = [token for token in tokens if token.word == word]
        if len(found) > most:
            raise refusals.at(found[most].start, f"the query has more than {most} {word}s", "over-limit")


def without_last_semicolon(tokens: Sequence[Token], refusals: Refusals) -> int | None:
    """Return the offset of the semicolon that ends the statement, or None; refuse a second statement."""
    ends = [index for index, token in enumerate(tokens) if token.is_mark(";")]
    if not ends:
        return None
    for token in tokens[ends[0] :]:
        if not token.is_mark(";"):
            raise refusals.at(token.start, "a second statement is not supported: one is answered at a time")
    return tokens[ends[0]].start


def _check_shape(tokens: Sequence[Token], refusals: Refusals) -> None:
    """Refuse the first of what is misshapen."""
    codes = [_code(token, before) for before, token in zip([None, *tokens], tokens, strict=False)]
    starts = dict(zip(itertools.accumulate((len(code) + 1 for code in codes), initial=1), tokens, strict=False))
    shape = f" {' '.join(codes)} "
    found = [
        (match.start(1), reason, code)
        for code, patterns in _MISSHAPEN.items()
        for pattern, reason in patterns.items()
        if (match := re.search(pattern, shape))
    ]
    if found:
        at, reason, code = min(found)
        raise refusals.at(starts[at].start, reason, code)


def _code(token: Token, before: Token | None) -> str:
    if token.kind == "mark":
        return token.text
    is_qualified = before is not None and before.is_mark(".")
    if token.kind == "word":
        return "name" if is_qualified or token.word not in _RESERVED else "_".join(token.text.upper().split())
    return token.kind


def _check_joins(tokens: Sequence[Token], refusals: Refusals) -> None:
    """Refuse a JOIN without ON or USING before the next one: some parsers try all ways in which those to come could fit."""
    for index, token in enumerate(tokens):
        before = [one.word for one in tokens[max(index - 2, 0) : index]]
        if token.word != "JOIN" or "CROSS" in before[-1:] or "NATURAL" in before:
            continue
        depth = 0
        for one in tokens[index + 1 :]:
            depth += one.is_mark("(") - one.is_mark(")")
            if depth == 0 and one.word in ("ON", "USING"):
                break
            if depth < 0 or (depth == 0 and (one.word in _AFTER_JOIN or one.is_mark(",") or one.is_mark(";"))):
                raise refusals.at(token.start, _NO_CONDITION)
        else:
            raise refusals.at(token.start, _NO_CONDITION)

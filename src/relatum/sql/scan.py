"""The words of a query, looked over before it is parsed: what is not there is refused by name where it stands.

This also bounds the work of all that follows: a parser is recursive, and text from elsewhere may be as deep as it likes.
"""

from __future__ import annotations

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


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_AGGREGATES = _words("COUNT SUM AVG MIN MAX STDDEV VARIANCE MEDIAN ARRAY_AGG STRING_AGG GROUP_CONCAT LISTAGG")
_BEGINS = ("SELECT", "WITH", "CREATE", "")
_NULLS = "there are no NULLs here: a cell without a value is simply not known"
# Why what is not there is not, and all that is not for this reason; a word of several is found by its first.
_ABSENT = {
    "rows cannot be counted or summed up": "GROUP BY, HAVING, ROLLUP, CUBE",
    "there are no window functions": "QUALIFY, OVER, WINDOW, PARTITION",
    "names have no order and no patterns, only = and <>": (
        "LIKE, ILIKE, RLIKE, REGEXP, GLOB, SIMILAR TO, BETWEEN, COLLATE, ESCAPE"
    ),
    _NULLS: "IS, NULL, ISNULL, NOTNULL, NULLS, COALESCE, NULLIF, IFNULL",
    "outer joins need NULLs; there are JOIN, CROSS JOIN and NATURAL JOIN": "LEFT JOIN, RIGHT JOIN, FULL JOIN, OUTER JOIN",
    "LIMIT alone says how many of the best rows are shown": "OFFSET",
    "write LIMIT": "FETCH",
    "write LIMIT at the end": "TOP",
    "write EXISTS (SELECT ...)": "SEMI JOIN",
    "write NOT EXISTS (SELECT ...)": "ANTI JOIN",
    "write IN (SELECT ...)": "ANY, SOME",
    "write EXCEPT": "MINUS",
    "write JOIN": "STRAIGHT_JOIN, APPLY",
    "names have no order": "ASOF JOIN",
    "rows have no order": "POSITIONAL JOIN",
    "a query in FROM cannot refer to the tables beside it": "LATERAL",
    "a query cannot refer to itself": "RECURSIVE",
    "a cell holds one value": "UNNEST",
    "all rows are looked at": "TABLESAMPLE, SAMPLE",
    "rows come from tables": "VALUES, PIVOT, UNPIVOT",
    "results are sets, and DISTINCT is always implied": "ALL",
    "a column is shown as it stands": "CASE",
    "values are what they were in their table": "CAST",
    "values are names": "DIV, INTERVAL, CURRENT_DATE, CURRENT_TIME, CURRENT_TIMESTAMP",
    "a condition compares a column": "TRUE, FALSE, UNKNOWN",
    "there are AND, OR and NOT": "XOR",
    "nothing is written; CREATE VIEW defines a relation": "INTO",
    "nothing is written, so nothing is locked": "FOR",
    "nothing is written": "RETURNING",
    "a view is a definition": "MATERIALIZED",
    "a view stays with its run": "TEMPORARY, TEMP",
    "ORDER BY probability shows the best first": "ASC",
}
_REFUSED = {
    name.split()[0]: f"{name} is not there: {reason}" for reason, names in _ABSENT.items() for name in names.split(", ")
}
_AFTER_JOIN = _words("JOIN NATURAL CROSS INNER WHERE ORDER LIMIT UNION EXCEPT INTERSECT SELECT FROM AND OR")
_NO_CONDITION = "a JOIN needs ON or USING; every row with every row is CROSS JOIN"
_MARKS = frozenset([",", ".", "(", ")", "*", "=", "<>", "!=", "<", ">", "<=", ">=", "-", ";"])
_ARITHMETIC = frozenset(["+", "/", "%", "^", "&", "|", "~", "<<", ">>", "//", "**"])
_MARK_REASONS = {
    "==": "== is not there: write =",
    "<=>": f"<=> is not there: {_NULLS}",
    "||": "|| is not there: texts are not joined together",
    "::": ":: is not there: values are what they were in their table",
    "?": "parameters are not there: write the value itself",
    ":": "parameters are not there: write the value itself",
    "@": "parameters are not there: write the value itself",
    "$": "parameters are not there: write the value itself",
    "`": "` is not there: names are quoted with double quotes",
    "[": "[ is not there: names are quoted with double quotes",
    "{": "{ is not there",
    "!": "! is not there: write NOT",
}
# What may stand before a parenthesis; any other word there would be a function.
_BEFORE_PARENTHESIS = _words(
    "IN EXISTS AS FROM JOIN ON USING AND OR NOT WHERE SELECT DISTINCT UNION EXCEPT INTERSECT BY LIMIT EXPLAIN WITH"
)
# Words that are no names unless they are quoted.
_RESERVED = _words(
    "SELECT FROM WHERE AND OR NOT IN EXISTS JOIN ON USING NATURAL CROSS INNER UNION EXCEPT INTERSECT DISTINCT AS WITH LIMIT "
    "ORDER BY"
)
# What cannot follow a comma: some parsers let one too many pass.
_ENDS = _words("FROM WHERE UNION EXCEPT INTERSECT ORDER LIMIT GROUP JOIN ON USING NATURAL CROSS INNER AND OR SELECT")


def check_tokens(tokens: Sequence[Token], refusals: Refusals) -> None:
    """Refuse what is not there, more of anything than is read, and more than one statement."""
    if not tokens:
        raise refusals.at(0, "there is no statement: write SELECT ...", "syntax")
    if len(tokens) > MOST_TOKENS:
        raise refusals.at(
            tokens[MOST_TOKENS].start, f"the query has more than {MOST_TOKENS:,} words and marks", "over-limit"
        )
    first = tokens[0]
    if first.word not in _BEGINS or (not first.word and first.text != "("):
        what = f"{first.word} is not there" if first.word else f"{first.text!r} begins no statement"
        raise refusals.at(
            first.start, f"{what}: a statement is SELECT ..., EXPLAIN SELECT ... or CREATE VIEW name AS SELECT ..."
        )
    _check_create(tokens, refusals)
    depth = denials = 0
    for index, token in enumerate(tokens):
        before, behind = tokens[index - 1] if index else None, tokens[index + 1] if index + 1 < len(tokens) else None
        if token.kind == "mark":
            _check_mark(token, before, behind, refusals)
        elif token.kind == "word":
            _check_word(token, before, behind, refusals)
        depth += (token.text == "(") - (token.text == ")") if token.kind == "mark" else 0
        denials = denials + 1 if token.word == "NOT" else 0
        if depth + denials > MOST_DEPTH:
            raise refusals.at(token.start, f"the query is nested more than {MOST_DEPTH} deep", "over-limit")
    _check_joins(tokens, refusals)
    for word, most in (("SELECT", MOST_SELECTS), ("JOIN", _MOST_JOINS)):
        found = [token for token in tokens if token.word == word]
        if len(found) > most:
            raise refusals.at(found[most].start, f"the query has more than {most} {word}s", "over-limit")


def without_last_semicolon(tokens: Sequence[Token], refusals: Refusals) -> int | None:
    """Return the offset of the semicolon that ends the statement, or None; refuse a second statement."""
    ends = [index for index, token in enumerate(tokens) if token.kind == "mark" and token.text == ";"]
    if not ends:
        return None
    for token in tokens[ends[0] :]:
        if token.text != ";" or token.kind != "mark":
            raise refusals.at(token.start, "a second statement is not there: one is answered at a time")
    return tokens[ends[0]].start


def _check_create(tokens: Sequence[Token], refusals: Refusals) -> None:
    """Refuse to create anything but a view under a name."""
    if tokens[0].word != "CREATE":
        return
    what, behind = (tokens[index] if index < len(tokens) else tokens[0] for index in (1, 2))
    reason = "is not there: CREATE VIEW name AS SELECT ... defines a relation"
    if what.word != "VIEW":
        raise refusals.at(what.start, f"CREATE {what.text.upper()} {reason}")
    if behind.word == "IF":
        raise refusals.at(behind.start, f"IF NOT EXISTS {reason}")


def _check_joins(tokens: Sequence[Token], refusals: Refusals) -> None:
    """Refuse a JOIN without ON or USING before the next one: some parsers try all ways in which those to come could fit."""
    for index, token in enumerate(tokens):
        before = [one.word for one in tokens[max(index - 2, 0) : index]]
        if token.word != "JOIN" or "CROSS" in before[-1:] or "NATURAL" in before:
            continue
        depth = 0
        for one in tokens[index + 1 :]:
            depth += (one.text == "(") - (one.text == ")") if one.kind == "mark" else 0
            if depth == 0 and one.word in ("ON", "USING"):
                break
            if depth < 0 or (depth == 0 and (one.word in _AFTER_JOIN or (one.text in (",", ";") and one.kind == "mark"))):
                raise refusals.at(token.start, _NO_CONDITION)
        else:
            raise refusals.at(token.start, _NO_CONDITION)


def _check_mark(token: Token, before: Token | None, behind: Token | None, refusals: Refusals) -> None:
    if token.text not in _MARKS:
        raise refusals.at(token.start, _mark_reason(token.text))
    is_in = before is not None and before.word == "IN"  # which says more about it
    if token.text == "(" and not is_in and behind is not None and behind.kind == "mark" and behind.text == ")":
        raise refusals.at(token.start, "parentheses with nothing in them", "syntax")
    # A sign is part of a number where no value stands before it.
    after_value = before is not None and (
        before.kind in ("number", "text", "name")
        or before.text == ")"
        or (before.kind == "word" and before.word not in _BEFORE_PARENTHESIS)
    )
    if token.text == "-" and (behind is None or behind.kind != "number" or after_value):
        raise refusals.at(token.start, "arithmetic (-) is not there: values are names")
    ends = behind is None or behind.word in _ENDS or (behind.kind == "mark" and behind.text in (")", ",", ";"))
    if token.text == "," and ends:
        raise refusals.at(token.start, "a comma with nothing behind it", "syntax")
    is_name = before is not None and before.kind in ("word", "name") and before.word not in _RESERVED
    if token.text == "." and not is_name and not (behind is not None and behind.kind == "number"):
        raise refusals.at(token.start, "'.' is not expected here: a table's name stands before it", "syntax")
    begins = before is None or before.word in _RESERVED or (before.kind == "mark" and before.text in ("(", "."))
    if token.text == "," and begins:
        raise refusals.at(token.start, "a comma with nothing before it", "syntax")
    is_all = before is not None and (
        before.word in ("SELECT", "DISTINCT") or (before.kind == "mark" and before.text in (",", "."))
    )
    if token.text == "*" and not is_all:
        raise refusals.at(token.start, "arithmetic (*) is not there: values are names")


def _mark_reason(mark: str) -> str:
    if mark in _ARITHMETIC:
        return f"arithmetic ({mark}) is not there: values are names"
    return _MARK_REASONS.get(mark) or _MARK_REASONS.get(mark[:1], f"{mark} is not there")


def _check_word(token: Token, before: Token | None, behind: Token | None, refusals: Refusals) -> None:
    word = token.word
    if word.startswith("$"):
        raise refusals.at(token.start, _MARK_REASONS["$"])
    is_qualified = before is not None and before.kind == "mark" and before.text == "."
    if behind is not None and behind.kind == "mark" and behind.text == "(" and word not in _BEFORE_PARENTHESIS:
        raise _function(token, before, refusals)
    if word == "ORDER" and not is_qualified and token.text.split()[1:] == []:
        raise refusals.at(token.start, "ORDER needs BY; a name like this is written in double quotes", "syntax")
    if word == "BY" and not is_qualified:
        meets = before is not None and before.word in ("UNION", "EXCEPT", "INTERSECT")
        raise refusals.at(
            token.start, "BY is not there: columns meet by position" if meets else "'BY' is not expected here", "syntax"
        )
    if word == "LIMIT" and not is_qualified and behind is not None and behind.word not in ("", "ALL"):
        raise refusals.at(token.start, "LIMIT takes a whole number from 1 up", "syntax")
    if word == "AS" and not is_qualified:
        _check_alias(token, before, behind, refusals)
    if word in _REFUSED and not is_qualified:
        raise refusals.at(token.start, _REFUSED[word])
    opens = behind is not None and behind.kind == "mark" and behind.text == "("
    if word in ("IN", "EXISTS", "USING") and not is_qualified and not opens:
        raise refusals.at(token.start, f"{word} needs parentheses: {word} (...)", "syntax")


def _check_alias(token: Token, before: Token | None, behind: Token | None, refusals: Refusals) -> None:
    """Refuse AS without a name behind it, or without anything before it that could have one."""
    is_name = behind is not None and (behind.kind == "name" or (behind.kind == "word" and behind.word not in _RESERVED))
    is_query = behind is not None and (behind.text == "(" or behind.word in ("SELECT", "WITH"))
    if not is_name and not is_query:
        raise refusals.at(
            token.start, "AS needs a name behind it; a word of SQL as a name is written in double quotes", "syntax"
        )
    if before is None or before.word in _RESERVED or (before.kind == "mark" and before.text in ("(", ",")):
        raise refusals.at(token.start, "'AS' is not expected here", "syntax")


def _function(token: Token, before: Token | None, refusals: Refusals) -> SqlError:
    word = token.word
    if word in _AGGREGATES:
        return refusals.at(token.start, f"{word}(...) is not there: rows cannot be counted or summed up")
    if word == "EXPECTED_COUNT":
        reason = "the probabilities of rows do not add up to how many there are, as was measured (docs/sql.md)"
        return refusals.at(token.start, f"{token.text}(...) is not there: {reason}")
    if word in _REFUSED:
        return refusals.at(token.start, _REFUSED[word])
    if before is not None and before.word in ("AS", "WITH", "VIEW"):
        return refusals.at(token.start, f"{token.text}(...) is not there: columns are named in the SELECT itself, with AS")
    return refusals.at(token.start, f"{token.text}(...) is not there: there are no functions")

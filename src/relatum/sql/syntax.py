"""SQL text as a checked tree: with `binding`, which reads that tree, the only module that touches sqlglot.

Nodes of sqlglot pass only if they are listed here. A node that is not listed is refused, and so is a part of a listed node
that is not: nothing that a query says is ignored. What only stored rows can be asked is noted: over predicted ones it has no
meaning.
"""

from __future__ import annotations

import logging
import math
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from relatum.extras import optional
from relatum.sql.scan import MOST_CHARACTERS, Refusals, SqlError, Token, check_tokens, without_last_semicolon

with optional("sqlglot", extra="sql"):
    from sqlglot import TokenType, errors, exp, parse, tokenize

DIALECT = "duckdb"  # which reads known rows
SET_OPERATIONS = (exp.Union, exp.Except, exp.Intersect)
_RANGES: dict[type[exp.Expr], str] = {exp.GT: ">", exp.GTE: ">=", exp.LT: "<", exp.LTE: "<="}
# The parts that may be there, and the nodes that may have them; of values all parts are values again.
_ALLOWED: dict[str, tuple[type[exp.Expr], ...]] = {
    "expressions distinct from_ joins where with_ order limit offset group having": (exp.Select,),
    "this expression distinct with_ order limit offset": SET_OPERATIONS,
    "this alias order limit offset with_": (exp.Subquery,),
    "this kind side method on using": (exp.Join,),
    "this desc nulls_first": (exp.Ordered,),
    "this kind expression": (exp.Create,),
    "this expressions query": (exp.In,),
    "this expression": (exp.And, exp.Or, exp.EQ, exp.NEQ, *_RANGES),
    "this alias": (exp.CTE, exp.Table, exp.Alias),
    "this table": (exp.Column,),
    "this quoted": (exp.Identifier,),
    "this is_string": (exp.Literal,),
    "this": (exp.From, exp.TableAlias, exp.Where, exp.Neg, exp.Paren, exp.Not, exp.Exists, exp.Having),
    "expressions": (exp.With, exp.Order, exp.Tuple, exp.Distinct, exp.Group),
    "expression": (exp.Limit, exp.Offset),
    "": (exp.Star,),
}
_PARTS = {kind: frozenset(parts.split()) for parts, kinds in _ALLOWED.items() for kind in kinds}
# What is worked out of values; over the columns of one row it can be demanded of predicted rows, too.
_VALUES = (
    *(exp.Between, exp.Like, exp.ILike, exp.Escape, exp.Is, exp.Null, exp.Boolean, exp.NullSafeEQ, exp.NullSafeNEQ),
    *(exp.Add, exp.Sub, exp.Mul, exp.Div, exp.IntDiv, exp.Mod, exp.DPipe),
    *(exp.Cast, exp.TryCast, exp.DataType, exp.DataTypeParam, exp.Case, exp.If, exp.Coalesce, exp.Nullif),
    *(exp.Abs, exp.Round, exp.Floor, exp.Ceil, exp.Lower, exp.Upper, exp.Length, exp.Trim, exp.Substring),
    *(exp.Extract, exp.Year, exp.Month, exp.Day, exp.Var),
)
# Those of them that are conditions, beside = and <>.
PREDICATES = (exp.EQ, exp.NEQ, *_RANGES, exp.Between, exp.In, exp.Like, exp.ILike, exp.Is, exp.NullSafeEQ, exp.NullSafeNEQ)
_SUMS = (exp.Count, exp.Sum, exp.Avg, exp.Min, exp.Max, exp.Median, exp.Stddev, exp.Variance)
# What only stored rows can be asked, by the node or the part of one, and why.
_STORED_ONLY: dict[type[exp.Expr] | tuple[type[exp.Expr], str], str] = {
    **dict.fromkeys(
        _SUMS, "predicted rows cannot be counted or summed up: their probabilities do not add up to how many there are"
    ),
    (exp.Select, "group"): "predicted rows cannot be counted or summed up",
    (exp.Select, "having"): "predicted rows cannot be counted or summed up",
    (exp.Join, "side"): "a row that is missing may be predicted, so that an outer join has no end",
    exp.Offset: "predicted rows have no pages",
}
# What is said of parts that people write and that are not listed.
_REASONS: dict[tuple[type[exp.Expr], str], str] = {
    (exp.Column, "db"): "a column has at most one dot: table.column; a name with dots is written in double quotes",
    (exp.Table, "joins"): "parentheses around the tables of FROM are not supported",
}
_TOKEN_TYPES = {TokenType.STRING: "text", TokenType.NUMBER: "number", TokenType.IDENTIFIER: "name"}
_NO_UNION_ALL = "predicted rows are a set"
_LEADING = re.compile(r"(?:\s|--[^\n]*(?:\n|$)|/\*.*?\*/)*(explain)\b", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Name:
    """An identifier; unless it is quoted, its case does not matter."""

    text: str
    quoted: bool
    at: int


@dataclass(frozen=True, slots=True)
class ColumnName:
    """A column, with or without the table that it is of."""

    table: Name | None
    name: Name

    @property
    def at(self) -> int:
        """Where it begins."""
        return self.name.at if self.table is None else self.table.at


@dataclass(frozen=True, slots=True)
class Constant:
    """A text or a number."""

    text: str
    is_number: bool
    at: int


class Syntax:
    """What a statement says; anything but the queries of `docs/sql.md` is refused.

    Attributes:
        refusals: makes errors.
        query: what is selected.
        kind: `select`, `view` or `explain`.
        name: of the view.
        limit: how many rows at most.
        is_ordered: whether it says ORDER BY probability.
        stored_only: the first thing that only stored rows can be asked, as the error that says so; None if there is none.
        known: whether only known rows are wanted, or only new ones; None for all.
        least: the least probability of a row.
    """

    def __init__(self, text: str) -> None:
        self.refusals = Refusals(text)
        if len(text) > MOST_CHARACTERS:
            raise self.refusals.at(MOST_CHARACTERS, f"the query has more than {MOST_CHARACTERS:,} characters", "over-limit")
        if "\0" in text:
            raise self.refusals.at(text.index("\0"), "a NUL character is not supported")
        explained = _LEADING.match(text)
        # Blanks in its stead keep all offsets.
        self._text = text if explained is None else " " * explained.end(1) + text[explained.end(1) :]
        tokens = _tokens(self._text, self.refusals)
        end = without_last_semicolon(tokens, self.refusals)
        tokens = [token for token in tokens if end is None or token.start < end]
        check_tokens(tokens, self.refusals)
        self._by_start = {token.start: token for token in tokens}
        root = _parsed(self._text[:end], tokens, self.refusals)
        self.stored_only: SqlError | None = None
        self.name: Name | None = None
        self.kind = "select" if explained is None else "explain"
        if isinstance(root, exp.Create):
            if explained is not None:
                raise self.refused(root, "EXPLAIN CREATE is not supported: EXPLAIN SELECT ... shows how a query is answered")
            self._check(root)
            self.kind, self.name, root = "view", self.name_of(root.this.this), root.args["expression"]
            if root is None:
                raise self.refusals.at(self.name.at, "CREATE VIEW needs AS SELECT ...", "syntax")
        else:
            self._check(root)
        self.limit: int | None = None
        self.is_ordered = False
        self.root = root
        self.query = self._without_tail(root)
        self.known: bool | None = None
        self.least: float | None = None
        if isinstance(self.query, exp.Select):
            kept = self._without_attributes()
            self.query.set("where", exp.Where(this=exp.and_(*kept, copy=False)) if kept else None)

    def conditions(self, select: exp.Select) -> list[exp.Expr]:
        """Return what the WHERE of a SELECT demands; that of the outermost one is without what is of rows of the result."""
        where = select.args.get("where")
        return [] if where is None else [where.this]

    def term(self, node: exp.Expr) -> ColumnName | Constant:
        """Return the column or constant that a node is."""
        node, at = bare(node), self.offset(node)
        if isinstance(node, exp.Column):
            if isinstance(node.this, exp.Star):
                raise self.refusals.at(at, "* is no column")
            table = node.args.get("table")
            return ColumnName(None if table is None else self.name_of(table), self.name_of(node.this))
        sign = ""
        if isinstance(node, exp.Neg):
            sign, node = "-", node.this
        if isinstance(node, exp.Literal) and not (sign and node.args.get("is_string")):
            token = self._by_start.get(node.meta.get("start", -1))
            is_text = bool(node.args.get("is_string"))
            # A number stays as it is written: 007 is a code.
            written = str(node.this) if is_text or token is None else self._text[token.start : token.end]
            return Constant(sign + written, not is_text, at)
        if isinstance(node, exp.Subquery | exp.Select):
            raise self.for_stored_rows(node, "predicted rows are compared with no query as a value: write IN (SELECT ...)")
        if isinstance(node, exp.Tuple):
            raise self.refusals.at(at, "several values in parentheses stand only before IN (SELECT ...)")
        raise self.unlisted(node)

    def name_of(self, node: exp.Expr) -> Name:
        """Return the name that a node is."""
        if not isinstance(node, exp.Identifier):
            raise self.unlisted(node)
        if not node.this:
            raise self.refused(node, "a name is empty")
        return Name(str(node.this), bool(node.args.get("quoted")), self.offset(node))

    def no_condition(self, node: exp.Expr) -> SqlError:
        """Return why a node is no condition on what stands in rows."""
        if _is_known(node) or (type(node) in _RANGES and _range(node)[0] == "probability"):
            reason = "stands only in the WHERE of the outermost SELECT, alone or joined to the rest by AND"
            return self.refused(node, f"{'known' if _is_known(node) else 'probability'} {reason}")
        if isinstance(node, exp.Column):
            return self.refused(node, f"{node.name} alone is no condition: compare it with a value")
        return self.unlisted(node)

    def unlisted(self, node: exp.Expr) -> SqlError:
        """Return that what a node is does not belong to the language, at least not there."""
        if type(node) in _VALUES:
            return self.for_stored_rows(node, "nothing is worked out of predicted rows but conditions on their own values")
        return self.refused(node, f"{re.sub('(?<=[a-z])(?=[A-Z])', ' ', type(node).__name__).upper()} is not supported")

    def refused(self, node: exp.Expr, reason: str) -> SqlError:
        """Return an error about a node."""
        return self.refusals.at(self.offset(node), reason)

    def offset(self, node: exp.Expr) -> int:
        """Return where a node begins, as far as that is known: where the first of its names and constants stands."""
        starts = [one.meta["start"] for one in node.walk() if "start" in one.meta]
        if not starts and node.parent is not None:
            return self.offset(node.parent)
        return min(starts, default=0)

    def _check(self, root: exp.Expr) -> None:
        """Refuse nodes that are not listed, and parts of nodes that are not."""
        for node in root.walk(bfs=False):
            if type(node) in _STORED_ONLY:
                self._note(node, _STORED_ONLY[type(node)])
            if isinstance(node, SET_OPERATIONS) and node.args.get("distinct") is False:
                self._note(node.args["expression"], _NO_UNION_ALL)
            if type(node) in _VALUES or type(node) in _SUMS:
                continue
            allowed = _PARTS.get(type(node))
            if allowed is None:
                raise self.unlisted(node)
            if isinstance(node, exp.Table) and node.args.get("db"):
                whole = ".".join(str(one.this) for one in (node.args.get("catalog"), node.args["db"], node.this) if one)
                raise self.refused(node, f'{whole} has dots: a table whose name has some is written "{whole}"')
            for part, value in node.args.items():
                if value and (reason := _STORED_ONLY.get((type(node), part))):
                    self._note(value if isinstance(value, exp.Expr) else node, reason)
                if part not in allowed and not (value is None or value is False or value == []):
                    if reason := _REASONS.get((type(node), part)):
                        raise self.refused(node, reason)
                    listed = value if isinstance(value, list) else [value]
                    where = next((one for one in listed if isinstance(one, exp.Expr)), node)
                    raise self.refused(where, f"{part.strip('_').replace('_', ' ').upper()} is not supported")

    def _without_tail(self, root: exp.Expr) -> exp.Expr:
        """Return what is selected, without parentheses around it all, and note LIMIT and ORDER BY of the whole statement."""
        tail: list[exp.Expr] = []
        query = root
        while True:
            tail = tail or [query.args[part] for part in ("order", "limit") if query.args.get(part)]
            if not isinstance(query, exp.Subquery) or query.args.get("alias") or query.args.get("with_"):
                break
            query = query.this
        for node in root.find_all(exp.Limit, exp.Order, bfs=False):
            is_last = any(node is one for one in tail)
            if is_last and self.name is not None:
                raise self.refused(node, "a view has no LIMIT and no ORDER BY: they belong to the query that reads it")
            if not is_last:
                self._note(node, "a query within another one is a set where rows are predicted")
            elif isinstance(node, exp.Limit):
                self.limit = self._limit(node)
            elif self._is_by_probability(node):
                self.is_ordered = True
                node.pop()
            else:
                self._note(node, "predicted rows come by their probability")
        return query

    def _note(self, node: exp.Expr, reason: str) -> None:
        """Note that only stored rows can be asked something, if it is the first."""
        if self.stored_only is None:
            self.stored_only = self.for_stored_rows(node, reason)

    def for_stored_rows(self, node: exp.Expr, reason: str) -> SqlError:
        """Return the error that predicted rows cannot be asked something, though stored ones can."""
        return self.stored_rows_only(self.offset(node), reason)

    def stored_rows_only(self, at: int, reason: str) -> SqlError:
        """Return the same error for what stands at an offset of the text."""
        return self.refusals.at(at, reason, "stored-rows-only", remedy="add AND known to ask of stored rows alone")

    def _is_by_probability(self, node: exp.Expr) -> bool:
        """Return whether rows are wanted in the order of their probability; no other column stands beside it."""
        columns = [one.this for one in node.expressions]
        found = [
            isinstance(one, exp.Column) and not one.args.get("table") and one.name.lower() == "probability"
            for one in columns
        ]
        if any(found) and len(found) > 1:
            raise self.refused(node.expressions[1], "ORDER BY takes probability alone, or columns that are stored")
        if any(found) and node.expressions[0].args.get("desc") is False:
            raise self.refused(node, "the most probable rows come first: ASC is not supported here")
        return any(found)

    def _limit(self, node: exp.Expr) -> int:
        number = node.args["expression"]
        written = str(number.this) if isinstance(number, exp.Literal) and not number.args.get("is_string") else ""
        if not written.isdecimal() or int(written) < 1:
            raise self.refused(node, "LIMIT takes a whole number from 1 up")
        return int(written)

    def _without_attributes(self) -> list[exp.Expr]:
        """Return what the outermost WHERE demands, without what it says of rows of the result, which is noted."""
        where = self.query.args.get("where")
        kept: list[exp.Expr] = []
        for part in () if where is None else parts_of(where.this, exp.And):
            inner = bare(part.this) if isinstance(part, exp.Not) else part
            if _is_known(inner):
                if self.known is (part is not inner):
                    at = self.offset(part)
                    raise self.refusals.at(at, "no row can be: known and not known at once", "nothing-can-match")
                self.known = part is inner
            elif type(part) in _RANGES and _range(part)[0] == "probability":
                self.least = max(self._least(part), self.least or 0.0)
            else:
                kept.append(part)
        if self.name is not None and where is not None and (self.known is not None or self.least is not None):
            reason = "a view has no known and no probability: they belong to the query that reads it"
            raise self.refused(where.this, reason)
        return kept

    def _least(self, node: exp.Expr) -> float:
        _, mark, limit = _range(node)
        if mark not in (">", ">="):
            raise self.refused(node, "probability has no upper limit here: write probability > 0.8 or probability >= 0.8")
        number = self.term(limit)
        least = _number(number.text) if isinstance(number, Constant) and number.is_number else math.nan
        if not 0 <= least <= 1:
            raise self.refused(node, "probability is compared with a number from 0 to 1")
        return least if mark == ">=" else math.nextafter(least, math.inf)


def bare(node: exp.Expr) -> exp.Expr:
    """Return what stands in parentheses."""
    while isinstance(node, exp.Paren):
        node = node.this
    return node


def parts_of(node: exp.Expr, kind: type[exp.Expr]) -> list[exp.Expr]:
    """Return what AND or OR joins, from left to right: a chain of it is as deep as it is long."""
    found: list[exp.Expr] = []
    waiting = [node]
    while waiting:
        one = bare(waiting.pop())
        if isinstance(one, kind):
            waiting += [one.args["expression"], one.this]
        else:
            found.append(one)
    return found


def _is_known(node: exp.Expr) -> bool:
    if not isinstance(node, exp.Column) or node.args.get("table") or not isinstance(node.this, exp.Identifier):
        return False
    return not node.this.args.get("quoted") and node.name.lower() == "known"


def _range(node: exp.Expr) -> tuple[str, str, exp.Expr]:
    """Return the bare column that is compared by order, or else nothing, the mark behind it, and what follows."""
    left, right, mark = node.this, node.args["expression"], _RANGES[type(node)]
    if not isinstance(left, exp.Column):
        left, right, mark = right, left, mark.translate(str.maketrans("<>", "><"))
    return left.name.lower() if isinstance(left, exp.Column) and not left.args.get("table") else "", mark, right


def _tokens(text: str, refusals: Refusals) -> list[Token]:
    try:
        found = tokenize(text, read=DIALECT)
    except errors.TokenError:
        raise refusals.at(_unclosed(text), "a quote or comment is not closed", "syntax") from None
    return [_token(one.token_type, one.text, text, one.start, one.end + 1) for one in found]


def _token(kind: TokenType, content: str, text: str, start: int, end: int) -> Token:
    if kind in _TOKEN_TYPES:
        return Token(content, _TOKEN_TYPES[kind], start, end)
    written = text[start:end]
    return Token(written, "word" if written[:1].isalpha() or written[:1] in "_$" else "mark", start, end)


def _unclosed(text: str) -> int:
    """Return the offset of the quote or comment that nothing closes."""
    quoted = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|--[^\n]*|/\*.*?\*/|(?P<open>['\"]|/\*)|.", re.DOTALL)
    return next((match.start() for match in quoted.finditer(text) if match["open"]), 0)


def _parsed(text: str, tokens: Sequence[Token], refusals: Refusals) -> exp.Expr:
    try:
        with _unlogged():
            (root,) = parse(text, read=DIALECT)
    except errors.ParseError as error:
        known = error.errors[0] if error.errors else {}
        line, column = known.get("line") or 1, known.get("col") or 0  # of the end of a token
        behind = sum(len(one) + 1 for one in text.split("\n")[: line - 1]) + column
        token = next((one for one in tokens if one.start < behind <= one.end), tokens[-1])
        if token is tokens[-1]:
            raise refusals.at(
                token.start, f"{token.text!r} is not expected here, or something is missing behind it", "syntax"
            ) from None
        raise refusals.at(token.start, f"{token.text!r} is not expected here", "syntax") from None
    except RecursionError:
        raise refusals.at(0, "the query is nested too deep", "over-limit") from None
    if root is None:
        raise refusals.at(0, "there is no statement: write SELECT ...", "syntax")
    return root


def _number(text: str) -> float:
    """Return the number that a text is, or NaN: sqlglot takes more for numbers than there are, such as 0.0.5."""
    try:
        return float(text)
    except ValueError:
        return math.nan


@contextmanager
def _unlogged() -> Iterator[None]:
    """Let sqlglot write no lines of its own: what it does not know is refused here, with its position."""

    def nothing(record: logging.LogRecord) -> bool:
        return False

    logger = logging.getLogger("sqlglot")
    logger.addFilter(nothing)
    try:
        yield
    finally:
        logger.removeFilter(nothing)

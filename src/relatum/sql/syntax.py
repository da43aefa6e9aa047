"""SQL text as a tree: the only module that touches sqlglot, whose nodes pass only if they are listed here.

A node that is not listed is refused, and so is a part of a listed node that is not: nothing that a query says is ignored.
"""

from __future__ import annotations

import logging
import math
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from relatum.extras import optional
from relatum.sql.scan import MOST_CHARACTERS, Refusals, SqlError, Token, check_tokens, without_last_semicolon
from relatum.sql.tree import (
    All,
    Alternatives,
    AnySource,
    ColumnName,
    Comparison,
    Condition,
    Conjuncts,
    Constant,
    Exists,
    Joined,
    Known,
    Least,
    Membership,
    Name,
    NamedTable,
    Negation,
    Outermost,
    Query,
    Select,
    SelectItem,
    SetOperation,
    SubqueryTable,
    Term,
    WithQueries,
)

with optional("sqlglot", extra="sql"):
    from sqlglot import TokenType, errors, exp, parse, tokenize

# The nodes that may occur, and the parts of each that may be there.
_PARTS: dict[type[exp.Expr], frozenset[str]] = {
    exp.Select: frozenset({"expressions", "distinct", "from_", "joins", "where", "with_", "order", "limit"}),
    exp.Union: frozenset({"this", "expression", "distinct", "with_", "order", "limit"}),
    exp.Except: frozenset({"this", "expression", "distinct", "with_", "order", "limit"}),
    exp.Intersect: frozenset({"this", "expression", "distinct", "with_", "order", "limit"}),
    exp.Subquery: frozenset({"this", "alias", "order", "limit", "with_"}),
    exp.With: frozenset({"expressions"}),
    exp.CTE: frozenset({"this", "alias"}),
    exp.Distinct: frozenset(),
    exp.From: frozenset({"this"}),
    exp.Join: frozenset({"this", "kind", "method", "on", "using"}),
    exp.Table: frozenset({"this", "alias"}),
    exp.TableAlias: frozenset({"this"}),
    exp.Where: frozenset({"this"}),
    exp.Order: frozenset({"expressions"}),
    exp.Ordered: frozenset({"this", "desc", "nulls_first"}),
    exp.Limit: frozenset({"expression"}),
    exp.Create: frozenset({"this", "kind", "expression"}),
    exp.Alias: frozenset({"this", "alias"}),
    exp.Star: frozenset(),
    exp.Column: frozenset({"this", "table"}),
    exp.Identifier: frozenset({"this", "quoted"}),
    exp.Literal: frozenset({"this", "is_string"}),
    exp.Neg: frozenset({"this"}),
    exp.Paren: frozenset({"this"}),
    exp.Tuple: frozenset({"expressions"}),
    exp.And: frozenset({"this", "expression"}),
    exp.Or: frozenset({"this", "expression"}),
    exp.Not: frozenset({"this"}),
    exp.EQ: frozenset({"this", "expression"}),
    exp.NEQ: frozenset({"this", "expression"}),
    exp.GT: frozenset({"this", "expression"}),
    exp.GTE: frozenset({"this", "expression"}),
    exp.LT: frozenset({"this", "expression"}),
    exp.LTE: frozenset({"this", "expression"}),
    exp.In: frozenset({"this", "expressions", "query"}),
    exp.Exists: frozenset({"this"}),
}
_SET_OPERATIONS = (exp.Union, exp.Except, exp.Intersect)
_RANGES: dict[type[exp.Expr], str] = {exp.GT: ">", exp.GTE: ">=", exp.LT: "<", exp.LTE: "<="}
_TOKEN_TYPES = {TokenType.STRING: "text", TokenType.NUMBER: "number", TokenType.IDENTIFIER: "name"}
_LEADING = re.compile(r"(?:\s|--[^\n]*(?:\n|$)|/\*.*?\*/)*(explain)\b", re.IGNORECASE | re.DOTALL)
_ATTRIBUTE = "{} stands only in the WHERE of the outermost SELECT, alone or joined to the rest by AND"


def read_sql(text: str) -> Outermost:
    """Return what a statement says; anything but the queries of `docs/sql.md` is refused."""
    refusals = Refusals(text)
    if len(text) > MOST_CHARACTERS:
        raise refusals.at(MOST_CHARACTERS, f"the query has more than {MOST_CHARACTERS:,} characters", "over-limit")
    if "\0" in text:
        raise refusals.at(text.index("\0"), "a NUL character is not there")
    explained = _LEADING.match(text)
    # Blanks in its stead keep all offsets.
    plain = text if explained is None else " " * explained.end(1) + text[explained.end(1) :]
    tokens = _tokens(plain, refusals)
    end = without_last_semicolon(tokens, refusals)
    tokens = [token for token in tokens if end is None or token.start < end]
    check_tokens(tokens, refusals)
    root = _parsed(plain[:end], tokens, refusals)
    return _Reader(plain, tokens, refusals).statement(root, explain=explained is not None)


def _tokens(text: str, refusals: Refusals) -> list[Token]:
    try:
        found = tokenize(text)
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
            (root,) = parse(text)
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


class _Reader:
    """Turns the nodes of one text into a tree."""

    def __init__(self, text: str, tokens: Sequence[Token], refusals: Refusals) -> None:
        self._text, self._tokens, self._refusals = text, tokens, refusals
        self._by_start = {token.start: token for token in tokens}

    def statement(self, root: exp.Expr, *, explain: bool) -> Outermost:
        name = None
        if isinstance(root, exp.Create):
            if explain:
                raise self._refused(root, "EXPLAIN CREATE is not there: EXPLAIN SELECT ... shows how a query is answered")
            self._check(root)
            name, root = self._table_name(root.this), root.args["expression"]
            if root is None:
                raise self._refusals.at(name.at, "CREATE VIEW needs AS SELECT ...", "syntax")
        limit = at = None
        is_ordered = False
        while True:  # parentheses around it all
            order, most = root.args.get("order"), root.args.get("limit")
            if order is not None:
                is_ordered, at = self._order(order), self._offset(order)
            if most is not None:
                limit, at = self._limit(most), self._offset(most)
            if not isinstance(root, exp.Subquery) or root.args.get("alias") or root.args.get("with_"):
                break
            if order is not None or most is not None:
                inner = root.this
                if inner.args.get("order") or inner.args.get("limit"):
                    raise self._refused(
                        inner.args.get("limit") or inner.args.get("order"), "a second LIMIT or ORDER BY is not there"
                    )
            self._check(root)
            root = root.this
        kind = "view" if name is not None else "explain" if explain else "select"
        return Outermost(self._query(root, outermost=True), kind, name, limit, is_ordered, at)

    def _query(self, node: exp.Expr, *, outermost: bool = False) -> Query:
        if isinstance(node, exp.Subquery) and not node.args.get("alias"):
            self._check(node)
            self._refuse_tail(node)
            return self._with(node, self._query(node.this))
        if not isinstance(node, (exp.Select, *_SET_OPERATIONS)):
            raise self._unlisted(node)
        self._check(node)
        if not outermost:
            self._refuse_tail(node)
        if isinstance(node, exp.Select):
            return self._with(node, self._select(node, outermost=outermost))
        spine = []
        left: exp.Expr = node
        while isinstance(left, _SET_OPERATIONS):  # A UNION B UNION C is as deep as it is long
            spine.append(left)
            left = left.this
        found = self._query(left)
        for one in reversed(spine):
            self._check(one)
            if one is not node:
                self._refuse_tail(one)
            right = self._query(one.args["expression"])
            found = self._with(one, SetOperation(one.key, found, right, self._offset(one.args["expression"])))
        return found

    def _with(self, node: exp.Expr, query: Query) -> Query:
        named = node.args.get("with_")
        if named is None:
            return query
        self._check(named)
        listed = []
        for one in named.expressions:
            self._check(one)
            self._check(one.args["alias"])
            listed.append((self._name(one.args["alias"].this), self._query(one.this)))
        return WithQueries(tuple(listed), query, self._offset(named))

    def _select(self, node: exp.Select, *, outermost: bool) -> Select:
        if node.args.get("distinct"):
            self._check(node.args["distinct"])
        source = node.args.get("from_")
        if source is None:
            raise self._refused(node, "a SELECT without FROM is not there: rows come from tables")
        self._check(source)
        if not node.expressions:
            raise self._refused(node, "a SELECT without columns is not there")
        sources = [Joined(self._source(source.this), "first"), *(self._joined(one) for one in node.args.get("joins") or ())]
        where = node.args.get("where")
        if where is not None:
            self._check(where)
        condition = None if where is None else self._condition(where.this, attributes=outermost)
        items = tuple(self._item(one) for one in node.expressions)
        return Select(items, tuple(sources), condition, self._offset(node))

    def _item(self, node: exp.Expr) -> SelectItem:
        alias = None
        if isinstance(node, exp.Alias):
            self._check(node)
            alias, node = self._name(node.args["alias"]), node.this
        at = self._offset(node)
        while isinstance(node, exp.Paren):
            self._check(node)
            node = node.this
        if isinstance(node, exp.Star):
            self._check(node)
            return SelectItem(All(None, at), alias, at)
        if isinstance(node, exp.Column) and isinstance(node.this, exp.Star):
            self._check(node)
            self._check(node.this)
            return SelectItem(All(self._name(node.args["table"]), at), alias, at)
        return SelectItem(self._term(node), alias, at)

    def _source(self, node: exp.Expr) -> AnySource:
        if isinstance(node, exp.Subquery):
            self._check(node)
            self._refuse_tail(node)
            if isinstance(node.this, exp.Table):
                raise self._refused(node, "parentheses around the tables of FROM are not there")
            if node.args.get("alias") is None:
                raise self._refused(node, "a query in FROM needs a name: (SELECT ...) AS name")
            self._check(node.args["alias"])
            query = self._with(node, self._query(node.this))
            return SubqueryTable(query, self._name(node.args["alias"].this), self._offset(node))
        if not isinstance(node, exp.Table):
            raise self._unlisted(node)
        alias = node.args.get("alias")
        if alias is not None:
            self._check(alias)
        name = self._table_name(node)
        return NamedTable(name, None if alias is None else self._name(alias.this))

    def _table_name(self, node: exp.Expr) -> Name:
        if not isinstance(node, exp.Table):
            raise self._refused(node, "a list of columns behind the name is not there: name them in the SELECT, with AS")
        parts = [node.args[part] for part in ("catalog", "db") if node.args.get(part)]
        if parts:
            whole = ".".join(str(one.this) for one in [*parts, node.this])
            raise self._refused(parts[0], f'{whole} has dots: a table whose name has some is written "{whole}"')
        self._check(node)
        return self._name(node.this)

    def _joined(self, node: exp.Join) -> Joined:
        self._check(node)
        source = self._source(node.this)
        kind, method = str(node.args.get("kind") or ""), str(node.args.get("method") or "")
        on, using = node.args.get("on"), node.args.get("using")
        if kind not in ("", "CROSS", "INNER") or method not in ("", "NATURAL"):
            raise self._refusals.at(source.at, f"{method or kind} JOIN is not there")
        if bool(on) + bool(using) + (kind == "CROSS") + (method == "NATURAL") > 1:
            raise self._refusals.at(source.at, "a join has one of ON, USING, NATURAL and CROSS")
        if method:
            return Joined(source, "natural")
        if kind == "CROSS":
            return Joined(source, "cross")
        if on is not None:
            return Joined(source, "on", self._condition(on, attributes=False))
        if using:
            return Joined(source, "using", using=tuple(self._name(one) for one in using))
        return Joined(source, "first")

    def _condition(self, node: exp.Expr, *, attributes: bool) -> Condition:
        """Return a condition; `attributes`, which are of a row of the result, only stand beside AND at the top."""
        while isinstance(node, exp.Paren):
            self._check(node)
            node = node.this
        at = self._offset(node)
        if isinstance(node, exp.And | exp.Or):
            joined = [self._condition(one, attributes=attributes and isinstance(node, exp.And)) for one in self._parts(node)]
            return Conjuncts(tuple(joined), at) if isinstance(node, exp.And) else Alternatives(tuple(joined), at)
        if isinstance(node, exp.Not):
            self._check(node)
            return Negation(self._condition(node.this, attributes=attributes and self._is_known(node.this)), at)
        if type(node) in _RANGES:
            return self._least(node, attributes=attributes)
        if isinstance(node, exp.Column):
            if not self._is_known(node):
                raise self._refusals.at(at, f"{node.name} alone is no condition: compare it with = or <>")
            if not attributes:
                raise self._refusals.at(at, _ATTRIBUTE.format("known"))
            return Known(at)
        if isinstance(node, exp.EQ | exp.NEQ):
            self._check(node)
            return Comparison(self._term(node.this), self._term(node.args["expression"]), isinstance(node, exp.EQ), at)
        if isinstance(node, exp.In):
            return self._membership(node)
        if isinstance(node, exp.Exists):
            self._check(node)
            return Exists(self._query(node.this), at)
        raise self._unlisted(node)

    def _parts(self, node: exp.Expr) -> list[exp.Expr]:
        """Return what AND or OR joins, from left to right: a chain of it is as deep as it is long."""
        found: list[exp.Expr] = []
        kind, waiting = type(node), [node]
        while waiting:
            one = waiting.pop()
            if type(one) is kind:
                self._check(one)
                waiting += [one.args["expression"], one.this]
            else:
                found.append(one)
        return found

    def _is_known(self, node: exp.Expr) -> bool:
        while isinstance(node, exp.Paren):
            node = node.this
        if not isinstance(node, exp.Column) or node.args.get("table") or not isinstance(node.this, exp.Identifier):
            return False
        return not node.this.args.get("quoted") and node.name.lower() == "known"

    def _least(self, node: exp.Expr, *, attributes: bool) -> Condition:
        self._check(node)
        left, right, mark = node.this, node.args["expression"], _RANGES[type(node)]
        if not isinstance(left, exp.Column):
            left, right, mark = right, left, mark.translate(str.maketrans("<>", "><"))
        at = self._offset(node)
        if not isinstance(left, exp.Column) or left.args.get("table") or left.name.lower() != "probability":
            raise self._refusals.at(
                at,
                f"{_RANGES[type(node)]} is not there: names have no order, only = and <>; a range is of probability alone",
            )
        if not attributes:
            raise self._refusals.at(at, _ATTRIBUTE.format("probability"))
        if mark not in (">", ">="):
            raise self._refusals.at(at, "probability has no upper limit here: write probability > 0.8 or probability >= 0.8")
        number = self._term(right)
        least = _number(number.text) if isinstance(number, Constant) and number.is_number else math.nan
        if not 0 <= least <= 1:
            raise self._refusals.at(at, "probability is compared with a number from 0 to 1")
        return Least(least if mark == ">=" else math.nextafter(least, math.inf), at)

    def _membership(self, node: exp.In) -> Condition:
        self._check(node)
        left, at = node.this, self._offset(node)
        query = node.args.get("query")
        if query is None:
            term = self._term(left)
            listed = [Comparison(term, self._term(one), True, self._offset(one)) for one in node.expressions]
            if not listed:
                raise self._refusals.at(at, "IN () without values is not there")
            return listed[0] if len(listed) == 1 else Alternatives(tuple(listed), at)
        row: Sequence[exp.Expr] = [left]
        if isinstance(left, exp.Tuple):
            self._check(left)
            row = left.expressions
        return Membership(tuple(map(self._term, row)), self._query(query), at)

    def _term(self, node: exp.Expr) -> Term:
        while isinstance(node, exp.Paren):
            self._check(node)
            node = node.this
        at = self._offset(node)
        if isinstance(node, exp.Column):
            if node.args.get("db"):
                raise self._refusals.at(
                    at, "a column has at most one dot: table.column; a name with dots is written in double quotes"
                )
            self._check(node)
            if isinstance(node.this, exp.Star):
                raise self._refusals.at(at, "* is no column")
            table = node.args.get("table")
            return ColumnName(None if table is None else self._name(table), self._name(node.this))
        sign = ""
        if isinstance(node, exp.Neg):
            self._check(node)
            sign, node = "-", node.this
        if isinstance(node, exp.Literal) and not (sign and node.args.get("is_string")):
            self._check(node)
            token = self._by_start.get(node.meta.get("start", -1))
            is_text = bool(node.args.get("is_string"))
            # A number stays as it is written: 007 is a code.
            written = str(node.this) if is_text or token is None else self._text[token.start : token.end]
            return Constant(sign + written, not is_text, at)
        if isinstance(node, exp.Subquery | exp.Select):
            raise self._refusals.at(at, "a query as a value is not there: write IN (SELECT ...) or a join")
        if isinstance(node, exp.Tuple):
            raise self._refusals.at(at, "several values in parentheses stand only before IN (SELECT ...)")
        raise self._unlisted(node)

    def _name(self, node: exp.Expr) -> Name:
        if not isinstance(node, exp.Identifier):
            raise self._unlisted(node)
        self._check(node)
        if not node.this:
            raise self._refused(node, "a name is empty")
        return Name(str(node.this), bool(node.args.get("quoted")), self._offset(node))

    def _order(self, node: exp.Expr) -> bool:
        self._check(node)
        for one in node.expressions:
            self._check(one)
            column = one.this
            if not isinstance(column, exp.Column) or column.args.get("table") or column.name.lower() != "probability":
                raise self._refused(one, "ORDER BY is there for probability alone: names have no order")
        if len(node.expressions) > 1:
            raise self._refused(node.expressions[1], "ORDER BY is there for one column, probability")
        return True

    def _limit(self, node: exp.Expr) -> int:
        self._check(node)
        number = node.args["expression"]
        if (
            not isinstance(number, exp.Literal)
            or number.args.get("is_string")
            or not str(number.this).isdecimal()
            or int(number.this) < 1
        ):
            raise self._refused(node, "LIMIT takes a whole number from 1 up")
        return int(number.this)

    def _refuse_tail(self, node: exp.Expr) -> None:
        for part in ("limit", "order"):
            if (found := node.args.get(part)) is not None:
                name = "LIMIT" if part == "limit" else "ORDER BY"
                raise self._refused(
                    found, f"{name} stands only at the end of the whole statement: a query within it is a set"
                )

    def _check(self, node: exp.Expr) -> None:
        """Refuse a node that is not listed, or that has a part that is not."""
        allowed = _PARTS.get(type(node))
        if allowed is None:
            raise self._unlisted(node)
        for part, value in node.args.items():
            if part not in allowed and not (value is None or value is False or value == []):
                where = next(
                    (one for one in (value if isinstance(value, list) else [value]) if isinstance(one, exp.Expr)), node
                )
                raise self._refused(where, f"{part.strip('_').replace('_', ' ').upper()} is not there")

    def _unlisted(self, node: exp.Expr) -> SqlError:
        return self._refused(node, f"{re.sub('(?<=[a-z])(?=[A-Z])', ' ', type(node).__name__).upper()} is not there")

    def _refused(self, node: exp.Expr, reason: str) -> SqlError:
        return self._refusals.at(self._offset(node), reason)

    def _offset(self, node: exp.Expr) -> int:
        """Return where a node begins, as far as that is known: where the first of its names and constants stands."""
        starts = [one.meta["start"] for one in node.walk() if "start" in one.meta]
        if not starts and node.parent is not None:
            return self._offset(node.parent)
        return min(starts, default=0)

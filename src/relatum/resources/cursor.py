"""Where the cursor is in a text that is being typed: in which word, and what can stand there.

A text may be a question, `sold(drew, ?, bo`, an expression, `select[item = bo`, or SQL; it is looked at as far as it goes,
and is never refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from relatum.algebra.expression import OPERATIONS
from relatum.data.schema import RelationSchema, Schema

_SIGNS = re.compile(r'"(?:[^"\\]|\\.)*"?|[,()\[\]=]|[^,()\[\]="]+')
# A word of algebra, or a relation of such a name, is followed by a bracket.
_SQL_BEGINS = re.compile(
    r"\s*(?:select\s*(?=[\w\"'*\s])(?!\s*\[)|(?:explain|with|create|insert|update|delete|drop|alter)\s+(?!\())", re.I
)
_SQL_SIGNS = re.compile(r"'(?:[^']|'')*'?|\"(?:[^\"]|\"\")*\"?|[A-Za-z_]\w*|<>|!=|\s+|.", re.DOTALL)
_SQL_WORDS = frozenset(
    (
        *("select", "from", "where", "and", "or", "not", "in", "as", "on", "join", "inner", "left", "outer", "cross"),
        *("union", "except", "intersect", "all", "exists", "order", "by", "limit", "distinct", "known", "probability"),
        *("explain", "with", "is", "null", "between", "like"),
    )
)
_WORD_RIGHT = re.compile(r"[^\s,()\[\]=\"']*")


@dataclass(frozen=True, slots=True)
class Spot:
    """Where a name is being typed."""

    start: int  # where the word begins, its quote included
    end: int  # where it ends
    typed: str  # what is there of it, without quotes
    expects: str  # `relation`, `role` or `entity`
    # the columns that an entity would stand in, or the relations whose roles fit (position None)
    columns: tuple[tuple[str, int | None], ...] = ()
    language: str = "algebra"  # `sql` or `algebra`, by which names are quoted
    operations: bool = False  # whether the name of an operation can stand here
    argument: bool = False  # whether a role and an equals sign can begin here


def is_sql(text: str) -> bool:
    """Return whether a text is SQL, by its first word."""
    return bool(_SQL_BEGINS.match(text))


def spot_of(text: str, cursor: int, schema: Schema, tables: Mapping[str, RelationSchema]) -> Spot:
    """Return where the cursor is.

    The cursor has so many characters before it. Questions and expressions name relations of the schema, SQL the tables.
    """
    cursor = max(0, min(cursor, len(text)))
    return _spot_of_sql(text, cursor, tables) if is_sql(text) else _spot_of_algebra(text, cursor, schema)


@dataclass(slots=True)
class _Bracket:
    """An open bracket: its sign, the word before it, how many commas there were since, and what stands before an =."""

    sign: str
    before: str
    commas: int = 0
    named: str | None = None


def _spot_of_algebra(text: str, cursor: int, schema: Schema) -> Spot:
    stack, word, last = list[_Bracket](), "", cursor
    for start, sign in _tokens(_SIGNS, text[:cursor]):
        last = start if sign not in tuple(",()[]=") else start + 1
        if sign in ("(", "["):
            stack.append(_Bracket(sign, word))
            word = ""
        elif sign in (")", "]"):
            word = stack.pop().before if stack else ""
            word = word if sign == "]" else ")"  # `project[0]` stands before a bracket as `project` does
        elif sign == "," and stack:
            stack[-1].commas, stack[-1].named, word = stack[-1].commas + 1, None, ""
        elif sign == "=" and stack:
            stack[-1].named, word = word.rstrip("!").strip(), ""
        else:
            word = _unquoted(sign)
    typed, start, end = _word(text, last, cursor, '"')
    top = stack[-1] if stack else None
    if top is None or (top.sign == "(" and (not top.before or top.before in OPERATIONS)):
        return Spot(start, end, typed, "relation", operations=True)
    if top.sign == "(":
        return _argument(Spot(start, end, typed, "entity"), top, schema)
    relations = _relations_in(text, schema)
    if top.named is None or top.before == "join":
        return Spot(start, end, typed, "role", tuple((one.name, None) for one in relations))
    columns = [(one.name, position) for one in relations if (position := _position(one, top.named)) is not None]
    return Spot(start, end, typed, "entity", tuple(columns))


def _argument(spot: Spot, bracket: _Bracket, schema: Schema) -> Spot:
    """Return the spot of an argument of a relation."""
    if bracket.before not in schema:
        return spot
    relation = schema[bracket.before]
    position = bracket.commas if bracket.named is None else _position(relation, bracket.named)
    if position is None or position >= relation.arity:
        return spot
    argument = bracket.named is None and bool(relation.roles)
    return Spot(spot.start, spot.end, spot.typed, "entity", ((relation.name, position),), argument=argument)


def _spot_of_sql(text: str, cursor: int, tables: Mapping[str, RelationSchema]) -> Spot:
    tokens = [(start, token) for start, token in _tokens(_SQL_SIGNS, text[:cursor]) if not token.isspace()]
    named = _tables_in(text, tables)
    inside = tokens[-1] if tokens and tokens[-1][0] + len(tokens[-1][1]) == cursor else None
    before = [token for _, token in (tokens[:-1] if inside is not None and _is_word(inside[1]) else tokens)]
    last = inside[0] if inside is not None and _is_word(inside[1]) else cursor
    quote = "'" if text[last : last + 1] == "'" else '"'
    typed, start, end = _word(text, last, cursor, quote)
    if quote == "'" or (before and before[-1] in ("=", "<>", "!=")):
        column = next((one for one in reversed(before) if _is_word(one) and one.lower() not in _SQL_WORDS), "")
        found = [(one.name, at) for one in named.values() if (at := _position(one, _unquoted(column))) is not None]
        return Spot(start, end, typed, "entity", tuple(found), "sql")
    keyword = next((one.lower() for one in reversed(before) if one.lower() in _SQL_WORDS and one != ","), "")
    if keyword in ("from", "join") and before[-1].lower() in ("from", "join", ","):
        return Spot(start, end, typed, "relation", language="sql")
    chosen = list(named.values())
    if before and before[-1] == "." and len(before) > 1 and _unquoted(before[-2]) in named:
        chosen = [named[_unquoted(before[-2])]]
    return Spot(start, end, typed, "role", tuple(dict.fromkeys((one.name, None) for one in chosen)), "sql")


def _tables_in(text: str, tables: Mapping[str, RelationSchema]) -> dict[str, RelationSchema]:
    """Return the tables that a query names, by their names and by what it calls them."""
    found: dict[str, RelationSchema] = {}
    tokens = [token for _, token in _tokens(_SQL_SIGNS, text) if not token.isspace()]
    for number, token in enumerate(tokens):
        if (name := _unquoted(token)) not in tables or not number:
            continue
        if tokens[number - 1].lower() not in ("from", "join", ","):
            continue
        found[name] = tables[name]
        rest = [one for one in tokens[number + 1 : number + 3] if one.lower() != "as"]
        if rest and _is_word(rest[0]) and rest[0].lower() not in _SQL_WORDS:
            found[_unquoted(rest[0])] = tables[name]
    return found


def _relations_in(text: str, schema: Schema) -> list[RelationSchema]:
    """Return the relations that a text names, each once."""
    words = (_unquoted(token) for _, token in _tokens(_SIGNS, text))
    return [schema[name] for name in dict.fromkeys(words) if name in schema]


def _position(relation: RelationSchema, role: str) -> int | None:
    if relation.roles and role in relation.roles:
        return relation.roles.index(role)
    number = role.removeprefix("position_")
    return int(number) if number.isdecimal() and len(number) < 4 and int(number) < relation.arity else None


def _tokens(signs: re.Pattern[str], text: str) -> Iterator[tuple[int, str]]:
    for found in signs.finditer(text):
        yield found.start(), found[0]


def _word(text: str, start: int, cursor: int, quote: str) -> tuple[str, int, int]:
    """Return what is typed of the word between start and cursor, where it begins and where it ends."""
    start += len(text[start:cursor]) - len(text[start:cursor].lstrip())
    typed = text[start:cursor]
    if typed.startswith(quote):
        end = cursor + 1 if text[cursor : cursor + 1] == quote else cursor
        inner = typed[1:].replace("''", "'") if quote == "'" else re.sub(r"\\(.)", r"\1", typed[1:])
        return inner, start, end
    found = _WORD_RIGHT.match(text, cursor)
    return typed, start, found.end() if found else cursor


def _is_word(token: str) -> bool:
    return bool(token) and (token[0].isalpha() or token[0] in "_\"'")


def _unquoted(token: str) -> str:
    if token.startswith('"'):
        return re.sub(r"\\(.)", r"\1", token[1:].removesuffix('"')).replace('""', '"')
    return token.strip()

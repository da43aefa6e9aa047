"""Random requests that are expensive: deep and broad expressions, long joins, many alternatives, doubled subqueries."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from dataclasses import dataclass

_LEAVES = ("sold", "bought", "permute[1, 0, 2](sold)", "permute[2, 1, 0](bought)", "permute[0, 2, 1](sold)")
_ENTITIES = ("alex", "drew", "kim", "tea", "book", "coffee", "lamp")
_TEXT, _DEPTH = 9_500, 38  # what a server still takes


@dataclass(frozen=True)
class Asked:
    """A request about one of the prepared runs; `language` is `algebra`, `sql`, or what else is asked in another way."""

    kind: str
    run: str
    language: str
    text: str


def expensive(rng: random.Random) -> Asked:
    """Return a request of a random kind."""
    kind = rng.choice(list(_KINDS))
    return _KINDS[kind](kind, rng)


def _algebra(make: Callable[[random.Random], str]) -> Callable[[str, random.Random], Asked]:
    def asked(kind: str, rng: random.Random) -> Asked:
        text = make(rng)
        if rng.random() < 0.5 and text.count("(") < _TEXT // 8:
            text = f"project[{rng.choice(('0', '1', '0, 2', '2, 1'))}]({text})"
        return Asked(kind, "run", "algebra", text)

    return asked


def _chain(operations: tuple[str, ...]) -> Callable[[random.Random], str]:
    def text(rng: random.Random) -> str:
        found = rng.choice(_LEAVES)
        for _ in range(rng.randint(8, _DEPTH - 4)):
            found = f"{rng.choice(operations)}({found}, {rng.choice(_LEAVES)})"
        return found

    return text


def _balanced(operations: tuple[str, ...]) -> Callable[[random.Random], str]:
    def text(rng: random.Random) -> str:
        leaves = [rng.choice(_LEAVES[: rng.randint(2, 5)]) for _ in range(rng.choice((16, 32, 64, 128, 256)))]
        while len(leaves) > 1:
            pairs = zip(leaves[::2], leaves[1::2], strict=True)
            leaves = [f"{rng.choice(operations)}({left}, {right})" for left, right in pairs]
        return leaves[0][:_TEXT] if len(leaves[0]) <= _TEXT else "difference(sold, bought)"

    return text


def _joins(rng: random.Random) -> str:
    found, arity = rng.choice(_LEAVES), 3
    for _ in range(rng.randint(2, 14)):
        position, with_own = rng.randrange(arity), rng.randrange(3)
        if rng.random() < 0.2:
            found, arity = f"product({found}, {rng.choice(_LEAVES)})", arity + 3
        else:
            found, arity = f"join[{position} = {with_own}]({found}, {rng.choice(_LEAVES)})", arity + 2
    return f"project[{rng.randrange(arity)}]({found})"


def _sql(make: Callable[[random.Random], str]) -> Callable[[str, random.Random], Asked]:
    return lambda kind, rng: Asked(kind, "run", "sql", ("EXPLAIN " if rng.random() < 0.1 else "") + make(rng))


def _long_join(rng: random.Random) -> str:
    names = [f"t{number}" for number in range(rng.randint(3, 16))]
    tables = ", ".join(f"{rng.choice(('sold', 'bought'))} {name}" for name in names)
    columns = ("seller", "buyer", "item")
    met = [f"{one}.{rng.choice(columns)} {rng.choice('==!')}= {other}.{rng.choice(columns)}" for one, other in _near(names)]
    where = " AND ".join(one.replace("==", "=") for one in met)
    return f"SELECT {names[0]}.seller, {names[-1]}.buyer FROM {tables} WHERE {where}"


def _near(names: list[str]) -> list[tuple[str, str]]:
    return list(itertools.pairwise(names))


def _alternatives(rng: random.Random) -> str:
    each = [
        f"(s.item = '{rng.choice(_ENTITIES)}' AND s.buyer <> s.seller AND s.seller <> '{rng.choice(_ENTITIES)}')"
        for _ in range(rng.randint(5, 60))
    ]
    return "SELECT s.seller, s.buyer FROM sold s WHERE " + " OR ".join(each)


def _arms(rng: random.Random) -> str:
    arms = [
        f"SELECT seller FROM {rng.choice(('sold', 'bought'))} x WHERE item = '{rng.choice(_ENTITIES)}' AND "
        f"{rng.choice(('NOT ', ''))}EXISTS (SELECT * FROM bought b WHERE b.buyer = x.seller AND b.item IN ('book', 'tea'))"
        for _ in range(rng.randint(3, 55))
    ]
    return f" {rng.choice(('UNION', 'UNION', 'EXCEPT', 'INTERSECT'))} ".join(arms)[:_TEXT]


def _listed(rng: random.Random) -> str:
    listed = ", ".join(f"'{rng.choice(_ENTITIES)}'" for _ in range(rng.randint(20, 900)))
    return f"SELECT seller, buyer FROM sold WHERE item {rng.choice(('IN', 'NOT IN'))} ({listed})"


def _nested(rng: random.Random) -> str:
    found = "SELECT seller FROM sold WHERE item = 'tea'"
    for _ in range(rng.randint(3, 30)):
        word = rng.choice(("IN", "NOT IN"))
        found = (
            f"SELECT {rng.choice(('seller', 'buyer'))} FROM {rng.choice(('sold', 'bought'))} WHERE buyer {word} ({found})"
        )
    return found


def _doubled(rng: random.Random) -> str:
    steps = rng.randint(3, 28)
    made = ["a0 AS (SELECT seller, buyer FROM sold)"]
    for number in range(1, steps):
        before = f"a{number - 1}"
        word = rng.choice(("UNION", "EXCEPT", "INTERSECT", "JOIN"))
        made.append(
            f"a{number} AS (SELECT x.seller, y.buyer FROM {before} x JOIN {before} y ON x.buyer = y.seller)"
            if word == "JOIN"
            else f"a{number} AS (SELECT x.seller, x.buyer FROM {before} x {word} "
            f"SELECT y.buyer AS seller, y.seller AS buyer FROM {before} y)"
        )
    return f"WITH {', '.join(made)} SELECT seller FROM a{steps - 1}"


def _of_tables(rng: random.Random) -> str:
    names = [f"g{number}" for number in range(rng.randint(2, 9))]
    met = " AND ".join(f"{one}.kind = {other}.kind AND {one}.shelf <> {other}.shelf" for one, other in _near(names))
    tables = ", ".join(f"goods {name}" for name in names)
    known = rng.choice(("", " AND NOT known", " AND known"))
    return f"SELECT {names[0]}.name, {names[-1]}.maker FROM {tables} WHERE {met}{known}"


def _question(kind: str, rng: random.Random) -> Asked:
    return Asked(
        kind, "run", "question", rng.choice(("sold(?, ?, ?)", "bought(?, ?, ?)", "sold(seller=?)", "bought(item=?)"))
    )


def _what_if(kind: str, rng: random.Random) -> Asked:
    return Asked(kind, "run", "what if", rng.choice((_chain(("union", "difference")), _joins, _long_join, _doubled))(rng))


def _covered(kind: str, rng: random.Random) -> Asked:
    return Asked(kind, "run", "coverage", rng.choice((_joins, _chain(("union", "intersection"))))(rng))


_ALL = ("union", "difference", "intersection")
_KINDS: dict[str, Callable[[str, random.Random], Asked]] = {
    "deep unions": _algebra(_chain(("union",))),
    "deep, of all sorts": _algebra(_chain(_ALL)),
    "balanced differences": _algebra(_balanced(("difference",))),
    "balanced, of all sorts": _algebra(_balanced(_ALL)),
    "joins and products": _algebra(_joins),
    "SQL: long joins": _sql(_long_join),
    "SQL: alternatives": _sql(_alternatives),
    "SQL: arms of UNION": _sql(_arms),
    "SQL: long lists": _sql(_listed),
    "SQL: nested queries": _sql(_nested),
    "SQL: doubled queries": _sql(_doubled),
    "SQL: tables": lambda kind, rng: Asked(kind, "shop-run", "sql", _of_tables(rng)),
    "questions": _question,
    "what if": _what_if,
    "coverage": _covered,
}

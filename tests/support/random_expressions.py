"""Random hypergraphs and expressions, and what expressions mean, written with plain Python sets."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from relatum import Hypergraph, RelationSchema, Schema
from relatum.algebra import Expression, Relation
from relatum.algebra import expression as nodes

Tuples = set[tuple[str, ...]]
MOST_COLUMNS = 6

# Names that text must quote, words that it knows, and names that look like something else.
ODD_NAMES = [
    "a b", 'say "hi"', "back\\slash", "[red]", "(x)", "a=b", "a, b", "?", "日本", "é", "project", "not", "union", "0", "X",
    "_", "Drew", "t", "t1", "t2", ".", ".a", "a.", "<-", "a<-b", " lead", "trail ", "not a", "\x0b.", "\u2028x",
    "m.02h40lc", "'", "-", "*",
]  # fmt: skip


def random_schema(chance: random.Random, names: Sequence[str] | None = None, most_columns: int = MOST_COLUMNS) -> Schema:
    """Return relations of arity 1 to 6, some with roles."""
    names = names or [f"r{number}" for number in range(chance.randint(2, 6))]
    return Schema(random_relation(chance, name, most_columns) for name in names)


def random_relation(chance: random.Random, name: str, most_columns: int = MOST_COLUMNS) -> RelationSchema:
    arity = chance.randint(1, most_columns)
    roles = tuple(chance.sample(["seller", "buyer", "item", "place", "a = b", "when?", "how much", "project"], arity))
    return RelationSchema(name, arity, roles if chance.random() < 0.5 else None)


def random_graph(chance: random.Random, schema: Schema, entities: Sequence[str]) -> Hypergraph:
    """Return up to 12 facts of each relation over few entities: repeats of facts and of entities, and empty relations."""
    facts = [("all", name) for name in entities]
    for relation in schema:
        for _ in range(chance.choice([0, 1, 3, 12])):
            facts.append((relation.name, *chance.choices(entities, k=relation.arity)))
    return Hypergraph.of(facts, [*schema, RelationSchema("all", 1)])


def random_expression(
    chance: random.Random, schema: Schema, entities: Sequence[str], steps: int, *, products: bool = True
) -> Expression:
    """Return an expression of at most `steps` operations, in which parts may be shared, and at most 6 columns.

    Without `products`, it has only operations that have a closed form.
    """
    pool: list[Expression] = [Relation(relation) for relation in schema]
    choices = _STEPS if products else [step for step in _STEPS if step not in (_product, _join, _filter, _intersection)]
    for _ in range(steps):
        pool.append(chance.choice(choices)(chance, pool, entities))
    return pool[-1]


def _pick(chance: random.Random, pool: Sequence[Expression]) -> Expression:
    return pool[-1] if chance.random() < 0.6 else chance.choice(pool)


def _rename(chance: random.Random, pool: Sequence[Expression], entities: Sequence[str]) -> Expression:
    child = _pick(chance, pool)
    return child.permute(*chance.sample(range(child.arity), child.arity))


def _project(chance: random.Random, pool: Sequence[Expression], entities: Sequence[str]) -> Expression:
    child = _pick(chance, pool)
    return child.project(*chance.sample(range(child.arity), chance.randint(1, child.arity)))


def _where(chance: random.Random, pool: Sequence[Expression], entities: Sequence[str]) -> Expression:
    child = _pick(chance, pool)
    if child.arity == 1:
        return child
    return child.select(chance.randrange(child.arity), chance.choice(entities))


def _where_equal(chance: random.Random, pool: Sequence[Expression], entities: Sequence[str]) -> Expression:
    child = _pick(chance, pool)
    return child.select_equal(*chance.sample(range(child.arity), 2)) if child.arity > 1 else child


def _set_operation(chance: random.Random, pool: Sequence[Expression], entities: Sequence[str]) -> Expression:
    left, right = _pick(chance, pool), chance.choice(pool)
    arity = min(left.arity, right.arity)
    left, right = (one if one.arity == arity else one.project(*range(arity)) for one in (left, right))
    return chance.choice([nodes.Union, nodes.Difference])(left, right)


def _product(chance: random.Random, pool: Sequence[Expression], entities: Sequence[str]) -> Expression:
    left, right = _pick(chance, pool), chance.choice(pool)
    return left * right if left.arity + right.arity <= MOST_COLUMNS else left


def _join(chance: random.Random, pool: Sequence[Expression], entities: Sequence[str]) -> Expression:
    left, right = _pick(chance, pool), chance.choice(pool)
    count = chance.randint(1, right.arity)
    if left.arity + right.arity - count > MOST_COLUMNS:
        return left
    rights = chance.sample(range(right.arity), count)
    return nodes.Join(left, right, tuple((chance.randrange(left.arity), q) for q in rights))


def _filter(chance: random.Random, pool: Sequence[Expression], entities: Sequence[str]) -> Expression:
    child = _pick(chance, pool)
    other = chance.choice([chance.choice(entities), chance.randrange(child.arity)])
    return nodes.Filter(child, chance.randrange(child.arity), other, chance.random() < 0.5)


def _intersection(chance: random.Random, pool: Sequence[Expression], entities: Sequence[str]) -> Expression:
    left, right = _pick(chance, pool), chance.choice(pool)
    arity = min(left.arity, right.arity)
    return left.project(*range(arity)) & right.project(*chance.sample(range(right.arity), arity))


_STEPS: list[Callable[[random.Random, Sequence[Expression], Sequence[str]], Expression]] = [
    _rename, _project, _where, _where_equal, _set_operation, _set_operation, _product, _join, _filter,
    _filter, _intersection,
]  # fmt: skip


def naive(expression: Expression, facts: dict[str, Tuples]) -> Tuples:
    """Return what an expression means, straight from the definition of each operation."""
    if isinstance(expression, Relation):
        return facts.get(expression.name, set())
    lefts, *others = (naive(child, facts) for child in expression.children)
    rights = others[0] if others else set()
    match expression:
        case nodes.Rename():
            # The paper: t(x) if and only if s(x[pi(0)], ..., x[pi(n - 1)]).
            return {tuple(inner[expression.inverse.index(place)] for place in range(len(inner))) for inner in lefts}
        case nodes.Project(_, positions):
            return {tuple(row[position] for position in positions) for row in lefts}
        case nodes.SelectEqual(_, p, q):
            return {row[:p] + row[p + 1 :] for row in lefts if row[p] == row[q]}
        case nodes.SelectConstant(_, p, entity):
            return {row[:p] + row[p + 1 :] for row in lefts if row[p] == entity}
        case nodes.Filter(_, column, other, equal):
            return {row for row in lefts if (row[column] == (row[other] if isinstance(other, int) else other)) is equal}
        case nodes.Union():
            return lefts | rights
        case nodes.Difference():
            return lefts - rights
        case nodes.Intersection():
            return lefts & rights
        case nodes.Product():
            return {left + right for left in lefts for right in rights}
        case nodes.Join(_, _, pairs):
            matched = {q for _, q in pairs}
            return {
                left + tuple(entity for q, entity in enumerate(right) if q not in matched)
                for left in lefts
                for right in rights
                if all(left[p] == right[q] for p, q in pairs)
            }
    raise TypeError(expression)


def facts_of(graph: Hypergraph) -> dict[str, Tuples]:
    """Return the tuples of each relation."""
    return {name: set(graph.table(name)) for name in graph.schema.names}

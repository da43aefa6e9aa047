"""Expressions on tuples, exactly: column by column, without a Python loop over tuples.

Every result is a set: int32[arity, n], its tuples distinct and sorted as a dictionary sorts words. Each operation says
why its result is so, and sorts only where it must.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import singledispatch

import numpy as np

from relatum.algebra import expression as nodes
from relatum.algebra.expression import Expression
from relatum.algebra.node import post_order
from relatum.arrays import Int64
from relatum.data.hypergraph import Hypergraph, TupleTable
from relatum.data.sorting import differs_from_previous, row_order, spread
from relatum.data.vocabulary import Ids
from relatum.errors import DataError
from relatum.memory import free
from relatum.time_limit import check_time


def evaluate(expression: Expression, graph: Hypergraph, known: Mapping[Expression, Ids] | None = None) -> TupleTable:
    """Return the tuples of `expression` on the facts of `graph`, distinct and sorted; columns are int32[arity, n].

    Equal parts of the expression are evaluated once, and let go after their last use. A stored relation without facts is
    empty; one that the schema of `graph` does not know is an error, and so is an unknown entity.

    Args:
        expression: what to evaluate.
        graph: the facts; repeated ones count once.
        known: the columns of expressions that were evaluated on `graph` before, which need not be evaluated again.
    """
    known = known or {}

    def inputs(node: Expression) -> tuple[Expression, ...]:
        return () if node in known else _inputs(node, known)

    order = post_order(expression, inputs)
    uses = Counter(child for node in order for child in inputs(node))
    found: dict[Expression, Ids] = {}
    for node in order:
        check_time()
        found[node] = known[node] if node in known else _columns(node, graph, *(found[child] for child in inputs(node)))
        for child in inputs(node):
            uses[child] -= 1
            if not uses[child]:
                del found[child]
    columns = found[expression].view()
    columns.flags.writeable = False
    return TupleTable(expression.schema, columns, graph.entities)


def _inputs(node: Expression, known: Mapping[Expression, Ids]) -> tuple[Expression, ...]:
    """Return what a node is computed from: its operands, or the factors of a product of which only some columns stay."""
    if not isinstance(node, nodes.Project) or not isinstance(node.child, nodes.Product) or node.child in known:
        return node.children
    factors: list[Expression] = []
    waiting: list[Expression] = [node.child]
    while waiting:
        one = waiting.pop()
        if isinstance(one, nodes.Product) and one not in known:
            waiting += [one.right, one.left]
        else:
            factors.append(one)
    return tuple(factors)


@singledispatch
def _columns(node: Expression, graph: Hypergraph, *operands: Ids) -> Ids:
    raise TypeError(f"{type(node).__name__} is not an operation on tuples")


@_columns.register
def _(node: nodes.Relation, graph: Hypergraph) -> Ids:
    table = graph.table(node.name)
    if table.relation.arity != node.arity:
        raise DataError(
            "other-relation", f"the expression is about {node.schema}, but the hypergraph holds {table.relation}"
        )
    return _distinct(table.columns)  # a hypergraph is sorted


@_columns.register
def _(node: nodes.Rename, graph: Hypergraph, child: Ids) -> Ids:
    return _sorted([child[position] for position in node.permutation], graph)


@_columns.register
def _(node: nodes.Project, graph: Hypergraph, *operands: Ids) -> Ids:
    child, positions = operands[0], node.positions
    if len(operands) > 1:
        child, positions = _needed_product(node, operands)
    if positions == tuple(range(node.arity)):
        return _distinct(child[: node.arity])  # sorted by these columns, whatever follows them
    return _distinct(_sorted([child[position] for position in positions], graph))


def _needed_product(node: nodes.Project, factors: Sequence[Ids]) -> tuple[Ids, tuple[int, ...]]:
    """Return the product of the factors that columns stay of, and where these are; others count only if they are empty."""
    owners = [index for index, factor in enumerate(factors) for _ in factor]
    kept = sorted({owners[position] for position in node.positions})
    inside = [position for position, owner in enumerate(owners) if owner in kept]
    product = factors[kept[0]]
    for index in kept[1:]:
        nothing = np.zeros(product.shape[1], np.int64), np.zeros(factors[index].shape[1], np.int64)
        product = _joined(node.child, product, factors[index], *nothing)
    if not all(factor.shape[1] for factor in factors):
        product = product[:, :0]
    return product, tuple(inside.index(position) for position in node.positions)


@_columns.register
def _(node: nodes.SelectEqual, graph: Hypergraph, child: Ids) -> Ids:
    chosen = _take(_without(child, node.dropped), np.flatnonzero(child[node.dropped] == child[node.kept]))
    # A column right before its twin, or anywhere behind it, never decides the order; one that stands further ahead does.
    return chosen if node.kept <= node.dropped + 1 else _sorted(chosen, graph)


@_columns.register
def _(node: nodes.SelectConstant, graph: Hypergraph, child: Ids) -> Ids:
    entity = graph.entities.id(node.entity)
    return _take(_without(child, node.dropped), np.flatnonzero(child[node.dropped] == entity))


@_columns.register
def _(node: nodes.Filter, graph: Hypergraph, child: Ids) -> Ids:
    other = child[node.other] if isinstance(node.other, int) else graph.entities.id(node.other)
    return _take(child, np.flatnonzero((child[node.column] == other) == node.equal))


@_columns.register
def _(node: nodes.Union, graph: Hypergraph, left: Ids, right: Ids) -> Ids:
    return _distinct(_sorted(np.concatenate([left, right], axis=1), graph))


@_columns.register
def _(node: nodes.Difference, graph: Hypergraph, left: Ids, right: Ids) -> Ids:
    mine, theirs = _numbered(left, right, graph)
    return _take(left, np.flatnonzero(~np.isin(mine, theirs)))


@_columns.register
def _(node: nodes.Intersection, graph: Hypergraph, left: Ids, right: Ids) -> Ids:
    mine, theirs = _numbered(left, right, graph)
    return _take(left, np.flatnonzero(np.isin(mine, theirs)))


@_columns.register
def _(node: nodes.Product, graph: Hypergraph, left: Ids, right: Ids) -> Ids:
    nothing = np.zeros(left.shape[1], np.int64), np.zeros(right.shape[1], np.int64)
    return _joined(node, left, right, *nothing)


@_columns.register
def _(node: nodes.Join, graph: Hypergraph, left: Ids, right: Ids) -> Ids:
    keys = _numbered(left[[p for p, _ in node.pairs]], right[[q for _, q in node.pairs]], graph)
    return _joined(node, left, right[node.rest], *keys)


def _joined(node: Expression, left: Ids, rest: Ids, left_keys: Int64, right_keys: Int64) -> Ids:
    """Return each tuple of `left` followed by the columns `rest` of each right tuple with the same key.

    Distinct, since a right tuple is its key and its rest. Sorted: by left tuple and, among right tuples of one key, by the
    rest, since a stable sort by key leaves them in the order in which they came.
    """
    order = np.argsort(right_keys, kind="stable")
    counts = np.bincount(right_keys, minlength=int(left_keys.max(initial=-1)) + 1)
    starts = np.cumsum(counts) - counts
    matches = counts[left_keys]
    _check_room(node, int(matches.sum()))
    lefts = np.repeat(np.arange(len(left_keys)), matches)
    rights = order[spread(starts[left_keys], matches)]
    return np.concatenate([_take(left, lefts), _take(rest, rights)])


def _check_room(node: Expression, tuples: int) -> None:
    size = tuples * (8 * node.arity + 32)  # the columns twice, and the indexes by which they are gathered
    if size > free():
        raise DataError(
            "product-too-large",
            (f"{node.operation} would give {tuples:,} tuples and take {size / 1000000000.0:.1f} GB, more than is free"),
        )


def _numbered(left: Ids, right: Ids, graph: Hypergraph) -> tuple[Int64, Int64]:
    """Return a number for each tuple of either side; equal tuples, and only they, have equal numbers."""
    both = np.concatenate([left, right], axis=1)
    order = row_order(list(both), _sizes(both, graph))
    numbers = np.empty(len(order), np.int64)
    numbers[order] = np.cumsum(differs_from_previous([column[order] for column in both])) - 1
    return numbers[: left.shape[1]], numbers[left.shape[1] :]


def _sorted(columns: Sequence[Ids] | Ids, graph: Hypergraph) -> Ids:
    return _take(columns, row_order(list(columns), _sizes(columns, graph)))


def _sizes(columns: Sequence[Ids] | Ids, graph: Hypergraph) -> list[int]:
    return [len(graph.entities)] * len(columns)


def _distinct(columns: Ids) -> Ids:
    """Return sorted columns without repeats."""
    first = differs_from_previous(list(columns))
    return columns if first.all() else _take(columns, np.flatnonzero(first))


def _without(columns: Ids, position: int) -> list[Ids]:
    return [column for other, column in enumerate(columns) if other != position]


def _take(columns: Sequence[Ids] | Ids, chosen: Int64) -> Ids:
    # Column by column: a gather of the whole matrix at once is several times slower.
    taken = np.empty((len(columns), len(chosen)), np.int32)
    for target, column in zip(taken, columns, strict=True):
        np.take(column, chosen, out=target)
    return taken

"""A rule: that a relation equals, contains or lies within an expression over other relations, and its evidence."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from itertools import islice
from typing import Any

from relatum.algebra import Difference, Expression, Relation, datalog, evaluate
from relatum.algebra.node import post_order
from relatum.data.hypergraph import Hypergraph, TupleTable
from relatum.data.schema import RelationSchema
from relatum.errors import DataError


class RuleKind(StrEnum):
    """How a head relates to a body."""

    EQUAL = "="
    CONTAINS = "contains"
    WITHIN = "within"


@dataclass(frozen=True)
class Rule:
    """A relation, an expression over others, and how their stored tuples meet; `str` is such as `a = permute[1, 0](b)`."""

    head: RelationSchema
    body: Expression
    kind: RuleKind  # how head and body relate, if every true fact were stored
    support: int  # how many stored tuples both have
    confidence: float  # the share of the body's tuples that are in the head
    coverage: float  # the share of the head's tuples that are in the body
    evidence: float  # the weight of evidence for the rule, in nats, by which rules are ranked; see `statistics.evidence`

    def __str__(self) -> str:
        return f"{Relation(self.head)} {self.kind} {self.body}"

    @property
    def display(self) -> str:
        """The rule as people read it, with roles where they are known: `bought = permute[buyer, seller](sold)`."""
        return f"{Relation(self.head)} {self.kind} {self.body.text(roles=True)}"

    def to_dict(self) -> dict[str, Any]:
        """Return the rule as people read it, and what speaks for it."""
        own = ("support", "confidence", "coverage", "evidence")
        return {"rule": self.display, **{name: getattr(self, name) for name in own}}

    @property
    def datalog(self) -> str:
        """The rule as Datalog, for one that gives tuples of its head; one that only bounds them is written with ->.

        `bought(X, Y) -> sold(Y, X, Z)` says that for every X and Y that are in `bought` there is a Z. Only a body that is
        a single atom can be written so.
        """
        text = datalog(self.body, self.head.name)
        if self.kind != RuleKind.WITHIN:
            return text
        if any(len(node.children) > 1 for node in self._nodes):
            raise DataError("unusable-rule", "only a body of one relation can be written from head to body", place=self)
        return text.replace(" <- ", " -> ", 1)

    @property
    def relations(self) -> tuple[RelationSchema, ...]:
        """The stored relations of the body, from left to right, each once."""
        return tuple(node.schema for node in self._nodes if isinstance(node, Relation))

    @property
    def _nodes(self) -> list[Expression]:
        return post_order(self.body, lambda node: node.children)

    def to_json(self) -> dict[str, Any]:
        """Return the rule as plain data."""
        about = {"rule": str(self), "head": self.head.name, "kind": self.kind.name.lower(), "body": str(self.body)}
        return {**about, **self.to_dict(), **about}


@dataclass(frozen=True)
class Examples:
    """A few tuples, by name, that support a rule, and a few that do not."""

    both: list[tuple[str, ...]]
    only_body: list[tuple[str, ...]]
    only_head: list[tuple[str, ...]]


def examples(rule: Rule, graph: Hypergraph, most: int = 3) -> Examples:
    """Return up to `most` tuples that are in head and body, in the body alone, and in the head alone."""
    head = Relation(graph.schema[rule.head.name])
    shared = head - (head - rule.body)
    parts = (shared, rule.body - head, head - rule.body)
    return Examples(*(list(islice(evaluate(part, graph), most)) for part in parts))


def predictions(rule: Rule, graph: Hypergraph) -> TupleTable:
    """Return the tuples that a rule predicts for its head and that are not stored; a `within` rule predicts none."""
    if rule.kind == RuleKind.WITHIN:
        raise DataError("unusable-rule", "a `within` rule only bounds its head and predicts no facts", place=rule)
    return evaluate(Difference(rule.body, Relation(graph.schema[rule.head.name])), graph)

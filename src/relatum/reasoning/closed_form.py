"""Expressions as relation parameters: one function per theorem, with bounds, beside the trained ones.

The exact value of an expression, on degrees of truth: a permutation or a selection is its operand with other arguments, a
projection the maximum over the entities at what it drops, a union the maximum, a difference the minimum of the left side and
the complement of the right one. Every expression has three sets of parameters: the one of the theorems, with a `Bound` on
it; a lower one, which is never above the exact value; and an upper one, which is never below it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import singledispatch

import torch
from torch import Tensor

from relatum.algebra.expression import Difference, Expression, Project, Relation, Rename, SelectConstant, SelectEqual, Union
from relatum.algebra.node import post_order
from relatum.data.hypergraph import Hypergraph
from relatum.data.schema import RelationSchema, Schema
from relatum.errors import DataError, SettingError
from relatum.models.base import Model, Parameters, rows
from relatum.models.ops import window_sums
from relatum.models.reale import ReAlE
from relatum.time_limit import check_time


class Bound(Enum):
    """Whether the closed form is equal to, above or below the exact value, for every tuple."""

    EQUAL = "equal"
    AT_LEAST = "at least"
    AT_MOST = "at most"
    NONE = "none"

    @property
    def never_below(self) -> bool:
        """Whether the closed form is an upper bound."""
        return self in (Bound.EQUAL, Bound.AT_LEAST)

    @property
    def never_above(self) -> bool:
        """Whether the closed form is a lower bound."""
        return self in (Bound.EQUAL, Bound.AT_MOST)

    @property
    def of_complement(self) -> Bound:
        """The bound of the complement: what is above becomes what is below."""
        return {Bound.AT_LEAST: Bound.AT_MOST, Bound.AT_MOST: Bound.AT_LEAST}.get(self, self)

    @classmethod
    def of_largest(cls, *operands: Bound) -> Bound:
        """Return the bound of a projection or a union, whose closed form lies above all its operands."""
        return cls.AT_LEAST if all(operand.never_below for operand in operands) else cls.NONE

    @classmethod
    def of_difference(cls, left: Bound, right: Bound) -> Bound:
        """Return the bound of a difference: too little of what is taken from, or too much taken away, stays below."""
        return cls.AT_MOST if left.never_above and right.never_below else cls.NONE


@dataclass(frozen=True, eq=False)
class Form:
    """The parameters of one relation: weights[arity, dim] and bias[windows]."""

    weights: Tensor
    bias: Tensor

    def complement(self) -> Form:
        """Return the parameters of the complement: 1 - sigmoid(x) is sigmoid(-x), and - tanh(x) is tanh(-x)."""
        return Form(-self.weights, -self.bias)


@dataclass(frozen=True, eq=False)
class ClosedForm:
    """The parameters of an expression by the theorems, what they promise, and a lower and an upper set of parameters."""

    form: Form
    bound: Bound
    lower: Form
    upper: Form

    def with_each(self, change: Callable[[Form], Form]) -> ClosedForm:
        """Return what an exact operation makes of it: all parameters change alike, and the bound remains."""
        return ClosedForm(change(self.form), self.bound, change(self.lower), change(self.upper))


def closed_form(expression: Expression, model: Model, tables: Parameters, *, unit: bool = False) -> ClosedForm:
    """Return the closed form of an expression on a ReAlE model.

    Args:
        expression: over relations of the model, without product, join, intersection and filters, for which no closed form is
            claimed.
        model: the model, a ReAlE.
        tables: what `model.encode` gave.
        unit: let what a projection drops range over all of [0, 1]^dim, as in the paper, and not over the entities of the
            model alone, which is closer: the promise then holds for entities that the model does not know yet.
    """
    return closed_forms(expression, model, tables, unit=unit)[expression]


def complement(expression: Expression, model: Model, tables: Parameters, *, unit: bool = False) -> ClosedForm:
    """Return the closed form of what an expression is not: as equal or as close as that of the expression itself.

    Weights and bias change their sign, and with them every window becomes its complement: the complement of a stored
    relation scores exactly the model's scale, by default the number of windows, less the relation's score; with tanh, minus
    that score. It is no operation of the algebra, whose tuples are stored: what is not true is there for scores alone.

    Args:
        expression: as in `closed_form`.
        model: the model, a ReAlE; sigma = exp has no complement.
        tables: what `model.encode` gave.
        unit: as in `closed_form`.
    """
    _require_complement(require_reale(model), "this takes a complement")
    found = closed_form(expression, model, tables, unit=unit)
    return ClosedForm(found.form.complement(), found.bound.of_complement, found.upper.complement(), found.lower.complement())


@torch.no_grad()
def closed_forms(
    expression: Expression, model: Model, tables: Parameters, *, unit: bool = False
) -> dict[Expression, ClosedForm]:
    """Return the closed form of an expression and of all its parts."""
    space = _Space(require_reale(model), tables, unit)
    found: dict[Expression, ClosedForm] = {}
    for node in post_order(expression, lambda node: node.children):
        check_time()
        found[node] = _form(node, space, *(found[child] for child in node.children))
    return found


def require_reale(model: Model) -> ReAlE:
    """Return the model if it is one that the theorems are about."""
    if not isinstance(model, ReAlE):
        raise DataError(
            "needs-reale",
            (f"relational algebra works on ReAlE only, for which it is proved; this model is {type(model).__name__}"),
        )
    return model


@dataclass(frozen=True, eq=False)
class _Space:
    """The model that forms are about."""

    model: ReAlE
    tables: Parameters
    unit: bool

    def entity(self, name: str) -> Tensor:
        """Return an entity's embedding, [dim]."""
        return rows(self.tables["entities"], torch.tensor(self.model.graph.entities.id(name)))

    def sums(self, entities: Tensor, weights: Tensor) -> Tensor:
        """Return what entities [..., dim] give in each window, [..., windows]."""
        return window_sums(entities, weights, self.model.settings.window)

    def require_unit_entities(self, node: Expression) -> None:
        """Refuse a node whose theorem asks for entities in [0, 1], where they are not."""
        if self.model.settings.entity_map == "none":
            raise SettingError(
                "no-closed-form",
                (f"{node.operation} has a closed form only for entities in [0, 1], but this model's entity_map is 'none'"),
            )


def _require_complement(model: ReAlE, reason: str) -> None:
    """Refuse what needs the complement, where there is none."""
    if model.settings.sigma == "exp":
        raise SettingError("no-closed-form", f"{reason}, which sigma = exp does not have: 1 - exp(x) is not exp of a sum")


@singledispatch
def _form(node: Expression, space: _Space, *operands: ClosedForm) -> ClosedForm:
    raise DataError("no-closed-form", f"{node.operation} has no closed form", remedy="evaluate it on tuples instead")


@_form.register
def _(node: Relation, space: _Space) -> ClosedForm:
    relation = torch.tensor(space.model.schema.id(node.name))
    known = space.model.schema[node.name]
    if known.arity != node.arity:
        raise DataError("other-relation", f"the expression is about {node.schema}, but the model has {known}")
    rows_of_relation = space.model.position_rows(relation, 0) + torch.arange(node.arity)
    form = Form(rows(space.tables["relations"], rows_of_relation), rows(space.tables["bias"], relation))
    return ClosedForm(form, Bound.EQUAL, form, form)


@_form.register
def _(node: Rename, space: _Space, child: ClosedForm) -> ClosedForm:
    """Renaming: the weights move with the columns, t[i] = s[permutation[i]]."""
    return child.with_each(lambda form: Form(form.weights[list(node.permutation)], form.bias))


@_form.register
def _(node: SelectEqual, space: _Space, child: ClosedForm) -> ClosedForm:
    """Selection 1: one entity at two positions meets the sum of their weights."""

    def selected(form: Form) -> Form:
        weights = form.weights.clone()
        weights[node.kept] += weights[node.dropped]
        return Form(_without(weights, node.dropped), form.bias)

    return child.with_each(selected)


@_form.register
def _(node: SelectConstant, space: _Space, child: ClosedForm) -> ClosedForm:
    """Selection 2: what a constant contributes to each window becomes part of its bias."""
    return child.with_each(lambda form: _given(form, node.dropped, space.entity(node.entity), space))


@_form.register
def _(node: Project, space: _Space, child: ClosedForm) -> ClosedForm:
    """Projection: the most that the dropped entities could contribute to each window becomes part of its bias.

    Below lies the value with any one entity at what is dropped; the one that contributes most on the whole is taken.
    """
    space.require_unit_entities(node)
    kept = list(node.positions)
    dropped = [position for position in range(child.form.weights.shape[0]) if position not in node.positions]

    entities = space.tables["entities"]

    def at_most(form: Form) -> Form:
        bias = form.bias
        for position in dropped:
            weights = form.weights[position]
            positive = (weights > 0).to(weights.dtype)  # the corner of the unit cube at which each window is largest
            bias = bias + (space.sums(positive, weights) if space.unit else space.sums(entities, weights).amax(0))
        return Form(form.weights[kept], bias)

    def at_least(form: Form) -> Form:
        bias = form.bias
        for position in dropped:
            weights = form.weights[position]
            bias = bias + space.sums(entities[torch.argmax(entities @ weights)], weights)
        return Form(form.weights[kept], bias)

    bound = Bound.of_largest(child.bound) if dropped else child.bound
    return ClosedForm(at_most(child.form), bound, at_least(child.lower), at_most(child.upper))


@_form.register
def _(node: Union, space: _Space, left: ClosedForm, right: ClosedForm) -> ClosedForm:
    """Set union: the larger of two weights, and of two biases, is above both sides where no entity is negative.

    Each side alone is below; the left one is taken.
    """
    space.require_unit_entities(node)
    return ClosedForm(
        _larger(left.form, right.form),
        Bound.of_largest(left.bound, right.bound),
        left.lower,
        _larger(left.upper, right.upper),
    )


@_form.register
def _(node: Difference, space: _Space, left: ClosedForm, right: ClosedForm) -> ClosedForm:
    """Set difference: the smaller of the left weight and the complement's, and so for biases, is below both sides.

    Above lies the left side, from which the difference takes.
    """
    space.require_unit_entities(node)
    _require_complement(space.model, f"{node.operation} needs a complement")
    return ClosedForm(
        _smaller(left.form, right.form.complement()),
        Bound.of_difference(left.bound, right.bound),
        _smaller(left.lower, right.upper.complement()),
        left.upper,
    )


def _given(form: Form, position: int, entity: Tensor, space: _Space) -> Form:
    bias = form.bias + space.sums(entity, form.weights[position])
    return Form(_without(form.weights, position), bias)


def _without(weights: Tensor, position: int) -> Tensor:
    return torch.cat([weights[:position], weights[position + 1 :]])


def _larger(left: Form, right: Form) -> Form:
    return Form(torch.maximum(left.weights, right.weights), torch.maximum(left.bias, right.bias))


def _smaller(left: Form, right: Form) -> Form:
    return Form(torch.minimum(left.weights, right.weights), torch.minimum(left.bias, right.bias))


def extended(model: ReAlE, tables: Parameters, derived: Mapping[RelationSchema, Form]) -> tuple[ReAlE, Parameters]:
    """Return the model and its tables with further relations, whose ids follow those that it has."""
    graph = model.graph
    wider = Hypergraph(graph.entities, Schema([*graph.schema, *derived]), graph.blocks.values())
    forms = list(derived.values())
    weights = torch.cat([tables["relations"], *(form.weights for form in forms)])
    bias = torch.cat([tables["bias"], *(form.bias[None] for form in forms)])
    return ReAlE(wider, model.settings), {**tables, "relations": weights, "bias": bias}

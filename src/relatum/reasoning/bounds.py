"""Values of plans on an embedding, on one comparable scale, between bounds where variables are open.

The complement of a logit is its negative, so a difference needs only minima and signs.

What a sum of sigmas can reach, where each of several variables takes one of its candidates, is bounded by `reach_of`. The
most that each window could get by itself is far too much: one candidate would have to be the best of all windows. A line
above sigma, on all that a window can get, turns the sum over windows into one over variables, and of such a sum every
variable takes its own best. Any slopes will do; good ones are those of sigma at what the best candidates give, which follow
from slopes in turn.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from relatum.arrays import Float64, Int64
from relatum.data.hypergraph import Hypergraph
from relatum.data.vocabulary import Ids
from relatum.errors import SettingError
from relatum.fitting import never_certain, sigmoid
from relatum.inference.calibration import Calibration
from relatum.memory import budget
from relatum.models.base import Parameters, rows
from relatum.models.combine import WindowedSigma
from relatum.models.ops import window_sums
from relatum.models.reale import ReAlE
from relatum.reasoning.closed_form import Form, closed_form
from relatum.reasoning.plan import Atom, Exists, Max, Plan

_ROUNDS = 3  # in which slopes and choices follow from each other
_HALVINGS = 8  # until a line that touches sigma is found
_STEEPEST = 0.25  # slope of the sigmoid
_TIE = 1e-8  # of a logit: too little to be seen, and enough to order scores of equal probability


@dataclass(frozen=True, eq=False)
class ComparableScores:
    """Scores of different relations on one scale: logits of calibrated probabilities, or centred degrees of truth.

    A model is trained by softmax within one relation, so without a calibration degrees of truth can be compared only
    within a relation.
    """

    model: ReAlE
    calibration: Calibration | None = None

    def logits(self, relation: int, scores: Float64) -> Float64:
        """Return the comparable logits of scores of a relation; they rise with the scores.

        Where the calibration is flat, many scores share one probability: a tiny term keeps their order.
        """
        degrees = (scores - self.model.midpoint) / self.model.scale
        if self.calibration is None:
            return degrees
        return self.calibration.calibrated_logit(relation, scores) + _TIE * (
            self.calibration.raw_logit(relation, scores) + degrees
        )

    def probability(self, logits: Float64) -> Float64:
        """Return the probabilities of logits, or the paper's degrees of truth without a calibration."""
        if self.calibration is not None:
            return never_certain(sigmoid(logits))
        return logits + self.model.midpoint / self.model.scale

    def require_complement(self) -> None:
        """Refuse complements where there are none: of the degrees of a model with exp."""
        if self.calibration is None and self.model.settings.sigma == "exp":
            raise SettingError(
                "no-closed-form",
                "a difference needs a complement, which sigma = exp does not have",
                remedy="use a calibrated run",
            )


_BYTES = 32  # of a lower and an upper bound and of intermediate results


@dataclass(eq=False)
class PlanValues:
    """Values of plans, as comparable logits, on one model.

    Variables are given by columns, int64[variables, n]: each column is one assignment. Where a variable is open it stands
    for each of its candidates; where it is neither given nor open, bounds say what it could do at most. The candidates of a
    variable are its range, entities ascending, int64[candidates]; those without a range can be any entity.
    """

    model: ReAlE
    tables: Parameters
    comparable: ComparableScores
    ranges: Mapping[int, Tensor] = field(default_factory=dict)
    facts: Hypergraph | None = None  # from which searches begin
    _forms: dict[Atom, Form] = field(default_factory=dict)
    _candidate_vectors: dict[tuple[Atom, int], Tensor] = field(default_factory=dict)
    largest: dict[tuple[Exists, tuple[int, ...]], float] = field(default_factory=dict)  # scores that took a search

    @property
    def combine(self) -> WindowedSigma:
        """How the two sides of an atom's score meet."""
        return WindowedSigma(self.model.settings.sigma, self.model.scale / self.model.windows)

    @property
    def rows_at_once(self) -> int:
        """How many assignments may meet all entities at once: memory is bounded."""
        return max(1, budget() // (_BYTES * max(1, self.model.num_entities)))

    def ids(self, variable: int) -> Tensor:
        """Return the candidates of a variable."""
        return self.ranges[variable] if variable in self.ranges else torch.arange(self.model.num_entities)

    def count(self, variable: int) -> int:
        """Return how many candidates a variable has."""
        return len(self.ranges[variable]) if variable in self.ranges else self.model.num_entities

    def stored(self, atom: Atom) -> dict[int, Ids]:
        """Return the entities at each variable of an atom in the facts that it is stored with, [facts] each."""
        if self.facts is None or atom.expression.name not in self.facts.schema:
            return {variable: np.empty(0, np.int32) for variable in atom.variables}
        columns = self.facts.table(atom.expression.name).columns
        found: dict[int, Ids] = {}
        agree = np.ones(columns.shape[1], np.bool_)
        for column, term in zip(columns, atom.arguments, strict=True):
            agree &= column == (found.setdefault(term, column) if isinstance(term, int) else self.facts.entities.id(term))
        return {variable: column[agree] for variable, column in found.items()}

    def candidate_vectors(self, atom: Atom, variable: int) -> Tensor:
        """Return what every candidate gives in each window at a variable of an atom, [candidates, windows]."""
        if (atom, variable) not in self._candidate_vectors:
            entities = self.tables["entities"]
            entities = rows(entities, self.ranges[variable]) if variable in self.ranges else entities
            weights = self.form(atom).weights[atom.variables.index(variable)]
            self._candidate_vectors[atom, variable] = window_sums(entities, weights, self.model.settings.window)
        return self._candidate_vectors[atom, variable]

    def given_vectors(self, atom: Atom, columns: Tensor, variables: Collection[int]) -> Tensor:
        """Return what the entities at given variables of an atom contribute, with its bias, [n, windows]."""
        form = self.form(atom)
        positions = [position for position, variable in enumerate(atom.variables) if variable in variables]
        if not positions:
            return form.bias.expand(columns.shape[1], -1)
        entities = rows(self.tables["entities"], columns[[atom.variables[position] for position in positions]])
        products = (entities * form.weights[positions][:, None]).sum(0)  # in the order in which the model adds them up
        return form.bias + products.reshape(len(products), self.model.windows, self.model.settings.window).sum(-1)

    def query_vectors(self, atom: Atom, columns: Tensor, given: Collection[int], open_: int | None) -> tuple[Tensor, bool]:
        """Return the query side of assignments, [n, windows], without the open variable, and whether all else is given.

        What is not given counts with the most that any candidate could contribute to each window.
        """
        rest = [variable for variable in atom.variables if variable != open_]
        total = self.given_vectors(atom, columns, set(rest).intersection(given))
        missing = [variable for variable in rest if variable not in given]
        for variable in missing:
            total = total + self.candidate_vectors(atom, variable).amax(0)
        return total, not missing

    def bounds(self, node: Plan, columns: Tensor, given: Collection[int], open_: int) -> tuple[Float64, Float64]:
        """Return bounds from below and from above for every candidate of the open variable, [n, candidates], or -inf.

        The two are equal where every other variable is given and nothing is projected.
        """
        if isinstance(node, Atom):
            queries, whole = self.query_vectors(node, columns, given, open_)
            high = self.logits(node, self.combine.matrix(queries, self.candidate_vectors(node, open_)))
            return (high if whole else _nothing(), high)
        if isinstance(node, Exists):
            return _nothing(), self.bounds(node.part, columns, given, open_)[1]
        left, right = (self.bounds(part, columns, given, open_) for part in (node.left, node.right))
        if isinstance(node, Max):
            return np.maximum(left[0], right[0]), np.maximum(left[1], right[1])
        return np.minimum(left[0], -right[1]), np.minimum(left[1], -right[0])

    def logits(self, atom: Atom, scores: Tensor) -> Float64:
        """Return the comparable logits of scores of an atom."""
        return self.comparable.logits(self.model.schema.id(atom.expression.name), scores.double().numpy())

    def form(self, atom: Atom) -> Form:
        """Return the parameters of an atom: weights[variables of the atom, dim], and a bias that holds its constants."""
        if atom not in self._forms:
            stored = closed_form(atom.expression, self.model, self.tables).form
            weights, bias = torch.zeros(len(atom.variables), stored.weights.shape[1]), stored.bias
            for position, term in enumerate(atom.arguments):
                if isinstance(term, int):
                    weights[atom.variables.index(term)] += stored.weights[position]
                else:
                    entity = rows(self.tables["entities"], torch.tensor(self.model.graph.entities.id(term)))
                    bias = bias + window_sums(entity, stored.weights[position], self.model.settings.window)
            self._forms[atom] = Form(weights, bias)
        return self._forms[atom]


def _nothing() -> Float64:
    """Return a bound from below that excludes nothing, for any number of assignments and entities."""
    return np.full((1, 1), -np.inf)


@dataclass(frozen=True, eq=False)
class Reach:
    """What sums can reach."""

    high: Float64  # bounds from above, [n]
    children: Float64  # the same for each candidate of the first variable, [n, candidates]
    choice: Int64  # the indices of candidates that were the best together so far, [n, variables]
    low: Float64  # the sums with these, [n]


def sigma_of(sigma: str, values: Float64) -> Float64:
    """Return sigma of values, `sigmoid` or `exp`."""
    return np.exp(values) if sigma == "exp" else sigmoid(values)


def reach_of(sigma: str, given: Float64, sets: Sequence[Float64]) -> Reach:
    """Return how large the sum over windows of sigma(given + one row of each set) can be.

    A tanh is a sigmoid of twice as much. `given` is [n, windows], and `sets` have for each variable, one at least,
    [candidates, windows].
    """
    least = given + sum(one.min(0) for one in sets)
    most = given + sum(one.max(0) for one in sets)
    slopes = _slopes(sigma, given + sum(one.mean(0) for one in sets), least, most)
    high = np.full(len(given), np.inf)
    children = np.full((len(given), len(sets[0])), np.inf)
    low, choice = np.full(len(given), -np.inf), np.zeros((len(given), len(sets)), np.int64)
    for number in range(_ROUNDS):
        gains = [slopes @ one.T for one in sets]
        best = np.stack([gain.argmax(1) for gain in gains], 1)
        rest = (_intercepts(sigma, slopes, least, most) + slopes * given).sum(1)
        rest = rest + sum(gain.max(1) for gain in gains[1:])
        np.fmin(children, rest[:, None] + gains[0], out=children)  # what is too large for a number bounds nothing
        np.fmin(high, children.max(1), out=high)
        inside = given + sum(one[best[:, variable]] for variable, one in enumerate(sets))
        sums = sigma_of(sigma, inside).sum(1)
        better = sums > low
        low[better], choice[better] = sums[better], best[better]
        slopes = slopes + (_slopes(sigma, inside, least, most) - slopes) / (number + 2)
    return Reach(high, children, choice, low)


def _slopes(sigma: str, at: Float64, least: Float64, most: Float64) -> Float64:
    """Return the slopes of the lowest concave curve above sigma, from `least` to `most`."""
    bottom = sigma_of(sigma, least)
    if sigma == "exp":  # the chord
        width = np.maximum(most - least, 1e-9)
        return np.asarray((sigma_of(sigma, most) - bottom) / width)
    # Where sigma bends upwards the curve is a line from the bottom that touches sigma, or ends at the top.
    left, right = np.maximum(least, 0), np.maximum(most, 0)
    for _ in range(_HALVINGS):
        middle = (left + right) / 2
        value = sigma_of(sigma, middle)
        further = value * (1 - value) * (middle - least) > value - bottom
        left, right = np.where(further, middle, left), np.where(further, right, middle)
    touching = np.maximum(at, (left + right) / 2)
    value = sigma_of(sigma, touching)
    chord = (value - bottom) / np.maximum(touching - least, 1e-9)
    flat = value * (1 - value)
    return np.where((at > right) | (least >= 0), flat, np.minimum(chord, _STEEPEST))


def _intercepts(sigma: str, slopes: Float64, least: Float64, most: Float64) -> Float64:
    """Return how high lines of given slopes must lie to be nowhere below sigma, from `least` to `most`."""
    ends = [sigma_of(sigma, end) - slopes * end for end in (least, most)]
    if sigma == "exp":
        return np.asarray(np.maximum(*ends))
    value = (1 + np.sqrt(1 - np.clip(slopes / _STEEPEST, 1e-12, 1))) / 2
    touching = np.clip(np.log(value / np.maximum(1 - value, 1e-300)), least, most)
    return np.asarray(np.maximum(np.maximum(*ends), sigma_of(sigma, touching) - slopes * touching))

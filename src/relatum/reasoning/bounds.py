"""Values of plans on an embedding, on one comparable scale, between bounds where variables are open.

The complement of a height is its negative, so a difference needs nothing but minima and signs.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from relatum.data.hypergraph import Hypergraph
from relatum.data.vocabulary import Ids
from relatum.errors import SettingError
from relatum.inference.calibration import Calibration, sigmoid
from relatum.memory import budget
from relatum.models.base import Parameters, rows
from relatum.models.combine import WindowedSigma
from relatum.models.ops import window_sums
from relatum.models.reale import ReAlE
from relatum.reasoning.closed_form import Form, closed_form
from relatum.reasoning.plan import Atom, Exists, Max, Plan

__all__ = ["ComparableScores", "Floats", "Values"]

_TIE = 1e-8  # of a logit: too little to be seen, and enough to tell scores apart that mean the same

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ComparableScores:
    """Heights of the scores of a model's relations: logits of calibrated probabilities, or else degrees of truth.

    The softmax that models are trained by leaves the degrees of different relations incomparable, so those without a
    calibration mean little across relations; within one relation they rank alike.
    """

    model: ReAlE
    calibration: Calibration | None = None

    def of(self, relation: int, scores: Floats) -> Floats:
        """Return the heights of scores of a relation; they rise with the scores.

        A calibration can mean the same by many scores, where its bend or its line is flat: the higher score is then higher
        by next to nothing.
        """
        degrees = (scores - self.model.midpoint) / self.model.scale
        if self.calibration is None:
            return degrees
        return self.calibration.bent(relation, scores) + _TIE * (self.calibration.logit(relation, scores) + degrees)

    def truth(self, heights: Floats) -> Floats:
        """Return heights as people read them: as probabilities, or as the paper's degrees of truth."""
        if self.calibration is not None:
            return sigmoid(heights)
        return heights + self.model.midpoint / self.model.scale

    def require_complement(self) -> None:
        """Refuse complements where there are none: of the degrees of a model with exp."""
        if self.calibration is None and self.model.settings.sigma == "exp":
            raise SettingError("a difference needs a complement, and exp has none; a calibrated run has one")


_BYTES = 32  # of bounds from both sides and of what is made on the way


@dataclass(eq=False)
class Values:
    """Values of meanings, as heights, on one model.

    Variables are given by columns, int64[variables, n]: each column is one assignment. Where a variable is open it stands
    for each of its candidates; where it is neither given nor open, bounds say what it could do at most. The candidates of a
    variable are its range, entities ascending, int64[candidates]; those without a range can be any entity.
    """

    model: ReAlE
    tables: Parameters
    heights: ComparableScores
    ranges: Mapping[int, Tensor] = field(default_factory=dict)
    facts: Hypergraph | None = None  # from which searches begin
    _forms: dict[Atom, Form] = field(default_factory=dict)
    _offered: dict[tuple[Atom, int], Tensor] = field(default_factory=dict)
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

    def offered(self, atom: Atom, variable: int) -> Tensor:
        """Return what every candidate gives in each window at a variable of an atom, [candidates, windows]."""
        if (atom, variable) not in self._offered:
            entities = self.tables["entities"]
            entities = rows(entities, self.ranges[variable]) if variable in self.ranges else entities
            weights = self.form(atom).weights[atom.variables.index(variable)]
            self._offered[atom, variable] = window_sums(entities, weights, self.model.settings.window)
        return self._offered[atom, variable]

    def given(self, atom: Atom, columns: Tensor, variables: Collection[int]) -> Tensor:
        """Return what the entities at given variables of an atom contribute, with its bias, [n, windows]."""
        form = self.form(atom)
        places = [place for place, variable in enumerate(atom.variables) if variable in variables]
        if not places:
            return form.bias.expand(columns.shape[1], -1)
        entities = rows(self.tables["entities"], columns[[atom.variables[place] for place in places]])
        products = (entities * form.weights[places][:, None]).sum(0)  # in the order in which the model adds them up
        return form.bias + products.reshape(len(products), self.model.windows, self.model.settings.window).sum(-1)

    def asked(self, atom: Atom, columns: Tensor, given: Collection[int], open_: int | None) -> tuple[Tensor, bool]:
        """Return the query side of assignments, [n, windows], without the open variable, and whether all else is given.

        What is not given counts with the most that any candidate could contribute to each window.
        """
        rest = [variable for variable in atom.variables if variable != open_]
        total = self.given(atom, columns, set(rest).intersection(given))
        missing = [variable for variable in rest if variable not in given]
        for variable in missing:
            total = total + self.offered(atom, variable).amax(0)
        return total, not missing

    def between(self, node: Plan, columns: Tensor, given: Collection[int], open_: int) -> tuple[Floats, Floats]:
        """Return bounds from below and from above for every candidate of the open variable, [n, candidates], or -inf.

        The two are equal where every other variable is given and nothing is projected.
        """
        if isinstance(node, Atom):
            queries, whole = self.asked(node, columns, given, open_)
            high = self.height(node, self.combine.matrix(queries, self.offered(node, open_)))
            return (high if whole else _nothing(), high)
        if isinstance(node, Exists):
            return _nothing(), self.between(node.part, columns, given, open_)[1]
        left, right = (self.between(part, columns, given, open_) for part in (node.left, node.right))
        if isinstance(node, Max):
            return np.maximum(left[0], right[0]), np.maximum(left[1], right[1])
        return np.minimum(left[0], -right[1]), np.minimum(left[1], -right[0])

    def height(self, atom: Atom, scores: Tensor) -> Floats:
        """Return the heights of scores of an atom."""
        return self.heights.of(self.model.schema.id(atom.expression.name), scores.double().numpy())

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


def _nothing() -> Floats:
    """Return a bound from below that says nothing, for any number of assignments and entities."""
    return np.full((1, 1), -np.inf)

"""Facts read as a main triple with qualifiers: NeuInfer (Guan et al., ACL 2020) and HINGE (Rosso et al., WWW 2020).

The first two positions of a relation are head and tail; every other one is a qualifier: its role, and the entity there, its
value. Papers call that a (key, value) or (attribute, value) pair. Arity 1 has no tail, and arity 2 no qualifiers.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import torch
from torch import Tensor

from relatum.models.base import Model, Parameters, Settings, normal, rows
from relatum.models.combine import Combine
from relatum.models.minima import MeanLogOdds, MinimumOfSums, log_odds_of_mean
from relatum.settings import setting

_WIDTH = 3  # of a filter


class QualifierModel(Model):
    """A model of two layers, both linear in what they are given, of equal width.

    One is over a triple: T = A_1 h + A_2 r + A_3 t + a. The other is over a triple and a qualifier:
    Q_i = B_1 h + B_2 r + B_3 t + B_4 role_i + B_5 value_i + b. Behind them come a relu and minima; the minimum over i of
    relu(Q_i) is the relu of B_1 h + B_2 r + B_3 t + b + min over i of (B_4 role_i + B_5 value_i). So an open head or tail
    has one part in T and one that all Q_i share, and an open value one in its own Q_i.
    """

    position_tables = ("roles",)

    @abstractmethod
    def layers(self, parameters: Parameters) -> tuple[Tensor, Tensor, Tensor]:
        """Return A, [3, dim, features], B, [5, dim, features], and the biases [a; b], [2 * features]."""

    def encode(self, parameters: Parameters, dropout_rng: torch.Generator | None = None) -> Parameters:
        """Return the tables with what relations and roles add to the layers; for entities it would take too much memory."""
        tables = super().encode(parameters, dropout_rng)
        triple, qualifier, bias = self.layers(tables)
        head, relation, tail = (torch.cat([triple[row], qualifier[row]], 1) for row in range(3))
        tables["relations"] = tables["relations"] @ relation + bias
        tables["roles"] = tables["roles"] @ qualifier[3]
        return {**tables, "of_head": head, "of_tail": tail, "of_value": qualifier[4]}

    def candidates(self, tables: Parameters, relations: Tensor, position: int, entities: Tensor | None) -> Tensor:
        """Return what entities add: to T and to all Q_i, [..., 2 * features], to T where there is none, or to one Q_i."""
        layer = tables[("of_head", "of_tail", "of_value")[min(position, 2)]]
        if position < 2 and not (self.arities.to(relations.device)[relations] > 2).any():
            layer = layer.chunk(2, 1)[0]
        return rows(tables["entities"], entities) @ layer

    def given(self, tables: Parameters, relations: Tensor, columns: Tensor, position: int) -> tuple[Tensor, Tensor, Tensor]:
        """Return T, all that the Q_i share, and the minimum of the rest of them over the given ones, [n, features] each.

        What an open head or tail adds is left out, as is an open qualifier; the minimum of none is infinite.
        """
        shared = rows(tables["relations"], relations)
        for other, layer in enumerate(("of_head", "of_tail")):
            if other != position and other < len(columns):
                shared = shared + rows(tables["entities"], columns[other]) @ tables[layer]
        triple, qualified = shared.chunk(2, 1)
        lowest = torch.full_like(qualified, torch.inf)
        for other in self.others(columns, position):
            if other >= 2:
                lowest = torch.minimum(lowest, self.qualifier(tables, relations, columns, other))
        return triple, qualified, lowest

    def qualifier(self, tables: Parameters, relations: Tensor, columns: Tensor, position: int) -> Tensor:
        """Return what the role and the value at a position add to its Q_i, [n, features]."""
        return self.role(tables, relations, position) + rows(tables["entities"], columns[position]) @ tables["of_value"]

    def role(self, tables: Parameters, relations: Tensor, position: int) -> Tensor:
        """Return what the role of a position adds to its Q_i, [n, features]."""
        return rows(tables["roles"], self.position_rows(relations, position))

    def embeddings(self, rng: torch.Generator, entities: range | None) -> Parameters:
        """Return relations and roles, and entities that are short beside them, to start from.

        So a fact starts as its relation alone, and entities count only as far as facts distinguish them.
        """
        dim = self.settings.dim
        return {
            "entities": normal(rng, self.num_entities, dim, spread=0.2 * dim**-0.5, wanted=entities),
            "relations": normal(rng, len(self.schema), dim, spread=dim**-0.5),
            "roles": normal(rng, self.num_positions, dim, spread=dim**-0.5),
        }


@dataclass(frozen=True)
class NeuInferSettings(Settings):
    """Settings of NeuInfer."""

    hidden_dim: int = setting(200, "the width of the layer over triples, and of that over triples with a qualifier", ge=1)
    validity_weight: float = setting(
        0.3, "the weight of the triple's validity beside its compatibility with qualifiers", gt=0, lt=1
    )


class NeuInfer(QualifierModel):
    """NeuInfer: a weighted mean of validity and compatibility; where there is no qualifier, the validity alone.

    The validity of a triple is sigmoid(v . relu(A [h; r; t] + a) + c), and its compatibility with qualifiers
    sigmoid(w . min over qualifiers of relu(B [h; r; t; role; value] + b) + d). The score is the log-odds of their mean. They
    grow with it, so ranks are the paper's; and a softmax has the room that probabilities within [0, 1] would not leave it.

    Each part has one layer, since a candidate has a summand of its own only in a first one; the original tries two as well.
    Its published code has a weight of 0.3 and widths of 1.5 `dim` and 1000, where here both layers have one width.
    """

    name = "neuinfer"
    title = "NeuInfer"
    settings_type = NeuInferSettings
    settings: NeuInferSettings

    def init_parameters(self, rng: torch.Generator, entities: range | None = None) -> Parameters:
        """Return embeddings, and layers whose features of a relation alone are about 1."""
        dim, hidden = self.settings.dim, self.settings.hidden_dim
        zero = torch.zeros((), device=rng.device)
        return {
            **self.embeddings(rng, entities),
            "triple": normal(rng, 3, dim, hidden, spread=1.0),
            "triple_bias": torch.zeros(hidden, device=rng.device),
            "qualifier": normal(rng, 5, dim, hidden, spread=1.0),
            "qualifier_bias": torch.zeros(hidden, device=rng.device),
            "validity": normal(rng, hidden, spread=hidden**-0.5),
            "validity_bias": zero,
            "compatibility": normal(rng, hidden, spread=hidden**-0.5),
            "compatibility_bias": zero.clone(),
        }

    def layers(self, parameters: Parameters) -> tuple[Tensor, Tensor, Tensor]:
        """Return the layers as they are."""
        bias = torch.cat([parameters["triple_bias"], parameters["qualifier_bias"]])
        return parameters["triple"], parameters["qualifier"], bias

    def score(self, tables: Parameters, relations: Tensor, columns: Tensor) -> Tensor:
        """Return the log-odds of each fact, [n]."""
        triple, qualified, _ = self.given(tables, relations, columns, -1)
        validity = self._validity(tables, triple)
        if len(columns) <= 2:
            return validity
        others = [qualified + self.qualifier(tables, relations, columns, i) for i in range(2, len(columns))]
        features = torch.relu(torch.stack(others)).amin(0)
        compatibility = features @ tables["compatibility"] + tables["compatibility_bias"]
        return log_odds_of_mean(validity, compatibility, self.settings.validity_weight)

    def queries(self, tables: Parameters, relations: Tensor, columns: Tensor, position: int) -> Tensor:
        """Return [m; a] of what a candidate has a part in, and behind it the validity if it has none in that."""
        triple, qualified, lowest = self.given(tables, relations, columns, position)
        if position >= 2:
            validity = self._validity(tables, triple)[:, None]
            return torch.cat([qualified + lowest, qualified + self.role(tables, relations, position), validity], 1)
        endless = torch.full_like(triple, torch.inf)
        if len(columns) <= 2:
            return torch.cat([endless, triple], 1)
        return torch.cat([endless, triple, endless, qualified + lowest], 1)

    def combine(self, tables: Parameters) -> Combine:
        """Return the log-odds of the mean of validity and compatibility."""
        validity = MinimumOfSums(tables["validity"], tables["validity_bias"])
        compatibility = MinimumOfSums(tables["compatibility"], tables["compatibility_bias"])
        return MeanLogOdds(validity, compatibility, self.settings.validity_weight)

    def _validity(self, tables: Parameters, triple: Tensor) -> Tensor:
        """Return the log-odds of the validity of triples, from T."""
        return torch.relu(triple) @ tables["validity"] + tables["validity_bias"]


@dataclass(frozen=True)
class HINGESettings(Settings):
    """Settings of HINGE."""

    dim: int = setting(50, "the dimension of embeddings", ge=_WIDTH)
    num_filters: int = setting(8, "how many filters each convolution has; each gives `dim` - 2 features", ge=1)


class HINGE(QualifierModel):
    """HINGE: w . min(relu(conv [h; r; t]), relu(conv' [h; r; t; role; value]) for each qualifier) + c.

    A filter is as high as there are rows, and 3 coordinates wide. What it gives is a sum over rows, each convolved with its
    own row of the filter, and `layers` writes these convolutions as matrices. A minimum of relus is the relu of the minimum.

    The original has 400 filters over 100 coordinates, so 39,200 features of a fact: too many to score all entities by on a
    few cores. Here they are a few hundred. Its batch normalisation behind the convolutions is left out: its running
    statistics would be state beside the parameters, and a step of training sees only the rows that it needs.
    """

    name = "hinge"
    title = "HINGE"
    settings_type = HINGESettings
    settings: HINGESettings

    def init_parameters(self, rng: torch.Generator, entities: range | None = None) -> Parameters:
        """Return embeddings, and filters whose features of a relation alone are about 1."""
        dim, filters = self.settings.dim, self.settings.num_filters
        features, spread = (dim - _WIDTH + 1) * filters, (dim / _WIDTH) ** 0.5
        return {
            **self.embeddings(rng, entities),
            "triple": normal(rng, 3, _WIDTH, filters, spread=spread),
            "triple_bias": torch.zeros(filters, device=rng.device),
            "qualifier": normal(rng, 5, _WIDTH, filters, spread=spread),
            "qualifier_bias": torch.zeros(filters, device=rng.device),
            "out": normal(rng, features, spread=features**-0.5),
            "out_bias": torch.zeros((), device=rng.device),
        }

    def layers(self, parameters: Parameters) -> tuple[Tensor, Tensor, Tensor]:
        """Return the convolutions as matrices; the features of all filters at a step stand together."""
        steps = self.settings.dim - _WIDTH + 1
        bias = torch.cat([parameters[name].repeat(steps) for name in ("triple_bias", "qualifier_bias")])
        return self._matrices(parameters["triple"]), self._matrices(parameters["qualifier"]), bias

    def score(self, tables: Parameters, relations: Tensor, columns: Tensor) -> Tensor:
        """Return w . min over all vectors of each fact + c, [n]."""
        triple, qualified, _ = self.given(tables, relations, columns, -1)
        others = [qualified + self.qualifier(tables, relations, columns, i) for i in range(2, len(columns))]
        return torch.relu(torch.stack([triple, *others])).amin(0) @ tables["out"] + tables["out_bias"]

    def queries(self, tables: Parameters, relations: Tensor, columns: Tensor, position: int) -> Tensor:
        """Return [m; a], [n, 2 * features], without what the halves of a candidate, or the only one, add to them."""
        triple, qualified, lowest = self.given(tables, relations, columns, position)
        if position >= 2:
            limit = torch.minimum(triple, qualified + lowest)
            return torch.cat([limit, qualified + self.role(tables, relations, position)], 1)
        if len(columns) <= 2:
            return torch.cat([lowest, triple], 1)
        return torch.cat([triple, qualified + lowest], 1)

    def combine(self, tables: Parameters) -> Combine:
        """Return w . relu(min(m + j, a + k)) + c."""
        return MinimumOfSums(tables["out"], tables["out_bias"])

    def _matrices(self, filters: Tensor) -> Tensor:
        """Return the convolution of each row as a matrix, [rows, dim, features], from filters [rows, width, filters]."""
        dim, steps = self.settings.dim, self.settings.dim - _WIDTH + 1
        taps = torch.arange(dim, device=filters.device)[:, None] - torch.arange(steps, device=filters.device)
        taps = torch.where((taps >= 0) & (taps < _WIDTH), taps, _WIDTH)  # of a filter at each step; the last is 0
        padded = torch.nn.functional.pad(filters, (0, 0, 0, 1))
        return padded.index_select(1, taps.flatten()).reshape(len(filters), dim, -1)

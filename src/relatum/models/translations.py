"""Models by distance: m-TransH (Wen et al., IJCAI 2016) and RAE (Zhang et al., WWW 2018)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from relatum.models.base import Model, Parameters, Settings, normal, rows
from relatum.models.combine import Combine, SquaredDistance
from relatum.models.training_protocols import Penalty
from relatum.settings import setting


@dataclass(frozen=True)
class TranslationSettings(Settings):
    """Settings of m-TransH: the constraints of the original, which it may do without."""

    unit_entities: bool = setting(False, "limit entities to length 1: longer ones are shortened to it, as in TransH")
    orthogonal_translations: bool = setting(
        False, "keep of a relation's translation only what lies in its hyperplane, as in TransH"
    )


class TranslationModel(Model):
    """Minus || r + sum over i of a_r[i] P(x_i) ||^2, P the projection on the hyperplane with unit normal n_r."""

    settings: TranslationSettings
    relation_tables = ("relations", "normals")
    position_tables = ("weights",)

    def translations(self, rng: torch.Generator, entities: range | None) -> Parameters:
        """Return short embeddings and translations, and weights that about set the first position against the others.

        As in TransH, facts at first say that their entities lie close to each other, and so do those of every relation.
        """
        dim, count = self.settings.dim, len(self.schema)
        against = [
            -1 / (relation.arity - 1) if position else 1.0 for relation in self.schema for position in range(relation.arity)
        ]
        weights = torch.tensor(against, device=rng.device)
        return {
            "entities": normal(rng, self.num_entities, dim, spread=0.2 * dim**-0.5, wanted=entities),
            "relations": normal(rng, count, dim, spread=0.2 * dim**-0.5),
            "normals": normal(rng, count, dim, spread=dim**-0.5),
            "weights": weights * (1 + normal(rng, self.num_positions, spread=0.1)),
        }

    def encode(self, parameters: Parameters, dropout_rng: torch.Generator | None = None) -> Parameters:
        """Return the tables with normals of length 1, and with entities and translations within their constraints."""
        if self.settings.unit_entities:
            entities = parameters["entities"]
            parameters = {**parameters, "entities": entities / entities.norm(dim=-1, keepdim=True).clamp(min=1)}
        tables = super().encode(parameters, dropout_rng)
        tables["normals"] = functional.normalize(tables["normals"], dim=-1)
        if self.settings.orthogonal_translations:
            tables["relations"] = _flat(tables["relations"], tables["normals"])
        return tables

    def score(self, tables: Parameters, relations: Tensor, columns: Tensor) -> Tensor:
        """Return minus the squared distance of each fact, [n]."""
        total = rows(tables["relations"], relations)
        for position, entities in enumerate(columns):
            total = total + self.candidates(tables, relations, position, entities)
        return -total.square().sum(-1)

    def queries(self, tables: Parameters, relations: Tensor, columns: Tensor, position: int) -> Tensor:
        """Return the translation and the weighted projections of the given entities, [n, dim]."""
        total = rows(tables["relations"], relations)
        for other in self.others(columns, position):
            total = total + self.candidates(tables, relations, other, columns[other])
        return total

    def candidates(self, tables: Parameters, relations: Tensor, position: int, entities: Tensor | None) -> Tensor:
        """Return a_r[position] P(x), [..., dim]."""
        flat = _flat(rows(tables["entities"], entities), rows(tables["normals"], relations))
        return rows(tables["weights"], self.position_rows(relations, position)).unsqueeze(-1) * flat

    def combine(self, tables: Parameters) -> Combine:
        """Return minus the squared length of query + candidate."""
        return SquaredDistance()


class MTransH(TranslationModel):
    """m-TransH: the translation model alone."""

    name = "m-transh"
    title = "m-TransH"
    settings_type = TranslationSettings

    def init_parameters(self, rng: torch.Generator, entities: range | None = None) -> Parameters:
        """Return embeddings, translations, normals and weights."""
        return self.translations(rng, entities)


@dataclass(frozen=True)
class RAESettings(TranslationSettings):
    """Settings of RAE."""

    hidden_dim: int = setting(100, "the width of the network that tells whether two entities are related", ge=1)
    relatedness_weight: float = setting(0.1, "the weight of its loss", ge=0)


class RAE(TranslationModel, Penalty):
    """RAE: the score of m-TransH, and a loss that trains entities of one fact to be related, by a network over pairs.

    relatedness(x, y) = v . relu(A x + B y + b) is trained to be high for two entities of one fact and low for an entity
    and one of another fact, unless the two stand together in some fact of the batch. Facts are ranked by
    the score of m-TransH alone.
    """

    name = "rae"
    title = "RAE"
    settings_type = RAESettings
    settings: RAESettings

    def init_parameters(self, rng: torch.Generator, entities: range | None = None) -> Parameters:
        """Return those of m-TransH and the network's."""
        dim, hidden = self.settings.dim, self.settings.hidden_dim
        return {
            **self.translations(rng, entities),
            "pair": normal(rng, 2, dim, hidden, spread=(2 / dim) ** 0.5),
            "pair_bias": torch.zeros(hidden, device=rng.device),
            "pair_out": normal(rng, hidden, spread=hidden**-0.5),
        }

    def penalty(self, tables: Parameters, relations: Tensor, columns: Tensor) -> Tensor | None:
        """Return the relatedness loss of a batch: each fact's pairs against pairs with another fact's entities."""
        if len(columns) < 2:
            return None
        left, right = (rows(tables["entities"], columns) @ matrix for matrix in tables["pair"])  # [arity, n, hidden]
        first, second = torch.triu_indices(len(columns), len(columns), 1, device=columns.device)

        def related(partner: Tensor) -> Tensor:
            return torch.relu(left[first] + partner[second] + tables["pair_bias"]) @ tables["pair_out"]

        strangers = columns.roll(1, dims=1)
        true, false = related(right), related(right.roll(1, dims=1))
        wrong = functional.softplus(false) * ~_together(columns, columns[first], strangers[second])
        return self.settings.relatedness_weight * (functional.softplus(-true) + wrong).mean()


def _flat(vectors: Tensor, normals: Tensor) -> Tensor:
    """Return the projections of vectors on the hyperplanes with unit normals."""
    return vectors - (vectors * normals).sum(-1, keepdim=True) * normals


def _together(columns: Tensor, left: Tensor, right: Tensor) -> Tensor:
    """Return whether the two entities of each pair stand in one fact of a batch, whatever their positions."""
    count = int(columns.max()) + 1 if columns.numel() else 1

    def numbered(one: Tensor, other: Tensor) -> Tensor:
        return (torch.minimum(one, other) * count + torch.maximum(one, other)).contiguous()  # isin takes no other layout

    return torch.isin(numbered(left, right), numbered(columns[:, None], columns[None]))

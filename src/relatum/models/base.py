"""The scoring contract: two towers and a combine.

A model is a description without state: its parameters are a dict of tensors that is handed in. `encode` turns them into
tables, once per version of the parameters. For a question (relation, position, the other entities) the query side depends on
the question only and the candidate side on (relation, position, candidate) only; a `Combine` meets the two. Ranking,
training and the best answers are written once against this. The law that every model's tests inherit: `score`, which is
written straight from the model's paper, equals combine(queries, candidates) whatever position is taken as open.

Ids are int64 tensors. Facts come in batches of one arity: relations[n] and columns[arity, n]; there is no padding.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from relatum.data.hypergraph import Hypergraph
from relatum.data.schema import Schema
from relatum.errors import SettingError
from relatum.kernels.filters import Known
from relatum.models.combine import Combine
from relatum.settings import Checked, setting

__all__ = ["Model", "Parameters", "Settings", "drop", "normal", "rows"]

Parameters = dict[str, Tensor]


@dataclass(frozen=True)
class Settings(Checked, path="model"):
    """What every model can be told."""

    dim: int = setting(200, "the dimension of embeddings", ge=1)
    input_dropout: float = setting(0.0, "the share of an embedding's coordinates dropped in a training step", ge=0, lt=1)


class Model(ABC):
    """What a model states; see the module's text for the contract."""

    name: ClassVar[str]  # in specs and on the command line, such as m-distmult
    title: ClassVar[str]  # as the papers write it, such as m-DistMult
    settings_type: ClassVar[type[Settings]] = Settings
    # Parameters with one row per entity, per relation, and per (relation, position): a step touches few of their rows.
    entity_tables: ClassVar[tuple[str, ...]] = ("entities",)
    relation_tables: ClassVar[tuple[str, ...]] = ("relations",)
    place_tables: ClassVar[tuple[str, ...]] = ()
    reads_facts: ClassVar[bool] = False  # whether `encode` looks at the facts of the hypergraph

    def __init__(self, graph: Hypergraph, settings: Settings | None = None) -> None:
        self.settings = settings if settings is not None else self.settings_type()
        if type(self.settings) is not self.settings_type:
            raise SettingError(f"{type(self).__name__} takes {self.settings_type.__name__}, not {type(settings).__name__}")
        self.graph = graph
        self.schema: Schema = graph.schema
        self.entity_count = len(graph.entities)
        self._arities = torch.tensor([relation.arity for relation in self.schema], dtype=torch.int64)
        self.max_arity = int(self._arities.max()) if len(self.schema) else 1
        self.place_count = int(self._arities.sum())
        self._first_place = torch.cumsum(self._arities, 0) - self._arities

    @property
    def midpoint(self) -> float:
        """The score of a fact that is as likely as not."""
        return 0.0

    @abstractmethod
    def initial(self, generator: torch.Generator) -> Parameters:
        """Return parameters to start from, drawn from `generator`."""

    def encode(self, parameters: Parameters, noise: torch.Generator | None = None) -> Parameters:
        """Return the tables that scoring reads; with `noise`, with the dropout of training.

        Rows of the entity tables may be a selection: then entity ids are places in it.
        """
        tables = dict(parameters)
        for name in self.entity_tables:
            tables[name] = drop(tables[name], self.settings.input_dropout, noise)
        return tables

    @abstractmethod
    def score(self, tables: Parameters, relations: Tensor, columns: Tensor) -> Tensor:
        """Return the score of each fact, [n]."""

    @abstractmethod
    def queries(self, tables: Parameters, relations: Tensor, columns: Tensor, position: int) -> Tensor:
        """Return the query side, [n, features]; columns[position] is not looked at."""

    @abstractmethod
    def candidates(self, tables: Parameters, relations: Tensor, position: int, entities: Tensor | None) -> Tensor:
        """Return the candidate side, [..., features], of entities (None: all) at a position of relations.

        `relations` and `entities` broadcast: one relation for many entities, or one each.
        """

    @abstractmethod
    def combine(self, tables: Parameters) -> Combine:
        """Return how the two sides meet."""

    def penalty(self, tables: Parameters, relations: Tensor, columns: Tensor) -> Tensor | None:
        """Return a loss of the model's own that is added in training, or None."""
        return None

    def own_loss(self, tables: Parameters, relations: Tensor, columns: Tensor, replacements: Tensor) -> Tensor | None:
        """Return Eq. 3 summed over facts, each against its replacements [arity, n, K], or None without a fused way."""
        return None

    def shared_loss(self, tables: Parameters, relation: Tensor, columns: Tensor, hidden: list[Known]) -> Tensor | None:
        """Return the softmax loss summed over facts of one relation and positions, each against all entities of the tables.

        `hidden` holds, per position, the candidates that a fact is not compared with. None says that there is no fused way.
        """
        return None

    def places(self, relations: Tensor, position: int) -> Tensor:
        """Return the row of (relation, position) in tables that have one row for each; no row is padding."""
        return self._first_place.to(relations.device)[relations] + position

    def narrowed(self, relations: Tensor) -> tuple[Model, Tensor]:
        """Return the model for tables that hold only some relations, and the rows of the place tables that are theirs.

        Relation ids are then places among `relations`, ascending and distinct. A step of training needs few relations, and
        the gradient of a whole table is mostly zeros.
        """
        narrow = copy.copy(self)
        narrow._arities = self._arities[relations]
        narrow._first_place = torch.cumsum(narrow._arities, 0) - narrow._arities
        starts = torch.repeat_interleave(self._first_place[relations] - narrow._first_place, narrow._arities)
        return narrow, starts + torch.arange(len(starts))

    def around(self, entities: Tensor, noise: torch.Generator) -> tuple[Model, Tensor]:
        """Return the model for a step that needs some entities, and the rows of the entity tables that `encode` then takes.

        Ids are ascending and distinct. Most models need just those rows; a model that reads facts takes those of their
        neighbours too. Either way its tables have one row for each of `entities`, and entity ids are places among them.
        """
        return self, entities

    def thinned(self, noise: torch.Generator) -> tuple[Model, dict[str, Tensor]]:
        """Return the model for a step of training that leaves some columns of its tables out, and the columns it keeps.

        A table that is not named keeps all. What is left out costs nothing, and is not touched by the step.
        """
        return self, {}

    def others(self, columns: Tensor, position: int) -> list[int]:
        """Return the positions of a question that are given."""
        return [place for place in range(len(columns)) if place != position]


def rows(table: Tensor, ids: Tensor | None) -> Tensor:
    """Return the chosen rows of a table, or all of them without a copy.

    The gradient of table[ids] is summed by all threads at once, in an order that changes from run to run; that of
    index_select is not.
    """
    if ids is None:
        return table
    return table.index_select(0, ids.flatten()).reshape(ids.shape + table.shape[1:])


def normal(generator: torch.Generator, *shape: int, spread: float) -> Tensor:
    """Return a tensor drawn from a normal distribution around 0."""
    return torch.randn(shape, generator=generator, device=generator.device) * spread


def drop(values: Tensor, share: float, noise: torch.Generator | None) -> Tensor:
    """Return values of which a share is set to 0 and the rest made larger by as much; all of them without noise."""
    if noise is None or share == 0:
        return values
    kept = torch.rand(values.shape, generator=noise, device=values.device) >= share
    return values * kept / (1 - share)

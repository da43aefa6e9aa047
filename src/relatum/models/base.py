"""The scoring contract: two towers and a combine.

A model is a description without state: its parameters are a dict of tensors that is handed in. `encode` turns them into
tables, once per version of the parameters. For a question (relation, position, the other entities) the query side depends on
the question only and the candidate side on (relation, position, candidate) only; a `Combine` meets the two. Ranking,
training and the best answers are written once against this. The law that every model's tests inherit: `score`, which is
written straight from the model's paper, equals combine(queries, candidates) whatever position is taken as open.

Ids are int64 tensors. Facts come in batches of one arity: relations[n] and columns[arity, n]; there is no padding. What a
model may add to its own training, such as a fused loss, is in `relatum.models.training_protocols`.
"""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Self, cast

import torch
from torch import Tensor

from relatum.data.hypergraph import Hypergraph
from relatum.data.schema import Schema
from relatum.errors import SettingError
from relatum.models.combine import Combine, hook
from relatum.settings import Checked, setting

Parameters = dict[str, Tensor]

# On a CPU torch draws 16 normal numbers together, and where some are left over, the last 16 once more: blocks of a multiple
# of that, the last one no shorter, hold the bits of one large draw.
_DRAWN_TOGETHER = 16
_BLOCK = _DRAWN_TOGETHER << 16  # numbers


class _Shapes:
    """Stands for a random number generator where nothing is drawn: torch has none on the meta device."""

    device = torch.device("meta")


@dataclass(frozen=True)
class Settings(Checked, path="model"):
    """Settings of every model."""

    dim: int = setting(200, "the dimension of embeddings", ge=1)
    input_dropout: float = setting(0.0, "the share of an embedding's coordinates dropped in a training step", ge=0, lt=1)


class Model(ABC):
    """What a model states; see the module's text for the contract.

    Of the facts of its graph only a model that reads facts takes notice. `arities` are those of the relations that
    parameters have rows for, if not for all of the schema; see `restricted_to`.
    """

    name: ClassVar[str]  # in specs and on the command line, such as m-distmult
    title: ClassVar[str]  # as the papers write it, such as m-DistMult
    settings_type: ClassVar[type[Settings]] = Settings
    # Parameters with one row per entity, per relation, and per (relation, position): a step touches few of their rows.
    entity_tables: ClassVar[tuple[str, ...]] = ("entities",)
    relation_tables: ClassVar[tuple[str, ...]] = ("relations",)
    position_tables: ClassVar[tuple[str, ...]] = ()
    reads_facts: ClassVar[bool] = False  # whether `encode` reads the facts of the hypergraph

    def __init__(self, graph: Hypergraph, settings: Settings | None = None, arities: Tensor | None = None) -> None:
        self.settings = settings if settings is not None else self.settings_type()
        if type(self.settings) is not self.settings_type:
            raise SettingError(
                "setting-type", f"{type(self).__name__} takes {self.settings_type.__name__}, not {type(settings).__name__}"
            )
        self.graph = graph
        self.schema: Schema = graph.schema
        self.num_entities = len(graph.entities)
        self.max_arity = max(self.schema.arities, default=1)
        of_schema = (relation.arity for relation in self.schema)
        self.arities = torch.tensor(list(of_schema), dtype=torch.int64) if arities is None else arities
        self.num_positions = int(self.arities.sum())
        self._first_rows = torch.cumsum(self.arities, 0) - self.arities

    @abstractmethod
    def init_parameters(self, rng: torch.Generator, entities: range | None = None) -> Parameters:
        """Return parameters to start from, drawn from `rng`.

        Entity tables have the rows of some entities, if these are named, and else of all; these are the same, and `rng` is
        left as it is, whichever are wanted.
        """

    def parameter_shapes(self, entities: range | None = None) -> Parameters:
        """Return parameters without values, on the meta device: nothing is drawn, and no memory taken."""
        try:
            return self.init_parameters(cast("torch.Generator", _Shapes()), entities)
        except RuntimeError:  # more numbers than 64 bits can count
            raise SettingError(
                "unreadable-value", f"{self.settings.dim} is too large a number", place=self.settings.path_of("dim")
            ) from None

    @hook
    def encode(self, parameters: Parameters, dropout_rng: torch.Generator | None = None) -> Parameters:
        """Return the tables that scoring reads; with a generator, with the dropout of training."""
        dropped = {name: drop(parameters[name], self.settings.input_dropout, dropout_rng) for name in self.entity_tables}
        return {**parameters, **dropped}

    @abstractmethod
    def score(self, tables: Parameters, relations: Tensor, columns: Tensor) -> Tensor:
        """Return the score of each fact, [n]."""

    @abstractmethod
    def queries(self, tables: Parameters, relations: Tensor, columns: Tensor, position: int) -> Tensor:
        """Return the query side, [n, features]; columns[position] is not read."""

    @abstractmethod
    def candidates(self, tables: Parameters, relations: Tensor, position: int, entities: Tensor | None) -> Tensor:
        """Return the candidate side, [..., features], of entities (None: all) at a position of relations.

        `relations` and `entities` broadcast: one relation for many entities, or one each.
        """

    @abstractmethod
    def combine(self, tables: Parameters) -> Combine:
        """Return how the two sides meet."""

    @property
    @hook
    def midpoint(self) -> float:
        """The score of a fact that is as likely as not."""
        return 0.0

    def position_rows(self, relations: Tensor, position: int) -> Tensor:
        """Return the row of (relation, position) in tables that have one row for each; no row is padding."""
        return self._first_rows.to(relations.device)[relations] + position

    def others(self, columns: Tensor, position: int) -> list[int]:
        """Return the positions of a question that are given."""
        return [other for other in range(len(columns)) if other != position]

    def restricted_to(self, relations: Tensor) -> Self:
        """Return the model of parameters that have rows for some relations only; relation ids are indices among these."""
        return type(self)(self.graph, self.settings, self.arities[relations])


def rows(table: Tensor, ids: Tensor | None) -> Tensor:
    """Return the chosen rows of a table, or all of them without a copy.

    The gradient of table[ids] is summed by all threads at once, in an order that changes from run to run; that of
    index_select is not.
    """
    if ids is None:
        return table
    return table.index_select(0, ids.flatten()).reshape(ids.shape + table.shape[1:])


def normal(rng: torch.Generator, *shape: int, spread: float, wanted: range | None = None) -> Tensor:
    """Return a tensor drawn from a normal distribution around 0, or the wanted rows of it.

    Rows that are not wanted are drawn too, block after block, for the others to be the same, and are not kept.
    """
    if rng.device.type == "meta":
        return torch.empty(shape if wanted is None else (len(wanted), *shape[1:]), device=rng.device)
    if wanted is None:
        return torch.randn(shape, generator=rng, device=rng.device).mul_(spread)
    width = math.prod(shape[1:])
    size, first, last = shape[0] * width, wanted.start * width, wanted.stop * width
    kept = torch.empty(last - first)
    starts = range(0, max(1, size - _DRAWN_TOGETHER + 1), _BLOCK)  # so that the last block is not too short
    for start, stop in itertools.pairwise([*starts, size]):
        block = torch.randn(stop - start, generator=rng)
        low, high = max(first, start), min(last, stop)
        if low < high:
            kept[low - first : high - first] = block[low - start : high - start]
    return kept.mul_(spread).view(len(wanted), *shape[1:])


def drop(values: Tensor, share: float, rng: torch.Generator | None) -> Tensor:
    """Return values of which a share is set to 0 and the rest made larger by as much; all of them without a generator."""
    if rng is None or share == 0:
        return values
    kept = torch.rand(values.shape, generator=rng, device=values.device) >= share
    return values * kept / (1 - share)

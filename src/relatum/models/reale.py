"""ReAlE (Fatemi et al., Knowledge Hypergraph Embedding Meets Relational Algebra, 2021)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from relatum.kernels.fact_loss import softmax_per_fact, softmax_shared
from relatum.kernels.filters import Excluded
from relatum.kernels.question_loss import question_gradients
from relatum.models.base import Model, Parameters, Settings, drop, normal, rows
from relatum.models.combine import SIGMAS, Combine, WindowedSigma
from relatum.models.ensemble import Summable, side_by_side
from relatum.models.ops import as_array, backend_for, one_torch_thread, window_sums, with_gradients
from relatum.models.training_protocols import ColumnDropout, FusedLoss, FusedQuestions, Gradient, QuestionBatch
from relatum.settings import require, setting

ENTITY_MAPS: dict[str, Callable[[Tensor], Tensor]] = {
    "sigmoid": torch.sigmoid,
    "none": lambda values: values,
    "clamp": lambda values: values.clamp(0, 1),
}


@dataclass(frozen=True)
class ReAlESettings(Settings):
    """Settings of ReAlE."""

    window: int = setting(2, "how many neighbouring coordinates interact; it divides `dim`. window = dim is Eq. 1", ge=1)
    sigma: str = setting("sigmoid", "what turns the sum in a window into its contribution", choices=SIGMAS)
    entity_map: str = setting(
        "sigmoid",
        "what entity parameters pass through. The theorems ask for entities in [0, 1]: sigmoid or clamp",
        choices=ENTITY_MAPS,
    )
    scale: float | None = setting(
        None,
        "what the mean over windows is multiplied with, by default the number of windows. The paper averages, but under its"
        " softmax a mean of sigmoids cannot fall below log(1 + K / e); its results come from the sum",
        gt=0,
    )
    window_dropout: float = setting(
        0.0, "the share of windows left out of a training step, for all facts of the step alike", ge=0, lt=1
    )
    dropout_block: int = setting(
        1,
        "how many neighbouring windows `window_dropout` leaves out together: with 16 coordinates in a block, a step touches"
        " only the memory that it needs",
        ge=1,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        fits = self.dim % self.window == 0
        require(fits, "model.window", f"must divide dim = {self.dim}, and {self.window} does not")


class ReAlE(Model, ColumnDropout, FusedLoss, FusedQuestions, Summable):
    """Eq. 2: scale * mean over windows j of sigma(b_r[j] + sum over positions i and k in window j of x_i[k] r[i][k])."""

    name = "reale"
    title = "ReAlE"
    settings_type = ReAlESettings
    settings: ReAlESettings
    relation_tables = ("bias",)
    position_tables = ("relations",)

    @property
    def windows(self) -> int:
        """The number of windows."""
        return self.settings.dim // self.settings.window

    @property
    def scale(self) -> float:
        """What the mean over windows, the degree of truth, is multiplied with."""
        return float(self.windows) if self.settings.scale is None else self.settings.scale

    @property
    def midpoint(self) -> float:
        """The score of a degree of truth in the middle: one half for sigmoid, 0 for tanh, and 1 for exp, which has none."""
        return self.scale * {"sigmoid": 0.5, "tanh": 0.0, "exp": 1.0}[self.settings.sigma]

    def init_parameters(self, rng: torch.Generator, entities: range | None = None) -> Parameters:
        """Return normal entities and relations, of the spread of Glorot's rule, and no bias."""
        dim, positions = self.settings.dim, self.num_positions
        spread = (2 / (self.num_entities + dim)) ** 0.5
        middle = 0.5 if self.settings.entity_map == "clamp" else 0.0
        return {
            "entities": normal(rng, self.num_entities, dim, spread=spread, wanted=entities).add_(middle),
            "relations": normal(rng, positions, dim, spread=(2 / (len(self.schema) + dim * self.max_arity)) ** 0.5),
            "bias": torch.zeros(len(self.schema), self.windows, device=rng.device),
        }

    def encode(self, parameters: Parameters, dropout_rng: torch.Generator | None = None) -> Parameters:
        """Return entities in [0, 1] and the rest. Dropout comes after the map: before it, a dropped one would be 0.5."""
        entities = ENTITY_MAPS[self.settings.entity_map](parameters["entities"])
        return {**parameters, "entities": drop(entities, self.settings.input_dropout, dropout_rng)}

    def score(self, tables: Parameters, relations: Tensor, columns: Tensor) -> Tensor:
        """Return Eq. 2 of each fact, [n]."""
        weights = torch.stack([rows(tables["relations"], self.position_rows(relations, i)) for i in range(len(columns))])
        products = (rows(tables["entities"], columns) * weights).sum(0)  # [n, dim]
        inside = rows(tables["bias"], relations) + self._sums(products)  # [n, windows]
        return self.scale * SIGMAS[self.settings.sigma](inside).mean(-1)

    def queries(self, tables: Parameters, relations: Tensor, columns: Tensor, position: int) -> Tensor:
        """Return the bias and the windowed sums of the given entities, [n, windows]."""
        bias = rows(tables["bias"], relations)
        given = self.others(columns, position)
        if not given:
            return bias
        with one_torch_thread():  # so little work that waking others, which then spin against the kernels', takes longer
            weights = torch.stack([rows(tables["relations"], self.position_rows(relations, i)) for i in given])
            return bias + self._sums((rows(tables["entities"], columns[given]) * weights).sum(0))

    def candidates(self, tables: Parameters, relations: Tensor, position: int, entities: Tensor | None) -> Tensor:
        """Return the windowed sums of the candidates, [..., windows]."""
        weights = rows(tables["relations"], self.position_rows(relations, position))
        return window_sums(rows(tables["entities"], entities), weights, self.settings.window)

    def combine(self, tables: Parameters) -> Combine:
        """Return the sum over windows of sigma(query + candidate), scaled."""
        return WindowedSigma(self.settings.sigma, self.scale / tables["bias"].shape[-1])

    def kept_columns(self, rng: torch.Generator) -> dict[str, Tensor]:
        """Return the windows that window dropout keeps; the scale of scores stays, for they are means over windows."""
        if not self.settings.window_dropout:
            return {}
        size, block = self.settings.window, self.settings.dropout_block
        blocks = -(-self.windows // block)
        kept = max(1, round(blocks * (1 - self.settings.window_dropout)))
        chosen = torch.randperm(blocks, generator=rng, device=rng.device)[:kept].sort().values
        if block > 1:
            chosen = (chosen[:, None] * block + torch.arange(block, device=rng.device)).flatten()
            chosen = chosen[chosen < self.windows]
        columns = (chosen[:, None] * size + torch.arange(size, device=rng.device)).flatten()
        return {"entities": columns, "relations": columns, "bias": chosen}

    def fused_loss_per_fact(
        self, tables: Parameters, relations: Tensor, columns: Tensor, replacements: Tensor
    ) -> Tensor | None:
        """Return Eq. 3 by a kernel, for the sigmoid on the CPU."""
        if not self._fusible(tables):
            return None
        position_rows = torch.stack([self.position_rows(relations, position) for position in range(len(columns))])
        sides = tables["entities"], tables["relations"], tables["bias"]
        arrays = map(as_array, (*sides, relations, position_rows, columns, replacements))
        loss, *gradients = softmax_per_fact(*arrays, self.scale / sides[2].shape[-1])  # type: ignore[call-arg,arg-type]
        return with_gradients(loss, gradients, *sides)

    def fused_loss_shared(
        self, tables: Parameters, relation: Tensor, columns: Tensor, excluded: list[Excluded]
    ) -> Tensor | None:
        """Return the loss against shared candidates by a kernel, for the sigmoid on the CPU."""
        if not self._fusible(tables):
            return None
        weights = rows(tables["relations"], self.position_rows(relation, 0) + torch.arange(len(columns)))
        sides = tables["entities"], weights, rows(tables["bias"], relation)
        x, r, b, ids = map(as_array, (*sides, columns))
        loss, *gradients = softmax_shared(x, r, b, ids, excluded, self.scale / len(b))
        return with_gradients(loss, gradients, *sides)

    def question_gradients(
        self, parameters: Parameters, batch: QuestionBatch, rng: torch.Generator
    ) -> tuple[float, float, list[Gradient]] | None:
        """Return loss, weight and gradients by one kernel, for the sigmoid on the CPU."""
        mapped = self.settings.entity_map == "sigmoid"
        fits = mapped or self.settings.entity_map == "none"
        if not (fits and self._fusible(parameters) and not self.settings.input_dropout):
            return None
        questions, kept = batch.questions, self.kept_columns(rng)
        windows = kept["bias"].numpy() if kept else np.arange(self.windows)
        columns = kept["entities"].numpy() if kept else None
        relation, first = questions.relation, int(self._first_rows[questions.relation])
        found = question_gradients(
            tuple(as_array(parameters[name]) for name in ("entities", "relations", "bias")),  # type: ignore[arg-type]
            (relation, first),
            questions.position,
            (questions.given, questions.answers, questions.starts),
            batch.chosen,
            batch.pool,
            windows,
            self.scale / len(windows),
            batch.objective,
            mapped=mapped,
        )
        positions = np.arange(first, first + len(found.relations))
        gradients = [
            Gradient("entities", found.rows, columns, torch.from_numpy(found.entities)),
            Gradient("relations", positions, columns, torch.from_numpy(found.relations)),
            Gradient("bias", np.array([relation]), windows if kept else None, torch.from_numpy(found.bias[None])),
        ]
        return found.loss, found.weight, gradients

    def joined_settings(self, models: Sequence[Model]) -> ReAlESettings:
        """Return the settings of a model that has the windows of all."""
        scale = None if self.settings.scale is None else self.settings.scale * len(models)
        return replace(self.settings, dim=sum(model.settings.dim for model in models), scale=scale)

    def joined_parameters(self, models: Sequence[Model], parameters: Sequence[Parameters]) -> Parameters:
        """Return the windows of all, side by side."""
        if self.settings.scale is not None:
            same = len({model.settings.dim for model in models}) == 1
            require(same, "model.scale", "models of different dimensions weigh their windows differently; train them alike")
        return side_by_side(parameters, ("entities", "relations", "bias"))

    def _fusible(self, tables: Parameters) -> bool:
        return self.settings.sigma == "sigmoid" and backend_for(tables["entities"]) == "numba"

    def _sums(self, products: Tensor) -> Tensor:
        """Return the sums over windows, [n, windows], of products [n, dim]."""
        return products.reshape(len(products), products.shape[-1] // self.settings.window, self.settings.window).sum(-1)

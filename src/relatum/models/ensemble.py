"""Several trained models as one of the same kind, whose score is the sum of theirs.

The features of all stand side by side in it, so everything that works on one model works on the sum: kernels, closed forms
and their bounds, export and serving.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor

from relatum.errors import SettingError
from relatum.models.base import Model, Parameters, Settings


class Summable(ABC):
    """A model whose sum with others like it is one like it again."""

    @abstractmethod
    def joined_settings(self, models: Sequence[Model]) -> Settings:
        """Return the settings of the sum of models like this one, which is the first of them."""

    @abstractmethod
    def joined_parameters(self, models: Sequence[Model], parameters: Sequence[Parameters]) -> Parameters:
        """Return the parameters of the sum."""


def joined(models: Sequence[Model], parameters: Sequence[Parameters]) -> tuple[Model, Parameters]:
    """Return the model whose score is the sum of the scores of models that may differ in their dimension alone."""
    first = models[0]
    if not isinstance(first, Summable):
        raise SettingError(
            "cannot-ensemble",
            f"the sum of {first.title} models is no {first.title} model",
            place="model",
            remedy="train one seed",
        )
    for other in models[1:]:
        same = type(other) is type(first) and replace(other.settings, dim=first.settings.dim) == first.settings
        if not same:
            raise SettingError(
                "runs-not-alike",
                "an ensemble joins models with the same settings; only the dimension may differ",
                place="model",
            )
        if other.graph.entities != first.graph.entities or other.schema != first.schema:
            raise SettingError(
                "runs-not-alike", "an ensemble joins models of the same entities and relations", place="model"
            )
    whole = type(first)(first.graph, first.joined_settings(models))
    return whole, first.joined_parameters(models, parameters)


def side_by_side(parameters: Sequence[Parameters], names: Sequence[str], blocks: int = 1) -> Parameters:
    """Return parameters whose last dimensions stand side by side, in each of so many equal blocks of it."""
    return {name: _in_blocks([each[name] for each in parameters], blocks) for name in names}


def _in_blocks(tensors: Sequence[Tensor], blocks: int) -> Tensor:
    return torch.cat([tensor.reshape(*tensor.shape[:-1], blocks, -1) for tensor in tensors], -1).flatten(-2)

"""NeuInfer (Guan et al., NeuInfer: Knowledge Inference on N-ary Facts, ACL 2020)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from relatum.models.base import Parameters, Settings, normal
from relatum.models.combine import Combine
from relatum.models.minima import MeanLogOdds, MinimumOfSums, log_odds_of_mean
from relatum.models.qualifiers import QualifierModel
from relatum.settings import setting


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

"""The best facts with several open positions: by trying all of them, or by a beam where there are too many."""

from __future__ import annotations

import itertools

import numpy as np
import torch
from torch import Tensor

from relatum.data.sorting import differs_from_previous
from relatum.inference.scoring import CandidateScorer
from relatum.models.base import Parameters, rows

EXHAUSTIVE_LIMIT = 2_000_000_000  # facts that may be tried: seconds to a minute

_QUERIES = 1024  # met with all entities at once
_ROUNDS = 5  # in which a beam is improved


@torch.no_grad()
def best_facts(
    scorer: CandidateScorer, columns: Tensor, positions: list[int], k: int, beam: int | None = None
) -> tuple[Tensor, Tensor]:
    """Return the best facts, int64[arity, found], and their scores, best first, at most k.

    Args:
        scorer: what scores candidates, and leaves known facts out.
        columns: int64[arity, 1], the given entities; an open position is ignored.
        positions: the open positions, at least one.
        k: how many facts.
        beam: how many partial facts are kept at each step; None tries all facts.
    """
    search = _Search(scorer, k)
    return search.exhaustive(columns, positions) if beam is None else search.by_beam(columns, positions, max(beam, k))


class _Search:
    def __init__(self, scorer: CandidateScorer, k: int) -> None:
        self.scorer, self.k = scorer, k

    def exhaustive(self, columns: Tensor, positions: list[int]) -> tuple[Tensor, Tensor]:
        """Meet every filling of all open positions but the last with all entities."""
        *first, last = positions
        best, scores = columns[:, :0], torch.empty(0)
        fillings = itertools.product(*(self.scorer.entities(position).tolist() for position in first))
        while part := list(itertools.islice(fillings, _QUERIES)):
            questions = columns.repeat(1, len(part))
            questions[first] = torch.tensor(part, dtype=torch.int64).T
            found = self._filled(questions, last, self.k)
            best, scores = _good(torch.cat([best, found[0]], 1), torch.cat([scores, found[1]]), self.k)
            best, scores = _best(best, scores, self.k)
        return best, scores

    def by_beam(self, columns: Tensor, positions: list[int], beam: int) -> tuple[Tensor, Tensor]:
        """Fill one position after the other, the rest held by a mean entity, then each again for as long as that helps."""
        tables, held = self._with_means(positions)
        found = columns.clone()
        found[positions] = held[:, None]
        scores = torch.empty(0)
        for position in positions:
            whole = position == positions[-1]
            found, scores = _best(*self._filled(found, position, beam, tables=tables, known=whole), beam)
        for _ in range(_ROUNDS):
            before = found
            for position in positions:
                more, more_scores = self._filled(found, position, self.k)
                found, scores = _best(torch.cat([found, more], 1), torch.cat([scores, more_scores]), beam)
            if found.shape == before.shape and torch.equal(found, before):
                break
        return found[:, : self.k], scores[: self.k]

    def _filled(
        self, questions: Tensor, position: int, k: int, *, tables: Parameters | None = None, known: bool = True
    ) -> tuple[Tensor, Tensor]:
        """Return the facts that the k best entities at a position make of each partial fact, and their scores."""
        most = max(1, min(k, self.scorer.count(position)))
        entities, scores = self.scorer.top(position, questions.numpy().astype(np.int32), most, tables=tables, known=known)
        filled = np.repeat(questions.numpy(), most, axis=1)
        filled[position] = entities.ravel()
        there = filled[position] >= 0
        return torch.from_numpy(filled[:, there]), torch.from_numpy(scores.ravel()[there])

    def _with_means(self, positions: list[int]) -> tuple[Parameters, Tensor]:
        """Return tables with an entity more for each position, the mean of those known there, and the ids of these."""
        model, tables = self.scorer.model, dict(self.scorer.tables)
        facts = model.graph.table(model.schema[self.scorer.relation].name).columns
        for name in model.entity_tables:
            table = tables[name]
            means = []
            for position in positions:
                there = torch.from_numpy(np.unique(facts[position]).astype(np.int64))
                means.append((rows(table, there) if len(there) else table).mean(0, keepdim=True))
            tables[name] = torch.cat([table, *means])
        return tables, model.num_entities + torch.arange(len(positions))


def _best(facts: Tensor, scores: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """Return the k best distinct facts, smaller ids first on ties."""
    columns = facts.numpy()
    order = np.lexsort(columns[::-1])
    order = order[differs_from_previous([column[order] for column in columns])]
    order = order[np.argsort(-scores.numpy()[order], kind="stable")[:k]]
    return torch.from_numpy(columns[:, order]), scores[torch.from_numpy(order)]


def _good(facts: Tensor, scores: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """Return those of distinct facts that are as good as the k-th best."""
    if len(scores) <= k:
        return facts, scores
    good = scores >= float(np.partition(scores.numpy(), -k)[-k])
    return facts[:, good], scores[good]

"""Algorithm 1 of ReAlE's paper as a plain loop of torch: what a person would write down, without a kernel of their own.

Embeddings are whole tables with dense gradients and dense Adagrad. Each fact of a batch is compared, by one softmax, with
replacements drawn for each of its positions. Facts of one arity are scored together, without padding.
"""

from __future__ import annotations

import time

import torch
from torch import Tensor, nn

from relatum import Hypergraph

DIM, WINDOW, BATCH, REPLACEMENTS, RATE = 200, 2, 128, 10, 0.1


class ReAlE(nn.Module):
    """Eq. 2: the sum over windows of sigmoid(bias + the window's sum over positions of entity times relation)."""

    def __init__(self, entities: int, arities: list[int]) -> None:
        super().__init__()
        self.entities, self.bias = nn.Embedding(entities, DIM), nn.Embedding(len(arities), DIM // WINDOW)
        self.relations = nn.Embedding(len(arities) * max(arities), DIM)
        self.positions = max(arities)
        for table in (self.entities, self.relations):
            nn.init.xavier_normal_(table.weight)
        nn.init.zeros_(self.bias.weight)

    def forward(self, relations: Tensor, facts: Tensor) -> Tensor:
        """Return the scores, [n, k], of relations [n] and facts [n, k, arity]."""
        weights = self.relations(relations[:, None] * self.positions + torch.arange(facts.shape[-1]))
        products = (torch.sigmoid(self.entities(facts)) * weights[:, None]).sum(2)
        inside = products.unflatten(-1, (-1, WINDOW)).sum(-1) + self.bias(relations)[:, None]
        return torch.sigmoid(inside).sum(-1)


class PublishedRecipe:
    """Trains on facts, step by step."""

    def __init__(self, facts: Hypergraph) -> None:
        self.count = len(facts.entities)
        self.model = ReAlE(self.count, [relation.arity for relation in facts.schema])
        self.optimizer = torch.optim.Adagrad(self.model.parameters(), lr=RATE)
        blocks = [(block.relations.tolist(), torch.tensor(block.columns).long().T) for block in facts.blocks.values()]
        self.facts = [fact for relations, rows in blocks for fact in zip(relations, rows, strict=True)]
        self.order = torch.randperm(len(self.facts)).tolist()
        self.step = 0

    def seconds_per_fact(self, steps: int) -> float:
        """Take steps, and return how long a fact took."""
        start = time.perf_counter()
        for _ in range(steps):
            self.take_step([self.facts[i] for i in self.order[self.step * BATCH : (self.step + 1) * BATCH]])
            self.step += 1
        return (time.perf_counter() - start) / (steps * BATCH)

    def take_step(self, batch: list[tuple[int, Tensor]]) -> float:
        """Take a step on facts, and return their mean loss."""
        loss = torch.zeros(())
        for arity in sorted({len(entities) for _, entities in batch}):
            chosen = [fact for fact in batch if len(fact[1]) == arity]
            relations, facts = torch.tensor([r for r, _ in chosen]), torch.stack([entities for _, entities in chosen])
            compared = facts[:, None].repeat(1, 1 + arity * REPLACEMENTS, 1)  # the fact itself comes first
            for position in range(arity):
                replaced = slice(1 + position * REPLACEMENTS, 1 + (position + 1) * REPLACEMENTS)
                compared[:, replaced, position] = torch.randint(self.count, (len(chosen), REPLACEMENTS))
            scores = self.model(relations, compared)
            loss = loss + nn.functional.cross_entropy(scores, torch.zeros(len(chosen), dtype=torch.long), reduction="sum")
        self.optimizer.zero_grad()
        (loss / len(batch)).backward()
        self.optimizer.step()
        return loss.item() / len(batch)

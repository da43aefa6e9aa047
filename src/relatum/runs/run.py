"""A trained run: evaluate it, complete facts with it, score facts with it; all it needs is in its directory."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from relatum.data.hypergraph import Split
from relatum.data.known_answers import KnownAnswers
from relatum.errors import DataError, RelatumError, UnknownNameError
from relatum.evaluation.ranking import rank
from relatum.evaluation.ranks import Ranks
from relatum.kernels.known import nothing_known
from relatum.models import MODELS, scoring
from relatum.models.store import load_model
from relatum.runs.directory import SPEC, load_facts
from relatum.runs.questions import Question, parse_question

__all__ = ["Answer", "Run"]


@dataclass(frozen=True, slots=True)
class Answer:
    """An entity that completes a question, its score, and the part that holds the fact already, if one does."""

    entity: str
    score: float
    source: str | None

    @property
    def known(self) -> bool:
        """Whether the fact is among those that the run was given."""
        return self.source is not None


class Run:
    """A trained model with its names and facts, loaded from a run directory."""

    def __init__(self, folder: str | PathLike[str]) -> None:
        self.folder = Path(folder)
        if not (self.folder / "config.json").exists() and (self.folder / SPEC).exists():
            raise RelatumError(
                f"{self.folder}: training has not ended yet; go on with: relatum train --resume {self.folder}"
            )
        self.model, self.parameters = load_model(self.folder, MODELS)
        self.tables = self.model.encode(self.parameters)

    @cached_property
    def split(self) -> Split:
        """The facts that the run was trained, validated and is tested on."""
        return load_facts(self.folder)

    @cached_property
    def known(self) -> KnownAnswers:
        """Everything known: train, valid and test."""
        return KnownAnswers(*self.split.parts.values())

    def evaluate(self, part: str = "test", *, raw: bool = False) -> Ranks:
        """Return how every position of every fact of a part ranks, filtered by all that is known, or raw."""
        if part not in self.split.parts:
            raise UnknownNameError("split", part, self.split.parts)
        facts = self.split.parts[part]
        if not len(facts):
            raise DataError(f"{self.folder}: there are no {part} facts")
        return rank(self.model, self.parameters, facts, None if raw else self.known, self.split.train)

    def complete(self, question: str | Question, k: int = 10, *, new_only: bool = False) -> list[Answer]:
        """Return the k best answers to a question with one open position, best first.

        Args:
            question: such as `sold(drew, ?, book)`.
            k: how many answers.
            new_only: leave out those that are known already.
        """
        question = self._question(question)
        if len(question.open) != 1:
            raise DataError(f"{question}: exactly one position must be open (a ?), and here are {len(question.open)}")
        position = question.open[0]
        columns = self._ids(question)
        relation = self.model.schema.id(question.relation)
        answers = self.known.lookup(np.array([relation], np.int32), columns.numpy().astype(np.int32), position)
        excluded = answers if new_only else nothing_known(1)
        places, scores = scoring.top(self.model, self.tables, relation, columns, position, k, excluded)
        names = self.model.graph.entities
        found = []
        for place, score in zip(places[0].tolist(), scores[0].tolist(), strict=True):
            if place >= 0:
                columns[position] = place
                found.append(Answer(names[place], score, self._source(relation, columns)))
        return found

    def score(self, fact: str | Question) -> float:
        """Return the score of a fact; more is more likely, among facts of one relation."""
        question = self._question(fact)
        if question.open:
            raise DataError(f"{question}: a fact to score has no open position")
        relation = torch.tensor([self.model.schema.id(question.relation)])
        return float(scoring.score(self.model, self.tables, relation, self._ids(question))[0])

    def _source(self, relation: int, columns: Tensor) -> str | None:
        """Return the part that holds a fact, columns int64[arity, 1]."""
        for part, graph in self.split.parts.items():
            table = graph.table(self.model.schema[relation].name).columns
            if np.any(np.all(table == columns.numpy(), axis=0)):
                return part
        return None

    def _question(self, question: str | Question) -> Question:
        return parse_question(question, self.model.schema) if isinstance(question, str) else question

    def _ids(self, question: Question) -> Tensor:
        """Return the entities of a question, int64[arity, 1]; an open position holds 0, which is not looked at."""
        names = self.model.graph.entities
        return torch.tensor([[0 if name is None else names.id(name)] for name in question.arguments])

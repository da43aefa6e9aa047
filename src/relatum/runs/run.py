"""A trained run: evaluate it, complete facts with it, score facts with it; all it needs is in its directory."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from relatum.data.hypergraph import Hypergraph, Split
from relatum.data.known_answers import KnownAnswers
from relatum.errors import DataError, RelatumError, UnknownNameError
from relatum.evaluation.calibration import Calibration, Reliability, label, reliability
from relatum.evaluation.ranking import rank
from relatum.evaluation.ranks import Ranks
from relatum.models import MODELS, scoring
from relatum.models.search import EXACT_LIMIT, best_facts
from relatum.models.store import load_model
from relatum.runs.directory import CALIBRATION, SPEC, load_facts
from relatum.runs.questions import Question, parse_question

__all__ = ["Answer", "Judgement", "Run"]

_BEAM = 256


@dataclass(frozen=True, slots=True)
class Answer:
    """Entities that complete a question, one for each open position, and what is known of the fact that they make.

    Attributes:
        entities: the entities, in the order of the open positions.
        score: the model's score; comparable among facts of one relation.
        probability: the calibrated one, comparable among all facts; None where there were no facts to calibrate with.
        source: the part that holds the fact already, or None.
    """

    entities: tuple[str, ...]
    score: float
    probability: float | None
    source: str | None

    @property
    def entity(self) -> str:
        """The entity at the only open position."""
        (entity,) = self.entities
        return entity

    @property
    def known(self) -> bool:
        """Whether the fact is among those that the run was given."""
        return self.source is not None


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a run thinks of a fact.

    Attributes:
        score: the model's score; comparable among facts of one relation.
        probability: the calibrated one, comparable among all facts; None where there were no facts to calibrate with.
        percentile: the share of its alternatives that score below it, in percent; alternatives are all facts that differ
            from it in one entity and are not known to be true; equal ones count by half.
        source: the part that holds the fact already, or None.
    """

    score: float
    probability: float | None
    percentile: float
    source: str | None


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
        facts = self._facts(part)
        return rank(self.model, self.parameters, facts, None if raw else self.known, self.split.train)

    @cached_property
    def calibration(self) -> Calibration | None:
        """What turns scores into probabilities, or None where there were no facts to fit it on."""
        path = self.folder / CALIBRATION
        if not path.exists():
            return None
        try:
            return Calibration.from_json(json.loads(path.read_text(encoding="utf-8")), len(self.model.schema))
        except ValueError:
            raise DataError(f"{path}: not valid JSON") from None
        except DataError as error:
            raise DataError(f"{path}: {error}") from None

    def reliability(self, part: str = "test") -> Reliability | None:
        """Return how far the probabilities of a part's facts, and of non-facts like them, can be trusted."""
        if self.calibration is None:
            return None
        facts = self._facts(part)
        return reliability(self.calibration, label(self.model, self.tables, facts, self.known, self.split.train))

    def complete(
        self, question: str | Question, k: int = 10, *, new_only: bool = False, beam: int | None = None
    ) -> list[Answer]:
        """Return the k best answers to a question, best first.

        With several open positions all facts are tried where that takes no more than a minute; beyond, or if `beam` is
        given, partial facts are extended position by position, which may miss some of the best.

        Args:
            question: such as `sold(drew, ?, book)` or `sold(drew, ?, ?)`.
            k: how many answers.
            new_only: leave out those that are known already.
            beam: how many partial facts are kept at each step.
        """
        question = self._question(question)
        if not question.open:
            raise DataError(f"{question}: at least one position must be open (a ?)")
        if beam is None and self.model.entity_count ** len(question.open) > EXACT_LIMIT:
            beam = _BEAM
        relation = self.model.schema.id(question.relation)
        excluded = self.known if new_only else None
        facts, scores = best_facts(self.model, self.tables, relation, self._ids(question), question.open, k, excluded, beam)
        names = self.model.graph.entities
        return [
            Answer(
                tuple(names[entity] for entity in fact[question.open].tolist()),
                score,
                self._probability(relation, score),
                self._source(relation, fact[:, None]),
            )
            for fact, score in zip(facts.T, scores.tolist(), strict=True)
        ]

    def score(self, fact: str | Question) -> Judgement:
        """Return what the run thinks of a fact."""
        question = self._question(fact)
        if question.open:
            raise DataError(f"{question}: a fact to score has no open position")
        relation, columns = self.model.schema.id(question.relation), self._ids(question)
        found = float(scoring.score(self.model, self.tables, torch.tensor([relation]), columns)[0])
        return Judgement(
            found, self._probability(relation, found), self._percentile(relation, columns), self._source(relation, columns)
        )

    def _facts(self, part: str) -> Hypergraph:
        if part not in self.split.parts:
            raise UnknownNameError("split", part, self.split.parts)
        facts = self.split.parts[part]
        if not len(facts):
            raise DataError(f"{self.folder}: there are no {part} facts")
        return facts

    def _probability(self, relation: int, score: float) -> float | None:
        return None if self.calibration is None else float(self.calibration.probability(relation, score))

    def _percentile(self, relation: int, columns: Tensor) -> float:
        below = alternatives = 0.0
        for position in range(len(columns)):
            known = self.known.lookup(np.array([relation], np.int32), columns.numpy().astype(np.int32), position)
            better, equal = scoring.count_better(self.model, self.tables, relation, columns, position, known)
            others = self.model.entity_count - int(known.counts[0]) - int(not known.contain(columns[position].numpy())[0])
            alternatives += others
            below += others - int(better[0]) - int(equal[0]) / 2
        return 100 * below / alternatives if alternatives else 100.0

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

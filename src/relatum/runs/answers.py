"""What a run says of facts: answers that complete a question, and judgements of a fact."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Answer", "Judgement"]


@dataclass(frozen=True, slots=True)
class Answer:
    """Entities that complete a question, one for each open position, and what is known of the fact that they make.

    Attributes:
        entities: the entities, in the order of the open positions.
        score: the model's score; comparable among facts of one relation.
        probability: the calibrated one, comparable among all facts; None where there were no facts to calibrate with.
        source: the part that holds the fact already, `derived` if it follows from them by definition, or None.
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
        source: the part that holds the fact already, `derived` if it follows from them by definition, or None.
    """

    score: float
    probability: float | None
    percentile: float
    source: str | None

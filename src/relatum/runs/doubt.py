"""Known facts that a run finds doubtful, with what it would expect instead, and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from relatum.algebra.lexer import as_written, write_arguments
from relatum.errors import DataError
from relatum.evidence.doubt import JudgedRelation, expected, judge
from relatum.evidence.reasons import Reason, reasons
from relatum.progress import progress
from relatum.runs.trained import Trained
from relatum.settings import whole_number

_REASONS, _RULES = 3, 12  # rules that are shown for an entity, and that are looked through

DOUBT_COLUMNS: dict[str, type] = {
    "fact": str,
    "role": str,
    "stored": str,
    "expected": str,
    "doubt": float,
    "evidence": float,
    "embedding": float,
    "source": str,
}


@dataclass(frozen=True)
class DoubtfulFact:
    """A known fact one of whose entities seems to be wrong.

    Attributes:
        relation: its name.
        entities: in the order of the positions.
        position: the position that is most likely wrong.
        role: how it is called.
        expected: what is expected there instead; None if nothing else is known there.
        doubt: the log-odds that what stands there does so by accident; comparable among all facts.
        evidence: how much likelier an accident is than what other facts speak for, in nats.
        embedding: what the embedding adds to that.
        source: the split part that holds the fact.
        reasons: what speaks for the expected entity.
        support: what speaks for the stored one, the fact itself left out.
    """

    relation: str
    entities: tuple[str, ...]
    position: int
    role: str
    expected: str | None
    doubt: float
    evidence: float
    embedding: float
    source: str
    reasons: tuple[Reason, ...]
    support: tuple[Reason, ...]

    def __str__(self) -> str:
        return as_written(self.relation) + write_arguments(self.entities)

    @property
    def stored(self) -> str:
        """What stands at the position."""
        return self.entities[self.position]

    def to_dict(self) -> dict[str, Any]:
        """Return the columns by name, and what speaks for either entity."""
        plain = {"fact": str(self), **{name: getattr(self, name) for name in DOUBT_COLUMNS if name != "fact"}}
        own = {"relation": self.relation, "entities": list(self.entities), "position": self.position}
        words = {name: [one.to_dict() for one in getattr(self, name)] for name in ("reasons", "support")}
        return {**plain, **own, **words}

    def to_row(self) -> dict[str, Any]:
        """Return the columns by name."""
        return {name: value for name, value in self.to_dict().items() if name in DOUBT_COLUMNS}


def doubtful_facts(run: Trained, relations: Sequence[str], k: int = 20) -> list[DoubtfulFact]:
    """Return the k most doubtful of the known facts of relations, the most doubtful first.

    A run that was trained without evidence is searched for rules.

    Args:
        run: the run that doubts.
        relations: their names.
        k: how many facts at most; there are fewer where nothing speaks against more of them.
    """
    k, ids = whole_number("k", k), []
    for name in relations:
        if name in run.definitions:
            raise DataError(
                "defined-relation",
                "is a defined relation",
                place=name,
                remedy="doubt the facts of those that it is defined by",
            )
        ids.append(run.model.schema.id(run.model.schema[name].name))
    evidence, (_, *held_out) = run.rules_of_facts, run.split.parts.values()
    cells = sum(run.table(run.model.schema[one].name).columns.size for one in ids)
    with progress("judging facts", cells) as advance:
        doubts = judge(run.model, run.tables, evidence, held_out, run.known, ids, advance)
    return [_described(run, *one) for one in doubts.most_doubtful(k)]


def _described(run: Trained, judged: JudgedRelation, fact: int) -> DoubtfulFact:
    evidence, names, schema = run.rules_of_facts, run.entities, run.model.schema[judged.relation]
    stored = judged.facts[:, fact]
    position, instead = expected(evidence, judged, fact, run.known)
    other = stored.copy()
    other[position] = instead
    return DoubtfulFact(
        relation=schema.name,
        entities=tuple(names[one] for one in stored.tolist()),
        position=position,
        role=schema.roles[position] if schema.roles else f"position {position}",
        expected=names[instead] if instead >= 0 else None,
        doubt=float(judged.doubt[position, fact]),
        evidence=float(judged.evidence[position, fact]),
        embedding=float(judged.embedding[position, fact]),
        source=list(run.split.parts)[judged.part[fact]],
        reasons=_distinct(reasons(evidence, judged.relation, other, _RULES, position)) if instead >= 0 else (),
        support=_distinct(reasons(evidence, judged.relation, stored, _RULES, position)),
    )


def _distinct(found: list[Reason]) -> tuple[Reason, ...]:
    """Return the best reasons, of those that rest on the same facts only the first."""
    by_facts: dict[tuple[tuple[str, ...], int], Reason] = {}
    for one in found:
        by_facts.setdefault((one.facts, one.more), one)
    return tuple(by_facts.values())[:_REASONS]

"""A soft rule: a fact of one relation that speaks for an answer to a question about another, and how often it is right."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from relatum.arrays import Float32
from relatum.data.schema import Schema
from relatum.errors import DataError
from relatum.kernels.evidence import TIMES

__all__ = ["SoftRule"]

_DRAWN = 5.0  # named candidates that the confidence as a whole counts for, beside those of one number of facts
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


@dataclass(frozen=True, slots=True)
class SoftRule:
    """Where a fact of `body` has given entities of a question at some positions, what it has at `answer` may answer it.

    Attributes:
        relation: what the question is about.
        position: its open position.
        body: the relation that is read.
        answer: the position of the answer in it.
        given: pairs of a position of the question and one of the body that hold the same entity; at least one.
        rights: how often the answer of a training fact was named, by one other fact than itself, by two, ..., by `TIMES` or
            more.
        nameds: how many candidates were named in all, by as many facts, other known answers left out.
    """

    relation: int
    position: int
    body: int
    answer: int
    given: tuple[tuple[int, int], ...]
    rights: tuple[int, ...] = (0,) * TIMES
    nameds: tuple[int, ...] = (0,) * TIMES

    @property
    def right(self) -> int:
        """How often the answer of a training fact was named."""
        return sum(self.rights)

    @property
    def named(self) -> int:
        """How many candidates were named in all."""
        return sum(self.nameds)

    @property
    def confidence(self) -> float:
        """How likely a candidate is right that this rule names; lower where there is little to judge by."""
        return self.right / (self.named + 3)

    @property
    def confidences(self) -> Float32:
        """How likely it is where one fact names it, where two do, ...; where there is little to judge by, the confidence."""
        right, named = np.array(self.rights), np.array(self.nameds)
        shares: Float32 = ((right + _DRAWN * self.confidence) / (named + _DRAWN)).astype(np.float32)
        return shares

    @property
    def reads_itself(self) -> bool:
        """Whether the fact that answers a question is itself one that the rule reads."""
        return self.body == self.relation and all(a == b for a, b in (*self.given, (self.position, self.answer)))

    def text(self, schema: Schema) -> str:
        """Return the rule as Datalog writes it: head <- body, with a letter for an entity that both have."""
        head, body = schema[self.relation], schema[self.body]
        letters = {position: _letter(position) for position in range(head.arity)}
        written = {self.answer: letters[self.position], **{read: letters[position] for position, read in self.given}}
        arguments = ", ".join(written.get(position, "_") for position in range(body.arity))
        return f"{head.name}({', '.join(letters.values())}) <- {body.name}({arguments})"

    def answers(self, schema: Schema) -> str:
        """Return the name of the argument of the head that the rule names."""
        head = schema[self.relation]
        return head.roles[self.position] if head.roles else f"argument {self.position + 1}"

    def to_json(self, schema: Schema) -> dict[str, Any]:
        """Return the rule as plain data, with relations by name."""
        return {
            "relation": schema[self.relation].name,
            "position": self.position,
            "body": schema[self.body].name,
            "answer": self.answer,
            "given": [list(pair) for pair in self.given],
            "right": list(self.rights),
            "named": list(self.nameds),
        }

    @classmethod
    def from_json(cls, plain: Mapping[str, Any], schema: Schema) -> SoftRule:
        """Return the rule that plain data says."""
        relation, body = schema.id(plain["relation"]), schema.id(plain["body"])
        counts = (tuple(map(int, plain[name])) for name in ("right", "named"))
        given = tuple((int(position), int(read)) for position, read in plain["given"])
        rule = cls(relation, int(plain["position"]), body, int(plain["answer"]), given, *counts)
        head, read = zip((rule.position, rule.answer), *given, strict=True)
        for used, arity in ((head, schema[relation].arity), (read, schema[body].arity)):
            if (
                len(rule.rights) != TIMES
                or len(rule.nameds) != TIMES
                or not given
                or len(set(used)) < len(used)
                or not all(0 <= one < arity for one in used)
            ):
                raise DataError(f"no rule for an answer: {dict(plain)}")
        return rule


def _letter(position: int) -> str:
    return _LETTERS[position] if position < len(_LETTERS) else f"X{position}"

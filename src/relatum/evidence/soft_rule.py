"""A soft rule: known facts speak for an answer to a question, and how often what they name is right."""

from __future__ import annotations

from dataclasses import dataclass
from operator import gt
from typing import Annotated, Any, NamedTuple

import numpy as np

from relatum.algebra.lexer import as_written
from relatum.arrays import Float32
from relatum.artefacts import Count, Declared, Known, Named, Within
from relatum.data.schema import Schema
from relatum.data.vocabulary import Vocabulary
from relatum.errors import DataError
from relatum.kernels.soft_rules import TIMES

ANY, JOINED = -1, -2  # terms of an atom: whatever entity, and the one that both atoms of a body have
_DRAWN = 5.0  # named candidates that the confidence as a whole counts for, beside those of one number of facts
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def constant(entity: int) -> int:
    """Return the term that is one entity."""
    return JOINED - 1 - entity


def constant_entity(term: int) -> int | None:
    """Return the entity that a term is; None for other terms."""
    return JOINED - 1 - term if term < JOINED else None


class _Term:
    """How files hold a term: a position, nothing for any entity, "Z" for the joined one, an object for a constant."""

    def read(self, data: Any, known: Known) -> int:
        """Return the term that plain data says."""
        if type(data) is dict and type(data.get("entity")) is str:
            return constant(known["entities"].id(data["entity"]))
        if data is None or data == "Z":
            return ANY if data is None else JOINED
        if type(data) is not int or data < 0:
            raise DataError("damaged-file", f"no term of a rule: {data!r}")
        return data

    def write(self, term: int, known: Known) -> Any:
        """Return a term as plain data."""
        entity = constant_entity(term)
        return {ANY: None, JOINED: "Z"}.get(term, term) if entity is None else {"entity": known["entities"][entity]}


Term = Annotated[int, _Term()]
_Counts = Annotated[tuple[Count, ...], Within(shape=(TIMES,))]


class Atom(NamedTuple):
    """What a fact of the body is like."""

    relation: Annotated[int, Named("schema")]
    terms: tuple[Term, ...]  # by position: one of the head, which has the same entity, `ANY`, `JOINED` or a constant

    def where(self, term: int) -> list[int]:
        """Return the positions that hold a term."""
        return [position for position, one in enumerate(self.terms) if one == term]


@dataclass(frozen=True, slots=True)
class SoftRule(Declared):
    """Where facts are like the atoms of the body, `answer` may stand at the open position of the head.

    There are two kinds. An atom, or two that are joined by one entity, can name the answer: then it is a variable. Or the
    answer is a constant, or the entity at another position: then an atom says on which condition.

    Counts are by how many facts name a candidate: one, two, ..., `TIMES` or more; a training fact does not name its own.
    """

    relation: Annotated[int, Named("schema")]
    position: Count  # the open one
    body: tuple[Atom, ...]  # the first of two holds given entities and the joined one, the second that and the answer
    answer: Term  # at the open position: this position for what the body names, another position, or a constant
    rights: _Counts = (0,) * TIMES  # how often the answer of a training fact was named
    nameds: _Counts = (0,) * TIMES  # how many candidates were, other known answers left out

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
        return ((right + _DRAWN * self.confidence) / (named + _DRAWN)).astype(np.float32)

    @property
    def names_what_is_read(self) -> bool:
        """Whether the answer is what the body names, and no constant and no given entity."""
        return self.answer == self.position

    @property
    def template(self) -> str:
        """The kind of rule in one word: match, path, value or frequency."""
        if len(self.body) > 1:
            return "path"
        if self.names_what_is_read:
            return "match"
        return "value" if max(self.body[0].terms) >= 0 else "frequency"

    def text(self, schema: Schema, entities: Vocabulary) -> str:
        """Return the rule as Datalog writes it: head <- body, with a letter for an entity that both have."""
        head = schema[self.relation]
        terms = [self.answer if position == self.position else position for position in range(head.arity)]
        atoms = ((head.name, terms), *((schema[one.relation].name, one.terms) for one in self.body))
        written, *body = (f"{name}({', '.join(_written(term, entities) for term in each)})" for name, each in atoms)
        return f"{written} <- {', '.join(body)}"

    def answers(self, schema: Schema) -> str:
        """Return the name of the argument of the head that the rule names."""
        head = schema[self.relation]
        return head.roles[self.position] if head.roles else f"argument {self.position + 1}"

    def check(self, known: Known) -> None:
        """Refuse what is neither kind of rule, or more right answers than candidates."""
        if not self._fits(known["schema"]) or any(map(gt, self.rights, self.nameds)):
            raise DataError("damaged-file", "no rule for an answer")

    def _fits(self, schema: Schema) -> bool:
        """Return whether the rule is one of the two kinds, of relations with as many positions as it says."""
        arity = schema[self.relation].arity
        sized = all(len(one.terms) == schema[one.relation].arity and max(one.terms) < arity for one in self.body)
        if not (self.body and sized and 0 <= self.position < arity > self.answer and self.answer not in (ANY, JOINED)):
            return False
        given = set(range(arity)) - {self.position}
        held = [set(one.terms) for one in self.body]
        if not self.names_what_is_read:
            named = len(held) == 1 and not held[0] & {self.position, JOINED} and held[0] != {ANY}
        elif len(held) == 2:
            first, second = held
            named = bool(first & given) and JOINED in first & second and self.position in second - first
        else:
            named = len(held) == 1 and self.position in held[0] and bool(held[0] & given) and JOINED not in held[0]
        return named


def _written(term: int, entities: Vocabulary) -> str:
    entity = constant_entity(term)
    if entity is not None:
        name = entities[entity]
        return as_written(name, quote=name[0].isupper() or name[0] == "_")
    if term < 0:
        return "_" if term == ANY else "Z"
    return _LETTERS[term] if term < len(_LETTERS) - 1 else f"X{term}"

"""A soft rule: known facts speak for an answer to a question, and how often what they name is right."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from relatum.algebra.lexer import as_written
from relatum.arrays import Float32
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


class Atom(NamedTuple):
    """What a fact of the body is like."""

    relation: int
    terms: tuple[int, ...]  # by position: one of the head, which has the same entity, `ANY`, `JOINED` or a constant

    def where(self, term: int) -> list[int]:
        """Return the positions that hold a term."""
        return [position for position, one in enumerate(self.terms) if one == term]


@dataclass(frozen=True, slots=True)
class SoftRule:
    """Where facts are like the atoms of the body, `answer` may stand at the open position of the head.

    There are two kinds. An atom, or two that are joined by one entity, can name the answer: then it is a variable. Or the
    answer is a constant, or the entity at another position: then an atom says on which condition.

    Counts are by how many facts name a candidate: one, two, ..., `TIMES` or more; a training fact does not name its own.
    """

    relation: int
    position: int  # the open one
    body: tuple[Atom, ...]  # the first of two holds given entities and the joined one, the second that and the answer
    answer: int  # at the open position: this position for what the body names, another position, or a constant
    rights: tuple[int, ...] = (0,) * TIMES  # how often the answer of a training fact was named
    nameds: tuple[int, ...] = (0,) * TIMES  # how many candidates were, other known answers left out

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

    def to_json(self, schema: Schema, entities: Vocabulary) -> dict[str, Any]:
        """Return the rule as plain data, with relations and entities by name."""
        return {
            "relation": schema[self.relation].name,
            "position": self.position,
            "answer": _plain(self.answer, entities),
            "body": [
                {"relation": schema[one.relation].name, "terms": [_plain(term, entities) for term in one.terms]}
                for one in self.body
            ],
            "right": list(self.rights),
            "named": list(self.nameds),
        }

    @classmethod
    def from_json(cls, plain: Mapping[str, Any], schema: Schema, entities: Vocabulary) -> SoftRule:
        """Return the rule that plain data says."""
        body = tuple(
            Atom(schema.id(one["relation"]), tuple(_term(term, entities) for term in one["terms"])) for one in plain["body"]
        )
        counts = (tuple(map(int, plain[name])) for name in ("right", "named"))
        rule = cls(schema.id(plain["relation"]), int(plain["position"]), body, _term(plain["answer"], entities), *counts)
        if not rule._fits(schema):
            raise DataError("damaged-file", f"no rule for an answer: {dict(plain)}")
        return rule

    def _fits(self, schema: Schema) -> bool:
        """Return whether the rule is one of the two kinds, of relations with as many positions as it says."""
        arity = schema[self.relation].arity
        counts = len(self.rights) == len(self.nameds) == TIMES and min(*self.rights, *self.nameds) >= 0
        sized = all(len(one.terms) == schema[one.relation].arity and max(one.terms) < arity for one in self.body)
        if not (counts and sized and 0 <= self.position < arity > self.answer and self.answer not in (ANY, JOINED)):
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


def _plain(term: int, entities: Vocabulary) -> Any:
    """Return a term as plain data: a position, nothing for any entity, "Z" for the joined one, an object for a constant."""
    entity = constant_entity(term)
    if entity is not None:
        return {"entity": entities[entity]}
    return {ANY: None, JOINED: "Z"}.get(term, term)


def _term(plain: Any, entities: Vocabulary) -> int:
    if isinstance(plain, Mapping):
        return constant(entities.id(plain["entity"]))
    if plain is None or plain == "Z":
        return ANY if plain is None else JOINED
    if not isinstance(plain, int) or isinstance(plain, bool) or plain < 0:
        raise DataError("damaged-file", f"no term of a rule: {plain!r}")
    return plain

"""Questions about facts, their text, and what a run answers: records with roles as field names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from relatum.algebra.lexer import Arguments, Reader, as_written, read_arguments, write_arguments
from relatum.data.schema import RelationSchema, Schema
from relatum.errors import DataError, UnknownNameError
from relatum.inference.answer_sets import Limit
from relatum.records import Record, Records, columns_of

_OWN = {"score": float, "probability": float}  # what every record has beside its entities
_INTERVAL = {"interval": str}  # and where some of these are numbers or dates


class _ByRole:
    """What lets a record be read by role: `answer.buyer`, `answer["buyer"]`."""

    __slots__ = ()
    roles: tuple[str, ...]
    entities: tuple[str, ...]

    def __getattr__(self, name: str) -> str:
        if name not in ("roles", "entities") and not name.startswith("_") and name in self.roles:
            return self.entities[self.roles.index(name)]
        raise AttributeError(str(UnknownNameError(f"field of {type(self).__name__}", name, self._fields())))

    def __getitem__(self, name: str) -> Any:
        if name in self.roles:
            return self.entities[self.roles.index(name)]
        if name in self._fields():
            return getattr(self, name)
        raise UnknownNameError(f"field of {type(self).__name__}", name, self._fields())

    def _fields(self) -> list[str]:
        return [*self.roles, *(field.name for field in fields(self) if field.name not in ("roles", "entities"))]  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class Answer(_ByRole):
    """Entities that complete a question, one for each open position, and what is known of the fact that they make.

    Attributes:
        entities: the entities, in the order of the open positions.
        score: the model's score; comparable among facts of one relation.
        probability: the calibrated one, comparable among all facts; None where there were no facts to calibrate with.
        source: the split part that holds the fact already, `derived` if it follows by definition, or None.
        roles: how the open positions are called; the entity at a role is a field of that name too.
        intervals: beside each entity that is a number or date the least and the greatest that it can be, None where it is
            exact or no such value; of a known answer, those that are stored. Nothing where no position has any.
    """

    entities: tuple[str, ...]
    score: float
    probability: float | None
    source: str | None
    roles: tuple[str, ...] = ()
    intervals: tuple[str | None, ...] = ()

    @property
    def entity(self) -> str:
        """The entity at the only open position."""
        (entity,) = self.entities
        return entity

    @property
    def known(self) -> bool:
        """Whether the fact is among those that the run was given."""
        return self.source is not None

    def to_dict(self) -> dict[str, Any]:
        """Return the entities by role, and the rest."""
        own = {"score": self.score, "probability": self.probability, "known": self.known, "source": self.source}
        return _joined(self.roles, self.entities, {**own, **interval_of(self.intervals)})


class Answers(Records[Answer]):
    """The answers to a question: the known ones, best first, and behind them the new ones, best first."""

    def __init__(
        self,
        answers: Iterable[Answer],
        question: Question,
        roles: Sequence[str],
        limit: Limit | None = None,
        *,
        has_intervals: bool = False,
    ) -> None:
        own = {**_OWN, "known": bool, "source": str, **(_INTERVAL if has_intervals else {})}
        super().__init__(answers, _columns(roles, own), str(question))
        self.question, self.limit = question, limit

    @property
    def promise(self) -> str | None:
        """How often the new answers hold the missing one, and if what is so; None where no coverage was wanted."""
        return None if self.limit is None else str(self.limit)

    @property
    def known(self) -> list[Answer]:
        """The answers that the run was given."""
        return [answer for answer in self if answer.known]

    @property
    def new(self) -> list[Answer]:
        """The answers that it predicts."""
        return [answer for answer in self if not answer.known]


@dataclass(frozen=True, slots=True)
class FactScore(Record):
    """What a run thinks of a fact.

    Attributes:
        fact: the fact.
        score: the model's score; comparable among facts of one relation.
        probability: the calibrated one, comparable among all facts; None where there were no facts to calibrate with.
        percentile: the share of its alternatives that score below it, in percent; alternatives are all facts that differ
            from it in one entity and are not known to be true; equal ones count by half.
        source: the split part that holds the fact already, `derived` if it follows by definition, or None.
        interval: what the score and the probability are of, where the fact has a number or a date: the least and the
            greatest that it can be; None where it has none, or the fact is known.
        stored: what is stored instead, where the tables have another value in a cell of the fact; None where there is none.
    """

    fact: str
    score: float
    probability: float | None
    percentile: float
    source: str | None
    interval: str | None = None
    stored: str | None = None

    @property
    def known(self) -> bool:
        """Whether the fact is among those that the run was given."""
        return self.source is not None


FACT_SCORE_COLUMNS = columns_of(FactScore)


@dataclass(frozen=True, slots=True)
class Prediction(_ByRole):
    """A fact that is not known, and what the model thinks of it.

    Attributes:
        relation: its name.
        entities: in the order of the positions.
        score: the model's score; comparable among facts of one relation.
        probability: the calibrated one, comparable among all facts; None where there were no facts to calibrate with.
        position: where the fact differs from a known one; None if all facts were tried.
        roles: how the positions are called; the entity at a role is a field of that name too.
        intervals: as of an `Answer`.
    """

    relation: str
    entities: tuple[str, ...]
    score: float
    probability: float | None
    position: int | None
    roles: tuple[str, ...] = ()
    intervals: tuple[str | None, ...] = ()

    def __str__(self) -> str:
        return as_written(self.relation) + write_arguments(self.entities)

    def to_dict(self) -> dict[str, Any]:
        """Return the relation, the entities by role, and the rest."""
        own = {**{name: self[name] for name in _OWN}, **interval_of(self.intervals)}
        return {"relation": self.relation, **_joined(self.roles, self.entities, own)}


class Predictions(Records[Prediction]):
    """Facts that are not known, of one relation or of several; of several, each is one text in the table."""

    def __init__(
        self, predictions: Iterable[Prediction], relations: Sequence[RelationSchema], *, has_intervals: bool = False
    ) -> None:
        one = relations[0] if len(relations) == 1 else None
        own = {**_OWN, **(_INTERVAL if has_intervals else {})}
        columns = _columns(field_names(one, range(one.arity)), own) if one else {"fact": str, **own}
        named = ", ".join(relation.name for relation in relations[:3]) + (", ..." if len(relations) > 3 else "")
        super().__init__(predictions, {"relation": str, **columns}, f"predicted facts of {named}")
        self._mixed = one is None

    def _plain(self, row: Prediction) -> dict[str, Any]:
        if not self._mixed:
            return row.to_dict()
        own = {**{name: row[name] for name in _OWN}, **dict.fromkeys(_INTERVAL.keys() & self.columns.keys())}
        return {"relation": row.relation, "fact": str(row), **own, **interval_of(row.intervals)}


@dataclass(frozen=True, slots=True)
class Suggestion(_ByRole):
    """An answer to one of many questions that differ in some entities, which come before that of the answer.

    Its rank is that among the known answers to its question, or among the new ones, from 1; all else is as of an `Answer`.
    """

    entities: tuple[str, ...]
    rank: int
    score: float
    probability: float | None
    source: str | None
    roles: tuple[str, ...] = ()
    intervals: tuple[str | None, ...] = ()

    @property
    def known(self) -> bool:
        """Whether the fact is among those that the run was given."""
        return self.source is not None

    def to_dict(self) -> dict[str, Any]:
        """Return the entities by role, and the rest."""
        own = {**{name: getattr(self, name) for name in _OF_SUGGESTIONS}, **interval_of(self.intervals)}
        return _joined(self.roles, self.entities, own)


_OF_SUGGESTIONS = {"rank": int, **_OWN, "known": bool, "source": str}


def suggested(
    suggestions: Iterable[Suggestion], title: str, roles: Sequence[str], *, has_intervals: bool = False
) -> Records[Suggestion]:
    """Return the answers to many questions, question by question: the known ones, best first, and then the new ones."""
    return Records(suggestions, _columns(roles, {**_OF_SUGGESTIONS, **(_INTERVAL if has_intervals else {})}), title)


@dataclass(frozen=True, slots=True)
class Question:
    """A relation and its arguments in the order of its positions; None is open.

    Attributes:
        relation: the name of the relation.
        arguments: an entity for each position, or None.
        free: the positions that are neither given nor asked for: any entity will do there.
        roles: how the positions are called, for its text.
    """

    relation: str
    arguments: Arguments
    free: frozenset[int] = frozenset()
    roles: tuple[str, ...] | None = field(default=None, compare=False)

    @property
    def open(self) -> list[int]:
        """The positions that are asked for."""
        return [
            position for position, argument in enumerate(self.arguments) if argument is None and position not in self.free
        ]

    def __str__(self) -> str:
        if not self.free:
            return as_written(self.relation) + write_arguments(self.arguments)
        names = self.roles or tuple(map(str, range(len(self.arguments))))
        shown = (
            f"{as_written(names[position])}={'?' if argument is None else as_written(argument, quote=argument == '?')}"
            for position, argument in enumerate(self.arguments)
            if position not in self.free
        )
        return f"{as_written(self.relation)}({', '.join(shown)})"


def parse_question(text: str, schema: Schema) -> Question:
    """Return the question in `text`: a name with arguments in brackets, by position or as role=argument.

    Where roles are named, those that are not are free.
    """
    reader = Reader(text)
    relation = schema[reader.word("a relation").name]
    free: set[int] = set()
    arguments = read_arguments(reader, relation, free)
    reader.end()
    return Question(relation.name, arguments, frozenset(free), relation.roles)


def question_of(given: object, arguments: Sequence[object], roles: Mapping[str, object], schema: Schema) -> Question:
    """Return the question that a caller means: a text, a tuple, or a relation with arguments by position or by role.

    None and "?" are open; a value that is no text is taken as it is written, 1 for "1". By role, those that are not named
    are free.
    """
    if (arguments or roles) and (
        isinstance(given, Question) or (isinstance(given, str) and "(" in given and given not in schema)
    ):
        raise DataError(
            "not-a-question",
            "this says all of the question, so it takes no more arguments",
            place=given,
            remedy="say k=... for more answers",
        )
    if isinstance(given, Question):
        return given
    if isinstance(given, list | tuple) and given and not arguments and not roles:
        given, *arguments = given
    if not isinstance(given, str):
        raise DataError(
            "not-a-question",
            (f"a question is a text such as 'sold(drew, ?, book)', or a relation and its arguments, not {given!r}"),
        )
    if not arguments and not roles:
        return parse_question(given, schema)
    relation = schema[given]
    found = by_position(relation, arguments, roles)
    free = frozenset(range(relation.arity)) - found.keys()
    filled = tuple(_entity(found.get(position)) for position in range(relation.arity))
    return Question(relation.name, filled, free, relation.roles)


def by_position(relation: RelationSchema, arguments: Sequence[object], roles: Mapping[str, object]) -> dict[int, object]:
    """Return the arguments of a relation by position, given all in order or some by role."""
    if roles and arguments:
        raise DataError("mixed-arguments", "name the arguments by position or by role, not both", place=relation)
    if not roles and len(arguments) != relation.arity:
        raise DataError("argument-count", f"{relation} takes {relation.arity} arguments, not {len(arguments)}")
    return dict(enumerate(arguments)) or {relation.position(role): value for role, value in roles.items()}


def _entity(value: object) -> str | None:
    return None if value is None or value == "?" else str(value)


def field_names(relation: RelationSchema, positions: Iterable[int]) -> tuple[str, ...]:
    """Return how the entities at some positions are called in records: by role, or `entity` if there is only one."""
    chosen = list(positions)
    if relation.roles:
        return tuple(relation.roles[position] for position in chosen)
    return ("entity",) if len(chosen) == 1 else tuple(f"position_{position}" for position in chosen)


def interval_of(intervals: Sequence[str | None]) -> dict[str, str | None]:
    """Return the intervals of a record as a field; nothing where no position holds numbers or dates that have one."""
    return {"interval": "; ".join(filter(None, intervals)) or None} if intervals else {}


def _columns(roles: Sequence[str], own: Mapping[str, type]) -> dict[str, type]:
    """Return the columns of records with these roles; what is our own gives way to a role of the same name."""
    return {**dict.fromkeys(roles, str), **{_beside(name, roles): kind for name, kind in own.items()}}


def _joined(roles: Sequence[str], entities: Sequence[str], own: Mapping[str, Any]) -> dict[str, Any]:
    return {**dict(zip(roles, entities, strict=True)), **{_beside(name, roles): value for name, value in own.items()}}


def _beside(name: str, roles: Sequence[str]) -> str:
    while name in roles:
        name += "_"
    return name

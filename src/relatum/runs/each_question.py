"""Questions that are asked for each of many entities: `sold(customer, ?)` for every customer, and which these are."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from relatum.algebra.lexer import Reader, Word, as_written, read_words
from relatum.data.schema import RelationSchema
from relatum.data.sorting import differs_from_previous, row_order
from relatum.data.vocabulary import Ids
from relatum.errors import DataError, UnknownNameError, nearest_names
from relatum.runs.answers import Question, by_position
from relatum.runs.shown_values import Spans
from relatum.runs.trained import Trained

_OPEN, _EVERY = "?", "*"
_MOST = 1 << 31  # combinations of all entities at several positions: more are not answered in a lifetime


@dataclass(frozen=True, eq=False, slots=True)
class EachQuestion:
    """Questions that differ in the entities at some positions, and leave another one open."""

    relation: RelationSchema  # what they are about
    position: int  # the open one
    varying: tuple[int, ...]  # the positions whose entities vary, ascending; at least one
    given: Ids  # int32[arity], the entities at all other positions; 0 at those that are open or vary
    text: str  # as it was asked
    spans: Spans = field(default_factory=dict)  # the numbers and dates among the given

    def __str__(self) -> str:
        return self.text


def each_question(
    run: Trained, given: object, arguments: Sequence[object] = (), roles: Mapping[str, object] | None = None
) -> EachQuestion:
    """Return the questions that a caller means: a text, or a relation with arguments by position or by role.

    `?`, and outside of a text None, is open. `*` varies, and so does a role's own name where the role stands; in a text, in
    double quotes, all of these are entities. One position is open, at least one varies, and none is left out.
    """
    if not isinstance(given, str):
        raise DataError(
            "not-a-question", f"questions are a text such as 'sold(*, ?)', or a relation and its arguments, not {given!r}"
        )
    if not arguments and not roles:
        reader = Reader(given)
        relation = _stored(run, reader.word("a relation").name)
        words = read_words(reader, relation)
        reader.end()
        return _question(run, relation, words, given)
    relation = _stored(run, given)
    values = by_position(relation, arguments, roles or {})
    if len(values) != relation.arity:
        raise DataError("argument-count", f"{relation} takes {relation.arity} arguments, not {len(values)}")
    words = {position: _word(value) for position, value in values.items()}
    shown = ", ".join(as_written(words[position].name) for position in range(relation.arity))
    return _question(run, relation, words, f"{as_written(relation.name)}({shown})")


class Combinations:
    """The different entities, one at each position that varies, in the order of their names; each is built when needed.

    `sides` are the combinations, int32[varying, n], or entities for each position, all of which are combined.
    """

    def __init__(self, question: EachQuestion, sides: Ids | Sequence[Ids]) -> None:
        self._question, self._sides = question, sides
        self._shape = [sides.shape[1]] if isinstance(sides, np.ndarray) else [len(side) for side in sides]

    def __len__(self) -> int:
        return math.prod(self._shape)

    def parts(self, size: int, most: int | None = None) -> Iterator[Ids]:
        """Yield the questions, int32[arity, n], at most so many together, and of all of them the first `most`."""
        count = len(self) if most is None else min(len(self), most)
        for start in range(0, count, size):
            numbers = np.arange(start, min(start + size, count))
            questions = np.repeat(self._question.given[:, None], len(numbers), axis=1)
            if isinstance(self._sides, np.ndarray):
                questions[list(self._question.varying)] = self._sides[:, numbers]
            else:
                indices = np.unravel_index(numbers, self._shape)
                for position, side, index in zip(self._question.varying, self._sides, indices, strict=True):
                    questions[position] = side[index]
            yield questions


def combinations_of(run: Trained, question: EachQuestion, *, all_entities: bool = False) -> Combinations:
    """Return what stands at the positions that vary in known facts of the relation, whatever these have elsewhere.

    With `all_entities` it is all entities that can stand there, and where several positions vary, all combinations.
    """
    if not all_entities:
        columns = run.table(question.relation.name).columns[list(question.varying)]
        order = row_order(list(columns), [len(run.entities)] * len(columns))
        first = differs_from_previous([column[order] for column in columns])
        return Combinations(question, columns[:, order[first]])
    allowed, every = run.allowed_entities(question.relation.name), np.arange(len(run.entities), dtype=np.int32)
    sides = [every if (side := allowed[position]) is None else side for position in question.varying]
    if (count := math.prod(map(len, sides))) > _MOST:
        raise DataError(
            "too-many-questions",
            f"these are {count:,} questions",
            place=question,
            remedy="ask for those only that known facts have, or vary less",
        )
    return Combinations(question, sides)


def _stored(run: Trained, name: str) -> RelationSchema:
    """Return the relation of a name, unless it is one that was defined."""
    relation = run.schema[name]
    if name in run.definitions:
        raise DataError(
            "defined-relation", f"{name} is defined by an expression, and only stored relations are completed in bulk"
        )
    return relation


def _word(value: object) -> Word:
    return Word(_OPEN if value is None else str(value), 0, False)


def _question(run: Trained, relation: RelationSchema, words: Mapping[int, Word], text: str) -> EachQuestion:
    roles = relation.roles or (None,) * relation.arity
    bare = {position: None if word.quoted else word.name for position, word in words.items()}
    opened = [position for position, name in bare.items() if name == _OPEN]
    varying = [position for position, name in bare.items() if name is not None and name in (_EVERY, roles[position])]
    if len(opened) != 1:
        raise DataError("one-open-position", f"exactly one position must be open (a ?), not {len(opened)}", place=text)
    given = np.zeros(relation.arity, np.int32)
    for position in sorted(words.keys() - {*opened, *varying}):
        given[position] = _entity(run, relation, position, words[position])
    if not varying:  # last: a role that is not written well is no entity either
        raise DataError(
            "nothing-varies",
            "nothing varies",
            place=text,
            remedy="write * or a role's own name where each entity is to be tried",
        )
    names = tuple(None if one in {*opened, *varying} else words[one].name for one in range(relation.arity))
    spans = run.shown_values.spans(Question(relation.name, names))
    return EachQuestion(relation, opened[0], tuple(sorted(varying)), given, text, spans)


def _entity(run: Trained, relation: RelationSchema, position: int, word: Word) -> int:
    """Return the entity that a word names at a position; what is like a role may have been meant as one."""
    roles = relation.roles or ()
    column = roles[position] if roles else f"position {position}"
    try:
        return run.argument_id(relation, position, word.name)
    except UnknownNameError as error:
        if word.quoted or not (close := nearest_names(word.name, roles)):
            raise
        if word.name in roles:
            raise DataError(
                "misplaced-role",
                f"{word.name} stands at position {roles.index(word.name)}, and here {column}",
                place=relation,
                remedy=f"write {column} or * to vary it",
            ) from None
        raise UnknownNameError(f"{error.kind} or role", word.name, (*close, *error.nearest)) from None

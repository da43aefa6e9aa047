"""Easy, hard and full-hard answers: equal to what all derivations say, one after the other, on random hypergraphs."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator

import pytest

from relatum import Hypergraph, RelationSchema, Schema, Split
from relatum.algebra import Expression, parse_datalog
from relatum.algebra.clauses import Atom, Definition, Rule, definitions_of
from relatum.querysets.difficulty import GradedFacts, grade
from support.mistakes import mistake
from support.random_expressions import random_expression, random_schema
from support.strategies import restrict

Fact = tuple[str, ...]
Derivations = dict[tuple[str, ...], list[frozenset[Fact]]]  # the facts of each way that leads to an answer

SCHEMA = Schema([RelationSchema("knows", 2), RelationSchema("sold", 3), RelationSchema("person", 1)])
KNOWN = [("knows", "a", "b"), ("knows", "b", "c"), ("sold", "a", "b", "tea"), ("person", "a"), ("knows", "a", "d")]
LATE = [("knows", "b", "e"), ("knows", "d", "e"), ("knows", "d", "f"), ("sold", "a", "c", "tea"), ("person", "e")]


def facts_of(known: list[Fact], late: list[Fact], schema: Schema) -> GradedFacts:
    every = Hypergraph.of([*known, *late, *((one.name, *["z"] * one.arity) for one in schema)], schema)
    return GradedFacts(*(restrict(every, part) for part in (known, late)))


def derivations_of(definitions: list[Definition], facts: set[Fact]) -> Derivations:
    """Return every derivation of every answer, straight from the words of the module: all assignments are tried."""
    found: list[Derivations] = []
    for definition in definitions:
        ways: Derivations = {}
        for rule in definition:
            for answer, used in _by_rule(rule, facts, found):
                ways.setdefault(answer, []).append(used)
        found.append(ways)
    return found[-1]


def _by_rule(rule: Rule, facts: set[Fact], found: list[Derivations]) -> Iterator[tuple[tuple[str, ...], frozenset[Fact]]]:
    def ways(atom: Atom) -> list[tuple[tuple[str, ...], frozenset[Fact]]]:
        if isinstance(atom.predicate, int):
            return [(answer, used) for answer, each in found[atom.predicate].items() for used in each]
        return [(fact[1:], frozenset([fact])) for fact in facts if fact[0] == atom.predicate.name]

    for chosen in itertools.product(*(ways(atom) for atom in rule.positives)):
        values: dict[int | str, str] = {}
        fits = all(
            values.setdefault(term, entity) == entity if isinstance(term, int) else term == entity
            for atom, (row, _) in zip(rule.positives, chosen, strict=True)
            for term, entity in zip(atom.terms, row, strict=True)
        )
        if not fits:
            continue
        if any((values.get(c.left, c.left) == values.get(c.right, c.right)) is not c.equal for c in rule.comparisons):
            continue
        rows = [(atom, tuple(values.get(term, str(term)) for term in atom.terms)) for atom in rule.negatives]
        if any(row == held for atom, row in rows for held, _ in ways(atom)):
            continue
        yield tuple(values[variable] for variable in rule.head), frozenset().union(*(used for _, used in chosen))


def graded(expression: Expression, facts: GradedFacts) -> dict[tuple[str, ...], tuple[bool, bool]]:
    grades = grade(expression, facts)
    assert grades is not None
    names = [tuple(facts.entities[entity] for entity in row) for row in grades.answers.T.tolist()]
    assert names == sorted(set(names))
    assert (grades.hard == ~grades.easy).all()
    return dict(zip(names, zip(grades.easy.tolist(), grades.full_hard.tolist(), strict=True), strict=True))


def expected(expression: Expression, known: list[Fact], late: list[Fact]) -> dict[tuple[str, ...], tuple[bool, bool]]:
    ways = derivations_of(definitions_of(expression), {*known, *late})
    stored = set(known)
    return {
        answer: (any(used <= stored for used in each), not any(used & stored for used in each))
        for answer, each in ways.items()
    }


@pytest.mark.parametrize("seed", range(6))
def test_grades_equal_all_derivations(seed: int, count: Callable[[int, int], int]) -> None:
    rng = random.Random(seed)
    entities = ["alex", "book", "coffee", "drew"]
    for _ in range(count(40, 600)):
        schema = random_schema(rng, most_columns=3)
        expression = random_expression(rng, schema, entities, rng.randint(1, 5))
        pool = [(one.name, *rng.choices(entities, k=one.arity)) for one in schema for _ in range(rng.choice([0, 2, 4]))]
        known, late = ([fact for fact in pool if rng.random() < share] for share in (0.6, 0.6))
        full = Schema([*schema, RelationSchema("all", 1)])
        known += [("all", name) for name in entities]  # so that every constant is there
        assert graded(expression, facts_of(known, late, full)) == expected(expression, known, late), str(expression)


def test_what_takes_too_many_rows_has_no_grades() -> None:
    expression = parse_datalog("t(X) <- knows(a, Y), knows(Y, X)", SCHEMA)
    assert grade(expression, facts_of(KNOWN, LATE, SCHEMA), most=1) is None
    negated = parse_datalog("t(X) <- person(X), not knows(X, a)", SCHEMA)
    assert grade(negated, facts_of(KNOWN, LATE, SCHEMA), most=2) is not None


def test_the_parts_before_are_known() -> None:
    every = Hypergraph.of([*KNOWN, *LATE], SCHEMA)
    train, valid, test = (restrict(every, part) for part in (KNOWN[:3], KNOWN[3:], [*LATE, KNOWN[0]]))
    split = Split(train, valid, test)
    assert sum(int((~known).sum()) for _, _, known in GradedFacts.of(split, "test").blocks.values()) == len(LATE)
    assert sum(int((~known).sum()) for _, _, known in GradedFacts.of(split, "valid").blocks.values()) == len(KNOWN[3:])
    with mistake("setting-out-of-range"):
        GradedFacts.of(split, "train")
    with mistake("no-queries"):
        GradedFacts.of(Split(train, valid, train), "test")

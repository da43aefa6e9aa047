"""Metrics by how many training facts the relation that was asked about has."""

from __future__ import annotations

from relatum import Hypergraph, KnownAnswers
from relatum.inference.evaluation import SIZE, breakdown
from relatum.inference.ranking import rank
from support.made_models import made_case
from support.mistakes import mistake
from support.strategies import restrict

SIZES = {"none": 0, "one": 1, "nine": 9, "ten": 10, "many": 100, "most": 1000}
NAMES = {"none": "0", "one": "1-9", "nine": "1-9", "ten": "10-99", "many": "100-999", "most": "1000+"}


def test_every_question_is_in_the_part_of_its_relation_s_training_facts() -> None:
    facts = [(name, f"e{number}", f"e{number + 1}") for name, size in SIZES.items() for number in range(size)]
    held = [(name, "a", "b") for name in SIZES]
    graph = Hypergraph.of(facts + held)
    train, test = restrict(graph, facts), restrict(graph, held)
    case = made_case("m-distmult", graph)
    ranks = rank(case.model, case.parameters(), test, KnownAnswers(graph))
    parts = breakdown(ranks, SIZE, graph.schema, train=train)
    assert {name: part.questions for name, part in parts.items()} == {
        "0": 2, "1-9": 4, "10-99": 2, "100-999": 2, "1000+": 2,
    }  # fmt: skip
    for relation, name in NAMES.items():
        own = breakdown(ranks.where(ranks.relation == graph.schema.id(relation)), SIZE, graph.schema, train=train)
        assert list(own) == [name]


def test_without_training_facts_it_is_an_error_of_one_line() -> None:
    graph = Hypergraph.of([("is", "a"), ("is", "b")])
    case = made_case("m-distmult", graph)
    with mistake("no-such-breakdown"):
        breakdown(rank(case.model, case.parameters(), graph, None), SIZE, graph.schema)

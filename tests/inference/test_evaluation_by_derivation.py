"""Metrics by the operation and the depth of the relations that were asked about."""

from __future__ import annotations

from pathlib import Path

from relatum import Hypergraph, KnownAnswers, Split, load
from relatum.data.derivations import Derivation
from relatum.datasets.load import save
from relatum.inference.evaluation import breakdown
from relatum.inference.ranking import rank
from support.made_models import made_case, made_graph
from support.mistakes import mistake

GRAPH = made_graph(entities=20, facts=60)
NAMES = [relation.name for relation in GRAPH.schema]
ORIGINS = {
    name: Derivation("elementary", 0) if number < 2 else Derivation(("union", "select")[number % 2], 1 + number % 3)
    for number, name in enumerate(NAMES[:-1])
}


def test_every_question_about_a_known_origin_is_in_one_part() -> None:
    case = made_case("m-distmult", GRAPH)
    ranks = rank(case.model, case.parameters(), GRAPH, KnownAnswers(GRAPH))
    known = sum(int((ranks.relation == number).sum()) for number in range(len(NAMES) - 1))
    for key in ("operation", "depth"):
        parts = breakdown(ranks, key, GRAPH.schema, ORIGINS)
        assert sum(part.questions for part in parts.values()) == known < len(ranks)
        assert set(parts) <= {str(getattr(origin, key)) for origin in ORIGINS.values()}
        for name, part in parts.items():
            mine = [n for n, relation in enumerate(NAMES[:-1]) if str(getattr(ORIGINS[relation], key)) == name]
            assert part.questions == sum(int((ranks.relation == number).sum()) for number in mine)


def test_without_origins_it_is_an_error_of_one_line() -> None:
    case = made_case("m-distmult", GRAPH)
    ranks = rank(case.model, case.parameters(), GRAPH, KnownAnswers(GRAPH))
    with mistake("no-such-breakdown"):
        breakdown(ranks, "depth", GRAPH.schema)


def test_origins_travel_with_the_data(tmp_path: Path) -> None:
    nothing = Hypergraph(GRAPH.entities, GRAPH.schema, [])
    save(Split(GRAPH, nothing, nothing, derivations=ORIGINS), tmp_path / "data")
    for _ in range(2):  # read, and from the cache
        assert load(tmp_path / "data").derivations == ORIGINS
    (tmp_path / "data" / "derivations.json").write_text('{"made": "by hand"}')
    assert load(tmp_path / "data").derivations == {}

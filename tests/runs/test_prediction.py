"""A run predicts the facts that are missing, near known ones or anywhere, and none that contradicts a key."""

from __future__ import annotations

import itertools
import shutil
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from relatum import Run
from relatum.runs import prediction
from relatum.runs.answers import Prediction
from relatum.runs.prediction import predict
from support.mistakes import mistake


@pytest.fixture(scope="module")
def run(example_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    made = Run.load(shutil.copytree(example_run, tmp_path_factory.mktemp("predicting") / "run"))
    made.define("customer", "project[buyer](sold)")
    made.define("traded", "union(sold, permute[1, 0, 2](sold))")
    return made


def known(run: Run, relation: str) -> set[tuple[str, ...]]:
    return set(run.table(relation))


@pytest.mark.parametrize("relation", ["sold", "bought", "traded"])
def test_predictions_are_the_best_new_answers_to_all_questions(run: Run, relation: str) -> None:
    best: dict[tuple[str, ...], float] = {}
    for fact in known(run, relation):
        for position in range(3):
            asked = [*fact[:position], "?", *fact[position + 1 :]]
            for answer in run.complete(f"{relation}({', '.join(asked)})", k=100, new_only=True):
                made = (*fact[:position], answer.entity, *fact[position + 1 :])
                best[made] = max(best.get(made, answer.score), answer.score)
    found = run.predict(relation, top=10**6)
    assert {one.entities for one in found} == best.keys()
    chances = [one.probability for one in found]
    assert chances == sorted(chances, reverse=True)  # type: ignore[type-var]
    assert all(one.score == pytest.approx(best[one.entities], rel=1e-6) for one in found)
    by_score = sorted(found, key=lambda one: -one.score)
    assert sorted(one.score for one in run.predict(relation, top=7)) == sorted(one.score for one in by_score[:7])
    for one in found[:5]:
        judged = run.score(f"{relation}({', '.join(one.entities)})")
        assert (judged.source, one.relation) == (None, relation)
        assert (judged.probability is None) is (one.probability is None)
        assert one.position is not None
        others = [place for place in range(3) if place != one.position]
        assert any(
            [fact[place] for place in others] == [one.entities[place] for place in others] for fact in known(run, relation)
        )


def test_what_a_projection_keeps_can_be_predicted(run: Run) -> None:
    found = run.predict("customer")
    assert {one.entities for one in found} == {(name,) for name in run.model.graph.entities} - known(run, "customer")
    assert [one.entities for one in found] == [one.entities for one in run.predict("customer", exact=True)]


def test_thresholds_leave_out_what_lies_below(run: Run) -> None:
    every = run.predict("sold")
    least, likely = every[20].score, every[30].probability
    assert run.predict("sold", min_score=least) == [one for one in every if one.score >= least]
    assert likely is not None
    kept = run.predict("sold", min_probability=likely)
    assert kept == [one for one in every if (one.probability or 0) >= likely]
    assert 31 <= len(kept) < len(every)
    assert run.predict("sold", min_score=1e9) == []


def test_several_relations_at_once_are_those_one_by_one(run: Run) -> None:
    names = ["buyer", "sold", "customer"]
    found = predict(run, names, 5)
    assert list(found) == names
    assert found == {name: run.predict(name, 5) for name in names}
    assert isinstance(found["sold"][0], Prediction)


def test_what_cannot_be_asked_is_refused(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    for wrong in ({"around": 0}, {"per_question": 0}, {"min_probability": 1.5}, {"min_score": float("nan")}):
        with mistake("setting-out-of-range"):
            predict(run, ["sold"], **wrong)  # type: ignore[arg-type]
    monkeypatch.setattr(prediction, "EXHAUSTIVE_LIMIT", 15**3 - 1)
    with mistake("too-many-facts"):
        run.predict("sold", exact=True)


def test_the_search_can_be_held_to_a_few_known_facts(run: Run) -> None:
    (few,) = predict(run, ["sold"], 10**6, around=2).values()
    every = run.predict("sold", top=10**6)
    assert {one.entities for one in few} < {one.entities for one in every}
    assert len(few) <= 2 * 3 * run.model.num_entities
    assert predict(run, ["sold"], 10**6, around=2)["sold"] == few
    assert predict(run, ["sold"], 10**6, around=10**6)["sold"] == every


def test_facts_that_are_held_back_can_be_predicted(run: Run) -> None:
    given, names = run.split.train, [schema.name for schema in run.model.schema]
    near = set()
    for name, found in predict(run, names, 10**6, given=given).items():
        entities, known_here = {one.entities for one in found}, set(given.table(name))
        assert not known_here & entities
        for fact in known(run, name) - known_here:
            beside = any(sum(map(str.__ne__, fact, other)) == 1 for other in known_here)
            assert (fact in entities) == beside
            near |= {fact} if beside else set()
    assert near


Proposals = Iterable[tuple[str, ...]]


@pytest.fixture
def shop(gappy_shop: Path) -> Iterator[sqlite3.Connection]:
    """Yield the shop with its primary, unique and composite keys, in memory."""
    with closing(sqlite3.connect(gappy_shop)) as file, closing(sqlite3.connect(":memory:")) as copy:
        file.backup(copy)
        yield copy


def refused(
    shop: sqlite3.Connection, tables: Run, relation: str, proposed: Proposals, together: bool = False
) -> list[object]:
    """Return the proposals that the database does not take: each by itself, or all of them together."""
    table, dot, column = relation.partition(".")
    roles = tables.schema[relation].roles or ()
    found: list[object] = []
    for fact in proposed:
        values = [name.partition(":")[2] for name in fact]
        shop.execute("SAVEPOINT one")
        try:
            if dot:
                sql = f"UPDATE {table} SET {column} = ? WHERE {roles[0]} = ? AND {column} IS NULL"  # noqa: S608
                if shop.execute(sql, values[::-1]).rowcount != 1:
                    found.append(fact)
            else:
                marks = ", ".join("?" * len(roles))
                shop.execute(f"INSERT INTO {table} ({', '.join(roles)}) VALUES ({marks})", values)  # noqa: S608
        except sqlite3.IntegrityError as error:
            found.append((fact, str(error)))
            together = False
        if not together:
            shop.execute("ROLLBACK TO one")
        shop.execute("RELEASE one")
    return found


def test_the_database_refuses_what_contradicts_its_keys(tables: Run, shop: sqlite3.Connection) -> None:
    taken = {name: next(iter(tables.table(name))) for name in ("stock", "customers.country", "items.shelf_code")}
    for name, fact in taken.items():
        assert len(refused(shop, tables, name, [fact])) == 1
    shop.execute("INSERT INTO items (id) VALUES (999)")
    used = ("items:999", taken["items.shelf_code"][1])
    assert "UNIQUE" in str(refused(shop, tables, "items.shelf_code", [used]))


@pytest.mark.parametrize("exact", [False, True])
def test_predictions_are_taken_together(tables: Run, shop: sqlite3.Connection, exact: bool) -> None:
    looked_at = 0
    for relation in tables.schema:
        if exact and relation.arity > 3:
            continue  # too many facts that there could be
        proposed = [one.entities for one in tables.predict(relation.name, top=300, exact=exact)]
        assert refused(shop, tables, relation.name, proposed, together=True) == []
        looked_at += len(proposed)
    assert looked_at > 300


def test_answers_for_each_of_all_entities_are_taken(tables: Run, shop: sqlite3.Connection) -> None:
    looked_at = 0
    for relation in tables.schema:
        for position in range(relation.arity):
            words = [None if one == position else "*" for one in range(relation.arity)]
            found = tables.complete_each(relation.name, *words, k=5, new_only=True, all_entities=relation.arity == 2)
            proposed = []
            for one in found:
                given = iter(one.entities[:-1])
                proposed.append(tuple(one.entities[-1] if at == position else next(given) for at in range(relation.arity)))
            assert refused(shop, tables, relation.name, proposed) == []
            looked_at += len(proposed)
    assert looked_at > 1000


def test_new_answers_to_a_question_are_taken(tables: Run, shop: sqlite3.Connection) -> None:
    looked_at = 0
    for relation in tables.schema:
        facts = sorted(tables.table(relation.name))
        for fact in facts[:: max(1, len(facts) // 3)]:
            for free in (free for size in (1, 2) for free in itertools.combinations(range(relation.arity), size)):
                given = [None if position in free else name for position, name in enumerate(fact)]
                proposed = []
                for answer in tables.complete(relation.name, *given, k=10, new_only=True):
                    filled = list(fact)
                    for position, name in zip(free, answer.entities, strict=True):
                        filled[position] = name
                    proposed.append(tuple(filled))
                assert not {*proposed} & {*facts}
                assert refused(shop, tables, relation.name, proposed) == []
                looked_at += len(proposed)
    assert looked_at > 200


def test_the_shop_has_keys_of_one_and_of_several_columns_and_a_gap_is_proposed(tables: Run) -> None:
    keys = {tables.keys_of(relation.name) for relation in tables.schema}
    assert keys >= {(), ((0,),), ((0,), (1,)), ((0, 1),), ((0, 1), (0, 2))}
    proposed = {one.entities[0] for one in tables.predict("customers.country", exact=True)}
    assert {"customers:3", "customers:10"} <= proposed

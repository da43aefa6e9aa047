"""Answers with a promise, and answers on tables: how often they hold the missing one, and of which kinds they are."""

from __future__ import annotations

import itertools
import json
import math
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import relatum
from relatum import Hypergraph, Run, Spec, Split, UnknownNameError, fit, read
from support.mistakes import mistake
from support.strategies import restrict


def towns() -> Split:
    """Return people, each with a home and with a language of its three, and who knows whom, which nothing tells."""
    rng = np.random.default_rng(0)
    rows = []
    for person in range(700):
        home = int(rng.integers(0, 20))
        spoken = home % 3 if rng.random() < 0.8 else int(rng.integers(0, 3))
        rows += [("lives", f"p{person}", f"c{home}"), ("speaks", f"p{person}", f"l{spoken}")]
        rows += [("knows", f"p{person}", f"p{int(rng.integers(0, 700))}", f"c{home}")] if person % 12 == 0 else []
    graph = Hypergraph.of(rows)
    facts = list(graph)
    order = rng.permutation(len(facts)).tolist()
    cuts = (0, len(facts) * 6 // 10, len(facts) * 8 // 10, len(facts))
    parts = [[facts[one] for one in order[start:stop]] for start, stop in pairwise(cuts)]
    return Split(*(restrict(graph, part) for part in parts), source="towns")


SPLIT = towns()


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("towns") / "run"
    return relatum.fit(SPLIT, folder, dim=16, epochs=12, evidence=False, progress=False)


@pytest.mark.parametrize("coverage", [0.8, 0.95])
def test_of_test_facts_so_many_are_held(run: Run, coverage: float) -> None:
    """The test facts are not known to it, as validation facts were not; both were drawn at random."""
    empty = Hypergraph(SPLIT.entities, SPLIT.schema, [])
    asked = Run(
        run.model,
        run.parameters,
        spec=run.spec,
        split=Split(SPLIT.train, SPLIT.valid, empty, source="towns"),
        validated=run.validated,
    )
    held = []
    for relation, *entities in SPLIT.test:
        if relation == "speaks":
            answers = asked.complete(relation, entities[0], None, coverage=coverage)
            held.append(entities[1] in {one.entity for one in answers.new})
    assert len(held) > 100
    slack = 3.3 * math.sqrt(coverage * (1 - coverage) * (1 / len(held) + 1 / 100))
    assert coverage - slack <= np.mean(held) <= coverage + slack + 0.02


def test_more_is_promised_by_more_answers_in_the_order_of_completion(run: Run) -> None:
    plain = run.complete("lives(p3, ?)", k=1000, new_only=True)
    sizes = []
    for coverage in (0.2, 0.5, 0.8, 0.95):
        answers = run.complete("lives(p3, ?)", coverage=coverage, new_only=True)
        assert list(answers) == list(plain)[: len(answers)]
        sizes.append(len(answers))
    assert sizes == sorted(sizes)
    assert 0 < sizes[-1] < len(run.entities)
    assert plain.promise is plain.limit is None


def test_what_cannot_be_promised_is_refused(run: Run) -> None:
    with mistake("bad-coverage"):
        run.complete("lives(p3, ?)", coverage=90)
    for question in ("knows(p3, ?, ?)", "lives(?, ?)"):
        with mistake("coverage-needs-one-gap"):
            run.complete(question, coverage=0.9)
    with mistake("coverage-out-of-reach"):
        run.complete("lives(p3, ?)", coverage=0.9999)
    with pytest.raises(UnknownNameError):
        run.complete("lives(p30000, ?)", coverage=0.9)


def test_a_defined_relation_is_refused(run: Run, tmp_path: Path) -> None:
    other = run.save(tmp_path / "saved")
    other.define("home", "union(lives, speaks)")
    with mistake("coverage-not-promised"):
        other.complete("home(p3, ?)", coverage=0.9)


def test_a_model_that_has_learned_the_validation_facts_is_refused(tmp_path: Path) -> None:
    again = relatum.fit(SPLIT, tmp_path / "run", dim=8, epochs=2, refit=True, evidence=False, progress=False)
    assert again.answer_sets is None
    with mistake("coverage-needs-validation"):
        again.complete("lives(p3, ?)", coverage=0.9)


def test_without_validation_facts_it_is_refused() -> None:
    empty = Hypergraph(SPLIT.entities, SPLIT.schema, [])
    bare = relatum.fit(Split(SPLIT.train, empty, empty), dim=8, epochs=1, evidence=False, progress=False)
    with mistake("coverage-needs-one-link"):
        bare.complete("lives(p3, ?)", coverage=0.9)


def test_it_is_kept_with_the_run_and_found_by_the_facts_of_one_that_has_none(run: Run, tmp_path: Path) -> None:
    asked = ("lives(p3, ?)", "knows(p3, ?, c1)")
    wanted = [list(run.complete(question, coverage=0.9)) for question in asked]
    folder = tmp_path / "saved"
    saved = run.save(folder)
    assert [list(saved.complete(question, coverage=0.9)) for question in asked] == wanted
    path = folder / "answer_sets.json"
    before = path.read_text()
    without = Run.load(folder)
    without.answer_sets = None
    assert [list(without.complete(question, coverage=0.9)) for question in asked] == wanted
    assert without.answer_sets_by_facts is not None
    assert without.answer_sets_by_facts.to_json().items() <= json.loads(before).items()
    for text, code in (
        ("[1, 2", "damaged-file"),
        ('{"version": 1}', "damaged-file"),
        (before.replace('"version": 1', '"version": 7'), "other-format"),
    ):
        path.write_text(text)
        with mistake(code):
            Run.load(folder).complete("lives(p3, ?)", coverage=0.9)


def test_an_update_fits_it_to_what_the_run_knows_then(run: Run) -> None:
    new = Hypergraph.of([("lives", "p9000", "c3"), ("speaks", "p9000", "l0")])
    empty = Hypergraph(new.entities, new.schema, [])
    wider = relatum.update(run, Split(new, empty, empty, source="new"))
    assert wider.answer_sets is None
    assert len(wider.complete("lives(p3, ?)", coverage=0.9).new) > 0


BUYERS, ITEMS, CHANNELS = (
    [f"sales.{kind}:{n}" for n in values]
    for kind, values in (("buyer", range(7)), ("item", range(5)), ("channel", ("shop", "web")))
)


@pytest.fixture(scope="module")
def sales_run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("kinds")
    rows = [f"{n % 7},{n % 5},{'web' if n % 3 else 'shop'}" for n in range(40)]
    (folder / "sales.csv").write_text("\n".join(["buyer,item,channel", *rows]) + "\n")
    read(folder / "sales.csv", keep_ids=True).save(folder / "data")
    made = fit(Spec.from_dict({"data": str(folder / "data"), "training": {"epochs": 2}}), folder / "run")
    made.define("shopped", "select[channel = sales.channel:shop](sales)")
    return made


@pytest.mark.parametrize("beam", [None, 40])
def test_a_gap_is_filled_by_entities_of_its_kind(sales_run: Run, beam: int | None) -> None:
    one = sales_run.complete('sales(?, "sales.item:2", "sales.channel:web")', k=100, beam=beam)
    assert sorted(answer.entity for answer in one) == BUYERS
    for question in ('sales(?, ?, "sales.channel:shop")', "shopped(?, ?)"):
        several = sales_run.complete(question, k=100, beam=beam)
        every = set(itertools.product(BUYERS, ITEMS))
        assert {answer.entities for answer in several} <= every
        assert beam is not None or len(several) == len(every)
    new = sales_run.complete("sales(?, ?, ?)", k=5, new_only=True, beam=beam)
    best = max(sales_run.predict("sales", exact=True), key=lambda one: one.score)
    assert max(new, key=lambda one: one.score).entities == best.entities


@pytest.mark.parametrize("exact", [False, True])
def test_predicted_facts_are_of_the_kinds_of_their_columns(sales_run: Run, exact: bool) -> None:
    for relation, every in (("sales", (BUYERS, ITEMS, CHANNELS)), ("shopped", (BUYERS, ITEMS))):
        found, there = {one.entities for one in sales_run.predict(relation, exact=exact)}, set(itertools.product(*every))
        assert found == there - set(sales_run.table(relation)) if exact else found < there


def test_a_fact_is_measured_against_alternatives_of_its_kinds(sales_run: Run) -> None:
    known = set(sales_run.table("sales"))
    fact = ("sales.buyer:3", "sales.item:2", "sales.channel:web")

    def said(entities: tuple[str, ...]) -> str:
        return f"sales({', '.join(map(repr, entities))})".replace("'", '"')

    judged = sales_run.score(said(fact))
    assert judged.source == ("train" if fact in set(sales_run.split.train.table("sales")) else None)
    assert judged.probability is not None
    assert 0 < judged.probability < 1
    below = total = 0.0
    for position, kind in enumerate((BUYERS, ITEMS, CHANNELS)):
        for name in kind:
            other = (*fact[:position], name, *fact[position + 1 :])
            if other not in known and other != fact:
                total += 1
                rival = sales_run.score(said(other)).score
                below += (rival < judged.score) + (rival == judged.score) / 2
    assert total
    assert judged.percentile == pytest.approx(100 * below / total)


@pytest.mark.parametrize(
    ("wrong", "hint"),
    [("sales.item:2", "; did you mean 'sales.buyer:2'\\?$"), ("sales.channel:web", "; did you mean|not one$")],
)
def test_an_entity_of_another_kind_is_refused(sales_run: Run, wrong: str, hint: str) -> None:
    for ask in (sales_run.complete, sales_run.score):
        last = "?" if ask == sales_run.complete else '"sales.channel:web"'
        with mistake("wrong-entity-type") as caught:
            ask(f'sales("{wrong}", "sales.item:1", {last})')  # type: ignore[operator]
        caught.match(hint)

"""Where a relation was a table, a run that is asked keeps to the kinds of its columns, as predictions do."""

from __future__ import annotations

import itertools

import pytest

from relatum import Run, Spec, fit, read
from support.mistakes import mistake

BUYERS, ITEMS, CHANNELS = (
    [f"sales.{kind}:{n}" for n in values]
    for kind, values in (("buyer", range(7)), ("item", range(5)), ("channel", ("shop", "web")))
)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("kinds")
    rows = [f"{n % 7},{n % 5},{'web' if n % 3 else 'shop'}" for n in range(40)]
    (folder / "sales.csv").write_text("\n".join(["buyer,item,channel", *rows]) + "\n")
    read(folder / "sales.csv", keep_ids=True).save(folder / "data")
    made = fit(Spec.from_dict({"data": str(folder / "data"), "training": {"epochs": 2}}), folder / "run")
    made.define("shopped", "select[channel = sales.channel:shop](sales)")
    return made


@pytest.mark.parametrize("beam", [None, 40])
def test_a_gap_is_filled_by_entities_of_its_kind(run: Run, beam: int | None) -> None:
    one = run.complete('sales(?, "sales.item:2", "sales.channel:web")', k=100, beam=beam)
    assert sorted(answer.entity for answer in one) == BUYERS
    for question in ('sales(?, ?, "sales.channel:shop")', "shopped(?, ?)"):
        several = run.complete(question, k=100, beam=beam)
        every = set(itertools.product(BUYERS, ITEMS))
        assert {answer.entities for answer in several} <= every
        assert beam is not None or len(several) == len(every)
    new = run.complete("sales(?, ?, ?)", k=5, new_only=True, beam=beam)
    best = max(run.predict("sales", exact=True), key=lambda one: one.score)
    assert max(new, key=lambda one: one.score).entities == best.entities


@pytest.mark.parametrize("exact", [False, True])
def test_predicted_facts_are_of_the_kinds_of_their_columns(run: Run, exact: bool) -> None:
    for relation, every in (("sales", (BUYERS, ITEMS, CHANNELS)), ("shopped", (BUYERS, ITEMS))):
        found, there = {one.entities for one in run.predict(relation, exact=exact)}, set(itertools.product(*every))
        assert found == there - set(run.table(relation)) if exact else found < there


def test_a_fact_is_measured_against_alternatives_of_its_kinds(run: Run) -> None:
    known = set(run.table("sales"))
    fact = ("sales.buyer:3", "sales.item:2", "sales.channel:web")

    def said(entities: tuple[str, ...]) -> str:
        return f"sales({', '.join(map(repr, entities))})".replace("'", '"')

    judged = run.score(said(fact))
    assert judged.source == ("train" if fact in set(run.split.train.table("sales")) else None)
    assert judged.probability is not None
    assert 0 < judged.probability < 1
    below = total = 0.0
    for position, kind in enumerate((BUYERS, ITEMS, CHANNELS)):
        for name in kind:
            other = (*fact[:position], name, *fact[position + 1 :])
            if other not in known and other != fact:
                total += 1
                rival = run.score(said(other)).score
                below += (rival < judged.score) + (rival == judged.score) / 2
    assert total
    assert judged.percentile == pytest.approx(100 * below / total)


@pytest.mark.parametrize(
    ("wrong", "hint"),
    [("sales.item:2", "; did you mean 'sales.buyer:2'\\?$"), ("sales.channel:web", "; did you mean|not one$")],
)
def test_an_entity_of_another_kind_is_refused(run: Run, wrong: str, hint: str) -> None:
    for ask in (run.complete, run.score):
        last = "?" if ask == run.complete else '"sales.channel:web"'
        with mistake("wrong-entity-type") as caught:
            ask(f'sales("{wrong}", "sales.item:1", {last})')  # type: ignore[operator]
        caught.match(hint)

"""Queries of a run on imported tables: known answers first, only entities of a column's kind, and never past the limit."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

import numpy as np
import pytest

from relatum import Run, Spec, fit, read, save
from support.mistakes import mistake


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tables")
    chance = np.random.default_rng(0)
    rows = [
        [number, *(int(chance.integers(0, most)) for most in (9, 5, 20, 20, 20))]
        for number in list(range(40)) + list(range(40))
    ]
    heads = "product,supplier,category,unit,price,stock"
    text = "\n".join([heads, *(",".join(map(str, row)) for row in rows)])
    (folder / "products.csv").write_text(text + "\n")
    save(read(folder / "products.csv", columns={"products": heads.split(",")}).split, folder / "data")
    spec = Spec.from_dict({"data": str(folder / "data"), "model": {"dim": 20}, "training": {"epochs": 5}})
    return fit(spec, folder / "run").folder


@pytest.fixture
def run(trained: Path, tmp_path: Path) -> Run:
    shutil.copytree(trained, tmp_path / "run")
    return Run.load(tmp_path / "run")


def stored(run: Run, product: int) -> set[str]:
    roles = run.schema["products"].roles
    assert roles is not None
    at, category = roles.index("product"), roles.index("category")
    return {
        fact[category]
        for part in run.split.parts.values()
        for fact in part.table("products")
        if fact[at] == f"{kind(run, at)}:{product}"
    }


def kind(run: Run, position: int) -> str | None:
    column_type = run.column_types("products")[position]
    return None if column_type is None else column_type.entity_type


def query(run: Run, product: int) -> str:
    return f"project[category](select[product = {kind(run, 0)}:{product}](products))"


def test_known_answers_come_first_and_new_ones_behind(run: Run) -> None:
    for product in range(5):
        found = run.query(query(run, product), k=2)
        known = stored(run, product)
        assert found.proven
        assert [one.known for one in found.answers] == sorted((one.known for one in found.answers), reverse=True)
        assert {one.entity for one in found.known} <= known
        assert len(found.known) == min(2, len(known))
        assert not {one.entity for one in found.new} & known
        assert len(found.new) == 2
        only = run.query(query(run, product), k=2, new_only=True)
        assert only.answers == found.new
        for block in (found.known, found.new):
            assert [one.probability for one in block] == sorted((one.probability or 0 for one in block), reverse=True)


def test_columns_keep_to_their_kind(run: Run) -> None:
    everything = run.query(query(run, 1), k=1000)
    assert {one.entity.partition(":")[0] for one in everything.answers} == {kind(run, 2)}
    assert len(everything.answers) == 5
    explained = run.explain(everything.query, everything.answers[0])
    fact = explained.parts[0].text
    for position, argument in enumerate(fact.removeprefix("products(").removesuffix(")").split(", ")):
        assert argument.partition(":")[0] == kind(run, position)
    best = max(
        run.score(f"products({kind(run, 0)}:1, {supplier}, {everything.answers[0].entity}, {unit}, {price}, {stock})").score
        for supplier in some(run, 1)
        for unit in some(run, 3)
        for price in some(run, 4)[:3]
        for stock in some(run, 5)[:3]
    )
    assert everything.answers[0].degree * run.model.windows >= best - 1e-4  # type: ignore[attr-defined]


def some(run: Run, position: int) -> list[str]:
    names = run.model.graph.entities
    return [names[int(one)] for one in names.beginning_with(f"{kind(run, position)}:")][:4]


def test_a_query_stops_in_time_with_the_best_it_found(run: Run) -> None:
    text = "project[category](products)"
    whole = run.query(text, k=5, seconds=None)
    assert whole.proven
    assert not whole.stopped
    began = time.monotonic()
    found = run.query(text, k=5, seconds=1e-6)
    assert time.monotonic() - began < 2
    assert found.stopped
    assert {one.entities for one in found.known} <= {one.entities for one in whole.known}
    assert found.known
    exact = {one.entities: one.degree for one in whole.answers}
    assert all(one.degree <= exact[one.entities] + 1e-6 for one in found.answers)
    if not found.proven:
        assert not all(one.proven for one in found.answers)
    with mistake("setting-out-of-range"):
        run.query(text, seconds=-1)


def test_a_defined_projection_knows_its_facts(run: Run) -> None:
    run.define("category_of", "project[product, category](products)")
    for product in range(3):
        question = f"category_of({kind(run, 0)}:{product}, ?)"
        answers = run.complete(question, k=5)
        known = stored(run, product)
        assert {one.entity for one in answers[: len(known)]} == known
        assert [one.known for one in answers] == [True] * len(known) + [False] * (len(answers) - len(known))
        assert {one.entity.partition(":")[0] for one in answers} == {kind(run, 2)}
        assert all(one.probability is not None for one in answers)
        assert not any(one.known for one in run.complete(question, k=5, new_only=True))


def test_exp_has_differences_by_the_exact_reading_of_a_calibrated_run(tmp_path: Path) -> None:
    spec = Spec.from_dict({"data": "example", "model": {"dim": 8, "sigma": "exp"}, "training": {"epochs": 2}})
    run = fit(spec, tmp_path / "run")
    text = "difference(project[0, 2](sold), project[0, 2](bought))(drew, ?)"
    found = run.query(text, k=3)
    assert found.answers
    for one in found.answers:
        left, right = (
            run.query(f"project[0, 2]({name})(drew, {one.entity})").answers[0].probability or 0
            for name in ("sold", "bought")
        )
        assert one.probability == pytest.approx(min(left, 1 - right), rel=1e-5)  # float32, by two ways
        assert one.closed is None
        assert one.slack is None
    with mistake("no-closed-form"):
        run.query(text, mode="closed")


def test_a_filter_takes_values_as_they_stand_in_the_table(run: Run) -> None:
    with mistake("unknown-name"):
        run.query("filter[product != 4711](products)")

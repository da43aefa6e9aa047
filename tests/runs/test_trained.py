"""A trained run answers questions with gaps and queries, on tables too, and several threads as one alone."""

from __future__ import annotations

import itertools
import shutil
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import relatum
from relatum import Run, Spec, fit, load, read, save
from relatum.runs.directory import FITTED
from support.mistakes import mistake


def test_several_gaps_are_filled_by_the_best_of_all_facts(example: Run) -> None:
    names = list(example.model.graph.entities)
    judged = {(a, b): example.score(f"sold({a}, {b}, book)") for a, b in itertools.product(names, names)}
    known, new = (
        sorted(-one.score for one in judged.values() if (one.source is None) is is_new) for is_new in (False, True)
    )
    assert len(known) > 1
    for k in (1, 12):
        answers = example.complete("sold(?, ?, book)", k=k)
        scores = [sorted(-one.score for one in answers if one.known is is_known) for is_known in (True, False)]
        assert scores[0] + scores[1] == pytest.approx(known[:k] + new[:k], rel=1e-5)
        assert [answer.source for answer in answers] == [judged[answer.entities].source for answer in answers]
    best = example.complete("sold(?, ?, ?)", k=1)
    assert [answer.known for answer in best] == [True, False]
    assert best[0].score >= -known[0] * (1 - 1e-6)
    assert best[1].score >= -new[0] * (1 - 1e-6)


def test_new_facts_alone_can_be_asked_for(example: Run) -> None:
    new = example.complete("sold(?, ?, ?)", k=200, new_only=True)
    assert not any(answer.known for answer in new)
    everything = example.complete("sold(?, ?, ?)", k=200)
    assert {("sold", *answer.entities): answer.source for answer in everything if answer.known} == {
        fact: part for part, graph in reversed(load("example").parts.items()) for fact in graph if fact[0] == "sold"
    }
    assert [answer for answer in everything if not answer.known] == new == everything[-200:]


@pytest.mark.parametrize("wrong", [0, -1, 1.0, "3", True, None])
def test_a_number_that_cannot_be_is_refused(example: Run, wrong: Any) -> None:
    for question in ("sold(drew, ?, book)", "sold(?, ?, ?)"):
        with mistake("setting-out-of-range"):
            example.complete(question, k=wrong)
        if wrong is not None:
            with mistake("setting-out-of-range"):
                example.complete(question, beam=wrong)
    with mistake("setting-out-of-range"):
        example.predict("sold", top=wrong)
    with mistake("setting-out-of-range"):
        example.query("sold(drew, ?, book)", k=wrong)
    with mistake("setting-out-of-range"):
        example.complete_each("sold(*, ?, *)", k=wrong)


def test_more_answers_than_entities_are_all_there_are(example: Run) -> None:
    every = example.complete("sold(drew, ?, book)", k=10**12)
    assert len(every) == len(example.model.graph.entities)
    assert every == example.complete("sold(drew, ?, book)", k=np.int64(15))  # type: ignore[arg-type]


def test_without_validation_facts_there_are_no_probabilities(tmp_path: Path) -> None:
    split = load("example")
    save(split, tmp_path / "data")
    (tmp_path / "data" / "valid.txt").write_text("")
    plain = fit(Spec.from_dict({"data": str(tmp_path / "data"), "training": {"epochs": 1}}), tmp_path / "run")
    assert plain.calibration is None
    assert plain.reliability() is None
    assert plain.score("sold(drew, alex, book)").probability is None
    assert plain.complete("sold(drew, ?, book)")[0].probability is None
    assert {one.probability for one in plain.predict("sold")} == {None}
    with mistake("no-probabilities"):
        plain.predict("sold", min_probability=0.5)


def test_what_is_noted_as_a_part_of_the_run_must_be_there(example: Run, tmp_path: Path) -> None:
    assert example.folder is not None
    for name in FITTED:
        if (example.folder / name).exists():
            copy = Path(shutil.copytree(example.folder, tmp_path / name))
            (copy / name).unlink()
            with mistake("missing-part"):
                _ = Run.load(copy).validated
    assert len(list(tmp_path.iterdir())) >= 3


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


QUERIES = ["select[0 = drew](sold)", "project[0](sold)", "project[0, 2](sold)", "permute[1, 0, 2](sold)"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a run with evidence and a definition."""
    path = tmp_path_factory.mktemp("runs") / "example"
    relatum.fit("example", path, dim=20, epochs=20, progress=False)
    Run.load(path).define("purchase", "permute[1, 0, 2](sold)")
    return path


def questions(run: Run) -> list[Callable[[], object]]:
    """Return questions of many sorts."""
    facts = [[run.entities[one] for one in fact] for fact in run.table("sold").columns.T[:4].tolist()]
    found: list[Callable[[], object]] = []
    for fact in facts:
        for position in range(3):
            gaps = [None if number == position else name for number, name in enumerate(fact)]
            found.append(lambda gaps=gaps: list(run.complete("sold", *gaps)))
        turned = [fact[1], None, fact[2]]
        found.append(lambda fact=fact: run.score("sold", *fact))
        found.append(lambda turned=turned: list(run.complete("purchase", *turned)))
        found.append(lambda fact=fact: list(run.why("sold", *fact)))
    found += [lambda text=text: list(run.query(text, k=5)) for text in QUERIES]
    return found


@pytest.mark.usefixtures("quick_switches")
def test_threads_get_what_one_gets_alone(folder: Path) -> None:
    expected = [one() for one in questions(Run.load(folder))]
    for _ in range(2):
        run = Run.load(folder)  # nothing is remembered yet: that is where threads meet
        wanted = questions(run)
        start = threading.Barrier(8)

        def work(offset: int, wanted: list[Callable[[], object]] = wanted, start: threading.Barrier = start) -> list[object]:
            start.wait()
            order = [(number + offset * 7) % len(wanted) for number in range(len(wanted))]
            found = {number: wanted[number]() for number in order}
            return [found[number] for number in range(len(wanted))]

        with ThreadPoolExecutor(8) as pool:
            for found in pool.map(work, range(8)):
                assert found == expected


def test_what_is_remembered_is_worked_out_once(folder: Path) -> None:
    run, count, start = Run.load(folder), [], threading.Barrier(8)

    def work_out() -> int:
        count.append(1)
        return run.remembered("inner", lambda: len(count))  # what is worked out may remember something itself

    def ask(_: int) -> int:
        start.wait()
        return run.remembered("outer", work_out)

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(ask, range(8))) == [1] * 8

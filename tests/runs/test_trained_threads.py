"""A run that several threads ask at once gives each of them what it gives one alone."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import relatum
from relatum import Run

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

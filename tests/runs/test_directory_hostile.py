"""Run directories are hostile input: whatever is in their files, a run answers rightly or refuses in one sentence."""

from __future__ import annotations

import math
import random
import resource
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from torture.damages import OTHER, damages

import relatum
from relatum.errors import RelatumError

_ROOM = 3 << 30  # bytes that questions about a run of 15 entities may take more: allocating is cheap, using is not
_QUERY = "project[0](select[2 = book](sold))"


@pytest.fixture(scope="module")
def sound(example_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a run with a definition, to be copied."""
    folder = tmp_path_factory.mktemp("sound") / "run"
    shutil.copytree(example_run, folder)
    relatum.open(folder).define("sellers", "project[0](sold)")
    return folder


def _evaluate(folder: Path) -> object:
    return relatum.open(folder).evaluate().ranks.better.tolist()


def _complete(folder: Path) -> object:
    answers = relatum.open(folder).complete("sold(drew, ?, book)", k=3)
    assert all(one.probability is None or 0 <= one.probability <= 1 for one in answers)
    return [one.entities for one in answers]


def _query(folder: Path) -> object:
    answers = relatum.open(folder).query(_QUERY)
    assert all(math.isfinite(one.degree) for one in answers)
    return None


def _rules(folder: Path) -> object:
    return [str(one) for one in relatum.open(folder).rules()]


def _report(folder: Path) -> object:
    page = relatum.open(folder).report(folder / "page.html").read_text(encoding="utf-8")
    assert page.rstrip().endswith("</html>")
    return None


def _update(folder: Path) -> object:
    updated = relatum.open(folder).update([("sold", "zoe", "drew", "book")], folder.with_name("updated"))
    assert "zoe" in updated.entities
    return None


def _resume(folder: Path) -> object:
    relatum.resume(folder, progress=False).evaluate()
    return None  # a state that is not as it was may lead elsewhere


_ASKS = (_evaluate, _complete, _query, _rules, _report, _update, _resume)


@contextmanager
def _little_memory() -> Iterator[None]:
    """Let no more memory be taken than a small run needs, so that what is taken on the word of a file is an error."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + _ROOM, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def _faults(folder: Path, expected: dict[str, object]) -> Iterator[str]:
    """Yield what each question to a damaged run gave that is neither one sentence nor right."""
    for ask in _ASKS:
        try:
            with _little_memory():
                found = ask(folder)
        except RelatumError as error:
            if "\n" in str(error) or len(str(error)) > 1000:
                yield f"{ask.__name__}: not one sentence: {str(error)[:300]!r}"
        except Exception as error:
            yield f"{ask.__name__}: {type(error).__name__}: {str(error)[:200]}"
        else:
            if found != expected.get(ask.__name__, found):
                yield f"{ask.__name__}: {found} instead of {expected[ask.__name__]}"


def test_damaged_runs_answer_rightly_or_refuse_in_one_sentence(
    sound: Path, tmp_path: Path, count: Callable[[int, int], int]
) -> None:
    expected = {ask.__name__: ask(sound) for ask in _ASKS if ask not in (_update, _resume)}
    expected |= {"_update": None, "_resume": None}
    table = damages()
    chosen = sorted(random.Random(1).sample(sorted(table), count(12, len(table))))
    faults, broken = [], 0
    for number, name in enumerate(chosen):
        folder = tmp_path / str(number) / "run"
        shutil.copytree(sound, folder)
        table[name](folder)
        found = [f"{name}: {fault}" for fault in _faults(folder, {} if name.endswith(OTHER) else expected)]
        faults, broken = faults + found, broken + bool(found)
        shutil.rmtree(folder.parent)
    assert not faults, f"{broken} of {len(chosen)} damages:\n" + "\n".join(faults)

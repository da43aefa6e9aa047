"""What was asked is not kept: questions that are all different, however long, leave a run as large as it was."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable
from contextlib import suppress

import pytest

from relatum import Run
from relatum.errors import RelatumError
from relatum.resources.answers import complete, score
from relatum.resources.entity import entity_page
from relatum.resources.limits import MOST_TEXT
from relatum.resources.names import find, suggest
from relatum.resources.queries import query
from relatum.resources.what_if import what_if

SMALL = 300_000  # bytes that libraries keep for themselves

ASKED: dict[str, Callable[[Run, int, str], object]] = {
    "question": lambda run, one, pad: complete(run, f"{pad}sold(drew, ?, book){' ' * (one % 7)}", 10),
    "question of no entity": lambda run, one, pad: complete(run, f"sold(x{one}{pad.replace(' ', 'x')}, ?, book)", 10),
    "SQL": lambda run, one, pad: query(run, f"SELECT s.buyer AS c{one} FROM sold s WHERE s.item = 'tea'{pad}", 10),  # noqa: S608
    "algebra": lambda run, one, pad: query(run, f"{pad}select[2 = tea](sold){' ' * (one % 7)}", 10),
    "definition": lambda run, one, pad: what_if(run, f"v{one}(?)", [], {f"v{one}": f"project[0](sold){pad}"}, 10),
    "part of a name": lambda run, one, pad: find(run, f"d{one}{pad.replace(' ', 'y')}", 20),
    "what is typed": lambda run, one, pad: suggest(run, f"sold(d{one}{pad.replace(' ', 'y')}", None, 10),
    "fact": lambda run, one, pad: score(run, f"{pad}sold(drew, alex, book){' ' * (one % 7)}"),
    "entity": lambda run, one, pad: entity_page(run, f"d{one}{pad.replace(' ', 'y')}"),
}


@pytest.mark.parametrize("kind", ASKED)
def test_what_is_asked_leaves_nothing_behind(example: Run, kind: str) -> None:
    def ask(numbers: range) -> None:
        for one in numbers:
            with suppress(RelatumError):
                ASKED[kind](example, one, " " * (MOST_TEXT - 300 + one))

    ask(range(20))
    gc.collect()
    tracemalloc.start()
    try:
        ask(range(20, 100))
        gc.collect()
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept < SMALL < 80 * MOST_TEXT // 2

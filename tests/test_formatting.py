"""Numbers, shares and times as people read them."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from relatum.formatting import count, duration, listed, number, percent, score, share, visible

SAID = {
    duration: {0.0: "0.0 s", 9.96: "10.0 s", 59.6: "1 min", 883: "14 min 43 s", 90061: "1 d 1 h", math.inf: "?"},
    percent: {
        0.0: "0.0 %",
        1e-9: "< 0.1 %",
        0.5: "50.0 %",
        0.9994: "99.9 %",
        0.999999: "> 99.9 %",
        1.0: "100.0 %",
        None: "-",
    },
    partial(percent, digits=0): {0.001: "< 1 %", 0.4361: "44 %", 0.997: "> 99 %"},
    partial(share, 1): {4: "25.0 %", 0: "-"},
    partial(count, one="fact"): {0: "0 facts", 1: "1 fact", 61911: "61,911 facts"},
    partial(count, one="entity", many="entities"): {1: "1 entity", 2: "2 entities"},
    number: {61911: "61,911"},
    score: {0.4314: "0.431"},
    listed: {(): "", ("2",): "2", ("2", "3"): "2 or 3", ("2", "3", "4"): "2, 3 or 4"},
    visible: {
        "a\x00\x1b[31m\n\x7f b": "a␀␛[31m␊␡ b",
        "\x85\u202e\u2066\ufffe": "\ufffd" * 4,
        "שלום 𝕏 \u200d": "שלום 𝕏 \u200d",
    },
}


@pytest.mark.parametrize("say", SAID)
def test_values_are_said_as_people_read_them(say: Callable[[Any], str]) -> None:
    assert {value: say(value) for value in SAID[say]} == SAID[say]

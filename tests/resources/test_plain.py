"""Resources become plain data, as JSON has it."""

from __future__ import annotations

import json
from dataclasses import asdict

import numpy as np
import pytest

from relatum import Run
from relatum.resources.answers import complete
from relatum.resources.plain import plain


def test_plain_is_what_asdict_is(example: Run) -> None:
    found = complete(example, "sold(drew, ?, book)", 3)
    assert plain(found) == json.loads(json.dumps(asdict(found)))


def test_what_is_no_resource_is_refused() -> None:
    with pytest.raises(TypeError):
        plain(np.zeros(2))
    with pytest.raises(TypeError):
        plain({"a": 1})

"""What cannot be trained in the free memory is refused in one line, before any of it is taken."""

from __future__ import annotations

import pytest

import relatum
from relatum import memory
from relatum.errors import SettingError
from support.mistakes import mistake


@pytest.mark.parametrize("model", ["reale", "hype", "getd", "g-mpnn"])
@pytest.mark.parametrize("dim", [10**11, 10**18])
def test_a_dim_without_end_is_one_line(model: str, dim: int) -> None:
    with pytest.raises(SettingError) as caught:
        relatum.fit("example", model=model, recipe="fast", dim=dim, progress=False)
    assert caught.value.place == "model.dim"
    assert caught.value.code in ("too-large-to-train", "unreadable-value")  # by what the first table would hold


def test_entities_times_dim_are_held_against_what_is_free(monkeypatch: pytest.MonkeyPatch) -> None:
    facts = [("likes", f"e{number}", f"e{number + 1}") for number in range(1000)]
    monkeypatch.setattr(memory, "free", lambda: 1 << 20)
    with mistake("too-large-to-train") as caught:
        relatum.fit(facts, recipe="fast", dim=20_000, epochs=1, progress=False)
    assert "\n" not in str(caught.value)
    monkeypatch.setattr(memory, "_free_bytes", lambda: None)  # where nobody says, nothing is refused
    relatum.fit(facts[:20], recipe="fast", dim=20, epochs=1, evidence=False, progress=False)

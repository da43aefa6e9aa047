"""Settings: every bad value is refused with its name, and changes are read from text."""

from __future__ import annotations

import dataclasses
from types import MappingProxyType

import pytest

from relatum.synth import PRESETS, SynthSettings, find_preset, synthesize
from support.mistakes import mistake

BAD = """entities=0 entities=6 skew=1 relations=2 arities={} arities={2=0} arities={two=1} arities=3 kept_arities={2=-1}
kept_arities=3 elementary_tuples=100 operations={rename=-1} operations={rename=0} operations=1 depths=[] depths=[0] depths=2
test=1"""


@pytest.mark.parametrize("change", BAD.split())
def test_a_bad_value_is_refused_with_the_name_of_its_setting(change: str) -> None:
    with mistake("setting-out-of-range") as caught:
        SynthSettings().changed([change])
    assert change.split("=")[0] in caught.value.place


def test_what_is_no_change_or_no_setting_is_refused() -> None:
    with mistake("bad-option-form"):
        SynthSettings().changed(["derived"])
    with mistake("unknown-name", nearest=("derived",)):
        SynthSettings().changed(["derive=3"])
    with mistake("unknown-name", nearest=("rename",)):
        SynthSettings().changed(["operations={renamed=1}"])
    with mistake("unknown-name", kind="preset"):
        find_preset("large")


def test_changes_are_read_as_they_are_meant() -> None:
    found = find_preset("small").changed(["derived = 7", "arities={3=1, 2=1}", "depths=[1, 2]"])
    assert found.derived == 7
    assert list(found.arities.items()) == [(2, 1.0), (3, 1.0)]
    assert list(found.depths) == [1, 2]
    assert found.entities == find_preset("small").entities


@pytest.mark.parametrize("preset", PRESETS)
def test_settings_survive_as_plain_data(preset: str) -> None:
    assert SynthSettings.from_dict(find_preset(preset).to_dict()) == find_preset(preset)


def test_settings_cannot_be_changed_in_place() -> None:
    settings = SynthSettings()
    assert {type(settings.arities), type(settings.kept_arities), type(settings.operations)} == {MappingProxyType}
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(settings, "derived", 3)  # noqa: B010  # as a caller without types would


@pytest.mark.parametrize("seed", [-1, 1.5])
def test_a_bad_seed_is_refused(seed: int) -> None:
    with mistake("setting-out-of-range"):
        synthesize(find_preset("small"), seed)

"""The public names are these and no others."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import relatum

RECORD = Path(__file__).parents[1] / "golden" / "record.json"


def test_public_names_are_those_of_the_record_and_can_be_had() -> None:
    signatures = json.loads(RECORD.read_text(encoding="utf-8"))["signatures"]
    assert {f"relatum.{name}" for name in relatum.__all__} == {
        name for name in signatures if re.fullmatch(r"relatum\.\w+", name)
    }
    for name in relatum.__all__:
        assert getattr(getattr(relatum, name), "__name__", name) == name
        assert name in dir(relatum)


@pytest.mark.parametrize(
    ("name", "right"),
    [
        ("ReAlE", "relatum.fit(data, model='ReAlE')"),
        ("TrainingSettings", "relatum.fit(data, epochs=50)"),
        ("train", "relatum.fit"),
        ("laod", "did you mean load"),
    ],
)
def test_another_name_is_an_attribute_error_that_names_ours(name: str, right: str) -> None:
    with pytest.raises(AttributeError) as caught:
        getattr(relatum, name)
    assert right in str(caught.value)


def test_the_command_line_starts_without_heavy_imports() -> None:
    code = "import sys, relatum.cli; print(sorted({'numpy', 'torch', 'numba', 'safetensors'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"

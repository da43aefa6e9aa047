"""What is released: one version everywhere, archives that hold what they should, and a quick start that can be typed."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import typer.main
import yaml
from release.extras import PROBES
from release.lowest import NOT_FOR_USERS
from release.quick_start import PAGE, lines_of

import relatum
from relatum.cli import app

ROOT = Path(__file__).parents[1]


def test_version_date_and_extras_are_the_same_wherever_they_stand() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    version, date = re.findall(r"^## \[(\d.*?)\] - (\S+)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)[0]
    assert (citation["version"], str(citation["date-released"])) == (version, date)
    assert relatum.__version__ == version
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert PROBES.keys() == extras.keys() - NOT_FOR_USERS


def test_the_quick_start_begins_with_an_install_and_knows_its_commands() -> None:
    lines = lines_of(PAGE.read_text(encoding="utf-8"))
    assert re.match(r"pip install 'relatum\[[\w,]+\]'", lines[0].text)
    assert any(line.python for line in lines)
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    named = [line.text.split()[1] for line in lines[1:] if not line.python]
    assert {"demo", "fill", "import", "train", "serve"} <= set(named) <= set(commands)

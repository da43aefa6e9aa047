"""Two tiers of tests: what a person runs, and with --all what takes long or needs more than `make setup` installs."""

from __future__ import annotations

from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]

ALL_ONLY = {
    "inference/test_ranking_against_pykeen.py": "needs a peer",
    "paper/test_figures.py": "needs matplotlib",
    "report/test_page_in_a_browser.py": "needs a browser",
    "runs/test_trackers.py": "needs trackers",
    "serving/test_app_generated.py": "generates requests",
    "serving/test_pages_in_a_browser.py": "needs a browser",
    "stranger": "types everything that documents show",
    "test_docs.py": "runs every snippet",
    "test_docs_numbers.py": "is about documents",
    "test_mutants.py": "is about a tool of tests",
    "test_notebooks.py": "runs notebooks",
    "test_release.py": "is about the release",
    "test_site.py": "builds the site",
    "test_skips.py": "is about a tool of tests",
    "test_torture.py": "is about a tool of tests",
    "test_ways.py": "counts calls of whole commands",
    "tuning": "needs Optuna",
}
"""Files and folders that are left out without --all, and why; single tests have the mark `everything`."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--all", action="store_true", help="tests that take long or need more than make setup installs, too")


def is_left_out(path: Path, config: pytest.Config) -> bool:
    """Return whether a file or folder is left out: it is on the list, and neither --all nor its name was given."""
    if config.getoption("--all") or not path.is_relative_to(TESTS):
        return False
    given = {Path(argument.partition("::")[0]).resolve() for argument in config.args}
    return path.relative_to(TESTS).as_posix() in ALL_ONLY and path not in given and not given & set(path.rglob("*.py"))


def leave_out(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out single tests that are marked, unless they are asked for."""
    if config.getoption("--all") or config.getoption("markexpr"):
        return
    marked = [item for item in items if item.get_closest_marker("everything")]
    if marked:
        config.hook.pytest_deselected(items=marked)
        items[:] = [item for item in items if item not in marked]

"""Two tiers of tests: what a person runs, and with --all what takes long or needs more than `make setup` installs."""

from __future__ import annotations

from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]

ALL_ONLY = {
    "cli/test_demo.py": "is make demo",
    "cli/test_paper_tables.py": "needs matplotlib",
    "cli/test_run_jobs.py": "starts and kills processes",
    "cli/test_serve.py": "starts servers",
    "cli/test_streams.py": "starts processes with closed and full streams",
    "contract/test_kernels.py": "walks every kernel at the edges of sizes",
    "inference/test_ranking_against_pykeen.py": "needs a peer",
    "kernels/test_jit.py": "compiles kernels anew",
    "mcp/test_serve.py": "starts servers",
    "mcp/test_stdio.py": "starts servers",
    "paper/test_figures.py": "needs matplotlib",
    "report/test_page_in_a_browser.py": "needs a browser",
    "resources/test_limits.py": "asks for minutes, and counts memory",
    "runs/test_directory_hostile.py": "damages runs in many ways",
    "runs/test_fit_starting.py": "starts and kills processes",
    "runs/test_trackers.py": "needs trackers",
    "runs/test_worker_fit.py": "starts groups of processes",
    "serving/test_app_generated.py": "generates requests",
    "serving/test_app_hostile_names.py": "asks for every page with every odd name",
    "serving/test_pages_in_a_browser.py": "needs a browser",
    "stranger": "types everything that documents show",
    "tables/test_changes_kills.py": "kills processes that fill databases",
    "tables/test_importer_hostile.py": "imports what is very large or very odd",
    "test_connections.py": "waits for clients that are let go",
    "test_docs.py": "runs every snippet and notebook, and builds the site",
    "test_errors_shortage.py": "starts processes with little memory",
    "test_release.py": "is about the release",
    "test_torture.py": "is about a tool of tests",
    "test_ways.py": "counts calls of whole commands",
    "tuning": "needs Optuna",
    "workers/test_group_hosts.py": "starts groups of processes",
    "workers/test_steps.py": "starts groups of processes",
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

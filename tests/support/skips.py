"""Tests that may be skipped, and a run that fails when any other is (`--no-skips`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import pytest

ALLOWED = {
    "needs the published benchmark files: set RELATUM_DATA to their folder": "they are large, and not ours to publish",
    "only root can give a folder away": "nobody else may make a folder that belongs to another user",
    "needs network namespaces of Linux: run it as root": "a container may forbid them",
}
"""Why a test is skipped, and why that cannot be helped where everything is installed that could be."""


def reasons(reports: Iterable[pytest.TestReport | pytest.CollectReport]) -> Counter[str]:
    """Return how many tests were skipped for each reason."""
    return Counter(
        str(report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr).removeprefix("Skipped: ")
        for report in reports
    )


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--no-skips", action="store_true", help="fail if a test is skipped that need not be")


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None and session.config.getoption("--no-skips"):
        unwanted = reasons(reporter.stats.get("skipped", ())).keys() - ALLOWED.keys()
        if unwanted and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if not config.getoption("--no-skips"):
        return
    found = reasons(terminalreporter.stats.get("skipped", ()))
    terminalreporter.section("skipped tests")
    for reason, number in sorted(found.items()):
        terminalreporter.line(f"{number} skipped: {reason} [{ALLOWED.get(reason, 'NOT ALLOWED: install what is missing')}]")
    if not found:
        terminalreporter.line("none")

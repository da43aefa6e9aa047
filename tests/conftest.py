"""What all tests share: counts that grow with --full, an isolated cache, benchmark files if any, and the command line."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from support import skips, tiers
from support.command_line import Relatum
from support.made_datasets import example, example_run, made, rel_er
from support.mysql_server import mysql, mysql_database
from support.postgres_server import database, postgres
from support.shop_fixtures import shop, shop_run
from support.shop_to_fill import postgres_to_fill, shop_to_fill
from support.shop_with_gaps import gappy_run, gappy_shop, tables, today
from support.skips import pytest_sessionfinish, pytest_terminal_summary

__all__ = [
    "database",
    "example",
    "example_run",
    "gappy_run",
    "gappy_shop",
    "made",
    "mysql",
    "mysql_database",
    "postgres",
    "postgres_to_fill",
    "pytest_sessionfinish",
    "pytest_terminal_summary",
    "rel_er",
    "shop",
    "shop_run",
    "shop_to_fill",
    "tables",
    "today",
]

# Tests run side by side, one to a processor: torch's threads would spin against each other. Set before torch is imported.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
# Compiled kernels are kept between runs, not compiled anew for each test's own cache.
os.environ.setdefault("NUMBA_CACHE_DIR", str(Path(__file__).parents[1] / ".pytest_cache" / "numba"))

# A shell without job control starts what is in the background with Ctrl-C ignored, which every process below would inherit.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile("default", max_examples=60, deadline=None, derandomize=True)
settings.register_profile("full", max_examples=2000, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def pytest_addoption(parser: pytest.Parser) -> None:
    skips.pytest_addoption(parser)
    tiers.pytest_addoption(parser)
    parser.addoption("--full", action="store_true", help="the same tests at their large counts")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    return True if tiers.is_left_out(collection_path, config) else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    tiers.leave_out(config, items)


def pytest_configure(config: pytest.Config) -> None:
    settings.load_profile("full" if config.getoption("--full") else "default")


@pytest.fixture
def count(request: pytest.FixtureRequest) -> Callable[[int, int], int]:
    """Return a function that picks a test's small count or, with --full, its large one."""
    full = request.config.getoption("--full")
    return lambda small, large: large if full else small


@pytest.fixture(scope="session", autouse=True)
def shared_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Give what many tests share a cache, too."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RELATUM_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give every test a cache of its own, so that none touches the user's."""
    folder = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("RELATUM_CACHE", str(folder))
    return folder


@pytest.fixture(autouse=True)
def default_threads() -> Iterator[None]:
    """Undo what a test has said of threads."""
    torch = sys.modules.get("torch")
    before = torch.get_num_threads() if torch else 0
    yield
    if torch:
        torch.set_num_threads(before)
    if "relatum.kernels.parallel" in sys.modules:
        sys.modules["relatum.kernels.parallel"].set_threads(None)


@pytest.fixture
def quick_switches() -> Iterator[None]:
    """Let threads take turns as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.fixture
def benchmark_data() -> Path:
    """Return the folder of the published benchmark files, or skip the test."""
    folder = os.environ.get("RELATUM_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("needs the published benchmark files: set RELATUM_DATA to their folder")
    return Path(folder)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Relatum:
    """Return a function that runs `relatum ARGUMENTS` and returns exit code, standard output and standard error."""
    from relatum.cli import main

    monkeypatch.delenv("COLUMNS", raising=False)  # some test runners set it, and tables keep to it

    def call(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["relatum", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capsys.readouterr()
        err = err.replace(
            "compiling kernels, once per machine ...\n", ""
        )  # said or not, by what earlier tests have compiled
        assert isinstance(ended.value.code, int)
        return ended.value.code, out, err

    return call

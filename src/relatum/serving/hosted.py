"""The runs that a server shows: loaded whole, replaced whole when their directory is, or not at all."""

from __future__ import annotations

import logging
import os
import re
import threading
import time
from collections.abc import Iterable
from pathlib import Path

from relatum.api import Run
from relatum.closed_folders import close_folder
from relatum.errors import RelatumError, SettingError, UnknownNameError
from relatum.inference.scoring import CandidateSides
from relatum.memory import free
from relatum.resources.facts import fact_index
from relatum.resources.later import Later
from relatum.resources.names import suggest
from relatum.resources.overview import overview
from relatum.runs.directory import why_no_run
from relatum.runs.lookup import name_index
from relatum.runs.sql_answers import views_of
from relatum.serving.errors import RequestError
from relatum.time_limit import held, unhurried

Signature = frozenset[tuple[str, int, int, int]]

_LOG = logging.getLogger("relatum.serving")
# What is written while a run is trained, or about it, and is no part of what is loaded.
_IGNORED_STARTS = ("checkpoint.", "checkpoint-")
_IGNORED = frozenset({"journal.jsonl", ".lock", "README.md", "report.html"})
_SHARE = 3  # of the memory that is free, for packed candidates
_MODEL, _SPEC = "config.json", "spec.toml"
_PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")


def candidate_memory(wanted: int | None) -> int:
    """Return how many bytes packed candidates of all runs may take: what is wanted, or a share of what is free."""
    return free() // _SHARE if wanted is None else wanted


def signature(folder: Path) -> Signature:
    """Return what tells whether the files of a run have changed: the name, number, size and time of each."""
    found = set()
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                ignored = entry.name in _IGNORED or entry.name.startswith(_IGNORED_STARTS) or entry.name.endswith(".tmp")
                if not ignored and entry.is_file():
                    status = entry.stat()
                    found.add((entry.name, status.st_ino, status.st_size, status.st_mtime_ns))
    except OSError:  # it is being replaced
        return frozenset()
    return frozenset(found)


class HostedRun:
    """A run that a server shows under a name.

    Its folder may have no model yet. Its packed candidates may take `candidate_bytes`; None leaves that to
    `CandidateSides`. `later` works out what no request has time for.
    """

    def __init__(self, name: str, folder: Path, candidate_bytes: int | None = None, later: Later | None = None) -> None:
        self.name, self.folder, self._candidate_bytes, self._later = name, folder, candidate_bytes, later
        close_folder(folder)
        self.loaded_at: float | None = None
        self.problem: str | None = None  # why what is on disk now is not what is served
        self.version = 0  # how often a run was loaded
        self._run: Run | None = None
        self._signature: Signature = frozenset()
        self._refused: Signature = frozenset()  # of what is damaged, which is not tried again
        self._seen: Signature = frozenset()
        self._loading = threading.Lock()

    @property
    def is_loaded(self) -> bool:
        """Whether there is a run to ask."""
        return self._run is not None

    @property
    def has_model(self) -> bool:
        """Whether there is a model to load: training has finished."""
        return (self.folder / _MODEL).exists()

    def run(self) -> Run:
        """Return the run; the first caller loads it, and others wait for that."""
        if self._run is None:
            with held(self._loading), unhurried():
                if self._run is None:
                    self._load()
        if self._run is None:
            raise RequestError(409, f"{self.name}: {self.problem}")
        return self._run

    def without_path(self, text: str) -> str:
        """Return a text in which the run is called by its name: where it lies is not for clients."""
        return text.replace(str(self.folder), self.name)

    def refresh(self) -> bool:
        """Load the run again if its directory has changed and lies still; return whether there is another run now.

        It lies still if it is as it was when this was called before: files that are copied one by one come after each other.
        """
        before, found = self._seen, signature(self.folder)
        self._seen = found
        if before != found or found in (frozenset(), self._signature, self._refused):
            return False
        if not any(name == _MODEL for name, *_ in found):
            return False
        with self._loading:
            return self._load()

    def _load(self) -> bool:
        """Load what is on disk; if that is damaged, or changes meanwhile, what was there before stays."""
        before = signature(self.folder)
        if not self.has_model:
            self.problem = "training has not finished; what there is to see is its training"
            return False
        began = time.monotonic()
        try:
            run = _whole_run(self.folder)
            run.candidate_sides = CandidateSides(self._candidate_bytes)
            run.later = self._later
            if self._run is not None:  # while it serves, there is time to build what the new one needs
                prepare(run)
        except (RelatumError, OSError) as error:
            self._refused = before
            self.problem = f"what is in its directory cannot be loaded: {self.without_path(str(error))}"
            _LOG.warning("%s: %s", self.name, self.problem)
            return False
        if signature(self.folder) != before:  # torn: some of it is old and some new; it is tried again
            return False
        self._run, self._signature, self._refused, self.problem = run, before, frozenset(), None
        self.version += 1
        self.loaded_at = time.time()
        _LOG.info("%s: loaded in %.1f seconds", self.name, time.monotonic() - began)
        return True


class HostedRuns(dict[str, HostedRun]):
    """The runs of a server by name, in the order in which they were given.

    Each is called as its directory is, and a second one of that name gets a number. Packed candidates of all may take
    `candidate_bytes` together; None takes a share of what is free.
    """

    def __init__(self, folders: Iterable[Path], candidate_bytes: int | None = None) -> None:
        super().__init__()
        self.later = Later()
        several = list(folders)
        most = candidate_memory(candidate_bytes) // max(1, len(several))
        for folder in several:
            name = self._free_name(folder)
            self[name] = HostedRun(name, folder, most, self.later)
        if not self:
            raise SettingError("no-run-to-serve", "there is no run to serve", remedy="name a run directory")

    def __missing__(self, name: str) -> HostedRun:
        raise UnknownNameError("run", name, self)

    def _free_name(self, folder: Path) -> str:
        called = folder.resolve().name
        plain = called if _PLAIN.fullmatch(called) else re.sub(r"[^A-Za-z0-9_]+", "-", called).strip("-") or "run"
        plain = plain.removesuffix(".json")
        name, number = plain, 2
        while name in self:
            name, number = f"{plain}-{number}", number + 1
        return name


def prepare(run: Run) -> None:
    """Build the indexes of facts and names and the overview of a run; quality, rules and missing facts wait for demand."""
    fact_index(run)
    name_index(run)
    overview(run)
    suggest(run, "")


def require_run(folder: Path) -> None:
    """Refuse a directory that is neither a run nor one that is being trained."""
    if not (folder / _MODEL).exists() and not (folder / _SPEC).exists():
        raise RelatumError("not-a-run", why_no_run(folder), place=folder)


def _whole_run(folder: Path) -> Run:
    """Return a run with all that its directory holds in memory, so that a later replacement of a file changes nothing."""
    run = Run.load(folder)
    _ = run.spec, run.split, run.validated, run.events, run.environment, views_of(run)
    if run.split.entities != run.entities or list(run.split.schema) != list(run.model.schema):
        raise RelatumError("parts-of-two-runs", "its facts and its model are not of one run", place=folder)
    return run

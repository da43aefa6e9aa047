"""What a person has decided about predicted facts, in a small SQLite file: the one thing that a server writes.

The file is a log: a decision is never changed, and undoing one notes when. A decision that was acknowledged is on disk: the
file is in WAL mode and each commit waits for the disk.
"""

from __future__ import annotations

import json
import secrets
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from relatum.closed_folders import refuse_link
from relatum.errors import DataError, RelatumError
from relatum.runs.directory import close_run_around
from relatum.serving.errors import RequestError

Verdict = Literal["accept", "reject"]

_FORMAT, _VERSION = 0x52454C44, 1  # "RELD", in the header of the file, where SQLite has a number for its user
_UNWRITABLE = ("\t", "\n", "\r", "\0")  # what a name in a file of facts cannot have
_PAGE = 1000  # decisions that are listed at once
_TABLE = """
CREATE TABLE decisions (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    run TEXT NOT NULL,
    relation TEXT NOT NULL,
    entities TEXT NOT NULL,
    verdict TEXT NOT NULL CHECK (verdict IN ('accept', 'reject')),
    probability REAL,
    decided REAL NOT NULL,
    undone REAL
) STRICT;
CREATE TABLE secret (value TEXT NOT NULL) STRICT;
CREATE UNIQUE INDEX standing ON decisions (run, relation, entities) WHERE undone IS NULL;
"""
_STANDING = """
SELECT id, run, relation, entities, verdict, probability, decided FROM decisions WHERE run = ? AND undone IS NULL"""


@dataclass(frozen=True, slots=True)
class Decision:
    """What was decided about a fact.

    Attributes:
        id: its number, by which it can be undone.
        run: the run that predicted the fact.
        relation: the relation of the fact.
        entities: the entities of the fact.
        verdict: `accept` or `reject`.
        probability: how likely the fact was when it was decided on.
        decided: when, in seconds since 1970.
    """

    id: int
    run: str
    relation: str
    entities: tuple[str, ...]
    verdict: Verdict
    probability: float | None
    decided: float


class Decisions:
    """The decisions in a file, which is created if it is not there.

    `secret` is what a form must send that decides: a page of another site cannot know it. It is in the file, so that all
    processes of a server have the same one.
    """

    def __init__(self, path: Path) -> None:
        self.path, self._lock = path, threading.Lock()
        close_run_around(path)
        refuse_link(path)
        try:
            self._connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=10.0)
            self._open()
        except sqlite3.Error as error:
            raise RelatumError("not-decisions", f"cannot be used as a file of decisions: {error}", place=path) from None

    def _open(self) -> None:
        run = self._connection.execute
        (number,), (version,) = run("PRAGMA application_id").fetchone(), run("PRAGMA user_version").fetchone()
        tables = run("SELECT count(*) FROM sqlite_schema").fetchone()[0]
        if (number, version) != (_FORMAT, _VERSION) and (tables or number or version):
            raise RelatumError(
                "not-decisions", "is a database, but not one of decisions", place=self.path, remedy="name another file"
            )
        run("PRAGMA journal_mode = WAL")
        run("PRAGMA synchronous = FULL")
        run("PRAGMA trusted_schema = OFF")
        if not tables:
            # Another process may be doing the same: whoever comes second finds the table.
            run("BEGIN IMMEDIATE")
            if not run("SELECT count(*) FROM sqlite_schema").fetchone()[0]:
                for statement in _TABLE.split(";\n"):
                    run(statement)
                run("INSERT INTO secret (value) VALUES (?)", (secrets.token_urlsafe(32),))
                run(f"PRAGMA application_id = {_FORMAT}")
                run(f"PRAGMA user_version = {_VERSION}")
            run("COMMIT")
        self.secret: str = run("SELECT value FROM secret").fetchone()[0]

    def decide(
        self, run: str, relation: str, entities: tuple[str, ...], verdict: Verdict, probability: float | None = None
    ) -> Decision:
        """Return a decision about a fact, which is on disk by then; it replaces the one that stood."""
        for name in (relation, *entities):
            if any(one in name for one in _UNWRITABLE):
                reason = "a name with a tab or a line break cannot be written to a file of facts"
                raise DataError("unwritable-name", reason, place=f"{name!r}")
        if verdict not in ("accept", "reject"):
            raise DataError("setting-out-of-range", f"must be accept or reject, not {verdict!r}", place="verdict")
        written, now = json.dumps(entities, ensure_ascii=False), time.time()
        with self._lock, self._writing():
            self._connection.execute(
                "UPDATE decisions SET undone = ? WHERE run = ? AND relation = ? AND entities = ? AND undone IS NULL",
                (now, run, relation, written),
            )
            added = self._connection.execute(
                "INSERT INTO decisions (run, relation, entities, verdict, probability, decided) VALUES (?, ?, ?, ?, ?, ?)",
                (run, relation, written, verdict, probability, now),
            )
        return Decision(int(added.lastrowid or 0), run, relation, entities, verdict, probability, now)

    def undo(self, run: str, decision: int) -> Decision:
        """Return the decision that does not stand any more."""
        with self._lock, self._writing():
            found = self._connection.execute(f"{_STANDING} AND id = ?", (run, decision)).fetchone()
            if found is None:
                raise DataError("no-such-decision", f"there is no decision {decision} on {run} that stands")
            self._connection.execute("UPDATE decisions SET undone = ? WHERE id = ?", (time.time(), decision))
        return _decision(found)

    def standing(self, run: str, *, before: int | None = None, limit: int = _PAGE) -> list[Decision]:
        """Return decisions on a run that stand, the latest first; `before` a number, to go on from there."""
        most = 2**63 - 1 if before is None else before
        found = self._rows(f"{_STANDING} AND id < ? ORDER BY id DESC LIMIT ?", (run, most, min(limit, _PAGE)))
        return [_decision(row) for row in found]

    def of_relation(self, run: str, relation: str) -> dict[tuple[str, ...], Decision]:
        """Return the decisions on a relation's facts that stand, by the entities of the fact."""
        found = self._rows(f"{_STANDING} AND relation = ?", (run, relation))
        return {one.entities: one for one in map(_decision, found)}

    def counts(self, run: str) -> dict[str, int]:
        """Return how many facts of a run were accepted and how many rejected."""
        found = self._rows(
            "SELECT verdict, count(*) FROM decisions WHERE run = ? AND undone IS NULL GROUP BY verdict", (run,)
        )
        return {"accept": 0, "reject": 0, **dict(found)}

    def accepted(self, run: str, named: Callable[[str, tuple[str, ...]], Sequence[str]] | None = None) -> Iterator[str]:
        """Yield the accepted facts of a run as lines of a file that `relatum update` reads, in the order of decisions.

        `named` gives the names that the run has for the entities of a relation, where facts are shown by others.
        """
        last = 0
        while found := self._rows(f"{_STANDING} AND verdict = 'accept' AND id > ? ORDER BY id LIMIT ?", (run, last, _PAGE)):
            for one in map(_decision, found):
                entities = one.entities if named is None else named(one.relation, one.entities)
                yield "\t".join((one.relation, *entities)) + "\n"
                last = one.id

    def __del__(self) -> None:
        """Close the file where nobody has, as where it could not be used."""
        with suppress(AttributeError, sqlite3.Error):
            self._connection.close()

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._connection.close()

    def _rows(self, sql: str, parameters: tuple[object, ...]) -> list[Any]:
        """Return the rows of a query; a file that was damaged since it was opened is said to be."""
        try:
            with self._lock:
                return self._connection.execute(sql, parameters).fetchall()
        except sqlite3.Error as error:
            raise RequestError(503, f"the decisions cannot be read: {error}") from None

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Hold a transaction that no other process can write beside; it is whole or nothing."""
        run = self._connection.execute
        try:
            run("BEGIN IMMEDIATE")
        except sqlite3.Error as failed:  # such as another process that writes for too long
            raise RequestError(503, f"the decision could not be written: {failed}", retry_after=1) from None
        try:
            yield
            run("COMMIT")
        except sqlite3.Error as failed:  # such as a full disk
            raise RequestError(503, f"the decision could not be written: {failed}") from None
        finally:
            if self._connection.in_transaction:
                with suppress(sqlite3.Error):  # what led here is what is said
                    run("ROLLBACK")


def _decision(row: tuple[int, str, str, str, Verdict, float | None, float]) -> Decision:
    number, run, relation, entities, verdict, probability, decided = row
    try:
        return Decision(number, run, relation, tuple(json.loads(entities)), verdict, probability, decided)
    except (ValueError, TypeError):
        raise RequestError(503, f"decision {number} is damaged: its entities are no list") from None

"""Where a study is kept so that many processes can work on it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from relatum.closed_folders import make_folder, open_file
from relatum.errors import RelatumError, SettingError
from relatum.extras import optional
from relatum.file_locks import locked
from relatum.files import drop_torn_line, is_there

with optional("optuna", extra="tune"):
    import optuna
    from optuna.storages import journal

optuna.logging.set_verbosity(optuna.logging.WARNING)  # relatum reports on trials itself

_FIRST = b'{"op_code":'  # what a journal begins with
_ADVISORY = 0x72656C61  # the number of the lock in PostgreSQL, by which relatum's processes know it


@dataclass(frozen=True)
class Shared:
    """A storage, and a lock that one process holds at a time; the lock of a process that dies is free at once."""

    storage: optuna.storages.BaseStorage
    exclusive: Callable[[], AbstractContextManager[object]]


def open_storage(location: str) -> Shared:
    """Return the storage at a path or `postgresql://` URL; creates it if it does not exist."""
    if "://" not in location:
        return _journal(Path(location))
    scheme, _, rest = location.partition("://")
    if scheme not in ("postgresql", "postgres", "postgresql+psycopg"):
        raise SettingError(
            "setting-out-of-range",
            f"must be the path of a journal file or a postgresql:// URL, not {scheme}://...",
            place="storage",
        )
    return _postgres(f"postgresql+psycopg://{rest}")


@contextmanager
def plain_errors() -> Iterator[None]:
    """Turn what goes wrong in a storage into one line, without the URL, which may hold a password."""
    try:
        yield
    except Exception as error:
        why: object
        if isinstance(error, optuna.exceptions.StorageInternalError):
            why = error.__cause__ or error
        elif isinstance(error, json.JSONDecodeError):
            why = f"its journal is damaged ({error})"
        elif type(error).__module__.startswith("sqlalchemy."):
            why = getattr(error, "orig", None) or error
        else:
            raise
        raise RelatumError("storage-failed", f"the storage of the study failed: {why}") from None


class _Journal(journal.BaseJournalBackend):
    """What happened in a study, one line of JSON each, in a file whose lock dies with the process that holds it.

    Whoever takes the lock first drops a line that a killed process has left half written: the next would be added to it.
    """

    def __init__(self, path: Path) -> None:
        self._path, self._starts = path, [0]  # of the lines that were read, and of the next one

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the lock while the block lasts; a thread that holds it may take it again."""
        with locked(self._path.with_name(f"{self._path.name}.lock")):
            drop_torn_line(self._path)
            yield

    def read_logs(self, log_number_from: int) -> Iterator[dict[str, Any]]:
        """Yield what happened, from such a number on, as far as it is whole."""
        del self._starts[log_number_from + 1 :]
        with open_file(self._path) as file:
            file.seek(self._starts[-1])
            for line in file:
                if not line.endswith(b"\n"):
                    return
                self._starts.append(self._starts[-1] + len(line))
                yield json.loads(line)

    def append_logs(self, logs: list[dict[str, Any]]) -> None:
        """Append what happened."""
        lines = "".join(json.dumps(log, separators=(",", ":")) + "\n" for log in logs)
        with self.held(), open_file(self._path, "ab") as file:
            file.write(lines.encode())
            file.flush()
            os.fsync(file.fileno())


def _journal(path: Path) -> Shared:
    if is_there(path):
        with open_file(path) as file:
            head = file.read(len(_FIRST))
        if not _FIRST.startswith(head):
            raise SettingError("other-study", "not the journal of a study", place=path)
    make_folder(path.parent)
    backend = _Journal(path)
    try:
        with backend.held():
            open_file(path, "ab").close()
            return Shared(optuna.storages.JournalStorage(backend), backend.held)
    except (ValueError, KeyError, TypeError, AssertionError) as error:
        raise RelatumError("other-study", f"the journal is damaged ({type(error).__name__}: {error})", place=path) from None


def _postgres(url: str) -> Shared:
    with optional("psycopg", extra="postgres"):
        import psycopg  # noqa: F401
    import sqlalchemy  # Optuna brings it

    try:
        engine = sqlalchemy.create_engine(url)
    except (ValueError, sqlalchemy.exc.ArgumentError):
        raise SettingError("setting-out-of-range", "must be postgresql://USER@HOST:PORT/DATABASE", place="storage") from None

    @contextmanager
    def exclusive() -> Iterator[None]:
        with engine.begin() as connection:  # the lock ends with the transaction, and this with the process
            connection.execute(sqlalchemy.text(f"SELECT pg_advisory_xact_lock({_ADVISORY})"))
            yield

    with plain_errors(), exclusive():  # two processes that make the tables at once would be in each other's way
        return Shared(optuna.storages.RDBStorage(url), exclusive)

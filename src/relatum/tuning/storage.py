"""Where a study is kept so that many processes can work on it, and which of these are alive.

A process writes its host, its number and the time into its trial, and while it trains again every minute, between two
steps. It counts as dead

- at once for processes on the same host, where its number is no longer that of any process;
- everywhere after a quarter of an hour without a sign of life, so clocks of machines must agree to some minutes.
"""

from __future__ import annotations

import os
import platform
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock

from relatum.errors import RelatumError, SettingError
from relatum.extras import optional
from relatum.files import drop_torn_line

with optional("optuna", extra="tune"):
    import optuna
    from optuna.storages import journal

__all__ = ["BEAT", "Shared", "is_dead", "open_storage", "plain_errors", "sign_of_life"]

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
        raise SettingError(f"storage: must be the path of a journal file or a postgresql:// URL, not {scheme}://...")
    return _postgres(f"postgresql+psycopg://{rest}")


@contextmanager
def plain_errors() -> Iterator[None]:
    """Turn what goes wrong in a storage into one line, without the URL, which may hold a password."""
    try:
        yield
    except optuna.exceptions.StorageInternalError as error:
        raise RelatumError(f"the storage of the study failed: {error.__cause__ or error}") from None
    except Exception as error:
        if type(error).__module__.startswith("sqlalchemy."):
            raise RelatumError(f"the storage of the study failed: {getattr(error, 'orig', None) or error}") from None
        raise


class _Lock(journal.JournalFileOpenLock):
    """The lock of a journal file.

    Optuna's own lock outlives a killed process, and half a minute passes before others break it; this one dies with it.
    Whoever takes it first drops a line that a killed process has left half written, since the next would be added to it.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(str(path))
        self._path = path
        self._lock = FileLock(f"{path}.lock")

    def acquire(self) -> bool:
        """Return True once the lock is held; a process that holds it may take it again."""
        self._lock.acquire()
        drop_torn_line(self._path)
        return True

    def release(self) -> None:
        """Give the lock back."""
        self._lock.release()

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the lock while the block lasts."""
        self.acquire()
        try:
            yield
        finally:
            self.release()


def _journal(path: Path) -> Shared:
    if path.exists():
        with path.open("rb") as file:
            head = file.read(len(_FIRST))
        if not _FIRST.startswith(head):
            raise SettingError(f"{path}: not the journal of a study")
    path.parent.mkdir(parents=True, exist_ok=True)
    lock = _Lock(path)
    try:
        with lock.held():
            backend = journal.JournalFileBackend(str(path), lock_obj=lock)
            return Shared(optuna.storages.JournalStorage(backend), lock.held)
    except (ValueError, KeyError, TypeError, AssertionError) as error:
        raise RelatumError(f"{path}: the journal is damaged ({type(error).__name__}: {error})") from None


def _postgres(url: str) -> Shared:
    with optional("psycopg", extra="postgres"):
        import psycopg  # noqa: F401
    import sqlalchemy  # Optuna brings it

    try:
        engine = sqlalchemy.create_engine(url)
    except (ValueError, sqlalchemy.exc.ArgumentError):
        raise SettingError("storage: must be postgresql://USER@HOST:PORT/DATABASE") from None

    @contextmanager
    def exclusive() -> Iterator[None]:
        with engine.begin() as connection:  # the lock ends with the transaction, and this with the process
            connection.execute(sqlalchemy.text(f"SELECT pg_advisory_xact_lock({_ADVISORY})"))
            yield

    with plain_errors(), exclusive():  # two processes that make the tables at once would be in each other's way
        return Shared(optuna.storages.RDBStorage(url), exclusive)


BEAT = 60.0  # seconds between signs of life
_PATIENCE = 900.0  # seconds without one


def sign_of_life() -> dict[str, Any]:
    """Return what a process writes into its trial."""
    return {"host": _host(), "process": os.getpid(), "time": time.time()}


def is_dead(sign: Mapping[str, Any] | None) -> bool:
    """Return whether the process that wrote this is gone; without any sign it was killed before it could write one."""
    if sign is None or time.time() - sign["time"] > _PATIENCE:
        return True
    return bool(sign["host"] == _host()) and not _exists(sign["process"])


def _host() -> str:
    """Return the name of this host; containers on it that number their processes anew are hosts of their own."""
    try:
        numbering = str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        numbering = ""
    return f"{platform.node()} {numbering}".strip()


def _exists(process: int) -> bool:
    if sys.platform == "win32":
        return True  # asking by signal would end it there: only time tells
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True

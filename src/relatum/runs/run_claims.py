"""Claims on work that several processes share: one process at a time has a piece of it, and a dead one has none.

A claim is a lock that its process holds, free at once when the process dies, and beside it a file that says who that is,
since when, and every minute that it is alive. A process on the same host whose lock is free is dead. One on another host
must also have been silent for a quarter of an hour, because there are file systems whose locks bind the processes of one
host alone. If it shows life while its lock is free, the locks are of that kind, and workers cannot share the directory.
"""

from __future__ import annotations

import errno
import json
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast

from filelock import FileLock, SoftFileLock, Timeout

from relatum.errors import RelatumError
from relatum.files import parse_json, read_whole, stale_temporaries, write_bytes
from relatum.formatting import duration
from relatum.heartbeat import BEAT, PATIENCE, is_dead, sign_of_life

__all__ = ["CLAIMS", "Claim", "Claims", "Holder"]

CLAIMS = ".claims"  # the folder of claims, beside the runs
_SOON = 2.0  # seconds to the first look at whether a claim is still this process's, or to a second one at who has it
_BEATS = 3  # signs of life beside a free lock that show it to be worthless; fewer may be what a cache held back
_NO_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP}


@dataclass(frozen=True)
class Holder:
    """The process that has a claim: its host and number, since when, and when it last showed that it is alive."""

    host: str
    process: int
    since: float
    time: float

    @property
    def silence(self) -> float:
        """The seconds since it last showed that it is alive."""
        return time.time() - self.time

    def is_dead(self, *, released: bool = False) -> bool:
        """Return whether the process is gone; `released` if its lock was found free."""
        return is_dead(asdict(self), released=released)

    @property
    def name(self) -> str:
        """The host as people call it, without what tells apart the containers on it."""
        return self.host.partition(" ")[0]

    def __str__(self) -> str:
        began = time.strftime("%Y-%m-%d %H:%M", time.localtime(self.since))
        return f"{self.name}:{self.process}, since {began}"

    def to_json(self) -> dict[str, Any]:
        """Return who it is and since when, in seconds since 1970."""
        return {"host": self.name, "process": self.process, "since": self.since}


class Claims:
    """The claims in a folder that processes share."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._beside_free_locks: dict[str, Holder] = {}  # by key, as first seen

    @contextmanager
    def claimed(self, key: str) -> Iterator[Claim | None]:
        """Yield the claim on a piece of work for as long as the block lasts, or None where another process has it."""
        self._folder.mkdir(parents=True, exist_ok=True)
        lock = FileLock(self._lock_path(key))
        if not self._acquire(lock):
            yield None
            return
        try:
            holder = self.holder(key)
            if holder is not None and not holder.is_dead(released=True):
                self._require_shared_locks(key, holder)
                lock.release()
                yield None
                return
            for path in stale_temporaries(self._folder):
                if path.name.startswith(f".{key}.json."):
                    path.unlink()
            with Claim(self._sign_path(key)) as claim:
                yield claim
        finally:
            lock.release()

    def holder(self, key: str) -> Holder | None:
        """Return who has, or had when it was killed, a claim; None if that is not known."""
        return _read(self._sign_path(key))

    def clear(self, key: str) -> None:
        """Take away the claim on what is done, if the process that had it was killed before it could do so itself."""
        if self._sign_path(key).exists():
            with self.claimed(key):
                pass  # who takes a claim gives it back

    def describe(self, key: str) -> str:
        """Return who has a claim, as people read it, and what to do where that is a machine which was switched off."""
        holder = self.holder(key)
        if holder is not None and holder.silence > PATIENCE:
            time.sleep(_SOON)  # it may be that another has just taken the lock, and is about to write who it is
            holder = self.holder(key)
        if holder is None:
            return "another process"
        if holder.silence <= PATIENCE:
            return str(holder)
        off = f"if that machine is off, delete {self._lock_path(key)}"
        return f"{holder}, silent for {duration(holder.silence)}, but it holds its lock; {off}"

    def _sign_path(self, key: str) -> Path:
        return self._folder / f"{key}.json"

    def _lock_path(self, key: str) -> Path:
        return self._folder / f"{key}.lock"

    def _acquire(self, lock: FileLock) -> bool:
        try:
            with warnings.catch_warnings(action="ignore"):  # of a soft lock, which a killed process would never give back
                lock.acquire(timeout=0)
        except Timeout:
            return False
        except NotImplementedError:
            raise self._no_locks() from None
        except OSError as error:
            if error.errno in _NO_LOCKS:
                raise self._no_locks() from None
            raise
        if isinstance(cast("object", lock), SoftFileLock):  # what filelock makes of it where there are no others
            lock.release()
            raise self._no_locks()
        return True

    def _no_locks(self) -> RelatumError:
        why = "its file system has no locks, by which workers share a list"
        return RelatumError(f"{self._folder.parent}: {why}; mount it with locks, or choose another --out")

    def _require_shared_locks(self, key: str, holder: Holder) -> None:
        """Refuse a file system on which the process of another host shows life while its lock is free here."""
        before = self._beside_free_locks.setdefault(key, holder)
        if (before.host, before.process, before.since) != (holder.host, holder.process, holder.since):
            self._beside_free_locks[key] = holder
        elif holder.time - before.time > _BEATS * BEAT:
            why = f"its locks do not reach other hosts ({holder} is at work, but its lock is free here)"
            raise RelatumError(f"{self._folder.parent}: {why}; mount it with locks, or choose another --out")


class Claim:
    """What this process alone works on; a thread shows every minute that it is alive."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._since = self._shown = time.time()
        self._lost = False
        self._ended = threading.Event()
        self._beating = threading.Lock()
        self._thread = threading.Thread(target=self._beat_on, daemon=True)

    def __enter__(self) -> Claim:
        self._show()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()
        self._look()
        if not self._lost:
            self._path.unlink(missing_ok=True)

    def check(self, *_: object) -> None:
        """Refuse to go on with what another process has taken over, since this one was silent for too long."""
        if time.time() - self._shown > 2 * BEAT:  # it was stopped, or its machine slept: look at once
            self._beat()
        if self._lost:
            raise RelatumError(f"{self._path}: another process has taken this over; this one showed no life for too long")

    def _beat_on(self) -> None:
        pause = _SOON
        while not self._ended.wait(pause):
            self._beat()
            pause = BEAT

    def _beat(self) -> None:
        """Show that this process is alive, unless another has taken over; if the disk fails, try again later."""
        with self._beating, suppress(OSError, RelatumError):
            self._look()
            if not self._lost:
                self._show()

    def _look(self) -> None:
        """See whether the claim is still this process's."""
        own = sign_of_life()
        found = _read(self._path)
        if found is None or (found.host, found.process, found.since) != (own["host"], own["process"], self._since):
            self._lost = True

    def _show(self) -> None:
        sign = {**sign_of_life(), "since": self._since}
        write_bytes(self._path, (json.dumps(sign) + "\n").encode())
        self._shown = sign["time"]


def _read(path: Path) -> Holder | None:
    """Return what a process has written of itself; None if there is nothing, or something else."""
    try:
        found: dict[str, Any] = parse_json(read_whole(path))
        return Holder(str(found["host"]), int(found["process"]), float(found["since"]), float(found["time"]))
    except (FileNotFoundError, ValueError, TypeError, LookupError, OverflowError):
        return None

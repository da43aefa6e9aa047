"""A lock that another thread holds, which keeps this one off as another process would."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from relatum.file_locks import locked


@contextmanager
def locked_elsewhere(path: Path) -> Iterator[None]:
    """Have another thread hold the lock of a file while the block lasts."""
    with ThreadPoolExecutor(1) as other:
        lock = other.submit(locked, path).result()
        other.submit(lock.__enter__).result()
        try:
            yield
        finally:
            lock.__exit__(None, None, None)

"""A disk that is full, as far as this process can tell."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

LIMITED = pytest.mark.skipif(sys.platform == "win32", reason="no limits on the size of files on Windows")


@contextmanager
def files_up_to(size: int) -> Iterator[None]:
    """Let no file be written beyond so many bytes: what goes further fails half way, as on a full disk."""
    import resource

    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)

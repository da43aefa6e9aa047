"""What errors mean that say that the machine has run short of something."""

from __future__ import annotations

__all__ = ["shortage"]

_NO_MEMORY = ("can't allocate memory", "cannot allocate memory", "bad_alloc", "failed to map segment")
_NO_THREADS = ("can't start new thread", "resource temporarily unavailable")


def shortage(error: BaseException) -> str | None:
    """Return a sentence for an error that says that memory or threads have run out; None for any other."""
    message = str(error).lower()
    if isinstance(error, MemoryError) or any(text in message for text in _NO_MEMORY):
        return "not enough memory; give the program more, or it less to do: a smaller dim, batch_size or data"
    if any(text in message for text in _NO_THREADS):
        return "no more threads can be started; raise the limit of processes, or set RELATUM_THREADS=1"
    return None

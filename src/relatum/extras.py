"""Libraries that are extras: where one is missing, one line says how to install it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module

from relatum.errors import RelatumError


@contextmanager
def optional(library: str, *, extra: str) -> Iterator[None]:
    """Return a context to import a library of an extra in; where it is missing, the error says what to install."""
    try:
        yield
    except ImportError as error:
        # A library that is there but lacks something of its own is broken, which installing the extra would not mend.
        if (error.name or "").partition(".")[0] != library:
            raise
        raise RelatumError(
            "missing-extra", f"{library} is not installed", remedy=f"install it with: pip install 'relatum[{extra}]'"
        ) from None


def require(library: str, *, extra: str) -> None:
    """Refuse what needs a library of an extra that is missing, before any work is done for it."""
    with optional(library, extra=extra):
        import_module(library)

"""Standard streams that whoever started the program has closed, or that cannot take every character."""

from __future__ import annotations

import io
import os
import sys
from contextlib import suppress
from typing import TextIO


def prepare_streams() -> None:
    """Have what is written to a closed stream go nowhere, and what a stream cannot encode be escaped.

    If it stayed closed, the next file that is opened would take its number, and what a library prints would end up in that
    file.
    """
    for name, number in (("stdin", 0), ("stdout", 1), ("stderr", 2)):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free: this one
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, "r" if number == 0 else "w", encoding="utf-8", closefd=False))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def write_out() -> None:
    """Have all that was printed reach standard output; an `OSError` says that it cannot, and what is left is dropped.

    Otherwise Python would try once more as it ends, and say so in its own way.
    """
    try:
        sys.stdout.flush()
    except OSError:
        _drop(sys.stdout)
        raise


def tell(line: str) -> None:
    """Print a line on standard error, if it can take one."""
    try:
        sys.stderr.write(f"{line}\n")
        sys.stderr.flush()
    except OSError:
        _drop(sys.stderr)


def _drop(stream: TextIO) -> None:
    """Have what is still to be written to a stream go nowhere."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)

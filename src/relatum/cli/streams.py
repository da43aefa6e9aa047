"""Standard streams that whoever started the program has closed."""

from __future__ import annotations

import os
import sys

__all__ = ["open_closed_streams"]


def open_closed_streams() -> None:
    """Have what is written to a closed stream go nowhere.

    Otherwise the next file that is opened would take its number, and what a library prints would end up in that file.
    """
    for name, number in (("stdin", 0), ("stdout", 1), ("stderr", 2)):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free: this one
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, "r" if number == 0 else "w", encoding="utf-8", closefd=False))  # noqa: SIM115

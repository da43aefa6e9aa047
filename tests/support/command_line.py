"""The type of the `run` fixture, which runs `relatum ARGUMENTS`."""

from __future__ import annotations

from collections.abc import Callable

Relatum = Callable[..., tuple[int, str, str]]
"""Called with the arguments of a command, it returns the exit code, standard output and standard error."""

"""Ctrl-C is heard wherever it falls."""

from __future__ import annotations

import ctypes
import signal
import sys
import time

import pytest

from relatum.cli.streams import interrupts_kept


def test_ctrl_c_within_a_callback_from_c_is_heard_a_moment_later() -> None:
    callback = ctypes.CFUNCTYPE(None)(lambda: signal.raise_signal(signal.SIGINT))
    with pytest.raises(KeyboardInterrupt), interrupts_kept():
        callback()
        time.sleep(30)


def test_ctrl_c_within_a_destructor_is_heard_a_moment_later() -> None:
    class Dropped:
        def __del__(self) -> None:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt), interrupts_kept():
        Dropped()
        time.sleep(30)


def test_other_dropped_errors_are_told_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda dropped: told.append(str(dropped.exc_value)))
    hook = sys.unraisablehook

    def fail() -> None:
        raise ValueError("dropped")

    with interrupts_kept():
        ctypes.CFUNCTYPE(None)(fail)()
    assert told == ["dropped"]
    assert sys.unraisablehook is hook

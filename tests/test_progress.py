"""Progress is shown for long work only, and never in the way of output."""

from __future__ import annotations

import re
import sys

import pytest

from relatum import progress as module
from relatum.progress import announce, progress


def test_quick_work_shows_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with progress("reading", 10) as advance:
        advance(10)
    assert capsys.readouterr() == ("", "")


def test_without_a_terminal_there_are_plain_lines(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_LINE_EVERY", 0.0)
    with progress("reading", 4) as advance:
        advance(1)
        advance(3)
        advance(1)  # more than was promised is still 100 %
    out, lines = capsys.readouterr()
    assert out == ""
    assert re.sub(r"\d+\.\d s", "TIME", lines).splitlines() == [
        "reading: 25 %, ? left",  # how fast it is can be told from the second line on
        "reading: 100 %, TIME left",
        "reading: 100 %, TIME left",
    ]


def test_in_a_terminal_a_bar_appears_and_is_wiped(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_PATIENCE", 0.0)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    with progress("reading", 4) as advance:
        advance(1)
        advance(3)
    out, shown = capsys.readouterr()
    assert out == ""
    assert shown.endswith("\x1b[2K")  # the line is wiped
    assert "reading" in shown
    assert "\x1b[?25h" in shown  # the cursor is given back


def test_an_announcement_is_one_line_once_in_a_process(capsys: pytest.CaptureFixture[str]) -> None:
    announce("tests: something that takes a while ...")
    announce("tests: something that takes a while ...")
    assert capsys.readouterr() == ("", "tests: something that takes a while ...\n")

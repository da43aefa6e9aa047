"""A report in a real browser: nothing in its console, nothing wider than a narrow screen, and whole pages of paper."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from relatum import Spec, fit
from relatum.report import write_report

Browse = Callable[..., list[str]]


@pytest.fixture
def browse(tmp_path: Path) -> Browse:
    """Return a function that opens a page without a network and returns what its console said."""
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if browser is None:
        pytest.skip("needs a browser: chromium is not installed")

    def open_page(page: Path, *options: str) -> list[str]:
        fixed = ["--headless=new", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--v=0"]
        fixed += ["--host-resolver-rules=MAP * ~NOTFOUND", f"--user-data-dir={tmp_path / 'profile'}"]
        command = [browser, *fixed, *options, page.as_uri()]
        done = subprocess.run(command, capture_output=True, timeout=120, check=True, env={**os.environ, "LC_ALL": "C.UTF-8"})
        return re.findall(r":CONSOLE[:(]\d+\)?\] (.*)", done.stderr.decode(errors="replace"))

    return open_page


def test_a_report_opens_offline_without_a_word_in_the_console_and_prints(browse: Browse, tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    facts = [
        (f"<b>{kind}</b>", f"<script>{place}</script>", "long" * 99, f"c{place % 7}") for kind in "ab" for place in range(30)
    ]
    for part, chosen in (("train", facts), ("valid", facts[::4]), ("test", facts[::3])):
        (data / f"{part}.txt").write_text("".join("\t".join(fact) + "\n" for fact in chosen))
    spec = Spec.from_dict({"data": str(data), "model": {"dim": 10}, "training": {"epochs": 4, "validate_every": 2}})
    report = tmp_path / "report.html"
    write_report(fit(spec, tmp_path / "run"), report)
    picture, paper = tmp_path / "report.png", tmp_path / "report.pdf"
    assert browse(report, f"--screenshot={picture}", "--window-size=1000,3000") == []
    assert browse(report, f"--print-to-pdf={paper}", "--no-pdf-header-footer") == []
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert paper.read_bytes().startswith(b"%PDF")

    # A copy that may run a script tells how wide it is in a frame as narrow as a phone. It is heard, so silence is telling.
    measuring = "<script>console.log(`wide ${document.documentElement.scrollWidth} of ${innerWidth}`)</script></body>"
    copy = re.sub(r"<meta http-equiv[^>]*>", "", report.read_text(encoding="utf-8")).replace("</body>", measuring)
    (tmp_path / "copy.html").write_text(copy, encoding="utf-8")
    frame = tmp_path / "frame.html"
    frame.write_text('<!DOCTYPE html><title>frame</title><iframe src="copy.html" width="400" height="3000"></iframe>')
    (line,) = browse(frame, "--dump-dom")
    wide, width = map(int, re.findall(r"\d+", line)[:2])
    assert wide <= width <= 400

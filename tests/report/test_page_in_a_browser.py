"""A report in a real browser: a silent console, whole words on a narrow screen, by day and by night, and pages of paper."""

from __future__ import annotations

import json
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

    # A copy that may run a script tells what it looks like in a frame as narrow as a phone; what it says is heard.
    copy = re.sub(r"<meta http-equiv[^>]*>", "", report.read_text(encoding="utf-8")).replace(
        "</body>", f"{MEASURING}</body>"
    )
    (tmp_path / "copy.html").write_text(copy, encoding="utf-8")
    frame = tmp_path / "frame.html"
    frame.write_text('<!DOCTYPE html><title>frame</title><iframe src="copy.html" width="390" height="3000"></iframe>')
    light, dark = (
        json.loads(re.findall(r"\{.*\}", line)[0].replace('\\"', '"'))
        for scheme in (1, 0)
        for line in browse(frame, "--dump-dom", f"--blink-settings=preferredColorScheme={scheme}")
    )
    for seen in (light, dark):
        assert seen["wide"] <= seen["width"] == 390
        assert seen["broken"] == []
        assert seen["words"] > 300
        assert seen["cut"] == []
    assert (brightness(light["paper"]) > 200, brightness(light["ink"]) < 60) == (True, True)
    assert (brightness(dark["paper"]) < 60, brightness(dark["ink"]) > 200) == (True, True)


def brightness(color: str) -> float:
    """Return the mean of red, green and blue of a colour such as `rgb(1, 2, 3)`."""
    return sum(map(int, re.findall(r"\d+", color)[:3])) / 3


# Words that are not too long for any line stand in one, and what is wider than its place can be scrolled to.
MEASURING = """<script>
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
const broken = [], cut = [];
let words = 0;
while (walker.nextNode()) {
  const node = walker.currentNode;
  if (node.parentElement.closest("svg, script")) continue;
  for (const found of node.data.matchAll(/\\S{1,24}(?=\\s|$)/g)) {
    if (found.index && !/\\s/.test(node.data[found.index - 1])) continue;
    const range = document.createRange();
    range.setStart(node, found.index);
    range.setEnd(node, found.index + found[0].length);
    words += 1;
    if (new Set([...range.getClientRects()].filter(one => one.width).map(one => one.top)).size > 1) broken.push(found[0]);
  }
}
for (const one of document.querySelectorAll("td, th, caption, p, .table, .wide")) {
  const style = getComputedStyle(one);
  if (one.closest("thead")) continue;
  if (one.scrollWidth > one.clientWidth + 1 && style.overflowX === "hidden") cut.push(one.textContent);
}
const body = getComputedStyle(document.body);
const wide = document.documentElement.scrollWidth;
console.log(JSON.stringify({wide, width: innerWidth, words, broken, cut, paper: body.backgroundColor, ink: body.color}));
</script>"""

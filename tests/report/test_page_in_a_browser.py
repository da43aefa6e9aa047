"""A report in a real browser: a silent console, whole words on a narrow screen, by day and by night, and pages of paper."""

from __future__ import annotations

from pathlib import Path

from relatum import Spec, fit
from relatum.report import write_report
from support.browser import Visit, started_browser


def test_a_report_opens_offline_without_a_word_in_the_console_and_prints(tmp_path: Path) -> None:
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
    with started_browser() as browser:
        visit = Visit(browser, report.as_uri(), viewport={"width": 390, "height": 3000})
        visit.page.goto(report.as_uri())
        for scheme in ("light", "dark"):
            visit.page.emulate_media(color_scheme=scheme)
            seen = visit.page.evaluate(MEASURING)
            assert seen["wide"] <= 390
            assert seen["broken"] == []
            assert seen["words"] > 300
            assert seen["cut"] == []
        assert visit.page.pdf().startswith(b"%PDF")
        assert (visit.console, visit.foreign) == ([], [])


# Words that are neither too long for any line nor have a hyphen stand in one, and what is wider than its place can be
# scrolled to.
MEASURING = """() => {
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const broken = [], cut = [];
  let words = 0;
  while (walker.nextNode()) {
    const node = walker.currentNode;
    if (node.parentElement.closest("svg, script")) continue;
    for (const found of node.data.matchAll(/[^\\s-]{1,24}(?=[\\s-]|$)/g)) {
      if (found.index && !/[\\s-]/.test(node.data[found.index - 1])) continue;
      const range = document.createRange();
      range.setStart(node, found.index);
      range.setEnd(node, found.index + found[0].length);
      words += 1;
      if (new Set([...range.getClientRects()].filter(one => one.width).map(one => one.top)).size > 1) broken.push(found[0]);
    }
  }
  for (const one of document.querySelectorAll("td, th, caption, p, .table")) {
    const style = getComputedStyle(one);
    if (one.closest("thead")) continue;
    if (one.scrollWidth > one.clientWidth + 1 && style.overflowX === "hidden") cut.push(one.textContent);
  }
  return {wide: document.documentElement.scrollWidth, words, broken, cut};
}"""

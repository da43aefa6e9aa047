"""A report in a real browser: a silent console, no wider than a narrow screen, by day and by night, and pages of paper."""

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
            assert visit.page.evaluate("document.documentElement.scrollWidth") <= 390
        assert visit.page.pdf().startswith(b"%PDF")
        assert (visit.console, visit.foreign) == ([], [])

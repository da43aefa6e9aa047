"""The explorer in a real browser: every page at three widths, by day and night, by keyboard alone, and without a script."""

from __future__ import annotations

import itertools
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, expect

import relatum
from support.browser import Visit, served, started_browser

HOSTILE = ["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "\u202eevil", "a/b?c#d", "x.json", "'; DROP TABLE"]
PEOPLE = [f"person {number}" for number in range(14)] + HOSTILE
PATHS = [
    "/",
    "/shop",
    "/shop/ask?q=" + quote('sold("person 3", ?, ?)'),
    "/shop/ask?q=SELECT%20buyer%20FROM%20sold%20WHERE%20seller%20%3D%20%27person%203%27",
    "/shop/ask?q=pers",
    "/shop/explain?fact=" + quote('sold("person 3", "person 4", lamp)'),
    "/shop/entity/" + quote("person 3"),
    "/shop/entity?name=" + quote("a/b?c#d"),
    "/shop/relation/sold",
    "/shop/facts?relation=sold",
    "/shop/missing",
    "/shop/missing/sold",
    "/shop/decisions",
    "/shop/rules",
    "/shop/quality",
    "/shop/training",
]


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a trained run in which everyone sells to the next two, some of whom have names that attack a page."""
    folder = tmp_path_factory.mktemp("shop")
    data = folder / "data"
    data.mkdir()
    facts = [
        ("sold", seller, PEOPLE[(at + step) % len(PEOPLE)], item)
        for at, seller in enumerate(PEOPLE)
        for step, item in ((1, "lamp"), (2, "book"))
    ]
    facts += [("bought", buyer, seller, item) for _, seller, buyer, item in facts]
    (data / "roles.txt").write_text("sold\tseller\tbuyer\titem\nbought\tbuyer\tseller\titem\n")
    for part, chosen in (("train", facts), ("valid", facts[::9]), ("test", facts[4::9])):
        kept = [one for one in chosen if part != "train" or one not in facts[::9] + facts[4::9]]
        (data / f"{part}.txt").write_text("".join("\t".join(one) + "\n" for one in kept), encoding="utf-8")
    relatum.fit(data, folder / "shop", dim=10, epochs=6, validate_every=2, progress=False)
    return folder / "shop"


@pytest.fixture(scope="module")
def server(shop: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    decisions = tmp_path_factory.mktemp("decisions") / "decisions.sqlite"
    with served(shop, "--decisions", decisions, "--seconds", "60") as address:
        yield address


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with started_browser() as found:
        yield found


@pytest.fixture
def visit(browser: Browser, server: str) -> Iterator[Visit]:
    found = Visit(browser, server, viewport={"width": 1280, "height": 900})
    yield found
    found.close()
    assert found.foreign == []


def test_every_page_at_every_width_by_day_and_by_night(visit: Visit) -> None:
    for path in PATHS:
        assert visit.open(path) == 200, path
        assert visit.page.locator("h1").is_visible(), path
        for width, scheme in itertools.product((400, 800, 1280), ("light", "dark")):
            visit.page.set_viewport_size({"width": width, "height": 900})
            visit.page.emulate_media(color_scheme=scheme, reduced_motion="reduce")  # colours change at once
            seen = visit.page.evaluate(LOOK)
            assert seen["wide"] <= width, path
            assert (seen["paper"] > 128) == (scheme == "light"), path
            assert seen["drawn"] in ([], [width > 704, width <= 704]), path
        assert visit.console == [], path


def test_every_link_leads_somewhere_and_names_that_attack_are_text(visit: Visit) -> None:
    seen = set[str]()
    for path in (f"/shop/entity/{quote('person 3')}", "/shop/relation/sold", "/shop/missing/sold"):
        visit.open(path)
        seen |= set(
            visit.page.evaluate("[...document.querySelectorAll('a[href]')].map((one) => one.href.baseVal ?? one.href)")
        )
    here = {one.partition("#")[0] for one in (one.removeprefix(visit.server) for one in seen)} - {""}
    assert len(here) > 40
    for name in HOSTILE:
        visit.open(f"/shop/find?text={quote(name)}")
        visit.page.locator("tbody th a").first.click()
        visit.wait()
        assert visit.page.locator("h1").inner_text() == name.replace("\u202e", "\ufffd")
    assert visit.console == []
    failed = {one: status for one in sorted(here) if (status := visit.context.request.get(visit.server + one).status) != 200}
    assert failed == {}


def test_a_question_is_asked_by_keyboard_with_names_completed(visit: Visit) -> None:
    visit.open("/shop")
    page, keys = visit.page, visit.page.keyboard
    box, options = page.locator("#question"), page.locator("#suggestions li")
    keys.press("/")
    keys.type("so")
    options.first.wait_for()
    assert box.get_attribute("aria-expanded") == "true"
    keys.press("ArrowDown")
    chosen = page.locator("#suggestions li[aria-selected=true]")
    assert box.get_attribute("aria-activedescendant") == chosen.get_attribute("id")
    assert chosen.locator(".name").inner_text().startswith("sold")
    keys.press("Escape")
    assert page.locator("#suggestions").is_hidden()
    assert box.input_value() == "so"
    keys.press("ArrowDown")
    options.first.wait_for()
    keys.press("Tab")
    assert box.input_value().startswith("sold")
    keys.press("Escape")
    box.fill("sold(")
    keys.press("End")
    keys.type("person 3")
    page.locator("#suggestions li", has_text="person 3").first.wait_for()
    keys.press("ArrowDown")
    keys.press("Enter")
    assert box.input_value() == 'sold("person 3"'
    keys.type(", ?, ?)")
    keys.press("Enter")
    page.wait_for_url("**/shop/ask?*")
    assert page.locator("h1").inner_text() == 'sold("person 3", ?, ?)'
    assert page.locator("#predicted-heading").is_visible()
    assert visit.console == []


def test_the_first_key_skips_to_the_content_and_every_link_shows_that_it_is_chosen(visit: Visit) -> None:
    visit.open("/shop/missing")
    keys = visit.page.keyboard
    keys.press("Tab")
    assert visit.page.evaluate("document.activeElement.className") == "skip"
    keys.press("Enter")
    assert visit.page.evaluate("document.activeElement.id") == "content"
    keys.press("Tab")
    assert visit.page.evaluate("document.activeElement.closest('main') !== null")
    assert visit.page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"


def test_the_theme_is_switched_and_stays(visit: Visit) -> None:
    visit.open("/shop")
    light = visit.page.evaluate(LOOK)["paper"]
    button = visit.page.locator("button.theme")
    button.focus()
    visit.page.keyboard.press("Enter")
    visit.open("/shop/rules")
    assert visit.page.evaluate(LOOK)["paper"] < 64 < 192 < light
    visit.page.locator("button.theme").click()
    assert visit.page.evaluate(LOOK)["paper"] == light


def test_what_is_missing_is_gone_through_by_keyboard(visit: Visit) -> None:
    visit.open("/shop/missing/sold")
    page, keys = visit.page, visit.page.keyboard
    rows = page.locator("[data-review]")
    keys.press("j")
    keys.press("j")
    keys.press("k")
    assert "current" in (rows.nth(0).get_attribute("class") or "")
    keys.press("a")
    rows.nth(0).locator(".mark", has_text="accepted").wait_for()
    page.locator("[data-review].current button.reject").wait_for()
    keys.press("r")
    rows.nth(1).locator(".mark", has_text="rejected").wait_for()
    accepted = "\t".join(page.evaluate(ENTITIES))
    assert visit.context.request.get(f"{visit.server}/shop/decisions.tsv").text() == f"sold\t{accepted}\n"
    keys.press("k")
    keys.press("k")
    keys.press("u")
    rows.nth(0).locator("button", has_text="Accept").wait_for()
    assert visit.context.request.get(f"{visit.server}/shop/decisions.tsv").text() == ""
    assert page.locator("#announcement").inner_text().startswith("Undo")
    visit.open("/shop/decisions")
    assert rows.count() == 1
    keys.press("j")
    keys.press("u")
    rows.first.wait_for(state="detached")
    assert visit.console == []


def test_without_a_script_pages_lead_to_their_parts_and_decisions_are_forms(browser: Browser, server: str) -> None:
    visit = Visit(browser, server, java_script_enabled=False, viewport={"width": 800, "height": 900})
    page = visit.page
    page.goto(f"{server}/shop")
    page.fill("#question", 'sold("person 3", ?, ?)')
    page.click("form.ask button")
    assert page.locator("h1").inner_text() == 'sold("person 3", ?, ?)'
    page.goto(f"{server}/shop/entity/{quote('person 3')}")
    page.click("#neighbourhood .waiting a")
    assert page.locator("svg.neighbourhood.wide").is_visible()
    page.goto(f"{server}/shop/missing/sold")
    page.locator("button.accept").first.click()
    assert page.url == f"{server}/shop/missing/sold"
    standing = page.locator("button", has_text="Undo").count()
    page.locator("button", has_text="Undo").first.click()
    assert page.locator("button", has_text="Undo").count() == standing - 1
    visit.close()


def test_curves_grow_while_a_run_is_trained(browser: Browser, shop: Path, tmp_path: Path) -> None:
    young = tmp_path / "young"
    shutil.copytree(shop, young)
    (young / "config.json").unlink()
    (young / "model.safetensors").unlink()
    journal = young / "journal.jsonl"
    lines = journal.read_text().splitlines(keepends=True)
    early = [line for line in lines if json.loads(line).get("epoch", 0) <= 2 and json.loads(line)["event"] != "end"]
    journal.write_text("".join(early))
    with served(young) as server:
        visit = Visit(browser, server)
        assert visit.open("/young/training") == 200
        assert visit.page.locator(".mark", has_text="in training").is_visible()
        assert visit.page.locator("#curves dd").first.inner_text() == "2"
        first = visit.page.locator("#curves polyline").first.get_attribute("points") or ""
        journal.write_text("".join(line for line in lines if json.loads(line)["event"] != "end"))
        expect(visit.page.locator("#curves dd").first).to_have_text("6", timeout=30_000)
        last = visit.page.locator("#curves polyline").first.get_attribute("points") or ""
        assert last != first
        assert visit.console == []
        visit.close()


ENTITIES = (
    """[...document.querySelector("[data-review]").querySelectorAll("[data-label]")].map((one) => one.textContent.trim())"""
)

# How wide the page is, which drawings are shown, and how bright its ground is.
LOOK = """() => {
  const paper = getComputedStyle(document.body).backgroundColor.match(/[\\d.]+/g).map(Number);
  const drawings = ["wide", "narrow"].map((kind) => document.querySelector(`svg.neighbourhood.${kind}`));
  const drawn = drawings.filter((one) => one).map((one) => one.checkVisibility());
  return {wide: document.documentElement.scrollWidth, drawn, paper: (paper[0] + paper[1] + paper[2]) / 3};
}"""

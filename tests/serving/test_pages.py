"""Pages: well-formed, with nothing inline, no other host, names as text, and a label or a table for what is drawn."""

from __future__ import annotations

import re
from functools import cache

import pytest

from relatum.serving.addresses import PageContext
from relatum.serving.errors import Refusal
from relatum.serving.pages import render, static_edition
from support.html_checks import Page
from support.sample_pages import entity, sample_pages

PAGES = sample_pages()
HOSTILE = [
    "<script>alert(1)</script>", '" onmouseover="alert(1)', "'><img src=x onerror=alert(1)>", "{{ 7 * 7 }}{% raw %}",
    "javascript:alert(1)", "\u202etxt.exe", "a\x00b\x07\x1b[31m", "../../etc/passwd", "x.json", "a/b?c#d%2F", "&lt;b&gt;",
    "]]><!--", "😀" * 50, "x" * 20_000,
]  # fmt: skip


@pytest.mark.parametrize("path", PAGES)
def test_a_page_is_well_formed_has_nothing_inline_leads_to_no_other_host_and_can_be_heard(path: str) -> None:
    page = Page(PAGES[path]())
    for tag, attributes, _ in page.elements:
        assert tag not in ("style", "iframe", "object", "embed", "base")
        assert not [name for name in attributes if name == "style" or name.startswith("on")]
        assert tag != "script" or attributes["src"].startswith("/-/static/")
        assert tag != "th" or "scope" in attributes
    ids = page.values("id")
    assert len(ids) == len(set(ids))
    assert set(page.values("aria-labelledby", "aria-controls", "for")) <= set(ids)
    addresses = page.values("href", "src", "action", "data-load")
    assert addresses
    assert [one for one in addresses if not re.match(r"/(?!/)|#", one)] == []
    assert page.all("html") == [{"lang": "en"}]
    assert len(page.all("h1")) == len(page.all("main")) == 1
    first = page.elements[[tag for tag, *_ in page.elements].index("body") + 1]
    assert first[:2] == ("a", {"class": "skip", "href": "#content"})
    for one in page.all("svg"):
        assert one.get("aria-hidden") == "true" or one.get("role") in ("img", "group")
        assert one.get("role") != "group" or one["aria-label"]
    for one in (*page.all("nav"), *page.all("section")):
        assert "aria-label" in one or "aria-labelledby" in one or one.get("class", "") in ("", "card")


@cache
def clean_tags() -> dict[str, list[str]]:
    """Return the elements of each page where all names are tame."""
    return {path: [tag for tag, *_ in Page(render()).elements if tag != "wbr"] for path, render in PAGES.items()}


@pytest.mark.parametrize("name", HOSTILE)
def test_names_are_shown_as_text(name: str) -> None:
    for path, drawn in sample_pages(lambda one: name + one).items():
        found = drawn()
        page = Page(found)
        tags = [tag for tag, *_ in page.elements if tag != "wbr"]
        clean = clean_tags()[path]
        assert set(tags) <= set(clean), path
        assert tags == clean or len(name) > 1000, path  # what is too long for an address is no link
        shown = re.sub(r'<input type="hidden"[^>]*>', "", found)
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f]", shown), path
        assert len(found) < 1_500_000, path
        handlers = [key for _, attributes, _ in page.elements for key in attributes if key.startswith("on")]
        assert handlers == [], path


def test_a_drawing_has_a_table_that_says_the_same() -> None:
    page = PAGES["shop/entity"]()
    drawing, table = page.split('<details class="twin">')
    hubs = re.findall(r'<a href="([^"]+)" aria-label="[^"]*"><title>[^<]*</title><rect', drawing)
    linked = re.findall(r'<a class="relation" href="([^"]+)"', table.split("</table>")[0])
    assert hubs
    assert set(hubs) == set(linked)


def test_what_takes_long_is_fetched_later_and_has_a_link_meanwhile() -> None:
    overview = PAGES["shop/relation"]()
    assert "data-load" not in overview
    at = PageContext("shop", ("shop",), "1.0", "/shop/quality.json")
    page = render("quality.html", at, data=None)
    assert 'data-load="/shop/quality?show=evaluation"' in page
    assert '<a href="/shop/quality?show=data#data">' in page


def test_decisions_are_offered_only_where_they_are_kept() -> None:
    reading, writing = (sample_pages(decisions=kept)["shop/missing/sold"]() for kept in (False, True))
    assert '<form class="decide"' not in reading
    assert "--decisions FILE" in reading
    forms = writing.split("<form")[2:]
    assert len(forms) == 4
    assert all('name="csrf" value="secret"' in one and 'method="post"' in one for one in forms)
    assert writing.count('value="undo"') == 2


def test_a_field_that_is_sent_back_is_not_changed() -> None:
    page = sample_pages(lambda one: 'a\x01\u202e&"' + one)["shop/missing/sold"]()
    assert 'name="entity" value="a\x01\u202e&amp;&#34;people:drew"' in page


def test_an_error_says_what_was_asked_and_what_may_have_been_meant() -> None:
    page = Page(PAGES["shop/error"]())
    assert "no entity drow" in page.text
    assert next(one for one in page.all("input") if one.get("id") == "question")["value"] == "sold(drow, ?)"
    refusal = Refusal(False, "syntax", "no", ("no",), 404)
    empty = render("error.html", PageContext("", (), "1.0"), refusal=refusal)
    assert "question" not in {one.get("id") for one in Page(empty).all("input")}


def test_a_query_of_several_lines_stands_in_the_box_in_one() -> None:
    refusal, at = Refusal(False, "syntax", "no", ("no",), 400), PageContext("r", ("r",), "1")
    page = render("error.html", at, refusal=refusal, question="SELECT a\nFROM b")
    assert 'value="SELECT a FROM b"' in page


def test_headings_call_entities_as_people_do_and_links_name_them_whole() -> None:
    page = PAGES["shop/explain"]()
    assert '<h1 class="code"><bdi>sold(drew, chair, book)</bdi></h1>' in page
    assert 'href="/shop/ask?q=sold%28people%3Adrew%2C+items%3Achair%2C+%3F%29"' in page


def test_the_edition_of_static_files_is_in_their_addresses() -> None:
    assert re.fullmatch(r"[0-9a-f]{12}", static_edition())
    assert f'href="/-/static/explorer.css?v={static_edition()}"' in PAGES[""]()


def test_the_question_box_has_what_was_asked_and_an_example() -> None:
    asked = next(one for one in Page(PAGES["shop/ask"]()).all("input") if one.get("id") == "question")
    empty = next(one for one in Page(PAGES["shop"]()).all("input") if one.get("id") == "question")
    assert asked["value"] == "sold(people:drew, ?, ?)"
    assert (empty["value"], empty["placeholder"]) == ("", "sold(drew, ?, ?)")
    assert entity("people:drew").type == "people"

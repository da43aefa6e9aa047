"""Pages: well-formed, with nothing inline, no other host, and a label or a table for what is drawn."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from relatum.serving.pages import static_edition
from relatum.serving.security import ServerSettings
from support.html_checks import Page
from support.served import Client, served

ENTITY = "/shop/entity/customers%3A7"
RELATION = "/shop/relation/customers.country"
FACT, QUESTION = "customers.country(7, France)", "customers.country(3, ?)"
SQL = "SELECT id\nFROM customers WHERE city = 'Paris'"
PATHS = [
    "/", "/shop", f"/shop/ask?q={quote(QUESTION)}", f"/shop/ask?q={quote(SQL)}", "/shop/ask?q=customer",
    "/shop/ask?q=project%5B0%5D(sales)", f"/shop/explain?fact={quote(FACT)}", ENTITY, RELATION,
    f"{ENTITY}?show=predicted&show=neighbourhood", f"{RELATION}?show=quality&show=rules&show=doubtful&show=missing",
    "/shop/facts", "/shop/facts?relation=sales", "/shop/missing", "/shop/missing/customers.country", "/shop/decisions",
    "/shop/rules", "/shop/quality", "/shop/quality?show=evaluation&show=data", "/shop/training", "/shop/find?text=parris",
    "/shop/ask?q=sales(", "/shop/entity/nobody", "/nope",
]  # fmt: skip


@pytest.fixture(scope="module")
def client(gappy_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """Return a client of a server that shows the shop and keeps a decision on it."""
    kept = tmp_path_factory.mktemp("decisions") / "decisions.db"
    with served([gappy_run], ServerSettings(decisions=kept, seconds=60.0)) as found:
        csrf = found.get("/shop/decisions.json").json["csrf"]
        best = found.get("/shop/missing/customers.country.json?limit=1").json["facts"][0]["fact"]
        body = {"relation": best["relation"], "entities": [one["name"] for one in best["entities"]], "verdict": "accept"}
        assert found.post("/shop/decisions.json", body, {"X-Relatum-Csrf": csrf}).status == 200
        yield found


def box(page: str) -> dict[str, str]:
    """Return the field for a question."""
    return next(one for one in Page(page).all("input") if one.get("id") == "question")


@pytest.mark.parametrize("path", PATHS)
def test_a_page_is_well_formed_has_nothing_inline_leads_to_no_other_host_and_can_be_heard(client: Client, path: str) -> None:
    page = Page(client.get(path).text)
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


def test_a_drawing_has_a_table_that_says_the_same(client: Client) -> None:
    drawing, table = client.get(f"{ENTITY}?show=neighbourhood").text.split('<details class="twin">')
    hubs = re.findall(r'<a href="([^"]+)" aria-label="[^"]*"><title>[^<]*</title><rect', drawing)
    linked = re.findall(r'<a class="relation" href="([^"]+)"', table.split("</table>")[0])
    assert hubs
    assert set(hubs) == set(linked)


def test_decisions_are_offered_only_where_they_are_kept(client: Client, gappy_run: Path) -> None:
    path = "/shop/missing/customers.country"
    with served([gappy_run]) as reading:
        page = reading.get(path).text
        assert '<form class="decide"' not in page
        assert "--decisions FILE" in page
    csrf = client.get("/shop/decisions.json").json["csrf"]
    forms = client.get(path).text.split('<form class="decide"')[1:]
    assert len(forms) == len(client.get(f"{path}.json").json["facts"])
    assert all(f'name="csrf" value="{csrf}"' in one and 'method="post"' in one for one in forms)
    assert sum('value="undo"' in one for one in forms) == 1


def test_an_error_says_what_was_meant_and_static_files_have_their_edition(client: Client) -> None:
    page = client.get(f"/shop/ask?q={quote('customers.citty(3, ?)')}").text
    assert "unknown relation" in Page(page).text
    assert box(page)["value"] == "customers.citty(3, ?)"
    assert "did you mean 'customers.city' or" in Page(page).text
    near = client.get("/shop/entity/customers.city:Pariss").text
    assert 'href="/shop/ask?q=customers.city%3AParis"' in near
    assert "question" not in {one.get("id") for one in Page(client.get("/nope").text).all("input")}
    assert re.fullmatch(r"[0-9a-f]{12}", static_edition())
    assert f'href="/-/static/explorer.css?v={static_edition()}"' in client.get("/").text


def test_the_question_box_has_what_was_asked_in_one_line_and_an_example(client: Client) -> None:
    assert box(client.get(f"/shop/ask?q={quote(QUESTION)}").text)["value"] == QUESTION
    assert box(client.get(f"/shop/ask?q={quote(SQL)}").text)["value"] == SQL.replace("\n", " ")
    for path in ("/shop", ENTITY, RELATION):
        empty = box(client.get(path).text)
        assert empty["value"] == ""
        assert "?" in empty["placeholder"]
        assert "customers:" not in empty["placeholder"]

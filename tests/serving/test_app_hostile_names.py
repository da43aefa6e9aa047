"""Names of entities are shown as text and come back as they were, whatever they are."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import pytest

import relatum
from relatum import Run
from relatum.algebra.lexer import as_written
from relatum.formatting import visible
from relatum.serving.addresses import PageContext, address
from relatum.serving.security import ServerSettings
from support.hostile_names import hostile_names
from support.html_checks import Page
from support.served import Client, served

RELATION = "<i>likes</i> it/../?x=.json"


TEMPLATES = [*files("relatum.serving").joinpath("templates").iterdir()]
TAGS = set(re.findall(r"<([a-z]+[1-6]?)", "".join(one.read_text(encoding="utf-8") for one in TEMPLATES)))
TAGS |= {"bdi", "wbr", "g", "title", "text", "tspan", "desc", "line", "polyline", "circle", "rect", "path"}


def require_harmless(text: str) -> Page:
    """Return a page taken apart; nothing of a name may have become an element, an attribute or an address elsewhere."""
    page = Page(text)
    assert {tag for tag, *_ in page.elements} <= TAGS - {"iframe", "base", "style", "object", "embed", "img"}
    assert not [key for _, attributes, _ in page.elements for key in attributes if key.startswith("on") or key == "style"]
    assert not [one for one in page.values("href", "src", "action") if not re.match(r"/(?!/)|#|\?", one or "/")]
    scripts = page.all("script")
    assert scripts
    assert all(one["src"].startswith("/-/static/") for one in scripts)
    shown = re.sub(r'<input type="hidden"[^>]*>', "", text)
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f]", shown)
    assert len(shown) < 1_500_000
    return page


@pytest.fixture(scope="module")
def names() -> list[str]:
    found = hostile_names()
    assert len(found) >= 200
    assert max(map(len, found)) == 1 << 20
    return found


@pytest.fixture(scope="module")
def folder(names: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a run whose entities have hostile names, and one of its relations too."""
    data, path = tmp_path_factory.mktemp("data"), tmp_path_factory.mktemp("runs") / "hostile"
    for part, step, every in (("train", 1, 1), ("valid", 2, 7)):
        lines = [f"{RELATION}\t{name}\t{names[(number + step) % len(names)]}\n" for number, name in enumerate(names)]
        (data / f"{part}.txt").write_bytes("".join(lines[::every]).encode())
    relatum.fit(data, path, dim=4, epochs=1, evidence=False, progress=False)
    return path


@pytest.fixture(scope="module")
def client(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    decisions = tmp_path_factory.mktemp("decisions") / "decisions.db"
    with served([folder], ServerSettings(decisions=decisions, seconds=60.0)) as found:
        assert found.get("/hostile.json").status == 200
        yield found


@pytest.fixture(scope="module")
def context(folder: Path) -> PageContext:
    return PageContext("hostile", ("hostile",), "1", number_of=Run.load(folder).entities.id)


def twin(where: str) -> str:
    path, mark, query = where.partition("?")
    return f"{path}.json{mark}{query}"


def test_the_page_of_an_entity_shows_its_name_and_its_twin_has_it(
    client: Client, context: PageContext, names: list[str]
) -> None:
    for name in names:
        where = context.entity(name)
        assert len(where) < 8_000
        assert re.fullmatch(r"/hostile/entity[/?][!-~]*", where)
        assert client.get(twin(where)).json["entity"]["name"] == name, name[:50]
        page = client.get(where)
        assert page.status == 200, name[:50]
        assert len(page.body) < 200_000
        seen = require_harmless(page.text)
        if len(name) < 90:
            assert " ".join(visible(name).replace("\u00a0", " ").split()) in seen.text


def test_names_survive_in_a_question_a_fact_and_a_list(client: Client, names: list[str]) -> None:
    for name in names:
        facts = client.get(address("hostile", "facts", json=True, entity=name, limit=5))
        if facts.status in (400, 414):  # too long for an address
            assert len(name) > 2_000
            assert facts.body.count(b"\n") == 0
            continue
        fact = facts.json["facts"][0]
        assert name in [one["name"] for one in fact["entities"]]
        question = fact["text"]
        scored = client.get(address("hostile", "score", json=True, fact=question))
        assert scored.status in (200, 400, 414), question[:80]
        if scored.status == 200:
            assert scored.json["fact"]["known"]
        else:
            assert len(question) > 8_000
        page = client.get(address("hostile", "explain", fact=question))
        if page.status == 200:
            require_harmless(page.text)
        else:
            assert len(question) > 8_000


def test_pages_with_all_names_are_harmless(client: Client, names: list[str]) -> None:
    csrf = client.get("/hostile/decisions.json").json["csrf"]
    body = {"relation": RELATION, "entities": names[:2], "verdict": "reject"}
    client.post("/hostile/decisions.json", body, {"X-Relatum-Csrf": csrf})
    about = address("hostile", "relation", RELATION)
    asked = f"{as_written(RELATION)}(?, {as_written(names[0])})"
    paths = [
        "/", "/hostile", "/hostile/facts?limit=500", "/hostile/missing", "/hostile/decisions", "/hostile/rules",
        "/hostile/training", "/hostile/quality?show=evaluation&show=data", f"{about}&limit=500",
        f"{about}&show=quality&show=rules&show=doubtful&show=missing", address("hostile", "ask", q=asked, k=500),
        address("hostile", "ask", q=f"project[0]({as_written(RELATION)})", k=500), address("hostile", "ask", q="a", k=5),
        *(address("hostile", "find", text=name, k=100) for name in names[::20] if len(name) < 1000),
        address("hostile", "missing", RELATION, limit=500),
    ]  # fmt: skip
    for where in paths:
        page = client.get(where)
        assert page.status == 200, where
        require_harmless(page.text)
        assert "<i>likes</i>" not in page.text
    sent = {one["value"] for one in Page(page.text).all("input") if one.get("name") == "entity"}
    assert sent
    assert sent <= {name.replace("\r", "\n") for name in names}
    for name in names[:60]:
        refused = client.get(address("hostile", "ask", q=f"{name}(?"))
        assert refused.status in (200, 400, 404), name
        require_harmless(refused.text)
    decided = client.get("/hostile/decisions.json").json["decisions"]
    for one in decided:
        client.post("/hostile/decisions/undo.json", {"id": one["id"]}, {"X-Relatum-Csrf": csrf})


def test_a_decision_on_hostile_names_comes_back_in_the_export(client: Client, names: list[str]) -> None:
    csrf = client.get("/hostile/decisions.json").json["csrf"]
    wanted = []
    for name in [one for one in names if len(one) < 2_000][::7]:
        body = {"relation": RELATION, "entities": [name, names[0]], "verdict": "accept"}
        got = client.post("/hostile/decisions.json", body, {"X-Relatum-Csrf": csrf})
        assert got.status == 200, (name, got.body)
        wanted.append(f"{RELATION}\t{name}\t{names[0]}\n")
    assert client.get("/hostile/decisions.tsv").text == "".join(wanted)
    require_harmless(client.get("/hostile/decisions").text)


@pytest.mark.parametrize(
    "path",
    [
        "/-/static/..%2f..%2fapp.py",
        "/-/static/../app.py",
        "/-/static/%2e%2e/app.py",
        "/../../etc/passwd",
        "/hostile/../../etc/passwd",
        "/hostile/%00",
        "/%2e%2e/entity/x",
        "/hostile/entity/..%2f..%2fspec.toml",
        "//evil.example/",
        "/hostile//entity",
    ],
)
def test_no_path_leads_to_a_file(client: Client, path: str) -> None:
    got = client.get(path)
    assert got.status == 404
    assert b"root:" not in got.body
    assert b"import" not in got.body

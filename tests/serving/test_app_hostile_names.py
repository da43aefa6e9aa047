"""Names of entities are shown as text and come back as they were, whatever they are."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import relatum
from relatum import Run
from relatum.serving.addresses import PageContext, address
from relatum.serving.security import ServerSettings
from support.hostile_names import hostile_names
from support.html_checks import Page
from support.served import Client, served

RELATION = "<i>likes</i> it/../?x=.json"


def require_harmless(text: str) -> None:
    """Refuse a page in which something of a name became an element, an attribute or an address elsewhere."""
    page = Page(text)
    assert not {tag for tag, *_ in page.elements} & {"iframe", "base", "style", "object", "embed", "img"}
    assert not [key for _, attributes, _ in page.elements for key in attributes if key.startswith("on") or key == "style"]
    assert not [one for one in page.values("href", "src", "action") if not re.match(r"/(?!/)|#|\?", one or "/")]
    scripts = page.all("script")
    assert scripts
    assert all(one["src"].startswith("/-/static/") for one in scripts)


@pytest.fixture(scope="module")
def names() -> list[str]:
    return hostile_names()


@pytest.fixture(scope="module")
def folder(names: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a run whose entities have hostile names, and one of its relations too."""
    data, path = tmp_path_factory.mktemp("data"), tmp_path_factory.mktemp("runs") / "hostile"
    lines = [f"{RELATION}\t{name}\t{names[(number + 1) % len(names)]}\n" for number, name in enumerate(names)]
    (data / "train.txt").write_bytes("".join(lines).encode())
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


def test_there_are_enough_of_them(names: list[str]) -> None:
    assert len(names) >= 200
    assert max(map(len, names)) == 1 << 20


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
        require_harmless(page.text)


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


def test_pages_with_all_names_are_harmless(client: Client) -> None:
    for where in ("/hostile", address("hostile", "relation", RELATION, limit=500), "/hostile/facts?limit=500", "/"):
        page = client.get(where)
        assert page.status == 200
        require_harmless(page.text)
        assert "<i>likes</i>" not in page.text


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

"""Decisions by HTTP: only with what a page of this server knows, and only where they are kept."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlencode

import pytest

import relatum
from support.served import Client, served

FACT = {"relation": "sold", "entities": ["drew", "alex", "book"]}
WHERE = "/example/decisions.json"


@pytest.fixture
def csrf(client: Client) -> str:
    page = client.get(WHERE).json
    for one in page["decisions"]:
        client.post("/example/decisions/undo.json", {"id": one["id"]}, {"X-Relatum-Csrf": page["csrf"]})
    return str(page["csrf"])


def decide(client: Client, csrf: str, verdict: str, **other: str) -> int:
    return client.post(WHERE, {**FACT, "verdict": verdict}, {"X-Relatum-Csrf": csrf, **other}).status


def test_a_decision_is_kept_replaced_and_undone(client: Client, csrf: str) -> None:
    first = client.post(WHERE, {**FACT, "verdict": "accept"}, {"X-Relatum-Csrf": csrf})
    assert first.status == 200
    assert first.json["probability"] is None or 0 <= first.json["probability"] <= 1
    assert client.get("/example/decisions.tsv").text == "sold\tdrew\talex\tbook\n"
    assert decide(client, csrf, "reject") == 200
    page = client.get(WHERE).json
    assert (page["accepted"], page["rejected"], len(page["decisions"])) == (0, 1, 1)
    number = page["decisions"][0]["id"]
    assert client.post("/example/decisions/undo.json", {"id": number}, {"X-Relatum-Csrf": csrf}).status == 200
    assert client.post("/example/decisions/undo.json", {"id": number}, {"X-Relatum-Csrf": csrf}).status == 400
    assert client.get("/example/decisions.tsv").body == b""


def test_what_comes_from_elsewhere_is_refused_and_nothing_is_kept(client: Client, csrf: str) -> None:
    assert decide(client, "", "accept") == decide(client, csrf + "x", "accept") == 403
    assert client.post(WHERE, {**FACT, "verdict": "accept"}).status == 400  # without the header at all
    assert decide(client, csrf, "accept", Origin="http://evil.example") == 403
    assert decide(client, csrf, "accept", Host="evil.example") == 421
    form = urlencode({"csrf": "guess", "relation": "sold", "verdict": "accept"})
    assert client.post("/example/decisions", form).status == 403
    assert client.get("/example/decisions.json?verdict=accept&relation=sold").json["accepted"] == 0
    body = b"x" * (1 << 17)
    assert client.send("POST", WHERE, body, {"X-Relatum-Csrf": csrf, "Content-Type": "application/json"}).status == 413


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({**FACT, "entities": ["drew"], "verdict": "accept"}, 400),
        ({**FACT, "relation": "solt", "verdict": "accept"}, 404),
        ({**FACT, "entities": ["drwe", "alex", "book"], "verdict": "accept"}, 404),
        ({**FACT, "verdict": "maybe"}, 400),
        ({"relation": "sold"}, 400),
        ([], 400),
    ],
)
def test_what_the_run_does_not_know_is_refused(client: Client, csrf: str, body: object, status: int) -> None:
    got = client.post(WHERE, body, {"X-Relatum-Csrf": csrf})
    assert (got.status, got.json["ok"]) == (status, False)


def test_a_form_decides_and_goes_back_to_a_page_of_the_run(client: Client, csrf: str) -> None:
    fields = [("csrf", csrf), ("relation", "sold"), *(("entity", one) for one in FACT["entities"]), ("verdict", "accept")]
    for back, leads in (
        ("/example/missing/sold?limit=5", "/example/missing/sold?limit=5"),
        ("//evil.example/", "/example/decisions"),
        ("/example/\\evil.example", "/example/decisions"),
        ("http://evil.example/", "/example/decisions"),
        ("/example/x\r\nSet-Cookie: a=b", "/example/decisions"),
    ):
        got = client.post("/example/decisions", urlencode([*fields, ("back", back)]))
        assert (got.status, got.headers["location"]) == (303, leads)
    (kept,) = client.get(WHERE).json["decisions"]
    undo = urlencode({"csrf": csrf, "verdict": "undo", "id": kept["id"]})
    assert client.post("/example/decisions", undo).status == 303
    assert client.get(WHERE).json["decisions"] == []
    assert client.post("/example/decisions", urlencode({"csrf": csrf, "verdict": "undo", "id": "x"})).status == 400
    assert client.send("POST", "/example/decisions", b"{}", {"Content-Type": "application/json"}).status == 400


def test_the_export_is_what_update_takes(client: Client, csrf: str, example_run: Path, tmp_path: Path) -> None:
    known = {tuple(fact) for fact in relatum.open(example_run).table("sold").columns.T.tolist()}
    names = relatum.open(example_run).entities
    new = next((a, b, c) for a, b, c in ((a, b, c) for a, _, c in known for b in range(4)) if (a, b, c) not in known)
    body = {"relation": "sold", "entities": [names[one] for one in new], "verdict": "accept"}
    assert client.post(WHERE, body, {"X-Relatum-Csrf": csrf}).status == 200
    (tmp_path / "accepted.tsv").write_bytes(client.get("/example/decisions.tsv").body)
    updated = relatum.update(example_run, tmp_path / "accepted.tsv", tmp_path / "updated")
    assert tuple(new) in {tuple(fact) for fact in updated.table("sold").columns.T.tolist()}


def test_where_none_are_kept_nothing_is_written(example_run: Path) -> None:
    before = sorted(path.name for path in example_run.iterdir())
    with served([example_run]) as client:
        for got in (
            client.get(WHERE),
            client.get("/example/decisions.tsv"),
            client.post(WHERE, {**FACT, "verdict": "accept"}, {"X-Relatum-Csrf": "x"}),
        ):
            assert got.status == 409
        assert "--decisions FILE" in client.get(WHERE).json["error"]
    assert sorted(path.name for path in example_run.iterdir()) == before

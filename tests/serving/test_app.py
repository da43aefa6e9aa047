"""What a client gets from a server: pages and their twins, refusals in one shape, and answers within limits."""

from __future__ import annotations

import json
import re
import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from relatum.serving import app
from relatum.serving.security import ServerSettings
from support.served import Client, Got, served

PAGES = [
    "/example",
    "/example/ask?q=sold(drew,%20%3F,%20book)",
    "/example/ask?q=project%5B0%5D(sold)",
    "/example/explain?fact=sold(drew,%20alex,%20book)",
    "/example/entity/drew",
    "/example/entity?name=drew",
    "/example/relation/sold",
    "/example/relation?name=sold",
    "/example/facts",
    "/example/facts?relation=sold&limit=3",
    "/example/missing/sold",
    "/example/rules",
    "/example/quality",
    "/example/training",
    "/example/decisions",
]


def is_refusal(got: Got, status: int, code: str) -> bool:
    """Return whether an answer is a refusal in the one shape."""
    content = got.json
    assert set(content) == {"ok", "code", "error", "errors", "status", "nearest"}
    assert content["ok"] is False
    assert "\n" not in content["error"]
    assert content["errors"]
    return (got.status, content["status"], content["code"]) == (status, status, code)


@pytest.mark.parametrize("path", PAGES)
def test_a_page_has_a_twin_at_the_same_address(client: Client, path: str) -> None:
    page = client.get(path)
    assert page.status == 200
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    where, mark, query = path.partition("?")
    twin = client.get(f"{where}.json{mark}{query}")
    assert (twin.status, twin.headers["content-type"]) == (200, "application/json")
    assert twin.json
    linked = re.search(r'<link rel="alternate" type="application/json" href="([^"]+)"', page.text)
    assert linked is not None
    assert client.get(linked[1].replace("&amp;", "&")).body == twin.body


def test_parts_that_take_long_are_worked_out_where_they_are_wanted(client: Client) -> None:
    for path, parts in (
        ("/example/entity/drew", ("predicted", "neighbourhood")),
        ("/example/relation/sold", ("quality", "rules", "doubtful", "missing")),
        ("/example/quality", ("data",)),
    ):
        short = client.get(path).text
        for part in parts:
            assert f'data-load="{path}?show={part}"' in short
            whole = client.get(f"{path}?show={part}")
            assert whole.status == 200
            assert f'data-load="{path}?show={part}"' not in whole.text


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/nope.json", 404, "unknown-name"),
        ("GET", "/example/nope.json", 404, "not-found"),
        ("GET", "/example/entity/drwe.json", 404, "unknown-name"),
        ("GET", "/example/ask.json?q=sold(", 400, "syntax"),
        ("GET", "/example/facts.json?limit=0&after=x", 400, "bad-request"),
        ("GET", "/example/facts.json?after=nope", 400, "foreign-token"),
        ("GET", "/example/entity.json", 400, "bad-request"),
        ("GET", "/example/entity.json?number=99999", 404, "not-found"),
        ("GET", "/example/ask.json?q=" + "a" * 40_000, 414, "address-too-long"),
        ("DELETE", "/example/ask.json", 405, "wrong-method"),
        ("POST", "/example/what_if.json", 400, "bad-request"),
    ],
)
def test_what_is_wrong_is_refused_in_one_shape(client: Client, method: str, path: str, status: int, code: str) -> None:
    got = client.post(path, {"q": 1}) if method == "POST" else client.get(path, method=method)
    assert is_refusal(got, status, code)


def test_a_wrong_name_is_answered_with_near_ones_and_head_is_get_without_a_body(client: Client) -> None:
    assert client.get("/example/entity/drwe.json").json["nearest"][0] == "drew"
    assert client.get("/exampel.json").json["nearest"] == ["example"]
    page = client.get("/example/entity/drwe")
    assert page.status == 404
    assert "did you mean" in page.text
    assert client.get("/nope/at/all").status == 404
    for path in ("/example", "/example.json", "/example/ask.json?q=sold(drew,%20%3F,%20book)", "/-/static/explorer.css"):
        whole, head = client.get(path), client.get(path, method="HEAD")
        assert (head.status, head.body) == (200, b"")
        assert head.headers["content-length"] == str(len(whole.body))


def test_the_server_describes_itself(client: Client, shop_run: Path) -> None:
    state = client.get("/-/health").json
    assert state["ok"]
    assert [one["name"] for one in state["runs"]] == [shop_run.name, "example"]
    assert client.get("/-/versions").json["api"] == 1
    assert [one["run"] for one in client.get("/-/schema").json] == [shop_run.name, "example"]
    described = client.get("/-/openapi.json").json["paths"]
    for path in ("/{run}.json", "/{run}/ask.json", "/{run}/entity/{name}.json", "/-/health.json"):
        assert "422" not in described[path]["get"]["responses"]
    front = client.get("/").text
    assert 'href="/example"' in front


def test_more_than_there_is_room_for_is_refused_and_the_state_still_answers(example_run: Path) -> None:
    with served([example_run], ServerSettings(seconds=60.0, threads=1, waiting=2)) as client:
        client.get("/example.json")
        path = "/example/ask.json?q=sold(%3F,%20%3F,%20%3F)&k=500"
        start = threading.Barrier(12)

        def ask(_: int) -> Got:
            start.wait()
            return client.get(path)

        with ThreadPoolExecutor(12) as pool:
            found = list(pool.map(ask, range(12)))
        statuses = {one.status for one in found}
        assert statuses <= {200, 503}
        assert 200 in statuses
        for one in found:
            if one.status == 503:
                assert is_refusal(one, 503, "overloaded")
                assert one.headers["retry-after"] == "1"
        assert 503 in statuses
        assert client.get("/-/health").json["at_work"] == 0
        assert client.get(path).status == 200


def test_a_run_that_is_still_trained_shows_its_training(example_run: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(example_run, tmp_path / "training"))
    (folder / "config.json").unlink()
    with served([folder]) as client:
        assert is_refusal(client.get("/training.json"), 409, "not-ready")
        view = client.get("/training/training.json").json
        assert not view["finished"]
        assert view["losses"]
        assert client.get("/training/training").status == 200
        assert client.get("/").status == 200
        assert client.get("/-/health").json["ok"] is False


def test_refusals_do_not_say_where_runs_lie(example_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app, "_RELOAD_SECONDS", 0.05)
    folder = Path(shutil.copytree(example_run, tmp_path / "secret" / "run"))
    (folder / "answer_calibration.json").unlink()  # as where there are too few valid facts to fit it on
    environment = json.loads((folder / "environment.json").read_text())
    environment["files"].remove("answer_calibration.json")
    (folder / "environment.json").write_text(json.dumps(environment))
    with served([folder], ServerSettings(seconds=60.0)) as client:
        got = client.get("/run/query.json?q=project%5B0%5D(join(sold,%20sold))")
        assert got.status == 400
        assert "secret" not in client.get("/run/query.json?q=select%20*%20from%20sold%20a,%20sold%20b").text
        assert "secret" not in got.text
        (folder / "model.safetensors").write_bytes(b"broken")
        while (problem := client.get("/-/health").json["runs"][0]["problem"]) is None:
            pass
        assert "cannot be loaded" in problem
        assert "secret" not in problem

"""The short way of a question gives the bytes that the long way gives."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from urllib.parse import quote

import numpy as np
import pytest

from relatum import Run
from relatum.errors import RelatumError
from relatum.resources.answers import QuestionAnswers, complete, complete_each
from relatum.serving.app import inner_app
from relatum.serving.quick_answers import QuickAnswers
from relatum.serving.security import App, Message
from relatum.serving.settings import ServerSettings
from relatum.serving.site import Site


async def ask(app: App, path: str, query: str) -> tuple[int, dict[str, str], bytes]:
    """Return what an app answers."""
    status, headers, body = 0, {}, b""

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        nonlocal status, headers, body
        if message["type"] == "http.response.start":
            status = message["status"]
            headers = {name.decode(): value.decode() for name, value in message["headers"]}
        else:
            body += message.get("body", b"")

    scope = {
        "type": "http",
        "method": "GET",
        "path": path,
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "headers": [(b"host", b"localhost")],
        "http_version": "1.1",
        "scheme": "http",
        "server": ("localhost", 80),
        "root_path": "",
    }
    await app(scope, receive, send)
    return status, headers, body


def queries() -> list[str]:
    """Return what stands behind the question mark: plain, odd and wrong."""
    questions = ["sold(drew, ?, book)", "sold(?, ?, book)", "sold(?, alex, ?)", "sold(drew, ?, nope)", "solt(drew, ?, book)"]
    plain = [f"q={quote(one)}" for one in questions]
    return [
        *plain,
        *(f"{one}&k=3" for one in plain),
        f"{plain[0]}&k=1&new_only=true",
        f"{plain[0]}&new_only=0",
        f"{plain[0]}&reasons=1",
        f"{plain[0]}&coverage=0.9",
        f"{plain[0]}&k=0",
        f"{plain[0]}&k=1001",
        f"{plain[0]}&k=x",
        f"{plain[0]}&k=%31",
        f"{plain[0]}&new_only=maybe",
        f"{plain[0]}&{plain[1]}",
        f"&&{plain[0]}&",
        "q=",
        "q=%20",
        "",
        "k=5",
        "q=sold",
        "q=sold(",
        "q=sold(a,b,c)",
        "q=sold(drew,%20alex,%20book)",
        "q=%FF%FE(",
        "q=sold(drew,+%3F,+book)",
        f"q={'a' * 10_001}",
        f"q={quote('project[0](sold)')}",
        f"q={quote('sold(seller=drew)')}",
        f"q={quote('sold(?, _, book)')}",
    ]


@pytest.mark.parametrize("name", ["example", "nope"])
def test_both_ways_give_the_same(example_run: Path, name: str) -> None:
    async def main() -> None:
        site = Site([example_run], ServerSettings(seconds=60.0))
        long = inner_app(site)
        quick = QuickAnswers(long, site)
        site.runs["example"].run()
        statuses = set()
        for query in queries():
            expected = await ask(long, f"/{name}/ask.json", query)
            found = await ask(quick, f"/{name}/ask.json", query)
            assert found == expected, query
            statuses.add(found[0])
        assert statuses == ({200, 400, 404} if name == "example" else {400, 404})
        site.close()

    asyncio.run(main())


def test_plain_questions_take_the_short_way(example_run: Path) -> None:
    async def forbidden(scope: object, receive: object, send: object) -> None:
        raise AssertionError("the long way")

    async def main() -> None:
        site = Site([example_run], ServerSettings(seconds=60.0))
        quick = QuickAnswers(forbidden, site)
        with pytest.raises(AssertionError, match="the long way"):  # nothing is loaded yet
            await ask(quick, "/example/ask.json", "q=sold(drew,%20%3F,%20book)")
        site.runs["example"].run()
        found = await ask(quick, "/example/ask.json", "q=sold(drew,%20%3F,%20book)&k=3")
        assert found[0] == 200
        assert (await ask(quick, "/example/ask.json", "q=sold(drew,%20%3F,%20nope)"))[0] == 404
        for path, query in (("/example/ask", "q=x"), ("/example/ask.json", "q=x&reasons=1")):
            with pytest.raises(AssertionError, match="the long way"):
                await ask(quick, path, query)
        site.close()

    asyncio.run(main())


def test_answers_are_those_of_the_run(example_run: Path) -> None:
    async def main() -> None:
        site = Site([example_run], ServerSettings(seconds=60.0))
        quick = QuickAnswers(inner_app(site), site)
        run: Run = site.runs["example"].run()
        wanted = run.table("sold").columns.T.tolist()[:12]
        texts = [f"sold({run.entities[a]}, ?, {run.entities[c]})" for a, _, c in wanted]
        found = await asyncio.gather(*(ask(quick, "/example/ask.json", f"q={quote(text)}&k=4") for text in texts))
        for text, (status, _, body) in zip(texts, found, strict=True):
            assert status == 200
            expected = [(one.entities[0], one.known) for one in run.complete(text, k=4)]
            assert [(one["entities"][0]["name"], one["known"]) for one in json.loads(body)["answers"]] == expected
        site.close()

    asyncio.run(main())


def test_questions_that_come_together_are_answered_as_each_alone(shop_run: Path) -> None:
    run = Run.load(shop_run)
    texts = []
    for schema in run.schema:
        for fact in run.table(schema.name).columns.T.tolist()[:5]:
            for gap in range(schema.arity):
                arguments = ", ".join("?" if at == gap else json.dumps(run.entities[one]) for at, one in enumerate(fact))
                texts.append(f"{json.dumps(schema.name)}({arguments})")
    texts += [texts[0].replace("?", '"nope"'), "nope(", texts[1].replace("(", "(nope, "), texts[0]]

    def alone(text: str) -> object:
        try:
            return complete(run, text, 4)
        except RelatumError as error:
            return type(error), str(error)

    together = [(type(one), str(one)) if isinstance(one, RelatumError) else one for one in complete_each(run, texts, 4)]
    assert sum(isinstance(one, tuple) for one in together) >= 3
    for text, found in zip(texts, together, strict=True):
        expected = alone(text)
        if isinstance(found, QuestionAnswers) and isinstance(expected, QuestionAnswers):
            # Scores of several are summed in another order: their last bits may differ.
            values = [[(one.score, one.probability) for one in each.answers] for each in (found, expected)]
            assert np.allclose(*values, rtol=1e-4)
            names = [[(one.entities, one.known) for one in each.answers] for each in (found, expected)]
            assert names[0] == names[1]
            assert (found.question, found.truncated) == (expected.question, expected.truncated)
        else:
            assert found == expected

"""Addresses hold any name, and lead nowhere else."""

from __future__ import annotations

import re
from urllib.parse import parse_qs, unquote, urlsplit

from hypothesis import given
from hypothesis import strategies as st

from relatum.serving.addresses import PageContext, address


def named_by(where: str) -> str:
    """Return the name in an address, as a server understands it."""
    parts = urlsplit(where)
    if parts.query:
        return parse_qs(parts.query, keep_blank_values=True)["name"][0]
    return unquote(parts.path.removeprefix("/run/entity/"))


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1))
def test_a_name_comes_back_as_it_was(name: str) -> None:
    where = address("run", "entity", name)
    assert re.fullmatch(r"/run/entity(/[^/?#]+|\?name=[^&#]*)", where)
    assert where.isascii()
    assert named_by(where) == name
    assert not re.search(r"/\.{1,2}(/|$|\?)", where)
    twin = address("run", "entity", name, json=True)
    assert urlsplit(twin).path.endswith(".json")


def test_plain_names_are_in_the_path_and_others_behind_the_question_mark() -> None:
    assert address("run", "entity", "drew") == "/run/entity/drew"
    assert address("run", "entity", "items:17", json=True) == "/run/entity/items%3A17.json"
    assert address("run", "entity", "a/b") == "/run/entity?name=a%2Fb"
    assert address("run", "entity", "a.json", json=True) == "/run/entity.json?name=a.json"
    assert address("run", "ask", q="sold(drew, ?)", k=None) == "/run/ask?q=sold%28drew%2C+%3F%29"
    assert address("run") == "/run"


def test_a_very_long_name_goes_by_its_number() -> None:
    context = PageContext("run", ("run",), "1", number_of=lambda name: 7)
    assert context.entity("x" * 100_000) == "/run/entity?number=7"
    assert context.entity("drew") == context.url("entity", "drew") == "/run/entity/drew"
    assert context.relation("sold") == "/run/relation/sold"
    assert context.ask("sold(?)", k=5) == "/run/ask?q=sold%28%3F%29&k=5"

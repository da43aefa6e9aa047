"""Questions as people write them: by position or role, with quotes where a name needs them; mistakes point at a column."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relatum import RelationSchema, Schema
from relatum.errors import RelatumError
from relatum.runs.answers import Question, parse_question
from support.mistakes import mistake
from support.strategies import names, relation_schemas

SCHEMA = Schema([RelationSchema("sold", 3, ("seller", "buyer", "item")), RelationSchema("pair", 2), RelationSchema("is", 1)])


def parsed(text: str) -> tuple[str, tuple[str | None, ...]]:
    question = parse_question(text, SCHEMA)
    return question.relation, question.arguments


@pytest.mark.parametrize(
    "text",
    [
        "sold(drew, ?, book)",
        "  sold ( drew ,  ? , book )  ",
        "sold(seller=drew, buyer=?, item=book)",
        "sold(drew, ?, item=book)",
        "sold(drew, item = book, buyer = ?)",
        "sold(2=book, 0=drew, 1=?)",
        '"sold"("drew", ?, "book")',
        'sold("seller"="drew", buyer=?, item="book")',
        "sold(\tdrew,\n?, book)",
    ],
)
def test_a_question_can_be_written_in_many_ways(text: str) -> None:
    assert parsed(text) == ("sold", ("drew", None, "book"))


@pytest.mark.parametrize(
    ("text", "argument"),
    [
        ("is(a b  c)", "a b  c"),
        ("is(what?)", "what?"),
        ('is("?")', "?"),
        ("is(?)", None),
        ('is("a, b")', "a, b"),
        (r'is("say \"hi\"")', 'say "hi"'),
        (r'is("C:\\data")', "C:\\data"),
        (r"is(C:\data)", "C:\\data"),
        ("is(0=a)", "a"),
    ],
)
def test_names_are_taken_as_they_are_and_quoted_where_they_must(text: str, argument: str | None) -> None:
    assert parsed(text) == ("is", (argument,))


def quoted(name: str) -> str:
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'


@given(relation_schemas(), st.data())
def test_any_names_can_be_asked_about_in_quotes(relation: RelationSchema, data: st.DataObject) -> None:
    arguments = data.draw(st.tuples(*[st.none() | names] * relation.arity))
    schema = Schema([relation])
    written = ["?" if name is None else quoted(name) for name in arguments]
    expected = Question(relation.name, arguments)
    assert parse_question(f"{quoted(relation.name)}({', '.join(written)})", schema) == expected
    assert parse_question(str(expected), schema) == expected
    keys = [quoted(role) for role in relation.roles] if relation.roles else [str(n) for n in range(relation.arity)]
    pairs = data.draw(st.permutations([f"{key} = {name}" for key, name in zip(keys, written, strict=True)]))
    assert parse_question(f"{quoted(relation.name)}({', '.join(pairs)})", schema) == expected


@given(st.text(st.sampled_from('isoldpa?,()="\\ 012日\n'), max_size=30))
def test_any_text_is_a_question_or_a_clean_error(text: str) -> None:
    for tried in (text, f"is({text})", f"sold(a, {text})", f'pair("{text}", ?)'):
        try:
            question = parse_question(tried, SCHEMA)
        except RelatumError:
            continue
        assert len(question.arguments) == SCHEMA[question.relation].arity


@pytest.mark.parametrize(
    ("text", "column", "code"),
    [
        ("", 1, "syntax"),
        ("is", 3, "syntax"),
        ("is(", 4, "syntax"),
        ("is(drew", 8, "syntax"),
        ("pair(,b)", 6, "syntax"),
        ("pair(a (b), c)", 8, "syntax"),
        ('is("drew)', 4, "open-quote"),
        ('is(dr"ew")', 6, "syntax"),
        ("sold(buyer=, a)", 12, "syntax"),
        ("sold(=a)", 6, "syntax"),
        ("sold(drew, ? = alex, book)", 12, "syntax"),
        ("sold(seller=a=b)", 14, "syntax"),
        ("is(a,b)", 6, "argument-count"),
        ("sold(a,seller=b,?)", 8, "given-twice"),
        ("pair(a,0=b)", 8, "given-twice"),
    ],
)
def test_a_mistake_points_at_its_column(text: str, column: int | None, code: str) -> None:
    with mistake(code, place=f"{text!r}, column {column}" if column else ""):
        parse_question(text, SCHEMA)


def test_names_that_are_not_there_are_refused_with_the_nearest() -> None:
    with mistake("unknown-name"):
        parse_question("solt(a, b, c)", SCHEMA)
    with mistake("unknown-name"):
        parse_question("sold(byer=a, seller=b, item=c)", SCHEMA)
    with mistake("no-roles"):
        parse_question("pair(left=a, right=b)", SCHEMA)
    with mistake("no-such-position"):
        parse_question("pair(a, 2=b)", SCHEMA)


def test_a_question_knows_its_open_positions_and_how_to_write_itself() -> None:
    question = parse_question("sold(?, alex, item=?)", SCHEMA)
    assert question.open == [0, 2]
    assert str(question) == "sold(?, alex, ?)"

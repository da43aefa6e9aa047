"""Tab-separated facts: what is read, what is refused and in which words, and that both readers agree on all of it."""

from __future__ import annotations

import gzip
import io
import random
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relatum import DataError, Hypergraph, Layout
from relatum.datasets import text_format, text_lines
from relatum.datasets.text_format import TupleReader, read_roles, read_tuples, write_roles, write_tuples
from support.mistakes import mistake
from support.strategies import hypergraphs

FACTS = [("buyer", "alex", "book"), ("sold", "drew", "alex", "book")]


class LineReader(TupleReader):
    """The reader that takes every chunk line by line, in plain Python."""

    def _load_compiled(self) -> None:
        pass


@pytest.fixture(autouse=True, params=[0, 1 << 20], ids=["compiled", "plain"])
def small(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Read every file by compiled loops, then only those that are not small."""
    monkeypatch.setattr(text_format, "_SMALL", request.param)


def read(content: bytes, path: Path, layout: Layout = Layout(), skip_bad: bool = False) -> Hypergraph:  # noqa: B008
    path.write_bytes(content)
    return read_tuples(path, layout, skip_bad=skip_bad)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "train.txt"


@pytest.mark.parametrize(
    ("content", "layout"),
    [
        (b"sold\tdrew\talex\tbook\nbuyer\talex\tbook\n", Layout()),
        (b"buyer\talex\tbook\nsold\tdrew\talex\tbook", Layout()),
        (b"sold\tdrew\talex\tbook\r\nbuyer\talex\tbook\r\n", Layout()),
        (b"sold\tdrew\talex\tbook\r\nbuyer\talex\tbook\r", Layout()),
        (b"\xef\xbb\xbfsold\tdrew\talex\tbook\nbuyer\talex\tbook\n", Layout()),
        (gzip.compress(b"sold\tdrew\talex\tbook\nbuyer\talex\tbook\n", mtime=0), Layout()),
        (b"# facts\n\nsold\tdrew\talex\tbook\n  \nbuyer\talex\tbook\n", Layout(comments=True, blank_lines=True)),
        (b"drew\tsold\talex\tbook\nalex\tbuyer\tbook\n", Layout(relation_column=1)),
        (b"i0\tsold\tdrew\talex\tbook\ni1\tbuyer\talex\tbook\n", Layout(relation_column=1, ignored_columns=(0,))),
        (b"sold\tdrew\t2026\talex\tbook\nbuyer\talex\t1999\tbook\n", Layout(ignored_columns=(2,))),
    ],
)
def test_one_content_in_many_dresses(content: bytes, layout: Layout, path: Path) -> None:
    assert list(read(content, path, layout)) == FACTS


SECOND = Layout(relation_column=1)


@pytest.mark.parametrize(
    ("content", "line", "reason", "layout"),
    [
        (b"sold\ta\tb\nsold\ta\tb\tc\n", 2, "two-arities", Layout()),
        (b"sold\ta\n\tb\n", 2, "unusable-name", Layout()),
        (b"sold\ta\t\tb\n", 1, "unusable-name", Layout()),
        (b"sold\ta\t\n", 1, "unusable-name", Layout()),
        (b"sold\ta\t \n", 1, "unusable-name", Layout()),
        (b"sold\ta\t\xe2\x80\xa8\n", 1, "unusable-name", Layout()),
        (b"model\n", 1, "no-entities", Layout()),
        (b"sold\ta\nsold\t\xff\n", 2, "not-utf8", Layout()),
        (b"sold\ta\n\nsold\tb\n", 2, "blank-line", Layout()),
        (b"sold\ta\n \t \n", 2, "blank-line", Layout()),
        (b"# facts\nsold\ta\n", 1, "comment-line", Layout()),
        (b"sold\ta\0b\n", 1, "unusable-name", Layout()),
        (b"sold\ta\rsold\tb\n", 1, "unusable-name", Layout()),
        (b"\n", 1, "blank-line", Layout()),
        (b"sold\n", 1, "too-few-columns", SECOND),
        (b"i0\tsold\n", 1, "no-entities", Layout(relation_column=1, ignored_columns=(0,))),
        (b"drew\t#sold\talex\n", 1, "relation-like-comment", SECOND),
        (gzip.compress(b"sold\ta\n", mtime=0)[:-9], None, "damaged-gzip", Layout()),
        (gzip.compress(b"sold\ta\n" * 99, mtime=0)[:20] + b"\0" * 40, None, "damaged-gzip", Layout()),
    ],
)
def test_a_bad_line_is_named_with_its_reason(content: bytes, line: int, reason: str, layout: Layout, path: Path) -> None:
    with mistake(reason) as caught:
        read(content, path, layout)
    assert (caught.value.line, caught.value.path) == (line, path)


def test_skipped_lines_are_listed_and_leave_no_names_behind(path: Path) -> None:
    path.write_bytes(b"sold\ta\tb\nmodel\nsold\tghost\nsold\tb\ta\n")
    reader = TupleReader(skip_bad=True)
    reader.read(path)
    (graph,) = reader.finish()
    assert list(graph) == [("sold", "a", "b"), ("sold", "b", "a")]
    assert list(graph.entities) == ["a", "b"]
    assert [line.split(":")[:2] for line in reader.skipped] == [["train.txt", "2"], ["train.txt", "3"]]


def test_a_file_of_nothing_but_bad_lines_is_counted_not_remembered(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_lines, "MOST_LISTED", 2)
    path.write_bytes(b"model\n" * 9)
    reader = TupleReader(skip_bad=True)
    reader.read(path)
    assert reader.skipped[1:] == ("train.txt:2: relation 'model' has no entities", "... and 7 more lines")


def test_an_impossible_layout_cannot_be_built() -> None:
    with mistake("bad-layout"):
        Layout(relation_column=-1)
    with mistake("bad-layout"):
        Layout(ignored_columns=(0,))


def test_a_file_without_line_ends_does_not_fill_the_memory(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_lines, "LONGEST_LINE", 1 << 10)
    monkeypatch.setattr(text_lines, "CHUNK_BYTES", 1 << 8)
    with mistake("line-too-long"):
        read(gzip.compress(b"x" * (1 << 20)), path)


@given(hypergraphs)
def test_what_is_written_is_read_back(graph: Hypergraph) -> None:
    text, roles = io.BytesIO(), io.BytesIO()
    write_tuples(graph, text)
    write_roles(graph.schema, roles)
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "roles.txt").write_bytes(roles.getvalue())
        given_roles = read_roles(Path(folder) / "roles.txt")
        (Path(folder) / "train.txt").write_bytes(text.getvalue())
        reader = TupleReader()
        reader.read(Path(folder) / "train.txt")
    (back,) = reader.finish(given_roles)
    assert given_roles == [relation for relation in graph.schema if relation.roles]
    assert list(back) == list(graph)
    assert set(back.schema) >= set(given_roles)
    assert set(back.entities) == {name for fact in graph for name in fact[1:]}


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"r\tx\nr\ta\n", "roles-twice"),
        (b"r\ta\ta\n", "duplicate-role"),
        (b"r\n", "no-entities"),
        (b"r\t1\n", "duplicate-role"),
    ],
)
def test_a_bad_file_of_roles_is_refused(content: bytes, reason: str, path: Path) -> None:
    path.write_bytes(content)
    with mistake(reason):
        read_roles(path)


def test_roles_must_fit_the_facts(path: Path) -> None:
    path.write_bytes(b"sold\tdrew\talex\n")
    reader = TupleReader()
    reader.read(path)
    with mistake("roles-arity"):
        reader.finish([text_format.RelationSchema("sold", 3, ("a", "b", "c"))])


def outcome(reader: TupleReader, path: Path, layout: Layout) -> tuple[list[tuple[str, ...]], tuple[str, ...]] | str:
    """Return all there is to say about reading a file: the facts and what was skipped, or the error."""
    try:
        reader.read(path, layout)
        (graph,) = reader.finish()
    except DataError as error:
        return str(error)
    assert sorted(graph.entities) == sorted({name for fact in graph for name in fact[1:]})
    return list(graph), reader.skipped


SEEDS = (
    b"sold\tdrew\talex\tbook\nsold\tmike\tsam\ttv\nbuyer\talex\tbook\nbought\tsam\tmike\ttv\n",
    b"drew\tsold\talex\r\nmike\tsold\tsam\r\n# end\r\n\r\n",
    "ventes\tandré\t東京\t本\nventes\tzoë\t大阪\t茶\nx\ty\n".encode(),
    b"model\ta\tb\tc\td\te\nmodel\ta\tb\tc\td\tf\nmodel",
    b"",
)
SPICE = (b"\t", b"\n", b"\r\n", b"\r", b"\0", b" ", b"#", b"\xff", b"\xef\xbb\xbf", b"\xc2\x85", b"\xe2\x80\xa8", b"a")


def mutate(chance: random.Random) -> bytes:
    """Return a file that is nearly one of facts."""
    content = bytearray(chance.choice(SEEDS) * chance.choice((1, 1, 2)))
    for _ in range(chance.randrange(6)):
        place = chance.randrange(len(content) + 1)
        match chance.randrange(5):
            case 0:
                content[place:place] = chance.choice(SPICE)
            case 1:
                del content[place : place + chance.randrange(1, 9)]
            case 2:
                content[place:place] = content[chance.randrange(len(content) + 1) :][:30]
            case 3 if content:
                content[place % len(content)] = chance.randrange(256)
            case _:
                content[place : place + 1] = chance.choice(SPICE)
    if chance.random() < 0.05:
        packed = bytearray(gzip.compress(bytes(content), 1))
        if chance.random() < 0.5:
            packed[chance.randrange(len(packed))] ^= 1 << chance.randrange(8)
        return bytes(packed)
    return bytes(content)


def test_every_file_gives_a_hypergraph_or_a_clean_error_and_both_readers_agree(
    path: Path, count: Callable[[int, int], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(20)
    clean = 0
    for _ in range(count(1500, 100_000)):
        path.write_bytes(mutate(chance))
        layout = Layout(
            relation_column=chance.choice((0, 0, 0, 1)),
            ignored_columns=chance.choice(((), (), (2,))),
            comments=chance.random() < 0.3,
            blank_lines=chance.random() < 0.3,
        )
        skip_bad = chance.random() < 0.5
        monkeypatch.setattr(text_lines, "CHUNK_BYTES", chance.choice((1, 7, 40, 1 << 20)))
        fast = outcome(TupleReader(skip_bad=skip_bad), path, layout)
        assert fast == outcome(LineReader(skip_bad=skip_bad), path, layout), path.read_bytes()
        clean += not isinstance(fast, str)
    assert clean > 100


@given(st.binary(max_size=200), st.booleans())
def test_any_bytes_give_a_hypergraph_or_a_clean_error(content: bytes, skip_bad: bool) -> None:
    with tempfile.NamedTemporaryFile() as file:
        file.write(content)
        file.flush()
        fast = outcome(TupleReader(skip_bad=skip_bad), Path(file.name), Layout())
        assert fast == outcome(LineReader(skip_bad=skip_bad), Path(file.name), Layout())


def test_a_gzip_file_that_unpacks_to_far_too_much_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("relatum.memory.budget", lambda: 1 << 22)
    line = b"likes\tann\tbob\n"
    for times, fits in (((4 << 20) // len(line), True), ((24 << 20) // len(line), False)):
        path = tmp_path / "train.txt.gz"
        path.write_bytes(gzip.compress(line * times))
        monkeypatch.setattr("relatum.datasets.text_lines.MOST_UNPACKED", 2)
        if fits:
            assert len(read_tuples(path)) == times
        else:
            with mistake("unpacks-too-large"):
                read_tuples(path)

"""Lines: facts with tabs by both readers, roles, JSON lines of facts, statements in three forms."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from relatum.data.hypergraph import Hypergraph
from relatum.data.schema import RelationSchema, Schema
from relatum.datasets.text_format import TupleReader, read_roles
from relatum.datasets.text_lines import Layout
from relatum.errors import DataError, RelatumError
from relatum.statements.forms import FORMS, form_of_line, write_wikipeople
from relatum.statements.statement import Statement, fact_of, roles_of, statement_of
from relatum.tables.text_files import JsonFactsSource
from torture.fuzz.mutations import BYTES
from torture.fuzz.parser import Parser
from torture.fuzz.scratch import holding

__all__ = ["LINES"]

_FACTS = (
    b"sold\tdrew\talex\tbook\nbuyer\talex\tbook\n",
    b"sold\tdrew\talex\tbook\r\nbuyer\talex\tbook\r\nsold\talex\tdrew\tcoffee\r\n",
    b"\xef\xbb\xbfvip\talex\nvip\tdrew\nknows\talex\tdrew",
    "kennt\tJürgen\t日本\nkennt\t😀\té\n".encode(),
    b"# facts\n\nsold\ta\tb\nsold\tb\ta\n \t \n",
    b"r\t" + b"\t".join(b"e%d" % number for number in range(20)) + b"\n",
    b"".join(b"r%d\te%d\te%d\n" % (number % 3, number % 7, number % 5) for number in range(12)),
)
_ROLES = (b"sold\tseller\tbuyer\titem\nknows\twho\twhom\n", b"vip\twho\r\n", "r\té\t日本\tx\n".encode())
_JSON_FACTS = (
    b'["sold", "drew", "alex", "book"]\n["knows", "drew", "alex"]\n',
    b'{"relation": "sold", "entities": ["drew", "alex", "book"]}\n{"relation": "vip", "entities": ["alex"]}\n',
    b'{"relation": "sold", "seller": "drew", "buyer": null, "item": 1.50}\n{"relation": "sold", "seller": true}\n',
    '\n{"relation": "kennt", "wer": "J\\u00fcrgen", "wen": "日本"}\r\n'.encode(),
)
_STATEMENTS = {
    "wikipeople": (
        b'{"P69_h": "Q1", "P69_t": "Q2", "P580": ["Q3", "Q4"], "P582": "Q5", "N": 5}',
        b'{"P69_h": "Q1", "P69_t": "Q2"}',
        '{"a+b_h": "é%", "a+b_t": "x\\ty", "_": ["#", "7"], "N": 4}'.encode(),
    ),
    "wd50k": (b"Q1,P69,Q2,P580,Q3,P582,Q4", b"Q1,P69,Q2", "é%,P+#,x y,P1,a,P1,b".encode()),
    "wikidata": (
        b'{"id": "Q1", "claims": {"P69": [{"mainsnak": {"snaktype": "novalue", "property": "P69"}}]}}',
        b'{"id": "Q1", "claims": {"P69": [{"mainsnak": {"snaktype": "value", "property": "P69", "datavalue": {"type": '
        b'"wikibase-entityid", "value": {"id": "Q2"}}}, "rank": "normal", "qualifiers": {"P580": [{"snaktype": "value", '
        b'"property": "P580", "datavalue": {"type": "string", "value": "x"}}]}}]}},',
        b'{"id": "Q7", "claims": {"P1": [{"mainsnak": {"snaktype": "value", "property": "P1", "datavalue": {"type": "time", '
        b'"value": {"time": "+1903-00-00T00:00:00Z", "timezone": 0, "before": 0, "after": 0, "precision": 9, '
        b'"calendarmodel": "x"}}}, "rank": "deprecated"}]}}',
        b'{"id": "Q7", "claims": {"P1": [{"mainsnak": {"snaktype": "value", "property": "P1", "datavalue": {"type": '
        b'"quantity", "value": {"amount": "+5", "unit": "1", "upperBound": "+6", "lowerBound": "+4"}}}}], "P2": [{"main'
        b'snak": {"snaktype": "value", "property": "P2", "datavalue": {"type": "globecoordinate", "value": {"latitude": 1, '
        b'"longitude": 2, "altitude": null, "precision": 0.1, "globe": "x"}}}}, {"mainsnak": {"snaktype": "value", '
        b'"property": "P2", "datavalue": {"type": "monolingualtext", "value": {"text": "x", "language": "en"}}}}]}}',
        b"[",
        b"]",
    ),
}


class _ByLines(TupleReader):
    """The reader that takes every chunk line by line, in plain Python."""

    def _load_compiled(self) -> None:
        pass


class _Compiled(TupleReader):
    """The reader that takes every chunk by compiled loops, however small its file is."""

    def __init__(self, *, skip_bad: bool = False) -> None:
        super().__init__(skip_bad=skip_bad)
        self._load_compiled()


_Read = tuple[Hypergraph, tuple[str, ...]] | str


def _read(reader: type[TupleReader], path: Path, layout: Layout, skip_bad: bool) -> _Read:
    try:
        one = reader(skip_bad=skip_bad)
        one.read(path, layout)
        return one.finish()[0], one.skipped
    except RelatumError as error:
        return str(error)


def _facts(content: bytes) -> str | None:
    """Both readers say the same; which lines are odd is chosen by the content."""
    odd = len(content) & 1 == 1
    layout, skip_bad = Layout(comments=odd, blank_lines=odd), len(content) & 6 == 0
    path = holding(content)
    careful, fast = (_read(reader, path, layout, skip_bad) for reader in (_ByLines, _Compiled))
    if careful == fast:
        return None
    return f"by lines {careful!s:.150}, compiled {fast!s:.150}"


def _roles(content: bytes) -> str | None:
    found = read_roles(holding(content))
    schema = Schema(found)
    for relation in found:
        for position, role in enumerate(relation.roles or ()):
            if relation.position(role) != position or relation.position(str(position)) != position:
                return f"{role!r} of {relation} is not its position {position}"
    return None if len(schema) == len(found) else "relations are lost"


def _arity(text: bytes) -> str | None:
    """A position as it is written: digits, a role, or neither."""
    relation = RelationSchema("sold", 3, ("seller", "buyer", "item"))
    found = relation.position(text.decode(errors="replace"))
    return None if 0 <= found < 3 else f"position {found}"


class _NoDatabase:
    """Takes the rows of JSON lines, as a workspace does, and checks that they are rows."""

    def run(self, sql: str) -> None:
        """Do nothing."""

    def append(self, table: str, columns: list[list[str | None]], what: str) -> None:
        """Refuse rows of different lengths, and what is no text that a database could hold."""
        if len({len(column) for column in columns}) != 1:
            raise AssertionError("columns of different lengths")
        for column in columns:
            "".join(cell or "" for cell in column).encode()


def _json_facts(content: bytes) -> str | None:
    database: Any = _NoDatabase()
    tables = JsonFactsSource(database, holding(content, ".jsonl"), "relation", 0).tables()
    return None if tables else "no tables"


def _statements(form: str) -> Callable[[bytes], str | None]:
    parse = FORMS[form].parse

    def check(line: bytes) -> str | None:
        form_of_line(line)
        found = [one for one in parse(line) if isinstance(one, Statement)]
        for one in found:
            fact = fact_of(one)
            if statement_of(fact) != one or len(roles_of(fact[0])) != len(fact) - 1:
                return f"as a fact, {one!r:.200} is another"
        try:
            written = list(write_wikipeople(found))
        except DataError:
            return None  # what other forms can say, this one may have no way to write
        again = [each for line in written for each in FORMS["wikipeople"].parse(line.rstrip(b"\n"))]
        return None if sorted(again) == sorted(found) else f"written, {found!r:.200} is {again!r:.200}"

    return check


def _load_compiled() -> None:
    _facts(_FACTS[0])
    os.environ.setdefault("RELATUM_THREADS", "1")


_TABS = (*BYTES, b"\t\t", b"\n#", b"sold\t", b"\tdrew", b"\xef\xbb\xbf", b"r\ta\tb\n")
_JSON = (*BYTES, b'"relation"', b"[", b'["r", "a"]\n', b"null", b"NaN", b"\\ud800", b'{"a": ', b"1e999", b"9" * 5000)
LINES = (
    Parser("facts with tabs, by two readers", _FACTS, _TABS, _facts, prepare=_load_compiled),
    Parser("roles", _ROLES, _TABS, _roles),
    Parser("positions", (b"0", b"2", b"seller", b"item"), (*BYTES, b"9" * 5000, b"buyer"), _arity),
    Parser("JSON lines of facts", _JSON_FACTS, _JSON, _json_facts),
    *(
        Parser(f"statements, {form}", corpus, (*_JSON, b"P69", b"Q2", b"_h", b",P1,", b'"N": 2', b"%"), _statements(form))
        for form, corpus in _STATEMENTS.items()
    ),
)

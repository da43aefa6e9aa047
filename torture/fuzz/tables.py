"""Tables in text files: their headers alone, and whole files through the database that reads them."""

from __future__ import annotations

import gzip
import itertools
import os
from functools import cache
from typing import Any

from relatum.tables.engine import Workspace
from relatum.tables.text_files import DelimitedSource
from relatum.tables.text_form import TextForm
from torture.fuzz.mutations import BYTES
from torture.fuzz.parser import Parser
from torture.fuzz.scratch import holding

__all__ = ["TABLES"]

_CSV = (
    b"seller,buyer,item\ndrew,alex,book\nalex,drew,coffee\n",
    b'id;name;price\r\n1;"say ""hi""";2,50\r\n2;;3\r\n',
    "wer\twen\twann\nJürgen\t日本\t2026-01-01\n😀\té\t\n".encode(),
    b'"a","b"\n"line\nfeed","x"\n"1","2"\n',
    b"\xef\xbb\xbfa|b|c\n1|2.5|true\n3|4e5|false\n",
    b",x,y\n0,=1+2,NULL\n1,-0,nan\n",
    gzip.compress(b"a,b\n1,2\n3,4\n", mtime=0),
)
_TOKENS = (*BYTES, b",", b";", b'""', b'"a"', b"\n1,2", b"2026-02-30", b"1e999", b"-0", b"=1+2", b"NULL", b"a,b\n", b"\r")
_FORMS = (
    TextForm(),
    TextForm(),
    TextForm(header=False),
    TextForm(","),
    TextForm(encoding="latin-1"),
    TextForm(encoding="utf-16"),
)


def _form(content: bytes) -> TextForm:
    return _FORMS[len(content) % len(_FORMS)]


def _header(content: bytes) -> str | None:
    nowhere: Any = None
    (table,) = DelimitedSource(nowhere, holding(content, ".csv"), "t", _form(content)).tables()
    names = [column.name for column in table.columns]
    return None if len(set(names)) == len(names) >= 2 else f"columns {names!r:.200}"


_numbers = itertools.count()


@cache
def _workspace(process: int) -> Workspace:
    return Workspace()


def _table(content: bytes) -> str | None:
    workspace = _workspace(os.getpid())
    source = DelimitedSource(workspace, holding(content, ".csv"), "t", _form(content))
    (table,) = source.tables()
    target = f"t{next(_numbers)}"
    try:
        source.stage(table, table.columns, target)
    finally:
        source.close()
    return None


TABLES = (
    Parser("headers of CSV", _CSV, _TOKENS, _header),
    Parser("tables of CSV, by DuckDB", _CSV, _TOKENS, _table, share=0.01),
)

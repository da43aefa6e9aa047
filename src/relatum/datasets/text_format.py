"""Facts as tab-separated text: read chunk by chunk, and written.

A file is read in chunks of whole lines. A chunk with nothing odd in it is taken apart by operations on all of its
lines at once; any other goes through `_read_lines`, line by line, which knows every rule and can say which line broke
it. The two agree by test, so the slow one is also the definition of the format.
"""

from __future__ import annotations

import gzip
import itertools
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np

from relatum import memory
from relatum.data.hypergraph import Hypergraph
from relatum.data.schema import RelationSchema, Schema
from relatum.data.vocabulary import Ids, Vocabulary, fault_of
from relatum.errors import DataError, FormatError
from relatum.progress import progress

__all__ = ["Layout", "TupleReader", "read_roles", "read_tuples", "whole_lines", "write_roles", "write_tuples"]

CHUNK_BYTES = 4 << 20  # about 60 MB of Python strings while a chunk is taken apart
LONGEST_LINE = 16 << 20  # a file without line ends must not fill the memory
MOST_UNPACKED = 200  # times its size that a gzip file unpacks to; facts come to about 10, and deflate to 1000 at most
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def whole_lines(path: Path) -> Iterator[bytes]:
    """Yield a file's bytes in pieces of whole lines, each ending in a line feed."""
    size = path.stat().st_size
    with path.open("rb") as raw, progress(f"reading {path.name}", size) as advance:
        packed = raw.read(2) == b"\x1f\x8b"
        raw.seek(0)
        source = gzip.GzipFile(fileobj=raw) if packed else raw
        rest, first, reported, unpacked = b"", True, 0, 0
        most = max(MOST_UNPACKED * size, 4 * memory.budget()) if packed else None
        while piece := _read(path, source.read):
            unpacked += len(piece)
            if most is not None and unpacked > most:
                raise FormatError(path, None, f"unpacks to more than {most >> 20} MiB; if these are facts, unpack it first")
            if first:
                piece, first = piece.removeprefix(_BYTE_ORDER_MARK), False
            whole, end, tail = piece.rpartition(b"\n")
            if end:
                yield rest + whole + end
                rest = tail
            else:
                rest += piece
            if len(rest) > LONGEST_LINE:
                raise FormatError(path, None, f"a line is longer than {LONGEST_LINE >> 20} MiB: not a file of facts")
            reported, before = raw.tell(), reported
            advance(reported - before)
        if rest:
            yield rest + b"\n"


def _read(path: Path, read: Callable[[int], bytes]) -> bytes:
    try:
        return read(CHUNK_BYTES)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise FormatError(path, None, f"damaged gzip file ({error})") from None


_MOST_LISTED = 1000  # skipped lines that are kept with their reasons; the rest are counted
_COMMENT = "#"
_TAB, _LINE_FEED = 9, 10


@dataclass(frozen=True, slots=True)
class Layout:
    """Where a line holds what: the relation's column (from 0), columns to pass over, and which odd lines to skip."""

    relation_column: int = 0
    ignored_columns: tuple[int, ...] = ()
    comments: bool = False
    blank_lines: bool = False

    def __post_init__(self) -> None:
        if min(self.relation_column, *self.ignored_columns, 0) < 0:
            raise DataError("layout: columns count from 0")
        if self.relation_column in self.ignored_columns:
            raise DataError(f"layout: column {self.relation_column} cannot be both the relation and ignored")

    def entity_columns(self, fields: int) -> list[int]:
        """Return the columns that hold entities in a line of so many fields; none if a promised column is missing."""
        if max(self.relation_column, *self.ignored_columns, 0) >= fields:
            return []
        return [c for c in range(fields) if c != self.relation_column and c not in self.ignored_columns]


_PLAIN = Layout()


class _OddError(Exception):
    """A chunk that needs to be read line by line."""


class _Interner(dict[str, int]):
    """A dict that numbers names as it meets them, and stops at one that looks odd."""

    def __init__(self, odd_start: str = "") -> None:
        self._odd_start = odd_start

    def __missing__(self, name: str) -> int:
        if name.isspace() or (self._odd_start and name.startswith(self._odd_start)):
            raise _OddError
        self[name] = number = len(self)
        return number


Facts = dict[int, list[tuple[Ids, Ids]]]  # by arity: pieces of relations int32[n] and entities int32[arity, n]


class TupleReader:
    """Reads files into hypergraphs over one common vocabulary: `read` each, then `finish`."""

    def __init__(self, *, skip_bad: bool = False) -> None:
        self._skip_bad = skip_bad
        self._skipped: list[str] = []
        self._skipped_count = 0
        self._entities, self._relations = _Interner(), _Interner(odd_start=_COMMENT)
        self._arities: dict[int, int] = {}
        self._files: list[Facts] = []

    @property
    def skipped(self) -> tuple[str, ...]:
        """The lines passed over so far, each with its reason; the last entry counts those that are not listed."""
        more = self._skipped_count - len(self._skipped)
        return (*self._skipped, *([f"... and {more} more lines"] if more else []))

    def read(self, path: Path, layout: Layout = _PLAIN) -> None:
        """Read one file."""
        facts: Facts = {}
        line = 1
        for chunk in whole_lines(path):
            chunk = chunk.replace(b"\r\n", b"\n")
            try:
                pieces = self._read_columns(chunk, layout)
            except (_OddError, UnicodeDecodeError):
                pieces = self._read_lines(path, line, chunk, layout)
            for relations, columns in pieces:
                facts.setdefault(len(columns), []).append((relations, columns))
            line += chunk.count(b"\n")
        self._files.append(facts)

    def finish(self, roles: Iterable[RelationSchema] = ()) -> list[Hypergraph]:
        """Return one hypergraph per file read; names that only occur in skipped lines are not in the vocabulary.

        Args:
            roles: relations whose positions have roles; one that has no facts is in the schema all the same.
        """
        described = {relation.name: relation for relation in roles}
        everything = [piece for facts in self._files for pieces in facts.values() for piece in pieces]
        entities, entity_ids = _sort_names(self._entities, (columns for _, columns in everything))
        relations, relation_ids = _sort_names(self._relations, (relations for relations, _ in everything), described)
        vocabulary = Vocabulary(entities)
        schema = Schema(self._describe(name, described.get(name)) for name in relations)
        graphs = []
        for facts in self._files:
            blocks = (_join(facts[arity], relation_ids, entity_ids) for arity in sorted(facts))
            graphs.append(Hypergraph.sort(vocabulary, schema, blocks))
            facts.clear()
        return graphs

    def _describe(self, name: str, described: RelationSchema | None) -> RelationSchema:
        arity = self._arities.get(self._relations.get(name, -1))
        if described is None:
            return RelationSchema(name, arity or 0)
        if arity not in (None, described.arity):
            raise DataError(f"relation {name!r} has arity {arity} in its facts but roles for {described}")
        return described

    def _read_columns(self, chunk: bytes, layout: Layout) -> list[tuple[Ids, Ids]]:
        """Return the facts of a chunk by its columns, or raise `_OddError` if any line is not a plain fact."""
        symbols = np.frombuffer(chunk, np.uint8)
        ends = np.flatnonzero((symbols == _TAB) | (symbols == _LINE_FEED))  # of fields
        empty_field = np.diff(ends, prepend=-1).min() == 1
        if empty_field or chunk.startswith(b"#") or any(odd in chunk for odd in (b"\n#", b"\r", b"\0")):
            raise _OddError
        fields = np.diff(np.flatnonzero(symbols[ends] == _LINE_FEED), prepend=-1)  # per line
        lines = chunk.decode().split("\n")
        lines.pop()
        pieces = []
        met: dict[int, int] = {}
        for count in np.unique(fields).tolist():
            positions = layout.entity_columns(count)
            if not positions:
                raise _OddError
            same = fields == count
            chosen = lines if same.all() else list(itertools.compress(lines, same.tolist()))
            cells = "\t".join(chosen).split("\t")
            relations = _numbers(self._relations, cells[layout.relation_column :: count])
            for relation in np.unique(relations).tolist():
                known = self._arities.get(relation, met.setdefault(relation, len(positions)))
                if known != len(positions):
                    raise _OddError
            columns = np.empty((len(positions), len(chosen)), np.int32)
            for target, position in zip(columns, positions, strict=True):
                target[:] = _numbers(self._entities, cells[position::count])
            pieces.append((relations, columns))
        self._arities.update(met)
        return pieces

    def _read_lines(self, path: Path, line: int, chunk: bytes, layout: Layout) -> list[tuple[Ids, Ids]]:
        """Return the facts of a chunk line by line; a bad line is skipped and noted, or an error that names it."""
        rows: dict[int, list[tuple[int, ...]]] = {}
        for number, raw in enumerate(chunk[:-1].split(b"\n"), start=line):
            try:
                names = _split_line(raw, layout)
                if names is not None:
                    relation, *entities = names
                    key = self._check_arity(relation, len(entities))
                    rows.setdefault(len(entities), []).append((key, *map(self._entities.__getitem__, entities)))
            except DataError as error:
                if not self._skip_bad:
                    raise FormatError(path, number, str(error)) from None
                self._skipped_count += 1
                if len(self._skipped) < _MOST_LISTED:
                    self._skipped.append(f"{path.name}:{number}: {error}")
        tables = (np.array(found, np.int32).T for found in rows.values())
        return [(table[0].copy(), np.ascontiguousarray(table[1:])) for table in tables]

    def _check_arity(self, relation: str, arity: int) -> int:
        number = self._relations[relation]
        if (known := self._arities.setdefault(number, arity)) != arity:
            raise DataError(f"relation {relation!r} has {arity} entities here but {known} in an earlier line")
        return number


def _split_line(raw: bytes, layout: Layout) -> list[str] | None:
    """Return the relation and the entities of a line, None for a line to pass over, or raise a `DataError`."""
    if not raw.strip():
        if layout.blank_lines:
            return None
        raise DataError("blank line; Layout(blank_lines=True) skips them")
    if raw.startswith(b"#"):
        if layout.comments:
            return None
        raise DataError("comment; Layout(comments=True) skips them")
    try:
        fields = raw.decode().split("\t")
    except UnicodeDecodeError as error:
        raise DataError(f"not valid UTF-8 at byte {error.start} of the line") from None
    positions = layout.entity_columns(len(fields))
    if not positions and len(fields) <= max(layout.relation_column, *layout.ignored_columns, 0):
        raise DataError(f"{len(fields)} column{'s' * (len(fields) > 1)}, too few for the layout")
    chosen = [fields[position] for position in (layout.relation_column, *positions)]
    if not positions:
        raise DataError(f"relation {chosen[0]!r} has no entities")
    if fault := next((fault for fault in map(fault_of, chosen) if fault), None):
        raise DataError(fault)
    if chosen[0].startswith("#"):
        raise DataError(f"relation {chosen[0]!r} starts with '#'")
    return chosen


def read_tuples(path: Path, layout: Layout = _PLAIN, *, skip_bad: bool = False) -> Hypergraph:
    """Return the hypergraph in one file."""
    reader = TupleReader(skip_bad=skip_bad)
    reader.read(path, layout)
    return reader.finish()[0]


def write_tuples(graph: Hypergraph, file: BinaryIO) -> None:
    """Write a hypergraph as tab-separated text, sorted by relation and entities."""
    names = np.array(graph.entities.names, object)
    for relation in graph.schema.names:
        columns = graph.table(relation).columns
        for start in range(0, columns.shape[1], 1 << 16):
            cells = names[columns[:, start : start + (1 << 16)]].tolist()
            lines = map("\t".join, zip(itertools.repeat(relation), *cells, strict=False))
            file.write(("\n".join(lines) + "\n").encode())


def read_roles(path: Path) -> list[RelationSchema]:
    """Return the relations in a file of roles: `relation<TAB>role<TAB>...`, one a line."""
    relations: dict[str, RelationSchema] = {}
    line = 0
    for chunk in whole_lines(path):
        for raw in chunk.replace(b"\r\n", b"\n")[:-1].split(b"\n"):
            line += 1
            try:
                name, *roles = _split_line(raw, _PLAIN) or [""]
                if name in relations:
                    raise DataError(f"relation {name!r} has roles already")
                relations[name] = RelationSchema(name, len(roles), tuple(roles))
            except DataError as error:
                raise FormatError(path, line, str(error)) from None
    return list(relations.values())


def write_roles(schema: Schema, file: BinaryIO) -> None:
    """Write the roles of those relations that have any."""
    for relation in schema:
        if relation.roles:
            file.write(("\t".join((relation.name, *relation.roles)) + "\n").encode())


def _numbers(interner: _Interner, names: list[str]) -> Ids:
    return np.fromiter(map(interner.__getitem__, names), np.int32, len(names))


def _sort_names(interner: _Interner, used: Iterable[Ids], also: Iterable[str] = ()) -> tuple[list[str], Ids]:
    """Return the names that are used, or wanted also, sorted; and for each of the interner's numbers its name's index."""
    occurs = np.zeros(len(interner), np.bool_)
    for ids in used:
        occurs[ids.ravel()] = True
    used_names = itertools.compress(interner, occurs.tolist())
    names = sorted({*used_names, *also} if also else used_names)
    new_ids = np.full(len(interner), -1, np.int32)
    for number, name in enumerate(names):
        if (old := interner.get(name)) is not None:
            new_ids[old] = number
    return names, new_ids


def _join(pieces: list[tuple[Ids, Ids]], relation_ids: Ids, entity_ids: Ids) -> tuple[Ids, Ids]:
    """Return the pieces of one arity as one, renumbered; the list is emptied, so that memory is held once."""
    total = sum(len(relations) for relations, _ in pieces)
    relations = np.empty(total, np.int32)
    columns = np.empty((len(pieces[0][1]), total), np.int32)
    start = 0
    for piece_relations, piece_columns in pieces:
        stop = start + len(piece_relations)
        relations[start:stop] = relation_ids[piece_relations]
        columns[:, start:stop] = entity_ids[piece_columns]
        start = stop
    pieces.clear()
    return relations, columns

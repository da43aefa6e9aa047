"""Facts as tab-separated text: read chunk by chunk, and written.

A file is read in chunks of whole lines. In a file that is not small, a chunk with nothing odd in it is taken apart by a
compiled loop; any other goes through `_read_lines`, line by line, which knows every rule and can say which line broke it.
The two agree by test, so the slow one is also the definition of the format.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from relatum.data.hypergraph import Hypergraph
from relatum.data.schema import RelationSchema, Schema
from relatum.data.vocabulary import Ids, Vocabulary
from relatum.datasets.text_lines import CHUNK_BYTES, MOST_COLUMNS, PLAIN, Layout, SkippedLines, split_line, whole_lines
from relatum.errors import DataError, FormatError

if TYPE_CHECKING:
    from relatum.datasets.compiled_names import ChunkScan, CompiledNames

_MOST_SKIPPED = 1_000_000  # bad lines of a file, unless as many are facts
_LONG_LINE = 1 << 20  # bytes; of a longer one compiled loops would need far more memory to find its many columns
_SMALL = 1 << 20  # bytes of a file that is read line by line before compiled loops are loaded

Facts = dict[int, list[tuple[Ids, Ids]]]  # by arity: pieces of relations int32[n] and entities int32[arity, n]


class _PlainNames(dict[str, int]):
    """A dict that numbers names as it meets them: quick to start, and the definition of what the compiled way does."""

    def __missing__(self, name: str) -> int:
        self[name] = number = len(self)
        return number

    def number_all(self, names: Sequence[str]) -> Ids:
        """Return the number of each name; a new one gets the next."""
        return np.fromiter(map(self.__getitem__, names), np.int32, len(names))

    def in_order(self, used: np.ndarray[tuple[int], np.dtype[np.bool_]] | None) -> tuple[list[str], Ids]:
        """Return the names that are used, sorted, and for each number its name's index, -1 if it is not used."""
        return _sort_names(self, used)


def _sort_names(
    names: Iterable[str], used: np.ndarray[tuple[int], np.dtype[np.bool_]] | None, also: Iterable[str] = ()
) -> tuple[list[str], Ids]:
    """Return the names that are used, all if that is None, and others that are wanted, sorted; and each one's new index."""
    numbered = list(names)
    chosen = numbered if used is None else itertools.compress(numbered, used.tolist())
    ordered = sorted({*chosen, *also})
    index = {name: number for number, name in enumerate(ordered)}
    return ordered, np.fromiter((index.get(name, -1) for name in numbered), np.int32, len(numbered))


class TupleReader:
    """Reads files into hypergraphs over one common vocabulary: `read` each, then `finish`."""

    def __init__(self, *, skip_bad: bool = False) -> None:
        self._skipped = SkippedLines(skip_bad)
        self._entities: _PlainNames | CompiledNames = _PlainNames()
        self._relations: _PlainNames | CompiledNames = _PlainNames()
        self._scan: ChunkScan | None = None
        self._some_unused = False  # whether names may have been met that are in no fact
        self._arities = np.zeros(0, np.int32)  # of each relation, 0 where it is not known
        self._files: list[Facts] = []

    @property
    def skipped(self) -> tuple[str, ...]:
        """The lines passed over so far, each with its reason; the last entry counts those that are not listed."""
        return self._skipped.listed

    def read(self, path: Path, layout: Layout = PLAIN, chunks: Iterable[bytes] | None = None) -> None:
        """Read one file; `chunks`, where it is not one of facts, are its facts in pieces of whole lines."""
        facts: Facts = {}
        line, before = 1, self._skipped.count
        if self._scan is None and path.stat().st_size >= _SMALL:
            self._load_compiled()
        for chunk in whole_lines(path) if chunks is None else chunks:
            pieces = self._blank(path, line, chunk, layout) if chunk.isspace() else self._read_columns(chunk, layout)
            if pieces is None:
                self._some_unused = True
                pieces = self._read_lines(path, line, chunk.replace(b"\r\n", b"\n"), layout)
            for relations, columns in pieces:
                facts.setdefault(len(columns), []).append((relations, columns))
            line += chunk.count(b"\n")
            self._require_facts(path, line - 1, self._skipped.count - before)
        self._files.append(facts)

    def finish(self, roles: Iterable[RelationSchema] = ()) -> list[Hypergraph]:
        """Return one hypergraph per file read; names that only occur in skipped lines are not in the vocabulary.

        Args:
            roles: relations whose positions have roles; one that has no facts is in the schema all the same.
        """
        described = {relation.name: relation for relation in roles}
        everything = [piece for facts in self._files for pieces in facts.values() for piece in pieces]
        used_relations, used_entities = None, None
        if self._some_unused:
            used_relations = _used(len(self._relations), (relations for relations, _ in everything))
            used_entities = _used(len(self._entities), (columns for _, columns in everything))
        del everything
        arities = dict(zip(self._relations, self._arities.tolist(), strict=False))
        names, relation_ids = _sort_names(self._relations, used_relations, described)
        schema = Schema(_describe(name, arities.get(name, 0), described.get(name)) for name in names)
        entities, entity_ids = self._entities.in_order(used_entities)
        self._forget_names()
        vocabulary = Vocabulary(entities)
        graphs = []
        for facts in self._files:
            blocks = (_join(facts.pop(arity), relation_ids, entity_ids) for arity in sorted(facts))
            graphs.append(Hypergraph.sort(vocabulary, schema, blocks))
        return graphs

    def _load_compiled(self) -> None:
        """Go on with compiled loops; names keep their numbers."""
        from relatum.datasets.compiled_names import ChunkScan, CompiledNames

        relations, entities = CompiledNames(self._relations), CompiledNames(self._entities)
        self._relations, self._entities, self._scan = relations, entities, ChunkScan(relations, entities)

    def _forget_names(self) -> None:
        """Drop the tables of names before facts are sorted, so that memory is held once."""
        self._scan, self._relations, self._entities = None, _PlainNames(), _PlainNames()

    def _blank(self, path: Path, line: int, chunk: bytes, layout: Layout) -> list[tuple[Ids, Ids]] | None:
        """Return no facts for a chunk of blank lines, of which there may be millions; None where the first is an error."""
        if not layout.blank_lines:
            if not self._skipped.skip_bad:
                return None
            try:
                split_line(b"", layout)
            except DataError as error:
                self._skipped.add(path, line, error, chunk.count(b"\n"))
        return []

    def _require_facts(self, path: Path, lines: int, skipped: int) -> None:
        """Refuse to pass over lines without end in a file that is not one of facts."""
        if skipped > _MOST_SKIPPED and 2 * skipped > lines:
            reason = f"more than half of its first {lines:,} lines are no facts: is it the right file, and the right layout?"
            raise FormatError("not-facts", path, None, reason)

    def _read_columns(self, chunk: bytes, layout: Layout) -> list[tuple[Ids, Ids]] | None:
        """Return the facts of a chunk by compiled loops, or None if there are none, or any line is not a plain fact."""
        if self._scan is None or len(chunk) > CHUNK_BYTES + _LONG_LINE:
            return None
        from relatum.kernels.field_scan import columns_of, same_arities

        try:
            found = self._scan.lines(chunk, layout)
        except UnicodeDecodeError:
            return None
        if found is None:
            return None
        if found[1].max(initial=0) > MOST_COLUMNS:
            return None  # the other reader says which line
        self._make_room_for_arities()
        return columns_of(*found) if same_arities(found[0], found[1], self._arities) else None

    def _read_lines(self, path: Path, line: int, chunk: bytes, layout: Layout) -> list[tuple[Ids, Ids]]:
        """Return the facts of a chunk line by line; a bad line is skipped and noted, or an error that names it."""
        found: dict[int, tuple[list[int], list[str]]] = {}
        numbers: dict[str, int] = {}
        for number, raw in enumerate(chunk[:-1].split(b"\n"), start=line):
            try:
                names = split_line(raw, layout)
                if names is not None:
                    relation, *entities = names
                    if relation not in numbers:
                        numbers[relation] = self._relations[relation]
                    self._check_arity(relation, numbers[relation], len(entities))
                    relations, cells = found.setdefault(len(entities), ([], []))
                    relations.append(numbers[relation])
                    cells.extend(entities)
            except DataError as error:
                self._skipped.add(path, number, error)
        return [
            (np.array(relations, np.int32), np.ascontiguousarray(self._entities.number_all(cells).reshape(-1, arity).T))
            for arity, (relations, cells) in found.items()
        ]

    def _check_arity(self, relation: str, number: int, arity: int) -> None:
        if number >= len(self._arities):
            self._make_room_for_arities()
        if (known := int(self._arities[number])) not in (0, arity):
            raise DataError("two-arities", f"relation {relation!r} has {arity} entities here but {known} in an earlier line")
        self._arities[number] = arity

    def _make_room_for_arities(self) -> None:
        if len(self._arities) < len(self._relations):
            more = 2 * len(self._relations) - len(self._arities)
            self._arities = np.concatenate([self._arities, np.zeros(more, np.int32)])


def _describe(name: str, arity: int, described: RelationSchema | None) -> RelationSchema:
    if described is None:
        return RelationSchema(name, arity)
    if arity not in (0, described.arity):
        raise DataError("roles-arity", f"relation {name!r} has arity {arity} in its facts but roles for {described}")
    return described


def read_tuples(path: Path, layout: Layout = PLAIN, *, skip_bad: bool = False) -> Hypergraph:
    """Return the hypergraph in one file."""
    reader = TupleReader(skip_bad=skip_bad)
    reader.read(path, layout)
    return reader.finish()[0]


def write_tuples(graph: Hypergraph, file: BinaryIO) -> None:
    """Write a hypergraph as tab-separated text, sorted by relation and entities."""
    for relation in graph.schema.names:
        columns = graph.table(relation).columns
        for start in range(0, columns.shape[1], 1 << 16):
            # Only the names of this piece are decoded, each once.
            numbers, cell_names = np.unique(columns[:, start : start + (1 << 16)], return_inverse=True)
            names = np.array([graph.entities[number] for number in numbers.tolist()], object)
            cells = names[cell_names].tolist()
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
                name, *roles = split_line(raw, PLAIN) or [""]
                if name in relations:
                    raise DataError("roles-twice", f"relation {name!r} has roles already")
                relations[name] = RelationSchema(name, len(roles), tuple(roles))
            except DataError as error:
                raise FormatError.of(path, line, error) from None
    return list(relations.values())


def write_roles(schema: Schema, file: BinaryIO) -> None:
    """Write the roles of those relations that have any."""
    for relation in schema:
        if relation.roles:
            file.write(("\t".join((relation.name, *relation.roles)) + "\n").encode())


def _used(count: int, pieces: Iterable[Ids]) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Return which of so many numbers occur."""
    occurs = np.zeros(count, np.bool_)
    for numbers in pieces:
        occurs[numbers.ravel()] = True
    return occurs


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

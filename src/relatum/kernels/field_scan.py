"""The fields of tab-separated lines, found, hashed and looked up in one compiled pass over their bytes.

A line that is anything but a plain fact (empty fields, comments, NUL, a carriage return that ends no line, too few columns)
is odd, and so is the piece of text that holds it: nothing is said about it but that.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from relatum.arrays import Int32, Int64
from relatum.kernels import parallel
from relatum.kernels.byte_words import control_bytes, first_byte, fold, low_bytes, word_at
from relatum.kernels.jit import exact
from relatum.kernels.name_table import MISS_FIELDS, NameTable, look_up

ENTITY, RELATION, IGNORED = 0, 1, 2  # what a column holds


_PART = 1 << 18  # bytes that one thread takes at a time, about
_TAB, _LINE_FEED, _RETURN, _NUMBER_SIGN = 9, 10, 13, 35
_U = np.uint64


@dataclass(frozen=True, slots=True)
class _Room:
    """Arrays that one part of a text is scanned into; they are used again for the next text."""

    relations: Int32
    arities: Int32
    entities: Int32
    relation_fields: Int64
    entity_fields: Int64


class FieldScan:
    """Scans texts of whole lines into numbers: of the relation and the entities of each line."""

    def __init__(self, relations: NameTable, entities: NameTable) -> None:
        self._relations, self._entities = relations, entities
        self._rooms: list[_Room] = []

    def scan(
        self, text: npt.NDArray[np.uint8], size: int, holds: npt.NDArray[np.uint8]
    ) -> tuple[Int32, Int32, Int32] | None:
        """Return relations int32[lines], arities int32[lines] and entities int32[their sum].

        None if a line is odd; then names of this text may be in the tables already. The text has lines of UTF-8, each ended
        by a line feed, in its first `size` bytes, and then padding. Every line must have the columns that `holds` says.
        """
        bounds = _line_cuts(text, size)
        counts = np.zeros((len(bounds) - 1, 5), np.int64)  # lines, entities, missed relations and entities, odd or not
        self._make_rooms(np.diff(bounds))
        relations, entities = self._relations, self._entities

        def part(number: int) -> None:
            room, count = self._rooms[number], counts[number]
            fields = room.arities, room.relation_fields, room.entity_fields
            _scan_lines(text, *bounds[number : number + 2], holds, relations.keys, entities.keys, fields, count)
            count[2] = look_up(text, room.relation_fields[: count[0]], *relations.arrays, room.relations)
            count[3] = look_up(text, room.entity_fields[: count[1]], *entities.arrays, room.entities)

        parallel.run(part, len(counts))
        if not counts[:, 4].all():
            return None
        for room, count in zip(self._rooms, counts.tolist(), strict=False):
            if not relations.add_missed(text, room.relation_fields[: count[2]], room.relations):
                return None
            if not entities.add_missed(text, room.entity_fields[: count[3]], room.entities):
                return None
        rooms = list(zip(self._rooms, counts.tolist(), strict=False))
        return (
            np.concatenate([room.relations[: count[0]] for room, count in rooms]),
            np.concatenate([room.arities[: count[0]] for room, count in rooms]),
            np.concatenate([room.entities[: count[1]] for room, count in rooms]),
        )

    def _make_rooms(self, sizes: Int64) -> None:
        for number, size in enumerate(sizes.tolist()):
            most = size // 2 + 1  # a field and its end are two bytes at least
            if number < len(self._rooms) and len(self._rooms[number].entities) >= most:
                continue
            ids = [np.empty(most, np.int32) for _ in range(3)]
            missed = [np.empty((most, MISS_FIELDS), np.int64) for _ in range(2)]
            self._rooms[number : number + 1] = [_Room(*ids, *missed)]


def _line_cuts(text: npt.NDArray[np.uint8], size: int) -> Int64:
    """Return where parts of a text begin and end: about `_PART` bytes each, and whole lines."""
    bounds = [0]
    whole = text.data[:size]
    while bounds[-1] < size:
        wanted = bounds[-1] + _PART
        if wanted < size:
            while (found := bytes(whole[wanted : wanted + 4096]).find(b"\n")) < 0:
                wanted += 4096
            wanted += found + 1
        bounds.append(min(wanted, size))
    return np.array(bounds, np.int64)


@exact
def _scan_lines(text, start, stop, holds, relation_keys, entity_keys, room, counts):  # type: ignore[no-untyped-def]
    """Scan whole lines from start to before stop; counts[4] is 0 if one is odd, else 1."""
    arities, relation_fields, entity_fields = room
    lines = fields = 0
    at, column, first = start, 0, 0
    counts[4] = 0
    while at < stop:
        if column == 0 and text[at] == _NUMBER_SIGN:
            return
        kind = ENTITY if column >= len(holds) else np.int64(holds[column])
        keys = relation_keys if kind == RELATION else entity_keys
        field, mixed, end = at, keys[0], -1
        byte = _U(0)
        while end < 0:
            word = word_at(text, at)
            marks = control_bytes(word)
            while marks != 0:
                offset = first_byte(marks)
                byte = (word >> (offset << _U(3))) & _U(255)
                if byte in (_TAB, _LINE_FEED, _RETURN, 0):
                    word = low_bytes(word, offset)
                    end = at + np.int64(offset)
                    break
                marks &= marks - _U(1)
            mixed = fold(mixed ^ word, keys[1])
            at += 8
        length = end - field
        at = end + 1
        if byte == _RETURN:
            if text[at] != _LINE_FEED:
                return
            at += 1
        if length == 0 or byte == 0:
            return
        if kind != IGNORED:
            tag = np.int64(fold(mixed ^ _U(length), keys[2]) >> _U(32))
            if kind == RELATION:
                if text[field] == _NUMBER_SIGN:
                    return
                found, index = relation_fields[lines], lines
            else:
                found, index = entity_fields[fields], fields
                fields += 1
            found[0], found[1], found[2], found[3] = field, length, tag, index
        column += 1
        if byte != _TAB:
            if column < len(holds) or fields == first:
                return
            arities[lines] = fields - first
            lines += 1
            column, first = 0, fields
    counts[0], counts[1], counts[4] = lines, fields, 1


@exact
def same_arities(relations, arities, known):  # type: ignore[no-untyped-def]
    """Return whether every relation has one arity, which `known` has or else learns; if not, nothing is learned."""
    for i in range(len(relations)):
        before = known[relations[i]]
        if before == 0:
            known[relations[i]] = -arities[i]  # may be taken back
        elif abs(before) != arities[i]:
            for k in range(i):
                known[relations[k]] = max(known[relations[k]], 0)
            return False
    for i in range(len(relations)):
        known[relations[i]] = abs(known[relations[i]])
    return True


def columns_of(relations: Int32, arities: Int32, entities: Int32) -> list[tuple[Int32, Int32]]:
    """Return lines by arity: the relations int32[n] and entities int32[arity, n] of each."""
    if not len(relations):
        return []
    if (arities == arities[0]).all():
        return [(relations, np.ascontiguousarray(entities.reshape(len(relations), -1).T))]
    ends = np.cumsum(arities, dtype=np.int64)
    order = np.argsort(arities, kind="stable")
    bounds = [0, *(np.flatnonzero(np.diff(arities[order])) + 1).tolist(), len(order)]
    found = []
    for first, last in itertools.pairwise(bounds):
        lines = order[first:last]
        arity = int(arities[lines[0]])
        columns = np.empty((arity, len(lines)), np.int32)
        _pick(entities, ends[lines] - arity, columns)
        found.append((relations[lines], columns))
    return found


@exact
def _pick(entities, starts, columns):  # type: ignore[no-untyped-def]
    for i in range(len(starts)):
        for k in range(len(columns)):
            columns[k, i] = entities[starts[i] + k]

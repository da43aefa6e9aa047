"""Files of statements: which ones make a split, which form they are in, read as lines of facts, and written."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import numpy as np

from relatum.data.hypergraph import Hypergraph
from relatum.data.schema import RelationSchema
from relatum.datasets.registry import PARTS
from relatum.datasets.text_lines import SkippedLines, only_file, whole_lines
from relatum.errors import DataError
from relatum.statements.folding import Folding
from relatum.statements.forms import Form, form_of_line, write_wikipeople
from relatum.statements.statement import Statement, fact_of, roles_of, statement_of

_NAMES = ("n-ary_{}", "{}")
_ENDINGS = (".json", ".jsonl", ".ndjson", ".txt", ".csv")
_LINES = 1 << 14  # facts that are handed on at once


def find_statement_files(path: Path) -> dict[str, Path]:
    """Return the files of statements by part; those that exist, and none if there is no `train`."""
    if path.is_file():
        return {"train": path}
    files = {}
    for part in PARTS:
        names = [name.format(part) + ending + packed for name in _NAMES for ending in _ENDINGS for packed in ("", ".gz")]
        if (found := only_file(path, part, names)) is not None:
            files[part] = found
    return files if "train" in files else {}


def recognise_form(path: Path) -> Form | None:
    """Return the form of the statements in a file or directory, None unless its first line can be nothing else."""
    try:
        train = find_statement_files(path).get("train")
    except DataError:
        return None
    if train is None or train.suffix == ".csv" or any((path / name).exists() for name in ("train.tsv", "train.tsv.gz")):
        return None
    with contextlib.closing(whole_lines(train)) as chunks:
        return form_of_line(next(chunks, b"").partition(b"\n")[0])


class StatementReader:
    """Reads files of one form as lines of facts, and counts what it meets and what it changes."""

    def __init__(self, form: Form, train: Path, min_count: int = 0, *, skip_bad: bool = False) -> None:
        """Count training statements first, if a relation with qualifiers must have `min_count` so as not to be folded."""
        self.statements = 0
        self.deprecated = 0
        self._form, self._skipped = form, SkippedLines(skip_bad)
        self._relations: set[str] = set()
        self._folding: Folding | None = None
        if min_count > 1:
            self._folding = Folding(self.read(train), min_count)
            self.statements, self.deprecated, self._skipped = 0, 0, SkippedLines(skip_bad)

    @property
    def skipped(self) -> tuple[str, ...]:
        """What was passed over, each with its reason."""
        return self._skipped.listed

    @property
    def counts(self) -> dict[str, int]:
        """How many statements there were, how many of them were left out or folded, and what they lost."""
        folded, dropped = (self._folding.folded, self._folding.dropped) if self._folding else (0, 0)
        read = {"statements": self.statements, "deprecated": self.deprecated}
        return {**read, "folded": folded, "dropped_qualifiers": dropped}

    def schema(self) -> list[RelationSchema]:
        """Return the relations met so far, with their roles."""
        found = ((name, roles_of(name)) for name in sorted(self._relations))
        return [RelationSchema(name, len(roles), roles) for name, roles in found]

    def read(self, path: Path) -> Iterator[Statement]:
        """Yield the statements of a file, as they come."""
        number = 0
        for chunk in whole_lines(path):
            for raw in chunk.replace(b"\r\n", b"\n")[:-1].split(b"\n"):
                number += 1
                try:
                    for found in self._form.parse(raw):
                        if isinstance(found, Statement):
                            self.statements += 1
                            yield found
                        elif found is None:
                            self.deprecated += 1
                        else:
                            self._skipped.add(path, number, found)
                except DataError as error:
                    self._skipped.add(path, number, error)

    def fact_lines(self, path: Path) -> Iterator[bytes]:
        """Yield the facts of a file in pieces of whole lines."""
        facts = (fact_of(self._folding.fold(one) if self._folding else one) for one in self.read(path))
        while piece := list(itertools.islice(facts, _LINES)):
            self._relations.update(fact[0] for fact in piece)
            yield "".join("\t".join(fact) + "\n" for fact in piece).encode()


def statements_of(graph: Hypergraph) -> Iterator[Statement]:
    """Yield the statements of facts, sorted by head; a fact that is of no statement is a `DataError`."""
    blocks = list(graph.blocks.values())
    if not blocks:
        return
    which = np.repeat(np.arange(len(blocks), dtype=np.int32), [len(block) for block in blocks])
    rows = np.concatenate([np.arange(len(block), dtype=np.int32) for block in blocks])
    order = np.argsort(np.concatenate([block.columns[0] for block in blocks]), kind="stable")
    entities, relations = graph.entities, graph.schema.names
    for start in range(0, len(order), _LINES):
        piece = order[start : start + _LINES]
        for number, row in zip(which[piece].tolist(), rows[piece].tolist(), strict=True):
            block = blocks[number]
            named = [entities[entity] for entity in block.columns[:, row].tolist()]
            yield statement_of((relations[int(block.relations[row])], *named))


def write_statements(graph: Hypergraph, file: BinaryIO) -> None:
    """Write the statements of facts, as WikiPeople has them."""
    for line in write_wikipeople(statements_of(graph)):
        file.write(line)

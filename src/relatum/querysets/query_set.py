"""Shapes of queries, queries with graded answers, and the files that hold them.

A shape says which variables the atoms have; every other position of an atom holds a constant. The binary shapes are those of
the literature on complex queries over triples: p is one step further along a relation, i an intersection, u a union, d a
difference. Any position of a fact may be open, so no shape needs an inverse relation. Shapes that end with -n are over facts
of any arity from 2 up, at least one of them of arity 3 or more: the positions that no variable has are bound, all of them.

The files are one line of JSON a query, and a manifest beside:

manifest.json    the data and its checksums, part, seed, counts, the relations, and the checksum of queries.jsonl
queries.jsonl    {"shape": "2p", "expression": ..., "datalog": ..., "constants": [...],
                  "easy": [...], "hard": [...], "full_hard": [...]}
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from relatum.algebra import Expression, Relation, datalog, parse
from relatum.algebra.node import post_order
from relatum.data.schema import RelationSchema, Schema
from relatum.errors import DataError, FormatError, RelatumError, SettingError
from relatum.files import atomic_directory, read_document, sha256_of, write_document

_FORMAT, _VERSION = "relatum-queries", 1
_MANIFEST, _QUERIES = "manifest.json", "queries.jsonl"
_LONGEST_LINE = 1 << 26  # bytes

Answers = tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Shape:
    """A shape of queries.

    `atoms` are the variables of each atom; `rules` are the atoms, by number, that give an answer together, any one of the
    rules being enough; `negated` are atoms that must not hold for it. `head` are the variables whose values are the answer.
    """

    name: str
    atoms: tuple[tuple[str, ...], ...]
    rules: tuple[tuple[int, ...], ...]
    negated: tuple[int, ...] = ()
    head: tuple[str, ...] = ("x",)
    n_ary: bool = False

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables, those of the head first."""
        return tuple(dict.fromkeys([*self.head, *(variable for atom in self.atoms for variable in atom)]))


def _conjunction(name: str, *atoms: str, head: str = "x") -> Shape:
    """Return the shape in which all atoms, given by their one-letter variables, must hold."""
    numbers = tuple(range(len(atoms)))
    return Shape(name, tuple(map(tuple, atoms)), (numbers,), head=tuple(head), n_ary=name.endswith("-n"))


SHAPES: dict[str, Shape] = {
    shape.name: shape
    for shape in (
        _conjunction("1p", "x"),
        _conjunction("2p", "v", "vx"),
        _conjunction("3p", "v", "vw", "wx"),
        _conjunction("2i", "x", "x"),
        _conjunction("3i", "x", "x", "x"),
        _conjunction("ip", "v", "v", "vx"),
        _conjunction("pi", "v", "vx", "x"),
        Shape("2u", (("x",), ("x",)), ((0,), (1,))),
        Shape("up", (("v",), ("v",), ("v", "x")), ((0, 2), (1, 2))),
        Shape("2d", (("x",), ("x",)), ((0,),), negated=(1,)),
        _conjunction("1p-n", "x"),
        _conjunction("2p-n", "v", "vx"),
        _conjunction("2i-n", "x", "x"),
        Shape("2d-n", (("x",), ("x",)), ((0,),), negated=(1,), n_ary=True),
        _conjunction("1e-n", "xv"),  # one position is answered for, another may hold anything
        _conjunction("2f-n", "xy", head="xy"),  # two free positions: an answer is a pair
    )
}


def find_shapes(names: Iterable[str]) -> list[Shape]:
    """Return the shapes with these names, in the order of `SHAPES`; all of them if there are no names."""
    wanted = set(names)
    for name in wanted:
        if name not in SHAPES:
            raise SettingError("no-queries", f"unknown shape {name!r}; known: {', '.join(SHAPES)}")
    return [shape for shape in SHAPES.values() if not wanted or shape.name in wanted]


@dataclass(frozen=True)
class GradedQuery:
    """A query and its answers, an entity for each column of the expression; `hard` has the `full_hard` ones too.

    What easy, hard and full-hard mean stands in `querysets.difficulty`.
    """

    shape: str
    expression: Expression
    constants: tuple[str, ...]
    easy: Answers
    hard: Answers
    full_hard: Answers

    def to_dict(self) -> dict[str, Any]:
        """Return the query as plain data: one line of the file."""
        query = {"shape": self.shape, "expression": str(self.expression), "datalog": datalog(self.expression)}
        answers = {name: list(map(list, getattr(self, name))) for name in ("easy", "hard", "full_hard")}
        return {**query, "constants": list(self.constants), **answers}

    @classmethod
    def from_dict(cls, given: Mapping[str, Any], schema: Schema) -> GradedQuery:
        """Return the query that `to_dict` gave; whatever does not fit is refused."""
        if (shape := given["shape"]) not in SHAPES:
            raise ValueError(f"shape {shape!r}")
        expression = parse(_text(given["expression"]), schema)
        easy, hard, full = (_answers(given[name], expression.arity, name) for name in ("easy", "hard", "full_hard"))
        if set(easy) & set(hard):
            raise ValueError("an answer that is easy and hard")
        if not set(full) <= set(hard):
            raise ValueError("a full-hard answer that is not hard")
        return cls(shape, expression, tuple(map(_text, given["constants"])), easy, hard, full)


@dataclass(frozen=True)
class ShapeCounts:
    """How many queries of a shape there are, how many of them have a full-hard answer, and their answers."""

    shape: str
    queries: int
    with_full_hard: int
    easy: int
    hard: int
    full_hard: int


@dataclass(frozen=True)
class QuerySet:
    """Queries over the facts of a dataset, of which those of `part` are held out.

    `count` queries of each of the `shapes` were wanted, `most_hard` is how many hard answers one may have, and `checksums`
    are those of the files of the facts.
    """

    data: str
    part: str
    seed: int
    count: int
    most_hard: int
    checksums: Mapping[str, str]
    shapes: tuple[str, ...]
    queries: tuple[GradedQuery, ...]

    def __len__(self) -> int:
        return len(self.queries)

    def __iter__(self) -> Iterator[GradedQuery]:
        return iter(self.queries)

    def of_shape(self, name: str) -> list[GradedQuery]:
        """Return the queries of one shape."""
        return [query for query in self.queries if query.shape == name]

    @property
    def relations(self) -> Schema:
        """The relations that the queries are about, by name."""
        found: dict[str, RelationSchema] = {}
        for query in self.queries:
            for node in post_order(query.expression, lambda node: node.children):
                if isinstance(node, Relation):
                    found[node.name] = node.schema
        return Schema(found[name] for name in sorted(found))

    def counts(self) -> list[ShapeCounts]:
        """Return how many queries and answers each shape has, also those that the facts gave none of."""
        found = []
        for name in self.shapes:
            queries = self.of_shape(name)
            with_full = sum(bool(query.full_hard) for query in queries)
            sizes = [sum(len(getattr(query, grade)) for query in queries) for grade in ("easy", "hard", "full_hard")]
            found.append(ShapeCounts(name, len(queries), with_full, *sizes))
        return found


def save_queries(queries: QuerySet, directory: str | os.PathLike[str]) -> None:
    """Write queries as a new directory; all of it or nothing."""
    with atomic_directory(Path(directory)) as folder:
        with (folder / _QUERIES).open("w", encoding="utf-8", newline="\n") as file:
            for query in queries:
                file.write(json.dumps(query.to_dict(), ensure_ascii=False) + "\n")
        content = {
            **{name: getattr(queries, name) for name in _PLAIN},
            "data_sha256": dict(sorted(queries.checksums.items())),
            "shapes": [vars(counts) for counts in queries.counts()],
            "relations": [
                {"name": one.name, "arity": one.arity, "roles": list(one.roles) if one.roles else None}
                for one in queries.relations
            ],
            "queries_sha256": sha256_of(folder / _QUERIES),
        }
        write_document(folder / _MANIFEST, _FORMAT, _VERSION, content)


def load_queries(directory: str | os.PathLike[str]) -> QuerySet:
    """Return the queries in a directory that `save_queries` has written; what was changed since is refused."""
    folder = Path(directory)
    for name in (_MANIFEST, _QUERIES):
        if not (folder / name).is_file():
            raise DataError(
                "no-queries",
                f"no queries here: there is no {name}; relatum queries DATA --out DIR writes them",
                place=folder,
            )

    def build(content: dict[str, Any]) -> tuple[QuerySet, Schema]:
        if sha256_of(folder / _QUERIES) != content["queries_sha256"]:
            raise ValueError(f"{_QUERIES} is not the file that was written with it")
        schema = Schema(map(_relation, content["relations"]))
        plain = {name: checked(content[name]) for name, checked in _PLAIN.items()}
        checksums = {_text(part): _text(checksum) for part, checksum in content["data_sha256"].items()}
        shapes = tuple(_text(one["shape"]) for one in content["shapes"])
        return QuerySet(**plain, checksums=checksums, shapes=shapes, queries=()), schema

    found, schema = read_document(folder / _MANIFEST, _FORMAT, _VERSION, build)
    return replace(found, queries=tuple(_read_lines(folder / _QUERIES, schema)))


def _read_lines(path: Path, schema: Schema) -> Iterator[GradedQuery]:
    with path.open("rb") as file:
        number = 0
        while line := file.readline(_LONGEST_LINE):
            number += 1
            try:
                yield GradedQuery.from_dict(json.loads(line), schema)
            except (RelatumError, LookupError, TypeError, ValueError, RecursionError) as error:
                reason = f"no {error}" if isinstance(error, KeyError) else " ".join(str(error).split())
                raise FormatError("damaged-file", path, number, f"damaged or foreign query: {reason}") from None


def _relation(given: Mapping[str, Any]) -> RelationSchema:
    roles = given["roles"]
    return RelationSchema(_text(given["name"]), _number(given["arity"]), None if roles is None else tuple(map(_text, roles)))


def _answers(given: Any, arity: int, name: str) -> Answers:
    found = tuple(tuple(map(_text, row)) for row in given)
    if any(len(row) != arity or isinstance(one, str) for row, one in zip(found, given, strict=True)):
        raise ValueError(f"an answer in {name} that has not {arity} entities")
    if len(set(found)) < len(found):
        raise ValueError(f"an answer that stands twice in {name}")
    return found


def _text(given: Any) -> str:
    if not isinstance(given, str):
        raise TypeError(f"{given!r} where a text should be")
    return given


def _number(given: Any) -> int:
    if not isinstance(given, int) or isinstance(given, bool) or given < 0:
        raise TypeError(f"{given!r} where a whole number should be")
    return given


_PLAIN: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(("data", "part"), _text),
    **dict.fromkeys(("seed", "count", "most_hard"), _number),
}

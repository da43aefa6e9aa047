"""Reading, caching and looking up facts, against plain Python on the same file."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from benchmarks.measure import Ratio, in_turn, own_cache, peak_memory, seconds
from relatum import KnownAnswers, load
from relatum.datasets.text_format import read_tuples

_MILLION = 1_000_000
_LARGE = 10 * _MILLION


def ratios() -> Iterator[Ratio]:
    """Measure on M-FB15K, then on ten million synthetic facts."""
    with own_cache() as folder:
        yield from _read_and_look_up("m-fb15k")
        large = folder / "large.txt"
        make_facts(large, facts=_LARGE, entities=_MILLION, relations=200)
        columns = _LARGE * 4 * 4  # a relation and three entities, int32 each
        small = folder / "small.txt"
        make_facts(small, facts=100_000, entities=1000, relations=200)
        peak = peak_memory(read_tuples, small, large=(large,))
        yield Ratio(
            "memory to read ten million facts",
            8 * columns / peak,
            1.0,
            "8 x int32 columns / peak",
            f"peak {peak / 1e6:.0f} MB for {columns / 1e6:.0f} MB of columns",
        )
        part = folder / "part.txt"
        make_facts(part, facts=_MILLION, entities=_MILLION, relations=200)
        ours = seconds(lambda: read_tuples(large), repeats=1, clock=time.process_time)
        plain = _LARGE / _MILLION * seconds(lambda: plain_reader([part]), repeats=1, clock=time.process_time)
        detail = f"{ours:.0f} against {plain:.0f} s of processor time, plain Python's ten times that of a million"
        yield Ratio("reading ten million facts", plain / ours, 3.0, "x plain Python", detail)
        yield from _against_duckdb(large)
        yield from _from_cache(large)
        many = folder / "many.txt"
        make_names(many, _LARGE)
        peak = peak_memory(read_tuples, small, large=(many,))
        yield Ratio("memory of ten million names", 3e9 / peak, 1.0, "3 GB / peak", f"peak {peak / 1e6:.0f} MB")


def _against_duckdb(path: Path) -> Iterator[Ratio]:
    """Read, number and sort against the fastest engine at hand, which only reads and numbers: by the clock, in turn."""
    ours, theirs = in_turn(lambda: timed(read_tuples, path), lambda: timed(duckdb_reader, path), rounds=2, chosen=min)
    detail = f"{ours:.1f} s, sorted, against {theirs:.1f} s, not sorted"
    yield Ratio("reading ten million facts beside an engine", theirs / ours, 0.4, "x DuckDB", detail, aim=0.8)


def _from_cache(path: Path) -> Iterator[Ratio]:
    load(path)
    time.sleep(2.5)  # a file of this moment is hashed every time
    load(path)
    taken = seconds(lambda: load(path))
    yield Ratio("ten million facts from the cache", 1 / taken, 1.0, "1 s / taken", f"{taken:.3f} s, mapped")


def _read_and_look_up(source: str | Path) -> Iterator[Ratio]:
    from relatum.datasets.registry import find_dataset, locate

    files = [source] if isinstance(source, Path) else sorted(locate(find_dataset(source)).glob("*.txt"))
    split = load(source)
    facts = sum(map(len, split.parts.values()))
    plain = seconds(lambda: plain_reader(files))
    text = seconds(lambda: load(source, use_cache=False))
    cached = seconds(lambda: load(source))
    yield Ratio("reading text", plain / text, 1.5, "x plain Python", f"{facts} facts in {text:.2f} s, plain {plain:.2f} s")
    yield Ratio("loading the cache", plain / cached, 8.0, "x plain Python", f"{cached:.3f} s, with checksums of the text")

    parts = list(split.parts.values())
    ours = seconds(lambda: look_up(KnownAnswers(*parts), parts))
    theirs = seconds(lambda: plain_known_answers(parts), repeats=1)
    pairs = sum(arity * len(block) for part in parts for arity, block in part.blocks.items())
    yield Ratio(
        "known answers, built and all looked up", theirs / ours, 10.0, "x dict of sets", f"{pairs} pairs in {ours:.2f} s"
    )
    peak = peak_memory(build_known_answers, source)
    sizes = f"peak {peak / 1e6:.0f} MB, kept {KnownAnswers(*parts).nbytes / 1e6:.0f} MB"
    yield Ratio("memory of known answers", 200e6 / peak, 1.0, "200 MB / peak", sizes)


def make_facts(path: Path, facts: int, entities: int, relations: int) -> None:
    """Write made facts of arity 3, entities drawn with a long tail."""
    rng = np.random.default_rng(0)
    names = np.array([f"m.0{number:x}" for number in range(entities)], object)
    with path.open("w") as file:
        for start in range(0, facts, _MILLION):
            size = min(_MILLION, facts - start)
            drawn = (entities * rng.random((size, 3)) ** 2).astype(np.int64)
            kinds = rng.integers(0, relations, size).tolist()
            file.writelines(
                f"r{kind}\t{a}\t{b}\t{c}\n" for kind, (a, b, c) in zip(kinds, names[drawn].tolist(), strict=True)
            )


def make_names(path: Path, names: int) -> None:
    """Write made facts of arity 2 in which every name is another, in no order."""
    drawn = np.random.default_rng(1).permutation(names).reshape(-1, 2)
    with path.open("w") as file:
        for start in range(0, len(drawn), _MILLION):
            file.writelines(f"r\tm.{a:08x}\tm.{b:08x}\n" for a, b in drawn[start : start + _MILLION].tolist())


def timed(work: Callable[[Path], object], path: Path) -> float:
    """Return how long a work takes on a file, in seconds."""
    start = time.perf_counter()
    work(path)
    return time.perf_counter() - start


def duckdb_reader(path: Path) -> int:
    """Read facts of arity 3 and number their names in sorted order, as DuckDB does best: distinct names, joined back."""
    import duckdb

    connection = duckdb.connect()
    connection.execute(
        "create table facts as select * from read_csv(?, delim='\t', header=false, quote='', escape='', all_varchar=true,"
        " names=['r', 'a', 'b', 'c'])",
        [str(path)],
    )
    union = " union all ".join(f"select {column} as name from facts" for column in "abc")  # noqa: S608
    distinct = f"select distinct name from ({union})"  # noqa: S608  # of columns that are named here
    connection.execute(f"create table names as select name, row_number() over (order by name) - 1 as id from ({distinct})")  # noqa: S608
    joins = " ".join(f"join names n{column} on facts.{column} = n{column}.name" for column in "abc")
    chosen = f"select na.id::int as a, nb.id::int as b, nc.id::int as c from facts {joins}"  # noqa: S608
    found = connection.execute(chosen).fetchnumpy()
    return len(found["a"])


def plain_reader(paths: list[Path]) -> list[list[list[int]]]:
    """Read files as a script would: split each line, number names in dicts, sort the rows."""
    entities: dict[str, int] = {}
    relations: dict[str, int] = {}
    parts = []
    for path in paths:
        rows = []
        with path.open(encoding="utf-8") as file:
            for line in file:
                relation, *names = line.rstrip("\n").split("\t")
                numbers = [entities.setdefault(name, len(entities)) for name in names]
                rows.append([relations.setdefault(relation, len(relations)), *numbers])
        rows.sort()
        parts.append(rows)
    return parts


def plain_known_answers(parts: list) -> int:
    """Build a dict of sets for filtering and look every question up, as published evaluators do."""
    known: dict[tuple[int, ...], set[int]] = {}
    rows = [
        row
        for part in parts
        for block in part.blocks.values()
        for row in zip(*(c.tolist() for c in block.rows), strict=True)
    ]
    for row in rows:
        for place in range(1, len(row)):
            known.setdefault((place, *row[:place], *row[place + 1 :]), set()).add(row[place])
    return sum(len(known[(place, *row[:place], *row[place + 1 :])]) for row in rows for place in range(1, len(row)))


def look_up(known: KnownAnswers, parts: list) -> int:
    """Look up every (fact, position) of all parts."""
    total = 0
    for part in parts:
        for arity, block in part.blocks.items():
            for position in range(arity):
                total += int(known.lookup(block.relations, block.columns, position).counts.sum())
    return total


def build_known_answers(source: str | Path) -> None:
    """Load from the cache and index everything, for the memory it takes."""
    look_up(KnownAnswers(*load(source).parts.values()), list(load(source).parts.values()))

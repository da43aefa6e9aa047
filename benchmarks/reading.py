"""Reading, caching and looking up facts, against plain Python on the same file."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.measure import Ratio, own_cache, peak_memory, seconds
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
        peak = peak_memory(read_tuples, large)
        yield Ratio(
            "memory to read ten million facts",
            12 * columns / peak,
            1.0,
            "12 x int32 columns / peak",
            f"peak {peak / 1e6:.0f} MB for {columns / 1e6:.0f} MB of columns",
        )
        part = folder / "part.txt"
        make_facts(part, facts=_MILLION, entities=_MILLION, relations=200)
        ours = seconds(lambda: read_tuples(large), repeats=1, clock=time.process_time)
        plain = _LARGE / _MILLION * seconds(lambda: plain_reader([part]), repeats=1, clock=time.process_time)
        detail = f"{ours:.0f} against {plain:.0f} s of processor time, plain Python's ten times that of a million"
        yield Ratio("reading ten million facts", plain / ours, 0.4, "x plain Python", detail)


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

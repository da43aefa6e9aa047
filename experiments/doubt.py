"""See whether doubtful facts are the wrong ones: write wrong entities into known facts, train, and look where they rank.

    python experiments/doubt.py NAME WORK [--seed 0] [--set dim=200 epochs=40] [--out results/doubt.json]

NAME is a dataset, `rel-er`, which is synthesised by the seed, or `store`, a music store that is written to SQLite and
imported. Of a dataset 2 % of the training facts get another entity of the column at one position; of the store 5 % of the
tracks get another genre. The run goes into WORK, unless it is there. Facts are then ordered by doubt, by either witness
alone, by the probability of the embedding, and by plain counting. Precision is among as many as are wrong. One row per
name and seed; a row that is there already is replaced.
"""

from __future__ import annotations

import argparse
import itertools
import json
import platform
import sqlite3
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from rich.console import Console
from rich.table import Table

import relatum
from relatum import Hypergraph, Run, Split, __version__
from relatum.arrays import Bool, Float64, Int32, Int64
from relatum.evidence.doubt import Doubts, JudgedRelation, expected, judge
from relatum.files import atomic_file
from relatum.inference.scoring import score
from relatum.kernels.parallel import threads
from relatum.synth import find_preset, synthesize

RESULTS = Path(__file__).parents[1] / "results"
SHARE, STORE_SHARE = 0.02, 0.05
ARTISTS, ALBUMS, GENRES, TRACKS, PLAYLISTS = 200, 350, 25, 3_500, 18
Fact = tuple[int, ...]  # the relation, and the entities


def corrupted(split: Split, seed: int) -> tuple[Split, dict[Fact, tuple[int, int]]]:
    """Return a split with wrong training facts, and of each the position that is wrong and what was there."""
    rng, train = np.random.default_rng(seed), split.train.distinct()
    facts, taken = list(facts_of(train)), {fact for part in split.parts.values() for fact in facts_of(part)}
    values = [[np.unique(column) for column in train.table(relation.name).columns] for relation in train.schema]
    wrong: dict[Fact, tuple[int, int]] = {}
    for number in rng.permutation(len(facts)).tolist():
        if len(wrong) == round(SHARE * len(facts)):
            break
        fact = facts[number]
        position = int(rng.integers(len(fact) - 1))
        other = int(rng.choice(values[fact[0]][position]))
        new = (*fact[: position + 1], other, *fact[position + 2 :])
        if new not in taken:
            taken.add(new)
            wrong[new] = (position, fact[position + 1])
            facts[number] = new
    blocks = []
    for arity in train.blocks:
        rows = np.array([fact for fact in facts if len(fact) == arity + 1], np.int32).T
        blocks.append((np.ascontiguousarray(rows[0]), np.ascontiguousarray(rows[1:])))
    return replace(split, train=Hypergraph.sort(train.entities, train.schema, blocks)), wrong


def facts_of(graph: Hypergraph) -> Any:
    """Yield facts by ids."""
    for block in graph.blocks.values():
        yield from zip(block.relations.tolist(), *block.columns.tolist(), strict=True)


def write_store(path: Path, seed: int) -> dict[int, int]:
    """Write a music store, whose genres mostly follow from the album, and return the right genre of wrong tracks."""
    rng = np.random.default_rng(seed)
    popularity = rng.dirichlet(np.full(GENRES, 0.5))

    def mostly(usual: Int64, share: float) -> Int64:
        return np.where(rng.random(len(usual)) < share, usual, rng.choice(GENRES, len(usual), p=popularity))

    artist = np.concatenate([np.arange(ARTISTS), rng.integers(0, ARTISTS, ALBUMS - ARTISTS)])
    of_album = mostly(rng.choice(GENRES, ARTISTS, p=popularity)[artist], 0.9)
    lengths = rng.dirichlet(np.full(ALBUMS, 2.0))
    album = np.sort(np.concatenate([np.arange(ALBUMS), rng.choice(ALBUMS, TRACKS - ALBUMS, p=lengths)]))
    genre = mostly(of_album[album], 0.99)
    media = np.where(rng.random(ALBUMS) < 0.8, 0, rng.integers(1, 5, ALBUMS))[album]
    composer = artist[album] * 3 + rng.integers(0, 3, TRACKS)
    stored = genre.copy()
    wrong = np.sort(rng.choice(TRACKS, round(STORE_SHARE * TRACKS), replace=False))
    stored[wrong] = (genre[wrong] + rng.integers(1, GENRES, len(wrong))) % GENRES
    listed = []
    for playlist, liked in enumerate(rng.choice(GENRES, PLAYLISTS, p=popularity)):
        likes = np.where(genre == liked, 8.0, 0.2)
        chosen = rng.choice(TRACKS, 200, replace=False, p=likes / likes.sum())
        listed += [(playlist + 1, track + 1) for track in chosen.tolist()]
    tracks = zip(album.tolist(), stored.tolist(), media.tolist(), composer.tolist(), strict=True)
    with sqlite3.connect(path) as store:
        store.executescript(
            """
            CREATE TABLE artists (id INTEGER PRIMARY KEY, name TEXT);
            CREATE TABLE genres (id INTEGER PRIMARY KEY, name TEXT);
            CREATE TABLE albums (id INTEGER PRIMARY KEY, title TEXT, artist_id INTEGER REFERENCES artists (id));
            CREATE TABLE tracks (id INTEGER PRIMARY KEY, title TEXT, album_id INTEGER REFERENCES albums (id),
                genre_id INTEGER REFERENCES genres (id), media_type TEXT, composer TEXT);
            CREATE TABLE playlist_tracks (playlist INTEGER, track_id INTEGER REFERENCES tracks (id));
            """
        )
        store.executemany("INSERT INTO artists VALUES (?, ?)", [(n + 1, f"artist {n}") for n in range(ARTISTS)])
        store.executemany("INSERT INTO genres VALUES (?, ?)", [(n + 1, f"genre {n}") for n in range(GENRES)])
        albums = [(n + 1, f"album {n}", a + 1) for n, a in enumerate(artist.tolist())]
        store.executemany("INSERT INTO albums VALUES (?, ?, ?)", albums)
        rows = [(n + 1, f"track {n}", a + 1, g + 1, f"media {m}", f"composer {c}") for n, (a, g, m, c) in enumerate(tracks)]
        store.executemany("INSERT INTO tracks VALUES (?, ?, ?, ?, ?, ?)", rows)
        store.executemany("INSERT INTO playlist_tracks VALUES (?, ?)", listed)
    store.close()
    return {int(track) + 1: int(genre[track]) + 1 for track in wrong}


def stored_wrong(split: Split, right: dict[int, int]) -> dict[Fact, tuple[int, int]]:
    """Return the wrong tracks of an imported store as facts, with the position of the genre and the right one."""
    relation, position, found = split.schema.id("tracks"), split.schema["tracks"].position("genre_id"), {}
    for part in split.parts.values():
        for fact in part.table("tracks").columns.T.tolist():
            track = int(split.entities[fact[0]].removeprefix("tracks:"))
            if track in right:
                found[relation, *fact] = position, split.entities.id(f"genres:{right[track]}")
    return found


def orders(run: Run, doubts: Doubts) -> dict[str, list[Float64]]:
    """Return how doubtful facts are by each way of ordering them, relation by relation."""
    found: dict[str, list[Float64]] = {
        "both": [one.doubt.max(0) for one in doubts.relations],
        "evidence": [(one.evidence + one.column[:, None]).max(0) for one in doubts.relations],
        "embedding": [one.margins.max(0) for one in doubts.relations],
        "counting_pairs": [pair_ratios(one.facts).sum(1).max(0) for one in doubts.relations],
        "counting_best_pair": [pair_ratios(one.facts).max((0, 1)) for one in doubts.relations],
    }
    if run.calibration is not None:
        found["probability"] = [-_probability(run, one) for one in doubts.relations]
    if "tracks" in run.schema:
        found["counting_genres_per_album"] = [_by_album(run, one) for one in doubts.relations]
    return found


def pair_ratios(facts: Int32) -> Float64:
    """Return how many more facts have another entity beside a given one: the logarithm of the ratio, [arity, arity, n].

    For what stands at position i beside what stands at j: the facts with the most frequent other entity at i, against those
    with the same one, the fact itself left out.
    """
    found = np.zeros((len(facts), *facts.shape))
    for i, j in itertools.permutations(range(len(facts)), 2):
        pairs, where, counts = np.unique(facts[[j, i]], axis=1, return_inverse=True, return_counts=True)
        where = where.reshape(-1)
        best: dict[int, list[int]] = {}
        for given, count in zip(pairs[0].tolist(), counts.tolist(), strict=True):
            best[given] = sorted([*best.get(given, []), count])[-2:]
        same = counts[where]
        most = np.array([best[given][-1] for given in facts[j].tolist()])
        second = np.array([best[given][-2] if len(best[given]) > 1 else 0 for given in facts[j].tolist()])
        found[i, j] = np.log((np.where(same == most, second, most) + 0.5) / (same - 1 + 0.5))
    return found


def _probability(run: Run, one: JudgedRelation) -> Float64:
    columns = torch.from_numpy(one.facts.astype(np.int64))
    scores = score(run.model, run.tables, torch.full((columns.shape[1],), one.relation), columns).numpy()
    found = run.probabilities(run.model.schema[one.relation].name, columns, scores.astype(np.float64))
    return np.zeros(len(scores)) if found is None else found


def _by_album(run: Run, one: JudgedRelation) -> Float64:
    """Return one minus the share of the tracks of an album that have its genre: one line of SQL."""
    relation = run.model.schema[one.relation]
    if relation.name != "tracks":
        return np.full(one.facts.shape[1], -1.0)
    album, genre = one.facts[relation.position("album_id")], one.facts[relation.position("genre_id")]
    pairs = album.astype(np.int64) * len(run.entities) + genre
    _, where, counts = np.unique(pairs, return_inverse=True, return_counts=True)
    return 1 - counts[where] / np.bincount(album)[album]


def measured(values: list[Float64], wrong: Bool) -> dict[str, float]:
    """Return the precision among as many as are wrong, and the average precision; ties are broken at random."""
    doubt = np.concatenate(values)
    order = np.lexsort((np.random.default_rng(0).random(len(doubt)), -doubt))
    hits, count = wrong[order], int(wrong.sum())
    precision = np.cumsum(hits) / np.arange(1, len(hits) + 1)
    return {"precision": float(hits[:count].mean()), "average_precision": float(precision[hits].sum() / count)}


def main() -> None:
    """Corrupt, train, measure, write and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name")
    parser.add_argument("work", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--set", nargs="*", default=["dim=200", "epochs=40"], metavar="NAME=NUMBER", dest="changes")
    parser.add_argument("--out", type=Path, default=RESULTS / "doubt.json")
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    folder = options.work / f"{options.name}-{options.seed}"
    if options.name == "store":
        path = options.work / f"store-{options.seed}.db"
        path.unlink(missing_ok=True)
        right = write_store(path, options.seed)
        split = relatum.read(path).split
        wrong = stored_wrong(split, right)
    else:
        synthetic = options.name == "rel-er"
        clean = synthesize(find_preset("rel-er"), options.seed).split if synthetic else relatum.load(options.name)
        split, wrong = corrupted(clean, options.seed)
    if not folder.exists():
        settings = {name: int(value) for name, value in (change.split("=") for change in options.changes)}
        relatum.fit(split, folder, seed=options.seed, **settings)
    run = relatum.open(folder)
    began = time.perf_counter()
    evidence, held_out = run.rules_of_facts, [run.split.valid, run.split.test] if options.name == "store" else []
    mining = time.perf_counter() - began
    began = time.perf_counter()
    doubts = judge(run.model, run.tables, evidence, held_out, run.known, range(len(run.model.schema)))
    judging = time.perf_counter() - began
    labels = np.array([(one.relation, *fact) in wrong for one in doubts.relations for fact in one.facts.T.tolist()])
    found = [
        (wrong[key], expected(evidence, one, fact, run.known))
        for one, fact in doubts.most_doubtful(int(labels.sum()))
        if (key := (one.relation, *one.facts[:, fact].tolist())) in wrong
    ]
    row = {
        "seed": options.seed,
        "facts": len(labels),
        "wrong": int(labels.sum()),
        "by": {name: measured(values, labels) for name, values in orders(run, doubts).items()},
        "of_those_found": {
            "right_position": float(np.mean([was[0] == now[0] for was, now in found])),
            "right_entity": float(np.mean([was == now for was, now in found])),
        },
        "weight_of_embedding": doubts.weight,
        "valid_mrr": run.evaluate("valid").mrr,
        "seconds": {"mining": round(mining, 1), "judging": round(judging, 1)},
        "spec": {**run.spec.to_dict(), "data": Path(run.spec.data).name},
        "checksums": dict(split.checksums),
        "machine": f"{platform.system()} {platform.machine()}, {threads()} threads",
        "versions": {"relatum": __version__, "torch": torch.__version__, "python": platform.python_version()},
    }
    rows = json.loads(options.out.read_text(encoding="utf-8"))["rows"] if options.out.exists() else {}
    rows[f"{options.name}, seed {options.seed}"] = row
    with atomic_file(options.out) as file:
        report = {"made_by": "python experiments/doubt.py NAME WORK", "rows": dict(sorted(rows.items()))}
        file.write((json.dumps(report, indent=1) + "\n").encode())
    table = Table("data", "wrong of", "by", "precision", "average precision")
    for each, one in sorted(rows.items()):
        for number, (name, figures) in enumerate(one["by"].items()):
            head = (each, f"{one['wrong']:,} of {one['facts']:,}") if not number else ("", "")
            table.add_row(*head, name, f"{figures['precision']:.3f}", f"{figures['average_precision']:.3f}")
    Console().print(table)


if __name__ == "__main__":
    main()

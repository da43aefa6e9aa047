"""Measure what shared roles give to relations with few facts: statements with irregular qualifiers, as Wikidata has them.

    python experiments/shared_roles.py [--data jf17k] [--seeds 0 1 2] [--set training.epochs=20 ...]

Makes statements out of the facts of arity 3 and more of a dataset: each keeps its first two positions, and of the others
those that are drawn; which ones it keeps makes its relation. A position is kept with a probability of its own, the square of
a uniform number, so that some sets of qualifiers are frequent and some rare; its role is named after the relation that it
was a position of. Pairs of first two entities are split, so that no held-out statement is known but for its qualifiers.
Trains ReAlE with and without `training.share_roles`, otherwise alike, once for each seed, of the drawing as of training, and
ranks held-out statements by how many training facts their relation has. Writes its part of results/shared-roles.json.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from relatum import Hypergraph, KnownAnswers, Spec, Split, load
from relatum.data.schema import RelationSchema
from relatum.inference.ranking import Ranks, rank
from relatum.runs.directory import environment_of
from relatum.runs.fit import train_model
from relatum.runs.results import save_results
from relatum.runs.spec import merged
from relatum.settings import change_of

RESULTS = Path(__file__).parents[1] / "results" / "shared-roles.json"
PARTS = {"train": 0.6, "valid": 0.2, "test": 0.2}
SIZES = {"0": (0, 1), "1-9": (1, 10), "10-99": (10, 100), "100+": (100, 10**9)}  # training facts of a relation
SPEC = {
    "model": {"name": "reale", "dim": 200, "window": 2, "window_dropout": 0.6, "dropout_block": 8},
    "training": {
        "rows": "questions", "epochs": 10, "batch_size": 64, "batches_per_step": 8, "in_relation_share": 0.5,
        "learning_rate": 1.0, "learning_rate_schedule": "linear", "weight_decay": 1e-5, "ema_decay": 0.8,
        "validate_every": 5,
    },
}  # fmt: skip
Fact = tuple[str, ...]


def statements(split: Split, seed: int) -> Split:
    """Return facts whose positions from the third on are there or not."""
    rng = np.random.default_rng(seed)
    kept = {relation.name: rng.random(relation.arity - 2) ** 2 for relation in split.schema if relation.arity > 2}
    roles: dict[str, tuple[str, ...]] = {}

    def statement(fact: Fact) -> Fact:
        name, *entities = fact
        chosen = [0, 1, *(2 + np.flatnonzero(rng.random(len(kept[name])) < kept[name])).tolist()]
        relation = "+".join([name, *map(str, chosen[2:])])
        roles[relation] = tuple(f"{name}.{position}" for position in chosen)
        return (relation, *(entities[position] for position in chosen))

    facts = list(dict.fromkeys(statement(fact) for graph in split.parts.values() for fact in graph if len(fact) > 3))
    pairs = sorted({_main(fact) for fact in facts})
    part_of = dict(zip(pairs, rng.choice(list(PARTS), len(pairs), p=list(PARTS.values())).tolist(), strict=True))
    parts = {part: [fact for fact in facts if part_of[_main(fact)] == part] for part in PARTS}
    seen = {entity for fact in parts["train"] for entity in fact[1:]}
    parts |= {part: [fact for fact in parts[part] if seen.issuperset(fact[1:])] for part in ("valid", "test")}
    schema = [RelationSchema(name, len(of), of) for name, of in roles.items()]
    whole = Hypergraph.of([fact for of in parts.values() for fact in of], schema)
    return replace(split, **{part: _over(whole, of) for part, of in parts.items()}, source=f"{split.source}, statements")


def _main(fact: Fact) -> Fact:
    """Return the property of a statement and its first two entities."""
    return (fact[0].partition("+")[0], *fact[1:3])


def _over(whole: Hypergraph, facts: list[Fact]) -> Hypergraph:
    """Return some facts with the ids of all."""
    blocks = []
    for arity in sorted({len(fact) - 1 for fact in facts}):
        names, *columns = zip(*(fact for fact in facts if len(fact) == 1 + arity), strict=True)
        blocks.append((whole.schema.names.ids(names), np.stack([whole.entities.ids(column) for column in columns])))
    return Hypergraph.sort(whole.entities, whole.schema, blocks)


def by_size(split: Split, ranks: Ranks) -> dict[str, Ranks]:
    """Return the questions of relations that share a role, by the number of their training facts; all of these; and all."""
    times = Counter(role for relation in split.schema for role in relation.roles or ())
    sharing = np.array([any(times[role] > 1 for role in relation.roles or ()) for relation in split.schema])
    facts = np.array([len(split.train.table(relation.name)) for relation in split.schema])
    chosen = {name: sharing & (low <= facts) & (facts < high) for name, (low, high) in SIZES.items()}
    chosen |= {"all that share": sharing, "all": sharing | True}
    return {name: ranks.where(of[ranks.relation]) for name, of in chosen.items()}


def ranked(split: Split, spec: Spec) -> dict[str, dict[str, Ranks]]:
    """Return how valid and test facts rank, by the size of their relations, after training."""
    model, state = train_model(spec, split, lambda *_: None)
    known = {"valid": KnownAnswers(split.train, split.valid), "test": KnownAnswers(*split.parts.values())}
    return {part: by_size(split, rank(model, state.best, split.parts[part], known[part])) for part in known}


def compared(pairs: list[tuple[Ranks, Ranks]]) -> dict[str, Any]:
    """Return the MRRs without and with sharing over several runs, and the interval of their difference over facts."""
    gains, counts, apart = [], [], []
    for plain, shared in pairs:
        _, fact = np.unique(plain.fact, return_inverse=True)
        gains.append([np.bincount(fact, 1 / ranks.realistic) for ranks in (plain, shared)])
        counts.append(np.bincount(fact))
        apart.append([ranks.metrics.mrr for ranks in (plain, shared)] if len(plain) else None)
    gain, count = np.concatenate(gains, 1), np.concatenate(counts)
    if not count.sum():
        return {"facts": 0}
    rng, found = np.random.default_rng(0), []
    for _ in range(1000):
        drawn = rng.integers(0, len(count), len(count))
        found.append((gain[1, drawn] - gain[0, drawn]).sum() / count[drawn].sum())
    without, shared = (gain.sum(1) / count.sum()).tolist()
    return {
        "facts": len(count), "questions": int(count.sum()), "without": without, "shared": shared,
        "difference": shared - without, "interval": np.quantile(found, [0.025, 0.975]).tolist(), "by_seed": apart,
    }  # fmt: skip


def main() -> None:
    """Train, rank and write the comparison."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default="jf17k")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--set", dest="changes", action="append", default=[])
    given = parser.parse_args()
    source = load(given.data)
    spec = Spec.from_dict(merged({"data": "statements", **SPEC}, *map(change_of, given.changes)))
    splits, runs = [], []
    for seed in given.seeds:
        splits.append(statements(source, seed))
        ways = (replace(spec, seed=seed, training=replace(spec.training, share_roles=share)) for share in (False, True))
        runs.append([ranked(splits[-1], way) for way in ways])
        print(f"trained on the statements of seed {seed}", flush=True)
    found: dict[str, Any] = {}
    for part in ("valid", "test"):
        names = runs[0][0][part]
        found[part] = {name: compared([(one[part][name], other[part][name]) for one, other in runs]) for name in names}
        for name, of in found[part].items():
            if of["facts"]:
                low, high = of["interval"]
                line = f"{of['without']:.4f} without, {of['shared']:.4f} shared, difference {of['difference']:+.4f}"
                print(f"{part}, {name}: {line} ({low:+.4f} to {high:+.4f}) of {of['facts']} facts")
    words = [f"--data {given.data} --seeds", *map(str, given.seeds), *(f"--set {change}" for change in given.changes)]
    about = {
        "made_by": f"python experiments/shared_roles.py {' '.join(words)}",
        "statements": [
            {"seed": seed, "relations": len(split.schema), **{part: len(graph) for part, graph in split.parts.items()}}
            for seed, split in zip(given.seeds, splits, strict=True)
        ],
        "spec": {**spec.to_dict(), "seed": None},
        "provenance": environment_of(source),
        "filter": {"valid": "train and valid", "test": "train, valid and test"},
    }
    kept = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    save_results(RESULTS, {**kept, given.data: {**about, **found}})


if __name__ == "__main__":
    main()

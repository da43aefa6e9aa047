"""Rank facts of relations that a model has never seen, from nothing but their definitions.

    python experiments/zero_shot.py WORK [--seed 0] [--share 0.25] [--preset rel-er] [--set training.epochs=40 ...]

Makes a dataset, and one from which all facts of a share of the derived relations are left out; trains ReAlE on both, into
the folder WORK; gives the left-out relations the closed forms of their true expressions; and ranks their test facts beside
those of the model that was trained on them, and beside chance. Writes results/zero-shot.json.
"""

from __future__ import annotations

import argparse
import json
import platform
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from relatum import Hypergraph, KnownAnswers, Run, Schema, Spec, Split, __version__, fit, resume, save
from relatum.algebra import Expression, parse
from relatum.data.derivations import ELEMENTARY, save_derivations
from relatum.files import atomic_file
from relatum.inference.ranking import Metrics, Ranks, rank
from relatum.reasoning.bounds import ComparableScores, Values
from relatum.reasoning.closed_form import closed_form, extended, require_reale
from relatum.reasoning.plan import plan_of, projected_variables
from relatum.reasoning.query import Query
from relatum.runs.spec import merged
from relatum.settings import change_of
from relatum.synth import SynthDataset, find_preset, save_synth, synthesize

RESULTS = Path(__file__).parents[1] / "results"
SPEC = {
    "model": {"name": "reale", "dim": 200, "window": 2, "window_dropout": 0.5},
    "training": {
        "epochs": 50, "batch_size": 64, "batches_per_step": 8, "num_negatives": 1000, "in_relation_share": 0.5,
        "learning_rate": 0.5, "weight_decay": 1e-5, "ema_decay": 0.8, "validate_every": 10,
    },
}  # fmt: skip


def left_out(made: SynthDataset, share: float) -> list[str]:
    """Return a share of the derived relations of each operation that have test facts, at least one of each."""
    chance = np.random.default_rng(made.seed)
    chosen = []
    for operation in sorted({origin.operation for origin in made.derivations.values()} - {ELEMENTARY}):
        names = [
            name for name, origin in sorted(made.derivations.items())
            if origin.operation == operation and len(made.split.test.table(name))
        ]  # fmt: skip
        chosen += chance.choice(names, max(1, round(share * len(names))), replace=False).tolist()
    return sorted(chosen)


def without(split: Split, names: list[str]) -> Split:
    """Return the split without the facts of some relations."""
    numbers = [split.schema.id(name) for name in names]

    def kept(graph: Hypergraph) -> Hypergraph:
        blocks = []
        for block in graph.blocks.values():
            stay = ~np.isin(block.relations, numbers)
            blocks.append((block.relations[stay], block.columns[:, stay]))
        return Hypergraph.sort(graph.entities, graph.schema, blocks)

    return replace(split, **{part: kept(graph) for part, graph in split.parts.items()})


def trained(data: Path, folder: Path, seed: int, changes: list[str]) -> Run:
    """Return the run that learned the data, made now, taken up again, or found ready."""
    if (folder / "config.json").exists():
        return Run.load(folder)
    if (folder / "spec.toml").exists():
        return resume(folder)
    return fit(Spec.from_dict(merged({"data": str(data), "seed": seed, **SPEC}, *map(change_of, changes))), folder)


def translated(facts: Hypergraph, schema: Schema, names: list[str], target: Run, entities: Any) -> Hypergraph:
    """Return the facts of some relations with the ids of a run; facts with entities that it does not know are left out."""
    ids = {name: number for number, name in enumerate(entities)}
    place = np.array([ids.get(name, -1) for name in facts.entities], np.int64)
    blocks: dict[int, list[tuple[Any, Any]]] = {}
    for name in names:
        columns = place[facts.table(name).columns]
        columns = columns[:, (columns >= 0).all(0)].astype(np.int32)
        blocks.setdefault(len(columns), []).append((np.full(columns.shape[1], schema.id(name), np.int32), columns))
    joined = [(np.concatenate([r for r, _ in b]), np.concatenate([c for _, c in b], 1)) for b in blocks.values()]
    return Hypergraph.sort(entities, schema, joined)


def from_definitions(run: Run, made: SynthDataset, names: list[str], *, unit: bool) -> Ranks:
    """Return the ranks of test facts of relations that the run knows from their definitions alone."""
    definitions: dict[str, Expression] = {name: parse(str(made.expressions[name]), run.schema) for name in names}
    model = require_reale(run.model)
    forms = {
        made.split.schema[name]: closed_form(expression, model, run.tables, unit=unit).form
        for name, expression in definitions.items()
    }
    wider, parameters = extended(model, run.parameters, forms)
    entities = run.model.graph.entities
    test = translated(made.split.test, wider.schema, names, run, entities)
    known = [translated(graph, wider.schema, names, run, entities) for graph in made.split.parts.values()]
    return rank(wider, parameters, test, KnownAnswers(*known), None)


def by_meaning(run: Run, made: SynthDataset, names: list[str]) -> Ranks:
    """Return the same ranks by calibrated scores: by the exact reading, but by its bound from above where it projects."""
    model = require_reale(run.model)
    values = Values(model, run.tables, ComparableScores(model, run.calibration))
    schema = Schema([*run.model.schema, *(made.split.schema[name] for name in names)])
    entities = run.model.graph.entities
    test = translated(made.split.test, schema, names, run, entities)
    known = KnownAnswers(*(translated(graph, schema, names, run, entities) for graph in made.split.parts.values()))
    parts = []
    for name in names:
        node = plan_of(parse(str(made.expressions[name]), run.schema))
        columns = test.table(name).columns
        arity, size = columns.shape
        room = torch.zeros(1 + max([arity - 1, *projected_variables(node)]), size, dtype=torch.int64)
        room[:arity] = torch.from_numpy(columns.astype(np.int64))
        relations = np.full(size, schema.id(name), np.int32)
        for position in range(arity) if size else ():
            given = [place for place in range(arity) if place != position]
            answers = known.lookup(relations, columns, position)
            better, equal = np.zeros((2, size), np.int64)
            for row in range(size):
                high = values.between(node, room[:, [row]], given, position)[1][0]
                mine = high[columns[position, row]]
                high[answers[row]] = -np.inf  # the one asked for is among them
                better[row], equal[row] = np.count_nonzero(high > mine), np.count_nonzero(high == mine)
            place = np.full(size, position)
            parts.append(
                Ranks(better, equal, np.arange(size), relations.astype(np.int64), 0 * place + arity, place, place < 0)
            )
    return Ranks.join(parts)


def check_sources(run: Run, made: SynthDataset, names: list[str]) -> int:
    """Check that renamings and selections by a constant rank as what they are made from does; return how many questions."""
    checked = 0
    for name in names:
        expression = parse(str(made.expressions[name]), run.schema)
        if expression.operation not in ("rename", "where"):
            continue
        derived, (source,) = expression, expression.children
        entities = run.model.graph.entities
        for fact in [fact for fact in made.split.test.table(name) if all(one in entities for one in fact)][:20]:
            for position in range(derived.arity):
                asked = [None if place == position else entity for place, entity in enumerate(fact)]
                mine = run.query(_query(derived, asked), 50, "closed")
                if derived.operation == "rename":
                    theirs_asked = [asked[derived.places[place]] for place in range(derived.arity)]  # type: ignore[attr-defined]
                else:
                    theirs_asked = list(asked)
                    theirs_asked.insert(derived.dropped, derived.entity)  # type: ignore[attr-defined]
                theirs = run.query(_query(source, theirs_asked), 50, "closed")
                same = np.allclose([a.closed for a in mine.answers], [a.closed for a in theirs.answers], atol=1e-6)
                if not same:
                    raise SystemExit(f"{name}: does not rank as its source does")
                checked += 1
    return checked


def _query(expression: Expression, arguments: list[str | None]) -> Query:
    return Query(expression, tuple(arguments))


def by_operation(ranks: Ranks, schema: Schema, made: SynthDataset) -> dict[str, Any]:
    """Return MRR and Hit@10 by the last operation, and the expected MRR of a random order."""
    found: dict[str, Any] = {}
    operations = np.array([made.derivations[relation.name].operation for relation in schema])
    for operation in [*sorted(set(operations[ranks.relation])), "all"]:
        part = ranks if operation == "all" else ranks.where(operations[ranks.relation] == operation)
        metrics = Metrics.of(part)
        found[operation] = {"mrr": metrics.mrr, "hits@10": metrics.hits[10], "questions": metrics.questions}
    return found


def main() -> None:
    """Train both models, rank, and write the comparison."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("work", type=Path)
    asked.add_argument("--seed", type=int, default=0)
    asked.add_argument("--share", type=float, default=0.25)
    asked.add_argument("--preset", default="rel-er")
    asked.add_argument("--set", dest="changes", action="append", default=[])
    options = asked.parse_args()
    work: Path = options.work
    work.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)

    made = synthesize(find_preset(options.preset), options.seed)
    names = left_out(made, options.share)
    if not (work / "all").exists():
        save_synth(made, work / "all")
    if not (work / "without").exists():
        save(without(made.split, names), work / "without")
        save_derivations(work / "without", {k: v for k, v in made.derivations.items() if k not in names})
    whole = trained(work / "all", work / "run-all", options.seed, options.changes)
    partly = trained(work / "without", work / "run-without", options.seed, options.changes)

    test = translated(made.split.test, whole.model.schema, names, whole, whole.model.graph.entities)
    seen = rank(whole.model, whole.parameters, test, whole.known, None)
    zero = from_definitions(partly, made, names, unit=False)
    unit = from_definitions(partly, made, names, unit=True)
    exact = by_meaning(partly, made, names)
    checked = check_sources(partly, made, names)
    entities = partly.model.entity_count
    wider = Schema([*partly.model.schema, *(made.split.schema[name] for name in names)])
    report = {
        "made_by": f"python experiments/zero_shot.py WORK --seed {options.seed} --share {options.share}",
        "preset": options.preset,
        "seed": options.seed,
        "left_out": {name: str(made.expressions[name]) for name in names},
        "spec": {**Spec.of_run(work / "run-all" / "spec.toml").to_dict(), "data": f"{options.preset}, seed {options.seed}"},
        "versions": {"relatum": __version__, "torch": torch.__version__, "python": platform.python_version()},
        "zero_shot": by_operation(zero, wider, made),
        "zero_shot_bound_over_unit_cube": by_operation(unit, wider, made),
        "zero_shot_exact_reading": by_operation(exact, wider, made),
        "trained": by_operation(seen, whole.model.schema, made),
        "chance_mrr": float(np.sum(1 / np.arange(1, entities + 1)) / entities),
        "questions_that_rank_as_their_source": checked,
    }
    with atomic_file(RESULTS / "zero-shot.json") as file:
        file.write((json.dumps(report, indent=1) + "\n").encode())
    for operation, one in report["zero_shot"].items():
        there, cube, read = (
            report[key][operation]["mrr"] for key in ("trained", "zero_shot_bound_over_unit_cube", "zero_shot_exact_reading")
        )
        print(
            f"{operation:12} {one['questions']:6} questions: zero-shot MRR {one['mrr']:.4f} "
            f"(unit cube {cube:.4f}), exact reading {read:.4f}, trained {there:.4f}, chance {report['chance_mrr']:.4f}"
        )
    print(f"{checked} questions about renamings and selections rank as those about their source")


if __name__ == "__main__":
    main()

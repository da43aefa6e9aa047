"""Fold entities into a run that has never seen them, and compare with a run that was trained on everything.

    python experiments/fold_in.py WORK [--data fb-auto] [--entities 100] [--seed 0] [--spec experiments/fb-auto.toml]
                                       [--full RUN] [--set training.epochs=25 ...] [--out results/fold-in.json]

Chooses entities at random among those that occur in train and in test facts, and leaves all facts that hold any of them out
of a copy of the data; trains a run on the copy, and one on everything unless `--full` names one, into the folder WORK; folds
the entities' train facts into the first, as `relatum update` does; and ranks the test facts that hold them. Their valid
facts are used nowhere. Entities that stand in facts with the chosen ones alone are new too.
"""

from __future__ import annotations

import argparse
import json
import platform
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from relatum import (
    Hypergraph,
    KnownAnswers,
    Run,
    Schema,
    Spec,
    Split,
    Vocabulary,
    __version__,
    fit,
    load,
    resume,
    save,
    update,
)
from relatum.arrays import Bool
from relatum.data.splitting import select_facts
from relatum.datasets.text_format import write_tuples
from relatum.files import atomic_file
from relatum.inference.ranking import Metrics, Ranks, mrr_interval, rank
from relatum.kernels.parallel import threads
from relatum.runs.journal import Journal

RESULTS = Path(__file__).parents[1] / "results"


def chosen_from(split: Split, count: int, seed: int) -> Bool:
    """Return which entities are held out: so many of those that occur in train and in test facts."""
    there = np.flatnonzero((split.train.degrees() > 0) & (split.test.degrees() > 0))
    mask = np.zeros(len(split.entities), np.bool_)
    mask[np.random.default_rng(seed).choice(there, min(count, len(there)), replace=False)] = True
    return mask


def holding(graph: Hypergraph, entities: Bool, *, wanted: bool) -> Hypergraph:
    """Return the facts that hold any of the entities, or those that hold none."""
    held = [entities[block.columns].any(axis=0) for block in graph.blocks.values()]
    return select_facts(graph, np.concatenate(held) == wanted) if held else graph


def prepared(split: Split, chosen: Bool, work: Path) -> None:
    """Write the data without the chosen entities, and their train facts as the file of new facts.

    A relation that only facts of the chosen entities have is left out: the run would not know it.
    """
    if not (work / "without").exists():
        train, valid, test = (holding(graph, chosen, wanted=False) for graph in split.parts.values())
        save(replace(split, train=train, valid=valid, test=test), work / "without")
    new = holding(split.train, chosen, wanted=True)
    known = np.isin(split.schema.names.names, load(work / "without").schema.names.names)
    with atomic_file(work / "new.txt") as file:
        write_tuples(select_facts(new, np.concatenate([known[block.relations] for block in new.blocks.values()])), file)


def trained(spec: Spec, folder: Path) -> Run:
    """Return the run of a spec, made now, taken up again, or found ready."""
    if (folder / "config.json").exists():
        return Run.load(folder)
    return resume(folder) if (folder / "spec.toml").exists() else fit(spec, folder)


def translated(graph: Hypergraph, entities: Vocabulary, schema: Schema) -> Hypergraph:
    """Return the facts with other ids; those with names that have none are left out."""
    number = np.array([schema.id(name) if name in schema else -1 for name in graph.schema.names], np.int32)
    place = np.array([entities.id(name) if name in entities else -1 for name in graph.entities], np.int32)
    blocks = []
    for block in graph.blocks.values():
        columns = place[block.columns]
        relations = number[block.relations]
        kept = (columns >= 0).all(axis=0) & (relations >= 0)
        blocks.append((relations[kept], columns[:, kept]))
    return Hypergraph.sort(entities, schema, blocks)


def asked(run: Run, split: Split, facts: list[tuple[str, ...]], chosen: set[str]) -> tuple[Ranks, Bool, Bool]:
    """Return how facts rank, which questions have a chosen entity as their answer, and which are given one."""
    entities, schema = run.model.graph.entities, run.model.schema
    test = translated(Hypergraph.of(facts, split.schema), entities, schema)
    known = KnownAnswers(*(translated(graph, entities, schema) for graph in split.parts.values()))
    is_chosen = np.array([name in chosen for name in entities])
    answers, given = [], []
    for relation in schema:  # in the order of `rank`
        held = is_chosen[test.table(relation.name).columns]
        for position in range(relation.arity if held.size else 0):
            answers.append(held[position])
            given.append(np.delete(held, position, axis=0).any(axis=0))
    return rank(run.model, run.parameters, test, known), np.concatenate(answers), np.concatenate(given)


def metrics(ranks: Ranks, answers: Bool, given: Bool) -> dict[str, Any]:
    """Return MRR and Hit@10 of all questions, of those whose answer is new, and of those that are given a new entity."""
    found: dict[str, Any] = {}
    for name, part in (("all", ranks), ("answer_is_new", ranks.where(answers)), ("given_a_new_one", ranks.where(given))):
        of = Metrics.of(part)
        found[name] = {"mrr": of.mrr, "hits@10": of.hits[10], "questions": of.questions, "mrr_interval": mrr_interval(part)}
    return found


def folded(work: Path, *, refit: bool) -> tuple[Run, dict[str, Any]]:
    """Return the updated run, and what its journal tells with the seconds that all of it took."""
    place = work / ("run-refitted" if refit else "run-updated")
    if place.exists():
        for path in place.iterdir():
            path.unlink()
    began, busy = time.perf_counter(), time.process_time()
    run = update(work / "run", work / "new.txt", place, refit=refit)
    told = Journal(place / "journal.jsonl").read()[-1]
    seconds = {"in_all": time.perf_counter() - began, "of_processors": time.process_time() - busy}
    kept = {name: value for name, value in told.items() if name not in ("event", "time", "from")}
    return run, {**kept, "seconds": {"fitting": told["seconds"], **{name: round(one, 2) for name, one in seconds.items()}}}


def main() -> None:
    """Train, fold in, rank, and write the comparison."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", type=Path)
    parser.add_argument("--data", default="fb-auto")
    parser.add_argument("--entities", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0, help="of the choice of entities")
    parser.add_argument("--spec", type=Path, default=Path("experiments/fb-auto.toml"))
    parser.add_argument("--full", type=Path, help="a run that was trained on everything")
    parser.add_argument("--set", dest="changes", action="append", default=[])
    parser.add_argument("--out", type=Path, default=RESULTS / "fold-in.json")
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)

    split = load(options.data)
    chosen = chosen_from(split, options.entities, options.seed)
    names = {split.entities[number] for number in np.flatnonzero(chosen).tolist()}
    prepared(split, chosen, options.work)
    spec = replace(Spec.read(options.spec, options.changes), data=options.data)
    trained(replace(spec, data=str(options.work / "without")), options.work / "run")
    whole = Run.load(options.full) if options.full else trained(spec, options.work / "run-all")

    runs = {"retrained": (whole, None), "folded_in": folded(options.work, refit=False)}
    runs["folded_in_and_refitted"] = folded(options.work, refit=True)
    test = list(holding(split.test, chosen, wanted=True))
    one = runs["folded_in"][0].model
    known = set(one.graph.entities)
    facts = [fact for fact in test if fact[0] in one.schema and known.issuperset(fact[1:])]
    found = {}
    for name, (run, told) in runs.items():
        found[name] = {**metrics(*asked(run, split, facts, names)), **({} if told is None else {"update": told})}
    shares = {
        name: {key: found[name][key]["mrr"] / found["retrained"][key]["mrr"] for key in found["retrained"]}
        for name in list(found)[1:]
    }
    report = {
        "made_by": f"python experiments/fold_in.py WORK --data {options.data} --entities {options.entities} "
        f"--seed {options.seed} --spec experiments/{options.spec.name}",
        "data": {"name": split.source, "checksums": dict(split.checksums)},
        "held_out_entities": len(names),
        "test_facts": {"asked": len(facts), "left_out_for_names_in_no_fact_that_it_was_given": len(test) - len(facts)},
        "share_of_retrained_mrr": shares,
        **found,
        "spec": Spec.of_run(whole.folder / "spec.toml").to_dict(),
        "filter": "train, valid and test",
        "machine": f"{platform.system()} {platform.machine()}, {threads()} threads",
        "versions": {"relatum": __version__, "torch": torch.__version__, "python": platform.python_version()},
    }
    with atomic_file(options.out) as file:
        file.write((json.dumps(report, indent=1) + "\n").encode())
    for name, (_, told) in runs.items():
        parts = ", ".join(f"{key} {one['mrr']:.4f}" for key, one in found[name].items() if key != "update")
        took = "" if told is None else f"; share {shares[name]['all']:.3f}; seconds {told['seconds']}"
        print(f"{name}: MRR {parts}{took}")


if __name__ == "__main__":
    main()

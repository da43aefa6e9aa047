"""See what evidence adds to a trained run: test MRR by the embedding, by the evidence, and by both, by arity and by source.

    python experiments/evidence.py RUN [--name jf17k] [--out results/evidence.json]

RUN is a directory that was trained with its valid facts kept apart. Rules are found in its training facts, and
weighed by its valid facts. `gain_of` tells what both lose without the rules of one template, on some of the test facts, with
weights fitted anew. One row per name; a row that is there already is replaced.
"""

from __future__ import annotations

import argparse
import json
import platform
import time
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from rich.table import Table

import relatum
from relatum import Hypergraph, Run, __version__
from relatum.evidence.evidence import Evidence
from relatum.evidence.mining import mine
from relatum.evidence.soft_rule import SoftRule
from relatum.evidence.weights import fit_weights
from relatum.files import atomic_file
from relatum.inference.evaluation import breakdown
from relatum.inference.ranking import Ranks, mrr_interval, rank
from relatum.inference.validation import sample
from relatum.kernels.parallel import threads

RESULTS = Path(__file__).parents[1] / "results"
_SOME = 3000  # test facts that the gain of a template is measured on


def template_of(rule: SoftRule) -> str:
    """Return what kind of rule it is; of those that read one fact, whether it is of the same relation."""
    if rule.template != "match":
        return rule.template
    return "match within the relation" if rule.body[0].relation == rule.relation else "match of another relation"


def measured(run: Run) -> dict[str, Any]:
    """Return what the test facts of a run rank like, and how long it took to get there."""
    split, known = run.split, run.known

    def ranked(evidence: Evidence | None) -> tuple[Ranks, float]:
        began = time.perf_counter()
        return rank(run.model, run.parameters, split.test, known, split.train, evidence), time.perf_counter() - began

    def mrr_of(facts: Hypergraph, evidence: Evidence | None) -> float:
        return rank(run.model, run.parameters, facts, known, split.train, evidence).metrics.mrr

    began = time.perf_counter()
    rules = mine(split.train)
    mining = time.perf_counter() - began
    evidence = Evidence(split.train, rules)
    began = time.perf_counter()
    fit_weights(run.model, run.tables, evidence, split)
    fitting = time.perf_counter() - began
    (embedding, plain_seconds), (both, both_seconds) = ranked(None), ranked(evidence)
    some = sample(split.test, _SOME) if len(split.test) > _SOME else split.test
    whole, gains = mrr_of(some, evidence), {"all rules": 0.0}
    gains["all rules"] = whole - mrr_of(some, None)
    for name in sorted(set(map(template_of, rules))):
        part = Evidence(split.train, [rule for rule in rules if template_of(rule) != name])
        fit_weights(run.model, run.tables, part, split)
        gains[name] = whole - mrr_of(some, part)
    found = {"embedding": embedding, "evidence": evidence.ranks(split.test, known), "both": both}
    return {
        "rules": len(rules),
        "test_mrr": {name: ranks.metrics.mrr for name, ranks in found.items()},
        "interval": {name: mrr_interval(ranks) for name, ranks in found.items()},
        "hits@1": {name: ranks.metrics.hits[1] for name, ranks in found.items()},
        "by_arity": {
            name: {part: one.mrr for part, one in breakdown(ranks, "arity", split.schema).items()}
            for name, ranks in found.items()
        },
        "gain_of": {"facts": len(some), **gains},
        "seconds": {
            "mining": round(mining, 2),
            "weights": round(fitting, 1),
            "ranking_by_embedding": round(plain_seconds, 1),
            "ranking_by_both": round(both_seconds, 1),
        },
        "spec": run.spec.to_dict(),
        "checksums": dict(split.checksums),
    }


def main() -> None:
    """Measure, write and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("--name", help="of the row, by default the data of the run")
    parser.add_argument("--out", type=Path, default=RESULTS / "evidence.json")
    options = parser.parse_args()
    run = relatum.open(options.run)
    name = options.name or run.spec.data
    row = {
        **measured(run),
        "machine": f"{platform.system()} {platform.machine()}, {threads()} threads",
        "versions": {"relatum": __version__, "torch": torch.__version__, "python": platform.python_version()},
    }
    rows = json.loads(options.out.read_text(encoding="utf-8"))["rows"] if options.out.exists() else {}
    rows[name] = row
    with atomic_file(options.out) as file:
        report = {"made_by": "python experiments/evidence.py RUN", "rows": dict(sorted(rows.items()))}
        file.write((json.dumps(report, indent=1) + "\n").encode())
    table = Table("data", "rules", "embedding", "evidence", "both", "gain")
    for each, one in sorted(rows.items()):
        mrr = one["test_mrr"]
        gain = f"{mrr['both'] - mrr['embedding']:+.4f}"
        table.add_row(each, str(one["rules"]), *(f"{mrr[key]:.4f}" for key in ("embedding", "evidence", "both")), gain)
    Console().print(table)


if __name__ == "__main__":
    main()

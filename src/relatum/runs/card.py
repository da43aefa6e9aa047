"""A run's model card: what it is, what it learned from, how good it is, how to ask it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from relatum.data.hypergraph import Split
from relatum.datasets.registry import DATASETS
from relatum.runs.spec import Spec
from relatum.training.loop import State

__all__ = ["card", "updated_card"]


def card(spec: Spec, split: Split, state: State) -> str:
    """Return the card of a trained run, as Markdown."""
    score = f"{state.best_score:.4f}" if len(split.valid) else "not measured: there are no valid facts"
    reached = f"{score} (filtered by train and valid, realistic ties), epoch {state.best_epoch} of {state.epoch}"
    return _card(spec, split, {"best validation MRR": reached})


def updated_card(spec: Spec, split: Split, origin: str, update: Mapping[str, Any]) -> str:
    """Return the card of a run that was made from another, `origin`, by what the journal tells of the update."""
    after, before = update["valid_mrr_after"], update["valid_mrr_before"]
    score = "not measured: there are no valid facts" if after is None else f"{after:.4f}, before the update {before:.4f}"
    told = f"{update['added']:,} facts folded into {origin}; {update['new_entities']:,} new entities"
    return _card(spec, split, {"validation MRR": score, "updated": told})


def _card(spec: Spec, split: Split, reached: Mapping[str, str]) -> str:
    sizes = ", ".join(f"{part} {len(graph):,}" for part, graph in split.parts.items())
    rows = "\n".join(f"| {name} | {value} |" for name, value in reached.items())
    dataset = DATASETS.get(split.origin)
    origin = f"{split.origin} ({dataset.licence}; {dataset.cite})" if dataset else split.origin
    relation = split.schema[0] if len(split.schema) else None
    gaps = ", ".join(["?", *["..."] * (relation.arity - 1)]) if relation else "?"
    return f"""# {spec.model} on {split.origin}

| | |
|---|---|
| facts | {origin}: {sizes} |
| names | {len(split.entities):,} entities, {len(split.schema):,} relations, arity {_arities(split)} |
{rows}
| seed | {spec.seed} |

Settings are in `spec.toml`, versions and checksums in `provenance.json`, the course of training in `journal.jsonl`. The
facts are in `facts.columns`, so this directory works by itself:

```
relatum evaluate RUN
relatum complete RUN '{relation.name if relation else "relation"}({gaps})'
```

Scores of one relation can be compared with each other; scores of different relations cannot. Probabilities can: they are
fitted on validation facts against as many non-facts, which are facts with one entity replaced.
"""


def _arities(split: Split) -> str:
    return ", ".join(map(str, sorted(split.schema.arities)))

"""How large the datasets are, as files on this machine: plain data with checksums, to set beside the paper's table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from relatum.data.hypergraph import Split
from relatum.data.quality import describe
from relatum.datasets.load import load
from relatum.version import __version__

__all__ = ["FORMAT", "measure"]

FORMAT = "relatum-datasets"


def measure(names: Iterable[str]) -> dict[str, Any]:
    """Return the sizes of registered datasets by name, with the checksums of their files."""
    return {"format": FORMAT, "versions": {"relatum": __version__}, "datasets": {name: _size(load(name)) for name in names}}


def _size(split: Split) -> dict[str, Any]:
    found = describe(split).to_json()
    del found["origin"]
    found["arity"] = {str(arity): count for arity, count in found["arity"].items()}
    if split.origins:
        found |= {f"test_by_{key}": _test_by(split, key) for key in ("operation", "depth")}
    return {**found, "checksums": dict(split.checksums)}


def _test_by(split: Split, key: str) -> dict[str, int]:
    """Return how many test facts are of a relation with this origin."""
    found: Counter[str] = Counter()
    for relation in split.schema:
        if relation.name in split.origins:
            found[str(getattr(split.origins[relation.name], key))] += len(split.test.table(relation.name))
    return dict(sorted((name, count) for name, count in found.items() if count))

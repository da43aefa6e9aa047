"""What a split looks like (`describe`) and what is wrong with it (`examine`)."""

from __future__ import annotations

import warnings
from collections import Counter
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from relatum.arrays import Bool
from relatum.data.hypergraph import Block, Hypergraph, Split
from relatum.data.leakage import Leakage, find_leaks
from relatum.data.near_names import NearNames, find_near_names
from relatum.data.vocabulary import Ids
from relatum.errors import RelatumWarning
from relatum.formatting import number, share

RARE = 10  # training facts; a relation with fewer is rare


@dataclass(frozen=True)
class Description:
    """The size of a split; `arity` counts the facts of all parts by arity, `rare_relations` those of few training facts."""

    source: str
    entities: int
    relations: int
    rare_relations: int
    train: int
    valid: int
    test: int
    arity: dict[int, int]
    skipped: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the description as plain data."""
        return {**vars(self), "skipped": list(self.skipped)}


def describe(split: Split) -> Description:
    """Return the size of a split."""
    arity: Counter[int] = Counter()
    for graph in split.parts.values():
        arity.update({number: len(block) for number, block in graph.blocks.items()})
    sizes = {part: len(graph) for part, graph in split.parts.items()}
    return Description(
        source=split.source,
        entities=len(split.entities),
        relations=len(split.schema),
        rare_relations=sum(len(split.train.table(relation.name)) < RARE for relation in split.schema),
        **sizes,
        arity=dict(sorted(arity.items())),
        skipped=split.skipped,
    )


@dataclass(frozen=True)
class DataQuality:
    """What may spoil training on a split or results from it; counts are of facts unless said otherwise."""

    duplicates: dict[str, int]  # by part, facts that repeat an earlier one of the same part
    overlap: dict[str, int]  # by pair of parts ("valid/test"), distinct facts that are in both
    unseen_entities: dict[str, int]  # by part, entities that never occur in train
    unseen_relations: dict[str, int]  # by part, relations that never occur in train
    unseen_facts: dict[str, int]  # by part, facts that hold an entity or relation that never occurs in train
    degree_one: int  # entities that occur exactly once in train
    # by arity, test facts that differ from a fact of train or valid in a single position, and all test facts
    close: dict[int, tuple[int, int]]
    leakage: Leakage  # test facts that follow from training facts by permuting or dropping columns
    near_names: dict[str, NearNames]  # of entities and of relations, names that differ only in what people overlook
    skipped: tuple[str, ...]  # the lines that were passed over when the files were read

    def to_json(self) -> dict[str, Any]:
        """Return the findings as plain data."""
        close = {arity: {"close": count, "test": total} for arity, (count, total) in self.close.items()}
        near_names = {what: near.to_json() for what, near in self.near_names.items()}
        plain = {"close": close, "leakage": self.leakage.to_json(), "near_names": near_names, "skipped": list(self.skipped)}
        return {**vars(self), **plain}


def check_quality(split: Split) -> DataQuality:
    """Return what may spoil training on a split, or results from it."""
    distinct = {part: graph.distinct() for part, graph in split.parts.items()}
    entity_seen = split.train.degrees() > 0
    relation_seen = _relations_of(split.train)
    held_out = {"valid": split.valid, "test": split.test}
    return DataQuality(
        duplicates={part: len(graph) - len(distinct[part]) for part, graph in split.parts.items()},
        overlap={f"{a}/{b}": distinct[a].shared_with(distinct[b]) for a, b in combinations(distinct, 2)},
        unseen_entities={part: int(np.sum((graph.degrees() > 0) & ~entity_seen)) for part, graph in held_out.items()},
        unseen_relations={part: int(np.sum(_relations_of(graph) & ~relation_seen)) for part, graph in held_out.items()},
        unseen_facts={
            part: sum(
                int(np.sum(~entity_seen[block.columns].all(axis=0) | ~relation_seen[block.relations]))
                for block in graph.blocks.values()
            )
            for part, graph in held_out.items()
        },
        degree_one=int(np.sum(split.train.degrees() == 1)),
        close=_close(split),
        leakage=find_leaks(split),
        near_names=_near_names(split),
        skipped=split.skipped,
    )


def _relations_of(graph: Hypergraph) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    occurs = np.zeros(len(graph.schema), np.bool_)
    for block in graph.blocks.values():
        occurs[block.relations] = True
    return occurs


@dataclass(frozen=True, slots=True)
class InTrain:
    """How many distinct facts of a split part stand in train as well; they are no test of what a model has learned."""

    part: str
    facts: int
    total: int

    def to_json(self) -> dict[str, Any]:
        """Return the counts as plain data, with the share."""
        return {"facts": self.facts, "total": self.total, "share": self.facts / self.total if self.total else 0.0}

    def __str__(self) -> str:
        of_part = f"{number(self.facts)} of {number(self.total)} {self.part} facts ({share(self.facts, self.total)})"
        return f"{of_part} stand in train: the model has learned from them, so how they rank says little about new facts"


def in_train(split: Split, part: str) -> InTrain:
    """Return how many facts of valid or test stand in train as well."""
    facts = split.parts[part].distinct()
    return InTrain(part, facts.shared_with(split.train.distinct()), len(facts))


def warn_of_near_names(split: Split) -> dict[str, NearNames]:
    """Return which names of entities and of relations differ only in what people overlook, and warn of them."""
    found = _near_names(split)
    for what, near in found.items():
        if near.groups:
            warnings.warn(f"{near.line(what)}; `relatum data check` shows more", RelatumWarning, stacklevel=3)
    return found


def _near_names(split: Split) -> dict[str, NearNames]:
    return {
        "entity": find_near_names(split.entities.names),
        "relation": find_near_names(split.schema.names.names),
    }


def warn_of_facts_in_train(split: Split) -> None:
    """Warn of facts of valid and test that stand in train as well, in a line for each."""
    for part in ("valid", "test"):
        if (found := in_train(split, part)).facts:
            warnings.warn(str(found), RelatumWarning, stacklevel=3)


def _close(split: Split) -> dict[int, tuple[int, int]]:
    """Return by arity how many test facts a known fact comes within one position of, and how many there are."""
    known = Hypergraph.union([split.train, split.valid]).distinct()
    return {
        arity: (
            int(_close_to(known.blocks[arity], block, len(split.entities)).sum()) if arity in known.blocks else 0,
            len(block),
        )
        for arity, block in split.test.blocks.items()
    }


def _close_to(known: Block, facts: Block, size: int) -> Bool:
    """Return for each fact whether a known one differs from it in a single position, in time that grows with the arity.

    Facts are alike but for a position if what stands before it is the same, and what stands behind it. Each of the two has a
    number, by the number of one position less; where a position is left out, two numbers stand for all others.
    """
    columns = np.concatenate([known.columns, facts.columns], axis=1)
    first, rows = len(known), columns.shape[1]  # the first facts are the known ones
    behind = [np.zeros(rows, np.int32)]
    for column in columns[:0:-1]:
        behind.append(_numbered(behind[-1], column, size))
    before = np.concatenate([known.relations, facts.relations])
    alike = []
    for column in columns:
        both = _numbered(before, behind.pop(), rows)
        alike.append(np.bincount(both[:first], minlength=rows)[both[first:]])
        before = _numbered(before, column, size)
    itself = np.isin(before[first:], before[:first])  # is alike wherever one looks
    found: Bool = np.any([counts > itself for counts in alike], axis=0)
    return found


def _numbered(groups: Ids, column: Ids, size: int) -> Ids:
    """Return a number for each pair of a group and a value below `size`."""
    numbers: Ids = np.unique(groups.astype(np.int64) * size + column, return_inverse=True)[1].astype(np.int32)
    return numbers

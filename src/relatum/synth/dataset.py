"""A synthetic dataset from settings and a seed, its statistics, and its folder on disk."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from relatum.algebra import Expression, SelectConstant
from relatum.algebra.node import post_order
from relatum.data.derivations import DERIVATIONS, ELEMENTARY, OPERATIONS, Derivation, derivations_document
from relatum.data.hypergraph import Hypergraph, Split
from relatum.data.schema import RelationSchema, Schema
from relatum.datasets.load import save
from relatum.errors import DataError, SettingError
from relatum.synth.derivation import Member, derive
from relatum.synth.erdos_renyi import draw_elementary
from relatum.synth.sampling import hold_out, sub_sample
from relatum.synth.settings import SynthSettings
from relatum.version import __version__

_PAPER_NAMES = {"relation": ELEMENTARY, "permute": "rename", "select_equal": "select"}  # as the paper counts them


@dataclass(frozen=True)
class SynthDataset:
    """A synthetic dataset, how its relations were derived, and from which settings.

    The `expressions` derive every relation, by name, from the elementary ones. The `truth` is every relation with all
    its tuples, before sub-sampling. `redrawn` is how often a derived relation was drawn again, by reason, and
    `given_up` how many of the planned ones could not be derived, by operation.
    """

    split: Split
    expressions: Mapping[str, Expression]
    truth: Hypergraph
    redrawn: Mapping[str, int]
    given_up: Mapping[str, int]
    settings: SynthSettings
    seed: int

    @property
    def derivations(self) -> Mapping[str, Derivation]:
        """How every relation was derived, by name."""
        return self.split.derivations

    def counts(self, part: str = "test") -> dict[tuple[str, int], int]:
        """Return how many tuples a part has, by operation and depth."""
        found: Counter[tuple[str, int]] = Counter()
        for relation in self.split.schema:
            derivation = self.derivations[relation.name]
            found[derivation.operation, derivation.depth] += len(self.split.parts[part].table(relation.name))
        order = (ELEMENTARY, *OPERATIONS)
        return dict(sorted(found.items(), key=lambda item: (order.index(item[0][0]), item[0][1])))


def synthesize(
    settings: SynthSettings | None = None, seed: int = 0, advance: Callable[[int], None] = lambda _: None
) -> SynthDataset:
    """Return the dataset that follows from settings and seed; the same for the same two.

    `advance` is called with how many of the `settings.relations + settings.derived` relations are new since the last call.
    """
    settings = settings or SynthSettings()
    if not isinstance(seed, int) or seed < 0:
        raise SettingError("setting-out-of-range", f"must be a whole number from 0 up, not {seed!r}", place="seed")
    drawing, deriving, sampling, splitting = np.random.default_rng(seed).spawn(4)
    elementary, family_of = draw_elementary(settings, drawing)
    advance(settings.relations)
    members, redrawn, given_up = derive(elementary, family_of, settings, deriving, advance)
    truth = _truth(elementary, members)
    expressions = {member.name: member.expression for member in members}
    derivations = {name: _derivation(expression) for name, expression in expressions.items()}
    sampled = sub_sample(truth, settings.tuples, settings.kept_arities, _constants(members), sampling)
    strata = sorted({(one.operation, one.depth) for one in derivations.values()})
    numbers = [strata.index((derivations[name].operation, derivations[name].depth)) for name in sampled.schema.names]
    split = replace(
        hold_out(sampled, numbers, settings.valid, settings.test, splitting, source="synth"), derivations=derivations
    )
    dataset = SynthDataset(split, expressions, truth, redrawn, given_up, settings, seed)
    _check_complete(dataset)
    return dataset


def save_synth(dataset: SynthDataset, directory: str | os.PathLike[str]) -> None:
    """Write a synthetic dataset and its derivations as a new directory that `load` reads; all of it or nothing.

    The directory may exist if it is empty.
    """
    about: dict[str, Any] = {
        "relatum": __version__,
        "seed": dataset.seed,
        "settings": dataset.settings.to_dict(),
        "redrawn": dict(dataset.redrawn),
        "given_up": dict(dataset.given_up),
    }
    save(dataset.split, directory, extra_files={DERIVATIONS: derivations_document(dataset.derivations, about)})


def _truth(elementary: Hypergraph, members: Iterable[Member]) -> Hypergraph:
    members = sorted(members, key=lambda member: member.name)  # as a reader numbers them
    schema = Schema(RelationSchema(member.name, member.arity) for member in members)
    blocks = []
    for arity in sorted(schema.arities):
        mine = [(number, member.columns) for number, member in enumerate(members) if member.arity == arity]
        relations = np.repeat(np.array([n for n, _ in mine], np.int32), [columns.shape[1] for _, columns in mine])
        blocks.append((relations, np.concatenate([columns for _, columns in mine], axis=1)))
    return Hypergraph.sort(elementary.entities, schema, blocks)


def _derivation(expression: Expression) -> Derivation:
    operation = _PAPER_NAMES.get(expression.operation, expression.operation)
    return Derivation(operation, expression.depth, str(expression))


def _constants(members: Iterable[Member]) -> list[str]:
    """Return the entities that expressions name: were they to vanish, the expressions could not be evaluated."""
    nodes = (node for member in members for node in post_order(member.expression, lambda node: node.children))
    return sorted({node.entity for node in nodes if isinstance(node, SelectConstant)})


def _check_complete(dataset: SynthDataset) -> None:
    """Refuse a dataset that cannot measure what it is for: some operation that was applied has no test tuple."""
    settings = dataset.settings
    if not settings.test or settings.derived < len(OPERATIONS):  # then some cannot be there, and none is required
        return
    tested = {operation for (operation, _), count in dataset.counts().items() if count}
    for operation, weight in settings.operations.items():
        if weight and operation not in tested:
            raise DataError(
                "impossible-synthetic",
                f"cannot hold out any tuple of operation {operation!r} for test",
                remedy="use more elementary_tuples, more derived relations or more tries",
            )

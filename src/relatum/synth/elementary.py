"""The elementary relations of a synthetic dataset: random hypergraphs by Algorithm 2, cut into families."""

from __future__ import annotations

import numpy as np

from relatum.arrays import Int64
from relatum.data.hypergraph import Hypergraph
from relatum.data.schema import RelationSchema, Schema
from relatum.data.vocabulary import Vocabulary
from relatum.synth.erdos_renyi import RandomRelation, random_blocks
from relatum.synth.sampling import apportion, draw_from_groups
from relatum.synth.settings import SynthSettings


def numbered_names(letter: str, count: int) -> list[str]:
    """Return names such as e007, so padded that they sort as their numbers do."""
    digits = len(str(max(count - 1, 0)))
    return [f"{letter}{number:0{digits}}" for number in range(count)]


def draw_elementary(settings: SynthSettings, rng: np.random.Generator) -> tuple[Hypergraph, dict[str, int]]:
    """Return the elementary relations with all their tuples, and the number of each relation's family by name.

    Each family is one relation of Algorithm 2, and each of its members a random part of that relation's tuples: so
    members share tuples, as far as their ancestor goes, and none holds all of another.
    """
    arities = list(settings.arities)
    by_arity = apportion(settings.relations, list(settings.arities.values()), least=1)
    members = [sizes for count in by_arity for sizes in _families(int(count), settings.family)]
    arity_of = [
        arity for arity, count in zip(arities, by_arity, strict=True) for _ in _families(int(count), settings.family)
    ]
    sizes = _sizes(settings, arity_of, members, rng)
    share = settings.family_share if settings.family > 1 else 1.0
    random_relations = [
        RandomRelation.expecting(size / share, arity, settings.entities) for size, arity in zip(sizes, arity_of, strict=True)
    ]
    blocks = random_blocks(
        settings.entities,
        random_relations,
        rng,
        repeats=settings.repeats,
        skew=settings.skew,
        narrow=settings.narrow,
        domain=settings.domain,
    )
    names = numbered_names("r", sum(members))
    starts = np.cumsum([0, *members])  # the first member of each family
    parts = []
    for block in blocks:
        totals = np.bincount(block.relations, minlength=len(random_relations))
        wanted = np.minimum(np.maximum(np.rint(totals * share).astype(np.int64), settings.least_tuples), totals)
        relations, columns = [], []
        for member in range(settings.family):
            has_member = np.array(members) > member
            mine = draw_from_groups(block.relations, np.where(has_member, wanted, 0), rng)
            relations.append((starts[block.relations[mine]] + member).astype(np.int32))
            columns.append(block.columns[:, mine])
        parts.append((np.concatenate(relations), np.concatenate(columns, axis=1)))
    schema = Schema(
        RelationSchema(names[start + member], arity)
        for start, count, arity in zip(starts, members, arity_of, strict=False)
        for member in range(count)
    )
    family_of = {
        names[start + member]: family for family, start in enumerate(starts[:-1]) for member in range(members[family])
    }
    return Hypergraph.sort(Vocabulary(numbered_names("e", settings.entities)), schema, parts), family_of


def _families(relations: int, most: int) -> list[int]:
    """Return how many members each family has: as many full ones as there are, and the rest."""
    whole, rest = divmod(relations, most)
    return [most] * whole + [rest] * (rest > 0)


def _sizes(settings: SynthSettings, arity_of: list[int], members: list[int], rng: np.random.Generator) -> Int64:
    """Return how many tuples a member of each family is to have: log-normal, and in each arity as many as its share."""
    drawn = rng.lognormal(0, settings.spread, len(members))
    sizes = np.zeros(len(members), np.int64)
    tuples = apportion(settings.elementary_tuples, list(settings.arities.values()))
    # The count itself is drawn around this, so the expected count lies a little above the least.
    least = int(np.ceil(1.5 * settings.least_tuples + 4))
    for arity, total in zip(settings.arities, tuples, strict=True):
        mine = np.flatnonzero(np.array(arity_of) == arity)
        weights, many = drawn[mine], np.array(members)[mine]
        beyond = max(int(total) - least * int(many.sum()), 0)
        sizes[mine] = least + np.rint(weights * (beyond / (weights @ many)))
    return sizes

"""Elementary relations: Algorithm 2 of the paper, without a loop over hyperedges, and cut into families.

Four things part from the paper's text. The number of edges is drawn without counting to k! C(n, k). Exactly that many
are made, not one more. An edge is a duplicate only of one with the same label. And a stated share of the tuples repeats
an entity: were all entities of a tuple distinct, selection by equality would always be empty.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from relatum.arrays import Bool, Int64
from relatum.data.hypergraph import Block, Hypergraph
from relatum.data.schema import RelationSchema, Schema
from relatum.data.sorting import differs_from_previous, row_order
from relatum.data.vocabulary import Ids, Vocabulary
from relatum.errors import SettingError
from relatum.synth.sampling import apportion, draw_from_groups
from relatum.synth.settings import SynthSettings

_ROUNDS = 400  # of drawing again what came up twice; a relation that needs more asks for nearly all that can be
_LARGEST_EXACT = 1 << 53  # numpy's binomial counts in doubles
_LARGEST_COUNT = 1 << 31
_FAMILY_SHARE = 0.6  # of a random relation's tuples that each of its parts has


@dataclass(frozen=True, slots=True)
class RandomRelation:
    """A relation as Algorithm 2 takes it: its arity and the probability of each possible edge."""

    arity: int
    probability: float

    @classmethod
    def expecting(cls, tuples: float, arity: int, entities: int) -> RandomRelation:
        """Return the relation that has `tuples` edges among `entities` entities on average."""
        return cls(arity, min(1.0, tuples / max(math.perm(entities, arity), 1)))


def draw_count(entities: int, relation: RandomRelation, rng: np.random.Generator) -> int:
    """Return a number of edges drawn from the binomial distribution, however many are possible.

    Beyond 2^53 possible edges it is drawn from Poisson's distribution with the same mean, whose total distance from the
    binomial is at most the probability of an edge (Le Cam), here below 2^31 / 2^53, a quarter of a millionth.
    """
    possible = math.perm(entities, relation.arity)
    mean = possible * relation.probability
    if mean >= _LARGEST_COUNT:
        raise SettingError(
            "impossible-synthetic",
            f"probability {relation.probability:g} at arity {relation.arity} would give {mean:.1e} tuples",
        )
    return int(rng.binomial(possible, relation.probability) if possible <= _LARGEST_EXACT else rng.poisson(mean))


def random_blocks(
    entities: int,
    random_relations: Sequence[RandomRelation],
    rng: np.random.Generator,
    *,
    repeats: float = 0.0,
    skew: float = 0.0,
    narrow: float = 0.0,
    domain: int = 20,
) -> list[Block]:
    """Return random facts, one block per arity, sorted and each once; relation i is `random_relations[i]`.

    The share `repeats` of each relation's tuples holds one entity twice, always at the same two positions, so that one
    selection finds them all; the others hold distinct entities. By `skew` an entity is among the k most frequent with
    probability (k / n)^(1 - skew): with 0, as in the paper, all are alike; towards 1 a few stand in most tuples. The share
    `narrow` of relations of arity 3 and more has one position at which only `domain` entities stand, as classes and cities
    do in real data; without such, selection by a constant finds next to nothing.
    """
    names = rng.permutation(entities).astype(np.int32)  # so that the frequent ones are not those with the lowest ids
    blocks = []
    for arity in sorted({relation.arity for relation in random_relations}):
        labels = [label for label, relation in enumerate(random_relations) if relation.arity == arity]
        counts = np.array([draw_count(entities, random_relations[label], rng) for label in labels], np.int64)
        doubled = np.rint(counts * repeats).astype(np.int64) if arity > 1 else np.zeros_like(counts)
        for label, count in zip(labels, counts - doubled, strict=True):
            if count > math.perm(entities, arity):
                raise SettingError(
                    "impossible-synthetic",
                    f"relation {label} needs more tuples of arity {arity} than {entities} entities can form",
                )
        draw = _Drawing(entities, arity, np.array(labels, np.int32), skew, names, rng)
        draw.narrow(narrow, min(domain, entities))
        relations, columns = draw.distinct(np.stack([counts - doubled, doubled], axis=1))
        blocks.append(Block(relations, columns))
    return blocks


class _Drawing:
    """The drawing of one arity's facts."""

    def __init__(self, entities: int, arity: int, labels: Ids, skew: float, names: Ids, rng: np.random.Generator) -> None:
        self.entities, self.arity, self.labels, self.names, self.rng = entities, arity, labels, names, rng
        self.exponent = 1 / (1 - skew)
        pairs = np.array([(p, q) for p in range(arity) for q in range(p)] or [(0, 0)])
        self.dropped, self.kept = pairs[rng.integers(len(pairs), size=len(labels))].T  # the twin positions, by relation
        self.starts = np.zeros((arity, len(labels)), np.int32)  # where the entities of each position begin
        self.widths = np.full((arity, len(labels)), entities, np.int32)  # and how many they are

    def narrow(self, share: float, domain: int) -> None:
        """Let few entities stand at one position of a share of the relations; never at one of the twin positions."""
        if self.arity < 3:
            return
        for relation in np.flatnonzero(self.rng.random(len(self.labels)) < share):
            others = [
                position for position in range(self.arity) if position not in (self.dropped[relation], self.kept[relation])
            ]
            position = others[self.rng.integers(len(others))]
            self.starts[position, relation] = self.rng.integers(self.entities)
            self.widths[position, relation] = domain

    def distinct(self, wanted: Int64) -> tuple[Ids, Ids]:
        """Return as many facts as wanted, int64[relations, (plain, doubled)], each once and sorted."""
        numbers, columns = np.empty(0, np.int32), np.empty((self.arity, 0), np.int32)
        missing = wanted
        for _ in range(_ROUNDS):
            if not missing.any():
                return self.labels[numbers], columns
            new_numbers, new_columns = self._draw(missing)
            numbers, columns = self._merge(
                np.concatenate([numbers, new_numbers]), np.concatenate([columns, new_columns], axis=1)
            )
            missing = wanted - self._counts(numbers, columns, len(wanted))
        short, total = int(missing.sum()), int(wanted.sum())
        raise SettingError(
            "impossible-facts",
            f"cannot draw {short:,} of {total:,} tuples without repeats",
            place=f"arity {self.arity}",
            remedy="use more entities, fewer tuples or less skew",
        )

    def _draw(self, missing: Int64) -> tuple[Ids, Ids]:
        """Return the missing facts; those in which entities met by chance are left out, to be drawn again."""
        groups = np.repeat(np.arange(missing.size, dtype=np.int32), missing.ravel())
        numbers, doubled = groups >> 1, (groups & 1).astype(np.bool_)
        columns = np.empty((self.arity, len(numbers)), np.int32)
        for column, starts, widths in zip(columns, self.starts, self.widths, strict=True):
            ranks = (self.rng.random(len(numbers)) ** self.exponent * widths[numbers]).astype(np.int64) + starts[numbers]
            np.take(self.names, ranks, mode="wrap", out=column)
        if doubled.any():
            rows = np.flatnonzero(doubled)
            columns[self.dropped[numbers[rows]], rows] = columns[self.kept[numbers[rows]], rows]
        fine = self._coincidences(columns) == doubled
        return numbers[fine], columns[:, fine]

    def _coincidences(self, columns: Ids) -> Int64:
        found = np.zeros(columns.shape[1], np.int64)
        for one, other in itertools.combinations(columns, 2):
            found += one == other
        return found

    def _merge(self, numbers: Ids, columns: Ids) -> tuple[Ids, Ids]:
        order = row_order((numbers, *columns), (len(self.labels), *[self.entities] * self.arity))
        numbers = numbers[order]
        for column in columns:
            column[:] = column[order]
        new = differs_from_previous((numbers, *columns))
        return (numbers, columns) if new.all() else (numbers[new], columns[:, new])

    def _counts(self, numbers: Ids, columns: Ids, relations: int) -> Int64:
        rows = np.arange(len(numbers))
        doubled: Bool = columns[self.dropped[numbers], rows] == columns[self.kept[numbers], rows]
        if self.arity == 1:
            doubled[:] = False
        return np.bincount(2 * numbers + doubled, minlength=2 * relations).reshape(-1, 2)


def numbered_names(letter: str, count: int) -> list[str]:
    """Return names such as e007, so padded that they sort as their numbers do."""
    digits = len(str(max(count - 1, 0)))
    return [f"{letter}{number:0{digits}}" for number in range(count)]


def draw_elementary(settings: SynthSettings, rng: np.random.Generator) -> tuple[Hypergraph, dict[str, int]]:
    """Return the elementary relations with all their tuples, and the number of each relation's family by name.

    Each family is one relation of Algorithm 2, and each of its members a random part of that relation's tuples: so
    members share tuples, as far as their ancestor goes, and none holds all of another.
    """
    arity_of, members = list[int](), list[int]()  # of each family: its arity, and how many relations are parts of it
    by_arity = apportion(settings.relations, list(settings.arities.values()), least=1)
    for arity, count in zip(settings.arities, by_arity.tolist(), strict=True):
        whole, rest = divmod(count, settings.family)
        members += [settings.family] * whole + [rest] * (rest > 0)
        arity_of += [arity] * (whole + (rest > 0))
    sizes = _sizes(settings, arity_of, members, rng)
    share = _FAMILY_SHARE if settings.family > 1 else 1.0
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
    family_of = dict(zip(names, np.repeat(np.arange(len(members)), members).tolist(), strict=True))
    schema = Schema(RelationSchema(name, arity_of[family]) for name, family in family_of.items())
    return Hypergraph.sort(Vocabulary(numbered_names("e", settings.entities)), schema, parts), family_of


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

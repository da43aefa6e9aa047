"""Links that no source declares: columns that hold the values of another table's column."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import compress

import numpy as np

from relatum.arrays import Bool, Int64
from relatum.data.near_names import find_near_names, form_keys
from relatum.formatting import count, number
from relatum.tables.engine import Workspace
from relatum.tables.options import ColumnRef, EntityTypes, full_name
from relatum.tables.staging import Staged
from relatum.tables.values import text_of

_MOST_VALUES = 200_000  # different values of a column that are compared with those of others
_LEAST_VALUES = 5  # of two columns that are no keys, if their sharing values is to say anything
_SAME = 0.95  # the share of its values that a column has in another one, if it is taken to hold the same entities
_SAME_NAME = 0.5  # the same of columns of one name
_TRIED = 100  # values of a column that show whether it is worth a look at all of them


@dataclass(frozen=True, slots=True)
class LinkOffer:
    """That a column could refer to another: `share` of its different values are there.

    `near` more would be, but for what people overlook: `why` says what that is.
    """

    column: ColumnRef
    target: ColumnRef
    share: float
    near: int = 0
    why: str = ""

    @property
    def is_sure(self) -> bool:
        """Whether so many values are shared that a link can be taken for granted."""
        return self.share >= _enough(self.column, self.target)

    def __str__(self) -> str:
        return f"--link {full_name(self.column)}={full_name(self.target)}"


@dataclass(frozen=True)
class _Values:
    """The different values of a column, as text, and whether they are text."""

    is_text: bool
    texts: frozenset[str]

    @cached_property
    def listed(self) -> list[str]:
        """The values in ascending order."""
        return sorted(self.texts)

    @cached_property
    def keys(self) -> Int64:
        """The keys of their forms, int64[2, values], by which near values are found."""
        return form_keys(self.listed)

    @cached_property
    def sorted_keys(self) -> Int64:
        """The keys in ascending order."""
        return np.sort(self.keys, axis=None)

    def near(self, others: _Values, enough: float = 0.0) -> tuple[int, str]:
        """Return how many values are not among others but differ from one of them in what people overlook, and in what.

        Where a few values show that less than the share `enough` of them are near, the others are not looked at.
        """
        some = self.keys[:, :: max(1, len(self.listed) // _TRIED)]
        if _among(some, others.sorted_keys).mean() < enough / 2:
            return 0, ""
        near = [text for text in compress(self.listed, _among(self.keys, others.sorted_keys)) if text not in others.texts]
        if not near:
            return 0, ""
        targets = compress(others.listed, _among(others.keys, np.sort(form_keys(near), axis=None)))
        groups = find_near_names(sorted({*near, *targets}), 1)
        return len(near), f"only by {' and '.join(groups.kinds)}, such as {groups.example}"


def _among(keys: Int64, sorted_keys: Int64) -> Bool:
    """Return for each value whether one of its keys is among others."""
    at = np.minimum(np.searchsorted(sorted_keys, keys), len(sorted_keys) - 1)
    found: Bool = (sorted_keys[at] == keys).any(axis=0)
    return found


def link_offers(workspace: Workspace, tables: Iterable[Staged], identity: EntityTypes) -> list[LinkOffer]:
    """Return which columns could refer to which, best first, but for those that refer to something or are joined already.

    Text is compared with every key of another table, whole numbers only with keys of their name: the numbers from 1 up are
    in most tables. Columns of text that are no keys are compared with each other.
    """
    listed = list(tables)
    if len(listed) < 2:  # a column is compared with those of other tables
        return []
    keys = {(one.table.name, one.table.primary_key[0]): one for one in listed if len(one.table.primary_key) == 1}
    values = {ref: own for one in listed for ref, own in _values(workspace, one, keys).items()}
    offers: dict[ColumnRef, LinkOffer] = {}
    for ref, own in values.items():
        if ref in identity.refers or not own.texts:
            continue
        for other, theirs in values.items():
            if identity.types[other] == identity.types[ref] or other[0] == ref[0]:
                continue
            if not _may_refer(ref, own, other, theirs, keys):
                continue
            offer, best = _offer(ref, own, other, theirs), offers.get(ref)
            if offer is not None and (best is None or _rank(offer, keys) > _rank(best, keys)):
                offers[ref] = offer
    return sorted(offers.values(), key=lambda offer: (-offer.share, offer.column))


def _may_refer(ref: ColumnRef, own: _Values, other: ColumnRef, theirs: _Values, keys: Container[ColumnRef]) -> bool:
    """Return whether a column is one that could refer to another, whichever values they share."""
    if other not in keys:
        if not own.is_text or not theirs.is_text or ref in keys or len(own.texts) < _LEAST_VALUES:
            return False
        # Of two columns alike one refers to the other.
        return len(own.texts) < len(theirs.texts) or (len(own.texts) == len(theirs.texts) and ref > other)
    if ref in keys and ref > other:
        return False
    return (own.is_text and theirs.is_text) or _refers_by_name(ref, other)


def _offer(ref: ColumnRef, own: _Values, other: ColumnRef, theirs: _Values) -> LinkOffer | None:
    """Return the offer of a link if enough values are shared, or would be but for what people overlook."""
    shared, total = len(own.texts & theirs.texts), len(own.texts)
    if shared == total:
        return LinkOffer(ref, other, 1.0)
    near, how = own.near(theirs, _enough(ref, other))
    if shared + near < _enough(ref, other) * total:
        return None
    return LinkOffer(
        ref, other, shared / total, near, f"{number(near)} of {number(total)} values differ {how}" if near else ""
    )


def _enough(ref: ColumnRef, other: ColumnRef) -> float:
    return _SAME_NAME if _plain(ref[1]) == _plain(other[1]) else _SAME


def _rank(offer: LinkOffer, keys: Container[ColumnRef]) -> tuple[bool, bool, float, int, bool]:
    same_name = _plain(offer.column[1]) == _plain(offer.target[1])
    return offer.is_sure, offer.target in keys, offer.share, offer.near, same_name


def _values(workspace: Workspace, staged: Staged, keys: Container[ColumnRef]) -> dict[ColumnRef, _Values]:
    """Return the different values of the columns that could be links."""
    found = {}
    for name, profile in staged.profiles.items():
        ref, is_text = (staged.table.name, name), profile.kind == "text"
        if not (is_text or profile.is_whole) or not 1 < profile.distinct <= _MOST_VALUES or profile.words > 3:
            continue
        if profile.is_unique and ref not in keys:
            continue
        found[ref] = _values_of(workspace, staged, name)
    return found


def _refers_by_name(ref: ColumnRef, other: ColumnRef) -> bool:
    """Return whether a column is called after a table and its key: `item_id` after `items.id`, `tailnum` after `tailnum`."""
    name, key = _plain(ref[1]), _plain(other[1])
    tables = {_plain(other[0]), _plain(other[0]).rstrip("s")}
    return (name == key and key not in ("id", "key", "code")) or any(name == table + key for table in tables)


def _plain(name: str) -> str:
    return re.sub(r"[\W_]", "", name).lower()


def missing_targets(workspace: Workspace, tables: Iterable[Staged], identity: EntityTypes) -> dict[ColumnRef, str]:
    """Return a note for each column with values that have no target: they are entities all the same."""
    notes = {}
    staged = {(table.table.name, name): table for table in tables for name in table.view_columns}
    for ref, targets in identity.refers.items():
        for target in targets:
            if ref not in staged or not isinstance(target, tuple) or target not in staged:
                continue
            missing = f"({_texts(staged[ref], ref[1])}) EXCEPT ({_texts(staged[target], target[1])})"
            absent = int(workspace.one(f"SELECT count(*) FROM ({missing})", ref[0])[0])  # noqa: S608
            if not absent:
                continue
            notes[ref] = f"{count(absent, 'value has', 'values have')} no row in {full_name(target)}"
            if max(absent, staged[target].profiles[target[1]].distinct) <= _MOST_VALUES:
                own = _Values(True, frozenset(str(row[0]) for row in workspace.rows(missing, ref[0])))
                near, how = own.near(_values_of(workspace, staged[target], target[1]))
                notes[ref] += f"; {number(near)} of these differ from one {how}" * bool(near)
    return notes


def _values_of(workspace: Workspace, staged: Staged, name: str) -> _Values:
    """Return the different values of a column."""
    texts = frozenset(str(row[0]) for row in workspace.rows(_texts(staged, name), staged.table.name))
    return _Values(staged.profiles[name].kind == "text", texts)


def _texts(staged: Staged, name: str) -> str:
    """Return the query for the different values of a column, as text."""
    column, text = staged.view_columns[name], text_of("value", staged.types[name])
    distinct = f"SELECT DISTINCT {column} AS value FROM {staged.view} WHERE {column} IS NOT NULL"  # noqa: S608
    return f"SELECT {text} FROM ({distinct})"  # noqa: S608

"""Links that no source declares: columns that hold the values of another table's column."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from relatum.tables.engine import Workspace
from relatum.tables.options import ColumnRef, EntityTypes, full_name
from relatum.tables.staging import Staged
from relatum.tables.values import text_of

_MOST_VALUES = 200_000  # different values of a column that are compared with those of others
_LEAST_VALUES = 5  # of two columns that are no keys, if their sharing values is to say anything
_SAME = 0.95  # the share of its values that a column has in another one, if it is taken to hold the same entities
_SAME_NAME = 0.5  # the same of columns of one name


@dataclass(frozen=True, slots=True)
class LinkOffer:
    """That a column could refer to another: `share` of its different values are there."""

    column: ColumnRef
    target: ColumnRef
    share: float

    @property
    def is_sure(self) -> bool:
        """Whether so many values are shared that a link can be taken for granted."""
        return self.share >= (_SAME_NAME if _plain(self.column[1]) == _plain(self.target[1]) else _SAME)

    def __str__(self) -> str:
        return f"--link {full_name(self.column)}={full_name(self.target)}"


def link_offers(workspace: Workspace, tables: Iterable[Staged], identity: EntityTypes) -> list[LinkOffer]:
    """Return which columns could refer to which, best first, but for those that refer to something or are joined already.

    Text is compared with every key of another table, whole numbers only with keys of their name: the numbers from 1 up are
    in most tables. Columns of text that are no keys are compared with each other.
    """
    listed = list(tables)
    if len(listed) < 2:  # a column is compared with those of other tables
        return []
    keys = {(one.table.name, one.table.primary_key[0]): one for one in listed if len(one.table.primary_key) == 1}
    values = {ref: found for one in listed for ref, found in _values(workspace, one, keys).items()}
    offers: dict[ColumnRef, LinkOffer] = {}
    for ref, (is_text, own) in values.items():
        if ref in identity.refers or not own:
            continue
        for other, (other_text, theirs) in values.items():
            if identity.types[other] == identity.types[ref] or other[0] == ref[0] or is_text != other_text:
                continue
            if ref in keys and other in keys and ref > other:
                continue
            if other not in keys and (ref in keys or len(own) > len(theirs) or len(own) < _LEAST_VALUES):
                continue
            if other not in keys and len(own) == len(theirs) and ref < other:
                continue  # of two columns alike one refers to the other
            if not is_text and (other not in keys or not _refers_by_name(ref, other)):
                continue
            offer = LinkOffer(ref, other, len(own & theirs) / len(own))
            best = offers.get(ref)
            if offer.share >= _SAME_NAME and (best is None or _rank(offer, keys) > _rank(best, keys)):
                offers[ref] = offer
    found = [offer for offer in offers.values() if offer.share >= _SAME or offer.is_sure]
    return sorted(found, key=lambda offer: (-offer.share, offer.column))


def _rank(offer: LinkOffer, keys: Mapping[ColumnRef, object]) -> tuple[bool, float, bool]:
    return offer.target in keys, offer.share, _plain(offer.column[1]) == _plain(offer.target[1])


def _values(
    workspace: Workspace, staged: Staged, keys: Mapping[ColumnRef, object]
) -> dict[ColumnRef, tuple[bool, frozenset[str]]]:
    """Return the different values of the columns that could be links, as text, and whether they are text."""
    found = {}
    for name, profile in staged.profiles.items():
        ref, is_text = (staged.table.name, name), profile.kind == "text"
        if not (is_text or profile.is_whole) or not 1 < profile.distinct <= _MOST_VALUES or profile.words > 3:
            continue
        if profile.is_unique and ref not in keys:
            continue
        found[ref] = is_text, frozenset(str(row[0]) for row in workspace.rows(_texts(staged, name), staged.table.name))
    return found


def _refers_by_name(ref: ColumnRef, other: ColumnRef) -> bool:
    """Return whether a column is called after a table and its key: `item_id` after `items.id`, `tailnum` after `tailnum`."""
    name, key = _plain(ref[1]), _plain(other[1])
    tables = {_plain(other[0]), _plain(other[0]).rstrip("s")}
    return (name == key and key not in ("id", "key", "code")) or any(name == table + key for table in tables)


def _plain(name: str) -> str:
    return re.sub(r"[\W_]", "", name).lower()


def missing_targets(workspace: Workspace, staged: Iterable[Staged], identity: EntityTypes) -> dict[ColumnRef, str]:
    """Return a note for each column with values that have no target: they are entities all the same."""
    notes = {}
    there = {(table.table.name, name): _texts(table, name) for table in staged for name in table.view_columns}
    for ref, targets in identity.refers.items():
        for target in targets:
            if ref in there and isinstance(target, tuple) and target in there:
                query = f"SELECT count(*) FROM (({there[ref]}) EXCEPT ({there[target]}))"  # noqa: S608
                if count := workspace.one(query, ref[0])[0]:
                    values = "1 value has" if count == 1 else f"{count:,} values have"
                    notes[ref] = f"{values} no row in {full_name(target)}"
    return notes


def _texts(staged: Staged, name: str) -> str:
    """Return the query for the different values of a column, as text."""
    column, text = staged.view_columns[name], text_of("value", staged.types[name])
    distinct = f"SELECT DISTINCT {column} AS value FROM {staged.view} WHERE {column} IS NOT NULL"  # noqa: S608
    return f"SELECT {text} FROM ({distinct})"  # noqa: S608

"""What becomes of a column: the rules, in the order in which they are asked.

A column becomes entities, one for each value; `bins`, one for each group of neighbouring values; the `key` that its rows are
known by; the `label` that people call them; or it is left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from relatum.errors import DataError
from relatum.tables.foreign_keys import EntityTypes
from relatum.tables.options import Choices, ColumnRef, full_name
from relatum.tables.profile import Profile, is_called_like_code, is_called_like_key, is_called_like_year
from relatum.tables.source import SourceColumn, SourceTable

_FEW = 32  # different numbers or dates up to which each is an entity
_FEW_FRACTIONS = 12  # the same of numbers with decimals: ratings and rates have few, amounts soon have more
_REPEATS = 2  # times that these occur on average, at least
_OWN_TEXT = 0.9  # the share of different values from which on a text is taken to be free
_MANY_WORDS = 6  # on average, from which on a text is taken to be free
_SEVERAL_WORDS, _OWN_ROWS = 2.5, 0.5  # the same where more than this share of rows has a text that no other row has
_MOST_BINS, _LEAST_BINS, _IN_A_BIN = 20, 3, 20

Outcome = Literal["key", "entities", "bins", "label", "left out"]


@dataclass(frozen=True, slots=True)
class ColumnPlan:
    """What becomes of a column, and why; `bins` is the number of groups, if any."""

    outcome: Outcome
    why: str
    bins: int = 0

    @property
    def is_taken(self) -> bool:
        """Whether the values of the column become entities."""
        return self.outcome not in ("left out", "label")


def plan_unread_column(column: SourceColumn, table: SourceTable, choices: Choices) -> ColumnPlan | None:
    """Return what becomes of a column whatever its values are, or None if they have to be seen."""
    ref = table.name, column.name
    chosen = column.name in choices.columns.get(table.name, ())
    if ref in choices.drop:
        if chosen:
            raise DataError("contradictory-options", "both chosen and dropped", place=full_name(ref))
        return ColumnPlan("left out", "dropped by option")
    if table.name in choices.columns and not chosen:
        return ColumnPlan("left out", "not among the columns chosen")
    if column.kind == "unreadable":
        if chosen or ref in choices.keep:
            raise DataError(
                "unnameable-values",
                f"values of type {column.type} are nested or binary and cannot name entities",
                place=full_name(ref),
            )
        return ColumnPlan("left out", "nested or binary values")
    return None


def plan_columns(
    table: SourceTable,
    profiles: Mapping[str, Profile],
    choices: Choices,
    identity: EntityTypes,
    keep_ids: bool,
    labels: Sequence[str] = (),
) -> dict[str, ColumnPlan]:
    """Return what becomes of each column of a table whose values have been seen; `labels` are what its rows are called."""
    plans = {}
    for name, profile in profiles.items():
        ref = table.name, name
        plan = _by_option(ref, table, profile, choices) or _by_key(ref, table, profile, identity)
        is_nameless = table.column(name).is_nameless
        if plan is None and is_nameless and profile.is_unique and profile.is_whole:
            plan = ColumnPlan("left out", "it numbers the rows; --keep takes it")
        elif plan is None and name in labels:
            plan = ColumnPlan("label", "what its rows are called")
        plan = plan or _by_values(name, profile, choices, keep_ids)
        plans[name] = replace(plan, why=f"has no name in the header; {plan.why}") if is_nameless else plan
    return plans


def _by_option(ref: ColumnRef, table: SourceTable, profile: Profile, choices: Choices) -> ColumnPlan | None:
    bins = choices.bins.get(ref)
    if bins is not None and profile.present:
        if profile.kind not in ("number", "date"):
            raise DataError("text-bins", f"{full_name(ref)} holds text, which has no order to cut into groups", place="bins")
        return ColumnPlan("bins", f"{bins} groups of equal size, by option", bins)
    if table.primary_key == (ref[1],) and (ref in choices.keep or table.name not in choices.columns) and not table.is_facts:
        return ColumnPlan("key", "the key of its rows")
    if ref in choices.keep or ref[1] in choices.columns.get(table.name, ()):
        return ColumnPlan("entities", "by option")
    return ColumnPlan("entities", "part of a fact") if table.is_facts else None


def _by_key(ref: ColumnRef, table: SourceTable, profile: Profile, identity: EntityTypes) -> ColumnPlan | None:
    if not profile.present:
        return ColumnPlan("left out", "no values")
    if identity.is_entity(ref):
        others = identity.refers.get(ref) or identity.referred[ref]
        listed = ", ".join(other if isinstance(other, str) else full_name(other) for other in others)
        why = f"refers to {listed}" if ref in identity.refers else f"referred to by {listed}"
        return ColumnPlan("entities", f"{why}{', years in their order' * _is_years(ref[1], profile)}")
    if ref[1] in table.primary_key and profile.kind != "date":
        return ColumnPlan("entities", f"part of the key{', years in their order' * _is_years(ref[1], profile)}")
    return None


def _is_years(name: str, profile: Profile) -> bool:
    """Return whether numbers are years: called so, and such as years are. Their order counts, whatever they are part of."""
    return is_called_like_year(name) and profile.could_be_years


def _by_values(name: str, profile: Profile, choices: Choices, keep_ids: bool) -> ColumnPlan:
    counted = f"{profile.distinct:,} values in {profile.present:,} rows"
    if profile.distinct == 1 and not (profile.nulls and choices.null_is_value):
        return ColumnPlan("left out", f"the same value in every row{' that has one' * (profile.nulls > 0)}; --keep takes it")
    if profile.kind in ("number", "date"):
        years = _is_years(name, profile)
        if profile.is_unique and profile.is_whole and is_called_like_key(name) and not years:
            if keep_ids:
                return ColumnPlan("entities", "a value of its own in every row, kept by option")
            return ColumnPlan("left out", "a value of its own in every row; --keep takes it")
        few = _FEW if profile.is_whole or profile.kind == "date" else _FEW_FRACTIONS
        if profile.distinct <= few and profile.distinct * _REPEATS <= profile.present:
            return ColumnPlan("entities", f"{'years in their order' if years else 'repeats'}: {counted}")
        if years and is_called_like_key(name) and not profile.is_unique:
            return ColumnPlan("entities", f"years in their order: {counted}")
        if profile.is_whole and is_called_like_code(name) and not years and not profile.is_times:
            called = "key" if is_called_like_key(name) else "code"
            return ColumnPlan("entities", f"called like a {called}: {counted}")
        count = choices.bins_of_all or max(_LEAST_BINS, min(_MOST_BINS, profile.present // _IN_A_BIN))
        times = "times of day (hhmm) in " if profile.is_times else ""
        return ColumnPlan("bins", f"{times}{count} groups of equal size: {counted}", count)
    if profile.words > _MANY_WORDS:
        return ColumnPlan("left out", f"free text of {profile.words:.0f} words on average; --keep takes it")
    if profile.is_unique:
        if keep_ids:
            return ColumnPlan("entities", "a value of its own in every row, kept by option")
        return ColumnPlan("left out", "a value of its own in every row; --keep takes it")
    if profile.distinct > _OWN_TEXT * profile.present:
        return ColumnPlan("left out", f"free text: {counted}; --keep takes it")
    if profile.words >= _SEVERAL_WORDS and profile.single > _OWN_ROWS * profile.present:
        return ColumnPlan(
            "left out", f"free text: {profile.single:,} of {profile.present:,} rows have one of their own; --keep takes it"
        )
    return ColumnPlan("entities", f"repeats: {counted}")

"""The options of an import, resolved against the tables that are there, and which columns hold the same entities.

Columns that foreign keys or links join hold the same entities, however many steps lie between them. Such a group is called
after the column that the others lead to: by its table if it is the key, else by table and column.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal

from relatum.data.row_store import SHAPES, Shape
from relatum.errors import DataError, SettingError, UnknownNameError
from relatum.settings import Checked, setting
from relatum.tables.source import SourceTable, check_queries
from relatum.tables.text_form import TextForm

EVERY_COLUMN = "*"  # as a key of `bins`


@dataclass(frozen=True, kw_only=True)
class ImportOptions(Checked):
    """The options of an import; wherever a column is named it is `table.column`, or `column` if only one table has it."""

    tables: Sequence[str] = setting((), "the tables to take; by default all")
    columns: Mapping[str, Sequence[str]] = setting(
        {}, "for a table, exactly the columns that become its roles, in this order"
    )
    relations: Mapping[str, str] = setting({}, "for a table, what its relation is called; by default as the table")
    keep: Sequence[str] = setting((), "columns to take as entities although they would be left out")
    drop: Sequence[str] = setting((), "columns to leave out")
    links: Mapping[str, str] = setting(
        {},
        "for a column, the `table.column` whose entities it holds, a table (its primary key), or a name of a kind"
        " of entities, which several columns can share",
    )
    auto_links: bool = setting(False, "link columns to those of other tables that have nearly all of their values")
    shapes: Mapping[str, Shape] = setting(
        {},
        "for a table, what its rows become: facts about an `entity`, the row itself; `fact`s over several entities; or"
        " `both`. By default what keys, foreign keys and dependencies say",
    )
    bins: int | Mapping[str, int] | None = setting(
        None,
        "into how many groups of equal size numbers and dates go that have many values; for a column, or for all"
        ' (`"*"`, or a number alone). By default 20, and fewer where there are few rows',
    )
    null: Literal["skip", "value"] = setting(
        "skip", "what a NULL is: a gap, which is `skip`ped and can be filled, or a `value` like any other"
    )
    null_text: Sequence[str] = setting((), "texts that stand for NULL, such as NA; spaces around them do not count")
    views: bool = setting(False, "take the views of databases as tables; each is a program that its author wrote")
    keep_ids: bool = setting(False, "take columns that have a value of their own in every row")
    plain: bool = setting(
        False, "entities are called by their value alone, so that the same text is the same entity wherever it stands"
    )
    relation_key: str = setting("relation", "the key of a JSON object that names its relation")
    sql: Mapping[str, str] = setting({}, "for a name, a query whose rows are one more table: one SELECT, which only reads")
    header: bool = setting(
        True, "the first line of a text file or sheet names its columns; else they are numbered: column_1"
    )
    delimiter: str | None = setting(
        None, "what sets the columns of a text file apart: one character, or comma, semicolon, tab, pipe or space"
    )
    encoding: str = setting("utf-8", "the encoding of text files, by its name in Python")
    split: Literal["stratified", "random"] = setting(
        "stratified", "hold out the same share of every relation (`stratified`) or of all facts together (`random`)"
    )
    time: str | None = setting(
        None,
        "the column of dates or numbers by which facts are split: the last are held out. It counts for its table, and for"
        " tables that refer to that; other facts are split as usual",
    )
    time_per: str | None = setting(
        None,
        "with `time`, a column of the same table: of each of its entities the last facts are held out, at least one each for"
        " valid and for test, instead of the last of all",
    )
    valid: float = setting(0.1, "the share of facts for valid", ge=0, lt=1)
    test: float = setting(0.1, "the share of facts for test", ge=0, lt=1)
    seed: int = setting(0, "what the held-out facts are drawn from", ge=0)

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("tables", "keep", "drop", "null_text"):
            if isinstance(getattr(self, name), str):
                raise SettingError("setting-out-of-range", "must be a list of names, not one text", place=name)
        for name, shape in self.shapes.items():
            if shape not in SHAPES:
                reason = f"{name}: must be one of {', '.join(SHAPES)}, not {shape!r}"
                raise SettingError("setting-out-of-range", reason, place="shapes")
        if self.time_per is not None and self.time is None:
            raise SettingError(
                "bad-time-column", "there is no column of times", place="time_per", remedy="say which with time"
            )
        _ = self.text_form  # which checks itself
        check_queries(self.sql)
        if self.valid + self.test >= 1:
            raise SettingError(
                "nothing-to-train", f"{self.valid} and {self.test} leave nothing for train", place="valid, test"
            )
        for name, count in self.bins_by_column.items():
            if not isinstance(count, int) or not 2 <= count <= 1000:
                reason = f"{name}: must be a whole number from 2 to 1000, not {count!r}"
                raise SettingError("setting-out-of-range", reason, place="bins")

    @property
    def bins_by_column(self) -> Mapping[str, int]:
        """The number of groups by column; that of every column is under `"*"`."""
        return self.bins if isinstance(self.bins, Mapping) else {} if self.bins is None else {EVERY_COLUMN: self.bins}

    @property
    def text_form(self) -> TextForm:
        """How text files are written."""
        return TextForm(self.delimiter, self.header, self.encoding)

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> ImportOptions:
        """Return options given by name."""
        known = [each.name for each in fields(cls)]
        for name in options:
            if name not in known:
                raise UnknownNameError("option", name, known)
        return cls(**options)

    def to_dict(self) -> dict[str, Any]:
        """Return the options as they go into `import.json`."""
        return asdict(self)


ColumnRef = tuple[str, str]  # table and column


def full_name(ref: ColumnRef) -> str:
    """Return `table.column`."""
    return ".".join(ref)


class Choices:
    """What was chosen, by table and column; every name in the options is there."""

    def __init__(self, tables: Mapping[str, SourceTable], options: ImportOptions) -> None:
        self._tables = tables
        self._refs: dict[str, list[ColumnRef]] = {}
        for table in tables.values():
            for column in table.columns:
                for name in {f"{table.name}.{column.name}", column.name}:
                    self._refs.setdefault(name, []).append((table.name, column.name))
        readable = [table.name for table in tables.values() if table.is_readable]
        self.tables = list(dict.fromkeys(map(self._table, options.tables))) or readable
        self.relations = {self._table(table): relation for table, relation in options.relations.items()}
        self.columns = {self._table(table): self._columns(table, names) for table, names in options.columns.items()}
        self.keep = set(map(self.column_ref, options.keep))
        self.drop = set(map(self.column_ref, options.drop))
        self.time = None if options.time is None else self.column_ref(options.time)
        self.time_per = None if options.time_per is None else self.column_ref(options.time_per)
        self.shapes = {self._table(table): shape for table, shape in options.shapes.items()}
        self.bins = {self.column_ref(name): n for name, n in options.bins_by_column.items() if name != EVERY_COLUMN}
        self.bins_of_all = options.bins_by_column.get(EVERY_COLUMN)
        self.null_is_value = options.null == "value"
        self.links = {self.column_ref(name): self._link(name, what) for name, what in options.links.items()}
        for name in (*self.columns, *self.relations, *self.shapes):
            if name not in self.tables:
                raise SettingError("not-chosen", f"table {name!r} has options but is not among the tables chosen")
        for name, shape in self.shapes.items():
            if name in self.columns and shape != "fact":
                reason = "its columns are chosen, so that its rows are facts over these"
                raise SettingError("not-chosen", reason, place=f"shape {name}={shape}")
        for table_name, column_name in sorted(self.keep):
            if column_name not in self.columns.get(table_name, [column_name]):
                place = full_name((table_name, column_name))
                raise SettingError("not-chosen", "kept, but not among the columns chosen", place=place)
        for ref in sorted(self.keep & self.drop):
            raise SettingError("contradictory-options", "both kept and dropped", place=full_name(ref))

    def column_ref(self, name: str) -> ColumnRef:
        """Return the column that is called `table.column`, or `column` if only one table has it."""
        found = self._refs.get(name, [])
        if len(found) > 1:
            raise DataError("ambiguous-column", f"column {name!r} could be {' or '.join(map(full_name, found))}")
        if not found:
            raise UnknownNameError("column", name, [full for full in self._refs if "." in full] or self._refs)
        return found[0]

    def may_take(self, ref: ColumnRef) -> bool:
        """Return whether the options leave a column in play."""
        table, column = ref
        return table in self.tables and ref not in self.drop and column in self.columns.get(table, [column])

    def _table(self, name: str) -> str:
        if name not in self._tables:
            raise UnknownNameError("table", name, self._tables)
        return name

    def _columns(self, table: str, names: Iterable[str]) -> list[str]:
        chosen, known = list(names), [column.name for column in self._tables[table].columns]
        if not chosen:
            raise SettingError("not-chosen", f"none chosen for table {table!r}", place="columns")
        for number, name in enumerate(chosen):
            if name not in known:
                raise UnknownNameError(f"column of {table}", name, known)
            if name in chosen[:number]:
                raise SettingError("not-chosen", f"{full_name((table, name))} is chosen twice", place="columns")
        return chosen

    def _link(self, name: str, what: str) -> ColumnRef | str:
        """Return the column that a column is linked to, or the name of a kind of entities."""
        if what in self._refs and what not in self._tables and "." in what:
            return self.column_ref(what)
        if what in self._tables:
            key = self._tables[what].primary_key
            if len(key) != 1:
                place, remedy = f"link {name}={what}", f"say {what}.COLUMN"
                raise DataError("bad-link", f"table {what!r} has no primary key of one column", place=place, remedy=remedy)
            return what, key[0]
        # The name of a table may hold dots, as `hr.people` does: the longest that is there counts.
        dots = [index for index, character in enumerate(what) if character == "."]
        for dot in reversed(dots):
            if (table := self._tables.get(what[:dot])) is not None:
                raise UnknownNameError(f"column of {table.name}", what[dot + 1 :], [each.name for each in table.columns])
        if ":" in what or not what.strip():
            place = f"link {name}={what}"
            raise SettingError("bad-link", "the name of a kind of entities holds no colon and is not blank", place=place)
        return what


class EntityTypes:
    """The entity types of an import: `types` has one for each column, `refers` and `referred` say why."""

    def __init__(self, tables: Mapping[str, SourceTable], choices: Choices) -> None:
        self.refers: dict[ColumnRef, list[ColumnRef | str]] = {}
        self.referred: dict[ColumnRef, list[ColumnRef]] = {}
        self._read = frozenset(choices.tables)
        for table in tables.values():
            for ref, target in _targets(table, tables, choices):
                self._join(ref, target)
        for ref, linked in choices.links.items():
            self._join(ref, linked)
        refs = [(table.name, column.name) for table in tables.values() for column in table.columns]
        self.types = self._named(self._groups(refs), tables)

    def is_entity(self, ref: ColumnRef) -> bool:
        """Return whether a column refers to another, or is referred to."""
        return ref in self.refers or ref in self.referred

    def _join(self, ref: ColumnRef, target: ColumnRef | str) -> None:
        if ref != target:
            self.refers.setdefault(ref, []).append(target)
            if isinstance(target, tuple):
                self.referred.setdefault(target, []).append(ref)

    def _groups(self, refs: Iterable[ColumnRef]) -> list[list[ColumnRef | str]]:
        """Return the columns in groups of those that are joined, in any number of steps."""
        parent: dict[ColumnRef | str, ColumnRef | str] = {}

        def root(node: ColumnRef | str) -> ColumnRef | str:
            while (above := parent.setdefault(node, node)) != node:
                parent[node] = parent[above]
                node = above
            return node

        for ref in refs:
            root(ref)
        for ref, targets in self.refers.items():
            for target in targets:
                parent[root(ref)] = root(target)
        groups: dict[ColumnRef | str, list[ColumnRef | str]] = {}
        for node in list(parent):
            groups.setdefault(root(node), []).append(node)
        return list(groups.values())

    def _named(self, groups: list[list[ColumnRef | str]], tables: Mapping[str, SourceTable]) -> dict[ColumnRef, str]:
        types: dict[ColumnRef, str] = {}
        taken: set[str] = set()
        for group in sorted(groups, key=lambda group: sorted(map(str, group))):
            given = sorted(node for node in group if isinstance(node, str))
            refs = sorted(node for node in group if isinstance(node, tuple))
            ends = [ref for ref in refs if ref not in self.refers] or refs  # all refer to others in a circle
            name = given[0] if given else self._name(ends[0], tables)
            # A colon ends the type in the name of an entity. Two types of one name, as of a table `a.b` and a column b of
            # table a, must not become one.
            name = name.replace(":", "_")
            while name in taken:
                name += "~"
            taken.add(name)
            types.update(dict.fromkeys(refs, name))
        return types

    def _name(self, ref: ColumnRef, tables: Mapping[str, SourceTable]) -> str:
        """Return what the entities of a column are called: after the table if it is the key, else by table and column.

        A key that no source declares is found in the values, so not in a table that is not read. There the only column that
        others refer to is taken to be it, so that its entities are called the same whether or not the table is read.
        """
        key = tables[ref[0]].primary_key
        if not key and ref[0] not in self._read:
            key = tuple(column for table, column in self.referred if table == ref[0])
        return ref[0] if key == (ref[1],) else full_name(ref)


def _targets(
    table: SourceTable, tables: Mapping[str, SourceTable], choices: Choices
) -> Iterable[tuple[ColumnRef, ColumnRef]]:
    """Yield the columns of a table's foreign keys with what they refer to; one that leads nowhere matters if it is used."""
    for reference in table.references:
        for column, target in zip(reference.columns, reference.targets, strict=True):
            other = tables.get(reference.table)
            if other is not None and any(known.name == target for known in other.columns):
                yield (table.name, column), (other.name, target)
            elif choices.may_take((table.name, column)):
                missing = f"table {reference.table!r}" if other is None else f"column {target!r} of {reference.table!r}"
                name = full_name((table.name, column))
                raise DataError(
                    "dangling-foreign-key",
                    f"foreign key {name} refers to {missing}, which does not exist",
                    remedy=f"drop {name} to leave it out",
                )

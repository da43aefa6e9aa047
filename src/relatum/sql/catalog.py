"""What a query can name: tables with their columns, views, and the entities that values mean.

A relation is a table whose columns are its roles, or `position_0`, ... without roles. An imported table is as it was:
where its rows are entities, each column is a relation of its own with the key, such as `Track.GenreId(track, genre)`,
and a query that names some columns joins the relations of these alone. So a cell without a value stands in the way of no
other column.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, reduce

from relatum.algebra import Expression, Project, Relation, Union
from relatum.algebra.column_types import column_types_of
from relatum.data.column_types import ColumnType, ColumnTypes
from relatum.data.labels import Labels, named_entity
from relatum.data.row_store import RowStore, TableSchema
from relatum.data.schema import RelationSchema, Schema
from relatum.data.vocabulary import Vocabulary
from relatum.errors import UnknownNameError


@dataclass(frozen=True, slots=True)
class CatalogColumn:
    """A column of a table.

    Attributes:
        name: what it is called.
        column_type: what its entities are, or None.
        relation: the relation whose facts have it; None for a key that many have, and for what no fact has.
        position: where in that relation.
        use: `cell`, `key`, `label` (a text that rows are called by) or `row` (stored, and in no fact).
    """

    name: str
    column_type: ColumnType | None = None
    relation: RelationSchema | None = None
    position: int = 0
    use: str = "cell"


@dataclass(frozen=True, slots=True)
class CatalogTable:
    """A table: a relation, or an imported table, whose columns may be in several relations."""

    name: str
    columns: tuple[CatalogColumn, ...]

    @property
    def key(self) -> int | None:
        """The index of the column that its rows are known by, where these are entities."""
        return next((index for index, one in enumerate(self.columns) if one.use == "key"), None)

    @property
    def row_type(self) -> ColumnType | None:
        """What its rows are, where these are entities."""
        return None if self.key is None else self.columns[self.key].column_type

    def has_key(self, relation: RelationSchema) -> bool:
        """Return whether a relation has a column of this table behind its key: not that of facts over several entities."""
        return not any(one.relation == relation and one.position == 0 for one in self.columns)

    @property
    def relation(self) -> RelationSchema | None:
        """The relation that it is, column by column; None if it is not one."""
        first = self.columns[0].relation if self.columns else None
        in_order = [(one.relation, one.position) for one in self.columns]
        if first is None or in_order != [(first, position) for position in range(first.arity)]:
            return None
        return first


@dataclass(frozen=True, slots=True)
class StoredQuery:
    """A query that DuckDB answers.

    Attributes:
        sql: the query, in which each table has one of the names of `tables`, and is called as in the catalog.
        tables: the tables and views that it reads, by the names that they have there.
    """

    sql: str
    tables: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ShownColumn:
    """What a column of a result is: a column of an imported table, or of a relation, which has no table.

    `looked_up` is the column that is shown of the stored row whose key the column is.
    """

    table: str | None
    column: str
    column_type: ColumnType | None
    looked_up: str | None = None


@dataclass(frozen=True, slots=True)
class View:
    """An expression under a name, what its columns are called, and where SQL made it, the query as DuckDB reads it."""

    expression: Expression
    columns: tuple[str, ...]
    text: str | None = None  # the query of SQL that made it
    stored: StoredQuery | None = None


@dataclass(frozen=True, eq=False)
class Catalog:
    """What a query can name.

    Attributes:
        schema: the stored relations.
        entities: the names of all entities.
        column_types: what the entities of relations are, where these were tables.
        rows: the rows of imported tables.
        views: the relations that were defined.
    """

    schema: Schema
    entities: Vocabulary
    column_types: ColumnTypes = field(default_factory=dict)
    rows: RowStore | None = None
    views: Mapping[str, View] = field(default_factory=dict)

    @cached_property
    def tables(self) -> Mapping[str, CatalogTable]:
        """The tables by name: imported ones as they were, and behind them the relations."""
        found = {}
        for one in self.rows.schemas if self.rows is not None else ():
            found[one.name] = self._imported(one)
        for relation in self.schema:
            if relation.name not in found and relation.name not in self.views:
                found[relation.name] = CatalogTable(relation.name, tuple(self._cells(relation)))
        return found

    def types_of(self, expression: Expression) -> tuple[ColumnType | None, ...]:
        """Return what the entities in each column of an expression are."""
        return column_types_of(expression, self.column_types)

    def entity(self, text: str, column_type: ColumnType | None, column: str, *, is_number: bool = False) -> str:
        """Return the entity that a value means in a column: by its name, the value in the table, or what it is called."""
        forms = [text, *_number_forms(text)] if is_number else [text]
        if column_type is None or column_type.entity_type is None:
            found = next((form for form in forms if form in self.entities), text)
            return self.entities[self.entities.id(found)]
        prefix = column_type.prefix
        for form in forms:
            for name in (form, prefix + form):
                if name in self.entities and name.startswith(prefix):
                    return name
        return self.entities[named_entity(text, self.entities, self._labels, [column_type.entity_type], column)]

    def called(self, label: str, table: CatalogTable) -> list[str]:
        """Return the entities that rows with a label are, which there must be."""
        prefix = "" if table.row_type is None else table.row_type.prefix
        found = [one for one in self._labels.named(label, prefix) if one in self.entities]
        if not found:
            known = (text for entity, text in self._labels.items() if entity.startswith(prefix))
            raise UnknownNameError(f"name in {table.name}", label, known)
        return found

    def rows_of(self, table: CatalogTable) -> Expression | None:
        """Return the entities that are rows of a table, as far as any fact has them."""
        if table.row_type is None or table.row_type.entity_type is None:
            return None
        columns: list[Expression] = [
            Project(Relation(relation), (position,)) if relation.arity > 1 else Relation(relation)
            for relation in self.schema
            for position, one in enumerate(self.column_types.get(relation.name, ()))
            if one.entity_type == table.row_type.entity_type
        ]
        return reduce(Union, columns) if columns else None

    @cached_property
    def _labels(self) -> Labels:
        return Labels(self.rows)

    @cached_property
    def _grouped(self) -> frozenset[str]:
        """The entity types that are groups of numbers or dates, not values."""
        columns = (column for schema in (self.rows.schemas if self.rows is not None else ()) for column in schema.columns)
        return frozenset(one.entity_type for one in columns if one.bins is not None)

    def is_grouped(self, column_type: ColumnType | None) -> bool:
        """Return whether a column is learned by groups of its values, which are compared as they stand."""
        return column_type is not None and column_type.entity_type in self._grouped

    def _cells(self, relation: RelationSchema) -> list[CatalogColumn]:
        types: Sequence[ColumnType | None] = self.column_types.get(relation.name, (None,) * relation.arity)
        names = columns_of(relation)
        return [CatalogColumn(name, types[position], relation, position) for position, name in enumerate(names)]

    def _imported(self, schema: TableSchema) -> CatalogTable:
        found: dict[str, CatalogColumn] = {}
        about = set()
        for one in schema.columns:
            relation = self.schema[one.relation] if one.relation is not None and one.relation in self.schema else None
            if relation is not None and relation.name != schema.relation and one.name != schema.row_key:
                about.add(relation.name)
        for one in schema.columns:
            known = one.relation is not None and one.relation in self.schema
            is_key = one.name == schema.row_key and (one.relation is None or one.relation != schema.relation)
            column_type = ColumnType(one.entity_type, "text" if one.value_type == "date" else one.value_type)
            if is_key and (about or schema.relation is None):
                found[one.name] = CatalogColumn(one.name, column_type, use="key")
            elif known and one.position is not None and one.relation is not None:
                relation = self.schema[one.relation]
                types = self.column_types.get(relation.name)
                found[one.name] = CatalogColumn(one.name, types[one.position] if types else None, relation, one.position)
            elif one.part_of is None:
                found[one.name] = CatalogColumn(one.name, column_type, use="row")
        if len(schema.label) == 1:
            found.setdefault(schema.label[0], CatalogColumn(schema.label[0], use="label"))
        stored = self.rows.values.get(schema.name) if self.rows is not None else None
        names = [one.name for one in stored.columns] if stored is not None else list(found)
        return CatalogTable(schema.name, tuple(found.get(name) or CatalogColumn(name, use="row") for name in names))


def catalog_of(
    schema: Schema,
    entities: Vocabulary,
    *,
    column_types: ColumnTypes | None = None,
    rows: RowStore | None = None,
    views: Mapping[str, Expression] | None = None,
) -> Catalog:
    """Return what queries can name.

    Args:
        schema: the stored relations.
        entities: the names of all entities.
        column_types: what the entities of relations are.
        rows: the rows of imported tables.
        views: the relations that were defined, over stored ones; their columns are called by their roles or positions.
    """
    named = {name: View(one, columns_of(RelationSchema(name, one.arity, one.roles))) for name, one in (views or {}).items()}
    return Catalog(schema, entities, column_types or {}, rows, named)


def columns_of(relation: RelationSchema) -> tuple[str, ...]:
    """Return what the columns of a relation are called: its roles, or else `position_0` and so on."""
    return relation.roles or tuple(f"position_{position}" for position in range(relation.arity))


def _number_forms(text: str) -> list[str]:
    """Return the shortest forms of a number, in which tables have it."""
    try:
        number = float(text)
    except ValueError:
        return []
    if number != number or number in (float("inf"), float("-inf")):
        return []
    return [str(int(number)), repr(number)] if number == int(number) else [repr(number)]

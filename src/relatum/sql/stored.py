"""A query of stored rows as DuckDB reads it: without what it says of probabilities, over the tables of the catalog."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from relatum.extras import optional
from relatum.sql.catalog import Catalog, StoredQuery
from relatum.sql.scope import matching
from relatum.sql.syntax import DIALECT, Syntax

with optional("sqlglot", extra="sql"):
    from sqlglot import exp


def stored_query(syntax: Syntax, catalog: Catalog, values: Mapping[int, str]) -> StoredQuery:
    """Return what DuckDB is asked for the known rows of a query.

    Args:
        syntax: the query.
        catalog: what it can name.
        values: the stored values that constants mean, by where these begin: people also write what rows are called.
    """
    tree, tables = syntax.root.copy(), dict[str, str]()
    for constant in list(tree.find_all(exp.Literal)):
        if (value := values.get(constant.meta.get("start", -1))) is not None:
            whole = constant.parent if isinstance(constant.parent, exp.Neg) else constant
            whole.replace(exp.Literal.string(value))
    known = [*catalog.tables, *catalog.views]
    for node in list(tree.find_all(exp.Table)):
        name = syntax.name_of(node.this)
        if matching(name, _named_before(node)):
            continue
        found = matching(name, known)
        if len(found) > 1:
            several = f"{name.text} could be {' or '.join(found)}: write it in double quotes"
            raise syntax.refusals.at(name.at, several, "ambiguous-column")
        if not found:
            raise syntax.refusals.unknown(name.at, "table", name.text, known)
        given = f"t{known.index(found[0])}"
        tables[given] = found[0]
        if node.args.get("alias") is None:
            node.set("alias", exp.TableAlias(this=exp.to_identifier(found[0], quoted=True)))
        node.set("this", exp.to_identifier(given))
    return StoredQuery(tree.sql(dialect=DIALECT), tables)


def _named_before(node: exp.Expr) -> Iterator[str]:
    """Yield the names of WITH that a table could mean: those around it, and in a WITH those before its own."""
    inner, outer = node, node.parent
    while outer is not None:
        if isinstance(outer, exp.With):
            for one in outer.expressions:
                if one is inner:
                    break
                yield one.alias
        elif (clause := outer.args.get("with_")) is not None and clause is not inner:
            yield from (one.alias for one in clause.expressions)
        inner, outer = outer, outer.parent

"""The names that a SELECT can use: its tables, their columns, and those of the queries around it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from relatum.errors import UnknownNameError
from relatum.sql.bound import Reference, Source
from relatum.sql.scan import Refusals, SqlError
from relatum.sql.syntax import ColumnName, Name


def matching(name: Name, known: Iterable[str]) -> list[str]:
    """Return the known names that a name means: the same one, or else those that differ in case alone, unless quoted."""
    listed = list(dict.fromkeys(known))
    if name.text in listed:
        return [name.text]
    return [] if name.quoted else [one for one in listed if one.casefold() == name.text.casefold()]


def references_of(source: Source) -> list[Reference]:
    """Return all columns of a table."""
    return [Reference(source, index) for index in range(len(source.columns))]


@dataclass
class Scope:
    """The tables of a SELECT, from left to right.

    Attributes:
        refusals: makes errors.
        parent: what the query around it can name.
        sources: its tables.
        hidden: columns that USING or NATURAL has merged into one further left: a bare name does not mean them.
        is_closed: whether it is a query in FROM, which cannot name what is around it.
    """

    refusals: Refusals
    parent: Scope | None = None
    sources: list[Source] = field(default_factory=list)
    hidden: set[Reference] = field(default_factory=set)
    is_closed: bool = False

    def add(self, source: Source, at: int) -> None:
        """Add a table, whose name must be its own."""
        if any(one.name.casefold() == source.name.casefold() for one in self.sources):
            raise self.refusals.at(at, f"two tables of FROM are called {source.name!r}: name one with AS", "name-taken")
        self.sources.append(source)

    def visible(self, sources: Sequence[Source] | None = None) -> list[Reference]:
        """Return the columns of all or some tables that a bare name can mean, in order."""
        listed = self.sources if sources is None else sources
        return [one for source in listed for one in references_of(source) if one not in self.hidden]

    def reachable(self) -> Iterator[Scope]:
        """Yield this and those around that can be named, the nearest first."""
        scope: Scope | None = self
        while scope is not None:
            yield scope
            scope = None if scope.is_closed else scope.parent

    def table(self, name: Name) -> Source:
        """Return the table that a name means, here or around."""
        known = []
        for scope in self.reachable():
            if found := matching(name, [one.name for one in scope.sources]):
                return next(one for one in scope.sources if one.name == found[0])
            known += [one.name for one in scope.sources]
        raise self.refusals.unknown(name.at, "table of this query", name.text, known)

    def column(self, wanted: ColumnName) -> Reference:
        """Return the column that is meant, here or around; refuse one that does not exist, or could be several."""
        if wanted.table is not None:
            return self.column_of(self.table(wanted.table), wanted.name, wanted.at)
        known: list[str] = []
        for scope in self.reachable():
            found = scope.named(wanted.name)
            if len(found) > 1:
                several = " or ".join(map(str, found))
                raise self.refusals.at(wanted.at, f"{wanted.name.text} could be {several}: write which", "ambiguous-column")
            if found:
                return found[0]
            known += [one.name for one in scope.visible()]
        raise self._unknown(wanted, known)

    def named(self, name: Name, sources: Sequence[Source] | None = None) -> list[Reference]:
        """Return the columns of all or some tables that a bare name means."""
        seen = self.visible(sources)
        names = matching(name, (one.name for one in seen))
        return [one for one in seen if one.name in names]

    def column_of(self, source: Source, name: Name, at: int) -> Reference:
        """Return a column of a table."""
        found = matching(name, source.columns)
        if len(found) > 1:
            several = f"{' or '.join(found)} of {source.name}"
            raise self.refusals.at(at, f"{name.text} could be {several}: write it in double quotes", "ambiguous-column")
        if not found:
            raise self.refusals.unknown(at, f"column of {source.name}", name.text, source.columns)
        return Reference(source, source.columns.index(found[0]))

    def _unknown(self, wanted: ColumnName, known: Sequence[str]) -> SqlError:
        name = wanted.name
        if name.text.casefold() in ("known", "probability"):
            condition = "known" if name.text.casefold() == "known" else "probability > 0.8"
            reason = f"{name.text} comes with every row"
            return self.refusals.at(wanted.at, reason, "unknown-name", remedy=f"leave it out, or say WHERE {condition}")
        unknown = UnknownNameError("column", name.text, dict.fromkeys(known))
        if name.quoted and not matching(name, known):
            quotes = "double quotes are for names, single ones for values"
            unknown.remedy = "; ".join(filter(None, (unknown.remedy, quotes)))
            return self.refusals.of(wanted.at, unknown)
        scope: Scope | None = self
        while scope is not None:
            if scope.is_closed and scope.parent is not None and scope.parent.named(name):
                reason = f"{name.text} is a column of the query around this one, which a query in FROM cannot name"
                return self.refusals.at(wanted.at, reason, "unknown-name")
            scope = scope.parent
        return self.refusals.of(wanted.at, unknown)

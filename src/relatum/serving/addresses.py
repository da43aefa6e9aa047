"""The addresses of pages and of their JSON twins; names are hostile, and come back as they were.

A plain name is part of the path: `/shop/entity/drew`, whose twin is `/shop/entity/drew.json`. One that a path, a proxy or a
browser would change goes behind the question mark: `/shop/entity?name=a%2Fb`. One that is too long for an address goes by
its number: `/shop/entity?number=17`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode

_PLAIN = re.compile(r"[^\x00-\x20\x7f-\xa0/\\?#%;.\ud800-\udfff][^\x00-\x1f\x7f-\xa0/\\?#%;\ud800-\udfff]{0,199}")
_LONGEST = 4_000  # bytes of a name in an address, as it stands there


def address(run: str, page: str = "", name: str | None = None, *, json: bool = False, **query: object) -> str:
    """Return the address of a page of a run: `page` such as `entity` and, if it has one, `name`.

    What is None in `query` is left out.
    """
    parts, wanted = [quote(run, safe=""), page], {key: value for key, value in query.items() if value is not None}
    if name is not None and _PLAIN.fullmatch(name) and not name.endswith(".json"):
        parts.append(quote(name, safe=""))
    elif name is not None:
        wanted = {"name": name, **wanted}
    path = "/".join(filter(None, parts)) + (".json" if json else "")
    return f"/{path}" + ("?" + urlencode(wanted, errors="replace") if wanted else "")


@dataclass(frozen=True, slots=True)
class PageContext:
    """What a page shows beside its resource: where it is, what else there is, and how to link to it."""

    run: str  # the name of the run that the page is about; empty for pages about none
    runs: tuple[str, ...]  # the names of all runs
    version: str  # the version of relatum
    twin: str = ""  # the address of the same as JSON; empty where there is none
    decisions: bool = False  # whether decisions are kept
    csrf: str = ""  # what a form that decides must send as `csrf`
    # returns the number of an entity, for links to one whose name is too long for an address
    number_of: Callable[[str], int] | None = None

    def url(self, page: str = "", name: str | None = None, **query: Any) -> str:
        """Return the address of a page of this run."""
        return address(self.run, page, name, **query)

    def entity(self, name: str) -> str:
        """Return the address of an entity's page."""
        if self.number_of is not None and len(quote(name, safe="", errors="replace")) > _LONGEST:
            return address(self.run, "entity", number=self.number_of(name))
        return address(self.run, "entity", name)

    def relation(self, name: str) -> str:
        """Return the address of a relation's page."""
        return address(self.run, "relation", name)

    def ask(self, question: str, **query: Any) -> str:
        """Return the address of the answers to a question, or to a query of SQL or algebra."""
        return address(self.run, "ask", q=question, **query)

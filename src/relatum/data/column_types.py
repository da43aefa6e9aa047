"""What the entities of a relation's columns are, where it was made from tables: plain text beside the data, `domains.json`.

An imported entity's name begins with what it is, as in `items:17`. With its domain it can be told from a customer, and
turned back into the 17 of the table that it came from.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from relatum.data.schema import Schema
from relatum.data.vocabulary import Ids, Vocabulary
from relatum.errors import DataError, FormatError
from relatum.files import atomic_file

__all__ = ["DOMAINS", "Domain", "Domains", "domains_from_json", "domains_to_json", "find_domains", "save_domains"]

DOMAINS = "domains.json"

_FORMAT, _VERSION = "relatum-domains", 1
_FORMS = ("whole", "number", "text")


@dataclass(frozen=True, slots=True)
class Domain:
    """What the entities of a column are.

    Attributes:
        kind: what stands before the colon in their names; None if their names are the values alone.
        form: what the values are: `whole` numbers, any `number`, or `text`.
        null: whether NULL was taken for a value, which is then called so.
    """

    kind: str | None = None
    form: str = "text"
    null: bool = False

    def __post_init__(self) -> None:
        if self.form not in _FORMS:
            raise DataError(f"form {self.form!r} is not one of {', '.join(_FORMS)}")
        if not (self.kind is None or isinstance(self.kind, str)) or not isinstance(self.null, bool):
            raise DataError(f"kind {self.kind!r} is not a text, or null {self.null!r} not a truth value")

    @property
    def prefix(self) -> str:
        """What the names of its entities begin with."""
        return "" if self.kind is None else f"{self.kind}:"

    def ids(self, entities: Vocabulary) -> Ids | None:
        """Return the ids of the entities that belong here, ascending; None if all do."""
        return None if self.kind is None else entities.beginning_with(self.prefix)


Domains = Mapping[str, tuple[Domain, ...]]  # by relation, one for each position


def save_domains(folder: Path, domains: Domains) -> None:
    """Write `domains.json` into a dataset's folder, atomically."""
    whole = {"format": _FORMAT, "version": _VERSION, "relations": domains_to_json(domains)}
    with atomic_file(folder / DOMAINS) as file:
        file.write((json.dumps(whole, indent=1, ensure_ascii=False) + "\n").encode())


def find_domains(folder: Path, schema: Schema) -> Domains:
    """Return the domains of the relations of a dataset, or nothing where it does not have them."""
    path = folder / DOMAINS
    if not path.is_file() or _FORMAT.encode() not in path.read_bytes():
        return {}  # there is none, or it is somebody else's file of that name
    try:
        whole = json.loads(path.read_text(encoding="utf-8"))
        if (whole["format"], whole["version"]) != (_FORMAT, _VERSION):
            raise DataError(f"format {whole['format']!r}, version {whole['version']!r}")
        found = domains_from_json(whole["relations"])
        for name, columns in found.items():
            if name in schema and len(columns) != schema[name].arity:
                raise DataError(f"{len(columns)} columns of {schema[name]}")
        return found
    except (DataError, KeyError, TypeError, AttributeError, ValueError, RecursionError) as error:
        reason = f"no {error}" if isinstance(error, KeyError) else str(error)
        raise FormatError(path, None, f"not the domains of these facts: {reason}") from None


def domains_to_json(domains: Domains) -> dict[str, Any]:
    """Return domains as plain data."""
    return {name: [asdict(column) for column in columns] for name, columns in domains.items()}


def domains_from_json(data: Mapping[str, Any]) -> Domains:
    """Return domains from plain data; anything else is refused."""
    return {name: tuple(Domain(**column) for column in columns) for name, columns in data.items()}

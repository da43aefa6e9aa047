"""Settings and provenance: what it would take to make the run again."""

from __future__ import annotations

from typing import Any

from relatum.report.markup import Markup, entity, join, table, tag
from relatum.report.study import Study

__all__ = ["settings"]


def settings(study: Study) -> Markup:
    """Return every setting, the checksums of the data, and the versions that made the run."""
    spec, provenance = study.spec.to_dict(), study.provenance
    tables = [
        table("The run", ("setting", "value"), [("data", entity(spec["data"])), ("seed", str(spec["seed"]))], words=(0, 1)),
        _listed("The model", spec["model"]),
        _listed("Training", spec["training"]),
        _listed("Versions and machine", {**provenance.get("versions", {}), **_plain(provenance)}),
    ]
    checksums = _listed("SHA-256 of the data", provenance.get("checksums", {}))
    told = "The same data, settings, seed and versions give the same model, to the bit."
    return join([tag("p", told), tag("div", *tables, class_="tables"), checksums])


def _listed(caption: str, values: dict[str, Any]) -> Markup:
    if not values:
        return Markup("")
    rows = [(entity(str(name)), entity(_shown(value), class_="code")) for name, value in values.items()]
    return table(caption, ("name", "value"), rows, words=(0, 1))


def _shown(value: Any) -> str:
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


def _plain(provenance: dict[str, Any]) -> dict[str, Any]:
    return {name: provenance[name] for name in ("python", "machine", "threads") if name in provenance}

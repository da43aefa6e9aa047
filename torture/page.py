"""`python -m torture.page`: put the tables of results/torture.json and results/mutation.json into docs/trust.md."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from relatum.files import write_bytes

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "trust.md"


def page(text: str, attacks: Mapping[str, Any], mutation: Mapping[str, Any]) -> str:
    """Return the text of the page with its tables as they follow from results."""
    for mark, table in {
        "attacks": _attacks(attacks["attacks"]),
        "kinds": _kinds(attacks["attacks"]),
        "mutants": _mutants(mutation),
    }.items():
        before, begin, rest = text.partition(f"<!-- {mark} -->\n")
        _, end, after = rest.partition("<!-- end -->")
        text = before + begin + "\n" + "\n".join(table) + "\n\n" + end + after
    return text


def results(name: str) -> Any:
    """Return what a file of results holds."""
    return json.loads((ROOT / "results" / f"{name}.json").read_text(encoding="utf-8"))


def _attacks(tallies: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    yield from _head("attack", "seed", "tried", "broken", "slowest trial")
    found: dict[str, list[Mapping[str, Any]]] = {}
    for tally in tallies:
        found.setdefault(tally["attack"], []).append(tally)
    for attack, own in found.items():
        tried, broken = (f"{sum(tally[name] for tally in own):,}" for name in ("tried", "broken"))
        seeds = ", ".join(map(str, sorted({tally["seed"] for tally in own})))
        yield _row(attack, seeds, tried, broken, f"{max(tally['slowest'] for tally in own):.1f} s")


def _kinds(tallies: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    yield from _head("attack", "kind", "tried", "broken")
    for tally in tallies:
        yield _row(tally["attack"], tally["kind"], f"{tally['tried']:,}", f"{tally['broken']:,}")


def _mutants(mutation: Mapping[str, Any]) -> Iterator[str]:
    yield from _head("file", "mutants", "sampled", "equivalent", "killed", "score")
    for name, found in mutation["files"].items():
        counts = (found["mutants"], found["sampled"], len(found["equivalent"]), found["killed"])
        yield _row(f"`{name.removeprefix('src/relatum/')}`", *counts, f"{found['score']:.3f}")
    yield _row("all", "", "", "", mutation["killed"], f"{mutation['score']:.3f}")


def _head(*cells: str) -> Iterator[str]:
    yield _row(*cells)
    yield "|" + "---|" * len(cells)


def _row(*cells: object) -> str:
    return "| " + " | ".join(map(str, cells)) + " |"


if __name__ == "__main__":
    write_bytes(PAGE, page(PAGE.read_text(encoding="utf-8"), results("torture"), results("mutation")).encode())

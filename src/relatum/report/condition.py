"""The condition of the data: its size, and what may spoil results on it."""

from __future__ import annotations

from relatum.data.health import describe, examine
from relatum.formatting import count, percent
from relatum.report.charts import bar
from relatum.report.markup import Markup, join, table, tag
from relatum.report.study import Study

__all__ = ["condition"]

_BY_ARITY = ("arity", "facts", "from 0 to 100 %", "share")
_NEAR = "A test fact that differs from a known fact in a single position is easy at the others: a copy would nearly do."


def condition(study: Study) -> Markup:
    """Return the sizes of the data and every finding about it, those that are harmless too."""
    split = study.run.split
    sizes, health = describe(split), examine(split)
    whole = max(sum(sizes.arity.values()), 1)
    by_arity = [
        (str(arity), f"{facts:,}", bar(facts / whole), percent(facts / whole)) for arity, facts in sizes.arity.items()
    ]
    findings = [
        *((f"facts of {part} that repeat an earlier one", found) for part, found in health.duplicates.items()),
        *((f"facts that are in {' and in '.join(pair.split('/'))}", found) for pair, found in health.overlap.items()),
        *((f"entities of {part} that training never saw", found) for part, found in health.unseen_entities.items()),
        *((f"relations of {part} that training never saw", found) for part, found in health.unseen_relations.items()),
        *((f"facts of {part} with such an entity or relation", found) for part, found in health.unseen_facts.items()),
        ("entities that training saw exactly once", health.degree_one),
        ("lines that were passed over when the files were read", len(health.skipped)),
    ]
    near = [
        (str(arity), f"{total:,}", f"{close:,}", percent(close / total)) for arity, (close, total) in health.near.items()
    ]
    parts = [
        tag("p", _told(sum(number for _, number in findings[:6]))),
        table("Facts by arity, all parts together", _BY_ARITY, by_arity, words=(), picture=2),
        table("What may spoil results", ("finding", "how many"), [(text, f"{number:,}") for text, number in findings]),
    ]
    if near:
        parts.append(tag("p", _NEAR, class_="apart"))
        caption = "Test facts that differ from a known fact in one position"
        parts.append(table(caption, ("arity", "test facts", "near", "share"), near, words=()))
    return join(parts)


def _told(doubled: int) -> str:
    if not doubled:
        return "No fact is given twice, neither within a part nor in two of them."
    return f"{count(doubled, 'repetition')} of facts, within a part or in two parts: what is tested may be known by heart."

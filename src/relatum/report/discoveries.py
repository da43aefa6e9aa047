"""The most confident new facts, how they were found, and how such proposals would have fared."""

from __future__ import annotations

from relatum.data.hypergraph import Hypergraph
from relatum.formatting import count, percent
from relatum.report.facts import shown_entities
from relatum.report.markup import Markup, entity, join, table, tag
from relatum.report.proposals import QUESTIONS, Proposal, largest, propose
from relatum.report.study import Study
from relatum.runs.run import Run

__all__ = ["discoveries"]

_PROBABILITY = (
    "A probability is the share of facts this confident that are true where facts and non-facts are equally common. These "
    "are the best of very many candidates, where true ones are rarer: take them as proposals, not as knowledge."
)
_SCORE = "Scores can be compared within a relation alone: there were no validation facts to make probabilities by."


def discoveries(study: Study) -> Markup:
    """Return the new facts of each of the largest relations."""
    run, split = study.run, study.run.split
    given = Hypergraph.union(list(split.parts.values()))
    relations = largest(given)
    found = propose(run, given, relations)
    if not found:
        return tag("p", "No question that was asked has a new answer.")
    by = "score" if run.calibration is None else "probability"
    told = (
        f"Of each of the {count(len(relations), 'relation')} with most facts, up to {QUESTIONS} known facts were drawn, one "
        "position of each was opened, and every entity that can stand there was tried. Shown are the best answers "
        f"that are not known, by {by}; the entity that was found is set in bold. "
        f"{_SCORE if run.calibration is None else _PROBABILITY}"
    )
    tried = tag("p", _tried(run, relations)) if len(split.test) else None
    return tag("div", tag("p", told), tried, tag("div", *(_listed(run, group, by) for group in found), class_="tables"))


def _tried(run: Run, relations: list[int]) -> str:
    """Return how many proposals made without the test facts are among them."""
    split = run.split
    groups = propose(run, Hypergraph.union([split.train, split.valid]), relations)
    schema = run.model.schema
    tested = {one: set(zip(*split.test.table(schema[one].name).columns.tolist(), strict=True)) for one in relations}
    made = [one for group in groups for one in group]
    right = sum(one.entities in tested[one.relation] for one in made)
    return (
        f"Tried on what is known: of {count(len(made), 'proposal')} made in the same way as if the test facts were not "
        f"known, {right:,} are test facts. Of the others, some may be true as well."
    )


def _listed(run: Run, group: list[Proposal], by: str) -> Markup:
    schema = run.model.schema[group[0].relation]
    roles = join(map(entity, schema.roles), ", ") if schema.roles else "entities"
    rows = [(shown_entities(run, one.entities, one.position), _confidence(one)) for one in group]
    return table(entity(schema.name), (roles, by), rows)


def _confidence(one: Proposal) -> str:
    return f"{one.score:.3f}" if one.probability is None else percent(one.probability)

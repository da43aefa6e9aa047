"""`relatum rules`: which relations are renamings, projections, selections, unions or differences of others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from relatum.cli.options import Json, RunOrData, is_run
from relatum.cli.output import print_json, print_table, say
from relatum.errors import SettingError
from relatum.formatting import count, percent
from relatum.progress import progress

if TYPE_CHECKING:
    from relatum.data.hypergraph import Hypergraph
    from relatum.data.row_store import TableSchema
    from relatum.reasoning.reasoner import Reasoner
    from relatum.reasoning.rule_evidence import ModelEvidence
    from relatum.rules import ObservedShare, Rule


def rules(
    source: RunOrData,
    relation: Annotated[list[str] | None, typer.Option(help="Only rules about this relation; can be repeated.")] = None,
    observed: Annotated[
        float | None, typer.Option(help="The share of the true facts that are known; by default it is estimated, or 0.98.")
    ] = None,
    examples: Annotated[bool, typer.Option("--examples", help="Show tuples for and against each rule.")] = False,
    draw: Annotated[
        Path | None,
        typer.Option(help="Draw the rules as a graph of relations: FILE.mmd for Mermaid, FILE.dot for Graphviz."),
    ] = None,
    soft: Annotated[
        int | None, typer.Option(min=1, help="Show so many soft rules instead: which facts speak for which others.")
    ] = None,
    json: Json = False,
) -> None:
    """Find relations that can be derived from others, using all known facts and, for a run, its model."""
    if soft is not None:
        if observed is not None or draw is not None:
            raise SettingError("contradictory-options", "--soft cannot be combined with --observed or --draw")
        _show_soft(source, relation or [], soft, examples=examples, json=json)
        return
    from relatum.report.rule_graph import draw_rules, drawing_for
    from relatum.rules import estimate_observed_share, mine_rules
    from relatum.rules import examples as examples_of

    if draw is not None:
        drawing_for(draw)  # refuses what it cannot draw before the search
    facts, reasoner = _opened(source)
    estimate = estimate_observed_share(facts) if observed is None else None
    share = observed if estimate is None else estimate.assumed
    found = mine_rules(facts, observed=share, heads=relation or None)
    evidence = [_evidence(reasoner, rule) for rule in found]
    if draw is not None:
        draw_rules(found, draw)
    shown = [examples_of(rule, facts) for rule in found] if examples or json else []
    if json:
        listed: list[dict[str, Any]] = [
            {**rule.to_json(), "model": model.to_json() if model else None, "examples": vars(tuples)}
            for rule, model, tuples in zip(found, evidence, shown, strict=True)
        ]
        by = ["tuples", "model"] if reasoner is not None else ["tuples"]
        given = {"observed": share, "estimate": estimate and estimate.to_dict(), "evidence": by}
        names = ("name", "keys", "references", "dependencies")
        tables = [{name: plain[name] for name in names} for plain in (one.to_json() for one in _tables(source))]
        print_json({**given, "rules": listed, "tables": tables})
        return
    _show(found, evidence, model=reasoner is not None)
    for rule, tuples in zip(found, shown, strict=False):
        say(f"\n{rule}")
        for title, rows in (("both", tuples.both), ("body only", tuples.only_body), ("head only", tuples.only_head)):
            for row in rows:
                say(f"  {title:9}  {', '.join(row)}")
    for line in _of_tables(_tables(source)):
        say(line)
    evidence_of = "tuples and the model's calibrated scores" if reasoner is not None else "tuples alone"
    say(f"{count(len(found), 'rule')}, from {evidence_of}; {_known(observed, estimate)}")
    if draw is not None:
        say(f"drawn to {draw}")


def _of_tables(schemas: Iterable[TableSchema]) -> Iterator[str]:
    """Yield keys, foreign keys and dependencies of imported tables, a line each."""
    for schema in schemas:
        for number, key in enumerate(schema.keys):
            yield f"{schema.name}: {', '.join(key)} is {'the' if not number else 'another'} key"
        for one in schema.references:
            targets = ", ".join(f"{one.table}.{target}" for target in one.targets)
            yield f"{schema.name}: {', '.join(one.columns)} refers to {targets}"
        for other in schema.dependencies:
            sure = "always" if other.share == 1.0 else f"in {percent(other.share)} of {count(other.rows, 'row')}"
            yield f"{schema.name}: {', '.join(other.columns)} determines {other.determines}, {sure}"


def _tables(source: str) -> tuple[TableSchema, ...]:
    """Return what is known about imported tables; nothing where there are none."""
    from relatum.datasets.row_files import load_rows

    rows = load_rows(Path(source)) if Path(source).is_dir() else None
    return () if rows is None else rows.schemas


def _show_soft(source: str, heads: list[str], k: int, *, examples: bool, json: bool) -> None:
    """Show the most notable soft rules of the training facts of a run or a dataset."""
    from relatum.api import Run
    from relatum.datasets.load import load
    from relatum.evidence.evidence import Evidence
    from relatum.evidence.mining import mine
    from relatum.evidence.selection import summaries

    if is_run(source):
        evidence = Run.load(source).rules_of_facts
    else:
        facts = load(source).train
        with progress("finding soft rules", len(facts.schema)) as advance:
            evidence = Evidence(facts, mine(facts, advance=advance))
    found = summaries(evidence, heads, k)
    if json:
        print_json({"soft_rules": [one.to_dict() for one in found]})
        return
    rows = [
        (one.rule, one.answers, percent(one.confidence), f"{one.right:,} of {one.named:,}", f"{one.explains:,}")
        for one in found
    ]
    ends = ("confidence", "right", "explains")
    print_table("soft rules", ("soft rule", "names", *ends), rows, ends)
    for one in found if examples else ():
        say(f"\n{one.rule}")
        for title, each in (*(("for", text) for text in one.examples), ("against", one.counter_example or "-")):
            say(f"  {title:7}  {each}")
    total = count(len(list(evidence)), "soft rule")
    say(f"{len(rows)} of {total}; right: of all that a rule named in training; explains: facts beyond the rules before it")


def _opened(source: str) -> tuple[Hypergraph, Reasoner | None]:
    """Return all known facts of a run or a dataset, and the reasoner of a calibrated ReAlE."""
    from relatum.api import Run
    from relatum.data.hypergraph import Hypergraph
    from relatum.datasets.load import load
    from relatum.models.reale import ReAlE

    if not is_run(source):
        return Hypergraph.union(list(load(source).parts.values())), None
    run = Run.load(source)
    has_scores = isinstance(run.model, ReAlE) and run.calibration is not None
    return run.facts, run.reasoner if has_scores else None


def _known(given: float | None, estimate: ObservedShare | None) -> str:
    """Return in words how many of the true facts are known."""
    if estimate is None:
        return f"{percent(given, 0)} of the true facts are known (as given)"
    if estimate.value is None:
        return f"the facts do not tell how many of the true ones are known: {percent(estimate.assumed, 0)} is assumed"
    interval = f"{percent(estimate.low, 0)} to {percent(estimate.high, 0)}"
    return f"{percent(estimate.value, 0)} of the true facts are known (estimated, {interval})"


def _evidence(reasoner: Reasoner | None, rule: Rule) -> ModelEvidence | None:
    from relatum.reasoning.rule_evidence import model_evidence

    if reasoner is None or any(name.name not in reasoner.model.schema for name in (rule.head, *rule.relations)):
        return None
    return model_evidence(reasoner, rule)


def _show(found: list[Rule], evidence: list[ModelEvidence | None], *, model: bool) -> None:
    heads = ["rule", "support", "confidence", "coverage"]
    heads += ["model differs", "on negatives", "correlation"] if model else []
    rows = []
    for rule, one in zip(found, evidence, strict=True):
        row = [rule.display, str(rule.support), percent(rule.confidence), percent(rule.coverage)]
        if model:
            correlation = "-" if one is None or one.correlation is None else f"{one.correlation:.2f}"
            row += ["-", "-", "-"] if one is None else [f"{one.on_facts:.3f}", f"{one.on_negatives:.3f}", correlation]
        rows.append(row)
    if rows:
        print_table("rules", heads, rows, heads[1:], drop=("correlation", "on negatives", "model differs", "coverage"))

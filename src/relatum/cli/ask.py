"""`relatum evaluate`, `complete` and `score`: asking a trained run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from relatum.cli.bulk import show_each, write_each
from relatum.cli.columns import show_both_splits, show_columns
from relatum.cli.explain import reasons_of, say_reason, where
from relatum.cli.options import Append, EscapeFormulas, FullNames, Json, Replace, RunFolder, To
from relatum.cli.output import print_json, print_table, say, say_promise
from relatum.cli.queries import show_query_quality
from relatum.errors import SettingError
from relatum.formatting import number, percent
from relatum.workers import is_worker

if TYPE_CHECKING:
    from relatum.api import Run
    from relatum.inference.calibration import Reliability
    from relatum.inference.ranking import Metrics
    from relatum.runs.answers import Answer, Question

_OF_A_SET = 100  # answers of a set that are shown
_SPARE = ("pessimistic MRR", "mean rank", "Hit@3", "questions", "Hit@1")  # the first to go where there is no room


def evaluate(
    run: RunFolder,
    split: Annotated[str, typer.Option(help="Which facts to rank: train, valid or test.")] = "test",
    by: Annotated[
        str,
        typer.Option(help="Break down by arity, position, relation, seen, size, operation or depth; column: of tables."),
    ] = "arity",
    raw: Annotated[bool, typer.Option("--raw", help="Count known answers as competitors.")] = False,
    both_splits: Annotated[
        bool,
        typer.Option(
            "--both-splits",
            help="After import --time: train a second model on a random split of the same facts, and show both.",
        ),
    ] = False,
    queries: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Answer the queries that `relatum queries` wrote, shape by shape.")
    ] = None,
    predicted_alone: Annotated[
        bool,
        typer.Option("--predicted-alone", help="With --queries: known facts count nothing, as full-hard answers need it."),
    ] = False,
    json: Json = False,
) -> None:
    """Rank held-out facts among all entities: MRR and Hit@k, filtered by all known facts, with ties at their mean rank."""
    from relatum.api import Run
    from relatum.datasets.registry import PARTS
    from relatum.errors import UnknownNameError
    from relatum.inference.evaluation import DERIVATION_KEYS, KEYS, SIZE

    if split not in PARTS:
        raise UnknownNameError("split", split, PARTS)
    keys = [key for key in by.split(",") if key]
    for key in keys:
        if key not in (known := (*KEYS, SIZE, *DERIVATION_KEYS, "column")):
            raise UnknownNameError("breakdown", key, known)
    if "column" in keys and len(keys) > 1:
        raise SettingError(
            "contradictory-options", "judges cells, not ranks", place="--by column", remedy="ask for it alone"
        )
    ranks = queries is None and not both_splits and keys != ["column"]
    if is_worker() and not _ranks_as_worker(run, split, raw=raw, ranks=ranks):
        return
    loaded = Run.load(run)
    if predicted_alone and queries is None:
        raise SettingError(
            "contradictory-options", "is about queries", place="--predicted-alone", remedy="name them with --queries DIR"
        )
    if queries is not None:
        show_query_quality(loaded, queries, predicted_alone=predicted_alone, json=json)
        return
    if both_splits:
        if split != "test" or raw or by != "arity":
            raise SettingError("contradictory-options", "--both-splits cannot be combined with --split, --by or --raw")
        show_both_splits(loaded, json=json)
        return
    if keys == ["column"]:
        show_columns(loaded, split, json=json)
        return
    tested = loaded.evaluate(split, raw=raw)
    parts = {key: tested.by(key) for key in keys}
    whole, (low, high) = tested.metrics, tested.interval
    macro = {key: tested.macro_mrr(key) for key in ("arity", "relation")}
    reliability = loaded.reliability(split)
    if json:
        by_part = {key: {one.part: one.metrics.to_json() for one in found} for key, found in parts.items()}
        plain = {**tested.to_dict(), "mrr_macro": macro, "by": by_part}
        print_json({**plain, "calibration": None if reliability is None else reliability.to_json()})
        return
    heads = ("", "questions", "MRR", "Hit@1", "Hit@3", "Hit@10", "mean rank", "pessimistic MRR")
    for key, found in parts.items():
        rows = [_row(one.part, one.metrics) for one in found]
        print_table(f"by {key}", heads, rows, heads[1:], drop=_SPARE)
    print_table(f"{split}, {'raw' if raw else 'filtered'}", heads, [_row("all", whole)], heads[1:], drop=_SPARE)
    say(f"MRR {whole.mrr:.4f}, 95 % interval {low:.4f} to {high:.4f} by resampling facts")
    if tested.embedding is not None and tested.evidence is not None:
        alone = tested.embedding.metrics.mrr, tested.evidence.metrics.mrr
        say(f"by embedding and evidence together; by the embedding alone {alone[0]:.4f}, by evidence alone {alone[1]:.4f}")
    say(f"mean over arities {macro['arity']:.4f}, over relations {macro['relation']:.4f}")
    if reliability is not None:
        _show(reliability)


def _ranks_as_worker(run: Path, split: str, *, raw: bool, ranks: bool) -> bool:
    """Join the group of workers, and return whether this is the first one, which goes on; others rank their entities."""
    from relatum.api import Run
    from relatum.progress import silence
    from relatum.workers.group import start_group

    group = start_group()
    if group is None or group.is_first:
        return True
    if ranks:
        with silence():
            Run.load(run).evaluate(split, raw=raw)
    return False


def complete(
    run: RunFolder,
    question: Annotated[str | None, typer.Argument(help="A fact with open positions: 'sold(drew, ?, book)'.")] = None,
    k: Annotated[
        int | None,
        typer.Option("-k", min=1, help="How many known answers, and how many new ones, to show: 10; of a set, 100."),
    ] = None,
    new: Annotated[bool, typer.Option("--new", help="Show new answers only.")] = False,
    beam: Annotated[
        int | None,
        typer.Option(min=1, help="With several gaps: how many partial facts to keep; by default all, or 256 if too many."),
    ] = None,
    coverage: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            help="Show the smallest set of new answers that holds the missing one so often, such as 0.9.",
        ),
    ] = None,
    why: Annotated[bool, typer.Option("--why", help="Show what speaks for each new answer.")] = False,
    for_each: Annotated[
        str | None,
        typer.Option(
            metavar="QUESTIONS",
            help="Instead of one question, one for each entity of known facts where a * or a role's own name stands: "
            "'sold(*, ?, book)', 'sold(seller, ?, book)' or 'sold(seller=*, buyer=?, item=book)'.",
        ),
    ] = None,
    every: Annotated[
        bool, typer.Option("--all", help="With --for-each: for all entities of the column's type, known facts or not.")
    ] = False,
    to: To = None,
    table: Annotated[
        str | None, typer.Option(help="With --to: the table of a database; by default suggested_RELATION.")
    ] = None,
    append: Append = False,
    replace: Replace = False,
    full_names: FullNames = False,
    escape_formulas: EscapeFormulas = False,
    json: Json = False,
) -> None:
    """Fill the gaps in a fact: first the known answers, then the most likely new ones; or in many facts with --for-each."""
    from relatum.api import Run
    from relatum.runs.answers import parse_question

    if to is None and (table is not None or append or replace or full_names or escape_formulas):
        raise SettingError(
            "option-needs-option", "--table, --append, --replace, --full-names and --escape-formulas need --to FILE_OR_URL"
        )
    most, k = k or _OF_A_SET, k or 10
    if for_each is not None:
        if question is not None or beam is not None or why or coverage is not None:
            raise SettingError(
                "contradictory-options",
                "--for-each QUESTIONS cannot be combined with a question, --beam, --coverage or --why",
            )
        if to is None:
            show_each(Run.load(run), for_each, k=k, new=new, every=every, json=json)
            return
        wanted: dict[str, Any] = {"k": k, "new_only": new, "all_entities": every}
        how = {"table": table, "append": append, "replace": replace, "full_names": full_names}
        how["escape_formulas"] = escape_formulas
        write_each(Run.load(run), for_each, to, {**wanted, **how}, json=json)
        return
    if to is not None or every:
        raise SettingError("option-needs-option", "--all and --to need --for-each QUESTIONS")
    if question is None:
        raise SettingError("nothing-asked", "Missing argument 'question', or --for-each QUESTIONS")
    loaded = Run.load(run)
    parsed = parse_question(question, loaded.schema)
    answers = loaded.complete(parsed, k=k, new_only=new, beam=beam, coverage=coverage)
    roles = loaded.schema[parsed.relation].roles
    heads = [roles[position] if roles else f"position {position}" for position in parsed.open]
    reasons = reasons_of(loaded, parsed, answers.new[:most]) if why else {}
    if json:
        explained = [
            {"reasons": [one.to_dict() for one in reasons[answer]]} if answer in reasons else {} for answer in answers
        ]
        plain = [{**_plain(loaded, answer), **more} for answer, more in zip(answers, explained, strict=True)]
        promised = {} if coverage is None else {"coverage": None if answers.limit is None else answers.limit.to_dict()}
        print_json({"question": question, "answers": plain, **promised})
        return
    ends = ("score", "probability")
    if known := [answer for answer in answers if answer.known]:
        listed = _rows(loaded, parsed, known)
        rows = [(*row, "derived" if one.source == "derived" else f"in {one.source}") for row, one in listed]
        print_table(f"{question}, known", ("", *heads, *ends, ""), rows, ends, drop=("score",))
    rows = [row for row, _ in _rows(loaded, parsed, answers.new[:most])]
    print_table(f"{question}, new", ("", *heads, *ends), rows, ends, drop=("score",))
    if coverage is not None:
        say_promise(answers.limit, len(answers.new), coverage, len(rows))
    for answer, found in reasons.items():
        shown = ", ".join(loaded.shown(parsed.relation, answer.entities, parsed.open))
        say(f"{shown}:" + ("" if found else " no rule speaks for it, the embedding alone does"))
        for one in found:
            say_reason(loaded, one)


def score(
    run: RunFolder,
    facts: Annotated[list[str], typer.Argument(help="Facts such as 'sold(drew, alex, book)'.")],
    json: Json = False,
) -> None:
    """Show how likely facts are: their probability, and the share of their one-cell variations that score lower."""
    from dataclasses import asdict

    from relatum.api import Run

    loaded = Run.load(run)
    found = [loaded.score(fact) for fact in facts]
    if json:
        print_json({"scores": [{"fact": fact, **asdict(one)} for fact, one in zip(facts, found, strict=True)]})
        return
    rows = [
        (
            fact,
            f"{one.score:.3f}",
            percent(one.probability),
            f"{one.percentile:.2f} %",
            where(one.source),
        )
        for fact, one in zip(facts, found, strict=True)
    ]
    heads = ("fact", "score", "probability", "beats", "")
    print_table("scores", heads, rows, heads[1:4], drop=("score",))
    say("beats: the share of one-cell variations of this fact that score lower")


def _rows(run: Run, question: Question, answers: list[Answer]) -> Iterator[tuple[tuple[str, ...], Answer]]:
    """Yield the cells of each answer, with the answer."""
    for rank, one in enumerate(answers, start=1):
        shown = run.shown(question.relation, one.entities, question.open)
        yield (str(rank), *shown, f"{one.score:.3f}", percent(one.probability)), one


def _plain(run: Run, answer: Answer) -> dict[str, Any]:
    entity = {"entity": answer.entity} if len(answer.entities) == 1 else {}
    return {
        **entity,
        "entities": list(answer.entities),
        "labels": [run.labels.of(one) for one in answer.entities],
        "score": answer.score,
        "probability": answer.probability,
        "known": answer.known,
        "source": answer.source,
    }


def _show(reliability: Reliability) -> None:
    """Print how well probabilities match what is observed, with a bar for each range of them."""
    rows = [
        (percent(predicted), percent(observed), percent(fraction), "\u2588" * round(20 * observed))
        for predicted, observed, fraction in reliability.curve
    ]
    heads = ("predicted", "observed", "fraction", "")
    print_table(
        "calibration: how likely the best new answer is, and how often it is one of these facts", heads, rows, heads[:3]
    )
    say(f"Brier score {reliability.brier:.4f}, expected calibration error {reliability.error:.4f}")


def _row(name: str, metrics: Metrics) -> tuple[str, ...]:
    hits = (f"{share:.4f}" for share in metrics.hits.values())
    ranks = (f"{metrics.mean_rank:.1f}", f"{metrics.mrr_pessimistic:.4f}")
    return (name, number(metrics.questions), f"{metrics.mrr:.4f}", *hits, *ranks)

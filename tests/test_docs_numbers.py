"""The numbers of docs/evaluation.md and docs/trust.md are those of results/."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
TITLES = {"jf17k": "JF17K", "fb-auto": "FB-AUTO", "m-fb15k": "M-FB15K", "rel-er": "REL-ER", "wn18rr": "WN18RR"}


def result(name: str) -> Any:
    return json.loads((ROOT / "results" / f"{name}.json").read_text(encoding="utf-8"))


def row(*cells: str) -> str:
    return "| " + " | ".join(cells) + " |"


def share(part: float, whole: float) -> str:
    return f"{part:,} ({100 * part / whole:.1f} %)"


def ties() -> Iterator[str]:
    for title, found in {
        "[JF17K, ReAlE, seed 0](../results/jf17k.json)": result("jf17k")["runs"][0]["test"],
        "[JF17K, counting alone](../results/baselines.json)": result("baselines")["rows"]["jf17k"]["test"],
    }.items():
        yield row(title, *(f"{found[name]:.7f}" for name in ("mrr_optimistic", "mrr", "mrr_pessimistic")))
    found = result("jf17k")["runs"][0]["test"]
    yield f"Of the {found['questions']:,} questions of JF17K, {found['ties']} have a tie"


def baselines() -> Iterator[str]:
    counting, evidence = result("baselines")["rows"], result("evidence")["rows"]
    for name, title in TITLES.items():
        mrrs = [evidence[name]["test_mrr"][one] for one in ("evidence", "embedding", "both")]
        yield row(title, *(f"{mrr:.3f}" for mrr in (counting[name]["test"]["mrr"], *mrrs)))


def cells() -> Iterator[str]:
    columns = {one["column"]: one for one in result("fill-chinook")["columns"]}
    for name in ("Track.UnitPrice", "Track.MediaTypeId", "Track.GenreId", "Track.Composer", "Invoice.Total"):
        found = columns[name]
        right = [found[one] for one in ("most frequent", "counting", "naive Bayes", "random forest", "relatum")]
        yield row(name, str(found["cells"]), *("-" if one is None else f"{100 * one:.1f} %" for one in right))


def macro_averages() -> Iterator[str]:
    counting = result("baselines")["rows"]
    for name in ("jf17k", "fb-auto", "m-fb15k", "rel-er"):
        test = result(name)["runs"][0]["test"]
        macro = [
            test["mrr"],
            test["mrr_macro"]["arity"],
            test["mrr_macro"]["relation"],
            counting[name]["mrr_macro"]["relation"],
        ]
        yield row(f"[{TITLES[name]}](../results/{name}.json)", *(f"{mrr:.3f}" for mrr in macro))
    by_arity = result("fb-auto")["runs"][0]["test"]["by_arity"]
    yield f"have an MRR of {by_arity['5']['mrr']:.3f}; those of arity 2 have {by_arity['2']['mrr']:.3f}"


def leakage() -> Iterator[str]:
    for name, found in result("leakage")["rows"].items():
        more = [one for arity, one in found["close_by_arity"].items() if int(arity) > 2]
        test, close = (sum(one[key] for one in more) for key in ("test", "close"))
        last = share(close, test) if test else "-"
        yield row(TITLES[name], f"{found['test']:,}", share(found["leaked"], found["test"]), f"{test:,}", last)
    assert [name for name, found in result("leakage")["rows"].items() if not found["complete"]] == ["rel-er"]


def uncertainty() -> Iterator[str]:
    found = result("jf17k")
    for one in found["runs"]:
        title = "[JF17K](../results/jf17k.json)" if one["seed"] == 0 else "JF17K"
        low, high = one["test"]["mrr_interval"]
        yield row(f"{title}, seed {one['seed']}", f"{one['test']['mrr']:.4f}", f"{low:.4f} to {high:.4f}")
    yield row("JF17K, mean and spread", f"{found['test_mrr']['mean']:.4f}", f"{found['test_mrr']['spread']:.4f}")


def probabilities() -> Iterator[str]:
    found = result("probabilities")["rows"]
    held_out, proposals = found["jf17k"]["held_out"], found["made/rel-er-0"]["proposals"]
    for number in (0, 1, 3, 5, 7, 9):
        point = held_out["reliability"][number]
        yield row(*(f"{100 * point[name]:.1f} %" for name in ("predicted", "observed", "share")))
    yield f"The error over all ten groups is {held_out['ece']:.3f}."
    yield f"{100 * proposals['said']:.0f} % were said to be true and {100 * proposals['true']:.0f} % were"


@pytest.mark.parametrize("told", [ties, baselines, cells, macro_averages, leakage, uncertainty, probabilities])
def test_the_page_on_evaluation_has_the_numbers_of_results(told: Any) -> None:
    page = " ".join((ROOT / "docs" / "evaluation.md").read_text(encoding="utf-8").split())
    lines = list(told())
    assert lines
    assert not [line for line in lines if line not in page]


def test_the_page_on_trust_has_the_numbers_of_results() -> None:
    from torture.page import PAGE, page, results

    text = PAGE.read_text(encoding="utf-8")
    assert text == page(text, results("torture"), results("mutation"))

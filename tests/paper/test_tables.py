"""The paper's tables, from results files that are partly there, odd, or not results at all."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from relatum.paper.claims import check_claims, claims_table
from relatum.paper.published import DATASETS
from relatum.paper.tables import Table, fill_page, paper_tables
from relatum.runs.results import FORMAT, measure, read_results
from support.made_results import write_result
from support.mistakes import mistake

RESULTS = Path(__file__).parents[2] / "results"


def rows(tables: list[Table], start: str) -> dict[str, dict[str, str]]:
    (table,) = (table for table in tables if table.title.startswith(start))
    return {row[0]: dict(zip(table.heads, row, strict=True)) for row in table.rows}


def test_our_value_stands_beside_the_paper_s(tmp_path: Path) -> None:
    write_result(tmp_path, "a", "jf17k", "hype", [0.5, 0.52])
    write_result(tmp_path, "b", "fb-auto", "nalp", [0.7])
    tables = paper_tables(read_results(tmp_path))
    hype = rows(tables, "jf17k")["HypE"]
    assert (hype["MRR"], hype["paper"], hype["difference"]) == ("0.5100", "0.494", "+0.016")
    assert (hype["spread"], hype["seeds"], hype["pessimistic"]) == ("0.0141", "0, 1", "0.4000")
    nalp = rows(tables, "fb-auto")["NaLP"]  # on which the paper reports nothing
    assert (nalp["MRR"], nalp["paper"], nalp["difference"], nalp["spread"]) == ("0.7000", "-", "-", "-")


def test_of_several_settings_the_one_with_the_best_validation_counts(tmp_path: Path) -> None:
    write_result(tmp_path, "lucky", "jf17k", "hype", [0.9], valid=0.4, settings={"dim": 200})
    write_result(tmp_path, "chosen", "jf17k", "hype", [0.5], valid=0.6, settings={"dim": 100})
    assert rows(paper_tables(read_results(tmp_path)), "jf17k")["HypE"]["MRR"] == "0.5000"


@pytest.mark.parametrize("names", [("a", "b"), ("b", "a")])
def test_settings_count_with_the_most_seeds_that_they_were_run_with(tmp_path: Path, names: tuple[str, str]) -> None:
    write_result(tmp_path, names[0], "jf17k", "hype", [0.6], valid=0.7, settings={"dim": 200})
    write_result(tmp_path, names[1], "jf17k", "hype", [0.6, 0.5], valid=0.65, settings={"dim": 200})
    write_result(tmp_path, "c", "jf17k", "hype", [0.1], valid=0.6, settings={"dim": 100})
    assert rows(paper_tables(read_results(tmp_path)), "jf17k")["HypE"]["seeds"] == "0, 1"


def test_rel_er_is_broken_down_beside_the_paper_s(tmp_path: Path) -> None:
    by: dict[str, Any] = {
        "by_operation": {"rename": {"mrr": 0.9}, "elementary": {"mrr": 0.3}},
        "by_depth": {"1": {"mrr": 0.8}},
    }
    write_result(tmp_path, "a", "rel-er", "reale", [0.7], **by)
    found = rows(paper_tables(read_results(tmp_path)), "rel-er")
    assert (found["ReAlE"]["all"], found["ReAlE"]["rename"], found["ReAlE"]["depth 1"]) == ("0.700", "0.900", "0.800")
    assert found["ReAlE"]["union"] == "-"
    assert (found["ReAlE, the paper"]["all"], found["ReAlE, the paper"]["select"]) == ("0.709", "-")
    assert (found["ReAlE, difference"]["all"], found["ReAlE, difference"]["union"]) == ("-0.009", "-")


def test_nonlinear_functions_are_compared_all_else_equal(tmp_path: Path) -> None:
    small, large = {"window": 2, "dim": 200}, {"window": 2, "dim": 400}
    write_result(tmp_path, "best", "jf17k", "reale", [0.573], valid=0.9, settings={**large, "sigma": "sigmoid"})
    for sigma, mrr in (("sigmoid", 0.54), ("tanh", 0.52)):
        write_result(tmp_path, sigma, "jf17k", "reale", [mrr], settings={**small, "sigma": sigma})
    tables = paper_tables(read_results(tmp_path))
    found = rows(tables, "ReAlE on jf17k by nonlinear function")
    assert {sigma: row["MRR"] for sigma, row in found.items()} == {"tanh": "0.5200", "sigmoid": "0.5400"}
    assert found["tanh"]["difference"] == "+0.008"
    assert rows(tables, "jf17k")["ReAlE"]["MRR"] == "0.5730"


def test_the_files_stand_beside_the_paper_s_datasets(tmp_path: Path) -> None:
    size = {"entities": 3388, "relations": 8, "train": 6778, "valid": 2255, "test": 2180, "arity": {"2": 3786, "5": 7212}}
    (tmp_path / "datasets.json").write_text(json.dumps({"format": FORMAT, "datasets": {"fb-auto": size}}))
    found = rows(paper_tables(read_results(tmp_path)), "datasets")
    assert list(found) == ["fb-auto, the files", "fb-auto, the paper", "fb-auto, difference"]
    assert found["fb-auto, the paper"]["entities"] == "3,410"
    apart = found["fb-auto, difference"]
    assert (apart["entities"], apart["train"], apart["arity 3"], apart["arity 4"]) == ("-22", "0", "0", "-215")


def test_the_committed_sizes_are_those_of_the_files(benchmark_data: Path) -> None:
    committed = json.loads((RESULTS / "datasets.json").read_text())
    assert committed["datasets"] == measure(DATASETS)["datasets"]


def test_markdown_and_latex_hold_the_same_cells() -> None:
    table = Table("50 % of a_b", ("system", "x & y", "why"), [("a_b", "0.5", "a > b")], frozenset({"why"}))
    assert table.markdown().splitlines()[2:] == ["| system | x & y | why |", "| --- | ---: | --- |", "| a_b | 0.5 | a > b |"]
    assert "{lrp{0.8\\linewidth}}\nsystem & x \\& y & why \\\\\n\\hline\na\\_b & 0.5 & a $>$ b \\\\" in table.latex()


def test_a_page_is_filled_between_its_marks_and_nowhere_else(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- tables -->\nold\n<!-- /tables -->\nafter\n")
    fill_page(page, [Table("new", ("a", "b"), [("c", "1")])])
    fill_page(page, [Table("new", ("a", "b"), [("c", "2")])])
    assert page.read_text() == (
        "before\n<!-- tables -->\n**new**\n\n| a | b |\n| --- | ---: |\n| c | 2 |\n<!-- /tables -->\nafter\n"
    )
    page.write_text("<!-- tables -->\nno end\n")
    with mistake("no-results"):
        fill_page(page, [])
    assert page.read_text() == "<!-- tables -->\nno end\n"


def test_the_committed_page_shows_the_committed_results() -> None:
    collected = read_results(RESULTS)
    found = paper_tables(collected)
    assert float(rows(found, "fb-auto")["ReAlE"]["MRR"]) > 0.861
    shown = (RESULTS / "README.md").read_text().split("<!-- tables -->\n")[1].split("<!-- /tables -->")[0]
    whole = [*found, claims_table(check_claims(collected.results))]
    assert shown == "\n".join(table.markdown() for table in whole), "relatum tables results --fill results/README.md"

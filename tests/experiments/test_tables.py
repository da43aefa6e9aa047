"""The paper's tables, from results files that are partly there, odd, or not results at all."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from relatum import DataError
from relatum.experiments.published import SYSTEMS, TABLE_1
from relatum.experiments.tables import Table, paper_tables, read_results
from relatum.models import MODELS


def write(folder: Path, name: str, data: str, model: str, mrr: list[float], valid: float = 0.5, **more: Any) -> None:
    hits = {"hits@1": 0.1, "hits@3": 0.2, "hits@10": 0.3, "mrr_pessimistic": 0.4}
    runs = [
        {"seed": seed, "minutes_of_training": 2.0, "valid": {"mrr": valid}, "test": {"mrr": value, **hits, **more}}
        for seed, value in enumerate(mrr)
    ]
    whole = {"spec": {"data": data, "model": {"name": model, "sigma": "sigmoid"}}, "runs": runs}
    (folder / f"{name}.json").write_text(json.dumps(whole))


def rows(tables: list[Table], start: str) -> dict[str, dict[str, str]]:
    (table,) = (table for table in tables if table.title.startswith(start))
    return {row[0]: dict(zip(table.heads, row, strict=True)) for row in table.rows}


def test_our_value_stands_beside_the_paper_s(tmp_path: Path) -> None:
    write(tmp_path, "a", "jf17k", "hype", [0.5, 0.52])
    write(tmp_path, "b", "fb-auto", "nalp", [0.7])
    tables = paper_tables(read_results(tmp_path))
    hype = rows(tables, "jf17k")["HypE"]
    assert (hype["MRR"], hype["paper"], hype["difference"]) == ("0.5100", "0.494", "+0.016")
    assert (hype["spread"], hype["seeds"], hype["pessimistic"]) == ("0.0141", "0, 1", "0.4000")
    nalp = rows(tables, "fb-auto")["NaLP"]  # on which the paper reports nothing
    assert (nalp["MRR"], nalp["paper"], nalp["difference"], nalp["spread"]) == ("0.7000", "-", "-", "-")


def test_of_several_settings_the_one_with_the_best_validation_counts(tmp_path: Path) -> None:
    write(tmp_path, "lucky", "jf17k", "hype", [0.9], valid=0.4)
    write(tmp_path, "chosen", "jf17k", "hype", [0.5], valid=0.6)
    assert rows(paper_tables(read_results(tmp_path)), "jf17k")["HypE"]["MRR"] == "0.5000"


def test_rel_er_is_broken_down_beside_the_paper_s(tmp_path: Path) -> None:
    by: dict[str, Any] = {
        "by_operation": {"rename": {"mrr": 0.9}, "elementary": {"mrr": 0.3}},
        "by_depth": {"1": {"mrr": 0.8}},
    }
    write(tmp_path, "a", "rel-er", "reale", [0.7], **by)
    found = rows(paper_tables(read_results(tmp_path)), "rel-er")
    assert (found["ReAlE"]["all"], found["ReAlE"]["rename"], found["ReAlE"]["depth 1"]) == ("0.700", "0.900", "0.800")
    assert found["ReAlE"]["union"] == "-"
    assert (found["ReAlE, the paper"]["all"], found["ReAlE, the paper"]["select"]) == ("0.709", "-")


def test_every_system_of_the_paper_is_a_model() -> None:
    assert SYSTEMS.keys() == MODELS.keys()
    assert all(systems.keys() <= SYSTEMS.keys() for systems in TABLE_1.values())


def test_markdown_and_latex_hold_the_same_cells() -> None:
    table = Table("50 % of a_b", ("system", "x & y"), [("a_b", "0.5")])
    assert table.markdown() == "**50 % of a_b**\n\n| system | x & y |\n| --- | ---: |\n| a_b | 0.5 |\n"
    assert "system & x \\& y \\\\\n\\hline\na\\_b & 0.5 \\\\" in table.latex()


def test_other_files_are_passed_over_and_damaged_ones_refused(tmp_path: Path) -> None:
    (tmp_path / "rules.json").write_text('{"rules": []}')
    assert paper_tables(read_results(tmp_path)) == []
    (tmp_path / "torn.json").write_text('{"spec": ')
    with pytest.raises(DataError, match=r"torn\.json: not valid JSON"):
        read_results(tmp_path)
    with pytest.raises(DataError, match="not a folder of results"):
        read_results(tmp_path / "nowhere")


def test_the_committed_page_shows_the_committed_results() -> None:
    results = Path(__file__).parents[2] / "results"
    found = paper_tables(read_results(results))
    assert float(rows(found, "fb-auto")["ReAlE"]["MRR"]) > 0.861
    shown = (results / "README.md").read_text().split("<!-- tables -->\n")[1].split("<!-- /tables -->")[0]
    assert shown == "\n".join(table.markdown() for table in found), "relatum tables results --format markdown"

"""What SQL can name of a run on imported tables."""

from __future__ import annotations

import shutil
from pathlib import Path

from relatum import Run
from relatum.runs.sql_catalog import catalog_of_run
from relatum.sql.parse import parse_sql


def test_the_tables_of_a_run_are_those_that_were_imported_and_definitions_are_views(shop_run: Path, tmp_path: Path) -> None:
    shutil.copytree(shop_run, tmp_path / "run")
    run = Run.load(tmp_path / "run")
    catalog = catalog_of_run(run)
    assert {"customers", "items", "sales", "reviews"} <= catalog.tables.keys()
    view = parse_sql("CREATE VIEW rated AS SELECT item_code, stars FROM reviews", catalog)
    run.define("rated", view.expression)
    read = parse_sql("SELECT stars FROM rated WHERE item_code = '003'", catalog_of_run(run))
    stored = parse_sql("SELECT stars FROM reviews WHERE item_code = '003'", catalog)
    assert read.expression == stored.expression

"""`relatum export`: imported tables are written back, whole or not at all."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import relatum
from support.command_line import Relatum


def test_tables_of_a_run_and_of_an_import_are_written_back(shop_run: Path, tmp_path: Path, run: Relatum) -> None:
    back = tmp_path / "back.db"
    code, out, err = run("export", str(shop_run), "--to", str(back), "--json")
    assert code == 0, err
    written = {one["table"]: one["rows"] for one in json.loads(out)["tables"]}
    known = relatum.open(shop_run)
    with closing(sqlite3.connect(back)) as connection:
        for name, rows in written.items():
            found = connection.execute(f'SELECT * FROM "{name}"').fetchall()  # noqa: S608
            assert len(found) == rows == len(known.stored_table(name).to_pandas())
            values = [one.values() for one in known.stored_table(name).columns]
            assert [[str(one) for one in row] for row in found] == [
                [str(one) for one in row] for row in zip(*values, strict=True)
            ]
    relatum.read(back).save(tmp_path / "imported")
    table = next(iter(written))
    code, out, _ = run("export", str(tmp_path / "imported"), "--to", str(tmp_path / "one.csv"), "--table", table)
    assert (code, out) == (0, f"wrote {written[table]} rows of {table} to {tmp_path / 'one.csv'}\n")


def test_what_cannot_be_written_is_refused_in_one_line(
    shop_run: Path, example_run: Path, tmp_path: Path, run: Relatum
) -> None:
    taken = tmp_path / "taken.csv"
    taken.write_text("a")
    for arguments, code in {
        (str(shop_run), "--to", str(taken), "--table", "items"): "table-exists",
        (str(shop_run), "--to", str(tmp_path / "all.csv")): "one-relation-per-file",
        (str(shop_run), "--to", str(taken), "--table", "itms"): "unknown-name",
        (str(example_run), "--to", str(tmp_path / "x.db")): "no-imported-tables",
        (str(tmp_path / "none"), "--to", str(tmp_path / "x.db")): "no-such-directory",
    }.items():
        status, out, err = run("export", *arguments)
        assert (status, out, err.count("\n")) == (2, "", 1)
        assert f"[{code}]" in err
    assert taken.read_text() == "a"
    assert run("export", str(shop_run), "--to", str(taken), "--table", "items", "--replace")[0] == 0
    assert not (tmp_path / "x.db").exists()

"""`relatum complete --for-each`: what people see, what programs read, what is written, and what is refused."""

from __future__ import annotations

import csv
import json
from pathlib import Path

from relatum import Run
from support.command_line import Relatum


def test_the_answers_to_each_question_are_shown(run: Relatum, trained: str) -> None:
    code, out, err = run("complete", trained, "--for-each", "sold(seller, ?, book)", "-k", "2")
    assert (code, err) == (0, "")
    found = Run.load(trained).complete_each("sold(seller, ?, book)", k=2)
    lines = [line.split() for line in out.splitlines() if "%" in line]
    assert [line[:4] for line in lines] == [[*one.entities, str(one.rank), f"{one.score:.3f}"] for one in found]
    assert ["in train" if one.source else "new" for one in found] == [
        "in train" if line[-2:] == ["in", "train"] else line[-1] for line in lines
    ]
    assert "are shown" not in out
    code, out, _ = run("complete", trained, "--for-each", "sold(*, ?, *)", "-k", "2", "--new", "--all")
    assert code == 0
    assert len([line for line in out.splitlines() if "%" in line]) == 40
    assert out.endswith(
        f"20 of {len(Run.load(trained).entities) ** 2} questions are shown; write the answers to all with --to FILE_OR_URL\n"
    )


def test_json_is_one_object(run: Relatum, trained: str, tmp_path: Path) -> None:
    options = ("complete", trained, "--for-each", "sold(seller=*, buyer=?, item=*)", "-k", "3", "--json")
    code, out, err = run(*options)
    assert (code, err, out.count("\n")) == (0, "", 1)
    found = Run.load(trained).complete_each("sold(*, ?, *)", k=3)
    assert json.loads(out) == {"question": "sold(seller=*, buyer=?, item=*)", "answers": found.to_dicts()}
    path = str(tmp_path / "out.db")
    code, out, err = run(*options, "--to", path)
    questions = len({one.entities[:2] for one in found})
    tables = [{"relation": "sold", "table": "suggested_sold", "rows": len(found)}]
    assert json.loads(out) == {"to": path, "questions": questions, "tables": tables}


def test_answers_are_written(run: Relatum, shop_run: Path, tmp_path: Path) -> None:
    path = tmp_path / "recs.csv"
    options = ("--for-each", "sold(*, ?, web, 0.25)", "--new", "-k", "2", "--to", str(path))
    code, out, err = run("complete", str(shop_run), *options)
    assert (code, err) == (0, "")
    with path.open(newline="") as file:
        heads, *rows = list(csv.reader(file))
    assert heads == ["customer_id", "item_code", "rank", "score", "probability"]
    assert out == f"wrote {len(rows)} answers to {len(rows) // 2} questions about sold to {path}\n"
    assert [row[2] for row in rows] == ["1", "2"] * (len(rows) // 2)
    assert run("complete", str(shop_run), *options)[0] == 2
    assert run("complete", str(shop_run), *options, "--replace", "--full-names")[0] == 0
    assert path.read_text().splitlines()[1].startswith("customers:")
    out = run("complete", str(shop_run), *options[:-1], str(tmp_path / "recs.db"), "--table", "mine")[1]
    assert out.endswith(f"{tmp_path / 'recs.db'}, table mine\n")

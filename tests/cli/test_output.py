"""Tables fit into every width: numbers stay whole, text is wrapped or cut, and dropped columns are named."""

from __future__ import annotations

import re

import pytest
from rich.cells import cell_len

from relatum.cli.output import console, print_table, say

HEADS = ("", "questions", "MRR", "Hit@1", "Hit@3", "Hit@10", "mean rank", "pessimistic MRR")
ROWS = [
    (name, f"{count:,}", "0.4621", "0.3712", "0.5023", "0.6634", f"{count / 10:,.1f}", "0.4587")
    for name, count in (("film/actor/role", 138_504), ("a" * 90, 7), ("a name of several words that is rather long", 61_911))
]
HOSTILE = (
    "\x1b[2Jgone",
    "[red]not red[/red]",
    "a\x07b",
    "x" * 5_000,
    "名前" * 40,
    "e\u0301" * 50,
    ":smile: :boom:",
    "\u202etxet",
)


@pytest.mark.parametrize(
    ("columns", "dropped"),
    [(140, set()), (80, {"pessimistic MRR"}), (60, {"Hit@3", "mean rank", "pessimistic MRR"}), (20, None)],
)
def test_numbers_are_never_broken_every_line_fits_and_the_least_important_columns_go_first(
    columns: int, dropped: set[str] | None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    print_table("evaluation", HEADS, ROWS, HEADS[1:], drop=("pessimistic MRR", "mean rank", "Hit@3"))
    lines = capsys.readouterr().out.splitlines()
    table = [line for line in lines if not line.startswith("not shown")]
    assert max(map(cell_len, table)) <= columns
    numbers = set(re.findall(r"\d[\d,.]*", re.sub(r"Hit@\d+", "", "\n".join(table))))
    assert numbers <= {cell for row in ROWS for cell in row[1:]}
    if dropped is not None:
        assert set(lines[-1].partition(": ")[2].split(", ")) - {""} == dropped


def test_text_wraps_at_words_and_long_words_are_cut_in_the_middle(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    print_table("t", ("name", "n"), [("several words that wrap", "1"), ("beginning" + "x" * 50 + "ending", "2")], ("n",))
    out = capsys.readouterr().out
    assert "several words that" in out
    assert re.search(r"beginning?x*…x*ending +2", out)


NOTES = [
    ("countries.currency", "Austria", "euro", "94.3 %", "region is Western Europe: 67.3 % of 8 rows"),
    (
        "countries.region",
        "Sao Tome and Principe",
        "Middle Africa",
        "4.7 %",
        "currency is a name that is long: 8.4 % of 11 rows",
    ),
]


def test_sentences_stand_below_their_rows_where_there_is_no_room_beside_them(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    heads = ("column", "row", "value", "probability", "why")
    monkeypatch.setenv("COLUMNS", "160")
    print_table("cells", heads, NOTES, ("probability",), below="why")
    assert re.search(r"94\.3 % +region is Western", capsys.readouterr().out)
    monkeypatch.setenv("COLUMNS", "70")
    print_table("cells", heads, NOTES, ("probability",), below="why")
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 70
    first, second = (next(at for at, line in enumerate(lines) if row[0] in line) for row in NOTES)
    assert lines[first + 1] == "      region is Western Europe: 67.3 % of 8 rows"
    assert second == first + 2
    assert lines[second + 2].strip() == NOTES[1][4]  # its row takes two lines
    assert "why" not in "".join(lines)


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_note_does_nothing(name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    print_table("t", ("a", "why"), [("one", f"it is {name}, as in 17 other rows of this table")], below="why")
    lines = capsys.readouterr().out.splitlines()
    assert not set("\x1b\x07\u202e") & set("".join(lines))
    assert max(map(cell_len, lines)) <= 40
    assert len(lines) <= 10


def test_a_word_is_kept_whole_while_others_can_wrap(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "44")
    print_table("t", ("column", "value"), [("countries.continent", "a text of several words that wraps")])
    assert "countries.continent" in capsys.readouterr().out


@pytest.mark.parametrize("columns", [60, 80, 140])
def test_hostile_names_do_nothing(columns: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    print_table("\x1b[31m" + "y" * 5_000, ("na\x1bme", "score"), [(name, "118.508") for name in HOSTILE], ("score",))
    say(f"wrote {HOSTILE[0]} {HOSTILE[1]} {HOSTILE[6]}")
    out = capsys.readouterr().out
    assert not set("\x1b\x07\u202e") & set(out)
    assert out.count("118.508") == len(HOSTILE)
    assert "[red]not red[/red]" in out
    assert ":smile: :boom:" in out
    table = out.splitlines()[2:-1]
    assert max(map(cell_len, table)) <= columns
    assert len(out) < 5_000 + 12 * 4 * columns


@pytest.mark.parametrize(("given", "width"), [("60", 60), ("", 140), ("0", 140), ("wide", 140)])
def test_a_pipe_is_as_wide_as_it_is_asked_to_be(given: str, width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", given)
    assert console().width == width

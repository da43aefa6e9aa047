"""Delimiters, encodings and files without a header."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from relatum.tables import read
from relatum.tables.text_form import TextForm, text_chunks
from support.mistakes import mistake
from support.small_tables import all_facts

ROWS = [(f"é{n % 2}", f"b{n % 4}", f"{n % 3}") for n in range(24)]
FACTS = {("sold", *row) for row in ROWS}


def write(path: Path, text: str, encoding: str = "utf-8") -> Path:
    data = text.encode(encoding)
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def table(delimiter: str, header: bool = True) -> str:
    lines = [("seller", "buyer", "item"), *ROWS] if header else ROWS
    return "".join(delimiter.join(line) + "\n" for line in lines)


@pytest.mark.parametrize(
    ("given", "character"), [(";", ";"), ("tab", "\t"), ("\\t", "\t"), ("Comma", ","), ("space", " "), ("'", "'")]
)
def test_every_delimiter_is_read_whatever_the_ending(tmp_path: Path, given: str, character: str) -> None:
    path = write(tmp_path / "sold.data", table(character))
    imported = read(path, delimiter=given, plain=True)
    assert all_facts(imported) == FACTS
    assert imported.split.schema["sold"].roles == ("seller", "buyer", "item")


def test_the_delimiter_given_counts_and_not_the_most_frequent_character(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", "a|a,x;b|b,y\n" + "1|2,3;4|5,6\n1|2,4;4|5,7\n" * 3)
    assert read(path, delimiter=";").split.schema["t"].roles == ("a|a,x", "b|b,y")


def test_without_a_header_columns_are_numbered_and_the_first_line_is_a_row(tmp_path: Path) -> None:
    imported = read(write(tmp_path / "sold.csv", table(",", header=False)), header=False, plain=True)
    assert all_facts(imported) == FACTS
    assert imported.tables[0].rows == len(ROWS)
    assert imported.split.schema["sold"].roles == ("column_1", "column_2", "column_3")


def test_the_first_row_without_a_header_may_hold_line_ends_and_a_byte_order_mark(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", '\ufeffx,"two\nlines"\n' + "x,y\nz,y\n" * 4)
    assert all_facts(read(path, header=False, plain=True)) == {("t", "x", "two␊lines"), ("t", "x", "y"), ("t", "z", "y")}


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16", "utf-8-sig", "cp037"])
@pytest.mark.parametrize("name", ["sold.csv", "sold.csv.gz"])
def test_every_encoding_is_read(tmp_path: Path, encoding: str, name: str) -> None:
    path = write(tmp_path / name, table(","), encoding)
    before = path.read_bytes()
    assert all_facts(read(path, encoding=encoding, plain=True)) == FACTS
    assert path.read_bytes() == before


def test_text_comes_in_chunks_that_cut_no_character(tmp_path: Path) -> None:
    text = "€" * 1_000_000
    chunks = list(text_chunks(write(tmp_path / "t.csv", text), TextForm()))
    assert len(chunks) > 2
    assert "".join(chunks) == text


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("a,b\n", {"delimiter": "::"}, "bad-text-format"),
        ("a,b\n", {"delimiter": '"'}, "bad-text-format"),
        ("a,b\n", {"delimiter": "x"}, "bad-text-format"),
        ("a,b\n", {"delimiter": "|"}, "one-column"),
        ("a,b\n", {"encoding": "latn-1"}, "unknown-name"),
        ("a,b\n", {"encoding": "rot13"}, "unknown-name"),
        ("a,b\n", {"encoding": "a\0b"}, "unknown-name"),
        ("a,b\nx,y\nx,é\n", {"encoding": "ascii"}, "wrong-encoding"),
        ("a,b\n" + "x,y\n" * 300_000 + "x,é\n", {"encoding": "ascii"}, "wrong-encoding"),
        ("a,b\nx,y\n", {"encoding": "utf-16"}, "wrong-encoding"),
        ("1,2\n3,4\n5\n", {"header": False}, "too-few-columns"),
        (" \n", {"header": False}, "empty-file"),
    ],
)
def test_what_cannot_be_read_so_is_one_sentence(tmp_path: Path, text: str, options: dict[str, object], message: str) -> None:
    with mistake(message) as caught:
        read(write(tmp_path / "t.csv", text), **options)
    assert "\n" not in str(caught.value)


def test_a_damaged_gzip_file_in_another_encoding_is_one_sentence(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv.gz", table(",") * 100, "latin-1")
    path.write_bytes(path.read_bytes()[:-12])
    with mistake("damaged-gzip"):
        read(path, encoding="latin-1")


def test_a_first_column_without_a_name_numbers_the_rows_or_names_them(tmp_path: Path) -> None:
    def became(first: list[str], head: str = "", **options: object) -> tuple[str, str, str, str]:
        lines = [f"{name},{','.join(row)}\n" for name, row in zip(first, ROWS, strict=True)]
        path = write(tmp_path / "sold.csv", f"{head},seller,buyer,item\n" + "".join(lines))
        imported = read(path, **options)
        column = imported.columns[0]
        return column.column, column.outcome, column.why, str(imported.tables[0].shape)

    numbers = [str(n) for n in range(len(ROWS))]
    counts = "has no name in the header; it numbers the rows; --keep takes it"
    assert became(numbers) == ("row", "left out", counts, "fact")
    assert became(numbers[::-1], '""') == ("row", "left out", counts, "fact")
    assert became(numbers, " ") == ("row", "left out", counts, "fact")
    assert became([str(7 * n) for n in range(len(ROWS))])[1] == "left out"  # as after a filter
    named = "has no name in the header; the key of its rows"
    assert became(numbers, keep=["row"]) == ("row", "key", named, "entity")
    assert became([f"r{n}" for n in numbers]) == ("row", "key", named, "entity")
    again = became([str(n % 6) for n in range(len(ROWS))])
    assert again == ("row", "entities", "has no name in the header; repeats: 6 values in 24 rows", "fact")
    assert became(numbers, "id")[:2] == ("id", "key")


def test_only_the_first_column_may_lack_a_name_and_what_it_is_called_is_free(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", ",Row,b\n" + "".join(f"{n},{n % 2},{n % 3}\n" for n in range(12)))
    assert [one.column for one in read(path).columns] == ["row_", "Row", "b"]
    path = write(tmp_path / "t.csv", ",a,\n1,2,3\n")
    with mistake("unusable-name"):
        read(path)

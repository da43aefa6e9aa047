"""Excel workbooks: sheets are tables, and what is damaged, forged or too large is one sentence."""

from __future__ import annotations

import datetime as dt
import tempfile
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

import openpyxl
import pytest

from relatum.errors import RelatumWarning
from relatum.tables import read
from support.mistakes import mistake
from support.small_tables import all_facts

HEAD = ("who", "what", "when")
ROWS = [(f"w{n % 4}", n % 3, dt.date(2024, 1, 1 + n % 5)) for n in range(30)]
FACTS = {("shop", f"w{n % 4}", str(n % 3), f"2024-01-0{1 + n % 5}") for n in range(30)}


def save(path: Path, **sheets: Sequence[Sequence[object]]) -> Path:
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(list(row))
    book.save(path)
    return path


@pytest.mark.parametrize("ending", ["xlsx", "xlsm", "XLSX"])
def test_a_single_sheet_is_called_after_its_file(tmp_path: Path, ending: str) -> None:
    path = save(tmp_path / f"shop.{ending}", Sheet1=[HEAD, *ROWS], Sheet2=[], Sheet3=[])
    before = path.read_bytes()
    imported = read(path, plain=True)
    assert all_facts(imported) == FACTS
    assert [record.table for record in imported.tables] == ["shop"]
    assert [each.value_type for each in imported.split.column_types["shop"]] == ["text", "whole", "text"]
    assert [record.type for record in imported.columns] == ["varchar", "bigint", "date"]
    assert path.read_bytes() == before


def test_every_sheet_is_a_table(tmp_path: Path) -> None:
    customers = [("id", "country"), *((n, f"c{n % 3}") for n in range(9))]
    orders = [("customer", "item"), *((n % 9, f"i{n % 5}") for n in range(45))]
    path = save(tmp_path / "shop.xlsx", customers=customers, orders=orders)
    imported = read(path, links={"orders.customer": "customers.id"})
    assert {relation.name for relation in imported.split.schema} == {"customers.country", "orders"}
    assert ("orders", "customers:8", "orders.item:i3") in all_facts(imported)
    assert ("customers.country", "customers:8", "customers.country:c2") in all_facts(imported)
    assert {record.rows for record in imported.tables} == {9, 45}


def test_values_of_every_type(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    sheet = book.active
    row = [
        *(1.0, -2.5, 1e300, 10**15, True, "007", " x ", "two\nlines", dt.date(2024, 2, 29)),
        *(dt.datetime(2024, 2, 29, 13, 5, 9), dt.time(7, 30), dt.timedelta(hours=51), "=1/0", "", None),
    ]
    names = [f"c{number}" for number in range(len(row))]
    sheet.append(names)
    for _ in range(4):
        sheet.append(row)
    book.save(tmp_path / "t.xlsx")
    with pytest.warns(RelatumWarning, match="15 roles"):
        imported = read(tmp_path / "t.xlsx", columns={"t": names}, null="value", plain=True)
    expected = [
        *("1", "-2.5", "1e+300", str(10**15), "true", "007", " x ", "two␊lines", "2024-02-29"),
        *("2024-02-29 13:05:09", "07:30:00", "51:00:00", "NULL", "NULL", "NULL"),
    ]
    assert all_facts(imported) == {("t", *expected)}


def test_a_formula_is_the_value_that_was_last_computed(tmp_path: Path) -> None:
    path = save(tmp_path / "plain.xlsx", S=[("a", "b"), *((f"x{n % 2}", f"=1+{n % 2}") for n in range(8))])
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(tmp_path / "t.xlsx", "w") as new:
        for name in old.namelist():
            new.writestr(name, old.read(name).replace(b"<v></v>", b"<v>7</v>").replace(b"<v />", b"<v>7</v>"))
    assert all_facts(read(tmp_path / "t.xlsx", keep=["b"], plain=True)) == {("t", "x0", "7"), ("t", "x1", "7")}


def test_empty_rows_and_columns_around_a_table_do_not_count(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    sheet = book.active
    for number, row in enumerate([HEAD, *ROWS[:15], (), *ROWS[15:]]):
        for column, value in enumerate(row):
            sheet.cell(number + 4, column + 3, value)
    sheet.cell(1_048_576, 16_384).font = openpyxl.styles.Font(bold=True)  # a cell with a style and no value
    book.save(tmp_path / "shop.xlsx")
    imported = read(tmp_path / "shop.xlsx", plain=True)
    assert all_facts(imported) == FACTS
    assert imported.tables[0].rows == len(ROWS)


def test_without_a_header_columns_are_numbered(tmp_path: Path) -> None:
    imported = read(save(tmp_path / "shop.xlsx", S=ROWS), header=False, plain=True)
    assert all_facts(imported) == FACTS
    assert imported.split.schema["shop"].roles == ("column_1", "column_2", "column_3")


NO_TABLES: list[tuple[list[tuple[object, ...]], str]] = [
    ([("a", None, "c"), (1, 2, 3)], "bad-sheet"),
    ([("a", None, "c"), *[(1, None, 3)] * 200, (), (1, 2, 3)], "bad-sheet"),
    *(([(name, other), (1, 2)], "bad-sheet") for name, other in (("a", "a"), ("a", 7), ("a", "x\ty"))),
    ([], "empty-file"),
    ([("a", "b")], "no-relations"),
]


@pytest.mark.parametrize(("rows", "code"), NO_TABLES)
def test_a_sheet_that_is_no_table_is_one_sentence(tmp_path: Path, rows: list[tuple[object, ...]], code: str) -> None:
    with mistake(code) as caught:
        read(save(tmp_path / "t.xlsx", S=rows))
    assert "\n" not in str(caught.value)


def test_a_sheet_of_notes_beside_a_table_is_not_read_unless_chosen(tmp_path: Path) -> None:
    notes = [("Sales of 2024",), (), (None, "by region", 17)]
    path = save(tmp_path / "book.xlsx", notes=notes, shop=[HEAD, *ROWS])
    imported = read(path, plain=True)
    assert all_facts(imported) == FACTS
    assert {record.table: record.note for record in imported.tables} == {"notes": "not read", "shop": "no column is a key"}
    with mistake("bad-sheet"):
        read(path, tables=["notes"])


SPACE = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
RELATED = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
RELS = '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
SHEETS = '<sheets><sheet name="S" sheetId="1" r:id="r1"/></sheets>'
TARGET = f'Type="{RELATED}/worksheet" Target="worksheets/sheet1.xml"'
PARTS = {
    "[Content_Types].xml": '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>',
    "_rels/.rels": f'{RELS}<Relationship Id="r" Type="{RELATED}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
    "xl/workbook.xml": f'<workbook {SPACE} xmlns:r="{RELATED}">{SHEETS}</workbook>',
    "xl/_rels/workbook.xml.rels": f'{RELS}<Relationship Id="r1" {TARGET}/></Relationships>',
}
TEXT = '<c r="{}" t="inlineStr"><is><t>{}</t></is></c>'
GOOD = "<row>" + TEXT.format("A1", "a") + TEXT.format("B1", "b") + "</row>"
GOOD += "".join(f'<row r="{n}"><c r="A{n}"><v>{n % 2}</v></c><c r="B{n}"><v>{n % 3}</v></c></row>' for n in range(2, 20))
SHEET = "xl/worksheets/sheet1.xml"


def grid(rows: str, before: str = "") -> str:
    return f"{before}<worksheet {SPACE}><sheetData>{rows}</sheetData></worksheet>"


def pack(path: Path, changed: dict[str, str | bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in {**PARTS, SHEET: grid(GOOD), **changed}.items():
            archive.writestr(name, text)
    return path


def forged_size(path: Path) -> Path:
    """Return a workbook whose sheet is far larger than its directory says."""
    pack(path, {SHEET: grid(GOOD + " " * 3_000_000)})
    size, data = len(grid(GOOD + " " * 3_000_000)), path.read_bytes()
    assert data.count(size.to_bytes(4, "little")) == 2
    path.write_bytes(data.replace(size.to_bytes(4, "little"), (9).to_bytes(4, "little")))
    return path


def bomb(path: Path) -> Path:
    """Return a workbook of a few megabytes that unpacks to half a gigabyte."""
    with (
        zipfile.ZipFile(pack(path, {}), "a", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        archive.open("xl/worksheets/other.xml", "w") as part,
    ):
        for _ in range(257):
            part.write(b" " * (1 << 21))
    return path


LAUGHS = '<!DOCTYPE x [<!ENTITY a "haha">' + "".join(
    f'<!ENTITY {b} "{f"&{a};" * 10}">' for a, b in zip("abcdefgh", "bcdefghi", strict=True)
)
UNNAMED = GOOD + "<row>" + "<c><v>1</v></c>" * 16_000 + "</row>" + "<row><c><v>1</v></c></row>" * 2_000
CASES: dict[str, tuple[Callable[[Path], object], str]] = {
    "a cell at the far end": (
        lambda p: pack(p, {SHEET: grid(GOOD + '<row r="1048576"><c r="XFD1048576"><v>1</v></c></row>')}),
        "over-limit",
    ),
    "cells without references": (lambda p: pack(p, {SHEET: grid(UNNAMED)}), "over-limit"),
    "a cell that cannot be": (lambda p: pack(p, {SHEET: grid('<row><c r="A99999999"/></row>')}), "not-a-workbook"),
    "entities": (lambda p: pack(p, {SHEET: grid(GOOD, LAUGHS + "]>") + "&i;"}), "not-a-workbook"),
    "broken XML": (lambda p: pack(p, {SHEET: grid(GOOD)[:-20]}), "not-a-workbook"),
    "no workbook": (lambda p: pack(p, {"xl/workbook.xml": "<x/>"}), "not-a-workbook"),
    "a forged size": (forged_size, "not-a-workbook"),
    "a bomb": (bomb, "over-limit"),
    "a cut file": (lambda p: p.write_bytes(pack(p, {}).read_bytes()[:-40]), "not-a-workbook"),
    "a password": (lambda p: p.write_bytes(b"\xd0\xcf\x11\xe0" + b"\0" * 600), "locked-workbook"),
    "another zip file": (lambda p: zipfile.ZipFile(p, "w").close(), "not-a-workbook"),
}


@pytest.mark.parametrize("case", CASES)
def test_a_harmful_workbook_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: str) -> None:
    maker, code = CASES[case]
    maker(tmp_path / "t.xlsx")
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    with mistake(code, place=tmp_path / "t.xlsx") as caught:
        read(tmp_path / "t.xlsx")
    assert "\n" not in str(caught.value)
    assert not list((tmp_path / "temporary").iterdir()), "no copy is left"


def test_a_claim_to_be_large_is_not_believed(tmp_path: Path) -> None:
    claimed = grid(GOOD).replace("<sheetData>", '<dimension ref="A1:XFD1048576"/><sheetData>')
    assert read(pack(tmp_path / "t.xlsx", {SHEET: claimed}), plain=True).tables[0].rows == 18

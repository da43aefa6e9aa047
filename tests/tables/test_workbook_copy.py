"""Workbooks made to do harm: one sentence, soon, in little memory."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from relatum.errors import FormatError
from relatum.tables import read

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


def sheet(rows: str, before: str = "") -> str:
    return f"{before}<worksheet {SPACE}><sheetData>{rows}</sheetData></worksheet>"


def write(path: Path, changed: dict[str, str | bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in {**PARTS, SHEET: sheet(GOOD), **changed}.items():
            archive.writestr(name, text)
    return path


def forged_size(path: Path) -> Path:
    """Return a workbook whose sheet is far larger than its directory says."""
    write(path, {SHEET: sheet(GOOD + " " * 3_000_000)})
    size, data = len(sheet(GOOD + " " * 3_000_000)), path.read_bytes()
    assert data.count(size.to_bytes(4, "little")) == 2
    path.write_bytes(data.replace(size.to_bytes(4, "little"), (9).to_bytes(4, "little")))
    return path


def twice(path: Path) -> Path:
    write(path, {})
    with zipfile.ZipFile(path, "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr(SHEET, sheet("<row/>" * 10))
    return path


def bomb(path: Path) -> Path:
    """Return a workbook of a few megabytes that unpacks to half a gigabyte."""
    with (
        zipfile.ZipFile(write(path, {}), "a", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        archive.open("xl/worksheets/other.xml", "w") as part,
    ):
        for _ in range(257):
            part.write(b" " * (1 << 21))
    return path


def cut(path: Path) -> Path:
    path.write_bytes(write(path, {}).read_bytes()[:-40])
    return path


def damaged(path: Path) -> Path:
    write(path, {SHEET: sheet(GOOD * 20)})
    with zipfile.ZipFile(path) as archive:
        part = archive.getinfo(SHEET)
    data = bytearray(path.read_bytes())
    middle = part.header_offset + 30 + len(SHEET) + part.compress_size // 2
    data[middle : middle + 20] = bytes(255 - byte for byte in data[middle : middle + 20])
    path.write_bytes(data)
    return path


LAUGHS = '<!DOCTYPE x [<!ENTITY a "haha">' + "".join(
    f'<!ENTITY {b} "{f"&{a};" * 10}">' for a, b in zip("abcdefgh", "bcdefghi", strict=True)
)
FAR = GOOD + '<row r="1048576"><c r="XFD1048576"><v>1</v></c></row>'
UNNAMED = GOOD + "<row>" + "<c><v>1</v></c>" * 16_000 + "</row>" + "<row><c><v>1</v></c></row>" * 2_000

CASES: dict[str, tuple[Callable[[Path], Path], str]] = {
    "a cell at the far end": (
        lambda p: write(p, {SHEET: sheet(FAR)}),
        "1,048,576 rows of 16,384 columns .* save the sheet as CSV",
    ),
    "cells without references": (lambda p: write(p, {SHEET: sheet(UNNAMED)}), "columns .* more than 20,000,000 cells"),
    "a cell that cannot be": (
        lambda p: write(p, {SHEET: sheet(GOOD + '<row><c r="A99999999"><v>1</v></c></row>')}),
        "no cell 'A99999999'",
    ),
    "a row that cannot be": (lambda p: write(p, {SHEET: sheet(GOOD + '<row r="-1"><c><v>1</v></c></row>')}), "no cell"),
    "entities": (lambda p: write(p, {SHEET: sheet(GOOD, LAUGHS + "]>") + "&i;"}), "declares a document type"),
    "a document type in strings": (
        lambda p: write(p, {"xl/sharedStrings.xml": '<!DOCTYPE sst SYSTEM "file:///etc/passwd"><sst/>'}),
        "declares a document type",
    ),
    "UTF-16": (lambda p: write(p, {SHEET: sheet(GOOD).encode("utf-16")}), "is not in UTF-8"),
    "another encoding": (
        lambda p: write(p, {SHEET: sheet(GOOD, '<?xml version="1.0" encoding="cp037"?>')}),
        "is not in UTF-8",
    ),
    "broken XML": (lambda p: write(p, {SHEET: sheet(GOOD)[:-20]}), "'xl/worksheets/sheet1.xml' is not valid XML"),
    "no sheet": (lambda p: write(p, {"xl/_rels/workbook.xml.rels": f"{RELS}</Relationships>"}), "t.xlsx: "),
    "no workbook": (lambda p: write(p, {"xl/workbook.xml": "<x/>"}), "t.xlsx: "),
    "a forged size": (forged_size, "not an .xlsx file, or a damaged one"),
    "two parts of one name": (twice, "two of one name"),
    "a bomb": (bomb, "more than 512 MiB unpacked; save the sheet as CSV"),
    "a cut file": (cut, "not an .xlsx file, or a damaged one"),
    "damaged bytes": (damaged, "t.xlsx: "),
    "a password": (lambda p: p.write_bytes(b"\xd0\xcf\x11\xe0" + b"\0" * 600) and p, "has a password, or is an old .xls"),
    "another zip file": (lambda p: zipfile.ZipFile(p, "w").close() or p, "no workbook in it"),
    "too many parts": (lambda p: write(p, {f"xl/{n}.bin": "" for n in range(10_001)}), "too many parts"),
}


@pytest.mark.parametrize("case", CASES)
def test_a_harmful_workbook_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: str) -> None:
    maker, message = CASES[case]
    path = maker(tmp_path / "t.xlsx")
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    started = time.monotonic()
    with pytest.raises(FormatError, match=message) as caught:
        read(path)
    assert "\n" not in str(caught.value)
    assert time.monotonic() - started < 30
    assert not list((tmp_path / "temporary").iterdir()), "no copy is left"


def test_a_claim_to_be_large_is_not_believed(tmp_path: Path) -> None:
    claimed = sheet(GOOD).replace("<sheetData>", '<dimension ref="A1:XFD1048576"/><sheetData>')
    imported = read(write(tmp_path / "t.xlsx", {SHEET: claimed}), plain=True)
    assert imported.tables[0].rows == 18


# The most memory that the process itself has held, in kilobytes: what `resource` says begins at what its parent has.
_READ = """
import re, sys
from pathlib import Path
from relatum.errors import FormatError
from relatum.tables import read
try:
    read(sys.argv[1])
except FormatError:
    print(re.search(r"VmHWM:\\s*(\\d+)", Path("/proc/self/status").read_text())[1])
"""


def test_a_harmful_workbook_takes_little_memory(tmp_path: Path) -> None:
    for maker in (lambda p: write(p, {SHEET: sheet(FAR)}), bomb, lambda p: write(p, {SHEET: sheet(UNNAMED)})):
        arguments = [sys.executable, "-c", _READ, str(maker(tmp_path / "t.xlsx"))]
        done = subprocess.run(arguments, capture_output=True, text=True, timeout=120, check=True)
        assert int(done.stdout) < 1 << 20

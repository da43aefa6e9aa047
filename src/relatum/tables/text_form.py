"""How a text file of a table is written: its delimiter, its encoding, and whether its first line names the columns."""

from __future__ import annotations

import codecs
import gzip
import re
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from encodings.aliases import aliases
from pathlib import Path
from typing import IO

from relatum.data.vocabulary import fault_of
from relatum.errors import FormatError, SettingError, UnknownNameError
from relatum.tables.table import free_name

DELIMITERS = {"comma": ",", "semicolon": ";", "tab": "\t", "pipe": "|", "space": " "}
_ESCAPED = {"\\t": "\t"}  # as it comes from a shell
_CHUNK = 1 << 20  # bytes


@dataclass(frozen=True, slots=True)
class TextForm:
    """How text files are written; every field is checked."""

    delimiter: str | None = None  # one character, or one of `DELIMITERS`; None finds it in the first line
    header: bool = True  # the first line names the columns
    encoding: str = "utf-8"  # the name of a text encoding that Python has

    def __post_init__(self) -> None:
        _ = self.character, self.codec

    @property
    def character(self) -> str | None:
        """The delimiter itself."""
        if self.delimiter is None:
            return None
        character = DELIMITERS.get(self.delimiter.lower()) or _ESCAPED.get(self.delimiter, self.delimiter)
        words = ", ".join(DELIMITERS)
        if len(character) != 1:
            raise SettingError(
                "bad-text-format", f"must be one character or one of {words}, not {self.delimiter!r}", place="delimiter"
            )
        if character.isalnum() or character in '"\r\n\0':
            raise SettingError(
                "bad-text-format",
                f"{character!r} cannot set columns apart",
                place="delimiter",
                remedy=f"take one of {words}",
            )
        return character

    @property
    def codec(self) -> str:
        """The usual name of the encoding, `utf-8` for UTF-8."""
        try:
            found = codecs.lookup(self.encoding)
            # Python's codecs also turn bytes into bytes (base64) and text into text (rot13).
            is_text = isinstance(codecs.decode(b"", self.encoding), str)
        except (LookupError, ValueError, TypeError, UnicodeError):
            is_text = False
        if not is_text:
            known = {name.replace("_", "-") for pair in aliases.items() for name in pair}
            raise UnknownNameError("encoding", self.encoding, sorted(known))
        return found.name

    @property
    def is_utf8(self) -> bool:
        """Whether a file can be read as it stands."""
        return self.codec == "utf-8"


def numbered(width: int) -> list[str]:
    """Return the names of columns that have none of their own."""
    return [f"column_{number}" for number in range(1, width + 1)]


def with_row_name(names: Sequence[str]) -> list[str]:
    """Return the names of a header, the first of them `row` if it is blank: data frames write row names so."""
    if len(names) < 2 or names[0].strip():
        return list(names)
    return [free_name("row", names[1:]), *names[1:]]


def header_fault(names: Sequence[str]) -> str | None:
    """Return why these are not the names of columns, or None if they are."""
    before: set[str] = set()
    for position, name in enumerate(names, start=1):
        if fault := fault_of(name):
            return f"column {position} of the header: {fault}"
        if re.fullmatch(r"[-+]?[0-9][0-9.,eE+-]*", name.strip()):
            return f"column {position} is called {name!r}, a number: is there no header? (--no-header)"
        if name in before:
            return f"two columns are called {name!r}"
        before.add(name)
    return None


@contextmanager
def opened(path: Path) -> Iterator[IO[bytes]]:
    """Yield a file, unpacked if it is gzipped; one that is damaged is refused while it is read."""
    try:
        with path.open("rb") as raw:
            yield gzip.GzipFile(fileobj=raw) if is_gzip(path) else raw  # type: ignore[misc]
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise FormatError("damaged-gzip", path, None, f"damaged gzip file ({error})") from None


def text_chunks(path: Path, form: TextForm) -> Iterator[str]:
    """Yield the text of a file, plain or gzipped, in chunks, without its byte order mark."""
    decoder = codecs.getincrementaldecoder(form.codec)()
    line, is_first = 1, True
    try:
        with opened(path) as file:
            while True:
                data = file.read(_CHUNK)
                text = decoder.decode(data, final=not data)
                if text:
                    yield text.removeprefix("\ufeff") if is_first else text
                    line, is_first = line + text.count("\n"), False
                if not data:
                    return
    except UnicodeError as error:
        where = _line_of(error, line)
        raise FormatError(
            "wrong-encoding", path, where, f"not valid {form.encoding}", remedy="set encoding to that of the file"
        ) from None


def _line_of(error: UnicodeError, line: int) -> int | None:
    """Return the line of what cannot be decoded, as far as the codec tells."""
    if not isinstance(error, UnicodeDecodeError):
        return None
    try:
        return line + error.object[: error.start].decode(error.encoding).count("\n")
    except (UnicodeError, LookupError):
        return line


def is_gzip(path: Path) -> bool:
    """Return whether a file is gzipped, by its first bytes."""
    with path.open("rb") as file:
        return file.read(2) == b"\x1f\x8b"

"""What all parsers share: names and their quoting, argument lists, errors with a column."""

from __future__ import annotations

import re
from typing import NamedTuple

from relatum.data.schema import RelationSchema, Schema
from relatum.errors import DataError, RelatumError

_SPACE = re.compile(r"\s*")
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')
_BARE = re.compile(r"[^,()\[\]=\"\n]+")
_PLAIN = re.compile(r"[^\s,()\[\]=\"]+")


def as_written(name: str, *, quote: bool = False) -> str:
    """Return `name` as a text holds it: in double quotes if it must be, or if the caller knows why it should be."""
    if not quote and _PLAIN.fullmatch(name):
        return name
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'


class Word(NamedTuple):
    """A name as it was read: its text, its offset, and whether it was in quotes."""

    name: str
    offset: int
    quoted: bool


class Reader:
    """Reads a text from left to right; errors point at the line, if there are several, and the column."""

    def __init__(self, text: str) -> None:
        self.text, self.offset = text, 0

    def error(self, reason: str | RelatumError, offset: int | None = None, code: str = "syntax") -> DataError:
        """Return the error that says what is wrong at `offset`, or where the reader is."""
        offset = self.offset if offset is None else offset
        start = self.text.rfind("\n", 0, offset) + 1
        line = self.text[start:].split("\n", 1)[0]
        number = f" line {self.text.count(chr(10), 0, offset) + 1}," if "\n" in self.text.strip() else ""
        place = f"{line!r},{number} column {offset - start + 1}"
        if not isinstance(reason, RelatumError):
            return DataError(code, reason, place=place)
        place = f"{place}: {reason.place}" if reason.place else place
        return DataError(reason.code, reason.reason, place=place, remedy=reason.remedy, nearest=reason.nearest)

    def ahead(self, sign: str) -> bool:
        """Return whether `sign` comes next, after any space."""
        self.skip()
        return self.text.startswith(sign, self.offset)

    def take(self, sign: str) -> bool:
        """Step over `sign` if it comes next, and return whether it did."""
        if found := self.ahead(sign):
            self.offset += len(sign)
        return found

    def expect(self, *signs: str) -> str:
        """Step over whichever of the signs comes next, and return it."""
        for sign in signs:
            if self.take(sign):
                return sign
        raise self.error(f"expected {' or '.join(map(repr, signs))}")

    def word(self, what: str) -> Word:
        """Return the name that comes next: in quotes, or bare up to a comma, bracket, quote, equals sign or line break.

        Within quotes a backslash stands before a quote or a backslash.
        """
        self.skip()
        start = self.offset
        if found := _QUOTED.match(self.text, start):
            self.offset = found.end()
            return Word(re.sub(r"\\(.)", r"\1", found[1]), start, True)
        if self.text.startswith('"', start):
            raise self.error("this quote is never closed", code="open-quote")
        if (found := _BARE.match(self.text, start)) and found[0].strip():
            self.offset = found.end()
            return Word(found[0].strip(), start, False)
        raise self.error(f"expected {what}")

    def compared(self, word: Word) -> tuple[Word, str]:
        """Step over = or != if it comes next; return what was read before, without the sign, and the sign or ''.

        A bare word ends at the equals sign, so it holds the exclamation mark that stands right before the sign.
        """
        if not word.quoted and word.name.endswith("!") and self.text.startswith("!=", self.offset - 1):
            if not (name := word.name[:-1].rstrip()):
                raise self.error("expected a name before '!='", word.offset)
            self.offset += 1
            return Word(name, word.offset, False), "!="
        sign = "!=" if self.take("!=") else "=" if self.take("=") else ""
        return word, sign

    def relation(self, word: Word, schema: Schema) -> RelationSchema:
        """Return the stored relation that a word names."""
        try:
            return schema[word.name]
        except RelatumError as error:
            raise self.error(error, word.offset) from None

    def end(self) -> None:
        """Refuse anything but space in the rest of the text."""
        self.skip()
        if self.offset < len(self.text):
            raise self.error("nothing should follow")

    def skip(self) -> None:
        """Step over space."""
        self.offset = _SPACE.match(self.text, self.offset).end()  # type: ignore[union-attr]


Arguments = tuple[str | None, ...]  # in the order of the positions; None is open


def read_arguments(reader: Reader, relation: RelationSchema, free: set[int] | None = None) -> Arguments:
    """Return the arguments that come next, by position or as role=argument, one for each position of a relation.

    Where roles are named, those that are not can be left free: their positions are added to `free`, and hold None. A name
    that is a question mark is put in quotes.
    """
    found = read_words(reader, relation, free)
    names = {position: None if _is_open(word) else word.name for position, word in found.items()}
    return tuple(names.get(position) for position in range(relation.arity))


def read_words(reader: Reader, relation: RelationSchema, free: set[int] | None = None) -> dict[int, Word]:
    """Return the arguments that come next as they are written, by position; `free` as of `read_arguments`."""
    reader.expect("(")
    found: dict[int, Word] = {}
    named = False
    while not reader.ahead(")"):
        if found:
            reader.expect(",")
        word = reader.word("an entity or ?")
        start = word.offset
        position_or_role: int | str = len(found)
        if reader.ahead("="):
            if _is_open(word):
                raise reader.error("before '=' must be a role or a position, not ?", start)
            reader.expect("=")
            position_or_role, word, named = word.name, reader.word("an entity or ?"), True
        if isinstance(position_or_role, int) and position_or_role >= relation.arity:
            raise reader.error(f"{relation} takes {relation.arity} arguments, and here is one more", start, "argument-count")
        position = relation.position(position_or_role)
        if position in found:
            raise reader.error(f"position {position} of {relation} is given twice", start, "given-twice")
        found[position] = word
    reader.expect(")")
    left = set(range(relation.arity)) - found.keys()
    if left and (free is None or not named):
        hint = ""
        if free is not None and relation.roles and found:
            named_so = ", ".join(f"{relation.roles[position]}=..." for position in sorted(found))
            hint = f"; to leave the others free, name these: {relation.name}({named_so})"
        elif named and relation.roles:
            hint = f"; none is free here, so name {' and '.join(relation.roles[position] for position in sorted(left))} too"
        raise reader.error(
            f"{relation} takes {relation.arity} arguments, not {len(found)}{hint}", reader.offset - 1, "argument-count"
        )
    if free is not None:
        free |= left
    return found


def write_arguments(arguments: Arguments) -> str:
    """Return arguments in brackets, as `read_arguments` reads them."""
    return f"({', '.join('?' if name is None else as_written(name, quote=name == '?') for name in arguments)})"


def _is_open(word: Word) -> bool:
    """Return whether a word is a question mark that stands for an open position."""
    return word.name == "?" and not word.quoted

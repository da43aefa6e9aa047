"""Which columns hold what people call the rows: by what the columns are called, and by how many rows share a text."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence, Set

from relatum.tables.profile import Profile, is_called_like_key
from relatum.tables.source import SourceTable

_LENGTH = 60  # characters of a label on average, at most
_SHARES = {"name": 0.5, "title": 0.7, "label": 0.7, "caption": 0.9, "headline": 0.9}  # of different texts, at least
_SHARE_OF_PEOPLE = 0.5  # the same of first and last names together
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^\W\d_A-Za-z]+")
_QUALIFIERS = frozenset(("full", "display", "common", "official", "long", "company", "product", "category", "legal"))
_FIRST = frozenset({"first", "given", "fore"})
_LAST = frozenset({"last", "family", "sur"})
_LEAST_LETTERS = 4  # of a word that may stand for a longer one in the name of its table: `franch` for `franchises`


def words_of(name: str) -> list[str]:
    """Return the words of a name in small letters, however it is spelt: `nameFirst`, `name_first` and `Name First`."""
    return [word.lower() for word in _WORD.findall(name)]


def labels_of(
    table: SourceTable, profiles: Mapping[str, Profile], together: Callable[[Sequence[str]], int]
) -> tuple[str, ...]:
    """Return the columns whose text is what people call the rows: such as a name, or a short text that no two rows share.

    A name need not be unique: two people of one name are told apart by their keys. First and last name are a label together.

    Args:
        table: the table.
        profiles: what was counted in its columns.
        together: how many different texts some columns have together.
    """
    if len(table.primary_key) != 1:
        return ()
    texts = {
        name: profile
        for name, profile in profiles.items()
        if profile.kind == "text" and name not in table.primary_key and 0 < profile.length <= _LENGTH
    }
    people = _first_and_last(texts, table.name)
    if people and together(people) >= _SHARE_OF_PEOPLE * max(texts[name].present for name in people):
        return people
    for ending, share in _SHARES.items():
        for name, profile in texts.items():
            if _ending(name, table.name) == ending and profile.distinct >= share * profile.present:
                return (name,)
    unique = [name for name, profile in texts.items() if profile.could_be_key]
    return tuple(sorted(unique, key=is_called_like_key)[:1])  # a code, if there is no other


def is_called_like_label(columns: Sequence[str], table: str) -> bool:
    """Return whether label columns are called so, and not only unique: `name`, `title`, or a first and a last name."""
    return len(columns) > 1 or any(_ending(name, table) is not None for name in columns)


def _first_and_last(columns: Mapping[str, Profile], table: str) -> tuple[str, ...]:
    """Return the columns of first and last names, if there are both: `FirstName`, `given_name`, `nameLast`, `surname`."""
    found = []
    for wanted in (_FIRST, _LAST):
        for name in columns:
            rest = _without_table(_joined(name), table)
            if "name" in rest and len(rest) == 2 and wanted & set(rest):
                found.append(name)
                break
    return tuple(found) if len(found) == 2 else ()


def _ending(column: str, table: str) -> str | None:
    """Return by which of the words for a label a column is called: `name_full`, `park.name`, `GenreName` of `Genre`."""
    rest = _without_table(_joined(column), table)
    plain = [word for word in rest if word not in _QUALIFIERS]
    return plain[0] if len(plain) == 1 and plain[0] in _SHARES else None


def _joined(column: str) -> list[str]:
    """Return the words of a column, with those that are written as one set apart: `fullname`, `surname`, `firstname`."""
    found = []
    for word in words_of(column):
        for ending in ("name", "title"):
            start = word.removesuffix(ending)
            if start != word and start in _QUALIFIERS | _FIRST | _LAST:
                found += [start, ending]
                break
        else:
            found.append(word)
    return found


def _without_table(words: Sequence[str], table: str) -> list[str]:
    """Return the words that do not repeat what the table is called: `genre` of `Genres`, `franch` of `TeamsFranchises`."""
    own = set(words_of(table.rpartition(".")[2]))
    own |= {"".join(words_of(table.rpartition(".")[2]))}
    forms = {form for word in own for form in (word, word.removesuffix("s"), word.removesuffix("es"), _singular(word))}
    kept = [word for word in words if not _stands_for(word, forms)]
    if len(kept) == 1 and kept[0] not in _SHARES:  # `genrename` in a table `genre`
        for form in sorted(forms, key=len, reverse=True):
            if form and kept[0].removeprefix(form) in _SHARES:
                return [kept[0].removeprefix(form)]
    return kept


def _singular(word: str) -> str:
    return f"{word.removesuffix('ies')}y" if word.endswith("ies") else word


def _stands_for(word: str, forms: Set[str]) -> bool:
    """Return whether a word is one of those of a table, or the first letters of one."""
    if word in forms and word not in _SHARES:
        return True
    return len(word) >= _LEAST_LETTERS and word not in _SHARES and any(form.startswith(word) for form in forms)

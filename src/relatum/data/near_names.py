"""Names that differ only in what people overlook: case, spaces, look-alike letters and the like.

Names are exact: `Drew` and `Drew ` are two entities. Where a person meant one, half of what is known of it stands apart.
Names are brought to a form in steps, each of which takes away one kind of difference; names of one form are a group. What
looks alike has a form of its own, since letters of two alphabets that look alike as capitals need not as small ones.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cache
from itertools import compress, islice
from typing import Any

import numpy as np

from relatum.arrays import Bool, Int64
from relatum.formatting import count, number

KINDS = ("invisible characters", "normal form", "spaces", "case", "leading zeros", "look-alike characters")
_SHOWN = 4  # names of an example
_WIDTH = 48  # characters of a name around where it differs
_COMPARED = 1000  # of a name, that are compared to show where that is

_BLOCK = 1 << 14  # names that are looked at together: string methods cost least on long texts
_MOST_REPLACED = 60  # characters of a text, one after the other: with more, looking each one up costs less

# Signs that enclose what follows are formatting characters to Unicode, but are seen.
_SEEN = frozenset("\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd")
_UNSEEN = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]")


@cache
def _if_seen(character: str) -> str:
    formats = unicodedata.category(character) in ("Cf", "Cc") and not character.isspace()
    return "" if (formats and character not in _SEEN) or _UNSEEN.match(character) else character


@cache
def _plain_space(character: str) -> str:
    return " " if character.isspace() and character != "\n" else character


@cache
def _plain(character: str) -> str:
    return _plain_space(_if_seen(character)) if _if_seen(character) else ""


# Letters whose usual shapes are those of a Latin letter, and punctuation that typing programs replace.
_LOOKS = dict(
    zip(
        "АВЕЅІЈКМНОРСТУХԚԜаеѕіјорсухԛԝһӏ" + "ΑΒΕΖΗΙΚΜΝΟΡΤΥΧονϲϳ" + "‘’ʼ′“”„″",
        "ABESIJKMHOPCTYXQWaesijopcyxqwhl" + "ABEZHIKMNOPTYXovcj" + "''''\"\"\"\"",
        strict=True,
    )
)
# Kinds of compatibility decompositions that change the meaning, such as that of a superscript, are not among these.
_ALIKE_FORMS = ("<compat>", "<font>", "<wide>", "<narrow>", "<initial>", "<medial>", "<final>", "<isolated>")


@cache
def _as_it_looks(character: str) -> str:
    if character in _LOOKS or unicodedata.category(character) == "Pd" or character == "\u2212":
        return _LOOKS.get(character, "-")
    if unicodedata.decomposition(character).startswith(_ALIKE_FORMS):
        plain = unicodedata.normalize("NFKC", character)
        if not plain.startswith(" "):  # that of an accent which stands alone
            return "".join(map(_as_it_looks, plain))
    return character


def _replaced(text: str, rule: Callable[[str], str]) -> str:
    """Return a text with each character as a rule has it, which leaves what it gives alone."""
    changed = [(character, rule(character)) for character in set(text) if rule(character) != character]
    if len(changed) > _MOST_REPLACED:
        return text.translate({ord(character): other for character, other in changed})
    for character, other in changed:
        text = text.replace(character, other)
    return text


_ZEROS = re.compile("(^|:)0+(?=[0-9]+$)", re.MULTILINE)


def _composed(text: str) -> str:
    return unicodedata.normalize("NFC", text)


def _trimmed(text: str) -> str:
    while "  " in text:
        text = text.replace("  ", " ")
    return text.replace(" \n", "\n").replace("\n ", "\n").strip(" ")


def _folded(text: str) -> str:
    return _composed(text.casefold())


def _without_zeros(text: str) -> str:
    """Return names without the zeros that a whole number begins with; a type may stand before it, as in `items:007`."""
    return _ZEROS.sub(r"\1", text) if text.startswith("0") or "\n0" in text or ":0" in text else text


# What takes away each kind of difference but the last; lines are names.
_STEPS: tuple[Callable[[str], str], ...] = (
    lambda text: _replaced(text, _if_seen),
    _composed,
    lambda text: _trimmed(_replaced(text, _plain_space)),
    _folded,
    _without_zeros,
)


def _forms(names: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the form of each name, and what it looks like.

    Names of one form differ in nothing but case, spaces, zeros and what is not seen. Those that look like the same are so in
    whichever alphabet.
    """
    if not names:
        return [], []
    form = looks = _trimmed(_composed(_replaced("\n".join(names), _plain)))
    if not form.isascii():
        looks = _composed(_replaced(unicodedata.normalize("NFD", form), _as_it_looks))
    return _without_zeros(_folded(form)).split("\n"), _without_zeros(_folded(looks)).split("\n")


@dataclass(frozen=True, slots=True)
class NearNames:
    """How many groups of names differ only in what people overlook."""

    groups: int
    names: int  # how many names are in one
    # by kind of difference, in how many groups names differ in it; kinds that do not occur are left out
    kinds: dict[str, int]
    examples: dict[str, tuple[tuple[str, ...], ...]]  # by kind, the names of the first groups

    def to_json(self) -> dict[str, Any]:
        """Return the counts and examples as plain data."""
        examples = {
            kind: [{"names": list(group), "shown": shown_apart(group)} for group in groups]
            for kind, groups in self.examples.items()
        }
        return {"groups": self.groups, "names": self.names, "kinds": dict(self.kinds), "examples": examples}

    def line(self, what: str) -> str:
        """Return in a line how many names, of entities, say, are near others, with an example."""
        kinds = ", ".join(f"{kind} ({number(groups)})" for kind, groups in self.kinds.items())
        names = f"{number(self.names)} {what} names, in {count(self.groups, 'group')}"
        return f"{names}, differ only by {kinds}, such as {self.example}"

    @property
    def example(self) -> str:
        """The first group as people can tell its names apart."""
        return shown_together(next(iter(self.examples.values()))[0])


def find_near_names(names: Sequence[str], examples_of_each: int = 3) -> NearNames:
    """Return which names differ only in what people overlook.

    Names are compared by 64 bits of their forms, so that some dozen bytes are kept for each, however many there are.
    """
    members, starts = _groups(names)
    counts, examples = dict.fromkeys(KINDS, 0), {kind: list[tuple[str, ...]]() for kind in KINDS}
    for first, last in _ranges(starts):
        listed = [names[member] for member in members[starts[first] : starts[last]].tolist()]
        bounds = starts[first : last + 1] - starts[first]
        for kind, differs in _kinds(listed, bounds).items():
            counts[kind] += int(differs.sum())
            for group in np.flatnonzero(differs)[: examples_of_each - len(examples[kind])].tolist():
                examples[kind].append(tuple(listed[bounds[group] : bounds[group + 1]]))
    return NearNames(
        len(starts) - 1,
        len(members),
        {kind: many for kind, many in counts.items() if many},
        {kind: tuple(groups) for kind, groups in examples.items() if groups},
    )


def _groups(names: Sequence[str]) -> tuple[Int64, Int64]:
    """Return the numbers of names that are near others, group by group, and where each group starts; first names ascend."""
    keys = form_keys(names)
    looks_other = np.flatnonzero(keys[0] != keys[1])
    owners = np.append(np.arange(len(names)), looks_other)
    keys = np.append(keys[0], keys[1, looks_other])
    order = np.argsort(keys, kind="stable")
    new = np.diff(keys[order], prepend=0) != 0
    new[:1] = True
    shared = ~(new & np.append(new[1:], True))  # keys that another entry has
    owners, keys = owners[order[shared]], np.cumsum(new[shared])
    del order
    entries, firsts = np.unique(owners, return_inverse=True)
    labels, starts = np.arange(len(entries)), np.flatnonzero(np.diff(keys, prepend=-1))
    while len(labels):  # the least label spreads from name to key to name
        least = np.repeat(np.minimum.reduceat(labels[firsts], starts), np.diff(starts, append=len(keys)))
        spread = labels.copy()
        np.minimum.at(spread, firsts, least)
        if np.array_equal(spread, labels):
            break
        labels = spread
    by_group = np.argsort(labels, kind="stable")
    bounds = np.append(np.flatnonzero(np.diff(labels[by_group], prepend=-1)), len(labels))
    return entries[by_group], bounds


def form_keys(names: Iterable[str]) -> Int64:
    """Return 64 bits of each name's form and of what it looks like, int64[2, names]; near names share one of these."""
    found = [np.empty((2, 0), np.int64)]
    rest = iter(names)
    while block := list(islice(rest, _BLOCK)):
        # Most names are ASCII, and texts of these are quick.
        marks = np.fromiter(map(str.isascii, block), np.bool_, len(block))
        keys = np.empty((2, len(block)), np.int64)
        keys[:, marks] = _hashes(_forms(list(compress(block, marks)))[0])
        if not marks.all():
            keys[:, ~marks] = [_hashes(forms) for forms in _forms(list(compress(block, ~marks)))]
        found.append(keys)
    return np.concatenate(found, axis=1)


def _hashes(forms: list[str]) -> Int64:
    return np.fromiter(map(hash, forms), np.int64, len(forms))


def _ranges(starts: Int64) -> Iterator[tuple[int, int]]:
    """Yield ranges of groups that have about as many names as a block."""
    first = 0
    while first < len(starts) - 1:
        last = max(int(np.searchsorted(starts, starts[first] + _BLOCK, "right")) - 1, first + 1)
        yield first, last
        first = last


def _kinds(names: list[str], starts: Int64) -> dict[str, Bool]:
    """Return for each kind of difference which groups have it: those of which fewer forms are left without it."""
    groups = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    text, left, found = "\n".join(names), np.diff(starts), {}
    for kind, step in zip(KINDS, _STEPS, strict=False):
        text = step(text)
        hashes = _hashes(text.split("\n"))
        order = np.lexsort((hashes, groups))
        new = np.append(True, (np.diff(hashes[order]) != 0) | (np.diff(groups[order]) != 0))
        before, left = left, np.bincount(groups[order][new], minlength=len(left))
        found[kind] = left < before
    return {**found, KINDS[-1]: left > 1}


def shown_together(names: Sequence[str]) -> str:
    """Return the first names of a group as people can tell them apart."""
    more = len(names) - _SHOWN
    return " ".join(shown_apart(names[:_SHOWN])) + (f" and {number(more)} more" if more > 0 else "")


def shown_apart(names: Sequence[str]) -> list[str]:
    """Return names in quotes, with the characters by which they differ as code points where they could not be seen."""
    differing = [_differences(name, names[1 if at == 0 else 0]) for at, name in enumerate(names)]
    return [_shown(name, marks) for name, marks in zip(names, differing, strict=True)]


def _differences(name: str, other: str) -> set[int]:
    """Return at which characters a name is not as another one."""
    if name.casefold() == other.casefold() and _composed(name) != _composed(other):
        return set()  # the case of letters is seen as it is
    matcher = SequenceMatcher(None, name[:_COMPARED], other[:_COMPARED], autojunk=False)
    return {at for tag, first, last, _, _ in matcher.get_opcodes() if tag != "equal" for at in range(first, last)}


def _shown(name: str, marks: set[int]) -> str:
    first = max(min(marks, default=0) - _WIDTH // 2, 0)
    last = min(first + _WIDTH, len(name))
    text = "".join(
        ascii(name[at])[1:-1].replace(" ", r"\x20") if at in marks or not name[at].isprintable() else name[at]
        for at in range(first, last)
    )
    return f"{'…' * (first > 0)}'{text}'{'…' * (last < len(name))}"

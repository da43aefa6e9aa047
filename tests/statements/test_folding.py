"""Rare relations lose qualifiers until they are frequent, as counted on training statements alone."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from relatum.statements.folding import Folding
from relatum.statements.statement import Statement, fact_of, statement
from support.made_statements import statements


def of(*keys: str, name: str = "P1") -> Statement:
    return statement(name, "a", "b", [(key, f"v{number}") for number, key in enumerate(keys)])


def keys_of(one: Statement) -> list[str]:
    return [key for key, _ in one.qualifiers]


def test_the_rarest_qualifier_goes_first_and_what_is_folded_into_a_relation_counts() -> None:
    train = [*[of("start")] * 3, of("start", "end"), of("end"), of("end", "by")]
    folding = Folding(train, 3)
    assert keys_of(folding.fold(of("start"))) == ["start"]
    assert keys_of(folding.fold(of("end", "start"))) == ["start"]  # `end` is in three, `start` in four
    assert keys_of(folding.fold(of("end", "by"))) == []  # into `end`, which has two even so
    assert keys_of(folding.fold(of("end"))) == []
    assert (folding.folded, folding.dropped) == (3, 4)
    train = [of("start"), of("start", "end"), of("start", "by")]
    assert keys_of(Folding(train, 3).fold(train[0])) == ["start"]
    assert keys_of(Folding(train, 4).fold(train[0])) == []


def test_of_equals_the_last_goes_and_what_is_unseen_is_dropped() -> None:
    folding = Folding([*[of("a")] * 2, *[of("b")] * 2, of("a", "b")], 2)
    assert keys_of(folding.fold(of("a", "b"))) == ["a"]
    twice = statement("P1", "a", "b", [("a", "1"), ("a", "2")])
    assert Folding([of("a"), of("a"), twice], 2).fold(twice).qualifiers == (("a", "1"),)
    folding = Folding([of("start")] * 5, 5)
    assert keys_of(folding.fold(of("start", "unseen"))) == ["start"]
    assert folding.fold(of("start", name="P2")) == of(name="P2")


@given(st.lists(statements, max_size=40), st.integers(2, 6))
def test_every_relation_with_qualifiers_is_frequent_in_train_and_order_leaves_no_trace(
    train: list[Statement], least: int
) -> None:
    train = [one._replace(property="P1") for one in train]
    folding = Folding(train, least)
    folded = [folding.fold(one) for one in train]
    counts = Counter(fact_of(one)[0] for one in folded)
    assert all(count >= least for relation, count in counts.items() if "+" in relation)
    assert folded == [*map(Folding(train[::-1], least).fold, train)]
    for before, after in zip(train, folded, strict=True):
        assert after[:3] == before[:3]
        assert not Counter(after.qualifiers) - Counter(before.qualifiers)
    assert folding.dropped == sum(
        len(before.qualifiers) - len(after.qualifiers) for before, after in zip(train, folded, strict=True)
    )

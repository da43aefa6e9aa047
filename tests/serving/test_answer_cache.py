"""Answers that are kept are those of one run, in bounded memory."""

from __future__ import annotations

from relatum.serving.answer_cache import AnswerCache


class ARun:
    """Something that can be referred to weakly."""


def test_an_answer_is_kept_for_its_run_alone() -> None:
    cache, run, other = AnswerCache(), ARun(), ARun()
    assert cache.get(run, "q") is None
    cache.put(run, "q", b"1")
    assert cache.get(run, "q") == b"1"
    assert cache.get(other, "q") is None
    cache.put(other, "p", b"2")
    assert cache.get(run, "q") is None
    assert cache.get(other, "q") is None
    assert len(cache) == 1


def test_the_least_lately_wanted_go_where_there_are_too_many() -> None:
    cache, run = AnswerCache(most=10), ARun()
    for name in "abc":
        cache.put(run, name, b"1234")
        cache.get(run, "a")
    assert [name for name in "abc" if cache.get(run, name)] == ["a", "c"]
    cache.put(run, "c", b"12")
    cache.put(run, "d", b"1234")
    assert [name for name in "acd" if cache.get(run, name)] == ["a", "c", "d"], "what is replaced counts no more"
    cache.put(run, "large", b"x" * 11)
    assert len(cache) == 0

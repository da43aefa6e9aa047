"""The clock of a run: training has what the minutes leave, and a moment that is given stands for real time."""

from __future__ import annotations

import pytest

from relatum.training.clock import Clock


class Hands:
    """A source of time that stands still until it is moved."""

    def __init__(self) -> None:
        self.moment = 1_000.0

    def __call__(self) -> float:
        return self.moment


@pytest.fixture
def hands() -> Hands:
    return Hands()


def take(clock: Clock, hands: Hands, what: str, seconds: float) -> None:
    """Let something that is reserved for happen."""
    with clock.measured(what):
        hands.moment += seconds


def seconds_of_training(clock: Clock, hands: Hands) -> float:
    """Move on until time is up, and return how long that was."""
    began = hands.moment
    while clock.share() < 1:
        hands.moment += 0.25
    return hands.moment - began


def test_training_has_all_minutes_but_without_any_nothing_is_counted(hands: Hands) -> None:
    clock = Clock(now=hands)
    clock.start_training()
    hands.moment += 1e6
    assert (clock.is_limited, clock.seconds(), clock.share()) == (False, 0, 0)
    clock = Clock(2, now=hands)
    clock.start_training()
    hands.moment += 30
    assert (clock.seconds(), clock.share()) == (30, 0.25)
    assert seconds_of_training(clock, hands) == 90


def test_what_was_spent_before_and_what_follows_is_left_out(hands: Hands) -> None:
    began = hands.moment
    hands.moment += 10
    clock = Clock(2, began, now=hands)
    take(clock, hands, "validation", 4)
    take(clock, hands, "closing", 5)
    clock.start_training()
    assert clock.share() == 0  # the learning rate begins where it should
    assert seconds_of_training(clock, hands) == 120 - 10 - 4 - 5 - 4 - 5
    assert hands.moment + 4 + 5 == began + 120  # with the last validation and what follows, the minutes are full


def test_the_latest_validation_and_save_count(hands: Hands) -> None:
    clock = Clock(1, now=hands)
    clock.start_training()
    take(clock, hands, "validation", 20)
    take(clock, hands, "validation", 2)
    take(clock, hands, "saving", 1)
    assert seconds_of_training(clock, hands) == 60 - 20 - 2 - 1 - 2 - 3


def test_a_break_does_not_count_and_a_refit_has_as_much_time_as_training(hands: Hands) -> None:
    clock = Clock(1, now=hands)
    hands.moment += 5
    clock.start_training(40.0)
    assert clock.seconds() == 40
    assert seconds_of_training(clock, hands) == 60 - 5 - 40
    clock = Clock(1, equal_parts=2, now=hands)
    take(clock, hands, "closing", 4)
    clock.start_training()
    assert seconds_of_training(clock, hands) == (60 - 4 - 4) / 2


def test_where_nothing_is_left_training_has_a_tenth_of_the_minutes_all_the_same(hands: Hands) -> None:
    clock = Clock(1, now=hands)
    take(clock, hands, "closing", 100)
    clock.start_training()
    assert seconds_of_training(clock, hands) == 6


def test_a_validation_is_rehearsed_where_the_first_one_comes_late(hands: Hands) -> None:
    clock = Clock(1, now=hands)
    clock.start_training()
    hands.moment += 20
    assert not clock.needs_rehearsal()
    hands.moment += 10
    assert clock.needs_rehearsal()
    take(clock, hands, "validation", 3)
    assert not clock.needs_rehearsal()
    assert not Clock(now=hands).needs_rehearsal()


def test_time_that_a_validation_would_use_up_is_for_training(hands: Hands) -> None:
    clock = Clock(1, now=hands)
    clock.start_training()
    take(clock, hands, "validation", 10)  # 50 seconds of training are left of 60, the last validation apart
    assert clock.has_time_to_validate()
    hands.moment += 29
    assert clock.has_time_to_validate()
    hands.moment += 1
    assert not clock.has_time_to_validate()
    assert clock.share() < 1
    assert Clock(now=hands).has_time_to_validate()

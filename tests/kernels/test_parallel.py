"""Parts of a job run side by side, also after a fork and from many callers at once."""

from __future__ import annotations

import multiprocessing
import threading

import pytest

from relatum.kernels import parallel
from support.mistakes import mistake


@pytest.mark.parametrize("threads", [1, 2, 7])
def test_every_part_is_run_once(threads: int) -> None:
    parallel.set_threads(threads)
    for count in (0, 1, 2, 50):
        done: list[int] = []
        parallel.run(done.append, count)
        assert sorted(done) == list(range(count))


def test_cuts_cover_all_and_depend_on_the_size_alone() -> None:
    for size in range(100):
        for least in range(1, 20):
            ranges = parallel.cuts(size, least)
            assert [number for first, last in ranges for number in range(first, last)] == list(range(size))
            assert len(ranges) <= parallel.PARTS
            assert len(ranges) <= 1 or all(last - first >= least // 2 for first, last in ranges)


def test_alone_a_thread_does_all_by_itself() -> None:
    parallel.set_threads(2)
    workers: set[int] = set()
    with parallel.single_threaded():
        parallel.run(lambda _: workers.add(threading.get_ident()), 50)
    assert workers == {threading.get_ident()}


@pytest.mark.parametrize("threads", [1, 2])
def test_an_error_in_a_part_reaches_the_caller(threads: int) -> None:
    parallel.set_threads(threads)

    def part(number: int) -> None:
        if number == 3:
            raise FloatingPointError("three")

    with pytest.raises(FloatingPointError, match="three"):
        parallel.run(part, 8)
    parallel.run(lambda _: None, 8)  # and the pool still works


def test_the_environment_sets_the_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RELATUM_THREADS", "3")
    assert parallel.threads() == 3
    monkeypatch.setenv("RELATUM_THREADS", "")
    assert parallel.threads() >= 1
    for wrong in ("many", "0", "-1", "2.0", "9" * 5000):
        monkeypatch.setenv("RELATUM_THREADS", wrong)
        with mistake("setting-out-of-range", place="RELATUM_THREADS"):
            parallel.threads()
    with pytest.raises(ValueError, match="at least one thread"):
        parallel.set_threads(0)


def count_in_child(total: multiprocessing.Queue) -> None:  # type: ignore[type-arg]
    done: list[int] = []
    parallel.run(done.append, 10)
    total.put(len(done))


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_has_threads_of_its_own() -> None:
    parallel.set_threads(2)
    parallel.run(lambda _: None, 4)
    context = multiprocessing.get_context("fork")
    total = context.Queue()
    child = context.Process(target=count_in_child, args=(total,))
    child.start()
    assert total.get(timeout=30) == 10
    child.join(30)
    assert child.exitcode == 0


def test_many_callers_at_once_do_not_wait_for_each_other() -> None:
    parallel.set_threads(2)
    done: list[int] = []
    callers = [threading.Thread(target=parallel.run, args=(done.append, 100)) for _ in range(8)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join(30)
    assert len(done) == 800


def test_without_new_threads_the_caller_does_it_all(monkeypatch: pytest.MonkeyPatch) -> None:
    parallel.set_threads(3)

    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    done: list[int] = []
    parallel.run(done.append, 20)
    assert done == list(range(20))
    with parallel.pool_of_threads() as pool:
        assert list(pool.map(lambda one: (one, threading.get_ident()), range(3))) == [
            (one, threading.get_ident()) for one in range(3)
        ]


def test_a_pool_keeps_the_order_and_ends_with_its_block() -> None:
    parallel.set_threads(3)
    with parallel.pool_of_threads() as pool:
        assert list(pool.map(divmod, range(50), [7] * 50)) == [divmod(one, 7) for one in range(50)]


def test_a_limit_of_addresses_leaves_fewer_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    parallel.set_threads(4)
    for room, threads in ((None, 4), (1 << 40, 4), (400 << 20, 2), (0, 1)):
        monkeypatch.setattr(parallel.memory, "address_room", lambda room=room: room)
        assert parallel.threads() == threads

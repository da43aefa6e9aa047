"""The group of workers that this process is one of, and what they send each other; who is lost is named.

torchrun, and whatever else starts processes for torch.distributed, says in the environment how many there are
(`WORLD_SIZE`), which one this is (`RANK`) and where they meet (`MASTER_ADDR`, `MASTER_PORT`). Training is on the CPU, so
messages go by gloo: arrays as bytes, no pickle is written or read.

A launcher that starts workers again keeps the store in which they find each other, and launchers of several hosts may count
restarts differently. So the first worker draws a name for the group; each other one draws a word, says hello with it, and is
welcome when its own word comes back.

Entities are shared out in ranges and not by remainders of ids: the ids that a batch needs ascend, so what goes to each
worker and what comes back is a slice, in order; a range of a table is a slice of a file, so another number of workers can
read it; and a worker ranks neighbouring candidates. Names are numbered in sorted order, which says little of how often an
entity occurs, so ranges are about as busy as each other. Where there are many entities, a range begins at a multiple of 128,
where kernels begin a tile of candidates.
"""

from __future__ import annotations

import itertools
import math
import os
import secrets
import socket
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
import torch.distributed as dist
from torch import Tensor
from torch._C._distributed_c10d import PrefixStore, Store, TCPStore

from relatum.arrays import Float32, Int64
from relatum.errors import RelatumError, SettingError
from relatum.formatting import duration
from relatum.kernels import parallel
from relatum.kernels.jit import TILE
from relatum.workers import is_worker

Bytes = npt.NDArray[np.uint8]
Array = npt.NDArray[Any]

_TIMEOUT, _LONGEST = "RELATUM_WORKER_TIMEOUT", 300.0  # seconds that a worker waits for the others
_ROLL_CALL = 3.0  # seconds in which those that are left answer
_POLL = 0.2
_MEETING_POLL = 0.05
_TYPES = [np.dtype(name) for name in ("uint8", "int32", "int64", "float32", "float64")]
_ALIGNED = 8  # bytes
_MANY = 4  # tiles of candidates for each worker

_current: list[Group] = []


def current_group() -> Group | None:
    """Return the group that was started, if any."""
    return _current[-1] if _current else None


def start_group() -> Group | None:
    """Return the group of this process, which is started the first time; None where it works alone."""
    if not _current and (is_worker() or dist.is_initialized()):
        _current.append(Group())
    return current_group()


class WorkerError(RelatumError):
    """A worker that is lost, slow or ended with an error; `reported` says whether another one has told of it already."""

    def __init__(self, code: str, reason: str, *, remedy: str = "", reported: bool = False) -> None:
        super().__init__(code, reason, remedy=remedy)
        self.reported = reported


class Group:
    """Workers that wait for each other, and what they exchange.

    This is worker `number`, from 0, of `count`; `names` has all, with host and process. It has spent `seconds` in waiting
    for messages and sending them, taken part in so many `collectives`, exchanges of the whole group, and `sent` so many
    bytes to others, without what the network adds; sums and extremes are not counted.
    """

    def __init__(self) -> None:
        self.seconds, self.collectives, self.sent = 0.0, 0, 0
        self._longest, self._times = _longest_wait(), Counter[str]()
        wait = timedelta(seconds=self._longest)
        self.number, self.count = _numbers()
        self.names = [f"worker {number}" for number in range(self.count)]
        began = dist.is_initialized()  # by whatever has started this process
        found = dist.distributed_c10d._get_default_store() if began else _store(self.number, wait)
        self._store: Store = met(PrefixStore("relatum", found), self.number, self.count, self._longest)
        self._store.set(f"name/{self.number}", f"{socket.gethostname()}, process {os.getpid()}")
        if not began:
            with self._waiting():
                dist.init_process_group("gloo", store=self._store, rank=self.number, world_size=self.count, timeout=wait)
        for number in range(self.count):
            where = self._store.get(f"name/{number}").decode()
            self.names[number] = f"worker {number} of {self.count} ({where})"
        if "RELATUM_THREADS" not in os.environ:  # workers of one host share its processors
            beside = int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
            parallel.set_threads(max(1, parallel.threads() // beside))

    @property
    def is_first(self) -> bool:
        """Whether this is the worker that writes files and shows how things go."""
        return self.number == 0

    def exchange(self, messages: Sequence[Bytes], expected: Sequence[int] | None = None) -> list[Bytes]:
        """Return what each worker has sent to this one, given what this one sends to each.

        Where every worker knows how many bytes come from each, `expected`, no collective goes before to say it.
        """
        sent = list(messages)
        sent[self.number] = messages[self.number][:0]  # what a worker sends to itself goes nowhere
        if self.count == 1:
            return list(messages)
        sizes = [len(message) for message in sent]
        with self._waiting():
            found = self._sizes(sizes) if expected is None else list(expected)
            found[self.number] = 0
            inward, outward = torch.empty(sum(found), dtype=torch.uint8), torch.from_numpy(np.concatenate(sent))
            dist.all_to_all_single(inward, outward, found, sizes)
        self.sent += sum(sizes)
        self.collectives += 1
        received = np.split(inward.numpy(), np.cumsum(found)[:-1])
        received[self.number] = messages[self.number]
        return received

    def _sizes(self, sizes: list[int]) -> list[int]:
        """Return how many bytes each worker sends to this one, given how many this one sends to each."""
        sent = torch.tensor(sizes)
        found = torch.empty_like(sent)
        dist.all_to_all_single(found, sent)
        self.sent += 8 * (self.count - 1)
        self.collectives += 1
        return found.tolist()

    def share(self, message: Bytes) -> list[Bytes]:
        """Return the messages of all workers, given that of this one."""
        return self.exchange([message] * self.count)

    def extremes(self, low: Float32, high: Float32) -> tuple[Float32, Float32]:
        """Return the smallest of all `low` and the largest of all `high`, number by number."""
        found = self._reduced(torch.from_numpy(np.concatenate([low, -high])), dist.ReduceOp.MIN).numpy()
        return found[: len(low)], -found[len(low) :]

    def sums(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return the sums of the workers' arrays, number by number."""
        return self._reduced(torch.from_numpy(values.copy()), dist.ReduceOp.SUM).numpy()

    def smallest(self, value: int) -> int:
        """Return the smallest of the workers' numbers."""
        return int(self._reduced(torch.tensor([value]), dist.ReduceOp.MIN))

    def _reduced(self, values: Tensor, operation: dist.ReduceOp.RedOpType) -> Tensor:
        with self._waiting():
            dist.all_reduce(values, operation)
        return values

    def together(self, work: Callable[[], object]) -> None:
        """Do what may fail on one worker, such as writing a file; if it does, that one raises its error, and others end."""
        error: Exception | None = None
        try:
            work()
        except (OSError, RelatumError, MemoryError) as raised:
            error = raised
        failed = [bool(unpacked(one)[0][0]) for one in self.share(packed([np.array([error is not None], np.int64)]))]
        if error is not None:
            raise error
        if any(failed):
            raise WorkerError("worker-lost", f"{self.names[failed.index(True)]} has ended with an error", reported=True)

    def first_alone(self, work: Callable[[], object], what: str) -> None:
        """Let the first worker do something while the others wait, however long it takes."""
        if self.is_first:
            try:
                work()
            except BaseException:
                self.may_report()  # so that nobody waits any longer
                raise
            self.say_done(what)
        else:
            self.wait_until_done(what)

    def say_done(self, what: str) -> None:
        """Note that this worker has done something that others wait for however long it takes."""
        self._store.set(self._done(what), "1")

    def wait_until_done(self, what: str) -> None:
        """Wait until another worker has done something, however long it takes; if any ends with an error, so does this."""
        done = self._done(what)
        while not self._store.check([done]):
            if self._store.check(["reported"]):
                raise WorkerError("worker-lost", "another worker has ended with an error", reported=True)
            time.sleep(_POLL)

    def _done(self, what: str) -> str:
        """Return under which name it is noted that something is done; the second time it is another thing."""
        self._times[what] += 1
        return f"done/{what}/{self._times[what]}"

    def may_report(self) -> bool:
        """Return whether this worker is the first that has an error to tell of: what follows from it needs no telling."""
        try:
            return bool(self._store.compare_set("reported", "", str(self.number)) == str(self.number).encode())
        except RuntimeError:  # whoever kept the store is lost
            return True

    def close(self) -> None:
        """Leave the group."""
        if _current and _current[-1] is self:
            _current.pop()
        if dist.is_initialized():
            dist.destroy_process_group()

    @contextmanager
    def _waiting(self) -> Iterator[None]:
        """Count the seconds, and turn the loss of a worker into an error that names it."""
        began = time.monotonic()
        try:
            yield
        except RuntimeError as error:  # all that torch raises where a worker is lost, or late
            raise self._lost(error, time.monotonic() - began) from None
        finally:
            self.seconds += time.monotonic() - began

    def _lost(self, error: RuntimeError, waited: float) -> WorkerError:
        """Return an error that names the workers that do not answer."""
        try:
            self._store.set(f"here/{self.number}", "1")
            time.sleep(_ROLL_CALL)
            if self._store.check(["reported"]):
                return WorkerError("worker-lost", "another worker has ended with an error", reported=True)
            away = [number for number in range(self.count) if not self._store.check([f"here/{number}"])]
        except RuntimeError:
            where = ":".join(os.environ.get(name, "?") for name in ("MASTER_ADDR", "MASTER_PORT"))
            return WorkerError(
                "worker-unreachable", f"worker {self.number} of {self.count} has lost the group: nothing answers at {where}"
            )
        if not away:
            reason = " ".join(str(error).split())[:200]
            return WorkerError(
                "worker-lost", f"{self.names[self.number]} has lost its connection to another worker ({reason})"
            )
        listed = " and ".join(self.names[number] for number in away)
        late = waited >= 0.9 * self._longest
        what = f"has not answered for {duration(waited)}: it is stopped, slow or cut off" if late else "is lost"
        return WorkerError(
            "worker-lost", f"{listed} {what}; training goes on from the last checkpoint when it is started again"
        )


def _numbers() -> tuple[int, int]:
    """Return the number of this worker, and how many there are."""
    if dist.is_initialized():
        return dist.get_rank(), dist.get_world_size()
    number, count = os.environ["RANK"], os.environ["WORLD_SIZE"]
    if not (number.isdecimal() and count.isdecimal() and int(number) < int(count)):
        raise SettingError(
            "bad-environment", f"RANK = {number!r}, WORLD_SIZE = {count!r}: should be whole numbers, the first the smaller"
        )
    return int(number), int(count)


def _store(number: int, wait: timedelta) -> Store:
    """Return where workers find each other; the launcher keeps it, or else the first worker."""
    address, port = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
    keeps = number == 0 and os.environ.get("TORCHELASTIC_USE_AGENT_STORE") != "True"
    try:
        return TCPStore(address, port, None, keeps, wait, wait_for_workers=False, multi_tenant=keeps)
    except RuntimeError:
        waited = duration(wait.total_seconds())
        raise WorkerError(
            "worker-unreachable", f"worker {number}: nothing answers at {address}:{port} for {waited}"
        ) from None


def _longest_wait() -> float:
    text = os.environ.get(_TIMEOUT, "")
    try:
        found = float(text) if text else _LONGEST
    except ValueError:
        found = -1.0
    if not 0 < found < 1e6:
        raise SettingError("bad-environment", f"{_TIMEOUT} = {text!r}: should be seconds, such as 300")
    return found


def met(store: Store, number: int, count: int, longest: float) -> Store:
    """Return the part of a store that belongs to these workers alone, once all of them are there."""
    end = time.monotonic() + longest
    name = _welcome(store, count, end, longest) if number == 0 else _hello(store, number, end, longest)
    return PrefixStore(name, store)


def _welcome(store: Store, count: int, end: float, longest: float) -> str:
    """Return the name of the group, once every other worker knows it."""
    name = secrets.token_hex(6)
    missing = set(range(1, count))
    while missing:
        for number in sorted(missing):
            if store.check([f"{name}/came/{number}"]):
                missing.remove(number)
            elif store.check([f"hello/{number}"]):
                word = store.get(f"hello/{number}").decode()
                store.set(f"welcome/{number}/{word}", name)
        if missing and time.monotonic() > end:
            listed = " and ".join(f"worker {number}" for number in sorted(missing))
            raise WorkerError("worker-late", f"{listed} of {count} did not come within {duration(longest)}")
        if missing:
            time.sleep(_MEETING_POLL)
    store.set(f"{name}/complete", "1")
    return name


def _hello(store: Store, number: int, end: float, longest: float) -> str:
    """Return the name of the group that the first worker has drawn."""
    word = secrets.token_hex(6)
    store.set(f"hello/{number}", word)
    welcome = f"welcome/{number}/{word}"
    _wait_for(store, welcome, end, longest)
    name = store.get(welcome).decode()
    store.set(f"{name}/came/{number}", "1")
    _wait_for(store, f"{name}/complete", end, longest)
    return name


def _wait_for(store: Store, key: str, end: float, longest: float) -> None:
    while not store.check([key]):
        if time.monotonic() > end:
            raise WorkerError(
                "worker-late", f"worker 0, or another one that it waits for, did not come within {duration(longest)}"
            )
        time.sleep(_MEETING_POLL)


def packed(arrays: Sequence[Array]) -> Bytes:
    """Return arrays one after the other, behind a header with their types and shapes."""
    header: list[int] = [len(arrays)]
    for array in arrays:
        header += [_TYPES.index(array.dtype), array.ndim, *array.shape]
    parts = [np.array([len(header), *header], np.int64), *arrays]
    ends = np.cumsum([_padded(part.nbytes) for part in parts])
    found = np.zeros(int(ends[-1]), np.uint8)
    for part, end in zip(parts, ends.tolist(), strict=True):
        start = end - _padded(part.nbytes)
        found[start : start + part.nbytes] = np.ascontiguousarray(part).reshape(-1).view(np.uint8)
    return found


def packed_size(shapes: Sequence[tuple[int, ...]], itemsize: int) -> int:
    """Return how many bytes a message of arrays has, given their shapes and the size of their numbers."""
    header = 2 + sum(2 + len(shape) for shape in shapes)
    return _ALIGNED * header + sum(_padded(itemsize * math.prod(shape)) for shape in shapes)


def unpacked(message: Bytes) -> list[Array]:
    """Return the arrays of a message; those that are not empty are views of it."""
    length = int(message[:_ALIGNED].view(np.int64)[0])
    start = _ALIGNED * (1 + length)
    header = iter(message[_ALIGNED:start].view(np.int64).tolist())
    found = []
    for _ in range(next(header)):
        dtype, ndim = _TYPES[next(header)], next(header)
        shape = [next(header) for _ in range(ndim)]
        size = dtype.itemsize * int(np.prod(shape, dtype=np.int64))
        found.append(message[start : start + size].view(dtype).reshape(shape))
        start += _padded(size)
    return found


def _padded(size: int) -> int:
    return -(-size // _ALIGNED) * _ALIGNED


@dataclass(frozen=True)
class Shares:
    """The ranges of all workers, and the number of the one that this is about."""

    entities: int
    workers: int
    number: int

    @cached_property
    def ranges(self) -> list[tuple[int, int]]:
        """The first entity of each worker, and the one behind its last; a worker may have none."""
        unit = TILE if self.entities >= _MANY * TILE * self.workers else 1
        units = -(-self.entities // unit)
        bounds = [min(self.entities, unit * (units * number // self.workers)) for number in range(self.workers)]
        return list(itertools.pairwise([*bounds, self.entities]))

    @property
    def first(self) -> int:
        """The worker's first entity."""
        return self.ranges[self.number][0]

    @property
    def last(self) -> int:
        """The entity behind its last."""
        return self.ranges[self.number][1]

    def cut(self, ids: Int64) -> list[slice]:
        """Return which of some ascending ids belong to each worker."""
        bounds = np.searchsorted(ids, [0, *(last for _, last in self.ranges)]).tolist()
        return [slice(start, stop) for start, stop in itertools.pairwise(bounds)]

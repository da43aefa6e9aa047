"""A list of work that several processes go through together: each takes the next piece that is nobody's.

Whatever is on the list is done once: who finds a piece done passes over it, and who takes one looks again first. What a dead
process had is taken by another, which goes on with what was begun.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from relatum.runs.run_claims import Claim, Claims

__all__ = ["Task", "work_through"]

_LOOK_EVERY = 2.0  # seconds between two looks at what others do
_SAY_EVERY = 60.0  # seconds after which what others do is shown again


@dataclass(frozen=True)
class Task:
    """A piece of work.

    Attributes:
        key: what it is claimed by.
        what: it as people read it while somebody is at it: `seed 2 of fb-auto: being trained`.
        is_done: whether there is nothing left to do.
        is_ready: whether all is there that it needs.
        carry_out: does it, and returns False if a process without a claim is at it already.
    """

    key: str
    what: str
    is_done: Callable[[], bool]
    is_ready: Callable[[], bool]
    carry_out: Callable[[Claim], bool]


def work_through(tasks: Sequence[Task], claims: Claims, say: Callable[[str], None], *, wait: bool = True) -> bool:
    """Return whether all tasks are done, after this process has done those that others have not.

    Args:
        tasks: in the order in which they are taken.
        claims: of the processes that share them.
        say: is given a line about each task that another process has.
        wait: until others have done theirs, and take over those of a process that dies; otherwise return before.
    """
    shown: dict[str, str] = {}
    since = time.monotonic()
    while left := [task for task in tasks if not task.is_done()]:
        if any(_taken(task, claims, say, shown) for task in left if task.is_ready()):
            continue
        if not wait:
            return False
        time.sleep(_LOOK_EVERY)
        if time.monotonic() - since > _SAY_EVERY:
            shown, since = {}, time.monotonic()
    for task in tasks:
        claims.clear(task.key)
    return True


def _taken(task: Task, claims: Claims, say: Callable[[str], None], shown: dict[str, str]) -> bool:
    """Return whether this process has done a task; if another has it, say so, unless that was shown already."""
    with claims.claimed(task.key) as claim:
        if claim is not None and (task.is_done() or task.carry_out(claim)):
            return True
    holder = claims.describe(task.key)
    if shown.get(task.key) != holder:
        shown[task.key] = holder
        say(f"{task.what} by {holder}")
    return False

"""Workers: several processes, on one machine or many, that train one model together; each has a share of its entities.

Whether this process was started as one of several is asked here, without importing anything heavy.
"""

from __future__ import annotations

import os

_NAMES = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")


def is_worker() -> bool:
    """Return whether this process was started as one of a group, by what the environment says."""
    return all(os.environ.get(name) for name in _NAMES)


def is_first_worker() -> bool:
    """Return whether this process is the first of its group, or not one of a group at all: only it shows anything."""
    return not is_worker() or os.environ["RANK"] == "0"

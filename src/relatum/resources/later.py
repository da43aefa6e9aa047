"""What is worked out beside requests, for all of them."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from relatum.time_limit import Deadline, TimeOverError

_LOG = logging.getLogger("relatum.serving")


class Later:
    """A thread that works out what takes longer than a request may, one thing after another, until the server stops."""

    def __init__(self) -> None:
        self._pool, self._deadline = ThreadPoolExecutor(1, thread_name_prefix="relatum-later"), Deadline()

    def __call__(self, work: Callable[[], None]) -> None:
        """Have some work done when its turn comes."""
        with contextlib.suppress(RuntimeError):  # the server has stopped
            self._pool.submit(self._done, work)

    def _done(self, work: Callable[[], None]) -> None:
        try:
            with self._deadline:
                work()
        except TimeOverError:
            pass
        except Exception:
            _LOG.exception("what no request had time for failed")

    def close(self) -> None:
        """Begin nothing more, and give up what is at work."""
        self._deadline.cancel()
        self._pool.shutdown(wait=False, cancel_futures=True)

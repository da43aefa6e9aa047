"""What went wrong with a request, in one shape for programs and pages alike."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from relatum.connections import REFUSALS
from relatum.errors import NumericError, RelatumError, StoreError, UnknownNameError
from relatum.formatting import visible
from relatum.time_limit import TimeOverError

_LONGEST = 500  # characters of a message: what it quotes may be long

# By status, the code of what is refused before relatum is asked, as docs/serving.md lists them, and what it means.
STATUSES = {
    **REFUSALS,
    401: ("no-token", "a token is needed"),
    403: ("forged-request", "the request comes from another site, or is forged"),
    404: ("not-found", "a name that is not there, with the nearest ones that are"),
    405: ("wrong-method", "this address is not for this method"),
    409: ("not-ready", "the run has no model yet, or decisions are not kept"),
    421: ("wrong-host", "the server does not go by this name"),
    500: ("server-failed", "the server is at fault"),
}


@dataclass(frozen=True, slots=True)
class Refusal:
    """What went wrong with a request.

    Attributes:
        ok: false; an answer that has this field and is false is a refusal.
        code: the kind of mistake, as docs/troubleshooting.md and docs/serving.md list them.
        error: one sentence: what, where, what to do.
        errors: each thing that is wrong, where there are several; else the same sentence.
        status: the status of HTTP.
        nearest: names that are there, where one was given that is not.
    """

    ok: bool
    code: str
    error: str
    errors: tuple[str, ...]
    status: int
    nearest: tuple[str, ...] = ()


class RequestError(Exception):
    """A request that is refused with a status of its own.

    After `retry_after` seconds the request may be sent again.
    """

    def __init__(self, status: int, error: str, errors: Sequence[str] = (), retry_after: int | None = None) -> None:
        super().__init__(error)
        self.status, self.error, self.errors, self.retry_after = status, error, tuple(errors), retry_after


def _line(message: str) -> str:
    """Return a message as one line of bounded length, without characters that do something to a terminal."""
    line = visible(" ".join(message.split()))
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"


def refusal_of(error: Exception, shown: Callable[[str], str] = str) -> Refusal:
    """Return what an error says to the one who sent the request; of what is not theirs to mend, only that it happened.

    `shown` makes of a message what a client may see.
    """
    if isinstance(error, RequestError):
        found = tuple(map(_line, error.errors or (error.error,)))
        code, _ = STATUSES.get(error.status, STATUSES[400])
        return Refusal(False, code, _line(error.error), found, error.status)
    if isinstance(error, UnknownNameError):
        return _one(404, error.code, shown(str(error)), error.nearest)
    if isinstance(error, RelatumError):
        status = 503 if isinstance(error, TimeOverError) else 500 if isinstance(error, NumericError | StoreError) else 400
        return _one(status, error.code, shown(str(error)))
    return _one(500, STATUSES[500][0], "the server failed; its log says why")


def _one(status: int, code: str, error: str, nearest: Sequence[str] = ()) -> Refusal:
    text = _line(error)
    return Refusal(False, code, text, (text,), status, tuple(name[:_LONGEST] for name in nearest))

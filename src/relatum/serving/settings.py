"""How a server is set up: where it listens, who may speak to it, and how much at once."""

from __future__ import annotations

import socket
from dataclasses import dataclass
from pathlib import Path

from relatum.errors import SettingError
from relatum.listening import check_token, is_loopback


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """How a server is set up.

    Attributes:
        host: the address that it listens on.
        port: the port; 0 takes a free one.
        token: what a client must show; None lets everyone in, which only a loopback address may.
        allowed_hosts: more names that it goes by, such as that of a reverse proxy.
        decisions: the file that decisions are kept in; None keeps none, and nothing is ever written.
        seconds: that an answer may take.
        threads: that work on answers.
        waiting: requests that are taken at once, at work or waiting; more are refused with 503.
        candidate_bytes: of memory for packed candidates, for all runs and processes together; None takes a third of what is
            free.
        processes: that answer requests beside each other.
    """

    host: str = "127.0.0.1"
    port: int = 8321
    token: str | None = None
    allowed_hosts: tuple[str, ...] = ()
    decisions: Path | None = None
    seconds: float = 5.0
    threads: int = 2
    waiting: int = 256
    candidate_bytes: int | None = None
    processes: int = 1

    def __post_init__(self) -> None:
        if self.token is None and not is_loopback(self.host):
            raise SettingError(
                "token-needed",
                f"{self.host} can be reached from other machines, which needs a token: give --token",
                place="host",
            )
        if self.token is not None:
            check_token(self.token)
        if not 0 < self.seconds <= 3600:
            raise SettingError(
                "setting-out-of-range", f"must be above 0 and at most 3600, not {self.seconds}", place="seconds"
            )
        if min(self.threads, self.waiting, self.processes) < 1:
            raise SettingError("setting-out-of-range", "threads, waiting and processes: must be at least 1")

    def names(self) -> frozenset[str]:
        """Return the names that the server goes by, in small letters."""
        own = {"localhost", "127.0.0.1", "[::1]", *(name.lower() for name in self.allowed_hosts)}
        if not is_loopback(self.host):
            own |= {self.host.lower(), socket.gethostname().lower(), socket.getfqdn().lower()}
        return frozenset(own)

"""A server on a socket that listens: one process, or several that share the socket and the packed candidates."""

from __future__ import annotations

import os
import shutil
import socket
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import torch
import uvicorn
from uvicorn.supervisors import Multiprocess

from relatum.files import temporary_prefix
from relatum.listening import serve_until_signal
from relatum.progress import silence
from relatum.serving.app import create_app
from relatum.serving.decisions import Decisions
from relatum.serving.hosted import candidate_memory
from relatum.serving.security import App
from relatum.serving.settings import ServerSettings

__all__ = ["Served"]

_IN_MEMORY = Path("/dev/shm")  # noqa: S108  # where Linux has files that are memory
_PATIENCE = 60  # seconds in which a process must show that it is alive: loading a run takes some

_as_long_as_the_process = ExitStack()


class Served:
    """Runs that are served as soon as there is a socket; what is wrong with them or the settings is an error before that.

    Args:
        folders: the run directories.
        settings: those of the server.
    """

    def __init__(self, folders: Sequence[Path], settings: ServerSettings) -> None:
        self._folders, self._settings = folders, settings
        self._app = create_app(folders, settings) if settings.processes == 1 else None
        if self._app is None and settings.decisions is not None:
            Decisions(settings.decisions).close()  # created once, and refused here if it is something else

    def run(self, listening: socket.socket) -> None:
        """Serve until a signal comes."""
        if self._app is not None:
            torch.set_num_threads(1)  # requests run beside each other; its threads would spin against the kernels'
            serve_until_signal(self._config(self._app), listening)
            return
        with _shared_memory(self._settings) as settings:
            Multiprocess(self._config(partial(_app_of_process, self._folders, settings)), sockets=[listening]).run()

    def _config(self, app: object) -> uvicorn.Config:
        several = self._settings.processes > 1
        return uvicorn.Config(
            app,  # type: ignore[arg-type]
            factory=several,
            workers=self._settings.processes,
            log_level="warning",
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=5,
            timeout_worker_healthcheck=_PATIENCE,
        )


def _app_of_process(folders: Sequence[Path], settings: ServerSettings) -> App:
    """Return the server of one of several processes; uvicorn calls this in each."""
    torch.set_num_threads(1)
    _as_long_as_the_process.enter_context(silence())
    return create_app(folders, settings)


@contextmanager
def _shared_memory(settings: ServerSettings) -> Iterator[ServerSettings]:
    """Yield settings with a directory that only this user reads, in memory where there is room, and gone at the end."""
    wanted = candidate_memory(settings.candidate_bytes)
    room = shutil.disk_usage(_IN_MEMORY).free if _IN_MEMORY.is_dir() else 0
    where = _IN_MEMORY if room > wanted else None
    prefix = temporary_prefix(where).replace("relatum-", f"relatum-serve-{os.getpid()}-", 1)
    folder = Path(tempfile.mkdtemp(prefix=prefix, dir=where))
    try:
        yield replace(settings, candidate_bytes=wanted, shared=folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)

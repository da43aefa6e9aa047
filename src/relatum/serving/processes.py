"""A server on a socket that listens: one process, or several that share the socket."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path

import torch
import uvicorn
from uvicorn.supervisors import Multiprocess

from relatum.listening import serve_until_signal
from relatum.progress import silence
from relatum.serving.app import create_app
from relatum.serving.decisions import Decisions
from relatum.serving.hosted import candidate_memory
from relatum.serving.security import App
from relatum.serving.settings import ServerSettings

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
        each = candidate_memory(self._settings.candidate_bytes) // self._settings.processes
        app = partial(_app_of_process, self._folders, replace(self._settings, candidate_bytes=each))
        Multiprocess(self._config(app), sockets=[listening]).run()

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

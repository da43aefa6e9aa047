"""`relatum serve`: runs as pages for people and JSON for programs."""

from __future__ import annotations

import secrets
import socket
from pathlib import Path
from typing import Annotated

import typer

from relatum.cli.output import say
from relatum.errors import RelatumError
from relatum.extras import optional
from relatum.progress import silence

__all__ = ["serve"]

_BACKLOG = 1024  # connections that wait to be taken


def serve(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Run directories; training may still go on in them.")],
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 takes a free one.")] = 8321,
    host: Annotated[
        str, typer.Option(help="The address to listen on; one that others can reach needs a token.")
    ] = "127.0.0.1",
    open_page: Annotated[bool, typer.Option("--open", help="Open the first page in a browser.")] = False,
    token: Annotated[
        str | None,
        typer.Option(
            envvar="RELATUM_TOKEN",
            help="What clients must show; by default one is drawn where others can reach the server.",
        ),
    ] = None,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="A name that the server goes by too, such as a proxy's; can be repeated."),
    ] = None,
    decisions: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Let people accept or reject predicted facts, and keep that in this SQLite file."),
    ] = None,
    seconds: Annotated[float, typer.Option(min=0.1, max=3600, help="How long an answer may take.")] = 5.0,
    threads: Annotated[int, typer.Option(min=1, max=64, help="How many threads work on answers.")] = 4,
    waiting: Annotated[int, typer.Option(min=1, max=100_000, help="How many requests are taken at once.")] = 256,
) -> None:
    """Serve runs on this machine: a page for each entity, relation and question, and the same as JSON.

    Nothing is ever written but decisions, where a file is named for them.
    """
    from relatum.serving.hosted import require_run
    from relatum.serving.settings import ServerSettings, is_loopback

    for folder in runs:
        require_run(folder)
    with optional("uvicorn", extra="serve"):
        import uvicorn
    with optional("fastapi", extra="serve"):
        from relatum.serving.app import create_app
    import torch

    if token is None and not is_loopback(host):
        token = secrets.token_urlsafe(24)
    settings = ServerSettings(host, port, token, tuple(allow_host or ()), decisions, seconds, threads, waiting)
    torch.set_num_threads(1)  # requests run beside each other; its threads would spin against the kernels'
    app = create_app(runs, settings)
    listening = _listen(host, port)
    address = _address(host, listening.getsockname()[1]) + (f"/?token={token}" if token else "/")
    say(f"serving {', '.join(map(str, runs))} at {address} (stop with Ctrl-C)")
    if open_page:
        typer.launch(address)
    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=5,
        backlog=_BACKLOG,
    )
    with silence():
        uvicorn.Server(config).run(sockets=[listening])


def _listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens; a port that is taken is an error of one line."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
    except OSError as error:
        listening.close()
        text = error.strerror or str(error)
        raise RelatumError(f"{host}:{port}: cannot listen there: {text}; choose another with --port or --host") from None
    listening.listen(_BACKLOG)
    return listening


def _address(host: str, port: int) -> str:
    shown = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)  # noqa: S104
    return f"http://{shown}:{port}"

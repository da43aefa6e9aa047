"""`relatum serve`, `mcp` and `report`: runs as pages for people, JSON for programs, tools for agents, or one page."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Annotated

import typer

from relatum.cli.options import FileOut, RunFolder
from relatum.cli.output import say
from relatum.errors import SettingError
from relatum.extras import optional


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
            envvar="RELATUM_TOKEN", help="What clients must show; by default one is drawn where others can reach the server."
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
    threads: Annotated[int, typer.Option(min=1, max=64, help="How many threads of a process work on answers.")] = 2,
    waiting: Annotated[int, typer.Option(min=1, max=100_000, help="How many requests are taken at once.")] = 256,
    processes: Annotated[int, typer.Option(min=1, max=256, help="How many processes answer; they share the port.")] = 1,
    candidate_memory: Annotated[
        float | None,
        typer.Option(metavar="GB", min=0, help="Memory for packed candidates; by default a third of what is free."),
    ] = None,
) -> None:
    """Serve runs on this machine: a page for each entity, relation and question, and the same as JSON.

    Nothing is ever written but decisions, where a file is named for them.
    """
    from relatum.listening import is_loopback, listen
    from relatum.serving.hosted import require_run

    for folder in runs:
        require_run(folder)
    with optional("uvicorn", extra="serve"), optional("fastapi", extra="serve"), optional("httptools", extra="serve"):
        from relatum.serving.app import Served
        from relatum.serving.security import ServerSettings

    if token is None and not is_loopback(host):
        token = secrets.token_urlsafe(24)
    most = None if candidate_memory is None else int(candidate_memory * 1e9)
    settings = ServerSettings(
        host,
        port,
        token,
        tuple(allow_host or ()),
        decisions,
        seconds,
        threads,
        waiting,
        candidate_bytes=most,
        processes=processes,
    )
    served = Served(runs, settings)
    listening = listen(host, port)
    address = _address(host, listening.getsockname()[1]) + (f"/?token={token}" if token else "/")
    say(f"serving {', '.join(map(str, runs))} at {address} (stop with Ctrl-C)")
    if open_page:
        typer.launch(address)
    served.run(listening)


def _address(host: str, port: int) -> str:
    shown = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)  # noqa: S104
    return f"http://{shown}:{port}"


def mcp(
    run: RunFolder,
    http: Annotated[
        bool, typer.Option("--http", help="Serve streamable HTTP instead of standard input and output.")
    ] = False,
    host: Annotated[
        str | None, typer.Option(help="With --http: the address to listen on; 127.0.0.1, this machine alone.")
    ] = None,
    port: Annotated[int | None, typer.Option(min=1, max=65535, help="With --http: the port; 8322.")] = None,
    token: Annotated[
        str | None, typer.Option(help="With --http: what clients must send as a bearer token; drawn if not on loopback.")
    ] = None,
) -> None:
    """Serve a run to planners and agents: read-only tools to find entities, complete facts, query, explain and what-if."""
    if not http and (host is not None or port is not None or token is not None):
        raise SettingError("option-needs-option", "--host, --port and --token need --http")
    from relatum.api import Run
    from relatum.mcp.serve import serve_http, serve_stdio

    loaded, name = Run.load(run), run.resolve().name
    if http:
        serve_http(loaded, name, host=host or "127.0.0.1", port=port or 8322, token=token)
    else:
        serve_stdio(loaded, name)


def report(run: RunFolder, out: FileOut = None) -> None:
    """Write one HTML page about a run: what it knows, how good it is, what it predicts; it opens offline."""
    from relatum.api import Run
    from relatum.report.page import REPORT, write_report

    loaded = Run.load(run)
    target = run / REPORT if out is None else out
    write_report(loaded, target)
    say(f"written to {target}")

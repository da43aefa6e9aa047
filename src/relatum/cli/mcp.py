"""`relatum mcp`: a run as tools for planners and agents, over the Model Context Protocol."""

from __future__ import annotations

from typing import Annotated

import typer

from relatum.cli.options import RunFolder
from relatum.errors import SettingError

__all__ = ["mcp"]


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
        raise SettingError("--host, --port and --token need --http")
    from relatum.api import Run
    from relatum.mcp.serve import serve_http, serve_stdio

    loaded, name = Run.load(run), run.resolve().name
    if http:
        serve_http(loaded, name, host=host or "127.0.0.1", port=port or 8322, token=token)
    else:
        serve_stdio(loaded, name)

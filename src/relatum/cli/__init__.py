"""The command line: `relatum VERB ...`; one small file per verb or group of verbs."""

from __future__ import annotations

import json
import sys
import warnings
from contextlib import suppress
from typing import Annotated, TextIO

import typer
from typer.exceptions import TyperException

from relatum.cli import ask, data, lookup, query
from relatum.cli.clean import clean
from relatum.cli.demo import demo
from relatum.cli.evaluate import evaluate
from relatum.cli.explain import doubt, explain
from relatum.cli.export import export
from relatum.cli.fill import fill
from relatum.cli.imports import import_tables
from relatum.cli.paper import figures, tables
from relatum.cli.predict import embeddings, predict
from relatum.cli.rules import rules
from relatum.cli.run import run
from relatum.cli.serve import mcp, report, serve
from relatum.cli.streams import interrupts_kept, prepare_streams, tell, write_out
from relatum.cli.synth import queries, synth
from relatum.cli.train import join, train, update
from relatum.cli.tune import tune
from relatum.errors import RelatumError, RelatumWarning, shortage
from relatum.formatting import visible
from relatum.version import __version__
from relatum.workers import is_first_worker, is_worker

__all__ = ["app", "main"]

app = typer.Typer(
    name="relatum",
    help="Knowledge hypergraph completion: learn from facts of any arity, predict missing ones, ask relational algebra.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
app.add_typer(data.app, name="data")
for verb in (
    demo,
    train,
    run,
    tune,
    update,
    join,
    lookup.schema,
    lookup.find,
    lookup.similar,
    evaluate,
    ask.complete,
    ask.score,
    explain,
    doubt,
    fill,
    export,
    predict,
    embeddings,
    query.query,
    query.define,
    query.sql,
    rules,
    synth,
    queries,
    tables,
    figures,
    report,
    serve,
    mcp,
    clean,
):
    app.command()(verb)
app.command("import")(import_tables)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"relatum {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Take the options that stand before any verb."""


def main() -> None:
    """Run the command line; a person's mistake, or a machine's, is one line on standard error and exit code 2."""
    prepare_streams()
    try:
        with warnings.catch_warnings(), interrupts_kept():
            warnings.simplefilter("default", RelatumWarning)
            warnings.showwarning = _notice
            code = app(standalone_mode=False, prog_name="relatum")
            write_out()
    except RelatumError as error:
        code = _complain(error, error)
    except TyperException as error:
        code = _complain(RelatumError("usage", error.format_message()), error)
    except BrokenPipeError:
        code = 1  # whoever reads has seen enough
    except (OSError, MemoryError, RuntimeError, ImportError) as error:
        if (message := shortage(error) or _system_message(error)) is None:
            raise
        code = _complain(RelatumError("machine", message), error)
        with suppress(OSError):
            write_out()  # what a full disk has not taken is dropped here, or Python would try again as it ends
    if code == 130 and is_first_worker():
        tell("relatum: interrupted")
    if is_worker():
        from relatum.workers.group import current_group

        if (group := current_group()) is not None:
            group.close()
    sys.exit(code or 0)


def _system_message(error: Exception) -> str | None:
    """Return what the operating system said, and of which file; None if it was not the system that refused."""
    if not isinstance(error, OSError):
        return None
    return f"{error.filename}: {error.strerror}" if error.filename else error.strerror or str(error)


def _notice(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Print what relatum warns of in one line, and any other warning as Python does."""
    own = issubclass(category, RelatumWarning)
    tell(
        f"relatum: {visible(str(message))}"
        if own
        else warnings.formatwarning(message, category, filename, lineno, line).rstrip()
    )


def _complain(complaint: RelatumError, error: Exception) -> int:
    """Print what is wrong in one line, its code behind it; with --json as an object."""
    message = _worker_message(str(complaint), error) if is_worker() else str(complaint)
    if message is not None and "--json" in sys.argv:
        tell(json.dumps({"error": complaint.to_dict()}))
    elif message is not None:
        tell(f"relatum: {visible(' '.join(message.split()))} [{complaint.code}]")
    return 2


def _worker_message(message: str, error: Exception) -> str | None:
    """Return what a worker writes of an error; None where another one has written it, or what led to it."""
    from relatum.workers.group import WorkerError, current_group

    group = current_group()
    if group is None:
        return message if is_first_worker() or isinstance(error, WorkerError) else None
    if (isinstance(error, WorkerError) and error.reported) or not group.may_report():
        return None
    return f"{group.names[group.number]}: {message}" if isinstance(error, OSError) else message

"""The page of commands, from what `relatum VERB --help` says."""

from __future__ import annotations

from typing import Any

import typer
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import Files
from mkdocs.structure.pages import Page

from relatum.cli import app


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Return the page with every command behind its text, if it is that of commands."""
    if page.file.src_uri != "api/commands.md":
        return markdown
    return "\n\n".join([markdown, *commands(typer.main.get_command(app), "relatum")])


def commands(group: Any, name: str) -> list[str]:
    """Return a section for each command of a group, and of groups in it."""
    sections = []
    for verb, command in group.commands.items():
        deeper = hasattr(command, "commands")
        sections += commands(command, f"{name} {verb}") if deeper else [section(command, f"{name} {verb}")]
    return sections


def section(command: Any, name: str) -> str:
    """Return what a command does, how it is called, and a table of its arguments and options."""
    rows = [f"| `{shown(one)}` | {plain(one.help)} |" for one in command.params if not one.hidden and one.name != "help"]
    arguments = [one for one in command.params if one.param_type_name == "argument"]
    usage = " ".join([name, *(one.metavar or one.name.upper() for one in arguments), "[OPTIONS]"])
    table = ["| argument or option | what it says |", "|---|---|", *rows]
    return "\n".join([f"## {name}", "", plain(command.help), "", "```", usage, "```", "", *(table if rows else [])])


def shown(parameter: Any) -> str:
    """Return an argument or an option as it is written, with a word for its value."""
    if parameter.param_type_name == "argument":
        return str(parameter.metavar or parameter.name.upper())
    written = ", ".join([*parameter.opts, *parameter.secondary_opts])
    return written if parameter.is_flag else f"{written} {parameter.metavar or parameter.name.upper()}"


def plain(text: str | None) -> str:
    """Return a help text as a cell of a table, on one line, without anything that would be markup."""
    line = " ".join((text or "").split())
    for sign in "\\`*_[]<>|":
        line = line.replace(sign, f"\\{sign}" if sign not in "<>|" else {"<": "&lt;", ">": "&gt;", "|": "&#124;"}[sign])
    return line

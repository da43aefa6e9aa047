"""What the site adds to the pages of docs/: files that stand beside docs/, links to them, and notebooks as pages.

A link is written as it works in the repository. Here `docs/` is the root of the site and all else keeps its path, so that
`../results/jf17k.json` on a page of docs/ becomes `results/jf17k.json`.
"""

from __future__ import annotations

import json
import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[2]
BESIDE = (
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "results/**/*",
    "experiments/*.toml",
    "experiments/*.py",
    "notebooks/*.ipynb",
)
_LINK = re.compile(r"\]\(([^()\s:#]+)(#[^()\s]*)?\)")
_NAMED = re.compile(r"(?<!\[)`(?:docs/)?([a-z-]+\.md)`(?!\])")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Return the files of docs/ and those beside it that pages link to, notebooks as pages among them."""
    for path in sorted(path for pattern in BESIDE for path in ROOT.glob(pattern) if path.is_file()):
        uri = path.relative_to(ROOT).as_posix()
        files.append(File.generated(config, uri, abs_src_path=str(path)))
        if path.suffix == ".ipynb":
            page = uri.removesuffix(".ipynb") + ".md"
            files.append(File.generated(config, page, content=notebook_page(json.loads(path.read_text("utf-8")), path.name)))
    mark = ROOT / "src" / "relatum" / "serving" / "static" / "mark.svg"
    files.append(File.generated(config, "site/mark.svg", abs_src_path=str(mark)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Return a page whose links are those of the site; where its text names another page, there is a link."""
    uri = page.file.src_uri
    source = uri if page.file.generated_by else f"docs/{uri}"

    def link(found: re.Match[str]) -> str:
        return f"]({moved(found[1], source, uri)}{found[2] or ''})"

    def named(found: re.Match[str]) -> str:
        target = files.get_file_from_path(found[1])
        if target is None or target.src_uri == uri:
            return found[0]
        return f"[{title(target)}]({posixpath.relpath(found[1], posixpath.dirname(uri) or '.')})"

    return outside_code(markdown, lambda text: _NAMED.sub(named, _LINK.sub(link, text)))


def moved(target: str, source: str, uri: str) -> str:
    """Return a link of a file of the repository as a link of its page at `uri`."""
    path = posixpath.normpath(posixpath.join(posixpath.dirname(source), target))
    return posixpath.relpath(path.removeprefix("docs/"), posixpath.dirname(uri) or ".")


def outside_code(markdown: str, change: Any) -> str:
    """Return a page with all changed but its blocks of code."""
    parts = re.split(r"(^```.*?^```$)", markdown, flags=re.MULTILINE | re.DOTALL)
    return "".join(part if part.startswith("```") else change(part) for part in parts)


def title(file: File) -> str:
    """Return the first heading of a page."""
    found = re.search(r"^# (.+)$", file.content_string, re.MULTILINE)
    return found[1] if found else file.name


def notebook_page(notebook: dict[str, Any], name: str) -> str:
    """Return a notebook as a page: its text, and its code in blocks."""
    cells = ("".join(cell["source"]) if cell["cell_type"] == "markdown" else _block(cell) for cell in notebook["cells"])
    return "\n\n".join([*cells, f"[Take this page as a notebook: {name}]({name})\n"])


def _block(cell: dict[str, Any]) -> str:
    return "```python\n" + "".join(cell["source"]) + "\n```"

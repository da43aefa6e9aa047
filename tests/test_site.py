"""The site of the documents builds without a warning, asks nothing of other hosts, and works from a disk."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

import relatum

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the built site."""
    folder = tmp_path_factory.mktemp("site")
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    environment["PYTHONPATH"] = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", str(folder)]
    ended = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert (ended.returncode, ended.stderr) == (0, "")
    return folder


def test_pages_load_nothing_from_other_hosts(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    assert len(pages) > 30
    for page in pages:
        text = page.read_text(encoding="utf-8")
        assert not re.findall(r"<(?:script|img|iframe|source)[^>]+src=\"?(?:https?:)?//", text), page
        assert not re.findall(r"<link[^>]+rel=\"?(?:stylesheet|icon|preconnect|preload)[^>]+(?:https?:)?//", text), page


class _Links(HTMLParser):
    """The addresses that a page links to, and the names that can be linked to in it."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.names: set[str] = set()
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.names |= {name for name in (given.get("id"), given.get("name")) if name}
        self.links += [link for link in (given.get("href"), given.get("src")) if link]


def test_no_link_is_dead(site: Path) -> None:
    pages = {page: _Links(page) for page in site.rglob("*.html")}
    dead = []
    for page, found in pages.items():
        for link in found.links:
            address = urlsplit(link)
            if address.scheme or address.netloc:
                continue
            above = site if address.path.startswith("/") else page.parent  # 404.html may be shown at any depth
            path = (above / unquote(address.path).lstrip("/")).resolve() if address.path else page
            path = path / "index.html" if path.is_dir() else path
            anchor = unquote(address.fragment)
            absent = not path.exists() or (anchor and path in pages and anchor not in pages[path].names)
            dead += [f"{page.relative_to(site)}: {link}"] if absent else []
    assert not dead


def test_the_reference_has_every_public_name(site: Path) -> None:
    pages = "".join(page.read_text(encoding="utf-8") for page in (site / "api").glob("*.html"))
    anchors = set(re.findall(r"id=\"relatum(?:\.\w+)*\.(\w+)\"", pages))
    assert not set(relatum.__all__) - anchors - {"MODELS"}
    methods = {name for name in vars(relatum.Run) if not name.startswith("_")}
    assert not methods - anchors

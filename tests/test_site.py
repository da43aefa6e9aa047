"""The site of the documents builds without a warning, asks nothing of other hosts, and works from a disk."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from playwright.sync_api import expect

import relatum
from support.browser import started_browser

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


def test_the_reference_has_every_public_name(site: Path) -> None:
    pages = "".join(page.read_text(encoding="utf-8") for page in (site / "api").glob("*.html"))
    anchors = set(re.findall(r"id=\"relatum(?:\.\w+)*\.(\w+)\"", pages))
    assert not set(relatum.__all__) - anchors - {"MODELS"}
    methods = {name for name in vars(relatum.Run) if not name.startswith("_")}
    assert not methods - anchors


def test_search_works_from_a_disk_and_names_become_links(site: Path) -> None:
    with started_browser() as browser:
        page = browser.new_page(viewport={"width": 390, "height": 800})
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.goto((site / "index.html").as_uri())
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        page.keyboard.press("/")
        page.keyboard.type("coverage")
        expect(page.locator(".md-search-result__item").first).to_contain_text("overage", timeout=30_000)
        page.goto((site / "guide.html").as_uri())
        expect(page.locator('article a[href="algebra.html"]').first).to_be_visible()
        assert all(url.startswith(("file:", "data:", "about:", "blob:")) for url in asked)

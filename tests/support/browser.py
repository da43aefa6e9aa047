"""A server in a process of its own, and a browser that looks at its pages and reports what it should not have seen."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

__all__ = ["Visit", "served", "started_browser"]

_SECONDS = 60.0


@contextmanager
def served(*arguments: str | Path) -> Iterator[str]:
    """Serve runs as the command line does, on a free port; yield the address, without a slash at its end."""
    command = [sys.executable, "-m", "relatum", "serve", *map(str, arguments), "--port", "0"]
    environment = {**os.environ, "RELATUM_THREADS": "1", "PYTHONUNBUFFERED": "1"}
    if "numba" in sys.modules:  # what this process has compiled, the server need not
        environment["NUMBA_CACHE_DIR"] = sys.modules["numba"].config.CACHE_DIR
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment) as process:
        try:
            assert process.stdout is not None
            shown = ""
            for line in process.stdout:
                shown += line
                if found := re.search(r"at (http://[^/\s]+)/", line):
                    yield found[1]
                    break
            else:
                pytest.fail(f"the server did not start: {shown}")
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                process.kill()


@contextmanager
def started_browser() -> Iterator[Browser]:
    """Start the browser of the machine, without a network."""
    program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if program is None:
        pytest.skip("needs a browser: chromium is not installed")
    with sync_playwright() as playwright:
        options = ["--no-sandbox", "--disable-gpu", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"]
        browser = playwright.chromium.launch(executable_path=program, args=options)
        try:
            yield browser
        finally:
            browser.close()


class Visit:
    """A window of a browser at a server.

    Attributes:
        page: the page that it shows.
        console: what was written to its console, errors of scripts and refusals of the policy among it.
        foreign: the addresses of other hosts that it asked for.
    """

    def __init__(self, browser: Browser, server: str, **options: object) -> None:
        self.server = server
        self.context: BrowserContext = browser.new_context(**options)  # type: ignore[arg-type]
        self.page: Page = self.context.new_page()
        self.page.set_default_timeout(1000 * _SECONDS)
        self.console, self.foreign = list[str](), list[str]()
        self.page.on("console", lambda message: self.console.append(message.text))
        self.page.on("pageerror", lambda error: self.console.append(str(error)))
        self.page.on("dialog", lambda dialog: self.console.append(f"dialog: {dialog.message}"))
        self.page.on("request", lambda request: self._seen(request.url))

    def _seen(self, address: str) -> None:
        if urlsplit(address).netloc != urlsplit(self.server).netloc:
            self.foreign.append(address)

    def open(self, path: str) -> int:
        """Open a page and wait for all of its parts; return the status."""
        answer = self.page.goto(self.server + path)
        self.wait()
        assert answer is not None
        return answer.status

    def wait(self) -> None:
        """Wait for all parts of a page."""
        expect(self.page.locator("[data-load]")).to_have_count(0, timeout=1000 * _SECONDS)
        self.page.wait_for_load_state("networkidle")

    def close(self) -> None:
        """Close the window."""
        self.context.close()

"""A run's journal: one JSON record per event, appended, each whole once it is there."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

__all__ = ["Journal"]


class Journal:
    """Appends events to a file; a line torn by a kill is dropped before the next one is written, and never read."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._mended = False

    def write(self, event: str, **facts: Any) -> None:
        """Append one event with what there is to say of it and the time."""
        if not self._mended:
            self._drop_torn()
        line = json.dumps({"event": event, "time": round(time.time(), 3), **facts}, ensure_ascii=False)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(line + "\n")
            file.flush()
            os.fsync(file.fileno())

    def read(self) -> list[dict[str, Any]]:
        """Return all events so far that are whole."""
        if not self.path.exists():
            return []
        # Not splitlines, which also splits at signs that may stand in a text. What follows the last line feed is not whole.
        return [json.loads(line) for line in self.path.read_bytes().split(b"\n")[:-1]]

    def _drop_torn(self) -> None:
        self._mended = True
        if self.path.exists():
            content = self.path.read_bytes()
            whole = content.rfind(b"\n") + 1
            if whole < len(content):
                os.truncate(self.path, whole)  # written anew, a kill or a full disk could take the whole lines as well

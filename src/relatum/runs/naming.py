"""Names of files made from what people chose: settings and datasets."""

from __future__ import annotations

import re

__all__ = ["file_word"]


def file_word(text: str) -> str:
    """Return a text as a part of the name of a file: `../my data` becomes `my_data`."""
    return re.sub(r"[^\w.-]+", "_", text).strip("_.") or "_"

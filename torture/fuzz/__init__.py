"""Fuzzed inputs: each parser gets texts that were valid until they were cut, spliced and spoiled.

Whatever comes in, a parser returns a result, or refuses in one sentence; what it returns, written as text, is read back as
the same. Anything else is broken: another exception, a crash, or an input that takes longer than `LONGEST`. Inputs follow
from the seed, the parser and their number, so that one that has broken can be repeated.
"""

from __future__ import annotations

import os
import tempfile
from collections import deque
from pathlib import Path

from torture.campaign import Campaign
from torture.fuzz.batches import Batch
from torture.fuzz.documents import DOCUMENTS
from torture.fuzz.languages import LANGUAGES
from torture.fuzz.lines import LINES
from torture.fuzz.parser import Parser
from torture.fuzz.plain_settings import SETTINGS
from torture.fuzz.scratch import use
from torture.fuzz.tables import TABLES

PARSERS: tuple[Parser, ...] = (*TABLES, *LANGUAGES, *SETTINGS, *LINES, *DOCUMENTS)
_PROCESSES = 2
_IN_MEMORY = "/dev/shm"  # noqa: S108 - files that are written over a million times belong there
_LARGEST = 20_000  # inputs of a batch


def attack(campaign: Campaign) -> None:
    """Give each parser as many inputs as there are trials, in batches of which two run at once."""
    os.environ["RELATUM_THREADS"] = "1"  # before anything is compiled: threads would not live on in the batches
    with tempfile.TemporaryDirectory(
        prefix="torture-", dir=_IN_MEMORY if os.access(_IN_MEMORY, os.W_OK) else None
    ) as folder:
        use(Path(folder))
        _run(campaign)


def _run(campaign: Campaign) -> None:
    waiting = deque(_batches(campaign))
    running: list[Batch] = []
    while waiting or running:
        while waiting and len(running) < _PROCESSES:
            running.append(waiting.popleft())
            running[-1].start()
        for batch in [one for one in running if one.has_ended()]:
            running.remove(batch)
            if rest := batch.record(campaign):
                waiting.appendleft(rest)


def _batches(campaign: Campaign) -> list[Batch]:
    found = []
    for parser in (one for one in PARSERS if campaign.parsers in one.name):
        parser.prepare()
        end = campaign.first + max(1, int(campaign.size * parser.share))
        for first in range(campaign.first, end, _LARGEST):
            found.append(Batch(parser, campaign.seed, range(first, min(first + _LARGEST, end)), campaign.until))
    return found

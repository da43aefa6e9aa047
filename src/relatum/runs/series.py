"""Results that differ in one setting alone, so that what differs between them comes from that setting."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable
from typing import Any

from relatum.runs.collected import Result, best

__all__ = ["series"]


def series(results: Iterable[Result], data: str, model: str, setting: str) -> dict[Any, Result]:
    """Return the results of a model on a dataset that differ in a setting such as `model.window` alone, by its value.

    Of several such series it is the longest, and of several that long the one with the best validation. One result alone is
    no series.
    """
    groups: dict[str, dict[Any, list[Result]]] = {}
    table, key = setting.split(".")
    for one in results:
        if (one.data, one.model) == (data, model):
            spec = copy.deepcopy(one.spec)
            value = spec[table].pop(key, None)
            rest = json.dumps([spec, one.checksums], sort_keys=True)
            if isinstance(value, str | float | int):
                groups.setdefault(rest, {}).setdefault(value, []).append(one)
    found = [{value: chosen for value, same in group.items() if (chosen := best(same))} for group in groups.values()]
    longest = max(found, key=lambda group: (len(group), max(one.valid for one in group.values())), default={})
    if len(longest) < 2:
        return {}
    return dict(sorted(longest.items(), key=lambda item: (isinstance(item[0], str), item[0])))

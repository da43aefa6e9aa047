"""Lines that are no statements, of many kinds: each is one error, never an exception of the machinery underneath."""

from __future__ import annotations

import json
from typing import Any

GOOD = {
    "wikipeople": b'{"P69_h": "Q1", "P69_t": "Q2", "P580": ["Q3", "Q4"], "P582": "Q5", "N": 5}',
    "wd50k": b"Q1,P69,Q2,P580,Q3,P582,Q4",
    "wikidata": b'{"id": "Q1", "claims": {"P69": [{"mainsnak": {"snaktype": "novalue", "property": "P69"}}]}}',
}

_WIKIPEOPLE = [
    b"",
    b"   ",
    b"[]",
    b"null",
    b"{}",
    b'{"P69_h": "Q1", "N": 2}',
    b'{"P69_t": "Q1", "N": 2}',
    b'{"P69_h": "Q1", "P69_t": "Q2", "P26_h": "Q1", "P26_t": "Q2", "N": 4}',
    b'{"P69_h": "Q1", "P26_t": "Q2", "N": 2}',
    b'{"_h": "Q1", "_t": "Q2", "N": 2}',
    b'{"P69_h": "", "P69_t": "Q2", "N": 2}',
    b'{"P69_h": "Q1", "P69_t": "", "N": 2}',
    b'{"P69_h": ["Q1"], "P69_t": "Q2", "N": 2}',
    b'{"P69_h": "Q1", "P69_t": "Q2", "P580": [], "N": 2}',
    b'{"P69_h": "Q1", "P69_t": "Q2", "P580": "", "N": 3}',
    b'{"P69_h": "Q1", "P69_t": "Q2", "P580": [["Q3"]], "N": 3}',
    b'{"P69_h": "Q1", "P69_t": "Q2", "P580": ["Q3", null], "N": 4}',
    b'{"P69_h": "Q1", "P69_t": "Q2", "": "Q3", "N": 3}',
    b'{"P69_h": "Q1", "P69_t": "Q2", "P580": NaN, "N": 3}',
    b'{"P69_h": "Q1", "P69_t": "Q2", "N": 3}',
    b'{"P69_h": "Q1", "P69_t": "Q2", "N": true}',
    b'{"P69_h": "Q1", "P69_t": "Q2", "N": 1e999}',
    b'{"P69_h": "Q1", "P69_t": "Q2", "N": ' + b"9" * 10_000 + b"}",
    b'{"P69_h": "Q1", "P69_t": "Q2", "P580": "a", "P580": "b", "N": 4}',
    b'{"P69_h": "\\ud800", "P69_t": "Q2", "N": 2}',
    b'{"P69_h": "Q1", "P69_t": "Q2", "\\udfff": "Q3", "N": 3}',
    b'{"P69_h": "Q1", "P69_t": "Q2", "P580": "\xff", "N": 3}',
    b'{"P69_h": "Q1", "P69_t": "Q2", "P580": "a\tb", "N": 3}',
    b'{"P69_h": "Q1", "P69_t": "Q2", "N": 2} {}',
    b'{"P69_h": ' + b"[" * 100_000,
    b'{"P69_h": "Q1", "P69_t": "Q2", "P580": [' + b'"a",' * 1001 + b'"a"]}',
    b'\xef\xbb\xbf{"P69_h": "Q1", "P69_t": "Q2", "N": 2}',
    b"\0",
]

_WD50K = [
    b"",
    b"Q1",
    b"Q1,P69,Q2,P580",
    b",P69,Q2",
    b"Q1,,Q2",
    b"Q1,P69,",
    b"Q1,P69,Q2,,Q3",
    b"Q1,P69,Q2,P580,",
    b"Q1,P69,\xff",
    b"P69\tQ1\tQ2",
    b"Q1,P69,Q2" + b",P580,Q3" * 1001,
]


def _entity(*claims: object, name: str = "P69", head: object = "Q1") -> bytes:
    return json.dumps({"type": "item", "id": head, "claims": {name: claims}}).encode()


def _claim(value: object, of: object = "wikibase-entityid", **more: object) -> dict[str, Any]:
    snak = {"snaktype": "value", "property": "P69", "datavalue": {"type": of, "value": value}}
    return {"mainsnak": snak, "rank": "normal", **more}


_TIME = {"time": "+1903-00-00T00:00:00Z", "timezone": 0, "before": 0, "after": 0, "precision": 9, "calendarmodel": "x"}
_GLOBE = {"latitude": 1, "longitude": 2, "altitude": None, "precision": 0.1, "globe": "x"}
_NONE = {"snaktype": "novalue", "property": "P69"}
_SOUND = _claim({"id": "Q2"})

_WIKIDATA = [
    b"",
    b"[]",
    b"null",
    b"{}",
    b",",
    b'{"id": "Q1"}',
    b'{"id": "x", "claims": {}}',
    b'{"id": "L7-F1", "claims": {}}',
    b'{"id": "Q1", "claims": 7}',
    b'{"id": "Q1", "claims": [1]}',
    b'{"id": "Q1", "claims": {"P69": {}}}',
    b'{"id": "Q1", "claims": {}, "claims": {}}',
    b'{"id": "Q1", "claims": {"P69": [{"mainsnak": NaN}]}}',
    b'{"id": "Q1", "claims": {"P69": ' + b"[" * 100_000,
    b'{"id": "Q1", "claims": {"P69": [' + b"9" * 10_000 + b"]}}",
    b'{"id": "Q1", "labels": "\xff", "claims": {}}',
    _entity(7),
    _entity({"mainsnak": {"snaktype": "value", "property": "P69"}}),
    _entity({"mainsnak": {"snaktype": "value", "property": "P31"}}),
    _entity({"mainsnak": {"snaktype": "odd", "property": "P69"}}),
    _entity({"mainsnak": {"snaktype": "value", "property": "P69", "datavalue": 7}}),
    _entity({"mainsnak": {"snaktype": "value", "property": "P69", "datavalue": {"type": "string"}}}),
    _entity(_SOUND, name=""),
    _entity({**_SOUND, "rank": "best"}),
    _entity({**_SOUND, "qualifiers": 7}),
    _entity({**_SOUND, "qualifiers": {"P580": []}}),
    _entity({**_SOUND, "qualifiers": {"P580": [7]}}),
    _entity({**_SOUND, "qualifiers": {"P580": [_NONE]}}),
    _entity({**_SOUND, "qualifiers": {"": [{"snaktype": "novalue"}]}}),
    _entity({**_SOUND, "qualifiers": {"P580": [{"snaktype": "novalue"}] * 1001}}),
    _entity(_claim({})),
    _entity(_claim("Q2")),
    _entity(_claim({"id": "Q-2"})),
    _entity(_claim({"entity-type": "item", "numeric-id": 0})),
    _entity(_claim({"entity-type": ["item"], "numeric-id": 2})),
    _entity(_claim({"id": "Q2"}, "odd")),
    _entity(_claim({"id": "Q2"}, 7)),
    _entity(_claim("", "string")),
    _entity(_claim(7, "string")),
    _entity(_claim("\ud800", "string")),
    _entity(_claim("x", "time")),
    _entity(_claim({**_TIME, "time": "1903"}, "time")),
    _entity(_claim({**_TIME, "timezone": None}, "time")),
    _entity(_claim({**_TIME, "after": 10**100}, "time")),
    _entity(_claim({**_TIME, "calendarmodel": ""}, "time")),
    _entity(_claim({"language": "en"}, "monolingualtext")),
    _entity(_claim({"text": "x", "language": "e:n"}, "monolingualtext")),
    _entity(_claim({"amount": 5, "unit": "1"}, "quantity")),
    _entity(_claim({"amount": "+5"}, "quantity")),
    _entity(_claim({"amount": "+5", "unit": "1", "upperBound": ""}, "quantity")),
    _entity(_claim({"amount": "+5", "unit": "1", "lowerBound": 4}, "quantity")),
    _entity(_claim({**_GLOBE, "latitude": None}, "globecoordinate")),
    _entity(_claim({**_GLOBE, "longitude": "2"}, "globecoordinate")),
    _entity(_claim({**_GLOBE, "precision": 10**400}, "globecoordinate")),
    _entity(_claim({**_GLOBE, "globe": None}, "globecoordinate")),
    _entity(_claim({**_GLOBE, "latitude": 0.5}, "globecoordinate")).replace(b"0.5", b"1e999"),
]

MALFORMED: list[tuple[str, bytes]] = [
    *(("wikipeople", line) for line in _WIKIPEOPLE),
    *(("wd50k", line) for line in _WD50K),
    *(("wikidata", line) for line in _WIKIDATA),
    *((form, GOOD[form][:end]) for form in ("wikipeople", "wikidata") for end in range(1, len(GOOD[form]), 7)),
]

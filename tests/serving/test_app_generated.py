"""Generated requests get no 5xx, and every answer matches what the OpenAPI description says of it.

A good part of what is generated is replaced by names
and questions that the run knows, so that requests come past the first check.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis.checks import (
    content_type_conformance,
    not_a_server_error,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from relatum import Run
from relatum.serving.app import create_app
from relatum.serving.security import ServerSettings

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
QUICKLY = settings(
    derandomize=True,
    deadline=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
    database=None,
)


def known_values(folder: Path) -> dict[str, list[Any]]:
    """Return by the name of a parameter what a run knows, and what it nearly knows."""
    run = Run.load(folder)
    relations = [one.name for one in run.schema]
    facts = []
    for one in run.schema:
        for columns in run.table(one.name).columns.T[:3].tolist():
            facts.append((one.name, [run.entities[entity] for entity in columns]))
    written = [f"{name}({', '.join(repr(entity) for entity in entities)})" for name, entities in facts]
    open_ones = [f"{name}({', '.join(['?', *map(repr, entities[1:])])})" for name, entities in facts]
    some = [f"{name}({', '.join('?' for _ in entities)})" for name, entities in facts[::3]]
    first = facts[0][0]
    queries = [f"project[0]({first})", "select * from " + first, "select", "create view v as select 1", "x("]  # noqa: S608
    texts = [*written, *open_ones, *some, *queries, "", "(", "'", "\x00", "a" * 9000, "((" * 5000]
    entities = [entity for _, names in facts[:6] for entity in names]
    return {
        "q": texts,
        "fact": texts,
        "text": [*texts, *entities, *(name[:2] for name in entities)],
        "name": [*entities, *relations, "..", "a/b", ".json", "%2e%2e%2f", "\u202e", "é"],
        "relation": [*relations, "nope"],
        "entity": [*entities, "nope"],
        "role": ["0", "1", "nope"],
        "after": ["nope", "A" * 27],
        "number": [0, 1, 10**6],
        "show": ["predicted", "nope"],
    }


def generated(description: dict[str, Any], folder: Path, send: Callable[[Any], Any], most: int) -> dict[int, int]:
    """Send generated requests, check each answer, and return how many there were by status."""
    schema = schemathesis.openapi.from_dict(description)
    operations = [found.ok() for found in schema.get_all_operations()]
    assert len(operations) >= 25
    known, statuses = known_values(folder), dict[int, int]()

    @settings(QUICKLY, max_examples=most)
    @given(st.data())
    def check(data: Any) -> None:
        case = data.draw(data.draw(st.sampled_from(operations)).as_strategy())
        for parameters in (case.path_parameters, case.query):
            for name in list(parameters or ()):
                if name == "run" and data.draw(st.integers(0, 9)):
                    parameters[name] = folder.name
                elif name in known and data.draw(st.booleans()):
                    parameters[name] = data.draw(st.sampled_from(known[name]))
        response = send(case)
        case.validate_response(response, checks=CHECKS)
        statuses[response.status_code] = statuses.get(response.status_code, 0) + 1

    check()
    return statuses


def test_generated_requests_in_this_process(shop_run: Path, tmp_path: Path, count: Callable[[int, int], int]) -> None:
    config = ServerSettings(allowed_hosts=("testserver",), decisions=tmp_path / "decisions.db", seconds=60.0)
    app = create_app([shop_run], config)
    description = schemathesis.openapi.from_asgi("/-/openapi.json", app).raw_schema
    statuses = generated(description, shop_run, lambda case: case.call(app=app), count(250, 9000))
    assert statuses[200] > 20
    assert statuses[400] > 5
    assert statuses[404] > 5

"""The OpenAPI description of a server: what FastAPI finds, with our refusals in place of its own."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from pydantic import TypeAdapter

from relatum.serving.errors import STATUSES, Refusal

__all__ = ["describe"]

_REFUSAL = "#/components/schemas/Refusal"


def describe(app: FastAPI) -> None:
    """Let an app describe itself when it is asked to; as models of each address, refusals would make it start slowly."""
    described = app.openapi

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = _with_refusals(described())
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]  # as FastAPI's own guide has it


def _with_refusals(description: dict[str, Any]) -> dict[str, Any]:
    """Return a description in which every address may refuse; what cannot be used is refused with 400, never with 422."""
    content = {"application/json": {"schema": {"$ref": _REFUSAL}}}
    refusals = {str(status): {"description": text, "content": content} for status, text in STATUSES.items()}
    for methods in description["paths"].values():
        for operation in methods.values():
            operation["responses"].pop("422", None)
            operation["responses"].update(refusals)
    schemas = description["components"]["schemas"]
    for name in ("HTTPValidationError", "ValidationError"):
        schemas.pop(name, None)
    schemas["Refusal"] = TypeAdapter(Refusal).json_schema()
    return description

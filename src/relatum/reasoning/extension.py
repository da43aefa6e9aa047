"""Derived relations beside the trained ones: whatever asks a model can then ask them like any other relation."""

from __future__ import annotations

from collections.abc import Mapping

import torch

from relatum.data.hypergraph import Hypergraph
from relatum.data.schema import RelationSchema, Schema
from relatum.models.base import Parameters
from relatum.models.reale import ReAlE
from relatum.reasoning.closed_form import Form

__all__ = ["extended"]


def extended(model: ReAlE, tables: Parameters, derived: Mapping[RelationSchema, Form]) -> tuple[ReAlE, Parameters]:
    """Return the model and its tables with further relations, whose ids follow those that it has."""
    graph = model.graph
    wider = Hypergraph(graph.entities, Schema([*graph.schema, *derived]), graph.blocks.values())
    forms = list(derived.values())
    weights = torch.cat([tables["relations"], *(form.weights for form in forms)])
    bias = torch.cat([tables["bias"], *(form.bias[None] for form in forms)])
    return ReAlE(wider, model.settings), {**tables, "relations": weights, "bias": bias}

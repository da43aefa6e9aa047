"""Why an answer is one: the value of each part of a query, the best entities of projections, the windows that decided."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from relatum.algebra.lexer import as_written, write_arguments
from relatum.models.combine import SIGMAS
from relatum.reasoning.bounds import PlanValues
from relatum.reasoning.plan import Atom, Exists, Max, Plan
from relatum.reasoning.search import best, evaluate_plan
from relatum.time_limit import Limit

_WINDOWS = 3


@dataclass(frozen=True)
class Window:
    """A window that speaks for a fact: its value, and its mean over all entities at the last variable."""

    number: int
    value: float
    usual: float


@dataclass(frozen=True)
class Explanation:
    """What one part of a query is worth for an answer.

    Attributes:
        text: the part: a fact, or an operation and what it is applied to.
        truth: its probability, or its degree of truth where the run is not calibrated.
        windows: for a fact, the windows in which it stands out most.
        parts: what the value follows from.
    """

    text: str
    truth: float
    windows: tuple[Window, ...]
    parts: tuple[Explanation, ...]

    def lines(self, depth: int = 0) -> Iterator[str]:
        """Yield the explanation line by line, parts below and to the right of what they explain."""
        windows = "".join(f"; window {one.number}: {one.value:.2f}, usually {one.usual:.2f}" for one in self.windows)
        yield f"{'  ' * depth}{self.truth:.3f}  {self.text}{windows}"
        for part in self.parts:
            yield from part.lines(depth + 1)

    def to_json(self) -> dict[str, Any]:
        """Return the explanation as plain data."""
        windows = [{"window": one.number, "value": one.value, "usual": one.usual} for one in self.windows]
        return {
            "text": self.text,
            "truth": self.truth,
            **({"windows": windows} if windows else {}),
            **({"parts": [part.to_json() for part in self.parts]} if self.parts else {}),
        }


@torch.no_grad()
def explain(values: PlanValues, node: Plan, columns: Tensor, limit: Limit | None = None) -> Explanation:
    """Return why a plan has its value for one assignment, int64[variables, 1]; by the limit, as far as was found."""
    limit = limit or Limit()
    truth = float(values.comparable.probability(evaluate_plan(values, node, columns, limit))[0])
    if isinstance(node, Atom):
        return Explanation(_fact(values, node, columns), truth, _windows(values, node, columns), ())
    if isinstance(node, Exists):
        found = best(values, node.part, columns, node.variables, 1, (), limit).columns
        names = ", ".join(values.model.graph.entities[int(found[variable, 0])] for variable in node.variables)
        return Explanation(f"project: the best is with {names}", truth, (), (explain(values, node.part, found, limit),))
    text = "union: the larger of" if isinstance(node, Max) else "difference: the smaller of the first and 1 - the second"
    return Explanation(text, truth, (), tuple(explain(values, part, columns, limit) for part in (node.left, node.right)))


def _fact(values: PlanValues, atom: Atom, columns: Tensor) -> str:
    names = values.model.graph.entities
    arguments = (names[int(columns[term, 0])] if isinstance(term, int) else term for term in atom.arguments)
    return as_written(atom.expression.name) + write_arguments(tuple(arguments))


def _windows(values: PlanValues, atom: Atom, columns: Tensor) -> tuple[Window, ...]:
    last = atom.variables[-1] if atom.variables else None
    if last is None:
        return ()
    sigma = SIGMAS[values.model.settings.sigma]
    queries, _ = values.query_vectors(atom, columns, atom.variables, last)
    candidates = values.candidate_vectors(atom, last)
    here = sigma(values.given_vectors(atom, columns, atom.variables))[0]
    usual = sigma(queries + candidates).mean(0)
    chosen = torch.argsort(here - usual, descending=True, stable=True)[:_WINDOWS].tolist()
    return tuple(Window(window, float(here[window]), float(usual[window])) for window in chosen)

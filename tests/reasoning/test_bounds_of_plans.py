"""Values of plans against plain loops: candidates, what is stored, both sides of an atom, and bounds of open variables."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch

from relatum import Hypergraph, RelationSchema
from relatum.algebra import Relation
from relatum.inference.calibration import Calibration
from relatum.models.base import Parameters
from relatum.models.reale import ReAlE, ReAlESettings
from relatum.reasoning import bounds as bounds_module
from relatum.reasoning.bounds import ComparableScores, PlanValues
from relatum.reasoning.plan import AndNot, Atom, Exists, Max, Plan
from support.mistakes import mistake

NAMES = "abcde"
GRAPH = Hypergraph.of(
    [("r", *"abc"), ("r", *"aba"), ("r", *"cca"), ("r", *"dcd"), ("s", *"ab"), ("s", *"ee")],
    [RelationSchema("r", 3), RelationSchema("s", 2), RelationSchema("none", 2)],
)
R, S, NONE = (Relation(GRAPH.schema[name]) for name in ("r", "s", "none"))
CALIBRATION = Calibration(
    np.array([0.5, 1.5, 1.0]), np.array([0.1, -0.2, 0.0]), np.array([-1.0, 0.0, 2.0]), np.array([-2.0, 0.5, 1.0])
)


def model_of(sigma: str = "sigmoid", scale: float = 0.0) -> tuple[ReAlE, Parameters]:
    settings = ReAlESettings(dim=6, window=2, sigma=sigma, **({"scale": scale} if scale else {}))
    model = ReAlE(GRAPH, settings)
    rng = np.random.default_rng(0)
    drawn = {name: rng.normal(size=tensor.shape) for name, tensor in model.init_parameters(torch.Generator()).items()}
    return model, model.encode({name: torch.from_numpy(tensor.astype(np.float32)) for name, tensor in drawn.items()})


def values_of(calibration: Calibration | None = None, sigma: str = "sigmoid", **more: object) -> PlanValues:
    model, tables = model_of(sigma)
    return PlanValues(model, tables, ComparableScores(model, calibration), **more)  # type: ignore[arg-type]


def score(values: PlanValues, atom: Atom, entities: dict[int, int]) -> float:
    """Return the logit of one assignment, by the model itself."""
    names = values.model.graph.entities
    row = [entities[term] if isinstance(term, int) else names.id(term) for term in atom.arguments]
    relation = values.model.schema.id(atom.expression.name)
    scored = values.model.score(values.tables, torch.tensor([relation]), torch.tensor(row)[:, None])
    return float(values.comparable.logits(relation, scored.double().numpy())[0])


def exact(values: PlanValues, node: Plan, entities: dict[int, int]) -> float:
    """Return the logit of a plan for one assignment, by the definition of its nodes."""
    if isinstance(node, Atom):
        return score(values, node, entities)
    if isinstance(node, Exists):
        ranges = [values.ids(variable).tolist() for variable in node.variables]
        return max(
            exact(values, node.part, entities | dict(zip(node.variables, chosen, strict=True)))
            for chosen in itertools.product(*ranges)
        )
    left, right = exact(values, node.left, entities), exact(values, node.right, entities)
    return max(left, right) if isinstance(node, Max) else min(left, -right)


def test_without_a_calibration_logits_are_centred_degrees() -> None:
    model, _ = model_of()
    plain, scores = ComparableScores(model), np.array([0.0, 1.0, 2.5, 3.0])
    assert plain.logits(0, scores) == pytest.approx((scores - model.midpoint) / model.scale)
    assert plain.probability(plain.logits(0, scores)) == pytest.approx(scores / model.scale)
    assert model.midpoint / model.scale == pytest.approx(0.5)


def test_with_a_calibration_they_are_its_logits_and_a_tiny_rest() -> None:
    model, _ = model_of()
    calibrated, scores = ComparableScores(model, CALIBRATION), np.array([-3.0, 0.5, 2.0, 40.0])
    for relation in range(3):
        rest = CALIBRATION.raw_logit(relation, scores) + (scores - model.midpoint) / model.scale
        expected = CALIBRATION.calibrated_logit(relation, scores) + 1e-8 * rest
        np.testing.assert_allclose(calibrated.logits(relation, scores), expected, rtol=0, atol=1e-14)
    assert calibrated.probability(np.array([0.0, 2.0])) == pytest.approx([0.5, 1 / (1 + np.exp(-2))])


@pytest.mark.parametrize("slope", [0.0, 0.5, 40.0])
def test_scores_of_equal_probability_keep_their_order(slope: float) -> None:
    model, _ = model_of()
    flat = Calibration(np.full(3, slope), np.zeros(3), np.array([-9.0, 9.0]), np.array([1.0, 1.0]))
    scores = np.linspace(0, model.scale, 1000, dtype=np.float32).astype(np.float64)
    logits = ComparableScores(model, flat).logits(0, scores)
    assert (np.diff(logits) > 0).all()
    np.testing.assert_allclose(ComparableScores(model, flat).probability(logits), flat.probability(0, scores), rtol=1e-6)


def test_only_degrees_of_exp_have_no_complement() -> None:
    for sigma, calibration in (("sigmoid", None), ("tanh", None), ("sigmoid", CALIBRATION), ("exp", CALIBRATION)):
        ComparableScores(model_of(sigma)[0], calibration).require_complement()
    with mistake("no-closed-form"):
        ComparableScores(model_of("exp")[0]).require_complement()


@pytest.mark.parametrize(("budget", "rows"), [(5 * 32 * 7, 7), (5 * 32 * 7 - 1, 6), (3, 1), (5 * 32 * 2 - 1, 1)])
def test_rows_at_once_are_bounded_by_memory(budget: int, rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds_module, "budget", lambda: budget)
    assert values_of().rows_at_once == rows


def test_a_variable_has_the_candidates_of_its_range_or_all() -> None:
    values = values_of(ranges={1: torch.tensor([0, 3])})
    assert values.ids(0).tolist() == [0, 1, 2, 3, 4]
    assert values.ids(1).tolist() == [0, 3]
    assert (values.count(0), values.count(1)) == (5, 2)


@pytest.mark.parametrize(
    "atom",
    [*(Atom(R, terms) for terms in [(0, 1, 2), (0, 1, 0), (2, 2, 1), (0, "b", 1), ("a", "b", 0)]), Atom(S, (3, 3))],
)
def test_what_is_stored_are_the_facts_that_agree(atom: Atom) -> None:
    rows = [fact[1:] for fact in GRAPH if fact[0] == atom.expression.name]
    expected: dict[int, list[int]] = {variable: [] for variable in atom.variables}
    for row in rows:
        taken: dict[int, str] = {}
        fits = all(
            taken.setdefault(term, name) == name if isinstance(term, int) else term == name
            for term, name in zip(atom.arguments, row, strict=True)
        )
        for variable, name in taken.items() if fits else ():
            expected[variable].append(GRAPH.entities.id(name))
    found = values_of(facts=GRAPH).stored(atom)
    assert {variable: column.tolist() for variable, column in found.items()} == expected


def test_without_facts_nothing_is_stored() -> None:
    other = Hypergraph.of([("s", *"ab")])
    for values, atom in (
        (values_of(), Atom(R, (0, 1, 0))),
        (values_of(facts=other), Atom(R, (0, 1, 0))),
        (values_of(facts=GRAPH), Atom(NONE, (1, 0))),
    ):
        assert {variable: column.tolist() for variable, column in values.stored(atom).items()} == {0: [], 1: []}


def test_a_form_adds_up_what_a_variable_has_and_takes_constants_into_its_bias() -> None:
    values = values_of()
    first, bias = int(values.model.position_rows(torch.tensor(values.model.schema.id("r")), 0)), values.tables["bias"]
    weights = values.tables["relations"][first : first + 3]
    entity = values.tables["entities"][values.model.graph.entities.id("d")]
    form = values.form(Atom(R, (4, "d", 4)))
    torch.testing.assert_close(form.weights, (weights[0] + weights[2])[None])
    expected = bias[values.model.schema.id("r")] + (entity * weights[1]).reshape(3, 2).sum(1)
    torch.testing.assert_close(form.bias, expected)
    swapped = values.form(Atom(R, (2, 0, 1)))
    torch.testing.assert_close(swapped.weights, weights[[1, 2, 0]])


def test_forms_and_candidate_vectors_are_worked_out_once() -> None:
    values, atom = values_of(), Atom(R, (0, 1, 2))
    assert values.form(atom) is values.form(atom)
    assert values.candidate_vectors(atom, 1) is values.candidate_vectors(atom, 1)
    assert values.candidate_vectors(atom, 1) is not values.candidate_vectors(atom, 2)


def test_both_sides_of_an_atom_add_up_to_its_score() -> None:
    atom, columns = Atom(R, (2, 0, 1)), torch.tensor([[0, 4, 2], [1, 1, 3], [2, 0, 4]])
    for ranges in ({}, {0: torch.tensor([1, 4])}):
        values = values_of(ranges=ranges)
        queries, whole = values.query_vectors(atom, columns, {0, 1, 2}, 0)
        assert whole
        scores = values.combine.matrix(queries, values.candidate_vectors(atom, 0))
        found = values.logits(atom, scores)
        for number, candidate in itertools.product(range(3), range(values.count(0))):
            entities = {0: int(values.ids(0)[candidate]), 1: int(columns[1, number]), 2: int(columns[2, number])}
            assert found[number, candidate] == pytest.approx(score(values, atom, entities), abs=1e-6)


def test_what_is_not_given_counts_with_the_most_of_each_window() -> None:
    values, atom, columns = values_of(ranges={1: torch.tensor([0, 2])}), Atom(R, (0, 1, 2)), torch.tensor([[3, 1]] * 3)
    alone = values.given_vectors(atom, columns, ())
    torch.testing.assert_close(alone, values.form(atom).bias.expand(2, -1))
    one = values.given_vectors(atom, columns, {2})
    gained = values.candidate_vectors(atom, 2)[columns[2]]
    torch.testing.assert_close(one, alone + gained)
    found, whole = values.query_vectors(atom, columns, {2}, 0)
    assert not whole
    torch.testing.assert_close(found, one + values.candidate_vectors(atom, 1).max(0).values)
    both, whole = values.query_vectors(atom, columns, {2, 1}, None)
    assert not whole
    expected = values.given_vectors(atom, columns, {1, 2}) + values.candidate_vectors(atom, 0).max(0).values
    torch.testing.assert_close(both, expected)


def plans() -> dict[str, Plan]:
    first, second, third = Atom(R, (0, 1, 2)), Atom(S, (1, 0)), Atom(S, (0, 0))
    inner = Atom(R, (0, 1, 3))
    return {
        "atom": first,
        "max": Max(R | R, first, second),
        "and not": AndNot(R - R, second, third),
        "exists": Exists(R.project(0, 1), (3,), inner),
        "deep": Max(R | R, AndNot(R - R, Exists(R.project(0, 1), (3,), inner), second), first),
        "not exists": AndNot(R - R, first, Exists(R.project(0, 1), (3,), inner)),
    }


@pytest.mark.parametrize("calibration", [None, CALIBRATION])
@pytest.mark.parametrize("name", plans())
@pytest.mark.parametrize("given", [(1, 2), (1,), ()])
def test_no_assignment_is_outside_its_bounds(name: str, given: tuple[int, ...], calibration: Calibration | None) -> None:
    values, plan = values_of(calibration, ranges={0: torch.tensor([0, 2, 4])}), plans()[name]
    columns = torch.tensor([[0, 0], [3, 1], [2, 4], [0, 0]])
    low, high = (np.broadcast_to(bound, (2, 3)) for bound in values.bounds(plan, columns, set(given), 0))
    missing = [variable for variable in (1, 2) if variable not in given]
    for number, (index, candidate) in itertools.product(range(2), enumerate([0, 2, 4])):
        reached = []
        for chosen in itertools.product(range(5), repeat=len(missing)):
            entities = {0: candidate, 1: int(columns[1, number]), 2: int(columns[2, number])}
            reached.append(exact(values, plan, entities | dict(zip(missing, chosen, strict=True))))
        assert low[number, index] <= min(reached) + 1e-6
        assert high[number, index] >= max(reached) - 1e-6
        if given == (1, 2) and "exists" not in name and name != "deep":
            assert low[number, index] == pytest.approx(reached[0], abs=1e-6)
            assert high[number, index] == pytest.approx(reached[0], abs=1e-6)
    if name in ("exists", "deep"):
        assert high.max() < 20
    if name == "atom":
        assert (low == -np.inf).all() == (given != (1, 2))


def test_bounds_from_above_are_those_of_the_parts() -> None:
    """A difference is at most its left part, and at most what is left of the least of its right one."""
    values, parts = values_of(), plans()
    columns = torch.tensor([[0], [3], [2], [0]])
    first, second, third = (
        values.bounds(part, columns, {1, 2}, 0) for part in (parts["atom"], Atom(S, (1, 0)), Atom(S, (0, 0)))
    )
    low, high = values.bounds(AndNot(R - R, parts["atom"], parts["exists"]), columns, {1, 2}, 0)
    inner = values.bounds(parts["exists"], columns, {1, 2}, 0)
    assert (inner[0] == -np.inf).all()
    assert high == pytest.approx(first[1])
    assert low == pytest.approx(np.minimum(first[0], -inner[1]))
    for node, expected in (
        (Max(R | R, Atom(S, (1, 0)), Atom(S, (0, 0))), np.maximum(second[0], third[0])),
        (AndNot(R - R, Atom(S, (1, 0)), Atom(S, (0, 0))), np.minimum(second[0], -third[0])),
    ):
        for bound in values.bounds(node, columns, {1, 2}, 0):
            assert bound == pytest.approx(expected)


def test_a_difference_is_bounded_from_below_by_the_least_of_its_left_part() -> None:
    values, columns = values_of(), torch.tensor([[0], [3], [2], [0]])
    low, _ = values.bounds(AndNot(R - R, plans()["exists"], Atom(S, (0, 0))), columns, {1, 2}, 0)
    assert (low == -np.inf).all()  # for nothing is known of what is projected, but that it is at most so much


@pytest.mark.parametrize(("sigma", "scale"), [("sigmoid", 0.0), ("sigmoid", 1.0), ("tanh", 2.0), ("exp", 1.0)])
def test_scores_have_the_scale_of_the_model(sigma: str, scale: float) -> None:
    model, tables = model_of(sigma, scale)
    values, atom = PlanValues(model, tables, ComparableScores(model)), Atom(S, (0, 1))
    columns = torch.tensor([[0, 1], [2, 3]])
    queries, _ = values.query_vectors(atom, columns, {1}, 0)
    scores = values.combine.matrix(queries, values.candidate_vectors(atom, 0))
    relation = torch.full((5,), model.schema.id("s"))
    for number in range(2):
        facts = torch.stack([torch.arange(5), columns[1, number].expand(5)])
        torch.testing.assert_close(scores[number], model.score(tables, relation, facts), rtol=1e-4, atol=1e-5)

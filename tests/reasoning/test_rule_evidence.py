"""What a trained model says of rules: it agrees with one that its facts obey more than with one that they do not."""

from __future__ import annotations

import random

import numpy as np
import pytest

from relatum import Hypergraph, Spec, fit
from relatum.algebra import parse
from relatum.reasoning.reasoner import Reasoner
from relatum.reasoning.rule_evidence import _rank_correlation, model_evidence
from relatum.rules import Rule, RuleKind
from support.mistakes import mistake


@pytest.fixture(scope="module")
def reasoner(tmp_path_factory: pytest.TempPathFactory) -> Reasoner:
    folder = tmp_path_factory.mktemp("evidence")
    chance = random.Random(0)
    pairs = sorted({(f"n{chance.randrange(25)}", f"n{chance.randrange(25)}") for _ in range(160)})
    other = sorted({(f"n{chance.randrange(25)}", f"n{chance.randrange(25)}") for _ in range(160)})
    facts = [("a", *pair) for pair in pairs] + [("b", *pair[::-1]) for pair in pairs] + [("c", *pair) for pair in other]
    chance.shuffle(facts)
    (folder / "data").mkdir()
    for name, part in (("train", facts[60:]), ("valid", facts[:30]), ("test", facts[30:60])):
        (folder / "data" / f"{name}.txt").write_text("".join("\t".join(fact) + "\n" for fact in part))
    spec = Spec.from_dict({"data": str(folder / "data"), "model": {"dim": 40}, "training": {"epochs": 60}})
    run = fit(spec, folder / "run")
    return Reasoner(run.model, run.tables, run.calibration, Hypergraph.union(list(run.split.parts.values())))


def rule(reasoner: Reasoner, head: str, body: str) -> Rule:
    schema = reasoner.model.schema
    return Rule(schema[head], parse(body, schema), RuleKind.EQUAL, 1, 1.0, 1.0, 1.0)


def test_a_rule_that_holds_is_agreed_with_more_and_a_relation_with_itself(reasoner: Reasoner) -> None:
    true = model_evidence(reasoner, rule(reasoner, "b", "permute[1, 0](a)"))
    false = model_evidence(reasoner, rule(reasoner, "c", "permute[1, 0](a)"))
    assert true.correlation is not None
    assert false.correlation is not None
    assert true.correlation > 0.5 > false.correlation
    assert true.on_facts < false.on_facts
    assert 0 < true.negatives <= true.facts <= 200
    same = model_evidence(reasoner, rule(reasoner, "a", "a"))
    assert same.on_facts == same.on_negatives == 0
    assert same.correlation == pytest.approx(1)


def test_what_is_asked_follows_from_the_seed(reasoner: Reasoner) -> None:
    one = rule(reasoner, "b", "permute[1, 0](a)")
    assert model_evidence(reasoner, one, most=20) == model_evidence(reasoner, one, most=20)
    assert model_evidence(reasoner, one, most=20) != model_evidence(reasoner, one, most=20, seed=1)
    assert model_evidence(reasoner, one, most=20).facts == 20


def test_a_model_without_calibration_cannot_say(reasoner: Reasoner) -> None:
    plain = Reasoner(reasoner.model, reasoner.tables, None, reasoner.facts)
    with mistake("no-probabilities"):
        model_evidence(plain, rule(reasoner, "b", "permute[1, 0](a)"))


def test_rank_correlation_is_spearmans() -> None:
    assert _rank_correlation(np.array([1.0, 2, 3]), np.array([10.0, 20, 900])) == pytest.approx(1)
    assert _rank_correlation(np.array([1.0, 2, 3]), np.array([3.0, 2, 1])) == pytest.approx(-1)
    assert _rank_correlation(np.array([1.0, 2, 2, 4]), np.array([1.0, 3, 2, 4])) == pytest.approx(0.9486832980505138)
    assert _rank_correlation(np.array([1.0, 1, 1]), np.array([1.0, 2, 3])) is None

"""What others who share answers speak for equals a product of matrices, with an answer left out or not."""

from __future__ import annotations

import numpy as np
import pytest

from relatum.arrays import Bool, Float64
from relatum.kernels import neighbours
from relatum.kernels.neighbours import Links, neighbour_shares


def links_of(has: Bool) -> Links:
    def lists(table: Bool) -> tuple[neighbours.Ints, neighbours.Ints]:
        return np.concatenate([[0], np.cumsum(table.sum(1))]).astype(np.int64), np.nonzero(table)[1].astype(np.int64)

    return Links(*lists(has), *lists(has.T))


def plain_shares(has: Bool, one: int, left_out: int) -> Float64:
    """Return the share of each answer for a given entity, by products of whole matrices."""
    own = has[one].copy()
    if left_out >= 0:
        own[left_out] = False
    others = has.astype(np.float64)
    sizes, degrees = others.sum(0), others.sum(1)
    others[one] = 0
    together = (others / np.sqrt(np.maximum(1, degrees))[:, None]).T @ others
    np.fill_diagonal(together, 0)
    weights = own / np.sqrt(np.maximum(1, sizes))
    values = (weights @ together) / np.sqrt(np.maximum(1, sizes - has[one]))
    total = values[~own].sum()
    return np.where(own, values / np.maximum(total + values, 1e-12), values / max(total, 1e-12))


@pytest.mark.parametrize("seed", range(6))
def test_shares_are_those_of_a_product_of_matrices(seed: int) -> None:
    rng = np.random.default_rng(seed)
    has = rng.random((12, 15)) < 0.3
    has[:, 0] = False
    has[0] = False
    given = np.array([*range(-1, 12), *range(12)], np.int64)
    left_out = np.full(len(given), -1, np.int64)
    left_out[13:] = [np.flatnonzero(has[one])[-1] if has[one].any() else -1 for one in range(12)]
    rows, answers, shares = neighbour_shares(links_of(has), given, left_out, 100)
    assert (np.diff(rows * 100 + answers) > 0).all()
    for question, one in enumerate(given.tolist()):
        expected = plain_shares(has, one, int(left_out[question])) if one >= 0 else np.zeros(15)
        found = np.zeros(15)
        found[answers[rows == question]] = shares[rows == question]
        assert found == pytest.approx(expected, abs=1e-9)


def test_only_the_largest_shares_are_named_and_what_is_known_beside_them() -> None:
    rng = np.random.default_rng(1)
    has = rng.random((30, 40)) < 0.3
    given, nothing = np.arange(30), np.full(30, -1, np.int64)
    rows, answers, shares = neighbour_shares(links_of(has), given, nothing, 5)
    whole = neighbour_shares(links_of(has), given, nothing, 100)
    for question in range(30):
        mine, every = rows == question, whole[0] == question
        new, all_new = ~has[question, answers[mine]], ~has[question, whole[1][every]]
        assert new.sum() >= 5
        assert sorted(shares[mine][new])[-5:] == pytest.approx(sorted(whole[2][every][all_new])[-5:])


def test_work_is_bounded_and_the_closest_others_come_first(monkeypatch: pytest.MonkeyPatch) -> None:
    has = np.zeros((4, 8), np.bool_)
    has[0, [0, 1]] = True
    has[1, [0, 1, 2]] = True  # shares two
    has[2, [1, 3, 4, 5, 6, 7]] = True
    has[3, [0, 3, 4, 5, 6]] = True
    given, nothing = np.array([0]), np.array([-1])
    monkeypatch.setattr(neighbours, "STEPS", 4)
    python = {name: getattr(neighbours, name).py_func for name in ("_walk", "_close")}
    for name, function in python.items():
        monkeypatch.setattr(neighbours, name, function)
    _, answers, _ = neighbour_shares(links_of(has), given, nothing, 10)
    assert set(answers.tolist()) - {0, 1} == {2}


@pytest.mark.parametrize(("users", "items"), [(1, 1), (neighbours.HOLDERS + 1, 1), (3, neighbours.STEPS // 2 + 1)])
@pytest.mark.parametrize("everything", [False, True])
def test_more_than_is_looked_at_gives_shares_all_the_same(users: int, items: int, everything: bool) -> None:
    has = np.zeros((users, items), np.bool_)
    has[:, : items if everything else 1] = True
    given = np.unique([-1, 0, users - 1])
    for left_out in (-1, 0, items - 1):
        _, _, shares = neighbour_shares(links_of(has), given, np.full(len(given), left_out), 1)
        assert ((shares > 0) & (shares <= 1)).all()

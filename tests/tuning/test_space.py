"""What can be searched is read, checked against the base, and laid out as a grid."""

from __future__ import annotations

import pytest

from relatum import MODELS, Spec
from relatum.tuning.space import SAMPLERS, Choice, Range, apply, default_space, grid_points, read_space
from support.mistakes import mistake

BASE = Spec.from_dict({"data": "example"})


def base(recipe: str = "fast", **model: object) -> Spec:
    return Spec.from_dict({"data": "example", "recipe": recipe, "model": model})


def test_ranges_and_choices_are_read_and_what_is_written_is_read_again() -> None:
    texts = [
        "training.learning_rate=0.05..1 log",
        "model.window = 1, 2 ,4",
        "training.batch_size=16 .. 64",
        "training.learning_rate_schedule=linear,cosine",
        "training.refit=true,false",
    ]
    space = (
        Range("training.learning_rate", 0.05, 1.0, is_log=True),
        Choice("model.window", (1, 2, 4)),
        Range("training.batch_size", 16, 64),
        Choice("training.learning_rate_schedule", ("linear", "cosine")),
        Choice("training.refit", (True, False)),
    )
    assert read_space(texts, BASE) == space
    assert read_space(map(str, space), BASE) == space


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("training.learning_rate", "bad-search"),
        ("training.rat=1,2", "unknown-setting"),
        ("seed=1,2", "bad-search"),
        ("model.name=hype,reale", "bad-search"),
        ("training.learning_rate=1..0.5", "setting-out-of-range"),
        ("training.learning_rate=0.1..0.5 lgo", "bad-search"),
        ("training.learning_rate=0..1 log", "bad-search"),
        ("training.learning_rate=0..1", "bad-search"),
        ("training.batch_size=1.5..8", "bad-search"),
        ("training.rows=facts,qestions", "bad-search"),
        ("training.batch_size=16,0", "bad-search"),
        ("training.batch_size=[1]", "bad-search"),
        ("model.window=2,3", "bad-search"),
        (f"training.batch_size=1..{'9' * 5000}", "bad-search"),
    ],
)
def test_what_cannot_be_is_refused(text: str, message: str) -> None:
    with mistake(message):
        read_space([text], BASE)


def test_a_value_that_fits_with_some_of_the_others_is_taken() -> None:
    space = read_space(["model.dim=40,60", "model.window=4,8"], base(dim=40))
    assert grid_points(BASE, space) == [
        {"model.dim": 40, "model.window": 4},
        {"model.dim": 40, "model.window": 8},
        {"model.dim": 60, "model.window": 4},
    ]


def test_a_setting_twice_and_a_grid_of_ranges_or_of_too_many_points_are_refused() -> None:
    with mistake("bad-search", place="search"):
        read_space(["training.learning_rate=1,2", "training.learning_rate=3,4"], BASE)
    with mistake("bad-search"):
        grid_points(BASE, [Range("training.learning_rate", 0.1, 0.2)])
    with mistake("bad-search"):
        grid_points(
            BASE,
            [Choice("training.batch_size", tuple(range(1, 200))), Choice("training.batches_per_step", tuple(range(1, 200)))],
        )


def test_the_grid_of_the_paper() -> None:
    paper = base("paper")
    points = grid_points(paper, default_space(paper, "grid"))
    rates, windows = (0.05, 0.08, 0.1, 0.2), (1, 2, 4, 5, 8)
    assert points == [{"training.learning_rate": rate, "model.window": window} for rate in rates for window in windows]
    spec = apply(paper, points[0])
    assert (spec.settings.dim, spec.training.batch_size, spec.training.num_negatives) == (200, 128, 10)
    assert spec.training.negative_sampling == "per-fact"


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("sampler", SAMPLERS)
def test_every_model_has_a_space(model: str, sampler: str) -> None:
    for dim in (200, 6):
        space = default_space(base("paper", name=model, dim=dim), sampler)
        assert space[0].path == "training.learning_rate"
        assert len(space) > 1 or sampler == "grid"


def test_windows_that_do_not_divide_the_dimension_are_left_out() -> None:
    assert default_space(base(dim=6), "tpe")[1] == Choice("model.window", (1, 2))

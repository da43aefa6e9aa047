"""The files whose mutants tests must kill, the tests that should, likeliest killers first, and mutants that none can."""

from __future__ import annotations

_SRC, _TESTS = "src/relatum", "tests"

TESTS: dict[str, tuple[str, ...]] = {
    f"{_SRC}/{file}.py": tuple(f"{_TESTS}/{test}.py" for test in tests)
    for file, tests in {
        "inference/ranking": (
            "inference/test_ranking_metrics",
            "inference/test_ranking_interval",
            "inference/test_ranking_scorers",
            "inference/test_ranking",
        ),
        "data/known_answers": ("data/test_known_answers",),
        "data/answer_index": ("data/test_answer_index", "data/test_known_answers"),
        "reasoning/closed_form": ("reasoning/test_closed_form_parameters", "reasoning/test_closed_form"),
        "reasoning/bounds": ("reasoning/test_bounds_of_sums", "reasoning/test_bounds_of_plans", "reasoning/test_bounds"),
        "algebra/evaluation": ("algebra/test_evaluation", "algebra/test_evaluation_work"),
        "training/checkpoint": ("training/test_checkpoint_files", "training/test_checkpoint"),
        "files": ("test_files", "test_files_json", "test_files_synced", "test_files_left_behind"),
        "models/store": ("models/test_store", "models/test_store_files"),
        "inference/calibration": ("inference/test_calibration_by_hand", "inference/test_calibration"),
    }.items()
}

# By file and the text of the mutant: why no test could tell it from the program. They count neither way.
EQUIVALENT: dict[str, dict[str, str]] = {}

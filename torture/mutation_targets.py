"""The files whose mutants tests must kill, the tests that should, likeliest killers first, and mutants that none can."""

from __future__ import annotations

_SRC, _TESTS = "src/relatum", "tests"

TESTS: dict[str, tuple[str, ...]] = {
    f"{_SRC}/{file}.py": tuple(f"{_TESTS}/{test}.py" for test in tests)
    for file, tests in {
        "inference/ranking": ("inference/test_ranking", "inference/test_ranking_scorers"),
        "data/known_answers": ("data/test_known_answers",),
        "data/answer_index": ("data/test_answer_index", "data/test_known_answers"),
        "reasoning/closed_form": ("reasoning/test_closed_form_parameters", "reasoning/test_closed_form"),
        "reasoning/bounds": ("reasoning/test_bounds_of_sums", "reasoning/test_bounds_of_plans"),
        "algebra/evaluation": ("algebra/test_evaluation", "algebra/test_evaluation_work"),
        "training/checkpoint": ("training/test_checkpoint_files",),
        "files": ("test_files", "test_files_json", "test_files_synced", "test_files_left_behind"),
        "models/store": ("models/test_store", "models/test_store_files"),
        "inference/calibration": ("inference/test_calibration",),
    }.items()
}

_FILES, _STORE, _KNOWN = f"{_SRC}/files.py", f"{_SRC}/models/store.py", f"{_SRC}/data/known_answers.py"
_FORMS, _EVALUATION = f"{_SRC}/reasoning/closed_form.py", f"{_SRC}/algebra/evaluation.py"


def _text(function: str, old: str, part: str, instead: str) -> str:
    """Return the text of a mutant that has something else for a part of the program."""
    return f"{function}: {old} -> {old.replace(part, instead, 1)}"


_UNION = (
    "ClosedForm(_larger(left.form, right.form), Bound.of_largest(left.bound, right.bound), left.lower,"
    " _larger(left.upper, right.upper))"
)
_DIFFERENCE = (
    "ClosedForm(_smaller(left.form, right.form.complement()), Bound.of_difference(left.bound, right.bound),"
    " _smaller(left.lower, right.upper.complement()), left.upper)"
)
_UNIT = "space.sums(positive, weights) if space.unit else space.sums(entities, weights).amax(0)"
_BEST = "entities[torch.argmax(entities @ weights)]"
_LEAST = f"bias + space.sums({_BEST}, weights)"
_EITHER = "the larger or smaller of two is the same in either order"
_PRODUCT = "what an entity gives in a window is a sum of products, the same in either order"
_CLOSER = "one step more makes a bound closer by less than it costs: time, never what is found"
_CLIPPED = "the larger of the two, and the last at most"
_AT_ONCE = "how much is looked at together: time and memory, never what comes of it"

# By file and the text of the mutant: why no test could tell it from the program. They count neither way.
EQUIVALENT: dict[str, dict[str, str]] = {
    _FILES: {
        "atomic_directory: if path.exists(): -> if False:": "where a folder may be renamed to an empty one, as on Linux",
        "atomic_directory: path.rmdir() -> pass": "where a folder may be renamed to an empty one, as on Linux",
        "drop_torn_line: file.read(end - start) -> file.read(end + start)": "what is read again has no line end",
        "drop_torn_line: if end < size: -> if True:": "a file cut at its end stays as it is",
        "drop_torn_line: if end < size: -> if end <= size:": "a file cut at its end stays as it is",
        "module: _PIECE = 1 << 16 -> _PIECE = 2 << 16": _AT_ONCE,
        "module: _PIECE = 1 << 16 -> _PIECE = 1 << 17": _AT_ONCE,
        "_is_stale: *(path.rglob('*') if path.is_dir() else ()) -> *(path.rglob('*') if True else ())": (
            "nothing is inside of a file"
        ),
        "parse_json: json.loads(text.decode(), parse_int=_int64 if _LONG.search(text) else None)"
        " -> json.loads(text.decode(), parse_int=_int64 if True else None)": "short numbers pass the check, only slower",
        "_int64: len(digits) > 20 or not -(1 << 63) <= int(digits) < 1 << 63"
        " -> len(digits) > 21 or not -(1 << 63) <= int(digits) < 1 << 63": "21 characters are more than 64 bits anyway",
    },
    _STORE: {
        "module: _ROWS = 1 << 16 -> _ROWS = 2 << 16": _AT_ONCE,
        "module: _ROWS = 1 << 16 -> _ROWS = 1 << 17": _AT_ONCE,
        "holds_tensors: found.dtype == arrays[name].dtype and found.shape == arrays[name].shape"
        " and _same_bits(found, arrays[name]) -> found.dtype == arrays[name].dtype and"
        " found.shape == arrays[name].shape and _same_bits(arrays[name], found)": "two arrays are the same in either order",
    },
    _KNOWN: {
        "KnownAnswers._answering: if arity in self._indexes: -> if True:": "without an index nothing answers",
        "module: _PIECE = 1 << 16 -> _PIECE = 2 << 16": _AT_ONCE,
        "module: _PIECE = 1 << 16 -> _PIECE = 1 << 17": _AT_ONCE,
    },
    f"{_SRC}/data/answer_index.py": {
        "AnswerLists.contain: (low < high) & (self.pool[np.minimum(middle, len(self.pool) - 1)] < entities)"
        " -> (low <= high) & (self.pool[np.minimum(middle, len(self.pool) - 1)] < entities)": (
            "where the two have met, the entity there is not smaller, or it is past the end, and past it stays past it"
        ),
    },
    f"{_SRC}/training/checkpoint.py": {
        "load_state: if stored is None: -> if False:": "what is not there has no tensors either, which ends alike",
    },
    _FORMS: {
        _text("_", _UNION, "left.form, right.form", "right.form, left.form"): _EITHER,
        _text("_", _UNION, "left.bound, right.bound", "right.bound, left.bound"): "a union's bound asks both sides alike",
        _text("_", _UNION, "left.upper, right.upper", "right.upper, left.upper"): _EITHER,
        _text("_", _DIFFERENCE, "left.form, right.form.complement()", "right.form.complement(), left.form"): _EITHER,
        _text("_", _DIFFERENCE, "left.lower, right.upper.complement()", "right.upper.complement(), left.lower"): _EITHER,
        _text("_.at_most", _UNIT, "positive, weights", "weights, positive"): _PRODUCT,
        _text("_.at_least", _LEAST, f"{_BEST}, weights", f"weights, {_BEST}"): _PRODUCT,
        _text("_.at_most", "(weights > 0).to(weights.dtype)", ">", ">="): "a weight of 0 adds nothing",
        _text(
            "_given",
            "form.bias + space.sums(entity, form.weights[position])",
            "entity, form.weights[position]",
            "form.weights[position], entity",
        ): _PRODUCT,
    },
    f"{_SRC}/reasoning/bounds.py": {
        _text(
            "_intercepts",
            "1 - np.clip(slopes / _STEEPEST, 1e-12, 1)",
            "slopes / _STEEPEST, 1e-12",
            "1e-12, slopes / _STEEPEST",
        ): "the larger of the two, and 1 at most",
        "module: _ROUNDS = 3 -> _ROUNDS = 4": _CLOSER,
        "module: _HALVINGS = 8 -> _HALVINGS = 9": _CLOSER,
        _text(
            "PlanValues.candidate_vectors",
            "self._candidate_vectors[atom, variable] = window_sums(entities, weights, self.model.settings.window)",
            "entities, weights",
            "weights, entities",
        ): _PRODUCT,
        "_intercepts: if sigma == 'exp': -> if False:": "what bends upwards is nowhere higher above a line than at an end",
        _text(
            "_intercepts",
            "touching = np.clip(np.log(value / np.maximum(1 - value, 1e-300)), least, most)",
            "np.log(value / np.maximum(1 - value, 1e-300)), least",
            "least, np.log(value / np.maximum(1 - value, 1e-300))",
        ): _CLIPPED,
        "PlanValues.given_vectors: if not positions: -> if False:": "what nothing adds up to is 0, and the bias remains",
        _text(
            "PlanValues.form",
            "bias + window_sums(entity, stored.weights[position], self.model.settings.window)",
            "entity, stored.weights[position]",
            "stored.weights[position], entity",
        ): _PRODUCT,
    },
    f"{_SRC}/inference/calibration.py": {
        "module: _DRAWS = 10 -> _DRAWS = 11": "one draw more for the few that are facts all the same",
        _text(
            "Calibration.calibrated_logit",
            "np.interp(raw, self.raw_logits, self.calibrated_logits) + raw"
            " - np.clip(raw, self.raw_logits[0], self.raw_logits[-1])",
            "np.clip(raw, self.raw_logits[0]",
            "np.clip(self.raw_logits[0], raw",
        ): _CLIPPED,
    },
    _EVALUATION: {
        "_: if len(operands) > 1: -> if True:": "the product of one factor is the factor",
        "_: if len(operands) > 1: -> if len(operands) >= 1:": "the product of one factor is the factor",
        _text(
            "_numbered",
            "numbers[order] = np.cumsum(differs_from_previous([column[order] for column in both])) - 1",
            "- 1",
            "+ 1",
        ): "numbers are only compared, and two more of them count no tuple",
        _text("_joined", "int(left_keys.max(initial=-1)) + 1", "+ 1", "+ 2"): "one more key, which no tuple has",
        _text("_joined", "left_keys.max(initial=-1)", "-1", "1"): "more keys, which no tuple has",
    },
}

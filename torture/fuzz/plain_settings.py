"""Settings as people write them: TOML files of specs and experiments, --set and --search."""

from __future__ import annotations

import tomllib

from relatum.runs.experiment import read_experiments
from relatum.runs.spec import Spec, merged
from relatum.settings import change_of
from relatum.tuning.space import read_space
from torture.fuzz.mutations import CHARACTERS
from torture.fuzz.parser import Parser
from torture.fuzz.scratch import holding

__all__ = ["SETTINGS"]

_BASE = Spec("example", dim=20, epochs=3)
_SPECS = (
    _BASE.to_toml(),
    'data = "example"\nseed = 3\nrecipe = "paper"\n\n[model]\nname = "hype"\ndim = 20\n',
    'data = "example"\nseeds = [0, 1, 2]\nensemble = true\n\n[training]\nepochs = 3\nlearning_rate = 0.5\n',
    'data = "../my data"\n[model]\nname = "reale"\n[vary]\n"model.window" = [1, 2, 4]\n',
    'data = "example"\n[model]\nname = "g-mpnn"\n[training]\nrows = "questions"\nbatch_size = 32\n',
)
_SET = (
    *("training.epochs=20", "model.dim=40", "model.window=2", "seed=7", "recipe=paper", "model.name=hype", "data=example"),
    *("training.rows=questions", "training.ema_decay=0.8", "training.patience=5", 'model={name = "rae", dim = 8}'),
    *("training.refit=true", "training.negative_sampling=per-fact", "model.window_dropout=0.5"),
)
_SEARCH = (
    *("training.learning_rate=0.05..1.0 log", "model.window=1,2,4,5", "model.window_dropout=0.0..0.8", "model.dim=10..40"),
    *("training.learning_rate_schedule=linear,cosine", "training.rows=questions,facts", "training.batch_size=8..64 log"),
    *("training.ema_decay=0.5,0.8", "model.window_dropout=0.1,0.5"),
)
_WORDS = (
    "model",
    "training",
    "name",
    "dim",
    "epochs",
    "window",
    "vary",
    "seeds",
    ".",
    " = ",
    "..",
    " log",
    "inf",
    "[[",
    "1_000",
)
_TOKENS = (*CHARACTERS, *_WORDS, "9" * 5000, "1e-400", "0x7f", "2026-01-01", '"""', "'''", "true", "-0")


def _spec(text: str) -> str | None:
    """Both that read it say the same, as far as they both can; a spec that is written is read as the same."""
    path = holding(text.encode(errors="surrogatepass"), ".toml")
    for experiment in read_experiments(path):
        if Spec.from_dict(tomllib.loads(experiment.spec.to_toml())) != experiment.spec:
            return "written as TOML, it is another"
    if not text.count("vary"):
        Spec.read(path)
    return None


def _change(text: str) -> str | None:
    spec = Spec.from_dict(merged({"data": "example"}, change_of(text)))
    return None if Spec.from_dict(tomllib.loads(spec.to_toml())) == spec else "written as TOML, it is another"


def _space(text: str) -> str | None:
    (found,) = read_space([text], _BASE)
    return None if read_space([str(found)], _BASE) == (found,) else f"written as {found}, it is another"


SETTINGS = (
    Parser("TOML of specs and experiments", _SPECS, _TOKENS, _spec),
    Parser("--set", _SET, _TOKENS, _change),
    Parser("--search", _SEARCH, _TOKENS, _space),
)

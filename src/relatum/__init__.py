"""Knowledge hypergraph completion: facts of any arity, the gaps in them, and the algebra of their relations.

The names below are the public ones. They are imported when first used, so that `import relatum`, and with it the command
line, starts at once.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from relatum.version import __version__ as __version__

if TYPE_CHECKING:
    from relatum.api import Run, fit, join, open, resume, undo_fill, update  # noqa: A004
    from relatum.data.hypergraph import Hypergraph, Split, TupleTable
    from relatum.data.known_answers import KnownAnswers
    from relatum.data.schema import RelationSchema, Schema
    from relatum.data.vocabulary import Vocabulary
    from relatum.datasets.load import load, save
    from relatum.datasets.text_lines import Layout
    from relatum.errors import (
        DataError,
        DownloadError,
        FormatError,
        NumericError,
        RelatumError,
        RelatumWarning,
        SettingError,
        StoreError,
        UnknownNameError,
    )
    from relatum.models import MODELS
    from relatum.runs.fills import list_fills
    from relatum.runs.spec import Spec
    from relatum.tables.importer import read

__all__ = [
    "MODELS",
    "DataError",
    "DownloadError",
    "FormatError",
    "Hypergraph",
    "KnownAnswers",
    "Layout",
    "NumericError",
    "RelationSchema",
    "RelatumError",
    "RelatumWarning",
    "Run",
    "Schema",
    "SettingError",
    "Spec",
    "Split",
    "StoreError",
    "TupleTable",
    "UnknownNameError",
    "Vocabulary",
    "fit",
    "join",
    "list_fills",
    "load",
    "open",
    "read",
    "resume",
    "save",
    "undo_fill",
    "update",
]

_HOMES = {
    "relatum.api": ("Run", "fit", "join", "open", "resume", "undo_fill", "update"),
    "relatum.datasets.text_lines": ("Layout",),
    "relatum.data.hypergraph": ("Hypergraph", "Split", "TupleTable"),
    "relatum.data.known_answers": ("KnownAnswers",),
    "relatum.datasets.load": ("load", "save"),
    "relatum.data.schema": ("RelationSchema", "Schema"),
    "relatum.data.vocabulary": ("Vocabulary",),
    "relatum.errors": tuple(name for name in __all__ if name.endswith(("Error", "Warning"))),
    "relatum.tables.importer": ("read",),
    "relatum.models": ("MODELS",),
    "relatum.runs.fills": ("list_fills",),
    "relatum.runs.spec": ("Spec",),
}

# What people may take for a class: models are chosen by name, without their capitals.
_MODELS = "reale hype hsimple mdistmult mcp mtransh rae nalp neuinfer hinge getd gmpnn"

# What people look for under the names that other libraries give it.
_ELSEWHERE = {
    "TrainingSettings": "settings of training are keywords of relatum.fit: relatum.fit(data, epochs=50)",
    "Model": "models are chosen by name: relatum.fit(data, model='reale')",
    "pipeline": "train with relatum.fit(data, model='reale')",
    "train": "train with relatum.fit(data)",
    "predict": "predict with run.predict(), where run = relatum.fit(data) or relatum.open(folder)",
    "evaluate": "evaluate with run.evaluate(), where run = relatum.fit(data) or relatum.open(folder)",
    "load_run": "open a run with relatum.open(folder)",
    "Dataset": "datasets are read with relatum.load(name)",
}


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(home), name)
    raise AttributeError(f"module 'relatum' has no attribute {name!r}{_hint(name)}")


def _hint(name: str) -> str:
    """Return what to say to somebody who looks for a name that is not here."""
    if name.startswith("_"):  # a program asks, not a person
        return ""
    if name in _ELSEWHERE:
        return f"; {_ELSEWHERE[name]}"
    if name.casefold() in _MODELS.split():
        return f"; models are chosen by name: relatum.fit(data, model={name!r})"
    from relatum.errors import nearest_names

    close = nearest_names(name, __all__)
    return f"; did you mean {' or '.join(close)}?" if close else ""


def __dir__() -> list[str]:
    return [*__all__, "__version__"]

"""Knowledge hypergraph completion: facts of any arity, the gaps in them, and the algebra of their relations.

The names below are the public ones. They are imported when first used, so that `import relatum`, and with it the command
line, starts at once.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from relatum.version import __version__ as __version__

if TYPE_CHECKING:
    from relatum.data.hypergraph import Hypergraph, Split, TupleTable
    from relatum.data.known_answers import KnownAnswers
    from relatum.data.schema import RelationSchema, Schema
    from relatum.data.vocabulary import Vocabulary
    from relatum.datasets.load import load, save
    from relatum.datasets.text_format import Layout
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
    from relatum.runs.fit import fit, resume
    from relatum.runs.spec import Spec
    from relatum.runs.trained import Run
    from relatum.runs.update import update
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
    "load",
    "read",
    "resume",
    "save",
    "update",
]

_HOMES = {
    "relatum.datasets.text_format": ("Layout",),
    "relatum.data.hypergraph": ("Hypergraph", "Split", "TupleTable"),
    "relatum.data.known_answers": ("KnownAnswers",),
    "relatum.datasets.load": ("load", "save"),
    "relatum.data.schema": ("RelationSchema", "Schema"),
    "relatum.data.vocabulary": ("Vocabulary",),
    "relatum.errors": (
        "DataError",
        "DownloadError",
        "FormatError",
        "NumericError",
        "RelatumError",
        "RelatumWarning",
        "SettingError",
        "StoreError",
        "UnknownNameError",
    ),
    "relatum.tables.importer": ("read",),
    "relatum.models": ("MODELS",),
    "relatum.runs.fit": ("fit", "resume"),
    "relatum.runs.trained": ("Run",),
    "relatum.runs.spec": ("Spec",),
    "relatum.runs.update": ("update",),
}


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(home), name)
    raise AttributeError(f"module 'relatum' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]

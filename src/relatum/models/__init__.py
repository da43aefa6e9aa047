"""The models: twelve systems behind one scoring contract (`base`), and how their scores are computed (`combine`)."""

from relatum.errors import SettingError, UnknownNameError
from relatum.models.base import Model
from relatum.models.getd import GETD
from relatum.models.gmpnn import GMPNN
from relatum.models.hype import HypE
from relatum.models.nalp import NaLP
from relatum.models.products import MCP, HSimplE, MDistMult
from relatum.models.qualifiers import HINGE, NeuInfer
from relatum.models.reale import ReAlE
from relatum.models.translations import RAE, MTransH
from relatum.settings import folded

__all__ = ["MODELS", "Model", "canonical_name"]


class _Models(dict[str, type[Model]]):
    """The models by name; a name is found whatever its case and hyphens, and an unknown one is answered with the nearest."""

    def __missing__(self, name: object) -> type[Model]:
        return self[canonical_name(name)]


# In the order of the paper's tables; NeuInfer and HINGE, which these do not have, stand behind NaLP.
MODELS: dict[str, type[Model]] = _Models(
    (model.name, model) for model in (MDistMult, MCP, MTransH, RAE, NaLP, NeuInfer, HINGE, GETD, HSimplE, HypE, GMPNN, ReAlE)
)


def canonical_name(name: object) -> str:
    """Return the key in `MODELS` that a name means, whatever its case and hyphens: HypE is hype, m_distmult m-distmult."""
    if isinstance(name, str):
        if name in MODELS:
            return name
        for known in MODELS:
            if folded(known) == folded(name):
                return known
    unknown = UnknownNameError("model", str(name), MODELS)
    raise SettingError("unknown-model", unknown.reason, place="model.name", remedy=unknown.remedy, nearest=unknown.nearest)

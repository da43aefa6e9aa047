"""The models: ten systems behind one scoring contract (`base`), and how their scores are computed (`combine`)."""

from relatum.models.base import Model
from relatum.models.getd import GETD
from relatum.models.gmpnn import GMPNN
from relatum.models.hype import HypE
from relatum.models.nalp import NaLP
from relatum.models.products import MCP, HSimplE, MDistMult
from relatum.models.reale import ReAlE
from relatum.models.translations import RAE, MTransH

__all__ = ["MODELS", "Model"]

MODELS: dict[str, type[Model]] = {
    "reale": ReAlE,
    "m-distmult": MDistMult,
    "m-cp": MCP,
    "hsimple": HSimplE,
    "hype": HypE,
    "m-transh": MTransH,
    "rae": RAE,
    "nalp": NaLP,
    "getd": GETD,
    "g-mpnn": GMPNN,
}

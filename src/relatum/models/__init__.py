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

# In the order of the paper's tables.
MODELS: dict[str, type[Model]] = {
    model.name: model for model in (MDistMult, MCP, MTransH, RAE, NaLP, GETD, HSimplE, HypE, GMPNN, ReAlE)
}

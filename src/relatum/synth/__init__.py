"""The synth room: hypergraphs whose relations are derived by relational algebra, with the expression behind each."""

from relatum.synth.dataset import SynthDataset, save_synth, synthesize
from relatum.synth.erdos_renyi import RandomRelation, random_blocks
from relatum.synth.settings import PRESETS, SynthSettings, find_preset

__all__ = [
    "PRESETS",
    "RandomRelation",
    "SynthDataset",
    "SynthSettings",
    "find_preset",
    "random_blocks",
    "save_synth",
    "synthesize",
]

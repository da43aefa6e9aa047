"""The synth room: hypergraphs whose relations are derived by relational algebra, with the expression behind each."""

from relatum.synth.dataset import SynthDataset, save_synth, synthesize
from relatum.synth.settings import PRESETS, SynthSettings, find_preset

__all__ = ["PRESETS", "SynthDataset", "SynthSettings", "find_preset", "save_synth", "synthesize"]

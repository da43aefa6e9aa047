"""The rows of training for several workers: questions are made by the first of them, and mapped by all from one file.

So the workers of a host have them in memory once.
"""

from __future__ import annotations

from pathlib import Path

from relatum.data.hypergraph import Hypergraph
from relatum.data.questions import map_questions, questions_of, save_questions
from relatum.models.base import Model
from relatum.training.rows import QuestionRows, Rows, rows_of, with_shared_roles
from relatum.training.settings import TrainingSettings
from relatum.workers.group import Group
from relatum.workers.scratch import scratch_folder

__all__ = ["shared_rows"]


def shared_rows(folder: Path, group: Group, model: Model, facts: Hypergraph, settings: TrainingSettings, seed: int) -> Rows:
    """Return the rows that the settings ask for."""
    if settings.rows != "questions":
        return rows_of(model, facts.distinct(), settings, seed)
    path, found = scratch_folder(folder) / "questions.safetensors", list[Rows]()
    group.first_alone(lambda: save_questions(path, questions_of(facts)), "questions")
    group.together(lambda: found.append(QuestionRows(model, map_questions(path), settings, seed)))
    return with_shared_roles(found[0], settings)

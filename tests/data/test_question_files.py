"""Questions from a file are those that were written into it, or an error that names the file."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given

from relatum import FormatError, Hypergraph, Split
from relatum.data.question_files import map_questions, save_questions
from relatum.data.questions import questions_of
from support.strategies import splits


@given(splits)
def test_mapping_what_was_saved_is_the_identity(split: Split) -> None:
    questions = questions_of(split.train)
    with tempfile.TemporaryDirectory() as folder:
        save_questions(Path(folder) / "questions.safetensors", questions)
        found = map_questions(Path(folder) / "questions.safetensors")
        assert len(found) == len(questions)
        for mine, theirs in zip(found, questions, strict=True):
            assert (mine.relation, mine.position) == (theirs.relation, theirs.position)
            for name in ("given", "answers", "starts", "related"):
                array, expected = getattr(mine, name), getattr(theirs, name)
                assert array.dtype == expected.dtype
                assert np.array_equal(array, expected)


def test_they_cannot_be_written_and_a_damaged_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "questions.safetensors"
    save_questions(path, questions_of(Hypergraph.of([("knows", "a", "b"), ("is", "a")])))
    with pytest.raises(ValueError, match="read-only"):
        map_questions(path)[0].answers[0] = 1
    content = path.read_bytes()
    for damaged in (content[:-1], content[:-1] + b"x", b""):
        path.write_bytes(damaged)
        with pytest.raises(FormatError, match=r"questions\.safetensors: missing or damaged"):
            map_questions(path)

"""Labels name the rows of tables: one entity, several that are listed, or none."""

from __future__ import annotations

from dataclasses import replace

import pytest

from relatum.data.labels import Labels
from relatum.data.row_store import RowStore
from relatum.errors import DataError
from support.row_stores import store_of

NAMES = ("Rock", "Jazz", "", "Rock", "Rock", "Rock", "Rock", "Rock")


def labelled(keys: dict[str, list[tuple[str, ...]]] | None = None) -> RowStore:
    """Return genres, some of one name and one without, and tracks, one of which is called like a genre."""
    store = store_of(
        {
            "Genre": {"Id": [str(n) for n in range(8)], "Mood": ["a", "b"] * 4},
            "Track": {"Id": ["0", None], "Genre": ["1", "1"]},
        },
        keys={"Genre": [("Id",)], "Track": [("Id",)]} if keys is None else keys,
        references={"Track": [("Genre", "Genre", "Id")]},
    )
    tables = dict(store.tables)
    tables["Genre"] = replace(tables["Genre"], labels=NAMES)
    tables["Track"] = replace(tables["Track"], labels=("Jazz", "Lost"))
    return replace(store, tables=tables)


def test_an_entity_has_the_label_of_its_row() -> None:
    labels = Labels(labelled())
    assert labels.of("Genre.Id:1") == labels.of("Track.Id:0") == "Jazz"
    assert labels.of("Genre.Id:2") is None  # an empty text is no name
    assert labels.of("Genre.Mood:a") is labels.of("nothing") is None
    assert len(dict(labels.items())) == 8  # seven genres and a track; a row without its key is no entity


def test_a_label_names_the_entities_of_a_column() -> None:
    labels = Labels(labelled())
    assert labels.named("Jazz") == ["Genre.Id:1", "Track.Id:0"]
    assert labels.named("Jazz", "Track.Id:") == ["Track.Id:0"]
    assert labels.entity("Jazz", "Genre.Id:", "genre") == "Genre.Id:1"
    assert labels.entity("Polka", "Genre.Id:", "genre") is labels.entity("", "Genre.Id:", "genre") is None


def test_a_label_of_several_is_refused_with_choices() -> None:
    with pytest.raises(DataError) as refused:
        Labels(labelled()).entity("Rock", "Genre.Id:", "genre")
    assert str(refused.value) == (
        "'Rock' could be any of 6 values of genre: "
        "Genre.Id:0, Genre.Id:3, Genre.Id:4, Genre.Id:5, Genre.Id:6, ...; say which"
    )


def test_without_rows_or_keys_there_are_no_labels() -> None:
    assert dict(Labels(None).items()) == dict(Labels(labelled({})).items()) == {}
    assert Labels(None).named("Rock") == []

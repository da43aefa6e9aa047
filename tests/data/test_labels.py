"""Labels name the rows of tables: one entity, several that are listed, or none."""

from __future__ import annotations

from dataclasses import replace

import pytest

from relatum.data.labels import Labels, named_entity
from relatum.data.row_store import RowStore
from relatum.data.vocabulary import Vocabulary
from relatum.errors import DataError
from support.mistakes import mistake
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


def test_an_entity_has_the_label_of_its_row_and_a_label_names_entities_of_a_column() -> None:
    labels = Labels(labelled())
    assert labels.of("Genre.Id:1") == labels.of("Track.Id:0") == "Jazz"
    assert labels.of("Genre.Id:2") is None  # an empty text is no name
    assert labels.of("Genre.Mood:a") is labels.of("nothing") is None
    assert len(dict(labels.items())) == 8  # seven genres and a track; a row without its key is no entity
    assert labels.named("Jazz") == ["Genre.Id:1", "Track.Id:0"]
    assert labels.named("Jazz", "Track.Id:") == ["Track.Id:0"]


def test_a_name_means_an_entity_by_whole_name_value_or_label() -> None:
    names, labels = Vocabulary(["Genre.Id:1", "Track.Id:0", "Track.Id:1", "tea"]), Labels(labelled())

    def meant(name: str, *types: str, column: str | None = None) -> str:
        return names[named_entity(name, names, labels, types or ("Genre.Id", "Track.Id"), column)]

    genre, track = ("Genre.Id", "genre"), ("Track.Id", "track")
    assert [meant(name) for name in ("tea", "Track.Id:1", "0")] == ["tea", "Track.Id:1", "Track.Id:0"]
    for kind, column in (genre, track):  # a value or a label of one type
        assert [meant(name, kind, column=column) for name in (f"{kind}:1", "1")] == [f"{kind}:1"] * 2
    assert meant("Jazz", "Genre.Id", column="genre") == "Genre.Id:1"
    assert meant("Jazz", "Track.Id", column="track") == "Track.Id:0"
    for code, name, *column in (
        ("ambiguous-name", "1"),
        ("ambiguous-name", "Jazz"),
        ("wrong-entity-type", "Genre.Id:1", *track),
        ("wrong-entity-type", "tea", *genre),
        ("unknown-name", "Jaz", *genre),
        ("unknown-name", "Jaz"),
    ):
        with mistake(code):
            meant(name, *column[:1], column=column[1] if column else None)
    with mistake("unknown-name", nearest=("tea",)):
        named_entity("te", names, Labels(None), ())


def test_a_label_of_several_is_refused_with_choices_and_without_rows_there_are_none() -> None:
    names = Vocabulary([f"Genre.Id:{number}" for number in range(8)])
    with pytest.raises(DataError) as refused:
        named_entity("Rock", names, Labels(labelled()), ["Genre.Id"], "genre")
    assert str(refused.value) == (
        "'Rock' could be any of 6 values of genre:"
        " Genre.Id:0, Genre.Id:3, Genre.Id:4, Genre.Id:5, Genre.Id:6, ...; say which"
    )
    assert dict(Labels(None).items()) == dict(Labels(labelled({})).items()) == {}
    assert Labels(None).named("Rock") == []

"""Ways from a cell to others."""

from __future__ import annotations

import numpy as np
import pytest

from relatum.data.row_store import Bins, TableColumn
from relatum.imputation.paths import Codes, Path, PathReader, order_of, paths_from
from support.mistakes import mistake
from support.row_stores import id_of, store_of

MUSIC = store_of(
    {
        "Album": {"AlbumId": ["1", "2"], "ArtistId": ["a", "b"]},
        "Track": {
            "TrackId": ["1", "2", "3", "4"],
            "AlbumId": ["1", "1", "2", None],
            "Genre": ["rock", None, "jazz", "rock"],
            "Date": ["x", "y", "x", "y"],
            "Date.year": ["2000", "2001", "2000", "2001"],
        },
        "Listed": {"Playlist": ["p", "q", "q", "p", "q"], "TrackId": ["1", "1", "3", "3", "3"]},
    },
    keys={"Album": [("AlbumId",)], "Track": [("TrackId",)], "Listed": [("Playlist", "TrackId")]},
    references={"Track": [("AlbumId", "Album", "AlbumId")], "Listed": [("TrackId", "Track", "TrackId")]},
    parts_of={"Date.year": "Date"},
)


def texts(column: str, table: str = "Track") -> set[str]:
    return {path.text(MUSIC, table) for path in paths_from(MUSIC, table, column)}


def test_paths_lead_everywhere_but_through_the_cell() -> None:
    assert texts("Genre") == {
        "TrackId", "AlbumId", "Date", "Date.year", "AlbumId > Album.ArtistId", "Listed.Playlist",
    }  # fmt: skip
    assert "AlbumId > Album.ArtistId" not in texts("AlbumId")
    assert "Date.year" not in texts("Date")
    assert "TrackId > Track.AlbumId > Album.ArtistId" in texts("Playlist", "Listed")
    assert not any("Track." in text for text in texts("TrackId", "Listed"))
    for path in paths_from(MUSIC, "Track", "Genre"):
        path.check(MUSIC, "Track")


def test_values_at_the_end_of_paths() -> None:
    reader = PathReader(MUSIC, 0)
    cells = reader.seen("Track")
    artist = reader.values(Path("ArtistId", (0,)), "Track", cells, np.arange(4))
    a, b = id_of(MUSIC, "Album.ArtistId:a"), id_of(MUSIC, "Album.ArtistId:b")
    assert artist[:, 0].tolist() == [a, a, b, -1]
    lists = reader.values(Path("Playlist", back=("Listed", 0)), "Track", cells, np.arange(4))
    p, q = id_of(MUSIC, "Listed.Playlist:p"), id_of(MUSIC, "Listed.Playlist:q")
    assert lists.tolist() == [[p, q], [-1, -1], [q, p], [-1, -1]], "the more frequent first, none twice"


def test_new_rows_find_the_same_by_their_cells() -> None:
    reader = PathReader(MUSIC, 0)
    cells = reader.seen("Track")[:, [2, 3]].copy()
    cells[0, :] = -2
    found = reader.values(Path("ArtistId", (0,)), "Track", cells)
    assert found[:, 0].tolist() == [id_of(MUSIC, "Album.ArtistId:b"), -1]
    assert (reader.values(Path("Playlist", back=("Listed", 0)), "Track", cells) == -1).all()


def test_no_path_comes_back_to_the_row_itself() -> None:
    staff = store_of(
        {"Staff": {"Id": ["1", "2"], "Boss": ["1", "1"], "Title": ["head", "clerk"]}},
        keys={"Staff": [("Id",)]},
        references={"Staff": [("Boss", "Staff", "Id")]},
    )
    reader = PathReader(staff, 0)
    titles = reader.values(Path("Title", (0,)), "Staff", reader.seen("Staff"), np.arange(2))
    assert titles[:, 0].tolist() == [-1, id_of(staff, "Staff.Title:head")]
    below = reader.values(Path("Title", back=("Staff", 0)), "Staff", reader.seen("Staff"), np.arange(2))
    assert id_of(staff, "Staff.Title:head") not in below[0]


def test_hidden_cells_are_not_read() -> None:
    store = store_of(
        {"Album": {"AlbumId": ["1"], "ArtistId": ["a"]}, "Track": {"AlbumId": ["1"], "Genre": ["rock"]}},
        keys={"Album": [("AlbumId",)]},
        references={"Track": [("AlbumId", "Album", "AlbumId")]},
        hidden={("Album", "ArtistId"): {0: 2}},
    )
    for most, expected in ((0, -1), (2, id_of(store, "Album.ArtistId:a"))):
        reader = PathReader(store, most)
        assert reader.values(Path("ArtistId", (0,)), "Track", reader.seen("Track"))[0, 0] == expected


def test_a_reference_to_no_single_rows_leads_nowhere() -> None:
    store = store_of(
        {"City": {"Name": ["x", "x", "y"], "Land": ["a", "b", "c"]}, "Shop": {"City": ["x", "y"], "Size": ["1", "2"]}},
        references={"Shop": [("City", "City", "Name")]},
    )
    assert not PathReader(store, 0).leads_somewhere(Path("Land", (0,)), "Shop")


@pytest.mark.parametrize(
    "path",
    [
        Path("None"),
        Path("ArtistId", (3,)),
        Path("Playlist", back=("Listed", 1)),
        Path("Genre", (0,)),
    ],
)
def test_a_path_that_does_not_exist_is_refused(path: Path) -> None:
    with mistake("damaged-file"):
        path.check(MUSIC, "Track")


def test_codes_number_combinations_and_find_their_values() -> None:
    rng = np.random.default_rng(0)
    columns = [rng.integers(-1, 6, 200), rng.integers(-1, 9, 200), rng.integers(-1, 4, 200)]
    codes = Codes(columns)
    seen: dict[tuple[int, ...], int] = {}
    for code, combination in zip(codes.codes.tolist(), zip(*(one.tolist() for one in columns), strict=True), strict=True):
        assert (code < 0) == (min(combination) < 0)
        if code >= 0:
            assert seen.setdefault(combination, code) == code
    assert sorted(seen.values()) == list(range(codes.size))
    np.testing.assert_array_equal(codes.of(columns), codes.codes)
    assert codes.of([np.array([99]), np.array([0]), np.array([0])]).tolist() == [-1]


def test_bins_and_numbers_have_an_order_and_texts_none() -> None:
    store = store_of({"T": {"N": ["9", "10", "-1"], "B": ["0 to 5", "10 to 20", "7"], "S": ["a", "b", "c"]}})
    numbers = np.sort(store["T"].column("N").astype(np.int64))
    found = order_of(store, TableColumn("N", "T.N", "whole"), numbers)
    assert found is not None
    assert [store.names[int(one)] for one in found] == ["T.N:-1", "T.N:9", "T.N:10"]
    bins = Bins(("5", "7"), ("0", "7", "10"), ("5", "7", "20"), ("1", "7", "15"))
    found = order_of(store, TableColumn("B", "T.B", "number", bins=bins), np.sort(store["T"].column("B").astype(np.int64)))
    assert found is not None
    assert [store.names[int(one)] for one in found] == ["T.B:0 to 5", "T.B:7", "T.B:10 to 20"]
    assert order_of(store, TableColumn("S", "T.S", "text"), np.sort(store["T"].column("S").astype(np.int64))) is None

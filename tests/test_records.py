"""A sequence of records shows itself and becomes whatever frame is wanted."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import pytest

from relatum.records import Records, shown

COLUMNS = {"buyer": str, "score": float, "probability": float, "known": bool, "rank": int}


@dataclass(frozen=True)
class Sale:
    """A record as any other."""

    buyer: str
    score: float
    probability: float | None
    known: bool
    rank: int

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


SALES = Records([Sale("alex", 1.5, 0.25, True, 1), Sale("<b>kim</b>", -2.0, None, False, 2)], COLUMNS, "sold(drew, ?, book)")
NONE = Records[Sale]([], COLUMNS, "sold(drew, ?, book)")


def test_it_is_a_sequence() -> None:
    assert len(SALES) == 2
    assert [one.buyer for one in SALES] == ["alex", "<b>kim</b>"]
    assert SALES[-1].rank == 2
    assert SALES[:1] == Records([SALES[0]], COLUMNS)
    assert SALES[:1] != SALES
    assert SALES.to_dicts()[0] == {"buyer": "alex", "score": 1.5, "probability": 0.25, "known": True, "rank": 1}


def test_it_shows_itself_as_a_table_cut_and_counted() -> None:
    assert repr(SALES).splitlines() == [
        "sold(drew, ?, book)",
        "buyer         score  probability  known  rank",
        "----------  -------  -----------  -----  ----",
        "alex         1.5000       25.0 %  yes       1",
        "<b>kim</b>  -2.0000               no        2",
    ]
    assert repr(NONE) == "sold(drew, ?, book): none"
    page = SALES._repr_html_()
    assert "&lt;b&gt;kim&lt;/b&gt;" in page
    assert "<b>" not in page
    many = Records([Sale(f"e{n}", 0.0, None, False, n) for n in range(1020)], COLUMNS)
    assert repr(many).splitlines()[-1] == "... and 1,000 more"
    assert many._repr_html_().count("<tr>") == 21


@pytest.mark.parametrize("name", ["\x1b[2J", "a\nb", "\u202egnp"])
def test_names_do_not_steer_the_terminal(name: str) -> None:
    assert shown("buyer", name).isprintable()


@pytest.mark.everything
@pytest.mark.parametrize("records", [SALES, NONE], ids=["some", "none"])
def test_frames_have_the_columns_and_types_whatever_the_number_of_records(records: Records[Sale]) -> None:
    pandas, polars, arrow = records.to_pandas(), records.to_polars(), records.to_arrow()
    assert list(pandas.columns) == polars.columns == arrow.column_names == list(COLUMNS)
    assert len(pandas) == len(polars) == len(arrow) == len(records)
    assert [str(kind) for kind in pandas.dtypes] == ["string", "float64", "float64", "boolean", "Int64"]
    assert [str(kind) for kind in polars.dtypes] == ["String", "Float64", "Float64", "Boolean", "Int64"]
    assert [str(kind) for kind in arrow.schema.types] == ["string", "double", "double", "bool", "int64"]
    assert arrow.to_pylist() == polars.to_dicts() == records.to_dicts()


@pytest.mark.everything
def test_whoever_speaks_arrow_takes_it_as_it_is() -> None:
    import duckdb
    import pandas
    import polars
    import pyarrow

    if hasattr(pandas.DataFrame, "from_arrow"):  # from 3.0 on
        assert pandas.DataFrame.from_arrow(SALES)["buyer"].tolist() == ["alex", "<b>kim</b>"]
    assert pyarrow.table(SALES).num_rows == 2
    assert polars.DataFrame(SALES).to_dicts() == SALES.to_dicts()
    answers = SALES  # noqa: F841  # DuckDB finds it by its name
    assert duckdb.sql("SELECT buyer FROM answers WHERE known").fetchall() == [("alex",)]

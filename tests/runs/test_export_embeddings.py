"""Embeddings as arrays and as Parquet: each row is that of the name beside it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from relatum import Run, Spec, fit
from relatum.models import MODELS
from relatum.runs.export import save_embeddings
from support.mistakes import mistake


def trained(model: str, folder: Path) -> Run:
    settings = {"name": model, "dim": 12} | ({"window": 3} if model == "reale" else {})
    return fit(Spec.from_dict({"data": "example", "model": settings, "training": {"epochs": 1}}), folder)


@pytest.mark.parametrize("model", MODELS)
def test_arrays_and_parquet_hold_what_scores_are_made_from(model: str, tmp_path: Path) -> None:
    import duckdb

    run = trained(model, tmp_path / "run")
    shapes = save_embeddings(run, tmp_path / "arrays")
    assert save_embeddings(run, tmp_path / "tables", "parquet") == shapes
    assert "entities" in shapes
    assert len(list((tmp_path / "arrays").iterdir())) == 2 * len(shapes)
    for name, shape in shapes.items():
        array = np.load(tmp_path / "arrays" / f"{name}.npy", allow_pickle=False)
        assert (array.shape, array.dtype) == (shape, np.float32)
        assert np.array_equal(array, run.tables[name].numpy(force=True))
        lines = (tmp_path / "arrays" / f"{name}.txt").read_text().split("\n")
        assert lines.pop() == ""
        assert len(lines) == len(array)
        found = duckdb.connect().execute("FROM read_parquet(?)", [str(tmp_path / "tables" / f"{name}.parquet")])
        columns = [column[0] for column in found.description or ()]
        rows = found.fetchall()
        assert columns == (["name", "vector"] if len(columns) == 2 else ["name", "position", "vector"])
        assert ["\t".join(map(str, row[:-1])) for row in rows] == lines
        assert np.array_equal(np.array([row[-1] for row in rows], np.float32), array.reshape(len(array), -1))
    assert (tmp_path / "arrays" / "entities.txt").read_text().split("\n")[:-1] == list(run.model.graph.entities)


def test_scores_can_be_made_from_what_is_written(tmp_path: Path) -> None:
    run = trained("reale", tmp_path / "run")
    run.define("given", "permute[1, 0, 2](sold)")
    save_embeddings(run, tmp_path / "out")
    tables = {path.stem: np.load(path) for path in (tmp_path / "out").glob("*.npy")}
    rows = {path.stem: path.read_text().splitlines() for path in (tmp_path / "out").glob("*.txt")}
    for relation, fact in (("sold", ("drew", "alex", "book")), ("given", ("alex", "drew", "book"))):
        weights = [tables["relations"][rows["relations"].index(f"{relation}\t{place}")] for place in range(3)]
        entities = [tables["entities"][rows["entities"].index(name)] for name in fact]
        sums = sum(w * e for w, e in zip(weights, entities, strict=True)).reshape(-1, 3).sum(1)  # type: ignore[union-attr]
        inside = tables["bias"][rows["bias"].index(relation)] + sums
        score = len(inside) * np.mean(1 / (1 + np.exp(-inside)))
        assert score == pytest.approx(run.score(f"{relation}({', '.join(fact)})").score, rel=1e-5)


def test_a_directory_is_made_as_a_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = trained("reale", tmp_path / "run")
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "file").touch()
    with mistake("directory-not-empty"):
        save_embeddings(run, tmp_path / "taken")
    with mistake("unknown-name"):
        save_embeddings(run, tmp_path / "out", "npz")

    def interrupted(*arguments: object, **options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(np, "save", interrupted)
    with pytest.raises(KeyboardInterrupt):
        save_embeddings(run, tmp_path / "out")
    monkeypatch.undo()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run", "taken"]
    (tmp_path / "empty").mkdir()
    assert save_embeddings(run, tmp_path / "empty")["entities"] == (15, 12)

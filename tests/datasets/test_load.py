"""Loading by name, directory or file; the cache behind it; saving."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import given

from relatum import Layout, RelationSchema, Split, load, save
from relatum.datasets.registry import DATASETS
from support.mistakes import mistake
from support.strategies import splits


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "train.txt").write_text("sold\tdrew\talex\tbook\nsold\tmike\tsam\ttv\n")
    (folder / "test.tsv").write_text("sold\tdrew\tsam\ttv\n")
    return folder


def copies(cache: Path) -> list[Path]:
    return sorted((cache / "processed").glob("*.safetensors"))


def test_the_example_is_always_there() -> None:
    split = load("example")
    assert ("sold", "drew", "alex", "book") in set(split.train)
    assert ("bought", "alex", "drew", "book") in set(split.test)
    assert split.schema["sold"] == RelationSchema("sold", 3, ("seller", "buyer", "item"))
    assert split.train.table("buyer").column("item").tolist() == split.train.table("buyer").columns[1].tolist()


def test_a_directory_may_lack_valid_and_test(shop: Path) -> None:
    split = load(shop)
    assert [len(graph) for graph in split.parts.values()] == [2, 0, 1]
    assert split.source == str(shop)
    (shop / "test.tsv").unlink()
    assert len(load(shop).test) == 0
    assert len(load(shop / "train.txt").train) == 2


def test_the_second_load_takes_the_copy(shop: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = load(shop)
    assert len(copies(cache)) == 1
    monkeypatch.delattr("relatum.datasets.load._read")
    assert load(shop) == first


def test_a_changed_file_is_read_again_even_with_the_same_time_and_size(shop: Path, cache: Path) -> None:
    load(shop)
    before = (shop / "train.txt").stat()
    (shop / "train.txt").write_text("sold\tdrew\talex\tbook\nsold\tmike\tsam\tpc\n")
    os.utime(shop / "train.txt", ns=(before.st_atime_ns, before.st_mtime_ns))
    assert (shop / "train.txt").stat().st_size == before.st_size
    assert "pc" in load(shop).entities
    assert len(copies(cache)) == 1


def test_a_damaged_copy_is_made_again(shop: Path, cache: Path) -> None:
    split = load(shop)
    (copy,) = copies(cache)
    content = copy.read_bytes()
    copy.write_bytes(content[:-1])
    assert load(shop) == split
    assert copy.read_bytes() == content


def test_another_layout_has_a_copy_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "train.txt").write_text("a\tb\tc\n")
    assert list(load(tmp_path).train) == [("a", "b", "c")]
    assert list(load(tmp_path, layouts={"train": Layout(relation_column=1)}).train) == [("b", "a", "c")]
    assert list(load(tmp_path).train) == [("a", "b", "c")]


def test_loading_works_without_copies_or_a_place_for_them(
    shop: Path, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert len(load(shop, use_cache=False).train) == 2
    assert not copies(cache)
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("RELATUM_CACHE", str(tmp_path / "file" / "no"))
    assert len(load(shop).train) == 2


def test_skipped_lines_are_remembered_by_the_copy(shop: Path) -> None:
    (shop / "train.txt").write_text("sold\tdrew\talex\tbook\nmodel\n")
    with mistake("no-entities"):
        load(shop)
    for _ in range(2):
        assert load(shop, skip_bad=True).skipped == ("train.txt:2: relation 'model' has no entities",)


@pytest.mark.parametrize(
    ("source", "code"),
    [
        ("jf17", "unknown-name"),
        ("zzz", "no-such-file"),
        ("./jf17k", "no-such-file"),
        (Path("jf17"), "no-such-file"),
        ("no.txt", "no-such-file"),
    ],
)
def test_what_is_not_there_is_said(source: str | Path, code: str) -> None:
    with mistake(code):
        load(source)


def test_a_directory_needs_one_train_file(tmp_path: Path, shop: Path) -> None:
    with mistake("no-train-file"):
        load(tmp_path)
    (shop / "train.tsv").write_text("")
    with mistake("two-train-files"):
        load(shop)


@given(splits)
def test_what_is_saved_is_loaded(split: Split) -> None:
    if not len(split.train):
        return
    with tempfile.TemporaryDirectory() as folder:
        for compress in (False, True):
            save(split, Path(folder) / str(compress), compress=compress)
            back = load(Path(folder) / str(compress), use_cache=False)
            for part, graph in split.parts.items():
                assert list(back.parts[part]) == list(graph)


def test_saving_twice_gives_the_same_bytes_and_never_overwrites(tmp_path: Path) -> None:
    split = load("example")
    for name in ("a", "b"):
        save(split, tmp_path / name, compress=True)
    for file in (tmp_path / "a").iterdir():
        assert file.read_bytes() == (tmp_path / "b" / file.name).read_bytes()
    with mistake("directory-not-empty"):
        save(split, tmp_path / "a")


@pytest.mark.parametrize("name", DATASETS)
def test_published_datasets_have_the_published_counts(name: str, benchmark_data: Path, tmp_path: Path) -> None:
    dataset = DATASETS[name]
    split = load(name)  # which compares the counts with the registry's
    assert len(split.train) == dataset.counts[2]
    if dataset.files:  # the same files under another name are recognised
        shutil.copytree(benchmark_data / dataset.folder, tmp_path / "mine")
        assert load(tmp_path / "mine") == split

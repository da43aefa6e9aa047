"""The registry of public datasets, and where their files are found: the user's folder, the cache, a real server."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from relatum.datasets.registry import DATASETS, PARTS, Dataset, find_dataset, locate, recognise
from relatum.errors import DownloadError, UnknownNameError
from support.loopback import Handler, Server, member, pack, remote, status, tree, whole
from support.mistakes import mistake

FILES = {"train.txt": b"likes\tann\tbob\n" * 9, "valid.txt": b"likes\tbob\tann\n", "test.txt": b"likes\tbob\tbob\n"}
PUBLISHED = [dataset for dataset in DATASETS.values() if dataset.name != "example"]


def make_dataset(urls: dict[str, str]) -> Dataset:
    """Return a dataset that publishes `FILES` at these URLs."""
    files = tuple(remote(urls[name], content, name) for name, content in FILES.items())
    return replace(DATASETS["example"], name="tiny", home="https://example.org/tiny", files=files)


def fill(folder: Path) -> Path:
    """Put the published files into `folder`."""
    folder.mkdir(parents=True)
    for name, content in FILES.items():
        (folder / name).write_bytes(content)
    return folder


@pytest.fixture
def tiny(server: Server) -> Dataset:
    """Return a dataset whose files are on the server, one of them in an archive."""
    packed = pack([member(f"data/{name}", content) for name, content in FILES.items()])
    urls = {name: server.at(f"/{name}", whole(content)) for name, content in FILES.items()}
    return make_dataset({**urls, "valid.txt": server.at("/tiny.tar.gz", whole(packed))})


# The registry


@pytest.mark.parametrize("dataset", PUBLISHED, ids=lambda dataset: dataset.name)
def test_every_dataset_is_pinned_complete_and_recognised_by_its_checksums(dataset: Dataset) -> None:
    for file in dataset.files:
        assert re.fullmatch(r"https://[^/]+/[^/]+/[^/]+/[0-9a-f]{40}/[^?#]+", file.url)
        assert re.fullmatch(r"[0-9a-f]{64} [a-z-]+\.txt", f"{file.sha256} {file.name}")
        assert file.in_archive or file.url.endswith(f"/{file.name}")
    checksums = {file.name.removesuffix(".txt"): file.sha256 for file in dataset.files}
    assert set(dataset.layouts) <= set(PARTS) <= set(checksums)
    assert recognise(checksums) is dataset
    assert all(recognise(checksums | {part: "0" * 64}) is None for part in PARTS)


def test_a_dataset_is_found_in_any_case_and_a_typo_answered_with_the_nearest_name() -> None:
    assert find_dataset("jf17k") is find_dataset("JF17K") is DATASETS["jf17k"]
    for typo, meant in (("JF-17K", "jf17k"), ("fbauto", "fb-auto"), ("exmaple", "example")):
        with pytest.raises(UnknownNameError) as caught:
            find_dataset(typo)
        assert caught.value.nearest[0] == meant


def test_the_example_is_built_in(cache: Path) -> None:
    folder = locate(DATASETS["example"])
    assert all((folder / f"{part}.txt").is_file() for part in PARTS)
    assert list(cache.iterdir()) == []


# The user's own folder


def test_the_users_folder_is_preferred_and_nothing_is_written(
    server: Server, tiny: Dataset, tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = fill(tmp_path / "TINY")
    monkeypatch.setenv("RELATUM_DATA", str(tmp_path))
    assert locate(tiny) == mine
    assert server.requests == list(cache.iterdir()) == []
    assert tree(mine) == FILES


@pytest.mark.parametrize("content", [FILES["test.txt"].replace(b"bob", b"eve"), FILES["test.txt"] * 2, None])
def test_a_changed_file_in_the_users_folder_is_refused_by_name(
    server: Server, tiny: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes | None
) -> None:
    path = fill(tmp_path / "TINY") / "test.txt"
    path.unlink() if content is None else path.write_bytes(content)
    before = tree(tmp_path)
    monkeypatch.setenv("RELATUM_DATA", str(tmp_path))
    with mistake("not-as-published"):
        locate(tiny)
    assert (server.requests, tree(tmp_path)) == ([], before)


# The cache and the server


def test_what_is_nowhere_is_downloaded_into_the_cache_once(
    server: Server, tiny: Dataset, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RELATUM_DATA", str(tmp_path))  # where the dataset is not
    folder = locate(tiny)
    assert folder == cache / "raw" / "TINY"
    assert tree(folder) == FILES
    assert sorted(server.requests) == ["/test.txt", "/tiny.tar.gz", "/train.txt"]
    assert locate(tiny) == folder
    assert len(server.requests) == 3
    assert list(tmp_path.iterdir()) == []


def test_only_what_is_missing_or_damaged_is_fetched_again_and_what_killed_processes_left_is_removed(
    server: Server, tiny: Dataset, cache: Path
) -> None:
    folder = fill(cache / "raw" / "TINY")
    (folder / "test.txt").write_bytes(FILES["test.txt"][:-1] + b"x")
    (folder / "valid.txt").unlink()
    (folder / "tmpabcdefgh").write_bytes(b"half")
    (folder / "tmpijklmnop").mkdir()
    untouched = (folder / "train.txt").stat().st_mtime_ns
    assert tree(locate(tiny)) == FILES
    assert (folder / "train.txt").stat().st_mtime_ns == untouched
    assert sorted(server.requests) == ["/test.txt", "/tiny.tar.gz"]


def test_what_cannot_be_fetched_is_one_line_that_says_where_to_put_the_files(
    server: Server, tiny: Dataset, cache: Path
) -> None:
    folder = cache / "raw" / "TINY"
    for path, answer in (("/test.txt", status(404)), ("/tiny.tar.gz", whole(b"no archive"))):
        server.at(path, answer)
        with pytest.raises(DownloadError) as caught:
            locate(tiny)
        assert str(caught.value).endswith(f". To work offline, put the files of {tiny.home} into {folder}")
        assert str(caught.value).isprintable()
    for name in ("valid.txt", "test.txt"):  # train.txt did arrive
        (folder / name).write_bytes(FILES[name])
    assert tree(locate(tiny)) == FILES


# Many at a time

_CHILD = """
import sys
from pathlib import Path
from relatum.datasets.registry import DATASETS, locate
from support.loopback import remote
from datasets.test_registry import make_dataset
locate(make_dataset(dict(zip(("train.txt", "valid.txt", "test.txt"), sys.argv[1:]))))
"""


def test_threads_and_processes_that_come_together_fetch_each_file_once(server: Server, cache: Path) -> None:
    def slowly(handler: Handler) -> None:
        time.sleep(0.2)
        whole(FILES[handler.path.removeprefix("/")])(handler)

    dataset = make_dataset({name: server.at(f"/{name}", slowly) for name in FILES})
    together = threading.Barrier(3)
    command = [sys.executable, "-c", _CHILD, *(file.url for file in dataset.files)]

    def come(_: int) -> Path:
        together.wait()
        return locate(dataset)

    with subprocess.Popen(command, cwd=Path(__file__).parents[1]) as child, ThreadPoolExecutor(3) as pool:
        folders = set(pool.map(come, range(3)))
    assert child.returncode == 0
    assert folders == {cache / "raw" / "TINY"}
    assert tree(folders.pop()) == FILES
    assert sorted(server.requests) == ["/test.txt", "/train.txt", "/valid.txt"]

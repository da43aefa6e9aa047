"""The registry of public datasets, and where their files are found: the user's folder, the cache, a real server."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from relatum.datasets.registry import DATASETS, PARTS, Dataset, find_dataset, locate, recognise
from relatum.errors import DataError, DownloadError, UnknownNameError
from support.loopback import Answer, Handler, Server, files_of, nobody_listening, ranged, remote, status, tree, whole

FILES = {"train.txt": b"likes\tann\tbob\n" * 9, "valid.txt": b"likes\tbob\tann\n", "test.txt": b"likes\tbob\tbob\n"}
PUBLISHED = [dataset for dataset in DATASETS.values() if dataset.name != "example"]

published = pytest.mark.parametrize("dataset", PUBLISHED, ids=lambda dataset: dataset.name)
registered = pytest.mark.parametrize("dataset", DATASETS.values(), ids=lambda dataset: dataset.name)


def make_dataset(urls: dict[str, str]) -> Dataset:
    """Return a dataset that publishes `FILES` at these URLs."""
    return Dataset(
        name="tiny",
        folder="TINY",
        about="three small files",
        counts=(2, 1, 9, 1, 1),
        licence="none",
        cite="nobody",
        home="https://example.org/tiny",
        files=tuple(remote(urls[name], content, name) for name, content in FILES.items()),
    )


def fill(folder: Path) -> Path:
    """Put the published files into `folder`."""
    folder.mkdir(parents=True)
    for name, content in FILES.items():
        (folder / name).write_bytes(content)
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture(autouse=True)
def no_data_of_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RELATUM_DATA", raising=False)


@pytest.fixture
def tiny(server: Server) -> Dataset:
    """Return a dataset whose files are on the server."""
    return make_dataset({name: server.at(f"/{name}", ranged(content)) for name, content in FILES.items()})


@pytest.fixture
def packed(server: Server) -> Dataset:
    """Return a dataset whose files are in one archive on the server."""
    url = server.at("/tiny.tar.gz", whole(files_of(*((f"data/{name}", FILES[name]) for name in FILES))))
    return make_dataset(dict.fromkeys(FILES, url))


# The registry


@published
def test_every_file_is_fetched_by_https_from_a_pinned_revision(dataset: Dataset) -> None:
    for file in dataset.files:
        assert re.fullmatch(r"https://[^/]+/[^/]+/[^/]+/[0-9a-f]{40}/[^?#]+", file.url)


@published
def test_every_file_has_a_checksum_a_size_and_a_plain_name(dataset: Dataset) -> None:
    for file in dataset.files:
        assert re.fullmatch(r"[0-9a-f]{64}", file.sha256)
        assert file.size > 0
        assert re.fullmatch(r"[a-z-]+\.txt", file.name)
        assert file.in_archive or file.url.endswith(f"/{file.name}")


@published
def test_every_dataset_has_train_valid_and_test(dataset: Dataset) -> None:
    names = [file.name for file in dataset.files]
    assert {f"{part}.txt" for part in PARTS} <= set(names)
    assert len(set(names)) == len(names)
    assert set(dataset.layouts) <= set(PARTS)


@registered
def test_every_dataset_says_what_it_is_and_whom_to_thank(dataset: Dataset) -> None:
    assert dataset.about
    assert dataset.licence
    assert dataset.cite
    assert dataset.home
    assert all(count > 0 for count in dataset.counts)


def test_names_are_small_and_folders_do_not_clash() -> None:
    assert all(name == dataset.name == name.lower() for name, dataset in DATASETS.items())
    assert len({dataset.folder.lower() for dataset in DATASETS.values()}) == len(DATASETS)


def test_no_two_files_of_the_registry_are_the_same() -> None:
    checksums = [file.sha256 for dataset in PUBLISHED for file in dataset.files]
    assert len(set(checksums)) == len(checksums)


def test_the_example_is_built_in(cache: Path) -> None:
    example = DATASETS["example"]
    assert example.files == ()
    folder = locate(example)
    assert all((folder / f"{part}.txt").is_file() for part in PARTS)
    assert list(cache.iterdir()) == []


@registered
def test_a_dataset_is_found_in_any_case(dataset: Dataset) -> None:
    assert find_dataset(dataset.name) is dataset
    assert find_dataset(dataset.name.upper()) is dataset
    assert find_dataset(dataset.name.title()) is dataset


@pytest.mark.parametrize(
    ("typo", "meant"),
    [("jf17", "jf17k"), ("JF-17K", "jf17k"), ("fbauto", "fb-auto"), ("wn18r", "wn18rr"), ("exmaple", "example")],
)
def test_a_typo_is_answered_with_the_nearest_name(typo: str, meant: str) -> None:
    with pytest.raises(UnknownNameError, match=f"did you mean '{meant}'") as caught:
        find_dataset(typo)
    assert caught.value.nearest[0] == meant


def test_a_name_like_no_other_is_answered_with_all_of_them() -> None:
    with pytest.raises(UnknownNameError) as caught:
        find_dataset("zzz")
    assert all(name in str(caught.value) for name in DATASETS)


@published
def test_a_dataset_is_recognised_by_its_checksums(dataset: Dataset) -> None:
    checksums = {file.name.removesuffix(".txt"): file.sha256 for file in dataset.files}
    assert recognise(checksums) is dataset
    assert recognise({part: checksums[part] for part in PARTS}) is dataset


@published
@pytest.mark.parametrize("part", PARTS)
def test_a_dataset_with_one_file_changed_is_not_recognised(dataset: Dataset, part: str) -> None:
    checksums = {file.name.removesuffix(".txt"): file.sha256 for file in dataset.files}
    assert recognise(checksums | {part: "0" * 64}) is None
    del checksums[part]
    assert recognise(checksums) is None


def test_parts_of_two_datasets_are_not_recognised() -> None:
    sums = [{file.name.removesuffix(".txt"): file.sha256 for file in dataset.files} for dataset in PUBLISHED[:2]]
    assert recognise({**sums[0], "test": sums[1]["test"]}) is None


def test_nothing_is_not_recognised_as_the_example() -> None:
    assert recognise({}) is None


# The user's own folder


def test_the_users_folder_is_preferred(
    server: Server, tiny: Dataset, tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(cache / "raw" / "TINY")
    mine = fill(tmp_path / "mine" / "TINY")
    monkeypatch.setenv("RELATUM_DATA", str(tmp_path / "mine"))
    assert locate(tiny) == mine
    assert server.requests == []
    assert contents(mine) == FILES


def test_nothing_is_written_when_the_users_folder_has_the_files(
    tiny: Dataset, tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(tmp_path / "TINY")
    monkeypatch.setenv("RELATUM_DATA", str(tmp_path))
    locate(tiny)
    assert list(cache.iterdir()) == []


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("harm", ["same length", "longer", "missing"])
def test_a_changed_file_in_the_users_folder_is_refused_by_name(
    server: Server, tiny: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, harm: str
) -> None:
    path = fill(tmp_path / "TINY") / name
    if harm == "missing":
        path.unlink()
    else:
        path.write_bytes(FILES[name].replace(b"bob", b"eve" if harm == "same length" else b"robert"))
    before = contents(path.parent)
    monkeypatch.setenv("RELATUM_DATA", str(tmp_path))
    with pytest.raises(DataError, match=re.escape(str(path))):
        locate(tiny)
    assert server.requests == []
    assert contents(path.parent) == before


def test_a_users_folder_without_the_dataset_is_passed_over(
    tiny: Dataset, tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RELATUM_DATA", str(tmp_path))
    assert locate(tiny) == cache / "raw" / "TINY"
    assert list(tmp_path.iterdir()) == []


# The cache and the server


def test_files_in_the_cache_are_used_without_a_request(server: Server, tiny: Dataset, cache: Path) -> None:
    folder = fill(cache / "raw" / "TINY")
    assert locate(tiny) == folder
    assert server.requests == []


def test_a_cache_that_cannot_be_written_is_used_when_it_is_intact(tiny: Dataset, cache: Path) -> None:
    folder = fill(cache / "raw" / "TINY")
    closed = [folder, folder.parent, cache]
    before = tree(cache)
    try:
        for path in closed:
            path.chmod(0o555)
        assert locate(tiny) == folder
    finally:
        for path in closed:
            path.chmod(0o755)
    assert tree(cache) == before  # which says it for root as well, whom no mode stops


def test_what_is_nowhere_is_downloaded_into_the_cache(server: Server, tiny: Dataset, cache: Path) -> None:
    folder = locate(tiny)
    assert folder == cache / "raw" / "TINY"
    assert contents(folder) == FILES
    assert sorted(path for path, _ in server.requests) == sorted(f"/{name}" for name in FILES)


def test_an_archive_is_fetched_once_for_all_its_files(server: Server, packed: Dataset, cache: Path) -> None:
    folder = locate(packed)
    assert contents(folder) == FILES
    assert server.requests == [("/tiny.tar.gz", None)]


def test_files_can_come_from_an_archive_and_from_beside_it(server: Server, tiny: Dataset, packed: Dataset) -> None:
    mixed = replace(tiny, files=(tiny.files[0], *packed.files[1:]))
    assert contents(locate(mixed)) == FILES
    assert sorted(path for path, _ in server.requests) == ["/tiny.tar.gz", "/train.txt"]


@pytest.mark.parametrize("form", ["tiny", "packed"])
def test_the_second_time_makes_no_request(server: Server, request: pytest.FixtureRequest, form: str) -> None:
    dataset = request.getfixturevalue(form)
    folder = locate(dataset)
    server.requests.clear()
    assert locate(dataset) == folder
    assert server.requests == []


@pytest.mark.parametrize("name", FILES)
def test_a_corrupted_file_in_the_cache_is_fetched_again(server: Server, tiny: Dataset, name: str) -> None:
    folder = locate(tiny)
    (folder / name).write_bytes(FILES[name][:-1] + b"x")
    server.requests.clear()
    assert contents(locate(tiny)) == FILES
    assert server.requests == [(f"/{name}", None)]


def test_a_file_from_an_archive_that_was_corrupted_is_unpacked_again(server: Server, packed: Dataset) -> None:
    folder = locate(packed)
    (folder / "valid.txt").unlink()
    (folder / "test.txt").write_bytes(b"")
    untouched = (folder / "train.txt").stat().st_mtime_ns
    assert contents(locate(packed)) == FILES
    assert (folder / "train.txt").stat().st_mtime_ns == untouched
    assert len(server.requests) == 2


def test_files_that_did_arrive_are_kept_when_another_fails(server: Server, tiny: Dataset) -> None:
    server.at("/test.txt", status(404))
    with pytest.raises(DownloadError, match="404"):
        locate(tiny)
    server.requests.clear()
    server.at("/test.txt", whole(FILES["test.txt"]))
    assert contents(locate(tiny)) == FILES
    assert server.requests == [("/test.txt", None)]


def test_without_a_network_the_message_says_where_to_put_the_files(server: Server, cache: Path) -> None:
    with nobody_listening() as url:
        dataset = make_dataset(dict.fromkeys(FILES, url))
        with pytest.raises(DownloadError) as caught:
            locate(dataset)
        folder = cache / "raw" / "TINY"
        assert str(folder) in str(caught.value)
        assert dataset.home in str(caught.value)
        for name, content in FILES.items():
            (folder / name).write_bytes(content)
        assert locate(dataset) == folder


def test_a_damaged_archive_says_where_to_put_the_files_too(server: Server, packed: Dataset, cache: Path) -> None:
    server.at("/tiny.tar.gz", whole(b"not an archive"))
    with pytest.raises(DownloadError, match=re.escape(str(cache / "raw" / "TINY"))):
        locate(packed)


# Many at a time


def slowly(answer: Answer) -> Answer:
    """Answer after a moment, long enough for someone else to come along."""

    def later(handler: Handler) -> None:
        time.sleep(0.05)
        answer(handler)

    return later


def slow_dataset(server: Server) -> Dataset:
    return make_dataset({name: server.at(f"/{name}", slowly(whole(content))) for name, content in FILES.items()})


def test_threads_that_come_together_fetch_each_file_once(server: Server, cache: Path) -> None:
    dataset = slow_dataset(server)
    together = threading.Barrier(4)

    def come() -> Path:
        together.wait()
        return locate(dataset)

    with ThreadPoolExecutor(4) as pool:
        folders = [arrived.result() for arrived in [pool.submit(come) for _ in range(4)]]
    assert set(folders) == {cache / "raw" / "TINY"}
    assert contents(folders[0]) == FILES
    assert sorted(path for path, _ in server.requests) == sorted(f"/{name}" for name in FILES)


_CHILD = """
import json, sys
from relatum.datasets.registry import Dataset, locate
from relatum.datasets.download import RemoteFile

facts = json.loads(sys.argv[1])
dataset = Dataset(**facts | {"files": tuple(RemoteFile(**file) for file in facts["files"])})
print("ready", flush=True)
sys.stdin.readline()
print(locate(dataset))
"""


def test_processes_that_come_together_fetch_each_file_once(server: Server, cache: Path) -> None:
    facts = json.dumps(asdict(slow_dataset(server)))
    command = [sys.executable, "-c", _CHILD, facts]
    children = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    try:
        for child in children:
            assert child.stdout is not None
            assert child.stdout.readline() == "ready\n"
        for child in children:
            assert child.stdin is not None
            child.stdin.write("go\n")
            child.stdin.flush()
        answers = [child.communicate(timeout=30) for child in children]
    finally:
        for child in children:
            child.kill()
            child.communicate()
    assert answers == [(f"{cache / 'raw' / 'TINY'}\n", "")] * 2
    assert contents(cache / "raw" / "TINY") == FILES
    assert sorted(path for path, _ in server.requests) == sorted(f"/{name}" for name in FILES)

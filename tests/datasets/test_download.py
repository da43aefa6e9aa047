"""Fetching from a real server on this machine that cuts, lies, hangs and redirects, and archives that mean harm."""

from __future__ import annotations

import contextlib
import gzip
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from relatum.datasets.download import _RETRIES, RemoteFile, download, unpack
from relatum.errors import DownloadError
from support.loopback import CONTENT, Answer, Server, hanging, member, pack, pouring, raw, remote, status, tree, whole

TRAIN, VALID = b"likes\tann\tbob\n" * 30, b"likes\tbob\tann\n" * 20
EVE = TRAIN.replace(b"ann", b"eve")
REDIRECTED = b"HTTP/1.1 302 there\r\nContent-Length: 0\r\nLocation: "


def refused(bring: Callable[[], None], url: str) -> str:
    """Return the message of what must fail, which is one clean line that names the URL."""
    with pytest.raises(DownloadError) as caught:
        bring()
    text = str(caught.value)
    assert url in text
    assert text.isprintable()  # no control characters, so no second line either
    return text


@pytest.mark.parametrize(
    "before",
    [
        (),
        (status(503), status(429)),
        (whole(CONTENT[:1000], len(CONTENT)),),  # cut
        (whole(CONTENT[:-1] + b"x"),),
        (hanging, raw(b"220 ftp ready\r\n")),
        (status(301, "/new.txt"),),
    ],
    ids=["at once", "busy", "cut", "wrong", "hanging", "moved"],
)
def test_a_file_arrives_whole_in_the_end(server: Server, tmp_path: Path, before: tuple[Answer, ...]) -> None:
    (tmp_path / "train.txt").write_bytes(b"old")
    server.at("/new.txt", whole(CONTENT))
    download(remote(server.at("/train.txt", *before, whole(CONTENT))), tmp_path)
    assert tree(tmp_path) == {"train.txt": CONTENT}
    assert len(server.requests) == len(before) + 1


@pytest.mark.parametrize(
    ("answer", "reason", "requests"),
    [
        (status(404), "404", 1),
        (status(500), "500", 1 + _RETRIES),
        (whole(CONTENT[:-1] + b"x"), "hash", 1 + _RETRIES),
        (whole(CONTENT + b"more"), "longer than the 204,800 bytes", 1),
        (pouring, "longer than the 204,800 bytes", 1),
        (hanging, "timed out", 1 + _RETRIES),
        (raw(REDIRECTED + b"file:///etc/passwd\r\n\r\n"), "file:", None),
        (raw(b"HTTP/1.1 404 \x1b[2J\x07\x9b gone\r\n\r\n"), "404", 1),
        (raw(b"\0" * 100), "", None),
        (raw(b"HTTP/1.1 200 fine\r\nTransfer-Encoding: chunked\r\n\r\nbanana\r\n"), "", None),
        (raw(b"HTTP/1.1 200 fine\r\nContent-Encoding: gzip\r\n\r\n" + gzip.compress(bytes(1 << 24))), "longer", 1),
    ],
)
def test_what_fails_is_one_line_and_leaves_what_was_there(
    server: Server, tmp_path: Path, answer: Answer, reason: str, requests: int | None
) -> None:
    (tmp_path / "train.txt").write_bytes(b"old")
    file = remote(server.at("/train.txt", answer))
    assert reason in refused(lambda: download(file, tmp_path), file.url)
    assert tree(tmp_path) == {"train.txt": b"old"}
    assert requests in (None, len(server.requests))


def test_who_interrupts_a_download_keeps_nothing_of_it(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    @contextlib.contextmanager
    def interrupted(*_: object) -> Iterator[Callable[[int], None]]:
        yield interrupt

    def interrupt(_: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("relatum.datasets.download.progress", interrupted)  # after the first piece
    with pytest.raises(KeyboardInterrupt):
        download(remote(server.at("/train.txt", whole(CONTENT))), tmp_path)
    with pytest.raises(KeyboardInterrupt):
        unpack(server.at("/data.tar.gz", whole(CONTENT)), [], tmp_path)
    assert tree(tmp_path) == {}


# Archives


@pytest.fixture
def wanted() -> tuple[RemoteFile, RemoteFile]:
    return remote("", TRAIN, "train.txt"), remote("", VALID, "valid.txt")


@pytest.mark.parametrize("base", ["", "./", "a/b/c/", "../../", "/tmp/"])  # noqa: S108
def test_files_are_taken_by_base_name_and_checksum(
    server: Server, tmp_path: Path, wanted: tuple[RemoteFile, ...], base: str
) -> None:
    folder = tmp_path / "a" / "b"
    folder.mkdir(parents=True)
    lead_away = member(f"{base}train.txt", TRAIN, tarfile.SYMTYPE, "../evil.txt")
    contents = {"readme.md": b"hello", f"{base}valid.txt": VALID, "old/train.txt": EVE, f"{base}train.txt": TRAIN}
    packed = pack([lead_away, *(member(*each) for each in contents.items()), member("new/train.txt", EVE)])
    unpack(server.at("/data.tar.gz", whole(packed[:50], len(packed)), whole(packed)), wanted, folder)
    assert tree(tmp_path) == {"a": None, "a/b": None, "a/b/train.txt": TRAIN, "a/b/valid.txt": VALID}


KINDS = (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE)
HOSTILE: dict[str, tuple[bytes, tuple[str, ...]]] = {
    "nothing": (b"", ()),
    "no archive": (b"<html>rate limited</html>", ()),
    "gzip without end": (b"\x1f\x8b", ()),
    "unpacks to too much": (gzip.compress(bytes(1 << 21), 1), ()),
    "too much": (bytes((1 << 20) + 1), ()),
    "wrong content": (pack([member("train.txt", EVE), member("valid.txt", VALID)]), ("valid.txt",)),
    **{
        f"no file {kind!r}": (
            pack([member("other.txt", TRAIN), member("train.txt", TRAIN, kind, "other.txt"), member("valid.txt", VALID)]),
            ("valid.txt",),
        )
        for kind in KINDS
    },
}


@pytest.mark.parametrize(("packed", "kept"), HOSTILE.values(), ids=HOSTILE)
def test_of_a_hostile_archive_nothing_is_kept_but_whole_files(
    server: Server,
    tmp_path: Path,
    wanted: tuple[RemoteFile, ...],
    monkeypatch: pytest.MonkeyPatch,
    packed: bytes,
    kept: tuple[str, ...],
) -> None:
    monkeypatch.setattr("relatum.datasets.download._LARGEST", 1 << 20)
    url = server.at("/data.tar.gz", whole(packed))
    said = refused(lambda: unpack(url, wanted, tmp_path), url)
    assert ("no train.txt with" in said) == bool(kept)
    assert tree(tmp_path) == dict.fromkeys(kept, VALID)

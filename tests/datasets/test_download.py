"""Fetching from a real server on this machine that cuts, lies, hangs and redirects."""

from __future__ import annotations

import io
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest

from relatum.datasets.download import _ATTEMPTS, RemoteFile, _NoDowngrade, download, is_intact
from relatum.errors import DownloadError
from support.loopback import (
    CONTENT,
    Answer,
    Handler,
    Server,
    chunked_and_cut,
    hanging,
    nobody_listening,
    pouring,
    ranged,
    raw,
    remote,
    status,
    tree,
    unannounced,
    whole,
)


@pytest.fixture
def target(folder: Path) -> Path:
    return folder / "train.txt"


@pytest.fixture
def part(folder: Path) -> Path:
    return folder / "train.txt.part"


def refused(file: RemoteFile, target: Path) -> str:
    """Download what must fail, check that the message is one clean line that names the URL, and return it."""
    with pytest.raises(DownloadError) as caught:
        download(file, target)
    text = str(caught.value)
    assert file.url in text
    assert text.isprintable()  # no control characters, so no second line either
    return text


# One file


def test_a_file_arrives_whole_with_one_request(server: Server, folder: Path, target: Path) -> None:
    download(remote(server.at("/train.txt", whole(CONTENT))), target)
    assert tree(folder) == {"train.txt": CONTENT}
    assert server.requests == [("/train.txt", None)]


def test_a_file_whose_length_is_not_announced_arrives_whole(server: Server, folder: Path, target: Path) -> None:
    download(remote(server.at("/train.txt", unannounced(CONTENT))), target)
    assert tree(folder) == {"train.txt": CONTENT}


def test_a_file_already_there_is_replaced(server: Server, folder: Path, target: Path) -> None:
    target.write_bytes(b"old")
    download(remote(server.at("/train.txt", whole(CONTENT))), target)
    assert tree(folder) == {"train.txt": CONTENT}


def test_only_the_published_bytes_are_intact(tmp_path: Path) -> None:
    file = remote("https://example.org/train.txt")
    path = tmp_path / "train.txt"
    assert not is_intact(path, file)
    path.write_bytes(CONTENT[:-1] + b"x")
    assert not is_intact(path, file)
    path.write_bytes(CONTENT)
    assert is_intact(path, file)
    assert not is_intact(tmp_path, file)


def test_an_empty_file_arrives_too(server: Server, folder: Path, target: Path) -> None:
    download(remote(server.at("/train.txt", whole(b"")), b""), target)
    assert tree(folder) == {"train.txt": b""}


def test_a_wrong_checksum_leaves_nothing_behind(server: Server, folder: Path, target: Path) -> None:
    file = remote(server.at("/train.txt", whole(CONTENT[:-1] + b"x")))
    assert "checksum" in refused(file, target)
    assert tree(folder) == {}
    assert len(server.requests) == 1


def test_a_wrong_checksum_leaves_the_file_already_there_alone(server: Server, folder: Path, target: Path) -> None:
    target.write_bytes(b"old")
    refused(remote(server.at("/train.txt", whole(CONTENT[:-1] + b"x"))), target)
    assert tree(folder) == {"train.txt": b"old"}


# Cuts


def test_a_cut_connection_is_resumed_where_it_stopped(server: Server, folder: Path, target: Path) -> None:
    download(remote(server.at("/train.txt", ranged(CONTENT, 70_000), ranged(CONTENT))), target)
    assert server.ranges == [None, "bytes=70000-"]
    assert tree(folder) == {"train.txt": CONTENT}


def test_every_further_cut_is_resumed_too(server: Server, folder: Path, target: Path) -> None:
    download(remote(server.at("/train.txt", ranged(CONTENT, 70_000))), target)
    assert server.ranges == [None, "bytes=70000-", "bytes=140000-"]
    assert tree(folder) == {"train.txt": CONTENT}


def test_a_cut_before_the_first_byte_is_tried_again(server: Server, folder: Path, target: Path) -> None:
    download(remote(server.at("/train.txt", ranged(CONTENT, 0), ranged(CONTENT))), target)
    assert server.ranges == [None, None]
    assert tree(folder) == {"train.txt": CONTENT}


def test_a_server_that_ignores_the_range_starts_the_file_over(server: Server, folder: Path, target: Path) -> None:
    download(remote(server.at("/train.txt", ranged(CONTENT, 70_000), whole(CONTENT))), target)
    assert server.ranges == [None, "bytes=70000-"]
    assert tree(folder) == {"train.txt": CONTENT}


def test_a_range_that_starts_elsewhere_is_not_appended(server: Server, folder: Path, target: Path) -> None:
    def from_the_start(handler: Handler) -> None:
        extent = f"bytes 0-{len(CONTENT) - 1}/{len(CONTENT)}"
        handler.start(206, Content_Length=len(CONTENT), Content_Range=extent)
        handler.body(CONTENT)

    download(remote(server.at("/train.txt", ranged(CONTENT, 70_000), from_the_start)), target)
    assert tree(folder) == {"train.txt": CONTENT}


def test_a_file_pieced_together_wrongly_is_fetched_once_more_from_nothing(
    server: Server, folder: Path, target: Path
) -> None:
    download(remote(server.at("/train.txt", ranged(bytes(len(CONTENT)), 1000), ranged(CONTENT))), target)
    assert server.ranges == [None, "bytes=1000-", None]
    assert tree(folder) == {"train.txt": CONTENT}


def test_a_cut_inside_a_chunk_is_tried_again(server: Server, folder: Path, target: Path) -> None:
    download(remote(server.at("/train.txt", chunked_and_cut(CONTENT[:10]), ranged(CONTENT))), target)
    assert tree(folder) == {"train.txt": CONTENT}


def test_a_server_that_always_cuts_is_given_up_and_the_next_run_goes_on(
    server: Server, folder: Path, target: Path, part: Path
) -> None:
    file = remote(server.at("/train.txt", ranged(CONTENT, 1000)))
    refused(file, target)
    got = 1000 * _ATTEMPTS
    assert len(server.requests) == _ATTEMPTS
    assert tree(folder) == {part.name: CONTENT[:got]}

    server.requests.clear()
    server.at("/train.txt", ranged(CONTENT))
    download(file, target)
    assert server.ranges == [f"bytes={got}-"]
    assert tree(folder) == {"train.txt": CONTENT}


# What an earlier run left


@pytest.mark.parametrize("length", [1, 1000, len(CONTENT) - 1, len(CONTENT)])
def test_garbage_left_from_before_is_thrown_away(
    server: Server, folder: Path, target: Path, part: Path, length: int
) -> None:
    part.write_bytes(bytes(length))
    download(remote(server.at("/train.txt", ranged(CONTENT))), target)
    assert tree(folder) == {"train.txt": CONTENT}
    assert server.ranges[-1] is None


def test_a_part_longer_than_the_file_is_fetched_from_nothing(server: Server, folder: Path, target: Path, part: Path) -> None:
    part.write_bytes(CONTENT + b"more")
    download(remote(server.at("/train.txt", ranged(CONTENT))), target)
    assert server.ranges == [None]
    assert tree(folder) == {"train.txt": CONTENT}


def test_a_complete_part_needs_no_request(server: Server, folder: Path, target: Path, part: Path) -> None:
    part.write_bytes(CONTENT)
    download(remote(server.at("/train.txt", status(500))), target)
    assert server.requests == []
    assert tree(folder) == {"train.txt": CONTENT}


def test_a_part_whose_range_is_refused_is_fetched_from_nothing(
    server: Server, folder: Path, target: Path, part: Path
) -> None:
    part.write_bytes(CONTENT[:1000])
    download(remote(server.at("/train.txt", status(416), whole(CONTENT))), target)
    assert server.ranges == ["bytes=1000-", None]
    assert tree(folder) == {"train.txt": CONTENT}


def test_garbage_left_from_before_does_not_excuse_a_wrong_checksum(
    server: Server, folder: Path, target: Path, part: Path
) -> None:
    part.write_bytes(bytes(1000))
    refused(remote(server.at("/train.txt", ranged(CONTENT[:-1] + b"x"))), target)
    assert server.ranges == ["bytes=1000-", None]
    assert tree(folder) == {}


# Refusals


@pytest.mark.parametrize("code", [400, 401, 403, 404, 410])
def test_a_refusal_is_an_error_at_once(server: Server, folder: Path, target: Path, code: int) -> None:
    assert str(code) in refused(remote(server.at("/train.txt", status(code))), target)
    assert len(server.requests) == 1
    assert tree(folder) == {}


@pytest.mark.parametrize("code", [408, 429, 500, 502, 503, 504])
def test_a_passing_failure_is_tried_again(server: Server, folder: Path, target: Path, code: int) -> None:
    download(remote(server.at("/train.txt", status(code), status(code), whole(CONTENT))), target)
    assert len(server.requests) == 3
    assert tree(folder) == {"train.txt": CONTENT}


@pytest.mark.parametrize("code", [416, 503])
def test_a_failure_that_stays_is_given_up(server: Server, folder: Path, target: Path, code: int) -> None:
    assert str(code) in refused(remote(server.at("/train.txt", status(code))), target)
    assert len(server.requests) == _ATTEMPTS
    assert tree(folder) == {}


@pytest.mark.parametrize("answer", [whole, unannounced], ids=["announced", "unannounced"])
def test_a_longer_body_is_refused_and_not_kept(
    server: Server, folder: Path, target: Path, answer: Callable[[bytes], Answer]
) -> None:
    assert "longer" in refused(remote(server.at("/train.txt", answer(CONTENT + b"more"))), target)
    assert tree(folder) == {}
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    "head",
    [b"HTTP/1.1 200 fine\r\n\r\n", b"HTTP/1.1 200 fine\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n"],
    ids=["plain", "a chunk of -1 bytes"],
)
def test_an_endless_body_is_hung_up_on(server: Server, folder: Path, target: Path, head: bytes) -> None:
    assert "longer" in refused(remote(server.at("/train.txt", pouring(head))), target)
    assert server.hung_up.wait(5)
    assert tree(folder) == {}


def test_a_shorter_file_is_an_error(server: Server, target: Path) -> None:
    refused(remote(server.at("/train.txt", ranged(CONTENT[:-1]))), target)
    assert not target.exists()
    assert len(server.requests) <= _ATTEMPTS


CHUNKS = [b"banana\r\n", b"-5\r\nabc", b"-0\r\n\r\n", b"1_0\r\n0123456789\r\n", b"0x5\r\nabcde\r\n"]


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"\0" * 100,
        b"220 ftp ready\r\n",
        b"HTTP/9.9 200 fine\r\n\r\n",
        b"HTTP/1.1 banana\r\n\r\n",
        b"HTTP/1.1 200 fine\r\n" + b"X-Many: yes\r\n" * 500 + b"\r\n",
        b"HTTP/1.1 200 fine\r\nX-Long: " + b"x" * 100_000 + b"\r\n\r\n",
        b"HTTP/1.1 200 fine\r\nContent-Length: banana\r\n\r\n",
        b"HTTP/1.1 200 fine\r\nContent-Length: -7\r\n\r\n",
        *(b"HTTP/1.1 200 fine\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk for chunk in CHUNKS),
        b"HTTP/1.1 404 \x1b[2J\x07\x9b gone\r\n\r\n",
        b"HTTP/1.1 204 nothing\r\n\r\n",
        b"HTTP/1.1 302 nowhere\r\n\r\n",
        b"HTTP/1.1 304 as before\r\n\r\n",
    ],
    ids=lambda answer: repr(answer.removeprefix(b"HTTP/1.1 ")[:60]),
)
def test_an_answer_that_makes_no_sense_is_a_download_error(server: Server, target: Path, answer: bytes) -> None:
    refused(remote(server.at("/train.txt", raw(answer))), target)
    assert not target.exists()
    assert len(server.requests) <= _ATTEMPTS


def test_a_refused_connection_is_a_download_error(server: Server, folder: Path, target: Path) -> None:
    with nobody_listening() as url:
        assert "refused" in refused(remote(url), target).lower()
    assert tree(folder) == {}


@pytest.mark.parametrize("most", [0, 1000], ids=["before the answer", "inside the body"])
def test_a_server_that_hangs_is_given_up(server: Server, target: Path, monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    monkeypatch.setattr("relatum.datasets.download._TIMEOUT", 0.05)
    start = time.monotonic()
    assert "timed out" in refused(remote(server.at("/train.txt", hanging(CONTENT, most))), target)
    assert time.monotonic() - start < 5
    assert not target.exists()
    while len(server.requests) < _ATTEMPTS and time.monotonic() - start < 20:
        time.sleep(0.01)  # the server's thread may see the last request after it was given up
    assert len(server.requests) == _ATTEMPTS


def test_a_server_that_hung_once_is_asked_again(
    server: Server, folder: Path, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("relatum.datasets.download._TIMEOUT", 0.2)
    download(remote(server.at("/train.txt", hanging(CONTENT, 1000), ranged(CONTENT))), target)
    assert tree(folder) == {"train.txt": CONTENT}


# Redirects


@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
def test_a_redirect_is_followed(server: Server, folder: Path, target: Path, code: int) -> None:
    server.at("/new.txt", whole(CONTENT))
    download(remote(server.at("/train.txt", status(code, Location="/new.txt"))), target)
    assert [path for path, _ in server.requests] == ["/train.txt", "/new.txt"]
    assert tree(folder) == {"train.txt": CONTENT}


def test_a_redirected_file_is_resumed_too(server: Server, folder: Path, target: Path) -> None:
    server.at("/new.txt", ranged(CONTENT, 70_000), ranged(CONTENT))
    download(remote(server.at("/train.txt", status(302, Location="/new.txt"))), target)
    assert server.requests[-1] == ("/new.txt", "bytes=70000-")
    assert tree(folder) == {"train.txt": CONTENT}


def test_the_body_of_a_redirect_is_not_read(server: Server, folder: Path, target: Path) -> None:
    server.at("/new.txt", whole(CONTENT))
    download(remote(server.at("/train.txt", pouring(b"HTTP/1.1 302 there\r\nLocation: /new.txt\r\n\r\n"))), target)
    assert server.hung_up.wait(5)
    assert tree(folder) == {"train.txt": CONTENT}


@pytest.mark.parametrize(
    "location",
    [
        *(b"", b"?", b"//", b"http:", b"http://", b"http:///x", b"http://user@/x"),
        *(b"http://[bad/", b"http://[::1]x/", b"http://[v1.x]/"),
        *(b"http://127.0.0.1:banana/", b"http://127.0.0.1:-1/", b"http://127.0.0.1:1_/"),
        *(b"http://a..b/", b"http://" + b"a" * 70 + b".invalid/"),
        *(b"http://%00/x", b"http://\xff/", b"http://\x1b]\x9b/", b"ftp://\x1b]\x9b/"),
    ],
)
def test_a_redirect_that_makes_no_sense_is_a_download_error(
    server: Server, folder: Path, target: Path, location: bytes
) -> None:
    refused(remote(server.at("/train.txt", raw(b"HTTP/1.1 302 there\r\nLocation: " + location + b"\r\n\r\n"))), target)
    assert tree(folder) == {}


def test_a_redirect_loop_is_a_download_error(server: Server, folder: Path, target: Path) -> None:
    server.at("/new.txt", status(302, Location="/train.txt"))
    refused(remote(server.at("/train.txt", status(302, Location="/new.txt"))), target)
    assert len(server.requests) < 20
    assert tree(folder) == {}


@pytest.mark.parametrize("scheme", ["file", "ftp", "data", "javascript"])
def test_a_redirect_away_from_the_web_is_refused(
    server: Server, tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, scheme: str
) -> None:
    monkeypatch.setattr("relatum.datasets.download._TIMEOUT", 0.5)
    secret = tmp_path / "secret.txt"
    secret.write_bytes(CONTENT)
    there = {"file": secret.as_uri(), "ftp": f"ftp://127.0.0.1:{server.server_port}/secret.txt"}
    location = there.get(scheme, f"{scheme}:,secret")
    before = tree(tmp_path)
    refused(remote(server.at("/train.txt", status(302, Location=location))), folder / "train.txt")
    assert tree(tmp_path) == before
    assert {path for path, _ in server.requests} == {"/train.txt"}


@pytest.mark.parametrize("scheme", ["file", "ftp"])
def test_an_address_outside_the_web_is_refused(tmp_path: Path, scheme: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("relatum.datasets.download._PAUSE", 0.01)
    secret = tmp_path / "secret.txt"
    secret.write_bytes(CONTENT)
    refused(remote(f"{scheme}://{secret}"), tmp_path / "train.txt")
    assert tree(tmp_path) == {"secret.txt": CONTENT}


@pytest.mark.parametrize("location", ["http://example.org/train.txt", "ftp://example.org/train.txt", "file:///train.txt"])
def test_a_redirect_never_leaves_https(location: str) -> None:
    request = urllib.request.Request("https://example.org/train.txt")
    with pytest.raises(urllib.error.URLError, match="not https"):
        _NoDowngrade().redirect_request(request, io.BytesIO(), 302, "Found", {}, location)
    onwards = _NoDowngrade().redirect_request(request, io.BytesIO(), 302, "Found", {}, "https://example.org/new.txt")
    assert onwards is not None
    assert onwards.full_url == "https://example.org/new.txt"

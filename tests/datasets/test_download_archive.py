"""Taking files out of archives that are damaged or mean harm, fetched from a real server on this machine."""

from __future__ import annotations

import contextlib
import gzip
import random
import re
import tarfile
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from relatum.datasets.download import _ATTEMPTS, RemoteFile, unpack
from relatum.errors import DownloadError
from support.loopback import (
    CONTENT,
    Answer,
    Server,
    files_of,
    member,
    pack,
    pouring,
    ranged,
    raw,
    remote,
    tree,
    unannounced,
    whole,
)

TRAIN, VALID = b"likes\tann\tbob\n" * 30, b"likes\tbob\tann\n" * 20

Wanted = tuple[RemoteFile, RemoteFile]


@pytest.fixture
def wanted(server: Server) -> Wanted:
    url = server.url("/data.tar.gz")
    return remote(url, TRAIN, "train.txt"), remote(url, VALID, "valid.txt")


def not_unpacked(server: Server, packed: bytes, wanted: Iterable[RemoteFile], folder: Path) -> str:
    """Unpack what must fail, check that the message is one clean line that names the URL, and return it."""
    url = server.at("/data.tar.gz", whole(packed))
    with pytest.raises(DownloadError) as caught:
        unpack(url, wanted, folder)
    text = str(caught.value)
    assert url in text
    assert text.isprintable()  # no control characters, so no second line either
    return text


@pytest.mark.parametrize("end", [".tar.gz", ".tgz", ".tar"])
def test_an_archive_is_known_by_its_name(end: str) -> None:
    assert remote(f"https://example.org/data{end}").in_archive
    assert not remote("https://example.org/train.txt").in_archive


@pytest.mark.parametrize("base", ["", "./", "data/", "a/b/c/", "../../", "/tmp/", "/"])  # noqa: S108
def test_files_are_unpacked_by_base_name(server: Server, tmp_path: Path, folder: Path, wanted: Wanted, base: str) -> None:
    packed = files_of(("readme.md", b"hello"), (f"{base}valid.txt", VALID), (f"{base}train.txt", TRAIN))
    before = tree(tmp_path)
    unpack(server.at("/data.tar.gz", whole(packed)), wanted, folder)
    assert tree(tmp_path) == before | {"a/b/files/train.txt": TRAIN, "a/b/files/valid.txt": VALID}
    assert len(server.requests) == 1


def test_only_the_files_asked_for_are_unpacked(server: Server, folder: Path, wanted: Wanted) -> None:
    packed = files_of(("train.txt", TRAIN), ("valid.txt", VALID))
    unpack(server.at("/data.tar.gz", whole(packed)), wanted[1:], folder)
    assert tree(folder) == {"valid.txt": VALID}


def test_a_plain_tar_is_unpacked_too(server: Server, folder: Path, wanted: Wanted) -> None:
    packed = pack([(member("train.txt", TRAIN), TRAIN), (member("valid.txt", VALID), VALID)], mode="w")
    unpack(server.at("/data.tar", whole(packed)), wanted, folder)
    assert tree(folder) == {"train.txt": TRAIN, "valid.txt": VALID}


def test_an_archive_cut_on_its_way_is_fetched_again(server: Server, folder: Path, wanted: Wanted) -> None:
    packed = files_of(("train.txt", TRAIN), ("valid.txt", VALID))
    unpack(server.at("/data.tar.gz", ranged(packed, 100), ranged(packed)), wanted, folder)
    assert server.ranges == [None, None]
    assert tree(folder) == {"train.txt": TRAIN, "valid.txt": VALID}


def test_what_an_earlier_run_left_of_an_archive_is_thrown_away(server: Server, folder: Path, wanted: Wanted) -> None:
    (folder / ".archive.part").write_bytes(b"garbage")
    packed = files_of(("train.txt", TRAIN), ("valid.txt", VALID))
    unpack(server.at("/data.tar.gz", ranged(packed)), wanted, folder)
    assert tree(folder) == {"train.txt": TRAIN, "valid.txt": VALID}


def test_nothing_is_read_after_the_last_file_asked_for(server: Server, folder: Path, wanted: Wanted) -> None:
    packed = files_of(("train.txt", TRAIN), ("valid.txt", VALID), ("other.bin", CONTENT))
    unpack(server.at("/data.tar.gz", whole(packed[:-1000])), wanted, folder)
    assert tree(folder) == {"train.txt": TRAIN, "valid.txt": VALID}


def test_wrong_content_before_the_right_one_is_passed_over(server: Server, folder: Path, wanted: Wanted) -> None:
    wrong = TRAIN.replace(b"ann", b"eve")
    packed = files_of(("old/train.txt", wrong), ("new/train.txt", TRAIN), ("valid.txt", VALID))
    unpack(server.at("/data.tar.gz", whole(packed)), wanted, folder)
    assert tree(folder) == {"train.txt": TRAIN, "valid.txt": VALID}


def test_wrong_content_after_the_right_one_changes_nothing(server: Server, folder: Path, wanted: Wanted) -> None:
    wrong = TRAIN.replace(b"ann", b"eve")
    packed = files_of(("train.txt", TRAIN), ("train.txt", wrong), ("valid.txt", VALID))
    unpack(server.at("/data.tar.gz", whole(packed)), wanted, folder)
    assert tree(folder) == {"train.txt": TRAIN, "valid.txt": VALID}


@pytest.mark.parametrize("content", [TRAIN.replace(b"ann", b"eve"), TRAIN + b"more", TRAIN[:-1], b""])
def test_a_file_with_wrong_content_is_not_kept(server: Server, folder: Path, wanted: Wanted, content: bytes) -> None:
    text = not_unpacked(server, files_of(("train.txt", content), ("valid.txt", VALID)), wanted, folder)
    assert "train.txt" in text
    assert "valid.txt" not in text
    assert tree(folder) == {"valid.txt": VALID}


def test_an_archive_that_lacks_a_file_is_an_error_that_names_it(server: Server, folder: Path, wanted: Wanted) -> None:
    text = not_unpacked(server, files_of(("data/train.txt", TRAIN)), wanted, folder)
    assert "valid.txt" in text
    assert "train.txt" not in text
    assert tree(folder) == {"train.txt": TRAIN}


def test_an_empty_archive_is_an_error(server: Server, folder: Path, wanted: Wanted) -> None:
    not_unpacked(server, files_of(), wanted, folder)
    assert tree(folder) == {}


@pytest.mark.parametrize("base", ["../../", "{outside}/"])
def test_a_path_that_leads_out_of_the_folder_makes_nothing_there(
    server: Server, tmp_path: Path, folder: Path, wanted: Wanted, base: str
) -> None:
    base = base.format(outside=tmp_path)
    packed = files_of((f"{base}evil.txt", b"evil"), (f"{base}train.txt", TRAIN), ("valid.txt", VALID))
    before = tree(tmp_path)
    unpack(server.at("/data.tar.gz", whole(packed)), wanted, folder)
    assert tree(tmp_path) == before | {"a/b/files/train.txt": TRAIN, "a/b/files/valid.txt": VALID}


@pytest.mark.parametrize(
    ("kind", "link"),
    [
        (tarfile.SYMTYPE, "/etc/passwd"),
        (tarfile.SYMTYPE, "../../secret.txt"),
        (tarfile.SYMTYPE, "other.txt"),
        (tarfile.LNKTYPE, "/etc/passwd"),
        (tarfile.LNKTYPE, "../../secret.txt"),
        (tarfile.LNKTYPE, "other.txt"),
        (tarfile.DIRTYPE, ""),
        (tarfile.CHRTYPE, ""),
        (tarfile.BLKTYPE, ""),
        (tarfile.FIFOTYPE, ""),
    ],
)
def test_what_is_not_a_regular_file_is_neither_made_nor_followed(
    server: Server, tmp_path: Path, folder: Path, wanted: Wanted, kind: bytes, link: str
) -> None:
    (tmp_path / "secret.txt").write_bytes(TRAIN)
    packed = pack(
        [
            (member("other.txt", TRAIN), TRAIN),
            (member("train.txt", TRAIN, kind, link), b""),
            (member("valid.txt", VALID), VALID),
        ]
    )
    before = tree(tmp_path)
    assert "train.txt" in not_unpacked(server, packed, wanted, folder)
    assert tree(tmp_path) == before | {"a/b/files/valid.txt": VALID}


def test_a_link_before_the_right_file_does_not_lead_it_away(
    server: Server, tmp_path: Path, folder: Path, wanted: Wanted
) -> None:
    packed = pack(
        [
            (member("train.txt", TRAIN, tarfile.SYMTYPE, "../../evil.txt"), b""),
            (member("train.txt.part", TRAIN, tarfile.SYMTYPE, "../../evil.txt"), b""),
            (member("train.txt", TRAIN), TRAIN),
            (member("valid.txt", VALID), VALID),
        ]
    )
    before = tree(tmp_path)
    unpack(server.at("/data.tar.gz", whole(packed)), wanted, folder)
    assert tree(tmp_path) == before | {"a/b/files/train.txt": TRAIN, "a/b/files/valid.txt": VALID}
    assert not any(path.is_symlink() for path in folder.iterdir())


@pytest.mark.parametrize("share", [0.001, 0.1, 0.5, 0.9, 0.999])
def test_a_truncated_archive_gives_at_most_whole_files(server: Server, folder: Path, share: float) -> None:
    files = {"train.txt": CONTENT, "valid.txt": CONTENT[::-1]}
    packed = files_of(*files.items())
    wanted = [remote(server.url("/data.tar.gz"), content, name) for name, content in files.items()]
    not_unpacked(server, packed[: int(share * len(packed))], wanted, folder)
    assert tree(folder).items() <= files.items()


@pytest.mark.parametrize(
    "content",
    [b"", b"\0" * 100, b"<html>rate limited</html>", b"\x1f\x8b", b"\x1f\x8b\x08\x00 not gzip", b"BZh9 not bzip2"],
)
def test_what_is_not_an_archive_is_an_error(server: Server, folder: Path, wanted: Wanted, content: bytes) -> None:
    not_unpacked(server, content, wanted, folder)
    assert tree(folder) == {}


@pytest.mark.parametrize("mode", ["w:gz", "w"])
def test_an_archive_with_flipped_bits_gives_at_most_whole_files(
    server: Server, folder: Path, wanted: Wanted, count: Callable[[int, int], int], mode: str
) -> None:
    files = {"other.bin": CONTENT, "train.txt": TRAIN, "valid.txt": VALID}
    packed = pack(((member(name, content), content) for name, content in files.items()), mode)
    rng = random.Random(1)
    for _ in range(count(40, 2000)):
        harmed = bytearray(packed)
        for _ in range(rng.randint(1, 3)):  # half of them near the ends, where gzip keeps its own numbers
            harmed[rng.choice([rng.randrange(len(packed)), rng.randrange(-40, 40)])] ^= 1 << rng.randrange(8)
        with contextlib.suppress(DownloadError):
            unpack(server.at("/data.tar.gz", whole(bytes(harmed))), wanted, folder)
        assert tree(folder).items() <= files.items()
        for path in folder.iterdir():
            path.unlink()


# Headers that no honest program writes


def header(name: str = "other.bin", size: int = 0, kind: bytes = tarfile.REGTYPE) -> bytes:
    info = tarfile.TarInfo(name)
    info.size, info.type = size, kind
    return info.tobuf(tarfile.GNU_FORMAT)


def pax(content: bytes, kind: bytes = tarfile.XHDTYPE) -> bytes:
    return header("pax", len(content), kind) + content + bytes(-len(content) % 512)


def record(key: bytes, value: bytes) -> bytes:
    return b"%05d %b=%b\n" % (8 + len(key) + len(value), key, value)


def sparse(*numbers: int, size: int = len(TRAIN), packed: int = 512) -> bytes:
    """Return the header of a file with holes: offset and length of each stretch that is not a hole."""
    block = bytearray(header("train.txt", packed, tarfile.GNUTYPE_SPARSE))
    for start, number in [*zip(range(386, 482, 12), numbers, strict=False), (483, size)]:
        block[start : start + 12] = tarfile.itn(number, 12, tarfile.GNU_FORMAT)
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    return bytes(block)


HOSTILE = {
    "negative size": header(size=-512),
    "huge size": header(size=1 << 70),
    "huge pax": header(size=1 << 70, kind=tarfile.XHDTYPE),
    "negative size in pax": pax(record(b"size", b"-1536")) + header(),
    "nested long names": header(kind=tarfile.GNUTYPE_LONGNAME) * 3000,
    "nested pax": header(kind=tarfile.XHDTYPE) * 3000,
    "pax with a long length": pax(b"9" * 5000 + b" a=b\n") + header(),
    "pax in no encoding": pax(record(b"hdrcharset", b"\xff\xfe")) + header(),
    "pax sparse map": pax(record(b"GNU.sparse.map", b"\x1b\n")) + header(),
    "sparse, negative": sparse(-100, 50, 5, -100) + bytes(512),
    "sparse, holes only": sparse(0, 1) + bytes(512),
}


@pytest.mark.parametrize("hostile", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_header_is_a_download_error(server: Server, folder: Path, wanted: Wanted, hostile: bytes) -> None:
    not_unpacked(server, gzip.compress(hostile + bytes(1024)), wanted, folder)
    assert tree(folder) == {}


# Too much


@pytest.mark.parametrize(
    "start",
    [header("zeros.bin", 1 << 24), header("zeros.bin") * 3000, header(size=1 << 24, kind=tarfile.XHDTYPE)],
    ids=["large", "many", "pax"],
)
def test_an_archive_that_unpacks_to_too_much_is_refused(
    server: Server, folder: Path, wanted: Wanted, monkeypatch: pytest.MonkeyPatch, start: bytes
) -> None:
    monkeypatch.setattr("relatum.datasets.download._LARGEST", 1_000_000)
    packed = gzip.compress(header() + start + bytes(1 << 24), 1)
    assert "unpacks to more" in not_unpacked(server, packed, wanted, folder)
    assert tree(folder) == {}


@pytest.mark.parametrize("answer", [whole, unannounced], ids=["announced", "unannounced"])
def test_an_archive_that_is_itself_too_large_is_refused(
    server: Server,
    folder: Path,
    wanted: Wanted,
    monkeypatch: pytest.MonkeyPatch,
    answer: Callable[[bytes], Answer],
) -> None:
    monkeypatch.setattr("relatum.datasets.download._LARGEST", 100_000)
    url = server.at("/data.tar.gz", answer(CONTENT))
    with pytest.raises(DownloadError, match="nothing was kept"):
        unpack(url, wanted, folder)
    assert tree(folder) == {}
    assert len(server.requests) == 1


def test_an_archive_that_cannot_be_fetched_leaves_nothing(server: Server, folder: Path, wanted: Wanted) -> None:
    url = server.at("/data.tar.gz", ranged(CONTENT, 1000))
    with pytest.raises(DownloadError, match="cut"):
        unpack(url, wanted, folder)
    assert tree(folder) == {}
    assert len(server.requests) == _ATTEMPTS


def test_an_endless_archive_is_hung_up_on(
    server: Server, folder: Path, wanted: Wanted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("relatum.datasets.download._LARGEST", 2 * len(CONTENT))
    with pytest.raises(DownloadError, match="longer"):
        unpack(server.at("/data.tar.gz", pouring()), wanted, folder)
    assert server.hung_up.wait(5)
    assert tree(folder) == {}


@pytest.mark.parametrize(
    "length", [b"banana", b"-7", b"12, 12", b"\xb2", b"9" * 30, b"9" * 5000], ids=lambda text: text[:30]
)
def test_a_length_that_makes_no_sense_is_a_download_error(
    server: Server, folder: Path, wanted: Wanted, length: bytes
) -> None:
    url = server.at("/data.tar.gz", raw(b"HTTP/1.1 200 fine\r\nContent-Length: " + length + b"\r\n\r\nabc"))
    with pytest.raises(DownloadError, match=re.escape(url)):
        unpack(url, wanted, folder)
    assert tree(folder) == {}

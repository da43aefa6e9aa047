"""Files that are whole or absent: atomic writes, JSON documents, checksums and the user's cache directory."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import secrets
import shutil
import stat
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from relatum import memory
from relatum.closed_folders import (
    close_folder,
    is_closed,
    open_file,
    refuse_link,
    remove_file,
    remove_folder,
    replace_file,
    status,
)
from relatum.errors import DataError, FormatError, RelatumError, RelatumWarning
from relatum.processes import MARK, has_ended, is_of_here, mark

_Built = TypeVar("_Built")

_TEMPORARY = re.compile(rf"\.(?P<name>.+)\.[0-9a-f]{{12}}-(?P<mark>{MARK})\.tmp")  # as `_beside` makes them
_OF_DATABASES = re.compile(r"(-journal|-wal|-shm|\.wal|\.tmp)$")  # what they put beside a file
_FOLDER = re.compile(rf"relatum-(?P<mark>{MARK})-[a-z0-9_]{{8}}")  # begins with a `temporary_prefix`
_UNTOUCHED = 86400.0  # seconds after which what nobody knows the writer of is stale
_PIECE = 1 << 16  # bytes
_OF_DISKS = {errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EFBIG, errno.EROFS}  # full or broken, a quota, a limit, a mount
_LONGEST_REASON = 500  # characters: what is wrong with a file may be a text without end
_AS_OBJECTS = 8  # times its size that a text takes as Python's objects, about
_LONG = re.compile(rb"[0-9]{19}")  # digits: what may be more than 64 bits hold


@contextmanager
def atomic_file(path: Path, *, new: bool = False) -> Iterator[BinaryIO]:
    """Yield a binary file that becomes `path`, as `atomic_path` does, when the block ends well."""
    with atomic_path(path, new=new) as temporary, open_file(temporary, "xb") as file:
        yield file


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file, atomically."""
    with atomic_file(path) as file:
        file.write(content)


@contextmanager
def atomic_path(path: Path, *, new: bool = False) -> Iterator[Path]:
    """Yield the name of a file to make, which becomes `path` when the block ends well, and vanishes when it does not.

    A file that is replaced leaves its permissions to the new one, and a link goes on to lead to it, unless it is in a closed
    folder: there it is refused. With `new` nothing is replaced: FileExistsError says that something is there by then,
    whoever made it and when.
    """
    if not is_closed(path):
        with suppress(RuntimeError, OSError):  # of a link that leads to itself, before Python 3.13
            path = path.resolve() if path.is_symlink() else path
        if path.is_symlink():
            raise RelatumError("not-replaceable", "is a link that leads to itself", place=path)
    if (before := status(path)) is not None and not stat.S_ISREG(before.st_mode):
        raise RelatumError("not-replaceable", "is not a file that could be replaced", place=path)
    if not path.parent.is_dir():
        raise RelatumError("no-such-directory", "no such directory", place=path.parent)
    remove_stale(path)
    temporary = _beside(path)
    try:
        yield temporary
        with open_file(temporary) as file:
            os.fsync(file.fileno())
            if not new and (before := status(path)) is not None:
                os.chmod(  # noqa: PTH101
                    file.fileno() if os.chmod in os.supports_fd else temporary, stat.S_IMODE(before.st_mode)
                )
        if new:
            _claim(temporary, path)
        else:
            replace_file(temporary, path)
    except BaseException as error:
        remove_file(temporary)
        _name_target(error, temporary, path)
        raise
    _sync_directory(path.parent)


def _claim(temporary: Path, path: Path) -> None:
    """Give a file the name `path`, unless that is taken."""
    try:
        path.hardlink_to(temporary)
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links: an empty file holds the name for the moment
        path.touch(exist_ok=False)
        try:
            temporary.replace(path)
        except BaseException:
            path.unlink(missing_ok=True)
            raise
    else:
        temporary.unlink()


@contextmanager
def atomic_directory(path: Path) -> Iterator[Path]:
    """Yield a temporary directory that becomes `path` when the block ends well; `path` must be new, or empty."""
    require_empty(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    remove_stale(path)
    temporary = _beside(path)
    if is_closed(path):
        close_folder(temporary, within=path.parent)
    temporary.mkdir()
    try:
        yield temporary
        for file in temporary.iterdir():
            with file.open("rb") as opened:
                os.fsync(opened.fileno())
        _sync_directory(temporary)
        require_empty(path)  # once more: something may have come there since
        if path.exists():
            path.rmdir()
        temporary.rename(path)
    except BaseException as error:
        shutil.rmtree(temporary, ignore_errors=True)
        _name_target(error, temporary, path)
        raise
    _sync_directory(path.parent)


def _name_target(error: BaseException, temporary: Path, path: Path) -> None:
    """Have an error of the disk name what was to be written, where it names what is temporary, or nothing."""
    if isinstance(error, OSError) and error.errno in _OF_DISKS:
        name = str(path) if error.filename is None else os.fspath(error.filename)
        error.filename = name.replace(str(temporary), str(path)) if isinstance(name, str) else name


def require_empty(directory: Path) -> None:
    """Refuse a path that is taken: anything but an empty directory."""
    refuse_link(directory)
    if directory.exists() and not (directory.is_dir() and not any(directory.iterdir())):
        raise RelatumError("directory-not-empty", "already exists and is not an empty directory", place=directory)


def require_own(path: Path, mark: str) -> None:
    """Refuse to replace a file that does not begin with `mark`, by which what relatum writes anew can be told."""
    refuse_link(path)
    if not path.is_file():
        return
    with open_file(path) as file:
        begins = file.read(len(mark.encode()))
    if begins != mark.encode():
        raise RelatumError(
            "not-ours",
            "already exists, and relatum has not written it",
            place=path,
            remedy="choose another name, or remove it",
        )


def stale_temporaries(folder: Path) -> list[Path]:
    """Return the temporary files in a folder that is held by this process: what killed writers have left.

    Those of other living processes, which may write a report without holding it, are not among them.
    """
    found = ((path, _TEMPORARY.fullmatch(path.name)) for path in folder.iterdir())
    return [path for path, matched in found if matched is not None and path.is_file() and not _is_living(matched["mark"])]


def left_behind(folder: Path, name: str | None = None) -> list[Path]:
    """Return what killed processes have left in a folder, whoever is writing there: half a file, or half a folder.

    That is what is called as temporary files and folders are, and whose process has ended on this machine; where that
    cannot be known, what was not touched for a day.

    Args:
        folder: where to look, and no deeper.
        name: only what was to become this file or folder.
    """
    found = []
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            matched = _TEMPORARY.fullmatch(entry.name) or _TEMPORARY.fullmatch(_OF_DATABASES.sub("", entry.name))
            if matched is not None and name in (None, matched["name"]):
                found.append((Path(entry.path), matched["mark"]))
    return sorted(path for path, marked in found if _is_stale(path, marked))


def left_folders(folder: Path) -> list[Path]:
    """Return the temporary folders of this user's relatum processes that have ended, in the system's folder of such."""
    found = []
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            matched = _FOLDER.fullmatch(entry.name)
            if matched is not None and entry.is_dir(follow_symlinks=False) and _is_own(Path(entry.path)):
                found.append((Path(entry.path), matched["mark"]))
    return sorted(path for path, marked in found if _is_stale(path, marked))


def temporary_prefix(folder: Path | None = None) -> str:
    """Return how the name of a temporary folder begins, by which it can be told whether its process has ended.

    Those of processes that have are removed, from the folder where it is going to be, by default the system's.
    """
    where = Path(tempfile.gettempdir()) if folder is None else folder
    if where not in _swept:
        _swept.add(where)
        remove_left(left_folders(where))
    return f"relatum-{mark()}-"


def remove_left(paths: Iterable[Path]) -> None:
    """Remove what killed processes have left, and say so."""
    for path in paths:
        if path.is_dir() and not path.is_symlink():
            remove_folder(path)
        else:
            with suppress(OSError):
                remove_file(path)
        if not path.exists():
            warnings.warn(f"{path}: removed; a process that was killed had left it", RelatumWarning, stacklevel=2)


_swept: set[Path] = set()  # where this process has looked already


def remove_stale(path: Path) -> None:
    """Remove what killed processes have left of a file or folder that is going to be written."""
    if path not in _swept:
        _swept.add(path)
        remove_left(left_behind(path.parent, path.name))


def _is_stale(path: Path, marked: str) -> bool:
    if has_ended(marked):
        return True
    if is_of_here(marked):
        return False
    try:
        touched: float = max(each.lstat().st_mtime for each in (path, *(path.rglob("*") if path.is_dir() else ())))
    except OSError:
        return False  # somebody is at it
    return time.time() - touched > _UNTOUCHED


def _is_living(marked: str) -> bool:
    """Return whether a mark is that of another process of this machine that is alive."""
    return marked != mark() and is_of_here(marked) and not has_ended(marked)


def _is_own(path: Path) -> bool:
    return sys.platform == "win32" or path.lstat().st_uid == os.getuid()


def document(format_name: str, version: int, content: Mapping[str, Any], indent: int | None = 1) -> bytes:
    """Return JSON that says first which format and version it has, by default a line for each value."""
    whole = {"format": format_name, "version": version, **content}
    return (json.dumps(whole, indent=indent, ensure_ascii=False) + "\n").encode()


def write_document(path: Path, format_name: str, version: int, content: Mapping[str, Any], indent: int | None = 1) -> None:
    """Write a document, atomically."""
    write_bytes(path, document(format_name, version, content, indent))


def read_document(path: Path, format_name: str, version: int, build: Callable[[dict[str, Any]], _Built]) -> _Built:
    """Return what `build` makes of the content of a document; whatever is wrong with either is one error with the path."""

    def checked(whole: Any) -> _Built:
        if not isinstance(whole, dict):
            raise TypeError(f"{type(whole).__name__} where an object should be")
        found = whole.pop("format"), whole.pop("version")
        if found[0] != format_name or type(found[1]) is not int or found[1] != version:
            reason = f"format {found[0]!r}, version {found[1]!r}; this reads {format_name!r}, {version}"
            raise DataError("other-format", reason)
        return build(whole)

    return read_json(path, format_name.removeprefix("relatum-").replace("-", " "), checked)


def read_json(path: Path, what: str, build: Callable[[Any], _Built]) -> _Built:
    """Return what `build` makes of a JSON file that should hold `what`; whatever is wrong is one error with the path."""
    content = read_whole(path)
    try:
        return build(parse_json(content))
    except (RelatumError, LookupError, TypeError, AttributeError, ValueError, OverflowError, RecursionError) as error:
        reason = f"no {error}" if isinstance(error, KeyError) else " ".join(str(error).split())
        reason = reason if len(reason) <= _LONGEST_REASON else f"{reason[:_LONGEST_REASON]} ..."
        code = "other-format" if isinstance(error, RelatumError) and error.code == "other-format" else "damaged-file"
        raise FormatError(code, path, None, f"damaged or foreign {what}: {reason}") from None


def parse_json(text: bytes) -> Any:
    """Return what a text of JSON says; a `ValueError` where it is none, or nested without end.

    Whole numbers have 64 bits at most, so that whatever is made of them has an end as well.
    """
    try:
        return json.loads(text.decode(), parse_int=_int64 if _LONG.search(text) else None)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _int64(digits: str) -> int:
    if len(digits) > 20 or not -(1 << 63) <= int(digits) < 1 << 63:
        raise ValueError(f"a whole number of {len(digits)} digits, and 64 bits are the most")
    return int(digits)


def read_whole(path: Path) -> bytes:
    """Return the bytes of a file that is to become Python's objects; refused if these would not fit the free memory."""
    require_file(path)
    with open_file(path) as file:
        size = os.fstat(file.fileno()).st_size
        if not memory.fits(_AS_OBJECTS * size):
            raise FormatError("larger-than-memory", path, None, f"its {size:,} bytes are more than the free memory can hold")
        return bytes(file.read())


def is_there(path: Path) -> bool:
    """Return whether a file that need not be there is; what is there but no file is refused, not taken for absent."""
    require_file(path)
    return path.exists()


def require_file(path: Path) -> None:
    """Refuse what is there but no file: a named pipe, which would have its reader wait for ever, or a link to nothing."""
    refuse_link(path)
    if os.path.lexists(path) and not path.is_file():
        raise FormatError("not-a-file", path, None, "not a file")


def drop_torn_line(path: Path) -> None:
    """Cut off what follows the last line feed of a file: a line that a killed process has left half written.

    The file is cut, not written anew, so that a second kill or a full disk cannot take whole lines as well.
    """
    if not is_there(path):
        return
    with open_file(path, "rb+") as file:
        size = end = file.seek(0, os.SEEK_END)
        while end:
            start = max(end - _PIECE, 0)
            file.seek(start)
            line_feed = file.read(end - start).rfind(b"\n")
            end = start
            if line_feed >= 0:
                end = start + line_feed + 1
                break
        if end < size:
            file.truncate(end)


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file's bytes, in hexadecimal."""
    with open_file(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def cache_directory() -> Path:
    """Return where relatum keeps what it can make again: `RELATUM_CACHE`, or the platform's cache directory.

    Who has no home, such as a number without a name in a container, has a directory among the temporary ones.
    """
    if chosen := os.environ.get("RELATUM_CACHE"):
        return Path(chosen).expanduser().absolute()
    try:
        return _platform_cache() / "relatum"
    except RuntimeError:
        return Path(tempfile.gettempdir()) / f"relatum-{os.getuid()}"


def _platform_cache() -> Path:
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")


def _beside(path: Path) -> Path:
    """Return a fresh name in the directory of `path`, so that a rename stays on one file system."""
    return path.with_name(f".{path.name}.{secrets.token_hex(6)}-{mark()}.tmp")


def _sync_directory(path: Path) -> None:
    """Make a rename inside `path` survive a power cut (directories cannot be opened on Windows)."""
    if sys.platform != "win32":
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

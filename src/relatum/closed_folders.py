"""Closed folders, in which no link is followed: a run may come from a stranger, and must not lead anybody outside of it.

Whoever begins to work on a run closes its folder; from then on the functions here refuse every link in it. They walk from
the folder to the file, name by name and through descriptors, so what was looked at is what is opened, whoever changes names
meanwhile. The way to a closed folder may have links, and outside of closed folders links lead where they always do.
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import BufferedRandom
from pathlib import Path
from typing import cast

from relatum.errors import RelatumError

# Where the walk to what is in a closed folder begins; only ever more, for a command may know the folder by several paths.
_CLOSED: dict[Path, Path] = {}
# Windows has no way to walk by descriptors; there names are looked at right before they are used.
_WALKS = os.open in os.supports_dir_fd and hasattr(os, "O_NOFOLLOW")
_NO_LINK, _FOLDER = (os.O_NOFOLLOW, os.O_RDONLY | os.O_DIRECTORY) if _WALKS else (0, os.O_RDONLY)


def close_folder(folder: Path, within: Path | None = None) -> None:
    """From now on follow no link in a folder, nor, where it is said what the folder lies within, on the way from there."""
    outer = folder if within is None else within
    for start in {outer.absolute(), Path(os.path.realpath(outer))}:
        place = start / folder.relative_to(outer)
        _CLOSED[place] = min(start, _CLOSED.get(place, start), key=lambda one: len(one.parts))


def is_closed(path: Path) -> bool:
    """Return whether a path lies in a closed folder."""
    return bool(_split(path)[1])


def open_file(path: Path, mode: str = "rb") -> BufferedRandom:
    """Open a binary file, as `open` does."""
    return cast(BufferedRandom, open(path, mode, opener=_opened))


def status(path: Path) -> os.stat_result | None:
    """Return what is at a path, or None where nothing is."""
    with suppress(FileNotFoundError, NotADirectoryError), _reached(path) as (name, folder):
        found = os.stat(name, dir_fd=folder, follow_symlinks=not is_closed(path))
        if stat.S_ISLNK(found.st_mode):
            raise _refusal(path)
        return found
    return None


def make_folder(path: Path) -> None:
    """Make a folder and those above it, unless they are there."""
    if (found := status(path)) is None:
        if path.parent != path:
            make_folder(path.parent)
        with suppress(FileExistsError), _reached(path) as (name, folder):
            os.mkdir(name, dir_fd=folder)
    elif not stat.S_ISDIR(found.st_mode):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path))


def names_in(folder: Path) -> list[str]:
    """Return the names of what is in a folder, in no order."""
    if not _WALKS:
        refuse_link(folder)
        return os.listdir(folder)  # noqa: PTH208
    with _reached(folder) as (name, above):
        opened = os.open(name, _FOLDER | (0 if above is None else _NO_LINK), dir_fd=above)
    try:
        return os.listdir(opened)  # noqa: PTH208  # no path has a descriptor
    finally:
        os.close(opened)


def replace_file(temporary: Path, path: Path) -> None:
    """Give a file the name of another in its folder; a link is not replaced, for whoever made it wanted something else."""
    refuse_link(path)
    with _reached(path) as (name, folder):
        os.replace(temporary if folder is None else temporary.name, name, src_dir_fd=folder, dst_dir_fd=folder)


def remove_file(path: Path) -> None:
    """Remove a file, or the link of that name, if it is there."""
    with suppress(FileNotFoundError), _reached(path) as (name, folder):
        os.unlink(name, dir_fd=folder)


def remove_folder(path: Path) -> None:
    """Remove a folder with all that is in it, as far as that can be done."""
    with suppress(FileNotFoundError), _reached(path) as (name, folder):
        shutil.rmtree(name, ignore_errors=True, dir_fd=folder)


def refuse_link(path: Path) -> None:
    """Refuse a path that leads through a link in a closed folder, before another library opens it by its name."""
    if is_closed(path):
        status(path)


def refuse_links_in(folder: Path) -> None:
    """Refuse links right in a closed folder before long work that writes there, so that it does not fail at its end."""
    for name in names_in(folder):
        refuse_link(folder / name)


@contextmanager
def _reached(path: Path) -> Iterator[tuple[Path | str, int | None]]:
    """Yield the name of a file and the descriptor of its folder; the path and None where links lead on, or none can walk."""
    root, names = _split(path)
    if not (names and _WALKS):
        for depth in range(1, len(names)):
            _look_at(root.joinpath(*names[:depth]))
        yield path, None
        return
    folder = os.open(root, _FOLDER)
    name = root.name
    try:
        for name in names[:-1]:
            inner = os.open(name, _FOLDER | _NO_LINK, dir_fd=folder)
            os.close(folder)
            folder = inner
        name = names[-1]
        yield name, folder
    except OSError as error:
        mode = 0  # where it has gone meanwhile
        with suppress(OSError):  # the words of systems for a link differ
            mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
        # What is a folder now, or has gone, and was none a moment ago, somebody swaps for a link; so with a file.
        was_swapped = isinstance(error, NotADirectoryError) and (not mode or stat.S_ISDIR(mode))
        if stat.S_ISLNK(mode) or was_swapped or error.errno in (errno.ELOOP, errno.EMLINK):
            raise _refusal(path) from None
        error.filename = str(path)
        raise
    finally:
        os.close(folder)


def _opened(path: str, flags: int) -> int:
    with _reached(Path(path)) as (name, folder):
        if folder is None:
            if not _WALKS and is_closed(Path(path)):
                _look_at(Path(path))
            return os.open(name, flags, 0o666)
        return os.open(name, flags | _NO_LINK, 0o666, dir_fd=folder)


def _split(path: Path) -> tuple[Path, tuple[str, ...]]:
    """Return where the walk to a path begins, and the names on it; none where the path is in no closed folder."""
    whole = path.absolute() if _CLOSED else path
    starts = [_CLOSED[place] for place in (whole, *whole.parents) if place in _CLOSED]
    if not starts:
        return whole, ()
    start = min(starts, key=lambda one: len(one.parts))
    names = whole.parts[len(start.parts) :]
    return start, () if ".." in names else names  # a person's own way out again


def _look_at(path: Path) -> None:
    """Refuse a link, or on Windows what is like one, by its name alone."""
    with suppress(FileNotFoundError, NotADirectoryError):
        found = path.lstat()
        tags = {getattr(stat, f"IO_REPARSE_TAG_{kind}", None) for kind in ("SYMLINK", "MOUNT_POINT")} - {None}
        if stat.S_ISLNK(found.st_mode) or getattr(found, "st_reparse_tag", None) in tags:
            raise _refusal(path)


def _refusal(path: Path) -> RelatumError:
    return RelatumError(
        "link-in-run",
        "leads through a link, and within a run, a study or an import no link is followed",
        place=path,
        remedy="put what it leads to in its place, or remove it",
    )

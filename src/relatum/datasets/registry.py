"""The public datasets: where they live, what their bytes are, how to read them, and what is odd about them."""

from __future__ import annotations

import os
import shutil
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

from relatum.datasets.download import RemoteFile, download, is_intact, unpack
from relatum.datasets.text_lines import Layout
from relatum.errors import DataError, DownloadError, UnknownNameError
from relatum.file_locks import locked
from relatum.files import cache_directory

PARTS = ("train", "valid", "test")


@dataclass(frozen=True)
class Dataset:
    """One public dataset; `counts` are what reading it must give: entities, relations, train, valid, test.

    Most are of one repository, whose licence, paper and address are what a dataset has by default.
    """

    name: str
    about: str
    counts: tuple[int, int, int, int, int]
    licence: str = "CC BY 2.5, from Freebase (Google)"
    cite: str = "Fatemi et al., IJCAI 2020"
    home: str = "https://github.com/ServiceNow/HypE"
    files: tuple[RemoteFile, ...] = ()
    layouts: Mapping[str, Layout] = field(default_factory=dict)
    skip_bad: bool = False
    quirks: tuple[str, ...] = ()

    @property
    def folder(self) -> str:
        """The folder that its files are in."""
        return self.name.upper() if self.files else self.name


def _registered(name: str, found: dict[str, Any]) -> Dataset:
    """Return a dataset as `registry.toml` has it."""
    base, files = found.pop("base", ""), found.pop("files", {})
    where = {file: base if base.endswith(".tar.gz") else f"{base}/{file}" for file in files}
    return Dataset(
        name=name,
        counts=tuple(found.pop("counts")),
        files=tuple(RemoteFile(file, where[file], *fact) for file, fact in files.items()),
        layouts={
            part: Layout(layout["relation_column"], tuple(layout.get("ignored_columns", ())))
            for part, layout in found.pop("layouts", {}).items()
        },
        quirks=tuple(found.pop("quirks", ())),
        **found,
    )


DATASETS = {
    name: _registered(name, found)
    for name, found in tomllib.loads(Path(__file__).with_name("registry.toml").read_text(encoding="utf-8")).items()
}


def find_dataset(name: str) -> Dataset:
    """Return the registered dataset called `name`, in any case."""
    try:
        return DATASETS[name.lower()]
    except KeyError:
        raise UnknownNameError("dataset", name, DATASETS) from None


def recognise(checksums: Mapping[str, str]) -> Dataset | None:
    """Return the dataset whose published train, valid and test files these SHA-256 are, if there is one."""
    for dataset in DATASETS.values():
        published = {file.name: file.sha256 for file in dataset.files}
        if published and all(checksums.get(part) == published[f"{part}.txt"] for part in PARTS):
            return dataset
    return None


def locate(dataset: Dataset) -> Path:
    """Return the folder with a dataset's files, checked: below `RELATUM_DATA`, in the user's cache, or downloaded."""
    if not dataset.files:
        return Path(str(resources.files("relatum.datasets") / dataset.folder))
    if own := os.environ.get("RELATUM_DATA"):
        folder = Path(own).expanduser() / dataset.folder
        if folder.is_dir():
            for file in dataset.files:
                if not is_intact(folder / file.name, file):
                    raise DataError(
                        "not-as-published",
                        (
                            f"{folder / file.name} is missing or not the published file of {dataset.name}; to read data of "
                            "your own, give its directory"
                        ),
                    )
            return folder
    return _fetch(dataset)


def _fetch(dataset: Dataset) -> Path:
    folder = cache_directory() / "raw" / dataset.folder
    if all(is_intact(folder / file.name, file) for file in dataset.files):
        return folder
    folder.mkdir(parents=True, exist_ok=True)
    with locked(folder.with_suffix(".lock")):
        for left in folder.glob("tmp*"):  # a process that was killed; nobody else is here while this one holds the lock
            shutil.rmtree(left) if left.is_dir() else left.unlink()
        missing = [file for file in dataset.files if not is_intact(folder / file.name, file)]
        try:
            for archive in {file.url for file in missing if file.in_archive}:
                unpack(archive, [file for file in missing if file.url == archive], folder)
            for file in missing:
                if not file.in_archive:
                    download(file, folder)
        except DownloadError as error:
            raise DownloadError(
                "download-failed", f"{error}. To work offline, put the files of {dataset.home} into {folder}"
            ) from None
    return folder

"""The public datasets: where they live, what their bytes are, how to read them, and what is odd about them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path

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


def _at(base: str, **files: tuple[int, str]) -> tuple[RemoteFile, ...]:
    """Return the files `NAME.txt` below `base` (or inside it, if it is an archive), each with its size and SHA-256."""
    names = {name: name.replace("_", "-") + ".txt" for name in files}
    where = {name: base if base.endswith(".tar.gz") else f"{base}/{full}" for name, full in names.items()}
    return tuple(RemoteFile(names[name], where[name], *fact) for name, fact in files.items())


_HYPE = "https://raw.githubusercontent.com/ServiceNow/HypE/25f21e35473c3ab8a54935ccf7f66f14804ffb09/data"
_HYPE_FB_AUTO = "https://raw.githubusercontent.com/ServiceNow/HypE/750fb21eac1fcf61a35a320fd5769d73e50491f1/data"
_REALE = "https://raw.githubusercontent.com/baharefatemi/ReAlE/03f2f41cf0f32776ecc243c34541c773497f0930/data"
_CONVE = "https://raw.githubusercontent.com/TimDettmers/ConvE/86eb7dcbbea5f1074529db70654517713030ba62"

DATASETS: dict[str, Dataset] = {
    dataset.name: dataset
    for dataset in (
        Dataset(
            name="example",
            about="the paper's sold / bought / buyer, grown to a small market; built in",
            counts=(15, 3, 28, 3, 5),
            licence="MIT, with relatum",
            cite="Fatemi et al., Knowledge Hypergraph Embedding Meets Relational Algebra, 2021, Figure 1",
            home="inside the package",
        ),
        Dataset(
            name="jf17k",
            about="Freebase, arity 2 to 6",
            counts=(29177, 327, 61911, 15822, 24915),
            cite="Wen et al., IJCAI 2016; this split: Fatemi et al., IJCAI 2020",
            files=_at(
                f"{_HYPE}/JF17K",
                train=(3368397, "d602fcd7a447e7e94a701b55c4887d83db52f5a6dc7b0946fc543842f453d27e"),
                valid=(867630, "a32edb4e155653767c8b47b2f04453b08e933ce198522ef873ddbe4e2fc18fef"),
                test=(1771060, "0d3732305a7cb862a48d00870fdeae83332ab42d505983fb6eb0f931df7714dd"),
            ),
            layouts={"test": Layout(relation_column=1, ignored_columns=(0,))},
            quirks=(
                "test.txt has an extra first column (instance0, ...) that train.txt and valid.txt lack",
                "the paper's 77,733 training tuples are train and valid together; its code trains on 61,911",
                "44 % of the test tuples share relation, first and second entity with a known tuple: see data check",
            ),
        ),
        Dataset(
            name="fb-auto",
            about="Freebase, cars, arity 2, 4 and 5",
            counts=(3388, 8, 6778, 2255, 2180),
            files=_at(
                f"{_HYPE_FB_AUTO}/FB-AUTO",
                train=(291040, "20277cc4df1384298ac9332fc28a40b3a2d8a6599624daec4baf7bf4170cdd7e"),
                valid=(95856, "6609669a39e452b5558945e91b6abcb928d917e60f881e7b83ae9979a984f3fb"),
                test=(92336, "c205efba644b26f1a8834204b04ecf4e4b42f630111ecd0bf15827b31ee2c08d"),
            ),
            skip_bad=True,
            quirks=(
                "train.txt ends in a line that holds only a relation: it is skipped, which leaves 6,778 tuples",
                "3,388 entities occur, not the 3,410 of the paper; 187 of those in test never occur in train",
            ),
        ),
        Dataset(
            name="m-fb15k",
            about="Freebase, arity 2 to 5",
            counts=(10314, 71, 415375, 39348, 38797),
            files=_at(
                f"{_HYPE}/M-FB15K",
                train=(16262298, "89e882954c4da0366a1f05089451a2651f23a7a2be029a36ec06163b9fa7b1e7"),
                valid=(1542296, "a8ed3b053c3a346cbc641f35e90a39984926472fcfe620b91ea4def0a15582c5"),
                test=(1520326, "1148386d8514b39f0f73bcbd27874c37e2410046cade5de6370caaf360ffc4a9"),
            ),
            quirks=("the files have no newline at their end", "69 entities of test never occur in train"),
        ),
        Dataset(
            name="rel-er",
            about="synthetic: relations derived by relational algebra",
            counts=(20801, 339, 58130, 5450, 5378),
            licence="as the ReAlE repository",
            cite="Fatemi et al., Knowledge Hypergraph Embedding Meets Relational Algebra, 2021",
            home="https://github.com/baharefatemi/ReAlE",
            files=_at(
                f"{_REALE}/REL-ER",
                train=(980281, "b78b8b2298b57dec061c17e5fe994e04ed3ba13295db60e0e2e632145dfbd32d"),
                valid=(89450, "929f855f4d178eca2a70d662c118b7bd59bfc2593827672f756a822ab0cf325a"),
                test=(88708, "d0c79a95cc1fcb789ab6b1d918b1d08dc85303abd301e49528135f26424010f9"),
                ground_truth=(1321128, "cb892f27c868818303d55d789aa183ce8320af6d97dee8d1a7feaf4380530155"),
                ops_logs=(28430, "d72812cb9951333d7f552aa4bd1ded0a014d282d894b4fd6266ad33cedbb0e96"),
            ),
            quirks=(
                "7 duplicate lines in train, 2 in test, and one test tuple that is also in train",
                "ops-logs.txt ends in two JSON lines: relation to depth, and relation to its last operation",
                "37 of its 39 differences equal their left operand, 42 of its 43 unions have disjoint inputs",
            ),
        ),
        Dataset(
            name="wn18rr",
            about="WordNet, binary: for comparison with binary libraries",
            counts=(40943, 11, 86835, 3034, 3134),
            licence="WordNet licence (Princeton University)",
            cite="Dettmers et al., AAAI 2018",
            home="https://github.com/TimDettmers/ConvE",
            files=_at(
                f"{_CONVE}/WN18RR.tar.gz",
                train=(3135377, "038612e783c215ee5f3ca9fbfca27b8d0739be1028fe4ee7c174aecf0b83d5df"),
                valid=(110415, "453ce7202afa58094a04d2b1560ee2b02660f1c260b32ce6651c8ccedd1028ab"),
                test=(113180, "0383bceaaa1096cf3c03ec021ed0048068e2355dbfc0239b292cefdac821cec5"),
            ),
            layouts=dict.fromkeys(PARTS, Layout(relation_column=1)),
            quirks=("the relation is in the middle: head, relation, tail",),
        ),
    )
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

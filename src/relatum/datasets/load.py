"""From a name, a directory or a file to a `Split`, through the cache; and from a `Split` to a directory."""

from __future__ import annotations

import contextlib
import dataclasses
import gzip
import hashlib
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, BinaryIO, cast

from relatum.closed_folders import close_folder
from relatum.data.column_types import COLUMN_TYPES, read_column_types, save_column_types
from relatum.data.derivations import DERIVATION_FILES, read_derivations, save_derivations
from relatum.data.hypergraph import Hypergraph, Split
from relatum.datasets.cache import checksum_of, load_columns, save_columns
from relatum.datasets.file_types import refuse_tables
from relatum.datasets.registry import DATASETS, PARTS, Dataset, find_dataset, locate, recognise
from relatum.datasets.row_files import ROWS, load_rows, save_rows
from relatum.datasets.statement_files import StatementReader, find_statement_files, recognise_form, write_statements
from relatum.datasets.text_format import TupleReader, read_roles, write_roles, write_tuples
from relatum.datasets.text_lines import Layout, only_file, require_text_end
from relatum.errors import DataError, RelatumError, nearest_names
from relatum.files import atomic_directory, cache_directory, is_there, sha256_of
from relatum.progress import progress
from relatum.statements.forms import FORMS, Form, find_form

_ENDINGS = (".txt", ".tsv", ".txt.gz", ".tsv.gz")


def load(
    source: str | os.PathLike[str],
    *,
    layouts: Mapping[str, Layout] | None = None,
    skip_bad: bool = False,
    use_cache: bool = True,
    statements: str | None = None,
    min_count: int = 0,
) -> Split:
    """Return the split called `source`, or held in the directory or file `source`.

    A directory holds `train`, and where there are any `valid` and `test`, as `.txt` or `.tsv`, plain or gzipped; and,
    optionally, `roles`, with one line `relation<TAB>role<TAB>...` for each relation whose positions have names. A file
    is taken as `train`. If the files are those of a registered dataset they are read as that dataset is.

    Files of statements, which are facts with qualifiers, are recognised where their first line can be nothing else, and
    read as docs/qualified-facts.md says; `statements` names their form.

    Args:
        source: a name such as `"jf17k"`, or a path; a string that is a registered name means the dataset.
        layouts: how the lines of `train`, `valid` and `test` are laid out, where they are not relation first.
        skip_bad: pass over lines that are not facts; they are listed in `Split.skipped`.
        use_cache: take, and leave behind, a columnar copy in the user's cache, tied to the bytes of the files.
        statements: the form of statements: `"wikipeople"`, `"wd50k"` or `"wikidata"`.
        min_count: the training facts that a relation of statements must have; qualifiers of rarer ones are dropped.
    """
    form = find_form(statements) if statements is not None else None
    if isinstance(source, str) and source.lower() in DATASETS:
        if layouts or skip_bad or form or min_count:
            raise DataError(
                "registered-layout",
                f"{source} is a registered dataset, whose layout is known",
                remedy="give a directory to choose one",
            )
        dataset: Dataset | None = find_dataset(source)
        files = _find_files(locate(find_dataset(source)))
    else:
        path = Path(source)
        if form is None:
            refuse_tables(source)
        if not path.exists():
            bare = path.name == source and not path.suffix  # rather a name than a path
            if bare and nearest_names(str(source), DATASETS):
                find_dataset(str(source))
            name = f", and no registered dataset of that name; known: {', '.join(DATASETS)}" if bare else ""
            raise DataError("no-such-file", f"no such file or directory{name}", place=path)
        if any(os.path.lexists(path / name) for name in (COLUMN_TYPES, ROWS)):
            close_folder(path)  # an import, which may come from elsewhere; what people put together may have links
        found = recognise_form(path) if not layouts else None
        if form is not None and found not in (None, form):
            raise DataError(
                "other-statement-form",
                f"{path} holds statements in the form {found.name}, not {form.name}",
                remedy="name that one",
            )
        form = form or found
        dataset, files = None, _find_files(path) if form is None else find_statement_files(path)
        if form is not None and not files:
            raise DataError(
                "no-statements", f"no train file of statements, such as {form.file_name.format('train')}", place=path
            )
    _check_statement_options(form, layouts, min_count)
    for file in files.values():
        require_text_end(file)
    checksums = {part: checksum_of(file) if use_cache else sha256_of(file) for part, file in files.items()}
    if dataset is None and not layouts and not skip_bad and form is None:
        dataset = recognise(checksums)
    if dataset is not None:
        layouts, skip_bad = dataset.layouts, dataset.skip_bad
    source_name = dataset.name if dataset else str(source)
    key = _key(files, checksums, layouts or {}, skip_bad)
    if form is not None:
        key["statements"] = [form.name, min_count]
    cached = _cache_path(key)
    split = load_columns(cached, key) if use_cache else None
    if split is None:
        reader = StatementReader(form, files["train"], min_count, skip_bad=skip_bad) if form is not None else None
        split = _read(files, layouts or {}, skip_bad, source_name, checksums, reader)
        if use_cache:
            with contextlib.suppress(OSError, RelatumError):  # no room or no permission: the next load is slower
                save_columns(cached, key, split)
    if dataset is not None:
        _check_counts(dataset, split)
    # Never from the cache, which is tied to the bytes of the facts alone.
    if len(files) == 1:
        return dataclasses.replace(split, derivations={}, column_types={})
    folder = files["train"].parent
    derived = next((folder / name for name in DERIVATION_FILES if is_there(folder / name)), None)
    typed = folder / COLUMN_TYPES
    return dataclasses.replace(
        split,
        derivations=read_derivations(derived) if derived else {},
        column_types=read_column_types(typed, split.schema) if is_there(typed) else {},
        rows=load_rows(folder),
    )


def save(
    split: Split,
    directory: str | os.PathLike[str],
    *,
    compress: bool = False,
    extra_files: Mapping[str, bytes] | None = None,
    statements: bool = False,
) -> None:
    """Write a split as a new directory of text files that `load` reads; all of it or nothing.

    Args:
        split: what to write.
        directory: the directory to make; it may exist if it is empty.
        compress: gzip the facts.
        extra_files: what else to put there, by name; it takes the place of a file that would be written anyhow.
        statements: write the statements that the facts came from, as WikiPeople has them, and nothing else about them.
    """
    name = FORMS["wikipeople"].file_name if statements else "{}.txt"
    target = Path(directory)
    total = sum(map(len, split.parts.values()))
    with atomic_directory(target) as folder, progress(f"writing {target.name}", total) as advance:
        for part, graph in split.parts.items():
            with (folder / f"{name.format(part)}{'.gz' * compress}").open("wb") as raw:
                # No name and no time inside, so that the same facts give the same bytes.
                file = gzip.GzipFile("", "wb", fileobj=raw, mtime=0) if compress else raw
                with contextlib.closing(file):
                    counted = cast(BinaryIO, _Counted(cast(BinaryIO, file), advance))
                    write_statements(graph, counted) if statements else write_tuples(graph, counted)
        if not statements:
            _save_what_is_known(split, folder)
        for extra, content in (extra_files or {}).items():
            (folder / extra).write_bytes(content)


def _save_what_is_known(split: Split, folder: Path) -> None:
    """Write what a split has beside its facts."""
    if any(relation.roles for relation in split.schema):
        with (folder / "roles.txt").open("wb") as plain:
            write_roles(split.schema, plain)
    if split.derivations:
        save_derivations(folder, split.derivations)
    if split.column_types:
        save_column_types(folder, split.column_types)
    if split.rows is not None:
        save_rows(folder, split.rows)


class _Counted:
    """A file that tells how many lines are written to it."""

    def __init__(self, file: BinaryIO, advance: Callable[[int], None]) -> None:
        self._file, self._advance = file, advance

    def write(self, piece: bytes) -> int:
        self._advance(piece.count(b"\n"))
        return self._file.write(piece)


def _find_files(path: Path) -> dict[str, Path]:
    """Return the files of a split by part, `roles` included; only those that exist."""
    if path.is_file():
        return {"train": path}
    files = {}
    for part in (*PARTS, "roles"):
        if (found := only_file(path, part, [part + ending for ending in _ENDINGS])) is not None:
            files[part] = found
    if "train" not in files:
        raise DataError(
            "no-train-file", f"no train file (one of {', '.join('train' + ending for ending in _ENDINGS)})", place=path
        )
    return files


def _check_statement_options(form: Form | None, layouts: Mapping[str, Layout] | None, min_count: int) -> None:
    if not isinstance(min_count, int) or min_count < 0:
        raise DataError("setting-out-of-range", f"min_count is {min_count!r}", remedy="give a number of facts from 0 up")
    if form is None and min_count:
        raise DataError(
            "option-not-for-data",
            "min_count is for statements, and these are facts",
            remedy="leave it out, or name the form of the statements",
        )
    if form is not None and layouts:
        raise DataError("option-not-for-data", "statements have no layout of columns", remedy="leave it out")


def _read(
    files: Mapping[str, Path],
    layouts: Mapping[str, Layout],
    skip_bad: bool,
    source_name: str,
    checksums: Mapping[str, str],
    statements: StatementReader | None,
) -> Split:
    reader = TupleReader(skip_bad=skip_bad)
    parts = [part for part in PARTS if part in files]
    for part in parts:
        chunks = statements.fact_lines(files[part]) if statements is not None else None
        reader.read(files[part], layouts.get(part, Layout()), chunks)
    roles = read_roles(files["roles"]) if "roles" in files else []
    if statements is not None:
        roles = statements.schema()
    graphs = dict(zip(parts, reader.finish(roles), strict=True))
    for part in PARTS:
        graphs.setdefault(part, Hypergraph(graphs["train"].entities, graphs["train"].schema, ()))
    train, valid, test = (graphs[part] for part in PARTS)
    split = Split(train, valid, test, source=source_name, checksums=checksums, skipped=reader.skipped)
    if statements is None:
        return split
    repeated = sum(len(graph) - len(graph.distinct()) for graph in (train, valid, test))
    counts = {**statements.counts, "repeated": repeated}
    return dataclasses.replace(split, skipped=statements.skipped, statement_counts=counts)


def _key(
    files: Mapping[str, Path], checksums: Mapping[str, str], layouts: Mapping[str, Layout], skip_bad: bool
) -> dict[str, Any]:
    read_as = {part: dataclasses.asdict(layout) for part, layout in sorted(layouts.items())}
    key = {
        "files": {part: [str(file.resolve()), checksums[part]] for part, file in files.items()},
        "layouts": read_as,
        "skip_bad": skip_bad,
    }
    normal: dict[str, Any] = json.loads(json.dumps(key))  # as it will come back: tuples become lists
    return normal


def _cache_path(key: Mapping[str, Any]) -> Path:
    """Return where the copy of these files, so read, is kept: one path for the same paths, whatever their bytes are now."""
    train = Path(key["files"]["train"][0])
    paths = [sorted((part, file) for part, (file, _) in key["files"].items()), key["layouts"], key["skip_bad"]]
    paths += key.get("statements", [])
    digest = hashlib.sha256(json.dumps(paths).encode()).hexdigest()[:16]
    return cache_directory() / "processed" / f"{train.parent.name}-{digest}.safetensors"


def _check_counts(dataset: Dataset, split: Split) -> None:
    counts = (len(split.entities), len(split.schema), *map(len, split.parts.values()))
    if counts != dataset.counts:
        raise DataError(
            "not-as-published",
            f"read {counts} entities, relations, train, valid, test; expected {dataset.counts}",
            place=dataset.name,
        )

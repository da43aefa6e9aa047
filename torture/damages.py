"""A table of damages to the files of a run directory, whose checksums are made to fit, as somebody who means harm would."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from relatum.data.hypergraph import Hypergraph, Split
from relatum.datasets.row_files import ROWS, VALUES
from relatum.runs.directory import FITTED, save_facts
from relatum.tensor_files import map_arrays, write_tensors

Damage = Callable[[Path], None]

OTHER = ", another model"  # at the end of damage that leaves a sound model, with other answers
_DEEP, _DIGITS = "[" * 100_000, "9" * 5000
_HUGE = "1" + "0" * 400  # a whole number that no float can hold
_DOCUMENTS = (
    "config.json",
    "environment.json",
    "calibration.json",
    "answer_calibration.json",
    "new_fact_calibration.json",
    "answer_sets.json",
    "definitions.json",
)
_TENSORS = ("model.safetensors", "checkpoint.safetensors", "checkpoint-best-20.safetensors", "facts.safetensors")
_MARK = "7777777777777"  # stands for JSON or TOML that Python would not write


def damages() -> dict[str, Damage]:
    """Return each damage by what it does to which file."""
    return dict([*_whole_files(), *_values(), *_lines(), *_specs(), *_names(), *_tensors(), *_states(), *_facts()])


def _whole_files() -> Iterator[tuple[str, Damage]]:
    contents = {"nothing": b"", "nesting": _DEEP.encode(), "digits": _DIGITS.encode(), "binary": bytes(range(256)) * 8}
    for name in (*_DOCUMENTS, "journal.jsonl", "spec.toml", "entities.txt", "relations.txt", *_TENSORS):
        for what, content in contents.items():
            yield f"{name}: {what}", _written(name, content)
        yield f"{name}: cut", lambda folder, name=name: _halve(folder / name)  # type: ignore[misc]
    for name in _DOCUMENTS:
        yield f"{name}: a list", _written(name, b"[]")
        yield f"{name}: a text", _written(name, b'"x"')
        nested = f'{{"format": 1, "version": 1, "a": {_DEEP}{_DEEP.replace("[", "]")}}}'
        yield f"{name}: nesting that ends", _written(name, nested.encode())
    for name in (*FITTED, ROWS, VALUES):
        yield f"{name}: not there, but noted", lambda folder, name=name: _only_noted(folder, name)  # type: ignore[misc]


def _only_noted(folder: Path, name: str) -> None:
    """Take a file away that the run says to have."""
    (folder / name).unlink(missing_ok=True)
    document = json.loads((folder / "environment.json").read_bytes())
    document["files"].append(name)
    (folder / "environment.json").write_text(json.dumps(document), encoding="utf-8")


def _values() -> Iterator[tuple[str, Damage]]:
    wrong = ["null", '"x"', "-1", _HUGE, _DIGITS, "1e400", "NaN", "{}", "[]", "true"]
    at = {
        "config.json": ["format", "model", "settings", "entities", "parameters", "settings.dim"],
        "environment.json": ["updates", "versions", "checksums", "facts", "version", "files"],
        "calibration.json": ["slope", "slope.0", "raw_logits", "raw_logits.0"],
        "answer_calibration.json": ["weights", "weights.0.0", "centres", "scale", "observed", "curves", "terms"],
        "new_fact_calibration.json": ["weights", "weights.0", "offsets", "unnamed", "valid"],
        "answer_sets.json": ["conformities", "conformities.0", "conformities.0.0.0"],
        "definitions.json": ["definitions", "definitions.0.name", "definitions.0.expression"],
    }
    for name, paths in at.items():
        for number, path in enumerate(paths):
            for value in (wrong[number % 10], wrong[(number + 3) % 10], wrong[(number + 6) % 10]):
                yield f"{name}: {path} is {value[:8]}", _set(name, path, value)
    yield "config.json: dim 10^18", _set("config.json", "settings.dim", str(10**18))
    yield "config.json: dim 10^9", _set("config.json", "settings.dim", str(10**9))
    yield "config.json: an unknown setting", _set("config.json", "settings.more", "1")
    yield "config.json: another model", _set("config.json", "model", '"hype"')
    yield "config.json: format true", _set("config.json", "format", "true")
    yield "calibration.json: a negative slope", _set("calibration.json", "slope.0", "-5")
    yield "calibration.json: slope 10^400", _set("calibration.json", "slope.0", _HUGE)
    for value in ("{}", '"x"', "[1]", '["x"]', '[{"added": "x", "new_entities": []}]', f'[{{"added": {_HUGE}}}]', "[{}]"):
        yield f"environment.json: updates {value[:20]}", _set("environment.json", "updates", value)
    for value in ('"x"', "[1]", '{"a": {"b": []}}'):
        yield f"environment.json: versions {value}", _set("environment.json", "versions", value)
        yield f"environment.json: checksums {value}", _set("environment.json", "checksums", value)


def _lines() -> Iterator[tuple[str, Damage]]:
    start = '{"event": "start", "time": 0, "epoch": 0}\n'
    for line in (
        "garbage",
        "\0\0\0",
        "[]",
        "5",
        "null",
        "{}",
        _DEEP,
        _DIGITS,
        '{"event": "epoch", "time": 1e400, "epoch": 1, "loss": 1.0}',
        f'{{"event": "epoch", "time": {_HUGE}, "epoch": 1}}',
        '{"event": "epoch", "time": NaN, "epoch": 1, "loss": 1.0}',
        '{"event": "epoch", "time": "x", "epoch": 1}',
        '{"event": "epoch", "time": 1, "epoch": "x"}',
        f'{{"event": "epoch", "time": 1, "epoch": {_HUGE}, "loss": 1.0}}',
        '{"event": "epoch", "time": 1, "epoch": 1e400, "loss": 1.0}',
        f'{{"event": "epoch", "time": 1, "epoch": 1, "loss": {_HUGE}}}',
        '{"event": "validation", "time": 1, "epoch": 1, "score": 0.5, "mrr": "x"}',
        '{"event": "update", "time": 1}',
        '{"event": [], "time": 1, "epoch": 1}',
    ):
        yield f"journal.jsonl: {line[:60]!r}", _written("journal.jsonl", f"{start}{line}\n".encode())


def _specs() -> Iterator[tuple[str, Damage]]:
    changed = {
        "another model": ('name = "reale"', 'name = "getd"'),
        "no such model": ('name = "reale"', 'name = "x"'),
        "a number of 5000 digits": ("dim = 20", f"dim = {_DIGITS}"),
        "dim 2^63": ("dim = 20", f"dim = {2**63}"),
        "dim 10^12": ("dim = 20", f"dim = {10**12}"),
        "a dim of text": ("dim = 20", 'dim = "x"'),
        "another dim": ("dim = 20", "dim = 24"),
        "nesting": ("dim = 20", f"dim = {_DEEP}"),
        "epochs 10^400": ("epochs = 20", f"epochs = {_HUGE}"),
        "an infinite rate": ("learning_rate = 1.0", "learning_rate = inf"),
        "another refit": ("refit = false", "refit = true"),
        "a seed of 2^70": ("seed = 0", f"seed = {2**70}"),
        "a negative seed": ("seed = 0", "seed = -1"),
        "no data": ('data = "example"', ""),
        "data elsewhere": ('data = "example"', 'data = "../../etc/passwd"'),
        "an unknown table": ('data = "example"', 'data = "example"\n[more]'),
        "a batch of 10^18": ("batch_size = 32", f"batch_size = {10**18}"),
        "negatives of 10^15": ("num_negatives = 1000", f"num_negatives = {10**15}"),
    }
    for what, (before, after) in changed.items():
        yield f"spec.toml: {what}", _replaced("spec.toml", before, after)


def _names() -> Iterator[tuple[str, Damage]]:
    for what, text in {
        "arity 10^9": "bought\t1000000000\nbuyer\t2\nsold\t3\n",
        "arity 10^30": f"bought\t{10**30}\nbuyer\t2\nsold\t3\n",
        "arity of 5000 digits": f"bought\t{_DIGITS}\nbuyer\t2\nsold\t3\n",
        "arity -1": "bought\t-1\nbuyer\t2\nsold\t3\n",
        "arity in other digits": "bought\t\u0663\nbuyer\t2\nsold\t3\n",
        "no arity": "bought\nbuyer\nsold\n",
        "a relation twice": "sold\t3\nbuyer\t2\nsold\t3\n",
        "one more relation": "bought\t3\nbuyer\t2\nmore\t2\nsold\t3\n",
        "a relation less": "bought\t3\nbuyer\t2\n",
        "no relations": "",
        "blank lines": "\n\n\n",
    }.items():
        yield f"relations.txt: {what}", _renamed("relations", text)
    for what, text in {
        "none": "",
        "one": "alex\n",
        "twice": "alex\n" * 15,
        "blank": "\n" * 15,
        "tabs": "a\tb\n" * 15,
    }.items():
        yield f"entities.txt: {what}", _renamed("entities", text)


def _tensors() -> Iterator[tuple[str, Damage]]:
    for parameter in ("entities", "relations", "bias"):
        for what, number in {"NaN": np.nan, "infinity": np.inf}.items():
            yield f"model.safetensors: {what} in {parameter}", _tensor("model", parameter, _with(number))
        yield f"model.safetensors: 3e38 in {parameter}{OTHER}", _tensor("model", parameter, _with(3e38))
    yield "model.safetensors: another shape", _tensor("model", "entities", lambda one: one[:, :-1].copy())
    yield "model.safetensors: fewer rows", _tensor("model", "entities", lambda one: one[:-1].copy())
    yield "model.safetensors: another type", _tensor("model", "entities", lambda one: one.astype(np.float64))
    yield "model.safetensors: no dimensions", _tensor("model", "entities", lambda one: np.float32(1).reshape(()))
    yield "model.safetensors: a parameter missing", _tensor("model", "bias", None)
    yield "model.safetensors: a parameter more", _tensor("model", "more", lambda _: np.zeros(3, np.float32))
    yield "model.safetensors: facts of no dimensions", _tensor("model", "facts/2", lambda _: np.int32(1).reshape(()))
    yield "model.safetensors: facts of floats", _tensor("model", "facts/2", lambda _: np.zeros((3, 2), np.float32))
    yield "model.safetensors: facts of no entity", _tensor("model", "facts/2", lambda _: np.full((3, 2), 99, np.int32))
    for length in (90_000_000, 2**62, 2**64 - 1):
        yield f"model.safetensors: a header of {length}", _headed("model.safetensors", length)
        yield f"checkpoint.safetensors: a header of {length}", _headed("checkpoint.safetensors", length)


def _states() -> Iterator[tuple[str, Damage]]:
    for number, values in {
        "epoch": (-1, "x", 10**400, 1.5, None, True, []),
        "step": (-1, "x", 10**400, 10**9),
        "best_score": ("x", 10**400, []),
        "best_epoch": (-1, "x"),
        "refit": (-1, "x", 10**400),
        "seconds": ("x", -1, 10**400),
        "stale": ("x", -1),
        "loss": ("x", 10**400, None),
        "done": ("x", None),
        "best": ("../x", 5, None, []),
    }.items():
        for value in values:
            yield f"checkpoint: {number} is {str(value)[:9]}", _state(number, value)
            unfinished = {"done": False, number: value}
            yield f"unfinished checkpoint: {number} is {str(value)[:9]}", _about("checkpoint", lambda _, new=unfinished: new)  # type: ignore[misc]
    yield "checkpoint: a number missing", _about("checkpoint", lambda _: None)
    for part in ("parameters/entities", "history/entities/squares", "mean/bias"):
        yield f"checkpoint: no {part}", _unfinished(_tensor("checkpoint", part, None))
        yield f"checkpoint: {part} of another shape", _unfinished(_tensor("checkpoint", part, lambda one: one[:-1].copy()))
        yield f"checkpoint: {part} of another type", _unfinished(_tensor("checkpoint", part, lambda one: one.astype("<i8")))
        yield f"checkpoint: NaN in {part}", _unfinished(_tensor("checkpoint", part, _with(np.nan)))
    yield "checkpoint: one parameter more", _unfinished(_tensor("checkpoint", "parameters/x", lambda _: np.zeros(2, "<f4")))
    yield "checkpoint: an unknown part", _unfinished(_tensor("checkpoint", "x/y", lambda _: np.zeros(2, "<f4")))
    yield "best parameters: none", _tensor("checkpoint-best-20", "entities", None)
    yield "best parameters: another shape", _tensor("checkpoint-best-20", "entities", lambda one: one[:-1].copy())
    yield "best parameters: NaN", _tensor("checkpoint-best-20", "entities", _with(np.nan))
    yield "best parameters: no file", lambda folder: (folder / "checkpoint-best-20.safetensors").unlink()


def _facts() -> Iterator[tuple[str, Damage]]:
    others = {
        "of other relations": [("likes", "a", "b"), ("likes", "b", "c")],
        "of other entities": [("sold", "a", "b", "c"), ("bought", "a", "b", "c"), ("buyer", "a", "c")],
        "of more entities": [("sold", f"e{number}", "b", "c") for number in range(40)],
        "of another arity": [("sold", "alex", "book"), ("bought", "alex", "book", "tv"), ("buyer", "alex", "tv", "ana")],
        "of none": [],
    }
    for what, facts in others.items():
        yield f"facts.safetensors: {what}", _other_facts(facts)
    yield "facts.safetensors: missing", lambda folder: (folder / "facts.safetensors").unlink()
    yield "facts.safetensors: no entity", _sealed(_tensor("facts", "train/3", lambda one: np.full_like(one, 99)))
    yield "facts.safetensors: below none", _sealed(_tensor("facts", "train/3", lambda one: one - 99))
    yield "facts.safetensors: a block missing", _sealed(_tensor("facts", "train/3", None))
    yield "facts.safetensors: no dimensions", _sealed(_tensor("facts", "train/3", lambda _: np.int32(1).reshape(())))
    yield "facts.safetensors: one dimension", _sealed(_tensor("facts", "train/3", lambda one: one[0].copy()))
    for key in ("relations", "blocks", "checksums", "skipped", "source", "derivations", "column_types"):
        for value in (5, "x", [[]], {"x": 5}, None):
            yield f"facts.safetensors: {key} is {value}", _sealed(_about("facts", lambda _, new={key: value}: new))  # type: ignore[misc]
    arities = [["bought", 10**9, None], ["buyer", 2, None], ["sold", 3, None]]
    yield "facts.safetensors: arity 10^9", _sealed(_about("facts", lambda _: {"relations": arities}))
    floats = [["bought", 3.5, None], ["buyer", 2, None], ["sold", 3, None]]
    yield "facts.safetensors: arity 3.5", _sealed(_about("facts", lambda _: {"relations": floats}))


def _written(name: str, content: bytes) -> Damage:
    def damage(folder: Path) -> None:
        (folder / name).write_bytes(content)

    return damage


def _halve(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def _set(name: str, path: str, value: str) -> Damage:
    """Return what sets the value at a path of a JSON file, to JSON that Python might not write."""

    def damage(folder: Path) -> None:
        *parents, last = path.split(".")
        whole = found = json.loads((folder / name).read_bytes())
        for key in parents:
            found = found[int(key) if isinstance(found, list) else key]
        found[int(last) if isinstance(found, list) else last] = int(_MARK)
        (folder / name).write_text(json.dumps(whole).replace(_MARK, value))

    return damage


def _replaced(name: str, before: str, after: str) -> Damage:
    def damage(folder: Path) -> None:
        text = (folder / name).read_text()
        assert before in text
        (folder / name).write_text(text.replace(before, after, 1))

    return damage


def _renamed(which: str, text: str) -> Damage:
    def damage(folder: Path) -> None:
        (folder / f"{which}.txt").write_bytes(text.encode())
        _set("config.json", which, json.dumps(hashlib.sha256(text.encode()).hexdigest()))(folder)

    return damage


def _with(number: float) -> Callable[[Any], Any]:
    def change(tensor: Any) -> Any:
        changed = tensor.copy()
        changed.reshape(-1)[0] = number
        return changed

    return change


def _rewritten(folder: Path, file: str, tensors: Callable[[dict[str, Any]], None], about: Callable[[Any], Any]) -> None:
    """Write a tensor file with other content, and with the checksum of that."""
    path = folder / f"{file}.safetensors"
    metadata = json.loads(path.read_bytes()[8 : 8 + int.from_bytes(path.read_bytes()[:8], "little")])["__metadata__"]
    stored = map_arrays(path, metadata["format"], int(metadata["version"]), None)
    assert stored is not None
    arrays = {name: np.array(array) for name, array in stored.arrays.items()}
    tensors(arrays)
    write_tensors(path, arrays, metadata["format"], int(metadata["version"]), about(stored.about))


def _tensor(file: str, name: str, change: Callable[[Any], Any] | None) -> Damage:
    def tensors(arrays: dict[str, Any]) -> None:
        found = arrays.pop(name, None)
        if change is not None:
            arrays[name] = np.asarray(change(found))

    return lambda folder: _rewritten(folder, file, tensors, lambda about: about)


def _about(file: str, change: Callable[[Any], dict[str, Any] | None]) -> Damage:
    """Return what changes what a file says about itself; without a change, what it says last is taken away."""

    def about(found: dict[str, Any]) -> dict[str, Any]:
        new = change(found)
        return {key: found[key] for key in list(found)[:-2]} if new is None else {**found, **new}

    return lambda folder: _rewritten(folder, file, lambda _: None, about)


def _state(number: str, value: object) -> Damage:
    return _about("checkpoint", lambda _: {number: value})


def _unfinished(damage: Damage) -> Damage:
    def both(folder: Path) -> None:
        _state("done", False)(folder)
        damage(folder)

    return both


def _headed(name: str, length: int) -> Damage:
    def damage(folder: Path) -> None:
        (folder / name).write_bytes(length.to_bytes(8, "little") + (folder / name).read_bytes()[8:])

    return damage


def _sealed(damage: Damage) -> Damage:
    """Return damage to the facts after which the environment has their checksum."""

    def both(folder: Path) -> None:
        damage(folder)
        checksum = hashlib.sha256((folder / "facts.safetensors").read_bytes()).hexdigest()
        _set("environment.json", "facts", json.dumps(checksum))(folder)

    return both


def _other_facts(facts: list[tuple[str, ...]]) -> Damage:
    graph = Hypergraph.of(facts)
    return _sealed(lambda folder: save_facts(folder, Split(graph, graph, graph, source="another")))

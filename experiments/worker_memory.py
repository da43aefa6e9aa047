"""Measure the memory of each worker: `python experiments/worker_memory.py [--facts 1000000] [--workers 2 4] [--stages]`.

Writes results/worker-memory.json, one entry for each number of workers; the facts are made, by hosts.py. What belongs to a
worker alone (Private_Clean and Private_Dirty) and its part of what it shares (Pss) are read from /proc/PID/smaps_rollup
several times a second: the median and the peak at the start, before training, while steps are taken, and at the end.

With --stages nothing is trained: one process does what the second of two workers does at its start, and says after each
thing how much memory it has, of its own and in all.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from hosts import SETTINGS, environment, make_facts

RESULTS = Path(__file__).parents[1] / "results" / "worker-memory.json"
EVERY = 0.1  # seconds


def measured(data: Path, out: Path, workers: int, settings: dict[str, Any]) -> dict[str, Any]:
    """Return the memory of each worker of one run, in bytes, by phase."""
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={workers}"]
    work = ["-m", "relatum", "train", "--data", str(data), "--out", str(out)]
    changes = [word for name, value in settings.items() for word in ("--set", f"{name}={_toml(value)}")]
    found: dict[int, dict[str, list[dict[str, int]]]] = {}
    log = out.with_suffix(".log")
    with log.open("wb") as file:
        process = subprocess.Popen([*launcher, *work, *changes], env=environment(), stdout=file, stderr=file)  # noqa: S603
        began = time.monotonic()
        while process.poll() is None:
            phase = _phase(out)
            for pid in _children(process.pid):
                number, memory = _number(pid), _memory(pid)
                if number is not None and memory:
                    found.setdefault(number, {}).setdefault(phase, []).append(memory)
            time.sleep(EVERY)
    if process.returncode:
        raise RuntimeError(f"training has failed:\n{log.read_text()[-4000:]}")
    return {
        "workers": workers,
        "seconds_of_all": round(time.monotonic() - began, 1),
        "memory": [{phase: _summary(samples) for phase, samples in found[number].items()} for number in sorted(found)],
    }


def show_stages(run: Path, data: Path, settings: dict[str, Any]) -> None:
    """Print how much memory a worker has after each thing that it does at its start."""
    from relatum import load
    from relatum.data.questions import map_questions, questions_of, save_questions
    from relatum.inference.validation import validator
    from relatum.models import MODELS
    from relatum.runs.directory import environment_of, load_facts, save_environment, save_facts
    from relatum.training.loop import start
    from relatum.training.rows import QuestionRows
    from relatum.training.settings import TrainingSettings
    from relatum.workers.group import Shares

    def show(stage: str) -> None:
        found = _memory(os.getpid())
        print(
            f"{stage:12} {found['anonymous'] / 1e6:6.0f} MB of its own, {found['resident'] / 1e6:6.0f} MB in all", flush=True
        )

    if not run.exists():  # the first worker, another process
        run.mkdir()
        split = load(data, use_cache=False)
        save_facts(run, split)
        save_environment(run, environment_of(split))
        save_questions(run / "questions.safetensors", questions_of(split.train))
        return
    show("imports")
    split = load_facts(run)
    show("facts")
    training = TrainingSettings(**{name[9:]: value for name, value in settings.items() if name.startswith("training.")})
    model = MODELS["reale"](split.train, MODELS["reale"].settings_type(dim=settings["model.dim"]))
    rows = QuestionRows(model, map_questions(run / "questions.safetensors"), training, 0)
    show("questions")
    shares = Shares(model.num_entities, 2, 1)
    kept: list[object] = [start(model, training, 0, range(shares.first, shares.last))]
    show("rows")
    kept.append(validator(model, split))
    show("validation")
    rows.start_epoch(0)
    show("order")


def _phase(out: Path) -> str:
    """Return how far a run is, by its journal: what is written at its start and at its end."""
    journal = out / "journal.jsonl"
    text = journal.read_text() if journal.exists() else ""
    if '"event": "end"' in text or '"event":"end"' in text:
        return "end"
    return "steps" if '"start"' in text else "start"


def _summary(samples: list[dict[str, int]]) -> dict[str, dict[str, int]]:
    return {
        name: {"median": int(np.median([one[name] for one in samples])), "peak": max(one[name] for one in samples)}
        for name in samples[0]
    }


def _memory(pid: int) -> dict[str, int]:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]
    except OSError:
        return {}
    sizes = {line.partition(":")[0]: 1024 * int(line.split()[1]) for line in lines}
    if not sizes:
        return {}
    return {
        "private": sizes["Private_Clean"] + sizes["Private_Dirty"],
        "proportional": sizes["Pss"],
        "anonymous": sizes["Anonymous"],
        "resident": sizes["Rss"],
    }


def _children(pid: int) -> list[int]:
    try:
        found = [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []
    return [each for child in found for each in [child, *_children(child)]]


def _number(pid: int) -> int | None:
    try:
        names = Path(f"/proc/{pid}/environ").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return None
    return next((int(name.partition("=")[2]) for name in names if name.startswith("RANK=")), None)


def _toml(value: Any) -> str:
    return json.dumps(value)


def main() -> None:
    """Measure, and write what was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--facts", type=int, default=1_000_000)
    parser.add_argument("--entities", type=int, default=100_000)
    parser.add_argument("--valid", type=int, default=1_000)
    parser.add_argument("--workers", type=int, nargs="+", default=[2, 4])
    parser.add_argument("--set", nargs="*", default=[], help="settings, such as training.rows='\"facts\"'")
    parser.add_argument("--label", default="")
    parser.add_argument("--stages", action="store_true")
    parser.add_argument("--run", nargs=2, type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--out", type=Path, default=RESULTS)
    given = parser.parse_args()
    settings = {**SETTINGS, **{name: json.loads(value) for name, _, value in (one.partition("=") for one in given.set)}}
    if given.run:
        show_stages(*given.run, settings)
        return
    results = json.loads(given.out.read_text()) if given.out.exists() else []
    with tempfile.TemporaryDirectory() as temporary:
        base = Path(temporary)
        os.environ.setdefault("RELATUM_CACHE", str(base / "cache"))
        make_facts(base / "data", given.facts, given.entities, given.valid)
        for _ in range(2 * given.stages):  # the first time what the other one reads is written
            command = [sys.executable, __file__, "--run", str(base / "run"), str(base / "data")]
            subprocess.run(command, env=environment(), check=True)  # noqa: S603
        for workers in given.workers if not given.stages else ():
            one = measured(base / "data", base / f"on{workers}", workers, settings)
            about = {"label": given.label, "facts": given.facts, "entities": given.entities, "settings": settings}
            results.append({**about, **one})
            for number, phases in enumerate(one["memory"]):
                text = ", ".join(
                    f"{phase} {sizes['private']['median'] / 1e6:.0f}/{sizes['private']['peak'] / 1e6:.0f} private"
                    f" {sizes['proportional']['median'] / 1e6:.0f}/{sizes['proportional']['peak'] / 1e6:.0f} proportional"
                    for phase, sizes in phases.items()
                )
                print(f"{workers} workers, {number}: {text} (median/peak, MB)", flush=True)
            given.out.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()

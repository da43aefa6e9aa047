"""Train on several hosts that are network namespaces of this machine, and compare the bits with one process.

    python experiments/hosts.py [--hosts 4] [--delay 1] [--rate 1000] [--lose] [--set model.dim=32] [--out results.json]
    python experiments/hosts.py --predict

Each host has one worker on one thread, an address of its own, and a link with a delay (one way) and a rate; the hosts share
this machine's disk and processors. With --lose the last host is cut off in the middle of training, and a moment later its
processes are killed: the others go on from the last checkpoint. Needs root, and the command `ip` of Linux (links.py).

Each call adds what it measured to results/hosts.json. With --predict, the constants of the cost model of docs/scaling.md are
fitted on those of the runs that were made with --fit, and all runs are compared with what the model says of them.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
import os
import platform
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from links import Link, address, command, kill_all, network, refusal

ROOT = Path(__file__).parents[1]
RELATIONS, ARITY = 20, 3
SETTINGS = {
    "model.dim": 100,
    "training.rows": "questions",
    "training.epochs": 1,
    "training.batch_size": 256,
    "training.batches_per_step": 8,
    "training.num_negatives": 1000,
    "training.in_relation_share": 0.5,
    "training.evidence": False,
}
PAIR = 2.3e-10  # seconds of one thread for a column of a question and a candidate, by an epoch of a million facts
PORT, PATIENCE, WARM = 29400, 300.0, 5  # seconds; steps that load kernels and are not counted


def make_facts(folder: Path, facts: int, entities: int, valid: int) -> None:
    """Write train.txt, and valid.txt if it has facts; names are in no order of how often they occur."""
    rng = np.random.default_rng(0)
    names = rng.permutation(entities)
    folder.mkdir(parents=True, exist_ok=True)
    for part, count in (("train", facts), *([("valid", valid)] if valid else [])):
        drawn = names[(entities * rng.random((count, ARITY)) ** 2).astype(np.int64)].tolist()
        relations = rng.integers(0, RELATIONS, count).tolist()
        lines = (f"r{r}\te{a}\te{b}\te{c}\n" for r, (a, b, c) in zip(relations, drawn, strict=True))
        (folder / f"{part}.txt").write_text("".join(lines))


def start_host(number: int, name: str, hosts: int, least: int, work: list[str], log: Path) -> subprocess.Popen[bytes]:
    """Return the launcher of a host, in a process group of its own."""
    launcher = [sys.executable, "-m", "torch.distributed.run", "--nnodes", f"{least}:{hosts}", "--nproc-per-node", "1"]
    launcher += ["--max-restarts", "5", "--rdzv-id", "hosts", "--rdzv-backend", "c10d"]
    launcher += ["--rdzv-endpoint", f"{address(1)}:{PORT}", "--local-addr", address(number)]
    launcher += ["--rdzv-conf", f"is_host={int(number == 1)},last_call_timeout=3,join_timeout=60"]
    own = {**environment(), "GLOO_SOCKET_IFNAME": "eth0", "RELATUM_WORKER_TIMEOUT": "20"}
    with log.open("wb") as file:
        whole = ["ip", "netns", "exec", name, *launcher, __file__, *work]
        return subprocess.Popen(whole, env=own, stdout=file, stderr=file, start_new_session=True)  # noqa: S603


def environment() -> dict[str, str]:
    """Return the environment of every process: one thread, and the package beside this file."""
    paths = os.pathsep.join(filter(None, [str(ROOT / "src"), os.environ.get("PYTHONPATH")]))
    return {**os.environ, "PYTHONPATH": paths, "RELATUM_THREADS": "1", "OMP_NUM_THREADS": "1"}


def train_on_hosts(folder: Path, data: Path, hosts: int, link: Link, lose: bool, settings: dict[str, Any]) -> dict[str, Any]:
    """Return what training on hosts took, and where its files are."""
    out = folder / f"on{hosts}-{link.delay}-{link.rate}{'-lose' if lose else ''}"
    work = ["--work", str(data), str(out), json.dumps(settings)]
    logs = [out.with_name(f"{out.name}-{number}.log") for number in range(1, hosts + 1)]
    started: list[subprocess.Popen[bytes]] = []
    with network(hosts, link) as names:
        try:
            began = time.monotonic()
            for number, name in enumerate(names, 1):
                started.append(start_host(number, name, hosts, hosts - lose, work, logs[number - 1]))
            if lose:
                lose_host(started[-1], names[-1], out)
            for one in started[: hosts - lose]:
                one.wait(PATIENCE)
            seconds = time.monotonic() - began
        finally:
            for name in names:
                kill_all(name)
            for one in started:
                one.wait()
    failed = [number for number, one in enumerate(started[: hosts - lose], 1) if one.returncode]
    if failed:
        raise RuntimeError(f"host {failed[0]} has failed:\n{logs[failed[0] - 1].read_text()[-4000:]}")
    events = [json.loads(line) for line in (out / "journal.jsonl").read_text().splitlines()]
    end = next(event for event in reversed(events) if event["event"] == "end")
    kept = ("workers", "communication", "bytes_sent")
    return {
        "hosts": hosts,
        "delay_ms": link.delay,
        "rate_mbit": link.rate,
        "lost": int(lose),
        "resumed": sum(event["event"] == "resume" for event in events),
        "seconds_of_all": round(seconds, 2),
        "end": {name: end[name] for name in kept},
        "step": json.loads((out / "steps.json").read_text()),
        "model": digest(out),
    }


def lose_host(launcher: subprocess.Popen[bytes], name: str, out: Path) -> None:
    """Cut a host off once there is a checkpoint, and kill what runs on it."""
    end = time.monotonic() + PATIENCE
    while not (out / "checkpoint.json").exists():
        if time.monotonic() > end or launcher.poll() is not None:
            raise RuntimeError("there is no checkpoint yet, and the host has ended")
        time.sleep(0.05)
    command("ip", "-n", name, "link", "set", "eth0", "down")
    time.sleep(1)
    if (out / "model.safetensors").exists():
        raise RuntimeError("training had ended before the host was lost: give it more epochs")
    kill_all(name)


def train_alone(folder: Path, data: Path, settings: dict[str, Any]) -> dict[str, Any]:
    """Return what training by one process takes."""
    out = folder / "alone"
    work = ["--work", str(data), str(out), json.dumps(settings)]
    subprocess.run([sys.executable, __file__, *work], env=environment(), check=True, capture_output=True)  # noqa: S603
    return {"step": json.loads((out / "steps.json").read_text()), "model": digest(out)}


def digest(out: Path) -> str:
    """Return a checksum of the model that a run holds."""
    return hashlib.sha256((out / "model.safetensors").read_bytes()).hexdigest()


def work(data: str, out: str, settings: dict[str, Any]) -> None:
    """Train as a worker, or alone; the first worker writes what a step takes, as medians over steps."""
    import relatum
    from relatum.workers.group import current_group, start_group

    group = start_group()
    marks: list[tuple[float, ...]] = []

    def watch(event: str, *_: object) -> None:
        if event in ("step", "epoch", "validation"):
            spent = (group.seconds, group.sent, group.collectives) if group else (0.0, 0, 0)
            marks.append((float(event == "step"), time.perf_counter(), *spent))

    relatum.fit(data, out, progress=False, watch=watch, seed=0, recipe="fast", **by_name(settings))
    if group is None or group.is_first:
        pairs = itertools.pairwise(marks)
        steps = np.array([np.subtract(after[1:], before[1:]) for before, after in pairs if before[0] and after[0]])[WARM:]
        found = dict(zip(("seconds", "waiting", "bytes", "collectives"), np.median(steps, 0).tolist(), strict=True))
        found |= {"steps": len(steps), "communication": found["waiting"] / found["seconds"]}
        (Path(out) / "steps.json").write_text(json.dumps(found))
    if (group := current_group()) is not None:
        group.close()


def by_name(settings: dict[str, Any]) -> dict[str, Any]:
    """Return settings as `relatum.fit` takes them."""
    return {name.rpartition(".")[2]: value for name, value in settings.items()}


def main() -> None:
    """Measure, or be one of the workers."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hosts", type=int, default=4)
    parser.add_argument("--delay", type=float, help="milliseconds, one way")
    parser.add_argument("--rate", type=float, help="megabits a second")
    parser.add_argument("--lose", action="store_true", help="lose the last host in the middle")
    parser.add_argument("--facts", type=int, default=20_000)
    parser.add_argument("--entities", type=int, default=20_000)
    parser.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", help="a setting of the model or training"
    )
    parser.add_argument("--out", type=Path, default=ROOT / "results" / "hosts.json")
    parser.add_argument("--fit", action="store_true", help="constants may be fitted on this run")
    parser.add_argument("--predict", action="store_true", help="compare the cost model with the runs of --out")
    parser.add_argument("--work", nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.work:
        work(given.work[0], given.work[1], json.loads(given.work[2]))
        return
    if given.predict:
        compare(given.out)
        return
    reason = refusal()
    if reason:
        sys.exit(reason)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that namespaces are removed then, too
    changed = dict(pair.split("=", 1) for pair in given.set)
    settings = {**SETTINGS, **{name: json.loads(value) for name, value in changed.items()}}
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        valid = 100 if given.lose else 0  # a validation writes a checkpoint, and is not what is measured
        make_facts(folder / "data", given.facts, given.entities, valid)
        of = {"facts": given.facts, "valid": valid, "entities": given.entities, "arity": ARITY, "settings": settings}
        alone = earlier(given.out, of) or train_alone(folder, folder / "data", settings)
        show("one process", alone)
        one = train_on_hosts(folder, folder / "data", given.hosts, Link(given.delay, given.rate), given.lose, settings)
        one["same_bits"] = one["model"] == alone["model"]
        show(f"{given.hosts} hosts", one)
    save(given.out, {**of, "fit": given.fit, "one_process": alone["step"], **one})
    if not one["same_bits"]:
        sys.exit("the model differs from that of one process")


def earlier(path: Path, of: dict[str, Any]) -> dict[str, Any] | None:
    """Return what one process took in an earlier call about the same training, if there was one."""
    rows = json.loads(path.read_text())["runs"] if path.exists() else []
    same = [one for one in rows if one["same_bits"] and all(one.get(name) == value for name, value in of.items())]
    return {"step": same[0]["one_process"], "model": same[0]["model"]} if same else None


def show(what: str, found: dict[str, Any]) -> None:
    """Print one line."""
    step = found["step"]
    text = f"{what}: {1e3 * step['seconds']:.1f} ms a step"
    if "end" in found:
        text += f", {step['communication']:.1%} communication, {step['bytes'] / 1e6:.3f} MB sent by the first worker"
        text += f", {step['collectives']:.0f} collectives; {'the same bits' if found['same_bits'] else 'OTHER BITS'}"
        text += f"; {found['lost']} lost, resumed {found['resumed']} times, ended with {found['end']['workers']} workers"
    print(text, flush=True)


def save(path: Path, row: dict[str, Any]) -> None:
    """Add what was measured, with where; it replaces an earlier run with the same settings."""
    import torch

    from relatum import __version__
    from relatum.runs.results import save_results

    def key(one: dict[str, Any]) -> str:
        names = ("facts", "entities", "settings", "hosts", "delay_ms", "rate_mbit", "lost")
        return json.dumps([*(one[name] for name in names), one["step"]["collectives"]])

    rows = json.loads(path.read_text())["runs"] if path.exists() else []
    machine = {"processors": os.cpu_count(), "machine": platform.machine(), "python": platform.python_version()}
    whole = {
        "made_by": "python experiments/hosts.py",
        "relatum": __version__,
        "machine": {**machine, "torch": torch.__version__},
        "runs": [*(one for one in rows if key(one) != key(row)), row],
    }
    save_results(path, whole)


class Constants(NamedTuple):
    """What the cost model does not know by counting."""

    collective: float  # seconds of a collective without delay
    round_trips: float  # of a collective
    rate_share: float  # how much longer bytes take than the rate of a link says
    byte: float  # seconds that a worker waits for a byte where the link is not narrow
    packing: float  # seconds of computation for a byte sent
    batch: float  # seconds of computation for a batch, beside what one process takes


def predicted_bytes(workers: int, batches: int, rows: float, columns: int, arity: int, dropout: bool = False) -> float:
    """Return how many bytes a worker sends in a step, of so many batches, that need so many rows each.

    Twice a row's id goes out, its columns once as parameters and once as a gradient; relations' gradients go to all.
    """
    others = workers - 1
    relation = 4 * columns * (arity + 0.5) + 16 * arity + (3.5 * 8 * columns if dropout else 0) + 300
    return batches / workers * (others / workers * rows * (16 + 8 * columns) + others * relation)


def predicted(
    alone: float,
    workers: int,
    batches: int,
    sent: float,
    collectives: float,
    link: Link,
    constants: Constants,
    processors: int,
) -> tuple[float, float]:
    """Return the seconds of a step, and the share of them that is communication.

    Args:
        alone: the seconds of a step of one process with as many threads as a worker has.
        workers: how many.
        batches: of a step.
        sent: the bytes that a worker sends in a step.
        collectives: of a step.
        link: of each worker.
        constants: what was fitted.
        processors: that all workers together have, each of them one thread.
    """
    own = constants.packing * sent + constants.batch * batches / workers
    computing = (alone / workers + own) * max(1.0, workers / processors)
    numbers = terms(collectives, sent, link)
    waiting = sum(one * constant for one, constant in zip(numbers, constants, strict=False))
    return computing + waiting, waiting / (computing + waiting)


def terms(collectives: float, sent: float, link: Link) -> tuple[float, float, float, float]:
    """Return what the first four constants are multiplied with."""
    seconds = sent * 8e-6 / link.rate if link.rate else 0.0
    return collectives, collectives * 2e-3 * (link.delay or 0.0), seconds, sent


def fitted(runs: list[dict[str, Any]]) -> Constants:
    """Return the constants that fit runs best: least squares of relative errors, none below 0."""
    from scipy.optimize import nnls

    rows, more = [], []
    for one in runs:
        sent, waited = one["step"]["bytes"], one["step"]["waiting"]
        numbers = terms(one["step"]["collectives"], sent, Link(one["delay_ms"], one["rate_mbit"]))
        rows.append([number / waited for number in numbers])
        computing = one["step"]["seconds"] - waited
        extra = computing - one["one_process"]["seconds"] / one["hosts"]
        more.append([sent / extra, one["settings"]["training.batches_per_step"] / one["hosts"] / extra])
    return Constants(*(float(one) for part in (rows, more) for one in nnls(np.array(part), np.ones(len(part)))[0]))


def wikidata(constants: Constants) -> None:
    """Print what the model says of 1.5 billion facts and 100 million entities, d = 100, on 16 machines of 16 cores."""
    facts, entities, arity, columns, size, negatives, machines, cores = 1.5e9, 1e8, 2, 100, 256, 1000, 16, 16
    batches, batch = machines * cores, size * (size + negatives) * columns * PAIR
    steps = arity * facts / (size * batches)
    print(
        f"Wikidata: {steps:,.0f} steps an epoch, {1e3 * batch:.1f} ms a batch, {entities * columns * 4 / 1e9:.0f} GB a table"
    )
    for workers, link in itertools.product((machines, machines * cores), (Link(0.05, 10_000), Link(0.05, 1000))):
        sent = predicted_bytes(workers, batches, negatives + arity * size, columns, arity)
        beside = workers / machines  # workers of a machine share its link
        own = Link(link.delay, (link.rate or 0) / beside)
        alone = batches * batch * workers / (machines * cores)  # of one process with the threads of a worker
        seconds, share = predicted(alone, workers, batches, sent, 3, own, constants, workers)
        text = f"{workers} workers, {link.rate:,.0f} Mbit/s: {sent / 1e6:.1f} MB, {1e3 * seconds:.0f} ms a step"
        print(f"{text}, {share:.0%} communication, {steps * seconds / 3600:.1f} h an epoch")


def compare(path: Path) -> None:
    """Print the constants, and what the model says of each run beside what was measured."""
    whole = json.loads(path.read_text())
    runs = [one for one in whole["runs"] if not one["lost"]]
    constants = fitted([one for one in runs if one["fit"]])
    print(json.dumps({name: float(f"{value:.3g}") for name, value in constants._asdict().items()}))
    names = ("collectives", "hosts", "d", "delay, ms", "Mbit/s", "MB sent", "step, ms", "predicted")
    print("| " + " | ".join([*names, "communication", "predicted", "error", "fitted"]) + " |")
    print("|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|---|")
    for one in runs:
        step, link = one["step"], Link(one["delay_ms"], one["rate_mbit"])
        alone, sent, collectives = one["one_process"]["seconds"], step["bytes"], step["collectives"]
        processors, batches = whole["machine"]["processors"], one["settings"]["training.batches_per_step"]
        seconds, share = predicted(alone, one["hosts"], batches, sent, collectives, link, constants, processors)
        words = [
            f"{collectives:.0f}",
            one["hosts"],
            one["settings"]["model.dim"],
            one["delay_ms"] or "-",
            one["rate_mbit"] or "-",
        ]
        words += [f"{step['bytes'] / 1e6:.2f}", f"{1e3 * step['seconds']:.1f}", f"{1e3 * seconds:.1f}"]
        words += [f"{step['communication']:.1%}", f"{share:.1%}", f"{100 * (share - step['communication']):+.1f}"]
        print("| " + " | ".join(map(str, [*words, "yes" if one["fit"] else "no"])) + " |")
    wikidata(constants)


if __name__ == "__main__":
    main()

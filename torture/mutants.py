"""`python -m torture.mutants [FILE ...]`: put small faults into the files that matter most, and see whether tests notice.

A mutant runs in a copy of the project, in a process that is forked from one which has imported the large libraries, but
nothing of relatum. It is killed if a test fails, or if its tests take three times as long as without it, and 20 seconds.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import platform
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

from torture.mutation import Mutant, mutants_of
from torture.mutation_targets import EQUIVALENT, TESTS

ROOT = Path(__file__).parents[1]
_COPIED = ("src", "tests", "torture", "pyproject.toml")
_OWN = ("relatum", "support", "conftest", "tests", "torture")  # modules that each child imports for itself
_SLOWER, _PATIENCE = 3.0, 20.0  # how much longer a mutant's tests may take: times, and seconds
_MEMORY = 16 << 30  # bytes of addresses, which a mutant might fill without end


class Copy:
    """A copy of what tests need, in which one file at a time is mutated."""

    def __init__(self, folder: Path, root: Path = ROOT) -> None:
        self.folder = folder
        for name in _COPIED:
            if (root / name).is_dir():
                shutil.copytree(root / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
            elif (root / name).is_file():
                shutil.copy(root / name, folder / name)

    def run(self, tests: Sequence[str], seconds: float = float("inf"), *, keep: bool = False) -> tuple[bool, float]:
        """Return whether the tests pass, and how long they took; `keep` lets Python keep what it compiles."""
        start = time.monotonic()
        child = os.fork()
        if not child:
            os._exit(_guarded(lambda: self._tests(tests, keep)))
        while time.monotonic() - start < seconds:
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended:
                return status == 0, time.monotonic() - start
            time.sleep(0.02)
        os.killpg(child, signal.SIGKILL)
        os.waitpid(child, 0)
        return False, time.monotonic() - start

    def _tests(self, tests: Sequence[str], keep: bool) -> int:
        """Run tests; in a child, with processes of its own group."""
        os.setsid()
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
        log = os.open(self.folder / "log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.chdir(self.folder)
        sys.dont_write_bytecode = not keep
        source = str(self.folder / "src")
        sys.path[:0] = [source]
        os.environ |= {"PYTHONPATH": source, "NUMBA_CACHE_DIR": str(self.folder / "numba")}
        os.environ.pop("PYTEST_ADDOPTS", None)  # which is about the tests that this may be one of
        if not keep:
            os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
        import pytest

        # Hypothesis was imported before pytest could rewrite its assertions, of which it has none that matter here.
        options = (
            "-x",
            "-q",
            "--all",
            "--tb=line",
            "-p",
            "no:cacheprovider",
            "-n0",
            "-W",
            "ignore::pytest.PytestAssertRewriteWarning",
        )
        ended = int(pytest.main([*tests, *options], plugins=[_NoShrinking()]))
        if keep:
            (self.folder / "modules").write_text("\n".join(sys.modules))
        relatum = sys.modules.get("relatum")
        if relatum is not None and not str(relatum.__file__).startswith(source):
            raise AssertionError(f"tests ran with {relatum.__file__}")
        return ended

    def warm(self) -> None:
        """Import the libraries that the last kept run has imported, so that children need not."""
        for name in (self.folder / "modules").read_text().split("\n"):
            if name.partition(".")[0] not in _OWN and name not in sys.modules:
                with suppress(Exception):
                    importlib.import_module(name)

    def put(self, file: str, source: str) -> None:
        """Give a file another content, and forget what Python has compiled of it: times and sizes could be equal."""
        path = self.folder / file
        path.write_text(source, encoding="utf-8")
        for compiled in (path.parent / "__pycache__").glob(f"{path.stem}.*"):
            compiled.unlink()


class _NoShrinking:
    """Of failures that Hypothesis finds the first one is enough; to make it small takes longer than all else."""

    def pytest_collection(self) -> None:
        from hypothesis import Phase, settings

        phases = (Phase.explicit, Phase.generate)
        settings.register_profile("mutants", settings.default, phases=phases, report_multiple_bugs=False)
        settings.load_profile("mutants")


def _guarded(work: Callable[[], int]) -> int:
    """Return the exit code of a child, which must not go on with what its parent does."""
    try:
        return work()
    except BaseException as error:
        os.write(2, f"{type(error).__name__}: {error}\n".encode())
        return 70


def main() -> int:
    """Run the mutants, and return 1 if too many survive."""
    given = _arguments()
    out = Path(given.out) / "mutation.json"
    out.parent.mkdir(parents=True, exist_ok=True)
    found: dict[str, Any] = json.loads(out.read_text()) if out.exists() else {"files": {}}
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        copy = Copy(Path(folder))
        for file in given.files:
            before = found["files"].get(file, {})
            found["files"][file] = examine(copy, file, given.seed, given.sample, before if given.again else None)
            found["files"] = {one: found["files"][one] for one in TESTS if one in found["files"]}
            found |= {"python": platform.python_version(), **_total(found["files"].values())}
            out.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"{found['killed']} of {found['killed'] + found['survived']} killed: {found['score']:.3f}")
    return 0 if found["score"] >= 0.95 and all(one["score"] >= 0.9 for one in found["files"].values()) else 1


def examine(copy: Copy, file: str, seed: int, sample: int, before: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return what came of the mutants of a file.

    Args:
        copy: where they run.
        file: the file, as `TESTS` has it.
        seed: of the sample.
        sample: how many mutants to try at most; 0 for all.
        before: what came of an earlier time, of which only survivors are tried again.
    """
    original, equivalent = (ROOT / file).read_text(encoding="utf-8"), EQUIVALENT.get(file, {})
    mutants = mutants_of(original)
    if unknown := sorted(equivalent.keys() - {mutant.text for mutant in mutants}):
        raise SystemExit(f"{file}: no such mutant, but listed as equivalent: {unknown}")
    chosen = _sample(mutants, file, seed, sample)
    told = {"sha256": sha256(original.encode()).hexdigest(), "mutants": len(mutants), "seed": seed, "sampled": len(chosen)}
    tried = chosen
    if before is not None and told.items() <= before.items():  # else other mutants were tried then
        tried = [mutant for mutant in chosen if mutant.text in before["survivors"]]
    copy.put(file, original)
    passed, seconds = copy.run(TESTS[file], keep=True)
    if not passed:
        raise SystemExit(f"{file}: its tests fail without a mutant\n{(copy.folder / 'log').read_text()[-3000:]}")
    copy.warm()
    _, seconds = copy.run(TESTS[file])  # once more: kernels are compiled by now
    print(f"{file}: {len(mutants)} mutants, {len(tried)} tried, tests take {seconds:.1f} s", flush=True)
    survivors: list[str] = []
    wrong: list[str] = []
    for mutant in tried:
        copy.put(file, mutant.source)
        passed, _ = copy.run(TESTS[file], _SLOWER * seconds + _PATIENCE)
        if passed != (mutant.text in equivalent):
            (survivors if passed else wrong).append(mutant.text)
            print(f"  {'survived' if passed else 'killed, but listed as equivalent'}: {mutant.text}", flush=True)
    copy.put(file, original)
    if wrong:
        raise SystemExit(f"{file}: killed, but listed as equivalent: {wrong}")
    without = [mutant.text for mutant in chosen if mutant.text in equivalent]
    killed = len(chosen) - len(without) - len(survivors)
    print(f"  {killed} of {killed + len(survivors)} killed", flush=True)
    return {
        "tests": list(TESTS[file]),
        **told,
        "killed": killed,
        "score": round(killed / max(1, killed + len(survivors)), 4),
        "survivors": survivors,
        "equivalent": {text: equivalent[text] for text in without},
    }


def _sample(mutants: list[Mutant], file: str, seed: int, size: int) -> list[Mutant]:
    if not size or size >= len(mutants):
        return mutants
    chosen = sorted(random.Random(f"{file} {seed}").sample(range(len(mutants)), size))
    return [mutants[index] for index in chosen]


def _total(files: Any) -> dict[str, Any]:
    killed, survived = sum(one["killed"] for one in files), sum(len(one["survivors"]) for one in files)
    return {"killed": killed, "survived": survived, "score": round(killed / max(1, killed + survived), 4)}


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m torture.mutants", description=__doc__)
    parser.add_argument("files", nargs="*", help="of those that have tests named for them; by default all")
    parser.add_argument("--seed", type=int, default=0, help="of the sample")
    parser.add_argument("--sample", type=int, default=60, help="how many mutants of each file; 0 for all")
    parser.add_argument("--again", action="store_true", help="only those that survived the last time, by the file in --out")
    parser.add_argument(
        "--out", default="results", help="the folder of mutation.json; other files in it keep what they have"
    )
    given = parser.parse_args()
    given.files = given.files or list(TESTS)
    if unknown := [file for file in given.files if file not in TESTS]:
        parser.error(f"no tests are named for {', '.join(unknown)}; there are {', '.join(TESTS)}")
    return given


if __name__ == "__main__":
    sys.exit(main())

"""`python -m benchmarks [NAME ...]`: measure everything, or the named files; nothing is skipped."""

from __future__ import annotations

import importlib
import importlib.util
import os
import shutil
import sys
from pathlib import Path

from benchmarks.measure import Ratio, report
from relatum.datasets.registry import find_dataset, locate
from relatum.errors import RelatumError

FILES = (
    "reading",
    "databases",
    "scoring",
    "learning",
    "evidence",
    "single_questions",
    "everyday_queries",
    "serving",
    "pykeen_peer",
)
DATASETS = {"reading": "m-fb15k", "learning": "jf17k", "evidence": "jf17k", "serving": "jf17k", "pykeen_peer": "wn18rr"}


def missing(files: list[str]) -> list[str]:
    """Return what is not there to measure these files with, each with the way to get it."""
    found = []
    if "pykeen_peer" in files and importlib.util.find_spec("pykeen") is None:
        found.append("PyKEEN is missing: install it with pip install 'relatum[bench]', or use make bench")
    if "scoring" in files and not any(map(shutil.which, ("c++", "g++", "clang++"))):
        found.append("a C++ compiler is missing: install one, for example with apt-get install g++")
    if "serving" in files and shutil.which("wrk") is None:
        found.append("wrk is missing: install it, for example with apt-get install wrk")
    if "databases" in files:
        for module, extra in (("duckdb", "io"), ("psycopg", "postgres"), ("pymysql", "mysql"), ("pytest", "dev")):
            if importlib.util.find_spec(module) is None:
                found.append(f"{module} is missing: install it with pip install 'relatum[{extra}]', or use make bench")
        for program, package in (("initdb", "postgresql"), ("mariadbd", "mariadb-server")):
            if shutil.which(program, path=f"{os.environ.get('PATH', '')}{os.pathsep}/usr/sbin") is None:
                found.append(f"{program} is missing: install it, for example with apt-get install {package}")
    for name in filter(None, map(DATASETS.get, files)):
        try:
            locate(find_dataset(name))
        except RelatumError as error:
            said = os.environ.get("RELATUM_DATA") or "not set"
            folder = find_dataset(name).folder
            found.append(
                f"{name} is missing: {error}; or set RELATUM_DATA, which is {said}, to the folder that holds {folder}"
            )
    return found


def main() -> int:
    files = sys.argv[1:] or list(FILES)
    if lacking := missing(files):
        print(*lacking, sep="\n", file=sys.stderr)
        return 2
    ratios: list[Ratio] = []
    for name in files:
        for ratio in importlib.import_module(f"benchmarks.{name}").ratios():
            print(f"{ratio.name}: {ratio.value:.3g} {ratio.unit} ({ratio.detail})", file=sys.stderr)
            ratios.append(ratio)
    return report(ratios, Path("bench.json"))


if __name__ == "__main__":
    sys.exit(main())

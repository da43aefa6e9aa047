"""The lowest versions that pyproject.toml allows: installed together, and tested."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

from release.build import ROOT, the_wheel
from release.environments import Environment
from release.trial import add_result

__all__ = ["try_lowest"]

NOT_FOR_USERS = {"bench", "dev", "docs", "test"}
TESTS = (
    "runs",
    "kernels",
    "tables",
    "cli",
    "models",
    "data",
    "sql",
    "tuning",
    "report",
    "mcp",
    "serving",
    "test_records.py",
)


def try_lowest(python: str, torch: str | None, tests: list[str], results: Path | None) -> int:
    """Run tests with the lowest versions of what relatum asks for itself, and return the exit code of pytest."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = sorted(project["optional-dependencies"].keys() - NOT_FOR_USERS)
    with tempfile.TemporaryDirectory(prefix="relatum-lowest-") as folder:
        environment = Environment(Path(folder), python)
        lowest = Path(folder) / "lowest.txt"
        chosen = [option for extra in extras for option in ("--extra", extra)]
        compiling = ["uv", "pip", "compile", "--quiet", "--no-header", "--no-annotate", "--python", str(environment.python)]
        subprocess.run(
            [*compiling, "--resolution", "lowest-direct", *chosen, ROOT / "pyproject.toml", "-o", lowest], check=True
        )
        if torch is not None:  # with that build in the place of the lowest one
            kept = [
                line for line in lowest.read_text().splitlines() if not line.startswith(("torch==", "nvidia-", "triton=="))
            ]
            lowest.write_text("\n".join(kept) + "\n")
            environment.install(torch)
        environment.install("--constraint", str(lowest), f"relatum[{','.join(['dev', *extras])}] @ {the_wheel().as_uri()}")
        direct = {one.lower() for name in [None, *extras] for one in _names(project, name)}
        versions = {
            name: version for name, version in environment.packages().items() if name.lower().replace("_", "-") in direct
        }
        print("\n".join(f"{name} {version}" for name, version in sorted(versions.items())))
        what = tests or [f"tests/{name}" for name in TESTS]
        # Old versions of one library warn of new ones of another; that is no fault of ours.
        command = [str(environment.python), "-m", "pytest", "-q", "-W", "default", "-p", "no:cacheprovider", *what]
        ended = subprocess.run(command, cwd=ROOT, env=environment.variables, stdout=subprocess.PIPE, text=True)
        sys.stdout.write(ended.stdout)
    if results is not None:
        last = ended.stdout.strip().splitlines()[-1]
        add_result(
            results,
            "lowest",
            {"python": environment.version, "versions": versions, "tests": what, "pytest": last},
            "python",
        )
    return ended.returncode


def _names(project: dict[str, dict[str, list[str]]], extra: str | None) -> list[str]:
    """Return the names of the packages that relatum asks for, by itself or by an extra."""
    wanted = project["dependencies"] if extra is None else project["optional-dependencies"][extra]
    return [one.partition(">")[0].partition("[")[0].replace("_", "-") for one in wanted]

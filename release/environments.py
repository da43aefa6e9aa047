"""Empty environments outside of the project: made, measured, cloned, and used as a person at a terminal would."""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import time
from pathlib import Path

from release.build import DIST

__all__ = ["Environment", "in_megabytes"]

# Packages that come with torch: nothing but torch asks for them.
OF_TORCH = ("torch", "torchgen", "functorch", "nvidia", "triton", "cuda", "sympy", "mpmath", "networkx")


class Environment:
    """A virtual environment in a folder of its own, with a folder to work in and caches beside it.

    Args:
        folder: where all of it goes.
        python: the interpreter that it is made with; None where the environment is there already.
    """

    def __init__(self, folder: Path, python: str | None = None) -> None:
        self.folder, self.work, self.python = folder, folder / "work", folder / "venv" / "bin" / "python"
        if python is not None:
            subprocess.run([python, "-m", "venv", folder / "venv"], check=True)
        self.work.mkdir(parents=True, exist_ok=True)

    @property
    def variables(self) -> dict[str, str]:
        """What a terminal has in which the environment was activated, and where pip finds the release."""
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "RELATUM_"))}
        links = " ".join(filter(None, [str(DIST), inherited.get("PIP_FIND_LINKS")]))
        return inherited | {
            "PATH": os.pathsep.join([str(self.python.parent), inherited["PATH"]]),
            "VIRTUAL_ENV": str(self.folder / "venv"),
            "RELATUM_CACHE": str(self.folder / "cache"),
            "PIP_FIND_LINKS": links,
            "PIP_QUIET": "1",
            "BROWSER": "true",  # what opens pages, where a command wants to
            "COLUMNS": "100",
            **{name: os.environ[name] for name in ("RELATUM_THREADS",) if name in os.environ},
        }

    def install(self, *wanted: str) -> None:
        """Install packages by pip."""
        subprocess.run([self.python, "-m", "pip", "install", *wanted], check=True, env=self.variables, cwd=self.work)

    def run(self, *command: str, standard_input: str = "") -> subprocess.CompletedProcess[str]:
        """Return how a command ended: `python`, `relatum` and whatever is on the path."""
        # The path of the environment decides, not that of this process.
        program = shutil.which(command[0], path=self.variables["PATH"]) or command[0]
        return subprocess.run(
            [program, *command[1:]], cwd=self.work, env=self.variables, input=standard_input, capture_output=True, text=True
        )

    def relatum(self, *arguments: str, standard_input: str = "") -> subprocess.CompletedProcess[str]:
        """Return how a command of relatum ended; not by its script, which names the environment that it was made in."""
        return self.run(str(self.python), "-m", "relatum", *arguments, standard_input=standard_input)

    @property
    def version(self) -> str:
        """The version of Python in it."""
        return self.run(str(self.python), "-c", "import platform; print(platform.python_version())").stdout.strip()

    def packages(self) -> dict[str, str]:
        """Return the versions of all that is installed, by name."""
        asked = "import importlib.metadata as m, json; print(json.dumps({d.name: d.version for d in m.distributions()}))"
        found: dict[str, str] = json.loads(self.run(str(self.python), "-c", asked).stdout)
        return found

    def sizes(self) -> dict[str, int]:
        """Return the bytes of files in the environment: of relatum, of torch with what it alone needs, and of all."""
        (packages,) = (self.folder / "venv" / "lib").glob("python*/site-packages")
        found = {"relatum": 0, "torch": 0, "all": 0}
        for path in packages.rglob("*"):
            if path.is_file() and not path.is_symlink():
                size, top = path.stat().st_size, path.relative_to(packages).parts[0].replace("-", "_").lower()
                found["all"] += size
                found["relatum"] += size * (top.split("_")[0] == "relatum")
                found["torch"] += size * (top.split("_")[0].split(".")[0] in OF_TORCH)
        return found

    def seconds(self, *command: str, times: int = 7) -> dict[str, float]:
        """Return what a command takes: the median of processor time, which other work hardly changes, and the least time."""
        spent, passed = [], []
        for _ in range(times + 1):
            start, before = time.perf_counter(), os.times()
            self.run(*command).check_returncode()
            after = os.times()
            passed.append(time.perf_counter() - start)
            spent.append(after.children_user + after.children_system - before.children_user - before.children_system)
        # Not the first one, which reads the disk.
        return {"processor": round(statistics.median(spent[1:]), 2), "least": round(min(passed[1:]), 2)}

    def clone(self, folder: Path) -> Environment:
        """Return an environment with the same packages, to which others can be added."""
        # Links take no room: pip replaces files and does not write into them.
        shutil.copytree(self.folder / "venv", folder / "venv", symlinks=True, copy_function=os.link)
        shutil.copytree(self.work, folder / "work")
        shutil.copytree(self.folder / "cache", folder / "cache")
        return Environment(folder)


def in_megabytes(sizes: dict[str, int]) -> dict[str, float]:
    """Return sizes as people read them."""
    return {name: round(size / 1e6, 1) for name, size in sizes.items()}

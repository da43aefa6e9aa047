"""A folder in which one trial works: its files, its cache and temporary folder, and what its commands print."""

from __future__ import annotations

import itertools
import re
import shutil
from pathlib import Path

from torture.commands import Command, Commands, Ended, Started
from torture.contents import Contents, contents

# What is not relatum's: a file by which Python tries whether a temporary folder can be written to, and a folder of torch.
_FOREIGN = re.compile("[a-z0-9_]{8}|torchinductor_.*")


class Area:
    """A folder for one trial; the cache and the temporary folder are in it, what commands print is beside it."""

    def __init__(self, commands: Commands, folder: Path) -> None:
        self.folder, self._commands = folder, commands
        self._numbers = itertools.count()
        for one in (folder, folder / "cache", folder / "tmp", self._beside()):
            one.mkdir(parents=True, exist_ok=True)

    def take(self, prepared: Path, names: tuple[str, ...]) -> None:
        """Copy what was prepared."""
        for name in names:
            source = prepared / name
            if source.is_dir():
                shutil.copytree(source, self.folder / name)
            else:
                shutil.copy2(source, self.folder / name)

    def strike(self, classes: str, number: int, action: str, error: int = 0, *, lasting: bool = False) -> str:
        """Return what the shim shall do to a command here: see `shim.c`."""
        return f"{self.folder}|{classes}|{number}|{action}|{error}|{int(lasting)}|{self.log}"

    @property
    def log(self) -> Path:
        """The calls that the shim has counted, one to a line."""
        return self._beside() / "calls"

    @property
    def struck(self) -> str:
        """The last call that the shim has counted."""
        lines = self.log.read_text(encoding="utf-8", errors="replace").splitlines() if self.log.exists() else []
        return lines[-1].replace(f"{self.folder}/", "") if lines else "nothing"

    def start(self, *arguments: str, strike: str = "", limits: dict[str, int] | None = None, fresh: bool = False) -> Started:
        """Start `relatum ARGUMENTS` here."""
        return self._commands.start(self._command(arguments, strike, limits), fresh=fresh)

    def run(self, *arguments: str, strike: str = "", limits: dict[str, int] | None = None, fresh: bool = False) -> Ended:
        """Run `relatum ARGUMENTS` here to its end."""
        return self.start(*arguments, strike=strike, limits=limits, fresh=fresh).wait()

    def run_here(self, *arguments: str) -> None:
        """Run `relatum ARGUMENTS` in the server; it must end well."""
        command = self._command(arguments, "", None)
        if self._commands.run_here(command):
            raise RuntimeError(f"relatum {' '.join(arguments)}: {Path(command.err).read_text(encoding='utf-8')}")

    def contents(self) -> Contents:
        """Return what the files here say."""
        return contents(self.folder)

    def temporaries(self) -> list[str]:
        """Return what is among the temporary files, and what in the cache is called as such."""
        inside = [path for path in (self.folder / "tmp").iterdir() if not _FOREIGN.fullmatch(path.name)]
        inside += (self.folder / "cache").rglob(".*")
        return sorted(str(path.relative_to(self.folder)) for path in inside)

    def half_written(self) -> list[str]:
        """Return the files and folders that are called as those that a command has not finished."""
        return sorted(str(path.relative_to(self.folder)) for path in self.folder.rglob(".*.tmp*"))

    def remove(self) -> None:
        """Remove all of it."""
        shutil.rmtree(self.folder, ignore_errors=True)
        shutil.rmtree(self._beside(), ignore_errors=True)

    def _beside(self) -> Path:
        return self.folder.with_name(f"{self.folder.name}-said")

    def _command(self, arguments: tuple[str, ...], strike: str, limits: dict[str, int] | None) -> Command:
        said = self._beside() / str(next(self._numbers))
        environment = {
            "RELATUM_CACHE": str(self.folder / "cache"),
            "TMPDIR": str(self.folder / "tmp"),
            "HOME": str(self.folder / "tmp"),
        }
        return Command(arguments, str(self.folder), f"{said}.out", f"{said}.err", environment, limits or {}, strike)

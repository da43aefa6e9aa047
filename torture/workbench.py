"""Cases undisturbed, and what must hold once one was disturbed: old files are whole, and the same command mends the rest."""

from __future__ import annotations

import atexit
import re
import shutil
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from torture.areas import Area
from torture.cases import Case, prepare
from torture.commands import Commands, Ended
from torture.contents import DAMAGED, Contents, difference

ALL = "WSNRC"  # the classes of calls that the shim counts
_GROWING = re.compile(r"journal\.jsonl$|checkpoint[^/]*$")  # what is neither old nor new while a run goes on


@dataclass(frozen=True)
class Undisturbed:
    """What a case is like when nothing happens to it.

    Attributes:
        before: the files that it finds.
        after: the files that there are then.
        calls: the calls by which it changed files, as lines of the shim's log.
        seconds: how long it takes.
    """

    before: Contents
    after: Contents
    calls: tuple[str, ...]
    seconds: float


class Workbench:
    """A server with everything that cases need, and folders for trials, one at a time."""

    def __init__(self, commands: Commands, folder: Path) -> None:
        self.commands, self._folder, self.prepared = commands, folder, folder / "prepared"
        self._undisturbed: dict[Case, Undisturbed] = {}
        prepare(commands, self.prepared)

    def area(self, inputs: tuple[str, ...] = ()) -> Area:
        """Return the folder of the next trial, with its inputs; it has the same name each time."""
        area = Area(self.commands, self._folder / "area")
        area.take(self.prepared, inputs)
        return area

    def area_of(self, case: Case) -> Area:
        """Return the folder of a trial of a case, once it is known what the case is like undisturbed."""
        self.undisturbed(case)
        return self.area(case.inputs)

    def undisturbed(self, case: Case) -> Undisturbed:
        """Return what a case is like when nothing happens to it."""
        if case not in self._undisturbed:
            area = self.area(case.inputs)
            before = area.contents()
            ended = area.run(*case.arguments, strike=area.strike(ALL, 0, "count"))
            if ended.code:
                raise RuntimeError(f"{case.name}, undisturbed: {ended.err}")
            calls = tuple(area.log.read_text(encoding="utf-8").splitlines())
            self._undisturbed[case] = Undisturbed(before, area.contents(), calls, ended.seconds)
            area.remove()
        return self._undisturbed[case]

    def fault_after(self, area: Area, case: Case, *, reads: bool) -> str | None:
        """Return what is torn or lost of what was there before; `reads`: have relatum read it as well."""
        expected, found = self.undisturbed(case), area.contents()
        for name, old in expected.before.items():
            if found.get(name) not in (old, expected.after.get(name)) and not _GROWING.search(name):
                return f"{name} was whole before, and is {found.get(name, 'missing')[:200]}"
        for name in expected.after.keys() & found.keys():
            if found[name].startswith(DAMAGED):
                return f"{name} is {found[name][:200]}"
        if not (reads and case.reader):
            return None
        ended = area.run(*case.reader)
        if ended.code and case.reader[1] in case.inputs:
            return f"relatum {' '.join(case.reader)}: {last_line(ended)}"
        return ended.fault and f"relatum {' '.join(case.reader)}: {ended.fault}"

    def fault_again(self, area: Area, case: Case, *, cleans: bool) -> str | None:
        """Run the case again undisturbed, and return how what is there then differs from what should be."""
        expected = self.undisturbed(case)
        ended = area.run(*case.arguments)
        if ended.code == 2 and case.otherwise:
            ended = area.run(*case.otherwise)
        if ended.fault:
            return f"the second time: {ended.fault}"
        if unlike := difference(area.contents(), expected.after):
            return f"after the second time ({last_line(ended)}): {unlike}"
        if left := area.temporaries():
            return f"left in the cache or among temporary files: {', '.join(left[:4])}"
        if cleans and "nothing is left" not in (ended := area.run("clean", ".")).out:
            return f"relatum clean: {ended.out} {ended.err}"
        return None


@cache
def workbench() -> Workbench:
    """Return the workbench of this process, which all attacks share."""
    folder = Path(tempfile.mkdtemp(prefix="torture-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    commands = Commands(folder)
    atexit.register(commands.__exit__, None, None, None)
    return Workbench(commands.__enter__(), folder)


def last_line(ended: Ended) -> str:
    """Return the last line that a command has printed of what went wrong, or that it ended well."""
    return "which ended well" if ended.code == 0 else (ended.err.strip().splitlines()[-1:] or [f"exit code {ended.code}"])[0]

"""The campaign in its short form breaks nothing, what it strikes does strike, and mutants are those of a program."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from torture.mutation import mutants_of

ROOT = Path(__file__).parents[1]
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="the shim that strikes calls is for Linux")

WRITER = """
import os, sys
try:
    for name in ("one", "two"):
        file = os.open(name, os.O_WRONLY | os.O_CREAT)
        print(os.write(file, b"0123456789"), flush=True)
        os.fsync(file)
        os.rename(name, name + ".done")
except OSError as error:
    print(error.errno)
"""


@LINUX
@pytest.mark.parametrize(
    ("strike", "code", "printed", "sizes"),
    [
        ("WSNRC|0|count|0|0", 0, ["10", "10"], {"one.done": 10, "two.done": 10}),
        ("WSNRC|6|kill|0|0", -signal.SIGKILL, ["10"], {"one.done": 10, "two": 0}),  # before the second write
        ("W|2|tear|0|0", -signal.SIGKILL, ["10"], {"one.done": 10, "two": 5}),
        (f"WC|2|fail|{errno.ENOSPC}|1", 0, [str(errno.ENOSPC)], {"one": 0}),
        (f"N|1|fail|{errno.EIO}|0", 0, ["10", str(errno.EIO)], {"one": 10}),
        (f"S|2|fail|{errno.EIO}|0", 0, ["10", "10", str(errno.EIO)], {"one.done": 10, "two": 10}),
        ("W|1|shorten|0|0", 0, ["5", "10"], {"one.done": 5, "two.done": 10}),
    ],
)
def test_the_shim_strikes_the_call_that_it_is_told_to(
    strike: str, code: int, printed: list[str], sizes: dict[str, int], tmp_path: Path
) -> None:
    from torture.commands import compiled_shim

    folder = tmp_path / "area"
    folder.mkdir()
    told = f"{folder}|{strike}|{tmp_path / 'calls'}"
    environment = {**os.environ, "LD_PRELOAD": str(compiled_shim(tmp_path)), "TORTURE": told}
    command = [sys.executable, "-c", WRITER]
    ended = subprocess.run(command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True, check=False)
    assert ended.returncode == code
    assert ended.stdout.split() == printed
    assert {path.name: path.stat().st_size for path in folder.iterdir()} == sizes


@LINUX
@pytest.mark.parametrize(
    "attacks",
    [("kills", "pairs", "faults"), ("damage", "fuzz", "surroundings"), ("links", "artefacts", "clocks", "server")],
    ids=" ".join,
)
def test_the_campaign_in_its_short_form_breaks_nothing(attacks: tuple[str, ...]) -> None:
    command = [sys.executable, "-m", "torture", *attacks, "--short"]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr


CASES = {
    "a < b": {"a <= b"},
    "a == b != c": {"a != b != c", "a == b == c"},
    "a + b": {"a - b"},
    "not a": {"a"},
    "f(0)": {"f(1)"},
    "f(a, b)": {"f(b, a)"},
    "x.argmax(axis=1)": {"x.argmin(axis=1)", "x.argmax()", "x.argmax(axis=2)"},
    "a[b:c]": {"a[:c]", "a[b:]"},
    "a if b else c": {"a if True else c", "a if False else c"},
    "f'{a}-{b}'": {"f'-{b}'", "f'{a}-'"},
    "suppress(OSError)": {"suppress()"},
    "write_bytes(path, a)": {"write_bytes(a, path)", "path.write_bytes(a)"},
}

STATEMENTS = {
    "os.fsync(file)": {"pass"},
    "a &= b": {"pass", "a = b", "a |= b"},
    "raise ValueError(f'{a + 1}')": {"pass"},
    "return a": {"return None"},
    "if a:\n    b": {"if True:\n    b", "if False:\n    b"},
    "while a:\n    break": {"while False:\n    break", "while a:\n    continue"},
    "try:\n    a\nexcept (B, C):\n    d": {"try:\n    a\nexcept (B,):\n    d", "try:\n    a\nexcept (C,):\n    d"},
    "__all__ = ['a', 1]": set(),
    "@cache(1)\ndef f(a: g(1), b: int=0) -> h(1):\n    '''Say 1.'''": {
        '@cache(1)\ndef f(a: g(1), b: int=1) -> h(1):\n    """Say 1."""'
    },
}


@pytest.mark.parametrize("program", [*CASES, *STATEMENTS])
def test_programs_become_their_mutants(program: str) -> None:
    before, mutants = ("x = ", CASES[program]) if program in CASES else ("", STATEMENTS[program])
    assert {mutant.source for mutant in mutants_of(before + program)} == {before + mutant for mutant in mutants}

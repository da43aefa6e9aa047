"""The mutator: known source in, known mutants out; one that a test kills, and one that lives."""

from __future__ import annotations

import pytest
from torture.mutation import mutants_of

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

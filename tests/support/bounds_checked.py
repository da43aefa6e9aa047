"""Runs the tests of kernels, in a process of its own in which Numba checks all bounds; each kernel must have been called."""

from __future__ import annotations

import importlib
import pkgutil
import sys
from pathlib import Path

import pytest
from numba.core.dispatcher import Dispatcher

from relatum import kernels

TESTS = Path(__file__).parents[1]
CHECKED = ("kernels", "models/test_ops_fused_losses.py", "models/test_partial_counts.py")
COMPILED_APART = "kernels/test_jit.py"  # starts processes


def main() -> None:
    code = pytest.main(
        ["-q", "-p", "no:cacheprovider", f"--ignore={TESTS / COMPILED_APART}", *(str(TESTS / path) for path in CHECKED)]
    )
    modules = [importlib.import_module(f"{kernels.__name__}.{one.name}") for one in pkgutil.iter_modules(kernels.__path__)]
    found = [one for module in modules for one in vars(module).values() if isinstance(one, Dispatcher)]
    never = {f"{one.__module__}.{one.__name__}" for one in found if not one.signatures}
    sys.exit(f"never called: {', '.join(sorted(never))}" if never else int(code))


if __name__ == "__main__":
    main()

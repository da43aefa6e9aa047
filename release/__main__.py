"""`python -m release dist|try|lowest`: build what is released, and try it outside of the project.

    python -m release dist                                 # wheel and source distribution into dist/, checked
    python -m release try [--python PYTHON] [--torch torch==2.13.0] [--extras io serve ...] [--results FILE]
    python -m release lowest [--python PYTHON] [--torch ...] [TESTS ...]

`try` installs the wheel of dist/ into an empty environment, measures its size and how soon it starts, types the quick start
of the site, and tries the extras one by one, each without and with what it needs. `lowest` runs tests with the lowest
versions that pyproject.toml allows. With --torch, that build is installed first, as the README advises; without it, pip
takes what the index has.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from release.build import build
from release.extras import PROBES
from release.lowest import try_lowest
from release.trial import try_release


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m release", description="Build what is released, and try it.")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("dist", help="build wheel and source distribution into dist/, and check them")
    trial = commands.add_parser("try", help="install the wheel into an empty environment, and use it")
    lowest = commands.add_parser("lowest", help="run tests with the lowest versions that pyproject.toml allows")
    for one in (trial, lowest):
        one.add_argument("--python", default=sys.executable, help="the interpreter; by default this one")
        one.add_argument("--torch", help="what to install first, such as torch==2.13.0, or the path of a wheel")
        one.add_argument("--results", type=Path, help="the file to add what was found to, such as results/release.json")
    trial.add_argument(
        "--extras", nargs="*", choices=list(PROBES), default=list(PROBES), help="those to try; by default all"
    )
    lowest.add_argument("tests", nargs="*", help="what pytest runs; by default the rooms that use dependencies most")
    given = parser.parse_args()
    if given.command == "dist":
        return build()
    if given.command == "try":
        return try_release(given.python, given.torch, extras=given.extras, results=given.results)
    return try_lowest(given.python, given.torch, given.tests, given.results)


if __name__ == "__main__":
    sys.exit(main())

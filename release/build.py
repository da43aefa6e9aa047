"""Wheel and source distribution: built into dist/, and held against what should be in them."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path, PurePosixPath

from packaging.metadata import Metadata

__all__ = ["DIST", "ROOT", "build", "the_wheel"]

ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"

# Files that are no modules, but without which something would not work.
NEEDED = (
    "py.typed",
    "cli/demo.toml",
    "datasets/registry.toml",
    "cli/world.sql",
    "datasets/example/train.txt",
    "paper/figures.mplstyle",
    "paper/published.toml",
    "report/templates/page.html",
    "serving/templates/base.html",
    "synth/presets.toml",
    "tuning/spaces.toml",
)
TOO_LARGE = 1 << 20  # bytes of one file: data, most likely


def build() -> int:
    """Build both, the wheel from the source distribution as pip would, and return 0 if nothing is wrong with them."""
    shutil.rmtree(DIST, ignore_errors=True)
    subprocess.run(
        [sys.executable, "-m", "build", "--no-isolation", "--outdir", DIST, ROOT], check=True, stdout=subprocess.DEVNULL
    )
    source, wheel = next(DIST.glob("*.tar.gz")), the_wheel()
    faults = [*faults_of_source(source), *faults_of_wheel(wheel)]
    for path in (source, wheel):
        print(f"{path.relative_to(ROOT)}: {path.stat().st_size / 1e6:.1f} MB")
    for fault in faults:
        print(fault, file=sys.stderr)
    return bool(faults)


def the_wheel() -> Path:
    """Return the wheel of dist/."""
    found = list(DIST.glob("*.whl"))
    if len(found) != 1:
        sys.exit("dist/ holds no wheel, or several; build one with: make dist")
    return found[0]


def tracked() -> set[str]:
    """Return the files that belong to the project."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True)
    return set(listed.stdout.split("\0")) - {""}


def faults_of_source(path: Path) -> list[str]:
    """Return what a source distribution lacks, and what should not be in it."""
    with tarfile.open(path) as archive:
        sizes = {member.name.partition("/")[2]: member.size for member in archive.getmembers() if member.isfile()}
    foreign = sorted(sizes.keys() - tracked() - {"PKG-INFO"})
    missing = sorted(tracked() - sizes.keys())
    large = [name for name, size in sizes.items() if size > TOO_LARGE]
    return [
        *(f"{path.name} holds {name}, which is no file of the project" for name in foreign),
        *(f"{path.name} lacks {name}" for name in missing),
        *(f"{path.name} holds {name}, which is as large as data would be" for name in large),
    ]


def faults_of_wheel(path: Path) -> list[str]:
    """Return what a wheel lacks, what should not be in it, and what an index would refuse about its metadata."""
    with zipfile.ZipFile(path) as archive:
        names = set(archive.namelist())
        metadata = archive.read(next(name for name in names if name.endswith(".dist-info/METADATA")))
    found = Metadata.from_email(metadata, validate=True)  # raises where an index would refuse it
    own = {name.removeprefix("src/") for name in tracked() if name.startswith("src/relatum/")}
    inside = {name for name in names if not PurePosixPath(name).parts[0].endswith(".dist-info")}
    return [
        *(f"{path.name} lacks {name}" for name in sorted(own - inside | {f"relatum/{name}" for name in NEEDED} - inside)),
        *(f"{path.name} holds {name}, which is no file of the project" for name in sorted(inside - own)),
        *([] if found.description else [f"{path.name} has no description"]),
    ]

"""A release in an empty environment: its size, how soon it starts, the quick start, and the extras one by one."""

from __future__ import annotations

import json
import os
import platform
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from release.build import the_wheel
from release.environments import Environment, in_megabytes
from release.extras import prepare, try_extra
from release.quick_start import type_quick_start

__all__ = ["add_result", "try_release"]


def try_release(python: str, torch: str | None, *, extras: list[str], results: Path | None) -> int:
    """Try the wheel of dist/ with an interpreter, add what was found to a file, and return 0 if all is well."""
    with tempfile.TemporaryDirectory(prefix="relatum-release-") as folder:
        plain = Environment(Path(folder) / "plain", python)
        print(f"{the_wheel().name} on Python {plain.version}")
        found: dict[str, Any] = {"python": plain.version, "installed first": torch, **_measured(plain, torch)}
        print(json.dumps(found, indent=1))
        beginner = Environment(Path(folder) / "beginner", python)
        if torch is not None:
            beginner.install(torch)
        faults = type_quick_start(beginner)
        shutil.rmtree(beginner.folder)
        found["quick start"] = faults or "works as it stands"
        if extras:
            prepare(plain)
            found["extras"] = {}
            for name in extras:
                found["extras"][name], wrong = try_extra(plain, name, Path(folder) / name)
                print(f"  {'FAILED' if wrong else 'ok':6}  {name}: {json.dumps(found['extras'][name])}")
                faults += wrong
    for fault in faults:
        print(fault, file=sys.stderr)
    if results is not None:
        add_result(results, "tried", found, key="python")
    return bool(faults)


def _measured(environment: Environment, torch: str | None) -> dict[str, Any]:
    """Install the wheel, and return what that brings and how long it takes to start."""
    before = environment.sizes()
    if torch is not None:
        environment.install(torch)
    environment.install(str(the_wheel()))
    (environment.folder / "cache").mkdir()
    after, packages = environment.sizes(), environment.packages()
    sizes = in_megabytes({name: size - before[name] for name, size in after.items()})
    return {
        "torch": packages["torch"],
        "packages": len(packages),
        "megabytes": {
            "all": sizes["all"],
            "without torch": round(sizes["all"] - sizes["torch"], 1),
            "relatum": sizes["relatum"],
        },
        "seconds": {
            "python -c pass": environment.seconds("python", "-c", "pass"),
            "import relatum": environment.seconds("python", "-c", "import relatum"),
            "import relatum; relatum.fit": environment.seconds("python", "-c", "import relatum; relatum.fit"),
            "relatum --version": environment.seconds("relatum", "--version"),
            "relatum --help": environment.seconds("relatum", "--help"),
        },
    }


def add_result(path: Path, name: str, found: dict[str, Any], key: str) -> None:
    """Put what was found into a list of a file, in place of what was found there before with the same key."""
    whole = json.loads(path.read_text()) if path.exists() else {}
    whole |= {"made_by": "python -m release", "relatum": the_wheel().name.split("-")[1]}
    whole["machine"] = {"processors": os.cpu_count(), "machine": platform.machine(), "system": platform.system()}
    before = {one[key]: one for one in whole.get(name, [])}
    earlier = before.get(found[key], {})
    if "extras" in earlier:  # which may be tried a few at a time
        found = {**found, "extras": dict(sorted({**earlier["extras"], **found.get("extras", {})}.items()))}
    whole[name] = [one for _, one in sorted({**before, found[key]: found}.items())]
    path.write_text(json.dumps(whole, indent=1, ensure_ascii=False) + "\n")

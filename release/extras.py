"""What each extra promises, tried without it and with it: one clear line and exit code 2, then the thing itself."""

from __future__ import annotations

import json
import shutil
import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from release.environments import Environment, in_megabytes
from release.quick_start import serves

__all__ = ["PROBES", "prepare", "try_extra"]

Ended = subprocess.CompletedProcess[str]


class Probe(NamedTuple):
    """A use of an extra.

    Args:
        use: carries it out.
        works: whether that went as promised; with a server that is not there, one line that says so is all that can be.
    """

    use: Callable[[Environment], Ended]
    works: Callable[[Environment, Ended], bool]


def prepare(environment: Environment) -> None:
    """Write what the probes work on: a run, and tables."""
    settings = ("--set", "training.epochs=5", "--set", "model.dim=8")
    environment.relatum("train", "--data", "example", "--out", "run", *settings).check_returncode()
    spec = 'data = "example"\nseeds = [0]\nmodel.dim = 8\ntraining.epochs = 4\ntraining.validate_every = 2\n'
    (environment.work / "small.toml").write_text(spec)
    environment.relatum("run", "small.toml", "--out", "runs", "--results", "results").check_returncode()
    _write_workbook(environment.work / "items.xlsx")
    (environment.work / "items.csv").write_text("item,category\n" + "".join(f"i{n},c{n % 3}\n" for n in range(30)))


def try_extra(plain: Environment, extra: str, folder: Path) -> tuple[dict[str, Any], list[str]]:
    """Return what an extra brings, and what went wrong with it."""
    faults = []
    for number, probe in enumerate(PROBES[extra], start=1):
        ended = probe.use(plain)
        lines = ended.stderr.strip().splitlines()
        if ended.returncode != 2 or len(lines) != 1 or f"pip install 'relatum[{extra}]'" not in lines[0]:
            faults.append(f"without {extra} (use {number}): exit code {ended.returncode}, {ended.stderr.strip()[-300:]!r}")
    environment = plain.clone(folder)
    before, had = environment.sizes(), environment.packages()
    environment.install(f"relatum[{extra}]")
    now = environment.packages()
    sizes = in_megabytes({"all": environment.sizes()["all"] - before["all"]})
    for number, probe in enumerate(PROBES[extra], start=1):
        ended = probe.use(environment)
        if not probe.works(environment, ended):
            faults.append(
                f"with {extra} (use {number}): exit code {ended.returncode}, {(ended.stderr or ended.stdout)[-300:]!r}"
            )
    shutil.rmtree(folder)
    brought = sorted(f"{name} {version}" for name, version in now.items() if had.get(name) != version)
    return {"megabytes": sizes["all"], "brings": brought, "works": not faults}, faults


def _command(*arguments: str) -> Callable[[Environment], Ended]:
    return lambda environment: environment.relatum(*arguments)


def _python(code: str) -> Callable[[Environment], Ended]:
    """Return a use by lines of Python; what they raise is shown as the command line shows it."""
    lines = code.strip().splitlines()
    whole = ["import sys, relatum", "try:", *(f"    {line}" for line in lines)]
    whole += ["except relatum.RelatumError as error:", "    sys.exit(print(f'relatum: {error}', file=sys.stderr) or 2)"]
    return lambda environment: environment.run("python", "-c", "\n".join(whole))


def _shows(text: str) -> Callable[[Environment, Ended], bool]:
    return lambda _, ended: ended.returncode == 0 and text in ended.stdout


def _writes(name: str) -> Callable[[Environment, Ended], bool]:
    return lambda environment, ended: ended.returncode == 0 and (environment.work / name).exists()


def _cannot_connect(_: Environment, ended: Ended) -> bool:
    """Return whether the driver was there, and only the server was not."""
    return ended.returncode == 2 and len(ended.stderr.strip().splitlines()) == 1 and "pip install" not in ended.stderr


def _serve(environment: Environment) -> Ended:
    command = ("serve", "run", "--port", "0")
    if environment.run("python", "-c", "import uvicorn").returncode:
        return environment.relatum(*command)  # it ends at once
    fault = serves(environment, " ".join([str(environment.python), "-m", "relatum", *command]))
    return subprocess.CompletedProcess(command, 1 if fault else 0, "", fault or "")


def _ask_planner(environment: Environment) -> Ended:
    """Return what a run answers to a planner that starts, and then leaves."""
    about = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "probe", "version": "1"}}
    message = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": about}
    return environment.relatum("mcp", "run", standard_input=json.dumps(message) + "\n")


PROBES: dict[str, tuple[Probe, ...]] = {
    "excel": (Probe(_command("import", "items.xlsx", "--out", "from-excel"), _writes("from-excel/train.txt")),),
    "frames": (
        Probe(
            _python("print(relatum.open('run').complete('sold(drew, ?, book)', k=2).to_pandas().columns)"), _shows("buyer")
        ),
        Probe(
            _python("print(relatum.open('run').complete('sold(drew, ?, book)', k=2).to_polars().columns)"), _shows("buyer")
        ),
        Probe(
            _python("print(relatum.open('run').complete('sold(drew, ?, book)', k=2).to_arrow().column_names)"),
            _shows("buyer"),
        ),
    ),
    "io": (
        Probe(_command("import", "items.csv", "--out", "from-csv"), _writes("from-csv/train.txt")),
        Probe(_command("predict", "run", "--relation", "sold", "--to", "new.parquet"), _writes("new.parquet")),
        Probe(_command("predict", "run", "--relation", "sold", "--to", "new.duckdb"), _writes("new.duckdb")),
    ),
    "mcp": (Probe(_ask_planner, _shows("knowledge hypergraph")),),
    "mysql": (Probe(_command("import", "mysql://nobody@127.0.0.1:9/none", "--out", "from-mysql"), _cannot_connect),),
    "plot": (Probe(_command("figures", "results", "--out", "figures"), _writes("figures/example-learning.png")),),
    "postgres": (Probe(_command("import", "postgresql://nobody@127.0.0.1:9/none", "--out", "from-pg"), _cannot_connect),),
    "serve": (Probe(_serve, lambda _, ended: ended.returncode == 0),),
    "sql": (Probe(_command("sql", "run", "SELECT buyer FROM sold WHERE seller = 'drew'"), _shows("buyer")),),
    "track": (
        Probe(_command("train", "--resume", "run", "--tracker", "tensorboard"), _writes("run/tensorboard")),
        Probe(_command("train", "--resume", "run", "--tracker", "mlflow=sqlite:///mlflow.db"), _writes("mlflow.db")),
    ),
    "tune": (
        Probe(
            _command("tune", "--data", "example", "--trials", "1", "--out", "study", "--set", "training.epochs=2"),
            _writes("study/best.toml"),
        ),
    ),
}


def _write_workbook(path: Path) -> None:
    """Write a workbook of one sheet, by hand: no library for it is installed here."""
    cells = [("item", "category"), *((f"i{n}", f"c{n % 3}") for n in range(30))]
    rows = "".join(
        "<row>" + "".join(f'<c t="inlineStr"><is><t>{cell}</t></is></c>' for cell in row) + "</row>" for row in cells
    )
    base = "http://schemas.openxmlformats.org"
    main, office = f"{base}/spreadsheetml/2006/main", f"{base}/officeDocument/2006/relationships"
    types = f"{base}/package/2006/content-types"
    relations = f"{base}/package/2006/relationships"
    kind = "application/vnd.openxmlformats-officedocument.spreadsheetml"
    files = {
        "[Content_Types].xml": f'<Types xmlns="{types}"><Default Extension="rels" '
        'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Override PartName="/xl/workbook.xml" ContentType="{kind}.sheet.main+xml"/>'
        f'<Override PartName="/xl/worksheets/sheet1.xml" ContentType="{kind}.worksheet+xml"/></Types>',
        "_rels/.rels": f'<Relationships xmlns="{relations}"><Relationship Id="a" Type="{office}/officeDocument" '
        'Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{main}" xmlns:r="{office}"><sheets>'
        '<sheet name="items" sheetId="1" r:id="a"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{relations}"><Relationship Id="a" Type="{office}/worksheet" '
        'Target="worksheets/sheet1.xml"/></Relationships>',
        "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{main}"><sheetData>{rows}</sheetData></worksheet>',
    }
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, f'<?xml version="1.0" encoding="UTF-8"?>{text}')

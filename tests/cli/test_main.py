"""The command line: mistakes are one line on standard error and exit code 2, and write nothing, not even a password."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from relatum import __version__
from support.command_line import Relatum
from support.mistakes import code_of


@pytest.mark.parametrize("arguments", [("--help",), ("data", "--help"), ("data", "info", "--help")])
def test_asking_for_help_is_no_mistake(run: Relatum, arguments: tuple[str, ...]) -> None:
    code, out, err = run(*arguments)
    assert (code, err) == (0, "")
    assert out


def test_the_version_is_the_package_version(run: Relatum) -> None:
    assert run("--version")[1] == f"relatum {__version__}\n"


def test_a_directory_of_facts_is_not_a_run(run: Relatum, tmp_path: Path) -> None:
    folder = tmp_path / "my facts"
    folder.mkdir()
    (folder / "train.txt").write_text("likes\tkim\ttea\n")
    code, out, err = run("complete", str(folder), "likes(kim, ?)")
    assert (code, out, code_of(err), err.count("\n")) == (2, "", "not-a-run", 1)
    assert f"relatum.fit('{folder}')" in err


@pytest.mark.skipif(sys.platform == "win32", reason="a folder in use cannot be removed on Windows")
def test_a_folder_that_is_gone_is_one_line(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    code = f"import os; os.chdir({str(gone)!r}); os.rmdir({str(gone)!r}); from relatum.__main__ import main; main()"
    ended = subprocess.run([sys.executable, "-c", code, "--version"], capture_output=True, text=True)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr == "relatum: the folder that it was started in is gone; go to another\n"


def test_ctrl_c_is_said_and_ends_with_130(run: Relatum, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("relatum.datasets.load.load", interrupted)
    assert run("data", "info", "example") == (130, "", "relatum: interrupted\n")


BULK, TRAIN = "complete RUN --for-each", "train --data example --out out"

# Options, and of each verb what it passes on: the codes themselves are tested where they are raised.
# The command, its code, and a word that it says; RUN is a run on the example, SHOP one on tables, GAPPY one with gaps.
MISTAKES: list[tuple[str, str, str]] = [
    ("dta", "usage", ""),
    ("data inf", "usage", ""),
    ("data info", "usage", ""),
    ("data info example --jsn", "usage", ""),
    ("data info 'no\x1b[2Jthere/x'", "no-such-file", ""),
    ("data info example --skip-bad", "registered-layout", ""),
    ("data check . --relation-column x", "usage", ""),
    ("data check . --ignore-column dev:1", "usage", ""),
    ("data check . --ignore-column 0", "bad-layout", ""),
    ("data convert example out --min-count 2", "registered-layout", ""),
    (f"{TRAIN} --set training.epoch=3", "unknown-setting", "'epochs'"),
    (f"{TRAIN} --set training.epochs", "bad-option-form", ""),
    (f"{TRAIN} --seed x", "usage", ""),
    ("train --data example", "missing-option", ""),
    ("train --out out", "no-data-named", "data"),
    ("train --data /no/such/place --out out", "no-such-file", "/no/such/place"),
    ("train --data example --out RUN", "directory-not-empty", ""),
    ("train --resume RUN --seed 1", "contradictory-options", ""),
    ("train --resume RUN --out out", "contradictory-options", ""),
    ("evaluate .", "not-a-run", ""),
    ("evaluate RUN --by relations", "unknown-name", "'relation'"),
    ("evaluate RUN --predicted-alone", "contradictory-options", ""),
    ("evaluate GAPPY --by colum", "unknown-name", "'column'"),
    ("evaluate GAPPY --by arity,column", "contradictory-options", ""),
    ("complete /no/such/run 'sold(drew, ?, book)'", "not-a-run", "/no/such/run"),
    ("complete RUN 'buyer(drew, ?)' -k 0", "usage", ""),
    ("complete RUN", "nothing-asked", ""),
    ("complete RUN 'sold(seller=drew, item=?)' --why", "nothing-to-explain", ""),
    ("complete RUN 'sold(drew, ?, book)' --for-each 'sold(*, ?, book)'", "contradictory-options", ""),
    ("complete RUN 'sold(drew, ?, book)' --to out.csv", "option-needs-option", ""),
    ("complete RUN 'sold(drew, ?, book)' --all", "option-needs-option", ""),
    ("complete /no/such/run --for-each 'sold(*, ?, book)'", "not-a-run", "/no/such/run"),
    (BULK, "usage", ""),
    (f"{BULK} 'sold(*, ?, book)' -k 0", "usage", ""),
    (f"{BULK} 'sold(*, ?, book)' --why", "contradictory-options", ""),
    (f"{BULK} 'sold(*, ?, book)' --coverage 0.9", "contradictory-options", ""),
    (f"{BULK} 'sold(*, ?, book)' --replace", "option-needs-option", ""),
    (
        f"{BULK} 'sold(*, ?, book)' --to postgresql://me:s3cret@127.0.0.1:1/x",
        "database-refused",
        "postgresql://me@127.0.0.1:1/x",
    ),
    ("score RUN 'buyer(drew, tv)' 'buyer(drew, tvv)'", "unknown-name", "'tv'"),
    ("score RUN", "usage", ""),
    ("doubt GAPPY --table customers --relation customers.city", "contradictory-options", ""),
    ("similar RUN drow", "unknown-name", "'drew'"),
    ("fill", "option-needs-option", ""),
    ("fill GAPPY --apply", "source-needed", "--from DATABASE"),
    ("fill GAPPY --from a.db --from b.db --apply", "source-needed", "--from DATABASE"),
    ("fill GAPPY --from a.db --apply --to x.csv", "contradictory-options", "choose one"),
    ("fill GAPPY --from a.db --copy x.db --to x.csv", "contradictory-options", "choose one"),
    ("fill GAPPY --undo ' '", "option-needs-option", "--undo needs"),
    ("fill GAPPY --log ''", "option-needs-option", "--log needs"),
    ("fill GAPPY --undo a.db --log a.db", "contradictory-options", "choose one"),
    ("fill GAPPY --log a.db --batch 1", "option-needs-option", "--undo"),
    ("fill GAPPY --batch 1", "option-needs-option", "--undo DATABASE"),
    ("predict SHOP --table x", "option-needs-option", ""),
    ("predict SHOP --replace", "option-needs-option", ""),
    ("predict SHOP --to out.db --table x", "table-not-for-file", ""),
    ("predict SHOP --top 0", "usage", ""),
    ("query RUN 'project[0](sold'", "syntax", ""),
    (f"query RUN '{'product(buyer, ' * 64}buyer{')' * 64}'", "too-many-joins", ""),
    ("define RUN sold bought", "name-taken", ""),
    ("sql GAPPY 'SELECT COUNT(*) FROM ratings'", "stored-rows-only", "line 1, column 8"),
    ("sql GAPPY", "nothing-asked", ""),
    ("sql GAPPY 'SELECT item_id FROM ratings' --file x.sql", "nothing-asked", ""),
    ("rules RUN --draw rules.gif", "unknown-drawing", ""),
    ("rules 'no such data' --draw rules.png", "unknown-drawing", "rules.png"),
    ("rules example --soft 2 --observed 0.9", "contradictory-options", ""),
    ("queries example --out out --count 0", "usage", ""),
    ("synth --out out --seed -1", "usage", ""),
    ("synth --preset small --out RUN", "directory-not-empty", ""),
    ("demo --out RUN", "directory-not-empty", ""),
    ("update RUN no.txt", "no-such-file", "no.txt"),
    ("update RUN example --seed -1", "usage", ""),
    ("run . --seeds a,b", "bad-seeds", ""),
    ("clean none", "no-such-directory", "none"),
    ("serve .", "not-a-run", ""),
    ("serve RUN --host 0.0.0.0 --token short", "unusable-token", "at least 16 characters"),
]


@pytest.fixture(scope="module")
def runs(request: pytest.FixtureRequest) -> dict[str, str]:
    """Return the runs that mistakes are about, made when the first needs them."""

    class Runs(dict[str, str]):
        def __missing__(self, name: str) -> str:
            fixture = {"RUN": "example_run", "SHOP": "shop_run", "GAPPY": "gappy_run"}[name]
            self[name] = str(request.getfixturevalue(fixture))
            return self[name]

    return Runs()


@pytest.mark.parametrize(("command", "code", "word"), MISTAKES)
def test_a_mistake_is_one_line_with_its_code_and_writes_nothing(
    run: Relatum,
    runs: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    command: str,
    code: str,
    word: str,
) -> None:
    arguments = [runs[one] if one in ("RUN", "SHOP", "GAPPY") else one for one in shlex.split(command)]
    before = {name: sorted(Path(folder).iterdir()) for name, folder in runs.items()}
    monkeypatch.chdir(tmp_path)
    capsys.readouterr()  # what making a run has said
    ended, out, err = run(*arguments)
    assert (ended, out, code_of(err)) == (2, "", code), err
    assert err.startswith("relatum: ")
    assert err.count("\n") == 1
    assert word in err
    assert not any(part in err for part in ("\x1b", "s3cret"))
    assert not list(tmp_path.iterdir())
    assert before == {name: sorted(Path(folder).iterdir()) for name, folder in runs.items()}

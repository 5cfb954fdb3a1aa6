"""An account without a home, without a name, without folders of its own: a command works, or says what to set."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.cli.custodian import furnished

NOBODY = 61_234
"""A number without an entry among the users."""
PROGRAM = "import sys\nsys.dont_write_bytecode = True\nsys.path[:0] = {path!r}\nfrom shoal.cli import main\nmain()"


@pytest.fixture(scope="module")
def account():
    """Run a command as that user, with no variable set, in a folder that cannot be written to."""
    if os.geteuid() != 0 or shutil.which("setpriv") is None:
        pytest.skip("cannot run here: another user is needed")
    with TemporaryDirectory() as folder:  # the folders of pytest are the tester's alone
        yield _account(Path(folder))


def _account(place):
    place.chmod(0o711)
    own, locked = place / "own", place / "locked"
    own.mkdir()
    locked.mkdir(mode=0o555)
    furnished(own, rows=60)
    for path in (own, *own.rglob("*")):
        os.chown(path, NOBODY, NOBODY)
    # It may read everything, as the interpreter may lie in somebody's home, and write what is its own.
    rights = ["--inh-caps", "+dac_read_search", "--ambient-caps", "+dac_read_search"]
    user = ["setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups", *rights]
    program = PROGRAM.format(path=[each for each in sys.path if each])

    def run(*words: object, **variables: str) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [*user, sys.executable, "-c", program, *map(str, words)],
            capture_output=True,
            text=True,
            check=False,
            cwd=locked,
            env={"PATH": os.environ["PATH"], "OMP_NUM_THREADS": "1", **variables},
        )
        assert "Traceback" not in done.stderr
        assert "unexpected" not in done.stderr
        assert "atplotlib" not in done.stderr
        return done

    run.own = own  # type: ignore[attr-defined]
    return run


@pytest.mark.slow
def test_a_release_with_its_report_needs_neither_home_nor_cache(account):
    own = account.own
    words = ("release", own / "policy.yaml", own / "table.csv", "--out", own / "out")
    made = account(*words, "--ledger", own / "ledger.sqlite")
    assert made.returncode == 0, made.stderr
    assert (own / "out.holder" / "report.html").is_file()
    left = {path.name for path in own.iterdir()} - {"policy.yaml", "table.csv", "out", "out.holder"}
    assert {name for name in left if not name.startswith("ledger.sqlite")} == set()


@pytest.mark.slow
def test_without_a_home_a_ledger_has_to_be_named(account):
    own = account.own
    done = account("release", own / "policy.yaml", own / "table.csv", "--out", own / "more")
    assert (done.returncode, done.stdout) == (4, "")
    assert "this user has no home" in done.stderr
    assert "--ledger or SHOAL_LEDGER" in done.stderr
    elsewhere = account("ledger", "budget", "x", "--epsilon", "1", "--delta", "0", "--reason", "r", HOME="/nonexistent")
    assert elsewhere.returncode == 4
    assert "--ledger or SHOAL_LEDGER" in elsewhere.stderr
    assert not (own / "more").exists()


@pytest.mark.slow
def test_a_folder_that_cannot_be_made_is_named(account):
    done = account("demo", "--rows", "10")
    assert done.returncode == 2
    assert done.stderr.startswith("error: the folder cannot be made; got build/demo")
    assert done.stderr.endswith("name another folder with --out\n")

"""Every command that opens a ledger or a release finishes or removes what killed runs have left, and says so once."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from shoal.ledger.ledger import Ledger
from tests.cli.run import shoal
from tests.publish.clinic import POLICY
from tests.publish.run.killed import kill

REMOVED = "note: removed what a killed run left beside"
FINISHED = "note: the release of a killed run was finished: it is in"
SWEPT = "note: removed a temporary folder that a run left when it was killed"


def commands(place: Path) -> dict[str, tuple[object, ...]]:
    """A command of each kind that opens the ledger."""
    (place / "policy.yaml").write_text(POLICY)
    ledger = ("--ledger", place / "ledger.sqlite")
    return {
        "show": ("ledger", "show", *ledger),
        "verify": ("ledger", "verify", *ledger),
        "export": ("ledger", "export", *ledger),
        "budget": ("ledger", "budget", "clinic", "--epsilon", "9", "--delta", "0.1", "--reason", "r", *ledger),
        "forecast": ("ledger", "forecast", "clinic", "--epsilon", "1", *ledger),
        "register": ("dataset", "register", place / "policy.yaml", place / "table.csv", *ledger),
        "datasets": ("dataset", "show", *ledger),
        "ask": ("ask", "clinic", "count", "--epsilon", "1", *ledger),
        "dry run": ("release", place / "policy.yaml", place / "table.csv", "--out", place / "x", "--dry-run", *ledger),
        "release": ("release", place / "policy.yaml", place / "none.csv", "--out", place / "x", *ledger),
    }


def set_budget(ledger: Path) -> tuple[object, ...]:
    """A command that opens a ledger and no table."""
    return ("ledger", "budget", "x", "--epsilon", "1", "--delta", "0", "--reason", "r", "--ledger", ledger)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["show", "budget", "register", "ask", "dry run", "release"])
def test_a_command_on_the_ledger_cleans_up(tmp_path, name):
    kill(tmp_path, "_write")
    work = tmp_path / ".out.shoal-work"
    assert work.is_dir()
    first = shoal(*commands(tmp_path)[name])
    assert first.stderr.count(REMOVED) == 1
    assert "the charge (entry 2 of the ledger) stands" in first.stderr
    assert not work.exists()
    assert REMOVED not in shoal(*commands(tmp_path)["show"]).stderr


@pytest.mark.slow
@pytest.mark.parametrize("name", ["verify", "share"])
def test_a_command_on_the_release_finishes_it(tmp_path, name):
    kill(tmp_path, "place")
    assert not (tmp_path / "out").exists()
    done = shoal(name, tmp_path / "out")
    assert (done.exit_code, done.stderr.count(FINISHED)) == (0, 1), done.stderr
    with Ledger(str(tmp_path / "ledger.sqlite")) as book:
        assert (book.account("clinic").releases, book.runs()) == (1, [])


def test_temporary_folders_of_killed_runs_are_removed(tmp_path):
    place = Path(tempfile.gettempdir())
    words = set_budget(tmp_path / "l.sqlite")
    assert shoal(*words, "--new-ledger").stderr.count("\n") == 1
    abandon(place / "shoal-spill-abc")
    one = shoal(*words)
    assert SWEPT in one.stderr
    for number in range(3):
        abandon(place / f"shoal-spill-abc{number}")
    assert "note: removed 3 temporary folders that runs left when they were killed" in shoal(*words).stderr
    assert list(place.iterdir()) == []


def abandon(path: Path) -> None:
    """A temporary folder with records, as a kill leaves it."""
    from shoal.files.work_folder import WorkFolder

    folder = WorkFolder.claim(path, {"purpose": "spill"})
    (path / "records").write_text("p1,34\n")
    folder.close()


def test_a_ledger_that_everybody_can_read_is_warned_of(tmp_path):
    words = set_budget(tmp_path / "l.sqlite")
    assert "warning" not in shoal(*words, "--new-ledger").stderr
    (tmp_path / "l.sqlite").chmod(0o644)
    assert "warning: everybody on this machine can read the ledger" in shoal(*words).stderr

"""After a kill, whatever command comes next cleans up and says so on standard error."""

from __future__ import annotations

import sys
import tempfile

import pytest
from click.testing import CliRunner

from shoal.cli import main
from shoal.cli.terminal.leftovers import recover_ledger
from shoal.files.work_folder import WorkFolder
from shoal.ledger.ledger import Ledger
from tests.publish.clinic import policy, publish
from tests.publish.run.killed import kill

COMMANDS = {
    "verify": ("verify", "out"),
    "share": ("share", "out"),
    "ledger": ("ledger", "show", "--ledger", "ledger.sqlite"),
    "ledger in JSON": ("ledger", "verify", "--ledger", "ledger.sqlite", "--json"),
}


@pytest.fixture(autouse=True)
def _own_temporary_folder(tmp_path_factory, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path_factory.mktemp("temporary")))


def test_what_finishes_runs_is_loaded_where_the_ledger_waits_for_one(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "shoal.publish.run.recover", None)  # it cannot be imported
    dead = WorkFolder.temporary("spill")
    dead.close()
    with Ledger(str(tmp_path / "ledger.sqlite")) as ledger:
        recover_ledger(ledger)
        assert not dead.path.exists()
        assert "removed a temporary folder that a run left when it was killed" in capsys.readouterr().err
        with ledger._store.exclusive() as writer:
            writer.begin_run(1, "visits", str(tmp_path / "work"))
        with pytest.raises(ImportError):
            recover_ledger(ledger)


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_the_next_command_finishes_a_release_and_says_so(tmp_path, monkeypatch, command):
    """28 of 193 killed runs left a release without its event, which nothing ever made up for."""
    monkeypatch.chdir(tmp_path)
    kill(tmp_path, "note_release")
    done = CliRunner().invoke(main, COMMANDS[command])
    assert done.exit_code == 0, done.output
    assert "the release of a killed run was finished" in done.stderr
    assert not (tmp_path / ".out.shoal-work").exists()
    again = CliRunner().invoke(main, ["ledger", "show", "--ledger", "ledger.sqlite"])
    assert "the release of a killed run" not in again.stderr


@pytest.mark.slow
def test_a_question_to_the_same_ledger_removes_what_was_not_finished(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    kill(tmp_path, "sync")
    done = CliRunner().invoke(
        main, ["ask", "clinic", "count", "age >= 50", "--epsilon", "1", "--ledger", "ledger.sqlite"]
    )
    assert "removed what a killed run left" in done.stderr
    assert not (tmp_path / ".out.shoal-work").exists()
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_a_release_that_is_refused_has_said_what_it_removed(tmp_path, monkeypatch):
    """A run that was killed before its charge is known beside its target alone, and the next one may be refused at once."""
    monkeypatch.chdir(tmp_path)
    kill(tmp_path, "prepare")
    (tmp_path / "policy.yaml").write_text(policy().dump())
    (tmp_path / "out").mkdir()
    done = CliRunner().invoke(
        main, ["release", "policy.yaml", "table.csv", "--out", "out", "--ledger", "ledger.sqlite"]
    )
    assert done.exit_code == 2
    assert "removed what a killed run left beside" in done.stderr
    assert "nothing was charged" in done.stderr
    assert "the folder exists" in done.stderr
    assert not (tmp_path / ".out.shoal-work").exists()


@pytest.mark.slow
def test_verifying_a_release_that_a_living_run_replaces_disturbs_nothing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    publish(tmp_path)

    def stage(name):
        if name == "verifying":
            done = CliRunner().invoke(main, ["verify", "out"])
            assert (done.exit_code, done.stderr) == (0, "")

    publish(tmp_path, force=True, stage=stage)

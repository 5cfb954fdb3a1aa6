"""After a kill at any point: what was finished appears with its note, everything else is gone, and nothing is lost on the way."""

from __future__ import annotations

import errno
import json
import shutil
import tempfile
from pathlib import Path

import pytest

import shoal
from shoal.errors import LedgerError, UsageError
from shoal.files.work_folder import WorkFolder
from shoal.ledger.ledger import Ledger
from shoal.publish.folder import is_own_release, is_own_report, work_folder
from shoal.publish.run.recover import recover, recover_runs, recover_target
from tests.publish.clinic import planned as clinic_plan
from tests.publish.clinic import publish
from tests.publish.release_folder import account
from tests.publish.run.killed import POINTS, kill, small_report, small_sections

FINISHED = POINTS[POINTS.index("place") :]
CHARGED = POINTS[POINTS.index("_write") :]


@pytest.fixture
def quick(monkeypatch):
    monkeypatch.setattr("shoal.publish.report.safe_k.safe_k_report", small_report)
    monkeypatch.setattr("shoal.publish.report.safe_k.safe_k_sections", small_sections)


@pytest.fixture(autouse=True)
def _own_temporary_folder(tmp_path_factory, monkeypatch):
    """So that nothing is swept that another test left."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path_factory.mktemp("temporary")))


def names(place):
    return sorted(path.name for path in place.iterdir())


def ledger_of(place):
    return Ledger(str(place / "ledger.sqlite"))


def recover_by(place, how):
    """Recover as a command on the folder does, with its ledger or without, or as a command on the ledger."""
    if how == "folder alone":
        return recover_target(place / "out")
    with ledger_of(place) as ledger:
        said = recover_target(place / "out", ledger) if how == "folder" else recover_runs(ledger)
    return [sentence for sentence in said if "temporary" not in sentence]  # what the engine leaves is told elsewhere


@pytest.mark.slow
@pytest.mark.parametrize("point", POINTS[1:])
def test_a_killed_run_is_finished_or_removed_by_the_next_command(tmp_path, point):
    kill(tmp_path, point, report=True)
    assert ".out.shoal-work" in names(tmp_path)
    how = ("folder", "folder alone", "ledger")[POINTS.index(point) % 3] if point in CHARGED else "folder"
    said = recover_by(tmp_path, how)
    assert len(said) == (0 if point == "end" and how == "ledger" else 1)
    recover_by(tmp_path, "folder")  # nothing is left to do
    released = point in FINISHED
    assert names(tmp_path) == ["ledger.sqlite", *(["out", "out.holder"] if released else []), "table.csv"]
    assert account(tmp_path).releases == released
    assert len(account(tmp_path).costs) == (point in CHARGED)
    with ledger_of(tmp_path) as ledger:
        assert ledger.runs() == []
    if released:
        assert is_own_release(tmp_path / "out")
        assert is_own_report(tmp_path / "out.holder")
    elif how == "folder":
        assert ("the charge (entry 2 of the ledger) stands" if point in CHARGED else "nothing was charged") in said[0]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("point", "steps", "report"),
    [
        ("place", False, True),
        ("place", True, True),
        ("place_report", False, False),
        ("place_report", True, True),
        ("note_release", False, True),
    ],
)
def test_a_forced_replacement_that_is_killed_loses_neither_release(tmp_path, quick, monkeypatch, point, steps, report):
    if steps:  # a system without the call that exchanges two names
        monkeypatch.setattr("shoal.files.exchange._renameat2", lambda: None)
    old = publish(tmp_path, report=True).certificate["seal"]
    kill(tmp_path, point, force=True, report=report)
    assert is_own_release(tmp_path / "out")
    recover_by(tmp_path, "folder")
    assert names(tmp_path) == ["ledger.sqlite", "out", *(["out.holder"] if report else []), "table.csv"]
    new = json.loads((tmp_path / "out" / "certificate.json").read_text())["seal"]
    assert new != old
    assert is_own_release(tmp_path / "out")
    if report:
        assert json.loads((tmp_path / "out.holder" / "report.json").read_text())["certificate"] == new
    assert account(tmp_path).releases == 2


@pytest.mark.slow
def test_a_kill_while_the_replaced_release_is_removed_keeps_no_half_of_it(tmp_path, quick):
    """Half of what was replaced was taken for something that somebody had changed."""
    publish(tmp_path, report=True)
    kill(tmp_path, "end", force=True, report=True)
    for name in ("public/table.csv", "custodian/report.html"):
        (work_folder(tmp_path / "out") / name).unlink()
    (said,) = recover_by(tmp_path, "folder")
    assert "its release had appeared" in said
    assert names(tmp_path) == ["ledger.sqlite", "out", "out.holder", "table.csv"]
    assert is_own_release(tmp_path / "out")


@pytest.mark.slow
def test_the_next_release_on_the_same_target_cleans_up_and_says_so(tmp_path):
    kill(tmp_path, "_write")
    (tmp_path / ".out.shoal-work" / "public").mkdir()
    (tmp_path / ".out.shoal-work" / "public" / "table.csv").write_text("half")
    made = publish(tmp_path)
    assert "removed what a killed run left" in made.notes[0]
    assert names(tmp_path) == ["ledger.sqlite", "out", "table.csv"]
    assert (account(tmp_path).releases, len(account(tmp_path).costs)) == (1, 2)


@pytest.mark.slow
def test_a_release_that_waits_for_its_name_gets_it_when_the_place_is_free(tmp_path):
    kill(tmp_path, "place")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "letters").write_text("mine")
    with pytest.raises(UsageError, match="cannot be given its name"):
        recover_by(tmp_path, "folder")
    (said,) = recover_by(tmp_path, "ledger")
    assert "could not be finished" in said
    assert (tmp_path / "out" / "letters").read_text() == "mine"
    shutil.move(tmp_path / "out", tmp_path / "mine")
    assert len(recover_by(tmp_path, "ledger")) == 1
    assert is_own_release(tmp_path / "out")
    assert account(tmp_path).releases == 1


@pytest.mark.slow
def test_a_ledger_that_is_not_there_leaves_the_note_for_later(tmp_path):
    kill(tmp_path, "place")
    (tmp_path / "ledger.sqlite").rename(tmp_path / "elsewhere.sqlite")
    with pytest.raises(LedgerError, match="waits in"):  # whether a ledger waits for it cannot be known
        recover_target(tmp_path / "out")
    assert not (tmp_path / "out").exists()
    (tmp_path / "elsewhere.sqlite").rename(tmp_path / "ledger.sqlite")
    assert len(recover_target(tmp_path / "out")) == 1
    assert account(tmp_path).releases == 1
    assert names(tmp_path) == ["ledger.sqlite", "out", "table.csv"]


@pytest.mark.slow
def test_a_run_whose_folder_was_removed_by_hand_is_forgotten(tmp_path):
    kill(tmp_path, "_write")
    shutil.rmtree(work_folder(tmp_path / "out"))
    assert recover_by(tmp_path, "ledger") == []
    with ledger_of(tmp_path) as ledger:
        assert ledger.runs() == []


def charged_run(place, state, plan="0" * 64):
    """What a run leaves that is killed around its charge, without the run; the path of its work folder."""
    facts = {"name": "out", "ledger": str(place / "ledger.sqlite"), "state": state, "dataset": "clinic", "plan": plan}
    path = work_folder(place / "out")
    with Ledger(str(place / "ledger.sqlite"), new=True) as ledger:
        ledger.record_unbounded("clinic", "a release", "0" * 64, b"table", work=str(path))
    WorkFolder.claim(path, facts).close()
    return path


def test_a_relative_path_finds_the_charge(tmp_path, monkeypatch):
    """It was compared with the whole path in the ledger, so that nothing seemed to be charged."""
    charged_run(tmp_path, "charging")
    monkeypatch.chdir(tmp_path)
    said = recover(Path(".out.shoal-work"), None)
    assert said is not None
    assert "the charge (entry 1 of the ledger) stands" in said
    with ledger_of(tmp_path) as ledger:
        assert ledger.runs() == []


@pytest.mark.parametrize(
    ("state", "plan", "words"),
    [
        ("preparing", "0" * 64, "nothing was charged"),
        ("charging", "1" * 64, "nothing was charged"),
        ("charging", "0" * 64, "if it was charged, the charge stands"),
        (None, None, "if it was charged, the charge stands"),
    ],
)
def test_nothing_was_charged_is_said_where_it_is_certain(tmp_path, state, plan, words):
    """A ledger that lists no run was taken for a proof."""
    path = charged_run(tmp_path, state, plan)
    with ledger_of(tmp_path) as ledger:
        ledger.end_run(str(path))
    (said,) = recover_target(tmp_path / "out")
    assert words in said


def test_a_living_run_is_left_alone(tmp_path):
    work = WorkFolder.claim(work_folder(tmp_path / "out"), {"name": "out"})
    assert recover_target(tmp_path / "out") == []
    with pytest.raises(UsageError, match="another run is working there"):
        publish(tmp_path)
    assert account(tmp_path).costs == ()
    work.remove()


def test_of_two_that_recover_at_once_one_does_it(tmp_path, monkeypatch):
    path = work_folder(tmp_path / "out")
    WorkFolder.claim(path, {"name": "out"}).close()
    taken = WorkFolder.take_over

    def first(which):
        taken(which).remove()
        monkeypatch.undo()
        return taken(which)

    monkeypatch.setattr(WorkFolder, "take_over", first)
    assert recover_target(tmp_path / "out") == []
    WorkFolder.claim(path, {"name": "out"}).close()

    def later(which):
        other = taken(which)
        try:
            return taken(which)
        finally:
            held.append(other)

    held = []
    monkeypatch.setattr(WorkFolder, "take_over", later)
    assert recover_target(tmp_path / "out") == []
    assert path.exists()
    held[0].remove()


@pytest.mark.slow
def test_a_release_from_python_recovers_the_runs_of_its_ledger(tmp_path):
    kill(tmp_path, "_write", name="other")
    made = shoal.release(
        clinic_plan(),
        tmp_path / "table.csv",
        tmp_path / "out",
        ledger=tmp_path / "ledger.sqlite",
        again=True,
        report=False,
    )
    assert "removed what a killed run left" in made.notes[0]
    assert names(tmp_path) == ["ledger.sqlite", "out", "table.csv"]


def forged(place, public, **facts):
    """A work folder that a stranger's archive could bring, with a journal that asks for a replacement."""
    told = {"name": "out", "state": "publishing", "seal": "0" * 64, "replace": True, "report": None, "charge": None}
    work = WorkFolder.claim(work_folder(place / "out"), {**told, "ledger": None, "dataset": "clinic", **facts})
    work.close()
    shutil.copytree(public, work.path / "public")
    return work.path


@pytest.mark.slow
@pytest.mark.parametrize("ledger", ["none", "its own", "an address", "relative"])
def test_a_forged_journal_replaces_and_notes_nothing(tmp_path, quick, ledger):
    """It was believed: a genuine release and its report were deleted, and a seal was noted in the ledger."""
    seal = publish(tmp_path, report=True).certificate["seal"]
    (tmp_path / "evil").mkdir()
    (tmp_path / "evil" / "anything.txt").write_text("not a release")
    own = {
        "none": None,
        "its own": str(tmp_path / "ledger.sqlite"),
        "an address": f"sqlite:///{tmp_path / 'ledger.sqlite'}",
        "relative": "ledger.sqlite",
    }[ledger]
    forged(tmp_path, tmp_path / "evil", ledger=own, charge=[2, "x"])
    with pytest.raises(UsageError, match=r"no ledger waits for it|cannot be read"):
        recover_target(tmp_path / "out")
    assert json.loads((tmp_path / "out" / "certificate.json").read_text())["seal"] == seal
    assert is_own_release(tmp_path / "out")
    assert is_own_report(tmp_path / "out.holder")
    assert account(tmp_path).releases == 1


@pytest.mark.slow
def test_a_forged_journal_about_the_release_that_is_there_takes_no_report_away(tmp_path, quick):
    seal = publish(tmp_path, report=True).certificate["seal"]
    forged(tmp_path, tmp_path / "out", seal=seal)
    (said,) = recover_target(tmp_path / "out")
    assert "no ledger waits for it" in said
    assert is_own_release(tmp_path / "out")
    assert is_own_report(tmp_path / "out.holder")
    assert names(tmp_path) == ["ledger.sqlite", "out", "out.holder", "table.csv"]


@pytest.mark.slow
@pytest.mark.parametrize("what", ["a cell", "a file more", "a link"])
def test_a_finished_release_that_was_changed_is_not_published(tmp_path, what):
    kill(tmp_path, "place")
    public = work_folder(tmp_path / "out") / "public"
    if what == "a cell":
        (public / "table.csv").write_text((public / "table.csv").read_text() + "x\n")
    elif what == "a file more":
        (public / "patients.txt").write_text("names")
    else:
        shutil.move(public, tmp_path / "elsewhere")
        public.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UsageError, match="changed since"):
        recover_by(tmp_path, "folder")
    assert not (tmp_path / "out").exists()
    assert account(tmp_path).releases == 0


@pytest.mark.slow
def test_a_release_that_was_damaged_at_its_place_does_not_cost_the_copy_that_waits(tmp_path):
    kill(tmp_path, "place")
    public = work_folder(tmp_path / "out") / "public"
    shutil.copytree(public, tmp_path / "out")
    (tmp_path / "out" / "table.csv").write_text("damaged")
    with pytest.raises(UsageError, match="cannot be given its name"):
        recover_by(tmp_path, "folder")
    assert is_own_release(public)


def test_a_work_folder_that_others_could_read_is_none_of_ours(tmp_path):
    path = work_folder(tmp_path / "out")
    WorkFolder.claim(path, {"name": "out"}).close()
    path.chmod(0o755)
    assert recover_target(tmp_path / "out") == []
    assert path.is_dir()


@pytest.mark.parametrize("name", ["other", "..", "a/b", 7, None])
def test_a_journal_that_names_another_folder_is_not_believed(tmp_path, name):
    facts = {"name": name, "state": "publishing", "seal": "0", "replace": True, "report": None, "charge": None}
    WorkFolder.claim(work_folder(tmp_path / "out"), facts).close()
    with pytest.raises(UsageError, match="cannot be read"):
        recover_target(tmp_path / "out")


@pytest.mark.parametrize("left", [(), ("shoal.lock",), ("shoal.lock", "shoal.journal.next")])
def test_what_is_left_before_the_journal_and_after_it_is_removed_without_a_word(tmp_path, left):
    work = work_folder(tmp_path / "out")
    WorkFolder.claim(work, {"name": "out"}).close()
    (work / "shoal.journal").rename(work / "shoal.journal.next")
    for path in list(work.iterdir()):
        if path.name not in left:
            path.unlink()
    assert recover_target(tmp_path / "out") == []
    assert list(tmp_path.iterdir()) == []


def test_a_work_folder_whose_journal_somebody_removed_is_kept(tmp_path):
    work = work_folder(tmp_path / "out")
    WorkFolder.claim(work, {"name": "out"}).close()
    (work / "public").mkdir()
    (work / "shoal.journal").unlink()
    with pytest.raises(UsageError, match="cannot be read"):
        recover_target(tmp_path / "out")
    assert (work / "public").is_dir()


@pytest.mark.parametrize("facts", [{}, {"seal": "0", "replace": None, "report": 7, "charge": "x"}, {"replace": True}])
def test_a_journal_that_lacks_something_is_not_believed(tmp_path, facts):
    WorkFolder.claim(work_folder(tmp_path / "out"), {"name": "out", "state": "publishing", **facts}).close()
    with pytest.raises(UsageError):
        recover_target(tmp_path / "out")
    assert work_folder(tmp_path / "out").exists()


def test_folders_that_are_no_work_folders_are_left_alone(tmp_path):
    work_folder(tmp_path / "out").mkdir()
    (work_folder(tmp_path / "out") / "letters").write_text("mine")
    assert recover_target(tmp_path / "out") == []
    work_folder(tmp_path / "link").symlink_to(tmp_path)
    assert recover_target(tmp_path / "link") == []
    assert recover_target("/") == []
    assert (work_folder(tmp_path / "out") / "letters").exists()


@pytest.mark.slow
def test_what_was_put_into_the_replaced_folder_meanwhile_is_kept(tmp_path, quick):
    publish(tmp_path, report=True)

    def stage(name):
        if name == "verifying":
            (tmp_path / "out" / "letters").write_text("mine")
            (tmp_path / "out.holder" / "notes").write_text("mine too")

    made = publish(tmp_path, force=True, report=True, stage=stage)
    assert (tmp_path / "out.replaced" / "letters").read_text() == "mine"
    assert (tmp_path / "out.holder.replaced" / "notes").read_text() == "mine too"
    assert ["kept" in note for note in made.notes] == [True, True]
    assert is_own_release(tmp_path / "out")


def test_a_disk_that_is_full_at_the_very_end_leaves_no_work_folder(tmp_path, monkeypatch):
    note = WorkFolder.note

    def full(self, **facts):
        if facts.get("state") == "published":
            raise OSError(errno.ENOSPC, "No space left on device")
        note(self, **facts)

    monkeypatch.setattr(WorkFolder, "note", full)
    made = publish(tmp_path)
    assert made.notes == ()
    assert names(tmp_path) == ["ledger.sqlite", "out", "table.csv"]

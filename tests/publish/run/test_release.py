"""A release: whole or not at all, charged first, nothing in it that was not paid for, and refusals in one grammar."""

import csv
import json
import re
import signal
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from shoal.chance.source import Source
from shoal.errors import BudgetError, DataError, DomainError, LedgerError, PreconditionError, UsageError
from shoal.ledger.ledger import Ledger
from shoal.publish.run.publication import note_release
from shoal.publish.run.recover import recover_target
from shoal.publish.run.release import STAGES, release
from shoal.publish.verify.release import require, verify
from tests.engine.oracle import engine_named
from tests.publish.clinic import planned, policy, publish, write_table
from tests.publish.release_folder import account


def published(folder):
    with (folder / "table.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.reader(file))


@pytest.mark.slow
def test_a_release_holds_groups_of_k_and_verifies(tmp_path):
    made = publish(tmp_path, report=True)
    header, *rows = published(made.folder)
    assert header == ["age", "sex", "diag"]
    assert min(Counter(map(tuple, rows)).values()) >= planned().promise.k
    assert len(rows) == made.rows_published > 0
    assert {row[0] for row in rows} <= {"[0, 50)", "[50, 100)"}
    assert rows == sorted(rows)
    require(verify(made.folder))
    assert sorted(p.name for p in tmp_path.iterdir()) == ["ledger.sqlite", "out", "out.holder", "table.csv"]
    assert account(tmp_path).releases == 1
    assert account(tmp_path).spent.epsilon == Fraction(1)


@pytest.mark.slow
def test_two_releases_differ_and_add_up(tmp_path):
    first, second = publish(tmp_path, name="a"), publish(tmp_path, name="b")
    assert published(first.folder) != published(second.folder)
    assert second.certificate["ledger"]["total"] == {"epsilon": "2", "delta": "0.002"}
    assert len(second.certificate["ledger"]["entries"]) == 2


@pytest.mark.slow
def test_nothing_of_the_input_leaves(tmp_path):
    """The public files name no row count, no input hash, no path, no time of day, no key."""
    made = publish(tmp_path, rows=617)
    text = "".join(
        p.read_text(encoding="utf-8") for p in made.folder.rglob("*") if p.name != "table.csv" and p.is_file()
    )
    assert not re.search(r"\b617\b", text)
    assert str(tmp_path) not in text
    assert not re.search(r"\d\d:\d\d:\d\d", text)
    assert "p1," not in text
    times = {p.stat().st_mtime for p in (made.folder, *made.folder.rglob("*"))}
    assert len(times) == 1, "nor how long each file took to make"
    assert times.pop() % 86_400 == 0, "no time of day"


@pytest.mark.slow
@pytest.mark.parametrize("format_", ["csv", "parquet"])
def test_formats_and_repeats(tmp_path, format_):
    made = publish(tmp_path, {"release.output": format_, "release.repeat": 3, "release.epsilon": 2}, rows=3000)
    assert sorted(p.name for p in made.folder.glob("table*")) == [f"table-{i}.{format_}" for i in (1, 2, 3)]
    require(verify(made.folder))
    assert account(tmp_path).spent.epsilon == 2
    assert len(account(tmp_path).costs) == 1


@pytest.mark.slow
def test_fewer_than_two_crowds_is_a_word_to_the_holder_and_no_refusal(tmp_path):
    """Whether a release appears must not depend on one row more or less."""
    made = publish(tmp_path, rows=2 * planned().promise.k - 1)
    assert any("fewer than 2k" in note for note in made.notes)
    assert not publish(tmp_path, rows=200, name="enough", report=True).notes


@pytest.mark.slow
def test_every_row_suppressed_is_a_valid_empty_release(tmp_path):
    made = publish(tmp_path, {"release.recoding": {"levels": {"age": 0}}}, rows=60)
    assert made.rows_published == 0
    assert published(made.folder) == [["age", "sex", "diag"]]
    require(verify(made.folder))


@pytest.mark.slow
def test_people_with_several_rows(tmp_path):
    table = write_table(tmp_path / "many.csv", 900, patients=60)
    unit = {"unit": {"column": "patient", "max_rows": 1}}
    one = publish(tmp_path, unit, table=table, name="one")  # one ledger for each unit
    (tmp_path / "ledger.sqlite").unlink()
    assert one.rows_published <= 60
    assert one.certificate["guarantee"]["unit"]["whose"] == "person"
    two = publish(tmp_path, {"unit": {"column": "patient", "max_rows": 2}}, table=table, name="two")
    assert two.certificate["samples"][0]["k"] > one.certificate["samples"][0]["k"]
    assert "group-privacy" in [entry["name"] for entry in two.certificate["theorems"]]
    require(verify(two.folder))


@pytest.mark.slow
def test_a_row_that_names_nobody_is_refused_where_persons_are_hidden(tmp_path):
    """Rows without a name would share one: taking one away would let another in."""
    table = write_table(tmp_path / "many.csv", 300)
    table.write_text(table.read_text() + ",5,f,flu\n")
    with pytest.raises(DataError, match="patient"):
        publish(tmp_path, {"unit": {"column": "patient", "max_rows": 1}}, table=table)
    assert account(tmp_path).costs == ()
    assert publish(tmp_path, table=table).rows_published > 0


@pytest.mark.slow
def test_a_table_that_is_itself_a_sample(tmp_path):
    already = {"release.sampling": {"already": "0.1"}, "budget": None}
    made = publish(tmp_path, already, rows=2000)
    assert made.certificate["status"] == "proved with condition"
    assert "larger population" in made.certificate["sentence"]
    require(verify(made.folder))
    with pytest.raises(PreconditionError, match="used once"):
        publish(tmp_path, {"budget": None}, name="again", rows=2000)


def test_a_sample_of_people_gives_one_row_of_each(tmp_path):
    """All rows of a person come or go together there, which the bound for m rows does not cover."""
    changes = {"release.sampling": {"already": "0.1"}, "unit": {"column": "patient", "max_rows": 2}, "budget": None}
    with pytest.raises(PreconditionError, match="max_rows"):
        planned(changes)
    made = planned({**changes, "unit": {"column": "patient", "max_rows": 1}})
    assert not any("fresh source" in sentence for sentence in made.sentences())


@pytest.mark.slow
def test_units_do_not_mix_in_one_ledger(tmp_path):
    publish(tmp_path, name="row")
    with pytest.raises(BudgetError, match="another unit"):
        publish(tmp_path, {"unit": {"column": "patient", "max_rows": 1}}, name="person")


@pytest.mark.slow
def test_a_report_that_fails_does_not_take_the_release_with_it(tmp_path, monkeypatch):
    def broken(*_):
        raise KeyError("x")

    monkeypatch.setattr("shoal.publish.report.safe_k.safe_k_report", broken)
    made = publish(tmp_path, report=True)
    require(verify(made.folder))
    assert made.custodian_folder is None
    assert "KeyError" in made.notes[0]


@pytest.mark.slow
@pytest.mark.parametrize("changes", [{"neighbours": "replace_one"}, {"unit": {"column": "patient", "max_rows": 2}}])
def test_repeats_for_other_units_add_up_exactly(tmp_path, changes):
    repeated = {**changes, "release.repeat": 3, "release.epsilon": "0.7", "budget": None}
    made = publish(tmp_path, repeated, rows=3000)
    require(verify(made.folder))
    assert "basic-composition" in [entry["name"] for entry in made.certificate["theorems"]]


@pytest.mark.slow
@pytest.mark.parametrize("format_", ["csv", "parquet"])
def test_awkward_columns(tmp_path, format_):
    """Truth values, and a column with the name of a count."""
    changes = {
        "attributes.diag": None,
        "attributes.yes": {"role": "quasi", "type": "boolean"},
        "attributes.count_all": {"role": "quasi", "type": "category", "domain": ["a", "b"]},
        "release.recoding": {"levels": {"age": 3}},
        "release.output": format_,
    }
    rows = [
        "patient,age,sex,yes,count_all",
        *(f"p{i},{i % 90},f,{'true' if i % 2 else 'false'},{'ab'[i % 2]}" for i in range(400)),
    ]
    (tmp_path / "odd.csv").write_text("\n".join(rows) + "\n")
    made = publish(tmp_path, changes, table=tmp_path / "odd.csv")
    assert made.rows_published > 0
    assert made.notes == ()
    require(verify(made.folder))


@pytest.mark.slow
def test_a_drafted_policy_says_so(tmp_path):
    made = publish(tmp_path, {"attributes.age.provenance": "profiled"})
    assert made.certificate["status"] == "proved for a plan tuned on the data"
    assert not any("before the data were seen" in sentence for sentence in made.certificate["explanation"])
    require(verify(made.folder))
    both = {
        "release.sampling": {"already": "0.1"},
        "budget": None,
        "attributes.age.provenance": "profiled",
        "dataset": "two",
    }
    table = write_table(tmp_path / "two.csv", 2000, seed=2)
    require(verify(publish(tmp_path, both, name="both", table=table).folder))


def test_a_seeded_release_is_refused(tmp_path):
    with pytest.raises(UsageError, match="no guarantee"):
        publish(tmp_path, source=Source.seeded(1))
    assert account(tmp_path).costs == ()


@pytest.mark.slow
def test_budget_refusal_changes_nothing(tmp_path):
    for name in "abc":
        publish(tmp_path, name=name)
    with pytest.raises(BudgetError, match="overrun"):
        publish(tmp_path, name="d")
    assert not (tmp_path / "d").exists()
    assert len(account(tmp_path).costs) == 3


@pytest.mark.slow
def test_existing_targets(tmp_path):
    publish(tmp_path, report=True)
    with pytest.raises(UsageError, match="the folder exists"):
        publish(tmp_path)
    before = (tmp_path / "out" / "certificate.json").read_text()
    publish(tmp_path, force=True, report=True)
    assert (tmp_path / "out" / "certificate.json").read_text() != before
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")
    with pytest.raises(UsageError, match="none of ours"):
        publish(tmp_path, name="mine", force=True)
    with pytest.raises(UsageError, match="does not exist"):
        publish(tmp_path, name="no/such/place")
    assert len(account(tmp_path).costs) == 2


def test_wrong_tables_are_refused_before_the_charge(tmp_path):
    (tmp_path / "short.csv").write_text("patient,age,sex\np1,3,f\n")
    with pytest.raises(DataError, match="diag"):
        publish(tmp_path, table=tmp_path / "short.csv")
    (tmp_path / "old.csv").write_text("patient,age,sex,diag\np1,SECRET777,f,flu\np2,400,f,flu\n")
    with pytest.raises(DataError) as refused:
        publish(tmp_path, table=tmp_path / "old.csv")
    assert "SECRET777" not in str(refused.value)
    (tmp_path / "far.csv").write_text("patient,age,sex,diag\np2,400,f,flu\n")
    with pytest.raises(DomainError):
        publish(tmp_path, table=tmp_path / "far.csv")
    assert account(tmp_path).costs == ()


def test_a_plan_changed_by_hand_is_refused_before_the_charge(tmp_path):
    """Its release could not be verified against its lock, so it was charged and then failed."""
    own = replace(planned(), policy=policy({"release.epsilon": "0.5"}))
    table = write_table(tmp_path / "table.csv")
    with Ledger(str(tmp_path / "ledger.sqlite")) as ledger:
        with pytest.raises(UsageError, match="not the one that its policy makes"):
            release(own, table, tmp_path / "out", ledger=ledger, engine=engine_named("duckdb"))
        assert not [event for event in ledger.events() if event.kind == "charge"]


def test_a_table_that_cannot_be_read_for_its_fingerprint_is_not_charged_and_the_error_says_so(tmp_path, monkeypatch):
    """On Spark this is a pass over all files, which may change meanwhile; the error was silent about the charge."""

    def changed(_):
        raise DataError("the file changed while it was read", fix="start again")

    monkeypatch.setattr("shoal.engine.duckdb.table.DuckDBTable.contents", changed)
    with pytest.raises(DataError, match="changed while it was read; start again; nothing was charged"):
        publish(tmp_path)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["ledger.sqlite", "table.csv"]
    assert account(tmp_path).costs == ()


def test_a_failure_after_the_charge_keeps_the_charge_and_leaves_nothing(tmp_path, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("shoal.engine.duckdb.table.DuckDBTable.write", full)
    with pytest.raises(DataError, match=r"No space left.*the charge stands"):
        publish(tmp_path)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["ledger.sqlite", "table.csv"]
    assert len(account(tmp_path).costs) == 1
    assert account(tmp_path).releases == 0


@pytest.mark.slow
@pytest.mark.parametrize("failure", [LedgerError("the ledger is locked"), OSError(28, "No space left on device")])
def test_a_note_that_fails_after_the_folder_has_appeared_is_said_as_it_is(tmp_path, monkeypatch, failure):
    """The message said that nothing was published, beside a whole release."""

    def broken(*_, **__):
        raise failure

    monkeypatch.setattr(Ledger, "record_release", broken)
    made = publish(tmp_path)
    require(verify(made.folder))
    (note,) = made.notes
    assert "the release is there and whole, but the ledger has not noted it yet" in note
    assert made.left == account(tmp_path).left
    monkeypatch.undo()
    assert account(tmp_path).releases == 0
    with Ledger(str(tmp_path / "ledger.sqlite")) as ledger:
        assert len(recover_target(made.folder, ledger)) == 1
    assert account(tmp_path).releases == 1
    assert sorted(p.name for p in tmp_path.iterdir()) == ["ledger.sqlite", "out", "table.csv"]


@pytest.mark.slow
def test_a_release_that_cannot_be_given_its_name_is_kept_for_the_next_command(tmp_path):
    def stage(name):
        if name == "verifying":
            (tmp_path / "out").write_text("mine")

    with pytest.raises(DataError, match=r"could not be given its name.*it is kept in .*the charge stands"):
        publish(tmp_path, stage=stage)
    assert (tmp_path / "out").read_text() == "mine"
    (tmp_path / "out").unlink()
    with pytest.raises(UsageError, match="the folder exists"):  # the next command on it has put it there
        publish(tmp_path)
    require(verify(tmp_path / "out"))
    assert (account(tmp_path).releases, len(account(tmp_path).costs)) == (1, 1)


@pytest.mark.slow
@pytest.mark.parametrize("stop", [KeyboardInterrupt, SystemExit(143), MemoryError])
@pytest.mark.parametrize("name", ["reading", "charging", "writing", "verifying"])
def test_whatever_interrupts_a_run_leaves_nothing(tmp_path, name, stop):
    def stage(now):
        if now == name:
            raise stop

    with pytest.raises((KeyboardInterrupt, SystemExit, MemoryError, DataError)) as stopped:
        publish(tmp_path, stage=stage)
    if stop is KeyboardInterrupt:
        charged = name in ("writing", "verifying")
        said = "there is no release; the charge stands" if charged else "there is no release, and nothing was charged"
        assert stopped.value.__notes__ == [said]
    assert len(account(tmp_path).costs) == (name in ("writing", "verifying"))
    assert sorted(p.name for p in tmp_path.iterdir()) == ["ledger.sqlite", "table.csv"]
    with Ledger(str(tmp_path / "ledger.sqlite")) as ledger:
        assert ledger.runs() == []


@pytest.mark.slow
@pytest.mark.parametrize("name", ["reading", "verifying"])
def test_an_interrupted_replacement_says_that_there_is_no_new_release(tmp_path, name):
    """'there is no release' was said where the earlier one stood, whole."""
    seal = publish(tmp_path).certificate["seal"]

    def stage(now):
        if now == name:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as stopped:
        publish(tmp_path, stage=stage, force=True)
    charge = "; the charge stands" if name == "verifying" else ", and nothing was charged"
    assert stopped.value.__notes__ == [f"there is no new release{charge}"]
    assert json.loads((tmp_path / "out" / "certificate.json").read_text())["seal"] == seal
    assert (account(tmp_path).releases, len(account(tmp_path).costs)) == (1, 1 + (name == "verifying"))


@pytest.mark.slow
def test_an_interrupt_while_the_folder_gets_its_name_says_that_it_is_there(tmp_path, monkeypatch):
    found = note_release

    def interrupted(work, ledger):
        signal.raise_signal(signal.SIGINT)
        found(work, ledger)

    monkeypatch.setattr("shoal.publish.run.release.note_release", interrupted)
    with pytest.raises(KeyboardInterrupt) as stopped:
        publish(tmp_path)
    assert stopped.value.__notes__ == [f"the release is there, whole: {tmp_path / 'out'}"]
    assert account(tmp_path).releases == 1
    assert sorted(p.name for p in tmp_path.iterdir()) == ["ledger.sqlite", "out", "table.csv"]


@pytest.mark.slow
def test_a_second_run_for_the_same_folder_is_refused_before_it_is_charged(tmp_path):
    """Two releases that raced for one folder were both charged, and one failed."""
    refused = []

    def stage(name):
        if name == "verifying":
            with pytest.raises(UsageError, match="another run is working there") as error:
                publish(tmp_path, table=tmp_path / "table.csv")
            refused.append(error.value)

    publish(tmp_path, stage=stage)
    assert len(refused) == 1
    assert (account(tmp_path).releases, len(account(tmp_path).costs)) == (1, 1)


@pytest.mark.slow
def test_of_two_runs_of_the_same_plan_at_once_one_is_charged(tmp_path):
    refused = []

    def stage(name):
        if name == "preparing" and not refused:
            refused.append("not yet")
            publish(tmp_path, table=tmp_path / "table.csv", name="first", again=False)

    with pytest.raises(BudgetError, match="charged before"):
        publish(tmp_path, stage=stage, again=False)
    assert (account(tmp_path).releases, len(account(tmp_path).costs)) == (1, 1)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["first", "ledger.sqlite", "table.csv"]


@pytest.mark.slow
def test_a_repeat_names_the_release_that_appeared_and_says_what_is_true(tmp_path):
    def fail(name):
        if name == "writing":
            raise OSError(28, "No space left on device")

    def said(**options):
        with pytest.raises(BudgetError) as error:
            publish(tmp_path, table=tmp_path / "table.csv", name="more", again=False, **options)
        return str(error.value)

    with pytest.raises(DataError):
        publish(tmp_path, stage=fail)
    found = said()
    assert "was charged before (entry 2 of the ledger" in found
    assert "and never appeared" in found
    assert found.endswith("--again (again=True) pays once more; nothing was charged")
    running = []
    publish(tmp_path, name="first", stage=lambda name: running.append(said()) if name == "writing" else None)
    assert "another run is making this very release now (entry 3 of the ledger" in running[0]
    assert "; wait for it, or say --again" in running[0]
    with pytest.raises(DataError):
        publish(tmp_path, stage=fail)
    found = said()
    assert "was charged before (entry 3 of the ledger" in found
    assert "appear" not in found
    assert "; use that release, or say --again" in found


KILL = """
import os, signal, sys
from pathlib import Path
from tests.publish.clinic import publish
def stage(name):
    if name == sys.argv[2]:
        os.kill(os.getpid(), signal.SIGKILL)
changes = {"release.recoding": "tree"}
if sys.argv[2] == "choosing the views":
    changes = {"release.views": {"choose": {"epsilon": "0.2", "count": 2}}}
publish(Path(sys.argv[1]), changes, stage=stage, report=True)
"""


BY_DEFAULT = ("charging", "verifying")
"""Stages at which a run is killed by default; `tests/faults` kills runs at their system calls."""


@pytest.mark.slow
@pytest.mark.parametrize(
    "stage",
    [
        pytest.param(stage, marks=() if stage in BY_DEFAULT else pytest.mark.long)
        for stage in STAGES
        if stage != "choosing rows of each unit"
    ],
)
def test_killed_at_every_stage(tmp_path, stage):
    write_table(tmp_path / "table.csv")
    done = subprocess.run([sys.executable, "-c", KILL, str(tmp_path), stage], check=False, cwd=Path.cwd())
    assert done.returncode == -signal.SIGKILL
    assert not (tmp_path / "out").exists()
    charged = STAGES.index(stage) > STAGES.index("charging")
    assert len(account(tmp_path).costs) == charged if (tmp_path / "ledger.sqlite").exists() else not charged


@pytest.mark.slow
def test_hostile_values_round_trip(tmp_path):
    values = ['"quoted"', "two\nlines", "=1+1", "a,b", "עברית", "😀", "x" * 9000]
    text = json.dumps(values, ensure_ascii=True)
    changes = {
        "attributes.diag": {"role": "confidential", "type": "category", "domain": values},
        "release.recoding": {"levels": {"age": 3, "sex": 0}},
    }
    for format_ in ("csv", "parquet"):
        rows = [[f"p{i}", "5", "f", values[i % len(values)]] for i in range(2000)]
        with (tmp_path / "hostile.csv").open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([["patient", "age", "sex", "diag"], *rows])
        made = publish(tmp_path, {**changes, "release.output": format_}, table=tmp_path / "hostile.csv", name=format_)
        require(verify(made.folder))
        if format_ == "csv":
            assert {row[2] for row in published(made.folder)[1:]} == set(json.loads(text))


@pytest.mark.slow
def test_reference_and_duckdb_publish_the_same(tmp_path, monkeypatch):
    """With the same key both engines publish the same bytes."""
    monkeypatch.setattr("shoal.chance.source.Source.carries_guarantee", True)
    table = write_table(tmp_path / "table.csv")
    made = []
    for name in ("duckdb", "oracle"):
        with Ledger(str(tmp_path / f"{name}.sqlite")) as ledger:
            out = release(
                planned(),
                table,
                tmp_path / name,
                ledger=ledger,
                engine=engine_named(name),
                source=Source.seeded(7),
                report=False,
            )
            made.append((out.folder / "table.csv").read_bytes())
    assert made[0] == made[1]


@pytest.mark.slow
@pytest.mark.parametrize("format_", ["csv", "parquet"])
def test_suppressed_values_leave_no_trace(tmp_path, format_):
    """A value that only suppressed rows had is nowhere in the public bytes: no dictionary, no statistics, no labels."""
    sentinel = {"code": "98765", "age": "97", "day": "2025-06-07"}
    attributes = {
        "attributes.code": {"role": "quasi", "type": "text", "domain": {"pattern": "[0-9]{5}"}},
        "attributes.day": {"role": "quasi", "type": "date", "domain": ["2025-01-01", "2025-12-31"]},
        "attributes.diag": None,
        "release.recoding": {"levels": {"age": 0}},
        "release.output": format_,
    }
    rows = ["patient,age,sex,code,day", *(f"p{i},40,f,12345,2025-01-02" for i in range(400))]
    rows.insert(200, f"px,{sentinel['age']},m,{sentinel['code']},{sentinel['day']}")
    (tmp_path / "lone.csv").write_text("\n".join(rows) + "\n")
    made = publish(tmp_path, attributes, table=tmp_path / "lone.csv")
    assert made.rows_published > 100
    if format_ == "csv":
        text = (made.folder / "table.csv").read_text()
        assert not any(value in text for value in sentinel.values())
        return
    file = pq.ParquetFile(made.folder / "table.parquet")
    seen = [str(value) for column in file.read().columns for value in column.unique().to_pylist()]
    groups = [file.metadata.row_group(i) for i in range(file.metadata.num_row_groups)]
    stats = [group.column(j).statistics for group in groups for j in range(group.num_columns)]
    seen += [str(s.min) + str(s.max) for s in stats if s is not None and s.has_min_max]
    seen += [str(file.metadata.metadata), str(file.schema_arrow.metadata)]
    for batch in pq.read_table(made.folder / "table.parquet", read_dictionary=["code", "sex"]).to_batches():
        seen += [str(column.dictionary.to_pylist()) for column in batch.columns if hasattr(column, "dictionary")]
    assert not any(value in text for text in seen for value in sentinel.values())

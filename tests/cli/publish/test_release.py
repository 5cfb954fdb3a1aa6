"""`shoal release`: the promise, the fields, the dry run, and what is left when a run is cut short."""

from __future__ import annotations

import json
import signal
from contextlib import suppress

import pytest

from shoal.anonymize.method.safe_k import SafeK
from shoal.engine.duckdb.engine import DuckDB
from shoal.engine.duckdb.table import DuckDBTable
from shoal.ledger.ledger import Ledger
from tests.cli.custodian import BEFORE, account, asked, furnished, nothing_happened
from tests.cli.run import answer, refused, shoal
from tests.publish import centroid_clinic
from tests.publish.clinic import policy, write_table


@pytest.mark.slow
def test_words_say_the_promise_the_rows_and_where(place):
    done = shoal(*asked(place))
    assert done.exit_code == 0, done.output
    assert "2.719 times what it is without it" in " ".join(done.stdout.split())
    assert "no class of fewer than 14 equal rows" in " ".join(done.stdout.split())
    assert f" rows published in {place / 'out'}\n" in done.stdout
    assert f"certificate: {place / 'out' / 'certificate.html'}\n" in done.stdout
    assert f"report, for the custodian alone: {place / 'out.holder' / 'report.html'}\n" in done.stdout
    assert "charged: (1, 0.001) to 'clinic'; left: (2, 0.009) of (3, 0.01); 2 more like this fit\n" in done.stdout
    assert f"ledger: {place / 'ledger.sqlite'}\n" in done.stdout
    assert done.stdout.endswith(f"next: shoal verify {place / 'out'}, then shoal share {place / 'out'}\n")
    assert {path.name for path in place.iterdir()} == BEFORE | {"out", "out.holder"}


@pytest.mark.slow
def test_json_has_the_fields_that_others_rely_on(place):
    found = answer(*asked(place, "--no-report"))
    assert set(found) == {
        "version", "out", "holder", "rows_published", "guarantee", "seal", "charged", "budget", "left", "more_fit",
        "ledger", "looks", "for_the_holder_only",
    }  # fmt: skip
    assert found["charged"] == {"epsilon": "1", "delta": "0.001"}
    assert found["left"] == {"epsilon": "2", "delta": "0.009"}
    assert found["more_fit"] == 2
    assert found["ledger"] == {"url": str(place / "ledger.sqlite"), "new": False}
    alone = found["for_the_holder_only"]
    assert alone["mark"].startswith("For the custodian only")
    assert alone["rows_in"] == 600
    assert (alone["columns"], alone["cautions"], alone["columns_not_read"]) == ([], [], [])
    assert (found["out"], found["holder"]) == (str(place / "out"), None)
    rows = (place / "out" / "table.csv").read_text().splitlines()[1:]
    assert found["rows_published"] == len(rows) > 0
    assert found["guarantee"] == {
        "kind": "approx-dp",
        "epsilon": 1.0,
        "delta": 0.001,
        "neighbours": "add_remove",
        "unit": {"whose": "row", "neighbours": "add_remove", "column": None, "max_rows": 1},
        "status": "proved",
    }
    assert found["seal"] == json.loads((place / "out" / "certificate.json").read_text())["seal"]
    assert not (place / "out.holder").exists()


@pytest.mark.slow
def test_json_names_the_holders_folder(made):
    again = answer(*asked(made, "--again", out="again"))
    assert again["holder"] == str(made / "again.holder")
    assert (made / "again.holder" / "report.html").is_file()


@pytest.mark.slow
def test_a_person_with_several_rows_is_the_unit(tmp_path):
    furnished(tmp_path, {"unit": {"column": "patient", "max_rows": 1}})
    found = answer(*asked(tmp_path, "--no-report"))
    assert found["guarantee"]["unit"]["whose"] == "person"
    assert found["guarantee"]["unit"]["column"] == "patient"


OTHER_METHODS = {
    "sample": {"epsilon": "0.5", "delta": "0.01", "rare": "drop", "recoding": {"levels": {"age": 2}}},
    "t-closeness": {"t": 2, "k": 8},
    "anatomy": {"k": 8, "grouping": "confidential"},
    "k-anonymity": {"k": 5, "suppression": "0.1", "recoding": {"search": {"loss": "granularity"}}},
    "microaggregation": {"k": 4, "grouping": "mondrian"},
}


@pytest.mark.slow
@pytest.mark.parametrize("method", OTHER_METHODS)
def test_methods_without_a_price_say_in_words_what_is_left(tmp_path, method):
    furnished(tmp_path, {"neighbours": "replace_one", "release": {"method": method, **OTHER_METHODS[method]}}, rows=240)
    done = shoal(*asked(tmp_path))
    assert done.exit_code == 0, done.output
    assert "For you alone; computed from the original" in done.output
    assert shoal("verify", tmp_path / "out").exit_code == 0


@pytest.mark.slow
def test_a_dry_run_charges_and_writes_nothing(place):
    done = shoal(*asked(place, "--dry-run"))
    assert done.exit_code == 0, done.output
    assert "2.719 times what it is without it" in " ".join(done.stdout.split())
    assert done.stdout.endswith("Nothing was charged and nothing was written.\n")
    found = answer(*asked(place, "--dry-run"))
    assert found["dry_run"] is True
    assert (found["k"], found["beta"], found["epsilon"], found["delta"]) == (14, 0.5, 1.0, 0.001)
    assert {"epsilon_recoding", "epsilon_release", "bound", "delta_tight", "delta_published"} <= set(found)
    assert found["forecast"] is None
    assert nothing_happened(place)


@pytest.mark.slow
def test_a_dry_run_after_a_charge_says_how_many_more_fit(made):
    with Ledger(str(made / "ledger.sqlite")) as book:
        left = 3 - len(book.account("clinic").costs)
    assert answer(*asked(made, "--dry-run", out="later"))["forecast"] == left


@pytest.mark.slow
def test_a_dry_run_is_a_look_and_one_with_another_plan_is_said_in_the_certificate(place):
    first = shoal(*asked(place, "--dry-run"))
    assert "this look is on record in the ledger. Before this release no look" in " ".join(first.stderr.split())
    assert answer(*asked(place, "--dry-run"))["looks"] == [{"kind": "dry-run", "times": 1, "other_plan": 0}]
    (place / "policy.yaml").write_text(policy({"attributes.age.domain": [0, 119]}).dump())
    dry = answer(*asked(place, "--dry-run"))
    assert dry["looks"] == [{"kind": "dry-run", "times": 2, "other_plan": 2}]
    assert dry["status"] == "proved for a plan tuned on the data"
    done = shoal(*asked(place, "--no-report"))
    said = " ".join(done.stdout.split())
    assert "Results on the real table were seen with another plan before this one was charged (2 dry runs)" in said
    assert "Before this release 3 looks at the real table are on record: 3 dry runs. 2 of them were" in said
    assert shoal("verify", place / "out").exit_code == 0
    found = answer(*asked(place, "--no-report", "--again", out="more"))
    assert found["looks"] == [{"kind": "dry-run", "times": 3, "other_plan": 2}]
    assert found["guarantee"]["status"] == "proved for a plan tuned on the data"
    shown = shoal("ledger", "show", "clinic", "--ledger", place / "ledger.sqlite").stdout
    assert "dry run, with plan" in shown
    listed = answer("ledger", "show", "clinic", "--ledger", place / "ledger.sqlite")["datasets"][0]
    assert listed["looks"] == 3
    assert sorted(look["times"] for look in listed["looks_on_record"]) == [1, 2]


@pytest.mark.slow
def test_a_dry_run_refuses_what_a_run_would(made, tmp_path):
    refused(*asked(made, "--dry-run"), code=2)
    (tmp_path / "short.csv").write_text("patient,age,sex\np1,3,f\n")
    where = ("--out", tmp_path / "new", "--ledger", tmp_path / "ledger.sqlite")
    refused("release", made / "policy.yaml", tmp_path / "short.csv", *where, "--dry-run", code=5)


@pytest.mark.slow
def test_the_environment_names_the_ledger(place, monkeypatch):
    monkeypatch.setenv("SHOAL_LEDGER", str(place / "ledger.sqlite"))
    done = shoal("release", place / "policy.yaml", place / "table.csv", "--out", place / "out", "--no-report")
    assert done.exit_code == 0, done.output
    assert account(place).releases == 1
    monkeypatch.setenv("SHOAL_LEDGER", str(place / "lodger.sqlite"))
    error = refused("release", place / "policy.yaml", place / "table.csv", "--out", place / "other", code=4)
    assert error["wrong"] == "there is no ledger here"


@pytest.mark.slow
def test_repeats_are_one_entry(tmp_path):
    furnished(tmp_path, {"release.repeat": 2})
    done = shoal(*asked(tmp_path, "--no-report"))
    assert "2 tables are published, each from its own fresh sample" in " ".join(done.stdout.split())
    assert {path.name for path in (tmp_path / "out").glob("table*")} == {"table-1.csv", "table-2.csv"}
    assert len(account(tmp_path).costs) == 1


@pytest.mark.slow
def test_every_row_suppressed_is_said_clearly(tmp_path):
    furnished(tmp_path, {"release.recoding": {"levels": {"age": 0}}})
    done = shoal(*asked(tmp_path, "--no-report"))
    assert done.exit_code == 0, done.output
    assert "0 rows published" in done.stdout
    assert "a valid, empty release" in done.stdout
    assert shoal("verify", tmp_path / "out").exit_code == 0


def test_a_table_with_few_rows_is_no_refusal(tmp_path):
    """Whether a release appears must not depend on one row more or less."""
    furnished(tmp_path, rows=27)
    done = shoal(*asked(tmp_path, "--no-report"))
    assert done.exit_code == 0, done.output
    assert "rows published" in done.stdout
    assert done.stderr.startswith("warning: the table has fewer than 2k")


# --- what the holder alone is told --------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_holder_is_told_of_how_many_rows_and_what_each_column_says(tmp_path):
    changes = {"attributes.more": {"role": "drop"}, "release.recoding": {"levels": {"age": 2, "sex": 0, "diag": 2}}}
    furnished(tmp_path, changes)
    rows = (tmp_path / "table.csv").read_text().splitlines()
    lines = [f"{rows[0]},more,other", *(f"{row},x,y" for row in rows[1:])]
    (tmp_path / "table.csv").write_text("\n".join(lines) + "\n")
    done = shoal(*asked(tmp_path))
    assert done.exit_code == 0, done.output
    told = " ".join(done.stderr.split())
    assert "For you alone; computed from the original" in told
    assert "rows published of 600 in the table" in told
    assert "table.csv: 1 column not read, which the policy does not name: other" in told
    assert "table.csv: 1 column not read, which the policy drops: more" in told
    assert "caution: 'diag' says nothing: every published row shows '*'." in told
    assert told.index("caution: 'diag'") < told.index("age detail 0.")
    assert "diag detail 0.000 (0.000 to 0.000); says nothing; 100 % show '*'" in told
    assert "600" not in done.stdout
    assert "detail" not in done.stdout
    found = answer(*asked(tmp_path, "--again", out="other"))["for_the_holder_only"]
    assert found["rows_in"] == 600
    assert [column["says"] for column in found["columns"]] == [None, None, "nothing"]
    assert found["cautions"][0].startswith("'diag' says nothing")


# --- which ledger, and what was released before -------------------------------------------------------------------


@pytest.mark.slow
def test_a_ledger_that_was_typed_and_is_not_there_is_refused(place):
    where = ("--out", place / "out", "--ledger", place / "lodger.sqlite")
    command = ("release", place / "policy.yaml", place / "table.csv", *where)
    for more in ((), ("--dry-run",)):
        error = refused(*command, *more, code=4)
        assert error["wrong"] == "there is no ledger here"
        assert "--new-ledger" in error["fix"]
    assert not (place / "lodger.sqlite").exists()
    assert "(new: nothing had been spent)" in shoal(*command, "--new-ledger").stdout
    error = refused(*command[:4], place / "other", *command[5:], "--new-ledger", "--again", code=4)
    assert error["wrong"] == "the ledger is not new: something is in it already"


@pytest.mark.slow
def test_the_ledger_of_the_user_is_made_and_announced(place, monkeypatch):
    monkeypatch.delenv("SHOAL_LEDGER", raising=False)
    monkeypatch.setattr("platformdirs.user_data_dir", lambda *_: str(place / "home"))
    command = ("release", place / "policy.yaml", place / "table.csv", "--out", place / "out", "--no-report")
    dry = shoal(*command, "--dry-run")
    assert dry.exit_code == 0, dry.output
    assert "there is no ledger yet" in dry.stderr
    assert not (place / "home").exists()
    assert answer(*command)["ledger"] == {"url": str(place / "home" / "ledger.sqlite"), "new": True}
    second = (*command[:4], place / "more", "--no-report", "--again")
    assert answer(*second)["ledger"]["new"] is False


@pytest.mark.slow
def test_a_repeat_is_said_before_it_is_charged(place):
    assert shoal(*asked(place, "--no-report")).exit_code == 0
    error = refused(*asked(place, out="second"), code=4)
    assert "this very release was charged before (entry 2 of the ledger" in error["wrong"]
    assert "costs (1, 0.001) once more" in error["wrong"]
    assert "--again" in error["fix"]
    assert len(account(place).costs) == 1
    dry = shoal(*asked(place, "--dry-run", out="second"))
    assert "without --again it would be refused" in dry.stderr
    assert "was charged before" in answer(*asked(place, "--dry-run", out="second"))["repeat"]
    assert shoal(*asked(place, "--no-report", "--again", out="second")).exit_code == 0
    assert len(account(place).costs) == 2
    assert shoal(*asked(place, "--no-report", out="third", table="other.csv")).exit_code == 5
    write_table(place / "other.csv", seed=2)
    assert shoal(*asked(place, "--no-report", out="third", table="other.csv")).exit_code == 0  # another table


# --- cut short after the charge ---------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_failure_after_the_charge_says_that_it_stands(place, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(DuckDBTable, "write", full)
    error = refused(*asked(place, "--again"), code=5)
    assert error["came"] == "No space left on device"
    assert error["fix"].endswith("nothing was published; the charge stands")
    assert {path.name for path in place.iterdir()} == BEFORE
    assert (len(account(place).costs), account(place).releases) == (2, 0)


@pytest.mark.slow
@pytest.mark.parametrize("chained", [True, False])
def test_an_error_that_was_made_of_an_interrupt_does_not_hide_what_it_left(place, monkeypatch, chained):
    """The error of the clean-up was told as a fault of ours, and then thrown away with the word of the charge."""

    def interrupted(*_, **__):
        with suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        try:
            if chained:
                raise KeyboardInterrupt
        finally:
            raise ValueError

    monkeypatch.setattr(SafeK, "run", interrupted)
    done = shoal(*asked(place))
    assert (done.exit_code, done.stdout) == (130, "")
    assert "error: interrupted; there is no release; the charge stands" in done.stderr
    assert len(account(place).costs) == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("where", "charged"), [((DuckDB, "scan"), 0), ((SafeK, "run"), 1), ((DuckDBTable, "write"), 1)]
)
def test_an_interruption_leaves_no_release_and_keeps_the_charge(place, monkeypatch, where, charged):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(*where, interrupted)
    done = shoal(*asked(place))
    assert done.exit_code == 130
    assert done.stdout == ""
    assert "there is no release" in done.stderr
    assert ("the charge stands" if charged else "nothing was charged") in done.stderr
    assert "Traceback" not in done.stderr
    assert {path.name for path in place.iterdir()} == BEFORE
    assert (len(account(place).costs), account(place).releases) == (charged, 0)
    error = answer(*asked(place, "--again"), code=130)["error"]
    assert (error["kind"], error["exit_code"]) == ("Interrupted", 130)


@pytest.mark.slow
def test_a_release_of_views_with_its_report_ends_well(place):
    policy = (
        (place / "policy.yaml").read_text().replace("levels: {age: 2, diag: 0}}", "levels: {age: 2}}\n  views: pairs")
    )
    (place / "policy.yaml").write_text(policy.replace("epsilon: 1\n", "epsilon: 3\n", 1))
    done = shoal(*asked(place))
    assert done.exit_code == 0, done.output
    assert f"report, for the custodian alone: {place / 'out.holder' / 'report.html'}\n" in done.stdout


@pytest.mark.slow
def test_noisy_centroids_are_released_from_the_shell_and_a_table_of_another_size_is_not(tmp_path):
    (tmp_path / "policy.yaml").write_text(centroid_clinic.POLICY)
    table = centroid_clinic.write_table(tmp_path / "table.csv")
    ledger = ("--ledger", str(tmp_path / "ledger.sqlite"))
    run = (
        "release",
        str(tmp_path / "policy.yaml"),
        str(table),
        "--out",
        str(tmp_path / "out"),
        *ledger,
        "--new-ledger",
    )
    done = shoal(*run)
    assert done.exit_code == 0, done.output
    said = " ".join(done.output.split())
    assert "a table of 120 rows with" in said
    assert "charged: (8, 0) to 'earnings'" in said
    assert "% by noise" in said
    assert shoal("verify", str(tmp_path / "out")).exit_code == 0
    centroid_clinic.write_table(table, 119)
    other = ("release", str(tmp_path / "policy.yaml"), str(table), "--out", str(tmp_path / "other"), *ledger)
    for more in ((), ("--dry-run",)):
        assert "another number of rows" in refused(*other, *more, code=5)["wrong"]
    assert not (tmp_path / "other").exists()


@pytest.mark.slow
def test_rows_inside_boxes_are_released_from_the_shell_with_an_epsilon_alone(tmp_path):
    text = centroid_clinic.POLICY.replace("  rows: 120\n", "").replace("  grouping: insensitive\n", "")
    (tmp_path / "policy.yaml").write_text(text.replace("replace_one", "add_remove"))
    table = centroid_clinic.write_table(tmp_path / "table.csv", 150)
    own = (str(tmp_path / "policy.yaml"), str(table), "--out", str(tmp_path / "out"))
    done = shoal("release", *own, "--ledger", str(tmp_path / "ledger.sqlite"), "--new-ledger")
    assert done.exit_code == 0, done.output
    said = " ".join(done.output.split())
    assert "rows of nobody, spread inside boxes" in said
    assert "charged: (8, 0) to 'earnings'" in said
    assert "standard deviations from the original" in said
    assert shoal("verify", str(tmp_path / "out")).exit_code == 0
    (tmp_path / "policy.yaml").write_text(text.replace("epsilon: 8", "epsilon: 8\n  k: 5"))
    found = refused("plan", str(tmp_path / "policy.yaml"), code=2)
    assert "not with grouping: boxes" in str(found)

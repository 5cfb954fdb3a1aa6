"""`shoal policy`: what is said of a policy, in which keys two differ, and what a person confirms."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from click.testing import CliRunner

from shoal.cli import main
from shoal.policy.policy import Policy
from tests.cli.run import answer, refused, shoal
from tests.policy.test_confirmation import DRAFT, KEYS
from tests.publish.clinic import POLICY, publish

RELEASE = "release: {epsilon: 1, delta: 1e-3, recoding: {levels: {age: 1}}}\nbudget: {epsilon: 2, delta: 1e-2}\n"


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "policy.yaml"
    path.write_text(DRAFT + RELEASE)
    return path


# --- check, show, schema ----------------------------------------------------------------------------------------------


def test_a_check_says_what_is_asked_for_and_what_nobody_has_confirmed(file):
    done = shoal("policy", "check", file)
    assert done.exit_code == 0, done.output
    said = " ".join(done.stdout.split())
    assert "is a policy without errors" in said
    assert "quasi age, sex, zip" in said
    assert "Proved for a plan tuned on the data" in said
    assert "read off the data, confirmed by nobody: 4 columns: age" in said
    assert f"shoal policy confirm {file}" in done.stderr
    found = answer("policy", "check", file)
    assert found["attributes"]["confidential"] == ["diag"]
    assert found["lock"] == Policy.load(file).lock().sha256
    assert found["plan"]["status"] == "proved for a plan tuned on the data"
    assert found["profiled"] == list(Policy.load(file).profiled_keys())


def test_a_check_of_a_policy_without_a_release(tmp_path):
    (tmp_path / "p.yaml").write_text(DRAFT)
    assert answer("policy", "check", tmp_path / "p.yaml")["plan"] is None
    checked = shoal("policy", "check", tmp_path / "p.yaml")
    assert "it asks for no release" in checked.stdout
    assert f"check again: shoal policy check {tmp_path / 'p.yaml'}" in checked.stderr


def test_a_check_names_the_columns_that_have_no_domain_yet(tmp_path):
    (tmp_path / "t.csv").write_text("town,patient_id,tall\nAsh,7,1\n")
    assert shoal("init", tmp_path / "t.csv", "--schema-only", "--out", tmp_path).exit_code == 0
    assert answer("policy", "check", tmp_path / "policy.yaml")["undeclared"] == ["town", "tall"]
    checked = shoal("policy", "check", tmp_path / "policy.yaml")
    assert "no domain   town, tall" in checked.stdout
    assert "fill in the domains that are missing" in checked.stderr


def test_a_check_names_what_is_wrong(tmp_path):
    (tmp_path / "p.yaml").write_text(DRAFT.replace("role: other", "role: secret"))
    assert "attributes.stay.role" in refused("policy", "check", tmp_path / "p.yaml", code=2)["wrong"]
    refused("policy", "check", tmp_path / "none.yaml", code=2)


def test_show_writes_every_default_out(file):
    done = shoal("policy", "show", file)
    assert done.stdout == Policy.load(file).lock().text
    found = answer("policy", "show", file)
    assert found["sha256"] == Policy.load(file).lock().sha256
    assert found["keys"]["attributes.stay.missing"] == "value"


def test_the_schema_is_the_one_that_ships():
    from shoal.policy.text.keys import SCHEMA_FILE

    assert shoal("policy", "schema").stdout == SCHEMA_FILE.read_text("utf-8")
    assert answer("policy", "schema")["schema"] == json.loads(SCHEMA_FILE.read_text("utf-8"))


# --- diff ------------------------------------------------------------------------------------------------------------


def test_comments_order_and_spelling_are_no_difference(file, tmp_path):
    other = tmp_path / "other.yaml"
    other.write_text("# mine\n" + (DRAFT + RELEASE).replace("epsilon: 1,", "epsilon: 1.0,"))
    assert answer("policy", "diff", file, other)["same"] is True
    assert "no difference in meaning" in shoal("policy", "diff", file, other).stdout


def test_a_difference_is_named_with_both_values(file, tmp_path):
    other = tmp_path / "other.yaml"
    changed = DRAFT.replace("[17, 90]", "[0, 110]").replace("domain: [0, 30]", "domain: [0, 30], outside: clamp")
    other.write_text(changed + RELEASE.partition("budget")[0])
    found = answer("policy", "diff", file, other)
    assert found["same"] is False
    keys = {each["key"]: (each["first"], each["second"]) for each in found["differences"]}
    assert keys["attributes.age.domain"] == (["17", "90"], ["0", "110"])
    assert keys["attributes.stay.outside"] == ("error", "clamp")
    assert keys["budget"] == (None, None)
    assert keys["budget.epsilon"] == ("2", None)
    said = " ".join(shoal("policy", "diff", file, other).stdout.split())
    assert 'attributes.age.domain ["17", "90"] ["0", "110"]' in said
    assert "budget.epsilon 2 -" in said


def test_a_step_that_differs_is_named_by_its_place(file, tmp_path):
    other = tmp_path / "other.yaml"
    steps = "treatments:\n- {{top: {{age: 80}}}}\n- {{round: {{age: {base}}}}}\n"
    file.write_text(file.read_text() + steps.format(base=5))
    other.write_text(file.read_text().replace("{age: 5}", "{age: 10}"))
    (found,) = answer("policy", "diff", file, other)["differences"]
    assert found == {"key": "treatments[1].round.age", "first": "5", "second": "10"}


@pytest.mark.slow
def test_a_release_is_compared_with_the_policy_of_today(tmp_path):
    made = publish(tmp_path)
    (tmp_path / "policy.yaml").write_text(POLICY)
    assert answer("policy", "diff", made.folder, tmp_path / "policy.yaml")["same"] is True
    (tmp_path / "policy.yaml").write_text(POLICY.replace("delta: 1e-3", "delta: 1e-4"))
    found = answer("policy", "diff", made.folder / "policy.lock.yaml", tmp_path / "policy.yaml")["differences"]
    assert [each["key"] for each in found] == ["release.delta"]
    assert answer("policy", "show", made.folder)["sha256"] == made.certificate["plan_sha256"]


def test_a_folder_without_a_plan_is_refused(tmp_path, file):
    error = refused("policy", "diff", tmp_path, file, code=2)
    assert error["fix"] == "name a policy file or a release folder"


# --- confirm ---------------------------------------------------------------------------------------------------------


def confirmed(file):
    return [key for key in KEYS if key not in Policy.load(file).profiled_keys()]


def test_keys_are_confirmed_by_name(file):
    done = shoal("policy", "confirm", file, "--yes", "age.domain", "--yes", "sex")
    assert done.exit_code == 0, done.output
    assert "declared: Every value of 'age' lies from 17 to 90." in done.stdout
    assert confirmed(file) == ["attributes.age.domain", "attributes.sex.domain"]
    assert file.read_text().startswith("# drafted by a program\n")
    assert "# two codes" in file.read_text()
    found = answer("policy", "confirm", file, "--yes", "zip", "age")
    assert found["confirmed"] == ["attributes.age.hierarchy", "attributes.zip.domain"]
    assert found["left"] == ["attributes.diag.hierarchy"]


def test_all_are_confirmed_at_once(file):
    assert "everything in the policy is declared" in shoal("policy", "confirm", file, "--all").stdout
    assert Policy.load(file).profiled_keys() == ()
    before = file.read_text()
    assert "there is nothing to confirm" in shoal("policy", "confirm", file).stdout
    assert file.read_text() == before


def test_nothing_is_written_where_a_name_is_wrong_or_nobody_can_answer(file):
    before = file.read_bytes()
    refused("policy", "confirm", file, "--yes", "age", "--yes", "aeg", code=2)
    fields = refused("policy", "confirm", file, "--yes", "age", "diga", code=2)
    assert fields["next"] == f"shoal policy confirm {file} --yes age diag --json"
    assert "--yes" in refused("policy", "confirm", file, "age", code=2)["fix"]
    error = refused("policy", "confirm", file, code=2)
    assert error["wrong"] == "nobody is here to be asked"
    assert "attributes.diag.hierarchy" in error["allowed"]
    assert file.read_bytes() == before
    assert [path.name for path in file.parent.iterdir()] == ["policy.yaml"]


def typed(monkeypatch, file, text):
    monkeypatch.setattr("shoal.cli.terminal.output.can_ask", lambda: True)
    return CliRunner().invoke(main, ["policy", "confirm", str(file)], input=text)


def test_columns_are_asked_and_what_is_answered_with_yes_is_declared(file, monkeypatch):
    done = typed(monkeypatch, file, "yes\nperhaps\n\nN\nwhy\nY\nstop\n")
    assert done.exit_code == 0, done.output
    asked = " ".join(done.stderr.split())
    assert "What the policy says of 4 columns was read off the data: 4 questions." in asked
    assert (
        "1 of 4: age 17 to 90, in steps of 10, 50 Bounds were read off the data: its lowest and highest values, "
        "rounded outwards. Would you have written these bounds and steps without this table? [yes/no/other/each/why/stop]"
        in asked
    )
    assert asked.count("answer with yes, no, other, why, stop") == 2  # of one key: there is nothing to take apart
    assert "The form of texts was read off the table." in asked
    assert "common flu, cold other rare" in asked
    assert confirmed(file) == ["attributes.age.domain", "attributes.age.hierarchy", "attributes.zip.domain"]
    assert "declared: 2 of 4 columns\nstill read off the data: 2 columns: diag, sex" in done.stdout


def test_a_question_is_taken_apart_key_by_key(file, monkeypatch):
    done = typed(monkeypatch, file, "each\nyes\nno\nstop\n")
    assert done.exit_code == 0, done.output
    asked = " ".join(done.stderr.split())
    assert (
        "Is it known independently of this table that every value of 'age' lies from 17 to 90? [yes/no/other/why/stop]"
        in asked
    )
    assert confirmed(file) == ["attributes.age.domain"]


def test_columns_that_are_alike_are_one_line_and_are_taken_apart_column_by_column(tmp_path, monkeypatch):
    file = tmp_path / "policy.yaml"
    flags = "".join(
        f"  q{number}: {{role: quasi, type: category, domain: ['0', '1'], provenance: profiled}}\n"
        for number in range(12)
    )
    file.write_text(f"version: 1\ndataset: d\nunit: row\nneighbours: add_remove\nattributes:\n{flags}")
    before = file.read_text()
    done = typed(monkeypatch, file, "each\n" + "yes\n" * 11 + "no\n")
    asked = " ".join(done.stderr.split())
    assert "12 columns was read off the data: 1 question." in asked
    assert (
        "1 of 1: 12 columns with lists of values q0, q1, q2, q3, q4, q5, q6, q7, q8, q9, q10, q11: 0, 1 Would" in asked
    )
    assert Policy.load(file).profiled_keys() == ("attributes.q11.domain",)
    file.write_text(before)
    assert "everything in the policy is declared" in typed(monkeypatch, file, "y\n").stdout
    assert Policy.load(file).profiled_keys() == ()


def test_a_person_types_what_is_known_and_what_fits_is_declared(file, monkeypatch):
    done = typed(monkeypatch, file, "other\n120\n120 to 0\n0 to 120\nyes\no\nf, m, x\nstop\n")
    assert done.exit_code == 0, done.output
    asked = " ".join(done.stderr.split())
    assert "bounds are two ends; got 1; allowed: two, such as 0 to 120" in asked
    assert asked.count("age:") == 3
    assert "Declared as typed: age. in steps of 10, 50 Would you have written these steps without this table?" in asked
    found = Policy.load(file)
    assert (found.schema["age"].domain.low, found.schema["age"].domain.high) == (0, 120)
    assert found.schema["sex"].domain.values == ("f", "m", "x")
    assert found.profiled_columns() == ("diag", "zip")
    assert "# years" in file.read_text()  # comments stay


def test_bounds_of_dates_are_asked_for_with_dates_as_the_example(tmp_path, monkeypatch):
    file = tmp_path / "policy.yaml"
    seen = "seen: {role: quasi, type: date, domain: [2023-01-01, 2023-12-31], hierarchy: {date: [month]}, provenance: profiled}"
    file.write_text(f"version: 1\ndataset: d\nunit: row\nneighbours: add_remove\nattributes:\n  {seen}\n")
    done = typed(monkeypatch, file, "other\n2020-01-01 to 2024-12-31\nyes\n")
    assert "Type two bounds (2020-01-01 to 2024-12-31)" in done.stderr
    assert Policy.load(file).profiled_keys() == ()


CODES = """version: 1
dataset: d
unit: row
neighbours: add_remove
attributes:
  hours:
    role: quasi
    type: integer
    domain: [0, 100]
    hierarchy: {intervals: [5, 10, 20, 40]}
    provenance: profiled
    # 99 looks like a code for a missing value. Nothing was assumed: shoal policy confirm asks. If it is one, take the
    # sign # off the next line and write domain: [0, 70] and hierarchy: {intervals: [5, 10, 20]}:
    # missing_values: [99]
  visits:
    role: quasi
    type: integer
    domain: [0, 120]
    # missing_values: [99]
  ill: {role: quasi, type: category, domain: ["no", "?", "yes"]}
    # missing_values: ["?"]
"""


def test_codes_are_asked_first_and_the_domains_are_shown_without_them(tmp_path, monkeypatch):
    file = tmp_path / "policy.yaml"
    file.write_text(CODES)
    done = typed(monkeypatch, file, "why\nyes\nyes\n")
    assert done.exit_code == 0, done.output
    asked = " ".join(done.stderr.split())
    assert "Values that may stand for missing ones, in 3 columns" in asked
    assert "99 hours, visits ? ill Do they stand for a missing value in all of these columns?" in asked
    assert "1 of 1: hours 0 to 70, in steps of 5, 10, 20" in asked
    found = Policy.load(file)
    assert {name: found.schema[name].missing_values for name in found.attributes} == {
        "hours": ("99",),
        "visits": ("99",),
        "ill": ("?",),
    }
    assert found.schema["ill"].domain.values == ("no", "yes")
    assert found.profiled_keys() == ()


def test_codes_are_answered_column_by_column_and_a_stop_keeps_the_answers(tmp_path, monkeypatch):
    file = tmp_path / "policy.yaml"
    file.write_text(CODES)
    done = typed(monkeypatch, file, "each\neach\nyes\nno\nstop\n")
    assert done.exit_code == 0, done.output
    found = Policy.load(file)
    assert found.schema["hours"].missing_values == ("99",)
    assert found.schema["visits"].missing_values == ()
    assert "may stand for missing values, and count as values like others: ill: ?" in " ".join(done.stdout.split())
    assert file.read_text().count("# missing_values") == 1
    assert "still read off the data: 1 column: hours" in done.stdout


def test_codes_are_settled_by_name_and_never_by_all(tmp_path):
    file = tmp_path / "policy.yaml"
    file.write_text(CODES)
    assert answer("policy", "check", file)["undecided"] == [
        f"attributes.{name}.missing_values" for name in ("hours", "visits", "ill")
    ]
    found = answer("policy", "confirm", file, "--yes", "hours.missing_values", "hours")
    assert found["confirmed"] == [
        "attributes.hours.missing_values",
        "attributes.hours.domain",
        "attributes.hours.hierarchy",
    ]
    assert found["undecided"] == ["attributes.visits.missing_values", "attributes.ill.missing_values"]
    assert Policy.load(file).schema["hours"].domain.high == 70
    done = shoal("policy", "confirm", file, "--all")
    assert "visits: 99; ill: ?" in done.stdout
    assert (
        f"shoal policy confirm {file}, at a terminal, or with --yes visits.missing_values ill.missing_values"
        in " ".join(done.output.split())
    )
    assert Policy.load(file).schema["ill"].missing_values == ()
    assert "missing values of 'ill': ?" in shoal("policy", "confirm", file, "--yes", "ill.missing_values").stdout


def test_a_stop_where_a_domain_is_typed_ends_the_questions(file, monkeypatch):
    done = typed(monkeypatch, file, "other\nstop\n")
    assert done.exit_code == 0, done.output
    assert "declared: 0 of 4 columns" in done.stdout


def test_answers_that_end_early_change_nothing(file, monkeypatch):
    before = file.read_bytes()
    assert typed(monkeypatch, file, "yes\nyes\n").exit_code == 130
    assert file.read_bytes() == before


def test_a_file_that_changes_meanwhile_is_not_written_over(file, monkeypatch):
    def change(question, _):
        file.write_text(file.read_text() + "# somebody else\n")
        return "yes"

    monkeypatch.setattr("shoal.cli.terminal.output.ask", change)
    done = typed(monkeypatch, file, "")
    assert done.exit_code == 2
    assert "was changed while it was being confirmed" in done.stderr
    assert len(Policy.load(file).profiled_keys()) == 6


@pytest.mark.slow
def test_a_person_at_a_terminal_is_asked(file):
    terminal, other = os.openpty()
    program = [sys.executable, "-c", "from shoal.cli import main; main()", "policy", "confirm", str(file)]
    child = subprocess.Popen(program, stdin=other, stdout=other, stderr=other)
    os.close(other)
    for word in (b"yes\n", b"no\n", b"stop\n"):
        wait_for(terminal, b"stop]")
        os.write(terminal, word)
    wait_for(terminal, b"still read off the data")
    assert child.wait() == 0
    os.close(terminal)
    assert confirmed(file) == ["attributes.age.domain", "attributes.age.hierarchy"]


def wait_for(terminal, words):
    """Read what the terminal shows up to some words."""
    shown = b""
    while words not in shown:
        shown += os.read(terminal, 4096)


def test_of_a_long_list_it_is_said_where_all_of_it_stands(tmp_path, monkeypatch):
    values = ", ".join(f"v{number}" for number in range(60))
    file = tmp_path / "policy.yaml"
    file.write_text(
        "version: 1\ndataset: d\nunit: row\nneighbours: add_remove\nattributes:\n"
        f"  town: {{role: quasi, type: category, domain: [{values}], provenance: profiled}}\n"
        "  sex: {role: quasi, type: category, domain: [f, m], provenance: profiled}\n"
    )
    asked = " ".join(typed(monkeypatch, file, "yes\nyes\n").stderr.split())
    assert asked.count("v11 and 48 more, 60 in all") == 1
    assert asked.count("or in the hierarchy file that it names") == 1

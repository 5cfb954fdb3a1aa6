"""From policy to a verified folder, by near neighbours: what is written, what the ledger keeps, and what is refused."""

from __future__ import annotations

import csv
import json
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path

import jsonschema
import pytest

from shoal.assess.release.load import load
from shoal.errors import BudgetError, InfeasibleError, PolicyError, PreconditionError, UsageError
from shoal.ledger.ledger import Ledger
from shoal.publish.certificate.model import CountedCertificate, schema_text
from shoal.publish.plan.methods import plan
from shoal.publish.share import pack
from shoal.publish.verify import standalone as verifier
from shoal.publish.verify.release import verify
from shoal.publish.verify.standalone import HANDBOOK
from tests.publish.clinic import publish as publish_paid
from tests.publish.clinic import write_table
from tests.publish.counted_clinic import METHODS, policy, publish

CHECK = jsonschema.Draft7Validator(json.loads(schema_text(CountedCertificate)))


def failed(folder: Path) -> set[str]:
    return {check.name for check in verify(folder) if check.agrees is False}


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.slow
@pytest.mark.parametrize("which", METHODS)
@pytest.mark.parametrize("output", ["csv", "parquet"])
def test_a_release_verifies_and_fits_its_schema(tmp_path, which, output):
    made = publish(tmp_path, which, {"release.output": output})
    assert made.rows_published == 300
    assert failed(made.folder) == set()
    CHECK.validate(json.loads((made.folder / "certificate.json").read_text()))
    assert {path.name for path in made.folder.iterdir()} == {
        "certificate.html", "certificate.json", "policy.lock.yaml", f"table.{output}", *HANDBOOK,
    }  # fmt: skip
    assert made.custodian_folder is not None
    assert "not promise" in (made.folder / "certificate.html").read_text()
    assert {"patient"} & set((made.folder / f"table.{output}").read_bytes().decode("latin-1").split(",")) == set()


@pytest.mark.slow
def test_microaggregated_rows_are_sorted_and_counted(tmp_path):
    made = publish(tmp_path, "microaggregation")
    shown = rows_of(made.folder / "table.csv")
    assert min(Counter((row["age"], row["sex"]) for row in shown).values()) >= 5
    keys = [(float(row["age"]), row["sex"], row["diag"]) for row in shown]
    assert keys == sorted(keys)
    original = rows_of(tmp_path / "table.csv")
    assert Counter(row["diag"] for row in shown) == Counter(row["diag"] for row in original)


@pytest.mark.slow
def test_swapped_rows_keep_every_column(tmp_path):
    made = publish(tmp_path, "swap")
    shown, original = rows_of(made.folder / "table.csv"), rows_of(tmp_path / "table.csv")
    for names in (("age", "sex"), ("diag",)):
        assert Counter(tuple(row[n] for n in names) for row in shown) == Counter(
            tuple(row[n] for n in names) for row in original
        )


@pytest.mark.slow
@pytest.mark.parametrize("which", METHODS)
def test_the_one_file_verifier_agrees(tmp_path, which):
    made = publish(tmp_path, which)
    done = subprocess.run(
        [sys.executable, verifier.__file__, str(made.folder)], check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout
    assert "0 failed" in done.stdout
    assert pack(made.folder).is_file()


@pytest.mark.slow
def test_the_ledger_notes_it_as_unbounded_and_later_certificates_say_so(tmp_path):
    first = publish(tmp_path, "swap")
    assert first.certificate["ledger"]["unbounded_releases"] == 0
    second = publish(tmp_path, "microaggregation", name="again", table=tmp_path / "table.csv")
    assert second.certificate["ledger"]["unbounded_releases"] == 1
    assert "a guarantee that does not add up" in (second.folder / "certificate.html").read_text()
    paid = publish_paid(tmp_path, name="paid", table=tmp_path / "table.csv")
    assert paid.certificate["ledger"]["unbounded_releases"] == 2
    third = publish(tmp_path, "swap", name="third", table=tmp_path / "table.csv")
    assert third.certificate["ledger"]["charges"] == 1
    with Ledger(str(tmp_path / "ledger.sqlite")) as ledger:
        account = ledger.account("clinic")
        assert account.unbounded == 3
        assert len(account.costs) == 1
        assert ledger.verify() > 0


@pytest.mark.slow
def test_the_same_table_under_another_name_is_refused_and_nothing_appears(tmp_path):
    publish(tmp_path, "swap")
    with pytest.raises(BudgetError, match="under the name 'clinic'"):
        publish(tmp_path, "swap", {"dataset": "other"}, name="other", table=tmp_path / "table.csv")
    assert not (tmp_path / "other").exists()
    assert not (tmp_path / "other.holder").exists()


@pytest.mark.parametrize(
    ("which", "changes", "said"),
    [
        ("microaggregation", {"release.k": 151}, "300 records and k = 151"),
        ("microaggregation", {"release.k": 500}, "300 records and k = 500"),
        ("swap", {"release.l": 4}, "best that any groups reach is l = 3"),
        ("microaggregation", {"release.t": "0.0001"}, "until two were left"),
    ],
)
def test_what_cannot_be_leaves_no_trace(tmp_path, which, changes, said):
    with pytest.raises(InfeasibleError, match=said):
        publish(tmp_path, which, changes)
    assert sorted(path.name for path in tmp_path.iterdir() if "ledger" not in path.name) == ["table.csv"]
    with Ledger(str(tmp_path / "ledger.sqlite")) as ledger:
        assert ledger.account("clinic").unbounded == 0


def test_a_hierarchy_that_lacks_a_value_is_the_policys_fault():
    with pytest.raises(PolicyError, match="rare"):
        policy("swap", {"attributes.diag.hierarchy": {"groups": {"common": ["flu", "cold"]}}})


@pytest.mark.slow
def test_it_has_no_price_no_rehearsal_and_no_weights(tmp_path):
    planned = plan(policy("swap"))
    assert planned.cost is None
    with pytest.raises(PolicyError, match="no differential promise"):
        planned.price()
    with pytest.raises(PolicyError, match="nothing to rehearse"):
        planned.rehearse(rows=100, runs=2)
    made = publish(tmp_path, "swap")
    with pytest.raises(UsageError, match="not a random sample"):
        load(made.folder)


def test_several_rows_of_one_person_are_refused():
    unit = {"unit": {"column": "patient", "max_rows": 2}}
    with pytest.raises(PolicyError, match="hides no unit"):
        policy("swap", unit)
    assert policy("swap", {"unit": {"column": "patient", "max_rows": 1}}).unit.max_rows == 1


@pytest.mark.slow
def test_one_row_of_each_person(tmp_path):
    table = write_table(tmp_path / "table.csv", 400, patients=50)
    made = publish(tmp_path, "microaggregation", {"unit": {"column": "patient", "max_rows": 1}}, table=table)
    assert made.rows_published <= 50
    assert failed(made.folder) == set()


@pytest.mark.slow
def test_a_truth_value_with_gaps_keeps_its_t(tmp_path):
    """Two truth values and missing have no order: on a line, t came out smaller than it is."""
    rows = ["patient,age,sex,diag"]
    chance = random.Random(5)  # noqa: S311 - made-up patients
    rows += [
        f"p{i},{chance.randrange(100)},{chance.choice('fm')},{chance.choice(['true', 'false', ''])}" for i in range(240)
    ]
    table = tmp_path / "table.csv"
    table.write_text("\n".join(rows) + "\n")
    boolean = {"attributes.diag": {"role": "confidential", "type": "boolean"}, "release.t": "0.15"}
    made = publish(tmp_path, "microaggregation", boolean, table=table)
    assert failed(made.folder) == set()


@pytest.mark.slow
def test_a_column_may_have_any_name(tmp_path):
    renamed = {"attributes.diag": None, "attributes.group": {"role": "confidential", "type": "integer"}}
    table = tmp_path / "table.csv"
    table.write_text("patient,age,sex,group\n" + "".join(f"p{i},{i % 90},f,{i * 3 % 50}\n" for i in range(200)))
    made = publish(tmp_path, "swap", {**renamed, "release.grouping": "ranking"}, table=table)
    assert made.notes == ()
    assert failed(made.folder) == set()


@pytest.mark.slow
def test_a_sample_that_was_used_is_not_used_again(tmp_path):
    publish_paid(tmp_path, {"release.sampling": {"already": "0.1"}, "release.delta": "1e-2"})
    with pytest.raises(PreconditionError, match="random sample"):
        publish(tmp_path, "swap", name="again", table=tmp_path / "table.csv")
    assert not (tmp_path / "again").exists()


@pytest.mark.slow
def test_the_same_release_without_a_price_is_refused_unless_it_is_meant(tmp_path):
    publish(tmp_path, "swap", again=False)
    with pytest.raises(BudgetError, match=r"noted before .* clusters of k hide fewer"):
        publish(tmp_path, "swap", name="second", table=tmp_path / "table.csv", again=False)
    assert not (tmp_path / "second").exists()


def town(folder: Path, fortunes: list[int], **release: object) -> list[dict[str, str]]:
    """The published table of a town's net worths, whose folder verifies."""
    worth = {"role": "quasi", "type": "integer"}
    keys = {"attributes.age": None, "attributes.sex": None, "attributes.worth": worth, "release": METHOD | release}
    folder.mkdir()
    table = folder / "table.csv"
    table.write_text("patient,worth,diag\n" + "".join(f"p{i},{each},flu\n" for i, each in enumerate(fortunes)))
    made = publish(folder, "mondrian", keys, table=table)
    assert failed(made.folder) == set()
    return rows_of(made.folder / "table.csv")


METHOD = {"method": "microaggregation", "k": 20, "grouping": "mondrian", "output": "csv"}
TOWN = [10_000 * each for each in (*range(2, 22), *range(90, 109))]
"""Twenty people below a million, nineteen around one; nobody above ten millions."""


def richest(shown: list[dict[str, str]], least: int) -> int | None:
    """The extreme-value attack: who knows that one person alone has more than `least` reads their worth off the ranges."""
    ends = {int(row["worth"].strip("[]").split(", ")[-1]) for row in shown}
    return max((end for end in ends if end > least), default=None)


@pytest.mark.slow
def test_the_extreme_value_attack_succeeds_on_the_ranges_of_mondrian(tmp_path):
    """LQS10 section 3: 20 rows show [900K, 35M], and the one person above 10M is there and has 35M."""
    shown = town(tmp_path / "rich", [*TOWN, 35_000_000])
    assert Counter(row["worth"] for row in shown)["[900000, 35000000]"] == 20
    assert richest(shown, 10_000_000) == 35_000_000
    assert richest(town(tmp_path / "poor", [*TOWN, 1_500_000]), 10_000_000) is None  # so presence is disclosed as well
    centres = {float(row["worth"]) for row in town(tmp_path / "centres", [*TOWN, 35_000_000], show="centroid")}
    assert max(centres) < 10_000_000  # a mean of twenty does not hand it over


def test_plans_of_mondrian_show_labels_and_warn_of_extreme_values():
    found = plan(policy("mondrian"))
    assert found.method.show == "label"
    assert found.policy.lock().text.count('show: "label"') == 1
    assert [text for text in found.not_promised if "extreme-value attack" in text]
    (said,) = found.warnings
    assert said.startswith("The labels of age, sex are made of values of real records")
    centres = plan(policy("mondrian", {"release.show": "centroid"}))
    assert centres.warnings == []
    assert centres.not_promised == plan(policy("microaggregation")).not_promised
    assert plan(policy("diverse")).warnings == [said]  # any grouping whose labels are ranges of the data


def test_mondrian_is_no_grouping_of_swaps():
    with pytest.raises(PolicyError, match="not a grouping of method probabilistic-k; got mondrian"):
        policy("swap", {"release.grouping": "mondrian"})

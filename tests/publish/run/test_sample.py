"""A plain sample from a policy to a verified folder: the rate from counts made by hand, and runs that leave nothing behind."""

from __future__ import annotations

import csv
import json
from collections import Counter
from fractions import Fraction
from math import comb

import pytest

import shoal
from shoal.errors import InfeasibleError
from shoal.ledger.ledger import Ledger
from shoal.publish.verify import standalone as verifier
from tests.publish.sample_clinic import publish, write_table

pytestmark = pytest.mark.slow


def values_of(path) -> Counter:
    """The clinic's values at the levels of the policy, without a line of ours."""
    rows = list(csv.DictReader(path.read_text().splitlines()))
    return Counter(("[0, 50)" if int(row["age"]) < 50 else "[50, 100)", row["sex"], row["diag"]) for row in rows)


def failure(counts: list[int], rate: Fraction, epsilon: Fraction) -> Fraction:
    """The probability that some value appears more often than n epsilon / (1 + epsilon), term by term."""
    kept = Fraction(1)
    for n in counts:
        cap = int(n * epsilon / (1 + epsilon))
        kept *= sum(comb(n, s) * rate**s * (1 - rate) ** (n - s) for s in range(cap + 1))
    return 1 - kept


def next_rate(rate: Fraction) -> Fraction:
    """The next rate of two digits: what an impostor that rounds up would take."""
    digits = 0
    while rate * 10**digits < 10:
        digits += 1
    return rate + Fraction(1, 10**digits)


def test_the_published_rate_is_the_largest_of_two_digits_that_keeps_the_promise(tmp_path):
    table = write_table(tmp_path / "table.csv", rare=4)
    made = publish(tmp_path, changes={"release.rare": "drop"}, table=table)
    rate, counts = Fraction(made.certificate["samples"][0]["beta"]), values_of(table)
    left = [n for n in counts.values() if n >= made.certificate["samples"][0]["rare_below"]]
    assert failure(left, rate, Fraction(1, 2)) <= Fraction(1, 100) < failure(left, next_rate(rate), Fraction(1, 2))
    shown = Counter(tuple(row) for row in list(csv.reader((made.folder / "table.csv").read_text().splitlines()))[1:])
    assert all(times <= counts[value] for value, times in shown.items())
    assert made.claims[0].status.value == "proved with condition"


@pytest.mark.parametrize(
    ("rare", "form"), [("keep", "csv"), ("drop", "parquet"), ("generalize", "csv"), ("replace", "parquet")]
)
def test_every_treatment_makes_a_folder_that_both_verifiers_accept(tmp_path, capsys, rare, form):
    changes = {"release.rare": rare, "release.output": form}
    made = publish(tmp_path, changes=changes, rare=4, report=True)
    assert all(check.agrees for check in shoal.verify(made.folder))
    assert verifier.main([str(made.folder)]) == 0
    assert "rests on the program that drew the sample" in capsys.readouterr().out
    assert made.charged is None
    assert made.report["rare"]["rows"] == 4
    with Ledger(str(tmp_path / "ledger.sqlite")) as ledger:
        assert ledger.account("clinic").unbounded == 1
    readme = (made.folder / "README.md").read_text()
    assert "a random sample of the rows of the original" in readme
    assert "none of them were drawn" in readme
    assert "fewer than k" not in readme
    assert ("were left out before" in readme) == (rare == "drop")
    public = "".join(path.read_text() for path in made.folder.rglob("*.json"))
    assert str(made.report["rate"]["exact"]) not in public
    assert str(made.report["rate"]["failure"]) not in public


def test_the_unit_of_several_rows_and_the_published_bound(tmp_path):
    changes = {"unit": {"column": "patient", "max_rows": 2}, "release.bound": "published", "release.epsilon": "2"}
    made = publish(tmp_path, changes=changes, report=True)
    assert made.certificate["guarantee"]["c"] == 2
    assert made.certificate["theorems"][0]["name"] == "sample-published"
    rate = Fraction(made.certificate["samples"][0]["beta"])
    assert rate <= Fraction(made.report["rate"]["published"]) < Fraction(made.report["rate"]["exact"])
    assert all(check.agrees for check in shoal.verify(made.folder))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"release.rare": "refuse"}, "values of the table are rare"),
        ({"release.delta": "1e-4"}, "no sample can be published"),
        ({"release.rare": "drop", "release.sampling": {"beta": "0.3"}}, "above the one that is safe for this table"),
    ],
)
def test_what_the_table_does_not_allow_leaves_nothing_behind(tmp_path, changes, words):
    with pytest.raises(InfeasibleError, match=words) as error:
        publish(tmp_path, changes=changes, rare=4)
    assert "nothing was published" in str(error.value)
    assert "rare," not in str(error.value)
    assert not (tmp_path / "out").exists()
    with Ledger(str(tmp_path / "ledger.sqlite")) as ledger:
        account = ledger.account("clinic")
        assert (account.unbounded, account.costs) == (0, ())


def test_a_second_sample_of_the_same_table_is_refused_unless_it_is_meant(tmp_path):
    publish(tmp_path)
    with pytest.raises(shoal.errors.BudgetError, match="a second sample of the same table shows more of it"):
        publish(tmp_path, "other", table=tmp_path / "table.csv", again=False)


def test_a_release_is_loaded_with_weights_and_intervals(tmp_path):
    made = publish(tmp_path, changes={"release.rare": "drop"}, rare=4)
    loaded = shoal.load(made.folder)
    said = [loaded.total().words(), loaded.count({"sex": "f"}).words(), loaded.marginal("sex").method]
    assert all("exact binomial bounds" in one and " k" not in one for one in said)  # a plain sample has no k
    rate = Fraction(made.certificate["samples"][0]["beta"])
    assert loaded.published().weight == pytest.approx(float(1 / rate))
    assert loaded.total().value == pytest.approx(made.rows_published / float(rate))
    sure = loaded.total(level=1 - 1e-12)
    assert sure.low <= 896 <= sure.high
    assert loaded.records == "rows of the table whose values are not rare"
    rows = loaded.published().to_arrow()
    assert rows.num_rows == made.rows_published
    cells = loaded.marginal("sex", "diag").to_pandas()
    assert cells["value"].sum() == pytest.approx(made.rows_published / float(rate))


def test_nothing_is_hidden_where_labels_cannot_be_listed(tmp_path):
    """A sample that suppresses nothing bounds what there is, also of labels that no rule lists."""
    masked = {
        "role": "quasi",
        "type": "text",
        "domain": {"pattern": "p[0-9]{1,4}"},
        "hierarchy": {"mask": {"side": "right", "keep": [1], "length": 5}},
    }
    levels = {"recoding": {"levels": {"age": 3, "patient": 1}}, "rare": "drop"}
    changes = {"attributes.patient": masked, **{f"release.{key}": value for key, value in levels.items()}}
    loaded = shoal.load(publish(tmp_path, changes=changes).folder)
    assert loaded.total().high < float("inf")
    assert loaded.count({"sex": "f"}).high < loaded.total().high
    assert loaded.marginal("sex").to_pandas()["high"].max() < loaded.total().high


def test_the_report_names_rare_values_to_the_custodian_alone(tmp_path):
    made = publish(tmp_path, changes={"release.rare": "drop"}, rare=4, report=True)
    report = json.loads((made.custodian_folder / "report.json").read_text())
    assert {each["labels"]["diag"] for each in report["rare"]["listed"]} == {"rare"}
    assert report["rate"]["failure"] <= 0.01
    assert report["rows"]["taking_part"] - report["rows"]["sampled_from"] == report["rare"]["rows"] == 4
    page = (made.custodian_folder / "report.html").read_text()
    assert "4 rows with" in page
    assert "were left out before the sample was drawn" in page
    assert "<svg" in page
    every = [each["exact"] for each in report["epsilons"]]
    assert every == sorted(every)
    kept = [each["rows"] for each in report["thresholds"]]
    assert kept == sorted(kept, reverse=True)
    assert all("rare value" not in path.read_text() for path in made.folder.glob("table.csv"))

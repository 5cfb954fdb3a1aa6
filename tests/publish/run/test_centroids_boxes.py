"""Rows inside boxes from a policy to a verified folder: what is written, what the ledger keeps, what is refused and when."""

from __future__ import annotations

import csv
import json
from fractions import Fraction
from pathlib import Path

import jsonschema
import pytest

import shoal
from shoal.errors import DomainError, ShoalError
from shoal.ledger.ledger import Ledger
from shoal.publish.certificate.model import BoxesCertificate, schema_text
from shoal.publish.export import export
from shoal.publish.run.release import Release
from shoal.publish.share import pack
from shoal.publish.verify import standalone as verifier
from tests.publish.box_clinic import KINDS, ROWS, publish, write_table

pytestmark = pytest.mark.slow
CHECK = jsonschema.Draft7Validator(json.loads(schema_text(BoxesCertificate)))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Release:
    """One release of the mixed table, which nobody changes."""
    return publish(tmp_path_factory.mktemp("boxes"))


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize(
    ("kind", "form", "more"),
    [
        ("mixed", "csv", {"treatments": [{"top": {"pay": 500}}, {"round": {"rate": "0.5"}}]}),
        ("numeric", "parquet", {"attributes.pay.weight": 3}),
        ("categorical", "csv", {"neighbours": "replace_one"}),
        ("person", "csv", {}),
    ],
)
def test_every_kind_of_table_makes_a_folder_that_both_verifiers_accept(tmp_path, capsys, kind, form, more):
    table = write_table(tmp_path / "table.csv", ROWS, people=ROWS // 2)
    made = publish(tmp_path, {**KINDS[kind], **more, "release.output": form}, report=True, table=table)
    assert all(check.agrees for check in shoal.verify(made.folder))
    assert verifier.main([str(made.folder)]) == 0
    assert "8-differential privacy for" in capsys.readouterr().out
    content = made.certificate
    assert not list(CHECK.iter_errors(content))
    assert content["tables"][0]["rows"] == made.rows_published
    assert made.report is not None
    with Ledger(str(tmp_path / "ledger.sqlite")) as ledger:
        (cost,) = ledger.account("earnings").costs
    assert (cost.epsilon, cost.delta) == (Fraction(8), 0)
    assert ("record-wise-treatment" in made.claims[0].theorems) == ("treatments" in more)


def test_what_is_published_are_sorted_rows_of_the_declared_domains_about_as_many_as_records(made):
    rows = rows_of(made.folder / "table.csv")
    assert abs(len(rows) - ROWS) < ROWS / 4
    assert all(0 <= int(row["pay"]) <= 1000 and 0 <= float(row["rate"]) <= 2.5 for row in rows)
    assert all("2020-01-01" <= row["hired"] <= "2025-12-31" for row in rows)
    assert {row["grade"] for row in rows} == {"low", "mid", "high"}
    assert {row["town"] for row in rows} <= {"Leeds", "York", "Bath", "Truro"}
    assert {row["union"] for row in rows} == {"true", "false"}
    pays = [int(row["pay"]) for row in rows]
    assert pays == sorted(pays)
    high = [int(row["pay"]) for row in rows if row["grade"] == "high"]
    low = [int(row["pay"]) for row in rows if row["grade"] == "low"]
    assert sum(high) / len(high) > sum(low) / len(low) + 200  # they go together, as in the original


def test_nothing_of_the_table_is_in_the_folder_but_noisy_values_and_their_noisy_number(made, tmp_path):
    first = made.certificate
    other = publish(tmp_path, table=write_table(tmp_path / "other.csv", ROWS + 50, seed=2)).certificate
    moves = ("seal", "files", "wording", "ledger", "tables")
    for name in sorted({*first} - {*moves}):
        assert first[name] == other[name], name
    assert {**first["tables"][0], "rows": 0} == {**other["tables"][0], "rows": 0}


@pytest.mark.parametrize(
    ("old", "new", "error"),
    [(",Leeds,", ",Paris,", DomainError), (",Leeds,", ",,", ShoalError), (",low,", ",lowest,", DomainError)],
)
def test_a_value_that_is_missing_or_not_declared_is_refused_before_anything_is_charged(tmp_path, old, new, error):
    table = write_table(tmp_path / "table.csv")
    table.write_text(table.read_text().replace(old, new, 1))
    with pytest.raises(error, match="nothing was charged") as caught:
        publish(tmp_path, table=table)
    assert new.strip(",") not in str(caught.value) or not new.strip(",")
    assert not (tmp_path / "out").exists()


def test_a_release_is_shared_exported_and_read_again(made, tmp_path):
    loaded = shoal.load(pack(made.folder, tmp_path / "out.zip"))
    assert loaded.names == ("table",)
    frame = loaded.published().to_pandas()
    assert len(frame) == made.rows_published
    assert loaded.published().shows["pay"] == "spread inside boxes"
    assert loaded.noise_share("pay") is None
    assert str(frame["hired"].dtype).startswith("datetime64")
    for form in ("csv", "parquet", "dta"):
        assert export(made.folder, tmp_path / f"again.{form}").rows == made.rows_published


def test_the_recipient_reads_that_rows_are_nobodys_and_what_error_to_expect(made):
    folder = made.folder
    text = (folder / "README.md").read_text(encoding="utf-8")
    assert "rows of nobody" in text
    assert "none was copied from a record of the original" in text
    assert "What error to expect: noise moves the count of one box by at most" in text
    assert "Inside a box attributes are independent" in text
    assert "Do not treat rows as people" in text
    assert "the number of rows estimates the number of records" in text
    package = json.loads((folder / "datapackage.json").read_text(encoding="utf-8"))
    resource = package["resources"][0]
    assert resource["description"] == "rows of nobody, spread inside boxes with noisy counts and means"
    fields = {each["name"]: each for each in resource["schema"]["fields"]}
    assert set(fields["town"]["constraints"]["enum"]) == {"Leeds", "York", "Bath", "Truro"}
    assert fields["pay"]["type"] == "integer"


def test_the_same_plan_on_the_same_table_is_not_charged_again_by_accident(tmp_path):
    table = write_table(tmp_path / "table.csv", 50)
    publish(tmp_path, KINDS["numeric"], table=table)
    with pytest.raises(ShoalError, match="draws new noise and costs"):
        publish(tmp_path, KINDS["numeric"], table=table, name="again", again=False)

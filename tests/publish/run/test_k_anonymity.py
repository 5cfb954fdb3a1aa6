"""From policy to a verified folder, by levels that are searched for: what is written, what the ledger keeps, what is refused."""

from __future__ import annotations

import csv
import json
from collections import Counter
from pathlib import Path

import jsonschema
import pytest

from shoal.assess.release.load import load, load_any
from shoal.engine.base import open_engine
from shoal.errors import DataError, InfeasibleError, PolicyError, ShoalError
from shoal.ledger.ledger import Ledger
from shoal.policy.policy import Policy
from shoal.publish.certificate.model import FullDomainCertificate, schema_text
from shoal.publish.export import export
from shoal.publish.plan.k_anonymity import FullDomainPlan
from shoal.publish.run.k_anonymity import count_population
from shoal.publish.run.release import release
from shoal.publish.share import pack
from shoal.publish.verify import standalone as verifier
from shoal.publish.verify.release import verify
from tests.publish.clinic import write_table
from tests.publish.level_clinic import METHODS, planned, publish

CHECK = jsonschema.Draft7Validator(json.loads(schema_text(FullDomainCertificate)))


def failed(folder: Path) -> set[str]:
    return {check.name for check in verify(folder) if check.agrees is not True}


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.slow
@pytest.mark.parametrize("which", METHODS)
def test_a_release_verifies_and_fits_its_schema(tmp_path, which):
    made = publish(tmp_path, which, {"release.output": "parquet" if which in ("local", "delta") else "csv"})
    assert failed(made.folder) == set()
    assert verifier.main([str(made.folder)]) == 0
    CHECK.validate(json.loads((made.folder / "certificate.json").read_text()))
    assert made.charged is None
    promised, (table,) = made.certificate["guarantee"], made.certificate["tables"]
    assert promised["k"] == table["k"] == METHODS[which]["k"]
    assert list(table["levels"]) == table["columns"] == ["age", "sex", "diag"]
    assert table["levels"]["diag"] == [0]
    listed = {file for files in table["recoding"].values() for file in files}
    listed |= {file for own in promised["closeness"].values() for file in own["heights"]}
    assert listed == {f"recoding/{path.name}" for path in (made.folder / "recoding").iterdir()}
    with Ledger(str(tmp_path / "ledger.sqlite")) as ledger:
        assert ledger.account("clinic").unbounded == 1


@pytest.mark.slow
def test_every_class_of_the_file_has_k_rows_with_labels_of_its_level(tmp_path):
    made = publish(tmp_path, "searched")
    rows = rows_of(made.folder / "table.csv")
    classes = Counter((row["age"], row["sex"]) for row in rows)
    assert min(classes.values()) >= 5
    assert len(rows) == made.rows_published >= 180
    rule = json.loads((made.folder / "recoding" / "01-age.json").read_text())
    assert {row["age"] for row in rows} <= set(rule["labels"])
    assert [tuple(row.values()) for row in rows] == sorted(tuple(row.values()) for row in rows)


@pytest.mark.slow
def test_rows_with_labels_of_their_own_have_a_rule_for_each_level(tmp_path):
    made = publish(tmp_path, "local")
    (table,) = made.certificate["tables"]
    several = [name for name, levels in table["levels"].items() if len(levels) > 1]
    assert several
    for name in table["columns"]:
        rules = [json.loads((made.folder / file).read_text()) for file in table["recoding"][name]]
        assert [rule["level"] for rule in rules] == table["levels"][name]
    classes = Counter((row["age"], row["sex"]) for row in rows_of(made.folder / "table.csv"))
    assert min(classes.values()) >= 8
    assert "some rows show coarser labels than others" in (made.folder / "README.md").read_text()


@pytest.mark.slow
def test_a_population_travels_only_where_the_policy_says_so(tmp_path):
    public = publish(tmp_path / "public", "every")
    k_map = public.certificate["guarantee"]["k_map"]
    assert (public.folder / k_map["file"]).read_bytes() == (tmp_path / "public" / "people.csv").read_bytes()
    kept = publish(tmp_path / "kept", "every", {"release.criteria.k_map.public": None})
    assert kept.certificate["guarantee"]["k_map"]["file"] is None
    assert not (kept.folder / "population").exists()
    assert failed(kept.folder) == {"k-map"}  # left open, and said
    lines, code = verifier.report(verifier.verify(kept.folder))
    assert code == 0
    assert "VERIFIED but for that claim" in lines[-1]
    assert "NOT verified" in " ".join(verifier.statement(kept.folder))
    assert any("population file is not part" in said for said in kept.certificate["not_promised"])


@pytest.mark.slow
def test_it_is_shared_exported_and_read(tmp_path):
    made = publish(tmp_path, "local")
    packed = pack(made.folder, tmp_path / "out.zip")
    assert failed(packed) == set()
    written = export(made.folder, tmp_path / "out.parquet", intervals="columns")
    assert written.rows == made.rows_published
    assert {"age", "sex", "diag"} <= set(written.columns)
    loaded = load_any(packed)
    assert min(loaded.published().class_sizes.values()) >= 8
    frame = loaded.records.to_arrow(intervals="columns")
    assert {"age_low", "age_high"} <= set(frame.column_names)
    assert frame.num_rows == made.rows_published
    with pytest.raises(ShoalError, match="no table of this name"):
        loaded.published("other")
    with pytest.raises(ShoalError, match="not a random sample"):
        load(made.folder)


# --- what is refused ------------------------------------------------------------------------------------------------


def run(folder: Path, which: str, changes: dict[str, object], table: Path, ledger: Ledger) -> None:
    made = planned(folder, which, changes)
    release(made, table, folder / "out", ledger=ledger, engine=open_engine("duckdb"), report=False)


def refused(folder: Path, which: str, changes: dict[str, object], rows: int = 60) -> ShoalError:
    """What a run ends with that must leave nothing behind: no folder, and no note in the ledger."""
    table = write_table(folder / "table.csv", rows)
    before = sorted(path.name for path in folder.iterdir())
    with Ledger(str(folder / "ledger.sqlite")) as ledger:
        with pytest.raises(ShoalError) as caught:
            run(folder, which, changes, table, ledger)
        assert ledger.account("clinic").unbounded == 0
    left = {path.name for path in folder.iterdir()} - {*before, "policy.yaml", "people.csv"}
    assert {name for name in left if not name.startswith("ledger")} == set()
    return caught.value


@pytest.mark.slow
@pytest.mark.parametrize(
    ("which", "changes", "rows", "kind", "words"),
    [
        ("searched", {"release.k": 100}, 60, InfeasibleError, "k up to 60"),
        ("searched", {"release.l": 5}, 60, InfeasibleError, "best that any class reaches"),
        ("fixed", {"release.suppression": "0", "release.k": 4}, 60, InfeasibleError, "have to be suppressed"),
        ("every", {"release.criteria.k_map.count": "nobody"}, 60, DataError, "population file"),
        ("searched", {"attributes.age.role": "other", "attributes.sex.role": "other"}, 60, PolicyError, "no quasi-identifier"),
    ],
    ids=["k above n", "l above values", "suppression", "population without a column", "no quasi"],
)  # fmt: skip
def test_what_cannot_be_leaves_nothing_behind(tmp_path, which, changes, rows, kind, words):
    error = refused(tmp_path, which, changes, rows)
    assert isinstance(error, kind)
    assert words in str(error)
    assert "p1" not in str(error)


@pytest.mark.slow
def test_a_population_that_lacks_people_of_the_table_is_refused(tmp_path):
    table = write_table(tmp_path / "table.csv", 60)
    made = planned(tmp_path, "every")
    (tmp_path / "people.csv").write_text("age,sex,people\n3,f,1000\n")
    again = FullDomainPlan.of(Policy.parse(made.policy.text, tmp_path))
    with Ledger(str(tmp_path / "ledger.sqlite")) as ledger, pytest.raises(DataError, match="does not hold the table"):
        release(again, table, tmp_path / "out", ledger=ledger, engine=open_engine("duckdb"), report=False)
    with (
        Ledger(str(tmp_path / "ledger.sqlite")) as ledger,
        pytest.raises(PolicyError, match="changed since the policy was read"),
    ):
        release(made, table, tmp_path / "out", ledger=ledger, engine=open_engine("duckdb"), report=False)


def test_a_population_is_counted_by_line_or_by_a_column(tmp_path):
    schema = planned(tmp_path, "searched").policy.schema
    lines = "sex,age,many,junk\nf,3,2,x\nm,3,5,y\nf,3,4,z\n"
    for count, wanted in ((None, {("f", 3): 2, ("m", 3): 1}), ("many", {("f", 3): 6, ("m", 3): 5})):
        found = count_population(lines.encode(), schema, count)
        ages, sexes = found.tuples
        assert dict(zip(zip(sexes, ages, strict=True), found.counts.tolist(), strict=True)) == wanted
    for broken in ("sex,age\nf,300\n", "sex\nf\n", "sex,age,many\nf,3,-1\n", "sex,age,many\nf,3,\n"):
        with pytest.raises(DataError, match="population file"):
            count_population(broken.encode(), schema, "many" if "many" in broken else None)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"age\n3\n", "got no 'sex'; allowed: a header line"),
        (b"age;sex\n3;f\n", "got no 'age', no 'sex'"),
        (b"age,age,sex\n3,4,f\n", "got 2 'age'"),
        (b"\xff\xfeage,sex\n3,f\n", "cannot be read as a CSV file"),
        (b"age,sex\n3\n", "cannot be read as a CSV file"),
        (b"age,sex\n3,\xff\n", "cannot be read as a CSV file"),
    ],
)
def test_a_population_file_that_cannot_be_counted_says_what_it_lacks(tmp_path, content, words):
    with pytest.raises(DataError, match=words):
        count_population(content, planned(tmp_path, "searched").policy.schema, None)

"""Drafts are right for nearly all columns of tables that people described by hand, load as they are, and say what they did."""

from __future__ import annotations

import contextlib
import sqlite3

import pyarrow as pa
import pytest

from shoal.data.schema import Role
from shoal.draft.draft import Draft, dataset_name, draft_table
from shoal.draft.opening import open_table
from shoal.errors import UsageError
from shoal.policy.policy import Policy
from tests.draft.tables import HELD_OUT, HOSPITAL, SECOND_HELD_OUT, SHARED, STAFF, SURVEY, expected, generate


def draft_of(data, **options) -> Draft:
    return draft_table(open_table(data), **options)


def wrong(found: Draft, meant: dict[str, tuple[str, str | None]]) -> dict[str, tuple[str, str | None]]:
    got = {
        column.name: (column.role.value, column.type.value if column.type and column.published else None)
        for column in found.columns
    }
    assert got.keys() == meant.keys()
    return {name: got[name] for name in meant if got[name] != meant[name]}


# --- scores ------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(SHARED))
def test_at_least_nine_of_ten_columns_of_the_shared_tables_are_right(name, shared_data):
    file, meant = SHARED[name]
    missed = wrong(draft_of(shared_data / file), meant)
    assert len(missed) <= len(meant) / 10, missed


@pytest.mark.slow
@pytest.mark.parametrize("text", [False, True])
@pytest.mark.parametrize("columns", [HOSPITAL, STAFF, SURVEY, HELD_OUT, SECOND_HELD_OUT])
def test_at_least_nine_of_ten_columns_of_generated_tables_are_right(columns, text):
    meant = expected(columns)
    found = draft_of(generate(columns, text=text))
    missed = wrong(found, meant)
    assert len(missed) <= len(meant) / 10, missed
    naming = {name for name, (role, _) in meant.items() if role == "identifier"}
    assert {name for name in naming if found[name].published} == set()


def test_a_score_notices_a_wrong_draft():
    found = draft_of(generate(STAFF))
    assert wrong(found, {column.name: ("other", "text") for column in found.columns})


# --- what is written ---------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("columns", [HOSPITAL, STAFF, SURVEY])
def test_a_draft_loads_from_its_folder_as_it_was_meant(columns, tmp_path):
    found = draft_of(generate(columns))
    policy = Policy.load(found.save(tmp_path / "draft"))
    assert policy.lock() == found.policy.lock()
    assert policy.release is not None
    for column in found.columns:
        assert policy.schema[column.name].role is column.role
        assert not column.published or policy.schema[column.name].type is column.type
    assert set(policy.profiled_keys()) == {
        f"attributes.{column.name}.{key}"
        for column in found.columns
        for key in ("domain", "hierarchy")
        if column.published and getattr(column, f"{key}_provenance") == "profiled" and column.type.value != "boolean"
    }
    assert (
        (tmp_path / "draft" / "policy.yaml")
        .read_text()
        .startswith("# yaml-language-server: $schema=policy.schema.json")
    )
    assert (tmp_path / "draft" / "policy.schema.json").is_file()


def test_what_is_declared_does_not_depend_on_the_values():
    table = generate(
        [
            ("age", "age", "", ""),
            ("sex", "M F", "", ""),
            ("month", "month number", "", ""),
            ("smoker", "zero one", "", ""),
        ]
    )
    seen, unseen = draft_of(table), draft_of(table, schema_only=True)
    declared = [column for column in seen.columns if column.provenance == "declared" and column.type.value != "boolean"]
    assert [column.name for column in declared] == ["age", "month"]
    for column in declared:
        assert (column.domain, column.hierarchy) == (unseen[column.name].domain, unseen[column.name].hierarchy)


def test_names_alone_tell_measured_numbers_and_moments():
    names = {"height_cm": "170", "fnlwgt": "1.5", "timestamp": "2024-01-01 10:00", "town": "Ash"}
    found = draft_of(pa.table({name: [value] for name, value in names.items()}), schema_only=True)
    assert [found[name].type.value for name in names] == ["decimal", "decimal", "datetime", "category"]


def test_with_the_schema_alone_no_value_is_written_and_what_is_missing_is_said():
    found = draft_of(generate(STAFF), schema_only=True)
    assert not found.looked_at
    assert not found.complete
    text = found.policy_text()
    assert "Human Resources" not in text
    assert "profiled" not in text
    assert "# release:" in text
    assert found.policy.release is None


def test_every_column_has_a_reason_above_it():
    found = draft_of(generate(SURVEY))
    lines = found.policy_text().splitlines()
    for column in found.columns:
        at = next(place for place, line in enumerate(lines) if line.startswith(f"  {column.name}:"))
        assert lines[at - 1].startswith("  # ")
        assert column.reason


def test_nothing_is_written_over_and_nothing_is_left_behind(tmp_path):
    found = draft_of(generate(SURVEY))
    (tmp_path / "hierarchies").mkdir()
    mine = tmp_path / "policy.yaml"
    mine.write_text("mine")
    with pytest.raises(UsageError, match="the file exists"):
        found.save(tmp_path)
    assert mine.read_text() == "mine"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["hierarchies", "policy.yaml"]
    assert list((tmp_path / "hierarchies").iterdir()) == []
    found.save(tmp_path, force=True)
    assert Policy.load(mine).dataset == "table"


def test_a_folder_that_cannot_be_made_is_an_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="a file stands where the folder"):
        draft_of(generate(SURVEY)).save(tmp_path / "file")


def test_hostile_names_and_values_are_written_as_they_are():
    names = ["a: b", "- x", "#", "'", '"', "no", "1", "é ü", "{}", "tab\there"[:3], "[x"]
    values = [
        "yes: no",
        "# comment",
        "'",
        '"quoted"',
        "null",
        "~",
        "é",
        "a,b",
        "{x}",
        "&a",
        "*b",
        "!c",
        "%d",
        "@e",
        "`f",
        "- g",
        "| h",
    ]
    table = pa.table({name: pa.array((values * 4)[: 4 * len(values)]) for name in names})
    found = draft_of(table)
    domain = found.policy.schema["no"].domain
    assert set(domain.values) == set(values)
    assert set(found.policy.attributes) == set(names)


# --- the unit ----------------------------------------------------------------------------------------------------------


def test_a_number_of_people_that_repeats_is_the_unit():
    found = draft_of(generate(HOSPITAL))
    assert found.unit.column == "patient_id"
    assert found.unit.max_rows == 1
    assert found["patient_id"].role is Role.IDENTIFIER
    assert "max_rows" in found.policy_text()


def test_one_row_is_the_unit_where_nobody_repeats():
    assert draft_of(generate(STAFF)).unit.column is None
    assert draft_of(generate([("hhid", "household id", "", ""), ("age", "age", "", "")])).unit.column is None


@pytest.mark.parametrize(
    ("source", "name"), [("Visits 2026.csv", "visits-2026"), ("the frame", "table"), ("é.csv", "table")]
)
def test_a_dataset_is_named_after_its_file(source, name):
    assert dataset_name(source) == name


def test_a_table_of_a_database_gives_the_dataset_its_name(tmp_path):
    with contextlib.closing(sqlite3.connect(tmp_path / "clinic.sqlite")) as held:
        held.execute("CREATE TABLE visits (age INTEGER)")
        held.execute("INSERT INTO visits VALUES (34), (35)")
        held.commit()
    by_file = draft_table(open_table(tmp_path / "clinic.sqlite"))
    by_table = draft_table(open_table(tmp_path / "clinic.sqlite", table="visits"))
    assert (by_file.dataset, by_table.dataset) == ("clinic", "visits")

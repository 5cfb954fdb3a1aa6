"""The example policies load, agree with the data they are for, and please an editor."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from jsonschema import Draft7Validator

from shoal.data.domain import Interval, Values
from shoal.datasets import hospital
from shoal.datasets.visits import COLUMNS
from shoal.policy.model.method import METHODS
from shoal.policy.policy import Policy
from shoal.policy.text.keys import json_schema
from tests.policy.yaml_values import as_an_editor_reads

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
POLICIES = sorted(EXAMPLES.glob("*/*.yaml"))


def test_there_is_one_of_each_kind():
    asked = [Policy.load(path).release for path in POLICIES]
    assert {release.method for release in asked} == {
        name for name, method in METHODS.items() if method.plan is not None
    }


@pytest.mark.parametrize("path", POLICIES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_an_editor_is_pleased(path):
    text = path.read_text("utf-8")
    assert not list(Draft7Validator(json_schema()).iter_errors(as_an_editor_reads(text)))
    hint = text.splitlines()[0].partition("$schema=")[2]
    assert (path.parent / hint).is_file()


def test_visits_are_the_ones_we_generate():
    policy = Policy.load(EXAMPLES / "visits" / "policy.yaml")
    schema = policy.schema
    assert schema.names == COLUMNS
    regions = tuple(name for name, *_ in hospital.REGIONS)
    for name, values in (
        ("diagnosis", hospital.CODES),
        ("region", regions),
        ("department", hospital.DEPARTMENTS),
        ("insurance", hospital.INSURANCES),
        ("sex", hospital.SEXES),
    ):
        assert isinstance(schema[name].domain, Values)
        assert set(schema[name].domain.values) == set(values)
    assert schema["age"].domain == Interval(0, hospital.AGES - 1)
    assert policy.profiled_keys() == ()
    assert policy.unit.column == "patient_id"
    assert all(attribute.hierarchy is not None for attribute in schema.published)


def test_clinic_and_its_rows():
    policy = Policy.load(EXAMPLES / "clinic" / "policy.yaml")
    with (EXAMPLES / "clinic" / "clinic.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 24
    assert tuple(rows[0]) == policy.schema.names
    for name in ("smoker", "severity", "disease"):
        assert {row[name] for row in rows} <= set(policy.schema[name].domain.values)


def test_adult_and_its_hierarchies(shared_data):
    policy = Policy.load(EXAMPLES / "adult" / "policy.yaml")
    with (shared_data / "adult" / "adult.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter=";"))
    assert set(rows[0]) == set(policy.schema.names)
    assert len(policy.schema.quasi) == 8
    assert [attribute.name for attribute in policy.schema.confidential] == ["salary-class"]
    for name in set(policy.schema.names) - {"age"}:
        assert {row[name] for row in rows} <= set(policy.schema[name].domain.values)
    assert policy.schema["age"].domain == Interval(1, 100)
    schemes = 1
    for attribute in policy.schema.quasi:
        schemes *= len(attribute.hierarchy)
    assert schemes == 6480, "as many as the hierarchies of ARX have (theory 1.3)"

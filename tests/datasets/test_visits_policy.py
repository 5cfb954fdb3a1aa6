"""The policy that goes with the visits: it reads, it covers every value that is drawn, and it lies nowhere twice."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from shoal.data.schema import Role
from shoal.datasets import hospital, visits
from shoal.datasets import visits as declared
from shoal.errors import UsageError
from shoal.policy.policy import Policy

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "visits"


@pytest.fixture(scope="module")
def policy(tmp_path_factory):
    return Policy.load(visits.write_policy(tmp_path_factory.mktemp("visits")))


def test_every_column_has_a_meaning(policy):
    assert set(policy.schema.names) == set(visits.COLUMNS)
    assert {attribute.role for attribute in policy.schema.attributes} >= {
        Role.IDENTIFIER,
        Role.QUASI,
        Role.CONFIDENTIAL,
    }
    assert policy.profiled_keys() == ()
    assert (policy.unit.column, policy.unit.max_rows) == ("patient_id", 1)


def test_domains_and_hierarchies_cover_what_is_drawn(policy):
    cells = visits.arrays(20_000, 1)
    for attribute in policy.schema.published:
        values = np.ma.masked_array(cells[attribute.name]).compressed()
        assert attribute.domain.inside(values).all(), attribute.name
        for level in attribute.hierarchy.levels:
            assert all(label is not None for label in level.apply(values[:2000])), attribute.name


def test_every_value_that_could_be_drawn_is_listed(policy):
    lists = {
        "diagnosis": hospital.CODES, "department": hospital.DEPARTMENTS, "insurance": hospital.INSURANCES,
        "sex": hospital.SEXES, "region": [name for name, *_ in hospital.REGIONS], "zip": hospital.ZIPS,
    }  # fmt: skip
    for name, values in lists.items():
        assert policy.schema[name].domain.inside(np.array(values, dtype=object)).all()
    assert len(set(hospital.ZIPS)) == len(hospital.ZIPS)
    assert len(hospital.CODES) == 120


def test_nothing_is_overwritten_unasked(tmp_path):
    visits.write_policy(tmp_path / "new" / "folder")
    with pytest.raises(UsageError, match="exists"):
        visits.write_policy(tmp_path / "new" / "folder")
    assert visits.write_policy(tmp_path / "new" / "folder", force=True).name == "policy.yaml"


def test_the_example_is_the_same():
    """examples/visits shows what the package ships, after a line that tells editors where the JSON Schema lies."""
    shown = {name: (EXAMPLE / name).read_text(encoding="utf-8") for name in declared.policy_files()}
    editors, _, shown["policy.yaml"] = shown["policy.yaml"].partition("\n#\n")
    assert editors.startswith("# yaml-language-server:")
    assert shown == declared.policy_files()

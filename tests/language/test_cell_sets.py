"""The sets of the cells of an attribute are disjoint, cover its domain, and hold the values that the cells hold."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from shoal.data.domain import list_values
from shoal.datasets.visits import write_policy
from shoal.language.cell_sets import cell_sets
from shoal.language.cells import CellSpec
from shoal.language.condition.sets import merge_spans
from shoal.policy.policy import Policy

SPECS = [
    CellSpec("age"),
    CellSpec("age", level=2),
    CellSpec("age", level=5),
    CellSpec("age", edges=("18", "65")),
    CellSpec("age", edges=("0", "110")),
    CellSpec("age", values=("3", "7")),
    CellSpec("sex"),
    CellSpec("sex", values=("other",)),
    CellSpec("region", level=1),
    CellSpec("diagnosis", level=2),
    CellSpec("visit", level=3),
    CellSpec("visit", edges=("2024-06-01", "2026-01-01")),
    CellSpec("income", edges=("10000", "20000.5")),
    CellSpec("income", level=2),
    CellSpec("zip", values=("01234", "99999")),
]


@pytest.fixture(scope="module")
def schema(tmp_path_factory):
    return Policy.load(write_policy(tmp_path_factory.mktemp("policy"))).schema


@pytest.mark.parametrize("spec", SPECS, ids=str)
def test_sets_are_disjoint_and_cover_the_domain(schema, spec):
    axis = spec.axis(schema)
    sets = cell_sets(axis)
    assert len(sets) == len(axis)
    assert all(one.intersection(other).empty for one, other in combinations(sets, 2))
    every = sets[0]
    for each in sets[1:]:
        every = every.union(each)
    assert every.full
    if hasattr(every, "spans"):
        assert merge_spans(every.spans) == ((every.domain.low, every.domain.high),)


@pytest.mark.parametrize(
    "spec", [spec for spec in SPECS if spec.attribute in ("age", "sex", "region", "visit")], ids=str
)
def test_a_set_holds_what_its_cell_holds(schema, spec):
    axis = spec.axis(schema)
    attribute = axis.attribute
    listed = list_values(attribute.type, attribute.domain)
    kinds = {"integer": np.int64, "date": "datetime64[D]"}
    values = np.array(listed, dtype=object).astype(kinds.get(attribute.type.value, object))
    homes = axis.cells_of(values)
    for place, own in enumerate(cell_sets(axis)[: len(axis.value_labels)]):
        assert np.array_equal(own.contains(values), homes == place)

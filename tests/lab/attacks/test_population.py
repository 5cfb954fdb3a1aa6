"""The people of the attacks: complete records of different people, the same for the same seed."""

from __future__ import annotations

import numpy as np
import pytest

from shoal.chance.source import Source
from shoal.lab.attacks.population import (
    ATTRIBUTES,
    describe,
    labels_of,
    people,
    safe_counts,
    safe_method,
    safe_setting,
    schema,
)


def test_everybody_is_complete_and_fits_the_declared_domains():
    own = people(300, 2)
    assert len(own) == 300
    table = own.table(schema(tuple(ATTRIBUTES)))
    assert table.rows() == 300  # the engine refuses what lies outside a domain
    assert all(chapter[0] == code[0] for chapter, code in zip(own["chapter"], own["diagnosis"], strict=True))
    assert np.array_equal(people(300, 2)["income"], own["income"])
    assert describe(own.take([0]).select(("age", "stay"))) == f"aged {own['age'][0]}, stay {own['stay'][0]}"


def test_labels_are_those_of_the_release():
    own, levels = people(2000, 1), {"age": 4, "income": -1, "chapter": 0}
    setting = safe_setting()
    counts = safe_counts(own, safe_method(levels, setting), Source.seeded(3))
    labels = labels_of(own, levels)
    assert len(counts)
    assert counts.counts.min() >= setting.k
    for *label, rows in zip(*counts.tuples, counts.counts.tolist(), strict=True):
        assert labels.count(tuple(label)) >= rows


def test_an_attribute_keeps_its_role():
    made = schema(("age",), ("insurance",))
    assert [one.name for one in made.quasi] == ["age"]
    assert [one.name for one in made.confidential] == ["insurance"]
    with pytest.raises(KeyError):
        schema(("name",))

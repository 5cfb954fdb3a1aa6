"""The hierarchies that come with the papers' tables are read as they are, and cover those tables."""

from __future__ import annotations

import csv
from math import prod

import numpy as np
import pytest

from shoal.data.hierarchy.build import domain_of, hierarchy
from shoal.data.schema import Type
from shoal.data.taxonomy import Taxonomy
from tests.data.hierarchy.laws import check

ADULT = [
    "sex",
    "age",
    "race",
    "marital-status",
    "education",
    "native-country",
    "workclass",
    "occupation",
    "salary-class",
]
FARS = ["iage", "irace", "ideathmon", "ideathday", "isex", "ihispanic", "istatenum", "iinjury"]
ALL = [("adult", "adult", name) for name in ADULT] + [("fars_subset", "fars", name) for name in FARS]
NUMBERS = {"age", "iage", "ideathday"}


def load(shared_data, folder, stem, name):
    kind = Type.INTEGER if name in NUMBERS else Type.CATEGORY
    where = shared_data / folder / "hierarchies"
    spec = {"file": f"{stem}_hierarchy_{name}.csv"}
    return hierarchy(spec, kind, domain_of(spec, kind, where), where), where / spec["file"]


@pytest.mark.parametrize(("folder", "stem", "name"), ALL, ids=lambda part: part)
def test_every_row_of_the_file_is_a_row_of_the_hierarchy(shared_data, folder, stem, name):
    built, path = load(shared_data, folder, stem, name)
    assert built.outside == ()
    kind = np.int64 if name in NUMBERS else object
    check(built, np.array(built.values, dtype=kind))
    assert [";".join(row) for row in built.rows] == path.read_text(encoding="utf-8-sig").splitlines()
    taxonomy = Taxonomy.of_rows(built.rows, built.values)
    assert set(taxonomy.values) == set(built.values)


@pytest.mark.parametrize(
    ("folder", "stem", "table"), [("adult", "adult", "adult"), ("fars_subset", "fars", "fars_subset")]
)
def test_they_cover_their_tables(shared_data, folder, stem, table):
    with (shared_data / folder / f"{table}.csv").open(newline="") as file:
        rows = csv.DictReader(file, delimiter=";")
        seen = {name: set() for name in rows.fieldnames}
        for row in rows:
            for name, value in row.items():
                seen[name].add(value)
    for name, values in seen.items():
        built, _ = load(shared_data, folder, stem, name)
        assert values <= set(built.values), name


def test_the_lattice_of_adult_has_6480_schemes(shared_data):
    levels = {name: len(load(shared_data, "adult", "adult", name)[0]) for name in ADULT}
    assert levels["age"] == 5
    assert levels["education"] == 4
    assert prod(count for name, count in levels.items() if name != "salary-class") == 6480
    assert prod(levels.values()) == 12960


def test_the_loss_of_decades_by_hand(shared_data):
    built, _ = load(shared_data, "adult", "adult", "age")
    # Ages 1..100 in ten groups of ten, because ARX's labels are one year off: 10 is among 0-9, 100 among 90-99.
    assert built.losses[2] == pytest.approx(10 * 10 * 9 / (100 * 99), abs=1e-15)
    assert built.levels[1].apply(np.array([5, 10, 100])).tolist() == ["0-4", "5-9", "95-99"]

"""`shoal.check` on files and frames: real tables against plain dictionaries, labels, levels, and what it refuses."""

from __future__ import annotations

import csv
import math
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet

import shoal
from shoal.assess.disclosure.check import check
from shoal.data.schema import Attribute, Missing, Role, Schema, Type
from shoal.datasets.visits import visits, write_policy, write_visits
from shoal.errors import DataError, DomainError, UsageError
from shoal.policy.policy import Policy
from tests.assess.disclosure import oracle
from tests.engine.oracle import OracleEngine

ROOT = Path(__file__).resolve().parents[3]
CLINIC = ROOT / "examples" / "clinic"


@pytest.fixture(scope="module")
def policy(tmp_path_factory):
    return Policy.load(write_policy(tmp_path_factory.mktemp("visits")))


def by_hand(path, quasi, secret):
    """(rows, classes, k, uniques, l, t by the equal distance) of a file with semicolons."""
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file, delimiter=";"))
    classes = defaultdict(list)
    for row in rows:
        classes[tuple(row[name] for name in quasi)].append(row[secret])
    q = oracle.shares([row[secret] for row in rows])
    sizes = Counter(len(cells) for cells in classes.values())
    t = max(oracle.equal(oracle.shares(cells), q) for cells in classes.values())
    return len(rows), len(classes), min(sizes), sizes[1], min(len(set(cells)) for cells in classes.values()), t


@pytest.mark.slow
def test_adult(shared_data):
    found = check(shared_data / "adult" / "adult.csv", ROOT / "examples" / "adult" / "policy.yaml")
    expected = by_hand(shared_data / "adult" / "adult.csv", found.quasi, "salary-class")
    assert (found.rows, found.classes, found.k, found.uniques, found.l) == expected[:5]
    assert found.t == pytest.approx(expected[5])
    assert (found.rows, len(found.quasi)) == (30_162, 8)


@pytest.mark.slow
def test_adult_coarser(shared_data):
    levels = {"age": 4, "native-country": 2, "occupation": 2, "race": 1, "marital-status": 2, "workclass": 2}
    table = shared_data / "adult" / "adult.csv"
    found = check(table, ROOT / "examples" / "adult" / "policy.yaml", levels=levels)
    expected = by_hand(table, ("sex", "education"), "salary-class")
    assert (found.rows, found.classes, found.k, found.uniques, found.l) == expected[:5]
    assert found.t == pytest.approx(expected[5])
    assert found.levels == levels
    assert found.k > 1


@pytest.mark.slow
def test_fars(shared_data):
    table = shared_data / "fars_subset" / "fars_subset.csv"
    with table.open(encoding="utf-8") as file:
        names = file.readline().strip().split(";")
    roles = {name: Role.CONFIDENTIAL if name == "iinjury" else Role.QUASI for name in names}
    schema = Schema(tuple(Attribute(name, role, Type.CATEGORY) for name, role in roles.items()))
    found = check(table, schema)
    expected = by_hand(table, found.quasi, "iinjury")
    assert (found.rows, found.classes, found.k, found.uniques, found.l) == expected[:5]
    assert found.t == pytest.approx(expected[5])


@pytest.mark.slow
@pytest.mark.parametrize(
    "frame", [lambda table: table, pa.Table.to_pandas, pl.from_arrow, lambda t: pl.from_arrow(t).lazy()]
)
def test_frames_say_what_files_say(policy, tmp_path, frame):
    path = write_visits(tmp_path / "v.parquet", 3000, 1)
    csv_path = write_visits(tmp_path / "v.csv", 3000, 1)
    found = shoal.check(frame(visits(3000, 1)), policy)
    assert found == shoal.check(path, policy) == shoal.check(str(csv_path), policy.schema)
    assert found.rows == 3000
    assert [one.distance for one in found.confidential] == ["hierarchical", "ordered", "ordered"]


@pytest.mark.slow
@pytest.mark.parametrize("lenient", [False, True])
def test_visits_against_the_definitions(policy, lenient):
    table = visits(1500, 3)
    levels = {"age": 3, "zip": 4, "visit": 3, "region": 1}
    found = check(table, policy, levels=levels, lenient=lenient)
    cells = {name: table[name].to_pylist() for name in (*found.quasi, "diagnosis", "stay")}
    for name, level in levels.items():
        hierarchy = policy.schema[name].hierarchy
        kind = {"age": "int64", "visit": "datetime64[D]"}.get(name, object)
        cells[name] = [
            "(missing)" if cell is None else hierarchy.level(level).apply(np.array([cell], dtype=kind))[0]
            for cell in cells[name]
        ]
    rows = list(zip(*(cells[name] for name in found.quasi), cells["diagnosis"], cells["stay"], strict=True))
    groups = oracle.groups(rows, len(found.quasi), lenient)
    assert (found.classes, found.k) == (len(groups), min(len(crowd) for _, crowd in groups))
    assert found.uniques == sum(len(own) for own, crowd in groups if len(crowd) == 1)
    for one, at in ((found.confidential[0], -2), (found.confidential[1], -1)):
        q = oracle.shares([row[at] for row in rows])
        p = [oracle.shares([row[at] for row in crowd]) for _, crowd in groups]
        assert one.measures.l == min(map(len, p))
        assert one.measures.entropy_l == pytest.approx(min(map(oracle.entropy, p)))
        assert one.measures.t_equal == pytest.approx(max(oracle.equal(share, q) for share in p))
        assert one.measures.basic_beta == pytest.approx(max(oracle.basic_beta(share, q) for share in p))
        if one.measures.t_ordered is not None:
            assert one.measures.t_ordered == pytest.approx(max(oracle.ordered(share, q) for share in p))


@pytest.mark.slow
def test_a_recoded_table_is_read_as_labels(policy, tmp_path):
    """A published table holds labels where the policy declares numbers; check reads it, and says so."""
    levels = {"age": 2, "visit": 3}
    before = check(visits(2000, 5), policy, levels=levels)
    frame = visits(2000, 5).to_pandas()
    for name, level in levels.items():
        kind = "int64" if name == "age" else "datetime64[D]"
        frame[name] = policy.schema[name].hierarchy.level(level).apply(frame[name].to_numpy().astype(kind))
    published = frame.drop(columns="patient_id")
    published.to_csv(tmp_path / "table.csv", index=False)
    after = check(tmp_path / "table.csv", policy)
    assert set(after.labels) == {"age", "visit"}
    assert (after.k, after.classes, after.uniques, after.l, after.t) == (
        before.k, before.classes, before.uniques, before.l, pytest.approx(before.t),
    )  # fmt: skip
    parquet.write_table(pa.Table.from_pandas(published, preserve_index=False), tmp_path / "table.parquet")
    assert check(tmp_path / "table.parquet", policy) == after


def test_labels_of_intervals_keep_their_order():
    secret = Policy.of({
        "version": 1, "dataset": "pay", "unit": "row", "neighbours": "add_remove",
        "attributes": {
            "q": {"role": "quasi", "type": "text"},
            "pay": {"role": "confidential", "type": "integer", "domain": [0, 200], "hierarchy": {"cuts": [9, 100]}},
        },
    })  # fmt: skip
    frame = pa.table({"q": ["a", "a", "b", "b", "c", "c"], "pay": [1, 2, 10, 20, 100, 200]})
    found = check(frame, secret, levels={"pay": 1})
    # a is all of the first of three intervals: cumulative 2/3, 1/3, 0; half of it. By their texts, [100, … would be second.
    assert (found.confidential[0].distance, found.t) == ("ordered", pytest.approx(0.5))
    assert found.confidential[0].values == 3


@pytest.mark.slow
def test_domains_do_not_matter_but_levels_need_them(tmp_path):
    text = (CLINIC / "clinic.csv").read_text(encoding="utf-8").replace(",23,", ",123,", 1)
    (tmp_path / "clinic.csv").write_text(text, encoding="utf-8")
    policy = CLINIC / "policy.yaml"
    assert check(tmp_path / "clinic.csv", policy).rows == check(CLINIC / "clinic.csv", policy).rows
    with pytest.raises(DomainError, match="age"):
        check(tmp_path / "clinic.csv", policy, levels={"age": 1})


def test_missing_values_are_counted_even_where_the_policy_refuses_them():
    schema = Schema((Attribute("q", Role.QUASI, Type.TEXT, missing=Missing.REFUSE),))
    found = check(pd.DataFrame({"q": ["a", None, None, "a", "b"]}), schema)
    assert (found.classes, found.k, found.uniques) == (3, 1, 1)
    assert check(pd.DataFrame({"q": ["a", None, None, "a", "b"]}), schema, lenient=True).k == 3


@pytest.mark.parametrize(
    ("levels", "words"),
    [
        ({"nobody": 1}, "no such attribute"),
        ({"note": 1}, "neither"),
        ({"age": 9}, "no such level"),
        ({"severity": 1}, "neither"),
    ],
)
def test_levels_that_are_not_there(levels, words):
    with pytest.raises(UsageError, match=words):
        check(CLINIC / "clinic.csv", CLINIC / "policy.yaml", levels=levels)


def test_what_cannot_be_checked(tmp_path):
    only = Schema((Attribute("s", Role.CONFIDENTIAL, Type.TEXT),))
    with pytest.raises(UsageError, match="no quasi-identifier"):
        check(pd.DataFrame({"s": ["a"]}), only)
    quasi = Schema((Attribute("q", Role.QUASI, Type.INTEGER),))
    with pytest.raises(DataError, match="lacks columns"):
        check(pd.DataFrame({"s": ["a"]}), quasi)
    with pytest.raises(DataError):
        check(tmp_path / "nowhere.csv", quasi)
    with pytest.raises(UsageError, match="has no hierarchy"):
        check(pd.DataFrame({"q": [1]}), quasi, levels={"q": 1})


def test_no_number_is_not_a_number(policy):
    found = check(visits(200, 8), policy)
    assert not any(isinstance(v, float) and math.isnan(v) for v in vars(found.worst).values())


@pytest.mark.parametrize("levels", [{}, {"age": 2, "zip": 3, "diagnosis": 2, "income": 1}])
def test_engines_agree(policy, levels):
    table = visits(800, 4)
    assert check(table, policy, levels=levels, engine=OracleEngine()) == check(table, policy, levels=levels)

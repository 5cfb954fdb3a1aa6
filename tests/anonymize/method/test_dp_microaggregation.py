"""Noisy centroids of whole tables: what is published, in which form, the same for every order of rows; what is refused."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pyarrow as pa
import pytest

from shoal.anonymize.cluster.lattice import NumberLattice, lattices_of
from shoal.anonymize.method.dp_microaggregation import DPMicroaggregation, centroid_attributes
from shoal.chance.source import Source
from shoal.data.domain import Interval, Values
from shoal.data.schema import Attribute, Missing, Role, Schema, Type
from shoal.engine.base import open_engine
from shoal.errors import ParameterError, PreconditionError
from shoal.guarantee.centroids import solve_centroids
from shoal.guarantee.unit import Unit
from shoal.policy.policy import Policy
from tests.statistical.fit import fits

REPLACED = Unit.row("replace_one")
ROWS = 400


def attribute(name, kind, domain=None, role=Role.QUASI):
    return Attribute(name, role, kind, domain, missing=Missing.REFUSE)


AGE = attribute("age", Type.INTEGER, Interval(0, 100))
PAY = attribute("pay", Type.DECIMAL, Interval(0, 1000), Role.CONFIDENTIAL)
SEEN = attribute("seen", Type.DATE, Interval("2024-01-01", "2024-12-31"))
GRADE = attribute("grade", Type.ORDINAL, Values(("low", "mid", "high")))
JOB = attribute("job", Type.CATEGORY, Values(("clerk", "cook", "driver", "nurse")))
WORKS = attribute("works", Type.BOOLEAN)
WHO = Attribute("who", Role.IDENTIFIER, Type.TEXT)
MIXED = Schema((WHO, AGE, PAY, SEEN, GRADE, JOB, WORKS))
NUMERIC = Schema((WHO, AGE, PAY))


def people(rows=ROWS, seed=0):
    chance = np.random.default_rng(seed)
    age = chance.integers(0, 101, rows)
    return pa.table(
        {
            "who": [f"p{i}" for i in range(rows)],
            "age": age,
            "pay": np.round(np.minimum(1000, age * 8 + chance.gamma(2, 40, rows)), 2),
            "seen": pa.array(np.datetime64("2024-01-01") + chance.integers(0, 366, rows)),
            "grade": np.array(["low", "mid", "high"])[np.minimum(2, age // 34)],
            "job": chance.choice(["clerk", "cook", "driver", "nurse"], rows),
            "works": age > 50,
        }
    )


def solved(schema, epsilon=20, delta=0, rows=ROWS, unit=REPLACED, **asked):
    return solve_centroids(epsilon, delta, rows=rows, attributes=centroid_attributes(schema), unit=unit, **asked)


def run(schema, frame, seed=1, **asked):
    method = DPMicroaggregation.of(solved(schema, rows=len(frame), **asked), schema)
    return method.run(open_engine().scan(frame, schema), Source.seeded(seed))


KINDS = [
    {"noise": "laplace", "corners": 1},
    {"noise": "laplace"},
    {"noise": "optimal", "corners": 1},
    {"noise": "optimal", "corners": 4},
    {"noise": "gaussian", "delta": "1e-6", "corners": 1},
    {"calibration": "per_record", "k": 20},
]


@pytest.mark.slow
@pytest.mark.parametrize("asked", KINDS, ids=str)
def test_every_record_shows_a_centroid_inside_its_domain(asked):
    found = run(MIXED, people(), **asked)
    (table,) = found.tables
    shown = table.rows
    assert list(shown) == ["age", "pay", "seen", "grade", "job", "works"]
    assert {len(values) for values in shown.values()} == {ROWS}
    assert table.sizes.tolist() == [found.setting.k] * (found.setting.clusters - 1) + [found.setting.last_size]
    assert (shown["age"].dtype, shown["pay"].dtype) == (np.int64, np.float64)
    assert str(shown["seen"].dtype) == "datetime64[D]"
    assert shown["works"].dtype == np.bool_
    assert 0 <= shown["age"].min() <= shown["age"].max() <= 100
    assert 0 <= shown["pay"].min() <= shown["pay"].max() <= 1000
    assert np.datetime64("2024-01-01") <= shown["seen"].min() <= shown["seen"].max() <= np.datetime64("2024-12-31")
    assert set(shown["grade"]) <= {"low", "mid", "high"}
    assert set(shown["job"]) <= {"clerk", "cook", "driver", "nurse"}


@pytest.mark.slow
@pytest.mark.parametrize("asked", [*KINDS[:5], {"grouping": "ranking"}], ids=str)
def test_the_order_of_rows_in_the_file_changes_nothing(asked):
    schema = NUMERIC if "grouping" in asked else MIXED
    frame = people()
    other = frame.take(np.random.default_rng(5).permutation(ROWS))
    for first, second in zip(run(schema, frame, **asked).tables, run(schema, other, **asked).tables, strict=True):
        for name, values in first.columns.items():
            assert values.tolist() == second.columns[name].tolist()


@pytest.mark.slow
def test_with_little_noise_centroids_are_those_of_the_clusters():
    frame = people()
    (table,) = run(NUMERIC, frame, epsilon=600, k=50, corners=1, noise="optimal").tables
    assert table.rows["age"].mean() == pytest.approx(np.mean(frame["age"].to_numpy()), abs=0.5)
    assert np.corrcoef(table.rows["age"], table.rows["pay"])[0, 1] > 0.9


def test_ranks_give_one_table_for_each_attribute_in_rising_order():
    found = run(NUMERIC, people(), epsilon=1, grouping="ranking")
    assert [list(table.columns) for table in found.tables] == [["age"], ["pay"]]
    for table in found.tables:
        (values,) = table.columns.values()
        assert (np.diff(values) >= 0).all()


@pytest.mark.slow
def test_concepts_come_from_the_whole_hierarchy_and_follow_their_values():
    keys = {
        "role": "quasi", "type": "category", "missing": "refuse", "domain": ["lyon", "nice", "bonn", "kiel"],
        "hierarchy": {"taxonomy": {"europe": {"france": ["lyon", "nice"], "germany": ["bonn", "kiel"]}}},
    }  # fmt: skip
    head = {"version": 1, "dataset": "d", "unit": "row", "neighbours": "replace_one"}
    schema = Policy.of({**head, "attributes": {"town": keys}}).schema
    (lattice,) = lattices_of(schema)
    assert {"europe", "france", "germany", "lyon"} <= set(lattice.candidates)
    frame = pa.table({"town": ["lyon"] * 200 + ["kiel"] * 200})
    (table,) = run(schema, frame, epsilon=100, k=100).tables
    assert sorted(table.columns["town"].tolist()) == ["kiel", "kiel", "lyon", "lyon"]


def noise_of(setting, schema, draws):
    method = DPMicroaggregation.of(setting, schema)
    return np.concatenate([method._noise(setting.entries[0], Source.seeded(seed)) for seed in range(draws)])


@pytest.mark.slow
def test_the_noise_that_is_drawn_is_the_noise_that_is_promised():
    """Apart: discrete Laplace of the stated scale; along a single order the difference of two, of twice the variance."""
    schema = Schema((attribute("pay", Type.INTEGER, Interval(0, 1)),))
    apart = solved(schema, 1, k=8, corners=2, noise="laplace")
    scale = float(apart.entries[0].scale)
    drawn = noise_of(apart, schema, 400)
    assert fits(drawn, laplace_law(scale), first=-600)
    assert not fits(drawn, laplace_law(scale * 0.7), first=-600)
    assert not fits(drawn, laplace_law(scale * 1.3), first=-600)
    single = solved(schema, 1, k=8, corners=1, noise="laplace")
    differences = noise_of(single, schema, 400).astype(float)
    assert np.var(differences) == pytest.approx(4 * float(single.entries[0].scale) ** 2, rel=0.05)
    totals = differences.reshape(400, -1).sum(axis=1)  # of all clusters: again two draws
    assert np.var(totals) == pytest.approx(4 * float(single.entries[0].scale) ** 2, rel=0.3)


def laplace_law(scale):
    """The probabilities of −600, …, 600."""
    return np.tanh(0.5 / scale) * np.exp(-np.abs(np.arange(-600, 601)) / scale)


@pytest.mark.slow
@pytest.mark.parametrize(
    "asked",
    [{"noise": "laplace"}, {"noise": "optimal"}, {"noise": "gaussian", "delta": "1e-5"}, {"noise": "optimal", "epsilon": 40}],
    ids=str,
)  # fmt: skip
@pytest.mark.parametrize("corners", [1, 2])
def test_the_error_that_is_printed_is_the_error_of_the_noise(asked, corners):
    schema = Schema((attribute("pay", Type.INTEGER, Interval(0, 1000)),))
    setting = solved(schema, **({"epsilon": 2} | asked), k=20, corners=corners)
    drawn = np.abs(noise_of(setting, schema, 300))
    assert drawn.mean() == pytest.approx(setting.sum_error("pay"), rel=0.1)
    half = setting.half_width("pay") * setting.k * 1000
    assert np.mean(drawn <= half) == pytest.approx(0.95, abs=0.02)


@pytest.mark.parametrize("width", [1, 2, 7, 50])
@pytest.mark.parametrize("epsilon", ["0.5", "3", "40"])
def test_the_mean_error_is_a_bound_also_for_few_steps(width, epsilon):
    """Exact means of the distributions that are drawn: of one number, and of the difference of two."""
    schema = Schema((attribute("pay", Type.INTEGER, Interval(0, width)),))
    for corners, noise in product((1, 2), ("laplace", "optimal")):
        setting = solved(schema, epsilon, k=50, corners=corners, noise=noise)
        (entry,) = setting.entries
        if noise == "laplace":
            x = 1 / float(entry.scale)
            exact = (1 + 2 * np.cosh(x)) / (np.sinh(x) * (1 + np.cosh(x))) if corners == 1 else 1 / np.sinh(x)
        else:
            box = np.arange(4000.0)
            lengths = 2 * (entry.inner + box * entry.side) + 1
            logs = setting.nodes * np.log(lengths) - float(entry.epsilon) * box
            chances = np.exp(logs - logs.max())
            one = (lengths**2 - 1) / (3 if corners == 1 else 4) / lengths
            exact = float(chances @ one / chances.sum())
        assert 0.4 * setting.sum_error("pay") - 1 / 3 <= exact <= setting.sum_error("pay") * (1 + 1e-9)


def test_persons_have_one_row_each():
    schema = NUMERIC.with_names("who")
    frame = pa.concat_tables([people(), people()])
    unit = Unit.person("who", 1, "replace_one")
    method = DPMicroaggregation.of(solved(schema, unit=unit, k=40, noise="laplace"), schema)
    (table,) = method.run(open_engine().scan(frame, schema), Source.seeded(1)).tables
    assert table.sizes.sum() == ROWS


# --- refusals -----------------------------------------------------------------------------------------------------------------


def test_another_number_of_records_is_refused():
    method = DPMicroaggregation.of(solved(NUMERIC, rows=ROWS + 1, k=40), NUMERIC)
    with pytest.raises(PreconditionError, match="number of records"):
        method.run(open_engine().scan(people(), NUMERIC), Source.seeded(1))
    with pytest.raises(ParameterError):
        method.centroids([np.zeros(7, dtype=np.int64)] * 2, Source.seeded(1))


@pytest.mark.parametrize(
    "other",
    [
        Schema((AGE, attribute("pay", Type.DECIMAL, Interval(0, 5000)))),
        Schema((AGE,)),
        Schema((PAY, AGE)),
        Schema((AGE, PAY, WORKS)),
    ],
)
def test_a_schema_that_the_noise_was_not_solved_for_is_refused(other):
    setting = solved(NUMERIC, k=40)
    with pytest.raises(PreconditionError):
        DPMicroaggregation.of(setting, NUMERIC).check(other)


def test_an_attribute_that_may_be_missing_is_refused():
    loose = Schema((AGE, replace(PAY, missing=Missing.VALUE)))
    with pytest.raises(PreconditionError, match="may be missing"):
        centroid_attributes(loose)


def test_a_choice_solved_for_scores_that_move_less_is_refused():
    schema = Schema((JOB,))
    setting = solved(schema, k=40)
    entry = setting.entries[0]
    smaller = replace(entry, attribute=replace(entry.attribute, spread=entry.attribute.spread - 1))
    with pytest.raises(PreconditionError):
        DPMicroaggregation.of(replace(setting, entries=(smaller,)), schema)


def test_weights_are_handed_on():
    weights = {"pay": Fraction(8)}
    assert [each.weight for each in centroid_attributes(NUMERIC, weights)] == [1, 8]
    setting = solve_centroids(1, rows=ROWS, attributes=centroid_attributes(NUMERIC, weights), unit=REPLACED, k=40)
    assert isinstance(DPMicroaggregation.of(setting, NUMERIC).lattices[1], NumberLattice)

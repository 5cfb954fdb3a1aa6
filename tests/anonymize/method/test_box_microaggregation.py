"""Box microaggregation: boxes divide the domain, one record moves the numbers of one box alone, and rows keep the means."""

from __future__ import annotations

import math
from collections import Counter
from datetime import date
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2

from shoal.anonymize.method.box_microaggregation import (
    Boxes,
    BoxMicroaggregation,
    BoxSides,
    box_attributes,
    entropy_rates,
    estimate,
    moved_to,
    offsets,
    spread_nominal,
    spread_ordered,
    whole_counts,
)
from shoal.chance.source import Source
from shoal.data.schema import Schema
from shoal.engine.base import Table
from shoal.errors import DataError, DomainError, ParameterError, PreconditionError
from shoal.guarantee.differential import PureDP
from shoal.guarantee.unit import Unit
from shoal.lab.audit.run import audit
from shoal.mechanism.boxes import BoxAttribute, BoxSetting, halving_cost, solve_boxes
from shoal.policy.policy import Policy
from tests.engine.oracle import engine_named
from tests.mechanism.test_boxes import log_probabilities

ROW = Unit.row("add_remove")
HEAD = {"version": 1, "dataset": "d", "unit": "row", "neighbours": "add_remove"}
NUMBERS = {
    "a": {"role": "quasi", "type": "integer", "domain": [0, 7], "missing": "refuse"},
    "b": {"role": "quasi", "type": "integer", "domain": [10, 14], "missing": "refuse"},
}
MIXED = {
    "who": {"role": "identifier", "type": "text"},
    "pay": {"role": "confidential", "type": "decimal", "domain": [0, 1000], "missing": "refuse"},
    "seen": {"role": "quasi", "type": "date", "domain": ["2024-01-01", "2024-12-31"], "missing": "refuse"},
    "grade": {"role": "quasi", "type": "ordinal", "domain": ["low", "middle", "high"], "missing": "refuse"},
    "work": {"role": "quasi", "type": "category", "domain": ["farm", "mine", "office", "school"], "missing": "refuse"},
    "home": {"role": "quasi", "type": "boolean", "missing": "refuse"},
}


def schema_of(attributes: dict) -> Schema:
    return Policy.of({**HEAD, "attributes": attributes}).schema


def method(epsilon="1", attributes=NUMBERS, unit: Unit = ROW) -> BoxMicroaggregation:
    schema = schema_of(attributes)
    return BoxMicroaggregation.of(solve_boxes(epsilon, attributes=box_attributes(schema), unit=unit), schema)


def people(count: int, seed: int = 1) -> pa.Table:
    chance = np.random.default_rng(seed)
    office = chance.random(count) < 0.7
    return pa.table(
        {
            "who": [f"p{i // 2}" for i in range(count)],
            "pay": np.where(office, chance.normal(300, 20, count), chance.normal(80, 10, count)).round(2),
            "seen": np.datetime64("2024-03-01") + chance.integers(0, 60, count),
            "grade": chance.choice(["low", "middle", "high"], count, p=[0.1, 0.6, 0.3]).tolist(),
            "work": np.where(office, "office", chance.choice(["farm", "mine"], count)).tolist(),
            "home": office,
        }
    )


def opened(rows: pa.Table) -> Table:
    return engine_named("duckdb").scan(rows, schema_of(MIXED).with_names("who"))


# --- the tree -------------------------------------------------------------------------------------------------------------


def small_tree(scale: Fraction, bias: int, threshold: int) -> BoxSetting:
    """A setting with a tree of this noise on one attribute of eight values."""
    tree = halving_cost(scale, bias)
    return BoxSetting(
        ROW, tree + 1, (BoxAttribute("a", "ordered", 8),), scale, bias, threshold, tree, None, Fraction(1)
    )


def shape(boxes: Boxes) -> tuple:
    """The tree of some boxes of the points 0, …, 7, as `log_probabilities` names it."""
    cuts = set(boxes.low[:, 0].tolist())

    def below(low: int, high: int) -> tuple:
        middle = (low + high) // 2
        inside = any(low < cut < high for cut in cuts)
        return (below(low, middle), below(middle, high)) if inside else ()

    return below(0, 8)


def misfit(drawn: Counter, expected: dict[tuple, float], draws: int) -> float:
    """The probability of a misfit like this one, trees that are expected less than ten times put together."""
    rare = [tree for tree, log in expected.items() if math.exp(log) * draws < 10]
    groups = [[tree] for tree in expected if tree not in rare] + ([rare] if rare else [])
    statistic = 0.0
    for group in groups:
        mean = draws * sum(math.exp(expected[tree]) for tree in group)
        statistic += (sum(drawn[tree] for tree in group) - mean) ** 2 / mean
    return float(chi2.sf(statistic, len(groups) - 1))


@pytest.mark.slow
def test_trees_are_drawn_with_the_probabilities_that_the_proof_counts(effort):
    setting, records, draws = small_tree(Fraction(3), 2, 1), (0, 0, 0, 1, 5, 5), 1500 * effort
    schema = schema_of({"a": NUMBERS["a"]})
    made = BoxMicroaggregation.of(setting, schema)
    source, places = Source.seeded(5), np.array([records])
    drawn: Counter = Counter()
    for _ in range(draws):
        drawn[shape(made._halve(places, (BoxSides.ordered(setting.attributes[0]),), source)[0])] += 1
    assert misfit(drawn, log_probabilities(records, 3.0, 2, 1), draws) > 1e-6
    for impostor in ((2.0, 2, 1), (3.0, 1, 1), (3.0, 2, 2), (3.0, 2, 0)):
        assert misfit(drawn, log_probabilities(records, *impostor), draws) < 1e-6


codes = st.integers(0, 40).flatmap(
    lambda n: st.tuples(
        st.lists(st.integers(0, 7), min_size=n, max_size=n), st.lists(st.integers(0, 4), min_size=n, max_size=n)
    )
)


@given(codes, st.integers(0, 999))
def test_boxes_divide_the_domain_and_every_record_is_in_its_box(columns, seed):
    made = method("30")
    places = np.array(columns, dtype=np.int64)
    sides = tuple(BoxSides.ordered(each) for each in made.setting.attributes)
    boxes, home = made._halve(places, sides, Source.seeded(seed))
    points = np.array([(a, b) for a in range(8) for b in range(5)])
    inside = ((boxes.low[:, None] <= points) & (points < boxes.high[:, None])).all(axis=2)
    assert (inside.sum(axis=0) == 1).all()
    assert (boxes.low[home] <= places.T).all()
    assert (boxes.high[home] > places.T).all()


# --- the numbers ----------------------------------------------------------------------------------------------------------


@given(codes, st.tuples(st.integers(0, 7), st.integers(0, 4)), st.integers(0, 999), st.booleans())
def test_one_record_moves_the_numbers_of_one_box_by_at_most_its_sides(columns, more, seed, nominal):
    made = method("30")
    first, second = made.setting.attributes
    masses = np.random.default_rng(seed).random(5) + 0.01
    sides = (
        BoxSides.ordered(first),
        BoxSides.of_masses(second, masses) if nominal else BoxSides.ordered(second),
    )
    wider = np.array([[*column, own] for column, own in zip(columns, more, strict=True)], dtype=np.int64)
    boxes, home = made._halve(wider, sides, Source.seeded(seed))
    after = made._numbers(wider, sides, boxes, home)
    before = made._numbers(wider[:, :-1], sides, boxes, home[:-1])
    moved = np.abs(after - before)
    assert np.count_nonzero(moved.any(axis=1)) == 1
    assert moved[:, 0].max() == made.setting.side
    assert moved.max() <= made.setting.side


def test_the_largest_moves_are_those_of_records_at_the_ends():
    side = BoxSides.ordered(BoxAttribute("a", "ordered", 100))
    low, high = np.array([0, 0, 0, 3, 50]), np.array([100, 100, 100, 6, 51])
    assert offsets(np.array([0, 99, 50, 4, 50]), low, high, side, 1024).tolist() == [-1024, 1024, 10, 0, 0]


@pytest.mark.parametrize("extra", [0, 3, 4, 7])
def test_neighbours_are_as_near_as_promised_outcome_by_outcome(extra):
    """Tree and numbers together on eight points: every tree, and numbers around both tables' own."""
    setting, records = small_tree(Fraction(3), 2, 1), (0, 0, 3, 7, 7, 7)
    made = BoxMicroaggregation.of(setting, schema_of({"a": NUMBERS["a"]}))
    sides = (BoxSides.ordered(setting.attributes[0]),)
    worst = 0.0
    chance = np.random.default_rng(extra)
    trees = [log_probabilities(each, 3.0, 2, 1) for each in (records, (*records, extra))]
    for seed in range(60):
        boxes, _ = made._halve(np.array([records]), sides, Source.seeded(seed))
        exact = []
        for each in (records, (*records, extra)):
            home = np.searchsorted(np.sort(boxes.low[:, 0]), each, side="right") - 1
            home = np.argsort(boxes.low[:, 0])[home]
            exact.append(made._numbers(np.array([each]), sides, boxes, home))
        shift = (
            exact[0]
            + setting.noise.draw(Source.seeded(seed), len(boxes))
            + chance.integers(-3, 4, exact[0].shape) * 512
        )
        logs = [np.log(setting.noise.pmf(shift - own)).sum() for own in exact]
        worst = max(worst, abs(trees[1][shape(boxes)] - trees[0][shape(boxes)] + logs[1] - logs[0]))
    assert 0.9 < worst <= float(setting.epsilon) * (1 + 1e-12)


@pytest.mark.slow
def test_an_audit_contradicts_a_smaller_claim_and_not_ours(effort):
    """All that is published, with and without one record at the far end of the domain, beside five others."""
    made = method("3", {"a": NUMBERS["a"]})

    def run(data: np.ndarray, source: Source, runs: int) -> np.ndarray:
        found = []
        for _ in range(runs):
            measured = made.measure([data], source)
            last = measured.numbers[np.argmax(measured.boxes.high[:, 0])]
            found.append([*last, len(measured.boxes), measured.numbers[:, 0].sum()])
        return np.array(found, dtype=np.float64)

    without = np.array([0, 0, 0, 1, 1])
    result = audit(run, (np.append(without, 7), without), made.setting.claimed, seed=8, runs=400 * effort, trials=200)
    assert result.contradicts(PureDP("0.5"))
    assert not result.refuted


def test_the_order_of_rows_plays_no_part():
    made, chance = method("2"), np.random.default_rng(4)
    columns = [chance.integers(0, 8, 200), chance.integers(0, 5, 200)]
    turned = chance.permutation(200)
    one = made.measure(columns, Source.seeded(9))
    other = made.measure([column[turned] for column in columns], Source.seeded(9))
    assert np.array_equal(one.numbers, other.numbers)
    assert np.array_equal(one.boxes.low, other.boxes.low)


# --- rows -----------------------------------------------------------------------------------------------------------------


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20), st.integers(1, 10**6))
def test_rates_give_the_means_that_are_wanted(means, last):
    wanted = np.array(means)
    rates = entropy_rates(wanted, np.full(len(wanted), last))
    places = np.arange(min(last, 2000) + 1)
    if last <= 2000:
        weights = np.exp((places - last) * rates[:, None])
        found = (weights @ places) / weights.sum(axis=1) * 2 / last - 1
        assert np.allclose(found, np.minimum(wanted, 0.995), atol=2e-4)


@pytest.mark.parametrize(("low", "high"), [(0, 2), (5, 12), (100, 100_100)])
@pytest.mark.parametrize("mean", [-0.9, -0.3, 0.0, 0.5, 0.99])
def test_rows_of_a_box_have_its_mean(low, high, mean):
    count = 4000
    side = BoxSides.ordered(BoxAttribute("a", "ordered", 200_000))
    shares = (np.arange(count) + 0.5) / count
    home = np.zeros(count, dtype=np.int64)
    places = spread_ordered(home, shares, np.array([low]), np.array([high]), np.array([mean]), side)
    assert low <= places.min() <= places.max() < high
    half = (high - 1 - low) / 2
    assert (places.mean() - (low + half)) / half == pytest.approx(mean, abs=0.003)


def test_values_of_a_box_are_as_common_as_their_parts_and_masses_say():
    side = BoxSides.of_masses(BoxAttribute("w", "nominal", 4), np.array([10.0, 40.0, 20.0, 30.0]))
    assert side.order.tolist() == [1, 3, 2, 0]
    count = 1000
    shares, home = (np.arange(count) + 0.5) / count, np.zeros(count, dtype=np.int64)
    places = spread_nominal(home, shares, np.array([0]), np.array([4]), np.array([0.2]), side)
    # The first part is the most common value alone (0.4 against 0.6), with (1 − 0.2) / 2 of the rows.
    assert np.bincount(places).tolist() == [400, 300, 200, 100]
    alone = spread_nominal(home, shares, np.array([2]), np.array([3]), np.array([0.9]), side)
    assert set(alone.tolist()) == {2}


@given(st.lists(st.floats(0, 1000), min_size=1, max_size=50))
def test_whole_counts_add_up(counts):
    found = whole_counts(np.array(counts))
    assert (
        found.sum() == max(1, math.floor(math.fsum(counts) + 0.5 + 1e-9))
        or abs(found.sum() - sum(counts)) <= 0.5 + 1e-6
    )
    assert (found >= 0).all()
    assert (np.abs(np.cumsum(found)[:-1] - np.cumsum(counts)[:-1]) <= 0.5 + 1e-6).all()


def test_noise_in_empty_boxes_is_nobody():
    setting = method("1").setting
    numbers = np.zeros((50, 3), dtype=np.int64)
    numbers[:, 0] = setting.noise.draw(Source.seeded(2), 50)[:, 0]
    numbers[7, 0] += 500 * setting.side
    numbers[7, 1] = 100 * setting.side
    sides = np.arange(100, dtype=np.int64).reshape(50, 2)
    counts, means = estimate(numbers, Boxes(sides, sides + 7), setting)
    assert np.count_nonzero(counts) <= 5
    assert counts[7] > 0.9 * counts.sum()
    assert means[7, 0] == pytest.approx(0.2, rel=0.15)
    empty, _ = estimate(np.full((4, 3), -5000, dtype=np.int64), Boxes(sides[:4], sides[:4] + 7), setting)
    assert empty.sum() == pytest.approx(1)


def test_means_that_noise_drowns_come_from_all_boxes_with_the_same_side():
    """Sixty boxes of 20 records, all of which lie low along one side: each mean is mostly noise, and all together is not."""
    setting = method("1").setting
    low, high = np.zeros((60, 2), dtype=np.int64), np.full((60, 2), 100, dtype=np.int64)
    low[:, 1] = np.arange(60)
    high[:, 1] = low[:, 1] + 1
    truth, found = -0.8, []
    for seed in range(30):
        numbers = np.array(setting.noise.draw(Source.seeded(seed), 60)[:, :3])
        numbers[:, 0] += 20 * setting.side
        numbers[:, 1] += round(truth * 20 * setting.side)
        counts, means = estimate(numbers, Boxes(low, high), setting)
        assert (np.abs(means) <= 1).all()
        found.append(counts @ means[:, 0] / counts.sum())
    # The mean of all boxes has the noise of sixty sums over 1,200 records; a pull to the middle of each box would leave -0.5.
    assert np.mean(found) == pytest.approx(truth, abs=4 * setting.deviation * 60**0.5 / 1200 / 30**0.5 + 0.01)


def test_means_are_moved_as_far_as_it_takes():
    """Three boxes far below their ends, as large noise makes them: they get the mean of all boxes like them, and stay inside."""
    group, counts = np.array([0, 0, 0, 1]), np.array([30.0, 20.0, 50.0, 0.0])
    moved = moved_to(np.array([0.9, 0.3]), np.array([-4.0, -1.5, -3.0, 0.2]), counts, group, 2)
    assert (np.abs(moved) <= 1).all()
    assert counts @ moved / counts.sum() == pytest.approx(0.9, abs=1e-6)


# --- tables ---------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_table_of_every_type():
    rows = people(3000)
    outcome = method("20", MIXED).run(opened(rows), Source.seeded(1))
    (table,) = outcome.tables
    shown = table.rows
    assert set(shown) == set(MIXED) - {"who"}
    assert abs(len(shown["pay"]) - 3000) < 100
    assert np.mean(shown["pay"]) == pytest.approx(np.mean(rows["pay"].to_numpy()), rel=0.02)
    days = shown["seen"].astype("datetime64[D]").astype(object)
    assert date(2024, 1, 1) <= min(days) <= max(days) <= date(2024, 12, 31)
    assert set(shown["grade"]) <= {"low", "middle", "high"}
    assert shown["home"].dtype == np.bool_
    assert np.mean(shown["home"]) == pytest.approx(0.7, abs=0.03)
    # What goes together stays together: offices pay more.
    office = shown["work"] == "office"
    assert np.median(shown["pay"][office]) > 250
    assert np.median(shown["pay"][~office]) < 150


def test_as_many_rows_of_a_unit_as_it_may_have():
    unit = Unit.person("who", 1, "add_remove")
    outcome = method("50", MIXED, unit).run(opened(people(2000)), Source.seeded(1))
    assert abs(len(outcome.tables[0].rows["pay"]) - 1000) < 50


def test_an_empty_table_has_a_release_too():
    outcome = method("1", MIXED).run(opened(people(0).cast(people(1).schema)), Source.seeded(1))
    assert len(outcome.tables[0].rows["pay"]) >= 1


def test_what_cannot_be_measured_is_refused():
    with pytest.raises(PreconditionError, match="missing"):
        method(attributes={"a": {**NUMBERS["a"], "missing": "value"}})
    with pytest.raises(PreconditionError, match="no declared domain"):
        method(attributes={"a": {"role": "quasi", "type": "integer", "missing": "refuse"}})
    made = method()
    with pytest.raises(PreconditionError, match="other attributes"):
        made.check(schema_of({**NUMBERS, "b": {**NUMBERS["b"], "domain": [10, 15]}}))
    with pytest.raises(PreconditionError, match="other attributes"):
        made.check(schema_of({"a": NUMBERS["a"]}))
    with pytest.raises(ParameterError, match="one length"):
        made.measure([np.zeros(3, np.int64), np.zeros(4, np.int64)], Source.seeded(1))
    with pytest.raises(DomainError, match="outside its domain"):
        made.lattices[0].codes(np.array([9]))
    with pytest.raises(DataError, match="missing"):
        made.lattices[0].codes(np.ma.array([1, 2], mask=[False, True]))

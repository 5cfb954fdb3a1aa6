"""Every error that a price or an answer states holds as often as it says: by the exact laws, and with impostors that fail.

An impostor states 70 % of what is stated. It must be caught wherever the statement is not generous by design (a union bound).
"""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import product

import numpy as np
import pandas as pd
import pytest

from shoal.chance.source import Source
from shoal.engine.base import open_engine
from shoal.guarantee.unit import Unit
from shoal.policy.policy import Policy
from shoal.query.answer import Answer
from shoal.query.dataset import bound_rows
from shoal.query.price import CONFIDENCE, Error, offer
from shoal.query.prior import resolve_prior
from shoal.query.questions.count import Count
from shoal.query.questions.moments import Mean, Sum, Variance
from shoal.query.questions.person import ValueOf
from shoal.query.questions.quantile import RANK, Bounds, Quantile
from shoal.query.questions.tables import Histogram
from shoal.query.questions.workload import Workload
from tests.query.asking import SURE, opened, rich, table
from tests.query.ranks import every_score
from tests.statistical.fit import least_hits

SMALL = 0.7
"""What the impostor states of every width."""
HEAD = {"version": 1, "dataset": "d"}
ATTRIBUTES = {
    "who": {"role": "identifier", "type": "integer"},
    "x": {"role": "quasi", "type": "integer", "domain": [0, 6], "missing": "value"},
    "y": {"role": "quasi", "type": "decimal", "domain": [0, 2], "outside": "clamp"},
    "z": {"role": "quasi", "type": "category", "domain": ["a", "b", "c"]},
    "day": {"role": "quasi", "type": "date", "domain": ["2024-01-01", "2024-01-09"]},
    "grade": {"role": "quasi", "type": "ordinal", "domain": ["low", "middle", "high"]},
    "wide": {"role": "quasi", "type": "decimal", "domain": [0, 1000000]},
    "big": {"role": "quasi", "type": "integer", "domain": [0, 9000]},
    "flag": {"role": "quasi", "type": "boolean", "missing": "refuse"},
}
UNITS = {
    "row": ("row", "add_remove"),
    "replaced row": ("row", "replace_one"),
    "person": ({"column": "who", "max_rows": 1}, "add_remove"),
    "three rows": ({"column": "who", "max_rows": 3}, "replace_one"),
}


def policy(unit: str = "row") -> Policy:
    whose, neighbours = UNITS[unit]
    return Policy.of({**HEAD, "unit": whose, "neighbours": neighbours, "attributes": ATTRIBUTES})


def offered(question, unit="row", epsilon="1.5", mechanism="laplace"):
    own = policy(unit)
    delta = "1e-3" if mechanism == "gaussian" else 0
    return offer(question.resolve(own.schema, own.unit), epsilon, delta, mechanism)


def lattice(noise, rest=1e-6):
    """Every offset of the noise that matters, in steps, with its probability; what is left out weighs less than `rest`."""
    reach = noise.tail_steps(1 - rest / noise.components) + 1
    axes = [np.arange(-far, far + 1) for far in reach.tolist()]
    offsets = np.stack([each.ravel() for each in np.meshgrid(*axes, indexing="ij")], axis=-1)
    chances = noise.pmf(offsets)
    assert 1 - 2 * rest < chances.sum() < 1 + 1e-9
    return offsets, chances


# --- numbers with noise ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mechanism", ["laplace", "optimal", "gaussian"])
@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("question", [Count("x > 2"), Sum("x"), Sum("y", step="0.5")], ids=["count", "sum", "steps"])
def test_one_number(question, unit, mechanism):
    made = offered(question, unit, "0.3", mechanism)
    offsets, chances = lattice(made.noise)
    (error,) = made.errors
    off = np.abs(offsets[:, 0]) * float(made.query.grid[0])
    assert chances[off <= error.within + 1e-9].sum() >= CONFIDENCE - 1e-9
    assert chances[off <= SMALL * error.within].sum() < CONFIDENCE
    assert error.expected == pytest.approx(chances @ off, rel=1e-3)


@pytest.mark.parametrize("mechanism", ["laplace", "optimal", "gaussian"])
@pytest.mark.parametrize("unit", ["row", "three rows"])
@pytest.mark.parametrize(
    "question",
    [Histogram("flag"), Workload([Count(), Sum("x")])],
    ids=["histogram", "together"],
)
def test_several_numbers_each_by_itself_and_all_at_once(question, unit, mechanism):
    made = offered(question, unit, 2, mechanism)
    offsets, chances = lattice(made.noise, 1e-5)
    off = np.abs(offsets) * np.array([float(step) for step in made.query.grid])
    errors = made.errors * made.query.components if len(made.errors) == 1 else made.errors
    held = np.stack([off[:, j] <= error.within + 1e-9 for j, error in enumerate(errors)])
    for one in held:
        assert chances[one].sum() >= CONFIDENCE - 2e-5
    if mechanism == "laplace":
        assert chances[held.all(axis=0)].sum() < CONFIDENCE  # which is why there is a second number
    at_once = np.stack([off[:, j] <= error.at_once + 1e-9 for j, error in enumerate(errors)]).all(axis=0)
    assert chances[at_once].sum() >= CONFIDENCE - 2e-5
    shrunk = np.stack([off[:, j] <= SMALL * error.at_once for j, error in enumerate(errors)]).all(axis=0)
    assert chances[shrunk].sum() < CONFIDENCE


def test_cells_that_err_differently_are_told_at_most():
    many = Workload([Histogram("big", edges=tuple(str(9 * i) for i in range(1, 40))), Sum("x"), Sum("wide")])
    (error,) = offered(many).errors
    assert error.name == "each of 42 numbers" or error.how == "bound"
    assert error.how == "bound"


# --- means and variances: an interval from what was drawn -------------------------------------------------------------


def covered(made, truth, value, shrink=1.0):
    """The probability that the interval of the answer holds the value, over every draw of the noise."""
    offsets, chances = lattice(made.noise, 1e-5)
    total = 0.0
    for offset, chance in zip(offsets, chances, strict=True):
        drawn = made.outcome(truth + offset)
        low, high = drawn.errors[-1].low, drawn.errors[-1].high
        assert low <= drawn.value <= high
        if shrink < 1:
            low, high = drawn.value - shrink * (drawn.value - low), drawn.value + shrink * (high - drawn.value)
        total += chance * (low <= value <= high)
    return total


def sums(made, values):
    """The exact components of a mean or variance of whole values in 0..6, and what they are components of."""
    part, given = made.query.parts[0], np.array(values)
    if part.size == 2:
        return np.array([(given - part.grid.low).sum(), (part.grid.high - given).sum()]), np.mean(values)
    far = given - part.middle
    return np.array([len(values), int(far.sum()), int((part.squares(far) - part.base).sum())]), np.var(values)


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", ["laplace", "optimal", "gaussian"])
@pytest.mark.parametrize("values", [[6], [3] * 10 + [2, 4], [0] * 4, [6, 0, 6, 6, 1] * 8])
def test_the_interval_of_a_mean_holds_it(values, mechanism):
    made = offered(Mean("x"), "row", 4, mechanism)
    assert covered(made, *sums(made, values)) >= CONFIDENCE - 2e-5


@pytest.mark.slow
@pytest.mark.parametrize("unit", ["replaced row", "person", "three rows"])
@pytest.mark.parametrize("mechanism", ["laplace", "optimal", "gaussian"])
def test_the_interval_of_a_mean_holds_it_for_every_unit(unit, mechanism):
    made = offered(Mean("x"), unit, 12 if unit == "three rows" else 4, mechanism)
    for values in ([6], [1, 5, 2, 2] * 5):
        assert covered(made, *sums(made, values)) >= CONFIDENCE - 2e-5


@pytest.mark.slow
def test_a_smaller_interval_of_a_mean_is_caught():
    made = offered(Mean("x"), "row", 4)
    truth, value = sums(made, [3] * 400 + [2, 4])
    assert covered(made, truth, value, SMALL / 2) < CONFIDENCE <= covered(made, truth, value)


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", ["laplace", "optimal"])
def test_the_interval_of_a_variance_holds_it(mechanism):
    made = offered(Variance("x"), "row", 12, mechanism)
    for values in ([6], [3] * 10 + [2, 4], [0, 6] * 3):
        assert covered(made, *sums(made, values)) >= CONFIDENCE - 2e-5


@pytest.mark.slow
@pytest.mark.parametrize(("question", "truth"), [(Mean("big"), np.mean), (Variance("big"), np.var)])
def test_intervals_hold_where_squares_are_rounded_and_noise_is_wide(question, truth, effort):
    values = np.random.default_rng(1).integers(0, 9001, 3000)
    frame = open_engine("duckdb").scan(_frame(big=values), policy().schema)
    for mechanism in ("laplace", "optimal", "gaussian"):
        made = offered(question, "row", "0.5", mechanism)
        exact = made.query.truth(frame)
        hits = []
        with Source.seeded(5) as source:
            for noise in made.noise.noise(source, 100 * effort):
                drawn = made.outcome(exact + noise)
                hits.append(drawn.errors[-1].low <= truth(values) <= drawn.errors[-1].high)
        assert np.mean(hits) >= CONFIDENCE


def test_a_mean_of_dates_has_dates_around_it():
    made = offered(Mean("day"), "row", 3)
    days = pd.to_datetime(["2024-01-02", "2024-01-03", "2024-01-09"] * 20).date
    frame = open_engine("duckdb").scan(_frame(day=days), policy().schema)
    with Source.seeded(2) as source:
        drawn = made.draw(frame, source)
    interval = drawn.errors[-1]
    assert interval.low <= min("2024-01-04", drawn.value) <= max("2024-01-05", drawn.value) <= interval.high
    assert Error.from_json(json.loads(json.dumps(drawn.errors[-1].to_json()))) == drawn.errors[-1]


def test_before_the_answer_nothing_is_said_of_a_mean(tmp_path):
    with opened(tmp_path) as asking:
        last = asking.price(Mean("age"), "0.1").errors[-1]
        assert (last.name, last.expected, last.within, last.low, last.how) == ("mean", None, None, None, "later")


# --- quantiles ------------------------------------------------------------------------------------------------------------


def rank_errors(made, values, q="1/2"):
    """By hand: by how many rows one side of each candidate is too heavy."""
    share, n = float(Fraction(q)), len(values)
    points = np.arange(made.query.candidates.low, made.query.candidates.high + 1)
    below = np.searchsorted(values, points, side="left")
    above = n - np.searchsorted(values, points, side="right")
    return np.maximum(0.0, np.maximum(below - share * n, above - (1 - share) * n))


def chances_of(made, values, name="quantile", column="big"):
    """The exact probability of each candidate, for one target; of an end the open one comes first."""
    target = next(each for each in made.query.targets if each.name == name)
    shift = made.query.shift(target, made.epsilon)
    return made.choice(target).probabilities(every_score(made.query, scanned(column, values), name, shift))


@pytest.mark.slow
@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("q", ["1/2", "0", "0.99", "1/3"])
@pytest.mark.parametrize("interval", [False, True])
def test_the_rank_of_a_quantile(q, unit, interval):
    made = offered(Quantile("big", q, interval=interval), unit, "0.5", "exponential")
    error = made.errors[0]
    assert (error.name, len(made.errors)) == (RANK, 1 + interval)
    values = np.sort(np.random.default_rng(2).integers(0, 9001, 500))
    chances = chances_of(made, values)
    assert chances[rank_errors(made, values, q) <= error.within].sum() >= CONFIDENCE


@pytest.mark.slow
def test_a_smaller_rank_error_is_caught():
    made = offered(Quantile("big", "1/2", interval=False), "row", "0.5", "exponential")
    (error,) = made.errors
    values = np.full(int(2 * SMALL * error.within) + 1, 4500)
    chances, off = chances_of(made, values), rank_errors(made, values)
    assert chances[off <= error.within].sum() >= CONFIDENCE > chances[off <= SMALL * error.within].sum()


def holds(made, values, q, shift=None):
    """The exact probability that both ends lie beyond all q-quantiles of the rows, each for itself: (lower, upper)."""
    zero = np.flatnonzero(rank_errors(made, values, q) == 0) + made.query.candidates.low
    points = np.arange(made.query.candidates.low, made.query.candidates.high + 1)
    found = []
    for name, beyond, open_end in (("low", points <= zero[0], points[0]), ("high", points >= zero[-1], points[-1])):
        target = next(each for each in made.query.targets if each.name == name)
        own = made.query.shift(target, made.epsilon) if shift is None else shift
        scores = every_score(made.query, scanned("big", values), name, own)
        chances = made.choice(target).probabilities(scores)
        assert open_end in (points[0], points[-1])
        found.append(chances[0] + chances[1:][beyond].sum())  # the open end is the end of the domain
    return found


@pytest.mark.slow
@pytest.mark.parametrize("unit", ["row", "three rows"])
@pytest.mark.parametrize("q", ["1/2", "0.05", "1"])
@pytest.mark.parametrize("rows", [1, 80, 1001])
def test_both_ends_of_a_quantile_lie_on_their_sides(q, unit, rows):
    """Each end fails in at most 1 of 40 cases, by the exact law, so the interval in at most 1 of 20."""
    made = offered(Quantile("big", q), unit, "1", "exponential")
    spread = np.sort(np.random.default_rng(rows).normal(4500, 700, rows).clip(0, 9000).astype(int))
    for values in (spread, np.full(rows, 4500), np.sort(np.arange(rows) % 3 * 4500)):
        assert min(holds(made, values, q)) >= 1 - (1 - CONFIDENCE) / 2 - 1e-9


@pytest.mark.slow
def test_ends_that_are_not_moved_far_enough_are_caught():
    made = offered(Quantile("big", "1/2"), "row", "1", "exponential")
    target = made.query.targets[1]
    values = np.full(int(0.5 * made.query.shift(target, made.epsilon)), 4500)
    assert min(holds(made, values, "1/2", shift=0)) < CONFIDENCE


def test_a_decimal_quantile_is_limited_in_rank_though_its_values_lie_anywhere():
    """All rows lie within one part in ten thousand of the domain; every multiple of the step is a candidate."""
    made = offered(Quantile("wide", "1/2", interval=False), "row", 1, "exponential")
    (error,) = made.errors
    assert error.name == RANK
    table = scanned("wide", np.full(400, 50.5))
    with Source.seeded(5) as source:
        assert made.draw(table, source).value == pytest.approx(50.5, abs=float(made.query.candidates.grid.step))
    assert any("rounded to the nearest multiple" in each for each in made.scope)


@pytest.mark.parametrize("rows", [3, 400])
def test_bounds_hold_the_share_of_the_rows(rows):
    """The law of each end, enumerated: at most half of what is left of the share lies beyond it, in 39 of 40 cases."""
    made = offered(Bounds("big", "0.9"), "row", "2", "exponential")
    assert made.errors == ()
    values = np.sort(np.random.default_rng(rows).integers(3000, 6000, rows))
    points = np.arange(0, 9001)
    below = np.searchsorted(values, points, side="left")
    above = rows - np.searchsorted(values, points, side="right")
    for name, beyond in (("low", below), ("high", above)):
        chances = chances_of(made, values, name)
        assert chances[0] + chances[1:][beyond <= rows / 20].sum() >= 1 - (1 - CONFIDENCE) / 2 - 1e-9
    with Source.seeded(1) as source:
        drawn = made.draw(scanned("big", values), source).value
    assert 0 <= drawn["low"] < drawn["high"] <= 9000


def test_an_ordinal_quantile_is_among_all_its_values():
    made = offered(Quantile("grade", "1/2"), "row", 1, "exponential")
    assert made.errors[0].name == RANK
    assert made.scope == ("rows without a value of 'grade' take no part",)


# --- what is refined from a prior -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("epsilon", "delta"), [(1, 0), ("0.1", 0), (1, "0.01")])
def test_the_expected_distance_of_a_refined_answer(epsilon, delta):
    own = policy("person")
    prior = {"0": "0.1", "1": "0.4", "3": "0.3", "6": "0.2"}
    asked = ValueOf("7", "x").resolve(own.schema, own.unit)
    made = offer(asked, epsilon, delta, "refinement", resolve_prior(prior, asked))
    (error,) = made.errors
    masses = {int(value): float(mass) for value, mass in prior.items()}
    exact = 0.0
    for truth, mass in masses.items():
        law = made.refinement.distribution(truth).masses
        exact += mass * sum(float(chance) * abs(value - truth) for value, chance in law.items())
    assert (error.expected, error.how) == (pytest.approx(exact, rel=1e-9), "exact")


# --- what the numbers are about -----------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_rows_beyond_the_bound_are_not_counted_and_the_answer_says_so(tmp_path):
    """Two rows of each of 100 people, of which one takes part."""
    rows = table(200).assign(patient=[i // 2 for i in range(200)])
    one = rich(unit={"column": "patient", "max_rows": 1})
    with opened(tmp_path, one, rows) as asking:
        price, found = asking.price(Count(), SURE), asking.ask(Count(), SURE)
        assert found.value == 100
        said = "at most 1 row of each 'patient', chosen at random; further rows are not counted"
        for told in (price.scope, found.scope, asking.ask(Count(), SURE).scope):
            assert told[0].startswith(said)
            assert "not the number" in told[0]
        assert found.to_json()["scope"] == list(found.scope)
        assert price.to_json()["questions"][0]["scope"] == list(price.scope)
    with opened(tmp_path / "other", rich(), table()) as asking:
        assert asking.price(Count(), SURE).scope == ()


def test_what_happens_to_values_is_said():
    assert offered(Sum("x")).scope == ("rows without a value of 'x' take no part",)
    clamped, rounded = offered(Sum("y", step="0.5")).scope[-2:]
    assert clamped == "values of 'y' outside its domain count as its nearest end"
    assert rounded == "each value of 'y' rounded to the nearest multiple of 0.5"
    assert offered(Histogram("z")).scope == ()


def test_a_record_of_the_first_version_loses_what_was_false_in_it():
    saved = {
        "version": 1, "question": {"kind": "mean"}, "value": 3, "mechanism": "laplace", "epsilon": "1", "delta": "0",
        "errors": [
            {"of": "count", "expected": 1.0, "within_95": 3.0, "how": "exact"},
            {"of": "mean", "expected": 1.0, "within_95": None, "how": "about"},
            {"of": "rank", "expected": None, "within_95": 12.2, "how": "exact"},
        ], "theorems": [],
    }  # fmt: skip
    assert Answer.from_content(json.dumps(saved).encode(), 1).errors == (Error("count", 1.0, 3.0),)


# --- whole draws on a table with everything in it ---------------------------------------------------------------------------


def _frame(**columns):
    count = len(next(iter(columns.values())))
    filled = {
        "who": range(count), "x": [1] * count, "y": [1.0] * count, "z": ["a"] * count,
        "day": [pd.Timestamp("2024-01-01").date()] * count, "grade": ["low"] * count, "wide": [1.0] * count,
        "big": [1] * count, "flag": [True] * count,
    }  # fmt: skip
    return pd.DataFrame({**filled, **columns})


def scanned(column, values):
    return open_engine("duckdb").scan(_frame(**{column: values}), policy().schema)


@pytest.mark.slow
@pytest.mark.parametrize("unit", UNITS)
def test_drawn_answers_hold_what_they_state(unit, effort):
    """Missing values, values that are clamped, up to five rows of a person; the truth by pandas, on the rows that take part."""
    chance, own = np.random.default_rng(4), policy(unit)
    count = 600
    data = _frame(
        who=chance.integers(0, 200, count),
        x=pd.array(np.where(chance.random(count) < 0.1, None, chance.integers(0, 7, count)), dtype="Int64"),
        y=np.round(chance.normal(1, 1, count) * 2) / 2,
        z=chance.choice(list("abc"), count),
    )
    with Source.seeded(1) as source:
        taking = bound_rows(open_engine("duckdb").scan(data, own.schema.with_names(own.unit.column)), own.unit, source)
    held = pd.DataFrame({name: taking.collect([name])[name] for name in ("x", "y", "z")})
    x = np.ma.compressed(taking.collect(["x"])["x"])
    asked = {
        Count("x > 2"): int((x > 2).sum()),
        Sum("y", step="0.5"): float(np.clip(held["y"], 0, 2).sum()),
        Mean("x"): float(np.mean(x)),
        Variance("x"): float(np.var(x)),
    }
    draws = 500 * effort
    for (question, truth), mechanism in product(asked.items(), ("laplace", "optimal")):
        made = offered(question, unit, "0.5", mechanism)
        exact, hits = made.query.truth(taking), []
        with Source.seeded(9) as source:
            for noise in made.noise.noise(source, draws):
                drawn = made.outcome(exact + noise)
                error = drawn.errors[-1]
                inside = error.low <= truth <= error.high if error.low is not None else None
                hits.append(abs(drawn.value - truth) <= error.within + 1e-9 if inside is None else inside)
        assert sum(hits) >= least_hits(draws, CONFIDENCE)


def test_units_are_what_the_cases_say():
    assert policy("three rows").unit == Unit.person("who", 3, "replace_one")
    assert Fraction(offered(Count(), "three rows").query.linf_steps[0]) == 3

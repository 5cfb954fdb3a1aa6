"""Models trained on a release: real relations are learned, shuffled ones are not, and tables that agree are not told apart."""

from __future__ import annotations

import numpy as np
import pytest

from shoal.assess.utility.learning import _area, _delong, learn, tell_apart
from shoal.assess.utility.report import assess_utility, steps_of
from shoal.chance.source import Source
from shoal.errors import UsageError
from tests.assess.utility.test_marginals import table


def people(source, rows):
    ages = source.integers(10, rows)
    sexes = np.where((ages + source.integers(4, rows)) > 5, "m", "f")
    return ages, sexes, 50.0 * ages + source.integers(100, rows)


@pytest.mark.slow
def test_what_a_release_keeps_is_learned_and_what_it_shuffles_is_not():
    with Source.seeded(8) as source:
        original = table(*people(source, 900))
        alike = table(*people(source, 900), original)
        ages, sexes, pays = people(source, 900)
        shuffled = table(ages, sexes[source.permutation(900)], pays, original)
        good = learn(original, alike, "sex", source)
        bad = learn(original, shuffled, "sex", source)
    assert good is not None
    assert bad is not None
    for one in good.models:
        assert one.original.low > 0.8
        assert abs(one.loss) < 0.08
    for one in bad.models:
        assert one.released.high < 0.75
    assert good.control is False


@pytest.mark.slow
def test_tables_of_one_law_are_not_told_apart_and_a_shifted_one_is():
    with Source.seeded(9) as source:
        original = table(*people(source, 600))
        alike = table(*people(source, 600), original)
        ages, sexes, pays = people(source, 600)
        shifted = table(np.minimum(9, ages + 3), sexes, pays, original)
        same, other = tell_apart(original, alike, source), tell_apart(original, shifted, source)
    assert same is not None
    assert other is not None
    with Source.seeded(9) as source:
        copied = tell_apart(original, original, source)
    assert copied is not None
    assert copied.pmse.value == 0
    assert copied.area.high < 0.5  # a row that a model has learned is in the other table too
    assert same.pmse.value < 0.02
    assert same.area.low < 0.55
    assert other.pmse.low > 0.05
    assert other.area.low > 0.7


def test_the_area_under_a_curve_by_hand_and_its_interval():
    """DeLong 1988: pairs (positive above negative) are counted; here 5 of 6, ties half."""
    area, error = _delong(np.array([0.9, 0.6]), np.array([0.1, 0.7, 0.2]))
    assert area == pytest.approx(5 / 6)
    # Placements of positives 1 and 2/3, of negatives 1, 1/2 and 1: variances 1/18 and 1/12.
    assert error == pytest.approx((1 / 18 / 2 + 1 / 12 / 3) ** 0.5)
    truth, scores = np.array([1, 1, 0, 0, 0]), np.array([0.9, 0.6, 0.1, 0.7, 0.2])
    assert _area(truth, np.stack([1 - scores, scores], axis=1), "m").value == pytest.approx(5 / 6)


def test_an_area_without_an_error_on_few_records_is_not_certain():
    """Four of four independent pairs in order: the lower bound of Clopper and Pearson is 0.025^(1/4)."""
    truth, scores = np.array([0, 0, 0, 0, 1, 1, 1, 1, 1]), np.arange(9) / 10
    found = _area(truth, np.stack([1 - scores, scores], axis=1), "m")
    assert (found.value, found.high) == (1.0, 1.0)
    assert found.low == pytest.approx(0.025**0.25)


def test_the_interval_of_a_large_area_on_few_records_holds_nearly_as_often_as_it_says():
    """Normal scores of 10 and 40 records with area 0.95; the same interval without the logit holds in 80 % of cases."""
    rng, truth = np.random.default_rng(1), np.repeat([1, 0], [10, 40])
    shift, held = 1.6448536 * 2**0.5, 0
    for _ in range(200):
        scores = rng.normal(shift * truth, 1)
        found = _area(truth, np.stack([-scores, scores], axis=1), "m")
        held += found.low <= 0.95 <= found.high
    assert held >= 182


def test_a_constant_target_and_one_that_is_not_there():
    with Source.seeded(1) as source:
        flat = table([1] * 50, ["f"] * 50, [1.0] * 50)
        assert learn(flat, flat, "sex", source) is None
        with pytest.raises(UsageError, match="target"):
            learn(flat, flat, "height", source)


@pytest.mark.slow
def test_a_whole_report_counts_its_steps_and_says_what_it_left_out():
    with Source.seeded(4) as source:
        original = table(*people(source, 200))
        released = table(*people(source, 200), original)
    ticks = []
    targets = ["sex"]
    found = assess_utility(original, released, quasi=["age", "sex"], targets=targets, tick=lambda: ticks.append(1))
    assert len(ticks) == steps_of(targets, learning=True)
    assert found.granularity == 1
    assert found.classes is not None
    assert found.classes.discernibility >= 200
    assert len(found.words()) == 5
    ticks.clear()
    short = assess_utility(original, released, learning=False, tick=lambda: ticks.append(1))
    assert len(ticks) == steps_of((), learning=False)
    assert short.left_out == ("predictions and telling rows apart: not asked for",)
    assert found.to_json()["learning"][0]["target"] == "sex"

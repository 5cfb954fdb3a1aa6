"""What every mechanism owes, whatever its kind: a new one is tested by being on the list of cases."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from shoal.chance.source import Source
from shoal.errors import ShoalError
from shoal.guarantee.differential import ApproxDP, DifferentialPrivacy, PureDP
from shoal.guarantee.theorem import THEOREMS
from shoal.guarantee.unit import Unit
from shoal.mechanism.base import Sensitivity
from shoal.mechanism.exponential import Exponential
from shoal.mechanism.gaussian import Gaussian
from shoal.mechanism.laplace import Laplace
from shoal.mechanism.staircase.mechanism import Staircase
from tests.contract.mechanism_cases import CASES, ROW, NoiseCase
from tests.statistical.fit import fits

every_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
every_noise = pytest.mark.parametrize(
    "case", [case for case in CASES if isinstance(case, NoiseCase)], ids=lambda case: case.name
)


@every_case
def test_the_guarantee_cites_a_theorem_of_the_registry(case):
    assert isinstance(case.mechanism.guarantee, DifferentialPrivacy)
    assert case.mechanism.theorem in THEOREMS
    with pytest.raises(AttributeError):
        case.mechanism.theorem_of_another = "x"


@every_case
def test_probabilities_are_not_negative_and_add_up_to_one(case):
    law = case.law()
    assert (law >= 0).all()
    assert abs(law.sum() - 1) < 1e-9


@every_case
def test_the_exact_distributions_of_neighbours_keep_the_guarantee_in_both_directions(case):
    """Pure: every outcome's ratio. Approximate: the sum of what exceeds e^epsilon times the other."""
    epsilon, delta = case.mechanism.guarantee.own
    worst, largest = 0.0, 0.0
    for one, other in case.neighbours():
        assert len(one) == len(other)
        for p, q in ((one, other), (other, one)):
            if delta:
                largest = max(largest, np.maximum(0, p - np.exp(float(epsilon)) * q).sum())
            else:
                assert ((p > 0) == (q > 0)).all()
                worst = max(worst, np.log(p / q).max())
    assert worst <= float(epsilon) * (1 + 1e-9)
    assert largest <= float(delta) * (1 + 1e-12)
    if case.attained:
        assert worst >= float(epsilon) * 0.999


@every_noise
def test_a_mechanism_with_less_noise_breaks_the_guarantee(case):
    """The check above is not vacuous: with 30 % less noise it fails."""
    epsilon, delta = case.mechanism.guarantee.own
    impostor = case.scaled(0.7)
    ratio, excess = 0.0, 0.0
    for move in case.moves():
        p, q = impostor.pmf(case.offsets()), impostor.pmf(case.offsets() - np.array(move))
        ratio = max(ratio, np.log(p / q).max()) if not delta else 0.0
        excess = max(excess, np.maximum(0, p - np.exp(float(epsilon)) * q).sum())
    assert excess > float(delta) if delta else ratio > float(epsilon)


@pytest.mark.slow
@every_case
def test_draws_follow_the_stated_distribution_and_no_impostor(case):
    places = case.drawn(Source.seeded(f"contract {case.name}"), case.draws)
    assert fits(places, case.law())
    assert not fits(places, case.impostor(0.7))
    assert not fits(places, case.impostor(1.3))


@every_case
def test_a_seed_repeats(case):
    first, again, other = (case.drawn(Source.seeded(seed), 200) for seed in (1, 1, 2))
    assert (first == again).all()
    assert (first != other).any()


@every_case
def test_an_answer_is_finite(case):
    assert np.isfinite(np.asarray(case.answer(Source.seeded(3)), dtype=float)).all()


@every_noise
def test_variance_expected_error_and_intervals_are_those_of_the_distribution(case):
    offsets, law = case.offsets(), case.law()
    grid = np.array([float(step) for step in case.mechanism.grid])
    real = offsets * grid
    np.testing.assert_allclose(case.mechanism.variance, law @ real**2, rtol=1e-7)
    np.testing.assert_allclose(case.mechanism.expected_error, law @ np.abs(real), rtol=1e-7)
    for confidence in (0.05, 0.5, 0.9, 0.95, 0.999):
        tails = case.mechanism.tail_steps(confidence)
        for column, tail in enumerate(tails):
            far = np.abs(offsets[:, column])
            assert law[far <= tail].sum() >= confidence * (1 - 1e-9)
            assert law[far < tail].sum() < confidence
        half = tails * grid
        np.testing.assert_allclose(case.mechanism.interval(confidence), np.stack([-half, half], axis=1))


@every_noise
def test_answers_lie_on_the_grid_and_keep_the_noise(case):
    """Two draws with the same bits differ by what the rounded answers differ, exactly."""
    noise = case.mechanism
    start = Fraction(-1234567, 1000) if noise.sensitivity.multiples_of is None else -1234
    values = [start + column for column in range(noise.components)]
    zero = noise.draw([0] * noise.components, Source.seeded(5))
    moved = noise.draw(values, Source.seeded(5))
    grid = noise.grid * (noise.components // len(noise.grid))
    for before, after, value, step in zip(zero, moved, map(Fraction, values), grid, strict=True):
        assert (Fraction(before) / step).denominator == 1
        rounded = (value / step + Fraction(1, 2)).__floor__() * step
        assert Fraction(after) - Fraction(before) == rounded


# --- bad parameters -----------------------------------------------------------------------------------------------

KINDS = {
    "laplace": lambda target, sensitivity, **more: Laplace.for_target(
        target, sensitivity=sensitivity, **{"grid": 1, **more}
    ),
    "gaussian": lambda target, sensitivity, **more: Gaussian.for_target(
        ApproxDP(target.epsilon, "1e-6"), sensitivity=sensitivity, **{"grid": 1, **more}
    ),
    "staircase": lambda target, sensitivity, **more: Staircase.for_target(
        target, sensitivity=sensitivity, **{"grid": 1, **more}
    ),
    "exponential": lambda target, sensitivity, **more: Exponential.for_target(target, sensitivity=sensitivity, **more),
}
every_kind = pytest.mark.parametrize("make", KINDS.values(), ids=KINDS)


@every_kind
@pytest.mark.parametrize("epsilon", [-1, float("nan"), float("inf"), "nan", "inf", "1e400", "1e-9999", True, None])
def test_a_bad_epsilon_is_refused(make, epsilon):
    with pytest.raises(ShoalError):
        make(PureDP(epsilon), Sensitivity(1, ROW))


@pytest.mark.parametrize("make", [KINDS[name] for name in ("laplace", "staircase")])
@pytest.mark.parametrize("epsilon", [0, "0", "1e-400", "1e-30"])
def test_an_epsilon_too_small_to_draw_is_refused(make, epsilon):
    with pytest.raises(ShoalError):
        make(PureDP(epsilon), Sensitivity(1, ROW))


@every_kind
@pytest.mark.parametrize("sensitivity", [0, -1, float("nan"), float("inf"), "nan", True, [], [1, 0]])
def test_a_bad_sensitivity_is_refused(make, sensitivity):
    with pytest.raises(ShoalError):
        make(PureDP(1), Sensitivity(sensitivity, ROW))


@every_kind
@pytest.mark.parametrize("grid", [0, -1, float("nan"), float("inf"), "nan", [], [1, 2, 3]])
def test_a_bad_grid_is_refused(make, grid):
    with pytest.raises(ShoalError):
        make(PureDP(1), Sensitivity(1, ROW), grid=grid)


@pytest.mark.parametrize("make", [KINDS[name] for name in ("laplace", "gaussian", "staircase")])
def test_a_grid_too_fine_to_draw_is_refused(make):
    with pytest.raises(ShoalError):
        make(PureDP(1), Sensitivity(1, ROW), grid="1e-40")


@every_noise
@pytest.mark.parametrize("confidence", [0, 1, -0.5, 1.5, float("nan"), "nan"])
def test_a_bad_confidence_is_refused(case, confidence):
    with pytest.raises(ShoalError):
        case.mechanism.interval(confidence)


@every_noise
@pytest.mark.parametrize("value", [float("nan"), float("inf"), "xyz", None])
def test_an_answer_that_is_no_number_is_refused_without_being_quoted(case, value):
    with pytest.raises(ShoalError) as refused:
        case.mechanism.draw([value] * case.mechanism.components, Source.seeded(1))
    assert str(value) not in str(refused.value).split()


@every_noise
def test_an_answer_of_another_shape_is_refused(case):
    with pytest.raises(ShoalError):
        case.mechanism.draw([1] * (case.mechanism.components + 1), Source.seeded(1))


@pytest.mark.parametrize("chosen", [{"inner": 2}, {"inner": -1}, {"inner": "nan"}, {"inner": (0, 0)}, {"criterion": "x"},
                                    {"confidence": 1}, {"weights": (1, 1)}, {"weights": (0,)}])  # fmt: skip
def test_a_bad_staircase_is_refused(chosen):
    with pytest.raises(ShoalError):
        Staircase.for_target(PureDP(1), sensitivity=Sensitivity(1, ROW), grid=1, **chosen)


def test_gaussian_refuses_a_pure_target_and_a_delta_of_one():
    for target in (PureDP(1), ApproxDP(1, 0), ApproxDP(1, 1)):
        with pytest.raises(ShoalError):
            Gaussian.for_target(target, sensitivity=Sensitivity(1, ROW), grid=1)


def test_a_monotone_choice_needs_add_remove():
    with pytest.raises(ShoalError, match="exponential-mechanism"):
        Exponential.for_target(PureDP(1), sensitivity=Sensitivity(1, Unit.row("replace_one")), monotone=True)

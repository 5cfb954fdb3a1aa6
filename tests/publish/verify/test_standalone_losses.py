"""The one-file verifier's losses of noisy counts: against exact enumeration, against formulas, and never below the truth."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.guarantee.compose import compose
from shoal.guarantee.noisy_counts import solve_counts
from shoal.guarantee.rounding import exact
from shoal.guarantee.unit import Unit
from shoal.publish.verify import standalone as verifier
from shoal.publish.verify.standalone import BoundError, ComposedLosses

STEP = Fraction(1, 1000)


def noisy(*choices: tuple[int, str]) -> tuple[str, tuple[tuple[int, Fraction], ...]]:
    return ("noisy-tables-dp", tuple((count, Fraction(sigma)) for count, sigma in choices))


@cache
def composed(part, times):
    return ComposedLosses([(part, times)], Fraction(4))


def delta(part, epsilon, times=1, step=STEP):
    return float(composed(part, times).delta(Fraction(epsilon), step))


def exact_delta(count: int, sigma: float, epsilon: float) -> float:
    """By adding up the noises one after another, in double precision."""
    reach = int(38 * sigma) + 5
    x = np.arange(-reach, reach + 1)
    one = np.exp(-(x**2) / (2 * sigma**2))
    one /= one.sum()
    whole = np.array([1.0])
    for _ in range(count):
        whole = np.convolve(whole, one)
    far = (len(whole) - 1) // 2
    loss = (2 * np.arange(-far, far + 1) + count) / (2 * sigma**2)
    return float((whole * -np.expm1(np.minimum(0.0, epsilon - loss))).sum())


@pytest.mark.parametrize(
    ("count", "sigma", "epsilon"),
    [(1, "0.6", 3), (5, "2", 2), (3, "3.9", 1), (3, "4.1", 1), (20, "20.5", 1), (1, "4", 1), (7, "1.25", 4)],
)
def test_counts_with_noise_cost_what_enumeration_says(count, sigma, epsilon):
    wanted = exact_delta(count, float(sigma), epsilon)
    found = delta(noisy((count, sigma)), epsilon)
    assert wanted * (1 - 1e-12) <= found <= wanted * (1 + 1e-5)


def test_the_two_ways_to_add_up_noises_agree(monkeypatch):
    """The lattice normal distribution with its bound, and the noises one after another."""
    by_formula = verifier._sum_of_noises(6, Fraction(5))
    monkeypatch.setattr(verifier, "LARGE_SIGMA", 6)
    one_by_one = verifier._sum_of_noises(6, Fraction(5))
    assert sum(by_formula[0]) * 2 - by_formula[0][0] == pytest.approx(verifier.ONE, rel=1e-25)
    for mine, other in zip(by_formula[0], one_by_one[0], strict=False):
        assert abs(mine - other) <= 1000  # of 10^30


def test_many_counts_are_nearly_gaussian():
    """n counts at sigma are Gaussian noise at sigma / sqrt(n): Balle and Wang 2018."""
    mean = math.sqrt(780) / 112

    def normal(x: float) -> float:
        return math.erfc(-x / math.sqrt(2)) / 2

    wanted = normal(mean / 2 - 1 / mean) - math.e * normal(-mean / 2 - 1 / mean)
    assert delta(noisy((780, "112")), 1) == pytest.approx(wanted, rel=1e-4)


@pytest.mark.slow
def test_of_several_choices_the_worst_counts_at_every_epsilon():
    choices = [(1, "0.6"), (30, "3.2")]
    alone = {epsilon: max(delta(noisy(each), epsilon) for each in choices) for epsilon in (0, "0.5", 1, 2, 3)}
    together = {epsilon: delta(noisy(*choices), epsilon) for epsilon in alone}
    assert len({max(choices, key=lambda each: delta(noisy(each), epsilon)) for epsilon in alone}) > 1
    for epsilon, wanted in alone.items():
        assert wanted * (1 - 1e-12) <= together[epsilon] <= wanted * (1 + 1e-6) + 1e-24


@pytest.mark.parametrize("epsilon", ["0.3", "1", "2"])
def test_the_exponential_mechanism_costs_the_worst_pair_within_its_range(epsilon):
    own = float(epsilon)
    for at in (0.0, 0.1, own / 2, own):
        pairs = [
            (math.exp(own) - math.exp(t)) / math.expm1(own) * max(0.0, -math.expm1(at - t))
            for t in np.linspace(0, own, 20001)
        ]
        found = delta(("exponential-dp", Fraction(epsilon)), Fraction(at))
        assert max(pairs) * (1 - 1e-12) <= found <= max(pairs) * (1 + 1e-4) + 1e-7


def test_the_exponential_mechanism_is_enumerated_on_a_tiny_domain():
    """Scores of three candidates, each moved by 0 or 1: no such pair costs more than the part says, also twice."""
    epsilon = 0.8
    part = ("exponential-dp", Fraction("0.8"))
    for scores in ((0, 0, 0), (3, 1, 0)):
        first = np.exp(epsilon * np.array(scores, dtype=float))
        for moved in np.ndindex(2, 2, 2):
            second = np.exp(epsilon * (np.array(scores) + np.array(moved)))
            p, q = first / first.sum(), second / second.sum()
            for one, other in ((p, q), (q, p)):
                for at in (0.0, 0.2, 0.5):
                    once = np.maximum(0, one - math.exp(at) * other).sum()
                    assert once <= delta(part, Fraction(at)) + 1e-12
                    both, others = np.outer(one, one), np.outer(other, other)
                    twice = np.maximum(0, both - math.exp(at) * others).sum()
                    assert twice <= delta(part, Fraction(at), times=2) + 1e-12


def test_concentrated_parts_add_up_and_are_converted_once():
    rho = 0.03
    one = float(verifier.concentrated_delta(rho, 1.0))
    assert delta(("concentrated-dp", Fraction("0.01")), 1, times=3) == pytest.approx(one, rel=1e-8)
    # The Gaussian mechanism with mu = sqrt(2 rho) is rho-zCDP, so it costs no more.
    mean = math.sqrt(2 * rho)
    normal = [math.erfc((1 / mean + sign * mean / 2) / math.sqrt(2)) / 2 for sign in (-1, 1)]
    assert normal[0] - math.e * normal[1] < one
    other = ("pure-dp", Fraction("0.01"))
    whole = ComposedLosses([(("concentrated-dp", Fraction("0.03")), 1), (other, 1)], Fraction(2))
    assert one < float(whole.delta(Fraction(1), STEP)) < 1.05 * one


@pytest.mark.slow
def test_hundreds_of_tables_and_rounds_compose_within_the_work_limit():
    parts = [
        (noisy((16, "300")), 1),
        (noisy((1, "90")), 128),
        (("exponential-dp", Fraction("0.01")), 128),
        (("safe-k-sampling", 40, Fraction("0.1")), 1),
    ]
    with verifier.limited_work():
        whole = ComposedLosses(parts, Fraction(2))
        found = float(whole.delta(Fraction(1), whole.first_step()))
        assert verifier.WORK.left > verifier.MOST_WORK * 0.9
    alone = ComposedLosses(parts[:3], Fraction(2))
    assert alone.rho == Fraction(16, 2 * 300**2) + 128 * (Fraction(1, 2 * 90**2) + Fraction("0.01") ** 2 / 8)
    assert 0 < found < 1e-4


@pytest.mark.slow
@settings(max_examples=6)
@given(st.integers(1, 5), st.sampled_from(["2.75", "5", "8"]), st.integers(1, 3), st.sampled_from(["0.1", "0.5", "1"]))
def test_composing_is_never_below_what_adds_up(count, sigma, times, epsilon):
    """n counts, run so many times, are n times as many counts."""
    together = delta(noisy((count * times, sigma)), epsilon)
    one_by_one = delta(noisy((count, sigma)), epsilon, times)
    assert together * (1 - 1e-4) <= one_by_one <= together * (1 + 0.02) + 1e-12


@pytest.mark.slow
@pytest.mark.parametrize(
    ("epsilon", "delta_", "singles", "rounds"),
    [("0.001", "1e-6", 4, 0), ("0.01", "1e-6", 4, 0), ("0.01", "1e-9", 4, 3), ("0.03", "1e-9", 0, 0)],
)
def test_small_promises_of_noise_are_verified(epsilon, delta_, singles, rounds):
    """Losses lie close together there, and the grid has to be as fine; it was not, and releases failed after their charge."""
    kind = {"kind": "rounds", "candidates": 9} if rounds else {}
    found = solve_counts(epsilon, delta_, unit=Unit.row("add_remove"), tables=rounds or 6, singles=singles, **kind)
    parts = [(verifier.read_part(json.loads(json.dumps(part.to_saved()))), times) for part, times in found.parts]
    with verifier.limited_work():
        whole = ComposedLosses(parts, 2 * Fraction(epsilon))
        assert whole.keeps(Fraction(epsilon), Fraction(delta_))
        assert not whole.keeps(Fraction(epsilon) * Fraction(98, 100), Fraction(delta_))
        assert verifier.is_epsilon_of(whole, exact(compose(found.parts).epsilon_at(delta_)), Fraction(delta_))


def test_a_large_question_about_small_losses_has_a_grid_that_can_be_made():
    assert ComposedLosses([(noisy((1, "1000000")), 1)], Fraction(20)).can_be_made()


def test_hostile_numbers_are_refused_before_the_work():
    for part in (noisy((10**7, "5")), noisy((10, "1e12")), noisy((10, "1e-12"))):
        with verifier.limited_work(), pytest.raises(BoundError):
            delta(part, 1)
    for saved in (
        {"kind": "noisy-tables-dp", "choices": []},
        {"kind": "noisy-tables-dp", "choices": [[3, "0"]]},
    ):
        with pytest.raises(ValueError, match="no such noise"):
            verifier.read_part(saved)


@pytest.mark.slow
def test_a_charge_pays_for_its_noisy_parts():
    saved = [{"guarantee": {"kind": "noisy-tables-dp", "choices": [[20, "20.5"]]}, "times": 1}]
    assert verifier.pays_for_parts(Fraction(1), Fraction("1.7e-7"), saved) is True
    assert verifier.pays_for_parts(Fraction("0.5"), Fraction("1.5e-7"), saved) is False
    both = [*saved, {"guarantee": {"kind": "exponential-dp", "epsilon": "0.2"}, "times": 2}]
    assert verifier.pays_for_parts(Fraction("1.4"), Fraction("1.7e-7"), both) is True
    rho = [{"guarantee": {"kind": "concentrated-dp", "rho": "0.03"}, "times": 1}]
    assert verifier.pays_for_parts(Fraction(1), Fraction("8.5e-6"), rho) is True


def naive_convolution(one, other):
    """By its definition, each mass rounded up."""
    found = [0] * (len(one) + len(other) - 1)
    for i, mass in enumerate(one):
        for j, times in enumerate(other):
            found[i + j] += mass * times
    return [-(-mass // verifier.ONE) for mass in found]


MASSES = st.lists(
    st.one_of(st.sampled_from([0, 1, verifier.ONE]), st.integers(0, verifier.ONE)), min_size=1, max_size=9
)


@given(MASSES, MASSES, st.booleans())
def test_a_convolution_is_exact_but_for_rounding_up(first, second, is_square):
    one = verifier.Losses(STEP, -3, first, 5)
    other = one if is_square else verifier.Losses(STEP, 2, second, 7)
    found = verifier.convolve(one, other, (-100, 100))
    assert found.masses == naive_convolution(one.masses, other.masses)
    assert found.first == one.first + other.first


def test_what_was_composed_before_counts_as_much_work_and_says_the_same(monkeypatch):
    monkeypatch.setattr(verifier._COMPOSITIONS, "kept", {})
    parts = [(("pure-dp", Fraction(1, 10)), 12), (("safe-k-sampling", 20, Fraction(1, 5)), 2)]

    def ask():
        with verifier.limited_work():
            found = [ComposedLosses(parts, Fraction(3)).delta(epsilon, STEP) for epsilon in (Fraction(1), Fraction(2))]
            return found, verifier.WORK.left

    first, made = ask(), dict(verifier._COMPOSITIONS.kept)
    assert ask() == first
    assert verifier._COMPOSITIONS.kept == made, "the same ones, not made again"
    assert len(made) == 2, "one for each direction"
    monkeypatch.setattr(verifier, "MOST_KEPT", 0)
    assert ask() == first
    assert not verifier._COMPOSITIONS.kept
    with verifier.limited_work():
        other = ComposedLosses([*parts, (("pure-dp", Fraction(1)), 1)], Fraction(3)).delta(Fraction(1), STEP)
    assert other > first[0][0]


def test_work_that_was_done_before_is_refused_where_it_is_too_much(monkeypatch):
    monkeypatch.setattr(verifier._COMPOSITIONS, "kept", {})
    whole = ComposedLosses([(("pure-dp", Fraction(1, 10)), 12)], Fraction(3))
    with verifier.limited_work():
        whole.delta(Fraction(1), STEP)
        spent = verifier.MOST_WORK - verifier.WORK.left
    for most, is_enough in ((spent, True), (spent - 1, False)):
        monkeypatch.setattr(verifier, "MOST_WORK", most)
        again = ComposedLosses([(("pure-dp", Fraction(1, 10)), 12)], Fraction(3))
        with verifier.limited_work():
            if is_enough:
                again.delta(Fraction(1), STEP)
            else:
                with pytest.raises(BoundError):
                    again.delta(Fraction(1), STEP)

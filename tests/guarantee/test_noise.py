"""Noisy tables, the exponential mechanism, concentrated privacy: brute force on small cases, goldens, properties, impostors."""

import itertools
import json
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.errors import ParameterError
from shoal.guarantee.claim import load_guarantee
from shoal.guarantee.compose import compose
from shoal.guarantee.differential import GaussianDP, LaplaceDP, PureDP, SafeKSampling
from shoal.guarantee.noise import (
    ConcentratedDP,
    ExponentialDP,
    NoisyTablesDP,
    concentrated_delta,
    gaussian_curve,
    ripple,
)
from shoal.guarantee.safe_k.curve import PrivacyLosses, on_grid, privacy_losses

EPSILONS = (0.0, 0.1, 0.5, 1.0, 2.0, 5.0)


def law(sigma, reach=40):
    """One discrete Gaussian, term by term."""
    x = np.arange(-reach, reach + 1)
    masses = np.exp(-(x**2) / (2 * sigma**2))
    return x, masses / masses.sum()


def hockey_stick(first, second, epsilon):
    return float(np.maximum(0.0, first - math.exp(epsilon) * second).sum())


# --- noisy tables ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "sigma"), [((1,), 0.3), ((1,), 1.7), ((1, 1), 0.6), ((1, -1), 0.9), ((-1, 1, 1), 0.5)]
)
def test_brute_force_over_all_outcomes(changes, sigma):
    """The divergence of the whole joint law, summed over every outcome, whatever the signs of the changes."""
    _, masses = law(sigma, 12 if len(changes) < 3 else 8)
    first, second = np.ones(()), np.ones(())
    for change in changes:
        first, second = np.multiply.outer(first, np.roll(masses, change)), np.multiply.outer(second, masses)
    exact = NoisyTablesDP([(len(changes), str(sigma))])
    for epsilon in EPSILONS:
        truth = hockey_stick(first, second, epsilon)
        assert exact.delta_at(epsilon) == pytest.approx(truth, rel=1e-7, abs=1e-13)
        assert exact.delta_at(epsilon) >= truth - 1e-13
        assert hockey_stick(second, first, epsilon) == pytest.approx(truth, rel=1e-7, abs=1e-13)


def test_fewer_changed_counts_are_dominated():
    for sigma in ("0.4", "1.1", "3"):
        for epsilon in EPSILONS:
            deltas = [NoisyTablesDP([(n, sigma)]).delta_at(epsilon) for n in (1, 2, 3, 5, 9)]
            assert deltas == sorted(deltas)


def test_twice_the_change_is_not_covered():
    """An impostor: one count that changes by two is no table count; the curve of one change must not cover it."""
    _, masses = law(2.0)
    truth = hockey_stick(np.roll(masses, 2), masses, 1.0)
    assert NoisyTablesDP([(1, 2)]).delta_at(1) < truth / 2
    assert NoisyTablesDP([(4, 2)]).delta_at(1) == pytest.approx(truth, rel=0.05)  # about as four changes by one


@pytest.mark.parametrize(("n", "sigma"), [(1, "1.62"), (40, "1.75"), (7, "2.4"), (105, "43.3"), (30, "905")])
def test_the_lattice_normal_law_is_the_sum_of_the_noises(n, sigma):
    """What Poisson summation replaces: the n-fold convolution, here in double precision by Fourier transforms."""
    width = float(sigma)
    size = 1 << math.ceil(math.log2(24 * width * math.sqrt(n) + 24 * width + 8))
    x = np.fft.fftfreq(size, 1 / size)
    one = np.exp(-(x**2) / (2 * width**2))
    total = np.fft.irfft(np.fft.rfft(one / one.sum()) ** n, size)
    losses = (2 * x + n) / (2 * width**2)
    for epsilon in (0.0, 0.2, 1.0):
        truth = float((np.maximum(0.0, total) * np.maximum(0.0, -np.expm1(epsilon - losses))).sum())
        assert NoisyTablesDP([(n, sigma)]).delta_at(epsilon) == pytest.approx(truth, rel=1e-6, abs=1e-13)


@pytest.mark.parametrize(("n", "sigma"), [(1, 0.3), (2, 0.5), (3, 0.7), (4, 0.45)])
def test_the_ripple_bound_holds(n, sigma):
    """The law of the sum over the lattice normal density, at every value: at most 1 + ripple."""
    _, masses = law(sigma, 30)
    total = masses
    for _ in range(n - 1):
        total = np.convolve(total, masses)
    s = np.arange(len(total)) - len(total) // 2
    normal = np.exp(-(s**2) / (2 * n * sigma**2)) / math.sqrt(2 * math.pi * n * sigma**2)
    kept = normal > 1e-250
    assert (total[kept] <= normal[kept] * (1 + ripple(n, sigma)) * (1 + 1e-9)).all()
    assert total[kept].max() > 0


@pytest.mark.parametrize("sigma", [0.3, 0.5, 0.8])
def test_the_law_of_two_noises_is_the_series_of_the_proof(sigma):
    """Proof page noisy-tables, part 4: for n = 2 the classes are (0, j), with mean j/2 and squares j^2/2."""
    x, masses = law(sigma, 30)
    total = np.convolve(masses, masses)
    weights = np.exp(-(x**2) / (2 * sigma**2)).sum()
    j = np.arange(-30, 31)
    for s in range(-4, 5):
        series = (np.exp(-((math.pi * sigma * j) ** 2)) * np.cos(math.pi * j * s)).sum()
        normal = math.exp(-(s**2) / (4 * sigma**2)) / math.sqrt(4 * math.pi * sigma**2)
        assert total[60 + s] == pytest.approx(2 * math.pi * sigma**2 / weights**2 * normal * series, rel=1e-9)


def test_very_wide_noise_is_bounded_by_a_rounded_gaussian(monkeypatch):
    from shoal.guarantee import noise

    wide = NoisyTablesDP([(9, 300)])
    summed = [wide.delta_at(e) for e in ("0", "0.01", "0.05")]
    noise._counts_curve.cache_clear()
    monkeypatch.setattr(noise, "SUMMED", 10.0)
    bounded = [wide.delta_at(e) for e in ("0", "0.01", "0.05")]
    noise._counts_curve.cache_clear()
    assert all(one <= other <= one * 1.05 for one, other in zip(summed, bounded, strict=True))
    assert bounded != summed


def test_gaussian_curve_is_that_of_balle_and_wang():
    for mu in (0.03, 0.5, 3.0):
        found = gaussian_curve(mu, np.array([0.0, 0.1, 1.0, 4.0]))
        truth = [GaussianDP(str(mu)).delta_at(e) for e in (0, "0.1", 1, 4)]
        assert found == pytest.approx(truth, rel=1e-8, abs=1e-300)
    # for negative epsilon by exchanging the two
    assert gaussian_curve(0.7, np.array([-0.4]))[0] == pytest.approx(
        0.32967995 + 0.67032005 * gaussian_curve(0.7, np.array([0.4]))[0]
    )


@pytest.mark.parametrize("tables", [28, 105])
def test_golden_sigma_of_all_pairs(tables):
    """Balle and Wang 2018: a Gaussian of mu = 0.2367 is (1, 1e-6)-DP and no more, so T tables need sigma = sqrt(T)/0.2367."""
    assert GaussianDP("0.2367").epsilon_at("1e-6") == pytest.approx(1, abs=1e-4)
    assert GaussianDP("0.2369").epsilon_at("1e-6") > 1
    sigma = Fraction(f"{math.sqrt(tables) / 0.2367:.3f}")
    assert NoisyTablesDP([(tables, sigma)]).epsilon_at("1e-6") == pytest.approx(1, abs=2e-4)


def test_the_worst_choice_counts_at_each_epsilon():
    narrow, wide = NoisyTablesDP([(1, "0.5")]), NoisyTablesDP([(9, "1.5")])
    either = NoisyTablesDP([(9, "1.5"), (1, "0.5")])
    above = set()
    for epsilon in np.linspace(0, 8, 50):
        pair = narrow.delta_at(epsilon), wide.delta_at(epsilon)
        assert either.delta_at(epsilon) == max(pair)
        above.add(pair[0] > pair[1])
    assert above == {True, False}  # neither dominates the other
    for distribution in either.distributions(1e-3):
        for epsilon in (0.0, 0.5, 2.0, 6.0):
            found = float(distribution.get_delta_for_epsilon(epsilon))
            assert either.delta_at(epsilon) * (1 - 1e-8) <= found <= either.delta_at(epsilon) * 1.001 + 1e-9


@pytest.mark.parametrize(("n", "sigma"), [(1, 0.8), (3, 1.3), (5, 4.0)])
def test_the_dots_are_where_splitting_each_atom_puts_them(n, sigma):
    grid = 0.01
    _, masses = law(sigma, 60)
    total = masses
    for _ in range(n - 1):
        total = np.convolve(total, masses)
    s = np.arange(len(total)) - len(total) // 2
    kept = total > 1e-40
    atoms = PrivacyLosses(((2 * s + n) / (2 * sigma**2))[kept], total[kept], 0.0)
    expected = on_grid(atoms, grid)
    found, _ = NoisyTablesDP([(n, str(sigma))]).distributions(grid)
    for epsilon in (-1.0, 0.0, 0.123, 0.5, 1.0, 3.0):
        assert float(found.get_delta_for_epsilon(epsilon)) == pytest.approx(
            float(expected.get_delta_for_epsilon(epsilon)), rel=1e-7, abs=1e-14
        )


def test_composing_one_by_one_is_the_curve_of_all():
    """No bias that grows with the number of tables: 200 tables on the grid against the exact curve."""
    one, all_of_them = NoisyTablesDP([(1, 60)]), NoisyTablesDP([(200, 60)])
    composed, exact = compose([(one, 200)]).pld_epsilon("1e-6"), all_of_them.epsilon_at("1e-6")
    assert exact <= composed <= exact * (1 + 1e-4)


@pytest.mark.slow
def test_two_parts_against_the_product_of_their_laws():
    first, second = (0.7, 0.4), (1.2, None)
    _, p = law(first[0], 15)
    _, q = law(second[0], 25)
    pairs = [(np.roll(p, 1), p), (np.roll(q, 1), q)]
    total = compose([NoisyTablesDP([(1, "0.7")]), NoisyTablesDP([(1, "1.2")])])
    for epsilon in (0.0, 1.0, 3.0, 6.0):
        truth = hockey_stick(np.multiply.outer(pairs[0][0], pairs[1][0]), np.multiply.outer(p, q), epsilon)
        found = float(total._totals[0].get_delta_for_epsilon(epsilon))
        assert truth * (1 - 1e-9) <= found <= truth * (1 + 1e-4) + 1e-12


@pytest.mark.slow
@pytest.mark.parametrize("direction", ["remove", "add"])
def test_rows_and_counts_against_the_product_of_their_losses(direction):
    """Proof page adaptive-tables, rows beside counts: one fresh sample, and two noisy tables, by every pair of losses."""
    rows = privacy_losses(5, Fraction(1, 4), direction)
    _, one = law(1.5, 30)
    total, s = np.convolve(one, one), np.arange(-60, 61)
    losses = rows.losses[:, None] + ((2 * s + 2) / (2 * 1.5**2))[None, :]
    masses = np.multiply.outer(rows.masses, total)
    found = compose([SafeKSampling(5, "0.25"), NoisyTablesDP([(2, "1.5")])])._totals[direction == "add"]
    for epsilon in (0.0, 0.5, 1.5, 3.0):
        truth = float((masses * np.maximum(0.0, -np.expm1(epsilon - losses))).sum()) + rows.infinite
        assert truth * (1 - 1e-9) <= float(found.get_delta_for_epsilon(epsilon)) <= truth * (1 + 1e-4) + 1e-12


@pytest.mark.parametrize(
    "choices",
    [
        [], [(0, 1)], [(1, "0.29")], [(1, 0)], [(1, -2)], [(1, "1e10")], [(10**8, 10**6)], [(100, "0.3")], [(1,)], ["12"],
        [(1.5, 2)], [{0: 1, 1: 2}], [(n, 9) for n in range(1, 102)],
    ],
)  # fmt: skip
def test_silly_noise_is_refused(choices):
    with pytest.raises(ParameterError):
        NoisyTablesDP(choices)


# --- the exponential mechanism -----------------------------------------------------------------------------------------


def selection(scores, epsilon):
    """The law of the exponential mechanism for scores that move by at most one."""
    weights = np.exp(epsilon * np.asarray(scores, dtype=float) / 2)
    return weights / weights.sum()


def selection_deltas(epsilon, at):
    """The largest divergence over every pair of score vectors of up to four options on a small grid of scores."""
    worst = 0.0
    grid = (-1.0, -0.5, 0.0, 0.5, 1.0)
    for base in itertools.product((0, 1, 3, 20), repeat=2):
        for moves in itertools.product(grid, repeat=3):
            scores = np.array([0, *base])
            worst = max(
                worst, hockey_stick(selection(scores + np.array(moves), epsilon), selection(scores, epsilon), at)
            )
    return worst


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.3, 1.0, 3.0])
def test_every_selection_on_a_tiny_domain_is_covered(epsilon):
    for at in (0.0, 0.3 * epsilon, 0.7 * epsilon, epsilon):
        assert selection_deltas(epsilon, at) <= ExponentialDP(str(epsilon)).delta_at(at) * (1 + 1e-12) + 1e-15


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 3.0])
def test_the_curve_is_attained_and_half_the_range_is_rejected(epsilon):
    """Two options whose scores move apart: with the right odds the divergence is the curve, at each epsilon by other odds."""
    own, half = ExponentialDP(str(epsilon)), ExponentialDP(str(epsilon / 2))
    for at in (0.0, 0.2 * epsilon, 0.6 * epsilon):
        worst = max(
            hockey_stick(selection((gap / epsilon + 1, -1), epsilon), selection((gap / epsilon, 0), epsilon), at)
            for gap in np.linspace(-12, 12, 2401)
        )
        assert worst == pytest.approx(own.delta_at(at), rel=1e-4)
        assert worst > half.delta_at(at) * 1.5  # the impostor


def test_exponential_is_the_envelope_of_two_point_pairs():
    for epsilon, at in itertools.product((0.1, 1.0, 6.0), (0.0, 0.05, 0.5)):
        t = np.linspace(0, epsilon, 200_001)
        p = (math.exp(epsilon) - np.exp(t)) / math.expm1(epsilon)
        pairs = p * np.maximum(0, -np.expm1(at - t)) + (1 - p) * np.maximum(0, -np.expm1(at - t + epsilon))
        assert ExponentialDP(str(epsilon)).delta_at(at) == pytest.approx(float(pairs.max()), rel=1e-8)


@pytest.mark.slow
def test_choices_one_after_another_cost_less_than_pure_privacy():
    chosen = compose([(ExponentialDP("0.1"), 50)])
    assert chosen.epsilon_at("1e-6") < 0.65 * compose([(PureDP("0.1"), 50)]).epsilon_at("1e-6")
    assert chosen.pld_epsilon("1e-6") < 0.7 * compose([(PureDP("0.1"), 50)]).pld_epsilon("1e-6")


@pytest.mark.slow
def test_two_choices_against_brute_force():
    """The product of the envelope's own pair, on a fine grid of losses by hand: the density is proportional to e^(loss/2)."""
    epsilon, grid = 0.8, 1e-3
    edges = np.arange(-800, 801) * grid
    first = np.diff(np.exp(edges / 2)) / (math.exp(epsilon / 2) - math.exp(-epsilon / 2))
    middles = (edges[1:] + edges[:-1]) / 2
    total = compose([(ExponentialDP("0.8"), 2)])
    for at in (0.0, 0.4, 1.2):
        losses = middles[:, None] + middles[None, :]
        truth = float((np.multiply.outer(first, first) * np.maximum(0, -np.expm1(at - losses))).sum())
        assert float(total._totals[0].get_delta_for_epsilon(at)) == pytest.approx(truth, rel=1e-4)


# --- zero-concentrated privacy -----------------------------------------------------------------------------------------


@pytest.mark.slow
def test_concentrated_parts_add_up():
    total = compose([(ConcentratedDP("0.001"), 20)])
    assert total.epsilon_at("1e-6") <= ConcentratedDP("0.02").epsilon_at("1e-6") * (1 + 1e-9)
    assert total.concentrated_epsilon("1e-6") == ConcentratedDP("0.02").epsilon_at("1e-6")
    mixed = compose(
        [ConcentratedDP("0.01"), NoisyTablesDP([(1, 10)]), ExponentialDP("0.2"), GaussianDP("0.1"), PureDP("0.1")]
    )
    rho = Fraction("0.01") + Fraction(1, 200) + Fraction("0.04") / 8 + Fraction("0.01") / 2 + Fraction("0.01") / 2
    assert mixed.concentrated_epsilon("1e-12") == ConcentratedDP(rho).epsilon_at("1e-12") == mixed.epsilon_at("1e-12")
    assert mixed.delta_at(2) <= ConcentratedDP(rho).delta_at(2) < 1e-11


@pytest.mark.slow
def test_parts_without_a_rho_stand_beside_the_others():
    mixed = compose([SafeKSampling(60, "0.05"), NoisyTablesDP([(10, 60)]), NoisyTablesDP([(20, 60)])])
    expected = compose([SafeKSampling(60, "0.05"), ConcentratedDP(Fraction(30, 7200))]).basic_epsilon("1e-12")
    assert mixed.concentrated_epsilon("1e-12") == expected < mixed.basic_epsilon("1e-12")
    assert mixed.epsilon_at("1e-12") == expected
    # without a curve there is nothing to gain, and nothing changes
    assert math.isinf(compose([SafeKSampling(60, "0.05"), PureDP("0.1")]).concentrated_epsilon("1e-6"))


@pytest.mark.slow
def test_a_composition_names_the_theorem_that_it_rests_on():
    tables, choice, sample = NoisyTablesDP([(10, 60)]), ExponentialDP("0.05"), SafeKSampling(60, "0.05")
    assert compose([tables]).theorems_at("1e-6") == ()
    assert compose([tables, NoisyTablesDP([(3, 50)])]).theorems_at("1e-6") == ("pld-composition",)
    assert compose([tables, NoisyTablesDP([(3, 50)])]).theorems_at("1e-12") == ("concentrated-composition",)
    assert compose([tables, sample]).theorems_at("1e-6") == ("pld-composition",)
    assert compose([(choice, 2)]).theorems_at(0) == ("basic-composition",)
    assert compose([(ConcentratedDP("0.001"), 9)]).theorems_at("1e-6") == ("concentrated-composition",)
    beside = compose([tables, NoisyTablesDP([(3, 50)]), sample])
    assert beside.theorems_at("1e-12") == ("concentrated-composition", "basic-composition")


@pytest.mark.parametrize("rho", ["0.0005", "0.02", "0.5"])
def test_the_grid_of_a_concentrated_curve(rho):
    part = ConcentratedDP(rho)
    mu = math.sqrt(2 * float(rho))
    for distribution in part.distributions(mu / 500):
        for epsilon in (0.0, 0.5 * mu, mu, 3 * mu, 6 * mu):
            found = float(distribution.get_delta_for_epsilon(epsilon))
            assert GaussianDP(str(mu * (1 - 1e-9))).delta_at(epsilon) <= found <= part.delta_at(epsilon) * (1 + 1e-4)


def test_concentrated_delta_covers_the_exact_curves():
    for n, sigma in ((1, 0.5), (4, 3.0), (50, 20.0)):
        for epsilon in EPSILONS:
            part = NoisyTablesDP([(n, str(sigma))])
            assert part.delta_at(epsilon) <= min(1.0, concentrated_delta(n / (2 * sigma**2), epsilon)) * (1 + 1e-9)
            assert part.delta_at(epsilon) <= ConcentratedDP(part.concentration).delta_at(epsilon) * (1 + 1e-9)


def test_the_rho_of_each_kind():
    assert PureDP("0.2").concentration == LaplaceDP("0.2").concentration == Fraction(1, 50)
    assert ExponentialDP("0.2").concentration == Fraction(1, 200)
    assert GaussianDP("0.2").concentration == Fraction(1, 50)
    assert NoisyTablesDP([(3, 2), (1, 1)]).concentration == Fraction(1, 2)
    assert ConcentratedDP("0.3").concentration == Fraction(3, 10)
    assert SafeKSampling(20, "0.1").concentration is None


@pytest.mark.parametrize("rho", [0, -1, 400, "inf", True])
def test_a_rho_out_of_range_is_refused(rho):
    with pytest.raises(ParameterError):
        ConcentratedDP(rho)


@pytest.mark.parametrize("epsilon", [0, -1, 701, "nan"])
def test_a_choice_without_an_epsilon_is_refused(epsilon):
    with pytest.raises(ParameterError):
        ExponentialDP(epsilon)


# --- of all of them --------------------------------------------------------------------------------------------------------

parts = st.one_of(
    st.builds(lambda n, cents: NoisyTablesDP([(n, Fraction(cents, 100))]), st.integers(1, 40), st.integers(60, 3000)),
    st.builds(lambda cents: ExponentialDP(Fraction(cents, 100)), st.integers(1, 400)),
    st.builds(lambda cents: ConcentratedDP(Fraction(cents, 1000)), st.integers(1, 2000)),
)


@pytest.mark.slow
@settings(max_examples=40)
@given(parts, st.floats(0, 5), st.floats(0, 5), st.floats(1e-12, 0.9))
def test_curves_fall_invert_and_are_saved(part, first, second, delta):
    low, high = sorted((first, second))
    assert part.delta_at(low) >= part.delta_at(high) >= 0
    reached = part.epsilon_at(delta)
    assert math.isinf(reached) or part.delta_at(reached) <= delta * (1 + 1e-12)
    assert load_guarantee(json.loads(json.dumps(part.to_saved()))) == part

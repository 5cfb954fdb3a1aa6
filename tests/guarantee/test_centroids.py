"""Settings of noisy centroids: the bounds, the promise recomputed, the k of the least bound, refusals of what is forged."""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from shoal.errors import InfeasibleError, ParameterError, PreconditionError, UsageError
from shoal.guarantee.centroids import (
    CentroidAttribute,
    l1_change,
    l2_square,
    largest_rho,
    linf_change,
    solve_centroids,
)
from shoal.guarantee.compose import compose
from shoal.guarantee.differential import ApproxDP, PureDP
from shoal.guarantee.noise import ConcentratedDP
from shoal.guarantee.theorem import THEOREMS
from shoal.guarantee.unit import Unit

REPLACED = Unit.row("replace_one")
PAY = CentroidAttribute("pay", "numeric", steps=1001)
TAX = CentroidAttribute("tax", "numeric", steps=400)
JOB = CentroidAttribute("job", "categorical", spread=1_800_000, concepts=40)


def solved(epsilon=1, delta=0, attributes=(PAY, TAX), rows=1080, **asked):
    return solve_centroids(epsilon, delta, rows=rows, attributes=list(attributes), unit=REPLACED, **asked)


# --- noise -----------------------------------------------------------------------------------------------------------


def test_a_partition_by_several_orders_pays_for_every_sum():
    setting = solved(k=30, corners=4, noise="laplace")
    assert setting.clusters == 36
    assert [entry.scale for entry in setting.entries] == [36 * 1001 * 2, 36 * 400 * 2]  # N W m / epsilon
    assert setting.theorems == ("insensitive-centroids", "laplace-grid")
    assert setting.parts == ((PureDP("1/2"), 2),)


def test_a_single_order_pays_for_half_of_it_on_partial_sums():
    setting = solved(k=30, corners=1, noise="laplace")
    assert (setting.ordered, setting.nodes) == (True, 37)
    assert [entry.scale for entry in setting.entries] == [18 * 1001 * 2, 18 * 400 * 2]
    assert solved(k=30, corners=1, noise="optimal").entries[0].side == 501
    assert setting.theorems[0] == "ordered-centroids"


def test_a_single_order_is_taken_where_nothing_is_said_and_all_corners_for_the_thesis():
    assert solved(k=30).corners == 1
    assert solved(k=30, calibration="per_record").corners == 4


def test_ranks_pay_for_one_record():
    setting = solved(k=30, grouping="ranking")
    assert [entry.scale for entry in setting.entries] == [2002, 800]
    assert setting.theorems == ("ranked-centroids", "laplace-grid")


def test_choices_share_what_their_attribute_has():
    setting = solved(k=30, attributes=[PAY, JOB], corners=1)
    assert setting.entry("job").choice_epsilon == Fraction(1, 2) / 36
    assert compose(setting.parts).basic_epsilon(0) == 1.0
    assert {"taxonomy-choices", "exponential-mechanism"} <= set(setting.theorems)


def test_the_thesis_costs_what_all_clusters_cost():
    setting = solved(k=30, calibration="per_record", corners=4)
    assert [entry.scale for entry in setting.entries] == [1001, 400]
    assert setting.cost == 72
    assert setting.claimed == PureDP(72)
    assert compose(setting.parts).basic_epsilon(0) == 72.0
    ranks = solved(k=30, calibration="per_record", grouping="ranking")
    assert ranks.claimed == PureDP(2)
    with pytest.raises(PreconditionError, match="nothing is claimed"):
        _ = solved(k=2, calibration="per_record").claimed


@pytest.mark.slow
def test_gaussian_noise_keeps_the_promise_and_nearly_spends_it():
    for attributes in ([PAY, TAX], [PAY, JOB], [JOB]):
        setting = solved(1, "1e-6", attributes=attributes, k=30, corners=1, noise="gaussian")
        rho = sum(part.concentration * times for part, times in setting.parts)
        assert 0.97 < ConcentratedDP(rho).epsilon_at("1e-6") <= 1
        assert setting.claimed == ApproxDP(1, "1e-6")


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", ["0.01", "1", "30"])
def test_largest_rho_is_the_largest(epsilon):
    rho = largest_rho(Fraction(epsilon), Fraction("1e-6"))
    assert ConcentratedDP(rho).epsilon_at("1e-6") <= float(epsilon)
    assert ConcentratedDP(rho * Fraction("1.00002")).epsilon_at("1e-6") > float(epsilon)


def test_weights_divide_by_a_stated_rule():
    heavy = replace(PAY, weight=Fraction(8))
    pure = solved(k=30, attributes=[heavy, TAX], noise="laplace")
    assert [entry.epsilon for entry in pure.entries] == [Fraction("0.666666"), Fraction("0.333333")]
    normal = solved(1, "1e-6", k=30, attributes=[replace(PAY, weight=Fraction(4)), TAX], noise="gaussian")
    assert float(normal.entries[0].rho / normal.entries[1].rho) == pytest.approx(2, rel=1e-5)
    # the rule minimizes the weighted sum of variances as shares of the width: no other split does better
    shares = np.linspace(0.05, 0.95, 181)
    assert shares[np.argmin(8 / shares**2 + 1 / (1 - shares) ** 2)] == pytest.approx(2 / 3, abs=0.01)


@pytest.mark.parametrize("width", [1, 2, 3, 4])
@pytest.mark.parametrize("clusters", [2, 3, 4])
def test_the_bounds_on_partial_sums_are_the_best_over_a_whole_constant(width, clusters):
    one = CentroidAttribute("x", "numeric", steps=width)
    l1 = l2 = linf = 0
    for moves in itertools.product(range(width + 1), repeat=clusters + 1):
        shifts = np.array(moves)[None, :] - np.arange(width + 1)[:, None]
        l1 = max(l1, int(np.abs(shifts).sum(axis=1).min()))
        l2 = max(l2, int((shifts**2).sum(axis=1).min()))
        linf = max(linf, int(np.abs(shifts).max(axis=1).min()))
    assert l1 == l1_change(one, clusters, "insensitive", ordered=True)
    assert linf == linf_change(one, ordered=True)
    bound = l2_square(one, clusters, "insensitive", ordered=True)
    assert l2 <= bound <= l2 + Fraction(width**2, 2) + clusters


# --- k, and the kind of noise ----------------------------------------------------------------------------------------------


def bound_of(k, **asked):
    return solved(k=k, **asked).error_bound


@pytest.mark.slow
@pytest.mark.parametrize(
    "asked",
    [
        {"noise": "laplace", "corners": 1},
        {"noise": "optimal", "corners": 1, "epsilon": 8},
        {"noise": "gaussian", "delta": "1e-6", "corners": 1},
        {"noise": "laplace", "corners": 4, "epsilon": 30},
        {"grouping": "ranking", "noise": "laplace"},
        {"noise": "optimal", "attributes": (PAY, JOB), "epsilon": 20, "corners": 1},
        {"noise": "gaussian", "attributes": (PAY, JOB), "epsilon": 20, "delta": "1e-5", "corners": 1},
        {"calibration": "per_record", "noise": "laplace"},
    ],
)
def test_the_k_that_is_found_has_the_least_bound_of_all(asked):
    found = solved(**asked, rows=240)
    assert found.k_found
    bounds = {k: bound_of(k, **asked, rows=240) for k in range(2, 121)}
    assert bounds[found.k] == pytest.approx(min(bounds.values()), rel=1e-5)


def test_ranks_find_the_square_root():
    for rows, epsilon in ((10_000, 1), (10_000, 10), (1_000_000, 1)):
        found = solved(epsilon, attributes=[PAY], rows=rows, grouping="ranking")
        assert found.k == pytest.approx((2 * rows / epsilon) ** 0.5, rel=0.25)
        assert found.error_bound == pytest.approx((2 / (rows * epsilon)) ** 0.5, rel=0.03)


@pytest.mark.slow
def test_auto_takes_the_noise_with_the_least_bound():
    for asked in ({}, {"delta": "1e-6"}, {"rows": 100_000, "delta": "1e-6"}):
        kinds = ("laplace", "optimal", "gaussian") if "delta" in asked else ("laplace", "optimal")
        bounds = {kind: solved(**asked, corners=1, noise=kind).error_bound for kind in kinds}
        found = solved(**asked, corners=1)
        assert (found.noise_found, found.noise) == (True, min(bounds, key=bounds.get))
    assert solved(rows=100_000, delta="1e-6", corners=1).noise == "gaussian"
    assert solved(corners=1).noise == "optimal"


def test_the_optimal_noise_is_left_out_where_there_are_too_many_clusters():
    assert solved(k=2, rows=4000).noise == "laplace"
    with pytest.raises(InfeasibleError, match="too many"):
        solved(k=2, rows=4000, noise="optimal")


def drawn_law(setting, entry):
    """How likely each whole number is as the noise of one cluster's sum, from the distribution that is documented."""
    if entry.side is not None:
        many = int((setting.nodes + 60) / float(entry.epsilon)) + 8
        numbers = np.arange(many)
        halves = numbers * entry.side + entry.inner
        logs = setting.nodes * np.log(2 * halves + 1) - float(entry.epsilon) * numbers
        chances = np.exp(logs - logs.max()) / np.exp(logs - logs.max()).sum()
        reach = int(halves[-1])
        law = np.zeros(2 * (1 + setting.ordered) * reach + 1)
        for half, chance in zip(halves.tolist(), chances.tolist(), strict=True):
            even = np.full(2 * half + 1, 1 / (2 * half + 1))
            own = np.convolve(even, even) if setting.ordered else even
            middle = len(law) // 2
            law[middle - len(own) // 2 : middle + len(own) // 2 + 1] += chance * own
        return law
    width = float(entry.scale or entry.sigma)
    numbers = np.arange(-int(40 * width) - 8, int(40 * width) + 9)
    own = np.exp(-np.abs(numbers) / width) if entry.scale else np.exp(-(numbers**2) / (2 * width**2))
    own /= own.sum()
    return np.convolve(own, own) if setting.ordered else own


@pytest.mark.slow
@pytest.mark.parametrize("noise", ["laplace", "optimal", "gaussian"])
@pytest.mark.parametrize("corners", [1, 2])
def test_a_half_width_holds_with_95_percent_on_the_coarsest_grids(noise, corners):
    for steps, epsilon, clusters in itertools.product((1, 2, 3, 6), ("0.7", 3, 12, 60), (2, 5)):
        one = CentroidAttribute("grade", "numeric", steps=steps)
        setting = solved(epsilon, "1e-2", [one], rows=clusters * 10, k=10, corners=corners, noise=noise)
        law = drawn_law(setting, setting.entries[0])
        most = int(setting.half_width("grade") * setting.k * steps + 1e-9)
        inside = law[max(0, len(law) // 2 - most) : len(law) // 2 + most + 1].sum() / law.sum()
        assert inside >= 0.95, (steps, epsilon, clusters)


def test_noise_that_drowns_the_data_is_named():
    assert solved("0.01", k=20, corners=4).drowned == ("pay", "tax")
    assert solved(100, k=100, corners=1).drowned == ()


# --- refusals --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "error"),
    [
        ({"epsilon": 0}, ParameterError),
        ({"epsilon": -1}, ParameterError),
        ({"epsilon": 701}, ParameterError),
        ({"k": 541}, InfeasibleError),
        ({"k": 0}, ParameterError),
        ({"k": 2.5}, ParameterError),
        ({"rows": 3}, InfeasibleError),
        ({"rows": 0}, ParameterError),
        ({"noise": "gaussian"}, PreconditionError),
        ({"noise": "normal"}, UsageError),
        ({"noise": "optimal", "grouping": "ranking"}, PreconditionError),
        ({"noise": "optimal", "calibration": "per_record"}, UsageError),
        ({"grouping": "mdav"}, UsageError),
        ({"grouping": "ranking", "corners": 2}, UsageError),
        ({"grouping": "ranking", "attributes": [PAY, JOB], "k": 30}, PreconditionError),
        ({"corners": 5}, ParameterError),
        ({"corners": 0}, ParameterError),
        ({"calibration": "cluster"}, UsageError),
        ({"attributes": []}, UsageError),
        ({"attributes": [PAY, PAY], "k": 30}, UsageError),
        ({"epsilon": "1e-12", "attributes": [replace(PAY, steps=1 << 31)], "k": 30, "noise": "laplace"}, InfeasibleError),
        ({"epsilon": "1e-5", "attributes": [replace(PAY, steps=1 << 31)], "k": 30, "noise": "optimal"}, InfeasibleError),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused(asked, error):
    with pytest.raises(error):
        solved(**asked)


@pytest.mark.parametrize("unit", [Unit.row("add_remove"), Unit.person("who", 2, "replace_one")])
def test_other_units_are_refused(unit):
    with pytest.raises(PreconditionError, match="replace_one"):
        solve_centroids(1, rows=100, attributes=[PAY], unit=unit, k=10)


@pytest.mark.parametrize("wrong", [{"steps": 0}, {"steps": -3}, {"weight": Fraction(0)}, {"weight": Fraction(10**400)}])
def test_an_attribute_without_a_width_is_refused(wrong):
    with pytest.raises(ParameterError):
        replace(PAY, **wrong)
    with pytest.raises(ParameterError):
        replace(JOB, concepts=1)


def forged(setting, **entry):
    return replace(setting, entries=(replace(setting.entries[0], **entry), *setting.entries[1:]))


def test_noise_that_is_too_small_is_refused_whoever_made_it():
    laplace, optimal = solved(k=30, noise="laplace", corners=1), solved(k=30, noise="optimal", corners=1)
    normal = solved(1, "1e-6", k=30, noise="gaussian", corners=1, attributes=[PAY, JOB])
    choice = solved(k=30, attributes=[JOB, PAY], corners=1)
    for setting, entry in (
        (laplace, {"scale": laplace.entries[0].scale - Fraction(1, 1000)}),
        (laplace, {"epsilon": Fraction("0.51"), "scale": laplace.entries[0].scale}),
        (laplace, {"scale": None}),
        (optimal, {"side": 500}),
        (optimal, {"epsilon": Fraction("0.51")}),
        (normal, {"sigma": normal.entries[0].sigma * Fraction("0.9999")}),
        (normal, {"rho": normal.entries[0].rho * 2}),
        (choice, {"choice_epsilon": Fraction(1, 70)}),
        (choice, {"choice_epsilon": None}),
    ):
        with pytest.raises(PreconditionError):
            forged(setting, **entry)
    for change in ({"corners": 4}, {"grouping": "ranking", "noise": "optimal"}, {"rows": 2000}, {"k": 2}):
        with pytest.raises(PreconditionError):
            replace(optimal if "noise" in change else laplace, **change)


def test_the_thesis_scale_cannot_be_passed_off_as_the_whole():
    thesis = solved(k=30, calibration="per_record", corners=4)
    with pytest.raises(PreconditionError):
        replace(thesis, calibration="whole")


def test_saved_numbers_are_exact_texts_and_theorems_are_known():
    for asked in ({"noise": "laplace"}, {"noise": "optimal"}, {"noise": "gaussian", "delta": "1e-6"}):
        setting = solved(k=36, attributes=[PAY, TAX, JOB], corners=1, **asked)
        saved = setting.to_saved()
        assert saved["clusters"] == 30
        for entry, kept in zip(setting.entries, saved["attributes"], strict=True):
            for key in ("epsilon", "rho", "scale", "sigma", "choice_epsilon"):
                own = getattr(entry, key)
                assert kept[key] is None if own is None else Fraction(kept[key]) == own
        assert set(setting.theorems) <= set(THEOREMS)
    with pytest.raises(UsageError):
        setting.entry("rent")
    with pytest.raises(UsageError):
        setting.half_width("job")
    with pytest.raises(PreconditionError):
        _ = setting.cost

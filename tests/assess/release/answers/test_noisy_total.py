"""The interval of a noisy total holds exactly, wide tables get an upper end from it, and an entry that is none is refused."""

from __future__ import annotations

from fractions import Fraction
from math import exp
from typing import Any

import numpy as np
import pytest

from shoal.assess.release.answers.noisy_total import NoisyTotal
from shoal.assess.release.load import load
from shoal.errors import VerificationError
from tests.assess.release.released import add_counts, categories, cuts, drawn, reseal, write_release


@pytest.mark.parametrize("scale", ["1/2", "10", "100/3"])
def test_each_end_fails_as_often_as_it_may_and_hardly_less(scale):
    q = exp(-1 / float(Fraction(scale)))
    for risk in (0.5, 0.05, 0.001):
        low, high = NoisyTotal(10**6, Fraction(scale)).bounds(risk)
        far = int(high - 10**6)
        assert low == 10**6 - far
        assert q ** (far + 1) / (1 + q) <= risk / 2
        assert far == 0 or q**far / (1 + q) > risk / 2
    assert NoisyTotal(-3, Fraction(1)).bounds(0.05)[0] == 0
    assert NoisyTotal(7, Fraction(0)).bounds(0.05) == (7, 7)


EXACT = {"scale": "0", "epsilon": "0", "rows_changed": 0}
NO_EXACT = [
    {**EXACT, "epsilon": "1"},
    {**EXACT, "rows_changed": 1},
    {**EXACT, "records": -1},
    {**EXACT, "records": 5.0},
]


@pytest.mark.parametrize(
    "change", [{"records": 1.5}, {"records": True}, {"scale": "0"}, {"scale": "x"}, {"scale": 3}, {}, *NO_EXACT]
)
def test_an_entry_that_is_none_is_refused(tmp_path, change):
    folder = write_release(tmp_path / "r", {"v": ([categories([2])["a0"]], np.array([40, 50]))})
    entry = {"records": 500, "scale": "10", **change} if change else {"records": 500}
    with pytest.raises(VerificationError):
        load(reseal(folder, noisy_total=entry))


@pytest.mark.slow
def test_a_wide_table_gets_an_upper_end_that_holds(tmp_path):
    rng = np.random.default_rng(6)
    rules = categories([12, 12, 12])
    world = rng.multinomial(9000, rng.dirichlet(np.full(12**3, 0.08))).reshape(12, 12, 12)
    truth, misses, trials = int(world[0].sum()), 0, 60
    for run in range(trials):
        views = {"wide": ([rules["a0"], rules["a1"], rules["a2"]], drawn(world, 20, 0.3, rng))}
        plain = load(write_release(tmp_path / f"{run}", views, beta="0.3"))
        noise = int(rng.geometric(1 - exp(-1 / 50)) - rng.geometric(1 - exp(-1 / 50)))
        entry = {"epsilon": "0.02", "rows_changed": 1, "scale": "50", "records": int(world.sum()) + noise}
        told = load(reseal(write_release(tmp_path / f"{run}-total", views, beta="0.3"), noisy_total=entry))
        before, after = plain.count({"a0": "v00"}), told.count({"a0": "v00"})
        assert after.high < 0.8 * before.high
        misses += not after.low <= truth <= after.high
    assert misses <= 10  # less than once in a billion times at .95


@pytest.mark.slow
def test_a_share_of_a_wide_table_is_bounded_by_what_the_samples_can_hold(tmp_path):
    rng = np.random.default_rng(8)
    rules = categories([8, 8, 8])
    world = rng.multinomial(9000, rng.dirichlet(np.full(8**3, 0.05))).reshape(8, 8, 8)
    truth, misses, trials = world[0].sum() / world.sum(), 0, 60
    for run in range(trials):
        views = {"wide": ([rules["a0"], rules["a1"], rules["a2"]], drawn(world, 20, 0.3, rng))}
        noise = int(rng.geometric(1 - exp(-1 / 50)) - rng.geometric(1 - exp(-1 / 50)))
        entry = {"epsilon": "0.02", "rows_changed": 1, "scale": "50", "records": int(world.sum()) + noise}
        plain = load(write_release(tmp_path / f"{run}", views, beta="0.3"))
        told = load(reseal(write_release(tmp_path / f"{run}-total", views, beta="0.3"), noisy_total=entry))
        before, after = plain.share({"a0": "v00"}), told.share({"a0": "v00"})
        assert after.high - after.low < 0.75 * (before.high - before.low)
        misses += not after.low <= truth <= after.high
    assert misses <= 10


def wide_world(rng: np.random.Generator) -> tuple[np.ndarray, dict[str, dict[str, Any]]]:
    """A table of two categories and a number, of which a few cells hold nearly everybody, and its rules."""
    world = rng.multinomial(9000, rng.dirichlet(np.full(12 * 12 * 8, 0.03))).reshape(12, 12, 8)
    return world, {**categories([12, 12]), "x": cuts("x", range(10, 80, 10), 0, 79)}


@pytest.mark.slow
def test_means_and_marginals_of_a_wide_table_are_bounded_by_the_total(tmp_path):
    rng = np.random.default_rng(11)
    world, rules = wide_world(rng)
    lowest, highest = (
        float((world.sum((0, 1)) @ ends) / world.sum()) for ends in (np.arange(8) * 10, np.arange(8) * 10 + 9)
    )
    misses = np.zeros(2)
    for run in range(60):
        views = {"wide": (list(rules.values()), drawn(world, 20, 0.3, rng))}
        noise = int(rng.geometric(1 - exp(-1 / 50)) - rng.geometric(1 - exp(-1 / 50)))
        entry = {"epsilon": "0.02", "rows_changed": 1, "scale": "50", "records": int(world.sum()) + noise}
        plain = load(write_release(tmp_path / f"{run}", views, beta="0.3"))
        told = load(reseal(write_release(tmp_path / f"{run}-total", views, beta="0.3"), noisy_total=entry))
        before, after = plain.mean("x"), told.mean("x")
        assert after.high - after.low < 0.8 * (before.high - before.low)
        # Any numbers inside the labels: all at their lower ends, or all at their upper ones.
        misses[0] += not (after.low <= lowest and highest <= after.high)
        cells = told.marginal("a0")
        assert cells.high.sum() < 0.8 * plain.marginal("a0").high.sum()
        misses[1] += not cells.low[0] <= world[0].sum() <= cells.high[0]
    assert misses.max() <= 10


def test_answers_say_what_bounds_the_number_of_all_records(tmp_path):
    rng = np.random.default_rng(12)
    world, rules = wide_world(rng)
    views = {"wide": (list(rules.values()), drawn(world, 20, 0.3, rng))}
    plain = load(write_release(tmp_path / "plain", views, beta="0.3"))
    entry = {"epsilon": "0.02", "rows_changed": 1, "scale": "50", "records": 9000}
    told = load(reseal(write_release(tmp_path / "told", views, beta="0.3"), noisy_total=entry))
    whole = load(write_release(tmp_path / "whole", {"wide": views["wide"]}, beta="0.3", k=1))
    verbs = {
        "count": lambda loaded: loaded.count({"a0": "v00"}), "total": lambda loaded: loaded.total(),
        "share": lambda loaded: loaded.share({"a0": "v00"}), "mean": lambda loaded: loaded.mean("x"),
        "sum": lambda loaded: loaded.sum("x"), "variance": lambda loaded: loaded.variance("x"),
        "quantile": lambda loaded: loaded.quantile("x"), "marginal": lambda loaded: loaded.marginal("a0"),
    }  # fmt: skip
    for name, verb in verbs.items():
        assert "no noisy total" in verb(plain).method, name
        assert "bounded by the noisy total" in verb(told).method, name
        assert "noisy total" not in verb(whole).method, name


def test_rows_beside_noisy_counts_are_bounded_by_the_counts(tmp_path):
    rng = np.random.default_rng(13)
    world, rules = wide_world(rng)
    folder = write_release(tmp_path / "r", {"wide": (list(rules.values()), drawn(world, 20, 0.3, rng))}, beta="0.3")
    alone = load(folder).mean("x")
    counts = world.sum((1, 2)) + rng.integers(-5, 6, 12)
    beside = load(add_counts(folder, {"a0": ([rules["a0"]], counts)}, "5", method="safe-k")).mean("x")
    assert beside.high - beside.low < 0.8 * (alone.high - alone.low)
    assert "bounded by the noisy counts" in beside.method

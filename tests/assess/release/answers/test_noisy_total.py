"""The interval of a noisy total holds exactly, wide tables get an upper end from it, and an entry that is none is refused."""

from __future__ import annotations

from fractions import Fraction
from math import exp

import numpy as np
import pytest

from shoal.assess.release.answers.noisy_total import NoisyTotal
from shoal.assess.release.load import load
from shoal.errors import VerificationError
from tests.assess.release.released import categories, drawn, reseal, write_release


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


@pytest.mark.parametrize(
    "change", [{"records": 1.5}, {"records": True}, {"scale": "0"}, {"scale": "x"}, {"scale": 3}, {}]
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

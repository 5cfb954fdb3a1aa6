"""Pooled bounds hold exactly on small cases and in simulated releases, near k too; intervals that forget something do not."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom, hypergeom, norm

from shoal.assess.release.answer import odds_ratio, ratio
from shoal.assess.release.answers.mean import mean, sum_of
from shoal.assess.release.answers.pooling import (
    SampledBounds,
    SampledValues,
    mean_lower,
    pooled_lower,
    pooled_upper,
    share_bounds,
)
from shoal.assess.release.load import load
from shoal.errors import UsageError
from tests.assess.release.released import add_counts, cuts, discrete_gaussian, drawn, keep, write_release

RISK = 0.05
LEVEL = 1 - RISK


def too_many(misses, trials, rate=RISK):
    """Whether so many misses would come about less than once in a billion times at the stated level."""
    return misses > binom.ppf(1 - 1e-9, trials, rate)


def test_samples_of_one_rate_are_one_larger_sample():
    n, beta = np.arange(0, 4000), Fraction(3, 20)
    for counts in ([7, 11, 9], [0, 0, 1], [60, 50, 41]):
        size, rate = len(counts), 0.15
        of_size = RISK / 2 / 3  # 1, 2 and 3 of them
        sums = [(1, counts[0]), (2, sum(counts[:2])), (3, sum(counts))]
        low = max(n[(binom.sf(t - 1, many * n, rate) > of_size) & (n >= t / many)].min() for many, t in sums)
        high = min(n[binom.cdf(t, many * n, rate) > of_size].max() for many, t in sums)
        assert pooled_lower(counts, [beta] * size, RISK / 2) >= low
        assert pooled_upper(counts, [beta] * size, RISK / 2) == high
    assert pooled_upper([3, np.inf], [beta] * 2, RISK) == pooled_upper([3], [beta], RISK / 2)


@pytest.mark.slow
@pytest.mark.parametrize("betas", [("0.1", "0.1"), ("0.05", "0.6"), ("0.3", "0.9", "0.02")])
def test_counts_are_covered_exactly_whatever_the_rates(betas):
    rates = [Fraction(each) for each in betas]
    for n in (1, 2, 7, 25):
        masses = [binom.pmf(np.arange(n + 1), n, float(rate)) for rate in rates]
        covered = 0.0
        for counts in np.ndindex(*[n + 1] * len(rates)):
            mass = np.prod([own[t] for own, t in zip(masses, counts, strict=True)])
            if mass < 1e-7:
                continue
            low, high = _interval(tuple(int(t) for t in counts), tuple(rates))
            covered += mass * (low <= n <= high)
        assert covered >= LEVEL - 1e-4
    # An impostor: the sum as a binomial of the number of records itself, as if all views were one sample.
    rate, n = float(sum(rates) / len(rates)), 61
    drawn_counts = binom.rvs(n, [float(each) for each in rates], size=(300, len(rates)), random_state=1).sum(1)
    off = np.abs(drawn_counts / rate - n) > 2 * np.sqrt(n / rate)
    assert off.mean() > RISK


_known: dict[tuple[tuple[int, ...], tuple[Fraction, ...]], tuple[float, float]] = {}


def _interval(counts, rates):
    if (counts, rates) not in _known:
        _known[counts, rates] = pooled_lower(counts, rates, RISK / 2), pooled_upper(counts, rates, RISK / 2)
    return _known[counts, rates]


@pytest.mark.slow
def test_shares_are_covered_exactly_given_the_sampled_wholes():
    everybody, sizes = 40, (9, 6)
    worst = {"ours": 1.0, "wald": 1.0}
    for part in range(everybody + 1):
        masses = [hypergeom.pmf(np.arange(size + 1), everybody, part, size) for size in sizes]
        covered = dict.fromkeys(worst, 0.0)
        for counts in np.ndindex(*(size + 1 for size in sizes)):
            mass = np.prod([own[t] for own, t in zip(masses, counts, strict=True)])
            views = [
                SampledBounds(Fraction(1, 4), t, t, size - t, size - t) for t, size in zip(counts, sizes, strict=True)
            ]
            low, high = share_bounds(views, RISK)
            covered["ours"] += mass * (low <= part / everybody <= high)
            share = sum(counts) / sum(sizes)
            half = norm.ppf(1 - RISK / 2) * np.sqrt(share * (1 - share) / sum(sizes))
            covered["wald"] += mass * (share - half <= part / everybody <= share + half)
        worst = {name: min(own, covered[name]) for name, own in worst.items()}
    assert worst["ours"] >= LEVEL
    assert worst["wald"] < 0.8


def test_hidden_records_only_widen_a_share():
    plain = share_bounds([SampledBounds(Fraction(1, 4), 50, 50, 70, 70)], RISK)
    part = share_bounds([SampledBounds(Fraction(1, 4), 50, 60, 70, 70)], RISK)
    rest = share_bounds([SampledBounds(Fraction(1, 4), 50, 50, 70, 90)], RISK)
    assert part[0] == plain[0]
    assert part[1] > plain[1]
    assert rest[0] < plain[0]
    assert rest[1] == plain[1]
    assert share_bounds([SampledBounds(Fraction(1, 4), 50, 50, 70, np.inf)], RISK)[0] == 0


@pytest.mark.parametrize("ones", [0, 1, 3, 12, 20])
def test_means_of_nothing_and_one_are_covered_exactly(ones):
    everybody, rate, risk = 20, 0.4, 0.1
    missed = 0.0
    for t in range(ones + 1):
        for other in range(everybody - ones + 1):
            mass = binom.pmf(t, ones, rate) * binom.pmf(other, everybody - ones, rate)
            sampled = SampledValues(np.array([0.0, 1.0]), np.array([float(other), float(t)]), *np.zeros((2, 2)))
            missed += mass * (mean_lower([sampled], risk) > ones / everybody)
    assert missed <= risk


@pytest.mark.slow
def test_means_of_a_skewed_number_hold_where_the_normal_interval_does_not():
    rng = np.random.default_rng(5)
    values = np.array([0.0, 0.02, 1.0])
    population = np.array([600, 380, 20])
    truth = float(values @ population / population.sum())
    misses = {"ours": 0, "normal": 0}
    for _ in range(400):
        views = [rng.binomial(population, 0.05) for _ in range(2)]
        sampled = [SampledValues(1 - values, own.astype(float), *np.zeros((2, 3))) for own in views]
        misses["ours"] += 1 - mean_lower(sampled, RISK / 2) < truth
        own = np.repeat(values, views[0] + views[1])
        misses["normal"] += own.mean() + norm.ppf(1 - RISK / 2) * own.std() / np.sqrt(len(own)) < truth
    assert not too_many(misses["ours"], 400, RISK / 2)
    assert too_many(misses["normal"], 400, RISK / 2)


def test_a_hidden_record_counts_at_its_worst():
    values, seen = np.array([0.2, 0.6]), np.array([40.0, 60.0])
    plain = mean_lower([SampledValues(values, seen, *np.zeros((2, 2)))], RISK)
    low_hidden = mean_lower([SampledValues(values, seen, np.zeros(2), np.array([30.0, 0.0]))], RISK)
    high_hidden = mean_lower([SampledValues(values, seen, np.zeros(2), np.array([0.0, 30.0]))], RISK)
    assert low_hidden < plain
    assert high_hidden == pytest.approx(plain)
    assert mean_lower([SampledValues(values, seen, np.zeros(2), np.array([np.inf, 0.0]))], RISK) <= 0.2


def test_hidden_records_are_no_more_than_samples_hold_and_lie_where_they_are_worst():
    values, seen, hidden = np.array([0.2, 0.4, 0.6]), np.array([40.0, 0.0, 60.0]), np.array([15.0, np.inf, 99.0])
    capped = mean_lower([SampledValues(values, seen, np.zeros(3), hidden, 100.0)], RISK, [130.0])
    worst = mean_lower([SampledValues(values, seen, np.zeros(3), np.array([15.0, 15.0, 0.0]))], RISK)
    assert capped == worst
    ways = (np.array([low, 30.0 - low, 0.0]) for low in range(16))
    assert capped == min(mean_lower([SampledValues(values, seen, np.zeros(3), way)], RISK) for way in ways)
    assert mean_lower([SampledValues(values, seen, np.zeros(3), hidden, 100.0)], RISK, [90.0]) == pytest.approx(
        mean_lower([SampledValues(values, seen, *np.zeros((2, 3)))], RISK)
    )


EDGES = list(range(10, 80, 10))


def made_world(rng):
    """True counts of age in tens by sex by place, many of them near k / beta."""
    ages = 900 * rng.dirichlet(np.full(8, 3.0))
    return rng.poisson(ages[:, None, None] * np.array([0.4, 0.6])[:, None] * np.array([0.7, 0.25, 0.05]))


def published(folder, world, rng, k=12, beta=0.2):
    """All pairs of age, sex and place, and age alone, each from its own sample."""
    rules = [cuts("age", EDGES, 0, 79), keep("sex", ["f", "m"]), keep("place", ["n", "s", "e"])]
    views = {}
    for axes in ((0, 1), (0, 2), (1, 2), (0,)):
        counts = world.sum(tuple(j for j in range(3) if j not in axes))
        views["-".join(rules[j]["attribute"] for j in axes)] = (
            [rules[j] for j in axes],
            drawn(counts, k, beta, rng),
        )
    return load(write_release(folder, views, k=k, beta=str(beta))), views


@pytest.mark.slow
def test_pooled_answers_cover_on_simulated_releases_near_k(tmp_path):
    rng = np.random.default_rng(17)
    trials = 80
    misses = dict.fromkeys(("count", "small", "share", "within", "odds", "mean", "sum", "total", "impostor"), 0)
    for run in range(trials):
        world = made_world(rng)
        loaded, views = published(tmp_path / str(run), world, rng)
        place, sex, age = world.sum((0, 1)), world.sum((0, 2)), world.sum((1, 2))
        pair = world.sum(0)
        inside = rng.uniform(0, 10, int(age.sum()))
        numbers = np.floor(np.repeat(np.arange(8) * 10, age) + inside)
        truth = {
            "count": sex[0], "small": place[2], "share": sex[0] / sex.sum(), "within": pair[0, 0] / pair[0].sum(),
            "odds": pair[0, 0] * (pair[1].sum() - pair[1, 0]) / (pair[0].sum() - pair[0, 0]) / pair[1, 0],
            "mean": numbers.mean(), "sum": numbers.sum(), "total": world.sum(),
        }  # fmt: skip
        found = {
            "count": loaded.count({"sex": "f"}), "small": loaded.count({"place": "e"}), "share": loaded.share({"sex": "f"}),
            "within": ratio(loaded, {"place": "n"}, {"sex": "f"}, LEVEL),
            "odds": odds_ratio(loaded, {"place": "n"}, {"sex": "f"}, LEVEL),
            "mean": mean(loaded, "age", {}, LEVEL), "sum": sum_of(loaded, "age", {}, LEVEL), "total": loaded.total(),
        }  # fmt: skip
        for name, own in found.items():
            assert own.low <= own.value <= own.high, name
            misses[name] += not own.low <= truth[name] <= own.high
        # An impostor: all that is published, pooled as if nothing were suppressed.
        seen = [int(counts.sum(0)[2]) for name, (_, counts) in views.items() if name == "age-place"]
        seen.append(int(views["sex-place"][1].sum(0)[2]))
        rates = [Fraction(1, 5)] * 2
        misses["impostor"] += not (
            pooled_lower(seen, rates, RISK / 2) <= truth["small"] <= pooled_upper(seen, rates, RISK / 2)
        )
    for name, own in misses.items():
        assert too_many(own, trials) == (name == "impostor"), (name, own)


def test_pooling_narrows_and_the_model_is_nearer(tmp_path):
    rng = np.random.default_rng(2)
    loaded, views = published(tmp_path / "all", made_world(rng) * 8, rng)
    alone = load(write_release(tmp_path / "one", {"age-sex": views["age-sex"]}, k=12, beta="0.2"))
    wide, narrow = alone.count({"sex": "f"}), loaded.count({"sex": "f"})
    assert narrow.high - narrow.low < 0.9 * (wide.high - wide.low)
    assert narrow.source == "sex-place and 1 other view"
    assert "model-based" in narrow.method
    assert "published count" in wide.method
    wide, narrow = mean(alone, "age", {}, LEVEL), mean(loaded, "age", {}, LEVEL)
    assert narrow.high - narrow.low < wide.high - wide.low
    assert narrow.high - narrow.low > 9  # labels hold ten years


def test_a_table_that_was_a_sample_is_not_pooled(tmp_path):
    rng = np.random.default_rng(2)
    folder = tmp_path / "r"
    published(folder, made_world(rng), rng)
    loaded = load(folder)
    object.__setattr__(loaded, "was_sampled_before", True)
    assert loaded.count({"sex": "f"}).source == "sex-place"
    assert loaded.total().source == "sex-place"


@pytest.mark.slow
def test_means_of_noisy_counts_cover(tmp_path):
    rng = np.random.default_rng(3)
    world, trials, sigma = made_world(rng), 150, 9.0
    pair = world.sum(2)
    truth = float((pair[:, 0] @ (np.arange(8) * 10 + 9)) / pair[:, 0].sum())  # everybody at the end of a label
    misses = {"ours": 0, "impostor": 0}
    for run in range(trials):
        shown = pair + discrete_gaussian(sigma, pair.shape, rng)
        tables = {"t": ([cuts("age", EDGES, 0, 79), keep("sex", ["f", "m"])], shown)}
        loaded = load(add_counts(tmp_path / str(run), tables, str(sigma)))
        found = mean(loaded, "age", {"sex": "f"}, LEVEL)
        misses["ours"] += not found.low <= truth <= found.high
        middle = float(shown[:, 0] @ (np.arange(8) * 10 + 4.5) / shown[:, 0].sum())
        misses["impostor"] += abs(middle - truth) > 4  # the labels' middles, and noise alone
    assert not too_many(misses["ours"], trials)
    assert too_many(misses["impostor"], trials)


def test_what_has_no_mean_is_refused(tmp_path):
    loaded, _ = published(tmp_path / "r", made_world(np.random.default_rng(1)), np.random.default_rng(1))
    with pytest.raises(UsageError, match="is no number"):
        mean(loaded, "sex", {}, LEVEL)
    with pytest.raises(UsageError, match="no published attribute"):
        mean(loaded, "height", {}, LEVEL)
    open_ended = cuts("age", EDGES, 0, 79) | {"domain": "any"}
    folder = write_release(tmp_path / "open", {"v": ([open_ended], np.full(8, 40))})
    with pytest.raises(UsageError, match="no declared lowest"):
        mean(load(folder), "age", {}, LEVEL)


def test_a_condition_on_the_number_itself_narrows_its_mean(tmp_path):
    rng = np.random.default_rng(4)
    loaded, _ = published(tmp_path / "r", made_world(rng) * 20, rng)
    found = mean(loaded, "age", {"age": (40, 60)}, LEVEL)
    assert 39 < found.low < 50 < found.high < 61
    assert ratio(loaded, {"age": (40, 50)}, {"age": (40, 60)}, LEVEL).value == pytest.approx(
        loaded.count({"age": (40, 50)}).value / loaded.count({"age": (40, 60)}).value, rel=0.02
    )

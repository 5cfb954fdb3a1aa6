"""Knowledge refinement: how long draws take, and how far answers about one person are off beside Laplace noise."""

from __future__ import annotations

import time
from fractions import Fraction
from math import log

from scipy import stats

from shoal.chance.source import Source
from shoal.mechanism.refinement.mechanism import KnowledgeRefinement
from shoal.mechanism.refinement.prior import HistogramPrior, UniformPrior

MILLION = 1_000_000
INCOME = [0, 10, 20, 30, 50, 100, 500]
SHARES = ["0.2", "0.3", "0.2", "0.15", "0.1", "0.05"]
EPSILONS = {".1": 0.1, "ln 2": log(2), "1": 1, "2": 2}


def seconds(work):
    """CPU seconds of the best of three runs."""
    best = float("inf")
    for _ in range(3):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return best


def draws():
    """One line for each kind of prior."""
    source = Source.secure()
    skewed = {value: Fraction(1 + value % 4, 250) for value in range(100)}
    lines = [
        ("uniform", UniformPrior(), 0.3),
        ("100 listed values", skewed, 40),
        ("histogram of 6 bins", HistogramPrior(INCOME, SHARES), 42),
        ("normal", stats.norm(170, 10), 183),
        ("lognormal", stats.lognorm(1), 2),
        ("Poisson", stats.poisson(1000), 1010),
    ]
    print(f"{'CPU seconds, 1M draws at epsilon 1':40}{'plain':>10}{'delta .1':>10}{'to beat':>10}")
    for name, prior, truth in lines:
        plain, moved = (KnowledgeRefinement(prior, 1, delta=delta) for delta in ("0", "0.1"))
        ours = [seconds(lambda m=m, t=truth: m.sample(t, source, MILLION)) for m in (plain, moved)]
        print(f"{name:40}{ours[0]:10.3f}{ours[1]:10.3f}{2:>10}")
    one = KnowledgeRefinement(stats.norm(170, 10), 1)
    print(f"{'one draw, normal (milliseconds)':40}{1000 * seconds(lambda: one.sample(183, source)):10.1f}")


def errors():
    """Expected absolute error when the truth follows the prior; Laplace's is range / epsilon, from declared bounds."""
    lines = [
        ("uniform on 0..1", UniformPrior(), 1),
        ("height, normal 170 +- 10 on 120..220", stats.truncnorm(-5, 5, 170, 10), 100),
        ("income, skewed histogram on 0..500", HistogramPrior(INCOME, SHARES), 500),
        ("days, lognormal on 0..100", HistogramPrior(*_cut(stats.lognorm(1, scale=5), 100)), 100),
    ]
    print(
        f"\n{'expected absolute error, one person':40}{'epsilon':>9}{'refined':>10}{'Laplace':>10}{'times':>8}{'prior':>10}"
    )
    for name, prior, width in lines:
        blind = KnowledgeRefinement(prior, "1e-9").expected_error
        for label, epsilon in EPSILONS.items():
            ours, noise = KnowledgeRefinement(prior, epsilon).expected_error, width / epsilon
            print(f"{name:40}{label:>9}{ours:10.4g}{noise:10.4g}{noise / ours:8.1f}{blind:10.4g}")
    print("Laplace noise for a sensitivity of the whole range; half of it if an absent person counts as its middle.")
    print("prior: the error of a draw from the prior, which costs nothing.")


def _cut(law, high):
    """A law cut to 0..high, in whole bins."""
    shares = [law.cdf(end + 1) - law.cdf(end) for end in range(high)]
    return range(high + 1), [Fraction(share) / sum(map(Fraction, shares)) for share in shares]


def main():
    """Print both tables."""
    draws()
    errors()


if __name__ == "__main__":
    main()

"""How long random bits take: row masks, permutations and exact noise, beside NumPy and OpenDP."""

from __future__ import annotations

import time
from fractions import Fraction

import numpy as np

from shoal.chance.source import Source

MILLION = 1_000_000


def seconds(work):
    """CPU seconds of the best of three runs."""
    best = float("inf")
    for _ in range(3):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return best


def opendp_laplace(scale, size):
    """OpenDP's integer Laplace on a list of zeros."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int)
    noise = dp.m.make_laplace(*space, scale=float(scale))
    return lambda: noise([0] * size)


def main():
    """Print one line for each thing measured; a dash where there is no peer or no figure."""
    source = Source.secure()
    peer = np.random.default_rng()
    mask = source.row_mask(Fraction(1, 3))
    ids = np.arange(10 * MILLION)
    groups = source.integers(200_000, MILLION)
    scores = [Fraction(index * 7919 % 6480, 20) for index in range(6480)]
    lines = [
        ("row mask, 10M rows in a range", lambda: mask.keep(0, 10 * MILLION), lambda: peer.random(10 * MILLION), 0.3),
        ("row mask, 10M rows by number", lambda: mask.keep_rows(ids), None, None),
        ("words, 10M", lambda: source.words(10 * MILLION), lambda: peer.bytes(80 * MILLION), None),
        ("integers, 10M", lambda: source.integers(999, 10 * MILLION), lambda: peer.integers(999, size=10 * MILLION), None),
        ("permutation of 1M", lambda: source.permutation(MILLION), lambda: peer.permutation(MILLION), None),
        ("shuffle within 200,000 groups, 1M", lambda: source.shuffle_within(groups), None, None),
        ("choose among 6,480 scores", lambda: source.choose(scores), None, None),
    ]  # fmt: skip
    print(f"{'CPU seconds':40}{'ours':>10}{'NumPy':>10}{'to beat':>10}")
    for name, ours, theirs, limit in lines:
        other = "-" if theirs is None else f"{seconds(theirs):.3f}"
        print(f"{name:40}{seconds(ours):10.3f}{other:>10}{limit or '-':>10}")
    print(f"\n{'CPU seconds, 1M Laplace draws':40}{'ours':>10}{'OpenDP*':>10}{'to beat':>10}")
    for scale in (1, 10, 1000, MILLION):
        ours = seconds(lambda scale=scale: source.discrete_laplace(scale, MILLION))
        theirs = 100 * seconds(opendp_laplace(scale, MILLION // 100))
        print(f"{f'scale {scale:,}':40}{ours:10.3f}{theirs:10.1f}{1:>10}")
    print("* ten thousand draws, times a hundred")


if __name__ == "__main__":
    main()

"""How long the calculus takes: delta and solve against k, and composition against the number of releases.

Run with `make bench`, or `python benchmarks/calculus.py`. Milliseconds of CPU, best of several; the last column is the
ratio to the same call at k = 20, which shows how the cost grows (like the square root of k).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from functools import partial

from shoal.guarantee.compose import compose
from shoal.guarantee.differential import SafeKSampling
from shoal.guarantee.safe_k.curve import delta_published, delta_tight
from shoal.guarantee.safe_k.setting import frontier, solve


def milliseconds(job: Callable[[], object], repeats: int = 7) -> float:
    """The best of several runs, after one to warm up."""
    job()
    best = math.inf
    for _ in range(repeats):
        start = time.process_time()
        job()
        best = min(best, time.process_time() - start)
    return 1000 * best


def show(title: str, rows: list[tuple[str, float]]) -> None:
    """A table with ratios to its first row."""
    print(f"\n{title}")
    for name, value in rows:
        print(f"  {name:<44}{value:>10.2f} ms{value / rows[0][1]:>8.1f} x")


def main() -> None:
    """All tables."""
    sizes = (20, 100, 500, 1000, 5000)
    for beta, epsilon in ((".2", "1"), (".5", ".1"), ("1e-6", "0")):
        rows = [(f"k = {k}", milliseconds(partial(delta_tight, k, beta, epsilon))) for k in sizes]
        show(f"delta*, beta = {beta}, epsilon = {epsilon}", rows)
    show(
        "published d, beta = .2, epsilon = 1",
        [(f"k = {k}", milliseconds(lambda k=k: delta_published(k, ".2", 1))) for k in sizes],
    )
    rate = 1 - math.exp(-1)
    show(
        "solve, epsilon = 1, delta = 1e-6",
        [
            (
                "k at beta = 1 - 1/e (the peer needs seconds)",
                milliseconds(lambda: solve(epsilon=1, delta="1e-6", beta=rate)),
            ),
            ("k, published bound", milliseconds(lambda: solve(epsilon=1, delta="1e-6", beta=rate, bound="published"))),
            ("beta at k = 20", milliseconds(lambda: solve(epsilon=1, delta="1e-6", k=20))),
            (
                "beta at k = 20, published bound",
                milliseconds(lambda: solve(epsilon=1, delta="1e-6", k=20, bound="published")),
            ),
            ("epsilon at k = 20, beta = .3", milliseconds(lambda: solve(delta="1e-6", k=20, beta=".3"))),
            ("frontier of 21 sizes", milliseconds(lambda: frontier(1, "1e-6"), 3)),
        ],
    )
    show(
        "composition at delta = 1e-6, both directions",
        [
            (
                f"{n} releases, k = 20, beta = .15",
                milliseconds(lambda n=n: compose([(SafeKSampling(20, ".15"), n)]).pld_epsilon("1e-6"), 3),
            )
            for n in (1, 28, 300)
        ],
    )


if __name__ == "__main__":
    main()

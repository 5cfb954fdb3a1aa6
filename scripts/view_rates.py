"""Which sampling rate many views should take by themselves: simulated on generated visits (decision 0003).

    python scripts/view_rates.py [--runs N] [--rows N ...] [--views N]

All pairs of eight attributes are published at each rate, with the smallest k that keeps the promise for all views
together. The distance of a pair is the total variation between the table's joint distribution and that of the published
rows; the mean over all pairs is printed. The rate with the smallest crowd k/beta is what `beta: auto` takes.

No row of anybody's is read, and nothing is published: the samples are drawn with a seed.
"""

from __future__ import annotations

import argparse
import tempfile
from fractions import Fraction
from itertools import combinations

import numpy as np
import numpy.typing as npt

from shoal.datasets.visits import visits, write_policy
from shoal.engine.base import open_engine
from shoal.policy.policy import Policy
from shoal.publish.plan.views import Allocation

DELTA = Fraction(1, 10**6)
EPSILONS = (Fraction(1), Fraction(2))
RATES = tuple(Fraction(n, 100) for n in (5, 8, 10, 12, 15, 20, 25, 30, 40))
LEVELS = {"age": 1, "sex": 0, "region": 0, "diagnosis": 1, "department": 0, "insurance": 0, "stay": 1, "income": 1}
"""What the views show of each attribute: ages by five years, blocks of diagnoses, stays by two nights."""
Counts = npt.NDArray[np.int64]


def joints(rows: int) -> list[Counts]:
    """How many people stand in each cell of each pair, in a generated table of so many visits of one person each."""
    with tempfile.TemporaryDirectory() as folder:
        schema = Policy.load(write_policy(folder)).schema
    whole = visits(2 * rows + rows // 10, seed=3).to_pandas().drop_duplicates("patient_id").head(rows)
    table = open_engine().scan(whole, schema)
    known = {name: schema[name].hierarchy for name in LEVELS}
    recoded = table.recode({name: own.level(LEVELS[name]) for name, own in known.items() if own is not None})
    return [recoded.count_by(pair).counts.astype(np.int64) for pair in combinations(LEVELS, 2)]


def crowd(views: int, epsilon: Fraction, rate: Fraction) -> int | None:
    """The smallest k with which so many views at this rate keep the promise; None where none does."""
    return Allocation((Fraction(1),) * views, epsilon, DELTA, Fraction(0), Fraction(0)).smallest_k(rate)


def distance(pairs: list[Counts], k: int, rate: Fraction, seed: int) -> float:
    """The mean distance of one release; a pair of which nothing is published is as far as it can be."""
    # Chance that carries no promise: a seeded generator is what is wanted here.
    chance = np.random.Generator(np.random.PCG64(seed))  # noqa: TID251
    found = []
    for counts in pairs:
        drawn = chance.binomial(counts, float(rate))
        shown = np.where(drawn >= k, drawn, 0)
        left = shown.sum()
        found.append(np.abs(counts / counts.sum() - shown / left).sum() / 2 if left else 1.0)
    return float(np.mean(found))


def main() -> None:
    """Print one line for each rate, and mark the smallest crowd and the smallest distance."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--runs", type=int, default=5)
    asked.add_argument("--rows", type=int, nargs="+", default=[5_000, 30_000, 100_000])
    asked.add_argument("--views", type=int, default=28, help="how many views the promise is shared between")
    given = asked.parse_args()
    sizes = {
        (epsilon, rate): k
        for epsilon in EPSILONS
        for rate in RATES
        if (k := crowd(given.views, epsilon, rate)) is not None
    }
    for rows in given.rows:
        pairs = joints(rows)
        people = int(pairs[0].sum())
        for epsilon in EPSILONS:
            rates = [rate for rate in RATES if (epsilon, rate) in sizes]
            crowds = {rate: sizes[epsilon, rate] / rate for rate in rates}
            means = {
                rate: float(np.mean([distance(pairs, sizes[epsilon, rate], rate, seed) for seed in range(given.runs)]))
                for rate in rates
            }
            smallest, nearest = min(rates, key=crowds.__getitem__), min(rates, key=means.__getitem__)
            print(f"\n{people:,} people, epsilon {float(epsilon):g}, {given.views} views, {given.runs} runs")
            print(f"{'beta':>6}{'k':>5}{'k/beta':>9}{'distance':>11}")
            for rate in rates:
                k = sizes[epsilon, rate]
                marks = ["smallest crowd"] * (rate == smallest) + ["nearest"] * (rate == nearest)
                print(f"{float(rate):>6.2f}{k:>5}{float(crowds[rate]):>9.1f}{means[rate]:>11.4f}  {', '.join(marks)}")


if __name__ == "__main__":
    main()

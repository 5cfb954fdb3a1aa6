"""UNSAFE on purpose: a search that publishes the best scheme it visited, and the attack that refutes its claim.

Each step of the walk is an exponential mechanism and pays for itself. Then the best of all schemes visited is taken: an exact
argmax that nobody paid for, and on the very sample that is published. One rare record decides it, so that neighbouring tables
are told apart in most runs under a claim of (2, 1e-6). Nothing of it may carry a claim; no method imports it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product

from shoal.anonymize.generalize.lattice import Lattice
from shoal.anonymize.generalize.private_scheme import check_epsilon, choose_scheme
from shoal.anonymize.generalize.scores import Ramp, Score
from shoal.chance import exact
from shoal.chance.source import Source
from shoal.data.domain import Values
from shoal.data.hierarchy.build import hierarchy
from shoal.data.schema import Attribute, Role, Schema
from shoal.data.type import Type
from shoal.engine.base import Counts, Table
from shoal.guarantee.differential import ApproxDP, PureDP
from shoal.lab.attacks.outcome import AttackResult, AttackSetting, compare
from shoal.lab.attacks.population import People

EPSILON, DELTA = 2, "1e-6"
PAID = Fraction(1, 2)
"""What one draw of the levels costs of this epsilon where it is paid for; the rest is for what is published."""
BETA = Fraction(43, 50)
"""1 − e^−2, rounded down: the rate that goes with a claim of (2, 1e-6)."""
K = 20
STEPS = 100
TOWNS, SEXES = ("a", "b", "c", "z"), ("female", "male")
RARE = ("z", "female")
"""The only person of town z: the target."""


def choose_best_visited(setting: AttackSetting) -> AttackResult:
    """Tell by the published levels whether the one person of a town is in the table: by the walk, and by one paid draw."""
    grid = [(town, sex) for town, sex in product(TOWNS[:-1], SEXES) for _ in range(max(1, setting.rows // 6))]
    schema = Schema(tuple(_attribute(name, values) for name, values in (("town", TOWNS), ("sex", SEXES))))
    # The town does not count as detail, so schemes that differ in it alone differ by what they suppress.
    lattice = Lattice.of(schema.attributes, weights={"town": 0})
    score = Ramp(K, BETA)
    tables = [_table(rows, schema) for rows in ([*grid, RARE], grid)]
    walked, drawn = [], []
    for table, who in zip(tables, ("in", "out"), strict=True):
        chance = setting.source(f"walk {who}")
        walked.append(
            [
                unsafe_best_of_visited(lattice, _sample(table, chance), score, EPSILON, STEPS, chance)["town"] == 1
                for _ in range(setting.runs)
            ]
        )
        counts, chance = table.count_by(lattice.names), setting.source(f"draw {who}")
        drawn.append([choose_scheme(lattice, counts, score, PAID, chance)["town"] == 1 for _ in range(setting.runs)])
    apart = sum(walked[0]) - sum(walked[1])
    return AttackResult(
        "best-visited",
        "Best scheme visited: an argmax that nobody paid for",
        "LQS11 Theorem 6",
        f"A table of {len(grid):,} people in three towns, with or without one more person who is the only one of a fourth. "
        "The intruder sees which levels were chosen for the recoding. Success: the person is in the table, and towns are "
        "hidden.",
        "Control: the person is not in the table, and towns are hidden.",
        (
            compare("best scheme visited", *walked, claim=ApproxDP(EPSILON, DELTA), false_claim=True),
            compare("one paid draw (ours), epsilon 1/2", *drawn, claim=PureDP(PAID)),
        ),
        (
            (
                "Without the person, naming towns suppresses nobody and is best. With the person in the sample it "
                "suppresses one row, so hiding towns is better by that row, and the exact maximum always takes it: the "
                "person decides the levels of everybody."
            ),
            (
                "That each step was drawn privately does not help: the maximum over what was visited is one more look at "
                "the table, exact and unpaid. One draw of the exponential mechanism over all schemes is the whole choice, "
                "and its epsilon bounds what one person can change."
            ),
        ),
        setting,
        (f"best scheme visited: {apart} of {setting.runs:,} pairs of runs told apart by the level of town alone",),
    )


def unsafe_best_of_visited(
    lattice: Lattice, sample: Counts, score: Score, epsilon: Fraction | int, steps: int, source: Source
) -> dict[str, int]:
    """UNSAFE. From the coarsest scheme visit `steps` more, each drawn among those one level from a visited one; keep the best.

    Each step draws with epsilon/steps, as an honest walk would. Of equally good schemes the finer one (the lower number)
    is kept. Claims nothing: the last choice is an unpaid maximum over the sample that is published.
    """
    paid = check_epsilon(epsilon) / exact.whole(steps, "the number of steps", 1)
    scores, spread = score.of_all(lattice, sample), score.spread(lattice)
    visited = {len(lattice) - 1}
    border = set(_around(lattice, len(lattice) - 1))
    for _ in range(steps):
        if not border:
            break
        open_schemes = sorted(border)
        exponents = [paid * int(scores[at]) / spread if spread else Fraction(0) for at in open_schemes]
        step = open_schemes[source.choose(exponents)]
        visited.add(step)
        border = (border | set(_around(lattice, step))) - visited
    return lattice.scheme(max(sorted(visited), key=lambda at: int(scores[at])))


def _around(lattice: Lattice, index: int) -> Iterator[int]:
    """The schemes that differ by one level in one attribute."""
    stride = 1
    for size in reversed(lattice.shape):
        at = index // stride % size
        if at > 0:
            yield index - stride
        if at < size - 1:
            yield index + stride
        stride *= size


def _attribute(name: str, values: Sequence[str]) -> Attribute:
    domain = Values(tuple(values))
    return Attribute(name, Role.QUASI, Type.CATEGORY, domain, hierarchy({"groups": []}, Type.CATEGORY, domain))


def _table(rows: Sequence[tuple[str, str]], schema: Schema) -> Table:
    import numpy as np

    towns, sexes = zip(*rows, strict=True)
    return People({"town": np.array(towns, dtype=object), "sex": np.array(sexes, dtype=object)}).table(schema)


def _sample(table: Table, source: Source) -> Counts:
    return table.keep(source.row_mask(BETA).keep).count_by(table.columns)

"""Two publications from one sample: each keeps its promise, and both together tell whether a person was sampled.

LQS11 section 2.6. Differential privacy under sampling rests on what the intruder does not know of the sample; a second
publication from the same sample tells it. Two cases are run, each from one sample and from two:

    the paper's pair   r XOR s, where r says whether the sample has more men and s whether it holds the target; then how many
                       more men than women it has, with Laplace noise, which gives r away
    two safe-k tables  one by parts of the country, one by regions: their difference is the region that was suppressed
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from shoal.chance.source import Source
from shoal.data.schema import Schema
from shoal.engine.base import Table
from shoal.guarantee.differential import ApproxDP, PureDP
from shoal.guarantee.unit import Unit
from shoal.lab.attacks.outcome import AttackResult, AttackSetting, compare
from shoal.lab.attacks.population import ATTRIBUTES, People, safe_method, safe_setting
from shoal.mechanism.base import Sensitivity
from shoal.mechanism.laplace import Laplace

HALF = Fraction(1, 2)
FEWEST = 1000
"""The paper's first algorithm says nothing of a sample with fewer records."""
PEOPLE = 10_000
"""People of the paper's tables, half of them men."""
NOISE = PureDP(1)
"""The promise of the paper's second algorithm."""
EPSILON, DELTA, BETA = "0.5", "1e-6", "0.5"
"""The promise of each safe-k table, and the rate of its sample."""
PART, ALONE = "Islands", "Larch"
"""Where everybody lives but the target, who is the only one in Larch; the same part of the country as Ivy and Kelp."""
NEIGHBOURS = ("Ivy", "Kelp")
TOGETHER = ApproxDP(1, Fraction(2, 10**6))
"""What two safe-k tables from fresh samples cost together, by basic composition."""


def publish_twice(setting: AttackSetting) -> AttackResult:
    """Tell from two publications whether a person is in the table, with one sample for both and with two."""
    outcomes = []
    for fresh in (False, True):
        how = "two samples" if fresh else "one sample"
        chance = setting.source(f"paper {how}")
        found = [
            [_says_in(*xor_and_majority(target, fresh=fresh, source=chance)) for _ in range(setting.runs)]
            for target in (True, False)
        ]
        outcomes.append(compare(f"XOR, noisy majority: {how}", *found))
    each = max(200, setting.rows // len(NEIGHBOURS))
    lines = []
    for fresh in (False, True):
        how = "two samples" if fresh else "one sample"
        found = []
        for target in (True, False):
            table = _islanders(each, target=target)
            chance = setting.source(f"safe-k {how} {target}")
            missing = [count_difference(table, fresh=fresh, source=chance) for _ in range(setting.runs)]
            found.append([rows == 1 for rows in missing])
            if target:
                first = ", ".join(f"{rows:+d}" for rows in missing[:6])
                lines.append(
                    f"two safe-k tables, {how}: rows of the part less those of its regions in six runs: {first}"
                )
        claim, false = TOGETHER, not fresh
        outcomes.append(compare(f"two safe-k tables: {how}", *found, claim=claim, false_claim=false))
    promise = safe_setting(EPSILON, DELTA, BETA)
    return AttackResult(
        "same-sample",
        "One sample, two publications",
        "LQS11 section 2.6",
        "The intruder wants to know whether a person is in the table. Of the paper's pair: r is read off the noisy "
        f"majority, and s is what the first bit is beyond it. Of two safe-k tables (k = {promise.k}, rate {BETA}): the "
        f"person is said to be in when the part {PART} has one row more than {' and '.join(NEIGHBOURS)} together. Success: "
        "the person is in, and is said to be.",
        "Control: the person is not in the table, and is said to be. The same two publications from fresh "
        "samples are beside it.",
        tuple(outcomes),
        (
            (
                "Each publication alone hides the person behind the sample: nobody knows how many rows were drawn. "
                "Published twice from one sample, the unknown cancels, and what is left is the person. The intruder is "
                f"right whenever the person was drawn, with probability {BETA}, and hardly ever wrong."
            ),
            (
                "Two fresh samples differ by chance far more than by one person. Then both promises add up to (1, "
                "0.000002), and the attack finds nothing. Shoal draws a fresh sample for every publication and destroys "
                "its key; a table that is itself a sample is published once."
            ),
        ),
        setting,
        tuple(lines),
    )


def xor_and_majority(target: bool, *, fresh: bool, source: Source) -> tuple[bool, int]:
    """The paper's two publications: r XOR s of a sample, and how many more men than women it has, with noise of epsilon 1.

    The paper publishes the share of men; the difference says the same of r, and one person moves it by 1 at most.
    """
    men, drawn, has_target = _draw(target, source)
    bit = (2 * men > drawn) != has_target if drawn >= FEWEST else False
    if fresh:
        men, drawn, _ = _draw(target, source)
    count = Laplace.for_target(NOISE, sensitivity=Sensitivity(1, Unit.row("add_remove"), multiples_of=1), grid=1)
    return bit, 2 * men - drawn + int(np.asarray(count.noise(source, 1)).ravel()[0])


def _draw(target: bool, source: Source) -> tuple[int, int, bool]:
    """Men and records of a sample, and whether the target is in it: the last record, a man, where there is one."""
    kept = source.row_mask(HALF).keep(0, PEOPLE + 1)
    return int(kept[: PEOPLE // 2].sum()), int(kept[:PEOPLE].sum()), bool(kept[PEOPLE]) and target


def _says_in(bit: bool, more_men: int) -> bool:
    return bit != (more_men > 0)


def _islanders(each: int, *, target: bool) -> Table:
    """People of two islands, and the target alone on a third."""
    names = np.array([name for name in NEIGHBOURS for _ in range(each)] + [ALONE] * target, dtype=object)
    return People({"region": names}).table(Schema((ATTRIBUTES["region"],)))


def count_difference(table: Table, *, fresh: bool, source: Source) -> int:
    """Rows of the part of the country less those of its published regions, in two safe-k tables."""
    setting = safe_setting(EPSILON, DELTA, BETA)
    parts, regions = safe_method({"region": 1}, setting), safe_method({"region": 0}, setting)
    sample = parts.sample(table, source)
    other = regions.sample(table, source) if fresh else sample
    found = []
    for method, rows in ((parts, sample), (regions, other)):
        labelled = method.settle(table, source).apply(rows)
        found.append(sum(n for n in labelled.count_by(["region"]).counts.tolist() if n >= setting.k))
    return int(found[0] - found[1])

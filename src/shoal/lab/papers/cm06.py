"""CM06: published safe rates of a plain sample beside exact ones, also of whole tables; how tight they are, where they fail."""

from __future__ import annotations

import csv
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from shoal.guarantee.plain_sample import failure_probability, published_rate, sample_rate
from shoal.lab.papers.comparison import Finding, Reproduction, RunSetting, erratum, statement
from shoal.page.picture import Picture, PlotAxis, Series

LEMMA_2 = (0.0025, 0.064)
"""What CM06 Lemma 2 allows one infrequent value (alpha / k), and what it really is."""


@dataclass(frozen=True)
class SampleTable:
    """Counts of values, the paper's epsilon and delta, and how many rows the intruder does not know."""

    words: str
    counts: tuple[int, ...]
    epsilon: float
    delta: float
    c: int = 1


TABLES = (
    SampleTable("2 common values", (5000, 5000), 0.1, 0.01),
    SampleTable("10 common values", (2000,) * 10, 0.1, 0.01),
    SampleTable("5 common and 3 rare values", (5000,) * 5 + (20, 10, 1), 0.1, 0.01),
    SampleTable("100 unique values", (1,) * 100, 0.1, 0.01),
    SampleTable("10 common values, 2 rows", (4000,) * 10, 0.05, 0.01, 2),
    SampleTable("5 common and 1 rare value, 3 rows", (9000,) * 5 + (30,), 0.05, 0.05, 3),
)


def rates() -> Reproduction:
    """Theorems 3 and 7 at sample tables: the formula as printed, our function, and the exact rate for the same guarantee."""
    findings = []
    for table in TABLES:
        printed, target = _as_printed(table)
        rate, epsilon = published_rate(table.counts, epsilon=table.epsilon, delta=table.delta, c=table.c)
        best = sample_rate(table.counts, epsilon=epsilon, delta=table.delta, c=table.c)
        findings.append(
            statement(
                f"rate: {table.words} (Theorem {3 if table.c == 1 else 7})",
                f"{printed:.5g}",
                f"{rate:.5g}",
                math.isclose(rate, printed, rel_tol=1e-9) and math.isclose(epsilon, target, rel_tol=1e-9),
                difference=f"{rate / printed - 1:+.1e}",
                improved=f"{best.rate:.4g} ({best.rate / rate:.3g} times larger)",
            )
        )
    unique = TABLES[3]
    most = _as_printed(unique)[0] * sum(unique.counts)
    half = 50
    ratio = math.comb(half + 1, half) / math.comb(half, half)
    findings += [
        statement("rows sampled from unique values only", "not even one", f"{most:.2g} on average", most < 1),
        statement(
            f"{half} zeros from {half} zeros and {half} ones: one more zero",
            f"about {half} times likelier",
            f"{ratio:.0f} times",
            abs(ratio / half - 1) < 0.05,
        ),
    ]
    remark = "Improved: the largest rate at the same epsilon' and delta, from exact binomial tails instead of Chernoff's bound."
    return Reproduction(findings, [remark])


def tightness() -> Reproduction:
    """Observation 6: a table on which a rate just above epsilon ln(1/(1 - alpha)) / t breaks (1, epsilon/2, alpha)."""
    findings: list[Finding] = []
    for epsilon, t, alpha in ((0.1, 5, 0.01), (0.05, 20, 0.005), (0.02, 100, 0.05)):
        rare = round(1 / epsilon)
        counts = [rare] * t + [100_000, 1]
        limit = epsilon * -math.log1p(-alpha) / t
        broken = failure_probability(counts, rate=limit * 1.0001, epsilon=epsilon / 2)
        best = sample_rate(counts, epsilon=epsilon / 2, delta=alpha).rate
        findings.append(
            statement(
                f"failure at rate {limit:.3g} ({t} values of {rare} rows, epsilon {epsilon:g})",
                f"more than alpha = {alpha:g}",
                f"{broken:.6g}",
                broken > alpha,
                difference=f"{broken - alpha:+.2g}",
                improved=f"largest safe rate {best:.4g}",
            )
        )
    return Reproduction(
        findings, ["The observation prints 'p <' where its proof shows 'p >': a larger rate violates privacy."]
    )


def errata() -> Reproduction:
    """Lemma 2 for infrequent values, and Theorem 7 without its missing condition."""
    from scipy.special import bdtrc

    claimed, known = LEMMA_2
    log_term = math.log(2 / 0.005)
    chance = float(bdtrc(math.floor(350 * 0.2 + 2 * log_term), 350, 0.2))
    stretch = 1 + 0.15 * 30 / (2 * log_term)
    promised = max(6 * 30 * stretch * 0.15, 2 * 30 * stretch * 0.3)
    broken = failure_probability([5000, 5000], rate="0.15", epsilon=promised, c=30)
    about_lemma = (
        "Lemma 2 at n = 350, p = epsilon = 0.2, k = 2, delta = 0.01: more than n p + 2 ln(k/alpha) rows. A good sample stays "
        "sufficient for privacy; its probability is not claimed, and Theorem 3 stands."
    )
    about_theorem = (
        "Theorem 7 at k = 2 values of 5000 rows, p = epsilon = 0.15, delta = 0.01, c = 30: every printed condition holds, "
        f"r (p + epsilon) = {stretch * 0.3:.3g} < 1/2, and epsilon' = {promised:.4g}; "
        f"but c r (p + epsilon) = {9 * stretch:.3g}."
    )
    return Reproduction(
        [
            erratum(
                "Lemma 2: an infrequent value is seen too often",
                f"at most alpha/k = {claimed:g}",
                f"{chance:.4g}",
                chance > claimed and f"{chance:.3f}" == f"{known:.3f}",
                difference=f"{chance / claimed:.3g} times",
                improved="not claimed",
            ),
            erratum(
                "Theorem 7: failure without the missing condition",
                "at most delta = 0.01",
                f"{broken:.4g}",
                stretch * 0.3 < 0.5 and broken > 0.99,
                difference=f"{broken - 0.01:+.2g}",
                improved="c r (p + epsilon) <= 1/2",
            ),
        ],
        [about_lemma, about_theorem],
    )


EPSILONS = (0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.7, 1.0)
ROWS_TOGETHER = (1, 2, 5)
"""The c of each line: how many rows may take other values together."""
DELTA = 0.01
SMALLEST = 1e-7
"""The smallest rate that is drawn."""
CAPTION = (
    f"The probability with which each row may be kept, at delta = {DELTA:g}. Rates below {SMALLEST:g} are not drawn."
)
LEFT_OUT = 500
"""Values with fewer rows are left out for the second picture of a table."""
VISITS = 50_000


def visits_figure() -> Reproduction:
    """Both rates by c and epsilon for generated hospital visits: ages in steps of twenty years, and sex."""
    from shoal.datasets.visits import visits

    table = visits(VISITS, 1)
    ages, sexes = (table.column(name).to_pylist() for name in ("age", "sex"))
    counts = Counter((age // 20, sex) for age, sex in zip(ages, sexes, strict=True))
    return rate_figure("hospital visits, age in steps of 20 and sex", list(counts.values()))


def adult_figure(path: Path, setting: RunSetting) -> Reproduction:  # noqa: ARG001 - nothing is drawn
    """The same for the Adult table: ages in steps of ten years, sex and salary class."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter=";"))
    counts = Counter((int(row["age"]) // 10, row["sex"], row["salary-class"]) for row in rows)
    return rate_figure("Adult, age in steps of 10, sex and salary class", list(counts.values()))


def rate_figure(title: str, counts: Sequence[int]) -> Reproduction:
    """The largest safe rate of a table with these counts of values by c and epsilon, published beside exact.

    One picture is of the table as it is, one of its values that have many rows.
    """
    findings: list[Finding] = []
    pictures: list[Picture] = []
    for least, words in ((1, "as it is"), (LEFT_OUT, f"without values of fewer than {LEFT_OUT} rows")):
        own = [count for count in counts if count >= least]
        rates = {
            (bound, c): [sample_rate(own, epsilon=e, delta=DELTA, c=c, bound=bound).rate for e in EPSILONS]
            for bound in ("exact", "published")
            for c in ROWS_TOGETHER
        }
        for c in ROWS_TOGETHER:
            for epsilon in (0.1, 0.3, 1.0):
                at = EPSILONS.index(epsilon)
                ours, theirs = rates["exact", c][at], rates["published", c][at]
                larger = f"{ours / theirs:.3g} times larger" if theirs else "there is no published rate"
                findings.append(
                    statement(
                        f"rate {words}: epsilon {epsilon:g}, c = {c}",
                        f"{theirs:.3g} (Theorem {3 if c == 1 else 7})",
                        f"{ours:.3g} exact",
                        0 <= theirs <= ours,
                        improved=larger,
                    )
                )
        pictures.append(_rate_picture(f"{title}: {words}", rates, caption="" if pictures else CAPTION))
    remark = (
        f"delta = {DELTA:g}, {len(counts)} values of {sum(counts):,} rows, of which {sum(n >= LEFT_OUT for n in counts)} have "
        f"{LEFT_OUT} rows or more. The printed rate is that of the theorem at its best internal epsilon. The figure is ours."
    )
    return Reproduction(findings, [remark], pictures)


def _rate_picture(title: str, rates: dict[tuple[str, int], list[float]], caption: str) -> Picture:
    series = []
    for (bound, c), values in rates.items():
        places = [(e, rate) for e, rate in zip(EPSILONS, values, strict=True) if rate >= SMALLEST]
        if places:
            series.append(
                Series(
                    f"c = {c}",
                    [e for e, _ in places],
                    [rate for _, rate in places],
                    colour=ROWS_TOGETHER.index(c),
                    dashed=bound == "published",
                    named=bound == "exact",
                )
            )
    return Picture(
        title=title,
        x=PlotAxis("epsilon", log=True, ticks=(0.05, 0.1, 0.2, 0.5, 1)),
        y=PlotAxis("largest safe rate", log=True),
        series=series,
        legend=(("exact", False), ("published", True)),
        caption=caption,
    )


def _as_printed(table: SampleTable) -> tuple[float, float]:
    """CM06 Theorem 3 or 7 written out: the rate, and the epsilon' it gives."""
    alpha, distinct, epsilon, c = table.delta / 2, len(table.counts), table.epsilon, table.c
    log_term = math.log(distinct / alpha)
    stretch = 1.0 if c == 1 else 1 + epsilon * c / (2 * log_term)
    rare = sum(n < 2 * log_term / epsilon + (0 if c == 1 else c) for n in table.counts)
    rate = epsilon if rare == 0 else epsilon * math.log(1 / (1 - alpha)) / (4 * rare * log_term * stretch)
    return rate, max(6 * c * stretch * rate, 2 * c * stretch * (rate + epsilon))

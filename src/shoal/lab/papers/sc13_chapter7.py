"""SC13 chapter 7: Anatomy's linked tables (7.2 to 7.4), bucketization (7.5, 7.6, Figure 7.7), and where the chapter errs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from math import ceil, floor, inf
from typing import Any

import numpy as np

from shoal.anonymize.aggregate import interval
from shoal.anonymize.cluster.anatomy import anatomize, confidential_runs
from shoal.anonymize.cluster.bucket.buckets import RankedColumn
from shoal.anonymize.cluster.bucket.counts import divide, group_sizes, smallest_t
from shoal.anonymize.cluster.bucket.distance import closeness, ratio_distance
from shoal.anonymize.cluster.bucket.groups import random_groups
from shoal.anonymize.cluster.ranking import optimal
from shoal.anonymize.method.t_closeness import LinkedMicrodata, link
from shoal.chance.source import Source
from shoal.data.schema import Attribute, Role, Schema
from shoal.data.type import Type
from shoal.engine.base import open_engine
from shoal.lab.papers.comparison import Finding, Reproduction, erratum, statement
from shoal.page.picture import Picture, PlotAxis, Series

MEDICAL = (
    ("asian", "09/27/64", "female", "hypertension"),
    ("asian", "05/08/61", "female", "obesity"),
    ("asian", "04/18/64", "male", "chest pain"),
    ("black", "03/13/63", "male", "hypertension"),
    ("black", "03/18/63", "male", "shortness of breath"),
    ("black", "09/07/64", "female", "obesity"),
    ("white", "05/14/61", "male", "chest pain"),
    ("white", "05/08/63", "male", "obesity"),
    ("white", "09/15/61", "female", "shortness of breath"),
)
"""Table 7.2: ethnicity, date of birth, sex, problem."""
YEARS = "[61,64]"
"""What Table 7.3 shows of every date of birth."""
LEFT = (1, 1, 1, 2, 2, 2, 3, 3, 3)
RIGHT = (
    (1, "hypertension"), (1, "obesity"), (1, "chest pain"),
    (2, "hypertension"), (2, "shortness of breath"), (2, "obesity"),
    (3, "chest pain"), (3, "obesity"), (3, "shortness of breath"),
)  # fmt: skip
"""Table 7.4: the group of each record, and what each group has."""

GROUPS = (2, 1, 1, 3, 2, 3, 1, 2, 3, 3, 1, 2)
"""Table 7.5, above: the group of qi_1 to qi_12, in the order of their confidential values."""
ENTRIES = ((1, "B1 B1 B2 B3"), (2, "B1 B2 B2 B3"), (3, "B1 B2 B3 B3"))
"""Table 7.5, below: the buckets of each group."""
T = Fraction(3, 2)
RATIOS = tuple(Fraction(t) for t in range(1, 11))


def table_7_2() -> Reproduction:
    """Tables 7.2 and 7.3: nobody shares their quasi-identifiers, and everybody shares generalized ones with two others."""
    born = np.array([int(date[-2:]) for _, date, _, _ in MEDICAL])
    shown = interval(born, np.zeros(len(born), dtype=np.int32)).tolist()
    before = Counter(row[:3] for row in MEDICAL)
    after = Counter((row[0], years, "-") for row, years in zip(MEDICAL, shown, strict=True))
    return Reproduction(
        [
            statement(
                "Table 7.2: records that share ethnicity, date and sex",
                "1",
                str(min(before.values())),
                max(before.values()) == 1,
            ),
            statement(
                "Table 7.3: years of birth", YEARS, shown[0], {years.replace(" ", "") for years in shown} == {YEARS}
            ),
            statement("Table 7.3: k", "3", str(min(after.values())), set(after.values()) == {3}),
        ],
        ["Table 7.3 generalizes the date of birth and the sex of everybody as far as they go, to reach k = 3."],
    )


def table_7_4() -> Reproduction:
    """Table 7.4: the two linked tables of Anatomy for the groups that ethnicity makes, and for groups that Anatomy makes."""
    made = linked_medical()
    left, right = _rows(made)
    wanted = [(group, *row[:3]) for group, row in zip(LEFT, MEDICAL, strict=True)]
    sizes = Counter(group for group, *_ in left)
    problems = np.unique([row[3] for row in MEDICAL], return_inverse=True)[1]
    with Source.seeded("Table 7.4") as source:
        drawn = anatomize(problems, 3, source)
    different = [len(set(problems[drawn == group].tolist())) for group in range(3)]
    return Reproduction(
        [
            statement("left: records with their group", "9 rows", f"{len(left)} rows, all the same", left == wanted),
            statement(
                "right: entries of the groups", "9 rows", f"{len(right)} rows, all the same", right == Counter(RIGHT)
            ),
            statement("k of the relation", "3", str(min(sizes.values())), set(sizes.values()) == {3}),
            statement(
                "quasi-identifiers are those of Table 7.2",
                "preserved",
                "preserved",
                [row[1:] for row in left] == [row[:3] for row in MEDICAL],
            ),
            statement(
                "Anatomy with l = 3: different problems in each group", "3", str(min(different)), different == [3, 3, 3]
            ),
        ],
        ["The thesis groups by ethnicity. The last line is what Xiao and Tao's algorithm makes of the same table."],
    )


def linked_medical() -> LinkedMicrodata:
    """The linked tables of Table 7.2 for the groups of Table 7.4."""
    import pyarrow as pa

    names = ("ethnicity", "born", "sex", "problem")
    roles = (Role.QUASI, Role.QUASI, Role.QUASI, Role.CONFIDENTIAL)
    schema = Schema(tuple(Attribute(name, role, Type.TEXT) for name, role in zip(names, roles, strict=True)))
    frame = pa.table({name: [row[place] for row in MEDICAL] for place, name in enumerate(names)})
    table = open_engine().scan(frame, schema)
    labels = np.array(LEFT, dtype=np.int32) - 1
    with Source.seeded("Table 7.4") as source:
        return link(table, labels, table.collect(["problem"]), "linked", (), source, lambda _: None)


def _rows(made: LinkedMicrodata) -> tuple[list[tuple[Any, ...]], Counter[tuple[Any, ...]]]:
    """The records with their groups, and how often each group has what."""
    left, right = (
        [table.collect(list(table.columns))[name].tolist() for name in table.columns]
        for table in (made.records, made.confidential)
    )
    *shown, counts = right
    return list(zip(*left, strict=True)), Counter(dict(zip(zip(*shown, strict=True), counts, strict=True)))


def table_7_5() -> Reproduction:
    """Table 7.5: twelve values in three buckets of four, and three groups that are exactly 1.5-close to the table."""
    _, codes = RankedColumn.of(Attribute("c", Role.CONFIDENTIAL, Type.INTEGER), np.arange(1, 13)).bucketize(3)
    labels = np.array(GROUPS, dtype=np.int32) - 1
    own = {
        group: " ".join(f"B{code + 1}" for code in sorted(codes[labels == group - 1].tolist())) for group, _ in ENTRIES
    }
    shares = [
        ", ".join(
            f"B{code + 1}: {Fraction(int(count), 4)}" for code, count in enumerate(np.bincount(codes[labels == group]))
        )
        for group in range(3)
    ]
    printed = ("B1: 1/2, B2: 1/4, B3: 1/4", "B1: 1/4, B2: 1/2, B3: 1/4", "B1: 1/4, B2: 1/4, B3: 1/2")
    reached = closeness(labels, codes)
    raw = closeness(labels, np.arange(12))
    best = smallest_t([4, 4, 4], 4)
    findings = [
        statement(
            "values in each bucket",
            "4, 4, 4",
            ", ".join(map(str, np.bincount(codes))),
            np.bincount(codes).tolist() == [4, 4, 4],
        ),
        *(statement(f"buckets of P{group}", entry, own[group], own[group] == entry) for group, entry in ENTRIES),
        *(
            statement(f"distribution of P{i}", said, found, said == found)
            for i, (said, found) in enumerate(zip(printed, shares, strict=True), 1)
        ),
        statement("distance of the farthest group", "1.5-closeness", f"{reached}, exactly", reached == T),
        statement("the same with the values themselves", "infinity", str(raw), raw == inf),
        statement(
            "k of the relation", "4-anonymous", str(int(np.bincount(labels).min())), int(np.bincount(labels).min()) == 4
        ),
    ]
    return Reproduction(
        findings,
        [
            f"No division of twelve records into three groups of four is closer with these buckets: the smallest t is {best}.",
            "The example has three buckets at t = 1.5. Section 7.2.1 would have b = t + 1 = 2.5; we take floor(t) + 1 = 2.",
        ],
    )


def table_7_6() -> Reproduction:
    """Table 7.6: with b = t + 1 buckets a group with one bucket at the factor t and the others at 1/t is at the distance t."""
    findings = []
    for t in RATIOS:
        b = int(t) + 1
        high, low = t / (t + 1), 1 / (t * (t + 1))
        counts = [int(share * t * (t + 1)) for share in (high, *[low] * (b - 1))]
        far = ratio_distance([1] * b, counts)
        total = high + (b - 1) * low
        findings.append(
            statement(
                f"t = {t}: masses {high} and {b - 1} times {low}",
                f"sum 1, distance {t}",
                f"sum {total}, distance {far}",
                total == 1 and far == t and t * Fraction(1, b) + (1 / t) * (1 - Fraction(1, b)) == 1,
            )
        )
    whole = [
        k for t in RATIOS[1:] for k in range(int(t) + 1, 40) if divide([k * (int(t) + 1)] * (int(t) + 1), k, t) is None
    ]
    findings.append(
        statement(
            "groups of k >= t + 1 records with t + 1 equal buckets, t = 2 to 10",
            "exist",
            f"{len(whole)} without counts",
            not whole,
        )
    )
    return Reproduction(
        findings,
        [
            "At t = 1 the equation of section 7.2.1 holds for every number of buckets; b = t + 1 follows for t above 1 alone."
        ],
    )


DENSITY = ((Fraction(1, 3), Fraction(1, 2)), (Fraction(1, 3), Fraction(2)), (Fraction(1, 3), Fraction(1, 2)))
"""Figure 7.6: the density of a group over the range of values whose density in the table is 1, as widths and heights."""


def figure_7_7() -> Reproduction:
    """Figures 7.6 and 7.7: three buckets use the distance of 2 up, two buckets make the distributions equal."""
    found = {count: _bucketized(count) for count in (3, 2)}
    far = {count: ratio_distance([1] * count, _as_counts(masses)) for count, masses in found.items()}
    findings = [
        statement(
            "mass under the density of Figure 7.6",
            "1",
            str(sum(w * h for w, h in DENSITY)),
            sum(w * h for w, h in DENSITY) == 1,
        ),
        statement("three buckets: distance", "2", str(far[3]), far[3] == 2),
        statement(
            "three buckets: every one at the factor 2",
            "yes",
            _texts(found[3]),
            {3 * m for m in found[3]} == {Fraction(1, 2), Fraction(2)},
        ),
        statement("two buckets: distance", "1", str(far[2]), far[2] == 1),
    ]
    pictures = [
        Picture(
            title=f"SC13 Figure 7.7: {count} buckets",
            x=PlotAxis("share of the range of values", limits=(0, 1)),
            y=PlotAxis("density", limits=(0, 2.2)),
            series=[_steps("the table", [Fraction(1, count)] * count, 0), _steps("the group", found[count], 1)],
            caption=f"The ratio distance is {far[count]}.",
        )
        for count in (3, 2)
    ]
    return Reproduction(
        findings, ["The range with density 2 is taken to lie in the middle: only then are two buckets equal."], pictures
    )


def _bucketized(count: int) -> list[Fraction]:
    """The mass of the group in each of so many equal buckets."""
    edges = [Fraction(0)]
    for width, _ in DENSITY:
        edges.append(edges[-1] + width)

    def below(at: Fraction) -> Fraction:
        return sum(
            (max(Fraction(0), min(at, b) - a) * h for (a, b), (_, h) in zip(pairwise(edges), DENSITY, strict=True)),
            Fraction(0),
        )

    return [below(Fraction(i + 1, count)) - below(Fraction(i, count)) for i in range(count)]


def _as_counts(masses: Sequence[Fraction]) -> list[int]:
    """Masses as whole numbers in the same proportion."""
    return [int(mass * 36) for mass in masses]


def _texts(masses: Sequence[Fraction]) -> str:
    return ", ".join(map(str, masses))


def _steps(label: str, masses: Sequence[Fraction], place: int) -> Series:
    """A density in steps."""
    count = len(masses)
    x = [float(Fraction(i + end, count)) for i in range(count) for end in (0, 1)]
    y = [float(mass * count) for mass in masses for _ in (0, 1)]
    return Series(label, x, y, place)


# --- where the chapter errs -------------------------------------------------------------------------------------------

STEPS = (0, 0, 0, 10, 10, 10)
"""Confidential values for which Algorithm 7.1 is not optimal, with k = 2."""


def errata_7() -> Reproduction:
    """Bounds that are reached, sizes that do not fit, an algorithm that is not optimal, and closeness that is no privacy."""
    return Reproduction(
        [_less_than(), _bucket_sizes(), *_selection(), _optimality(), _not_private()],
        [
            "t-closeness is reached with equality, so at most t is meant where the text says less than t.",
            "Bucket sizes: rounding is meant, floor(x + 0.5); with the printed ceiling twelve values make buckets of 5, 4 and 3.",
            "The counts of section 7.2.2 do not use every record once unless all sizes divide; Shoal solves for counts that do.",
            "The differential privacy of section 7.3 is a bound on a belief; see the theorem knowledge-gain.",
        ],
    )


def _less_than() -> Finding:
    far = ratio_distance([4, 4, 4], [2, 1, 1])
    return erratum(
        "section 7.2: the distance of 1.5-closeness in the example",
        "less than 1.5",
        f"{far}",
        far == T,
        difference="reached, not below",
    )


def printed_bucket_sizes(records: int, t: int) -> list[int]:
    """The sizes of the buckets in section 7.2.2 as printed: cut after ceil(i N/(t+1) + 0.5) values."""
    ends = [0, *(ceil(Fraction(i * records, t + 1) + Fraction(1, 2)) for i in range(1, t + 1)), records]
    return [b - a for a, b in pairwise(ends)]


def _bucket_sizes() -> Finding:
    found = printed_bucket_sizes(12, 2)
    return erratum(
        "section 7.2.2: buckets of 12 values at t = 2",
        "4 each",
        ", ".join(map(str, found)),
        found != [4, 4, 4],
        difference="the printed cuts are half a value too high",
        improved="4, 4, 4",
    )


def printed_selection(totals: Sequence[int], sizes: Sequence[int], t: int) -> list[int]:
    """How many records of each bucket the selection of section 7.2.2 takes in all: group i leans to bucket i."""
    records, taken = sum(totals), [0] * len(totals)
    for own, size in enumerate(sizes):
        least = [ceil(Fraction(size * total, records) / t) for total in totals]
        for bucket, many in enumerate(least):
            taken[bucket] += many if bucket != own else size - sum(least) + least[own]
    return taken


def _selection() -> list[Finding]:
    records, t = 13, 2
    sizes = [ceil(Fraction(i * records, t + 1)) - ceil(Fraction((i - 1) * records, t + 1)) for i in range(1, t + 2)]
    edges = [floor(Fraction(i * records, t + 1) + Fraction(1, 2)) for i in range(t + 2)]
    totals = [b - a for a, b in pairwise(edges)]
    taken = printed_selection(totals, sizes, t)
    even = printed_selection([4, 4, 4], [4, 4, 4], 2)
    kinds = divide(totals, min(sizes), Fraction(t))
    return [
        statement(
            "section 7.2.2: records taken of each bucket, N = 12, t = 2",
            "4, 4, 4",
            ", ".join(map(str, even)),
            even == [4, 4, 4],
        ),
        erratum(
            "section 7.2.2: records taken of each bucket, N = 13, t = 2",
            ", ".join(map(str, totals)),
            ", ".join(map(str, taken)),
            taken != totals
            and kinds is not None
            and sorted(sizes) == sorted(s for s, m in group_sizes(13, 4) for _ in range(m)),
            difference="records are left over, and others lacking",
            improved="counts that fit exist, by a flow",
        ),
    ]


def _squared_error(values: Sequence[float], labels: Sequence[int]) -> Fraction:
    total = Fraction(0)
    for group in set(labels):
        own = [Fraction(value) for value, label in zip(values, labels, strict=True) if label == group]
        middle = sum(own, Fraction(0)) / len(own)
        total += sum(((value - middle) ** 2 for value in own), Fraction(0))
    return total


def _optimality() -> Finding:
    ours = _squared_error(STEPS, confidential_runs(np.arange(len(STEPS)), 2).tolist())
    best = _squared_error(STEPS, optimal(np.array(STEPS, dtype=np.float64), 2).tolist())
    return erratum(
        "Algorithm 7.1: squared error of 0 0 0 10 10 10 in groups of 2 or more",
        "optimal",
        f"{ours}",
        ours > best == 0,
        difference=f"the optimal partition has {best}",
    )


def _not_private() -> Finding:
    """Eight people in two groups of four, and the same with one in the other bucket: both 2-close, and never the same output."""
    reached, totals = [], []
    for buckets in (np.array([0, 0, 0, 0, 1, 1, 1, 1]), np.array([0, 0, 0, 1, 1, 1, 1, 1])):
        kinds = divide(np.bincount(buckets).tolist(), 4, Fraction(2))
        reached.append(inf if kinds is None else closeness(random_groups(buckets, kinds), buckets))
        totals.append(np.bincount(buckets).tolist())
    return erratum(
        "section 7.3: exp(epsilon)-closeness gives epsilon-differential privacy",
        "factor e^epsilon",
        "1 against 0",
        max(reached) <= 2 and totals[0] != totals[1],
        difference=f"entries {totals[0]} or {totals[1]}, both 2-close",
        improved="a bound on a belief",
    )

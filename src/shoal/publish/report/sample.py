"""The custodian's report on a plain sample: how its rate came about, which values are rare, and what other choices would allow.

It does not say whether this very sample shows a value too often: who knew that might draw again, and the promise is about one
draw.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from shoal.anonymize.method.sample import SampledMicrodata, Sizes
from shoal.engine.base import Table
from shoal.guarantee.plain_sample import failure_probability, fewest_rows, sample_rate
from shoal.guarantee.rounding import text_down, text_up
from shoal.page.number_text import count_words, size_text
from shoal.page.picture import Mark, Picture, PlotAxis, Series
from shoal.page.section import Block, DataTable, Fact, FactList, Figure, Section, Words, heads
from shoal.page.svg import draw_curve
from shoal.publish.plan.sample import RARE_WORDS, SamplePlan
from shoal.publish.report.document import MethodSections, report_opening
from shoal.publish.report.sections import earlier_caution, row_facts

MOST_LISTED = 1000
"""Rare values that are listed, the rarest first."""
SHOWN = 60
"""Rare values that the page lists; report.json has more."""
EPSILONS = (0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1.0, 1.5, 2.0)
"""Other epsilons for which the report says the rate."""
THRESHOLDS = (1, 2, 3, 5, 8, 12, 20, 30, 50, 80, 120, 200)
"""Other bounds of what is rare, as multiples of the least."""


def sample_report(
    plan: SamplePlan, table: Table, drawn: SampledMicrodata, content: Mapping[str, Any]
) -> dict[str, Any]:
    """The custodian's report as the plain values that report.json holds."""
    asked, sizes = plan.method, drawn.sizes
    found: dict[str, Any] = {
        **report_opening(content),
        "rows": {
            "in": table.rows(),
            "taking_part": drawn.taking_part,
            "sampled_from": drawn.sampled_from,
            "expected": float(drawn.rate * drawn.sampled_from),
            "published": drawn.table.rows(),
        },
        "cautions": [],
        "notes": list(table.notes),
        "promise": {"epsilon": float(asked.epsilon), "delta": float(asked.delta), "c": asked.c},
        "rate": {
            "used": float(drawn.rate),
            "declared": asked.rate is not None,
            "bound": asked.bound,
            "exact": drawn.exact.rate,
            "published": drawn.published.rate,
            "failure": failure_probability(sizes.tolist(), rate=drawn.rate, epsilon=asked.epsilon, c=asked.c),
        },
        "values": {"distinct": len(sizes), "sizes": _histogram(sizes)},
        "rare": _rare(plan, drawn),
        "levels": [
            {"name": name, "locked": asked.scheme.indices.get(name, 0), "used": drawn.recoding.indices.get(name, 0)}
            for name in asked.scheme.columns
        ],
        "coarser": [
            {"name": each.name, "level": each.level, "rare": each.rare, "rare_rows": each.rare_rows}
            for each in drawn.coarser
        ],
        "epsilons": _epsilons(plan, sizes),
        "thresholds": _thresholds(plan, drawn),
    }
    found["cautions"] = _cautions(found)
    return found


def _histogram(sizes: Sizes) -> list[dict[str, int]]:
    """How many values have how many rows, in bins that double."""
    starts = [1]
    while starts[-1] <= int(sizes.max()):
        starts.append(2 * starts[-1])
    found = []
    for low, high in pairwise(starts):
        inside = sizes[(sizes >= low) & (sizes < high)]
        found.append({"from": low, "to": high - 1, "values": len(inside), "rows": int(inside.sum())})
    return found


def _rare(plan: SamplePlan, drawn: SampledMicrodata) -> dict[str, Any]:
    rare, names = drawn.rare, plan.method.scheme.columns
    return {
        "treatment": plan.method.rare,
        "below": rare.below,
        "values": len(rare),
        "of": rare.total,
        "rows": rare.rows,
        "listed": [
            {"labels": dict(zip(names, labels, strict=True)), "rows": rows}
            for labels, rows in rare.values[:MOST_LISTED]
        ],
    }


def _epsilons(plan: SamplePlan, sizes: Sizes) -> list[dict[str, float]]:
    """Both rates at other epsilons, for the table that was sampled, and the c and delta of the promise."""
    own = float(plan.method.epsilon)
    asked = sorted({*EPSILONS, own} if own <= EPSILONS[-1] else {*(e * own / EPSILONS[-1] for e in EPSILONS), own})
    return [{"epsilon": epsilon, **_rates(plan, sizes, epsilon)} for epsilon in asked]


def _rates(plan: SamplePlan, sizes: Sizes, epsilon: float) -> dict[str, float]:
    counts, delta, c = sizes.tolist(), plan.method.delta, plan.method.c
    return {
        bound: sample_rate(counts, epsilon=epsilon, delta=delta, c=c, bound=bound).rate
        for bound in ("exact", "published")
    }


def _thresholds(plan: SamplePlan, drawn: SampledMicrodata) -> list[dict[str, Any]]:
    """What leaving out all values with fewer rows would allow, for several bounds, at the levels of the policy."""
    asked, least = plan.method, fewest_rows(plan.method.epsilon, plan.method.c)
    bound = "exact" if asked.bound == "tight" else "published"
    found: list[dict[str, Any]] = []
    for below in (least * times for times in THRESHOLDS):
        left = drawn.sizes_before[drawn.sizes_before >= below]
        if len(left) and (not found or len(left) < found[-1]["values"]):
            safe = sample_rate(left.tolist(), epsilon=asked.epsilon, delta=asked.delta, c=asked.c, bound=bound)
            found.append(
                {
                    "below": below,
                    "values": len(left),
                    "rows": int(left.sum()),
                    "rate": safe.rate,
                    "expected": safe.expected_rows,
                }
            )
    return found


def _cautions(found: Mapping[str, Any]) -> list[str]:
    rows, rare, said = found["rows"], found["rare"], []
    if rare["values"] and rare["treatment"] == "keep":
        said.append(
            f"{count_words(rare['values'], 'rare value')} ({count_words(rare['rows'], 'row')}) "
            f"hold{'s' * (rare['values'] == 1)} the rate down: such a value should not be in the sample at all. Coarser levels, "
            "or another treatment of rare values, allow more."
        )
    if rare["values"] and rare["treatment"] in ("drop", "replace"):
        dropped = rare["treatment"] == "drop"
        what, of = (
            ("left out", "the sample is of the others") if dropped else ("given others", "they are not their own")
        )
        said.append(
            f"{count_words(rare['rows'], 'row')} with {count_words(rare['values'], 'rare value')} "
            f"{'was' if rare['rows'] == 1 else 'were'} {what} before the sample was drawn: {of}. Who expects a value that is not "
            "there learns that it was rare."
        )
    raised = [each["name"] for each in found["levels"] if each["used"] > each["locked"]]
    if raised:
        names = ", ".join(f"'{name}'" for name in raised)
        said.append(f"Coarser levels than the policy's were taken for {names}, so that no value is rare.")
    best = max(found["thresholds"], key=lambda each: each["expected"], default=None)
    if best is not None and best["expected"] >= 2 * rows["expected"]:
        said.append(
            f"Values with few rows hold the rate down. With rare: drop and rare_below: {best['below']:,} about "
            f"{best['expected']:,.0f} rows would be expected instead of {rows['expected']:,.0f}; a table below shows "
            "other bounds."
        )
    if rows["published"] == 0:
        said.append("No row was drawn: the published table is empty. Drawing again would not keep the promise.")
    return [*said, *earlier_caution(found["ledger"])]


# --- the sections -----------------------------------------------------------------------------------------------------

METHODS = (
    (
        "Safe rates are computed from the number of rows of each value of the table that was sampled, for the c and delta of the "
        "promise. A value is rare where it has fewer rows than the bound that is stated."
    ),
    (
        "Whether this very sample shows a value too often is not said: who knew that might draw again, and the promise is about "
        "one draw. Nothing was drawn again for this report."
    ),
)


def sample_sections(values: Mapping[str, Any]) -> MethodSections:
    """The sections of the report, from its plain values."""
    picture = _picture(values)
    own = frozenset(
        place for place, each in enumerate(values["epsilons"]) if each["epsilon"] == values["promise"]["epsilon"]
    )
    rates = DataTable(
        heads(numbers=["epsilon", "exact rate", "published rate"]),
        [(f"{each['epsilon']:g}", _rate(each["exact"]), _rate(each["published"])) for each in values["epsilons"]],
        own,
    )
    levels = DataTable(
        heads(["attribute"], ["level in the policy", "level used"]),
        [(each["name"], str(each["locked"]), str(each["used"])) for each in values["levels"]],
    )
    sizes = DataTable(
        heads(numbers=["rows of a value", "values", "rows"]),
        [
            (size_text(each["from"], each["to"]), f"{each['values']:,}", f"{each['rows']:,}")
            for each in values["values"]["sizes"]
            if each["values"]
        ],
    )
    return MethodSections(
        rows=[FactList(_row_facts(values["rows"]))],
        columns=[Section("What each column says", [levels])],
        findings=[
            Section("The rate", [FactList(_rate_facts(values)), Figure([draw_curve(picture)], picture.caption, rates)]),
            Section("Values and their rows", [sizes]),
            *_rare_sections(values),
        ],
        alternatives=[_threshold_section(values)],
        methods=METHODS,
    )


def _rare_sections(values: Mapping[str, Any]) -> list[Section]:
    rare = values["rare"]
    blocks: list[Block] = [Words(_about_rare(rare))]
    listed = rare["listed"][:SHOWN]
    if listed:
        lines = [([*map(_cell, each["labels"].values()), f"{each['rows']:,}"]) for each in listed]
        blocks.append(DataTable(heads([each["name"] for each in values["levels"]], ["rows"]), lines))
    if rare["values"] > len(listed):
        more = rare["values"] - len(listed)
        blocks.append(Words(f"And {more:,} more; report.json lists the rarest thousand.", quiet=True))
    found = [Section("Rare values", blocks)]
    if values["coarser"]:
        table = DataTable(
            heads(["attribute"], ["level", "rare values", "rows with them"]),
            [
                (each["name"], str(each["level"]), f"{each['rare']:,}", f"{each['rare_rows']:,}")
                for each in values["coarser"]
            ],
        )
        words = Words("What the next level of one attribute would leave of them:")
        found.append(Section("One level coarser", [words, table], level=3))
    return found


def _threshold_section(values: Mapping[str, Any]) -> Section:
    bound = "exact" if values["rate"]["bound"] == "tight" else "published"
    words = (
        f"What rare: drop with a larger rare_below would allow: fewer rows to sample from, and a larger rate ({bound} bound). "
        "What is left out is not covered by the promise."
    )
    table = DataTable(
        heads(numbers=["fewer than", "values left", "rows left", "safe rate", "expected rows"]),
        [
            (
                f"{each['below']:,}",
                f"{each['values']:,}",
                f"{each['rows']:,}",
                _rate(each["rate"]),
                f"{each['expected']:,.0f}",
            )
            for each in values["thresholds"]
        ],
    )
    return Section("The same promise, if values with fewer rows were left out", [Words(words), table])


def _cell(cell: str | None) -> str:
    return "(missing)" if cell is None else cell


def _rate(rate: float) -> str:
    return text_down(rate, 3) if rate > 0 else "none"


def _row_facts(rows: Mapping[str, Any]) -> list[Fact]:
    return [
        *row_facts(rows, "after the most rows of each unit were chosen"),
        ("sampled from", f"{rows['sampled_from']:,}", "after rare values were treated"),
        (
            "suppressed",
            f"{rows['taking_part'] - rows['sampled_from']:,}",
            "rows with rare values, left out before the sample was drawn",
        ),
        ("expected", f"{rows['expected']:,.0f}", "the rate times the rows that were sampled from"),
        ("published", f"{rows['published']:,}", "the rows that were drawn"),
    ]


def _rate_facts(values: Mapping[str, Any]) -> list[Fact]:
    rate = values["rate"]
    used = "declared by the policy" if rate["declared"] else "the safe rate, rounded down to two digits"
    return [
        ("used", f"{rate['used']:.6g}", used),
        ("safe, exact", _rate(rate["exact"]), "from exact binomial tails (theorem sample-exact)"),
        (
            "safe, published",
            _rate(rate["published"]),
            "by Theorems 3 and 7 of Chaudhuri and Mishra (theorem sample-published)",
        ),
        (
            "failure",
            text_up(rate["failure"], 3),
            "the probability, at the rate that was used, that some value appears too often",
        ),
    ]


def _about_rare(rare: Mapping[str, Any]) -> str:
    if not rare["values"]:
        return f"No value has fewer than {rare['below']:,} rows: none is rare."
    return (
        f"{count_words(rare['values'], 'value')} of {rare['of']:,} {'has' if rare['values'] == 1 else 'have'} fewer than "
        f"{rare['below']:,} rows ({count_words(rare['rows'], 'row')} in all). What the policy says about them: "
        f"{RARE_WORDS[rare['treatment']]}."
    )


def _picture(values: Mapping[str, Any]) -> Picture:
    """Both rates by epsilon, with the rate that was used."""
    series = []
    for bound, dashed in (("exact", False), ("published", True)):
        places = [(each["epsilon"], each[bound]) for each in values["epsilons"] if each[bound] > 0]
        if places:
            series.append(Series(bound, [e for e, _ in places], [r for _, r in places], dashed=dashed))
    c = values["promise"]["c"]
    return Picture(
        title=f"The largest safe rate of this table at each epsilon, for {'one row' if c == 1 else f'{c} rows'}",
        x=PlotAxis("epsilon"),
        y=PlotAxis("rate", log=True),
        series=series,
        marks=[Mark(values["promise"]["epsilon"], values["rate"]["used"], "used")],
        caption="Higher is better: a larger sample for the same promise. Solid: from exact binomial tails. Dashed: by the "
        "published theorems, where they allow any rate at all.",
    )

"""The page of a comparison of methods: their claims, risk against utility on a map, and a small chart for each measure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from shoal import __version__
from shoal.assess.quantity import Quantity
from shoal.page import html
from shoal.page.method_charts import ChartBar, MapPoint, draw_bars, draw_map
from shoal.page.number_text import NO_NUMBER, count_words
from shoal.page.section import BulletList, Cell, ColumnHead, DataTable, FactList, Figure, Section, Words

if TYPE_CHECKING:
    from shoal.publish.comparison.methods import MethodMeasure, MethodOutcome, MethodsComparison

MARK = "For the custodian only: computed from the original table. Do not publish it, do not pass it on."
MAPS = (("inference", "inference, excess over the control group"), ("prosecutor.largest", "largest prosecutor risk"))
"""The risks that are drawn against the distance of pairs, each where it was measured."""
NOBODY = "a method whose rows are nobody's has no such risk, and is not on it"


def comparison_page(found: MethodsComparison) -> str:
    """The comparison as one page of HTML without scripts; equal values give equal bytes."""
    from shoal.publish.comparison.methods import LIMITS, TUNED

    first, *_ = found.words()
    opening = {
        "title": f"Methods compared on {found.dataset}",
        "kind": "Methods compared on one real table",
        "about": "What this is",
        "mark": MARK,
        "dataset": found.dataset,
        "lead": f"{count_words(len(found.methods), 'method')} side by side: claim, risk, utility, rows, CPU time.",
        "sentence": f"{first} {LIMITS}",
        "cautions": [TUNED] if found.tuned else [],
        "footer": f"Written by Shoal {__version__}. Claims are rounded so that none flatters; everything else was measured.",
    }
    sections = [_methods(found), *_maps(found), *_charts(found), *_missed(found), _setting(found)]
    return html.page("comparison", {**opening, "sections": sections})


def _methods(found: MethodsComparison) -> Section:
    head = (
        ColumnHead("method"), ColumnHead("claim", note="and how it is known"), ColumnHead("rows", numeric=True),
        ColumnHead("CPU\u00a0s", numeric=True),
    )  # fmt: skip
    rows: list[list[Cell]] = [
        [
            (one.name, one.method),
            (one.claim.replace(" = ", "\u00a0=\u00a0"), one.status)
            if one.why_not is None
            else ("not run", one.why_not),
            NO_NUMBER if one.rows is None else f"{one.rows:,}",
            NO_NUMBER if one.cpu is None else f"{one.cpu:.2f}",
        ]
        for one in found.methods
    ]
    said = (
        "Rows are those that the method published of the part that it was run on, whoever's they are. CPU seconds are for "
        "reading, running and writing, on this machine."
    )
    return Section("The methods", [DataTable(head, rows), Words(said, quiet=True)])


def _maps(found: MethodsComparison) -> list[Section]:
    drawings, columns = [], []
    for name, words in MAPS:
        points = [
            _point(one.name, one.measures["pairs"].value, one.measures[name])
            for one in found.ran
            if "pairs" in one.measures and name in one.measures
        ]
        if not points:
            continue
        if name == "prosecutor.largest" and found.original_risk is not None:
            points.append(MapPoint("the original", 0.0, found.original_risk[0].value, is_original=True))
        told = "; ".join(f"{point.name}: {point.x:.3f} and {max(point.y, 0.0):.3f}" for point in points)
        drawings.append(
            draw_map(points, "distance of pairs of columns", words, f"Distance of pairs against {words}. {told}.")
        )
        columns.append((name, words))
    if not drawings:
        return []
    head = (
        ColumnHead("method"),
        ColumnHead("distance of pairs", numeric=True),
        *(ColumnHead(words, numeric=True) for _, words in columns),
    )
    rows: list[list[Cell]] = [
        [one.name, _text(one.measures.get("pairs")), *(_interval(one.measures.get(name)) for name, _ in columns)]
        for one in found.ran
    ]
    if found.original_risk is not None and any(name == "prosecutor.largest" for name, _ in columns):
        largest = found.original_risk[0]
        risks = [_text(largest) if name == "prosecutor.largest" else NO_NUMBER for name, _ in columns]
        rows.append(["the original", "0", *risks])
    caption = (
        "Down and to the left is better: less risk, tables nearer to the original's. Upright lines are intervals, where a risk "
        "was estimated: lines that overlap do not tell their methods apart. An excess below 0 is drawn at 0. Of the "
        f"prosecutor's risk, {NOBODY}."
    )
    return [Section("Risk against utility", [Figure(drawings, caption, DataTable(head, rows))])]


def _point(name: str, x: float, risk: Quantity) -> MapPoint:
    return MapPoint(name, x, risk.value, risk.low, risk.high)


def _charts(found: MethodsComparison) -> list[Section]:
    from shoal.publish.comparison.methods import MEASURES

    sections = []
    for risk, title in ((True, "Risks, one by one"), (False, "Utility, one by one")):
        measures = [one for one in MEASURES if one.risk is risk and any(one.name in own.measures for own in found.ran)]
        if not measures:
            continue
        drawings = [_chart(found, one) for one in measures]
        caption = (
            "One small chart for each measure; shorter bars are better, except for the area under the curve. Thin lines are "
            "intervals, where a number was estimated; a dash stands where nothing was measured."
        )
        head = (ColumnHead("method"), *(ColumnHead(one.title, numeric=True) for one in measures))
        rows: list[list[Cell]] = [
            [own.name, *(_interval(own.measures.get(one.name)) for one in measures)] for own in found.ran
        ]
        if not risk:
            rows += _originals(found, measures)
        elif found.original_risk is not None:
            before = dict(zip(("prosecutor.largest", "prosecutor.mean"), found.original_risk, strict=True))
            rows.append(["the original", *(_text(before.get(one.name)) for one in measures)])
        facts = [(one.title, one.means, "") for one in measures]
        sections.append(Section(title, [Figure(drawings, caption, DataTable(head, rows)), FactList(facts)]))
    return sections


def _originals(found: MethodsComparison, measures: Sequence[MethodMeasure]) -> list[list[Cell]]:
    area = next((one.area_of_originals for one in found.ran if one.area_of_originals is not None), None)
    if area is None:
        return []
    return [["trained on originals", *(_interval(area) if one.name == "area" else NO_NUMBER for one in measures)]]


def _chart(found: MethodsComparison, measure: MethodMeasure) -> str:
    bars = [_bar(own, measure) for own in found.ran]
    if measure.name == "area":
        area = next((one.area_of_originals for one in found.ran if one.area_of_originals is not None), None)
        bars += [] if area is None else [ChartBar("trained on originals", area.value, _text(area), area.low, area.high)]
    ends = [end for bar in bars for end in (bar.value, bar.high) if end is not None]
    told = "; ".join(f"{bar.name}: {bar.text}" for bar in bars)
    return draw_bars(measure.title, bars, max(ends, default=1.0), f"{measure.title}: {measure.means}. {told}.")


def _bar(own: MethodOutcome, measure: MethodMeasure) -> ChartBar:
    quantity = own.measures.get(measure.name)
    if quantity is None:
        return ChartBar(own.name, None, NO_NUMBER)
    return ChartBar(own.name, quantity.value, _text(quantity), quantity.low, quantity.high)


def _text(quantity: Quantity | None) -> str:
    """A measured number with three decimals; one that is small and not nothing never reads 0."""
    if quantity is None:
        return NO_NUMBER
    value = quantity.value
    if value == 0:
        return "0"
    if abs(value) < 0.0005:
        return "< 0.001" if value > 0 else "> \u22120.001"
    return f"{value:.3f}".replace("-", "\u2212")


def _interval(quantity: Quantity | None) -> Cell:
    if quantity is None or quantity.low is None or quantity.high is None or quantity.low == quantity.high:
        return _text(quantity)
    ends = f"{quantity.low:.3f} to {quantity.high:.3f}".replace("-", "\u2212")
    return (_text(quantity), ends)


def _missed(found: MethodsComparison) -> list[Section]:
    said = []
    for one in found.ran:
        left = () if one.assessment is None else (*one.assessment.left_out, *one.assessment.utility.left_out)
        said += [f"{one.name}: {each}." for each in dict.fromkeys((*one.notes, *left))]
    return [Section("What was not measured, and other notes", [BulletList(said)])] if said else []


def _setting(found: MethodsComparison) -> Section:
    table, part, control = found.rows
    facts = [
        ("rows of the table", f"{table:,}", f"{part:,} took part, {control:,} are the control group"),
        ("attributes", ", ".join(found.columns), ""),
        ("known to intruders", ", ".join(found.quasi) or "none", "the quasi-identifiers of the first policy"),
        ("confidential", ", ".join(found.confidential) or "none", ""),
        ("predicted by models", found.target or "nothing", ""),
        ("attacks and models", "tried" if found.full else "left out", ""),
        ("seed", "the operating system's" if found.seed is None else str(found.seed), ""),
        ("on record", "in the ledger" if found.ledger is not None else "nowhere: there is no ledger", "as dry runs"),
    ]
    return Section("How this was measured", [FactList(facts)])

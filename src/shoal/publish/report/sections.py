"""Sections that the reports of several methods share, from plain values: rows, sizes, columns before and after, relations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date, timedelta
from math import ceil
from typing import Any

from shoal.anonymize.treatment.base import Treatment
from shoal.anonymize.treatment.steps import ChangeCount
from shoal.page.number_text import NO_NUMBER, count_words, number_text, share_text, size_text
from shoal.page.section import BarPair, BarTable, Block, DataTable, Fact, Figure, Section, Words, heads
from shoal.page.svg import draw_curve, draw_histograms, draw_records
from shoal.publish.certificate.model import CurvePointEntry, PromiseEntry
from shoal.publish.certificate.page import curve_lines, release_curve_picture

MOST_BARS = 600
"""Labels that a page shows of all columns together; report.json has more."""
MOST_DOTS = 4000
"""Records that the pictures of a page show, of all columns together."""
FEWEST_BARS, FEWEST_DOTS = 5, 20
"""What a column shows in any case."""
HISTOGRAM_ROWS = 6
"""Lines of the table under a histogram: its bins, some together."""
ONE_ROW = "one row of each unit, chosen at random"
SOME_ROWS = "after the limit on the rows of one unit"
SORTED = "in the order of their own values, so rows cannot be told by place"
ALL_SHOWN = ("suppressed", "none", "every row that takes part is shown")
ABOUT_TREATMENTS = (
    "Before the method the values were treated, in this order. All other figures of this report compare the release with the "
    "table after these steps; what the steps themselves changed is here, and nowhere in the release."
)


# --- rows and sizes ---------------------------------------------------------------------------------------------------


def row_facts(rows: Mapping[str, Any], taking_part: str) -> list[Fact]:
    """How many rows the original has, and how many of them took part; `taking_part` says which."""
    found: list[Fact] = [("in the original", f"{rows['in']:,}", "")]
    if rows["taking_part"] != rows["in"]:
        found.append(("taking part", f"{rows['taking_part']:,}", taking_part))
    return found


def size_bars(histogram: Sequence[Mapping[str, Any]], what: str, member: str) -> BarTable:
    """How large classes are: how many are of each size, and how many members they have; bars are shares."""
    groups, rows = (max(1, sum(part[key] for part in histogram)) for key in ("groups", "rows"))
    return BarTable(
        f"{member}s in a {what}",
        (f"{what}es" if what.endswith("s") else f"{what}s", f"{member}s"),
        [
            BarPair(
                size_text(part["from"], part["to"]),
                part["groups"] / groups,
                part["rows"] / rows,
                (f"{part['groups']:,}", f"{part['rows']:,}"),
            )
            for part in histogram
        ],
    )


def treatment_section(treatments: Sequence[Treatment], changes: Sequence[ChangeCount]) -> Section:
    """How many values each step before the method changed; the sentence of a step stands at its first line."""
    starts, line = {}, 0
    for each in treatments:
        starts[line] = each.words()
        line += len(each.attributes)
    words = starts if line == len(changes) else {}
    rows = [
        (
            each.kind.replace("_", " "),
            each.attribute,
            f"{each.changed:,}",
            share_text(each.changed / each.values) if each.values else NO_NUMBER,
            words.get(place, ""),
        )
        for place, each in enumerate(changes)
    ]
    head = heads(["step", "attribute"], ["values changed", "share"], ["what it does"])
    return Section("Treatments before the method", [Words(ABOUT_TREATMENTS), DataTable(head, rows)])


# --- the promise ------------------------------------------------------------------------------------------------------


def curve_section(values: Mapping[str, Any]) -> Section:
    """The curve of the whole release, as its certificate lists it."""
    points = [CurvePointEntry.read(each) for each in values["curve"]]
    promised = PromiseEntry.read(values["guarantee"])
    picture, lines = release_curve_picture(points, promised), curve_lines(points, promised)
    table = DataTable(
        heads(numbers=["epsilon", "delta, at most"]),
        [(epsilon, delta) for epsilon, delta, _ in lines],
        frozenset(place for place, line in enumerate(lines) if line[-1]),
    )
    return Section("The curve of the whole release", [Figure([draw_curve(picture)], picture.caption, table)])


# --- columns before and after -----------------------------------------------------------------------------------------


def moments_table(attributes: Sequence[Mapping[str, Any]]) -> list[Section]:
    """Means and variances before and after; nothing where no attribute has them."""
    lines = []
    for one in attributes:
        if one["mean_before"] is None:
            continue
        mean = moment_text(one["type"])
        ratio = NO_NUMBER if one["variance_ratio"] is None else f"{one['variance_ratio']:.3f}"
        means = (mean(one["mean_before"]), mean(one["mean_after"]))
        variances = (number_text(one["variance_before"]), number_text(one["variance_after"]))
        lines.append((one["name"], *means, *variances, ratio))
    head = heads(["column"], ["mean before", "after", "variance before", "after", "ratio"])
    return [Section("Means and variances", [DataTable(head, lines)], level=3)] if lines else []


def moment_text(kind: str) -> Callable[[float | None], str]:
    """How a mean of this type is written; dates count in days since 1970."""
    return _day if kind in ("date", "datetime") else number_text


def _day(value: float | None) -> str:
    if value is None:
        return NO_NUMBER
    try:
        return (date(1970, 1, 1) + timedelta(days=value)).isoformat()
    except OverflowError:
        return number_text(value)


def column_sections(
    columns: Sequence[Mapping[str, Any]], attributes: Mapping[str, Mapping[str, Any]], *, swapped: bool = False
) -> list[Section]:
    """Each column before and after; `swapped` where values only changed places."""
    if not columns:
        return []
    dots, bars = room(MOST_DOTS, FEWEST_DOTS, len(columns)), room(MOST_BARS, FEWEST_BARS, len(columns))
    found = [Section("Columns, before and after", [])]
    for column in columns:
        if column["kind"] == "bars":
            block: Block = label_bars(column["labels"], column["rest"], bars)
        elif not column["edges"]:
            block = Words("Every value is missing.")
        else:
            block = _histogram(column, moment_text(attributes[column["name"]]["type"]), dots, swapped=swapped)
        found.append(Section(column["name"], [block], level=3))
    return found


def room(most: int, fewest: int, columns: int) -> int:
    """How much of a page one of so many columns may take."""
    return max(fewest, most // max(1, columns))


def _histogram(column: Mapping[str, Any], text: Callable[[float | None], str], dots: int, *, swapped: bool) -> Figure:
    """Two histograms over each other, some records, and the counts in wider bins."""
    name, edges, records = column["name"], column["edges"], column["records"]
    low, high = edges[0], edges[-1]
    ends = text(low), text(high)
    drawings = [
        draw_histograms(column["before"], column["after"], ends, name, f"Histograms of {name}, before and after")
    ]
    caption = f"{'Left: the' if records else 'The'} bars are before, the line is after."
    if swapped:
        caption = "Left: before and after are the same, because values only changed places."
    if records:
        step = ceil(len(records) / dots)
        width = (high - low) or 1.0  # very large whole numbers may lie in one float
        places = [((a - low) / width, (b - low) / width) for a, b in records[::step]]
        drawings.append(draw_records(places, ends, name, f"{name}: what {len(places)} records had, and what they show"))
        caption += f" Right: {len(places)} records; on the line a record shows what it had."
    if column["cut"]:
        caption += (
            " The range is that of the middle 98\u00a0% of the original; what lies beyond is counted at the ends."
        )
    return Figure(drawings, caption, _bin_table(column, text))


def _bin_table(column: Mapping[str, Any], text: Callable[[float | None], str]) -> DataTable:
    """The counts of a histogram, some bins together."""
    edges, wide = column["edges"], ceil(len(column["before"]) / HISTOGRAM_ROWS)
    whole = edges[1] - edges[0] == 1 and edges[0] % 1 == 0.5
    rows = []
    for start in range(0, len(column["before"]), wide):
        end = min(start + wide, len(column["before"]))
        low, high = (edges[start] + 0.5, edges[end] - 0.5) if whole else (edges[start], edges[end])
        counts = [number_text(sum(column[side][start:end])) for side in ("before", "after")]
        rows.append((text(low) if low == high else f"{text(low)} to {text(high)}", *counts))
    return DataTable(heads([column["name"]], ["before", "after"]), rows)


def label_bars(labels: Sequence[Mapping[str, Any]], rest: Mapping[str, Any] | None, most: int) -> BarTable:
    """The shares of labels before and after: the most frequent ones, all others added up."""
    ranked = sorted(labels, key=lambda entry: -max(entry["share"], entry["published_share"]))
    few = {id(entry) for entry in ranked[:most]}
    shown = [_label_bar(entry, entry["label"] or "(empty)") for entry in labels if id(entry) in few]
    others = [*ranked[most:], *([rest] if rest else [])]
    kept = ["kept"] if labels and "kept" in labels[0] else []
    if others:
        whole: dict[str, Any] = {
            key: sum(entry[key] for entry in others) for key in ("share", "published_share", "rows")
        }
        if kept:
            estimate = sum(entry["estimate"] for entry in others)
            whole["kept"] = estimate / whole["rows"] if whole["rows"] else None
        many = len(ranked[most:]) + (rest["labels"] if rest else 0)
        shown.append(_label_bar(whole, f"the other {many:,} labels", rest=True))
    return BarTable("label", ("before", "after", *kept), shown)


def _label_bar(entry: Mapping[str, Any], label: str, *, rest: bool = False) -> BarPair:
    cells = [share_text(entry["share"]), share_text(entry["published_share"])]
    if "kept" in entry:
        cells.append(NO_NUMBER if entry["kept"] is None else f"{100 * entry['kept']:.0f}\u00a0%")
    return BarPair(label, entry["share"], entry["published_share"], cells, rest)


# --- relations --------------------------------------------------------------------------------------------------------


def correlation_section(found: Mapping[str, Any] | None, words: str | None = None) -> Section:
    """How far correlations moved; `words` where there is something else to say of them."""
    blocks: list[Block] = [Words(words or _correlation_words(found))]
    if found is not None and found["listed"]:
        lines = [
            (
                f"{pair['first']} and {pair['second']}",
                *(_correlation(pair[key], "") for key in ("before", "after")),
                _correlation(pair["moved"], "+"),
            )
            for pair in found["listed"]
        ]
        blocks.append(DataTable(heads(["columns"], ["before", "after", "moved"]), lines))
    return Section("Relations between columns", blocks)


def _correlation_words(found: Mapping[str, Any] | None) -> str:
    if found is None:
        return "There are no two columns of numbers to compare, one of them confidential; names have no correlation."
    if found["mean"] is None:
        return "No pair of columns has a correlation in both tables: one of them does not vary."
    pairs = count_words(found["pairs"], "pair")
    words = f"{pairs} of numbers, at least one of them confidential"
    if not found["confidential"] or set(found["confidential"]) == set(found["attributes"]):
        words = f"{pairs} of numbers"
    words += f": correlations moved by {_shift(found['mean'])} on average and {_shift(found['largest'])} at most."
    if found["pairs"] > len(found["listed"]):
        words += f" These are the {len(found['listed'])} that moved most."
    if found["undefined"]:
        words += f" {count_words(found['undefined'], 'pair')} more {'has' if found['undefined'] == 1 else 'have'} no correlation."
    return words


def _shift(size: float) -> str:
    return "0" if size == 0 else f"{size:.3f}" if size >= 0.0005 else "less than 0.001"


def _correlation(value: float, sign: str) -> str:
    """Three decimals; a difference that is not nothing does not read 0."""
    if sign and 0 < abs(value) < 0.0005:
        return "< 0.001"
    return f"{round(value, 3) + 0.0:{sign}.3f}".replace("-", "\u2212") if round(value, 3) else "0"


# --- cautions ---------------------------------------------------------------------------------------------------------


def earlier_caution(ledger: Mapping[str, Any]) -> list[str]:
    """A sentence where other releases of the dataset have a guarantee that does not compose, as this one has."""
    earlier = ledger["unbounded_releases"]
    if not earlier:
        return []
    noted = f"The ledger notes {count_words(earlier, 'earlier release')} of this dataset without bound."
    return [
        f"{noted} Tables about the same people can be compared: together they may show more than each promises to hide."
    ]

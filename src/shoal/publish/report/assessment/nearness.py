"""How near a release is to its original, in the custodian's report: distances, each column, pairs, queries, models."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, timedelta
from math import ceil
from typing import Any

from shoal.page.number_text import NO_NUMBER, count_words, number_text, share_text, unit_text
from shoal.page.section import (
    BarPair,
    BarTable,
    Block,
    Cell,
    ColumnHead,
    DataTable,
    Figure,
    Section,
    Words,
    heads,
)
from shoal.page.svg import draw_matrix

MOST_PAIRS = 40
"""Pairs of columns that are listed; report.json has all."""
MOST_OVERLAYS, WORST_OVERLAYS = 24, 10
"""Columns that are drawn before and after; of a table with more, so many that moved most."""
MOST_PARTS, FEWEST_PARTS, WORST_PARTS = 200, 8, 8
"""Lines that all drawn columns have together, each of them in any case, and those of a wide table."""
MEANINGS = {
    1: "share of the rows that would have to change their cell for both to agree: 0 is the same, 1 nothing in common",
    2: "the same for the tables of any two columns, on average",
    3: "the same for the tables of any three columns, on average",
}
WIDTHS = {1: "tables of one column", 2: "tables of two columns", 3: "tables of three columns"}
ABOUT_PARTS = (
    "Both tables are cut into the same parts: names, or ranges of numbers that hold about equally many rows of the original. A "
    "label that stands for several parts counts with a share in each."
)
ABOUT_INTERVALS = "Under an estimated number stands its 95\u00a0% interval."
ABOUT_MEANS = (
    "A label that stands for a range of numbers counts as spread evenly over it; where the highest range is wide, that raises "
    "mean and deviation, as it does for a recipient."
)


def nearness_sections(utility: Mapping[str, Any], mark: str) -> list[Section]:
    """Distances of the whole, then each column, then pairs."""
    before, after = utility["rows"]
    words = (
        f"Compared are the original, {count_words(before, 'row')}, and {utility['of']}, {count_words(after, 'row')}."
    )
    head = heads(["measure"], ["number"], ["how it is known"])
    return [
        Section(
            "How near the release is",
            [
                Words(words),
                DataTable(head, _summary(utility)),
                Words(ABOUT_PARTS, quiet=True),
                Words(ABOUT_INTERVALS, quiet=True),
            ],
            mark=mark,
        ),
        *_column_sections(utility["columns"]),
        *_pair_section(utility),
    ]


# --- the whole ----------------------------------------------------------------------------------------------------------


def _summary(utility: Mapping[str, Any]) -> list[tuple[Cell, Cell, Cell]]:
    """Each number with one plain sentence about it."""
    found: list[tuple[Cell, Cell, Cell]] = []
    for one in utility["marginals"]:
        mean, part = one["mean"], one["compared"] < one["possible"]
        worst = f"the worst is {unit_text(one['worst'])}: {' × '.join(one['worst_names'])}"
        told = f"estimated from {one['compared']:,} of {one['possible']:,}" if part else "counted"
        meaning = MEANINGS[one["width"]]
        ends = f"{unit_text(mean['low'])} to {unit_text(mean['high'])}" if part else ""
        title = f"total variation, {WIDTHS[one['width']]}"
        found.append(((title, meaning), (unit_text(mean["value"]), ends), (told, worst)))
    queries = utility["queries"]
    off = queries["absolute"]
    many = ("estimated", f"{queries['queries']:,} random queries")
    found += [
        (
            (
                "answers to queries, error",
                "how far counts of random ranges of one to three columns are off, of all rows",
            ),
            (share_text(off["value"]), f"{100 * off['low']:.2f} to {share_text(off['high'])}"),
            many,
        ),
        (
            ("answers to queries, half of them", "the error of the middle query, of its true answer"),
            share_text(queries["relative_median"]),
            many,
        ),
        (
            ("answers to queries, 19 of 20", "the error that 95 of 100 queries stay below, of the true answer"),
            share_text(queries["relative_95"]),
            many,
        ),
    ]
    related = utility["relations"]
    for key, title, meaning in (
        (
            "association_difference",
            "Cramér's V, mean change",
            "how far the strength of the relation of two columns moved",
        ),
        ("correlation_difference", "correlations, mean change", "how far correlations of numbers moved"),
    ):
        if related[key] is not None:
            found.append(((title, meaning), unit_text(related[key]), "counted"))
    if utility["granularity"] is not None:
        found.append(
            (
                ("granularity", "how much of its domain a cell rules out on average: 1 for values, 0 for stars"),
                unit_text(utility["granularity"]),
                "counted",
            )
        )
    classes = utility["classes"]
    if classes is not None:
        found += [
            (
                ("classes of rows", "groups of rows that look alike by the quasi-identifiers"),
                (f"{classes['classes']:,}", f"{number_text(classes['average'])} rows on average"),
                "counted",
            ),
            (
                ("discernibility", "sum of the squared sizes of classes: the smaller, the finer the rows"),
                number_text(classes["discernibility"]),
                "counted",
            ),
        ]
    lost = utility["information_loss"]
    if lost is not None and lost["loss"] is not None:
        found.append(
            (
                ("information loss of numbers, IL", "squared changes, record by record, over the variance"),
                (f"{number_text(lost['loss'])}\u00a0%", f"SSE {number_text(lost['sse'])}"),
                "counted",
            )
        )
    apart = utility["distinction"]
    if apart is not None:
        for one, title, meaning in (
            (
                apart["pmse"],
                "telling rows apart, pMSE",
                "how well a model tells released rows: 0 not at all, 0.25 always",
            ),
            (
                apart["area"],
                "telling rows apart, area",
                "the same as an area under the curve: 0.5 is guessing, 1 is always",
            ),
        ):
            ends = f"{unit_text(one['low'])} to {unit_text(one['high'])}"
            found.append(((title, meaning), (unit_text(one["value"]), ends), "estimated"))
    return found


# --- columns ------------------------------------------------------------------------------------------------------------


def _column_sections(columns: Sequence[Mapping[str, Any]]) -> list[Section]:
    if not columns:
        return []
    names = ["total variation", "earth mover", "mean, original", "release", "deviation, original", "release"]
    lines = []
    for one in columns:
        text = day_text if one["kind"] == "dates" else number_text
        lines.append(
            (
                one["name"],
                unit_text(one["total_variation"]),
                unit_text(one["earth_mover"]),
                *_two(one["mean"], text),
                *_two(one["deviation"], _days if one["kind"] == "dates" else number_text),
            )
        )
    words = (
        "Total variation: 0 where a column is as it was, 1 where nothing of it is left. The earth mover's distance also counts "
        "how far values of an ordered column moved, from 0 to 1."
    )
    moments: list[Block] = [Words(ABOUT_MEANS, quiet=True)] if any(one["mean"] is not None for one in columns) else []
    return [
        Section("Each column", [Words(words), DataTable(heads(["column"], names), lines), *moments], level=3),
        _overlays(columns),
    ]


def _two(pair: Sequence[float | None] | None, text: Callable[[float | None], str]) -> tuple[str, str]:
    return (NO_NUMBER, NO_NUMBER) if pair is None else (text(pair[0]), text(pair[1]))


LAST_DAY = 4e6
"""Days of a calendar are numbered below it; above are microseconds of times."""
MICROSECONDS = 86_400e6


def day_text(value: float | None) -> str:
    """A date by its number, or a time by its microseconds since 1970.

    >>> day_text(719163.0), day_text(86_400e6 * 366)
    ('1970-01-01', '1971-01-02')
    """
    if value is None:
        return NO_NUMBER
    try:
        if abs(value) < LAST_DAY:
            return date.fromordinal(round(value)).isoformat()
        return (datetime(1970, 1, 1) + timedelta(microseconds=value)).date().isoformat()  # noqa: DTZ001 - of no zone
    except (ValueError, OverflowError):
        return number_text(value)


def _days(value: float | None) -> str:
    if value is None:
        return NO_NUMBER
    return f"{number_text(value if value < LAST_DAY else value / MICROSECONDS)} days"


def _overlays(columns: Sequence[Mapping[str, Any]]) -> Section:
    """The parts of columns, original and release as bars over each other."""
    drawn = list(columns)
    words = "How the rows of each column are spread, before and after."
    if len(drawn) > MOST_OVERLAYS:
        moved = sorted(range(len(drawn)), key=lambda place: -drawn[place]["total_variation"])[:WORST_OVERLAYS]
        drawn = [drawn[place] for place in sorted(moved)]
        words = f"The {WORST_OVERLAYS} of {len(columns)} columns that moved most; report.json has all of them."
    most = max(FEWEST_PARTS, MOST_PARTS // len(drawn)) if len(drawn) == len(columns) else WORST_PARTS
    blocks: list[Block] = [Words(words)]
    blocks += [
        BarTable(one["name"], ("original", "release"), _parts(one["parts"], most, ordered=one["kind"] != "names"))
        for one in drawn
    ]
    return Section("Columns, part by part", blocks, level=3)


def _parts(parts: Sequence[Sequence[Any]], most: int, *, ordered: bool) -> list[BarPair]:
    """At most so many lines: neighbours of an order are joined, of names the commonest stand by themselves."""
    *own, missing = parts
    last = [_bar(*missing)] if missing[1] or missing[2] else []
    if len(own) <= most:
        return [*(_bar(*part) for part in own if part[1] or part[2] or ordered), *last]
    if ordered:
        wide = ceil(len(own) / most)
        return [*(_joined(own[start : start + wide]) for start in range(0, len(own), wide)), *last]
    ranked = sorted(range(len(own)), key=lambda place: (-max(own[place][1:]), place))
    kept = sorted(ranked[: most - 1])
    rest = [own[place] for place in ranked[most - 1 :]]
    label = f"the other {len(rest):,} parts"
    whole = _bar(label, sum(part[1] for part in rest), sum(part[2] for part in rest), rest=True)
    return [*(_bar(*own[place]) for place in kept), whole, *last]


def _joined(parts: Sequence[Sequence[Any]]) -> BarPair:
    """Some neighbours as one part; its label goes from the first to the last of them."""
    shares = [sum(part[side] for part in parts) for side in (1, 2)]
    if len(parts) == 1:
        return _bar(parts[0][0], *shares)
    return _bar(f"{parts[0][0]} … {parts[-1][0]}", *shares)


def _bar(label: str, before: float, after: float, *, rest: bool = False) -> BarPair:
    return BarPair(label, before, after, (share_text(before), share_text(after)), rest)


# --- pairs --------------------------------------------------------------------------------------------------------------


def _pair_section(utility: Mapping[str, Any]) -> list[Section]:
    """A matrix of all compared pairs, and the worst of them in a table."""
    pairs, possible = utility["relations"]["pairs"], utility["relations"]["possible"]
    if not pairs:
        return []
    names = list(dict.fromkeys(name for one in pairs for name in one["names"]))
    alone = {one["name"]: one["total_variation"] for one in utility["columns"]}
    cells = {(one["names"][0], one["names"][1]): one["total_variation"] for one in pairs}
    cells |= {(second, first): value for (first, second), value in cells.items()} | {
        (one, one): alone[one] for one in names
    }
    drawing = draw_matrix(
        names,
        [[cells[row, column] for column in names] for row in names],
        "Total variation of every pair of columns, original against release; the table below lists the worst pairs",
    )
    caption = (
        "Total variation of the table of two columns, on the diagonal of one: the darker, the farther from the original. Columns "
        "have the numbers of the rows."
    )
    if len(pairs) < possible:
        caption += f" Of {possible:,} pairs, the {len(pairs):,} of the first {len(names)} columns were compared."
    worst = sorted(pairs, key=lambda one: -one["total_variation"])[:MOST_PAIRS]
    head = (
        ColumnHead("columns"),
        ColumnHead("total variation", numeric=True),
        ColumnHead("Cramér's V, original", numeric=True),
        ColumnHead("release", numeric=True),
        ColumnHead("correlation, original", numeric=True),
        ColumnHead("release", numeric=True),
    )
    table = DataTable(
        head,
        [
            (
                " × ".join(one["names"]),
                unit_text(one["total_variation"]),
                *(unit_text(each) for each in one["association"]),
                *_two(one["correlation"], _signed),
            )
            for one in worst
        ],
    )
    words = (
        "Cramér's V says how strongly two columns are related, from 0 for not at all to 1 where one decides the other; a "
        "correlation says it of numbers, from −1 to 1. All of it is counted."
    )
    if len(pairs) > len(worst):
        words += f" The table lists the {len(worst)} pairs that are farthest from the original."
    return [Section("Pairs of columns", [Words(words), Figure([drawing], caption, table)], level=3)]


def _signed(value: float | None) -> str:
    if value is None or value >= 0:
        return unit_text(value)
    return f"\u2212{-value:.3f}" if value <= -0.0005 else "> \u22120.001"


# --- models -------------------------------------------------------------------------------------------------------------


def learning_section(utility: Mapping[str, Any], mark: str) -> list[Section]:
    """Models that were trained on both tables and tested on originals."""
    if not utility["learning"]:
        return []
    blocks: list[Block] = [
        Words(
            "Each model predicts one column from all others. It was trained once on originals and once on "
            f"{utility['learned_from']}, and tested on originals. The number is the area under the ROC curve: 0.5 is guessing, 1 "
            "is always right; under it stands its 95\u00a0% interval. What is lost is what an analyst loses who has the release "
            "alone."
        )
    ]
    for one in utility["learning"]:
        trained, given = one["trained"]
        tests = "people who took no part" if one["control"] else "originals that the first model did not see"
        blocks += [
            DataTable(
                heads([f"predicting {one['target']}"], ["trained on originals", "on the release", "lost"]),
                [
                    (
                        model["model"],
                        _area(model["original"]),
                        _area(model["released"]),
                        _signed(model["loss"]),
                    )
                    for model in one["models"]
                ],
            ),
            Words(
                f"{trained:,} originals and {given:,} rows of the release to learn from, {one['tested']:,} {tests} to test; "
                f"{len(one['classes'])} classes.",
                quiet=True,
            ),
        ]
    if not all(one["control"] for one in utility["learning"]):
        blocks.append(
            Words(
                "The release was made of all originals, those of the test among them, so its figure may be slightly too good; a "
                "control group (shoal assess --control) avoids that.",
                quiet=True,
            )
        )
    return [Section("What models learn", blocks, mark=mark)]


def _area(one: Mapping[str, Any]) -> Cell:
    return unit_text(one["value"]), f"{unit_text(one['low'])} to {unit_text(one['high'])}"

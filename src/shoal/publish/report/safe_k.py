"""The custodian's report on a safe k-anonymous table: what went in, what came out, what was lost, as values and as a page.

It is computed from the original table through engine verbs and from the published files, which are read back. The
sample itself is gone with its key and is never drawn again: what was sampled and suppressed is an estimate.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from shoal.anonymize.generalize.base import Recoding
from shoal.anonymize.generalize.scheme import Scheme
from shoal.anonymize.generalize.tree.boxes import BoxRecoding
from shoal.data.domain import Values
from shoal.data.hierarchy.level import MISSING, IntervalLevel, Level, ValueLevel
from shoal.data.schema import Attribute
from shoal.data.type import Type
from shoal.engine.base import Table
from shoal.engine.column import Column
from shoal.engine.write import files_of
from shoal.guarantee.rounding import exact, exact_text, text_near
from shoal.guarantee.safe_k.frontier import FrontierPoint, frontier
from shoal.guarantee.sentences import about_people, short
from shoal.page.html import inline_once
from shoal.page.number_text import NO_NUMBER, count_words, share_text, unit_text
from shoal.page.section import Block, Cell, ColumnHead, DataTable, Fact, FactList, Figure, Section, Words, heads
from shoal.progress import Stage, each_of, silent
from shoal.publish.plan.page import frontier_picture
from shoal.publish.plan.safe_k import SafeKPlan, with_delta
from shoal.publish.report.column_detail import (
    CONSTANT,
    DETAIL,
    FEW,
    NOTHING,
    ColumnDetail,
    Original,
    SampleSize,
    by_label,
    column_detail,
    count_labels,
    distance_by_chance,
    first_cautions,
)
from shoal.publish.report.document import MethodSections, report_opening, rows_and_people
from shoal.publish.report.sections import (
    FEWEST_BARS,
    MOST_BARS,
    SOME_ROWS,
    curve_section,
    label_bars,
    room,
    size_bars,
)

if TYPE_CHECKING:
    import pyarrow as pa

ROWS_AT_A_TIME = 1 << 18
"""Published rows that are read at a time."""
MOST_LABELS = 20
"""Labels of a column that are shown; the others are added up."""
SHARES = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0)
CONFIDENCE = 0.95
ABOUT_MEASURES = (
    (
        "Before: the rows of the original under the labels of this release, counted by the engine. After: the published rows, "
        "counted in the files."
    ),
    (
        "Kept: the published rows of a label, scaled up by the sampling rate, over its rows in the original. Chance moves it, "
        "above 100 % too; the fewer rows a label has, the more."
    ),
    DETAIL,
    (
        "Distance: half the sum, over labels, of the differences between the share of the original's rows and the published rows "
        "over those expected in the sample, with the rows not shown as one more label: 0 where they agree, 1 where nothing is "
        "shown. It compares labels with the same labels, so it says nothing about what a label hides: that is what detail "
        "is for. By chance: what sampling alone would make it on average, with nothing suppressed (normal approximation)."
    ),
    "Nothing was drawn again for this report: the key of the sample is destroyed.",
)
"""What the page says of each measure."""
ABOUT_COLUMNS = (
    "Each column by itself; those that say nothing or little come first. Detail is how far labels tell rows apart: 1 where every "
    "row's value is shown, 0 where nothing is said; suppressed rows count 0. Distance is how far the labels shown are from the "
    "same labels of the original; below it stands what chance alone would give."
)
ABOUT_LABELS = (
    "How the labels of each column are spread: before, as shares of the original's rows; after, as shares of the published "
    "rows."
)
_RANK = {NOTHING: 0, FEW: 1}


def safe_k_report(
    plan: SafeKPlan, table: Table, recoding: Recoding, public: Path, content: dict[str, Any], stage: Stage = silent
) -> dict[str, Any]:
    """The custodian's report as the plain values that report.json holds; the public folder is read and left as it is."""
    stage("reading what is published")
    recoded = recoding.apply(table)
    files = [entry["file"] for entry in content["tables"]]
    shown = [count_published(public / name, recoded) for name in files]
    rows = _rows(plan, table, sum(part.rows for part in shown))
    published = {name: _add_up(part.labels[name] for part in shown) for name in recoded.columns}
    labels = {name: (by_label(recoded.count_by([name])), published[name]) for name in recoded.columns}
    sampled = SampleSize(rows["sampled"]["expected"], rows["sampled"]["standard_deviation"])
    original = Original(table)
    details = {
        name: column_detail(recoding, original, name, before, after, sampled)
        for name, (before, after) in each_of(labels.items(), stage, "comparing columns")
    }
    columns = [_column(plan, recoding, name, *labels[name], details[name], rows) for name in recoded.columns]
    for column in columns:
        says = details[column["name"]].says
        spread = _spread(recoding, original, column["name"], published[column["name"]]) if says is None else None
        column["distance_spread_evenly"] = spread
    return {
        **report_opening(content),
        "rows": rows,
        "cautions": _cautions(plan, rows, columns, details),
        "notes": list(table.notes),
        "tables": [
            {"file": name, "rows": part.rows, "groups": len(part.sizes)}
            for name, part in zip(files, shown, strict=True)
        ],
        "groups": _groups(plan.promise.k, np.concatenate([part.sizes for part in shown])),
        "columns": columns,
        "frontier": _frontier(plan, rows["taking_part"]),
        "guarantee": content["guarantee"],
        "curve": content["curve"],
    }


# --- rows ---------------------------------------------------------------------------------------------------------


def _rows(plan: SafeKPlan, table: Table, published: int) -> dict[str, Any]:
    """Counts in and out; sampled and suppressed with what is known of them now that the key is destroyed."""
    count, (taking_part, people) = table.rows(), rows_and_people(plan, table)
    beta = float(plan.promise.beta)
    rate = 1.0 if plan.method.drawn_before else beta
    expected = plan.repeat * taking_part * rate
    deviation = math.sqrt(plan.repeat * taking_part * rate * (1 - rate))
    low, high = (max(0, end - published) for end in sample_sizes(plan.repeat * taking_part, rate))
    return {
        "in": count,
        "people": people,
        "taking_part": taking_part,
        "releases": plan.repeat,
        "rate": exact_text(plan.promise.beta),
        "table_is_the_sample": plan.method.drawn_before,
        "sampled": {"expected": round(expected, 1), "standard_deviation": round(deviation, 1)},
        "published": published,
        "suppressed": {
            "estimate": round(max(0.0, expected - published), 1),
            "low": low,
            "high": high,
            "method": "expected sampled less published; between the ends that hold the sample's size with 95 % or more, less "
            "published (exact binomial)",
        },
        "kept": round(published / expected, 4) if expected else None,
    }


def sample_sizes(rows: int, rate: float, confidence: float = CONFIDENCE) -> tuple[int, int]:
    """The ends between which the size of a sample lies with this probability or more: quantiles of the binomial distribution."""
    from shoal.assess.release.estimate import binomial_cdf

    def least(share: float) -> int:
        low, high = -1, rows
        while high - low > 1:
            middle = (low + high) // 2
            reached = float(binomial_cdf(np.array([float(middle)]), np.array([float(rows)]), rate)[0]) >= share
            low, high = (low, middle) if reached else (middle, high)
        return high

    if rate >= 1:
        return rows, rows
    return least((1 - confidence) / 2), least((1 + confidence) / 2)


def _cautions(
    plan: SafeKPlan, rows: dict[str, Any], columns: list[dict[str, Any]], details: dict[str, ColumnDetail]
) -> list[str]:
    found = first_cautions(details)
    if rows["in"] and not rows["published"]:
        found.append(
            "No row was published: every class is smaller than k. Coarser labels or fewer columns make larger classes."
        )
    elif rows["kept"] is not None and rows["kept"] < 0.5:
        found.append(
            f"The published rows are only {100 * rows['kept']:.0f}\u00a0% of the sample's expected size; sampled rows in classes "
            "smaller than k are not published. Coarser labels or fewer columns make larger classes."
        )
    gone = [column["name"] for column in columns if column["labels_in"] > column["labels_published"] > 0]
    if gone:
        found.append(
            f"Some labels do not occur in the published table at all, in {len(gone)} of {len(columns)} columns: an "
            "analyst cannot tell whether they occur in the original."
        )
    people = rows["people"] or rows["in"]
    named = "rows" if plan.unit.whose == "row" else "units"
    risk = about_people(people, with_delta(plan.promise, plan.total.delta), named) if people else None
    if risk:
        found.append(risk + ".")
    return found


# --- published files ----------------------------------------------------------------------------------------------


def read_published(path: Path, recoded: Table) -> pa.Table:
    """A published table, read back with the types that its labels have."""
    if path.suffix == ".parquet":
        import pyarrow as pa
        import pyarrow.parquet as pq

        # Each stretch of rows brings its own list of labels; grouping needs one list.
        return pa.concat_tables([pq.read_table(file) for file in files_of(path)]).unify_dictionaries()
    from pyarrow import csv

    return csv.read_csv(path, convert_options=_csv_types(recoded))


@dataclass(frozen=True)
class PublishedCounts:
    """What is counted in a published table: its rows, the sizes of its classes in order, and the rows of each label."""

    rows: int
    sizes: npt.NDArray[np.int64]
    labels: dict[str, dict[str, int]]


def count_published(path: Path, recoded: Table) -> PublishedCounts:
    """Count a published table some rows at a time; what is held are its classes, of which each has k rows or more."""
    import pyarrow as pa

    rows, parts, labels = 0, [], {name: dict[str, int]() for name in recoded.columns}
    for some in _published_parts(path, recoded):
        rows += some.num_rows
        for name, known in labels.items():
            pairs = some.column(name).value_counts().to_pylist()
            for label, count in count_labels((pair["values"], pair["counts"]) for pair in pairs).items():
                known[label] = known.get(label, 0) + count
        numbered = some.rename_columns([str(place) for place in range(some.num_columns)])
        grouped = numbered.group_by(numbered.column_names).aggregate([([], "count_all")])
        parts.append(grouped)
    if not parts:
        return PublishedCounts(0, np.zeros(0, dtype=np.int64), labels)
    together = pa.concat_tables(parts).unify_dictionaries()
    names = [name for name in together.column_names if name != "count_all"]
    sums = together.group_by(names).aggregate([("count_all", "sum")]).column("count_all_sum")
    return PublishedCounts(rows, np.sort(sums.to_numpy().astype(np.int64)), labels)


def _published_parts(path: Path, recoded: Table) -> Iterator[pa.Table]:
    """The rows of a published table, some at a time, with the types that its labels have."""
    import pyarrow as pa

    if path.suffix == ".parquet":
        import pyarrow.parquet as pq

        for each in files_of(path):
            with pq.ParquetFile(each) as file:
                for batch in file.iter_batches(ROWS_AT_A_TIME):
                    yield pa.Table.from_batches([batch])
        return
    from pyarrow import csv

    with csv.open_csv(path, convert_options=_csv_types(recoded)) as reader:
        for batch in reader:
            yield pa.Table.from_batches([batch])


def _csv_types(recoded: Table) -> Any:
    from pyarrow import csv

    types = {name: Column(name, kind).arrow_type() for name, kind in recoded.types.items()}
    return csv.ConvertOptions(
        column_types=types, null_values=[""], strings_can_be_null=True, quoted_strings_can_be_null=False
    )


def _add_up(counts: Iterable[dict[str, int]]) -> dict[str, int]:
    return count_labels(pair for each in counts for pair in each.items())


def _groups(k: int, sizes: npt.NDArray[np.int64]) -> dict[str, Any]:
    """How large the published classes are: quantiles over classes and over rows, and a histogram that doubles."""
    sizes = np.sort(sizes)
    ends, bins = np.cumsum(sizes), []
    low = k
    while len(sizes) and low <= sizes[-1]:
        inside = sizes[(sizes >= low) & (sizes < 2 * low)]
        bins.append({"from": low, "to": 2 * low - 1, "groups": len(inside), "rows": int(inside.sum())})
        low *= 2
    return {
        "count": len(sizes),
        "smallest": int(sizes[0]) if len(sizes) else None,
        "largest": int(sizes[-1]) if len(sizes) else None,
        "quantiles": [
            {
                "share": share,
                "of_groups": int(sizes[max(0, math.ceil(share * len(sizes)) - 1)]),
                "of_rows": int(sizes[np.searchsorted(ends, max(1.0, share * int(ends[-1])))]),
            }
            for share in (SHARES if len(sizes) else ())
        ],
        "histogram": bins,
    }


# --- columns ------------------------------------------------------------------------------------------------------


def _column(
    plan: SafeKPlan,
    recoding: Recoding,
    name: str,
    before: dict[str, int],
    after: dict[str, int],
    detail: ColumnDetail,
    rows: dict[str, Any],
) -> dict[str, Any]:
    """One column before (original, same labels) and after (published), with the distance between the two."""
    attribute = plan.policy.schema[name]
    level = recoding.levels[name] if isinstance(recoding, Scheme) else None
    total, left, expected = rows["in"], rows["published"], rows["sampled"]["expected"]
    listed = [_label(label, before[label], after.get(label, 0), total, left, expected) for label in before]
    order = _order(attribute, level, list(before))
    largest = sorted(before, key=lambda label: (-before[label], order[label]))
    chosen = (
        sorted(largest[:MOST_LABELS], key=lambda label: order[label])
        if _has_order(attribute, level)
        else largest[:MOST_LABELS]
    )
    place = {entry["label"]: entry for entry in listed}
    others = largest[MOST_LABELS:]
    rest = _label("", sum(before[o] for o in others), sum(after.get(o, 0) for o in others), total, left, expected)
    hierarchy = attribute.hierarchy
    return {
        "name": name,
        "level": recoding.indices.get(name, 0) if isinstance(recoding, Scheme) else None,
        "levels": len(hierarchy) if hierarchy else 1,
        "boxes": len(recoding) if isinstance(recoding, BoxRecoding) else None,
        **detail.to_json(),
        "distance_by_chance": _by_chance(before, expected, rows),
        "labels_in": len(before),
        "labels_published": len(after),
        "rows_of_labels_gone": sum(before[label] for label in before if label not in after),
        "labels": [place[label] for label in chosen],
        "rest": {**rest, "label": None, "labels": len(others)} if others else None,
    }


def _spread(recoding: Recoding, original: Original, name: str, published: dict[str, int]) -> float | None:
    """How far the published labels, spread evenly over the cells they stand for, are from the original's cells."""
    if not isinstance(recoding, BoxRecoding):
        return None
    cells = recoding.tree.layout.sides[recoding.columns.index(name)].cells
    before = original.cells(name, cells.level)
    after = recoding.spread(name, published)
    total, left = sum(before.values()), sum(after.values())
    if not total or not left:
        return None
    return round(sum(abs(before.get(cell, 0) / total - count / left) for cell, count in after.items()) / 2, 6)


def _label(label: str, before: int, after: int, total: int, left: int, expected: float) -> dict[str, Any]:
    """One label: rows and share before and after, the estimate that an analyst would make, and the share kept."""
    estimate = after * total / expected if expected else 0.0
    return {
        "label": label,
        "rows": before,
        "share": round(before / total, 6) if total else 0.0,
        "published": after,
        "published_share": round(after / left, 6) if left else 0.0,
        "estimate": round(estimate, 1),
        "kept": round(estimate / before, 4) if before else None,
    }


def _by_chance(before: dict[str, int], expected: float, rows: dict[str, Any]) -> float | None:
    share = expected / (rows["releases"] * rows["in"]) if rows["in"] else 0.0
    found = distance_by_chance(before, expected, share)
    return None if found is None else round(found, 6)


def _has_order(attribute: Attribute, level: Level | None) -> bool:
    return isinstance(level, IntervalLevel) or (
        isinstance(level, ValueLevel) and (attribute.type.numeric or attribute.type in (Type.ORDINAL, Type.BOOLEAN))
    )


def _order(attribute: Attribute, level: Level | None, labels: list[str]) -> dict[str, int]:
    """The natural place of each label: by the level, by the declared domain, else as the engine sorts; missing last."""
    declared = (
        attribute.domain.values if isinstance(attribute.domain, Values) and isinstance(level, ValueLevel) else None
    )
    known = {label: place for place, label in enumerate((level.labels if level else None) or declared or labels)}
    return {label: known.get(label, len(known)) if label != MISSING else len(known) + 1 for label in labels}


# --- other choices ------------------------------------------------------------------------------------------------


def _frontier(plan: SafeKPlan, taking_part: int) -> list[dict[str, Any]]:
    """k and beta that keep the same promise, and how many rows they would sample; nothing is tried on the table."""
    choices, found = frontier(plan.promise, lambda: None), []
    finest = min((choice.class_size for choice in choices), default=0.0)
    first = next((choice.k for choice in choices if choice.class_size == finest), 0)
    for choice in choices:
        own = choice.k == plan.promise.k
        rate: Fraction = plan.promise.beta if own else choice.beta
        found.append(
            {
                "k": choice.k,
                "beta": short(rate, cost=False),
                "group_needed": math.ceil(choice.k / rate),
                "sampled_expected": round(float(taking_part * rate), 1),
                "meaning": choice.meaning,
                "dominated": choice.k < first,
                "this_plan": own,
            }
        )
    return found


# --- the sections -------------------------------------------------------------------------------------------------


def safe_k_sections(plan: SafeKPlan, report: Mapping[str, Any]) -> MethodSections:
    """The sections of the report, from its plain values."""
    columns = sorted(report["columns"], key=lambda column: _RANK.get(column["says"], len(_RANK)))
    return MethodSections(
        rows=_row_blocks(report),
        columns=[
            Section("What each column says", [Words(ABOUT_COLUMNS), detail_table(columns)]),
            *_label_sections([column for column in columns if column["labels_in"] > 1]),
        ],
        findings=[_class_section(report["groups"], plan.promise.k), curve_section(report)],
        alternatives=_alternatives(plan, report["frontier"]),
        methods=ABOUT_MEASURES,
    )


def _row_blocks(report: Mapping[str, Any]) -> list[Block]:
    rows = report["rows"]
    sampled, suppressed = rows["sampled"], rows["suppressed"]
    why = "sampled rows in classes of fewer than k equal rows"
    between = (
        f"between {suppressed['low']:,} and {suppressed['high']:,} (95\u00a0% or more); expected sample less published"
    )
    found: list[Fact] = [("in the original", f"{rows['in']:,}", "")]
    if rows["people"] is not None:
        found.append(("units", f"{rows['people']:,}", "different values of the column that names them"))
        found.append(("taking part", f"{rows['taking_part']:,}", SOME_ROWS))
    if rows["table_is_the_sample"]:
        found += [
            ("sampled", f"{sampled['expected']:,.0f}", "the table is itself the sample; nothing was drawn"),
            ("suppressed", f"{suppressed['estimate']:,.0f}", why),
        ]
        about = "The table was used once and for nothing else; nothing else may ever be computed from it and published."
    else:
        times = f", {rows['releases']} times" if rows["releases"] > 1 else ""
        found += [
            (
                "sampled, expected",
                f"{sampled['expected']:,.0f} ± {sampled['standard_deviation']:,.0f}",
                f"each row with probability {text_near(exact(rows['rate']))}{times}; ± one standard deviation",
            ),
            (
                "suppressed, estimated",
                f"{suppressed['estimate']:,.0f}",
                f"{why}: {between}",
            ),
        ]
        about = (
            "How many rows were sampled is not known any more, and should not be: the sample went with its key. What is known "
            "is how many there are on average, and how far that is off as a rule."
        )
    kept = "" if rows["kept"] is None else f"{share_text(rows['kept'])} of the rows expected in the sample"
    blocks: list[Block] = [FactList([*found, ("published", f"{rows['published']:,}", kept)])]
    if len(report["tables"]) > 1:
        lines = [(each["file"], f"{each['rows']:,}", f"{each['groups']:,}") for each in report["tables"]]
        blocks.append(DataTable(heads(["file"], ["rows", "classes"]), lines))
    return [*blocks, Words(about, quiet=True)]


def detail_table(columns: Sequence[Mapping[str, Any]]) -> DataTable:
    """One line for each column: detail, commonest label, distance; those that say nothing or little are set in bold."""
    head = (
        *heads(["column"], ["level"]),
        ColumnHead("detail", numeric=True, note="95\u00a0% interval"),
        *heads(["commonest label"], ["labels shown", "distance"]),
    )
    poor = frozenset(place for place, column in enumerate(columns) if column["says"] in _RANK)
    return DataTable(head, [_column_line(column) for column in columns], poor)


def _column_line(column: Mapping[str, Any]) -> list[Cell]:
    commonest, says = column["commonest"], column["says"]
    low, high = column["detail_low"], column["detail_high"]
    between = "" if low == high else f"{low:.3f} to {high:.3f}"
    chance = "" if column["distance"] is None else f"by chance {unit_text(column['distance_by_chance'])}"
    return [
        column["name"],
        _level_words(column),
        (NO_NUMBER, "one value") if says == CONSTANT else (unit_text(column["detail"]), between),
        "" if commonest is None else (commonest["label"] or "(empty)", f"{share_text(commonest['share'])} of rows"),
        f"{column['labels_published']:,} of {column['labels_in']:,}",
        ("says nothing" if says == NOTHING else unit_text(column["distance"]), chance),
    ]


def _level_words(column: Mapping[str, Any]) -> str:
    if column["boxes"]:
        return "box"
    return f"{column['level']} of {column['levels'] - 1}" if column["levels"] > 1 else "0"


def _label_sections(columns: Sequence[Mapping[str, Any]]) -> list[Section]:
    if not columns:
        return []
    most = room(MOST_BARS, FEWEST_BARS, len(columns))
    found = [Section("Labels, before and after", [Words(ABOUT_LABELS)])]
    for column in columns:
        bars = label_bars(column["labels"], column["rest"], most)
        found.append(Section(column["name"], [Words(_label_words(column), quiet=True), bars], level=3))
    return found


def _label_words(column: Mapping[str, Any]) -> str:
    gone = column["rows_of_labels_gone"]
    lost = column["labels_in"] - column["labels_published"]
    shown = column["labels_published"] or "none"
    words = "Sides of boxes" if column["boxes"] else f"Level {_level_words(column)}"
    words += f": {column['labels_in']:,} labels in the original, {shown} in the published table."
    if lost:
        rows = count_words(gone, "row")
        words += f" The one that is gone had {rows}." if lost == 1 else f" The {lost:,} that are gone had {rows}."
    if column["distance_spread_evenly"] is not None:
        words += (
            " Spread evenly over the values they stand for, the published labels are "
            f"{unit_text(column['distance_spread_evenly'])} from the original's values (total variation)."
        )
    return words


def _class_section(groups: Mapping[str, Any], k: int) -> Section:
    title = "Classes of the published table"
    if not groups["count"]:
        return Section(
            title, [Words(f"No class of {k} equal rows or more was in the sample, so the table has no rows.")]
        )
    number = groups["count"]
    what = f"{number:,} classes of equal rows" if number > 1 else "One class of equal rows"
    sizes = f"the smallest has {groups['smallest']:,} rows, the largest {groups['largest']:,}."
    lines = [
        (_quantile_words(entry["share"]), f"{entry['of_groups']:,}", f"{entry['of_rows']:,}")
        for entry in groups["quantiles"]
    ]
    return Section(
        title,
        [
            Words(f"{what}; {sizes} The limit is k\u00a0=\u00a0{k}."),
            size_bars(groups["histogram"], "class", "row"),
            DataTable(heads(["up to this share"], ["of the classes", "of the rows"]), lines),
        ],
    )


def _quantile_words(share: float) -> str:
    return {0.0: "the smallest", 0.5: "half", 1.0: "the largest"}.get(share, f"{100 * share:.0f}\u00a0%")


def _alternatives(plan: SafeKPlan, choices: Sequence[Mapping[str, Any]]) -> list[Section]:
    """Other choices of k and beta with the same promise; none of them was tried on the table."""
    if not choices:
        return []
    known = [FrontierPoint(choice["k"], exact(choice["beta"]), choice["meaning"]) for choice in choices]
    picture = frontier_picture(plan.promise, known)
    shown = [choice for choice in choices if not choice["dominated"] or choice["this_plan"]]
    lines = [
        (
            str(choice["k"]),
            choice["beta"],
            f"{choice['sampled_expected']:,.0f}",
            f"{choice['group_needed']:,}",
            choice["meaning"] + (" (this plan)" if choice["this_plan"] else ""),
        )
        for choice in shown
    ]
    own = frozenset(place for place, choice in enumerate(shown) if choice["this_plan"])
    table = DataTable(heads(numbers=["k", "beta", "rows sampled", "class needed"], more=["good for"]), lines, own)
    kept = (
        "this release's epsilon and delta"
        if plan.repeat == 1
        else f"the epsilon and delta of one of the {plan.repeat} tables"
    )
    words = Words(
        f"Each line keeps {kept}. A class of the original with as many rows as the class needed, or more, is shown in at least "
        "half of all samples. None of these was tried on the table; a plan that is chosen because of this report is a plan "
        "tuned on the data."
    )
    figure = Figure([inline_once(picture, "frontier")], picture.caption, table)
    return [Section("The same promise, other choices", [words, figure])]

"""The holder's report as a page, from the report's plain values and the plan's pictures."""

from __future__ import annotations

from typing import Any

from shoal.guarantee.rounding import exact
from shoal.guarantee.safe_k.frontier import FrontierPoint
from shoal.page.html import inline, page
from shoal.publish.certificate.page import Fact
from shoal.publish.plan.safe_k import SafeKPlan
from shoal.publish.report.column_detail import CONSTANT, DETAIL, FEW, NOTHING
from shoal.publish.report.pictures import curve_picture, frontier_picture

METHODS = (
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


def report_page(plan: SafeKPlan, report: dict[str, Any]) -> str:
    """The report as script-free HTML whose first line says whom it is for."""
    pictures = {"curve": curve_picture(plan.curve)}
    choices = [FrontierPoint(choice["k"], exact(choice["beta"]), choice["meaning"]) for choice in report["frontier"]]
    if choices:
        pictures["frontier"] = frontier_picture(plan.promise, choices)
    drawn = {name: inline(picture, name) for name, picture in pictures.items()}
    mark = report["for_the_holder_only"]
    columns = sorted(report["columns"], key=lambda column: _RANK.get(column["says"], len(_RANK)))
    text = page(
        "report",
        {
            "title": f"For the holder only: report on {report['dataset']}",
            "mark": mark,
            "dataset": report["dataset"],
            "lead": f"Released on {report['date']}; the seal of the certificate begins {report['certificate'][:12]}.",
            "sentence": report["sentence"],
            "cautions": report["cautions"],
            "notes": report["notes"],
            "rows": _rows(report["rows"]),
            "tables": _tables(report["tables"]),
            "about_rows": _about_rows(report["rows"]),
            "about_groups": _about_groups(report["groups"], plan.promise.k),
            "histogram": _histogram(report["groups"]),
            "quantiles": [
                (_reached(entry["share"]), f"{entry['of_groups']:,}", f"{entry['of_rows']:,}")
                for entry in report["groups"]["quantiles"]
            ],
            "about_columns": "Each column by itself; those that say nothing or little come first. Detail is how far labels tell "
            "rows apart: 1 where every row's value is shown, 0 where nothing is said; suppressed rows count 0. Distance is how "
            "far the labels shown are from the same labels of the original; below it stands what chance alone would give.",
            "about_labels": "How the labels of each column are spread in the original and in the published table.",
            "summary": [_summary(column) for column in columns],
            "columns": [_column(column) for column in columns if column["labels_in"] > 1],
            "about_frontier": f"Each line keeps {_kept(plan)}. A group of the original with as many rows as the "
            "group needed, or more, is shown in at least half of all samples. None of these was tried on the table; a plan "
            "that is chosen because of this report is a plan tuned on the data.",
            "frontier": [
                _choice(choice) for choice in report["frontier"] if not choice["dominated"] or choice["this_plan"]
            ],
            "frontier_picture": drawn.get("frontier"),
            "frontier_caption": pictures["frontier"].caption if choices else "",
            "curve_picture": drawn["curve"],
            "curve_caption": pictures["curve"].caption,
            "methods": METHODS,
            "footer": mark,
        },
    )
    return f"<!-- {mark} -->\n{text}"


_RANK = {NOTHING: 0, FEW: 1}


def _kept(plan: SafeKPlan) -> str:
    """What another choice of k and beta would keep."""
    if plan.repeat == 1:
        return "this release's epsilon and delta"
    return f"the epsilon and delta of one of the {plan.repeat} tables"


def _rows(rows: dict[str, Any]) -> list[Fact]:
    sampled, suppressed = rows["sampled"], rows["suppressed"]
    found: list[Fact] = [("in the original", f"{rows['in']:,}", "")]
    if rows["people"] is not None:
        found.append(("units", f"{rows['people']:,}", "different values of the column that names them"))
        found.append(("taking part", f"{rows['taking_part']:,}", "after the limit on the rows of one unit"))
    if rows["table_is_the_sample"]:
        found += [
            ("sampled", f"{sampled['expected']:,.0f}", "the table is itself the sample; nothing was drawn"),
            ("suppressed", f"{suppressed['estimate']:,.0f}", "rows in groups of fewer than k"),
        ]
    else:
        times = f", {rows['releases']} times" if rows["releases"] > 1 else ""
        found += [
            (
                "sampled, expected",
                f"{sampled['expected']:,.0f} ± {sampled['standard_deviation']:,.0f}",
                f"each row with probability {_rate(rows['rate'])}{times}; ± one standard deviation",
            ),
            (
                "suppressed, estimated",
                f"{suppressed['estimate']:,.0f}",
                f"between {suppressed['low']:,} and {suppressed['high']:,} (95\u00a0% or more): expected sample less published",
            ),
        ]
    kept = "" if rows["kept"] is None else f"{_share(rows['kept'])} of the rows expected in the sample"
    return [*found, ("published", f"{rows['published']:,}", kept)]


def _rate(text: str) -> str:
    return f"{float(exact(text)):.6g}"


def _about_rows(rows: dict[str, Any]) -> str:
    if rows["table_is_the_sample"]:
        return "The table was used once and for nothing else; nothing else may ever be computed from it and published."
    return (
        "How many rows were sampled is not known any more, and should not be: the sample went with its key. What is known is "
        "how many there are on average, and how far that is off as a rule."
    )


def _tables(tables: list[dict[str, Any]]) -> list[dict[str, str]]:
    if len(tables) == 1:
        return []
    return [{"file": t["file"], "rows": f"{t['rows']:,}", "groups": f"{t['groups']:,}"} for t in tables]


def _about_groups(groups: dict[str, Any], k: int) -> str:
    if not groups["count"]:
        return f"No group of {k} equal rows or more was in the sample, so the table has no rows."
    number = groups["count"]
    what = f"{number:,} groups of equal rows" if number > 1 else "One group of equal rows"
    limit = f"The limit is k\u00a0=\u00a0{k}."
    return f"{what}; the smallest has {groups['smallest']:,} rows, the largest {groups['largest']:,}. {limit}"


def _histogram(groups: dict[str, Any]) -> list[dict[str, str]]:
    count = groups["count"]
    rows = sum(entry["rows"] for entry in groups["histogram"])
    most = max((max(b["groups"] / count, b["rows"] / rows) for b in groups["histogram"]), default=1.0)
    return [
        {
            "label": f"{b['from']:,} to {b['to']:,}",
            "before": _width(b["groups"] / count, most),
            "after": _width(b["rows"] / rows, most),
            "groups": f"{b['groups']:,}",
            "rows": f"{b['rows']:,}",
        }
        for b in groups["histogram"]
    ]


def _summary(column: dict[str, Any]) -> dict[str, Any]:
    """A column in a line."""
    commonest, says = column["commonest"], column["says"]
    return {
        "name": column["name"],
        "level": _level(column),
        "detail": "–" if says == CONSTANT else _number(column["detail"]),
        "between": _between(column),
        "commonest": "" if commonest is None else commonest["label"] or "(empty)",
        "share": "" if commonest is None else f"{_share(commonest['share'])} of rows",
        "labels": f"{column['labels_published']:,} of {column['labels_in']:,}",
        "distance": "says nothing" if says == NOTHING else _number(column["distance"]),
        "chance": "" if column["distance"] is None else f"by chance {_number(column['distance_by_chance'])}",
        "poor": says in _RANK,
    }


def _between(column: dict[str, Any]) -> str:
    if column["says"] == CONSTANT:
        return "the original has one value"
    low, high = column["detail_low"], column["detail_high"]
    return "" if low == high else f"{low:.3f} to {high:.3f}"


def _level(column: dict[str, Any]) -> str:
    if column["boxes"]:
        return "box"
    return f"{column['level']} of {column['levels'] - 1}" if column["levels"] > 1 else "0"


def _column(column: dict[str, Any]) -> dict[str, Any]:
    labels = [*column["labels"], *([column["rest"]] if column["rest"] else [])]
    most = max((max(entry["share"], entry["published_share"]) for entry in labels), default=1.0)
    gone = column["rows_of_labels_gone"]
    lost = column["labels_in"] - column["labels_published"]
    shown = column["labels_published"] or "none"
    words = "Sides of boxes" if column["boxes"] else f"Level {_level(column)}"
    words += f": {column['labels_in']:,} labels in the original, {shown} in the published table."
    if lost:
        rows = f"{gone:,} row{'s' * (gone != 1)}"
        words += f" The one that is gone had {rows}." if lost == 1 else f" The {lost:,} that are gone had {rows}."
    if column["distance_spread_evenly"] is not None:
        words += (
            " Spread evenly over the values they stand for, the published labels are "
            f"{_number(column['distance_spread_evenly'])} from the original's values (total variation)."
        )
    return {
        "name": column["name"],
        "words": words,
        "bars": [_bar(entry, most) for entry in labels],
    }


def _bar(entry: dict[str, Any], most: float) -> dict[str, Any]:
    rest = entry["label"] is None
    return {
        "label": f"the other {entry['labels']:,} labels" if rest else entry["label"] or "(empty)",
        "rest": rest,
        "before_width": _width(entry["share"], most),
        "after_width": _width(entry["published_share"], most),
        "before": _share(entry["share"]),
        "after": _share(entry["published_share"]),
        "kept": "–" if entry["kept"] is None else f"{100 * entry['kept']:.0f}\u00a0%",
    }


def _choice(choice: dict[str, Any]) -> dict[str, Any]:
    return {
        "k": choice["k"],
        "beta": choice["beta"],
        "sampled": f"{choice['sampled_expected']:,.0f}",
        "needed": f"{choice['group_needed']:,}",
        "meaning": choice["meaning"] + (" (this plan)" if choice["this_plan"] else ""),
        "own": choice["this_plan"],
    }


def _width(share: float, most: float) -> str:
    return f"{100 * share / most:.2f}" if most > 0 else "0"


def _share(value: float) -> str:
    """A share in percent; a small one that is not nothing does not read 0."""
    if 0 < value < 0.0005:
        return "< 0.1\u00a0%"
    return f"{100 * value:.{0 if value in (0, 1) else 1}f}\u00a0%"


def _reached(share: float) -> str:
    return {0.0: "the smallest", 0.5: "half", 1.0: "the largest"}.get(share, f"{100 * share:.0f}\u00a0%")


def _number(value: float | None) -> str:
    return "–" if value is None else "0" if value == 0 else f"{value:.3f}" if value >= 0.0005 else "< 0.001"
